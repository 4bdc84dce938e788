"""`airwatt scenarios`: what ships, the topology of one, and the schema of scenario files."""

from pathlib import Path
from typing import Annotated

from airwatt import laboratory
from airwatt._core import SCHEMA, InputError, __version__
from airwatt.cli import options
from airwatt.cli.listing import present
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.parameters import Argument, Option

EPILOG = """\b
Examples:
  airwatt scenarios
  airwatt scenarios --schema > scenario.schema.json
  airwatt scenarios two-hops --plot two-hops.png
"""


def command(
    scenario: Annotated[
        str | None,
        Argument(help="A scenario file (TOML), or the name of one that ships.", show_default=False),
    ] = None,
    json: options.Json = False,
    plot: options.Plot = None,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of scenario files.")] = False,
) -> None:
    """List the scenarios that ship, or describe one: --plot draws its topology."""
    if schema:
        print_json(laboratory.schema())
    elif scenario is not None:
        _describe(scenario, json, plot)
    elif plot is not None:
        raise InputError(f"--plot {plot}: expected a scenario whose topology is drawn, got none")
    else:
        present("scenarios", laboratory.scenarios(), ["name", "description"], json)


def _describe(scenario: str, json: bool, plot: Path | None) -> None:
    check_picture("--plot", plot)
    loaded = laboratory.load(scenario)
    general = loaded.to_dict(expand=True)
    if plot is not None:
        from airwatt.plots import topology

        with writing("--plot", plot):
            topology.draw(loaded.name, general, plot)
        note_file(plot)
    described = {"name": loaded.name, **{key: general.get(key, "") for key in ("description", "source")}}
    if json:
        print_json({"schema": SCHEMA, "version": __version__, "scenarios": [described]})
    else:
        show("\n".join(text for text in described.values() if text))
