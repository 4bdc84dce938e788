"""`airwatt init`: a commented scenario to start from."""

from pathlib import Path
from typing import Annotated

from airwatt._core import InputError
from airwatt.cli.output import check_file, note_file, print_text, writing
from airwatt.cli.parameters import Argument
from airwatt.files import write_text

EPILOG = """\b
Examples:
  airwatt init
  airwatt init mine.toml
"""

TEMPLATE = """\
# A scenario: a server, a wire, an access point, and stations with their flows.
# Run it with `airwatt run THIS_FILE`; `airwatt keys` lists every key, `airwatt keys wired.rtt` explains one.
# A line that begins with "# " and a key is a key with its value in the base scenario, to be changed.

# Everything that this file does not say is as in the scenario that `base` names: one that ships (`airwatt scenarios`
# lists them) or a file beside this one. Tables are laid over those of the base key by key; lists of tables
# ([[station]], [[flow]]) replace the list of the base as a whole.
base = "fast-dsl"
description = "What this scenario is about, in a line"

# The wired path between the server and the access point.
[wired]
rtt = "40ms"                      # without queueing and transmission; half of it each way

[wired.down]
rate = "16Mbps"                   # of the slowest link, towards the station
queue = "50packets"               # before that link; also in bytes: "64kB"

[wired.up]
rate = "1Mbps"

# The access point.
[ap]
# dtim_period = 1                 # group-addressed frames follow every so many beacons
# beacon_interval = "102.4ms"
# buffer = "1000packets"

# The 802.11 air: a shipped set of values with changes.
# [wifi]
# base = "fast-wifi"
# frame_error_rate = 0.0

# One table for each group of like stations.
[[station]]
count = 1
radio = "broadcom-4311"           # `airwatt radios` lists them; or a file of your own (`airwatt radios --new FILE`)
distance = "4m"
power_save = { policy = "psm" }   # `airwatt policies` lists them; --policy NAME overrides it

# One table for each group of like flows: one flow for each station.
[[flow]]
direction = "down"
transport = "newreno"             # `airwatt transports` lists them; --transport NAME overrides it
application = { kind = "bulk", size = "10MB" }
"""


def command(
    file: Annotated[
        Path | None,
        Argument(metavar="[FILE]", help="Where to write it; printed without, or with -.", show_default=False),
    ] = None,
) -> None:
    """Write a commented scenario to start from."""
    if file is None or str(file) == "-":
        print_text(TEMPLATE)
        return
    check_file("init", file)
    if file.exists():
        raise InputError(f"init {file}: expected the name of a new file, got one that exists")
    with writing("init", file):
        write_text(file, TEMPLATE)
    note_file(file)
