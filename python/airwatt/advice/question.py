"""What is asked: quantities, flows, and the scenario that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from airwatt._core import InputError, Quantity, Scenario
from airwatt.advice import platforms
from airwatt.advice.chip import Chip
from airwatt.things import INTERVALS, interval_s

CAPTURES = (".pcap", ".pcapng", ".cap")


def is_capture(source: str) -> bool:
    """Whether a text names a capture rather than a scenario: by its end, also compressed, or since it is a folder."""
    path = Path(source)
    if path.is_dir():
        return True
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    return bool(suffixes) and suffixes[-1].rstrip("0123456789") in CAPTURES


APPLICATIONS = {
    "bulk": ("size", "size"),
    "cbr": ("rate", "rate"),
    "interactive": ("mean_gap", "time"),
    "streaming": ("rate", "rate"),
    "web": ("mean_gap", "time"),
    "request-response": ("mean_gap", "time"),
    **{name: (key, "time") for name, key in INTERVALS.items()},
}
"""What a flow can be, with the key that its amount belongs to and the kind of quantity that this is."""
_PACKETS = ("cbr", "interactive", "periodic", "mqtt")
_DATAGRAMS = ("cbr", "coap", "lwm2m", "matter")

_EXAMPLES = {"time": "20ms", "rate": "64kbps", "size": "5MB"}


def quantity(option: str, text: str, kind: str) -> float:
    """Reads a time, rate or size with its unit. Raises `InputError`."""
    try:
        read = Quantity(text, kind).value
    except InputError:
        read = -1.0
    if read < 0:
        raise InputError(f"{option}: expected a {kind} with its unit, as in {_EXAMPLES[kind]}, got {text!r}")
    return read


def flow(text: str) -> dict[str, Any]:
    """Reads `DIRECTION:APPLICATION:AMOUNT[:PACKET]`, as in `up:cbr:64kbps:160B`. Raises `InputError`.

    With a packet those of MQTT are reports, and the time is the one between two of them.
    """
    parts = text.split(":")
    if not 3 <= len(parts) <= 4 or parts[0] not in ("down", "up") or parts[1] not in APPLICATIONS:
        known = ", ".join(f"{name}:{key.upper()}" for name, (key, _) in APPLICATIONS.items())
        raise InputError(f"--flow: expected down: or up: and one of {known}, as in down:bulk:5MB, got {text!r}")
    direction, application, amount, *packet = parts
    key, kind = APPLICATIONS[application]
    key = "interval" if application == "mqtt" and packet else key
    if quantity(f"--flow {text!r}", amount, kind) <= 0:
        raise InputError(f"--flow {text!r}: expected {key} above zero, got {amount}")
    sent = {"kind": application, key: amount}
    if packet:
        if application not in _PACKETS:
            raise InputError(f"--flow {text!r}: expected no packet size with {application}, got {packet[0]}")
        quantity(f"--flow {text!r}", packet[0], "size")
        sent["packet"] = packet[0]
        if application == "mqtt":
            sent["report"] = sent.pop("packet")
    transport = {"transport": "udp"} if application in _DATAGRAMS else {}
    return {"direction": direction, "application": sent, **transport}


_AIR = {"standard": "802.11n-2.4GHz", "data_rate": "65Mbps", "aifsn": 3}
"""What is assumed of the air, as by `airwatt analyze`: one stream at 2.4 GHz. Beacons then have 1 Mb/s."""


LINE: dict[str, object] = {"rtt": "20ms", "down": {"rate": "16Mbps"}, "up": {"rate": "1Mbps"}}
"""What is assumed of the wired path: how long an answer takes decides how long a radio stays awake for it."""


def assumed(scenario: Scenario) -> str:
    """What is assumed of the path and of the air for flows that are named without a scenario."""
    values = scenario.to_dict()
    wired, wifi, point, tcp = (values[key] for key in ("wired", "wifi", "ap", "tcp"))
    acks = f"ACKs delayed by up to {tcp['delayed_ack_timeout']}" if tcp["delayed_ack"] else "an ACK for each segment"
    apart = ", things begin at times of their own" if any(one["start"].value for one in values["flow"]) else ""
    return (
        f"assumed: rtt {wired['rtt']}, {wired['down']['rate']} down, {wired['up']['rate']} up, {wifi['standard']} at "
        f"{wifi['data_rate']}, a beacon each {point['beacon_interval']}, DTIM period {point['dtim_period']}, {acks}"
        f"{apart}; --set replaces each"
    )


_USUAL_S = 20.0
_INTERVALS = 101
"""Intervals of things that are simulated, if they take no more than `_MOST_S`.

