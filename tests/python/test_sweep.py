"""Sweeps: grids, the store and what survives in it, runners that help each other, tables, and wrong input."""

import json
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
import zlib

import pyarrow.dataset
import pyarrow.parquet
import pytest
from conftest import PROGRAM, ROOT

import airwatt as laboratory
from airwatt._core import AirwattError, InputError, Quantity, Scenario
from airwatt.cli import progress
from airwatt.parallel import Progress, run_all
from airwatt.sweeps import claims, grid, ranges
from airwatt.sweeps.conditions import Condition
from airwatt.sweeps.frames import Store
from airwatt.sweeps.grid import Request
from airwatt.sweeps.runner import Shard

SMALL = {"flow.application.size": "20kB"}
TINY = ["fast-dsl", "--set", "flow.application.size=20kB"]
FIFTY = [*TINY, "--over", "wired.rtt=10ms:50ms:10ms", "--policy", "active,psm", "--runs", "5"]
"""50 runs of milliseconds."""
SLOW = ["fast-dsl", "--set", "flow.application.size=2MB", *FIFTY[3:]]
"""50 runs that last long enough to be killed among them."""


@pytest.fixture(scope="module")
def fifty(tmp_path_factory):
    """The bytes of the export of the 50 slower runs, made by one runner without a break."""
    folder = tmp_path_factory.mktemp("whole")
    laboratory.sweep(
        "fast-dsl",
        over={"wired.rtt": "10ms:50ms:10ms"}, policy="active,psm", runs=5, set={"flow.application.size": "2MB"},
        store=folder / "store",
    )  # fmt: skip
    return exported(folder / "store")


def exported(*stores):
    """The bytes of an export as Parquet and as CSV."""
    found = b""
    for name in ("all.parquet", "all.csv"):
        Store(*stores).export(stores[0].parent / name)
        found += (stores[0].parent / name).read_bytes()
    return found


def runs_in(store):
    """How many whole lines the journals of a store have."""
    return sum(path.read_bytes().count(b"\n") for path in (store / "journal").glob("*.jsonl"))


