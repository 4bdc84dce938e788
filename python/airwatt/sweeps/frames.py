"""A store as tables: one row a run, a flow or a station, with the settings of its point.

The name of a column with numbers ends in their unit (`wired.rtt_s`, `energy_j`). Rows are in the order of the grid; an
export has them in the order of the job keys, without how long the computer took, so that its bytes depend on the runs
alone.
"""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt._core import InputError, MissingFeature, Scenario
from airwatt.aggregates import head_from
from airwatt.files import replacing
from airwatt.record import Record
from airwatt.statistics import Estimate, estimate
from airwatt.sweeps import columns
from airwatt.sweeps.apart import shared, told_apart
from airwatt.sweeps.plan import Plan
from airwatt.sweeps.runner import Ledger, together
from airwatt.sweeps.store import Files, combined

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMATS = (".csv", ".parquet", ".feather")
_NOT_EXPORTED = ("wall_s",)


class Status(Record):
    """How far the sweeps of a store have come."""

    __slots__ = ()
    scenario: str
    jobs: int
    """All runs; with `until` at most."""
    finished: int
    failed: int
    not_needed: int
    """Runs that an `until` rule saved."""
    missing: int
    """Runs that are still to be made."""
    points: int
    seeds: int
    until: str | None
    commit: str | None
    """The commit of airwatt that planned it, if known."""
    damaged_lines: int
    """Lines of journals that could not be read; their runs are made again."""


