"""The tables of docs/powersave.md are the output of its commands, and its sentences agree with the tables."""

import json
import math
import re

import pytest
from conftest import ROOT

import pages
from airwatt import aggregates, laboratory
from airwatt.laboratory import compare, policies

PAGE = ROOT / "docs" / "powersave.md"
RUNS = 5
SCENARIOS = ("bulk", "web", "streaming", "ssh", "ten-stations")
POLICIES = [policy["name"] for policy in policies()]


@pytest.fixture(autouse=True)
def compared_once(monkeypatch):
    """The tables of the page and the sentences about them come from the same runs, so each comparison is made once."""
    monkeypatch.setattr(laboratory, "compare", once)


def once(scenario, *, on_progress=None, **choices):
    given = {name: value for name, value in choices.items() if value and (name, value) != ("seed", 1)}
    key = json.dumps([scenario, given], sort_keys=True)
    if key not in COMPARED:
        COMPARED[key] = compare(scenario, **choices)
    return COMPARED[key]


COMPARED = {}


def test_the_tables_are_what_the_commands_print(airwatt, request):
    shown = pages.shown(PAGE.read_text())
    assert [command.split()[1] for command, _ in shown] == ["bulk", *SCENARIOS]
    assert all(len(line) <= 80 and "…" not in line for _, output in shown for line in output.splitlines())
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))


class Table:
    """Means by policy."""

    def __init__(self, scenario):
        rows = once(scenario, policy=POLICIES, runs=RUNS).rows
        self.runs = {row.choice["policy"]: row.runs for row in rows}
        self.scenario = scenario

    def of(self, policy, number):
        return aggregates.over(self.runs[policy], number)[0]

    def energy(self, policy):
        return self.of(policy, aggregates.energy_j)

    def goodput(self, policy):
        return self.of(policy, aggregates.goodput_bps)

    def median(self, policy):
        return self.of(policy, lambda run: aggregates.response_s(run, "p50"))

    def last(self, policy):
        return self.of(policy, lambda run: aggregates.response_s(run, "p99"))


@pytest.fixture(scope="module")
def tables():
    return {scenario: Table(scenario) for scenario in SCENARIOS}


def test_what_is_said_to_those_who_have_a_device(tables):
    bulk, web, ssh = tables["bulk"], tables["web"], tables["ssh"]
    # `timeout` costs neither throughput nor time, saves energy for pages and keys, and saves nothing in a download.
    assert bulk.goodput("timeout") == pytest.approx(bulk.goodput("active"), rel=0.01)
    assert bulk.energy("timeout") == pytest.approx(bulk.energy("active"), rel=0.01)
    for table, least, most in ((web, 0.35, 0.45), (ssh, 0.22, 0.32)):
        assert table.median("timeout") == pytest.approx(table.median("active"), rel=0.01)
        assert table.last("timeout") == pytest.approx(table.last("active"), rel=0.01)
        assert least < table.energy("timeout") / table.energy("active") < most
    # Plain PSM makes pages four times as long, and echoes wait for a beacon.
    for plain in ("psm", "psm-legacy"):
        assert 3.3 < web.median(plain) / web.median("active") < 4.3
        assert 0.05 < ssh.median(plain) < 0.1 < ssh.last(plain) < 0.13
    # U-APSD delays each key by 20 ms.
    assert 0.015 < ssh.median("uapsd") - ssh.median("active") < 0.025


def test_what_is_said_to_those_who_build_one(tables):
    distance = {name: table.energy("uapsd") / table.energy("ideal") for name, table in tables.items()}
    assert max(distance.values()) < 2.45
    assert distance["bulk"] < 1.3
    assert distance["streaming"] < 1.3
    for name in ("bulk", "streaming", "ten-stations"):
        assert tables[name].goodput("uapsd") > 0.97 * tables[name].goodput("active")
    for policy in (name for name in POLICIES if name not in ("uapsd", "ideal")):
        close = all(table.energy(policy) / table.energy("ideal") < 2.45 for table in tables.values())
        assert not close, f"{policy} is as close to the bound as U-APSD, and the page denies it"
    bulk, web, stream = tables["bulk"], tables["web"], tables["streaming"]
    assert 0.7 < bulk.goodput("ba-ta") / bulk.goodput("active") < 0.95
    assert bulk.energy("ba-ta") < 0.75 * bulk.energy("active")
    assert web.energy("ba-ta") > 1.5 * web.energy("uapsd")
    assert stream.energy("ba-ta") > 1.8 * stream.energy("ba-ta+str")
    assert stream.energy("ba-ta+str") == pytest.approx(stream.energy("psm"), rel=0.05)
    assert web.energy("ba-ta+str") == pytest.approx(web.energy("ba-ta"), rel=0.05)
    # PSM-Throttling behaves like `active` except for streams.
    assert bulk.energy("psm-throttling") == bulk.energy("active")
    assert web.median("psm-throttling") == pytest.approx(web.median("active"), rel=0.001)
    assert stream.energy("uapsd") < stream.energy("psm-throttling") < 0.4 * stream.energy("active")
    assert 0.9 < stream.last("psm-throttling") < 1.2