def wait_for(condition, seconds=30.0):
    """Waits until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def signalled(store, words, signal_number):
    """A sweep of 50 runs that gets a signal when three of them are in the journal: its status and what it wrote."""
    process = subprocess.Popen(
        [PROGRAM, "sweep", *words, "--store", store],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests in the background may run with interrupts ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: runs_in(store) >= 3)
    process.send_signal(signal_number)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def killed(folder):
    """The store of a sweep that SIGKILL ended among its runs.

    The runs are short, because they are finished later: where they all end before this process gets its turn, another
    sweep is started.
    """
    for attempt in range(20):
        store = folder / f"store{attempt}"
        status, _, _ = signalled(store, SLOW, signal.SIGKILL)
        if status == -signal.SIGKILL and runs_in(store) < 50:
            return store
    raise AssertionError("no sweep was killed in time")


# Grids


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10ms:50ms:20ms", ["10ms", "30ms", "50ms"]),
        ("0.1s:0.3s:100ms", ["100ms", "200ms", "300ms"]),
        ("500us:2ms:0.5ms", ["0.5ms", "1ms", "1.5ms", "2ms"]),
        ("20packets:100packets:40packets", ["20packets", "60packets", "100packets"]),
        ("1:3:1", ["1", "2", "3"]),
        ("3:1:-1", ["3", "2", "1"]),
        ("1ms:1s:x10", ["1ms", "10ms", "100ms", "1000ms"]),
        ("10us:40us:x1.5", ["10us", "15us", "22.5us", "33.75us"]),
        ("1us:3us:x1.23", ["1us", "1.23us", "1.513us", "1.861us", "2.289us", "2.815us"]),
        ("1kB:2kB:x1.3", ["1kB", "1.3kB", "1.69kB"]),
        ("1packets:8packets:x1.5", ["1packets", "2packets", "3packets", "5packets", "8packets"]),
        ("1:4:x1.5", ["1", "2", "3"]),
        ("0.5:2:x2", ["0.5", "1", "2"]),
        ("10ms:30ms:10ms,100ms", ["10ms", "20ms", "30ms", "100ms"]),
        ("newreno, sack+ackloss", ["newreno", "sack+ackloss"]),
        ("0.1:0.3:0.1", ["0.1", "0.2", "0.3"]),
    ],
)
def test_ranges_are_decimal_and_keep_their_unit(text, values):
    assert ranges.values_of("key", text) == values


@pytest.mark.parametrize("values", ["1ms:1s:x1.000001", "1ms:1s:x1.0000000001", "1us:1s:100ns"])
def test_a_range_of_more_than_a_million_values_is_refused(airwatt, values):
    refused = airwatt("sweep", "fast-dsl", "--over", f"wired.rtt={values}", "--dry-run")
    assert (refused.status, "expected at most 1000000 values, got " in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("wired.rtt", "1ms:1s:x1.5"),
        ("wired.down.queue", "10packets:100packets:x1.5"),
        ("flow.application.size", "1kB:1MB:x1.3"),
        ("wired.down.rate", "1Mbps:20Mbps:x1.7"),
    ],
)
def test_a_factor_gives_values_that_the_key_takes(key, text):
    values = ranges.values_of(key, text)
    assert len(values) > 4
    for value in values:
        Scenario.load("fast-dsl", [(key, value)])


@pytest.mark.parametrize(
    "text", ["10ms:1ms:1ms", "1ms:9ms:0ms", "1ms:5B:1ms", "1ms,,2ms", "1ms,1ms", "0ms:1s:x2", "1ms:x:1ms", "1:1e9:1"]
)
def test_a_wrong_range_is_said_with_its_key(text):
    with pytest.raises(InputError, match=r"^wired\.rtt: expected"):
        ranges.values_of("wired.rtt", text)


def test_a_grid_is_the_product_of_its_parts_under_its_conditions(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'scenario = "fast-dsl"\nruns = 3\npolicy = ["active", "psm"]\nwhere = ["wired.rtt < 30ms or policy == psm"]\n'
        '[over]\nwired.rtt = "10ms:40ms:10ms"\n'
        '[[together]]\nwired.down.rate = ["16Mbps", "2Mbps"]\nwired.up.rate = ["1Mbps", "256kbps"]\n'
    )
    assert grid.is_sweep_file(str(file))
    request = grid.read(str(file))
    points = list(grid.grid(request, []).points())
    assert request.runs == 3
    assert len(points) == (2 + 4) * 2
    assert {(point["wired.down.rate"], point["wired.up.rate"]) for point in points} == {
        ("16Mbps", "1Mbps"),
        ("2Mbps", "256kbps"),
    }
    assert not [point for point in points if point["policy"] == "active" and point["wired.rtt"] in ("30ms", "40ms")]


def test_a_latin_hypercube_has_one_point_in_each_stratum():
    latin = {"points": 20, "seed": 3, "over": {"wired.rtt": "10ms:210ms", "ap.dtim_period": "1:5", "x": ["a", "b"]}}
    points = list(grid.grid(Request("fast-dsl", latin=latin), []).points())
    assert sorted(int((float(point["wired.rtt"][:-2]) - 10) / 10) for point in points) == list(range(20))
    assert {point["ap.dtim_period"] for point in points} == {"1", "2", "3", "4", "5"}
    assert [point["x"] for point in points].count("a") == 10
    assert points == list(grid.grid(Request("fast-dsl", latin=latin), []).points())


def test_conditions_compare_quantities_numbers_and_texts():
    point = {"wired.rtt": "20ms", "n": "3", "policy": "psm"}
    for text in ("wired.rtt < 0.1s", "n >= 3 and policy == psm", "policy != psm or n < 4", "wired.rtt == 20000us"):
        assert Condition(text).holds(point), text
    for text in ("wired.rtt > 20ms", "n > 3 or policy == active"):
        assert not Condition(text).holds(point), text


def leaves(value, path=""):
    """The dotted keys of a scenario's numbers, quantities and truths, with another value for each."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield from leaves(below, f"{path}.{key}" if path else str(key))
    if isinstance(value, bool):
        yield path, str(not value).lower()
    elif isinstance(value, int | float):
        yield path, str(value + 1)
    elif isinstance(value, Quantity):
        yield path, str(value * 2 if value else Quantity.of(1, value.unit))
    elif isinstance(value, str) and value.endswith("packets"):
        yield path, f"{int(value.removesuffix('packets')) + 1}packets"


@pytest.mark.parametrize("name", ["fast-dsl", "e2tcp", "two-hops", "web"])
def test_every_setting_changes_the_key_of_a_point(name):
    """A setting that the canonical text lost would give two different runs one place in the store."""
    base = Scenario.load(name, [])
    changed = 0
    for key, value in leaves(base.to_dict()):
        try:
            other = base.replace([(key, value)])
        except InputError:
            continue  # It has no effect on this scenario, or has to change with another key.
        changed += 1
        assert other.canonical() != base.canonical(), f"{key}={value}"
    assert changed > 10
    assert base.replace([("description", "other")]).canonical() == base.canonical()


