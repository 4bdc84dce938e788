# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""For whom a latency guard pays: power save off, on, and under the guard, for many kinds of traffic.

python examples/latency_guard.py prints for each tail of the driver and each listen interval the 95th percentile of
what somebody waits for, and the power of the radio: with power save off, on (policy timeout), under the guard, and
under the guard with U-APSD triggers. Of several flows it is the slowest one's percentile; those of `day` follow. A star
says that some flow waits more than the bound of 30 ms longer than with power save off. Names of traffic as arguments
leave out the others; --tails 1500,2000 has these tails, in milliseconds, --beacons 1 only stations that receive every
beacon, and --runs 3 means over so many seeds. With --supplies the guard has the prices that the daemon takes on mains
and on battery.
"""

import argparse
from statistics import fmean
from typing import Any

import airwatt

BOUND_S = 0.030
TAILS_MS = (0, 20, 100, 250)
LISTEN_INTERVALS = (1, 3)
RADIO = "broadcom-4311"

Settings = dict[str, Any]

ASKED: Settings = {"flow.direction": "up"}
"""The other end sends requests to this host."""


def flow(direction: str, kind: str, transport: str = "cubic", **settings: Any) -> Settings:
    """A flow of a scenario."""
    start = settings.pop("start", "0s")
    application = {"kind": kind} | settings
    return {"direction": direction, "transport": transport, "start": start, "application": application}


def asked(mean_gap: str, count: int, start: str = "0s", fresh: bool = False) -> Settings:
    """A peer that sends requests at random times; `fresh`: each over a connection of its own."""
    return flow("up", "request-response", mean_gap=mean_gap, count=count, start=start, fresh=fresh)


def monitor(interval: str, count: int, jitter: str = "0s", fresh: bool = False) -> Settings:
    """A peer that sends a request in each interval, late by up to `jitter`; `fresh`: over a connection of its own."""
    times = {"interval": interval, "count": count, "jitter": jitter, "phase": "1s"}
    return flow("up", "periodic", begins="receiver", packet="200B", reply="1kB", fresh=fresh, **times)


def two_ways(kind: str, **sender: str) -> list[Settings]:
    """Datagrams in both directions; `sender` is the key that says who sends."""
    settings = [{key: value} for key, values in sender.items() for value in values.split()] or [{}, {}]
    return [flow(way, kind, "udp", **keys) for way, keys in zip(("down", "up"), settings, strict=True)]


def commands(pause: str, count: int = 30) -> Settings:
    """Somebody types commands of twelve keys into this host and reads after each for a while."""
    return flow("up", "request-response", mean_gap="200ms", burst=12, pause=pause, count=12 * count)


DAY = [
    monitor("60s", 59),
    flow("down", "web", count=20, mean_gap="20s", start="300s"),
    flow("down", "request-response", count=300, mean_gap="500ms", start="1200s"),
    asked("1s", 300, "1800s"),
    flow("down", "request-response", count=20, mean_gap="10s", response="2MB", start="2400s"),
    asked("60s", 15, "2700s"),
]
"""An hour: pages, keys typed here, keys typed into this host, files, rare messages, and a monitor throughout."""

PARTS = {
    "day": ("monitor", "pages", "keys-here", "keys-there", "files", "rare"),
    "mixed": ("stream", "keys-there"),
}
"""What the flows are of traffic whose flows have lines of their own."""

WIDE: Settings = {"wired.down.rate": "100Mbps", "wired.up.rate": "100Mbps"}
"""A line that holds up nothing: that of the scenario is narrower than a call with video."""

TRAFFIC: dict[str, tuple[str, Settings]] = {
    "keys-here": ("ssh", {"flow.application.count": "300"}),
    "keys-there": ("ssh", ASKED | {"flow.application.count": "300"}),
    "pages": ("web", {"flow.application.count": "40"}),
    "downloads": (
        "ssh",
        {"flow.application.count": "40", "flow.application.mean_gap": "8s", "flow.application.response": "2MB"},
    ),
    "stream": ("streaming", {}),
    "mqtt": ("ssh", ASKED | {"flow.application.count": "200", "flow.application.mean_gap": "10s"}),
    "samba": (
        "ssh",
        ASKED
        | {"flow.application.count": "300", "flow.application.mean_gap": "50ms", "flow.application.response": "64kB"}
        | WIDE,
    ),
    "idle": ("idle", {"duration": "60s"}),
}
"""Scenarios: keys typed here and into this host, pages, files, a stream, messages of a broker, a file server, none."""

MORE: dict[str, tuple[str, Settings]] = {
    "call": ("ssh", {"flow": two_ways("call"), "duration": "30s", "latency_percentiles": True} | WIDE),
    "game": ("ssh", {"flow": two_ways("game", sends="server player"), "duration": "60s", "latency_percentiles": True}),
    "gap-1s": ("ssh", {"flow": [asked("1s", 300)]}),
    "gap-2s": ("ssh", {"flow": [asked("2s", 300)]}),
    "gap-30s": ("ssh", {"flow": [asked("30s", 150)], "time_limit": "6h"}),
    "gap-60s": ("ssh", {"flow": [asked("60s", 150)], "time_limit": "6h"}),
    "each-30s": ("ssh", {"flow": [monitor("30s", 150)], "time_limit": "6h"}),
    "each-60s": ("ssh", {"flow": [monitor("60s", 100, "1s")], "time_limit": "6h"}),
    "curl": ("ssh", {"flow": [asked("5s", 300, fresh=True)]}),
    "poll-30s": ("ssh", {"flow": [monitor("30s", 150, "200ms", fresh=True)], "time_limit": "6h"}),
    "day": ("ssh", {"flow": DAY, "duration": "1h"}),
    "typed-5s": ("ssh", {"flow": [commands("5s")]}),
    "typed-20s": ("ssh", {"flow": [commands("20s")]}),
    "shell-open": ("ssh", {"flow": [commands("10s", 10)], "duration": "1h"}),
    "radio": ("streaming", {"flow.application.rate": "128kbps", "flow.application.block": "8kB"}),
    "mixed": ("ssh", {"flow": [flow("down", "streaming", rate="2Mbps", media="180s"), asked("500ms", 300)]}),
}
"""A call, a game, commands with pauses, an hour of which two minutes are typed, a stream of sound, one of video beside
keys typed into this host, peers that ask at random or regularly, over one connection or over one for each question, and
a mixed day: by name only."""

Cell = tuple[list[float], float]
"""The wait of each flow in seconds, and power in watts."""


def waits_s(run: airwatt.Result) -> list[float]:
    """The 95th percentile of each flow's answers, pages, files, blocks or packets; 0 without traffic."""

    def wait(flow: Any) -> float:
        times = (flow.response_s_p95, flow.block_s_p95, flow.latency_s_p95)
        return next((time for time in times if time is not None), 0.0)

    return [wait(flow) for flow in run.flows] or [0.0]


