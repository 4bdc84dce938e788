"""Common checks of all reproduced documents: their entries, outcomes, files and pages."""

import math

from conftest import ROOT

from airwatt import _core
from airwatt.cli import reproduce
from airwatt.reproductions import document, engine


def check_entries(of, places):
    """Checks that a document has these entries in this order, each of them once."""
    assert [item.place for item in of.reproductions] == list(places)


def check_files(of, places, results, folder):
    """Checks that a table and a picture of each of these entries are written, and that its title fits a line."""
    for item in (item for item in of.reproductions if item.place in places):
        finished = engine.Finished(of, item, item.compute(item, results))
        assert [path.suffix for path in document.write(finished, folder)] == [".csv", ".png"]
        assert reproduce._wrapped(item.shows).count("\n") == 0


def check_points(reproductions):
    """Checks that every point is a scenario that loads; gives the points."""
    points = {point for item in reproductions for point in item.points}
    for point in points:
        _core.Scenario.load(point.scenario, list(point.overrides))
    return points


def check_page(name, configuration):
    """Checks that the page of a document has its configuration."""
    assert configuration.strip() in (ROOT / "docs" / "reproductions" / f"{name}.md").read_text()


def check(outcome, start, claimed):
    """Checks that values are finite and unique in their place, and that claims, where `claimed`, have unique ids
    that begin with `start`."""
    assert outcome.values
    assert all(math.isfinite(value.value) for value in outcome.values)
    named = [place(value) for value in outcome.values]
    assert len(named) == len(set(named)), "no two values at one place"
    assert all(claim.id.startswith(start) for claim in outcome.claims)
    assert len({claim.id for claim in outcome.claims}) == len(outcome.claims)
    assert bool(outcome.claims) == claimed


def check_printed(outcome):
    """Checks that printed numbers belong to existing values."""
    printed = {place(value) for value in outcome.published}
    assert printed <= {place(value) for value in outcome.values}, "a printed number stands beside one of ours"


def place(value):
    """The quantity and the position of a value."""
    return (value.what, *sorted(value.at.items()))