def test_the_content_of_a_radio_file_is_part_of_the_key(tmp_path, airwatt):
    radio = tmp_path / "mine.toml"
    text = (ROOT / "radios" / "ar5004.toml").read_text()
    radio.write_text(text)
    loaded = Scenario.load("fast-dsl", [("station.radio", str(radio))])
    before = loaded.canonical()
    # The same profile elsewhere is the same value, and a comment is no part of it.
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text(text + "\n# a comment\n")
    assert Scenario.load("fast-dsl", [("station.radio", str(elsewhere))]).canonical() == before
    radio.write_text(text.replace('listen = "0.8W"', 'listen = "0.7W"'))
    assert Scenario.load("fast-dsl", [("station.radio", str(radio))]).canonical() != before
    # A scenario keeps the profile with which it was loaded.
    assert loaded.canonical() == before
    radio.unlink()
    assert loaded.canonical() == before


# Sweeps and stores


def test_a_sweep_becomes_a_data_frame(tmp_path):
    store = laboratory.sweep(
        "fast-dsl",
        over={"wired.rtt": "10ms:30ms:10ms", "wired.down.queue": ["20packets", "50packets"]},
        policy="all", set=SMALL, runs=2, store=tmp_path / "store", where="policy != twt",
    )  # fmt: skip
    frame = store.to_pandas()
    policies = [policy.name for policy in laboratory.policies() if policy.name != "twt"]
    assert len(frame) == len(store) == 3 * 2 * len(policies) * 2
    assert list(frame.columns[:4]) == ["policy", "wired.rtt_s", "wired.down.queue_packets", "seed"]
    assert set(frame["wired.rtt_s"]) == {0.01, 0.02, 0.03}
    one = frame[(frame.policy == "psm") & (frame["wired.rtt_s"] == 0.02) & (frame["wired.down.queue_packets"] == 50)]
    alone = laboratory.run(
        "fast-dsl", policy="psm", seed=2, set={**SMALL, "wired.rtt": "20ms", "wired.down.queue": "50packets"}
    )
    assert one[one.seed == 2].energy_j.item() == alone.stations[0].energy_j
    assert one[one.seed == 2].goodput_bps.item() == alone.flows[0].goodput_bps
    stations = store.to_pandas("stations")
    assert {"wired.rtt_s", "energy_by_cause_j.doze", "policy"} <= set(stations.columns)
    assert store.to_arrow("flows", ["policy", "goodput_bps"]).schema.names == ["policy", "goodput_bps"]
    with pytest.raises(InputError, match=r"^column: expected one that the store has, got 'energy'"):
        store.to_arrow("runs", ["energy"])
    assert store.scenario(one.point.iloc[0]).to_dict()["wired"]["rtt"] == "20ms"


def test_what_is_there_is_not_run_again(tmp_path):
    given = {"over": {"wired.rtt": ["10ms", "20ms"]}, "set": SMALL, "store": tmp_path / "store"}
    first = (
        laboratory.sweep("fast-dsl", runs=2, **given).to_arrow("runs", ["wired.rtt_s", "seed", "wall_s"]).to_pylist()
    )
    given["over"] = {"wired.rtt": ["20ms", "10ms", "30ms"]}
    store = laboratory.sweep("fast-dsl", runs=3, **given)
    second = store.to_arrow("runs", ["wired.rtt_s", "seed", "wall_s"]).to_pylist()
    assert len(second) == 9
    assert all(row in second for row in first)
    assert [state.missing for state in store.status()] == [0, 0]


def test_a_store_is_parquet_for_everybody(tmp_path):
    laboratory.sweep("fast-dsl", over={"wired.rtt": ["10ms", "20ms"]}, set=SMALL, runs=2, store=tmp_path / "store")
    table = pyarrow.dataset.dataset(tmp_path / "store" / "runs", format="parquet").to_table()
    assert table.num_rows == 4
    assert {"point", "seed", "energy_j"} <= set(table.schema.names)


