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
disk.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from airwatt import citation
from airwatt._core import SCHEMA, InputError, Scenario, __version__
from airwatt.built import commit
from airwatt.files import replacing
from airwatt.own import identity, in_file
from airwatt.parallel import Progress
from airwatt.results import Interrupted
from airwatt.sweeps import columns, typeset
from airwatt.sweeps.frames import Store, exported
from airwatt.sweeps.plan import Plan
from airwatt.sweeps.processes import own_of
from airwatt.sweeps.runner import Shard
from airwatt.sweeps.store import Files
from airwatt.sweeps.sweep import again, has_files, run, worker

if TYPE_CHECKING:
    from types import TracebackType

    import pyarrow as pa

_MOST_BYTES = 256 << 20
"""No member of an archive is larger."""
_MECHANISMS = ("policy", "transport")


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


def archive(store: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Replaces a file by the archive of a store; returns how many runs are in it.

    Raises `InputError` for a store without a finished run, or one whose profiles or mechanisms have changed since, and
    `OSError`.
    """
    files = Files.open(Path(store))
    found = Store(store)
    tables = {what: exported([found], what) for what in columns.TABLES}
    runs = int(tables["runs"].num_rows)
    if not runs:
        raise InputError(f"{store}: expected a store with finished runs, got one without")
    members = _Members()
    planned = files.plans(texts=True)
    sweeps = [members.sweep(one) for one in planned]
    about = {
        "schema": SCHEMA, "version": __version__, "commit": commit(), "core": planned[-1].core,
        "sweeps": sweeps, "mechanisms": members.mechanisms,
    }  # fmt: skip
    members.add("about.json", json.dumps(about, indent=1, sort_keys=True) + "\n")
    for what, table in tables.items():
        members.table(what, table)
    latex, data = typeset.points(found)
    members.add("results/points.tex", latex)
    members.add("results/points.dat", data)
    members.add("report.html", _report(found))
    members.add("references.bib", citation.bibtex(citation.of_scenarios(members.scenarios)))
    members.add("README.md", _readme(found, planned, runs, Path(path).name, has_code=bool(members.mechanisms)))
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

    `store` keeps the new runs; without it they are in a temporary folder as long as this takes. `trust` says that the
    archive's mechanisms in Python may be executed. Raises `InputError` for what is no archive, or one with mechanisms
    that are not trusted, `Interrupted`, and `OSError`.
    """
    with contextlib.ExitStack() as stack:
        content = stack.enter_context(_Content(Path(path)))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airwatt-")))
        if content.about["mechanisms"] and not trust:
            names = ", ".join(sorted(set(content.about["mechanisms"].values())))
            raise InputError(
                f"{path}: expected an archive without code, got one with {names};"
                " hint: --trust executes it, read it before"
            )
        old = content.plans(folder)
        files = Files.create(folder / "store" if store is None else Path(store))
        points: dict[str, str] = {}
        for plan in old:
            new = again(plan, with_files=True)
            points.update(zip(new.points, plan.points, strict=True))
            files.add(new)
            if run(files, new, worker(None, None, with_files=has_files(new)), Shard(), on_progress):
                raise Interrupted(None)
        return _compared(content, Store(files.folder), points)


def _compared(content: _Content, found: Store, points: Mapping[str, str]) -> Comparison:
    """Compares the tables of an archive with those of a store; `points` gives the archived keys of its points."""
    values = different = runs = missing = 0
    first = None
    for what in columns.TABLES:
        archived = content.table(what)
        before, after = _matched(archived, exported([found], what), points)
        if what == "runs":
            runs, missing = before.num_rows, archived.num_rows - before.num_rows
        for name in before.schema.names:
            if name not in after.schema.names:
                continue
            pairs = list(zip(before.column(name).to_pylist(), after.column(name).to_pylist(), strict=True))
            unlike = [index for index, (one, two) in enumerate(pairs) if one != two]
            values += len(pairs)
            different += len(unlike)
            if unlike and first is None:
                point, seed = (before.column(key)[unlike[0]].as_py() for key in columns.KEY)
                first = Difference(what, point, seed, name, *pairs[unlike[0]])
    return Comparison(runs, values, different, first, missing)


def _matched(before: pa.Table, after: pa.Table, points: Mapping[str, str]) -> tuple[pa.Table, pa.Table]:
    """The rows of an archived table that a new one has too, in one order; mechanisms in files keep archived names."""
    import pyarrow as pa

    keys = [name for name in (*columns.KEY, "id") if name in before.schema.names]
    renamed = pa.array([points.get(point) for point in after.column("point").to_pylist()], pa.string())
    after = after.set_column(after.schema.get_field_index("point"), "point", renamed)
    after = after.drop_columns([name for name in _MECHANISMS if name in after.schema.names])
    mine = before.select(keys).append_column("row", pa.array(range(before.num_rows)))
    theirs = after.select(keys).append_column("other", pa.array(range(after.num_rows)))
    joined = mine.join(theirs, keys, join_type="inner").sort_by("row")
    return before.take(joined.column("row")), after.take(joined.column("other"))


class _Members:
    """The members of an archive that is made, by their names."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.scenarios: list[Scenario] = []
        """The first scenario of each sweep."""
        self.mechanisms: dict[str, str] = {}
        """The members of mechanisms by the names that settings have."""

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
            for chosen in filter(None, plan.mechanisms(index)):
                self._mechanism(chosen)
            # Loading refuses profiles and mechanisms that are not those of the runs.
            loaded = plan.load(index, identity(*own_of(plan, index)))
            if index == 0:
                self.scenarios.append(loaded)
            text = plan.texts[index].as_py()
            for profile in _profiles(loaded):
                text = _renamed(text, profile, self._profile(profile))
            self.add(f"scenarios/{point}.toml", text)
        settings = plan.settings.to_pylist()
        return {
            "scenario": plan.scenario, "varied": plan.varied, "seed": plan.seed, "runs": plan.runs, "until": plan.until,
            "points": settings,
        }  # fmt: skip

    def _mechanism(self, chosen: str) -> None:
        path, _, name = chosen.rpartition(":")
        if chosen not in self.mechanisms:
            member = self._unused("mechanisms", Path(path).name, Path(path).read_bytes())
            self.mechanisms[chosen] = f"{member}:{name}"

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
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{path}: expected an archive of airwatt, got a file that is none ({reason})") from None
        self.about = self._read_about()

    def __enter__(self) -> _Content:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._zip.close()

    def plans(self, folder: Path) -> list[Plan]:
        """The sweeps of the archive; the files that they name are written into a folder. Raises `InputError`."""
        try:
            return [self._plan(one, folder) for one in self.about["sweeps"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._damaged("about.json", f"{type(error).__name__}: {error}") from None

    def _plan(self, sweep: Mapping[str, Any], folder: Path) -> Plan:
        import pyarrow as pa

        settings = [dict(point) for point in sweep["points"]]
        texts = []
        for point in settings:
            text = self._read(f"scenarios/{point['point']}.toml").decode(errors="replace")
            for member in [name for name in self._zip.namelist() if name.startswith("profiles/")]:
                if _quoted(member)[:-1] in text:
                    text = _renamed(text, member, self._written(member, folder))
            texts.append(text)
            for key in _MECHANISMS:
                chosen = point.get(key)
                if in_file(chosen):
                    member, _, name = self.about["mechanisms"][chosen].rpartition(":")
                    point[key] = f"{self._written(member, folder)}:{name}"
        table = pa.Table.from_pylist(settings)
        return Plan(
            "", sweep["scenario"], self.about["core"], [point["point"] for point in settings], table,
            pa.array(texts, pa.string()), list(sweep["varied"]), sweep["seed"], sweep["runs"], sweep["until"],
        )  # fmt: skip

    def table(self, what: str) -> pa.Table:
        """A table of results. Raises `InputError`."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(io.BytesIO(self._read(f"results/{what}.parquet")))
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(f"results/{what}.parquet", error) from None

    def _read_about(self) -> dict[str, Any]:
        try:
            about = json.loads(self._read("about.json"))
            assert isinstance(about["sweeps"], list)
            assert isinstance(about["mechanisms"], dict)
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            raise self._damaged("about.json", error) from None
        return dict(about)

    def _read(self, name: str) -> bytes:
        try:
            with self._zip.open(name) as member:
                content = member.read(_MOST_BYTES + 1)
        except (KeyError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise self._damaged(name, error) from None
        if len(content) > _MOST_BYTES:
            raise self._damaged(name, "more than 256 MiB")
        return content

    def _written(self, member: str, folder: Path) -> str:
        """Writes a profile or a mechanism into a folder under a name without any of the archive's folders."""
        path = folder / member.replace("/", "-")
        path.write_bytes(self._read(member))
        return str(path)

    def _damaged(self, name: str, reason: object) -> InputError:
        said = " ".join(str(reason).split())
        return InputError(f"{self._path}: expected an archive of airwatt, got one whose {name} is damaged ({said})")


def _quoted(text: str) -> str:
    """A text as a scenario file has it."""
    return json.dumps(text, ensure_ascii=False)


def _renamed(text: str, old: str, new: str) -> str:
    """A scenario file whose radio profile has another name; the mode of its host may stand after a colon."""
    for end in ('"', ":"):
        text = text.replace(_quoted(old)[:-1] + end, _quoted(new)[:-1] + end)
    return text


def _profiles(scenario: Scenario) -> set[str]:
    """The radio profiles of a scenario that are files."""
    named = {value for key, value in citation.texts(scenario.to_dict(expand=True)) if key == "radio"}
    return {name for name in (value.partition(":")[0] for value in named) if "/" in name or name.endswith(".toml")}


def _report(store: Store) -> str:
    from airwatt.reports.pack import Pack
    from airwatt.reports.page import report
    from airwatt.reports.sweep import study_of

    pack = Pack()
    name = store.path.name
    return report([study_of(store, name, pack, None)], pack, f"archive {name}")


def _readme(store: Store, planned: Sequence[Plan], runs: int, name: str, *, has_code: bool) -> str:
    built = commit()
    lines = [
        f"# {store.path.stem}",
        "",
        f"{runs} runs of airwatt {__version__}{f', commit {built}' if built else ''}:",
        "",
    ]
    for plan, one in zip(planned, store.status(), strict=True):
        less = "".join(
            f", {count} {what}" for what, count in (("failed", one.failed), ("missing", one.missing)) if count
        )
        rule = f", at most, until {plan.until}" if plan.until else ""
        lines.append(f"* {plan.scenario}: {one.points} points, {plan.runs} seeds from {plan.seed} on{rule}{less}")
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
