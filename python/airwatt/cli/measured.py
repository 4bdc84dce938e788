"""A measured current beside its prediction: means, days, what it says, what to set, and the part of each state."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from airwatt import radio_notes
from airwatt._core import LEAST_CORRELATION
from airwatt.battery import SECONDS_A_DAY, Battery
from airwatt.cli import charge
from airwatt.layout import printable
from airwatt.tables import NOTHING, percent, quantity, table

if TYPE_CHECKING:
    from airwatt.layout import Table

_WHY = {
    "too-short": "there for less than 1 ms or than a sample",
    "impossible": "least squares give a current below zero or above what a sample has room for",
    "loose": "samples or parts of the trace do not agree on it within a quarter, or not with the replay's times",
    "brief": "shorter each time than the 5 ms to which its times are known",
}


_WHOLE = 0.99
"""Share of a trace from which on it is compared as a whole."""


_AS_CAPTURED = "as captured"
"""The prediction of a measured current that is no replay."""
_HOST_AWAKE = ("host-awake", "load-or-host", "awake")
"""Verdicts by which the host may not sleep."""


_WORTH = 0.05
"""Share of the mean current from which on it is said what is left without a part."""


_DEARER = 0.1
"""Share from which on a wake-up for a beacon is dearer or cheaper: so well a beacon's length is known."""


_OTHER_INTERVAL = 0.2
"""Share by which times from one wake-up for a beacon to the next are those of another DTIM period."""


_PEAK = 1.5
"""A mean of a millisecond that is above the mean of all by this factor is a peak."""


def radio_voltage(document: dict[str, Any]) -> float | None:
    """The voltage of the radio's profile."""
    voltage: float | None = document["radio_voltage_v"]
    return voltage


def add_lifetimes(document: dict[str, Any], battery: Battery) -> None:
    """Adds how long a battery lasts at the measured and at the predicted current, of which its load is a part."""
    current, volts = document["current"], radio_voltage(document) or 0.0
    alone = battery.without_load()
    current["battery_lasts_s"] = alone.lasts_s(current["mean_a"] * volts, volts)
    refused = battery.refuses(_profile(document))
    current["predicted_battery_lasts_s"] = None if refused else alone.lasts_s(current["predicted_a"] * volts, volts)


_LONG_S = 2e-3
"""Samples that are longer than a beacon."""
_ZERO_A, _ZERO_SHARE = 5e-6, 0.01
"""A meter's zero that is off by more than both, the second a share of the mean current, is named."""
_LOWEST = 2.0
"""Standard deviations of the noise by which the lowest 5 % of a trace may be below its middle, at most."""


def parts(document: dict[str, Any], battery: Battery | None) -> Iterator[str | Table]:
    """The measurement beside the prediction, from the answer to its parts."""
    current = document.get("current")
    if current is None:
        return
    gaps = f", without gaps of {quantity(current['gaps_s'], 's')}" if current["gaps_s"] else ""
    yield (
        f"measured current, {printable(current['file'])}: {quantity(current['mean_a'], 'A')} on the average over "
        f"{quantity(current['covered_s'], 's')}{gaps}, {quantity(current['charge_c'], 'C')}"
    )
    yield _means(document, battery)
    sample_s = current["covered_s"] / max(1, current["samples"])
    if sample_s > _LONG_S and current["asleep_share"] is not None:
        yield f"of samples of {quantity(sample_s, 's')} each with a wake-up in it counts as awake: asleep is too low"
    # The lowest 5 % of a noise are that much below its middle.
    lowest_a = current["low_a"] + _LOWEST * current["noise_a"]
    if lowest_a < -max(_ZERO_A, _ZERO_SHARE * abs(current["mean_a"])):
        yield (
            f"for 5 % of the time the trace has less than {quantity(current['low_a'], 'A')}, and no device draws less "
            "than nothing: the meter's zero is off, and so are the currents and days"
        )
    yield from _other_days(document)
    yield f"{current['verdict']['kind']}: {current['verdict']['text']}"
    yield from _worth(document, battery)
    yield from _beacon(document, battery)
    yield from _what_to_set(document)
    yield from _place(current)
    yield from _states(current)


def _profile(document: dict[str, Any]) -> dict[str, Any] | None:
    """What the profile says of the predicted energy, or of that of the first policy."""
    name = document["current"]["prediction"]
    policies = sorted(document["policies"], key=lambda policy: policy["policy"] != name)
    return policies[0]["profile"] if policies else None


def _means(document: dict[str, Any], battery: Battery | None) -> Table:
    current, volts, profile = document["current"], radio_voltage(document), _profile(document)
    assert volts is not None
    cell = (battery or Battery.parse("1000mAh")).without_load()
    rows = []
    compared = [("measured", current["mean_a"], current["asleep_share"], None)]
    # A trace that reaches beyond the capture is compared over the time of both alone.
    if 0 < current["overlap_s"] < _WHOLE * current["covered_s"]:
        both = f"measured, {quantity(current['overlap_s'], 's')} of both"
        compared.append((both, current["measured_c"] / current["overlap_s"], current["overlap_asleep_share"], None))
    for what, mean_a, asleep, of in (
        *compared,
        (_prediction(current), current["predicted_a"], current["predicted_asleep_share"], profile),
    ):
        power_w = mean_a * volts
        share = NOTHING if asleep is None else percent(asleep)
        rows.append(
            [
                what,
                quantity(mean_a, "A"),
                share,
                charge.charge(power_w * SECONDS_A_DAY, volts),
                cell.lasts(power_w, volts, of),
            ]
        )
    lasts = f"{cell.text.partition(',')[0]} {'lasts' if battery else 'would last'}"
    return table(["", "mean", "asleep", "charge a day", lasts], rows)


