"""Sums: `energy-throughput` against the energy ledger, `ap-buffer` against a buffer that is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from airwatt import models
from airwatt._core import Run
from airwatt.reproductions.publication import At, Numbers, Point
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

FILE_BYTES = 10e6
DATA_BYTES, HEADER_BYTES = 1000, 40
LINE_BPS = 2e6
RADIO = "wavelan-2001"
PS = (0.001, 0.01, 0.03, 0.1)
TRANSPORTS = ("reno", "newreno", "sack")


def _spent(document: Mapping[str, Any]) -> Numbers:
    station = document["stations"][0]
    return {
        "time": document["simulated_s"],
        "energy": station["energy_j"],
        "idealized": station["idealized_energy_j"],
    }


def _energy_case(transport: str, p: float) -> Case:
    overrides = {
        "flow.transport": transport,
        "flow.application.size": f"{FILE_BYTES:.0f}B",
        "link.rate": f"{LINE_BPS:.0f}bps",
        "link.errors.model": "uniform",
        "link.errors.error_rate": f"{p:g}",
        "station.radio": RADIO,
        "tcp.rto_clock": "fine",
        "tcp.min_rto": "200ms",
        "tcp.receive_window": "18packets",
    }
    point = Point("e2tcp", tuple(overrides.items()), _spent, 0.02)

    def compare(samples: Samples) -> list[Figure]:
        radio = models.radio(RADIO)
        packets = FILE_BYTES / DATA_BYTES
        sent_bytes = packets * (DATA_BYTES + HEADER_BYTES)
        solved = [
            models.energy_throughput(
                file_bytes=sent_bytes,
                throughput_bps=8 * sent_bytes / one["time"],
                line_rate_bps=LINE_BPS,
                received_bytes=packets * HEADER_BYTES,
                idle_w=radio["listen_w"],
                transmit_w=radio["transmit_w"],
                receive_w=radio["receive_w"],
            )
            for one in samples[0]
        ]
        named = (("energy", "total_j", (-0.005, 0.005)), ("idealized", "idealized_j", (-0.13, 0.06)))
        return [
            figure(what, "J", [one[what] for one in samples[0]], [float(one[name]) for one in solved], stated)
            for what, name, stated in named
        ]

    return Case({"transport": transport, "p": p}, (point,), compare)


_ENERGY = Validation(
    "energy-throughput",
    f"10 MB up a full-duplex link of 2 Mb/s that loses packets with probability p, radio {RADIO}. The model gets the "
    "mean throughput from the run: what is held against it is the sum of energies.",
    lambda _folder: [_energy_case(transport, p) for transport in TRANSPORTS for p in PS],
    "p",
    runs=2,
    logarithmic=True,
    note="A radio that sends does not receive at the same time: acknowledgements that come meanwhile cost nothing in "
    "runs. Retransmissions, which the model leaves out, show in the idealized energy.",
)

BUFFERS = (50, 77, 120, 243)
_WINDOW_S, _BIN_S = 1.0, 0.1


def _overflow(run: Run) -> Numbers:
    """The window at the first loss of data, and the throughput of the second before it."""
    tables = {name: {column.name: column for column in columns} for name, columns in run.traces()}

    def numbers(table: str, name: str) -> Any:
        column = tables[table][name]
        return np.frombuffer(column.data, dtype=np.int64 if column.kind == "i64" else np.uint32)

    window = numbers("congestion_window", "congestion_window_bytes").astype(np.float64)
    at_s = numbers("congestion_window", "time_ns") / 1e9
    first = int(np.argmax(np.diff(window) < 0))
    lost_s = at_s[first + 1]
    delivered_s = numbers("deliveries", "time_ns") / 1e9
    # Whole bins, without the first, in which the window is still small.
    before = (delivered_s >= max(_BIN_S, lost_s - _WINDOW_S - _BIN_S)) & (delivered_s < lost_s - _BIN_S)
    if not before.any():
        before = delivered_s < lost_s
    delivered = numbers("deliveries", "bytes").astype(np.float64)[before]
    return {"overflow": float(window[first]), "throughput": 8 * float(np.sum(delivered)) / (_BIN_S * len(delivered))}


def _round_trip(document: Mapping[str, Any]) -> Numbers:
    return {"rtt": document["flows"][0]["rtt_s_mean"]}


def _nothing(_document: Mapping[str, Any]) -> Numbers:
    return {}


def _buffer_case(packets: int, delayed: bool) -> Case:
    one_down = {
        "station": '[{ count = 1, buffer = "2000packets" }]',
        "flow": '[{ direction = "down", transport = "reno" }]',
        "ap.buffer": f"{packets}packets",
        "wired.rtt": "0.6ms",
        "duration": f"{packets // 6}s",
        "measure_from": "0s",
        "fairness_windows": "[]",
        # Below the buffer, so that the first loss is not one of slow start.
        "tcp.initial_ssthresh": f"{1460 * packets // 2}B",
        "tcp.delayed_ack": "true" if delayed else "false",
    }
    # The shortest round trip is that of a packet that is alone.
    alone = one_down | {"tcp.receive_window": "1packets", "duration": "2s", "tcp.delayed_ack": "false"}
    points = (
        Point("ten-up", tuple(one_down.items()), _nothing, 0.1, _overflow),
        Point("ten-up", tuple(alone.items()), _round_trip, 0.02),
    )

    def compare(samples: Samples) -> list[Figure]:
        estimates = [
            float(
                models.ap_buffer(
                    overflow_bytes=filled["overflow"],
                    throughput_bps=filled["throughput"],
                    min_rtt_s=bare["rtt"],
                    mss_bytes=1460,
                ).buffer_packets
            )
            for filled, bare in zip(*samples, strict=True)
        ]
        stated = (-0.03, 0.03) if delayed else (-0.4, 1.0)
        return [figure("buffer", "packets", [float(packets)] * len(estimates), estimates, stated)]

    at: At = {"acknowledged": "every second" if delayed else "each", "buffer": float(packets)}
    return Case(at, points, compare)


_BUFFER = Validation(
    "ap-buffer",
    "One download with Reno through an access point whose buffer is known, until its first loss of data.",
    lambda _folder: [_buffer_case(packets, delayed) for delayed in (True, False) for packets in BUFFERS],
    "buffer",
    runs=3,
    note="Here the runs have the buffer, and the model estimates it from what a sender sees. Without delayed "
    "acknowledgements the station sends as many frames as the access point, its own queue grows, and what waits "
    "there counts as in flight.",
)

VALIDATIONS = (_ENERGY, _BUFFER)
