"""The chip of a radio: its name and the mode of its host, loaded once with the question."""

from __future__ import annotations

from typing import NamedTuple

from airwatt import laboratory
from airwatt._core import InputError

_BY_DEFAULT = "CONFIG_PM_ENABLE=n, the default"
"""Among what sets a mode of the host: that it is the one with nothing set."""


class Chip(NamedTuple):
    """What advice has to know of a radio's profile beside what runs say."""

    name: str
    """The name that the profile has, also one of a file: `esp32-c3-measured` of `./board.toml`."""
    mode: str = ""
    """The maker's name of the mode of the host that figures assume; empty for a radio without modes."""
    sets: tuple[str, ...] = ()
    """What sets that mode, all of it."""
    comes: str = ""
    """The mode of a kit with nothing set."""
    is_own: bool = False
    """Whether the profile is a file of the user's, whose name says nothing of a kit."""

    @classmethod
    def of(cls, radio: str) -> Chip:
        """Loads a radio. What is none, as the profile of a file that a capture's analysis names, has its name alone."""
        try:
            profile = laboratory.radio(radio)
        except InputError:
            return cls(radio)
        assumed = next((mode for mode in profile.modes if mode.id == profile.mode), None)
        if assumed is None:
            return cls(str(profile.name), is_own=radio.endswith(".toml"))
        comes = (str(mode.name) for mode in profile.modes if any(_BY_DEFAULT in line for line in mode.set))
        return cls(str(profile.name), str(assumed.name), tuple(assumed.set), next(comes, ""))
