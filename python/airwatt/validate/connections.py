"""One TCP connection over a link that loses packets: `tcp-throughput` and `tcp-latency`.

Both ends are a point-to-point link apart whose rate never binds. Each packet is lost for itself, acknowledgements and
SYNs too; the models' losses are of data, and those of a round belong together. The window grows with acknowledgements
(`tcp.window_growth = acks`), because b of the models is just that; with the default of counting bytes, b is 1
whatever the receiver does.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airwatt import models
from airwatt.reproductions.publication import At, Numbers, Point
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

LINK_BPS = 100e6
MSS_BYTES = 1460
MIN_RTO_S = 0.2

_LINK = {
    "link.rate": "100Mbps",
    "link.cut_through": "false",
    "link.queue": "100000packets",
    "link.errors.model": "uniform",
    "tcp.mtu": "1500B",
    "tcp.header": "40B",
    "tcp.rto_clock": "fine",
    "tcp.min_rto": f"{1e3 * MIN_RTO_S:g}ms",
    "tcp.initial_rto": "1s",
    "tcp.handshake": "true",
    "tcp.receive_window": "100000packets",
    "tcp.initial_ssthresh": "100MB",
    "tcp.window_growth": "acks",
    # RFC 5681, section 3.1; the stack of the scenario that this starts from has other rules.
    "tcp.window_rules": "rfc5681",
    "tcp.repeated_timeout": "keep",
    "tcp.delayed_ack_timeout": "40ms",
    "flow.transport": "reno",
    "flow.direction": "up",
}


def _overrides(p: float, rtt_ms: int, b: int, **further: str) -> tuple[tuple[str, str], ...]:
    mine = {
        "link.errors.error_rate": f"{p:g}",
        "link.delay": f"{rtt_ms / 2:g}ms",
        "tcp.delayed_ack": "true" if b > 1 else "false",
        **{key.replace("__", "."): value for key, value in further.items()},
    }
    return tuple((_LINK | mine).items())


def _round_trip_s(rtt_ms: int) -> float:
    """With the time of a packet and its acknowledgement on the line."""
    return rtt_ms / 1e3 + 8 * (MSS_BYTES + 80) / LINK_BPS


def _timeout_s(rtt_ms: int) -> float:
    """What a sender's timer comes to: the round trip and some variance, and its floor at least."""
    return max(MIN_RTO_S, rtt_ms / 1e3 + 0.1)


PS = (0.001, 0.003, 0.01, 0.03, 0.1)
STATED: dict[str, dict[float, tuple[float, float]]] = {
    "full": {0.0: (-0.15, 0.1), 0.03: (0.0, 0.15), 0.1: (0.2, 0.8)},
    "approximate": {0.0: (-0.12, 0.12), 0.03: (0.1, 0.3), 0.1: (0.4, 1.0)},
    "Mathis": {0.0: (-0.12, 0.2), 0.03: (0.25, 0.5), 0.1: (1.0, 2.1)},
}
"""By the formula: up to p = 0.01, at 0.03 and at 0.1."""


def _goodput(document: Mapping[str, Any]) -> Numbers:
    return {"goodput": document["flows"][0]["goodput_bps"]}


def _throughput_case(p: float, rtt_ms: int, b: int) -> Case:
    overrides = _overrides(p, rtt_ms, b, duration="1000s", flow__application__size="100GB", tcp__initial_window="1")
    point = Point("e2tcp", overrides, _goodput, 0.3)

    def compare(samples: Samples) -> list[Figure]:
        solved = models.tcp_throughput(p=p, rtt_s=_round_trip_s(rtt_ms), rto_s=_timeout_s(rtt_ms), b=b)
        runs = [one["goodput"] for one in samples[0]]
        return [
            figure(what, "b/s", runs, float(solved[name]), STATED[what][p if p > 0.01 else 0.0])
            for what, name in (("full", "goodput_bps"), ("approximate", "approximate_bps"), ("Mathis", "mathis_bps"))
        ]

    return Case({"rtt_ms": float(rtt_ms), "b": float(b), "p": p}, (point,), compare)


def _throughputs(_folder: Path) -> list[Case]:
    return [_throughput_case(p, rtt, b) for rtt, b in ((100, 1), (100, 2), (200, 1), (200, 2)) for p in PS]


_THROUGHPUT = Validation(
    "tcp-throughput",
    "Reno sends for 1000 s over a link of 100 Mb/s that loses each packet with probability p; b packets share an "
    "acknowledgement. T0 is the round trip and 100 ms, 200 ms at least.",
    _throughputs,
    "p",
    runs=4,
    logarithmic=True,
    note="At p = 0.1 half of the losses end in timeouts, and runs pay what the models leave out: the slow start after "
    "one, and its own losses.",
)

SIZES_KB = (10, 100, 1000)
LATENCY_RTT_MS = 100
LATENCY_PS = (0.001, 0.01, 0.03, 0.1)


def _complete(document: Mapping[str, Any]) -> Numbers:
    """From the SYN until the last packet has arrived, and the way back of an acknowledgement that nothing delays."""
    return {"time": document["flows"][0]["completed_s"] + _round_trip_s(LATENCY_RTT_MS) / 2}


def _latency_case(p: float, size_kb: int, initial: int, b: int) -> Case:
    overrides = _overrides(
        p, LATENCY_RTT_MS, b, flow__application__size=f"{size_kb}kB", tcp__initial_window=str(initial)
    )
    point = Point("e2tcp", overrides, _complete, 0.004)

    def compare(samples: Samples) -> list[Figure]:
        solved = models.tcp_latency(
            p=p,
            rtt_s=_round_trip_s(LATENCY_RTT_MS),
            rto_s=_timeout_s(LATENCY_RTT_MS),
            file_bytes=1e3 * size_kb,
            mss_bytes=MSS_BYTES,
            syn_timeout_s=1.0,
            b=b,
            initial_packets=initial,
            # The timer runs for the first packet alone.
            delayed_ack_s=0.04 if b > 1 and initial == 1 else 0.0,
        )
        stated = (-0.28, 0.3) if p <= 0.03 else (-0.5, 0.0)
        return [figure("time", "s", [one["time"] for one in samples[0]], float(solved.total_s), stated)]

    at: At = {"w1": float(initial), "b": float(b), "size_kb": float(size_kb), "p": p}
    return Case(at, (point,), compare)


def _latencies(_folder: Path) -> list[Case]:
    return [
        _latency_case(p, size, initial, b) for initial, b in ((1, 1), (10, 2)) for size in SIZES_KB for p in LATENCY_PS
    ]


_LATENCY = Validation(
    "tcp-latency",
    "Reno transfers a file over a link of 100 Mb/s and 100 ms there and back that loses each packet with probability "
    "p, from the SYN until all has arrived, and half a round trip; from an initial window of w1 packets, b packets "
    "to an acknowledgement.",
    _latencies,
    "p",
    runs=400,
    logarithmic=True,
    note="At p = 0.1 the model is short by what it leaves out: losses of the slow start after a timeout, and timeouts "
    "that stay doubled until a packet is timed again.",
)

VALIDATIONS = (_LATENCY, _THROUGHPUT)
