"""Uploads over the air: `tcp-energy` and `ack-gap`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airwatt import models
from airwatt.reproductions.hashimoto_2013.validation import CROSS_BYTES, CROSS_WIRE_BYTES, LINE_MBPS, WARM_UP_S
from airwatt.reproductions.hashimoto_2013.validation import point as cross_traffic
from airwatt.reproductions.publication import At, Numbers, Point
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

Q = 0.3
RTTS_MS = (50, 100, 200)
RETRIES = (2, 3, 4, 5)
BURSTS = (2, 5, 10)
PACKETS = 10e6 / 1500
MIN_RTO_S = 0.2
RADIOS = {"costly": "ar5004", "free": "broadcom-4311"}
"""By what their transitions cost: waking up 1.4 mJ, or nothing."""


def _spent(document: Mapping[str, Any]) -> Numbers:
    return {"energy": document["stations"][0]["energy_j"], "time": document["flows"][0]["completed_s"]}


def _upload(policy: str, radio: str, rtt_ms: int, retries: int, m: int) -> Point:
    overrides = {
        "wired.rtt": f"{rtt_ms}ms",
        "wifi.retry_limit": str(retries),
        "wifi.frame_error_rate": f"{Q}",
        "wifi.station_rts_threshold": "0B",
        "flow.direction": "up",
        "flow.transport": "reno",
        # As many packets as the model's 10 MB, which counts their headers.
        "flow.application.size": "9733333B",
        "tcp.delayed_ack": "true" if m > 1 else "false",
        "tcp.delayed_ack_segments": str(max(m, 2)),
        "tcp.delayed_ack_timeout": "40ms",
        "tcp.min_rto": f"{1e3 * MIN_RTO_S:g}ms",
        "station.radio": radio,
        "policy": policy,
    }
    return Point("reference-download", tuple(overrides.items()), _spent, 0.02)


def _stated(transitions: str, p: float, m: int, window: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """For time and energy awake, and for energy asleep."""
    if m == 1:
        # With few losses the window is still what slow start has left, above that of the steady state.
        few = p * PACKETS < 10
        return (-0.18, 0.45 if few else 0.18), (0.0, 0.75 if transitions == "costly" else 0.25)
    # Beyond half a window a timer ends the wait that the model counts.
    if m > window / 2:
        return (0.0, 0.55), (-0.2, 0.15)
    return (-0.12, 0.35), (-0.1, 0.4 if m == 2 else 0.18)


def _upload_case(transitions: str, rtt_ms: int, retries: int, m: int) -> Case:
    radio = RADIOS[transitions]
    points = tuple(_upload(policy, radio, rtt_ms, retries, m) for policy in ("active", "ideal"))
    p = Q ** (retries + 1)

    def compare(samples: Samples) -> list[Figure]:
        rtt_s = rtt_ms / 1e3
        powers = models.radio(radio)
        solved = models.tcp_energy(
            p=p,
            rtt_s=rtt_s + 0.002,
            m=m,
            # What the timers of the runs come to.
            rto_s=max(MIN_RTO_S, rtt_s + 0.1),
            q=Q,
            retries=retries,
            timing="ofdm",
            control_rate_bps=24e6,
            **powers,
        )
        awake, asleep = _stated(transitions, p, m, float(solved.loss_window_packets))
        # The latency of bursts is in the time alone; awake it is listening.
        waits_j = powers["listen_w"] * (float(solved.burst_total_s) - float(solved.total_s))
        column = {name: [one[name] for one in samples[0]] for name in ("time", "energy")}
        return [
            figure("time", "s", column["time"], float(solved.burst_total_s), awake),
            figure("awake", "J", column["energy"], float(solved.cam_j) + waits_j, awake),
            figure("ideal", "J", [one["energy"] for one in samples[1]], float(solved.ideal_j), asleep),
        ]

    at: At = {"waking": transitions, "rtt_ms": float(rtt_ms), "m": float(m), "p": float(f"{p:.2g}")}
    return Case(at, points, compare)


def _uploads(_folder: Path) -> list[Case]:
    alone = [_upload_case(cost, rtt, n, 1) for cost in RADIOS for rtt in RTTS_MS for n in RETRIES]
    return alone + [_upload_case(cost, 100, n, m) for cost in RADIOS for m in BURSTS for n in RETRIES]


_ENERGY = Validation(
    "tcp-energy",
    "10 MB up with Reno (802.11a); attempts fail with q = 0.3 and packets are given up after 2 to 5 retries, which "
    "gives p, and nothing else is lost. The receiver acknowledges every m-th segment, or after 40 ms. Policies "
    "active and ideal, with a radio whose transitions are costly (ar5004) and one whose are free (broadcom-4311).",
    _uploads,
    "p",
    runs=12,
    logarithmic=True,
    drawn=(("rtt_ms", 100.0),),
    note="Asleep the model is an upper bound for m = 1: it spaces the packets of a window evenly and wakes for each, "
    "in runs they come in clusters. Where m is more than half a window, the receiver's timer ends the wait that "
    "3.41 counts.",
)

CROSS_MBPS = (12, 20, 22, 25, 28)


def _gap_case(cross_mbps: int) -> Case:
    point = cross_traffic(cross_mbps)

    def compare(samples: Samples) -> list[Figure]:
        model = models.ack_gap(throughput_bps=1e6 * (LINE_MBPS - cross_mbps * CROSS_WIRE_BYTES / CROSS_BYTES)).gap_s
        return [figure("gap", "s", [one["gap_ms"] / 1e3 for one in samples[0]], float(model), (-0.15, 0.15))]

    return Case({"cross_mbps": float(cross_mbps)}, (point,), compare)


_GAPS = Validation(
    "ack-gap",
    f"An upload with Reno over a wire of {LINE_MBPS} Mb/s and 100 ms there and back, which constant-rate traffic of "
    f"others shares; the mean gap between acknowledgements after {WARM_UP_S} s.",
    lambda _folder: [_gap_case(cross) for cross in CROSS_MBPS],
    "cross_mbps",
    runs=3,
    note="The mean alone: the distribution of gaps is not that of runs (figure 3.6).",
)

VALIDATIONS = (_ENERGY, _GAPS)
