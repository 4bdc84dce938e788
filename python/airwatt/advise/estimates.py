"""What the models say of a candidate, before anything runs.

`mac-frame` has what a packet's frames take and cost, `psm-throughput` how long a download through power save lasts, the
pace of the packets for how long a radio can sleep in between; the rest of the time it listens or sleeps, and wakes for
beacons and triggers. `sctp-tunnel` says what a tunnel of bursts would save. Left out: policies that adapt (`ba-ta`),
whose interval no equation gives for a traffic, and whatever TCP makes of the delay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from airwatt import laboratory, models
from airwatt._core import InputError, Scenario
from airwatt.advise.answer import Candidate, Figures
from airwatt.advise.question import quantity

_MODELLED = ("bulk", "cbr", "interactive")


@dataclass(frozen=True)
class Setting:
    """What the models need of a scenario."""

    rtt_s: float
    down_bps: float
    up_bps: float
    queue_packets: float
    beacon_s: float
    guard_s: float
    mtu_bytes: float
    header_bytes: float
    data_rate_bps: float
    control_rate_bps: float
    data_for_ack: float
    duration_s: float | None
    radio: dict[str, float]
    flows: list[dict[str, Any]]


def setting_of(scenario: Scenario) -> Setting | None:
    """None for what the models do not describe: no line, no Wi-Fi, several stations or cells, endless bulk."""
    text = scenario.to_dict()
    if "cell" in text:
        return None
    stations = text["station"]
    if "wired" not in text or "wifi" not in text or len(stations) != 1 or stations[0]["count"] != 1:
        return None
    wired, wifi, station = text["wired"], text["wifi"], stations[0]
    flows = text["flow"]
    if any(one["application"]["kind"] not in _MODELLED for one in flows):
        return None
    if any(one["application"] == {"kind": "bulk"} for one in flows):
        return None
    try:
        radio = models.radio(station["radio"])
    except InputError:
        return None  # a file of the user's
    queue = wired["down"]["queue"]
    in_packets = isinstance(queue, str) and queue.endswith("packets")
    return Setting(
        rtt_s=wired["rtt"].value,
        down_bps=wired["down"]["rate"].value,
        up_bps=wired["up"]["rate"].value,
        queue_packets=float(queue.removesuffix("packets")) if in_packets else 50.0,
        beacon_s=text["ap"]["beacon_interval"].value,
        guard_s=_guard_s(station["radio"], text["ap"]["beacon_interval"].value),
        mtu_bytes=text["tcp"]["mtu"].value,
        header_bytes=text["tcp"]["header"].value,
        data_rate_bps=wifi["data_rate"].value,
        control_rate_bps=wifi["control_rate"].value if "control_rate" in wifi else 24e6,
        data_for_ack=float(text["tcp"]["delayed_ack_segments"]) if text["tcp"]["delayed_ack"] else 1.0,
        duration_s=text["duration"].value if "duration" in text else None,
        radio=radio,
        flows=flows,
    )


def _guard_s(radio: str, slept_s: float) -> float:
    """How long before a beacon the radio is awake, after so long a sleep."""
    clock = laboratory.radio(radio).sleep_clock
    return float(clock.guard_s + 1e-6 * (clock.accuracy_ppm * slept_s + clock.wander_ppm * math.sqrt(slept_s)))


_BEACON_S = 0.000_15
"""A beacon's own time, about."""
_USUAL_BEACON_S = 0.1024
"""A hundred time units, which the replay of a capture has, too, where the capture shows no beacons."""
_GUARD_S = 0.0005
"""How long before a beacon a radio is awake: that of a radio whose profile says nothing of its clock."""


class Pace(Protocol):
    """When packets come, as far as a policy's timers meet it."""

    def asleep(self, timeout_s: float, rest_s: float) -> tuple[float, float]:
        """How long a radio sleeps that stays awake for `timeout_s` after each packet, and how often."""

    def late_share(self, timeout_s: float, asleep_s: float) -> float:
        """The share of the packets that can be late which find it asleep."""

    def triggers(self, interval_s: float, elapsed_s: float) -> float:
        """How often a trigger goes out that each packet up puts off by `interval_s`."""