WITH_TRIGGERS = ("", ":reach=triggers")
SUPPLIES = (":worth=20s", ":worth=2s")
"""Settings of the guard in the last two columns. The latter are the daemon's `worth` and `worth_on_battery`."""


def measured(
    traffic: str, tail_ms: int, listen_interval: int, runs: int = 1, guards: tuple[str, ...] = WITH_TRIGGERS
) -> list[Cell]:
    """Waits and power: power save off, on, and under the guards. Of several runs the means."""
    scenario, settings = (TRAFFIC | MORE)[traffic]
    beacons = {"ap.beacon_interval": "102.4ms", "station.listen_interval": str(listen_interval)}
    settings = settings | beacons | {"station.radio": RADIO}
    tail = f"timeout={tail_ms}ms"
    policies = ["active", f"timeout:{tail}", *(f"latency-guard:{tail}{setting}" for setting in guards)]
    rows = airwatt.compare(scenario, policy=policies, set=settings, runs=runs).rows

    def cell(found: Any) -> Cell:
        waits = [fmean(each) for each in zip(*map(waits_s, found), strict=True)]
        return waits, fmean(run.stations[0].average_power_w for run in found)

    return [cell(row.runs) for row in rows]


def keeps_bound(off: Cell, other: Cell) -> bool:
    """Whether no flow waits more than the bound longer than with power save off."""
    return all(wait <= least + BOUND_S for wait, least in zip(other[0], off[0], strict=True))


