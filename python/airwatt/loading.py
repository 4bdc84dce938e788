"""Scenarios as users name them, and the policies that they can have."""

import json
import os
from collections.abc import Iterable, Mapping

from airwatt import _core
from airwatt._core import InputError, Scenario
from airwatt.own import PolicyChoice, TransportChoice, text_of
from airwatt.parallel import run_all
from airwatt.record import Record
from airwatt.results import Interrupted

MAX_SEED = 2**64 - 1
MAX_RUNS = 100_000

ScenarioLike = str | os.PathLike[str] | Scenario


def policies() -> list[Record]:
    """The power-save policies.

    Returns:
        A record a policy, with its name, a sentence about it, and its parameters.
    """
    return records(_core.policies())


def possible_policies(scenario: ScenarioLike, set: Mapping[str, object] | None = None) -> list[str]:  # noqa: A002
    """The names of the policies that a scenario can have: `active` alone without Wi-Fi, fewer without U-APSD."""
    possible = []
    for policy in policies():
        try:
            load(scenario, choices(policy["name"], None), set)
        except InputError:
            # What is wrong with the scenario itself is said when it runs.
            continue
        possible.append(policy["name"])
    return possible or ["active"]


def records(document: str) -> list[Record]:
    """Gives the records of a list of the core."""
    return [Record(item) for item in json.loads(document)]


def load(
    scenario: ScenarioLike,
    chosen: Iterable[tuple[str, object]] = (),
    set: Mapping[str, object] | Iterable[tuple[str, str]] | None = None,  # noqa: A002 - the name of the option
) -> Scenario:
    """Reads a scenario with overrides; a choice comes after a key that is set for all choices, and so wins."""
    pairs = set.items() if isinstance(set, Mapping) else (set or ())
    overrides = [(key, _core.toml_value(text_of(key, value))) for key, value in (*pairs, *chosen)]
    if isinstance(scenario, Scenario):
        return scenario.replace(overrides) if overrides else scenario
    path = os.fspath(scenario)
    # In a thread: the file may be a pipe, and Ctrl-C shall end the wait for it.
    outcome = run_all([lambda _: Scenario.load(path, overrides)])
    if outcome.results[0] is None:
        raise Interrupted(None)
    return outcome.results[0]


def choices(policy: PolicyChoice | None, transport: TransportChoice | None) -> list[tuple[str, object]]:
    """Gives the overrides that stand for a policy and a transport."""
    pairs = (("policy", policy), ("transport", transport))
    return [(key, value) for key, value in pairs if value is not None]


def check_seeds(seed: int, runs: int) -> None:
    """Raises `InputError` unless seed, seed + 1, ... all fit."""
    if not 1 <= runs <= MAX_RUNS:
        raise InputError(f"runs: expected 1 to {MAX_RUNS}, got {runs}")
    if not 0 <= seed <= MAX_SEED - (runs - 1):
        # Python refuses to write an integer of more than some thousand digits.
        shown = seed if abs(seed) < 10**40 else "more than 40 digits"
        raise InputError(f"seed: expected 0 to {MAX_SEED - (runs - 1)}, got {shown}")