@dataclass(frozen=True)
class Steady:
    """Packets spread over the time, as a scenario describes them."""

    packets: float
    has_bulk: bool
    gap_up_s: float
    """Between packets that come up by themselves at a constant rate."""

    def asleep(self, timeout_s: float, rest_s: float) -> tuple[float, float]:
        """All or nothing: between packets, or never."""
        awake_s = self.packets * timeout_s
        return (0.0, 0.0) if self.has_bulk or awake_s > rest_s else (rest_s - awake_s, self.packets)

    def late_share(self, timeout_s: float, asleep_s: float) -> float:
        """All, if it sleeps at all."""
        return 1.0 if asleep_s else 0.0

    def triggers(self, interval_s: float, elapsed_s: float) -> float:
        """The answers to bulk come in bursts and leave gaps."""
        return elapsed_s / interval_s if self.has_bulk or self.gap_up_s > interval_s else 0.0


@dataclass(frozen=True)
class Captured:
    """Packets as a capture has them: times without one, by how long they are at least."""

    gaps: Sequence[Mapping[str, float]]
    gaps_up: Sequence[Mapping[str, float]]
    packets_down: float

    def asleep(self, timeout_s: float, rest_s: float) -> tuple[float, float]:
        """What is left of each longer gap."""
        gaps = _longer(self.gaps, timeout_s)
        return min(rest_s, gaps["time_s"] - gaps["count"] * timeout_s), gaps["count"]

    def late_share(self, timeout_s: float, asleep_s: float) -> float:
        """Those that end a longer gap, of those that come to the station."""
        return _longer(self.gaps, timeout_s)["before_down"] / self.packets_down if self.packets_down else 0.0

    def triggers(self, interval_s: float, elapsed_s: float) -> float:
        """One in each interval of a longer gap, less the part of an interval that each gap ends in."""
        gaps = _longer(self.gaps_up, interval_s)
        return max(0.0, gaps["time_s"] / interval_s - gaps["count"] / 2)


def _longer(gaps: Sequence[Mapping[str, float]], bound_s: float) -> Mapping[str, float]:
    """The gaps that are longer than the bound: how many, and how long together."""
    return min(gaps, key=lambda gap: abs(gap["longer_than_s"] - bound_s))


@dataclass(frozen=True)
class Traffic:
    """All packets of a run or a capture, with what their frames cost a radio that is awake for them."""

    elapsed_s: float
    goodput_bps: float | None
    down_packets: float
    wakes: float | None
    """How often packets wake a radio that sleeps at once; None where each that is polled for does."""
    busy_s: float
    frames_j: float
    poll_j: float
    """A short frame up: a trigger or a PS-Poll."""
    end_j: float
    """A short frame down, which ends what a trigger asks for."""
    pace: Pace
    down_wait_s: float
    """How long a packet down waits at most for a packet up that fetches it; zero without packets down but answers."""
    late_share: float
    """The share of the packets that can be late: 1 where the flow that suffers most counts."""
    radio: Mapping[str, float]
    beacon_s: float
    guard_s: float


def _frames(setting: Setting, bytes_up: float, bytes_down: float) -> Any:
    return _exchanges(setting.radio, (setting.data_rate_bps, setting.control_rate_bps), bytes_up, bytes_down)


def _exchanges(radio: Mapping[str, float], rates_bps: tuple[float, float], up: float, down: float) -> Any:
    """A packet of so many bytes up, and one down, without failures."""
    powers = {name: radio[name] for name in ("transmit_w", "receive_w", "listen_w")}
    return models.mac_frame(
        q=0.0,
        data_bytes=max(up, 1.0),
        ack_bytes=max(down, 1.0),
        data_rate_bps=rates_bps[0],
        control_rate_bps=rates_bps[1],
        timing="ofdm",
        protection="none",
        **powers,
    )


def _bulk_bps(setting: Setting, direction: str, policy: str) -> float:
    """What one bulk flow gets, in bit/s of IP packets."""
    bulk = [one for one in setting.flows if one["application"]["kind"] == "bulk"]
    same = sum(one["direction"] == direction for one in bulk)
    line = setting.down_bps if direction == "down" else setting.up_bps
    air = _frames(setting, setting.mtu_bytes, setting.mtu_bytes)
    share = min(line, 8 * setting.mtu_bytes / float(air.uplink_s)) / same
    if policy in ("psm", "psm-legacy") and direction == "down" and len(setting.flows) == 1:
        asked = models.psm_throughput(
            rtt_s=setting.rtt_s,
            down_bps=setting.down_bps,
            up_bps=setting.up_bps,
            queue_packets=setting.queue_packets,
            beacon_s=setting.beacon_s,
            mtu_bytes=setting.mtu_bytes,
            ack_bytes=setting.header_bytes,
        )
        return float(min(share, asked.throughput_bps))
    return float(share)


