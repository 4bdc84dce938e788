"""Whole outputs, as shown at 80 columns. `pytest --bless` writes the snapshots after a reviewed change."""

import re

import pytest
from conftest import SHORT

from airwatt.tables import count, percent, quantity


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "J", "0 J"),
        (14.612e6, "b/s", "14.61 Mb/s"),
        (999.96, "b/s", "1.00 kb/s"),
        (123.456, "s", "123.5 s"),
        (0.0521, "s", "52.10 ms"),
        (4.2e-8, "J/b", "42.00 nJ/b"),
        (None, "s", "-"),
    ],
)
def test_quantities(value, unit, text):
    assert quantity(value, unit) == text


def test_an_interval_stands_below_its_mean_in_the_same_unit():
    assert quantity(14.612e6, "b/s", 21_000) == "14.61 Mb/s\n± 0.02"


def test_counts_and_shares():
    assert [count(7), count(9999), count(1234567), count(2.5, 0.25)] == [
        "7",
        "9999",
        "1 234 567",
        "2.5\n± 0.2",
    ]
    assert percent(0.1234) == "12.3 %"
    assert percent(-1e-9) == "0.0 %"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["run", "fast-dsl", *SHORT, "--policy", "psm"], id="run"),
        pytest.param(["run", "fast-dsl", *SHORT, "--runs", "3"], id="run-runs"),
        pytest.param(["compare", "fast-dsl", *SHORT, "--policy", "active,psm"], id="compare"),
        pytest.param(
            ["compare", "fast-dsl", *SHORT, "--vary", "wired.rtt=20ms,80ms", "--runs", "3"], id="compare-runs"
        ),
        pytest.param(["run", "two-access-points", "--set", "duration=3s"], id="run-cells"),
        pytest.param(["radios"], id="radios"),
        pytest.param(["scenarios"], id="scenarios"),
        pytest.param(["policies"], id="policies"),
        pytest.param(["transports"], id="transports"),
        pytest.param(["analyze", "captures/tcp-download.pcapng"], id="analyze"),
    ],
)
def test_answer(airwatt, snapshot, arguments):
    answer = airwatt(*arguments)
    assert answer.status == 0, answer.err
    assert max(map(len, answer.out.splitlines())) <= 80
    snapshot(re.sub(r"simulated in \d+\.\d+ s", "simulated in N s", answer.out))
