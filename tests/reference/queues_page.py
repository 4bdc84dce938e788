# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Writes the tables of docs/queues.md: python tests/reference/queues_page.py

The tables stand between marks in the page (`<!-- NAME -->`). Every cell is the mean of three runs.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

from airwatt import Scenario
from airwatt.laboratory import run

PAGE = Path(__file__).parents[2] / "docs" / "queues.md"
SEEDS = (1, 2, 3)
DISCIPLINES = ("drop-tail", "fq", "fq-codel", "cake")
FILTERS = ("drop-tail", "fq-codel", "cake", "cake-ack-filter")
CALL, PAGES, GAME = 2, 3, 7
"""Flows of the evening towards the house."""
RATES = {"14 Mbit/s": "HT20 MCS 8 GI 0.4us", "144 Mbit/s": "HT20 MCS 15 GI 0.4us"}
LISTEN_INTERVALS = (1, 3, 10)
BEACONS_MS = 102.4
LOADS = ("6Mbps", "16Mbps")
CODEL = {
    "from arrival": {"codel_since": "arrival"},
    "from release": {"codel_since": "release"},
    "50 and 300 ms": {"codel_since": "arrival", "codel_target": "50ms", "codel_interval": "300ms"},
    "100 ms and the doze": {"codel_since": "arrival"},
}
"""Settings of CoDel, of which the last one has an interval as long as the station may doze, and 100 ms."""


def documents(scenario: str | Scenario, keys: dict[str, str]) -> list[Any]:
    """The documents of the runs."""
    return [run(scenario, seed=seed, set=keys).to_dict() for seed in SEEDS]


