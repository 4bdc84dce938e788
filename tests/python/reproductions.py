"""Common checks of the outcomes of all reproduced documents."""

import math


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
