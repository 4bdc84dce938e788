# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""For whom a latency guard pays: power save off, on, and under the guard, for eight kinds of traffic.

python examples/latency_guard.py prints for each tail of the driver and each listen interval the 95th percentile of
what somebody waits for, and the power of the radio: with power save off, on (policy timeout), under the guard, and
under the guard with U-APSD triggers. A star follows what waits more than the bound of 30 ms longer than with power
save off. Names of traffic as arguments leave out the others.
"""

import sys

import airwatt

BOUND_S = 0.030
TAILS_MS = (0, 20, 100, 250)
LISTEN_INTERVALS = (1, 3)
RADIO = "broadcom-4311"

ASKED = {"flow.direction": "up"}
"""The other end sends requests to this host."""

TRAFFIC: dict[str, tuple[str, dict[str, str]]] = {
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
        | {"wired.down.rate": "100Mbps", "wired.up.rate": "100Mbps"},
    ),
    "idle": ("idle", {"duration": "60s"}),
}
"""Scenarios: keys typed here and into this host, pages, files, a stream, messages of a broker, a file server, none."""


def waits_s(run: airwatt.Result) -> float:
    """The 95th percentile of answers, pages, files or blocks; 0 without traffic."""
    times = [flow.response_s_p95 if flow.responses is not None else flow.block_s_p95 for flow in run.flows]
    return max((time for time in times if time is not None), default=0.0)


def measured(traffic: str, tail_ms: int, listen_interval: int) -> list[tuple[float, float]]:
    """Wait in seconds and power in watts: power save off, on, under the guard, and with triggers."""
    scenario, settings = TRAFFIC[traffic]
    beacons = {"ap.beacon_interval": "102.4ms", "station.listen_interval": str(listen_interval)}
    settings = settings | beacons | {"station.radio": RADIO}
    tail = f"timeout={tail_ms}ms"
    policies = ["active", f"timeout:{tail}", f"latency-guard:{tail}", f"latency-guard:{tail}:reach=triggers"]
    rows = airwatt.compare(scenario, policy=policies, set=settings).rows
    return [(waits_s(row.runs[0]), row.runs[0].stations[0].average_power_w) for row in rows]


def keeps_its_word(off: tuple[float, float], on: tuple[float, float], guard: tuple[float, float]) -> bool:
    """Whether the guard keeps the bound for at most 5 % more than the cheaper of off and on that keeps it."""
    cheapest = min(power for wait, power in (off, on) if wait <= off[0] + BOUND_S)
    return guard[0] <= off[0] + BOUND_S and guard[1] <= 1.05 * cheapest


def line(traffic: str, tail_ms: int, listen_interval: int, cells: list[tuple[float, float]]) -> str:
    """A row of the table."""
    limit = cells[0][0] + BOUND_S
    waits = "".join(f"{wait * 1e3:7.0f}{'*' if wait > limit else ' '}" for wait, _ in cells)
    powers = "".join(f"{power * 1e3:6.0f}" for _, power in cells)
    return f"{traffic:10} {tail_ms:4} {listen_interval:7} {waits}  {powers}"


HEAD = (
    "                                           p95 [ms]                power [mW]",
    "traffic    tail beacons     off     on   guard triggers   off    on guard trigg.",
)


def main() -> None:
    """Print the table of the traffic that is named, or of all."""
    print("\n".join(HEAD))
    for kind in [kind for kind in sys.argv[1:] if kind in TRAFFIC] or TRAFFIC:
        for tail_ms in TAILS_MS:
            for interval in LISTEN_INTERVALS:
                print(line(kind, tail_ms, interval, measured(kind, tail_ms, interval)))


if __name__ == "__main__":
    main()
