"""`airwatt report`: one HTML file that shows results."""

import shlex
from pathlib import Path
from typing import Annotated

from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import check_distinct, check_file, note_file, writing
from airwatt.cli.parameters import Argument, Option
from airwatt.cli.progress import bar

EPILOG = """\b
Examples:
  airwatt report fast-dsl --policy active,psm,ideal -o report.html
  airwatt report web --runs 5 --battery 1000mAh@3.7V -o web.html
  airwatt report captures/tcp-download.pcapng -o capture.html
"""


def command(
    sources: Annotated[
        list[str],
        Argument(
            metavar="SOURCE",
            help="A store of a sweep, results of run, compare or analyze --json (- for standard input), each with its"
            " folder of --trace after it, a scenario, or a capture.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, Option("--out", "-o", metavar="FILE", help="The page that is written.")] = Path("report.html"),
    policy: Annotated[
        str | None,
        Option("--policy", metavar="A,B,...", help="Of a scenario or a capture: these policies; default: all."),
    ] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 1,
    battery: options.Battery = None,
    points: Annotated[
        int,
        Option("--points", metavar="N", min=1000, help="Periods and frames that time lines keep in full detail."),
    ] = 2_000_000,
    limit: options.RunLimit = None,
    user: options.User = None,
    station: Annotated[str | None, Option("--station", metavar="ADDR", help="The station in a capture.")] = None,
) -> None:
    """Write a page that shows results: answers, energy by policy and cause, time lines that zoom, tables.

    The page is one file and needs no network. What is not there yet, of a scenario or a capture, is simulated.
    """
    from airwatt.reports import write
    from airwatt.reports.sources import Options

    if out.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out: expected a name that ends in .html, got {out}")
    check_file("--out", out)
    check_distinct({"--out": out}, *sources)
    made = shlex.join(["report", *sources])
    with bar(sources[0]) as on_progress:
        how = Options(
            policies=options.names("--policy", policy),
            set=options.overrides(set_),
            runs=runs,
            seed=seed,
            points=points,
            battery=options.battery(battery),
            limit=limit,
            user=options.parser_of_captures(user),
            station=station,
            on_progress=on_progress,
        )
        with writing("--out", out):
            write(out, sources, how, made=made)
    note_file(out)