def test_killed_in_the_middle_it_goes_on_and_loses_nothing(tmp_path, airwatt, fifty):
    store = killed(tmp_path)
    kept = {line for path in (store / "journal").glob("*.jsonl") for line in path.read_bytes().splitlines()}
    assert 3 <= len(kept) < 50
    answer = airwatt("sweep", "resume", store, "--json")
    assert answer.json["sweeps"][0]["finished"] == 50
    # How long a run took differs from one time to the next: what was kept is what is there now.
    walls = laboratory.open_store(store).to_arrow("runs", ["wall_s"]).column(0).to_pylist()
    assert {json.loads(line[9:])["run"]["wall_s"] for line in kept} <= set(walls)
    assert exported(store) == fifty
    assert not list((store / "claims").iterdir())


def test_retries_that_cannot_write_do_not_spoil_the_store(tmp_path, airwatt, fifty):
    store = killed(tmp_path)
    (path,) = (store / "journal").glob("*.jsonl")
    # The name that many retries on a full disk gave a journal before.
    path.rename(path.with_name("of-".join([path.stem] * 12)[-240:] + ".jsonl"))
    kept = runs_in(store)
    for _ in range(3):
        failed = subprocess.run(
            [PROGRAM, "sweep", "resume", store],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)),
        )
        assert failed.returncode == 1
        assert "File too large" in failed.stderr
        assert max(len(path.name) for path in (store / "journal").iterdir()) < 80
        assert runs_in(store) >= kept
    assert airwatt("sweep", "resume", store).status == 0
    assert exported(store) == fifty


def test_an_interrupt_keeps_what_is_finished(tmp_path):
    # Nobody waits for the end of these runs: they may be long, and so none misses the signal.
    words = ["fast-dsl", "--set", "flow.application.size=200MB", *FIFTY[3:]]
    status, out, err = signalled(tmp_path / "store", words, signal.SIGINT)
    assert status == 130
    assert err == "airwatt: interrupted\n"
    assert "sweep resume" in out
    assert 3 <= len(laboratory.open_store(tmp_path / "store")) < 50


def test_two_runners_help_each_other(tmp_path, fifty):
    store = tmp_path / "store"
    words = [PROGRAM, "sweep", *SLOW, "--store", store]
    both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [(b"", 0), (b"", 0)]
    chunks = [path.name for path in (store / "runs").iterdir()]
    # Nothing was done twice.
    assert sum(int(name.removesuffix(".parquet").rpartition("-")[2]) for name in chunks) == 50
    assert exported(store) == fifty


def test_shards_with_a_store_each_export_the_same_bytes(tmp_path, airwatt, fifty):
    stores = [tmp_path / "one", tmp_path / "two"]
    for index, store in enumerate(stores, 1):
        assert airwatt("sweep", *SLOW, "--store", store, "--shard", f"{index}/2").status == 0
    assert sum(len(laboratory.open_store(store)) for store in stores) == 50
    assert exported(*stores) == fifty


def test_what_is_alike_in_an_unfinished_sweep_is_said_of_the_points_that_have_runs(tmp_path, airwatt):
    words = ["fast-dsl", "--policy", "active,psm", "--over", "flow.application.size=20kB,30kB"]
    part = airwatt("sweep", *words, "--store", tmp_path / "part", "--shard", "1/2")
    whole = airwatt("sweep", *words, "--store", tmp_path / "whole")
    assert (part.status, whole.status) == (0, 0)
    assert "at the 2 points that have finished runs: flow.application.size_bytes 20000" in part.out
    assert "finished runs: " not in whole.out


def test_a_damaged_line_is_reported_and_only_its_run_is_made_again(tmp_path, airwatt, fifty):
    store = killed(tmp_path)
    (path,) = (store / "journal").glob("*.jsonl")
    lines = path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b'"wall_s"', b'"wall_x"')
    path.write_bytes(b"\n".join(lines))
    before = json.loads(airwatt("sweep", "status", store, "--json").out)["sweeps"][0]
    assert before["damaged_lines"] == 1
    assert before["finished"] == len([line for line in lines if line and int(line[:8], 16) == zlib.crc32(line[9:])])
    assert "1 damaged line" in airwatt("sweep", "status", store).out
    assert airwatt("sweep", "resume", store).status == 0
    assert exported(store) == fifty
    assert [found.suffix for found in (store / "journal").iterdir()] == [".damaged"]


def flipped(content):
    """The bytes of a Parquet file with one bit changed in the first page."""
    place = 60
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def renamed(content):
    """The bytes of a Parquet file whose column of points has another name in the footer: no page knows it."""
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    assert b"point" in content[begin:]
    return content[:begin] + content[begin:].replace(b"point", b"joint")