def traffic_of(setting: Setting, policy: str) -> Traffic:
    """A scenario's packets under a policy, which decides how long a download takes."""
    payload = setting.mtu_bytes - setting.header_bytes
    elapsed = setting.duration_s or 0.0
    sizes = {}
    for index, one in enumerate(setting.flows):
        if one["application"]["kind"] == "bulk":
            sizes[index] = one["application"]["size"].value
            rate = _bulk_bps(setting, one["direction"], policy) * payload / setting.mtu_bytes
            if setting.duration_s is None:
                elapsed = max(elapsed, 8 * sizes[index] / rate)
            else:
                sizes[index] = min(sizes[index], rate * elapsed / 8)
    down = up = busy = joules = bits = 0.0
    for index, one in enumerate(setting.flows):
        data, count = _packets(setting, one, elapsed, sizes.get(index))
        answers = 0.0 if one["transport"] == "udp" else count / setting.data_for_ack
        upward = one["direction"] == "up"
        air = _frames(setting, *((data, setting.header_bytes) if upward else (setting.header_bytes, data)))
        ups, downs = (count, answers) if upward else (answers, count)
        up, down = up + ups, down + downs
        busy += ups * float(air.uplink_s) + downs * float(air.downlink_s)
        joules += ups * float(air.uplink_j) + downs * float(air.downlink_j)
        bits += 8 * count * (data - setting.header_bytes)
    waits = any(one["direction"] == "down" for one in setting.flows)
    has_bulk = bool(sizes)
    # Over a fixed time a bulk flow's goodput is that of the time until it is done, which no model gives.
    known = elapsed > 0 and (setting.duration_s is None or not has_bulk)
    return Traffic(
        elapsed_s=elapsed,
        goodput_bps=bits / elapsed if known else None,
        down_packets=down,
        wakes=None,
        busy_s=busy,
        frames_j=joules,
        poll_j=float(_frames(setting, 1.0, 1.0).uplink_j),
        end_j=float(_frames(setting, 1.0, 1.0).downlink_j),
        pace=Steady(down + up, has_bulk, min(_gaps_up(setting), default=math.inf)),
        down_wait_s=min([setting.beacon_s, *_gaps_up(setting)]) if waits else 0.0,
        late_share=1.0,
        radio=setting.radio,
        beacon_s=setting.beacon_s,
        guard_s=setting.guard_s,
    )


def _gaps_up(setting: Setting) -> list[float]:
    """Times between the packets that flows send up by themselves, at a constant rate."""
    upward = [one["application"] for one in setting.flows if one["direction"] == "up"]
    return [8 * sent["packet"].value / sent["rate"].value for sent in upward if sent["kind"] == "cbr"]


def _packets(setting: Setting, one: Mapping[str, Any], elapsed: float, size: float | None) -> tuple[float, float]:
    """The length of an IP packet with data of a flow, and how many there are."""
    if size is not None:
        return setting.mtu_bytes, size / (setting.mtu_bytes - setting.header_bytes)
    sent = one["application"]
    packet = sent["packet"].value
    if sent["kind"] == "cbr":
        return packet + setting.header_bytes, sent["rate"].value * elapsed / (8 * packet)
    return packet + setting.header_bytes, elapsed / sent["mean_gap"].value


