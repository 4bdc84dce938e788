"""What can be set beside the power save: when TCP acknowledges, and how many packets share a burst.

Each setting is simulated with the best candidate, and compared with it. Left out: the same settings with other
candidates, several of them at once, and captures, whose packets are as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airwatt import _core
from airwatt.advice.platforms import PLATFORMS, TARGETS
from airwatt.advice.setting import Setting as How

if TYPE_CHECKING:
    from airwatt.advice.candidate import Candidate, Figures


@dataclass(frozen=True)
class Setting:
    """Keys of a scenario under a name."""

    name: str
    overrides: tuple[tuple[str, str], ...]
    how: tuple[How | None, ...]
    """How it is set on each of `platforms.PLATFORMS`; None if the platform has no setting for it."""


def _on(settings: dict[str, How]) -> tuple[How | None, ...]:
    return tuple(settings.get(name) for name in PLATFORMS)


_ON_LINUX = _on(dict.fromkeys(TARGETS["linux"], How((), "airwattd tunnel at both ends (docs/tunnel.md)")))

OF_LWIP = "ACK in 250ms"
"""The setting that is lwIP's as it comes."""
SETTINGS = (
    Setting(
        "ACK at once",
        (("tcp.delayed_ack", "false"),),
        _on({"iw": How(("ip route change ROUTE quickack 1",))}),
    ),
    Setting(
        "ACK in 40ms",
        (("tcp.delayed_ack", "true"), ("tcp.delayed_ack_timeout", "40ms")),
        # With lwIP it is the interval of a timer, which would wake the host up six times as often.
        _on({"iw": How(("ip route change ROUTE quickack 0",), "as it comes")}),
    ),
    Setting(
        OF_LWIP,
        (("tcp.delayed_ack", "true"), ("tcp.delayed_ack_timeout", "250ms")),
        _on({"ESP-IDF": How(("CONFIG_LWIP_TCP_TMR_INTERVAL=250",), "as it comes")}),
    ),
    Setting("bursts of 5", (("tunnel.burst", "5"), ("tunnel.hold", "100ms")), _ON_LINUX),
    Setting("bursts of 20", (("tunnel.burst", "20"), ("tunnel.hold", "400ms")), _ON_LINUX),
)


@dataclass(frozen=True)
class CombinedSetting:
    """A setting beside the best candidate, and what runs say of both together."""

    setting: Setting
    candidate: Candidate
    figures: Figures
    alone: Figures
    """Of the candidate without the setting."""

    change: float
    """The change of energy as a share of that of the candidate alone; negative if it saves."""
    has_effect: bool
    """Whether the runs differ from those of the candidate alone: the scenario may have the setting already."""
    is_advised: bool
    """Whether it is within the budget and saves more than chance explains."""

    @classmethod
    def of(
        cls, setting: Setting, candidate: Candidate, figures: Figures, alone: Figures, budget_s: float
    ) -> CombinedSetting:
        """Has the core decide what the runs say."""
        return cls(setting, candidate, figures, alone, *_core.advise_change(alone, figures, budget_s))

    def to_dict(self) -> dict[str, Any]:
        """For the document."""
        return {
            "setting": self.setting.name,
            "keys": dict(self.setting.overrides),
            "simulation": vars(self.figures),
            "change": self.change,
            "advised": self.is_advised,
        }
