"""Figures 3.7, 3.10 and 3.12 in packets: an upload whose acknowledgements come for m packets each.

The equations take a window that grows by a packet in a round trip, and an acknowledgement each 1/m of a window's
packets, evenly spaced. Here TCP Reno uploads over a path that loses data packets at random, to a receiver that delays
its acknowledgements ("realized by using TCP delayed ACK"), and the frames are on the air as the standard times them.
Ideal sleep is the lower bound of the run under Active Mode, which like the equations knows when each acknowledgement
comes; the thesis calls that not feasible. Beside it stand two policies that know nothing of the kind and whose wake-ups
take the radio's millisecond: U-APSD at beacons (`psm`), and sleep after a millisecond without traffic (`timeout`).

Left out: wake-ups that fail. The clock of this radio is exact, and no beacon is missed.
"""

from collections.abc import Mapping
from typing import Any

from airwatt import models
from airwatt._core import Scenario
from airwatt.reproductions.hashimoto_2013.solved import solved, value
from airwatt.reproductions.publication import Lines, Numbers, Outcome, Point, Results, Table, Value
from airwatt.reproductions.series import mean_text
from airwatt.statistics import mean_ci95

P = (0.001, 0.01)
BURSTS = (1, 2, 5, 10)
GROWTHS = ("acks", "bytes")
"""What the window grows by: each acknowledgement, as in the TCPs of the thesis, or the bytes that it covers."""
FEASIBLE = {"psm": "psm", "timeout": "timeout:timeout=1ms"}
"""By what they are called: policies without knowledge of the future."""
SCENARIO = """
name = "bursts"

[tcp]
profile = "ns2-2001"
mtu = "1500B"
receive_window = "1.5MB"
min_rto = "3s"
initial_rto = "3s"
delayed_ack = true
delayed_ack_timeout = "500ms"

[[node]]
name = "server"

[[node]]
name = "ap"
program = [{ kind = "impairment", towards = "server", data_only = true, queue = 10000, step = "0ms" }]

[[node]]
name = "client"

[[link]]
name = "wire"
between = ["server", "ap"]
delay = "50ms"
forward = { rate = "100Mbps", queue = "2000packets" }
reverse = { rate = "100Mbps", queue = "2000packets" }

[[cell]]
name = "air"
access_point = { node = "ap" }
station = [{ node = "client", radio = "ar5004" }]

[cell.wifi]
standard = "802.11a"
data_rate = "54Mbps"
control_rate = "54Mbps"
access = "dcf"
aifsn = 2
txop = "0ms"
mac_overhead = "36B"
frame_error_rate = 0.3
station_rts_threshold = "0B"

[[flow]]
from = "client"
to = "server"
transport = "reno"
application = { kind = "bulk", size = "10MB" }
"""


def _measure(document: Mapping[str, Any]) -> Numbers:
    station, flow = document["stations"][0], document["flows"][0]
    return {"energy_j": station["energy_j"], "ideal_j": station["lower_bound_j"], "total_s": flow["completed_s"]}


def point(policy: str, growth: str, p: float, m: int) -> Point:
    """An upload under a policy, with the probability p of a lost packet and an acknowledgement for m packets."""
    delays = ("tcp.delayed_ack_segments", str(m)) if m > 1 else ("tcp.delayed_ack", "false")
    settings = (("node.ap.program.0.loss", f"{p:g}"), ("tcp.window_growth", growth), delays)
    return Point(_SCENARIO, (("policy", policy), *settings), _measure, 0.07)


_SCENARIO = Scenario.from_toml(SCENARIO)
_POINTS = {
    (name, growth, p, m): point(policy, growth, p, m)
    for name, policy in {"active": "active", **FEASIBLE}.items()
    for growth in GROWTHS
    for p in P
    for m in BURSTS
    if name == "active" or growth == "bytes"
}


def _packets(_home: str, results: Results) -> Outcome:
    outcome = Outcome()
    for p in P:
        rows = []
        for m in BURSTS:
            equations = models.tcp_energy(p=p, rtt_s=0.1, m=m)
            printed = {"awake": equations.cam_j, "ideal": equations.ideal_j, "latency": equations.burst_total_s}
            for mode, number in printed.items():
                what, unit = ("latency", "s") if mode == "latency" else ("energy", "J")
                outcome.values.append(value(what, float(number), unit, by="equations", mode=mode, p=p, m=float(m)))
            rows.append([f"{m}", "equations", *(f"{float(number):.3g}" for number in printed.values()), "", ""])
            for growth in GROWTHS:
                columns = {
                    (name, key): results.column(one, key)
                    for (name, grows, loss, burst), one in _POINTS.items()
                    for key in ("energy_j", "ideal_j", "total_s")
                    if (grows, loss, burst) == (growth, p, m)
                }
                outcome.values += _values(columns, growth, p, m)
                shown = [columns["active", "energy_j"], columns["active", "ideal_j"], columns["active", "total_s"]]
                feasible = [columns.get((name, "energy_j")) for name in FEASIBLE]
                texts = [*map(mean_text, shown), *("" if one is None else mean_text(one) for one in feasible)]
                rows.append([f"{m}", f"packets, {growth}", *texts])
        heads = ["m", "by", "awake (J)", "ideal (J)", "time (s)", *(f"{name} (J)" for name in FEASIBLE)]
        outcome.tables.append(Table(heads, rows, f"p = {p:g}, RTT 100 ms"))
    return outcome


def _values(columns: Mapping[tuple[str, str], list[float]], growth: str, p: float, m: int) -> list[Value]:
    found = []
    for (name, key), samples in columns.items():
        if key == "ideal_j" and name != "active":
            continue
        mode = {"energy_j": "awake" if name == "active" else name, "ideal_j": "ideal", "total_s": name}[key]
        what, unit = ("latency", "s") if key == "total_s" else ("energy", "J")
        at: dict[str, str | float] = {"by": f"packets, {growth}", "mode": mode, "p": p, "m": float(m)}
        found.append(Value(what, at, *mean_ci95(samples), unit))
    return found


FIGURES = (
    solved(
        "fig3.10.packets",
        "Figures 3.7, 3.10 and 3.12 in packets: bursts by delayed ACK",
        _packets,
        Lines(
            "energy",
            "m",
            ("by", "mode"),
            "m, packets in a burst",
            "energy (J)",
            log_y=True,
            scale="linear",
            where=(("p", P[0]),),
        ),
        tuple(_POINTS.values()),
    ),
)
