"""`airwatt scenarios`: what ships, and the schema of scenario files."""

from typing import Annotated

from airwatt import laboratory
from airwatt.cli import options
from airwatt.cli.listing import present
from airwatt.cli.output import print_json
from airwatt.cli.parameters import Option

EPILOG = """\b
Examples:
  airwatt scenarios
  airwatt scenarios --schema > scenario.schema.json
"""


def command(
    json: options.Json = False,
    schema: Annotated[bool, Option("--schema", help="Print the JSON schema of scenario files.")] = False,
) -> None:
    """List the scenarios that ship."""
    if schema:
        print_json(laboratory.schema())
        return
    present("scenarios", laboratory.scenarios(), ["name", "description"], json)
