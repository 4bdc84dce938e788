"""docs/twt.md: its tables are the output of its commands, and its first sentences agree with them."""

import math
import re

import pytest
from conftest import ROOT

import pages
from airwatt import aggregates
from airwatt.laboratory import run

PAGE = ROOT / "docs" / "twt.md"


def test_the_tables_are_what_the_commands_print(airwatt, request):
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))


def _current_a(policy, **keys):
    return run("idle", policy=policy, set=keys).stations[0].average_current_a


def test_how_a_period_ends_decides():
    interval, announced = "station.power_save.interval", "station.power_save.announced"
    tenth = _current_a("psm-legacy", **{"ap.dtim_period": 10})
    assert _current_a("twt", **{interval: "1s"}) < tenth
    assert _current_a("twt", **{interval: "1s", announced: False}) > _current_a("psm-legacy")
    assert _current_a("twt", **{interval: "10s", announced: False}) == pytest.approx(tenth, rel=0.1)


def _clock_rows():
    """Guard in milliseconds and mean current in microamperes, by clock and interval in seconds."""
    rows = {}
    for clock, cells in re.findall(
        r"^    (\d+ ppm(?: over 1 s)?)((?: +[\d.]+ ms +[\d.]+ µA){3})$", PAGE.read_text(), re.MULTILINE
    ):
        numbers = [float(number) for number in re.findall(r"[\d.]+", cells)]
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        rows |= {(clock, each): pair for each, pair in zip((10, 60, 600), pairs, strict=True)}
    return rows


def test_what_an_error_of_the_clock_costs(tmp_path):
    """The error times the interval, or times its square root, at 84 mA; so do runs beside those without an error."""
    rows = _clock_rows()
    assert len(rows) == 9
    # The least time awake would hide a guard time below it.
    shipped = (ROOT / "radios" / "esp32-c3.toml").read_text().replace('min_awake = "1ms"', 'min_awake = "0s"')
    clocks = {"20 ppm": "accuracy_ppm = 20", "100 ppm": "accuracy_ppm = 100", "765 ppm over 1 s": "wander_ppm = 765"}

    def listened_s(clock, interval_s):
        profile = tmp_path / "clock.toml"
        profile.write_text(shipped.replace("wander_ppm = 765", clock))
        keys = {"station.radio": str(profile), "station.power_save.interval": f"{interval_s}s"}
        duration = {"duration": f"{100 * interval_s}s", "ap.beacon_interval": "1s"}
        station = run("idle", policy="twt", set={**keys, **duration}).stations[0]
        return station.state_s.listen / station.service_periods

    for (clock, interval_s), (guard_ms, current_ua) in rows.items():
        ppm = int(clock.split()[0])
        by_hand_s = ppm * 1e-6 * (interval_s if clock.endswith("ppm") else math.sqrt(interval_s))
        assert guard_ms == pytest.approx(by_hand_s * 1e3, abs=0.005)
        assert current_ua == pytest.approx(84e3 * by_hand_s / interval_s, abs=0.05)
        simulated_s = listened_s(clocks[clock], interval_s) - listened_s('guard = "0us"', interval_s)
        assert simulated_s == pytest.approx(by_hand_s, rel=0.015)


def test_traffic_that_suspends_its_agreement_is_served_as_under_timeout():
    """Keys, cut to a minute: as fast, and for no more; and an idle station never suspends."""
    suspends = "twt:resume_after=100ms"
    found = {}
    for policy in ("timeout", suspends, "twt"):
        one = run("ssh", policy=policy, set={"wifi": "wifi6", "duration": "60s"})
        found[policy] = (aggregates.response_s(one, "p95"), one.stations[0].energy_j)
    assert found[suspends][0] == pytest.approx(found["timeout"][0], rel=0.02)
    assert found["twt"][0] > 20 * found["timeout"][0]
    assert 0.9 * found["timeout"][1] < found[suspends][1] < found["timeout"][1]
    assert _current_a(suspends) == _current_a("twt")


def test_the_interval_from_which_an_nrf7002_saves_is_between_ten_and_thirty_seconds():
    """Beside every tenth beacon, with periods that do not end early; with those that do, it saves at a second."""
    radio, interval = {"station.radio": "nrf7002"}, "station.power_save.interval"
    tenth = _current_a("psm-legacy", **radio, **{"ap.dtim_period": 10})
    whole = {**radio, "station.power_save.announced": False, "station.power_save.early_end": False}
    assert _current_a("twt", **whole, **{interval: "30s"}) < tenth < _current_a("twt", **whole, **{interval: "10s"})
    assert _current_a("twt", **radio, **{interval: "1s"}) < tenth


def test_periods_that_follow_the_traffic_serve_it():
    """A stream, cut to a minute: its blocks are not late, for much less than under BA-TA."""
    found = {}
    for policy in ("timeout", "ba-ta", "ba-ta-twt"):
        one = run("streaming", policy=policy, set={"wifi": "wifi6", "flow.application.media": "60s"})
        found[policy] = (one.stations[0].energy_j, aggregates.response_s(one, "p95"))
    assert found["ba-ta-twt"][0] < 0.7 * found["ba-ta"][0] < 0.7 * found["timeout"][0]
    assert found["ba-ta-twt"][1] < 0.1
