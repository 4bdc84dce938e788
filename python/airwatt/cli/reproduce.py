"""`airwatt reproduce`: published experiments run again, held claim by claim against what was printed."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import print_json, say, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED, INTERRUPTED
from airwatt.reproductions import catalogue, document, engine
from airwatt.reproductions.publication import tally

if TYPE_CHECKING:
    from airwatt.layout import Table
    from airwatt.reproductions.publication import Claim

EPILOG = """\b
Examples:
  airwatt reproduce list
  airwatt reproduce list ba-ta
  airwatt reproduce e2tcp/ex4.4 e2tcp/fig4.10
  airwatt reproduce e2tcp/ex3.2 --store published.runs
"""

_COLUMNS = 80


def command(
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="[ID]...",
            help="What to reproduce: e2tcp/tab5.3, fig13, a whole document (e2tcp), all; list shows them.",
        ),
    ] = None,
    out: Annotated[
        Path, Option("--out", metavar="DIR", help="Folder for pictures (PNG), values (CSV) and the store of the runs.")
    ] = Path("reproduced"),
    seed: options.Seed = 1,
    runs: options.Runs = 10,
    emulate: Annotated[
        str | None,
        Option(
            "--emulate", metavar="TIME", help="Over real kernels, each run at most so long, one at a time; needs root."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        Option(
            "--store",
            metavar="DIR",
            help="Keep the runs in this store, new or old, instead of runs in the folder of --out; what is there is not"
            " run again.",
        ),
    ] = None,
    json: options.Json = False,
    fail_if: options.FailIf = None,
) -> None:
    """Run published experiments again; draw them, and say claim by claim whether what was printed holds.

    Exits with 1 if a claim is missed that is not calibrated. What a publication leaves open is fixed once for all of
    its figures; the output says how. An order of means that the runs do not decide is a tie, and counts as missed where
    the publication claims a strict order.
    """
    limits = options.thresholds(fail_if)
    laboratory.check_seeds(seed, runs)
    if not ids or ids[0] == "list":
        _list(catalogue.choose((ids or [])[1:] or ["all"]), runs, json)
        return
    if "list" in ids:
        raise InputError("reproduce list: expected list first, as in `reproduce list ba-ta`, got it after another word")
    chosen = catalogue.choose(ids)
    _check_folder(out)
    option, kept = ("--store", store) if store is not None else ("--out", _runs_under(out, chosen, emulate))
    with nullcontext() if kept is None else writing(option, kept), bar("reproduce") as on_progress:
        over = None if emulate is None else engine.RealKernels(emulate)
        batch = engine.reproduce(chosen, runs, seed, on_progress, over, kept)
    if batch.damaged_readings:
        is_one = batch.damaged_readings == 1
        what = "1 reading was" if is_one else f"{batch.damaged_readings} readings were"
        say(f"{kept}/readings: {what} damaged, and made again from {'its run' if is_one else 'their runs'}")
    files = _write(batch.finished, out)
    made = document.document(batch.finished, files, runs, seed)
    if kept is not None:
        made["store"] = str(kept)
    if batch.interrupted:
        made["interrupted"] = True
    if json:
        print_json(made)
    else:
        show(*_parts(batch, files, runs, seed, kept))
    if batch.interrupted:
        raise Exit(INTERRUPTED)
    options.hold(limits, made)
    found = [claim for item in batch.finished for claim in item.outcome.claims]
    # Calibrated claims are no evidence, neither for nor against.
    if any(not claim.holds and claim.verdict != "undecidable" and not claim.calibrated for claim in found):
        raise Exit(FAILED)


def _list(chosen: Sequence[catalogue.Chosen], runs: int, json: bool) -> None:
    items = [
        {
            "id": home.id(item),
            "alias": f"{home.number}.{item.place}",
            "shows": item.shows,
            "cost_s": round(catalogue.cost_s([(home, item)], runs, engine.cores()), 1),
        }
        for home, item in chosen
    ]
    if json:
        from airwatt._core import SCHEMA, __version__

        print_json({"schema": SCHEMA, "version": __version__, "reproductions": items})
        return
    from airwatt.tables import table

    whole = catalogue.cost_s(chosen, runs, engine.cores())
    rows = [[str(item["id"]), str(item["shows"]), f"{item['cost_s']:.1f} s"] for item in items]
    cost = f"about {whole:.0f} s for all together, which share runs ({_each(runs)}, {engine.cores()} cores)"
    show(table(["id", "shows", "cost"], rows, left=2), cost)


def _check_folder(out: Path) -> None:
    """Raises `InputError` unless results can be written to the folder; creates it."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out: expected a folder, new or old, got file {out}")
    with writing("--out", out):
        out.mkdir(parents=True, exist_ok=True)