@pytest.mark.parametrize("what", ["runs", "flows", "stations", "documents", "failed"])
@pytest.mark.parametrize("damage", [lambda _: b"", lambda content: content[:-9], flipped, renamed, lambda _: None])
def test_a_damaged_chunk_is_named_and_its_runs_are_made_again(tmp_path, airwatt, what, damage):
    store = tmp_path / "store"
    words = ["sweep", *TINY, "--over", "time_limit=1ms,10s", "--policy", "active,psm", "--store", store]
    assert airwatt(*words).status == 1
    before = json.loads(airwatt("sweep", "status", store, "--json").out)
    whole = airwatt("sweep", "export", store).out
    (path,) = (store / what).iterdir()
    content = damage(path.read_bytes())
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    if content is not None or what not in ("runs", "failed"):
        verb = ["resume", store] if what == "failed" else ["export", store, "--table", what]
        if what != "documents":
            answer = airwatt("sweep", *verb)
            assert answer.status == 2
            assert answer.is_one_line(path.stem, "sweep repair"), answer.err
        answer = airwatt("sweep", "repair", store)
        assert answer.status == 1  # Two runs fail, as before.
        assert f"{path}: expected" in answer.err
        assert "made again" in answer.err
        assert content is None or (store / what / f"{path.name}.damaged").read_bytes() == content
    else:
        # Without the file that completes a chunk there is none.
        assert airwatt("sweep", "resume", store).status == 1
    assert airwatt("sweep", "export", store).out == whole
    after = json.loads(airwatt("sweep", "status", store, "--json").out)
    assert after["sweeps"] == before["sweeps"]
    assert len(after["failed"]) == len(before["failed"]) == 2
    assert "set aside" not in airwatt("sweep", "repair", store).err


@pytest.mark.parametrize("what", ["runs", "flows"])
def test_a_small_chunk_with_more_rows_than_there_are_runs_is_damaged(tmp_path, airwatt, what):
    """Equal rows take no place in a file: a megabyte of it would take gigabytes of memory."""
    store = tmp_path / "store"
    assert airwatt("sweep", *TINY, "--runs", "2", "--store", store).status == 0
    whole = airwatt("sweep", "export", store).out
    shutil.rmtree(store / "footers")
    (path,) = (store / what).iterdir()
    row = pyarrow.parquet.read_table(path).slice(0, 1)
    rows, stem = 200_000, path.stem
    pyarrow.parquet.write_table(row.take(pyarrow.array([0] * rows)), path, compression="zstd")
    if what == "runs":
        stem = f"{path.stem.rpartition('-')[0]}-{rows}"
        for folder in ("runs", "flows", "stations", "documents"):
            (store / folder / path.name).rename(store / folder / f"{stem}.parquet")
    for words in (["status"], ["export"]) if what == "runs" else (["export", "--table", what],):
        answer = airwatt("sweep", *words, store)
        assert answer.status == 2
        assert answer.is_one_line(stem, f"{rows} rows, more than the plans have runs", "sweep repair"), answer
    assert airwatt("sweep", "repair", store).status == 0
    assert airwatt("sweep", "export", store).out == whole


def test_a_chunk_of_an_earlier_version_is_repaired_as_well(tmp_path, airwatt):
    store = tmp_path / "store"
    assert airwatt("sweep", *TINY, "--store", store).status == 0
    whole = airwatt("sweep", "export", store).out
    shutil.rmtree(store / "footers")
    (path,) = (store / "flows").iterdir()
    path.write_bytes(b"")
    answer = airwatt("sweep", "repair", store)
    assert answer.status == 0, answer.err
    assert airwatt("sweep", "export", store).out == whole


def test_tables_of_a_store_without_finished_runs_are_empty(tmp_path, airwatt):
    store = tmp_path / "store"
    assert airwatt("sweep", *TINY, "--set", "time_limit=1ms", "--store", store).status == 1
    for table in ("runs", "flows", "stations"):
        answer = airwatt("sweep", "export", store, "--table", table)
        # The one run failed, which an export says.
        assert (answer.status, answer.err.count("\n")) == (1, 1), answer.err
        assert answer.out.startswith('"seed","point"')
    assert airwatt("sweep", "status", store).status == 0
    assert len(laboratory.open_store(store).to_pandas("flows")) == 0
    assert airwatt("report", store, "-o", tmp_path / "page.html").is_one_line("without")