Of a hundred messages beside the first the 95th percentile is not that of the slowest, and they meet beacons at all
phases: those of 30 s move by 3.2 ms from one to the next, so that 20 would meet two thirds of a beacon interval.
"""
_MOST_S = 21_600.0


def _usual_duration(flows: Sequence[Mapping[str, Any]]) -> str:
    """20 s, or intervals of the flow of a thing that has the longest ones."""
    sent = [one["application"] for one in flows if one["application"]["kind"] in INTERVALS]
    longest_s = max((interval_s(one) for one in sent), default=0.0)
    if not longest_s:
        return f"{_USUAL_S:g}s"
    count = max(1, min(_INTERVALS, int(_MOST_S / longest_s)))
    return f"{max(_USUAL_S, count * longest_s):.9f}s"


_APART = (math.sqrt(5) - 1) / 2
"""The golden section, whose multiples come nowhere near each other."""


def _begin_apart(flows: Sequence[dict[str, Any]]) -> None:
    """Has things after the first begin within their intervals, as timers that nobody has set together do.

    Those of which one interval is a multiple of another would share their wake-ups for ever if they began at once.
    """
    things = [one for one in flows if one["application"]["kind"] in INTERVALS]
    for place, one in enumerate(things[1:], 1):
        one.setdefault("start", f"{interval_s(one['application']) * math.fmod(place * _APART, 1):.3f}s")


def _acknowledging(radio: str | None, target: str | None) -> dict[str, object]:
    """How the station acknowledges: as Linux does, within 40 ms, or on ESP-IDF as its lwIP does, within 250 ms."""
    is_lwip = platforms.is_esp_idf(Chip.of(radio).name if radio else "", target)
    return {"delayed_ack": True, **({"delayed_ack_timeout": "250ms"} if is_lwip else {})}


def scenario_of(
    flows: Sequence[str], settings: Mapping[str, str], duration: str | None = None, target: str | None = None
) -> Scenario:
    """Makes a scenario of flows over a line and an access point. Raises `InputError`.

    Acknowledgements of TCP are those of the network stack of the radio's kit, or of `target` (`platforms.TARGETS`).
    Without a duration, flows without an end have 20 s, and those of things whole intervals: a report each 30 s that is
    simulated for 20 s would be one each 20 s.
    """
    read = [flow(text) for text in flows]
    # Beacons and ACKs are those of things alone, so that one costs the same beside other flows.
    own = {
        "wifi": dict(_AIR),
        "ap": {"beacon_interval": "102.4ms"},
        "tcp": _acknowledging(settings.get("station.radio"), target),
    }
    values: dict[str, object] = {"base": "fast-dsl", "name": "advice", "flow": read, **own}
    if all(one["application"]["kind"] in INTERVALS for one in read):
        # Those of a scenario that begins with base = "idle", as one of things does.
        values = {"base": "idle", "name": "advice", "flow": read, "wired": dict(LINE), "tcp": own["tcp"]}
    _begin_apart(read)
    if any(one["application"]["kind"] != "bulk" for one in read):
        duration = duration or _usual_duration(read)
        quantity("--duration", duration, "time")
        values["duration"] = duration
    return Scenario.of(values, list(settings.items()), name="--flow")
