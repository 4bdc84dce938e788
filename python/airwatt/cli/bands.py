"""Radio profiles whose figures hold for another band than that of the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airwatt import laboratory

if TYPE_CHECKING:
    from airwatt._core import Scenario


def note(scenario: Scenario) -> str | None:
    """Says which radios have figures of another band than the cell's; None if all hold, or nothing is known."""
    values = scenario.to_dict()
    if not values.get("wifi"):
        return None
    band = _band(values["wifi"]["standard"])
    texts = []
    for name in dict.fromkeys(station["radio"] for station in values["station"]):
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