def test_failed_runs_are_kept_with_their_reason_and_can_be_tried_again(tmp_path, airwatt):
    store = tmp_path / "store"
    words = ["sweep", *TINY, "--over", "time_limit=1ms,10s", "--runs", "2", "--store", store]
    answer = airwatt(*words)
    assert answer.status == 1
    assert "2 of 4 runs failed" in answer.err
    shown = airwatt("sweep", "status", store)
    assert shown.status == 0
    assert "time_limit" in shown.out
    assert "runs them again" in " ".join(shown.out.split())
    failed = json.loads(airwatt("sweep", "status", store, "--json").out)["failed"]
    assert [item["settings"]["time_limit_s"] for item in failed] == [0.001, 0.001]
    assert all(item["wall_s"] > 0 and "time_limit" in item["error"] for item in failed)
    # They are not tried again unless one asks for it.
    assert airwatt("sweep", "resume", store).status == 1
    assert json.loads(airwatt("sweep", "status", store, "--json").out)["failed"] == failed
    assert airwatt("sweep", "retry", store).status == 1
    again = json.loads(airwatt("sweep", "status", store, "--json").out)["failed"]
    assert [item["wall_s"] for item in again] != [item["wall_s"] for item in failed]
    assert len(again) == 2


def test_a_rule_stops_points_whose_mean_is_known(tmp_path):
    given = {"over": {"wired.rtt": ["10ms", "40ms"]}, "policy": ["psm"], "set": SMALL}
    rule = "ci95(energy_j) < 10%"
    store = laboratory.sweep("fast-dsl", **given, runs=40, until=rule, store=tmp_path / "store")
    (state,) = store.status()
    assert state.missing == 0
    assert state.finished + state.not_needed == 80
    assert state.not_needed > 0
    for _, runs, (energy,) in store.summary(["energy_j"]):
        assert 5 <= runs <= 40
        assert runs == 40 or energy.ci95 < 0.1 * energy.mean
    # It is the same rule by the path of the number, and by what the store has.
    for same in (rule, "ci95(stations.0.energy_j) < 10%"):
        finished = len(store)
        again = laboratory.sweep("fast-dsl", **given, runs=40, until=same, store=tmp_path / "store")
        assert len(again) == finished
        assert [state.missing for state in again.status()] == [0] * len(again.status())


def test_a_dry_run_of_one_run_counts_one_of_each(tmp_path, airwatt):
    words = ["sweep", "fast-dsl", "--set", "flow.application.size=100kB", "--store", tmp_path / "store", "--dry-run"]
    assert airwatt.output([*words, "--runs", "1"]).startswith("fast-dsl, 1 point, 1 seed: 1 run, 1 to be made in")
    assert airwatt.output([*words, "--runs", "2"]).startswith("fast-dsl, 1 point, 2 seeds: 2 runs, 2 to be made in")


def test_a_dry_run_says_what_is_missing_and_makes_nothing(tmp_path, airwatt):
    store = tmp_path / "store"
    words = ["sweep", *FIFTY, "--store", store]
    answer = airwatt(*words, "--dry-run")
    assert answer.status == 0
    assert "10 points, 5 seeds each: 50 runs, 50 to be made" in answer.out
    assert "a run" in answer.out
    assert "on the disk" in answer.out
    assert not store.exists()
    assert airwatt(*words).status == 0
    size = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    found = airwatt(*words[:-3], "7", *words[-2:], "--dry-run", "--json").json
    assert (found["jobs"], found["missing"], found["points"], found["seeds"]) == (70, 20, 10, 7)
    assert 0 < found["least_s"] <= found["run_s"] <= found["most_s"]
    assert found["disk_bytes"] < size
    assert len(laboratory.open_store(store)) == 50
    assert airwatt("sweep", "status", store, "--dry-run").is_one_line("--dry-run", "no effect")


def test_the_rate_is_that_of_the_last_half_minute():
    rate = progress._Rate()
    # A run a second for ten minutes, then, as others join or runs are cheaper, ten a second.
    for second in range(600):
        shown = rate.text(Progress(second, 10_000, 0.0, 0.0, float(second)))
    assert "1/s" in shown
    for second in range(60):
        shown = rate.text(Progress(600 + 10 * second, 10_000, 0.0, 0.0, 600.0 + second))
    assert "10/s" in shown
    assert shown.endswith(("15 min left", "14 min left")), shown


def test_a_log_gets_a_line_each_minute(capsys):
    lines = progress._Lines("study")
    for second in range(200):
        lines.update(Progress(second, 1_000, 0.0, 0.0, float(second)))
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 3
    assert shown[0] == "airwatt: study: 60 s: 60/1000 runs, 1/s, 16 min left"