def test_wake_ups_that_cost_something():
    rows = compare("ssh", policy=["psm", "uapsd"], runs=RUNS, set={"station.radio": "ar5004"}).rows
    psm, uapsd = (aggregates.over(row.runs, aggregates.energy_j).mean for row in rows)
    assert (round(psm), round(uapsd)) == (11, 32)


def test_what_is_said_to_those_who_run_access_points(tables):
    ten = tables["ten-stations"]
    assert 10 < ten.energy("active") / ten.energy("ideal") < 12
    assert 2.2 < ten.energy("uapsd") / ten.energy("ideal") < 2.6
    assert 0.55 < ten.goodput("psm") / ten.goodput("active") < 0.65
    # U-APSD wakes up fifty times for triggers and ten times for beacons in an idle second.
    ssh = tables["ssh"].runs["uapsd"]
    assert 55 < sum(run.stations[0].wakeups / run.simulated_s for run in ssh) / RUNS < 65
    lost = {policy: ten.of(policy, aggregates.retransmitted) for policy in ("psm", "active")}
    assert 3.5 < lost["psm"] / lost["active"] < 5


def test_a_sleeper_gains_most_from_aggregates():
    rows = once("bulk", set={"wifi": "wifi6"}, policy=POLICIES, runs=RUNS).rows
    today = {row.choice["policy"]: aggregates.over(row.runs, aggregates.energy_j)[0] for row in rows}
    before = Table("bulk")
    for policy in ("psm", "uapsd", "ba-ta"):
        assert 0.15 < today[policy] / before.energy(policy) < 0.21, policy
        assert today[policy] < today["ideal"], policy
    assert 0.85 < today["active"] / before.energy("active") < 0.9
    assert 0.15 < today["uapsd"] / today["active"] < 0.17
    assert min(today, key=today.get) in ("ba-ta", "ba-ta+str")
    assert today["psm-legacy"] / today["active"] > 0.9


def _beacon_rows():
    found = re.findall(
        r"^    [\w.-]+(?:, \w+)? +(\d+) B((?: +[\d.]+ ms [\d.]+ mJ){3})$", PAGE.read_text(), re.MULTILINE
    )
    return {int(length): [float(number) for number in re.findall(r"[\d.]+", cells)] for length, cells in found}


def test_what_a_beacon_costs_is_its_time_on_the_air():
    """Symbols of 4 us with 24 bits, behind 20 us, at 6 Mb/s; 8 us a byte behind 192 us at 1 Mb/s."""
    rows = _beacon_rows()
    assert list(rows) == [143, 250, 400, 600]
    for length, cells in rows.items():
        slow_us, fast_us = 192 + 8 * length, 20 + 4 * math.ceil((8 * length + 22) / 24)
        times_us = (slow_us, fast_us + 6, fast_us)
        expected = [part for time_us in times_us for part in (time_us / 1e3, time_us * 939e-6)]
        assert cells == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("standard", "rate", "column", "ack_us"),
    [("802.11g", "1Mbps", 0, 34), ("802.11g", "6Mbps", 2, 34), ("802.11a", "6Mbps", 4, 28)],
)
def test_a_sleeper_receives_a_beacon_as_long_as_the_table_has_it(standard, rate, column, ack_us):
    """98 beacons of 10 s, and the acknowledgement of the frame with which the station begins power save."""
    air = {"wifi.standard": standard, "wifi.beacon_rate": rate}
    keys = {"station.radio": "halperin-2010", "duration": "10s", **air}
    receive_s = laboratory.run("idle", set=keys).stations[0].state_s.receive
    assert receive_s == pytest.approx(98 * _beacon_rows()[143][column] * 1e-3 + ack_us * 1e-6)


def test_a_beacon_takes_as_long_at_6_ghz_as_at_5_ghz():
    keys = {"station.radio": "halperin-2010", "duration": "10s", "wifi": "wifi6"}
    for length, row in _beacon_rows().items():
        times = [
            laboratory.run("idle", set={**keys, "wifi.standard": standard, "ap.beacon_length": f"{length}B"})
            for standard in ("802.11ax", "802.11ax-6GHz")
        ]
        received = [one.stations[0].state_s.receive for one in times]
        assert received[0] == received[1] == pytest.approx(98 * row[4] * 1e-3 + 28e-6)
