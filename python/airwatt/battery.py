"""A battery, and how long it lasts at a mean power: capacity, self-discharge, cut-off and what else it feeds.

A battery is written as its capacity and its options: `1000mAh@3.7V`, `1000mAh` at the voltage of the radio's profile,
`3.7Wh`, `13.3kJ`, with `,self-discharge=2%` a month or `,self-discharge=2%/year`, `,cutoff=10%` of the capacity that
stays unused, and `,load=0.5mA` for the host and its sensors. Left out: losses of regulators, and a capacity that
depends on the current or the temperature.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from airwatt._core import MOST_BORROWED, InputError, Quantity
from airwatt.tables import NOTHING

SECONDS_A_DAY = 86_400.0
_MONTH_S = 365.25 / 12 * SECONDS_A_DAY
_MILLIAMPERE_HOURS = re.compile(r"(?P<number>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>mAh|Ah)(?:@(?P<voltage>.+))?")
_FORM = "CAPACITY[,self-discharge=P%[/month|/year]][,cutoff=P%][,load=CURRENT], as in 1000mAh@3.7V,load=0.5mA or 3.7Wh"


class Battery(NamedTuple):
    """A battery as it was asked for. Without a voltage of its own it takes the radio's."""

    text: str
    energy_j: float | None = None
    charge_c: float | None = None
    """The capacity as a charge, for which a voltage gives the energy."""
    voltage_v: float | None = None
    self_discharge: float = 0.0
    """Share of the charge that is lost in a month by itself."""
    cutoff: float = 0.0
    """Share of the capacity that stays unused."""
    load_a: float = 0.0
    """Current of the host and of its sensors, beside the radio's."""
    load_w: float = 0.0
    """The same, written as a power."""
    allow_borrowed: bool = False
    """Whether days are one number though more than `MOST_BORROWED` of the charge rests on values of another chip, or is
    left open by the one average that was measured."""

    @classmethod
    def parse(cls, text: str) -> "Battery":
        """Reads the notation. Raises `InputError`."""
        capacity, *options = (part.strip() for part in text.split(","))
        fields: dict[str, Any] = dict(_capacity(text, capacity))
        for option in options:
            key, separator, value = option.partition("=")
            if not separator or key not in ("self-discharge", "cutoff", "load"):
                raise _error(text, option)
            if key == "load":
                fields |= _load(text, value)
            elif key == "self-discharge":
                fields["self_discharge"] = _self_discharge(text, value)
            else:
                fields[key.replace("-", "_")] = _share(text, value)
        return cls(text, **fields)

    def voltage(self, radio_v: float | None) -> float | None:
        """The voltage that turns powers into currents: the radio's, or without one the battery's."""
        return radio_v if radio_v is not None else self.voltage_v

    def capacity_j(self, radio_v: float | None) -> float:
        """The capacity as an energy. Raises `InputError` without a voltage."""
        if self.energy_j is not None:
            return self.energy_j
        assert self.charge_c is not None
        volts = self.voltage_v if self.voltage_v is not None else radio_v
        if volts is None:
            raise InputError(
                f"--battery: expected a voltage, since the radio's profile has none, got {self.text!r}; "
                "hint: 1000mAh@3.7V"
            )
        return self.charge_c * volts

    def without_load(self) -> "Battery":
        """The same battery for a current that has the load in it, as one that was measured."""
        return self._replace(load_a=0.0, load_w=0.0)

    def extra_w(self, radio_v: float | None) -> float:
        """Power of the host and of its sensors. Raises `InputError` for a current without a voltage."""
        volts = self.voltage(radio_v)
        if self.load_a and volts is None:
            raise InputError("--battery: expected a load as a power, since no voltage is known, got a current")
        return self.load_w + self.load_a * (volts or 0.0)

    def refuses(self, profile: Mapping[str, Any] | None) -> bool:
        """Whether the profile of a radio, as results have it, borrows or leaves open too much for a number of days."""
        if profile is None or self.allow_borrowed:
            return False
        return profile["borrowed_share"] > MOST_BORROWED or abs(load_instead(profile)) > MOST_BORROWED

    def lasts(self, power_w: float, radio_v: float | None, profile: Mapping[str, Any] | None) -> str:
        """How long it lasts, as people say it: the whole band of the power where its profile borrows too much.

        Of a model's power there is no band, and no answer either.
        """
        if profile is None or not self.refuses(profile):
            return lasting(self.lasts_s(power_w, radio_v))
        if "band_high" not in profile:
            return NOTHING
        least = lasting(self.lasts_s(power_w * (1 + profile["band_high"]), radio_v))
        if profile["band_low"] >= 1:
            return f"above {least}"
        most = lasting(self.lasts_s(power_w * (1 - profile["band_low"]), radio_v))
        number, _, unit = least.partition(" ")
        return f"{number if most.endswith(f' {unit}') else least} to {most}"

    def lasts_s(self, power_w: float, radio_v: float | None) -> float:
        """How long it lasts if the radio draws this power.

        With a self-discharge of rate k, dE/dt = -P - k E: the energy falls from E0 to E1 in
        ln((k E0 + P) / (k E1 + P)) / k.
        """
        capacity = self.capacity_j(radio_v)
        power = power_w + self.extra_w(radio_v)
        if self.self_discharge == 0:
            return capacity * (1 - self.cutoff) / power if power > 0 else math.inf
        rate = -math.log1p(-self.self_discharge) / _MONTH_S
        left = rate * capacity * self.cutoff + power
        return math.log((rate * capacity + power) / left) / rate if left > 0 else math.inf


