import pytest

import airwatt
from airwatt import InputError
from airwatt.threshold import Threshold, numbers

VALUES = {
    "stations.0.energy_j": 5.0,
    "stations.1.energy_j": 15.0,
    "flows.0.completed_s": None,
    "a.always-active": 1.0,
}


@pytest.mark.parametrize(
    ("text", "tripped"),
    [
        ("stations.0.energy_j > 4", 1),
        ("stations.0.energy_j > 5", 0),
        ("stations.0.energy_j >= 5", 1),
        ("stations.0.energy_j==5", 1),
        ("stations.0.energy_j != 5", 0),
        ("stations.0.energy_j < 1e1", 1),
        ("stations.*.energy_j > 10", 1),
        ("stations.*.energy_j > 1", 2),
        ("a.always-active<=1.0", 1),
        ("flows.0.completed_s > 1000", 1),  # it never completed
    ],
)
def test_expressions(text, tripped):
    assert len(Threshold.parse(text).trips(VALUES)) == tripped


@pytest.mark.parametrize(
    "text",
    ["", "x", "x >", "> 3", "x > y", "x = 3", "x > 1.2.3", "x > inf", "x > nan", "x > 3 and y > 4", "x > 3J"],
)
def test_what_is_no_comparison_is_refused(text):
    with pytest.raises(InputError, match="expected KEY OP NUMBER"):
        Threshold.parse(text)


def test_an_unknown_key_names_those_near_it():
    with pytest.raises(InputError, match=r"no number stations\.0\.energi_j; near it are stations\.0\.energy_j"):
        Threshold.parse("stations.0.energi_j > 1").trips(VALUES)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stations.0.energi_j > 1", "no number stations.0.energi_j; near it are energy_j"),
        ("station.0.energy_j > 1", "near it are stations"),
        ("stations.0.policy > 1", "no number stations.0.policy"),
        ("stations.energy_j > 1", "no number stations.energy_j"),
        ("stations.0.state_s > 1", "no number stations.0.state_s"),
        ("seed > 1", "no number seed"),
    ],
)
def test_what_no_run_has_is_refused_before_it_runs(text, words):
    with pytest.raises(InputError) as caught:
        Threshold.parse(text).check_key()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "stations.*.energy_j",
        "stations.12.state_s.sleep",
        "stations.0.state_s.*",
        "stations.0.wakeups_by_reason.beacon",
        "flows.0.completed_s",
        "flows.0.energy_overhead.always-active",
        "flows.0.response_s_p95",
        "fairness.windows.0.jain",
        "cell.*",
        "realtime.late",
    ],
)
def test_what_a_run_can_have_is_accepted_before_it_runs(key):
    Threshold.parse(f"{key} > 1").check_key()


ROWS = [{"policy": policy, "wired.rtt": rtt} for policy in ("active", "psm") for rtt in ("20ms", "40ms")]


@pytest.mark.parametrize(
    ("row", "held"),
    [("", 4), ("psm: ", 2), ("wired.rtt=20ms: ", 2), ("psm, wired.rtt=20ms: ", 1), ("wired.rtt=40ms,psm: ", 1)],
)
def test_an_expression_can_name_rows(row, held):
    threshold = Threshold.parse(f"{row}stations.0.energy_j > 1")
    threshold.check_rows(ROWS)
    assert sum(map(threshold.holds_for, ROWS)) == held


def test_rows_that_do_not_exist_are_refused_before_anything_runs():
    threshold = Threshold.parse("uapsd: stations.0.energy_j > 1")
    with pytest.raises(InputError, match=r"no row is uapsd; there are active, wired.rtt=20ms; active"):
        threshold.check_rows(ROWS)
    with pytest.raises(InputError, match="rows are those of a comparison"):
        threshold.check_rows([])


def test_rows_of_a_comparison_are_held_one_by_one():
    comparison = airwatt.compare("fast-dsl", policy=["active", "psm"], set={"flow.application.size": "20kB"})
    held = numbers(comparison)
    assert [each.choice for each in held] == [{"policy": "active"}, {"policy": "psm"}]
    assert [each.values["stations.0.energy_j"] for each in held] == [
        row.runs[0].stations[0].energy_j for row in comparison.rows
    ]
