"""Uplink frames and goodput of a download behind the base station of E2TCP, for each rate of losses on the hop.

A server sends 20 MB over a wired leg (100 Mb/s, 5 ms one way) and a hop of 50 Mb/s and 5 ms one way, which loses frames
in either direction by chance. Packets carry 1,394 bytes, as those of `airwattd gateway` do. The uplink frames are the
packets that the mobile sends over the hop.

    python docs/examples/gateway_frames.py
"""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from airwatt._core import Scenario, run

LOSSES = (0.0, 0.001, 0.01, 0.03)
SEEDS = (1, 2, 3)
THINNED = {"ack_every": 4, "learn_window": True}
WAYS: dict[str, dict[str, Any]] = {
    "TCP from end to end (CUBIC)": {"transport": "cubic"},
    "TCP on both legs (split)": {"transport": "split"},
    "E2TCP": {"transport": "e2tcp"},
    "E2TCP, `ack_every = 4`": {"transport": "e2tcp", "e2tcp": {"ack_every": 4}},
    "E2TCP, `learn_window`": {"transport": "e2tcp", "e2tcp": {"learn_window": True}},
    "E2TCP, both": {"transport": "e2tcp", "e2tcp": THINNED},
}
"""Rows of the table, and what each has beside the common keys."""


def scenario(way: dict[str, Any], loss: float) -> Scenario:
    """The path with one way to cross it."""
    wire = {"rate": "100Mbps", "queue": "1000packets"}
    base: dict[str, Any] = {"name": "base"}
    if way["transport"] != "cubic":
        base["program"] = [{"kind": "gateway", "transport": "cubic", "buffer": "256KiB"}]
    hop = {"name": "hop", "kind": "point-to-point", "between": ["base", "mobile"], "rate": "50Mbps", "delay": "5ms"}
    return Scenario.of(
        {
            "node": [{"name": "server"}, base, {"name": "mobile"}],
            "tcp": {"mtu": "1434B", "receive_window": "1MB"},
            "link": [
                {"name": "wire", "between": ["server", "base"], "delay": "5ms", "forward": wire, "reverse": wire},
                hop
                | {"queue": "1000packets", "radio": "wavelan-2001"}
                | ({"errors": {"model": "uniform", "error_rate": loss}} if loss else {}),
            ],
            "flow": [
                {
                    "from": "server",
                    "to": "mobile",
                    "transport": way["transport"],
                    "application": {"kind": "bulk", "size": "20MB"},
                }
            ],
        }
        | ({"e2tcp": way["e2tcp"]} if "e2tcp" in way else {})
    )


def measure(way: dict[str, Any], loss: float) -> tuple[float, float]:
    """Goodput in Mb/s, and uplink frames for 1,000 packets of data: means over the seeds."""
    path = scenario(way, loss)
    results = []
    for seed in SEEDS:
        result = json.loads(run(path, seed).json)
        (hop,) = (link for link in result["links"] if link["name"] == "hop")
        frames = hop["reverse"]["packets"] / (20e6 / 1394) * 1000
        results.append((result["flows"][0]["goodput_bps"] / 1e6, frames))
    return tuple(sum(values) / len(values) for values in zip(*results, strict=True))  # type: ignore[return-value]


def main() -> None:
    """Prints the table."""
    cells = {(name, loss): (way, loss) for name, way in WAYS.items() for loss in LOSSES}
    with ThreadPoolExecutor() as pool:
        measured = dict(zip(cells, pool.map(lambda cell: measure(*cell), cells.values()), strict=True))
    head = [f"{100 * loss:g} % lost" if loss else "no loss" for loss in LOSSES]
    print("| Mb/s / uplink frames for 1,000 packets | " + " | ".join(head) + " |")
    print("| --- |" + " --- |" * len(LOSSES))
    for name in WAYS:
        values = (measured[name, loss] for loss in LOSSES)
        print(f"| {name} | " + " | ".join(f"{goodput:.1f} / {frames:.0f}" for goodput, frames in values) + " |")


if __name__ == "__main__":
    main()
