"""A study in one file that somebody else can check: what was run, what came of it, and how to run it again.

    README.md                     what it is, and the command that runs it again
    about.json                    versions, and the sweeps: their points with settings, their seeds
    scenarios/POINT.toml          the whole scenario of each point
    profiles/, mechanisms/        radio profiles in files and mechanisms in Python that the scenarios name
    results/TABLE.parquet, .csv   the finished runs, their flows and stations
    results/points.tex, .dat      a row a point, for LaTeX and pgfplots
    report.html                   the report of the store
    references.bib                what to cite

No member has a time of its own, so that the same store gives the same bytes. Nothing in an archive is executed unless
a user asks for it, and members are read by the names above, so that an archive of a stranger chooses no place on the
disk. Before anything is run an archive is held against itself: it has the members above, each once and no other, the
tables have the runs that `about.json` counts, each once, the settings that it states of a point are those of the
point's scenario, and no member is larger than what the file's own size allows. Afterwards the tables are compared value
by value, and what follows from them and from `about.json` (CSV, the tables for LaTeX, the report, the README, what to
cite) is made again and compared byte by byte. What cannot be is named.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from airwatt import citation
from airwatt._core import SCHEMA, InputError, Scenario, __version__
from airwatt.built import commit
from airwatt.files import parsed, replacing, temporary_folder
from airwatt.own import files_of
from airwatt.parallel import Progress
from airwatt.results import Interrupted
from airwatt.sweeps import columns, labels, typeset
from airwatt.sweeps.apart import SWEEP
from airwatt.sweeps.frames import Store
from airwatt.sweeps.plan import Plan, checked, core_hash
from airwatt.sweeps.runner import Shard
from airwatt.sweeps.store import Files
from airwatt.sweeps.sweep import again, has_files, run, worker

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

_MOST_BYTES = 256 << 20
"""No member of an archive is larger,"""
_EXPANSION = 60
"""nor than the file so many times,"""
_ALLOWANCE_BYTES = 4 << 20
"""beside this. Tables as CSV are some ten times as large as their part of the file."""
_MOST_UNFINISHED = 20
"""For each finished run of an archive so many are planned at most: a rule that stops points early leaves gaps."""


_WRITTEN = ("report.html", "results/points.tex", "results/points.dat", "README.md", "references.bib")
"""Members for a reader, which follow from the others."""
_IS_FILE = re.compile(r"(?:profiles|mechanisms)/(?!\.{1,2}$)[^/]+")
"""A radio profile or a mechanism."""
_RERUN = re.compile(r"^    airwatt rerun (?P<name>.+?)(?: --trust)?$", re.MULTILINE)
"""The line of a README with the name that the archive had,"""
_IS_PLAIN = re.compile(r"[\w.+-]+\.zip", re.IGNORECASE)
"""which is only a name to any shell."""


class Difference(NamedTuple):
    """The first value of a table that is another one when it is run again."""

    table: str
    point: str
    seed: int
    column: str
    archived: Any
    again: Any


class Comparison(NamedTuple):
    """What came of running an archive again."""

    runs: int
    """Runs of the archive that were made again."""
    values: int
    """Values that were compared."""
    different: int
    """How many of them are not the same bit for bit."""
    first: Difference | None
    missing: int
    """Runs of the archive that did not finish this time."""
    planned: int
    """Runs of the archive's sweeps, with those that had not finished when it was made."""
    columns: list[str]
    """Columns that only one of the archive and the new runs has."""
    members: list[str]
    """Members of the archive that are others when they are made again."""
    unmade: list[str]
    """Members that were not compared: what says how far unfinished sweeps had come, the scenarios of points without
    runs, or what another core library or another commit made."""
    underived: list[str]
    """Columns of settings that could not be held against the scenarios. They do not count among the values."""
    mislabelled: int
    """Points with a setting that is not that of their scenario. If there are some nothing is run."""
    label: labels.Label | None
    """The first such setting."""

    @property
    def same(self) -> bool:
        """Whether all of it is the same."""
        return not (self.mislabelled or self.different or self.missing or self.columns or self.members)