# Claims


def test_a_claim_expires_without_a_heartbeat_and_not_before(tmp_path):
    for name in ("runners", "claims"):
        (tmp_path / name).mkdir()
    one, other = claims.Runner(tmp_path), claims.Runner(tmp_path)
    assert one.claim("block")
    assert not other.claim("block")
    # Its process hangs: the lock is held, the heartbeat is old.
    old = time.time() - claims.EXPIRES_S - 5
    os.utime(tmp_path / "runners" / one.name, (old, old))
    assert other.claim("block")
    assert not one.claim("block")
    other.release("block")
    assert one.claim("block")
    one.close()
    # It has ended: its claim is void at once.
    assert other.claim("block")
    other.close()


# What a user can get wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], ["expected a scenario"]),
        (["no-such"], ["no-such", "no such scenario"]),
        (["fast-dsl", "--over", "wired.rtt"], ["--over", "KEY=RANGE"]),
        (["fast-dsl", "--over", "wired.rtt=10"], ["--over wired.rtt=10", "unit"]),
        (["fast-dsl", "--over", "wired.rtx=10ms"], ["--over wired.rtx=10ms", "unknown key"]),
        (["fast-dsl", "--over", "wired.rtt=10ms:1ms:1ms"], ["wired.rtt", "step"]),
        (["fast-dsl", "--over", "wired.rtt=10ms", "--over", "wired.rtt=20ms"], ["wired.rtt", "twice"]),
        (["fast-dsl", "--policy", "nap"], ["nap"]),
        (["fast-dsl", "--where", "policy = psm"], ["where", "KEY OP VALUE"]),
        (["fast-dsl", "--where", "policy == psm"], ["where", "varied"]),
        (["fast-dsl", "--policy", "psm,active", "--where", "policy == ideal"], ["where", "none"]),
        (["fast-dsl", "--until", "energy_j < 1"], ["until", "ci95(KEY)"]),
        (["fast-dsl", "--until", "ci95(energy) < 1%"], ["until", "energy"]),
        (["fast-dsl", "--runs", "0"], ["runs: expected", "got 0"]),
        (["fast-dsl", "--shard", "3/2"], ["shard", "i/N"]),
        (["fast-dsl", "--store", "README.md"], ["--store README.md", "folder"]),
        (["fast-dsl", "--store", "docs"], ["--store docs", "other files"]),
        (["fast-dsl", "--out", "x.csv"], ["--out", "export"]),
        (["fast-dsl", "slow-dsl"], ["expected one scenario"]),
        (["status"], ["expected the folder of a store"]),
        (["status", "no-such"], ["no-such", "no such folder"]),
        (["status", "docs"], ["docs", "no store"]),
        (["resume", "docs", "--runs", "3"], ["--runs", "no effect"]),
        (["export", "docs", "--out", "x.xls"], ["docs"]),
    ],
)
def test_wrong_input_is_one_line(airwatt, words, said):
    answer = airwatt("sweep", *words)
    assert answer.status == 2
    assert answer.is_one_line(*said), answer.err
    assert not (ROOT / "fast-dsl.sweep").exists()


def test_what_is_wrong_with_a_point_of_a_sweep_file_is_said_of_the_file(tmp_path, airwatt):
    path = tmp_path / "study.toml"
    path.write_text('scenario = "fast-dsl"\n[over]\nwired.rtx = ["10ms"]\n')
    answer = airwatt("sweep", path)
    assert answer.status == 2
    assert answer.is_one_line(f"{path}: wired.rtx=10ms: unknown key"), answer.err
    assert "--over" not in answer.err


def test_a_sweep_file_with_an_unknown_key_is_refused(tmp_path, airwatt):
    file = tmp_path / "study.toml"
    file.write_text('scenario = "fast-dsl"\nrun = 3\n[over]\nwired.rtt = "10ms"\n')
    answer = airwatt("sweep", file)
    assert answer.status == 2
    assert answer.is_one_line("study.toml", "run: unknown key")


def test_shards_are_counted_from_one():
    assert Shard.parse("2/8") == Shard(2, 8)
    for text in ("0/2", "2", "a/b", "3/2"):
        with pytest.raises(InputError, match=r"^shard: expected i/N"):
            Shard.parse(text)


@pytest.mark.long
def test_a_dask_cluster_makes_the_same_runs(tmp_path, airwatt, fifty):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        store = tmp_path / "store"
        assert airwatt("sweep", *SLOW, "--store", store, "--dask", cluster.scheduler_address).status == 0
    assert exported(store) == fifty