def load_instead(profile: Mapping[str, Any]) -> float:
    """By how much an energy is larger, as a share, if a load makes the one average that the profile is fitted on."""
    return float(profile.get("load_instead") or 0.0)


def lasting(seconds: float) -> str:
    """Writes a lifetime as people say it: hours, days or years."""
    if seconds == math.inf:
        return "for ever"
    days = seconds / SECONDS_A_DAY
    if days < 2:
        return f"{seconds / 3600:.3g} h"
    return f"{days:.3g} days" if days < 730 else f"{days / 365.25:.3g} years"


def _error(text: str, part: str) -> InputError:
    return InputError(f"--battery {text!r}: expected {_FORM}, got {part!r}")


def _capacity(text: str, capacity: str) -> dict[str, float]:
    fields: dict[str, float] = {}
    charge = _MILLIAMPERE_HOURS.fullmatch(capacity)
    try:
        if charge is None:
            fields["energy_j"] = Quantity(capacity, "energy").value
        else:
            fields["charge_c"] = float(charge["number"]) * (3.6 if charge["unit"] == "mAh" else 3600.0)
            if charge["voltage"] is not None:
                fields["voltage_v"] = Quantity(charge["voltage"], "voltage").value
    except (InputError, ValueError):
        raise _error(text, capacity) from None
    if not all(0 < value < math.inf for value in fields.values()):
        raise _error(text, capacity)
    return fields


def _load(text: str, value: str) -> dict[str, float]:
    key, kind = ("load_a", "current") if value.endswith("A") else ("load_w", "power")
    try:
        load = Quantity(value, kind).value
    except InputError:
        load = math.nan
    if not 0 <= load < math.inf:
        raise _error(text, f"load={value}")
    return {key: load}


def _self_discharge(text: str, value: str) -> float:
    """The share of a month, from that of a month or of a year: what is left is a share of what was left before."""
    share, slash, period = value.partition("/")
    months = {"": 1, "month": 1, "year": 12}.get(period)
    if months is None or bool(slash) != bool(period):
        raise _error(text, f"self-discharge={value}")
    return float(-math.expm1(math.log1p(-_share(text, share)) / months))


def _share(text: str, value: str) -> float:
    try:
        share = float(value.removesuffix("%")) / 100 if value.endswith("%") else math.nan
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise _error(text, value)
    return share
