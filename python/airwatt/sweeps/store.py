"""A store: the folder in which the runs of sweeps are kept, and the files in it.

    plans/ID.json, plans/ID.parquet      what was asked for: the points with their settings and scenarios
    runs/STEM.parquet                    finished runs, one row each
    flows/STEM.parquet, stations/...     their flows and stations
    documents/STEM.parquet               their result documents, for commands that need them whole
    footers/STEM.json                    the checksum of each file's footer: pages have their own, names of columns none
    readings/KEY.jsonl                   what was read from the traces of a run, which are not kept (`airwatt.tasks`)
    failed/STEM.parquet                  failed runs with what they wrote to standard error
    journal/RUNNER-N.jsonl               runs since the last chunk
    runners/RUNNER, claims/BLOCK         who runs what (`runner`)

A chunk is complete when its file in `runs` is there, which is written last; journals are read before chunks, and a run
that is in both is one. So a reader needs no lock, and a writer may be killed at any moment. Chunks have the same names
in all folders and can be read by any program that reads Parquet.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import json
import os
import re
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from airwatt._core import InputError
from airwatt.files import parsed
from airwatt.sweeps import columns, journal, plan
from airwatt.sweeps.folder import Folder
from airwatt.sweeps.journal import Entry
from airwatt.sweeps.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FOLDERS = (
    "plans",
    "runs",
    "flows",
    "stations",
    "documents",
    "footers",
    "readings",
    "profiles",
    "failed",
    "journal",
    "runners",
    "claims",
)
SMALL_ROWS = 50_000
"""Chunks below this size are merged,"""
MERGE_AT = 16
"""when there are so many of them."""
_MOST_IN_RUN = 10_000
"""No run has more flows, nor more stations."""
_IS_JOURNAL = re.compile(r"[^.].*-\d{6,}\.jsonl")
_IS_CHUNK = re.compile(r"[^.].*-\d+-\d+\.parquet")
_TRIES = 20
_BATCH = 1_000
"""Documents that are in memory at a time."""


class Files:
    """The files of a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._folders = {name: Folder(folder / name) for name in FOLDERS}
        self.journal = self._folders["journal"]
        """The folder of journals."""

    @classmethod
    def create(cls, folder: Path) -> Files:
        """Opens a store, made if there is none. Raises `InputError` for a folder that is none, and `OSError`."""
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--store {folder}: expected a folder, got a file")
        if folder.is_dir() and not (folder / "plans").is_dir() and any(folder.iterdir()):
            raise InputError(f"--store {folder}: expected a store or an empty folder, got one with other files")
        files = cls(folder)
        for one in files._folders.values():
            one.create()
        return files

    @classmethod
    def open(cls, folder: Path) -> Files:
        """Opens a store that exists. Raises `InputError`."""
        if not (folder / "plans").is_dir():
            what = "no store" if folder.exists() else "no such folder; hint: the sweep's own command begins it again"
            raise InputError(f"{folder}: expected the store of a sweep, got {what}")
        return cls(folder)

    def plans(self, *, texts: bool = False) -> list[Plan]:
        """The plans for this core library, or else for that which most recently made one, in the order of their times.

        Runs by another core library are those of other jobs. Raises `InputError`.
        """
        folder = self._folders["plans"]
        about = self._plan_files()
        about.sort(key=lambda name: (folder.status(name).st_mtime_ns, name))
        if not about:
            why = "got one that ended before its plan was written; hint: give its command again"
            raise InputError(f"{self.folder}: expected the store of a sweep, {why}")
        found = [plan.read(folder, name.removesuffix(".json"), texts=texts) for name in about]
        cores = {item.core for item in found}
        # The time of a file may be that of a copy, so a plan of this library counts whatever its time is.
        core = plan.core_hash() if len(cores) > 1 and plan.core_hash() in cores else found[-1].core
        return [item for item in found if item.core == core]

    def _plan_files(self) -> list[str]:
        return [name for name in self._folders["plans"].names() if name.endswith(".json") and name[0] != "."]

    def add(self, item: Plan) -> None:
        """Keeps a plan. One that is there becomes the most recent one. Raises `OSError`."""
        plan.write(item, self._folders["plans"])

    def journals(self) -> list[str]:
        """The names of the journals that there are."""
        return [name for name in self.journal.names() if _IS_JOURNAL.fullmatch(name)]

    def chunks(self, what: str = "runs") -> list[str]:
        """The stems of the complete chunks; of failed runs with `failed`."""
        names = self._folders["failed" if what == "failed" else "runs"].names()
        return [name.removesuffix(".parquet") for name in names if _IS_CHUNK.fullmatch(name)]

    def chunk(self, what: str, stem: str) -> Path:
        """The file of a chunk."""
        return self.folder / what / f"{stem}.parquet"

    def has_chunk(self, stem: str) -> bool:
        """Whether a chunk is complete and has not been merged."""
        return self._folders["runs"].has(f"{stem}.parquet")

    def pending(self) -> list[Entry]:
        """What the journals hold. Raises `OSError`."""
        entries: list[Entry] = []
        for name in self.journals():
            # A journal that has gone meanwhile has become a chunk, and chunks are read later.
            with contextlib.suppress(FileNotFoundError):
                entries += journal.read(self.journal, name).entries
        return entries

    def table(self, what: str, names: Sequence[str] | None = None) -> pa.Table:
        """All rows of a table, of finished runs without the settings; each job once. Raises `OSError`.

        `names` restricts the columns.
        """
        finished = _each_once(self.pending())
        parts = self._chunk_tables(what, names)
        found = [row for entry in finished for row in columns.rows(what, entry.point, entry.seed, entry.run or {})]
        if found or not parts:
            table = columns.table(what, found)
            parts.append(
                table if names is None else table.select([name for name in names if name in table.schema.names])
            )
        return combined(parts)

    def documents(self, wanted: Container[tuple[str, int]]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        """Yields point, seed and result document of the finished runs among `wanted`; some perhaps twice.

        Raises `OSError`.
        """
        for entry in self.pending():
            if entry.run is not None and (entry.point, entry.seed) in wanted:
                yield entry.point, entry.seed, entry.run
        for attempt in range(_TRIES):
            try:
                for stem in self.chunks():
                    yield from self._documents(stem, wanted)
                return
            except FileNotFoundError:
                # Merged in between, as in `_chunk_tables`.
                if attempt == _TRIES - 1:
                    raise self._incomplete() from None

    def _documents(self, stem: str, wanted: Container[tuple[str, int]]) -> Iterator[tuple[str, int, Mapping[str, Any]]]:
        jobs, _ = self.numbers(stem, None)
        if not any(job in wanted for job in jobs):
            return
        import pyarrow as pa

        with self._parquet("documents", stem) as file:
            for batch in file.iter_batches(_BATCH):
                for row in batch.to_pylist():
                    if (row["point"], row["seed"]) in wanted:
                        document = _result_in(row["document"])
                        if document is None:
                            raise pa.ArrowInvalid(f"seed {row['seed']} of {row['point']} has no result document")
                        yield row["point"], row["seed"], document

    def numbers(self, stem: str, name: str | None) -> tuple[list[tuple[str, int]], list[float | None]]:
        """The runs of a chunk, and of each one number by its path in the result document. Raises `OSError`."""
        what, _, below = (name or "").partition(".")
        if what not in ("flows", "stations"):
            table = self._read("runs", stem, [*columns.KEY, *([name] if name else [])])
            jobs = list(zip(*(table.column(key).to_pylist() for key in columns.KEY), strict=True))
            known = name is not None and name in table.schema.names
            return jobs, table.column(name).to_pylist() if known else [None] * len(jobs)
        place, _, column = below.partition(".")
        table = self._read(what, stem, [*columns.KEY, column])
        values: dict[tuple[str, int], list[float | None]] = {}
        if column in table.schema.names:
            for point, seed, value in zip(
                *(table.column(key).to_pylist() for key in (*columns.KEY, column)), strict=True
            ):
                values.setdefault((point, seed), []).append(value)
        jobs = self.numbers(stem, None)[0]
        index = int(place)
        mine = [values.get(job, []) for job in jobs]
        return jobs, [found[index] if index < len(found) else None for found in mine]

    def failures(self) -> pa.Table:
        """The failed runs, with the last failure of each job, and none that finished later."""
        import pyarrow as pa

        parts = [self._read("failed", stem, None) for stem in self.chunks("failed")]
        failed = [entry._asdict() for entry in self.pending() if entry.error is not None]
        parts.append(pa.Table.from_pylist(failed, failed_schema()))
        rows = sorted((row for part in parts for row in part.to_pylist()), key=lambda row: row["at"])
        last = {(row["point"], row["seed"]): row for row in rows}
        if last:
            done = self.table("runs", columns.KEY).to_pydict()
            for job in zip(done["point"], done["seed"], strict=True):
                last.pop(job, None)
        return pa.Table.from_pylist([last[job] for job in sorted(last)], failed_schema())

    def _chunk_tables(self, what: str, names: Sequence[str] | None) -> list[pa.Table]:
        for attempt in range(_TRIES):
            try:
                return [self._read(what, stem, names) for stem in self.chunks()]
            except FileNotFoundError:
                # Merged in between: their rows are in a new chunk.
                if attempt == _TRIES - 1:
                    raise self._incomplete() from None
        return []

    def _read(self, what: str, stem: str, names: Sequence[str] | None) -> pa.Table:
        with self._parquet(what, stem) as file:
            known = set(file.schema_arrow.names)
            return file.read(None if names is None else [name for name in names if name in known])

    @contextlib.contextmanager
    def _parquet(self, what: str, stem: str) -> Iterator[pq.ParquetFile]:
        """Opens a file of a chunk. Raises `FileNotFoundError`, and `InputError` where it is damaged, also inside."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self._folders[what].reading(f"{stem}.parquet") as content:
            try:
                if self._footers(stem).get(what, _footer(content)) != _footer(content):
                    raise pa.ArrowInvalid("the checksum of its footer is another")
                file = pq.ParquetFile(content, page_checksum_verification=True)
                if not self._may_have(what, file.metadata.num_rows):
                    raise pa.ArrowInvalid(f"{file.metadata.num_rows} rows, more than the plans have runs")
                yield file
            except (pa.ArrowException, OSError) as error:
                reason = " ".join(str(error).split())
                raise InputError(
                    f"{self.chunk(what, stem)}: expected a chunk of runs, got a damaged file ({reason});"
                    f" hint: airwatt sweep repair {self.folder} sets it aside"
                ) from None

    def _may_have(self, what: str, rows: int) -> bool:
        """Whether runs of the plans may have so many rows: equal ones take no place in a file, but in memory."""
        if rows <= SMALL_ROWS:
            return True
        names = (name.removesuffix(".json") for name in self._plan_files())
        jobs = sum(plan.jobs_in(self._folders["plans"], name) for name in names)
        return rows <= jobs * (_MOST_IN_RUN if what in ("flows", "stations") else 1)

    def _footers(self, stem: str) -> Mapping[str, int]:
        """The checksums of a chunk's footers; none for one of an older store, or if they are damaged themselves."""
        try:
            with self._folders["footers"].reading(f"{stem}.json") as file:
                found = parsed(file.read())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def damaged(self) -> dict[str, str]:
        """The damaged chunks by their stems, with what is wrong with each. Reads the whole store."""
        found: dict[str, str] = {}
        points = {point for item in self.plans() if item.core == plan.core_hash() for point in item.points}
        for stem in self.chunks():
            for what in (*columns.TABLES, "documents"):
                try:
                    table = self._read(what, stem, None)
                    if what == "documents":
                        self._check_results(stem, points)
                except FileNotFoundError:
                    if self.has_chunk(stem):
                        found[stem] = f"{self.chunk(what, stem)}: expected a part of a chunk, got no such file"
                except InputError as error:
                    found[stem] = str(error).partition("; hint")[0]
                else:
                    if what in ("runs", "documents") and table.num_rows != rows_of(stem):
                        path = self.chunk(what, stem)
                        found[stem] = f"{path}: expected {rows_of(stem)} runs, got {table.num_rows}"
                if stem in found:
                    break
        for stem in self.chunks("failed"):
            try:
                self._read("failed", stem, None)
            except InputError as error:
                found[stem] = str(error).partition("; hint")[0]
        return found

    def _check_results(self, stem: str, points: Set[str]) -> None:
        """Raises `InputError` unless the documents of these points in a chunk are results of this core library."""
        wanted = {(point, seed) for point, seed in self.numbers(stem, None)[0] if point in points}
        for _ in self._documents(stem, wanted):
            pass

    def _incomplete(self) -> InputError:
        """What is wrong with a store of whose chunks files are missing for good."""
        reason = next(iter(self.damaged().values()), f"{self.folder}: expected complete chunks, got none that stay")
        return InputError(f"{reason}; hint: airwatt sweep repair {self.folder} makes its runs again")

    def set_aside(self, stem: str) -> None:
        """Renames the files of a chunk, so that its runs are missing. Raises `OSError`."""
        # The file in `runs`, without which a chunk is none, goes first.
        for what in (*columns.TABLES, "documents", "failed"):
            with contextlib.suppress(FileNotFoundError):
                self._folders[what].rename(f"{stem}.parquet", f"{stem}.parquet.damaged")

    def write_chunk(self, stem: str, entries: Sequence[Entry]) -> None:
        """Writes a chunk of runs. Raises `OSError`."""
        finished = _each_once(entries)
        failed = [entry for entry in entries if entry.error is not None]
        if failed:
            import pyarrow as pa

            table = pa.Table.from_pylist([entry._asdict() for entry in failed], failed_schema())
            out = io.BytesIO()
            _write(out, table)
            self._write_footers(stem, {"failed": _footer(out)})
            with self._replacing("failed", stem) as file:
                file.write(out.getbuffer())
        if not finished:
            return
        self._write_documents(stem, [_documents_of(finished)])
        tables = {}
        for what in columns.TABLES:
            found = [row for entry in finished for row in columns.rows(what, entry.point, entry.seed, entry.run or {})]
            tables[what] = columns.table(what, found)
        self._write_tables(stem, tables)

    def _write_tables(self, stem: str, tables: Mapping[str, pa.Table]) -> None:
        """Writes the tables of a chunk whose documents are there; that of the runs, which makes it one, last."""
        with self._folders["documents"].reading(f"{stem}.parquet") as file:
            footers = {**self._footers(stem), "documents": _footer(file)}
        for what in reversed(columns.TABLES):
            out = io.BytesIO()
            _write(out, tables[what])
            footers[what] = _footer(out)
            if what == columns.TABLES[0]:
                self._write_footers(stem, footers)
            with self._replacing(what, stem) as file:
                file.write(out.getbuffer())

    def _write_footers(self, stem: str, footers: Mapping[str, int]) -> None:
        # A store of an earlier version has no such folder.
        self._folders["footers"].create()
        with self._folders["footers"].replacing(f"{stem}.json") as out:
            out.write(json.dumps(footers).encode())

    def _write_documents(self, stem: str, tables: Iterable[pa.Table]) -> None:
        """Writes documents table by table: they would not all fit into memory."""
        import pyarrow.parquet as pq

        with (
            self._replacing("documents", stem) as out,
            pq.ParquetWriter(out, documents_schema(), compression="zstd", write_page_checksum=True) as file,
        ):
            for table in tables:
                file.write_table(table)

    def _replacing(self, what: str, stem: str) -> contextlib.AbstractContextManager[BinaryIO]:
        return self._folders[what].replacing(f"{stem}.parquet")

    def merge(self, stem: str, owned: Sequence[str], *, at: int = MERGE_AT) -> str | None:
        """Merges small chunks of these, if there are `at` of them, into one; returns its stem. Raises `OSError`.

        One process does so at a time; a second one leaves it at that.
        """
        small = [name for name in owned if rows_of(name) < SMALL_ROWS]
        if len(small) < max(at, 2):
            return None
        with self._alone() as alone:
            if not alone:
                return None
            small = [name for name in small if self.has_chunk(name)]
            rows = sum(map(rows_of, small))
            merged = f"{stem}-{rows}"
            self._write_documents(merged, (self._read("documents", name, None) for name in small))
            parts = {what: combined([self._read(what, name, None) for name in small]) for what in columns.TABLES}
            self._write_tables(merged, parts)
            for what in (*columns.TABLES, "documents"):
                for name in small:
                    self._folders[what].remove(f"{name}.parquet")
            for name in small:
                if not self._folders["failed"].has(f"{name}.parquet"):
                    self._folders["footers"].remove(f"{name}.json")
            return merged

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        lock = self._folders["runners"].open(".merging", os.O_RDWR | os.O_CREAT)
        try:
            yield locked(lock)
        finally:
            os.close(lock)


def _write(out: BinaryIO, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, out, compression="zstd", write_page_checksum=True)


def _result_in(text: object) -> Mapping[str, Any] | None:
    """The result document that a text holds; None if it holds none of this core library."""
    try:
        document: Mapping[str, Any] = parsed(text)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    return document if columns.is_result(document) else None


def _footer(file: BinaryIO) -> int:
    """The checksum of a Parquet file's footer: names and places of columns, and its length. The file's place stays."""
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 8, 0))
    length = int.from_bytes(file.read(4), "little")
    file.seek(max(size - 8 - length, 0))
    found = zlib.crc32(file.read())
    file.seek(place)
    return found


