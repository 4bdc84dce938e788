"""What a report can be made of, and how each is recognised: stores, result documents, traces, scenarios, captures.

A folder is a store, or the traces of `run --trace` or `analyze --trace`, which belong to the document before it. A file
that begins as a JSON document is a result of `run`, `compare` or `analyze --json`; a capture is known by its name, and
all else is a scenario, which is simulated for the report.
"""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt import laboratory, radio_notes
from airwatt._core import SCHEMA, InputError
from airwatt._documents import RunResult
from airwatt.advice import platforms
from airwatt.advice.question import is_capture
from airwatt.battery import Battery
from airwatt.compared import names_of
from airwatt.files import document_in, document_of
from airwatt.parallel import Progress
from airwatt.reports import capture, runs, sweep
from airwatt.reports.check import mistake
from airwatt.reports.pack import Pack
from airwatt.reports.study import Study
from airwatt.reports.timeline import POINTS
from airwatt.results import Result
from airwatt.tasks import Task, run_tasks

if TYPE_CHECKING:
    import pyarrow as pa

OnProgress = Callable[[Progress], None] | None
_RUN_TRACES = ("congestion_window", "queues", "radio_states", "triggers", "beacons", "frames")
_CAPTURE_TRACES = ("modes", "frames", "beacons", "packets", "radio_states", "findings")
_ACCEPTED = "a store, a result of run, compare or analyze --json, a folder of traces, a scenario or a capture"


@dataclass(frozen=True)
class Options:
    """How scenarios and captures among the sources are simulated, and how much detail the page keeps."""

    policies: Sequence[str] | None = None
    set: Sequence[tuple[str, str]] = ()
    runs: int = 1
    seed: int = 1
    points: int = POINTS
    battery: Battery | None = None
    limit: str | None = None
    user: str | None = None
    station: str | None = None
    on_progress: OnProgress = None


