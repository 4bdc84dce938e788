"""Results as Python objects: the typed documents of the core, and as Arrow tables.

Nothing is computed here that the documents do not hold, but for the summaries over repeated runs.
"""

from __future__ import annotations

import contextlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from airwatt import _core, timelines
from airwatt._core import SCHEMA, InputError, MissingFeature, Run, __version__
from airwatt._documents import RunResult
from airwatt.aggregates import energy_per_bit_j, over
from airwatt.compared import ComparedRow, names_of
from airwatt.files import replacing
from airwatt.record import Record, flat
from airwatt.statistics import summarize

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class _Tabular(ABC):
    """What every kind of result can turn into."""

    @abstractmethod
    def _rows(self, what: str) -> list[dict[str, Any]]:
        """Gives one plain row a station (or flow, or run)."""

    def to_arrow(self, what: str = "stations") -> pa.Table:
        """Gives a table with one row a station (or `flows`, or `runs`) of each run; nested keys joined by dots."""
        import pyarrow as pa

        if what not in ("stations", "flows", "runs"):
            raise InputError(f"table: expected stations, flows or runs, got {what!r}")
        rows = self._rows(what)
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pa.table({name: [row.get(name) for row in rows] for name in names})

    def to_pandas(self, what: str = "stations") -> pd.DataFrame:
        """Gives `to_arrow(what)` as a data frame. Raises `MissingFeature` where pandas is not installed."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise MissingFeature("pandas is not installed; `pip install airwatt[pandas]` brings it") from None
        return self.to_arrow(what).to_pandas()


class Realtime(Record):
    """How well an emulation kept the wall clock."""

    __slots__ = ()
    bound_s: float
    """Packets that are delivered later than this are late."""
    deliveries: int
    late: int
    lateness_s_p50: float | None
    lateness_s_p99: float | None
    lateness_s_max: float
    cpu_share: float
    wakeups: int
    trusted: bool
    """Whether at most one of a hundred packets was late."""


class Ended(Record):
    """How the command of an emulation ended."""

    __slots__ = ()
    status: int


class FinishedRun(NamedTuple):
    """A finished run."""

    document: Mapping[str, Any]
    """Its result document."""
    run: Run | None = None
    """The run itself, with its traces; None if it comes from a store."""


class Result(RunResult, _Tabular):
    """One run: the result document, and its traces if it was traced."""

    __slots__ = ("_run",)
    _parts: ClassVar[Mapping[str, type[Record]]] = {**RunResult._parts, "realtime": Realtime, "command": Ended}
    realtime: Realtime | None
    """Of an emulation."""
    command: Ended | None
    """Of an emulation with a command."""
    interrupted: bool | None

    def __init__(self, document: Mapping[str, Any], run: Run | None = None) -> None:
        super().__init__(document)
        self._run = run

    @classmethod
    def of(cls, made: FinishedRun) -> Result:
        """Gives the result of a run."""
        return cls(made.document, made.run)

    @property
    def _traced(self) -> Run:
        if self._run is None:
            raise InputError("the run comes from a store, which keeps no traces; with trace=True it is made again")
        return self._run

    def traces(self) -> dict[str, pa.Table]:
        """Gives the traces by name; empty unless the run was made with `trace=True`."""
        return {} if self._run is None else {name: _table(columns) for name, columns in self._run.traces()}

    def write_pcapng(self, path: str | os.PathLike[str]) -> None:
        """Replaces a file by the frames on the air (needs `trace=True`) as radiotap pcapng. Raises `OSError`."""
        with replacing(path) as out:
            self._traced.write_pcapng(out)

    def write_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Replaces a file by the time line (needs `trace=True`) for the Perfetto viewer. Raises `OSError`."""
        with replacing(path) as out:
            self._traced.write_perfetto(out)

    def write_tables(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Replaces the Parquet files of the traces in a folder, all of them or none; returns their paths.

        Raises `OSError`.
        """
        return _write_parquet(self.traces(), folder)

    def __repr__(self) -> str:
        from airwatt import notebook

        return notebook.line_of_runs("Result", [self])

    def _repr_html_(self) -> str:
        from airwatt import notebook

        return notebook.of_run(self, self.traces())

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return list(_run_rows(self._data, what))


class Runs(Record, _Tabular):
    """The same scenario with several seeds: `.runs`, and `.summary["stations.0.energy_j"].mean` and `.ci95`."""

    __slots__ = ("results",)
    _parts: ClassVar[Mapping[str, type[Record]]] = {"runs": RunResult}
    scenario: str
    runs: list[RunResult]
    interrupted: bool | None

    def __init__(self, results: Sequence[Result], *, interrupted: bool = False) -> None:
        documents = [result._data for result in results]
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "version": __version__,
            "scenario": documents[0]["scenario"],
            "runs": documents,
            "summary": summarize(documents),
        }
        if interrupted:
            document["interrupted"] = True
        super().__init__(document)
        self.results = list(results)

    def __repr__(self) -> str:
        from airwatt import notebook

        return notebook.line_of_runs("Runs", self.runs)

    def _repr_html_(self) -> str:
        from airwatt import notebook

        return notebook.of_runs(self.runs)

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return [row for document in self._data["runs"] for row in _run_rows(document, what)]


class Comparison(Record, _Tabular):
    """The same traffic under several choices."""

    __slots__ = ("results",)
    _parts: ClassVar[Mapping[str, type[Record]]] = {"rows": ComparedRow}
    scenario: str
    rows: list[ComparedRow]
    interrupted: bool | None

    def __init__(
        self,
        scenario: str,
        rows: Sequence[tuple[dict[str, str], Sequence[Result]]],
        *,
        interrupted: bool = False,
    ) -> None:
        document: dict[str, Any] = {
            "schema": SCHEMA,
            "version": __version__,
            "scenario": scenario,
            "rows": [
                {
                    "choice": choice,
                    "runs": [result._data for result in results],
                    "summary": summarize([result._data for result in results]),
                    "energy_per_bit_j": over(results, energy_per_bit_j)._asdict(),
                }
                for choice, results in rows
            ],
        }
        if interrupted:
            document["interrupted"] = True
        super().__init__(document)
        self.results = [list(results) for _, results in rows]

    def __repr__(self) -> str:
        return f"<Comparison {self.scenario}: {', '.join(' '.join(names_of(row.choice)) for row in self.rows)}>"

    def _repr_html_(self) -> str:
        from airwatt import notebook

        return notebook.of_comparison(self.scenario, self.rows)

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return [
            {**{f"choice.{key}": value for key, value in row["choice"].items()}, **fields}
            for row in self._data["rows"]
            for document in row["runs"]
            for fields in _run_rows(document, what)
        ]


class Analysis(Record):
    """What a capture says about a station's radio, or with several stations `analyses`, one for each."""

    __slots__ = ()

    def __repr__(self) -> str:
        if "analyses" in self._data:
            return f"<Analysis of {len(self._data['analyses'])} stations>"
        return f"<Analysis of {self._data.get('station') or 'no station'} in {self._data['capture']['file']}>"

    def _repr_html_(self) -> str:
        from airwatt import notebook

        return notebook.of_analysis(self._data)

    @property
    def of_stations(self) -> list[Analysis]:
        """The analysis of each station: itself, if it is one of a single station."""
        several = self._data.get("analyses")
        if several is None:
            return [self]
        # The first time line alone has what is the same for all.
        whole = several[0].get("timeline") if several else None
        if whole is not None:
            shared = {name: whole[name] for name in timelines.SHARED}
            several = [{**one, "timeline": one["timeline"] | shared} for one in several]
        return [Analysis(one) for one in several]

    def tables(self) -> dict[str, pa.Table]:
        """Gives the time line as tables by name; needs `trace=True`. Times count from the first packet."""
        line = self._data.get("timeline")
        if line is None:
            raise InputError("the analysis was not traced; its time line is kept with trace=True")
        return timelines.tables(line) | {"findings": timelines.findings_table(self._finding_columns())}

    def write_tables(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Replaces the Parquet files of the time line in a folder, all of them or none. Raises `OSError`."""
        return _write_parquet(self.tables(), folder)

    def write_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Replaces a file by the time line (needs `trace=True`) for the Perfetto viewer. Raises `OSError`."""
        if "timeline" not in self._data:
            raise InputError("the analysis was not traced; its time line is kept with trace=True")
        columns = self._finding_columns()
        marks = sorted(zip(columns["time_ns"], columns["kind"], columns["packet"], strict=True))
        with replacing(path) as out:
            findings = [(kind, time_ns, packet) for time_ns, kind, packet in marks]
            _core.write_timeline_perfetto(json.dumps(self._data["timeline"]), findings, out)

    def _finding_columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("time_ns", "packet", "verdict", "kind", "certainty", "severity", "station")
        }
        for finding in self._data["findings"]:
            for place in finding["occurrences"]:
                if place["verdict"] == "kept":
                    continue
                columns["verdict"].append(place["verdict"])
                columns["time_ns"].append(round(1e9 * place["time_s"]))
                columns["packet"].append(place["packet"])
                for name in ("kind", "certainty", "severity", "station"):
                    columns[name].append(finding[name])
        return columns


def _write_parquet(tables: Mapping[str, pa.Table], folder: str | os.PathLike[str]) -> list[Path]:
    """Replaces a file for each table in a folder, all of them or none; returns their paths. Raises `OSError`."""
    import pyarrow.parquet as pq

    paths = []
    with contextlib.ExitStack() as files:
        for name, table in tables.items():
            paths.append(Path(folder) / f"{name}.parquet")
            out = files.enter_context(replacing(paths[-1]))
            pq.write_table(table, out, compression="zstd")
            # A full disk is noticed before the first file has taken its name.
            out.flush()
            os.fsync(out.fileno())
    return paths


def _run_rows(document: Mapping[str, Any], what: str) -> Iterator[dict[str, Any]]:
    origin = {"scenario": document["scenario"], "seed": document["seed"]}
    if what == "runs":
        parts = {k: v for k, v in document.items() if k not in ("schema", "version", "flows", "stations")}
        yield {**origin, **dict(flat(parts))}
        return
    for item in document[what]:
        yield {**origin, **dict(flat(item))}


def _table(columns: Sequence[Any]) -> pa.Table:
    """Wraps the buffers of the core; numbers are not copied."""
    import numpy as np
    import pyarrow as pa

    kinds = {"i64": "<i8", "u32": "<u4", "bool": "?", "code": "<i4"}
    arrays = []
    for column in columns:
        array = timelines.numbers(np.frombuffer(column.data, kinds[column.kind]), kinds[column.kind])
        if column.kind == "code":
            # Arrow reads dictionaries with signed indices everywhere, with unsigned ones only in places.
            array = pa.DictionaryArray.from_arrays(array, timelines.texts(column.labels))
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came in the middle; `finished` keeps the results of the runs that were done, or None."""

    def __init__(self, finished: Result | Runs | Comparison | None) -> None:
        super().__init__("interrupted")
        self.finished = finished
