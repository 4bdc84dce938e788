"""Whether the settings that a plan states of its points are those of the points' scenarios.

Tables and reports name a point by its settings, and its scenario is what runs. A setting holds if the scenario stays
the same when it is set to it: so units, other names of keys, radio profiles and mechanisms mean what they mean in a
scenario. A plan may come from a stranger: no file that a setting names is opened, unless the scenario names it too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from airwatt._core import InputError, Scenario, toml_value
from airwatt.sweeps.plan import SUFFIXES, Plan, column

_FILE = re.compile(r"(?P<path>.*\.(?:toml|py))(?P<rest>:.*)?|.*[/\\].*", re.DOTALL)
_UNITS = {suffix: "bps" if unit == "b/s" else unit for unit, suffix in SUFFIXES.items()}


class Label(NamedTuple):
    """A setting that is not what the point's scenario has."""

    point: str
    key: str
    said: str
    """The value that is stated; empty where there is none."""
    scenario: str
    """What the scenario has; empty where it has no such key."""


class Labels(NamedTuple):
    """What came of a plan's settings."""

    wrong: list[Label]
    """At most one of each point."""
    unknown: set[str]
    """Columns of settings whose values could not be held against the scenarios."""


def check(plan: Plan, names: Callable[[Scenario], Collection[str]]) -> Labels:
    """Holds the settings of a plan against its scenarios; `names` gives the files that a scenario names."""
    assert plan.texts is not None
    found = Labels([], set())
    for row, text in zip(plan.settings.to_pylist(), plan.texts.to_pylist(), strict=True):
        scenario = Scenario.from_toml(text, name=plan.scenario)
        wrong = _wrong(row, plan.varied, scenario, names(scenario), found.unknown)
        if wrong is not None:
            found.wrong.append(wrong)
    return found


def _wrong(
    row: Mapping[str, Any], varied: list[str], scenario: Scenario, files: Collection[str], unknown: set[str]
) -> Label | None:
    """The last setting of a point that is wrong; columns that cannot be judged are added to `unknown`."""
    said: dict[str, tuple[str, str]] = {}
    for name, value in row.items():
        if name == "point" or value is None:
            continue
        reading = next(((key, text) for key, text in _readings(name, value) if key in varied), None)
        if reading is None:
            unknown.add(name)
        else:
            said[reading[0]] = name, reading[1]

    def label(key: str, has: list[str]) -> Label:
        return Label(row["point"], key, said[key][1] if key in said else "", " and ".join(dict.fromkeys(has)))

    usable: list[tuple[str, str]] = []
    for key in varied:
        if key not in said:
            return label(key, _values(scenario, key))
        name, text = said[key]
        own = _own(text, files)
        try:
            if own is not None:
                scenario.replace([(key, own)])
                usable.append((key, own))
                continue
        except InputError:
            pass
        # The scenario takes no such value, or the value names a file of somebody else's.
        has = _values(scenario, key)
        if not has:
            unknown.add(name)
        elif (name, row[name]) not in [column(key, one) for one in has]:
            return label(key, has)
    if _is_same(scenario, usable):
        return None
    for key, text in reversed(usable):
        # The last of those that write one place counts, and it changes the place alone too.
        if not _is_same(scenario, [(key, text)]):
            return label(key, _changed(scenario, scenario.replace([(key, text)])))
    unknown.update(said[key][0] for key, _ in usable)
    return None


def _is_same(scenario: Scenario, settings: list[tuple[str, str]]) -> bool:
    """Whether a scenario stays as it is with some settings."""
    try:
        return scenario.replace(settings).canonical() == scenario.canonical()
    except InputError:
        return False


def _readings(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The keys and texts of which a column's value may come, the inverse of `column`."""
    if isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, int | float):
        yield name, repr(value)
        # A product with a power of ten is beside the number that was written, which has 15 digits at most.
        text = format(Decimal(f"{value:.15g}"), "f")
        for suffix, unit in (*_UNITS.items(), ("_packets", "packets")):
            if name.endswith(suffix):
                yield name.removesuffix(suffix), text + unit
    else:
        yield name, str(value).lower() if value in ("True", "False") else str(value)


def _own(text: str, files: Collection[str]) -> str | None:
    """The text with the file of the scenario in the place of one of the same name; None if it has none, or several."""
    match = _FILE.fullmatch(text)
    if match is None:
        return text
    name = Path(match["path"] or "").name
    own = [file for file in files if re.sub(r"^(?:profiles|mechanisms)-(?:\d+-)?", "", Path(file).name) == name]
    return own[0] + (match["rest"] or "") if len(own) == 1 else None


def leaves(item: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The keys of a scenario and their values as texts; those of several things have one name."""
    if isinstance(item, Mapping):
        for key, value in item.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(item, list) and any(isinstance(one, Mapping) for one in item):
        for one in item:
            yield from leaves(one, path)
    else:
        yield path, toml_value(item)


def _values(scenario: Scenario, key: str) -> list[str]:
    """What a scenario has under a key, or under one that ends so."""
    every = list(leaves(scenario.to_dict()))
    return [text for path, text in every if path == key or path.endswith(f".{key}")]


def _changed(before: Scenario, after: Scenario) -> list[str]:
    """What the first place had that is another one in a changed scenario."""
    kept = list(leaves(after.to_dict()))
    return [text for path, text in leaves(before.to_dict()) if (path, text) not in kept][:1]
