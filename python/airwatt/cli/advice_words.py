"""Words of advice: names of candidates, what they cost, and how long a battery lasts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from airwatt import kits
from airwatt._core import NO_DELAY_S

if TYPE_CHECKING:
    from airwatt.advice import Advice, Candidate, Row
    from airwatt.advice.candidate import Figures

COLUMNS = 80
UNSETTABLE = "*"


def delay(delay_s: float | None, ci95_s: float | None = None) -> str:
    """A delay, or none where it is below what a run can tell."""
    from airwatt.tables import quantity

    if delay_s is not None and delay_s < NO_DELAY_S:
        return quantity(0.0, "s")
    return quantity(delay_s, "s", ci95_s)


def has_no_packets(figures: Figures) -> bool:
    """Whether there was no packet that could be late."""
    return figures.delay_p95_s is None and not figures.goodput_bps


def delays(figures: Figures) -> list[str]:
    """The mean and the 95th percentile of the added delay; nothing where there was no packet to delay."""
    from airwatt.tables import NOTHING

    if has_no_packets(figures):
        return [NOTHING, NOTHING]
    return [delay(figures.delay_s, figures.delay_ci95_s), delay(figures.delay_p95_s)]


_FEWEST = 20
"""Of fewer times the 95th percentile is the longest: the nearest rank of 19 is the 19th."""


def few(found: Advice, row: Row) -> Iterator[str]:
    """Says so where there were too few packets or answers for a 95th percentile."""
    figures = row.simulation
    if figures is None or has_no_packets(figures) or figures.waited_for is None or figures.waited_for >= _FEWEST:
        return
    each = "in the capture" if found.from_capture else "in a run"
    yield f"few packets: of {figures.waited_for} {each} the slowest counts; a longer one may have a slower"


def why_not(found: Advice, row: Row) -> str:
    """Why a candidate was not taken: which limit it fails, and by how much."""
    from airwatt.tables import quantity

    verdict = found.verdict(row)
    assert verdict is not None
    if verdict["reason"] == "late":
        return f"{quantity(verdict['over_s'], 's')} over the budget"
    if verdict["reason"] == "taken":
        return "the same as what is taken"
    if verdict["reason"] == "out-of-reach":
        return "within the budget, but nothing sets it"
    share = "" if verdict["share"] is None else f" ({percent(verdict['share'])})"
    return f"within the budget, for {quantity(verdict['more_j'], 'J')} more{share}"


def beyond(found: Advice, row: Row) -> str:
    """In a column: by how much a candidate is over the budget, or spends more than what is taken."""
    from airwatt.tables import quantity

    verdict = found.verdict(row)
    if verdict is None or verdict["reason"] == "out-of-reach":
        return ""
    if verdict["reason"] == "late":
        return f"+{quantity(verdict['over_s'], 's')}"
    if verdict["reason"] == "taken":
        return "best"
    return "" if verdict["share"] is None else percent(verdict["share"])


def percent(share: float) -> str:
    """A change as `+12 %`."""
    text = f"{100 * share:+.0f} %"
    return "0 %" if text in ("-0 %", "+0 %") else text


def name(row: Row, found: Advice) -> str:
    """The name of a row's candidate."""
    return candidate_name(row.candidate, found)


def candidate_name(candidate: Candidate, found: Advice) -> str:
    """The policy with its parameters, marked where the chip's platform or, of other radios, none can set it."""
    from airwatt.advice import platforms

    own = None if found.target else kits.of_chip(found.chip.name)
    can_be_set = platforms.can_be_set(candidate) if own is None else platforms.can_set(own, candidate)
    return candidate.name + ("" if can_be_set else UNSETTABLE)


def adds(found: Advice, more_w: float) -> str:
    """Writes what a mean power adds to the best candidate: a current, and the days that are left then."""
    best, battery = found.ranked[0].simulation, found.battery
    text = more(found, more_w)
    if battery is None or best is None:
        return text
    capacity = battery.text.partition(",")[0]
    lasts = battery.lasts(best.power_w + more_w, found.voltage_v, best.profile)
    return f"{text}: {capacity} lasts {lasts}"


def mean(found: Advice, power_w: float) -> str:
    """Writes a mean power as a current."""
    from airwatt.tables import quantity

    volts = found.voltage_v if found.battery is None else found.battery.voltage(found.voltage_v)
    return quantity(power_w / volts, "A") if volts else quantity(power_w, "W")


def more(found: Advice, more_w: float) -> str:
    """Writes a mean power more as a current."""
    return f"{mean(found, more_w)} more"


def energy_j(row: Row) -> float:
    """The energy of its runs."""
    return row.simulation.energy_j if row.simulation is not None else 0.0


def costs(found: Advice, row: Row) -> str:
    """Says what to expect of a candidate, with the error of each figure and of the model."""
    figures = row.simulation
    assert figures is not None
    parts = [with_error(figures.energy_j, "J", figures.energy_ci95_j)]
    if figures.energy_low_j is not None:
        low, high = figures.energy_low_j, figures.energy_high_j
        parts[0] += f" ({with_error(low, 'J', None)} to {with_error(high, 'J', None)})"
    parts.append(with_error(figures.power_w, "W", None))
    if has_no_packets(figures):
        parts.append("no packet to delay")
    else:
        parts.append(judged(figures))
    if figures.goodput_bps is not None:
        parts.append(with_error(figures.goodput_bps, "b/s", figures.goodput_ci95_bps))
    error = found.model_error(row)
    if error is not None:
        parts.append(f"model {percent(error)}")
    return ", ".join(parts)


def judged(figures: Figures) -> str:
    """The delay by which a candidate is judged, with the mean beside it."""
    mean = with_error(max(0.0, figures.delay_s), "s", figures.delay_ci95_s)
    if figures.delay_p95_s is None:
        return f"{mean} of delay"
    return f"{with_error(max(0.0, figures.delay_p95_s), 's', None)} of delay (mean {mean})"


def with_error(value: float | None, unit: str, ci95: float | None) -> str:
    """Writes `1.35 ± 0.07 J` on one line, in one unit."""
    from airwatt.tables import quantity

    text = quantity(value, unit, ci95 or None)
    number, *error = text.split("\n")
    if not error:
        return number
    digits, _, rest = number.partition(" ")
    return f"{digits} {error[0]} {rest}"


def deep_sleep(found: Advice) -> Iterator[str]:
    """Says when giving up the association between reports would spend less, and what it would take."""
    from airwatt.battery import lasting
    from airwatt.tables import quantity

    other = found.deep_sleep
    if found.reconnection:
        yield f"deep sleep is not priced, so that --reconnect has no effect: {found.reconnection}"
    if other is None:
        return
    every = f"for each report, once in {quantity(other.interval_s, 's')}"
    text = f"with an association {every}, it would not spend less"
    if other.break_even_s:
        most = quantity(other.break_even_s, "s")
        text = f"between reports would spend less if connecting took below {most} awake {every}"
    if other.power_w is not None:
        volts = found.voltage_v
        taken = quantity(other.power_w / volts, "A") if volts else quantity(other.power_w, "W")
        days = "" if found.battery is None else f", {lasting(found.battery.lasts_s(other.power_w, volts))}"
        text += f"; with {quantity(other.reconnection_s, 's')} it takes {taken}{days}"
    yield f"deep sleep {text}; in between nothing reaches the device"
