"""What a sweep has to run: checked points with their keys, seeds, and the columns that the settings have in tables.

A job is a point and a seed. A point's key is a hash of the canonical text of its checked scenario and of the core
library: an equal key means an equal result, whatever file or option the setting came from. A plan is kept in the store
(`plans/ID.json`, `plans/ID.parquet`) with the whole scenario of every point, so that a sweep goes on without the files
that it was made from. Its ID is a hash of what it asks for and of how tables name that, which covers all but the commit
and the version; those have a sum.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt import _core
from airwatt._core import SCHEMA, InputError, Quantity, Scenario, __version__
from airwatt.built import commit
from airwatt.files import parsed
from airwatt.own import files_of
from airwatt.sweeps.folder import Folder
from airwatt.sweeps.grid import MAX_POINTS, Point
from airwatt.sweeps.until import Until

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_DIGITS = 24
"""Hexadecimal digits of a key: 96 bits, so that a million points collide with a probability of 1e-17."""
SUFFIXES = {
    "s": "_s", "b/s": "_bps", "B": "_bytes", "b": "_bits", "W": "_w", "J": "_j", "A": "_a", "V": "_v", "m": "_m"
}  # fmt: skip
"""What the name of a column ends in, by the unit of its numbers."""


MAX_JOBS = 10_000_000
"""No sweep has more runs."""
MOST_SEEDS = 1 << 63
"""No seed is larger, nor as large."""


@functools.cache
def core_hash() -> str:
    """The hash of the core library, which decides what a scenario's results are."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:_DIGITS]


def key_of(scenario: Scenario) -> str:
    """The key of a checked scenario under this core library, with the files that the scenario names."""
    text = f"{core_hash()}\0{scenario.canonical()}"
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, eq=False)
class Plan:
    """The jobs of a sweep: every point with every seed."""

    id: str
    scenario: str
    core: str
    points: list[str]
    """The keys of the points, in the order of the grid."""
    settings: pa.Table
    """A row a point: the columns that its settings have in tables."""
    texts: pa.Array | None
    """The whole scenario of each point; None where a reader did not ask for it."""
    varied: list[str]
    """The keys that the grid varies, as a user writes them."""
    seed: int
    runs: int
    until: str | None = None
    commit: str | None = None
    """The commit of the package that planned it, if known. With the same core library another one gives equal runs."""

    @property
    def jobs(self) -> int:
        """How many runs it has; with `until` at most."""
        return len(self.points) * self.runs

    def job(self, number: int) -> tuple[int, int]:
        """The point, by its number, and the seed of a job."""
        return number // self.runs, self.seed + number % self.runs

    def may_name_files(self, index: int) -> bool:
        """Whether the scenario of a point may name classes in files."""
        assert self.texts is not None
        return ".py:" in self.texts[index].as_py()

    def load(self, index: int, *, with_files: bool = False) -> Scenario:
        """The scenario of a point. Raises `InputError` if its key is not what was planned.

        `with_files` says that the user has named its mechanisms in files, which may be executed: no plan in a store
        makes anybody execute a file.
        """
        assert self.texts is not None
        loaded = Scenario.from_toml(self.texts[index].as_py(), name=self.scenario)
        files = " and ".join(files_of(loaded))
        if files and not with_files:
            raise InputError(
                f"{self.scenario}: runs of {files} are made by the sweep's own command alone, since a store executes no"
                " file; hint: give the whole sweep command again, after a failure with the file mended"
            )
        if key_of(loaded) != self.points[index]:
            # A class or a radio profile in a file of its own has changed, or the core library.
            what = files or "the scenario"
            raise InputError(
                f"{self.scenario}: expected {what} as it was when the sweep began, got a changed one; hint: a sweep of"
                " what it is now into a store of its own (--store) needs nothing of before"
            )
        return loaded


def plan(
    scenarios: Iterable[tuple[Point, Scenario]], *, seed: int, runs: int, until: str | None = None, name: str
) -> Plan:
    """Makes the plan of checked points. Equal points are one."""
    import pyarrow as pa

    keys: dict[str, None] = {}
    texts: list[str] = []
    settings: list[dict[str, Any]] = []
    varied: dict[str, None] = {}
    for point, scenario in scenarios:
        key = key_of(scenario)
        varied.update(dict.fromkeys(point))
        if key in keys:
            continue
        keys[key] = None
        texts.append(scenario.to_toml())
        settings.append(dict(column(item, value) for item, value in point.items()))
    points = list(keys)
    names = list(dict.fromkeys(name for row in settings for name in row))
    table = pa.table({"point": points, **{name: array([row.get(name) for row in settings]) for name in names}})
    found = Plan(
        "", name, core_hash(), points, table, pa.array(texts, pa.string()), list(varied), seed, runs, until, commit()
    )
    return replace(found, id=_id(found))


def _id(item: Plan) -> str:
    """The hash of what a plan asks for, under which name, for which core library, and with which settings."""
    values = [item.settings.column(name).to_pylist() for name in _names(item)]
    content = json.dumps([item.core, item.scenario, *_asked(item), values])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _older_id(item: Plan) -> str:
    """The ID that versions gave which did not hash names, core libraries and values of settings."""
    return hashlib.sha256(json.dumps(_asked(item)).encode()).hexdigest()[:16]


def _asked(item: Plan) -> list[Any]:
    return [item.points, item.seed, item.runs, item.until, _names(item), item.varied]


def _names(item: Plan) -> list[str]:
    return [name for name in item.settings.column_names if name != "point"]


