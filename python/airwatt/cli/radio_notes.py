"""Notes of a run on its radio profiles: figures of another band, and a chip's own timeout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from airwatt import laboratory
from airwatt.tables import quantity

if TYPE_CHECKING:
    from airwatt._core import Scenario


def other_band(scenario: Scenario) -> Iterator[str]:
    """Notes that figures of the radios are those of another band: what they are comes after it."""
    values = scenario.to_dict()
    if values.get("wifi"):
        radios = [station["radio"] for station in values["station"]]
        text = _other_band(dict.fromkeys(radios), _band(values["wifi"]["standard"]))
        yield from [text] if text is not None else []


def timeouts(scenario: Scenario) -> Iterator[str]:
    """Notes on a chip's own timeout."""
    values = scenario.to_dict()
    if not values.get("wifi"):
        return
    own = [station["radio"] for station in values["station"] if station["power_save"] == {"policy": "timeout"}]
    for radio in map(laboratory.radio, dict.fromkeys(own)):
        if radio.timeout_s is not None:
            timeout = quantity(radio.timeout_s, "s")
            beacons = ", and wakes up for DTIM beacons" if radio.wakes_for_dtims else ""
            whose = f"that of {radio.name} as it comes, {timeout}{beacons}"
            yield f"note: policy timeout is {whose}; timeout:timeout=100ms is another"


def _other_band(radios: Iterable[str], band: str) -> str | None:
    texts = []
    for name in radios:
        radio = laboratory.radio(name)
        if radio.band is None or radio.band == band:
            continue
        others = [one.name for one in laboratory.radios() if one.band == band and one.name.startswith(f"{radio.name}-")]
        other = f"; {others[0]} has those of {_spaced(band)}" if others else ""
        texts.append(f"the figures of {name} are those at {_spaced(radio.band)}{other}")
    return f"note: the cell is at {_spaced(band)}, and {'; '.join(texts)}" if texts else None


def _band(standard: str) -> str:
    if standard in ("802.11b", "802.11g") or standard.endswith("-2.4GHz"):
        return "2.4GHz"
    return "6GHz" if standard.endswith("-6GHz") else "5GHz"


def _spaced(band: str) -> str:
    return band.replace("GHz", " GHz")
