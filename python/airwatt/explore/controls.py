"""The sliders of a page: the main keys of a scenario, with the values that each can take.

What a value is (a time, a rate, a whole number with its range, one of several words) comes from the schema of
scenarios. A quantity has no range there: its slider spans a factor around the value that the scenario has. A key that
has no effect on the scenario has no slider. Values are texts as a scenario file has them, so that the page knows no
units, and a value that no slider has is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airwatt import keys, laboratory
from airwatt._core import InputError, Quantity, Scenario

POLICY = "policy"
MAIN = (
    "station.radio",
    "wired.rtt",
    "wired.down.rate",
    "wired.down.queue",
    "wired.up.rate",
    "wifi.frame_error_rate",
    "ap.beacon_interval",
    "ap.dtim_period",
    "station.listen_interval",
    "flow.transport",
    "flow.application.size",
    "flow.application.rate",
    "flow.application.mean_gap",
    "duration",
)
"""The keys that sliders are made of, in their order."""
_FORMS = {"wired.up.rate": "wired.down.rate"}
OF_CAPTURES = ("station.radio", "ap.beacon_interval", "ap.dtim_period", "station.listen_interval")
"""Those that the replay of a capture takes."""
_SPAN = 20.0
_STEPS = 48
_MOST_WHOLE = 20
_SHARES = [f"{share / 100:g}" for share in range(51)]
_PACKETS = (1, 2000)


@dataclass(frozen=True)
class Control:
    """One slider or list."""

    key: str
    values: list[str]
    start: int
    """The place of the scenario's own value."""
    meaning: str
    is_list: bool
    """Whether its values are names, for a list instead of a slider."""

    def to_dict(self) -> dict[str, Any]:
        """As the script reads it."""
        return dict(vars(self))


def of_scenario(scenario: Scenario) -> list[Control]:
    """The controls of a scenario: the policy of its stations, then every main key that it uses."""
    plain = scenario.to_dict()
    described = _described()
    found = []
    policies = laboratory.possible_policies(scenario)
    if len(policies) > 1:
        own = _value(plain, "station.power_save.policy")
        start = policies.index(own) if own in policies else 0
        found.append(Control(POLICY, policies, start, "Power save of all stations; its time line is shown.", True))
    for path in MAIN:
        control = _control(described[path], _value(plain, path))
        if control is not None and _has_effect(scenario, control):
            found.append(control)
    return found


def of_capture(document: Mapping[str, Any], policies: Sequence[str]) -> list[Control]:
    """The controls of a capture: the policy, the radio and the cell."""
    described = _described()
    cell = document["cell"]
    own = {
        "station.radio": document["radio"],
        "ap.beacon_interval": Quantity(f"{1e6 * cell['beacon_interval_s']:.0f}us"),
        "ap.dtim_period": cell["dtim_period"],
        "station.listen_interval": cell["listen_interval"],
    }
    found = [Control(POLICY, list(policies), policies.index("psm"), "The policy whose time line is shown.", True)]
    controls = (_control(described[path], own[path]) for path in OF_CAPTURES)
    return [*found, *(control for control in controls if control is not None)]


def checked(controls: Iterable[Control], pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What a page asks for, if each value is one of its control. Raises `InputError`."""
    known = {control.key: control for control in controls}
    found = {}
    for key, value in pairs:
        if key not in known:
            raise InputError(f"{key}: expected one of {', '.join(known)}, got a key without a slider")
        if value not in known[key].values:
            raise InputError(f"{key}: expected a value of its slider, got {value!r}")
        found[key] = value
    return found


def _described() -> dict[str, keys.Key]:
    """The keys of sliders. Tables of one form are described once, at the first of them."""
    known = {key.path: key for key in reversed(keys.all_keys())}
    return {path: known[_FORMS.get(path, path)]._replace(path=path) for path in MAIN}


def _value(plain: Any, path: str) -> Any:
    """The value of a key in the first table of each list; None without one."""
    for part in path.split("."):
        plain = plain[0] if isinstance(plain, list) and plain else plain
        plain = plain.get(part) if isinstance(plain, Mapping) else None
    return plain


def _control(key: keys.Key, own: Any) -> Control | None:
    if own is None:
        return None
    values = list(_values(key, own))
    text = _text(own)
    if text not in values:
        return None
    is_list = key.path == "station.radio" or key.kind.startswith("one of")
    return Control(key.path, values, values.index(text), key.meaning, is_list)


def _text(own: Any) -> str:
    return f"{own:g}" if isinstance(own, float) else str(own)


def _values(key: keys.Key, own: Any) -> Iterator[str]:
    """The values of a slider, the scenario's own among them."""
    whole = re.match(r"a whole number from (\d+)(?: to (\d+))?", key.kind)
    packets = re.fullmatch(r"(\d+)packets", str(own))
    if key.path == "station.radio":
        names = [radio["name"] for radio in laboratory.radios()]
        yield from names if own in names else [own, *names]
    elif key.kind.startswith("one of "):
        yield from key.kind.removeprefix("one of ").partition(" or ")[0].split(", ")
    elif isinstance(own, Quantity):
        yield from _quantities(own)
    elif packets:
        own_count = int(packets[1])
        counts = np.unique(np.round(np.geomspace(_PACKETS[0], max(_PACKETS[1], own_count), _STEPS)).astype(int))
        yield from (f"{count}packets" for count in np.union1d(counts, [own_count]).tolist())
    elif whole:
        least, most = max(1, int(whole[1])), min(int(whole[2] or _MOST_WHOLE), _MOST_WHOLE)
        numbers = range(least, most + 1)
        yield from map(str, numbers)
        if own not in numbers:
            yield str(own)
    elif isinstance(own, float):
        yield from dict.fromkeys([*_SHARES, _text(own)] if own > 0.5 else sorted({*_SHARES, _text(own)}, key=float))


def _quantities(own: Quantity) -> Iterator[str]:
    """Round values from a twentieth to twenty times the scenario's own."""
    if own.value <= 0:
        yield str(own)
        return
    around = own.value * np.geomspace(1 / _SPAN, _SPAN, _STEPS + 1)
    rounded = {float(f"{value:.2g}") for value in around.tolist()} - {own.value}
    for value in sorted([*rounded, own.value]):
        yield str(own) if value == own.value else str(Quantity.of(value, own.unit))


def _has_effect(scenario: Scenario, control: Control) -> bool:
    """Whether the scenario takes another value of a control: a key without effect is an error of the loader."""
    others = [value for place, value in enumerate(control.values) if place != control.start]
    for value in (*others[:1], *others[-1:]):
        try:
            scenario.replace([(control.key, value)])
        except InputError:
            continue
        return True
    return False
