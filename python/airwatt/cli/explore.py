"""`airwatt explore`: the page of a report with sliders, served on this machine."""

import contextlib
import time
from pathlib import Path
from typing import Annotated, Any

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import print_text, say
from airwatt.cli.parameters import Argument, Option
from airwatt.cli.process import interruptible

EPILOG = """\b
Examples:
  airwatt explore fast-dsl
  airwatt explore captures/tcp-download.pcapng --radio esp32-c3 --battery 1000mAh
"""

_POLL_S = 3600.0
_MOST_PORT = 65_535


def command(
    source: Annotated[str, Argument(metavar="SCENARIO|CAPTURE", help="What to explore.", show_default=False)],
    port: Annotated[
        int, Option("--port", metavar="N", help="The port of 127.0.0.1 to listen at; 0 for any that is free.")
    ] = 0,
    set_: options.Set = None,
    seed: options.Seed = 1,
    station: Annotated[str | None, Option("--station", metavar="ADDR", help="The station in a capture.")] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="NAME", help="The radio in a capture: a name or file.")
    ] = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    user: options.User = None,
) -> None:
    """Serve a page with sliders: models answer while one drags, the simulation confirms.

    Only this machine reaches it, and only by the address that is printed. Ctrl-C ends it.
    """
    from airwatt.advice.question import is_capture
    from airwatt.explore.server import Explorer, Server
    from airwatt.explore.simulation import LIMIT

    if not 0 <= port <= _MOST_PORT:
        raise InputError(f"--port: expected 0 to {_MOST_PORT}, got {port}")
    options.battery(battery, allow_borrowed)
    laboratory.check_seeds(seed, 1)
    captured = is_capture(source)
    given = options.overrides(set_)
    if not captured and (station is not None or radio is not None or user is not None):
        raise InputError("--station, --radio, --user: expected a capture beside them, got a scenario")
    scenario = None if captured else laboratory.load(source, given)
    about: dict[str, Any] = {
        "capture": captured, "text": source, "set": given,
        "name": Path(source).name if scenario is None else scenario.name,
        "seed": seed, "station": station, "radio": radio, "battery": battery,
        "allow_borrowed": allow_borrowed,
        "user": options.parser_of_captures(user) if captured else None, "limit": LIMIT,
    }  # fmt: skip
    with interruptible(), contextlib.ExitStack() as ending:
        explorer = Explorer(about, scenario)
        ending.callback(explorer.close)
        server = Server(explorer, port)
        ending.callback(server.close)
        print_text(f"{server.address}\n")
        say("open this address in a browser; Ctrl-C ends")
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(_POLL_S)