def _prediction(current: dict[str, Any]) -> str:
    """What the measurement is compared with."""
    load_a = current["load_a"]
    load = f" + load of {quantity(load_a, 'A')}" if load_a else ""
    both = f", {quantity(current['overlap_s'], 's')} of both" if current["overlap_s"] else ""
    return f"predicted, {current['prediction']}{load}{both}"


def _worth(document: dict[str, Any], battery: Battery | None) -> Iterator[str]:
    """What is left without a load, and without what is drawn asleep alone, of a device whose radio sleeps."""
    current, volts = document["current"], radio_voltage(document)
    verdict = current["verdict"]
    more_a, load_a = verdict["more_a"], verdict.get("on_all_states_a")
    # A result that was stored before has no such key.
    if load_a is None or more_a is None or volts is None:
        return
    cell = (battery or Battery.parse("1000mAh")).without_load()
    asleep_a = (more_a - load_a) * current["predicted_asleep_share"]
    left_a = current["mean_a"]
    texts: list[str] = []
    host = "if the host sleeps" if verdict["kind"] == "host-awake" else "without what it takes asleep alone"
    for part_a, how in ((load_a, f"without the {quantity(load_a, 'A')} on all states"), (asleep_a, host)):
        if part_a >= _WORTH * current["mean_a"] and part_a < left_a:
            left_a -= part_a
            too = ", too," if texts else ""
            texts.append(f"{how}{too} {quantity(left_a, 'A')}, {cell.lasts(left_a * volts, volts, None)}")
    if texts:
        yield f"{cell.text.partition(',')[0]} would last: {'; '.join(texts)}"


def _beacon(document: dict[str, Any], battery: Battery | None) -> Iterator[str]:
    """What a wake-up for a beacon takes, and what the difference from the prediction is in days."""
    current, volts = document["current"], radio_voltage(document)
    # A result that was stored before has no such key.
    beacon = current.get("beacon")
    if beacon is None or volts is None or not beacon["predicted_c"]:
        return
    # Beside a host that does not sleep there is less above the current between.
    if current["verdict"]["kind"] in _HOST_AWAKE:
        return
    ratio = beacon["measured_c"] / beacon["predicted_c"] - 1
    is_replayed = current["beacons_in_sleep"] and current.get("prediction") != _AS_CAPTURED
    assumed = ", with a beacon's length assumed" if is_replayed else ""
    text = (
        f"each of {beacon['count']} wake-ups for a beacon, one in {quantity(beacon['every_s'], 's')}, takes "
        f"{quantity(beacon['measured_c'], 'C')} above the current between them, where "
        f"{quantity(beacon['predicted_c'], 'C')} are predicted{assumed}"
    )
    other_a = current["mean_a"] - beacon["more_a"]
    # A result that was stored before has no such key.
    predicted_s = beacon.get("predicted_every_s", beacon["every_s"])
    # Guards are as long as what is between beacons, so that charges of two intervals are not those of one wake-up.
    is_of_same = abs(beacon["every_s"] / predicted_s - 1) < _OTHER_INTERVAL
    if abs(ratio) >= _DEARER and other_a > 0 and is_of_same:
        cell = (battery or Battery.parse("1000mAh")).without_load()
        now, then = (cell.lasts(mean_a * volts, volts, None) for mean_a in (current["mean_a"], other_a))
        capacity = cell.text.partition(",")[0]
        more = "more" if ratio > 0 else "less"
        text += (
            f": {quantity(abs(beacon['more_a']), 'A')} {more} on the average; with the predicted charge {capacity} "
            f"would last {then} instead of {now}"
        )
    if not is_of_same:
        text += (
            f"; the device wakes up each {quantity(beacon['every_s'], 's')}, the prediction each "
            f"{quantity(predicted_s, 's')}: another DTIM period or listen interval (--set ap.dtim_period=N or "
            "station.listen_interval=N)"
        )
    yield text


def _other_days(document: dict[str, Any]) -> Iterator[str]:
    """Says which days are which, where the trace is compared with a part of the capture."""
    current, covered_s = document["current"], document["capture"]["covered_s"]
    if document["policies"] and 0 < current["overlap_s"] < _WHOLE * covered_s:
        yield (
            f"these days are those of the {quantity(current['overlap_s'], 's')} of both; those of the policies below "
            f"are of the whole capture, {quantity(covered_s, 's')}"
        )


