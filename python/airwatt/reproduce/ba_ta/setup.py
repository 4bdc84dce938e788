"""The one configuration of all simulated figures, and the points that they are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwatt.reproduce.publication import Numbers, Point, Results
from airwatt.reproduce.series import Series

CONFIGURATION = """\
One configuration serves every simulated figure; the paper leaves these open.
* Scenarios slow-dsl, fast-dsl and wifi-bottleneck as they ship, where each value that the paper
  does not give is marked. Buffers that are not varied hold 1000 packets.
* TCP NewReno without delayed ACKs (equation 2 counts a packet for each ACK), initial window of
  RFC 6928, no initial slow-start threshold. Least retransmission timeout as in Linux, SRTT +
  max(4 RTTVAR, 200 ms). The paper says nothing of its timer. With 200 ms for the timeout as a
  whole, a change of the trigger interval or of the mode is a spurious timeout: with an AP
  buffer of 20 packets PSM-Throttling, which is awake all the time but for the beginning, loses
  a fifth of its throughput that way. With RFC 6298's 1 s each real timeout of the start
  decides: 31 instead of 34 Mb/s with buffers of 160 packets, where nothing else is lost.
* BA-TA: ratio_min 0.9, G 0.9, count_max 10, N_max 3, n_trig_max 4, step_min 10 ms, util_min
  0.9, but where a figure varies one. Wi-Fi PSM is U-APSD with one trigger a beacon.
* 50 MB, beacons every 100 ms, energy of the Broadcom 4311 until the file is complete. Radios
  that change state do so free of charge, as in the paper.
* Streams: the first 100 s; 10 s of media at once, then blocks of 64 kB, over 20 ms.
* Pages: 50 to 65 objects, 300 to 500 kB together, one page a run. Sizes are log-normal with a
  spread of 0.3. The source of the pages has averages only, and the sizes decide the estimated
  peak rate: with the spread of general web traffic, 1.318, the energy at 110 ms is far from
  that of Wi-Fi PSM (fig16b), with nearly equal objects it is close.
* Figure 8a: 500 MB. At an RTT of 250 ms 50 MB end before the window reaches the buffer's limit.
* Axes have fewer points than the figures, so that all takes minutes. Ten runs with seeds in
  common for all curves; mean and 95 % confidence interval.
"""

BUFFERS = (20, 60, 100, 160)
RTTS = (10, 50, 90, 110, 150, 190, 210, 250, 310)
SLOW_DSL_BUFFERS = (20, 160)
SLOW_DSL_RTTS = (10, 110, 310)

ACCESS = {"slow": "slow-dsl", "fast": "fast-dsl", "wifi": "wifi-bottleneck"}
ACCESS_NAMES = {"slow": "slow DSL", "fast": "fast DSL", "wifi": "Wi-Fi bottleneck"}
NAMES = {
    "active": "Active Mode",
    "psm": "Wi-Fi PSM",
    "psm-throttling": "PSM-Throttling",
    "ba-ta": "BA-TA",
    "ba-ta+str": "BA-TA+Str",
    "ideal": "ideal",
}
UNITS = {"throughput": "Mbps", "energy": "J", "page": "s", "thr index": "", "energy index": ""}

COMMON = (("tcp.min_rto_of", "variance"),)
Settings = tuple[tuple[str, str], ...]


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: means over its stations and flows."""
    flows, stations = document["flows"], document["stations"]
    numbers = {
        "throughput": sum(flow["goodput_bps"] for flow in flows) / len(flows) / 1e6,
        "energy": sum(station["energy_j"] for station in stations) / len(stations),
        "timeouts": float(sum(flow["timeouts"] for flow in flows)),
    }
    for index, flow in enumerate(flows):
        if "response_s_mean" in flow:
            numbers["page"] = float(flow["response_s_mean"])
        if flow.get("measured_bps") is not None:
            numbers[f"measured {index}"] = flow["measured_bps"] / 1e6
    return numbers


def point(access: str, policy: str, settings: Sequence[tuple[str, str]] = (), cost_s: float = 0.06) -> Point:
    """A point; settings in one order, so that equal points are one."""
    overrides = (("policy", policy), *sorted((*COMMON, *settings)))
    return Point(ACCESS[access], overrides, measure, cost_s)


def buffer_setting(access: str, packets: float) -> tuple[str, str]:
    """The buffer before the bottleneck."""
    return ("ap.buffer" if access == "wifi" else "wired.down.queue", f"{packets:g}packets")


@dataclass(frozen=True)
class Axis:
    """What a figure varies, and where."""

    name: str
    label: str
    places: tuple[float, ...]

    def setting(self, access: str, x: float) -> Settings:
        """The scenario's keys at one place."""
        if self.name == "buffer_packets":
            return (buffer_setting(access, x),)
        return (("wired.rtt", f"{x:g}ms"),)


def buffers(access: str) -> Axis:
    """Figures 2 and 13, left: the buffer before the bottleneck."""
    places = SLOW_DSL_BUFFERS if access == "slow" else BUFFERS
    return Axis("buffer_packets", "buffer before the bottleneck (packets)", tuple(map(float, places)))


def rtts(access: str) -> Axis:
    """Figures 6 and 13, right: the round-trip time without power save."""
    places = SLOW_DSL_RTTS if access == "slow" else RTTS
    return Axis("rtt_ms", "round-trip time without power save (ms)", tuple(map(float, places)))


class Curve:
    """A policy with settings, over an axis of an access line."""

    def __init__(
        self,
        access: str,
        policy: str,
        axis: Axis,
        settings: Sequence[tuple[str, str]] = (),
        name: str = "",
        /,
        **at: str | float,
    ) -> None:
        self.access, self.policy, self.axis, self.settings = access, policy, axis, tuple(settings)
        self.name = name or NAMES[policy]
        self.at = {"policy": NAMES[policy], **at}

    def points(self) -> tuple[Point, ...]:
        """One for each place of the axis."""
        return tuple(
            point(self.access, self.policy, (*self.axis.setting(self.access, x), *self.settings))
            for x in self.axis.places
        )

    def series(self, results: Results, what: str) -> Series:
        """One quantity over the axis."""
        pairs = zip(self.axis.places, self.points(), strict=True)
        samples = {x: results.column(point_, what) for x, point_ in pairs}
        return Series(self.name, what, UNITS[what], self.at, self.axis.name, samples)