def mean(values: list[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def evening(discipline: str) -> str:
    """A row of the table of the household's line: delays of packets towards the house, and of pages."""
    keys = {"latency_percentiles": "true", "duration": "2min", "wired.down.discipline": discipline}
    found = documents("evening", keys)

    def delays(flow: int) -> str:
        both = [mean([1e3 * each["flows"][flow][f"latency_s_p{p}"] for each in found]) for p in (50, 99)]
        return " / ".join(f"{one:.0f}" for one in both)

    pages = [mean([each["flows"][PAGES][f"response_s_p{p}"] for each in found]) for p in (50, 95)]
    video = mean([each["flows"][0]["video_bps_mean"] / 1e6 for each in found])
    energy = mean([sum(station["energy_j"] for station in each["stations"]) for each in found])
    cells = [discipline, delays(CALL), delays(GAME), " / ".join(f"{one:.1f}" for one in pages)]
    return f"| {' | '.join([*cells, f'{video:.1f}', f'{energy:.0f}'])} |"


def line(policy: str, discipline: str) -> str:
    """A row of the table of a line with a slow way up, over which a download and an upload go at once."""
    bulk = {"transport": "cubic", "application": {"kind": "bulk"}}
    scenario = Scenario.of(
        {
            "base": "fast-dsl",
            "duration": "30s",
            "tcp": {"profile": "linux"},
            "wired": {
                "rtt": "20ms",
                "down": {"rate": "16Mbps", "queue": "1000packets"},
                "up": {"rate": "1Mbps", "queue": "1000packets", "discipline": discipline},
            },
            "station": [{"power_save": {"policy": policy}}],
            "flow": [{"direction": "down", **bulk}, {"direction": "up", **bulk}],
        }
    )
    found = documents(scenario, {})
    down, up = ([each["flows"][flow]["goodput_bps"] / 1e6 for each in found] for flow in (0, 1))
    bytes_of = [sum(flow["bytes_delivered"] for flow in each["flows"]) / 1e6 for each in found]
    joules = [each["stations"][0]["energy_j"] / size for each, size in zip(found, bytes_of, strict=True)]
    packets = [each["links"][0]["reverse"]["packets"] for each in found]
    lost = [each["links"][0]["reverse"]["queue_drops"] for each in found]
    rtt = [1e3 * each["flows"][0]["rtt_s_mean"] for each in found]
    return (
        f"| {policy} | {discipline} | {mean(down):.2f} | {mean(up):.2f} | {mean(joules):.3f} | {mean(rtt):.0f} | "
        f"{mean(packets):.0f} | {mean(lost):.0f} |"
    )


def marks(policy: str, place: str, ecn: bool) -> str:
    """A row of the table of marks: a download through FQ-CoDel before a line, or at an access point."""
    line = place == "line"
    down = {"rate": "16Mbps" if line else "100Mbps", "queue": "1000packets"}
    queues: dict[str, Any] = {"ap": {"queue": "mac80211", "buffer": "8192packets"}}
    if line:
        queues, down["discipline"] = {}, "fq-codel"
    scenario = Scenario.of(
        {
            "base": "fast-dsl",
            "duration": "30s",
            "tcp": {"profile": "linux", "ecn": ecn},
            "wired": {"rtt": "20ms", "down": down, "up": {"rate": "20Mbps"}},
            "station": [{"power_save": {"policy": policy}}],
            "flow": [{"direction": "down", "transport": "cubic", "application": {"kind": "bulk"}}],
            **queues,
        }
    )
    found = documents(scenario, {})
    flows = [each["flows"][0] for each in found]
    joules = [1e6 * each["stations"][0]["energy_j"] / each["flows"][0]["bytes_delivered"] for each in found]
    again = mean([flow["segments_retransmitted"] for flow in flows])
    goodput = mean([flow["goodput_bps"] / 1e6 for flow in flows])
    rtt = mean([1e3 * flow["rtt_s_mean"] for flow in flows])
    does = "marks" if ecn else "drops"
    return f"| {place} | {policy} | {does} | {goodput:.2f} | {again:.0f} | {rtt:.0f} | {mean(joules):.3f} |"


def dozing(load: str, rate: str, listen_interval: int, setting: str) -> Scenario:
    """Datagrams at a constant rate to a station that fetches them at each so many-th beacon."""
    chosen = dict(CODEL[setting])
    if setting == "100 ms and the doze":
        chosen["codel_interval"] = f"{100 + listen_interval * BEACONS_MS:g}ms"
    station = {"power_save": {"policy": "psm"}, "radio": "halperin-2010", "mode": RATES[rate]}
    application = {"kind": "cbr", "rate": load, "packet": "1448B"}
    return Scenario.of(
        {
            "base": "wifi4",
            "duration": "20s",
            "latency_percentiles": True,
            "wired": {"rtt": "20ms", "down": {"rate": "100Mbps"}, "up": {"rate": "100Mbps"}},
            "ap": {"queue": "mac80211", "buffer": "8192packets", "power_save_buffer": "8192packets", **chosen},
            "station": [{**station, "listen_interval": listen_interval}],
            "flow": [{"direction": "down", "transport": "udp", "application": application}],
        }
    )


def codel(load: str, rate: str, listen_interval: int) -> str:
    """A row of the table of CoDel and power save: packets dropped in a thousand, and the 99th percentile of delays."""
    cells = []
    for setting in CODEL:
        found = documents(dozing(load, rate, listen_interval, setting), {})
        flows = [each["flows"][0] for each in found]
        lost = [
            1000 * each["cell"]["ap_drops"] / (each["cell"]["ap_drops"] + flow["bytes_delivered"] / 1448)
            for each, flow in zip(found, flows, strict=True)
        ]
        cells.append(f"{mean(lost):.1f} ({mean([1e3 * flow['latency_s_p99'] for flow in flows]):.0f} ms)")
    return f"| {load.removesuffix('Mbps')} | {rate} | {listen_interval} | {' | '.join(cells)} |"


def table(heads: list[str], rows: list[str]) -> str:
    """A table with these columns."""
    return "\n".join([f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|", *rows])


def marked(text: str, name: str, rows: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{rows}\n{end}{tail}"


def main() -> int:
    """Writes the page."""
    text = PAGE.read_text()
    heads = ["queue", "call p50 / p99 (ms)", "game p50 / p99 (ms)", "page p50 / p95 (s)", "video (Mbit/s)", "J"]
    text = marked(text, "evening", table(heads, [evening(discipline) for discipline in DISCIPLINES]))
    heads = ["policy", "queue up", "down (Mbit/s)", "up (Mbit/s)", "J/MB", "RTT (ms)", "packets up", "dropped"]
    rows = [line(policy, discipline) for policy in ("active", "psm") for discipline in FILTERS]
    text = marked(text, "line", table(heads, rows))
    heads = ["queue before", "policy", "CoDel", "down (Mbit/s)", "sent again", "RTT (ms)", "J/MB"]
    rows = [marks(*case) for case in itertools.product(("active", "timeout", "psm"), ("line", "air"), (False, True))]
    text = marked(text, "marks", table(heads, rows))
    heads = ["load (Mbit/s)", "rate", "listen interval", *CODEL]
    places = [(load, rate) for load in LOADS for rate in RATES if (load, rate) != ("16Mbps", "144 Mbit/s")]
    rows = [codel(load, rate, interval) for load, rate in places for interval in LISTEN_INTERVALS]
    PAGE.write_text(marked(text, "codel", table(heads, rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
