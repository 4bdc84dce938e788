"""A candidate, and what it costs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

AWAKE_TO_THE_END = ("early_end", "false")
"""Of target wake time: the station is awake for the whole service period."""
ENDS_EARLY = ("early_end", "true")
"""The access point ends a service period with its first answer, and the station sleeps then."""


AS_NRF70 = ("device", "nrf70")
"""The station is awake for the whole service period, sends nothing outside, and discards what is left at the end."""


@dataclass(frozen=True)
class Candidate:
    """A policy with its parameters."""

    policy: str
    parameters: tuple[tuple[str, str], ...] = ()
    listen_interval: int | None = None
    """In beacons; None for that of the scenario or, in a replay, every beacon."""

    @property
    def name(self) -> str:
        """The policy with the values of its parameters."""
        skipping = []
        if self.listen_interval is not None:
            skipping = ["every beacon" if self.listen_interval == 1 else f"every {self.listen_interval} beacons"]
        # A device, and a parameter that is true or false, belong to the platform and tell no candidates apart.
        values = (value for key, value in self.parameters if key != "device" and value not in ("true", "false"))
        early = ["ending early"] if self.ends_early else []
        return " ".join([self.policy, *values, *early, *skipping])

    @property
    def ends_early(self) -> bool:
        """Whether its service periods are taken to end early, which nothing sets."""
        return ENDS_EARLY in self.parameters

    def awake_to_the_end(self) -> "Candidate":
        """The same where service periods do not end early."""
        parameters = tuple(AWAKE_TO_THE_END if one == ENDS_EARLY else one for one in self.parameters)
        return replace(self, parameters=parameters)

    def listening(self, beacons: int | None) -> "Candidate":
        """The same with a listen interval, if there is one and the policy sleeps."""
        return self if beacons is None or self.policy == "active" else replace(self, listen_interval=beacons)

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """As keys of a scenario."""
        listening = [] if self.listen_interval is None else [("station.listen_interval", str(self.listen_interval))]
        own = [(f"station.power_save.{key}", value) for key, value in self.parameters]
        return [("policy", self.policy), *own, *listening]


@dataclass(frozen=True)
class Figures:
    """What a candidate costs, by a model or by runs; intervals are 95 %, None where there is none."""

    energy_j: float
    power_w: float
    delay_s: float
    """The mean of what it adds to the time of a packet or answer."""
    goodput_bps: float | None = None
    energy_ci95_j: float | None = None
    delay_ci95_s: float | None = None
    delay_p95_s: float | None = None
    """What it adds to the 95th percentile of the time of packets, answers or blocks, by which it is judged."""
    delay_p99_s: float | None = None
    energy_low_j: float | None = None
    energy_high_j: float | None = None
    """The band that a capture's unknowns leave."""
    goodput_ci95_bps: float | None = None
    causes: dict[str, float] | None = None
    """Shares of the energy by cause, the largest first; None from a model."""
    profile: Mapping[str, Any] | None = None
    """What the radio's profile says of the energy: the modes of the host, and how far it may be off."""
    resent: float | None = None
    """TCP segments that senders sent again, on the average of the runs; None from a model or a replay."""
    waited_for: int | None = None
    """Packets or answers in a run of the flow that has the fewest, or in a replay at most; None from a model."""

    @property
    def judged_s(self) -> float:
        """The delay that is held against the budget, as the core has it; a mean of none where nothing can be late."""
        return self.delay_s if self.delay_p95_s is None else self.delay_p95_s
