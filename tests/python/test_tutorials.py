"""docs/tutorials: the output is that of the commands, and the Python runs. The commands of a page share a folder."""

import re
import shutil
from pathlib import Path

import pytest
from conftest import ROOT

import pages

FOLDER = ROOT / "docs" / "tutorials"
PAGES = {"device": 4, "distribution": 5, "research": 3, "access-point": 4}
"""Each page, with the number of its commands whose output it shows."""


@pytest.fixture
def folder(tmp_path, monkeypatch, airwatt):
    # After `airwatt`, which goes to the root of the checkout.
    shutil.copytree(ROOT / "captures", tmp_path / "captures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_shows_what_its_commands_print(name, folder, airwatt, request):
    page = FOLDER / f"{name}.md"

    def run(command):
        # How long a run takes on this computer is no result.
        return re.sub(r"simulated in [\d.]+ s", "simulated in 0.01 s", airwatt.output(command))

    pages.check(page, run, request.config.getoption("--bless"))
    shown = pages.shown(page.read_text())
    assert len(shown) == PAGES[name]
    assert all(len(line) <= 80 for _, output in shown for line in output.splitlines())
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    exec("\n".join(blocks), {"__name__": "page"})
    assert not blocks or list(Path.cwd().glob("*.png"))


def test_the_tutorials_are_listed():
    listed = (FOLDER / "README.md").read_text()
    assert {path.stem for path in FOLDER.glob("*.md")} == {"README", *PAGES}
    assert all(f"({name}.md)" in listed for name in PAGES)
    assert "docs/tutorials" in (ROOT / "README.md").read_text()
