"""Archives of stores: what is in them, that they run again bit for bit, and what strangers may put into them."""

import io
import json
import os
import re
import shutil
import subprocess
import time
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT

import airwatt as laboratory
from airwatt._core import InputError
from airwatt.archive import archive, rerun
from airwatt.cli.status import INTERRUPTED
from airwatt.laboratory import load
from airwatt.sweeps import plan
from airwatt.sweeps.frames import Store
from airwatt.sweeps.store import Files

TINY = ["fast-dsl", "--set", "flow.application.size=20kB"]
MINE = """
from airwatt import Policy

class Nap(Policy):
    needs = ("switch",)

    def on_start(self, radio):
        pass
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A store of eight runs and its archive."""
    folder = tmp_path_factory.mktemp("study")
    laboratory.sweep(
        "fast-dsl", over={"wired.rtt": ["20ms", "40ms"]}, policy=["active", "psm"], runs=2,
        set={"flow.application.size": "20kB"}, store=folder / "study.sweep",
    )  # fmt: skip
    archive(folder / "study.sweep", folder / "study.zip")
    return folder


def changed(source, target, members):
    """Writes an archive with some members replaced; one that is None is left out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = members.get(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


def test_an_archive_runs_again_bit_for_bit(airwatt, study, tmp_path):
    answer = airwatt("rerun", study / "study.zip", "--store", tmp_path / "again")
    assert answer.status == 0
    assert "8 runs made again: all" in answer.out
    assert len(Store(tmp_path / "again")) == 8
    found = airwatt("rerun", study / "study.zip", "--json").json
    assert (found["runs"], found["different"], found["missing"]) == (8, 0, 0)
    assert found["values"] > 8 * 50


def test_a_key_before_the_policy_keeps_its_place(airwatt, tmp_path):
    """Tables have the keys as they were varied, whatever their alphabetical order."""
    store = tmp_path / "study.sweep"
    laboratory.sweep("idle", over={"duration": ["1s", "2s"]}, policy=["psm"], runs=2, store=store)
    archive(store, tmp_path / "study.zip")
    answer = airwatt("rerun", tmp_path / "study.zip")
    assert (answer.status, "made again" in answer.out) == (0, True), answer.out


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml")))
def test_every_scenario_is_archived_and_run_again(airwatt, tmp_path, name):
    """Each has tables of its own; one without flows has an empty one."""
    cut = {"measure_from": "0s", "fairness_windows": ["100ms"], "flow.start_spread": "0s"}
    text = str(load(name).to_dict(expand=True))
    short = {"duration": "300ms", **{key: value for key, value in cut.items() if key.rpartition(".")[2] in text}}
    laboratory.sweep(name, set=short, runs=1, store=tmp_path / "store")
    archive(tmp_path / "store", tmp_path / "a.zip")
    answer = airwatt("rerun", tmp_path / "a.zip")
    assert (answer.status, "1 of 1 runs made again: all" in answer.out) == (0, True)


def test_a_rerun_that_is_ended_leaves_no_folder(program, tmp_path):
    laboratory.sweep("fast-dsl", runs=4, set={"flow.application.size": "10MB"}, store=tmp_path / "long.sweep")
    archive(tmp_path / "long.sweep", tmp_path / "long.zip")
    folder = tmp_path / "temporary"
    folder.mkdir()
    process = program("rerun", tmp_path / "long.zip", env=os.environ | {"TMPDIR": str(folder)})
    while not list(folder.iterdir()) and process.poll() is None:
        time.sleep(0.002)
    process.terminate()
    assert process.wait(20) == INTERRUPTED, process.stderr.read()
    assert process.stderr.read() == "airwatt: interrupted\n"
    assert list(folder.iterdir()) == []


def test_an_archive_depends_on_its_store_alone(study, tmp_path):
    archive(study / "study.sweep", tmp_path / "study.zip")
    assert (tmp_path / "study.zip").read_bytes() == (study / "study.zip").read_bytes()


def test_a_number_that_is_another_one_is_found_and_named(airwatt, study, tmp_path):
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    with zipfile.ZipFile(study / "study.zip") as packed:
        table = pq.read_table(io.BytesIO(packed.read("results/runs.parquet")))
    energy = table.column("energy_j").to_pylist()
    energy[3] *= 1 + 1e-15
    assert energy[3] != table.column("energy_j")[3].as_py()
    out = io.BytesIO()
    pq.write_table(table.set_column(table.schema.get_field_index("energy_j"), "energy_j", pa.array(energy)), out)
    other = changed(study / "study.zip", tmp_path / "other.zip", {"results/runs.parquet": out.getvalue()})
    answer = airwatt("rerun", other)
    assert answer.status == 1
    assert "1 of" in answer.out
    assert f"energy_j in runs, point {table.column('point')[3]}" in answer.out.replace("\n", " ")


def test_profiles_and_mechanisms_are_in_it(airwatt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert airwatt("radios", "--new", "mine.toml").status == 0
    (tmp_path / "own.py").write_text(MINE)
    (tmp_path / "here.toml").write_text('base = "fast-dsl"\n[[station]]\nradio = "mine.toml"\n')
    line = ["sweep", "here.toml", "--set", "flow.application.size=20kB", "--policy", "active,./own.py:Nap"]
    assert airwatt(*line, "--store", "store").status == 0
    assert airwatt("archive", "store", "-o", "study.zip").status == 0
    # Everything that it was made from goes, so that only what is in the archive is left.
    shutil.rmtree("store")
    for name in ("mine.toml", "own.py", "here.toml"):
        (tmp_path / name).unlink()
    with zipfile.ZipFile("study.zip") as packed:
        assert {"profiles/mine.toml", "mechanisms/own.py"} <= set(packed.namelist())
        assert all(
            str(tmp_path).encode() not in packed.read(name) for name in packed.namelist() if name != "report.html"
        )
    assert airwatt("rerun", "/dev/zero").is_one_line("/dev/zero: expected an archive of airwatt, got a folder")
    assert airwatt("rerun", "study.zip").is_one_line(
        "expected an archive without code", "mechanisms/own.py:Nap", "--trust"
    )
    answer = airwatt("rerun", "study.zip", "--trust")
    assert answer.status == 0, answer.err + answer.out
    assert "2 runs made again: all" in answer.out
    assert answer.err == "airwatt: not compared: references.bib\n"
    for name in ("report.html", "results/points.tex", "results/points.dat"):
        forged = changed(tmp_path / "study.zip", tmp_path / "forged.zip", {name: b"forged"})
        answer = airwatt("rerun", forged, "--trust")
        assert answer.status == 1
        assert f"made again, {name} is another" in answer.err


def test_a_changed_mechanism_is_not_archived(airwatt, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(MINE)
    assert airwatt("sweep", *TINY, "--policy", "./own.py:Nap", "--store", "store").status == 0
    (tmp_path / "own.py").write_text(MINE + "\n# another one\n")
    answer = airwatt("archive", "store", "-o", "study.zip")
    assert answer.status == 2
    assert answer.is_one_line("own.py:Nap as it was when the sweep began")
    assert not (tmp_path / "study.zip").exists()


@pytest.mark.parametrize(
    ("members", "word"),
    [
        ({"about.json": None}, "about.json"),
        ({"about.json": b"{"}, "about.json"),
        ({"about.json": b"[]"}, "about.json"),
        ({"about.json": b'{"sweeps": 3, "mechanisms": {}}'}, "about.json"),
        ({"about.json": b'{"sweeps": [{}], "mechanisms": {}}'}, "about.json"),
        ({"results/runs.parquet": b"PAR1"}, "results/runs.parquet"),
        ({"results/flows.parquet": None}, "results/flows.parquet"),
    ],
)
def test_damaged_archives_are_one_line(airwatt, study, tmp_path, members, word):
    answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "bad.zip", members))
    assert answer.status == 2
    assert answer.is_one_line("bad.zip", word)


def test_what_is_no_archive_is_one_line(airwatt, tmp_path, study):
    (tmp_path / "text.zip").write_text("no archive")
    for path in (tmp_path / "text.zip", tmp_path / "none.zip", tmp_path):
        answer = airwatt("rerun", path)
        assert answer.status == 2
        assert answer.is_one_line("expected an archive of airwatt")
    assert airwatt("archive", tmp_path, "-o", tmp_path / "a.zip").status == 2
    assert airwatt("archive", study / "study.sweep", "-o", tmp_path / "a.tar").is_one_line(".zip")


def test_a_scenario_that_was_made_that_of_another_point_is_refused(airwatt, study, tmp_path):
    with zipfile.ZipFile(study / "study.zip") as packed:
        points = [one["point"] for one in json.loads(packed.read("about.json"))["sweeps"][0]["points"]]
        one, other = (f"scenarios/{point}.toml" for point in points[:2])
        members = {one: packed.read(other)}
    refused = airwatt("rerun", changed(study / "study.zip", tmp_path / "same.zip", members))
    assert refused.status == 2
    assert refused.is_one_line("fast-dsl: expected another scenario at each point, got the same one at two")


def test_an_archive_of_a_stranger_writes_nowhere_else(study, tmp_path):
    with zipfile.ZipFile(study / "study.zip") as packed:
        about = json.loads(packed.read("about.json"))
        text = packed.read(f"scenarios/{about['sweeps'][0]['points'][0]['point']}.toml").decode()
    name = f"scenarios/{about['sweeps'][0]['points'][0]['point']}.toml"
    other = tmp_path / "evil.zip"
    changed(
        study / "study.zip",
        other,
        {name: text.replace('radio = "broadcom-4311"', 'radio = "profiles/../../x.toml"').encode()},
    )
    with zipfile.ZipFile(other, "a") as packed:
        packed.writestr("profiles/../../x.toml", "name = 'x'")
    with pytest.raises(InputError):
        rerun(other, tmp_path / "new" / "store")
    assert not (tmp_path / "x.toml").exists()
    assert not (tmp_path / "new" / "x.toml").exists()


def test_a_table_for_latex_and_columns_for_pgfplots(airwatt, study, tmp_path):
    for name in ("points.tex", "points.dat"):
        assert airwatt("sweep", "export", study / "study.sweep", "--out", tmp_path / name).status == 0
    latex = (tmp_path / "points.tex").read_text()
    assert latex.count(r" \\") == 6
    assert r"policy & wired.rtt\_s & runs & {energy} & {goodput}" in latex
    assert r"&  &  & {(\unit{\milli\joule})} & " in latex
    lines = [line.split(" ") for line in (tmp_path / "points.dat").read_text().splitlines()]
    assert {len(line) for line in lines} == {9}
    mean = Store(study / "study.sweep").summary(["energy_j"])[0][2][0].mean
    assert float(lines[1][lines[0].index("energy_j")]) == mean


def has_latex():
    """Whether there is a LaTeX with siunitx."""
    found = [shutil.which(name) for name in ("pdflatex", "kpsewhich")]
    return None not in found and subprocess.run(["kpsewhich", "siunitx.sty"], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.skipif(not has_latex(), reason="needs LaTeX with siunitx")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_the_table_fits_into_its_place(airwatt, study, tmp_path, columns):
    """A page of text without being scaled, also as it stands; a column of two scaled to it."""
    assert airwatt("sweep", "export", study / "study.sweep", "--out", tmp_path / "points.tex").status == 0
    lines = [
        rf"\documentclass[{columns}]{{article}}", r"\usepackage{booktabs,siunitx,graphicx}", r"\begin{document}",
        r"Text.\par\input{points.tex}\typeout{WIDTHS \the\wd0 \the\linewidth}",
        r"\begin{table}\centering\input{points.tex}\end{table}", r"\end{document}",
    ]  # fmt: skip
    (tmp_path / "study.tex").write_text("\n".join(lines))
    made = subprocess.run(["pdflatex", "-halt-on-error", "study.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
    assert "Overfull" not in made.stdout
    width, place = map(float, re.search(r"WIDTHS ([\d.]+)pt([\d.]+)pt", made.stdout).groups())
    assert (width <= place) == (columns == "onecolumn")


def test_citations_are_of_what_was_used(airwatt, study):
    answer = airwatt("cite", study / "study.sweep")
    assert answer.status == 0
    keys = [line.partition("{")[2].rstrip(",") for line in answer.out.splitlines() if line.startswith("@")]
    assert keys == [
        "airwatt", "ieee80211", "campsmur-ba-ta", "airwatt-radio-broadcom-4311", "rfc5681", "rfc6298", "rfc6582",
    ]  # fmt: skip
    assert r"{the BA-TA paper, table 3 \cite{campsmur-ba-ta}}" in answer.out
    assert answer.out.count("{") == answer.out.count("}")
    assert "hashimoto2013" in airwatt("cite", "newreno+ackloss").out
    assert airwatt("cite", "nobody").is_one_line("nobody")


def test_what_only_a_person_can_fill_in_is_said_to_be_missing(airwatt, monkeypatch):
    from airwatt import citation

    # A tree without git knows no date.
    monkeypatch.setattr(citation, "date", lambda: "2031-05-02")
    entries = dict.fromkeys(("airwatt", "campsmur-ba-ta", "donckers2001"), "")
    lines = airwatt("cite", "ba-ta", "wavelan-2001").out.splitlines()
    for before, line in zip(["", *lines], lines, strict=False):
        key = line.partition("{")[2].rstrip(",")
        if line.startswith("@") and key in entries:
            entries[key] = before
    assert entries == {
        "airwatt": "% To be filled in by hand, as it is not known here: howpublished (where a reader can get this"
        " version; the project states no address)",
        "campsmur-ba-ta": "% To be filled in by hand, as it is not known here: howpublished, year",
        "donckers2001": "",
    }


def test_the_entry_of_the_software_has_the_year_of_its_commit_and_the_stated_address(monkeypatch):
    from airwatt import citation

    monkeypatch.setattr(citation, "commit", lambda: "0123456789ab")
    monkeypatch.setattr(citation, "date", lambda: "2031-05-02")
    monkeypatch.setattr(citation, "repository", lambda: "https://example.org/airwatt")
    entry = citation.bibtex([citation.of_airwatt()])
    assert entry.startswith("@misc{airwatt,")
    for field in ("commit 0123456789ab},", "{2031},", r"{\url{https://example.org/airwatt}},"):
        assert field in entry
    # What is not known is said, and not invented.
    monkeypatch.setattr(citation, "date", lambda: None)
    monkeypatch.setattr(citation, "repository", lambda: None)
    assert citation.bibtex([citation.of_airwatt()]).startswith(
        "% To be filled in by hand, as it is not known here: howpub"
    )
    assert "year" in citation.bibtex([citation.of_airwatt()]).splitlines()[0]


@pytest.mark.parametrize("radio", [radio.name for radio in laboratory.radios()])
def test_the_publication_that_a_radio_is_from_is_in_the_file(airwatt, radio):
    out = airwatt("cite", radio).out
    (source,) = [one.source for one in laboratory.radios() if one.name == radio]
    if "thesis" in source or "paper" in source or "et al." in source:
        cited = out.rpartition(r"\cite{")[2].partition("}")[0]
        assert f"{{{cited},\n" in out


def test_every_mechanism_that_somebody_published_has_an_entry():
    """Also each RFC that the list of transports names."""
    from airwatt import citation

    for item in laboratory.transports():
        given = re.search(r"\((RFC [\d, ]+)\)|\(.*(RFC \d+)\)", item.description)
        numbers = re.findall(r"\d{4}", given[0]) if given and "+" not in item.name else []
        assert {f"RFC {number}" for number in numbers} <= {entry.get("number") for entry in citation.of(item.name)}

    own = {"latency-guard", "ideal", "udp"}
    for item in (*laboratory.policies(), *laboratory.transports()):
        assert bool(citation.of(item.name)) != (item.name in own), item.name


def test_the_readme_says_how_to_run_it_again(study):
    with zipfile.ZipFile(study / "study.zip") as packed:
        readme = packed.read("README.md").decode()
    assert "8 runs of airwatt" in readme
    assert "airwatt rerun study.zip\n" in readme
    assert "* fast-dsl: 4 points, 2 seeds from 1 on\n" in readme
    assert str(ROOT) not in readme


def _table(study, what, change):
    with zipfile.ZipFile(study / "study.zip") as packed:
        table = pq.read_table(io.BytesIO(packed.read(f"results/{what}.parquet")))
    out = io.BytesIO()
    pq.write_table(change(table), out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda table: table.slice(0, 1), "expected 8 runs, got 1"),
        (lambda table: table.slice(0, 0), "expected 8 runs, got 0"),
        (lambda table: pa.concat_tables([table, table]), "expected 8 runs, got 16"),
        (lambda table: pa.concat_tables([table.slice(0, 7), table.slice(0, 1)]), "a run is there twice"),
        (lambda table: table.drop_columns(["seed"]), "seed"),
    ],
)
def test_an_archive_without_some_of_its_runs_is_damaged(airwatt, study, tmp_path, change, word):
    members = {"results/runs.parquet": _table(study, "runs", change)}
    answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "cut.zip", members))
    assert answer.status == 2
    assert answer.is_one_line("cut.zip", "results/runs.parquet is damaged", word)


def test_whatever_a_reader_opens_is_compared(airwatt, study, tmp_path):
    forged = {
        "results/runs.csv": b"energy_j\n0.001\n", "report.html": b"forged", "results/points.tex": b"0",
        "README.md": b"forged", "references.bib": b"forged",
    }  # fmt: skip
    for name, content in forged.items():
        answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "forged.zip", {name: content}))
        assert answer.status == 1, name
        assert f"made again, {name} is another" in answer.err
    for name in forged:
        answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "lacks.zip", {name: None}))
        assert answer.status == 2
        assert answer.is_one_line("lacks.zip", name)
    less = {"results/runs.parquet": _table(study, "runs", lambda table: table.drop_columns(["energy_j"]))}
    answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "less.zip", less))
    assert answer.status == 1
    assert "only one of the archive and the new runs has runs.energy_j" in answer.err
    flows = {"results/flows.parquet": _table(study, "flows", lambda table: table.slice(1))}
    assert airwatt("rerun", changed(study / "study.zip", tmp_path / "flows.zip", flows)).status == 1


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ["report.html", "notes.txt", "profiles/none.toml"])
def test_members_that_are_there_twice_or_by_no_rule_are_refused(airwatt, study, tmp_path, name):
    shutil.copy(study / "study.zip", tmp_path / "more.zip")
    with zipfile.ZipFile(tmp_path / "more.zip", "a") as packed:
        packed.writestr(name, "foreign")
    answer = airwatt("rerun", tmp_path / "more.zip")
    assert (answer.status, answer.is_one_line("more.zip", name)) == (2, True), answer


def _restated(study, path, change):
    """The archive of a study with other settings of its first point, and all that is made of settings made again."""
    with zipfile.ZipFile(study / "study.zip") as packed:
        about = json.loads(packed.read("about.json"))
    change(about["sweeps"][0])
    return changed(study / "study.zip", path, {"about.json": json.dumps(about).encode()}), about["sweeps"][0]


def _set(**values):
    def change(sweep):
        sweep["points"][0] |= {key.replace("__", "."): value for key, value in values.items()}

    return change


def _drop(sweep):
    for point in sweep["points"]:
        del point["policy"]
    sweep["columns"].remove("policy")


@pytest.mark.parametrize(
    ("change", "key", "said", "has"),
    [
        (_set(policy="psm"), "policy", "psm", "active"),
        (_set(policy="no-such-policy"), "policy", "no-such-policy", "active"),
        (_set(policy="/dev/zero.py:Nap"), "policy", "/dev/zero.py:Nap", "active"),
        (_set(wired__rtt_s=2.0), "wired.rtt", "2s", "20ms"),
        (_set(wired__rtt_s=-1.0), "wired.rtt", "-1s", "20ms"),
        (_drop, "policy", "not stated", "active"),
    ],
)  # fmt: skip
def test_settings_that_are_not_those_of_the_scenario_are_named(airwatt, study, tmp_path, change, key, said, has):
    """What a table calls a point is held against what runs, before anything does."""
    forged, sweep = _restated(study, tmp_path / "forged.zip", change)
    point = sweep["points"][0]["point"]
    answer = airwatt("rerun", forged, "--store", tmp_path / "again")
    assert answer.status == 1, answer
    line = " ".join(answer.out.split())
    assert line.startswith(f"point {point}: its settings are not those of its scenario"), line
    assert f"{key} is {said} in about.json, and {has} in scenarios/{point}.toml; nothing was run" in line
    assert answer.err == ""
    assert not (tmp_path / "again").exists()
    found = airwatt("rerun", forged, "--json").json
    assert (found["runs"], found["values"]) == (0, 0)
    assert found["label"]["point"] == point


def test_settings_of_the_whole_archive_that_agree_with_each_other_are_still_held_against_scenarios(airwatt, tmp_path):
    """A store with other names of its points makes an archive in which tables, report and settings agree."""
    store = tmp_path / "study.sweep"
    laboratory.sweep("idle", policy=["active", "psm"], set={"duration": "1s"}, store=store)
    files = Files.open(store)
    (item,) = files.plans(texts=True)
    for path in store.glob("plans/*"):
        path.unlink()
    others = pa.array(list(reversed(item.settings.column("policy").to_pylist())))
    index = item.settings.schema.get_field_index("policy")
    files.add(plan.relabelled(item, item.settings.set_column(index, "policy", others), item.varied))
    archive(store, tmp_path / "forged.zip")
    answer = airwatt("rerun", tmp_path / "forged.zip")
    assert (answer.status, "policy is psm in about.json, and active in" in " ".join(answer.out.split())) == (1, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.append_column("mood", pa.array([[1]] * table.num_rows)), "mood is no column of numbers"),
        (lambda table: table.append_column("events", table.column("events")), "column events is there 2 times"),
    ],
)
def test_tables_that_no_airwatt_writes_are_damaged(airwatt, study, tmp_path, change, said):
    name = "results/runs.parquet"
    out = io.BytesIO()
    with zipfile.ZipFile(study / "study.zip") as packed:
        pq.write_table(change(pq.read_table(io.BytesIO(packed.read(name)))), out)
    forged = changed(study / "study.zip", tmp_path / "forged.zip", {name: out.getvalue()})
    assert airwatt("rerun", forged).is_one_line(f"{name} is damaged", said)


def test_another_table_in_the_place_of_that_of_the_runs_is_named(airwatt, study, tmp_path):
    with zipfile.ZipFile(study / "study.zip") as packed:
        flows = packed.read("results/flows.parquet")
    forged = changed(study / "study.zip", tmp_path / "forged.zip", {"results/runs.parquet": flows})
    answer = airwatt("rerun", forged)
    assert answer.status == 1
    assert "only one of the archive and the new runs has runs." in answer.err
    assert "internal error" not in answer.err


def test_half_of_a_surrogate_pair_is_no_text(airwatt, study, tmp_path):
    forged, _ = _restated(study, tmp_path / "forged.zip", _set(policy="\ud800"))
    assert airwatt("rerun", forged).is_one_line("about.json is damaged", "surrogates")


def test_a_setting_that_no_scenario_decides_is_not_counted(airwatt, study, tmp_path):
    def change(sweep):
        sweep["columns"].append("mood")
        for point in sweep["points"]:
            point["mood"] = "good"

    forged, _ = _restated(study, tmp_path / "mood.zip", change)
    counted = airwatt("rerun", study / "study.zip", "--json").json["values"]
    answer = airwatt("rerun", forged)
    assert "not derived from the scenarios, and not counted: mood" in answer.err
    assert airwatt("rerun", forged, "--json").json["values"] == counted


def test_settings_of_every_kind_hold(airwatt, tmp_path):
    """Rates, sizes, packets, flags, numbers, times of many digits, and a radio profile in a file."""
    radio = tmp_path / "mine.toml"
    assert airwatt("radios", "--new", radio).status == 0
    over = {
        "wired.down.rate": ["2.5Mbps", "16Mbps"], "flow.application.size": ["20kB"], "ap.buffer": ["50packets"],
        "station.radio": [str(radio)], "station.lower_bound": ["false"], "ackloss.threshold": ["1"],
        "wired.rtt": ["12.345678ms"], "ap.beacon_interval": ["102.4ms"],
    }  # fmt: skip
    store = tmp_path / "kinds.sweep"
    laboratory.sweep("fast-dsl", over=over, policy=["psm"], transport=["cubic"], store=store)
    archive(store, tmp_path / "kinds.zip")
    answer = airwatt("rerun", tmp_path / "kinds.zip")
    # What is to be cited names the profile's file by its path, which is another one here.
    said = "airwatt: not compared: references.bib\n"
    assert (answer.status, answer.err, "made again: all" in answer.out) == (0, said, True), answer


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("runs", -1), ("runs", 10**9), ("runs", "2"), ("runs", 1.5), ("seed", "x"), ("seed", 2**70), ("until", {}),
        ("until", "soon"), ("scenario", 3), ("points", []), ("varied", None), ("runs", True),
    ],
)  # fmt: skip
def test_an_impossible_sweep_is_one_line(airwatt, study, tmp_path, key, value):
    with zipfile.ZipFile(study / "study.zip") as packed:
        about = json.loads(packed.read("about.json"))
    about["sweeps"][0][key] = value
    members = {"about.json": json.dumps(about).encode()}
    answer = airwatt("rerun", changed(study / "study.zip", tmp_path / "bad.zip", members))
    assert answer.status == 2, answer
    assert answer.is_one_line("bad.zip", "about.json")


def test_a_small_archive_stays_small(airwatt, study, tmp_path):
    name = next(name for name in zipfile.ZipFile(study / "study.zip").namelist() if name.startswith("scenarios/"))
    bombs = {name: b"#" * (100 << 20), "about.json": b"[" * 200_000, "results/runs.parquet": bytes(100 << 20)}
    for member, content in bombs.items():
        path = tmp_path / "bomb.zip"
        with zipfile.ZipFile(study / "study.zip") as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for one in old.namelist():
                new.writestr(one, content if one == member else old.read(one))
        answer = airwatt("rerun", path)
        assert answer.status == 2
        assert answer.is_one_line("bomb.zip")


def test_equal_rows_of_a_table_are_not_read(airwatt, study, tmp_path):
    """A million of them take a few kilobytes of an archive, and half a gigabyte of memory."""
    members = {"results/flows.parquet": _table(study, "flows", lambda table: table.take(pa.array([0] * 1_000_000)))}
    path = changed(study / "study.zip", tmp_path / "equal.zip", members)
    assert path.stat().st_size < 2 << 20
    answer = airwatt("rerun", path)
    assert answer.status == 2
    assert answer.is_one_line("equal.zip", "results/flows.parquet is damaged", "more than"), answer.err


def test_an_archive_of_an_unfinished_sweep_says_so(airwatt, study, tmp_path):
    shutil.copytree(study / "study.sweep", tmp_path / "part.sweep")
    assert airwatt(
        "sweep", *TINY, "--over", "wired.rtt=20ms,40ms,60ms", "--policy", "active,psm", "--runs", "3", "--store",
        tmp_path / "part.sweep", "--shard", "1/4",
    ).status in (0, 1)  # fmt: skip
    found = Store(tmp_path / "part.sweep")
    assert airwatt("archive", tmp_path / "part.sweep", "-o", tmp_path / "part.zip").status == 0
    answer = airwatt("rerun", tmp_path / "part.zip", "--store", tmp_path / "again")
    assert answer.status == 0, answer
    assert f"{len(found)} of 18 runs" in answer.out
    assert answer.err.startswith("airwatt: not compared: report.html, README.md")
    forged = changed(tmp_path / "part.zip", tmp_path / "forged.zip", {"results/points.dat": b"forged"})
    answer = airwatt("rerun", forged)
    assert (answer.status, "made again, results/points.dat is another" in answer.err) == (1, True)
    # Its gaps are not made either.
    assert len(found) < 18
    assert len(Store(tmp_path / "again")) == len(found)


def test_runs_that_several_plans_have_are_archived_once(airwatt, tmp_path):
    for runs in ("2", "4"):
        assert airwatt("sweep", *TINY, "--runs", runs, "--store", tmp_path / "store").status == 0
    assert airwatt("archive", tmp_path / "store", "-o", tmp_path / "a.zip").status == 0
    answer = airwatt("rerun", tmp_path / "a.zip")
    assert answer.status == 0, answer
    assert "4 of 4 runs made again: all" in answer.out
    assert answer.err == ""
