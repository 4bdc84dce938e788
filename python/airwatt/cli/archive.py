"""`airwatt archive`: a store as one file that somebody else can check."""

from pathlib import Path
from typing import Annotated

from airwatt._core import InputError
from airwatt.cli.output import check_file, note_file, say, show, writing
from airwatt.cli.parameters import Argument, Option

EPILOG = """\b
Examples:
  airwatt archive fast-dsl.sweep -o study.zip
  airwatt archive part1.sweep part2.sweep -o study.zip
"""


def command(
    stores: Annotated[
        list[Path],
        Argument(
            metavar="STORE...",
            help="The store of a sweep, with runs that are finished; several, as parts have them, are one.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The archive that is written.")] = Path(
        "study.zip"
    ),
) -> None:
    """Pack a store for a publication: scenarios, seeds, results, tables, report, versions, and how to run it again.

    Radio profiles in files and mechanisms in Python that the scenarios name are in it too. The same store gives the
    same bytes.
    """
    from airwatt.archive import archive
    from airwatt.sweeps.frames import Store
    from airwatt.tables import count

    if out.suffix.lower() != ".zip":
        raise InputError(f"--out: expected a name that ends in .zip, got {out}")
    check_file("--out", out)
    with writing("--out", out):
        runs = archive(stores, out)
    show(f"{count(runs)} runs; airwatt rerun {out} makes them again and compares")
    note_file(out)
    _, missing, failed = Store(*stores).left_out()
    if missing or failed:
        less = ", ".join(
            f"{count(number)} {what}" for number, what in ((missing, "missing"), (failed, "failed")) if number
        )
        say(f"not all runs of its sweeps are in it: {less}; airwatt sweep status DIR says more")
