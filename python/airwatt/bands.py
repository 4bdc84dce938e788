"""Bands of cells, and chips that have one alone."""

from __future__ import annotations

_ONLY_2_4_GHZ = ("esp32-c2", "esp32-c3", "esp32-c6", "esp32-s3", "siwx917", "cyw43439", "cc3130")
"""Begins of the names of profiles; that of the ESP32 itself is one of all its family."""

MEASURED = "-measured"
"""The end of the name of a board's profile, after that of its chip (`airwatt radios --of`)."""


def of_standard(standard: str) -> str:
    """The band of a standard of a cell, as profiles write it."""
    if standard in ("802.11b", "802.11g") or standard.endswith("-2.4GHz"):
        return "2.4GHz"
    return "6GHz" if standard.endswith("-6GHz") else "5GHz"


def cannot_join(chip: str, standard: str) -> bool:
    """Whether a chip has 2.4 GHz alone and the cell is in another band."""
    is_esp32 = chip.removesuffix(MEASURED) == "esp32"
    return of_standard(standard) != "2.4GHz" and (is_esp32 or chip.startswith(_ONLY_2_4_GHZ))


def spaced(band: str) -> str:
    """A band as people write it: `2.4 GHz`."""
    return band.replace("GHz", " GHz")
