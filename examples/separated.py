# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""A call and a download of one station: what separating them by access categories (802.11e) does under each policy.

python examples/separated.py [line|cell] prints, for a line of 16 Mb/s before the cell and for a cell that is the
bottleneck, and each power-save policy with one access category and with four, the delay of the call's packets in each
direction, the goodput of the download and the power of the radio, as means over seeds 1 to 3. The call is marked EF,
and has the category of voice where there are four.
"""

import sys
from statistics import mean

import airwatt

POLICIES = ("active", "timeout", "psm", "uapsd", "ba-ta", "ba-ta+str")
CATEGORIES = ("one", "four")
SEEDS = range(1, 4)
WIFI = {
    "standard": "802.11n",
    "data_rate": "130Mbps",
    "control_rate": "24Mbps",
    "beacon_rate": "6Mbps",
    "access": "edca",
}
"""With a category alone the parameters are those of best effort."""


BOTTLENECKS = {"line": "fast-dsl", "cell": "wifi-bottleneck"}
"""The scenario of each. Before the line flows take turns, so that the call does not wait there."""


def station(bottleneck: str, policy: str, categories: str) -> airwatt.Scenario:
    """A station of 802.11n with a call and a download."""
    call = {"transport": "udp", "dscp": 46, "application": {"kind": "cbr", "rate": "68800bps", "packet": "172B"}}
    return airwatt.Scenario.of(
        {
            "base": BOTTLENECKS[bottleneck],
            "name": f"a call and a download under {policy}",
            "duration": "30s",
            "measure_from": "5s",
            "latency_percentiles": True,
            "tcp": {"profile": "linux"},
            "wired": {"rtt": "20ms", "down": {"discipline": "fq-codel"}},
            "wifi": {**WIFI, **({"categories": "linux"} if categories == "four" else {"aifsn": 3})},
            "station": [{"power_save": {"policy": policy}, "radio": "broadcom-4311", "distance": "4m"}],
            "flow": [
                {"direction": "down", **call},
                {"direction": "up", **call},
                {"direction": "down", "transport": "cubic", "application": {"kind": "bulk"}},
            ],
        }
    )


def line(bottleneck: str, policy: str, categories: str) -> str:
    """A line of the table."""
    runs = [airwatt.run(station(bottleneck, policy, categories), seed=seed) for seed in SEEDS]
    delays = [
        mean(1e3 * run.flows[way][f"latency_s_p{percent}"] for run in runs) for way in (0, 1) for percent in (50, 99)
    ]
    rate = mean(run.flows[2].measured_bps / 1e6 for run in runs)
    power = mean(1e3 * run.stations[0].average_power_w for run in runs)
    both = [f"{middle:5.0f} / {most:<5.0f}" for middle, most in (delays[:2], delays[2:])]
    return f"{policy:<10} {categories:<5} {both[0]} {both[1]} {rate:9.1f} {power:8.0f}"


if __name__ == "__main__":
    print("a call and a download of one station, means over 3 seeds")
    for bottleneck in BOTTLENECKS:
        if not {bottleneck} >= set(sys.argv[1:]):
            continue
        print(f"bottleneck {bottleneck}")
        print("policy     cat.    call down       call up    download    radio")
        print("                p50 / p99 ms  p50 / p99 ms     Mb/s       mW")
        for policy in POLICIES:
            for categories in CATEGORIES:
                print(line(bottleneck, policy, categories), flush=True)
