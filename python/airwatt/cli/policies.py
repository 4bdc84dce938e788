"""`airwatt policies`: the power-save policies."""

from airwatt import laboratory
from airwatt.cli import options
from airwatt.cli.listing import present

EPILOG = """\b
Examples:
  airwatt policies
  airwatt policies --json
"""


def command(json: options.Json = False) -> None:
    """List the power-save policies that a station can follow."""
    present("policies", laboratory.policies(), ["name", "description", "needs"], json)
