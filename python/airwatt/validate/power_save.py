"""Power save: `ba-ta-controller` and `psm-throughput` against stations that have these policies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airwatt import models
from airwatt._core import Quantity, Run, Scenario
from airwatt.reproductions.publication import Numbers, Point
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

Array = npt.NDArray[Any]

LINE_BPS = 1e6
PACKET_BYTES = 1500
RATIO_MIN = 0.3
GAINS = (0.5, 1.0, 2.0, 3.0, 4.5, 5.5)
UPDATE_S = 10
_FLOWS = 40
_ALONE_FROM_S = 40.0
"""By then the transfers that fill the line are over."""

# One packet in flight: the throughput is a packet in each interval, which is the model's assumption. Forty such
# connections fill the line first, so that its rate is known. An update takes many intervals, and nothing is smoothed;
# beacons, which would fetch packets of their own accord, are rare.
_CONTROLLER: dict[str, Any] = {
    "name": "controller",
    "base": "fast-dsl",
    "duration": "700s",
    "wired": {
        "rtt": "4ms",
        "down": {"rate": Quantity.of(LINE_BPS, "b/s"), "queue": "1000packets"},
        "up": {"rate": Quantity.of(LINE_BPS, "b/s")},
    },
    "ap": {"beacon_interval": "60s"},
    "tcp": {"receive_window": "1packets", "initial_window": 1, "delayed_ack": False},
    "station": [
        {
            "power_save": {
                "policy": "ba-ta",
                "t_update": Quantity.of(UPDATE_S, "s"),
                "ratio_min": RATIO_MIN,
                "count_max": 1,
                "n_max": 1000,
                "alpha": 0.0,
                "gamma": 1.0,
                "int_min": "1ms",
                "int_max": "400ms",
            },
        }
    ],
    "flow": [
        {"direction": "down", "transport": "newreno", "application": {"kind": "bulk", "size": size}}
        for size in (*["60kB"] * _FLOWS, "1GB")
    ],
}


def _nothing(_document: Mapping[str, Any]) -> Numbers:
    return {}


def _intervals(run: Run) -> Numbers:
    """The peak rate that was found, where the interval comes to rest, and by which factor it comes nearer."""
    columns = {column.name: column for column in dict(run.traces())["adaptations"]}

    def numbers(name: str) -> Array:
        return np.frombuffer(columns[name].data, dtype=np.int64)

    alone = numbers("time_ns") >= 1e9 * _ALONE_FROM_S
    # A row is a change of anything; the interval changes once in an update.
    intervals = numbers("interval_ns")[alone] / 1e9
    rest = float(np.mean(intervals[-8:]))
    before, after = intervals[:-1] - rest, intervals[1:] - rest
    # Far enough from rest for the count of intervals in an update not to matter, and with no limit in between: the
    # shortest interval, from which empty triggers lead back in steps of their own.
    free = (np.abs(before) > 0.04 * rest) & (np.minimum(intervals[:-1], intervals[1:]) > 0.6 * rest)
    multiplier = float(np.sum(before[free] * after[free]) / np.sum(before[free] ** 2))
    return {"peak": float(numbers("peak_rate_bps")[-1]), "rest": rest, "multiplier": multiplier}


def _controller_case(scenario: Scenario, gain: float) -> Case:
    overrides = (("station.power_save.gain", f"{gain:g}"),)
    point = Point(scenario, overrides, _nothing, 0.1, _intervals)

    def compare(samples: Samples) -> list[Figure]:
        solved = [
            models.ba_ta_controller(gain=gain, ratio_min=RATIO_MIN, b_s=8 * PACKET_BYTES / one["peak"])
            for one in samples[0]
        ]
        rest = [one["rest"] for one in samples[0]]
        steps = [1.0 - one["multiplier"] for one in samples[0]]
        return [
            # The line's rate is what equations 7 and 8 bound.
            figure("peak rate", "b/s", [one["peak"] for one in samples[0]], LINE_BPS, (-0.01, 0.01)),
            figure("fixed point", "s", rest, [float(one.fixed_point_s) for one in solved], (0.0, 0.03)),
            figure("step", "", steps, [1.0 - float(one.multiplier) for one in solved], (-0.05, 0.05)),
        ]

    return Case({"gain": gain}, (point,), compare)


def _controllers(_folder: Path) -> list[Case]:
    scenario = Scenario.of(_CONTROLLER)
    return [_controller_case(scenario, gain) for gain in GAINS]


_BA_TA = Validation(
    "ba-ta-controller",
    f"Policy ba-ta with ratio_min = {RATIO_MIN} and one packet in flight over a line of 1 Mb/s, so that the "
    "throughput is a packet in each interval; nothing is smoothed. The fixed point is where the interval comes to "
    "rest, a step the share of the distance to it that an update takes, 1 less the multiplier. B follows from the "
    "peak rate that was found.",
    _controllers,
    "gain",
    note="From one trigger to the next it is the interval and the packet's own time in the cell, 0.6 ms here, which "
    "the model leaves out.",
)

RTTS_MS = tuple(range(10, 311, 20))
UPS = {"1 Mb/s": 1e6, "3 Mb/s": 3e6}


def _download(document: Mapping[str, Any]) -> Numbers:
    """Throughput of the line's packets: the model counts their headers."""
    return {"throughput": document["flows"][0]["goodput_bps"] * 1500 / 1448}


def _psm_case(rtt_ms: int, up: str) -> Case:
    overrides = {"policy": "psm", "wired.rtt": f"{rtt_ms}ms", "wired.up.rate": up.replace(" Mb/s", "Mbps")}
    point = Point("fast-dsl", tuple(overrides.items()), _download, 0.1)

    def compare(samples: Samples) -> list[Figure]:
        solved = models.psm_throughput(rtt_s=rtt_ms / 1e3, up_bps=UPS[up])
        stated = (-0.1, 0.5) if solved.regime == "long" else (-0.1, 0.25)
        return [
            figure("throughput", "b/s", [one["throughput"] for one in samples[0]], float(solved.throughput_bps), stated)
        ]

    return Case({"up": up, "rtt_ms": float(rtt_ms)}, (point,), compare)


_PSM = Validation(
    "psm-throughput",
    "50 MB down a line of 16 Mb/s with a queue of 50 packets, policy psm.",
    lambda _folder: [_psm_case(rtt, up) for up in UPS for rtt in RTTS_MS],
    "rtt_ms",
    runs=3,
    note="The model leaves out slow start and the time of recoveries, which count most where round trips are long.",
)

VALIDATIONS = (_PSM, _BA_TA)
