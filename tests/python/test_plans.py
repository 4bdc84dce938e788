"""Plans of sweeps in a store: what is damaged, edited, of an earlier version or of another core library."""

import io
import json
import os

import pyarrow.parquet
import pytest
from conftest import ROOT

import airwatt as laboratory
from airwatt.sweeps import plan
from airwatt.sweeps.store import Files

TINY = ["fast-dsl", "--set", "flow.application.size=20kB"]


def test_a_damaged_plan_is_not_repaired_in_silence(airwatt, tmp_path):
    store = tmp_path / "store"
    assert airwatt("sweep", *TINY, "--runs", "2", "--store", store).status == 0
    path = next((store / "plans").glob("*.parquet"))
    content = bytearray(path.read_bytes())
    # In the scenario's text: the statistics behind it, which repeat it, are not read.
    within = pyarrow.parquet.read_metadata(path).row_group(0).column(1).dictionary_page_offset + 200
    content[within] ^= 0xFF
    path.write_bytes(content)
    answer = airwatt("sweep", "repair", store)
    assert answer.status == 2
    assert "expected the plan of a sweep, got a damaged file" in answer.err
    # In the scenario's text: the statistics behind it, which repeat it, are not read.
    content[within] ^= 0xFF
    # The library has a text of several lines for damage in the header of a page.
    page = pyarrow.parquet.read_metadata(io.BytesIO(content)).row_group(0).column(0)
    start = page.dictionary_page_offset or page.data_page_offset
    content[start : start + 4] = b"XXXX"
    path.write_bytes(content)
    assert airwatt("sweep", "resume", store).is_one_line("give the sweep's command again, which keeps the runs")
    for path in (store / "plans").iterdir():
        path.unlink()
    answer = airwatt("sweep", "resume", store)
    assert answer.is_one_line("ended before its plan was written; hint: give its command again"), answer.err
    chunks = sorted((store / "runs").iterdir())
    assert airwatt("sweep", *TINY, "--runs", "2", "--store", store).status == 0
    assert sorted((store / "runs").iterdir()) == chunks


@pytest.mark.parametrize(
    "change",
    [
        {"runs": 1},
        {"seed": 2},
        {"until": "ci95(energy_j) < 1%"},
        {"varied": ["policy"]},
        {"runs": 10**9},
        {"runs": -5},
        {"runs": "a"},
        {"seed": 2**70},
        {"until": 3},
        {"varied": "x"},
        {"scenario": None},
        {"scenario": "somebody else's"},
        {"core": "0" * 24},
        {"commit": "0" * 40},
        {"version": "99"},
        {"sum": None},
    ],
)
def test_an_impossible_plan_is_one_line(airwatt, tmp_path, change):
    store = tmp_path / "store"
    assert airwatt("sweep", *TINY, "--runs", "2", "--store", store).status == 0
    about = next((store / "plans").glob("*.json"))
    about.write_text(json.dumps(json.loads(about.read_text()) | change))
    for verb in ("status", "export", "resume"):
        answer = airwatt("sweep", verb, store)
        assert answer.status == 2, (verb, answer)
        assert answer.is_one_line("expected the plan of a sweep, got a damaged file"), answer.err
    about.write_text("[" * 100_000)
    assert airwatt("sweep", "status", store).is_one_line("nested too deeply")


def test_settings_with_other_values_are_those_of_no_plan(airwatt, tmp_path):
    store = tmp_path / "store"
    laboratory.sweep("idle", over={"duration": "1s,2s"}, store=store)
    (path,) = (store / "plans").glob("*.parquet")
    table = pyarrow.parquet.read_table(path)
    index = table.schema.get_field_index("duration_s")
    pyarrow.parquet.write_table(table.set_column(index, "duration_s", pyarrow.array([1.0, 3.0])), path)
    for verb in ("status", "export", "resume"):
        assert airwatt("sweep", verb, store).is_one_line("it asks for something else than when it was written")


