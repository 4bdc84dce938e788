"""`airwatt sweep`: many runs over a grid of settings, kept in a store; and what to do with a store."""

import contextlib
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt._core import SCHEMA, InputError, Scenario, __version__
from airwatt.cli import options
from airwatt.cli.output import check_file, note_file, print_json, print_text, prints_aside, say, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED, INTERRUPTED
from airwatt.files import write_text
from airwatt.own import in_file
from airwatt.sweeps import grid
from airwatt.sweeps import plan as plans
from airwatt.sweeps import sweep as sweeps
from airwatt.sweeps.frames import FORMATS, Status, Store
from airwatt.sweeps.runner import Shard, Work
from airwatt.sweeps.store import Files

if TYPE_CHECKING:
    from airwatt.layout import Table

EPILOG = """\b
Examples:
  airwatt sweep fast-dsl --over wired.rtt=20ms:60ms:20ms --policy active,psm
  airwatt sweep fast-dsl --over wired.down.queue=20packets,50packets --runs 5
  airwatt sweep fast-dsl --over wired.rtt=1ms:1s:x1.5 --policy all --runs 30 --dry-run
  airwatt sweep status fast-dsl.sweep
  airwatt sweep export fast-dsl.sweep --out runs.csv
  airwatt sweep export fast-dsl.sweep --out points.tex
"""

VERBS = ("status", "resume", "retry", "repair", "export")
_MOST_POINTS = 24
"""A sweep of more points shows no table of them."""
_MOST_FAILURES = 10
_TYPESET = (".tex", ".dat")
"""Forms of an export with a row a point."""