def archive(store: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], path: str | os.PathLike[str]) -> int:
    """Replaces a file by the archive of a store, or of several as one; returns how many runs are in it.

    Raises `InputError` for a store without a finished run, or one whose profiles or mechanisms have changed since, and
    `OSError`.
    """
    found = Store(store) if isinstance(store, str | os.PathLike) else Store(*store)
    tables = {what: found.exported(what) for what in columns.TABLES}
    runs = int(tables["runs"].num_rows)
    if not runs:
        raise InputError(f"{found.path}: expected a store with finished runs, got one without")
    members = _Members()
    planned = found.plans(texts=True)
    sweeps = [members.sweep(one) for one in planned]
    about = {
        "schema": SCHEMA, "version": __version__, "commit": _commit(planned), "core": planned[-1].core,
        "store": found.path.name, "finished": runs, "sweeps": sweeps, "mechanisms": sorted(members.mechanisms.values()),
        "packed_by": commit(),
    }  # fmt: skip
    members.add("about.json", json.dumps(about, indent=1, sort_keys=True) + "\n")
    for what, table in tables.items():
        members.table(what, table)
    latex, data = typeset.points(found)
    members.add("results/points.tex", latex)
    members.add("results/points.dat", data)
    members.add("report.html", _report(found, found.path.name))
    members.add("references.bib", citation.bibtex(citation.of_scenarios(members.scenarios)))
    less = [
        "".join(f", {count} {what}" for what, count in (("failed", one.failed), ("missing", one.missing)) if count)
        for one in found.status()
    ]
    members.add("README.md", _readme(about, less, Path(path).name))
    with replacing(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(members.content):
            # Without a time: the bytes of an archive depend on its runs alone.
            packed.writestr(zipfile.ZipInfo(name), members.content[name], zipfile.ZIP_DEFLATED)
    return runs


def rerun(
    path: str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    *,
    trust: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Runs the runs of an archive again, and compares every value with the archived one bit for bit.

    Runs that the archive's sweeps had not finished are not made. `store` keeps the new runs; without it they are in a
    temporary folder as long as this takes. `trust` says that the archive's mechanisms in Python may be executed. Raises
    `InputError` for what is no archive, or one with mechanisms that are not trusted, `Interrupted`, and `OSError`.
    """
    with contextlib.ExitStack() as stack:
        content = stack.enter_context(_Content(Path(path)))
        folder = stack.enter_context(temporary_folder())
        if content.about["mechanisms"] and not trust:
            names = ", ".join(content.about["mechanisms"])
            raise InputError(
                f"{path}: expected an archive without code, got one with {names};"
                " hint: --trust executes it, read it before"
            )
        old = content.plans(folder)
        old = [plan for plan in old if plan.points]
        renewed = [again(plan, with_files=trust) for plan in old]
        stated = [labels.check(plan, _files) for plan in old]
        wrong = [label for one in stated for label in one.wrong]
        underived = sorted({name for one in stated for name in one.unknown})
        if wrong:
            return Comparison(0, 0, 0, None, 0, content.planned, [], [], [], underived, len(wrong), wrong[0])
        files = Files.create(folder / "store" if store is None else Path(store))
        points: dict[str, str] = {}
        for plan, new in zip(old, renewed, strict=True):
            points.update(zip(new.points, plan.points, strict=True))
            files.add(new)
            wanted = {(key, seed) for key in new.points for seed in content.seeds[points[key]]}
            work = worker(None, None, with_files=has_files(new))
            if run(files, new, work, Shard(), on_progress, only=wanted):
                raise Interrupted(None)
        return _compared(content, Store(files.folder), points, underived)


def _compared(content: _Content, found: Store, points: Mapping[str, str], underived: list[str]) -> Comparison:
    """Compares the tables of an archive with those of a store; `points` gives the archived keys of its points.

    Settings that were not derived from the scenarios would be compared with themselves.
    """
    values = different = missing = 0
    first = None
    unlike_columns: list[str] = []
    for what in columns.TABLES:
        archived = content.tables[what]
        before, after = _matched(archived, found.exported(what), points, content.jobs)
        if what == "runs":
            missing = archived.num_rows - before.num_rows
        else:
            different += abs(archived.num_rows - before.num_rows) + abs(after.num_rows - before.num_rows)
        after = after.slice(0, before.num_rows)
        names = set(before.schema.names) ^ set(after.schema.names)
        unlike_columns += [f"{what}.{name}" for name in sorted(names)]
        for name in before.schema.names:
            if name not in after.schema.names or name in underived or name == SWEEP:
                continue
            pairs = list(zip(before.column(name).to_pylist(), after.column(name).to_pylist(), strict=True))
            unlike = [index for index, (one, two) in enumerate(pairs) if one != two]
            values += len(pairs)
            different += len(unlike)
            if unlike and first is None:
                point, seed = (before.column(key)[unlike[0]].as_py() for key in columns.KEY)
                first = Difference(what, point, seed, name, *pairs[unlike[0]])
    changed, unmade = content.unlike_members(found)
    runs = content.tables["runs"].num_rows - missing
    return Comparison(
        runs, values, different, first, missing, content.planned, unlike_columns, changed, unmade, underived, 0, None
    )


def _matched(
    before: pa.Table, after: pa.Table, points: Mapping[str, str], jobs: Set[tuple[str, int]]
) -> tuple[pa.Table, pa.Table]:
    """The rows of an archived table that a new one has too, and those rows of the new one, in the same order.

    Rows of the new one that the archived one lacks stand behind them.
    """
    import pyarrow as pa

    keys = [name for name in (*columns.KEY, "id") if name in before.schema.names and name in after.schema.names]
    renamed = pa.array([points.get(point) for point in after.column("point").to_pylist()], pa.string())
    after = after.set_column(after.schema.get_field_index("point"), "point", renamed)

    def places(table: pa.Table) -> dict[tuple[Any, ...], int]:
        rows = zip(*(table.column(name).to_pylist() for name in keys), strict=True)
        return {key: row for row, key in enumerate(rows) if key[:2] in jobs}

    mine, theirs = places(before), places(after)
    both = [key for key in mine if key in theirs]
    rest = [row for key, row in theirs.items() if key not in mine]

    def rows(table: pa.Table, numbers: list[int]) -> pa.Table:
        return table.take(pa.array(numbers, pa.int64()))

    return rows(before, [mine[key] for key in both]), rows(after, [theirs[key] for key in both] + rest)


class _Members:
    """The members of an archive that is made, by their names."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.scenarios: list[Scenario] = []
        """The first scenario of each sweep."""
        self.mechanisms: dict[str, str] = {}
        """The members of mechanisms by the names that scenarios have."""

    def add(self, name: str, text: str) -> None:
        self.content[name] = text.encode()

    def table(self, what: str, table: pa.Table) -> None:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet as pq

        for suffix, write in ((".parquet", pq.write_table), (".csv", pa.csv.write_csv)):
            out = io.BytesIO()
            write(table, out)
            self.content[f"results/{what}{suffix}"] = out.getvalue()

    def sweep(self, plan: Plan) -> dict[str, Any]:
        """Adds the scenarios of a plan and the files that they name; returns what `about.json` says of it."""
        assert plan.texts is not None
        for index, point in enumerate(plan.points):
            # Loading refuses profiles and mechanisms that are not those of the runs.
            loaded = plan.load(index, with_files=True)
            if index == 0:
                self.scenarios.append(loaded)
            text = plan.texts[index].as_py()
            for profile in _profiles(loaded):
                text = _renamed(text, profile, self._profile(profile))
            for chosen in files_of(loaded):
                path = chosen.rpartition(":")[0]
                text = _renamed(text, path, self._mechanism(chosen).rpartition(":")[0])
            self.add(f"scenarios/{point}.toml", text)
        return {
            "scenario": plan.scenario, "varied": plan.varied, "seed": plan.seed, "runs": plan.runs, "until": plan.until,
            "points": plan.settings.to_pylist(), "columns": plan.settings.column_names,
        }  # fmt: skip

    def _mechanism(self, chosen: str) -> str:
        path, _, name = chosen.rpartition(":")
        if chosen not in self.mechanisms:
            member = self._unused("mechanisms", Path(path).name, Path(path).read_bytes())
            self.mechanisms[chosen] = f"{member}:{name}"
        return self.mechanisms[chosen]

    def _profile(self, path: str) -> str:
        return self._unused("profiles", Path(path).name, Path(path).read_bytes())

    def _unused(self, folder: str, name: str, content: bytes) -> str:
        """Adds a file; one of the same name and another content gets a number before its name."""
        number = 0
        while self.content.setdefault(member := f"{folder}/{f'{number}-' if number else ''}{name}", content) != content:
            number += 1
        return member


class _Content:
    """An archive that is read. What is wrong with it is an `InputError`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: expected an archive of airwatt, got a folder, a device or a pipe")
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path}: expected an archive of airwatt, got a file that is none ({reason})") from None
        self._most = min(_MOST_BYTES, _ALLOWANCE_BYTES + _EXPANSION * path.stat().st_size)
        if sum(member.file_size for member in self._zip.infolist()) > 4 * self._most:
            raise self._damaged("whole", f"more than {4 * self._most} bytes")
        for name, count in Counter(self._zip.namelist()).items():
            if count > 1:
                raise self._damaged(name, f"it is there {count} times")
        self._files = [name for name in self._zip.namelist() if _IS_FILE.fullmatch(name)]
        self.about = self._read_about()
        self.tables = {what: self._table(what) for what in columns.TABLES}
        self.jobs = self._jobs()
        """The point and the seed of each run."""
        self.seeds: dict[str, set[int]] = {}
        """The seeds of the runs by their point."""
        for point, seed in self.jobs:
            self.seeds.setdefault(point, set()).add(seed)
        self._ranges: dict[str, list[range]] = {}
        """The seeds that the sweeps plan for each point,"""
        self.is_partial = False
        """and whether some runs have not finished, or were not needed,"""
        self.lacks_sweeps = False
        """and a whole sweep has none, whose columns the points have all the same."""
        self._used: set[str] = set()
        """The profiles and mechanisms that scenarios name,"""
        self._unread: set[str] = set()
        """the scenarios of points without runs,"""
        self._cited: list[tuple[str, str]] = []
        """and the name and the text of the first scenario of each sweep, of which follows what to cite."""

    def __enter__(self) -> _Content:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._zip.close()

    def plans(self, folder: Path) -> list[Plan]:
        """The runs of the archive; the files that they name are written into a folder. Raises `InputError`."""
        try:
            found = [self._plan(one, folder) for one in self.about["sweeps"]]
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._damaged("about.json", error) from None
        if not all(any(seed in one for one in self._ranges.get(point, ())) for point, seed in self.jobs):
            raise self._damaged("about.json", "its runs are not those of the results")
        self._check_members()
        return found

    def _check_members(self) -> None:
        """Raises `InputError` unless the archive has the members that it has by rule, and no other."""
        wanted = {*_WRITTEN, "about.json", *(f"scenarios/{point}.toml" for point in self._ranges), *self._used}
        wanted |= {f"results/{what}{suffix}" for what in columns.TABLES for suffix in (".parquet", ".csv")}
        there = set(self._zip.namelist())
        # Whoever packs the members anew may have entries of the folders too, which hold nothing.
        folders = {f"{name.partition('/')[0]}/" for name in wanted if "/" in name}
        empty = {member.filename for member in self._zip.infolist() if not member.file_size}
        for name in sorted(there - wanted - (folders & empty)):
            raise self._damaged(name, "no archive has such a member")
        for name in sorted(wanted - there):
            raise self._damaged(name, "it is not there")

    @property
    def planned(self) -> int:
        """Runs of the sweeps, finished or not; one that several of them have counts once."""
        count = 0
        for ranges in self._ranges.values():
            end = 0
            for one in sorted(ranges, key=lambda one: one.start):
                count += max(0, one.stop - max(one.start, end))
                end = max(end, one.stop)
        return count

    def _plan(self, sweep: Mapping[str, Any], folder: Path) -> Plan:
        import pyarrow as pa

        settings = [dict(point) for point in sweep["points"]]
        scenario, varied, seed, runs, until = checked(sweep, [point["point"] for point in settings])
        finished: dict[str, list[int]] = {}
        for key in (point["point"] for point in settings):
            self._ranges.setdefault(key, []).append(range(seed, seed + runs))
            finished[key] = [one - seed for one in self.seeds.get(key, ()) if seed <= one < seed + runs]
        self._unread |= {f"scenarios/{key}.toml" for key, offsets in finished.items() if not offsets}
        written = {point["point"]: self._scenario(point["point"], folder) for point in settings}
        self._cited.append((scenario, written[settings[0]["point"]]))
        settings = [point for point in settings if finished[point["point"]]]
        self.lacks_sweeps |= not settings
        most = max((max(offsets) + 1 for offsets in finished.values() if offsets), default=0)
        if most * len(settings) > _MOST_UNFINISHED * len(self.jobs):
            raise self._damaged("about.json", "its runs are not those of the results")
        # A point that a rule stopped early has the first seeds.
        self.is_partial |= most < runs or any(
            len(offsets) < (runs if until is None else max(offsets, default=runs) + 1) for offsets in finished.values()
        )
        texts = [written[point["point"]] for point in settings]
        table = pa.Table.from_pylist(settings or [{"point": ""}]).slice(0, len(settings))
        # The file has the settings of a point in alphabetical order; tables and reports have them as they were varied.
        names = [str(name) for name in sweep.get("columns", table.column_names)]
        if settings:
            if sorted(names) != sorted(table.column_names):
                raise self._damaged("about.json", "its columns are not those of its points")
            table = table.select(names)
        return Plan(
            "", scenario, self.about["core"], [point["point"] for point in settings], table,
            pa.array(texts, pa.string()), varied, seed, max(most, 1), until,
        )  # fmt: skip

    def _scenario(self, point: str, folder: Path) -> str:
        """The scenario of a point with its files written into a folder. Raises `InputError`."""
        text = self._read(f"scenarios/{point}.toml").decode(errors="replace")
        for member in self._files:
            if _quoted(member)[:-1] in text:
                self._used.add(member)
                path = folder / member.replace("/", "-")
                path.write_bytes(self._read(member))
                text = _renamed(text, member, str(path))
        return text

    def _jobs(self) -> Set[tuple[str, int]]:
        """The runs of the archive. Raises `InputError` unless they are as many as it says, and each is there once."""
        table = self.tables["runs"]
        jobs = list(zip(*(table.column(key).to_pylist() for key in columns.KEY), strict=True))
        stated = self.about.get("finished")
        if len(jobs) != stated or not jobs:
            raise self._damaged("results/runs.parquet", f"expected {stated} runs, got {len(jobs)}")
        if len(set(jobs)) != len(jobs):
            raise self._damaged("results/runs.parquet", "a run is there twice")
        for what, other in self.tables.items():
            strangers = set(zip(*(other.column(key).to_pylist() for key in columns.KEY), strict=True)) - set(jobs)
            if strangers:
                raise self._damaged(f"results/{what}.parquet", "it has runs that the others have not")
        return set(jobs)

    def unlike_members(self, found: Store) -> tuple[list[str], list[str]]:
        """Members that are others when they are made again, and those that cannot be. Raises `InputError`."""
        again = _Members()
        for what, table in self.tables.items():
            again.table(what, table)
        wanted = {name: content for name, content in again.content.items() if name.endswith(".csv")}
        if len(found) == len(self.jobs) and not self.lacks_sweeps and self.about["core"] == core_hash():
            # They have the finished runs alone. A report also says what is missing and what has failed.
            made = dict(zip(("results/points.tex", "results/points.dat"), typeset.points(found), strict=True))
            if not self.is_partial:
                made["report.html"] = _report(found, str(self.about.get("store")))
            wanted |= {name: text.encode() for name, text in made.items()}
        wanted |= {name: text.encode() for name, text in self._made_of_about()}
        unmade = [*(name for name in _WRITTEN if name not in wanted), *sorted(self._unread)]
        return sorted(name for name, content in wanted.items() if self._read(name) != content), unmade

    def _made_of_about(self) -> Iterator[tuple[str, str]]:
        """Yields members that follow from the sweeps, where the same airwatt makes them. Raises `InputError`."""
        this = {"core": core_hash(), "version": __version__, "packed_by": commit()}
        if any(self.about.get(key, ()) != value for key, value in this.items()):
            return
        # Profiles in files have other paths here, which are in what to cite.
        if not self._used:
            scenarios = [Scenario.from_toml(text, name=name) for name, text in self._cited]
            yield "references.bib", citation.bibtex(citation.of_scenarios(scenarios))
        # What failed and what was not needed under a rule, the runs do not say.
        sweeps = self.about["sweeps"]
        if self.is_partial or self.lacks_sweeps or any(sweep["until"] is not None for sweep in sweeps):
            return
        # The file may have been renamed since, and its old name be one that a shell takes for more than a name.
        there = self._read("README.md").decode(errors="replace")
        stated = _RERUN.search(there)
        name = self._path.name if stated is None else stated["name"]
        made = _readme(self.about, [""] * len(sweeps), name)
        if there != made or name == self._path.name or _IS_PLAIN.fullmatch(name):
            yield "README.md", made

    def _table(self, what: str) -> pa.Table:
        """A table of results. Raises `InputError`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        name = f"results/{what}.parquet"
        try:
            file = pq.ParquetFile(io.BytesIO(self._read(name)))
            # Compressed in the archive and in itself.
            groups = range(file.metadata.num_row_groups)
            size = sum(file.metadata.row_group(index).total_byte_size for index in groups)
            # Equal rows take no place in a file. The table is there as CSV too, with a byte a cell at least.
            if max(size, file.metadata.num_rows * file.metadata.num_columns) > self._most:
                raise self._damaged(name, f"more than {self._most} bytes")
            table = file.read()
            for column, count in Counter(table.schema.names).items():
                if count > 1:
                    raise self._damaged(name, f"column {column} is there {count} times")
                kind = table.schema.field(column).type
                if not (pa.types.is_primitive(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)):
                    raise self._damaged(name, f"{column} is no column of numbers or texts")
            kinds = {key: table.schema.field(key).type for key in columns.KEY}
        except (pa.ArrowException, OSError, KeyError, OverflowError) as error:
            raise self._damaged(name, error) from None
        if not (pa.types.is_string(kinds["point"]) and pa.types.is_integer(kinds["seed"])):
            raise self._damaged(name, "its keys are no points and seeds")
        return table

    def _read_about(self) -> dict[str, Any]:
        try:
            about = parsed(self._read("about.json"))
            # Half of a surrogate pair is no text.
            json.dumps(about, ensure_ascii=False).encode()
            assert isinstance(about["sweeps"], list)
            assert isinstance(about["mechanisms"], list)
            assert isinstance(about["core"], str)
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            raise self._damaged("about.json", error) from None
        return dict(about)

    def _read(self, name: str) -> bytes:
        try:
            with self._zip.open(name) as member:
                content = member.read(self._most + 1)
        except (KeyError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise self._damaged(name, error) from None
        if len(content) > self._most:
            raise self._damaged(name, f"more than {self._most} bytes")
        return content

    def _damaged(self, name: str, reason: object) -> InputError:
        said = " ".join(str(reason).split())
        return InputError(f"{self._path}: expected an archive of airwatt, got one whose {name} is damaged ({said})")


def _quoted(text: str) -> str:
    """A text as a scenario file has it."""
    return json.dumps(text, ensure_ascii=False)


def _renamed(text: str, old: str, new: str) -> str:
    """A scenario file in which a file has another name; the mode of a profile's host, or a class, may follow it."""
    for end in ('"', ":"):
        text = text.replace(_quoted(old)[:-1] + end, _quoted(new)[:-1] + end)
    return text


def _profiles(scenario: Scenario) -> set[str]:
    """The radio profiles of a scenario that are files."""
    named = {value for key, value in citation.texts(scenario.to_dict(expand=True)) if key == "radio"}
    return {name for name in (value.partition(":")[0] for value in named) if "/" in name or name.endswith(".toml")}


def _files(scenario: Scenario) -> set[str]:
    """The files that a scenario names."""
    return _profiles(scenario) | {chosen.rpartition(":")[0] for chosen in files_of(scenario)}


def _report(store: Store, name: str) -> str:
    from airwatt.reports.pack import Pack
    from airwatt.reports.page import report
    from airwatt.reports.sweep import study_of

    pack = Pack()
    return report([study_of(store, name, pack, None)], pack, f"archive {name}")


def _commit(planned: Sequence[Plan]) -> str | None:
    """The commit that made the runs, or else the one that packs them; None if neither is known."""
    return planned[-1].commit or commit()


def _readme(about: Mapping[str, Any], less: Sequence[str], name: str) -> str:
    """The README of an archive of this name; `less` says of each sweep what it lacks."""
    built = about["commit"]
    has_code = bool(about["mechanisms"])
    lines = [
        f"# {Path(str(about['store'])).stem}",
        "",
        f"{about['finished']} runs of airwatt {__version__}{f', commit {built}' if built else ''}:",
        "",
    ]
    for sweep, lacks in zip(about["sweeps"], less, strict=True):
        rule = f", at most, until {sweep['until']}" if sweep["until"] else ""
        points, runs, seed = len(sweep["points"]), sweep["runs"], sweep["seed"]
        lines.append(f"* {sweep['scenario']}: {points} points, {runs} seeds from {seed} on{rule}{lacks}")
    lines += [
        "", "This runs it again, and compares every value bit for bit:", "",
        f"    airwatt rerun {name}{' --trust' if has_code else ''}", "",
        "| member | what it is |", "| --- | --- |",
        "| `about.json` | versions, the settings of each point, seeds |",
        "| `scenarios/POINT.toml` | the whole scenario of each point |",
        "| `results/runs`, `flows`, `stations` | all finished runs; names of columns end in their units |",
        "| `results/points.tex`, `points.dat` | means and 95 % intervals of each point, for LaTeX and pgfplots |",
        "| `report.html` | pictures and tables; a browser opens it without a network |",
        "| `references.bib` | what to cite |",
    ]  # fmt: skip
    if has_code:
        lines += ["| `mechanisms/` | mechanisms in Python; `--trust` executes them |"]
    return "\n".join([*lines, ""])