def _sum(document: Mapping[str, Any]) -> int:
    """The sum of the file of a plan, of all that is in it."""
    return zlib.crc32(json.dumps({**document, "sum": None}, sort_keys=True).encode())


def relabelled(item: Plan, settings: pa.Table, varied: list[str]) -> Plan:
    """A plan with other columns of its settings, which name the same points in the same order."""
    found = replace(item, settings=settings, varied=varied)
    return replace(found, id=_id(found))


def column(key: str, text: str) -> tuple[str, float | int | bool | str]:
    """The name and the value that a setting has in tables: `("wired.rtt_s", 0.02)` for `wired.rtt` and `20ms`."""
    text = text.strip()
    if text.endswith("packets") and text.removesuffix("packets").strip().isdigit():
        return f"{key}_packets", int(text.removesuffix("packets"))
    if text in ("true", "false"):
        return key, text == "true"
    for number in (int, float):
        try:
            return key, number(text)
        except ValueError:
            continue
    try:
        quantity = Quantity(text)
    except InputError:
        return key, text
    return key + SUFFIXES.get(quantity.unit, ""), quantity.value


def array(values: Sequence[Any]) -> pa.Array:
    """A column of values, which are texts where they have no type in common."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values])
    if len(kinds) > 1:
        return pa.array([None if value is None else str(value) for value in values])
    return pa.array(values)


def write(item: Plan, folder: Folder) -> None:
    """Keeps a plan. One that is there becomes the most recent one. Raises `OSError`."""
    import pyarrow.parquet as pq

    about = f"{item.id}.json"
    if folder.has(about):
        folder.touch(about)
        return
    assert item.texts is not None
    with folder.replacing(f"{item.id}.parquet") as out:
        table = item.settings.append_column("scenario", item.texts)
        pq.write_table(table, out, compression="zstd", write_page_checksum=True)
    document = {
        "schema": SCHEMA, "version": __version__, "commit": item.commit, "scenario": item.scenario, "core": item.core,
        "varied": item.varied, "seed": item.seed, "runs": item.runs, "until": item.until,
    }  # fmt: skip
    document["sum"] = _sum(document)
    # Last: a plan with this file is complete.
    with folder.replacing(about) as out:
        out.write((json.dumps(document, indent=2) + "\n").encode())


def checked(document: Mapping[str, Any], points: Sequence[object]) -> tuple[str, list[str], int, int, str | None]:
    """Scenario, varied keys, first seed, runs and rule of a plan that comes from elsewhere. Raises `ValueError`."""
    scenario, varied, seed, runs, until = (document.get(key) for key in ("scenario", "varied", "seed", "runs", "until"))
    expected = {
        "scenario": isinstance(scenario, str),
        "varied": isinstance(varied, list) and all(isinstance(key, str) for key in varied),
        "seed": type(seed) is int and 0 <= seed < MOST_SEEDS,
        "runs": type(runs) is int and runs >= 1 and len(points) * runs <= MAX_JOBS,
        "until": until is None or isinstance(until, str),
        "points": bool(points) and all(isinstance(point, str) for point in points) and len(set(points)) == len(points),
    }
    for key, is_right in expected.items():
        if not is_right:
            raise ValueError(f"{key} is wrong")
    try:
        if until is not None:
            Until.parse(until)
    except InputError as error:
        raise ValueError(str(error)) from None
    return scenario, varied, seed, runs, until  # type: ignore[return-value]


def read(folder: Folder, name: str, *, texts: bool) -> Plan:
    """Reads a plan by its name; with `texts` also the scenarios of its points. Raises `InputError`.

    The two files are held against the name, which is the plan's ID.
    """
    with _opened(folder, name) as (document, table):
        if table.metadata.num_rows > MAX_POINTS:
            raise ValueError(f"more than {MAX_POINTS} points")
        settings = table.read([column for column in table.schema_arrow.names if column != "scenario"])
        scenarios = table.read(["scenario"]).column(0).combine_chunks() if texts else None
        points = settings.column("point").to_pylist()
        scenario, varied, seed, runs, until = checked(document, points)
        made_by = document.get("commit")
        found = Plan(
            name, scenario, document["core"], points, settings, scenarios, varied, seed, runs, until,
            made_by if isinstance(made_by, str) else None,
        )  # fmt: skip
        if name == _id(found):
            if document.get("sum") != _sum(document):
                raise ValueError("its sum is another")
        elif name != _older_id(found):
            raise ValueError("it asks for something else than when it was written")
        return found


def jobs_in(folder: Folder, name: str) -> int:
    """How many runs a plan has, by its name; its points are not read. Raises `InputError`."""
    with _opened(folder, name) as (document, table):
        points: int = table.metadata.num_rows
        return min(MAX_JOBS, points * int(document["runs"]))


@contextlib.contextmanager
def _opened(folder: Folder, name: str) -> Iterator[tuple[Mapping[str, Any], pq.ParquetFile]]:
    """Opens the two files of a plan. Raises `InputError` where one is damaged, also inside."""
    import pyarrow.parquet as pq

    try:
        with folder.reading(f"{name}.json") as file:
            document: Mapping[str, Any] = parsed(file.read())
        with folder.reading(f"{name}.parquet") as file:
            yield document, pq.ParquetFile(file, page_checksum_verification=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{folder.path / name}: expected the plan of a sweep, got a damaged file ({reason});"
            " hint: remove its two files and give the sweep's command again, which keeps the runs"
        ) from None
