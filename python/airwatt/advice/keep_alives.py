"""Keep-alives priced: what one costs under each candidate, and what other intervals would save.

A keep-alive is that of MQTT over TLS, the same flow as `application = { kind = "mqtt" }` of a scenario. Its cost is the
difference of energy to a station without traffic, divided by their number. A longer interval saves in proportion, since
one costs the same as long as the interval is longer than the time-outs of the policy. What they take is a part of each
candidate's energy, so that they count in the choice; nobody waits for their answers, so that no delay of theirs does.
Left out: keep-alives of the access point and of TCP, and batching with other traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airwatt import _core
from airwatt._core import InputError, Scenario
from airwatt.advice import beside_none
from airwatt.advice.candidate import Candidate, Figures
from airwatt.battery import SECONDS_A_DAY
from airwatt.tasks import StorePath

FACTORS = (1, 2, 4)
"""Multiples of the interval that are priced."""
_COUNT = 40
"""Keep-alives in a run, on average."""


@dataclass(frozen=True)
class KeepAlives:
    """Keep-alives under one candidate."""

    candidate: Candidate
    interval_s: float
    one_j: float
    """What one costs."""
    idle_w: float
    """What the station draws without traffic."""
    voltage_v: float | None
    profile: Mapping[str, Any] | None
    """What the radio's profile says of the energy."""
    modes_w: Mapping[str, float]
    """What they add in each mode of the host."""
    rtt_s: float | None
    """Round trip of the wired path; None where the network has other parts."""

    @property
    def day_j(self) -> dict[float, float]:
        """What those of a day cost, by interval in seconds."""
        intervals = [factor * self.interval_s for factor in FACTORS]
        return {interval_s: self.one_j * SECONDS_A_DAY / interval_s for interval_s in intervals}

    @property
    def saved_j(self) -> dict[float, float]:
        """What a longer interval saves in a day."""
        return {interval_s: self.day_j[self.interval_s] - day_j for interval_s, day_j in self.day_j.items()}

    @property
    def added_w(self) -> float:
        """What they add on the average."""
        return self.one_j / self.interval_s

    @property
    def power_w(self) -> float:
        """What the station draws with them."""
        return self.idle_w + self.added_w

    def beside(self, figures: Figures) -> Figures:
        """The figures of other traffic and of the keep-alives together."""
        if not figures.power_w:
            return figures
        energy_j = figures.energy_j * (1 + self.added_w / figures.power_w)
        causes, share = figures.causes, 1 - figures.energy_j / energy_j
        if causes is not None:
            shares = {name: part * (1 - share) for name, part in causes.items()} | {"keep-alives": share}
            causes = dict(sorted(shares.items(), key=lambda entry: -entry[1]))
        power_w = figures.power_w + self.added_w
        return replace(
            figures, energy_j=energy_j, power_w=power_w, causes=causes, profile=self._profile(figures.profile)
        )

    def _profile(self, profile: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """With the wider of the two bands, since the parts that differ by little are told by none."""
        if profile is None or self.profile is None:
            return profile
        modes = [
            {**mode, "average_power_w": mode["average_power_w"] + self.modes_w.get(mode["id"], self.added_w)}
            for mode in profile["modes"]
        ]
        most = max((profile, self.profile), key=lambda one: max(one["band_low"], one["band_high"]))
        return {**most, "modes": modes}

    def to_dict(self) -> dict[str, Any]:
        """For the document."""
        return {
            "policy": self.candidate.policy,
            "parameters": dict(self.candidate.parameters),
            "listen_interval": self.candidate.listen_interval,
            "interval_s": self.interval_s,
            "rtt_s": self.rtt_s,
            "one_j": self.one_j,
            "power_w": self.power_w,
            "days": [{"interval_s": interval_s, "energy_j": day_j} for interval_s, day_j in self.day_j.items()],
        }


def price(
    scenario: Scenario, candidates: list[Candidate], interval_s: float, seed: int = 1, store: StorePath = None
) -> list[KeepAlives]:
    """Prices keep-alives of this mean interval, and of its multiples. Raises `InputError` or `RunError`."""
    each_s = beside_none.apart(interval_s)
    flow = {"direction": "up", "application": {"kind": "mqtt", "keep_alive": f"{each_s:.9f}s"}}
    found = []
    wired = beside_none.wired(scenario)
    rtt_s = None if wired is None else float(_core.Quantity(str(wired["rtt"]), "time").value)
    pairs = beside_none.runs(scenario, candidates, flow, _COUNT * each_s, seed, store)
    for candidate, (idle, loaded) in zip(candidates, pairs, strict=True):
        more_j = max(0.0, loaded.energy_j - idle.energy_j)
        one_j = more_j / loaded.answered if loaded.answered else 0.0
        each_w = loaded.power_w - idle.power_w
        scale = one_j / interval_s / each_w if each_w > 0 else 0.0
        before = {mode["id"]: mode["average_power_w"] for mode in (idle.profile or {}).get("modes", [])}
        modes_w = {
            mode["id"]: scale * (mode["average_power_w"] - before[mode["id"]])
            for mode in (loaded.profile or {}).get("modes", [])
        }
        found.append(
            KeepAlives(candidate, interval_s, one_j, idle.power_w, loaded.voltage_v, loaded.profile, modes_w, rtt_s)
        )
    return found


def interval_of(text: str) -> float:
    """Reads `--keep-alive`, a time from 1 s to a day. Raises `InputError`."""
    try:
        interval_s = float(_core.Quantity(text, "time").value)
    except InputError:
        interval_s = 0.0
    if not 1 <= interval_s <= SECONDS_A_DAY / 4:
        raise InputError(f"--keep-alive {text!r}: expected a time from 1s to 6h, got another")
    return interval_s