@dataclass
class _Found:
    """What the sources hold, before it becomes studies."""

    groups: dict[str, list[runs.Group]] = field(default_factory=dict)
    """The choices of each scenario."""
    analyses: list[tuple[Mapping[str, Any], dict[str, pa.Table]]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """The files whose documents were read."""
    stores: list[tuple[str, Any]] = field(default_factory=list)
    last: dict[str, Any] | None = None
    """Where traces that follow go."""


def studies_of(sources: Sequence[str], options: Options | None, pack: Pack) -> list[Study]:
    """Reads or simulates all sources. Raises `InputError`, `RunError`, or `Interrupted`."""
    options = options or Options()
    found = _Found()
    try:
        for source in sources:
            _read(source, options, found)
        if options.station is not None and not found.analyses:
            raise InputError(f"--station {options.station}: expected a capture beside it, got none")
        return _studies(found, options, pack)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if not found.files:
            raise
        # What is computed here has the form that is expected; a file may have any.
        what = f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
        names = ", ".join(found.files)
        raise InputError(f"{names}: expected a document as airwatt prints it, got a changed one ({what})") from None


def _studies(found: _Found, options: Options, pack: Pack) -> list[Study]:
    made = [
        runs.study_of(scenario, _distinct(groups), pack, options.battery, options.points // max(1, len(found.groups)))
        for scenario, groups in found.groups.items()
    ]
    made += [
        capture.study_of(document, traces, pack, options.battery, options.points) for document, traces in found.analyses
    ]
    made += [sweep.study_of(store, name, pack, options.battery) for name, store in found.stores]
    return made


def _read(source: str, options: Options, found: _Found) -> None:
    path = Path(source)
    if path.is_dir():
        _read_folder(path, options, found)
    elif source == "-" or _is_document(path):
        _read_document(source, found)
    elif is_capture(source):
        _read_capture(source, options, found)
    else:
        _simulate(source, options, found)


def _is_document(path: Path) -> bool:
    """Whether a file is a JSON document: by its name, or by its first character."""
    if path.suffix.lower() == ".json":
        return True
    try:
        about = path.stat()
        # To read a file of /proc may do something, and it counts as a regular one without bytes.
        if not stat.S_ISREG(about.st_mode) or about.st_size == 0:
            return False
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _read_folder(path: Path, options: Options, found: _Found) -> None:
    if (path / "plans").is_dir():
        from airwatt.sweeps.frames import Store

        found.stores.append((path.name, Store(path)))
        found.last = None
        return
    names = {file.stem for file in path.glob("*.parquet")}
    kind = _RUN_TRACES if names >= set(_RUN_TRACES) else _CAPTURE_TRACES if names >= set(_CAPTURE_TRACES) else None
    if kind is None:
        if any(is_capture(str(file)) for file in path.iterdir() if file.is_file()):
            _read_capture(str(path), options, found)
            return
        raise InputError(f"{path}: expected {_ACCEPTED}, got a folder that is none of them")
    tables = _tables(path, kind)
    if kind is _CAPTURE_TRACES:
        if not found.analyses or found.last is not None:
            raise InputError(f"{path}: expected the document of analyze --json before its traces, got none")
        found.analyses[-1][1].update(tables)
    elif found.last is not None:
        found.last["group"].traces = tables
        found.last = None
    else:
        found.groups.setdefault(path.name, []).append(runs.Group(path.name, [], tables))


def _read_capture(source: str, options: Options, found: _Found) -> None:
    """Analyses a capture, or a folder of them."""
    analysis = laboratory.analyze(
        source, station=options.station, policies=options.policies, settings=list(options.set), seed=options.seed,
        trace=True, limit=options.limit, user=options.user, on_progress=options.on_progress,
    )  # fmt: skip
    found.analyses.append((analysis.to_dict(), analysis.tables()))


def _tables(path: Path, names: Sequence[str]) -> dict[str, pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {name: pq.read_table(path / f"{name}.parquet") for name in names}
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: expected traces of run --trace, got files that cannot be read: {error}") from None


def _read_document(source: str, found: _Found) -> None:
    document = _parsed(source)
    found.last = None
    found.files.append(source)
    if "capture" in document:
        found.analyses.append((document, {}))
    elif "analyses" in document:
        found.analyses += [(one, {}) for one in document["analyses"]]
    elif "rows" in document and all("choice" in row for row in document["rows"]):
        groups = [
            runs.Group(", ".join(names_of(row["choice"])), _runs(source, row["runs"])) for row in document["rows"]
        ]
        found.groups.setdefault(document["scenario"], []).extend(groups)
    elif "stations" in document or "runs" in document:
        results = _runs(source, document.get("runs", [document]))
        group = runs.Group(_label(results, source), results)
        found.groups.setdefault(document["scenario"], []).append(group)
        found.last = {"group": group}
    else:
        raise InputError(f"{source}: expected a result of run, compare or analyze --json, got another JSON document")


def _parsed(source: str) -> dict[str, Any]:
    try:
        document = document_in(sys.stdin.buffer) if source == "-" else document_of(Path(source))
    except OSError as error:
        raise InputError(f"{source}: could not be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{source}: expected a JSON document, got bytes that are no UTF-8") from None
    except ValueError as error:
        place = f" at line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{source}: expected a JSON document, got text that is none{place}") from None
    if not isinstance(document, dict):
        raise InputError(f"{source}: expected a result document, got a JSON {type(document).__name__}")
    if document.get("schema") != SCHEMA:
        raise InputError(f"{source}: schema: expected {SCHEMA}, got {document.get('schema')!r}")
    return document


def _runs(source: str, documents: Any) -> list[RunResult]:
    needed = ("scenario", "seed", "simulated_s", "flows", "stations", "cell")
    for document in documents if isinstance(documents, list) else [None]:
        missing = [key for key in needed if not isinstance(document, dict) or key not in document]
        if missing:
            raise InputError(f"{source}: {missing[0]}: expected it in the document of each run, got none")
        wrong = mistake(document)
        if wrong is not None:
            raise InputError(f"{source}: {wrong}")
    if not documents:
        raise InputError(f"{source}: runs: expected one or more, got none")
    return [RunResult(document) for document in documents]


def _label(results: Sequence[RunResult], source: str) -> str:
    policies = dict.fromkeys(station.policy for run in results for station in run.stations)
    return ", ".join(policies) or Path(source).stem


def _distinct(groups: Sequence[runs.Group]) -> list[runs.Group]:
    """Gives equal labels numbers: several results of one policy are different choices."""
    labels = [group.label for group in groups]
    for index, group in enumerate(groups):
        if labels.count(group.label) > 1:
            group.label = f"{labels[index]} ({labels[: index + 1].count(labels[index])})"
    return list(groups)


def _simulate(source: str, options: Options, found: _Found) -> None:
    """Runs a scenario under each policy, the first run of each with traces."""
    laboratory.check_seeds(options.seed, options.runs)
    overrides = dict(options.set)
    chosen = _policies(source, options, overrides)
    loaded = [laboratory.load(source, laboratory.choices(name, None), overrides) for name in chosen]
    seeds = range(options.seed, options.seed + options.runs)
    tasks = [Task(one, seeds, Result.of, traced=1) for one in loaded]
    done = run_tasks(tasks, limit=options.limit, on_progress=options.on_progress)
    if done.interrupted:
        raise laboratory.Interrupted(None)
    groups = []
    for place, name in enumerate(chosen):
        mine = done.finished(place)
        label = name or _label(mine, source)
        # Policy ideal is a bound on a run with a radio that is always awake, and so are its traces.
        notes = list(radio_notes.other_band([loaded[place]]))
        groups.append(runs.Group(label, list(mine), {} if name == "ideal" else mine[0].traces(), notes))
    found.groups.setdefault(loaded[0].name, []).extend(groups)
    found.last = None


def _policies(source: str, options: Options, overrides: Mapping[str, str]) -> list[str | None]:
    """The policies to simulate: those asked for, or all that the scenario can have."""
    if options.policies is None and "policy" in overrides:
        return [None]
    everyone = laboratory.possible_policies(source, dict(overrides))
    if options.policies is None:
        # What is wrong with the scenario itself is said here, not hidden behind its policies.
        scenario = laboratory.load(source, (), dict(overrides)).to_dict()
        cells = [scenario.get("wifi"), *(cell.get("wifi") for cell in scenario.get("cell", ()))]
        if any(platforms.agrees(wifi["standard"]) for wifi in cells if wifi):
            return list(everyone)
        # No access point of this standard has target wake time, and the page names what spends least.
        wakes = {policy.name for policy in laboratory.policies() if policy.needs == "TWT"}
        return [name for name in everyone if name not in wakes]
    return list(dict.fromkeys(name for given in options.policies for name in (everyone if given == "all" else [given])))
