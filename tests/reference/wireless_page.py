"""A table of docs/gateway.md: E2TCP beside the TCPs and the QUIC of today, over the hop of the thesis at three rates.

The path is that of `airwatt reproduce e2tcp-gateway` with a wired leg of 20 ms one way without loss, and 5 MB. The hop
has the errors of scenario A at good states of 10 s and of 1 s, or breaks of 1 s on average after 20 s of good state.

    python tests/reference/wireless_page.py
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from airwatt._core import Scenario, run
from airwatt.reproductions.e2tcp.setup import Settings, errors
from airwatt.reproductions.e2tcp_gateway.setup import PATHS, WAYS, Way, keys

RATES = ("500 k", "1 M", "2 M")
BREAKS = (("link.hop.errors.good", "20s"), ("link.hop.errors.bad", "1s"), ("link.hop.errors.bad_error_rate", "1"))
CELLS = (
    *((f"{rate}b/s, {good_s} s", rate, errors("A", good_s, "link.hop")) for good_s in (10, 1) for rate in RATES),
    ("1 Mb/s, breaks", "1 M", BREAKS),
)
"""The head of each column, the rate of the hop, and its errors."""
SEEDS = range(1, 11)
MEGABYTES = 5
WINDOW = "50packets"
"""The window of the TCPs that have the settings of 2001: more than the path holds at 2 Mb/s."""
LINUX = {"tcp": {"profile": "linux", "mtu": "1040B"}}
TODAY: dict[str, tuple[str, dict[str, Any]]] = {
    "Linux, CUBIC": ("cubic", LINUX),
    "Linux, BBRv3": ("bbr3", LINUX),
    "QUIC": ("quic", {"tcp": {"mtu": "1040B"}, "quic": {"mtu": "1200B"}}),
}
"""Rows that no way of the thesis is: the transport, and its settings. QUIC has no smaller packets."""
OF_THESIS = tuple(way for way in WAYS if way.name in ("SACK", "CUBIC", "split", "Snoop", "base only", "both ends"))
ROWS = (*(way.name for way in OF_THESIS[:2]), *TODAY, *(way.name for way in OF_THESIS[2:]))
_PATH = next(path for path in PATHS if path.delay_ms == 20 and not path.loss)


def scenario(name: str, rate: str, wrong: Settings) -> Scenario:
    """The path with one way to cross it."""
    transport, settings = TODAY.get(name, ("", {}))
    way = Way(name, transport) if transport else next(way for way in OF_THESIS if way.name == name)
    found = keys(way, _PATH)
    found["tcp"]["receive_window"] = WINDOW
    found |= settings
    found["link"][2]["rate"] = f"{rate.replace(' ', '')}bps"
    found["flow"][0]["application"]["size"] = f"{MEGABYTES}MB"
    return Scenario.of(found).replace(list(wrong))


def cell(name: str, rate: str, wrong: Settings) -> str:
    """Joules of the mobile's radio for a megabyte and goodput in Mb/s: means over the seeds."""
    path = scenario(name, rate, wrong)
    results = [json.loads(run(path, seed).json) for seed in SEEDS]
    energy = sum(result["stations"][0]["energy_j"] for result in results) / len(SEEDS) / MEGABYTES
    goodput = sum(result["flows"][0]["goodput_bps"] for result in results) / len(SEEDS) / 1e6
    return f"{energy:.1f} / {goodput:.2f}"


def row(name: str) -> str:
    """A row of the table."""
    return f"| {name} | " + " | ".join(cell(name, *of) for _, *of in CELLS) + " |"


def main() -> None:
    """Prints the table."""
    print("| J/MB / Mb/s | " + " | ".join(head for head, *_ in CELLS) + " |")
    print("| --- |" + " --- |" * len(CELLS))
    with ThreadPoolExecutor(2) as pool:
        for line in pool.map(row, ROWS):
            print(line, flush=True)


if __name__ == "__main__":
    main()
