"""The stages of E2TCP behind a wired leg: every entry computes from made-up runs, and the points are what they say."""

import json
import subprocess
import sys
import zlib

import pytest
from conftest import ROOT

import reproductions
from airwatt import _core
from airwatt.reproductions.e2tcp.setup import LINK_BPS
from airwatt.reproductions.e2tcp_gateway import DOCUMENT, setup
from airwatt.reproductions.publication import Results

ITEMS = {item.place: item for item in DOCUMENT.reproductions}


def made_up(point):
    """Two runs of a point."""
    runs = []
    for seed in range(2):
        noise = zlib.crc32(f"{id(point.scenario)} {point.overrides} {seed}".encode()) / 2**32
        flow = {
            "data_overhead": 0.1 + 0.05 * noise,
            "time_overhead": 0.2 + noise,
            "energy_overhead": dict.fromkeys(("always-active", "intermediate", "ideal"), 0.2 + noise),
            "delivery_s_mean": 0.05 + 0.05 * noise,
            "bytes_skipped": 0,
        }
        runs.append(point.measure({"flows": [flow], "stations": [{"energy_j": 200 + 50 * noise}]}))
    return runs


@pytest.fixture(scope="module")
def results():
    return Results({point: made_up(point) for item in DOCUMENT.reproductions for point in item.points})


@pytest.mark.parametrize("place", list(ITEMS))
def test_each_gives_finite_values_and_claims_with_ids_of_their_own(place, results):
    outcome = ITEMS[place].compute(ITEMS[place], results)
    reproductions.check(outcome, f"e2tcp-gateway/{place}.", claimed=place.startswith("eo."))


def test_windows_are_what_the_configuration_says():
    for delay_ms, packets in setup.WINDOWS.items():
        held = 2 * delay_ms * 1e-3 * LINK_BPS / (8 * 1040)
        assert packets == 20 + -(-held // 1)


def test_the_stages_differ_in_what_they_say_and_run():
    by_name = {way.name: way for way in setup.WAYS}
    path = setup.PATHS[1]
    spent = {}
    for name in ("Tahoe", "base only", "both ends", "90 %"):
        point = setup.point(by_name[name], path, "A", 3)
        short = point.scenario.replace([*point.overrides, ("flow.application.size", "2MB")])
        run = json.loads(_core.run(short, 1).json)
        assert run["flows"][0]["transport"] == by_name[name].transport
        delivered = run["flows"][0]["bytes_delivered"] + run["flows"][0]["bytes_skipped"]
        assert delivered == 2_000_000
        spent[name] = point.measure(run)["EO intermediate"]
    assert spent["both ends"] < spent["base only"] < spent["Tahoe"]
    assert spent["90 %"] < spent["both ends"]


def test_the_slowest_runs_of_ten_seeds_come_to_their_end():
    by_name = {way.name: way for way in setup.WAYS}
    slowest = setup.PATHS[-1]
    assert slowest.name == "100 ms, 1 %"
    for name, seed in (("Reno", 2), ("NewReno", 6)):
        point = setup.point(by_name[name], slowest, "B", 1)
        [flow] = json.loads(_core.run(point.scenario.replace(list(point.overrides)), seed).json)["flows"]
        assert flow["bytes_delivered"] == 20_000_000
        assert 3600 < flow["completed_s"] < 7200


def test_the_picture_with_gaps(tmp_path):
    file = tmp_path / "gaps.png"
    command = [sys.executable, str(ROOT / "docs" / "examples" / "picture_with_gaps.py")]
    shown = subprocess.run([*command, str(file)], capture_output=True, text=True, check=True).stdout
    assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert shown in (ROOT / "docs" / "gateway.md").read_text().replace("\n    ", "\n"), "the page shows what it prints"
    lines = [line.split() for line in shown.splitlines()]
    joules = [float(line[4]) for line in lines]
    missing = [int(line[13]) for line in lines]
    assert missing[0] == 0 < missing[1] < missing[2]
    assert joules[0] > joules[1] > joules[2]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
