"""Document 002: every entry exists, computes and draws from made-up runs, and its text is in the docs."""

import zlib

import pytest

import reproductions
from airwatt.reproductions import engine
from airwatt.reproductions.e2tcp import DOCUMENT, setup, worked_examples
from airwatt.reproductions.publication import Results

EXACT = (
    ["ex2.1", "ex2.2", "tab2.1", "ex2.3", "ex2.4", "ex2.5", "tab2.2", "eq2.8-2.11", "sec3.2.1", "ex3.2"],
    [f"{place}.{n}" for place, numbers in (("sec4.1", [1]), ("tab4", [1, 2, 3]), ("fig4", [5, 6])) for n in numbers],
    ["tab4.4", "fig4.7", "tab4.5", "sec4.2.3.3", "ex4.1", "sec4.2.4", "fig4.8", "fig4.9", "fig4.10", "ex4.4"],
)
PLACES = (
    [
        "head",
        *EXACT[0],
        "fig3.4",
        "fig3.5",
        *EXACT[1],
        *EXACT[2],
        "fig4.11",
        "fig4.12",
        "fig5.2",
        "sec5.1.seq",
        "tab5.1",
    ]
    + [f"fig5.{n}" for n in range(3, 13)]
    + ["sec5.4.5"]
    + [f"fig5.{n}" for n in range(13, 21)]
    + ["tab5.2", "sec5.5.5.ee", "sec5.5.5.factor"]
    + [f"fig5.{n}" for n in range(21, 31)]
    + ["sec5.6.1.tahoe", "fig5.31", "fig5.32", "tab5.3"]
    + [f"fig5.{n}" for n in range(33, 43)]
    + ["sec5.6.4.saturation", "fig5.43", "fig5.44", "tab5.4", "fig5.45", "fig5.46", "tab5.5", "fig5.47", "fig5.48"]
    + ["tab5.6", "ch6.share"]
)

ITEMS = {item.place: item for item in DOCUMENT.reproductions}


def made_up(point):
    """Three runs of a point: overheads that increase as the channel worsens, with random noise."""
    overrides = {"link.errors.good": "10000ms", **dict(point.overrides)}
    good = float(overrides["link.errors.good"].removesuffix("ms")) / 1000
    weight = {"e2tcp": 0.3, "prtp": 0.4, "tahoe": 1.0, "newreno": 1.2, "reno": 1.5}[overrides["flow.transport"]]
    runs = []
    for seed in range(3):
        noise = zlib.crc32(f"{point.overrides} {seed}".encode()) / 2**32
        flow = {
            "data_overhead": weight * (0.08 + 0.2 / good + 0.01 * noise),
            "time_overhead": weight * (0.04 + 2.0 / good + 0.01 * noise),
            "energy_overhead": dict.fromkeys(setup.RADIOS, weight * (1.0 / good + 0.1 * noise)),
            "delivery_s_mean": 0.05 + 0.05 * weight / good,
            "delivery_full_s_mean": 0.058 + 0.05 * weight / good,
            "bytes_skipped": 0,
            "segments_retransmitted": 10,
            "timeouts": 1,
            "bytes_delivered": 20_000_000,
            "goodput_bps": 1e6,
        }
        runs.append(point.measure({"flows": [flow]}))
    return runs


@pytest.fixture(scope="module")
def results():
    return Results({point: made_up(point) for item in DOCUMENT.reproductions for point in item.points})


def test_every_entry_is_there_once():
    reproductions.check_entries(DOCUMENT, PLACES)


@pytest.mark.parametrize("place", PLACES)
def test_each_gives_finite_values_and_claims_with_ids_of_their_own(place, results):
    outcome = ITEMS[place].compute(ITEMS[place], results)
    reproductions.check(outcome, f"e2tcp/{place}.", claimed=True)
    reproductions.check_printed(outcome)


def test_titles_fit_and_files_are_written(results, tmp_path):
    reproductions.check_files(DOCUMENT, ("fig5.5", "fig5.39", "fig5.43", "tab5.4", "ch6.share"), results, tmp_path)


def test_the_worked_examples_hold():
    """They are cheap enough to run here: transfers of milliseconds, the encoder, endpoints."""
    examples = [(DOCUMENT, item) for item in worked_examples.REPRODUCTIONS]
    missed = [
        claim
        for finished in engine.reproduce(examples, 1, 1).finished
        for claim in finished.outcome.claims
        if not claim.holds
    ]
    assert missed == []


def test_one_configuration_and_no_other():
    """Points differ only in the parameter that a figure varies."""
    varied = {
        "flow.transport",
        "flow.reliability",
        "flow.reliability_window",
        "flow.application.kind",
        "flow.application.mean_gap",
        "flow.application.rate",
        "flow.application.size",
    }
    varied |= {"link.errors.good", "link.errors.bad", "link.rate", "link.delay", "tcp.delayed_ack"}
    varied |= {f"e2tcp.{key}" for key in ("min_window", "max_window", "after_timeout", "error_limit")}
    varied |= {"e2tcp.selective", "e2tcp.duplicate_ack", "e2tcp.header", "e2tcp.burst_reaction"}
    examples = {item.place for item in worked_examples.REPRODUCTIONS}
    points = {point for item in DOCUMENT.reproductions if item.place not in examples for point in item.points}
    assert {point.scenario for point in points} == {"e2tcp"}
    assert {key for point in points for key, _ in point.overrides} == varied


def test_points_of_the_default_set_up_are_shared():
    default = set(ITEMS["tab5.3"].points)
    for place in ("fig5.21", "fig5.31", "fig5.33", "fig5.34", "tab5.2", "tab5.4", "fig5.9"):
        assert default & set(ITEMS[place].points), place
    assert set(ITEMS["head"].points) == default


def test_the_documentation_has_the_configuration():
    reproductions.check_page("e2tcp", DOCUMENT.configuration)


def test_averages_are_over_points_of_the_figures():
    for error, good_states in setup.AVERAGED.items():
        assert set(good_states) <= set(setup.GRID[error])


def test_every_point_is_a_scenario_that_loads():
    reproductions.check_points(DOCUMENT.reproductions)