BUFFERED = ("stream", "radio")
"""Traffic that a player buffers, so that nobody waits for it."""


def keeps_its_word(traffic: str, off: Cell, on: Cell, guard: Cell) -> bool:
    """Whether the guard keeps the bound for at most 5 % more than the cheaper of off and on that keeps it.

    What a player buffers is left to power save, once it is known.
    """
    if traffic in BUFFERED:
        return guard[1] <= 1.2 * on[1]
    cheapest = min(power for waits, power in (off, on) if keeps_bound(off, (waits, power)))
    return keeps_bound(off, guard) and guard[1] <= 1.05 * cheapest


def line(traffic: str, tail_ms: int, listen_interval: int, cells: list[Cell]) -> str:
    """A row of the table."""
    stars = [" " if keeps_bound(cells[0], cell) else "*" for cell in cells]
    waits = "".join(f"{max(waits) * 1e3:6.0f}{star}" for (waits, _), star in zip(cells, stars, strict=True))
    powers = "".join(f"{power * 1e3:5.0f}" for _, power in cells)
    return f"{traffic:10} {tail_ms:4} {listen_interval:7} {waits}  {powers}"


def lines(traffic: str, tail_ms: int, listen_interval: int, cells: list[Cell]) -> list[str]:
    """A row of the table, and below it the waits of each flow, if they have names."""
    rows = [line(traffic, tail_ms, listen_interval, cells)]
    for index, name in enumerate(PARTS.get(traffic, ())):
        of_flow = [([waits[index]], power) for waits, power in cells]
        rows.append(line(f"{name:>10}", tail_ms, listen_interval, of_flow)[: -len("  " + " " * 20)].rstrip())
    return rows


_UNITS = "                                  p95 [ms]                 power [mW]"
HEADS = {
    WITH_TRIGGERS: (_UNITS, "traffic    tail beacons    off     on  guard trigg.     off   on  grd trig"),
    SUPPLIES: (_UNITS, "traffic    tail beacons    off     on  mains batt.      off   on  mns batt"),
}


def main() -> None:
    """Print the table of the traffic that is named, or of that of docs/station.md."""
    parser = argparse.ArgumentParser(description="For whom a latency guard pays.")
    parser.add_argument("traffic", nargs="*", metavar="TRAFFIC", help=", ".join(TRAFFIC | MORE))
    parser.add_argument("--tails", default=",".join(map(str, TAILS_MS)), help="tails of the driver in milliseconds")
    parser.add_argument("--runs", type=int, default=1, help="seeds of which the means are printed")
    parser.add_argument("--beacons", default=",".join(map(str, LISTEN_INTERVALS)), help="listen intervals")
    parser.add_argument("--supplies", action="store_true", help="the guard on mains and on battery, without triggers")
    asked_for = parser.parse_args()
    guards = SUPPLIES if asked_for.supplies else WITH_TRIGGERS
    print("\n".join(HEADS[guards]))
    for kind in [kind for kind in asked_for.traffic if kind in TRAFFIC | MORE] or TRAFFIC:
        for tail_ms in map(int, asked_for.tails.split(",")):
            for interval in map(int, asked_for.beacons.split(",")):
                cells = measured(kind, tail_ms, interval, asked_for.runs, guards)
                print("\n".join(lines(kind, tail_ms, interval, cells)), flush=True)


if __name__ == "__main__":
    main()
