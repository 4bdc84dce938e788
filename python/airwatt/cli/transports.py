"""`airwatt transports`: the transports."""

from airwatt import laboratory
from airwatt.cli import options
from airwatt.cli.listing import present

EPILOG = """\b
Examples:
  airwatt transports
  airwatt transports --json
"""


def command(json: options.Json = False) -> None:
    """List the transports that a flow can use."""
    present("transports", laboratory.transports(), ["name", "description"], json)