def command(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="SCENARIO | SWEEP.toml | status|resume|retry|repair|export DIR",
            help="What to sweep: a scenario, or a file that describes a sweep; or what to do with a store.",
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        Option(
            "--over",
            metavar="KEY=RANGE",
            help="Values of a key: FROM:TO:STEP, FROM:TO:xFACTOR, V1,V2,...; may be repeated, for their product.",
        ),
    ] = None,
    policy: Annotated[
        str | None, Option("--policy", metavar="A,B,...", help="Power-save policies; all for every one.")
    ] = None,
    transport: Annotated[
        str | None,
        Option("--transport", metavar="A,B,...", help="Transports: of all flows, also of those over UDP."),
    ] = None,
    where: Annotated[
        list[str] | None,
        Option(
            "--where",
            metavar="CONDITION",
            help="Only points that meet it, as in 'wired.rtt < 200ms or policy == psm'; may be repeated.",
        ),
    ] = None,
    set_: options.Set = None,
    runs: Annotated[
        int | None,
        Option("--runs", metavar="N", help="Runs of each point, with seeds N, N+1, ...", show_default="1"),
    ] = None,
    seed: Annotated[int | None, Option("--seed", metavar="N", help="Seed of the first run.", show_default="1")] = None,
    until: Annotated[
        str | None,
        Option(
            "--until",
            metavar="RULE",
            help="Stop a point before --runs once its mean is known: 'ci95(energy_j) < 1%'.",
        ),
    ] = None,
    store: Annotated[
        Path | None, Option("--store", metavar="DIR", help="Where runs are kept.", show_default="NAME.sweep")
    ] = None,
    shard: Annotated[
        str | None, Option("--shard", metavar="i/N", help="Only part i of N, for job arrays; counted from 1.")
    ] = None,
    dask: Annotated[
        str | None, Option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, as at tcp://host:8786.")
    ] = None,
    limit: options.RunLimit = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say how many runs there are to make, and what they may take.")
    ] = False,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            metavar="FILE",
            help="With export: a .csv, .parquet or .feather file, or a row a point as .tex or .dat; CSV is printed"
            " without.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        Option("--table", metavar="NAME", help="With export: runs, flows or stations.", show_default="runs"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run a scenario at every point of a grid, with many seeds; keep each run as it finishes.

    Begun again, it runs what is missing. Several processes may work on one store at a time.
    """
    if not words:
        raise InputError(
            "sweep: expected a scenario, a sweep file, or status|resume|retry|repair|export DIR, got nothing"
        )
    asked = {
        "--over": over, "--policy": policy, "--transport": transport, "--where": where, "--set": set_, "--runs": runs,
        "--seed": seed, "--until": until, "--store": store, "--shard": shard, "--dask": dask, "--limit": limit,
        "--out": out, "--table": table,
    }  # fmt: skip
    given = {name for name, value in asked.items() if value is not None}
    if words[0] in VERBS:
        _refuse(f"sweep {words[0]}", {"--dry-run"} if dry_run else set(), "it belongs to a new sweep")
        _on_store(words[0], [Path(word) for word in words[1:]], given, shard, dask, limit, out, table or "runs", json)
        return
    _refuse("sweep", given & {"--out", "--table"}, "it belongs to sweep export")
    if len(words) > 1:
        raise InputError(f"sweep: expected one scenario, got {' '.join(words)}")
    request = grid.read(words[0]) if grid.is_sweep_file(words[0]) else grid.Request(words[0])
    request = replace(
        request,
        over={**request.over, **_over(over)},
        policy=options.names("--policy", policy) or request.policy,
        transport=options.names("--transport", transport) or request.transport,
        where=where or request.where,
        set={**request.set, **dict(options.overrides(set_))},
        runs=request.runs if runs is None else runs,
        seed=request.seed if seed is None else seed,
        until=until or request.until,
        # With keys from both, a key alone has to do.
        origin="" if over and request.origin != "--over " else request.origin,
    )
    part = Shard() if shard is None else Shard.parse(shard)
    planned = sweeps.prepare(request)
    folder = store or Path(request.store or f"{planned.scenario}.sweep")
    if dry_run:
        _forecast(planned, folder, limit, json)
        return
    # A cluster that does not answer leaves no store.
    with _quiet(dask):
        work = sweeps.worker(dask, limit, with_files=sweeps.has_files(planned))
    with writing("--store", folder):
        files = Files.create(folder)
        files.add(planned)
    _run(files, [planned], part, [work], dask, json)


def _forecast(planned: plans.Plan, folder: Path, limit: str | None, json: bool) -> None:
    """Says what a sweep would take."""
    from airwatt.cli.progress import duration
    from airwatt.sweeps.forecast import forecast
    from airwatt.tables import count, quantity

    with prints_aside():
        found = forecast(planned, folder, limit)
    if json:
        about = {"schema": SCHEMA, "version": __version__, "scenario": planned.scenario, "store": str(folder)}
        print_json({**about, "points": len(planned.points), "seeds": planned.runs, **found._asdict()})
        return
    most = "at most " if planned.until is not None else ""
    size = _size(len(planned.points), planned.runs)
    to_do = f"{most}{_several(found.jobs, 'run')}, {count(found.missing)} to be made in {folder}"
    lines = [f"{planned.scenario}, {size}: {to_do}"]
    if found.wall_s is not None:
        lines.append(
            f"about {duration(found.wall_s)} on {os.cpu_count()} processors: {quantity(found.run_s, 's')} a run"
            f" ({quantity(found.least_s, 's')} to {quantity(found.most_s, 's')} in {_several(found.sampled, 'sample')})"
        )
    if found.disk_bytes is not None:
        lines.append(f"about {quantity(found.disk_bytes, 'B')} on the disk")
    show("\n".join(lines))


def _on_store(
    verb: str,
    folders: Sequence[Path],
    given: set[str],
    shard: str | None,
    dask: str | None,
    limit: str | None,
    out: Path | None,
    table: str,
    json: bool,
) -> None:
    allowed = {"export": {"--out", "--table"}, "status": set[str]()}.get(verb, {"--shard", "--dask", "--limit"})
    _refuse(f"sweep {verb}", given - allowed, "it belongs to a new sweep")
    if not folders or (len(folders) > 1 and verb != "export"):
        raise InputError(
            f"sweep {verb}: expected the folder of a store, got {' '.join(map(str, folders)) or 'nothing'}"
        )
    if verb == "export":
        if json:
            raise InputError("sweep export: --json: no effect with export; hint: it writes CSV, Parquet or Feather")
        _export(Store(*folders), out, table)
    elif verb == "status":
        _show(Store(folders[0]), json)
    else:
        files = Files.open(folders[0])
        planned = files.plans(texts=True)
        if verb == "repair":
            # After the plans were read: a damaged one would make a good chunk look too long.
            _repair(files)
        part = Shard() if shard is None else Shard.parse(shard)
        planned = [_renewed(files, plan) for plan in planned]
        works = (sweeps.worker(dask, limit) for _ in planned)
        _run(files, planned, part, works, dask, json, again=verb == "retry")


def _repair(files: Files) -> None:
    """Sets damaged chunks aside, so that their runs are missing."""
    with writing("--store", files.folder):
        for stem, reason in files.damaged().items():
            say(f"{reason}; set aside, its runs are made again")
            files.set_aside(stem)


def _refuse(command: str, given: set[str], hint: str) -> None:
    if given:
        raise InputError(f"{command}: {min(given)}: no effect here; hint: {hint}")


def _over(texts: Sequence[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text, key, values in options.by_key("--over", "KEY=RANGE, as in wired.rtt=10ms:300ms:10ms", texts):
        if key in found:
            raise InputError(f"--over {text!r}: expected each key once, got {key} twice")
        found[key] = values
    return found


def _renewed(files: Files, plan: plans.Plan) -> plans.Plan:
    """A plan for the core library of this process: with another one its runs are other jobs."""
    if plan.core == plans.core_hash():
        return plan
    say(f"{files.folder}: made by another version of the core library, whose runs are not mixed with those of this one")
    renewed = sweeps.again(plan)
    files.add(renewed)
    return renewed


def _run(
    files: Files,
    planned: Sequence[plans.Plan],
    part: Shard,
    works: Iterable[Work],
    dask: str | None,
    json: bool,
    *,
    again: bool = False,
) -> None:
    interrupted = False
    with _quiet(dask), writing("--store", files.folder), bar(planned[0].scenario) as on_progress:
        for plan, work in zip(planned, works, strict=True):
            interrupted = sweeps.run(files, plan, work, part, on_progress, again=again)
            if interrupted:
                break
    store = Store(files.folder)
    states = store.status()
    if json:
        print_json(_document(store, states, interrupted))
    else:
        parts = [*_notes(planned), *_summary(store, states)]
        if interrupted:
            parts.append(f"interrupted: what is finished is kept; airwatt sweep resume {files.folder} goes on")
        show(*parts)
    if interrupted:
        raise Exit(INTERRUPTED)
    failed = sum(state.failed for state in states)
    if failed:
        jobs = sum(state.jobs for state in states)
        say(f"{failed} of {jobs} runs failed; airwatt sweep status {files.folder} says why")
        raise Exit(FAILED)


@contextlib.contextmanager
def _quiet(dask: str | None) -> Iterator[None]:
    """Keeps the tracebacks that Dask logs from standard error: what ends a sweep is said in one line."""
    if dask is not None:
        logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _show(store: Store, json: bool) -> None:
    states = store.status()
    if json:
        print_json(_document(store, states, False))
        return
    from airwatt.tables import table

    parts = _summary(store, states)
    failures = store.failures()
    if failures:
        rows = [
            [
                ", ".join(map(str, item.settings.values())),
                str(item.seed),
                f"{item.wall_s:.3g} s",
                item.error.splitlines()[-1],
            ]
            for item in failures[:_MOST_FAILURES]
        ]
        parts.append(table([", ".join(failures[0].settings), "seed", "took", "error"], rows, left=1, also_left=(3,)))
        if len(failures) > _MOST_FAILURES:
            parts.append(f"and {len(failures) - _MOST_FAILURES} more; --json lists them all")
        parts += _how_to_retry(store)
    show(*parts)


def _how_to_retry(store: Store) -> list[str]:
    """How failed runs are made again; `retry` cannot, where a mechanism is a class in a file."""
    found = [[name for name in item.settings.values() if in_file(name)] for item in store.failures()]
    files = list(dict.fromkeys(name.rpartition(":")[0] for names in found for name in names))
    parts = [f"airwatt sweep retry {store.path} runs them again"] if not all(found) else []
    if files:
        parts.append(
            f"a store executes no file: with {' and '.join(files)} mended, the sweep's own command makes the runs anew"
        )
    return parts


def _document(store: Store, states: Sequence[Status], interrupted: bool) -> dict[str, Any]:
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "store": str(store.path),
        "sweeps": [state.to_dict() for state in states],
        "failed": [item.to_dict() for item in store.failures()],
    }
    return {**document, "interrupted": True} if interrupted else document


def _summary(store: Store, states: Sequence[Status]) -> "list[str | Table]":
    parts: list[str | Table] = []
    lines = [_line(state) for state in states]
    finished = sum(state.finished for state in states)
    if finished and sum(state.points for state in states) <= _MOST_POINTS:
        parts += _points(store, sum(state.points for state in states))
    elif finished:
        lines.append(
            f"more than {_MOST_POINTS} points have no table here: airwatt sweep export {store.path} prints CSV"
        )
    damaged = states[-1].damaged_lines
    if damaged:
        lines.append(f"{damaged} damaged lines in {store.path}/journal were skipped; their runs are made again")
    lines.append(f"store: {store.path}")
    parts.append("\n".join(lines))
    return parts


def _notes(planned: Sequence[plans.Plan]) -> Iterator[str]:
    """Notes on the radios of the points, as far as these have a table here."""
    from airwatt import radio_notes

    texts = [text.as_py() for plan in planned for text in plan.texts or ()]
    if len(texts) <= _MOST_POINTS:
        yield from radio_notes.other_band(Scenario.from_toml(text) for text in texts)


_WIDTH_OF_KEYS = 36
"""Characters that a table of 80 columns leaves to the names of settings."""


def _several(number: int, what: str) -> str:
    from airwatt.tables import count

    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def _size(points: int, seeds: int, at_most: str = "") -> str:
    return f"{_several(points, 'point')}, {at_most}{_several(seeds, 'seed')}{' each' if points > 1 else ''}"


def _line(state: Status) -> str:
    from airwatt.tables import count

    at_most = "" if state.until is None else "at most "
    runs = _size(state.points, state.seeds, at_most)
    done = [f"{count(state.finished)} of {count(state.jobs)} runs finished"]
    done += [f"{count(state.failed)} failed"] if state.failed else []
    done += [f"{count(state.not_needed)} not needed ({state.until})"] if state.not_needed else []
    done += [f"{count(state.missing)} missing"] if state.missing else []
    return f"{state.scenario}, {runs}: {', '.join(done)}"


def _points(store: Store, planned: int) -> "Iterator[str | Table]":
    """Yields the table of the points with finished runs, of `planned` points, and the settings that need no column."""
    from airwatt.tables import estimate, table

    goodput, head = store.goodput()
    units = {goodput: "b/s", "completed_s": "s", "energy_j": "J"}
    rows = store.summary(list(units))
    alike = [
        key for key in rows[0][0] if len(rows) > 1 and len({_setting(key, settings) for settings, *_ in rows}) == 1
    ]
    keys = [key for key in rows[0][0] if key not in alike]
    shown = [
        [
            *(_setting(key, settings) for key in keys),
            str(runs),
            *(estimate(number, unit) for number, unit in zip(numbers, units.values(), strict=True)),
        ]
        for settings, runs, numbers in rows
    ]
    # Names of keys that do not fit side by side go on below each other; cut, they would look alike.
    heads = keys if sum(map(len, keys)) <= _WIDTH_OF_KEYS else [key.replace(".", ".\n") for key in keys]
    yield table([*heads, "runs", head, "done at", "energy"], shown, left=len(keys))
    if alike:
        where = "all points" if len(rows) == planned else f"the {len(rows)} points that have finished runs"
        yield f"at {where}: " + ", ".join(f"{key} {_setting(key, rows[0][0])}" for key in alike)


def _setting(key: str, settings: Mapping[str, Any]) -> str:
    value = settings[key]
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _export(store: Store, out: Path | None, what: str) -> None:
    less = store.left_out()
    if out is None:
        import io

        import pyarrow.csv

        buffer = io.BytesIO()
        pyarrow.csv.write_csv(store.exported(what), buffer)
        print_text(buffer.getvalue().decode())
        _check_whole(*less)
        return
    form = out.suffix.lower()
    if form not in (*FORMATS, *_TYPESET):
        raise InputError(f"--out {out}: expected a name that ends in {', '.join((*FORMATS, *_TYPESET))}")
    check_file("--out", out)
    with writing("--out", out):
        if form in _TYPESET:
            from airwatt.sweeps import typeset

            write_text(out, typeset.points(store)[_TYPESET.index(form)])
        else:
            store.export(out, what)
    note_file(out)
    _check_whole(*less)


def _check_whole(jobs: int, missing: int, failed: int) -> None:
    """Says on standard error, and by the exit status, that runs are missing from an export, or failed."""
    if missing or failed:
        less = ", ".join(f"{number} {what}" for number, what in ((missing, "missing"), (failed, "failed")) if number)
        say(f"{jobs - missing - failed} of {jobs} runs are in it: {less}; airwatt sweep status DIR says more")
        raise Exit(FAILED)
