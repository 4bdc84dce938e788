"""Deep sleep beside an advice: a device that gives up its association and connects again for each report.

It is compared for reports that the device sends at equal intervals, where the profile of its radio has the current of
deep sleep. How long it is awake for a report depends on the network, so that it is asked for, or the answer is how long
it may be. Left out: keep-alives, which have nothing to keep alive, and what is sent to the device in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airwatt import _core, laboratory
from airwatt.things import interval_s


@dataclass(frozen=True)
class DeepSleep:
    """Deep sleep between reports."""

    interval_s: float
    """Time between two reports."""
    deep_sleep_w: float
    awake_w: float
    """While it boots and connects: the power of listening."""
    break_even_s: float
    """Time awake for a report below which it spends less than the best candidate."""
    reconnection_s: float | None
    """Time awake for a report as it was given."""
    power_w: float | None
    """Mean power with that time."""


def beside(keys: Mapping[str, Any], associated_w: float, reconnection_s: float | None) -> DeepSleep | None:
    """Compares it with a station that stays associated.

    None where the scenario has other traffic than such reports, or the radio no figure.
    """
    each_s = _shortest_s(keys)
    radio = laboratory.radio(keys["station"][0]["radio"])
    if each_s is None or radio.deep_sleep_w is None:
        return None
    powers = (radio.deep_sleep_w, radio.listen_w)
    found = json.loads(_core.advise_deep_sleep(associated_w, *powers, each_s, reconnection_s))
    return DeepSleep(each_s, *powers, found["break_even_s"], reconnection_s, found["power_w"])


def why_not(keys: Mapping[str, Any]) -> str:
    """Why `beside` has no answer."""
    radio = str(keys["station"][0]["radio"])
    if laboratory.radio(radio).deep_sleep_w is None:
        return f"the profile of {radio} has no current of deep sleep (deep_sleep in a profile of your own)"
    return "it is for one station that sends reports at equal intervals and nothing else (up:periodic, up:mqtt)"


def _shortest_s(keys: Mapping[str, Any]) -> float | None:
    """The shortest interval of reports, if there is nothing else."""
    flows = keys["flow"]
    if len(keys["station"]) != 1 or keys["station"][0].get("count", 1) != 1:
        return None
    if any(flow.get("direction") != "up" or not _reports(flow["application"]) for flow in flows):
        return None
    return min((interval_s(flow["application"]) for flow in flows), default=None)


def _reports(application: Mapping[str, Any]) -> bool:
    return application["kind"] == "periodic" or application.get("report") is not None