@pytest.mark.long
def test_no_cluster_is_said_in_one_line(airwatt, tmp_path):
    pytest.importorskip("distributed")
    answer = airwatt("sweep", *TINY, "--store", tmp_path / "store", "--dask", "tcp://127.0.0.1:1")
    assert answer.status == 2
    assert answer.is_one_line("--dask tcp://127.0.0.1:1", "scheduler")
    assert not (tmp_path / "store").exists()


def test_an_export_with_runs_missing_says_so(airwatt, tmp_path):
    store = tmp_path / "store"
    assert airwatt("sweep", *FIFTY, "--store", store).status == 0
    assert airwatt("sweep", "export", store, "--out", tmp_path / "all.csv").status == 0
    for chunk in (store / "runs").iterdir():
        chunk.unlink()
    answer = airwatt("sweep", "export", store, "--out", tmp_path / "none.csv")
    assert answer.status == 1
    assert "0 of 50 runs are in it: 50 missing" in answer.err
    assert airwatt("sweep", "export", store).status == 1


def test_a_run_of_several_plans_counts_once(airwatt, tmp_path):
    store = tmp_path / "store"
    for runs in ("2", "4"):
        assert airwatt("sweep", *TINY, "--runs", runs, "--store", store).status == 0
    # The rule needs five of these; the plans above need four.
    assert airwatt("sweep", *TINY, "--runs", "9", "--until", "ci95(energy_j) < 90%", "--store", store).status == 0
    assert airwatt("sweep", "export", store, "--out", tmp_path / "all.csv").status == 0
    for chunk in (store / "runs").iterdir():
        chunk.unlink()
    answer = airwatt("sweep", "export", store, "--out", tmp_path / "none.csv")
    assert answer.status == 1
    assert "0 of 9 runs are in it: 9 missing" in answer.err, answer.err


def test_the_parts_of_a_sweep_are_whole_together(airwatt, tmp_path):
    for part in (1, 2):
        assert airwatt("sweep", *FIFTY, "--store", tmp_path / f"part{part}", "--shard", f"{part}/2").status == 0
    both = [tmp_path / "part1", tmp_path / "part2"]
    answer = airwatt("sweep", "export", both[0], "--out", tmp_path / "half.csv")
    assert answer.status == 1
    assert "of 50 runs are in it" in answer.err
    assert airwatt("sweep", "export", *both, "--out", tmp_path / "whole.csv").status == 0
    # They are one store for whatever reads one.
    whole = tmp_path / "whole"
    assert airwatt("sweep", *FIFTY, "--store", whole).status == 0
    for form in (".tex", ".dat"):
        names = [tmp_path / f"{name}{form}" for name in ("parts", "one")]
        assert airwatt("sweep", "export", *both, "--out", names[0]).status == 0
        assert airwatt("sweep", "export", whole, "--out", names[1]).status == 0
        assert names[0].read_bytes() == names[1].read_bytes()
    opened = laboratory.open_store(*both)
    assert opened.to_pandas().drop(columns="wall_s").equals(Store(whole).to_pandas().drop(columns="wall_s"))
    (state,) = opened.status()
    assert (len(opened), state.finished, state.missing, opened.failures()) == (50, 50, 0, [])
    half = airwatt("archive", both[0], "-o", tmp_path / "half.zip")
    assert (half.status, "airwatt: not all runs of its sweeps are in it: " in half.err) == (0, True), half.err
    made = airwatt("archive", *both, "-o", tmp_path / "parts.zip")
    assert (made.status, "not all" in made.err) == (0, False)
    again = airwatt("rerun", tmp_path / "parts.zip")
    assert (again.status, again.err) == (0, ""), again
    assert "50 of 50 runs made again: all" in again.out


def test_a_limit_of_threads_is_named(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (400_000 << 10, -1))
    with pytest.raises(AirwattError, match=r"expected to start a thread, got none: .*400000 KiB \(ulimit -v\)"):
        run_all([lambda control: None])


def test_a_sweep_that_is_too_long_for_a_table_says_where_its_points_are(airwatt, tmp_path):
    words = ["sweep", "fast-dsl", "--over", "wired.rtt=10ms:34ms:1ms", "--set", "flow.application.size=20kB"]
    answer = airwatt(*words, "--store", tmp_path / "store")
    assert "25 points" in answer.out
    assert f"airwatt sweep export {tmp_path / 'store'} prints CSV" in " ".join(answer.out.split())