def _what_to_set(document: dict[str, Any]) -> Iterator[str]:
    """All that sets the mode of the host in which the prediction has it, where the host does not sleep."""
    current, profile = document["current"], _profile(document)
    if current["verdict"]["kind"] not in _HOST_AWAKE or not (profile and profile["mode"]):
        return
    radio = radio_notes.of_document(document["radio"])
    if radio is None:
        return
    lines = next((list(mode.set) for mode in radio.modes if mode.name == profile["mode"]), [])
    if lines:
        wrapped = (textwrap.fill(line, 80, initial_indent="    ", subsequent_indent="        ") for line in lines)
        yield "\n".join([f"{profile['mode']} needs all of this:", *wrapped])


def _place(current: dict[str, Any]) -> Iterator[str]:
    """Where the trace stands on the capture's clock, or that it has no place there."""
    correlation = current["correlation"]
    if current["offset_s"] is None:
        if not current["varies"]:
            peaks = f" but for peaks of up to {quantity(current['high_a'], 'A')}" if _has_peaks(current) else ""
            yield f"the current does not vary{peaks}, so that it has no place on the capture's clock"
        elif correlation is None:
            yield "trace and capture have no time to compare: one of them hardly varies, or they hardly overlap"
        else:
            yield (
                f"the trace has no place on the capture's clock: its correlation with {current['prediction']} is "
                f"{correlation:.2f} at best, and {LEAST_CORRELATION} or more is needed to divide it by states; "
                "--offset, --policy or --radio may help, or it belongs to another capture"
            )
        return
    how = "given" if current["offset_given"] else "found"
    yield (
        f"the trace begins at {current['offset_s']:.5f} s of the capture ({how}), correlation "
        f"{NOTHING if correlation is None else f'{correlation:.3f}'}; over the {quantity(current['overlap_s'], 's')} "
        f"of both {quantity(current['measured_c'], 'C')} measured, {quantity(current['predicted_c'], 'C')} predicted"
    )
    if current["clock_fast_ppm"] is not None:
        fast_ppm = current["clock_fast_ppm"]
        yield (
            f"its clock goes {abs(fast_ppm):.1f} millionths {'fast' if fast_ppm > 0 else 'slow'} beside the capture's, "
            "by which its times were corrected"
        )
    if not current["states"]:
        yield (
            f"with a correlation below {LEAST_CORRELATION} the predicted times of states are not those of the trace, "
            "and it is not divided by them"
        )
    if current["other_offsets"]:
        others = ", ".join(
            f"{other['offset_s']:.3f} s ({other['correlation']:.3f})" for other in current["other_offsets"]
        )
        every = "" if current["repeats_s"] is None else f" every {quantity(current['repeats_s'], 's')}"
        yield (
            f"the offset is not certain, since the pattern repeats itself{every}; of those at which both overlap "
            "as far as they can the one nearest to zero is taken, "
            f"and nearly as likely are {others}{', and so on' if every else ''}; traffic that is not periodic, or "
            "--offset, decides"
        )


def _has_peaks(current: dict[str, Any]) -> bool:
    """Whether a current that varies little has short times far above it, as those of transmitting."""
    return bool(current["high_a"] > _PEAK * current["mean_a"])


def _states(current: dict[str, Any]) -> Iterator[str | Table]:
    rows = []
    load = current.get("switched_load")
    if load is not None and current["states"] and load["overlap_s"]:
        share = percent(load["overlap_c"] / current["measured_c"])
        cells = [quantity(load["overlap_c"], "C"), share, quantity(load["current_a"], "A")]
        rows.append(["load beside them", quantity(load["overlap_s"], "s"), *cells, NOTHING, NOTHING])
    for state in current["states"]:
        known = state["measured_a"] is not None
        name = "sleep, beacons" if state["state"] == "sleep" and current["beacons_in_sleep"] else state["state"]
        rows.append(
            [
                name,
                quantity(state["time_s"], "s"),
                quantity(state["measured_c"], "C") if known else NOTHING,
                percent(state["share"]) if known else NOTHING,
                quantity(state["measured_a"], "A") if known else NOTHING,
                quantity(state["error_a"], "A") if known else NOTHING,
                quantity(state["predicted_c"] / state["time_s"], "A"),
            ]
        )
    if not rows:
        return
    yield table(["predicted state", "time", "measured", "share", "current", "\N{PLUS-MINUS SIGN}", "predicted"], rows)
    yield (
        "\N{PLUS-MINUS SIGN} holds for this place of the trace: an error of the place, which samples as long as a "
        "state hardly show, is not in it, and moves the current of a short state by more"
    )
    if current["beacons_in_sleep"] and current["prediction"] == _AS_CAPTURED:
        yield (
            "which of the beacons within the listen interval the device receives no frame says: times awake for "
            "beacons alone count with sleep"
        )
    elif current["beacons_in_sleep"]:
        yield (
            "when the access point sent its beacons is not in a replay: times awake for beacons alone count with "
            "sleep, and packets that wait for beacons are early or late by up to a beacon interval"
        )
    for why, text in _WHY.items():
        names = [state["state"] for state in current["states"] if state["undetermined"] == why]
        if names:
            yield f"not determined: {', '.join(names)}, {text}"
