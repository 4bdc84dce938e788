"""Document 000, chapters 3 and 4: every entry exists, and all claims about equations hold except the known ones."""

import json
import random
import tomllib

import numpy as np
import pytest

import reproductions
from airwatt import _core
from airwatt.reproductions import document, engine
from airwatt.reproductions.hashimoto_2013 import (
    DOCUMENT,
    chapter3,
    chapter3_packets,
    chapter4,
    chapter4_packets,
    readings,
    validation,
)
from airwatt.reproductions.publication import Results

"""Published, and to be compared by others: values without claims."""
PLACES = (
    ["head.69pct", "head.60pct", "fig3.6", "tab3.1.analysis", "tab3.1.simulation", "tab3.1.error"]
    + [f"fig3.{n}" for n in range(7, 13)]
    + ["sec3.5.summary", "fig3.13a", "fig3.13b", "eq3.47-49", "fig3.10.packets"]
    + ["fig4.5a", "fig4.5b", "fig4.5c", "sec4.4.mixed", "fig4.6", "fig4.7", "fig4.8", "sec4.5.trigger"]
)
MINE = {item.place: item for part in (chapter3, chapter3_packets, chapter4, validation) for item in part.FIGURES}
MINE |= {item.place: item for item in (*chapter4.HEADS, *validation.TABLES)}
MISSED = {f"hashimoto-2013/fig4.5a.{association}.printed.m1" for association in ("packets", "sctp")}
"""Made-up runs equal the model with the standard's timing: 21.7 %, where 27 % is printed. Real runs give 24.9 %."""
MISSED |= {"hashimoto-2013/tab3.1.analysis.20", "hashimoto-2013/tab3.1.analysis.29"}
"""Printed are values near those of another average than that of section 3.4.2."""


def made_up(point):
    """Three runs of a point, with gaps near the printed ones, or of a tunnel with what the model gives."""
    overrides = dict(point.overrides)
    if "tunnel" in overrides:
        return [tunnel_run(overrides)] * 3
    if "tcp.window_growth" in overrides:
        return [{"energy_j": 20.0 + seed, "ideal_j": 10.0 + seed, "total_s": 30.0 + seed} for seed in range(3)]
    cross = int(overrides["wired.up.cross.rate"].removesuffix("kbps")) // validation.CROSS_WIRE_BYTES
    runs = []
    for seed in range(3):
        gap = validation.PRINTED_MS[cross][0] * (1 + 0.01 * random.Random(seed).random())
        runs.append({"gap_ms": gap} | {f"below {x:g} ms": float(x >= gap) for x in validation.GRID_MS})
    return runs


def tunnel_run(overrides):
    """The numbers of a run that does what the model computes."""
    flows, tunnel = (tomllib.loads(f"it = {overrides[key]}")["it"] for key in ("flow", "tunnel"))
    packets_per_s = sum(float(flow["application"]["rate"].removesuffix("bps")) for flow in flows) / 8 / 1460
    if "delay_budget" in tunnel:
        bound_s = 1e-3 * float(tunnel["delay_budget"].removesuffix("ms"))
        m = {"burst": "below-bound", "delay_bound_s": bound_s * (1 - 1e-6)}
    else:
        m = {"m": tunnel["burst"]}
    solved = chapter4_packets.standard(1.5 * packets_per_s, **m)
    return {
        "awake_w": float(solved.cam_w),
        "asleep_w": float(solved.ideal_w),
        "saving": float(solved.saving),
        "delay_s": float(solved.delay_s),
        "burst_packets": float(solved.burst_packets),
        "packets_per_s": packets_per_s,
        "outer_up_per_burst": float(solved.burst_packets),
        "bytes_up_per_burst": float(solved.burst_packets) * chapter4_packets.PACKET_BYTES,
        "outer_down_per_burst": 1.0,
        "bytes_down_per_burst": 72.0,
    }


@pytest.fixture(scope="module")
def results():
    return Results({point: made_up(point) for item in MINE.values() for point in item.points})


def test_every_entry_is_there_in_the_order_of_the_pages():
    assert [item.place for item in DOCUMENT.reproductions if item.place in PLACES] == PLACES
    assert set(MINE) == set(PLACES)


@pytest.mark.parametrize("place", PLACES)
def test_each_gives_finite_values_and_claims_with_ids_of_their_own(place, results):
    outcome = MINE[place].compute(MINE[place], results)
    reproductions.check(outcome, f"hashimoto-2013/{place}.", claimed=place != "fig3.10.packets")
    reproductions.check_printed(outcome)
    if not MINE[place].points or place.startswith("fig4."):
        assert {claim.id for claim in outcome.claims if not claim.holds} <= MISSED


def test_curves_are_drawn(results, tmp_path):
    for place in ("fig3.6", "fig3.10", "fig4.8"):
        finished = engine.Finished(DOCUMENT, MINE[place], MINE[place].compute(MINE[place], results))
        assert [path.suffix for path in document.write(finished, tmp_path)] == [".csv", ".png"]


def test_bursts_in_packets_are_those_of_delayed_acknowledgements():
    """Acknowledgements come for five packets each, and sleep in the gaps between them saves."""
    for m in (1, 5):
        point = chapter3_packets.point("active", "bytes", 0.001, m)
        run = _core.run(point.scenario.replace([*point.overrides, ("flow.application.size", "300kB")]), 1, trace=True)
        numbers = point.measure(json.loads(run.json))
        assert numbers["ideal_j"] < 0.9 * numbers["energy_j"]
        frames = {column.name: column for column in dict(run.traces())["frames"]}
        senders = np.frombuffer(frames["from"].data, np.uint32)
        received = np.frombuffer(frames["received"].data, np.uint8).astype(bool)
        data = np.frombuffer(frames["kind"].data, np.uint32) == list(frames["kind"].labels).index("data")
        acks = np.count_nonzero(data & received & (senders == list(frames["from"].labels).index("access point")))
        assert acks == pytest.approx(300_000 / 1460 / m, rel=0.1), m


def test_a_tunnel_in_packets_saves_what_the_model_says():
    """The two printed reductions, each from one run of two seconds."""
    for m in (1, 5):
        point = chapter4_packets.POWER[450.0, m]
        scenario = _core.Scenario.load(point.scenario, [*point.overrides, ("duration", "2s")])
        numbers = point.measure(json.loads(_core.run(scenario, 1).json))
        model = chapter4_packets.standard(450.0, m=m)
        assert abs(numbers["saving"] - float(model.saving)) < chapter4_packets.TOLERANCE
        assert abs(numbers["awake_w"] / float(model.cam_w) - 1) < 0.05
        assert abs(numbers["burst_packets"] - m) < 0.1


def test_the_gaps_of_a_run_are_those_of_its_acknowledgements():
    point = validation.point(20)
    scenario = _core.Scenario.load(point.scenario, [*point.overrides, ("duration", "14s")])
    gaps = validation.gaps_ms(_core.run(scenario, 1, trace=True))
    # These are four seconds of at most 9.4 Mb/s in packets of 1500 bytes, with a halved window in them.
    assert 1500 < len(gaps) < 3300
    assert gaps.min() > 0.05
    assert 3500 < gaps.sum() <= 4000


def test_the_page_has_the_configuration():
    reproductions.check_page("hashimoto-2013", readings.CONFIGURATION)