class Store:
    """The runs of sweeps. Nothing is kept in memory: every answer is of the moment.

    Several folders are read as one store, as the parts of a job array with a folder each have them. A run that is in
    several is there once.
    """

    def __init__(self, folder: str | os.PathLike[str], *more: str | os.PathLike[str], temporary: bool = False) -> None:
        self.path = Path(folder)
        """The folder, or the first one."""
        self._parts = [Files.open(Path(one)) for one in (folder, *more)]
        if temporary:
            # The folder goes with the last reference to the store.
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __repr__(self) -> str:
        return f"<Store {self.path}>"

    def __len__(self) -> int:
        """The number of finished runs."""
        return int(self.to_arrow("runs", ["seed"]).num_rows)

    def status(self) -> list[Status]:
        """How far each sweep has come, in the order in which they were begun. Raises `InputError`."""
        found = []
        for plan in self.plans():
            ledgers = [Ledger(files, plan) for files in self._parts]
            state = together([ledgers])
            document = {
                "scenario": plan.scenario, **state._asdict(), "missing": state.missing, "points": len(plan.points),
                "seeds": plan.runs, "until": plan.until, "commit": plan.commit,
                "damaged_lines": sum(sum(ledger.damaged.values()) for ledger in ledgers),
            }  # fmt: skip
            found.append(Status(document))
        return found

    def plans(self, *, texts: bool = False) -> list[Plan]:
        """What was asked for, in the order in which it was begun. Raises `InputError`."""
        return list({plan.id: plan for files in self._parts for plan in files.plans(texts=texts)}.values())

    def settings(self) -> tuple[list[str], Mapping[str, Any]]:
        """The points, each once, and the columns of their settings, which name no two of them alike.

        Raises `InputError`.
        """
        import pyarrow as pa

        plans = self.plans()
        whole = pa.concat_tables([plan.settings for plan in plans], promote_options="permissive")
        if len(plans) > 1:
            points = whole.column("point").to_pylist()
            last = {point: index for index, point in enumerate(points)}
            whole = whole.take(pa.array([last[point] for point in dict.fromkeys(points)]))
            if shared(whole):
                whole = told_apart(whole, self.plans(texts=True))
        names = [name for name in whole.schema.names if name != "point"]
        return whole.column("point").to_pylist(), {name: whole.column(name) for name in names}

    def left_out(self) -> tuple[int, int, int]:
        """How many runs the sweeps have together, and how many of them are missing and failed."""
        state = together([Ledger(files, plan) for files in self._parts] for plan in self.plans())
        return state.jobs - state.not_needed, state.missing, state.failed

    def goodput(self) -> tuple[str, str]:
        """The column of goodputs that all runs have, `measured_bps` or else `goodput_bps`, and its head in tables."""
        name = "fairness.measured_from_s"
        table = self.to_arrow("runs", [name], lenient=True)
        starts_s = table[name].unique().to_pylist() if name in table.schema.names else []
        if not starts_s or None in starts_s:
            return "goodput_bps", head_from(())
        return "measured_bps", head_from(starts_s)

    def to_arrow(self, what: str = "runs", names: Sequence[str] | None = None, *, lenient: bool = False) -> pa.Table:
        """A table of all finished runs, or of their `flows` or `stations`; `names` restricts it to these columns.

        `lenient` leaves out a column that no run has, as runs of an earlier version may lack some. Raises `InputError`.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        if what not in columns.TABLES:
            raise InputError(f"table: expected {', '.join(columns.TABLES)}, got {what!r}")
        points, given = self.settings()
        if names is None:
            wanted = None
        else:
            given = {name: given[name] for name in names if name in given}
            wanted = list(dict.fromkeys((*columns.KEY, *(name for name in names if name not in given))))
        table = combined([files.table(what, wanted) for files in self._parts])
        places = pc.index_in(table.column("point"), pa.array(points, pa.string()))
        if places.null_count:
            # Runs of an earlier core library.
            table, places = table.filter(places.is_valid()), places.drop_null()
        keys = pa.table({"place": places, "seed": table.column("seed")})
        order = pc.sort_indices(keys, [("place", "ascending"), ("seed", "ascending")])
        table, places = table.take(order), places.take(order)
        for name, values in reversed(list(given.items())):
            if name in table.schema.names:
                # A policy that all stations were given is in the row of each of them as well.
                table = table.drop_columns([name])
            table = table.add_column(0, name, values.take(places))
        shown = _ordered(table.schema.names, list(given)) if names is None else _known(table, names, lenient=lenient)
        return table.select(shown)

    def to_pandas(self, what: str = "runs", names: Sequence[str] | None = None) -> pd.DataFrame:
        """`to_arrow` as a data frame. Raises `InputError`, and `MissingFeature` where pandas is not installed."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingFeature("pandas is not installed; `pip install airwatt[pandas]` brings it") from None
        return self.to_arrow(what, names).to_pandas()

    def failures(self) -> list[Record]:
        """The failed runs: `point`, `seed`, `wall_s`, `error`, and `settings` of the point."""
        found = []
        points, given = self.settings()
        places = {point: index for index, point in enumerate(points)}
        rows = [row for files in self._parts for row in files.failures().to_pylist()]
        last = {(row["point"], row["seed"]): row for row in sorted(rows, key=lambda row: row["at"])}
        if last and len(self._parts) > 1:
            # A run that failed in one part may have finished in another.
            done = self.to_arrow("runs", columns.KEY).to_pydict()
            last = {
                job: row for job, row in last.items() if job not in {*zip(done["point"], done["seed"], strict=True)}
            }
        for (point, _), row in sorted(last.items()):
            if point in places:
                shown = {name: values[places[point]].as_py() for name, values in given.items()}
                found.append(Record({**row, "settings": shown}))
        return found

    def scenario(self, point: str) -> Scenario:
        """The scenario of a point, by the key that rows have as `point`. Raises `InputError`."""
        for plan in self.plans(texts=True):
            if point in plan.points:
                return plan.load(plan.points.index(point))
        raise InputError(f"point: expected the key of one in {self.path}, got {point!r}")

    def summary(self, names: Sequence[str]) -> list[tuple[dict[str, Any], int, list[Estimate]]]:
        """For each point its settings, how many runs it has, and the mean and interval of some numbers of runs."""
        keys = list(self.settings()[1])
        table = self.to_arrow("runs", ["point", *keys, *names]).to_pydict()
        rows: dict[str, list[int]] = {}
        for index, point in enumerate(table["point"]):
            rows.setdefault(point, []).append(index)
        return [
            (
                {key: table[key][mine[0]] for key in keys},
                len(mine),
                [estimate([table[name][index] for index in mine]) if name in table else Estimate(None, None)
                 for name in names],
            )
            for mine in rows.values()
        ]  # fmt: skip

    def export(self, path: str | os.PathLike[str], what: str = "runs") -> int:
        """Replaces a file (.csv, .parquet or .feather) by a table, sorted by job key; returns the number of its rows.

        Its bytes depend on the runs alone, not on how and where they were made. Raises `InputError`, `OSError`.
        """
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.feather
        import pyarrow.parquet as pq

        form = Path(path).suffix.lower()
        if form not in FORMATS:
            raise InputError(f"--out {path}: expected a name that ends in {', '.join(FORMATS)}")
        table = self.exported(what)
        with replacing(path) as out:
            if form == ".parquet":
                pq.write_table(table, out, compression="zstd")
            elif form == ".feather":
                pa.feather.write_feather(table, out, compression="zstd")
            else:
                pa.csv.write_csv(table, out)
        return int(table.num_rows)

    def exported(self, what: str) -> pa.Table:
        """The table that an export writes. Raises `InputError`."""
        table = self.to_arrow(what)
        given = list(self.settings()[1])
        # The settings of several sweeps have no order but that of their names.
        table = table.select(_ordered(table.schema.names, given if len(self.plans()) == 1 else sorted(given)))
        rank = {"runs": [], "flows": ["id"], "stations": ["id"]}[what]
        table = table.sort_by(
            [(name, "ascending") for name in (*columns.KEY, *rank) if name in table.schema.names]
        ).combine_chunks()
        return table.drop_columns([name for name in _NOT_EXPORTED if name in table.schema.names])


def _ordered(names: Sequence[str], given: Sequence[str]) -> list[str]:
    """Settings, seed, the numbers of the whole run, all else by name, and the key of the point."""
    first = [*given, "seed", *(name for name in ("id", *columns.AGGREGATES) if name in names)]
    return [*first, *sorted(set(names) - {*first, "point"}), "point"]


def _known(table: pa.Table, names: Sequence[str], *, lenient: bool) -> list[str]:
    """The columns asked for that there are. Raises `InputError` for one that no run has, unless `lenient`."""
    known = table.schema.names
    missing = next((name for name in names if name not in known), None)
    if missing is not None and table.num_rows and not lenient:
        raise InputError(
            f"column: expected one that the store has, got {missing!r}; hint: to_arrow().schema.names lists them"
        )
    return [name for name in names if name in known]
