"""Notes on radios, for runs and analyses: another band, a chip's own timeout, frames to a radio that sleeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airwatt import bands, kits, laboratory
from airwatt._core import InputError
from airwatt.bands import spaced
from airwatt.tables import quantity

if TYPE_CHECKING:
    from airwatt._core import Scenario
    from airwatt._documents import RunResult
    from airwatt.record import Record


_OFTEN, _OFTEN_SHARE = 10, 0.02
"""The least number of waits given up, and the least share of all waits, that are worth a note."""


def other_band(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Notes that figures of radios are those of another band than a cell's, each once: what they are comes after it."""
    cells: dict[str, dict[str, None]] = {}
    for values in (scenario.to_dict() for scenario in scenarios):
        if values.get("wifi"):
            radios = cells.setdefault(values["wifi"]["standard"], {})
            radios.update(dict.fromkeys(station["radio"] for station in values["station"]))
    found = {name: laboratory.radio(name) for radios in cells.values() for name in radios}
    notes = (_other_band({name: found[name] for name in radios}, standard) for standard, radios in cells.items())
    yield from dict.fromkeys(note for note in notes if note is not None)


def of_analysis(document: Mapping[str, Any]) -> Iterator[str]:
    """The same of the document of an analysis, if frames show the cell's band."""
    standard = re.search(r"802\.11\S*[^\s,;]", document["phy"] or "")
    if standard is None or document["radio"] is None or document["air"] is None:
        return
    radio = of_document(document["radio"])
    note = None if radio is None else _other_band({document["radio"]: radio}, standard[0])
    if note is not None:
        yield note


def timeouts(scenario: Scenario) -> Iterator[str]:
    """Notes on a chip's own timeout."""
    for radio in map(laboratory.radio, _with_own_timeout(scenario)):
        if radio.timeout_s is not None:
            timeout = quantity(radio.timeout_s, "s")
            beacons = ", and wakes up for DTIM beacons" if radio.wakes_for_dtims else ""
            whose = f"that of {radio.name} as it comes, {timeout}{beacons}"
            other = "50ms" if radio.timeout_s == 0.1 else "100ms"
            yield f"note: policy timeout is {whose}; timeout:timeout={other} is another"
        yield from off_as_it_comes(str(radio.name))


def never_sleeping(scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Notes on chips that are compared by policy timeout, each once, and do not sleep as they come."""
    radios = dict.fromkeys(radio for scenario in scenarios for radio in _with_own_timeout(scenario))
    for radio in radios:
        yield from off_as_it_comes(radio)


def _with_own_timeout(scenario: Scenario) -> list[str]:
    """The radios of stations with policy timeout and nothing that says how long."""
    values = scenario.to_dict()
    stations = values["station"] if values.get("wifi") else ()
    own = [station["radio"] for station in stations if station["power_save"] == {"policy": "timeout"}]
    return list(dict.fromkeys(own))


def off_as_it_comes(radio: str) -> Iterator[str]:
    """A note on a chip of which policy timeout is not what it does as it comes."""
    if kits.is_off_as_it_comes(radio):
        yield (
            f"note: policy timeout is not that of {radio} as it comes: {kits.of_chip(radio)} has power save off "
            "until it is set (policy active); airwatt advise says how"
        )


def given_up(result: RunResult, choice: str = "") -> Iterator[str]:
    """A note on stations that often sleep before the frame for which they asked has come; `choice` names the run."""
    asked = {station.name: station.service_periods + station.ps_polls for station in result.stations}
    ended = {station.name: station.waits_given_up for station in result.stations}
    often = [name for name in asked if ended[name] >= _OFTEN and ended[name] >= _OFTEN_SHARE * asked[name]]
    if often:
        who = often[0] if len(often) == 1 else f"{len(often)} stations"
        waits = f"{sum(ended[name] for name in often)} of {sum(asked[name] for name in often)}"
        yield (
            f"note: {choice and f'{choice}: '}{who} gave up {waits} service periods and polls after "
            "station.frame_wait without a frame; what the access point sends later meets a radio that sleeps "
            "(docs/mixed-cell.md)"
        )


def of_document(name: str) -> Record | None:
    """The profile of a radio that a document names, which has no path: that of its chip for a board that was measured.

    None for another file of the user's.
    """
    chip, colon, mode = name.partition(":")
    try:
        return laboratory.radio(chip.removesuffix(bands.MEASURED) + colon + mode)
    except InputError:
        return None


def _other_band(radios: Mapping[str, Record], standard: str) -> str | None:
    texts, band = [], bands.of_standard(standard)
    for name, radio in radios.items():
        if radio.band is None or radio.band == band:
            continue
        if bands.cannot_join(str(radio.name), standard):
            texts.append(
                f"{name} has {spaced(radio.band)} alone, so that it cannot join: figures are of no real device"
            )
            continue
        others = [one.name for one in laboratory.radios() if one.band == band and one.name.startswith(f"{radio.name}-")]
        other = f"; {others[0]} has those of {spaced(band)}" if others else ""
        texts.append(f"the figures of {name} are those at {spaced(radio.band)}{other}")
    return f"note: the cell is at {spaced(band)}, and {'; '.join(texts)}" if texts else None
