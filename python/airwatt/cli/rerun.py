"""`airwatt rerun`: the runs of an archive once more, compared with the archived ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from airwatt._core import SCHEMA, __version__
from airwatt.cli import options
from airwatt.cli.output import print_json, say, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.process import clearing_away
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED

if TYPE_CHECKING:
    from airwatt.archive import Comparison

EPILOG = """\b
Examples:
  airwatt rerun study.zip
"""


def command(
    archive: Annotated[Path, Argument(metavar="FILE", help="What airwatt archive wrote.", show_default=False)],
    store: Annotated[
        Path | None, Option("--store", metavar="DIR", help="Keep the new runs there; a further call goes on.")
    ] = None,
    trust: Annotated[bool, Option("--trust", help="Execute the archive's mechanisms in Python.")] = False,
    json: options.Json = False,
) -> None:
    """Run an archive again and compare every value bit for bit; exit status 1 if one is another.

    Numbers are the same on every machine with the same build of airwatt. Another version may have changed a model: its
    changelog names the results that moved.
    """
    from airwatt.archive import rerun

    with writing("--store", store or archive), bar(archive.name) as on_progress, clearing_away():
        found = rerun(archive, store, trust=trust, on_progress=on_progress)
    if json:
        parts = {name: part and part._asdict() for name, part in (("first", found.first), ("label", found.label))}
        print_json({"schema": SCHEMA, "version": __version__, "archive": str(archive), **found._asdict(), **parts})
    else:
        _show(found)
    if not found.same:
        raise Exit(FAILED)


def _show(found: Comparison) -> None:
    from airwatt.tables import count

    if found.label is not None:
        point, key, said, has = found.label
        others = f", nor are those of {count(found.mislabelled - 1)} others" if found.mislabelled > 1 else ""
        show(
            f"point {point}: its settings are not those of its scenario{others}; {key} is {said or 'not stated'} in"
            f" about.json, and {has or 'not there'} in scenarios/{point}.toml; nothing was run"
        )
        return
    if found.missing:
        say(f"{count(found.missing)} runs of the archive failed this time")
    if found.columns:
        say(f"only one of the archive and the new runs has {', '.join(found.columns)}")
    if found.members:
        say(f"made again, {', '.join(found.members)} {'is another' if len(found.members) == 1 else 'are others'}")
    if found.unmade:
        scenarios = [name for name in found.unmade if name.startswith("scenarios/")]
        unmade = [name for name in found.unmade if name not in scenarios]
        if scenarios:
            unmade.append(f"{count(len(scenarios))} of scenarios/, which have no runs")
        say(f"not compared: {', '.join(unmade)}")
    if found.underived:
        say(f"not derived from the scenarios, and not counted: {', '.join(found.underived)}")
    whole = "all" if found.runs == found.planned else "the"
    made = f"{count(found.runs)} of {count(found.planned)} runs made again"
    if not found.different:
        show(f"{made}: {whole} {count(found.values)} values are the same bit for bit")
        return
    show(f"{made}: {count(found.different)} of {count(found.values)} values differ")
    if found.first is not None:
        first = found.first
        show(
            f"the first is {first.column} in {first.table}, point {first.point}, seed {first.seed}:"
            f" {first.archived!r} in the archive, {first.again!r} now"
        )
