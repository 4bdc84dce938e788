# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""Awake and sleeping stations in one cell: who gets the bandwidth, and who pays.

python examples/mixed_cell.py [wire|cell] [drop-tail|fq-codel] prints for each power-save policy what ten stations get
that download without end, when one, five or nine of them, or all, save power and the others are awake: the goodput of
a station of each kind and the energy of its radio for each megabyte, as means over seeds 1 to 5.
"""

import sys
from statistics import mean

import airwatt

STATIONS = 10
SAVERS = (1, 5, 9, 10)
POLICIES = ("timeout", "psm", "uapsd", "ba-ta")
SEEDS = range(1, 6)
BOTTLENECKS = {"wire": "bulk", "cell": "wifi-bottleneck"}
"""The scenario of each: a line of 16 Mb/s before the cell, or one of 100 Mb/s."""
QUEUES = ("drop-tail", "fq-codel")


def cell(bottleneck: str, queue: str, policy: str, savers: int) -> airwatt.Scenario:
    """Ten stations of which `savers` have the policy and the others are awake."""
    groups = ((STATIONS - savers, "active"), (savers, policy))
    return airwatt.Scenario.of(
        {
            "base": BOTTLENECKS[bottleneck],
            "name": f"{savers} of {STATIONS} under {policy}",
            "duration": "40s",
            "tcp": {"profile": "linux"},
            "ap": {"queue": queue, "beacon_interval": "102.4ms"},
            "station": [
                {"count": count, "power_save": {"policy": name}, "radio": "broadcom-4311", "distance": "4m"}
                for count, name in groups
                if count
            ],
            "flow": [
                {
                    "direction": "down",
                    "transport": "cubic",
                    "start_spread": "1s",
                    "application": {"kind": "bulk"},
                }
            ],
        }
    )


def shares(scenario: airwatt.Scenario, awake: int, seed: int) -> list[tuple[float, float] | None]:
    """Mb/s and mJ/MB of an awake station and of one that saves power; `None` where there is none of a kind."""
    run = airwatt.run(scenario, seed=seed)
    found: list[tuple[float, float] | None] = []
    for part in (slice(0, awake), slice(awake, None)):
        flows, stations = run.flows[part], run.stations[part]
        megabytes = sum(flow.bytes_delivered for flow in flows) / 1e6
        energy_mj = 1e3 * sum(station.energy_j for station in stations)
        found.append((mean(flow.goodput_bps for flow in flows) / 1e6, energy_mj / megabytes) if flows else None)
    return found


def row(bottleneck: str, queue: str, policy: str, savers: int) -> list[tuple[float, float] | None]:
    """The means over the seeds of what `shares` has."""
    scenario = cell(bottleneck, queue, policy, savers)
    runs = [shares(scenario, STATIONS - savers, seed) for seed in SEEDS]
    return [
        None if kind[0] is None else (mean(mbps for mbps, _ in kind), mean(mj for _, mj in kind))
        for kind in zip(*runs, strict=True)
    ]


def line(name: str, savers: int, kinds: list[tuple[float, float] | None]) -> str:
    """A line of the table."""
    cells = ["      -      -" if kind is None else f"{kind[0]:7.2f}{kind[1]:7.0f}" for kind in kinds]
    return f"{name:<9} {savers:>6}  {cells[0]}  {cells[1]}"


def table(bottleneck: str, queue: str) -> None:
    """Prints the table of a bottleneck and a queue of the access point."""
    print(f"bottleneck {bottleneck}, {queue} at the access point")
    print("                      awake           saving")
    print("policy    saving     Mb/s  mJ/MB     Mb/s  mJ/MB")
    print(line("-", 0, row(bottleneck, queue, "active", 0)))
    for policy in POLICIES:
        for savers in SAVERS:
            print(line(policy, savers, row(bottleneck, queue, policy, savers)), flush=True)


if __name__ == "__main__":
    chosen = sys.argv[1:]
    print(f"one of {STATIONS} stations, means over {len(SEEDS)} seeds")
    for bottleneck in BOTTLENECKS:
        for queue in QUEUES:
            if {bottleneck, queue} >= set(chosen):
                table(bottleneck, queue)