def locked(file: int) -> bool:
    """Takes the lock of an open file, which ends with the process; whether nobody else has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            return False
        raise
    return True


def rows_of(stem: str) -> int:
    """The number of runs in a chunk, which its name ends in."""
    return int(stem.rpartition("-")[2])


def failed_schema() -> pa.Schema:
    """The columns of failed runs."""
    import pyarrow as pa

    return pa.schema(
        [
            ("point", pa.string()),
            ("seed", pa.uint64()),
            ("wall_s", pa.float64()),
            ("error", pa.string()),
            ("at", pa.float64()),
        ]
    )


def documents_schema() -> pa.Schema:
    """The columns of result documents."""
    import pyarrow as pa

    return pa.schema([("point", pa.string()), ("seed", pa.uint64()), ("document", pa.string())])


def _documents_of(entries: Sequence[Entry]) -> pa.Table:
    import pyarrow as pa

    rows = [{"point": entry.point, "seed": entry.seed, "document": json.dumps(entry.run)} for entry in entries]
    return pa.Table.from_pylist(rows, documents_schema())


def _each_once(entries: Sequence[Entry]) -> list[Entry]:
    """The finished runs of journals; two runners may have made the same one."""
    return list({(entry.point, entry.seed): entry for entry in entries if entry.run is not None}.values())


def combined(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables in one, with each job once. In each of them the rows of a job stand together, and are there once."""
    import numpy as np
    import pyarrow as pa

    parts = [part for part in parts if part.num_rows] or list(parts[:1])
    table = pa.concat_tables(parts, promote_options="permissive")
    if len(parts) == 1:
        return table
    points = table.column("point").combine_chunks().dictionary_encode()
    codes = points.indices.to_numpy(zero_copy_only=False).astype(np.uint64)
    seeds = table.column("seed").to_numpy()
    width = int(seeds.max() - seeds.min()) + 1
    if width * len(points.dictionary) < 2**63:
        jobs = codes * np.uint64(width) + (seeds - seeds.min())
    else:
        _, jobs = np.unique(np.stack([codes, seeds]), axis=1, return_inverse=True)
    begins = np.r_[True, jobs[1:] != jobs[:-1]]
    begins[np.cumsum([part.num_rows for part in parts])[:-1]] = True
    places = np.flatnonzero(begins)
    _, first = np.unique(jobs[places], return_index=True)
    if len(first) == len(places):
        return table
    keep = np.zeros(len(places), bool)
    keep[first] = True
    return table.filter(pa.array(np.repeat(keep, np.diff(np.r_[places, len(jobs)]))))
