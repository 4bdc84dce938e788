"""Draws the pictures of the README, docs/topologies.md, docs/office.md and docs/models anew, by the command of each.

Left out: docs/img/ackloss-rates.png and emulation-fig2.9a.png, which need root and real time (their pages say how they
are made). The picture of a report is taken in a browser; without Chromium it stays as it is.
"""

import sys
import tempfile
from pathlib import Path

from airwatt import models
from airwatt.cli import status_of

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "img"
# The scenarios of docs/topologies.md.
TOPOLOGIES = ("two-hops", "two-cells", "two-access-points", "hidden-stations", "four-in-a-row")
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
    return report()


def report() -> int:
    """Shows the report of docs/report.md in a browser."""
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from browser import PROGRAM, Browser

    if PROGRAM is None:
        print("report.png: chromium is not installed; the picture stays as it is", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        command = ["report", "fast-dsl", "--runs", "5", "--battery", "1000mAh@3.7V", "-o", str(path)]
        status = status_of(command)
        if status == 0:
            with Browser() as page:
                page.open(f"file://{path}")
                page.screenshot(str(IMAGES / "report.png"), until="#time")
    return status


if __name__ == "__main__":
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        STATUS = main()
    sys.exit(STATUS)
