"""What the network stack of ESP-IDF does by itself, priced under one candidate: frames and a timer that no flow has.

A frame that lwIP sends of its own accord (a gratuitous ARP, an MLDv6 report) costs what a lone datagram of that size
costs: the difference of energy between a station that sends one a minute and one that sends none. Its timer of TCP
wakes up the host without the radio: each millisecond of that costs the host's current awake, which is the one of its
mode with frequency scaling. How many milliseconds there are is not published. Left out: ARP's and DHCP's own timers,
which run more rarely, and answers that such frames get.
"""

from __future__ import annotations

from dataclasses import dataclass

from airwatt import laboratory
from airwatt._core import Scenario
from airwatt.advice import beside_none
from airwatt.advice.candidate import Candidate
from airwatt.tasks import StorePath

FRAMES = {"gratuitous ARP": 60.0, "MLDv6 report": 40.0}
"""Intervals in seconds of what lwIP sends as it comes; of these the second is sent with IPv6 alone."""
TCP_TIMER_S = 0.25
_PACKET = "28B"
"""An ARP frame's body, which with its headers takes less than a fiftieth of what a wake-up takes."""
_COUNT = 40
_AWAKE = "dfs"
"""The mode in which a host is awake, waits, and runs slowly."""


@dataclass(frozen=True)
class NetworkStack:
    """What the stack adds to a candidate."""

    frame_j: float | None
    """Energy of one frame that nobody asked for; None beside a capture, which has those that were sent."""
    frames_w: dict[str, float]
    """What those of each kind add on the average; none beside a capture."""
    awake_mode: str | None
    """The mode of the host in which it is awake for a timer; None if the profile has none."""
    awake_w: float | None
    """Its power."""
    timer_w_each_ms: float | None
    """What the timer of TCP adds on the average for each millisecond that the host is awake for it."""
    is_tcp_open: bool
    """Whether there is a connection of TCP, with which the timer runs."""


def price(
    scenario: Scenario, candidate: Candidate, seed: int, store: StorePath, *, keeps_alive: bool = False
) -> NetworkStack | None:
    """Prices it for a station that is alone in its cell; None for others. Keep-alives are those of a connection."""
    keys = scenario.to_dict()
    station = keys["station"][0]
    if len(keys["station"]) != 1 or station.get("count", 1) != 1 or keys.get("cell") or keys.get("node"):
        return None
    each_s = beside_none.apart(FRAMES["gratuitous ARP"])
    flow = {
        "direction": "up",
        "transport": "udp",
        "application": {"kind": "periodic", "interval": f"{each_s:.9f}s", "packet": _PACKET},
    }
    [(idle, loaded)] = beside_none.runs(scenario, [candidate], flow, _COUNT * each_s, seed, store)
    frame_j = max(0.0, loaded.energy_j - idle.energy_j) / _COUNT
    frames_w = {name: frame_j / each_s for name, each_s in FRAMES.items()}
    is_tcp_open = keeps_alive or any(each.get("transport") != "udp" for each in keys["flow"])
    return _with_timer(frame_j, frames_w, str(station["radio"]), is_tcp_open=is_tcp_open)


def of_capture(radio: str, *, is_tcp_open: bool) -> NetworkStack:
    """The timer alone: what the stack sends is in the capture."""
    return _with_timer(None, {}, radio, is_tcp_open=is_tcp_open)


def _with_timer(
    frame_j: float | None, frames_w: dict[str, float], radio_name: str, *, is_tcp_open: bool
) -> NetworkStack:
    radio = laboratory.radio(radio_name)
    awake = next((mode for mode in radio.modes if mode.id == _AWAKE and radio.mode != _AWAKE), None)
    more_w = None if awake is None else awake.sleep_w - radio.sleep_w
    return NetworkStack(
        frame_j,
        frames_w,
        None if awake is None else awake.name,
        None if awake is None else awake.sleep_w,
        None if more_w is None or more_w <= 0 else more_w * 1e-3 / TCP_TIMER_S,
        is_tcp_open,
    )