def test_equal_points_under_other_names_are_another_sweep(tmp_path):
    """Tables have the names that were asked for last."""
    for name in ("before", "after"):
        profile = tmp_path / f"{name}.toml"
        profile.write_text((ROOT / "radios" / "ar5004.toml").read_text())
        laboratory.sweep(
            "idle", over={"station.radio": [str(profile)]}, set={"duration": "1s"}, store=tmp_path / "store"
        )
        table = laboratory.open_store(tmp_path / "store").to_arrow("runs")
        assert table.column("station.radio").to_pylist() == [str(profile)]


def test_a_plan_of_an_earlier_version_is_read(tmp_path):
    """Its ID is no hash of names and values, and it has no sum."""
    store = tmp_path / "store"
    laboratory.sweep("idle", over={"duration": "1s,2s"}, store=store)
    (item,) = Files.open(store).plans()
    for suffix in (".json", ".parquet"):
        (store / "plans" / (item.id + suffix)).rename(store / "plans" / (plan._older_id(item) + suffix))
    (about,) = (store / "plans").glob("*.json")
    document = json.loads(about.read_text())
    del document["sum"]
    about.write_text(json.dumps(document))
    assert [state.finished for state in laboratory.open_store(store).status()] == [2]


def test_a_plan_of_another_core_library_that_was_touched_later_hides_nothing(tmp_path, monkeypatch):
    store = tmp_path / "store"
    laboratory.sweep("idle", set={"duration": "1s"}, runs=2, store=store)
    monkeypatch.setattr(plan, "core_hash", lambda: "0" * 24)
    laboratory.sweep("idle", set={"duration": "3s"}, store=store)
    monkeypatch.undo()
    (other,) = (path for path in (store / "plans").glob("*.json") if f'"{"0" * 24}"' in path.read_text())
    os.utime(other, (2**31, 2**31))
    assert [state.jobs for state in laboratory.open_store(store).status()] == [2]


def test_points_of_two_sweeps_are_told_apart(airwatt, tmp_path):
    """Two sizes by `--set` had one label: tables averaged over both."""
    store = tmp_path / "store"
    for size, runs in (("20kB", "2"), ("40kB", "2"), ("40kB", "3")):
        key = f"flow.application.size={size}"
        made = airwatt("sweep", "fast-dsl", "--policy", "active,psm", "--set", key, "--runs", runs, "--store", store)
        assert made.status == 0
    rows = laboratory.open_store(store).to_arrow().to_pylist()
    sizes = {(row["policy"], row["flow.application.size_bytes"]) for row in rows}
    assert sizes == {(policy, size) for policy in ("active", "psm") for size in (20_000, 40_000)}
    # One sweep alone has the columns of its grid.
    alone = tmp_path / "alone"
    airwatt("sweep", "fast-dsl", "--policy", "active,psm", "--set", "flow.application.size=20kB", "--store", alone)
    assert "flow.application.size_bytes" not in laboratory.open_store(alone).to_arrow().schema.names


def test_points_of_an_edited_mechanism_are_told_apart(airwatt, tmp_path):
    store, file = tmp_path / "store", tmp_path / "own.py"
    body = "    def on_start(self, radio):\n        radio.set_power_save(False)\n"
    for number in range(2):
        head = f'import airwatt\n\n\nclass Late(airwatt.Policy):\n    needs = ("switch",)\n    number = {number}\n\n'
        file.write_text(head + body)
        made = airwatt("sweep", *TINY, "--policy", f"{file}:Late", "--store", store)
        assert made.status == 0, made.err
    rows = laboratory.open_store(store).to_arrow().to_pylist()
    assert len({row["sweep"] for row in rows}) == len(rows) == 2
    assert rows[0]["policy"] == rows[1]["policy"]
    # A store does not keep the text of a mechanism, so that no archive has it.
    asked = airwatt("archive", store, "--out", tmp_path / "a.zip")
    assert asked.is_one_line("as it was when the sweep began", "--store")
