"""Draws the pictures of the README, docs/topologies.md, docs/office.md and docs/models anew, by the command of each.

Left out: docs/img/ackloss-rates.png and emulation-fig2.9a.png, which need root and real time (their pages say how they
are made), and bata-*.png, which tests/reference/bata_figures.py draws from a sweep of minutes.
"""

import sys
from pathlib import Path

from airwatt import models
from airwatt.cli import status_of

IMAGES = Path(__file__).parents[1] / "docs" / "img"
# The scenarios of docs/topologies.md.
TOPOLOGIES = ("two-hops", "two-cells", "two-access-points", "four-in-a-row")
COMMANDS = {
    "compare.png": ["compare", "fast-dsl", "--policy", "active,psm"],
    "office.png": ["compare", "office", "--vary", "station.listen_interval=1,3,10"],
    "timeline.png": ["run", "fast-dsl", "--policy", "psm"],
    **{f"{name}.png": ["scenarios", name] for name in TOPOLOGIES},
    **{f"models/{name}.png": ["model", name, "--validate"] for name in models.ALL},
}


def main() -> int:
    """Returns the status of the first command that fails."""
    for picture, command in COMMANDS.items():
        status = status_of([*command, "--json", "--plot", str(IMAGES / picture)])
        if status:
            print(f"{picture}: airwatt {' '.join(command)} ended with {status}", file=sys.stderr)
            return status
    return 0


if __name__ == "__main__":
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        STATUS = main()
    sys.exit(STATUS)
