"""Results as Python objects: the documents of the core with attribute access, and as Arrow tables.

Nothing is computed here that the documents do not hold, but for the summaries over repeated runs.
"""

from __future__ import annotations

import contextlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt._core import SCHEMA, InputError, MissingFeature, Run, __version__
from airwatt.files import replacing
from airwatt.statistics import summarize

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Record(Mapping[str, Any]):
    """A JSON object whose keys are attributes too: `station.energy_j`, or `overhead["always-active"]`."""

    __slots__ = ("_data",)

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return _wrap(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_data":
            # Asked for by copy and pickle before there is any data.
            raise AttributeError(name)
        try:
            return _wrap(self._data[name])
        except KeyError:
            raise AttributeError(f"no field {name!r}; there are {', '.join(self._data)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value!r}" for key, value in self._data.items())
        return f"{type(self).__name__}({fields})"

    def to_dict(self) -> dict[str, Any]:
        """Gives the plain document, a copy."""
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy

    @property
    def json(self) -> str:
        """The document as JSON text."""
        return json.dumps(self._data, allow_nan=False)


def _wrap(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Record(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value


class _Tabular(ABC):
    """What every kind of result can turn into."""

    @abstractmethod
    def _rows(self, what: str) -> list[dict[str, Any]]:
        """Gives one plain row a station (or flow, or run)."""

    def to_arrow(self, what: str = "stations") -> pa.Table:
        """Gives a table with one row a station (or `flows`, or `runs`) of each run; nested keys joined by dots."""
        import pyarrow as pa

        if what not in ("stations", "flows", "runs"):
            raise InputError(f"table {what!r}: unknown; allowed are stations, flows, runs")
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


class Result(Record, _Tabular):
    """One run: the result document, and its traces if it was traced."""

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        super().__init__(json.loads(run.json))
        self._run = run

    def traces(self) -> dict[str, pa.Table]:
        """Gives the traces by name; empty unless the run was made with `trace=True`."""
        return {name: _table(columns) for name, columns in self._run.traces()}

    def write_pcapng(self, path: str | os.PathLike[str]) -> None:
        """Replaces a file by the frames on the air (needs `trace=True`) as radiotap pcapng. Raises `OSError`."""
        with replacing(path) as out:
            self._run.write_pcapng(out)

    def write_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Replaces a file by the time line (needs `trace=True`) for the Perfetto viewer. Raises `OSError`."""
        with replacing(path) as out:
            self._run.write_perfetto(out)

    def write_tables(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Replaces the Parquet files of the traces in a folder, all of them or none; returns their paths.

        Raises `OSError`.
        """
        import pyarrow.parquet as pq

        paths = []
        with contextlib.ExitStack() as files:
            for name, table in self.traces().items():
                paths.append(Path(folder) / f"{name}.parquet")
                out = files.enter_context(replacing(paths[-1]))
                pq.write_table(table, out, compression="zstd")
        return paths

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return list(_run_rows(self._data, what))


class Runs(Record, _Tabular):
    """The same scenario with several seeds: `.runs`, and `.summary["stations.0.energy_j"].mean` and `.ci95`."""

    __slots__ = ("results",)

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

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return [row for document in self._data["runs"] for row in _run_rows(document, what)]


class Comparison(Record, _Tabular):
    """The same traffic under several choices: `.rows`, each with `.choice`, `.runs` and `.summary`."""

    __slots__ = ("results",)

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
                }
                for choice, results in rows
            ],
        }
        if interrupted:
            document["interrupted"] = True
        super().__init__(document)
        self.results = [list(results) for _, results in rows]

    def _rows(self, what: str) -> list[dict[str, Any]]:
        return [
            {**{f"choice.{key}": value for key, value in row["choice"].items()}, **fields}
            for row in self._data["rows"]
            for document in row["runs"]
            for fields in _run_rows(document, what)
        ]


class Analysis(Record):
    """What a capture says about a station's radio."""

    __slots__ = ()


def _run_rows(document: Mapping[str, Any], what: str) -> Iterator[dict[str, Any]]:
    origin = {"scenario": document["scenario"], "seed": document["seed"]}
    if what == "runs":
        parts = {k: v for k, v in document.items() if k not in ("schema", "version", "flows", "stations")}
        yield {**origin, **_flat(parts)}
        return
    for item in document[what]:
        yield {**origin, **_flat(item)}


def _flat(item: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in item.items():
        if isinstance(value, Mapping):
            fields.update(_flat(value, f"{prefix}{key}."))
        else:
            fields[prefix + key] = value
    return fields


def _table(columns: Sequence[Any]) -> pa.Table:
    """Wraps the buffers of the core; numbers are not copied."""
    import pyarrow as pa

    kinds = {"i64": pa.int64(), "u32": pa.uint32(), "bool": pa.uint8(), "code": pa.uint32()}
    arrays = []
    for column in columns:
        array = pa.Array.from_buffers(kinds[column.kind], column.length, [None, pa.py_buffer(column.data)])
        if column.kind == "code":
            # Arrow reads dictionaries with signed indices everywhere, with unsigned ones only in places.
            array = pa.DictionaryArray.from_arrays(array.cast(pa.int32()), pa.array(column.labels, pa.string()))
        elif column.kind == "bool":
            array = array.cast(pa.bool_())
        arrays.append(array)
    return pa.Table.from_arrays(arrays, names=[column.name for column in columns])
