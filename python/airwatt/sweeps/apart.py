"""What tells points of a store apart that several sweeps made under the same settings.

A sweep's tables have a column for each key that its grid varies. Two sweeps in one store may differ in another key
(`--set`), in an edited scenario, or in the text of a mechanism's file: what is under one label would then be of two
experiments. The keys that differ become columns, and where none does the sweep itself is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airwatt._core import Scenario
from airwatt.sweeps.labels import leaves
from airwatt.sweeps.plan import Plan, array, column

if TYPE_CHECKING:
    import pyarrow as pa

SWEEP = "sweep"
"""The column of the first digits of a plan's ID."""
_DIGITS = 8


def shared(settings: pa.Table) -> bool:
    """Whether two points have the same settings."""
    names = [name for name in settings.column_names if name != "point"]
    if not names:
        return int(settings.num_rows) > 1
    return int(settings.group_by(names).aggregate([]).num_rows) < int(settings.num_rows)


def told_apart(settings: pa.Table, plans: Sequence[Plan]) -> pa.Table:
    """Adds the columns that tell the points of `settings` apart; `plans` have their scenarios. Each is one's last."""
    owner = {point: (number, place) for number, plan in enumerate(plans) for place, point in enumerate(plan.points)}
    owners = [owner[point] for point in settings.column("point").to_pylist()]
    for key, values in _differing(settings, plans, owners).items():
        of_plans = [None if value is None else column(key, value) for value in values]
        written = [of_plans[number] for number, _ in owners]
        name = next(one[0] for one in written if one is not None)
        cells = [None if one is None else one[1] for one in written]
        if name in settings.column_names:
            place = settings.column_names.index(name)
            given = settings.column(name).to_pylist()
            cells = [mine if mine is not None else cell for mine, cell in zip(given, cells, strict=True)]
            settings = settings.set_column(place, name, array(cells))
        else:
            settings = settings.append_column(name, array(cells))
    if shared(settings):
        settings = settings.append_column(SWEEP, array([plans[number].id[:_DIGITS] for number, _ in owners]))
    return settings


def _differing(
    settings: pa.Table, plans: Sequence[Plan], owners: Sequence[tuple[int, int]]
) -> dict[str, list[str | None]]:
    """Keys in which points with the same settings differ, with the value that each plan has."""
    names = [name for name in settings.column_names if name != "point"]
    columns = [settings.column(name).to_pylist() for name in names]
    under: dict[tuple[Any, ...], dict[int, int]] = {}
    for row, (number, place) in enumerate(owners):
        under.setdefault(tuple(values[row] for values in columns), {}).setdefault(number, place)
    read: dict[int, Mapping[str, str]] = {}
    keys: dict[str, None] = {}
    for same in under.values():
        # One label of each sweep says in what the sweeps differ: what differs within one is in its settings.
        if len(same) < 2 or same.keys() <= read.keys():
            continue
        texts = {number: _leaves(plans[number], place) for number, place in same.items()}
        read.update(texts)
        every = dict.fromkeys(key for text in texts.values() for key in text)
        keys.update({key: None for key in every if len({text.get(key) for text in texts.values()}) > 1})
    for number, plan in enumerate(plans):
        if keys and number not in read:
            read[number] = _leaves(plan, 0)
    return {key: [read[number].get(key) for number in range(len(plans))] for key in keys}


def _leaves(plan: Plan, place: int) -> Mapping[str, str]:
    """The keys of a point's scenario and their values, of which several things may have one each."""
    assert plan.texts is not None
    found: dict[str, list[str]] = {}
    for key, text in leaves(Scenario.from_toml(plan.texts[place].as_py(), name=plan.scenario).to_dict()):
        found.setdefault(key, []).append(text)
    return {key: " and ".join(dict.fromkeys(texts)) for key, texts in found.items()}