def estimate(traffic: Traffic, candidate: Candidate) -> Figures | None:
    """What the models say of a candidate; None where none describes it."""
    policy, elapsed = candidate.policy, traffic.elapsed_s
    parameters = {key: quantity(key, value, "time") for key, value in candidate.parameters}
    rest = max(0.0, elapsed - traffic.busy_s)
    awake_j = _spent(traffic, rest, 0.0, 0.0)
    waits_s = traffic.down_wait_s / 2 * traffic.late_share
    if policy in ("active", "psm-throttling"):
        energy, delay = awake_j, 0.0
    elif policy == "ideal":
        energy, delay = traffic.frames_j + traffic.radio["sleep_w"] * rest, 0.0
    elif policy in ("psm", "psm-legacy"):
        beacons = min(elapsed / traffic.beacon_s, traffic.down_packets)
        wakes = beacons if traffic.wakes is None else traffic.wakes
        # One trigger for what a beacon announces, or a poll for each packet, which is its own answer.
        asked_j = beacons * (traffic.poll_j + traffic.end_j)
        asked_j = asked_j if policy == "psm" else traffic.down_packets * traffic.poll_j
        energy, delay = _spent(traffic, rest, rest, wakes) + asked_j, waits_s
    elif policy == "uapsd":
        interval_s = parameters["interval"]
        triggers = traffic.pace.triggers(interval_s, elapsed)
        asked_j = triggers * (traffic.poll_j + traffic.end_j)
        energy = _spent(traffic, rest, rest, triggers + (traffic.wakes or 0.0)) + asked_j
        delay = min(waits_s, interval_s / 2 * traffic.late_share)
    elif policy == "timeout":
        timeout_s = parameters["timeout"]
        asleep_s, sleeps = traffic.pace.asleep(timeout_s, rest)
        energy = _spent(traffic, rest, asleep_s, sleeps)
        delay = waits_s * traffic.pace.late_share(timeout_s, asleep_s)
    else:
        return None
    energy = min(energy, awake_j)
    return Figures(energy, energy / elapsed, delay, traffic.goodput_bps)


def _spent(traffic: Traffic, rest_s: float, asleep_s: float, wakes: float) -> float:
    """Joules of a radio that sleeps so long of the rest, hears the beacons meanwhile, and wakes so often."""
    radio = traffic.radio
    wake_j = radio["to_sleep_w"] * radio["to_sleep_s"] + radio["wake_up_w"] * radio["wake_up_s"]
    above_w = radio["listen_w"] - radio["sleep_w"]
    beacons_j = asleep_s / traffic.beacon_s * ((traffic.guard_s + _BEACON_S) * above_w + wake_j)
    resting_j = radio["listen_w"] * (rest_s - asleep_s) + radio["sleep_w"] * asleep_s
    return traffic.frames_j + resting_j + beacons_j + wakes * wake_j


def traffic_of_capture(analysis: Mapping[str, Any], radio: Mapping[str, float]) -> Traffic:
    """A station's packets, from the document of `analyze` with a replay of policy `active`."""
    pace = analysis["pace"]
    awake = next(replay for replay in analysis["policies"] if replay["policy"] == "active")
    spent = awake["state_s"]
    beacons_s = pace["elapsed_s"] / _USUAL_BEACON_S * _BEACON_S
    received_s = max(0.0, spent["receive"] - beacons_s)
    packets = pace["packets_down"] + pace["packets_up"]
    short = _exchanges(radio, (54e6, 24e6), 1.0, 1.0)
    return Traffic(
        elapsed_s=pace["elapsed_s"],
        goodput_bps=None,
        down_packets=pace["packets_down"],
        wakes=_longer(pace["gaps"], 0.001)["count"],
        busy_s=spent["transmit"] + received_s,
        frames_j=radio["transmit_w"] * spent["transmit"] + radio["receive_w"] * received_s,
        poll_j=float(short.uplink_j),
        end_j=float(short.downlink_j),
        pace=Captured(pace["gaps"], pace["gaps_up"], pace["packets_down"]),
        down_wait_s=_USUAL_BEACON_S if pace["packets_down"] else 0.0,
        late_share=pace["packets_down"] / packets if packets else 0.0,
        radio=radio,
        beacon_s=_USUAL_BEACON_S,
        guard_s=_GUARD_S,
    )


def tunnel(setting: Setting, bound_s: float) -> dict[str, float] | None:
    """A tunnel with the largest burst whose delay is within the bound; None where there is nothing to say."""
    rates = {"up": 0.0, "down": 0.0}
    for one in setting.flows:
        if one["application"]["kind"] == "bulk":
            rates[one["direction"]] += _bulk_bps(setting, one["direction"], "active")
        elif one["application"]["kind"] == "cbr":
            rates[one["direction"]] += one["application"]["rate"].value
    if not rates["up"] + rates["down"]:
        return None
    try:
        got = models.sctp_tunnel(
            up_bps=rates["up"],
            down_bps=rates["down"],
            burst="within-bound",
            delay_bound_s=bound_s,
            q=0.0,
            timing="ofdm",
            data_rate_bps=setting.data_rate_bps,
            control_rate_bps=setting.control_rate_bps,
            **setting.radio,
        )
    except InputError:
        return None
    names = ("burst_packets", "delay_s", "cam_w", "ideal_w", "saving_floored", "trigger_interval_s")
    return {name: float(got[name]) for name in names}