def _runs_under(out: Path, chosen: Sequence[catalogue.Chosen], emulate: str | None) -> Path | None:
    """The store of the runs beside the pictures; None without runs, or if they cannot be kept."""
    has_runs = any(item.points for _, item in chosen)
    return out / "runs" if has_runs and emulate is None and find_spec("pyarrow") is not None else None


def _write(finished: Sequence[engine.Finished], out: Path) -> dict[str, list[str]]:
    files = {}
    for item in finished:
        with writing("--out", out):
            files[item.id] = [str(path) for path in document.write(item, out)]
    return files


def _parts(
    batch: engine.Batch, files: dict[str, list[str]], runs: int, seed: int, kept: Path | None
) -> "Iterator[str | Table]":
    from airwatt.tables import table

    homes = list(dict.fromkeys(item.document.name for item in batch.finished))
    for name in homes:
        mine = [item for item in batch.finished if item.document.name == name]
        yield _wrapped(f"{mine[0].document.citation}.")
        yield _bulleted(mine[0].document.configuration)
        for item in mine:
            yield f"{item.id}  {item.reproduction.shows}"
            for part in item.outcome.tables:
                if part.title:
                    yield part.title
                yield table(part.heads, part.rows)
            if item.outcome.claims:
                yield "\n".join(_claim(claim) for claim in item.outcome.claims)
            yield from (_wrapped(note) for note in item.outcome.notes)
    yield _summary(batch, files, runs, seed, kept)


def _claim(claim: "Claim") -> str:
    said = {"holds": "holds", "missed": "MISSED", "tie": "TIE" if not claim.holds else "tie", "undecidable": "open"}
    lines = [_wrapped(f"{said[claim.verdict]:6}  {claim.text}", indent=8)]
    numbers = f"paper {_amount(claim.paper, claim.unit)}   here {_amount(claim.here, claim.unit)}"
    if claim.tolerance:
        numbers += f"   tolerance {claim.tolerance}"
    if claim.calibrated:
        numbers += "   calibrated"
    lines.append(textwrap.indent(_wrapped(numbers, indent=2, columns=_COLUMNS - 8), " " * 8))
    return "\n".join(lines)


def _amount(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value or "-"
    decimals = 0 if value == round(value) else 3 if abs(value) < 1 else 2 if abs(value) < 10 else 1
    return f"{value:.{decimals}f} {unit}".rstrip()


def _wrapped(text: str, indent: int = 0, columns: int = _COLUMNS) -> str:
    return textwrap.fill(text, columns, subsequent_indent=" " * indent)


def _bulleted(text: str) -> str:
    """Yields paragraphs and points of a text, each wrapped anew for the terminal."""
    parts: list[str] = []
    for line in text.strip().splitlines():
        continues = bool(parts) and not line.startswith("* ") and (line.startswith("  ") or parts[-1][:2] != "* ")
        if continues:
            parts[-1] += f" {line.strip()}"
        else:
            parts.append(line)
    return "\n".join(_wrapped(part, indent=2 if part.startswith("* ") else 0) for part in parts)


def _each(runs: int) -> str:
    return f"{runs} run{'' if runs == 1 else 's'} a point"


def _summary(batch: engine.Batch, files: dict[str, list[str]], runs: int, seed: int, kept: Path | None) -> str:
    claims = [claim for item in batch.finished for claim in item.outcome.claims]
    count = len(batch.finished)
    total = f"{count} reproduction{'' if count == 1 else 's'}, {tally(claims)} ({_each(runs)} from seed {seed})"
    lines = [_wrapped(total, indent=2)]
    for verdict in ("missed", "tie", "undecidable"):
        lines += [
            f"  {verdict}: {claim.id}{' (calibrated)' if claim.calibrated else ''}"
            for claim in claims
            if claim.verdict == verdict
        ]
    open_ = dict.fromkeys(claim.id.split("/")[0] for claim in claims if claim.verdict != "holds")
    if open_:
        pages = ", ".join(f"docs/reproductions/{document}.md" for document in open_)
        lines.append(_wrapped(f"on what does not hold: {pages}", indent=2))
    written = [path for paths in files.values() for path in paths]
    if written:
        lines.append(f"{len(written)} files under {Path(written[0]).parent.parent}")
    # Where all runs were read from traces, no plan says which they are, and those commands have nothing to show.
    if kept is not None and any((kept / "plans").glob("*.json")):
        lines.append(f"runs: {kept} (airwatt sweep status, export, report)")
    if batch.interrupted:
        lines.append("interrupted: the above is what was finished")
    return "\n".join(lines)
