"""Results in a notebook: a line each, a table with a picture, and the tutorial's cells, which all run."""

import io
import json
import re
import subprocess
import sys

import matplotlib
import pytest
from conftest import ROOT

import airwatt

SHORT = {"flow.application.size": "100kB"}
NOTEBOOK = ROOT / "docs" / "tutorials" / "notebook.ipynb"


def test_a_result_is_a_line():
    result = airwatt.run("fast-dsl", set=SHORT)
    assert re.fullmatch(r"<Result fast-dsl, seed 1: [\d.]+ m?J, [\d.]+ Mb/s>", repr(result))
    assert repr(airwatt.run("fast-dsl", set=SHORT, runs=3)).startswith("<Runs fast-dsl, 3 runs from seed 1: ")
    compared = airwatt.compare("fast-dsl", policy=["active", "psm"], set=SHORT)
    assert repr(compared) == "<Comparison fast-dsl: active, psm>"
    for shown in (result.stations[0], result.flows[0], compared.rows[0], airwatt.radios()[0]):
        assert len(repr(shown)) < 2_000


def test_html_has_the_numbers_and_a_picture():
    compared = airwatt.compare("fast-dsl", policy=["active", "psm"], set=SHORT, runs=2)
    shown = compared._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<td>psm</td>" in shown
    assert shown.count("data:image/png;base64,") == 1
    traced = airwatt.run("fast-dsl", set=SHORT, trace=True)
    assert "data:image/png" in traced._repr_html_()
    assert "data:image/png" not in airwatt.run("fast-dsl", set=SHORT)._repr_html_()
    assert "<td>0 a to d</td>" in airwatt.run("four-in-a-row", set=SHORT)._repr_html_()
    analysis = airwatt.analyze(ROOT / "captures" / "tcp-download.pcapng", trace=True, policies=["psm"])
    assert repr(analysis).startswith("<Analysis of 192.168.7.2 in ")
    shown = analysis._repr_html_()
    assert "<th>policy</th>" in shown
    assert "data:image/png" in shown


def test_a_picture_leaves_the_backend_of_later_plots_alone(tmp_path):
    """A notebook shows plots by its backend. Nothing here imports pyplot, which would choose one."""
    text = f"""
import sys
import matplotlib
matplotlib.use("svg")
import airwatt
short = {SHORT!r}
airwatt.compare("fast-dsl", policy=["active", "psm"], set=short)._repr_html_()
airwatt.run("fast-dsl", set=short, trace=True)._repr_html_()
airwatt.analyze({str(ROOT / "captures" / "tcp-download.pcapng")!r}, trace=True, policies=["psm"])._repr_html_()
from airwatt.laboratory import load
from airwatt.plots import topology
topology.draw("fast-dsl", load("fast-dsl").to_dict(expand=True), __import__("pathlib").Path("picture.png"))
assert matplotlib.get_backend() == "svg", matplotlib.get_backend()
assert "matplotlib.pyplot" not in sys.modules
"""
    found = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_nothing_that_draws_imports_pyplot_or_chooses_a_backend():
    for path in (ROOT / "python").rglob("*.py"):
        assert not re.search(r"pyplot|matplotlib\.use\(", path.read_text().replace("`pyplot`", "")), path


def test_an_absent_key_raises():
    result = airwatt.run("fast-dsl", set=SHORT)
    with pytest.raises(KeyError):
        _ = result["energy"]
    with pytest.raises(AttributeError, match="no field 'enrgy_j'"):
        _ = result.stations[0].enrgy_j


def test_the_tutorial_runs_from_its_first_cell_to_its_last_in_any_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict[str, object] = {}
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) >= 8
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "the notebook is kept without outputs"
            exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    assert len(names["frame"]) == 30
    # What a notebook shows of its cell is the figure that pyplot has open.
    from matplotlib import pyplot

    figure = names["axes"].figure
    assert figure.number in pyplot.get_fignums()
    assert [len(line.get_xdata()) for line in names["axes"].get_lines()] == [5, 5]
    shown = io.BytesIO()
    figure.savefig(shown, format="png")
    pyplot.close(figure)
    assert shown.getvalue().startswith(b"\x89PNG")
    shown.seek(0)
    assert len(set(map(tuple, pyplot.imread(shown).reshape(-1, 4)))) > 50, "lines, marks and text, not an empty page"
