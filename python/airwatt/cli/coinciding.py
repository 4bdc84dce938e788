"""Messages of things that come at the same time, and so share a wake-up: what they would cost apart.

A client that sends its report and its keep-alive together saves a wake-up. Two timers that run by themselves meet only
by accident. A scenario in which several begin at once says the former, and its author may mean the latter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airwatt import laboratory
from airwatt._core import Quantity, Scenario
from airwatt.cli import charge
from airwatt.tables import quantity
from airwatt.things import INTERVALS, interval_s

if TYPE_CHECKING:
    from airwatt._documents import RunResult
    from airwatt.battery import Battery

_ZERO = Quantity("0s")
_CLOSE = 1e-6
"""A share of an interval by which multiples may miss."""


def note(scenario: Scenario, seed: int, first: RunResult, battery: Battery | None) -> str | None:
    """What the same traffic takes if flows begin apart, by another run of the first seed; None if none coincides."""
    together = _together(scenario.to_dict())
    if not together or len(first.stations) != 1:
        return None
    intervals = [interval_s for _, interval_s in together]
    # Equal parts of the shortest interval keep all apart, since the others are its multiples.
    starts = [(index, min(intervals) * place / len(together)) for place, (index, _) in enumerate(together)]
    apart = scenario.replace([(f"flow.{index}.start", f"{start_s:.9f}s") for index, start_s in starts[1:]])
    other = laboratory.run(apart, seed=seed)
    assert not hasattr(other, "results")
    texts = []
    for run in (first, other):
        station, volts = run.stations[0], charge.voltage(run)
        power_w = station.average_power_w
        text = quantity(station.average_current_a, "A") if volts else quantity(power_w, "W")
        if battery is not None:
            text += f", {battery.lasts(power_w, volts, station.profile)}"
        texts.append(text)
    names = ", ".join(str(index) for index, _ in together)
    how = " ".join(f"--set flow.{index}.start={start_s:g}s" for index, start_s in starts[1:])
    return (
        f"note: flows {names} begin at the same time and their intervals are multiples, so that their messages share "
        f"wake-ups: {texts[0]}; apart it is {texts[1]} ({how})"
    )


def _together(values: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Flows of things that begin together and go on meeting, with their intervals in seconds."""
    found: list[tuple[int, float, float]] = []
    for index, flow in enumerate(values.get("flow", [])):
        application = flow["application"]
        if application["kind"] not in INTERVALS:
            continue
        if application.get("jitter", _ZERO).value or flow.get("start_spread", _ZERO).value:
            continue
        begin_s = flow["start"].value + application.get("phase", _ZERO).value
        found.append((index, interval_s(application), begin_s))
    if not found:
        return []
    shortest = min(found, key=lambda entry: entry[1])
    meets = [
        (index, each_s)
        for index, each_s, begin_s in found
        if begin_s == shortest[2] and abs(each_s / shortest[1] - round(each_s / shortest[1])) < _CLOSE
    ]
    return meets if len(meets) > 1 else []
