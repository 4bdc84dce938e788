"""What the tests of every reproduced document ask of an outcome."""

import math


def check(outcome, start, claimed):
    """Finite values, no two at one place; claims, where `claimed`, with ids of their own that begin with `start`."""
    assert outcome.values
    assert all(math.isfinite(value.value) for value in outcome.values)
    named = [place(value) for value in outcome.values]
    assert len(named) == len(set(named)), "no two values at one place"
    assert all(claim.id.startswith(start) for claim in outcome.claims)
    assert len({claim.id for claim in outcome.claims}) == len(outcome.claims)
    assert bool(outcome.claims) == claimed


def check_printed(outcome):
    """Printed numbers are of values that there are."""
    printed = {place(value) for value in outcome.published}
    assert printed <= {place(value) for value in outcome.values}, "a printed number stands beside one of ours"


def place(value):
    """What a value is of, and where it stands."""
    return (value.what, *sorted(value.at.items()))
