"""`airwatt radios`: the radio power profiles that ship."""

from airwatt import laboratory
from airwatt.cli import options
from airwatt.cli.output import print_json, show

EPILOG = """\b
Examples:
  airwatt radios
  airwatt radios --json
"""


def command(json: options.Json = False) -> None:
    """List the radio power profiles that ship, with their sources."""
    radios = laboratory.radios()
    if json:
        from airwatt._core import SCHEMA, __version__

        print_json({"schema": SCHEMA, "version": __version__, "radios": [radio.to_dict() for radio in radios]})
        return
    from airwatt.cli.tables import quantity, table

    states = ["transmit", "receive", "listen", "sleep"]
    rows = [
        [
            radio.name,
            *(quantity(radio[f"{state}_w"], "W") for state in states),
            f"{quantity(radio.wake_up.time_s, 's')}, {quantity(radio.wake_up.energy_j, 'J')}",
        ]
        for radio in radios
    ]
    sources = "\n".join(f"{radio.name}: {radio.source}" for radio in radios)
    show(table(["radio", *states, "wake-up"], rows), sources)
