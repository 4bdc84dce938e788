"""Comparisons of choices that deliver different amounts of data: their energy is also given by the bit."""

import pytest

from airwatt import laboratory


def by_hand_j(run):
    bits = 8 * sum(flow.bytes_delivered for flow in run.flows)
    return sum(station.energy_j for station in run.stations) / bits


@pytest.mark.parametrize("until", ["duration=2s", "duration=4s"])
def test_energies_of_different_data_are_also_given_by_the_bit(airwatt, until):
    """4 s are enough for an active station to be done with 5 MB, and for none that sleeps."""
    options = ("fast-dsl", "--set", until, "--set", "flow.application.size=5MB", "--policy", "active,psm")
    answer = airwatt("compare", *options, "--json").json
    found = laboratory.compare(
        "fast-dsl", policy=["active", "psm"], set=dict([until.split("=")]) | {"flow.application.size": "5MB"}
    )
    for row, compared in zip(answer["rows"], found.rows, strict=True):
        assert row["energy_per_bit_j"] == {"mean": pytest.approx(by_hand_j(compared.runs[0])), "ci95": None}
        assert compared.energy_per_bit_j.mean == row["energy_per_bit_j"]["mean"]
    heads, _, active, psm = airwatt("compare", *options).out.splitlines()[2:6]
    assert ("per bit" in heads, "done at" in heads) == (True, until == "duration=4s")
    for line, row in ((active, found.rows[0]), (psm, found.rows[1])):
        assert f" {1e9 * by_hand_j(row.runs[0]):.1f} nJ/b" in line


def test_energies_of_the_same_data_have_no_such_column(airwatt):
    options = ("--set", "flow.application.size=1MB", "--policy", "active,psm")
    assert "per bit" not in airwatt("compare", "fast-dsl", *options).out
    # Two limits of time within which both deliver what there is.
    assert "per bit" not in airwatt("compare", "fast-dsl", *options, "--set", "duration=20s").out


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [
        ("fast-dsl", {"duration": "2s"}),
        ("fast-dsl", {"duration": "5s", "flow.application.size": "8MB"}),
        ("streaming", {"duration": "8s"}),
    ],
)
def test_the_table_fits_80_columns_with_every_policy(airwatt, scenario, settings):
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    out = airwatt("compare", scenario, "--policy", "all", "--runs", "2", *options).out
    head = next(line for line in out.splitlines() if line.startswith("policy"))
    assert "per bit" in head
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--against", "nothing"], ["--against", "emulation", "nothing"]),
        (["--against", "emulation", "--runs", "3"], ["--against", "single run", "--runs"]),
        (["--against", "emulation", "--policy", "active,psm"], ["--against", "several policies"]),
    ],
)
def test_what_cannot_be_held_against_a_kernel_is_said_in_one_line(airwatt, arguments, words):
    done = airwatt("compare", "fast-dsl", *arguments)
    assert done.status == 2
    (line,) = done.err.splitlines()
    for word in words:
        assert word in line


def test_what_has_no_payload_has_no_energy_per_bit(airwatt):
    answer = airwatt("compare", "idle", "--set", "duration=1s", "--policy", "active,psm", "--json").json
    assert [row["energy_per_bit_j"] for row in answer["rows"]] == [{"mean": None, "ci95": None}] * 2
