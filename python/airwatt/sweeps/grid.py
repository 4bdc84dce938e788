"""The points of a sweep: products of lists and ranges, keys that change together, Latin hypercubes, and conditions.

A grid is written on the command line (`--over`), as arguments of `airwatt.sweep`, or as a TOML file:

    scenario = "fast-dsl"
    runs = 30
    policy = "all"                            # or a list
    where = ["wired.rtt < 200ms or policy == psm"]

    [over]                                    # the product of these
    wired.rtt = "10ms:300ms:10ms"
    wired.down.queue = ["20packets", "50packets"]

    [[together]]                              # lists of one length, whose values change together
    wired.down.rate = ["16Mbps", "2Mbps"]
    wired.up.rate = ["1Mbps", "256kbps"]

    [latin]                                   # a Latin hypercube: each key's range in `points` strata
    points = 100
    seed = 1
    over."ap.beacon_interval" = "50ms:500ms:log"
"""

from __future__ import annotations

import itertools
import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airwatt import _core
from airwatt._core import InputError
from airwatt.record import flat
from airwatt.sweeps.conditions import Condition
from airwatt.sweeps.ranges import between, values_of

Point = dict[str, str]
"""The value of each varied key, as text; `policy` and `transport` are keys like the others."""

MAX_POINTS = 1_000_000
_TABLES = ("over", "together", "latin")
_KEYS = ("scenario", "store", "runs", "seed", "until", "policy", "transport", "where", "set", *_TABLES)


@dataclass(frozen=True)
class Grid:
    """Groups of points, whose product the grid is, and the conditions that a point has to meet."""

    groups: tuple[tuple[Point, ...], ...]
    conditions: tuple[Condition, ...] = ()

    @property
    def keys(self) -> list[str]:
        """The varied keys in order."""
        return [key for group in self.groups for key in (group[0] if group else ())]

    def points(self) -> Iterator[Point]:
        """Yields the points; the last group varies fastest. Raises `InputError`."""
        for condition in self.conditions:
            condition.check(self.keys)
        for parts in itertools.product(*self.groups):
            point = {key: value for part in parts for key, value in part.items()}
            if all(condition.holds(point) for condition in self.conditions):
                yield point


@dataclass
class Request:
    """What a sweep was asked to do, before anything is checked against a scenario."""

    scenario: str | _core.Scenario
    over: Mapping[str, Any] = field(default_factory=dict)
    together: Sequence[Mapping[str, Any]] = ()
    latin: Mapping[str, Any] | None = None
    policy: str | Sequence[str] | None = None
    transport: str | Sequence[str] | None = None
    where: str | Sequence[str] = ()
    set: Mapping[str, Any] = field(default_factory=dict)
    runs: int = 1
    seed: int = 1
    until: str | None = None
    store: str | None = None
    origin: str = "--over "
    """What an error says before a key of the grid."""


def grid(request: Request, policies: Sequence[str]) -> Grid:
    """Makes the grid of a request; `policies` are those that `all` stands for. Raises `InputError`."""
    groups: list[tuple[Point, ...]] = []
    for key, chosen in (("policy", request.policy), ("transport", request.transport)):
        if chosen is not None:
            names = _list(key, chosen)
            if key == "policy" and "all" in names:
                names = list(dict.fromkeys(name for one in names for name in (policies if one == "all" else [one])))
            groups.append(tuple({key: name} for name in names))
    for key, value in flat(request.over):
        groups.append(tuple({key: item} for item in _list(key, value)))
    for table in request.together:
        groups.append(_together(dict(flat(table))))
    if request.latin is not None:
        groups.append(_latin(request.latin))
    keys = [key for group in groups for key in group[0]]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"{key}: expected each key once, got it twice")
    count = 1
    for group in groups:
        count *= len(group)
    if count > MAX_POINTS:
        raise InputError(f"sweep: expected at most {MAX_POINTS} points, got {count}")
    conditions = [request.where] if isinstance(request.where, str) else request.where
    return Grid(tuple(groups), tuple(Condition(text) for text in conditions))


