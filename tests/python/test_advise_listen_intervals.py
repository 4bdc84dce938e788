"""Advice tries each time awake with each listen interval, so that it loses to none of them that a user sets."""

import pytest

from airwatt import advice

FLOW = ["up:mqtt:30s:60B"]


@pytest.fixture(scope="module")
def slow_path():
    """Answers each come after 80 ms: a radio that is awake for 90 ms gets them, whatever beacons it skips."""
    return advice.scenario_of(FLOW, {"station.radio": "esp32-c3", "wired.rtt": "80ms"})


def _spends(found):
    return found.ranked[0].simulation.power_w


def test_the_advice_loses_to_no_listen_interval_that_is_set(slow_path):
    found = advice.advise(slow_path, 0.03, runs=1)
    best = found.ranked[0].candidate
    assert best == advice.Candidate("timeout", (("timeout", "90ms"),), 10)
    for beacons in (3, 10):
        set_ = advice.advise(slow_path, 0.03, runs=1, set={"station.listen_interval": beacons})
        assert _spends(found) <= 1.001 * _spends(set_), beacons
    # With DTIM beacons alone 100 ms take 2.18 mA, of which listening for nine beacons in ten is half.
    assert found.current_a(found.ranked[0]) == pytest.approx(1.04e-3, rel=0.02)


def test_each_time_awake_is_tried_with_each_listen_interval():
    tried = {(one.parameters, one.listen_interval) for one in advice.candidates() if one.policy == "timeout"}
    times = {parameters for parameters, _ in tried}
    assert len(times) == 7
    assert tried == {(parameters, beacons) for parameters in times for beacons in (None, 1, 3, 10)}


def test_each_beacon_is_received_where_dtim_beacons_alone_are_too_late():
    """With DTIM 3 the radio that never sleeps was the answer, of 84 mA, since nothing that was tried is in time."""
    flows = ["up:mqtt:30s:60B", "down:interactive:60s"]
    keys = {"station.radio": "esp32-c3", "ap.dtim_period": "3"}
    found = advice.advise(advice.scenario_of(flows, keys), 0.15, runs=1, given=["ap.dtim_period"])
    best = found.ranked[0].candidate
    assert (best.listen_interval, best.name) == (1, "timeout 10ms every beacon")
    # Who sets that interval gets the calls that set it; with DTIM beacons asked for, none is told.
    for listens, expected in (("1", 1), ("dtim", None)):
        set_ = {"station.listen_interval": listens}
        again = advice.advise(advice.scenario_of(flows, keys), 0.35, runs=1, given=["ap.dtim_period"], set=set_)
        assert again.ranked[0].candidate.listen_interval == expected, listens