def is_sweep_file(path: str) -> bool:
    """Whether a path names a file that describes a sweep, not a scenario."""
    try:
        return path.endswith(".toml") and any(key in tomllib.loads(_core.read_text(path)) for key in _TABLES)
    except (InputError, ValueError):
        # What is wrong with it is said when it is read as a scenario.
        return False


def read(path: str) -> Request:
    """Reads a file that describes a sweep; paths in it are relative to it. Raises `InputError`."""
    try:
        table = tomllib.loads(_core.read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    unknown = next((key for key in table if key not in _KEYS), None)
    if unknown is not None:
        raise InputError(f"{path}: {unknown}: unknown key; hint: expected one of {', '.join(_KEYS)}")
    kinds: dict[str, tuple[type, ...]] = {
        "scenario": (str,), "store": (str,), "until": (str,), "runs": (int,), "seed": (int,), "over": (dict,),
        "set": (dict,), "latin": (dict,), "together": (list,), "policy": (str, list), "transport": (str, list),
        "where": (str, list),
    }  # fmt: skip
    for key, value in table.items():
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            names = " or ".join(kind.__name__ for kind in kinds[key])
            raise InputError(f"{path}: {key}: expected {names}, got {type(value).__name__}")
    if "scenario" not in table:
        raise InputError(f"{path}: scenario: expected the scenario that is swept, got none")
    beside = Path(path).parent / table["scenario"]
    if beside.is_file():
        table["scenario"] = str(beside)
    if "store" in table:
        table["store"] = str(Path(path).parent / table["store"])
    return Request(**table, origin=f"{path}: ")


def _list(key: str, value: Any) -> list[str]:
    """The values of an axis: a text of values and ranges, or a list of values."""
    if isinstance(value, str):
        return values_of(key, value)
    if isinstance(value, Sequence) or hasattr(value, "tolist"):
        values = [_core.toml_value(item) for item in (value.tolist() if hasattr(value, "tolist") else value)]
        if values:
            return values
    raise InputError(f"{key}: expected a range or a list of values, got {value!r}")


def _together(table: Mapping[str, Any]) -> tuple[Point, ...]:
    columns = {key: _list(key, value) for key, value in table.items()}
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) != 1:
        shown = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise InputError(f"together: expected lists of one length, got {shown or 'none'}")
    return tuple(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def _latin(table: Mapping[str, Any]) -> tuple[Point, ...]:
    """A Latin hypercube: each key takes one value in each of as many equal strata as there are points.

    McKay, Beckman and Conover, Technometrics 21 (1979). The same seed gives the same points.
    """
    keys, count, seed = table.get("over", {}), table.get("points"), table.get("seed", 1)
    extra = next((key for key in table if key not in ("over", "points", "seed")), None)
    if extra is not None:
        raise InputError(f"latin.{extra}: unknown key; hint: expected points, seed, over")
    if not isinstance(count, int) or not 1 <= count <= MAX_POINTS:
        raise InputError(f"latin.points: expected 1 to {MAX_POINTS}, got {count}")
    if not isinstance(seed, int) or not keys:
        raise InputError("latin: expected a whole seed, and ranges in latin.over")
    draw = random.Random(seed)
    columns: dict[str, list[str]] = {}
    for key, value in flat(keys):
        strata = sorted(range(count), key=lambda _: draw.random())
        shares = [(stratum + draw.random()) / count for stratum in strata]
        if isinstance(value, str) and ":" in value:
            columns[key] = [at(share) for at in [between(f"latin.over.{key}", value)] for share in shares]
        else:
            choices = _list(f"latin.over.{key}", value)
            columns[key] = [choices[int(share * len(choices))] for share in shares]
    return tuple(dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
