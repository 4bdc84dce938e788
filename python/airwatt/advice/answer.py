"""Advice: candidates with what models and runs give for them, and which one to take.

The core decides: candidates, thresholds and the order are in `crates/capture/src/advise`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airwatt import _core, kits, notebook
from airwatt._core import SCHEMA, __version__
from airwatt.advice import platforms
from airwatt.advice.candidate import Candidate, Figures
from airwatt.tables import quantity

if TYPE_CHECKING:
    from airwatt.advice.chip import Chip
    from airwatt.advice.combined_settings import CombinedSetting
    from airwatt.advice.deep_sleep import DeepSleep
    from airwatt.advice.keep_alives import KeepAlives
    from airwatt.advice.network_stack import NetworkStack
    from airwatt.battery import Battery


_BEACON_BOUND = frozenset({"timeout", "psm", "psm-legacy", "latency-guard"})
"""Policies with which a packet for a station that sleeps waits for a beacon, whatever the packet is."""

DAEMON = "latency-guard"
"""The policy that `airwattd station` has without a configuration."""


@dataclass
class Row:
    """A candidate with what the models say and what runs say."""

    candidate: Candidate
    model: Figures | None = None
    simulation: Figures | None = None
    failure: str | None = None
    """Why its runs came to nothing."""
    confirm: bool = False
    """Whether it has to run: the core asks for it, or it can be set, so that the advice may not lose to it."""
    is_out_of_reach: bool = False
    """Whether no setting gives it, on the platform of the radio's chip or, of other radios, on any."""


@dataclass(repr=False)
class Advice:
    """All candidates, and which of them to take."""

    budget_s: float
    source: str
    radio: str
    chip: Chip
    """That of the first station, whose settings are told."""
    rows: list[Row]
    runs: int
    seed: int
    bound: Figures | None = None
    """Of policy `ideal`: the timing of a radio that never sleeps, with sleep in every gap."""
    tunnel: dict[str, float] | None = None
    """By the model alone: a tunnel with the largest burst within the budget."""
    tunnel_curve: list[list[float]] = field(default_factory=list)
    """Delay bounds in s, and the power of the tunnel in W."""
    from_capture: bool = False
    """Replayed packets take the place of simulated flows."""
    notes: list[str] = field(default_factory=list)
    """What the capture lacks, such as its end, and what else was noticed about it."""
    battery: Battery | None = None
    voltage_v: float | None = None
    """Of the radio's profile."""
    keep_alives: list[KeepAlives] = field(default_factory=list)
    """What keep-alives cost, for each candidate that was run."""
    keep_alives_in_flow: bool = False
    """Whether a flow of MQTT has them, which sends one only where it has sent nothing else for their interval."""
    beside: list[CombinedSetting] = field(default_factory=list)
    """What can be set beside the best candidate, if it was run."""
    deep_sleep: DeepSleep | None = None
    """Giving up the association between reports, beside the best candidate."""
    reconnection: str = ""
    """Why there is none though it was asked for."""
    early_beacon_w: float | None = None
    """Mean power of a beacon in each service period of `ending_early`, which its run has not."""
    network_stack: NetworkStack | None = None
    """What lwIP of ESP-IDF does by itself, under the best candidate."""
    target: str | None = None
    """One of `platforms.TARGETS`, whose settings alone are candidates."""
    untried: str = ""
    """What the platform could set, and why it was not tried."""
    assumed: str = ""
    """What is assumed of the path and of the air where flows were named without a scenario."""
    beacon_interval_s: float | None = None
    usual_beacons: int = 1
    """Beacon intervals from one beacon that a station receives to the next, where the candidate does not say it."""
    rtt: str = ""
    """Round trip of the wired path, with its unit, of simulated flows; `0ms` without one."""
    _choice: dict[str, Any] = field(default_factory=dict)
    """The decision of the core, by indices of rows."""

    def __repr__(self) -> str:
        best = self.ranked[0].candidate.name if self.ranked else "nothing"
        return f"<Advice {self.source}: {best} within {quantity(self.budget_s, 's')}>"

    def _repr_html_(self) -> str:
        ranked = self.ranked
        others = [row for row in self.rows if row.simulation is not None and row not in ranked]
        rows = [
            [row.candidate.name, quantity(row.simulation.energy_j, "J"), quantity(row.simulation.judged_s, "s"),
             "within the budget" if row in ranked else "too late"]
            for row in [*ranked, *others] if row.simulation is not None
        ]  # fmt: skip
        title = f"{self.source}, {self.radio}: at most {quantity(self.budget_s, 's')} of delay at the 95th percentile"
        return "\n".join([notebook.paragraph(title), notebook.html_table(["policy", "energy", "delay", ""], rows)])

    def decide(self, target: str | None) -> Advice:
        """Has the core decide, when all that has to run has run. With a target all rows can be set there."""
        self.target = target
        for row in self.rows:
            row.is_out_of_reach = not self.can_set(row.candidate)
        self._choice = json.loads(_core.advise_choose(self.rows, self.budget_s))
        return self

    def can_set(self, candidate: Candidate) -> bool:
        """Whether the target has a setting for it; without one, the kit of the chip, or of others any platform."""
        if candidate.ends_early:
            return False
        if self.target is not None:
            return platforms.is_for(self.target, candidate)
        platform = kits.of_chip(self.chip.name)
        return platforms.can_be_set(candidate) if platform is None else platforms.can_set(platform, candidate)

    def _chosen(self, name: str) -> list[Row]:
        return [self.rows[index] for index in self._choice[name]]

    def _optional(self, name: str) -> Row | None:
        index = self._choice[name]
        return None if index is None else self.rows[index]

    def verdict(self, row: Row) -> dict[str, Any] | None:
        """Why a candidate that was run is the advice or is not: `reason`, and by how much; None if it was not run."""
        verdict: dict[str, Any] | None = self._choice["verdicts"][self.rows.index(row)]
        return verdict

    def unasked_wait_s(self, candidate: Candidate) -> float | None:
        """How long a packet waits at most that comes while the station sleeps; None if beacons do not decide it."""
        if candidate.policy not in _BEACON_BOUND or self.beacon_interval_s is None:
            return None
        return self.beacon_interval_s * (candidate.listen_interval or self.usual_beacons)

    @property
    def daemon(self) -> Row | None:
        """The policy of `airwattd station`, if it was run and can be set."""
        if platforms.usual_of(self.target, self.chip.name) != kits.LINUX:
            return None
        own = (row for row in self.rows if row.candidate.policy == DAEMON and row.simulation)
        return next((row for row in own if row.candidate.listen_interval is None), None)

    @property
    def ranked(self) -> list[Row]:
        """Those confirmed and within the budget, the least energy first."""
        return self._chosen("ranked")

    @property
    def alike(self) -> list[Row]:
        """Those that did exactly what the best one did."""
        return self._chosen("alike")

    @property
    def runner_up(self) -> Row | None:
        """The next that did something else."""
        return self._optional("runner_up")

    @property
    def default(self) -> Row | None:
        """What mac80211 of Linux or the kit of the chip does as it comes; None for a target that has no station."""
        platform = platforms.usual_of(self.target, self.chip.name)
        usual = (row for row in self.rows if row.simulation and platforms.is_usual(platform, row.candidate))
        return next((row for row in usual if row.candidate.listen_interval is None), None)

    @property
    def ending_early(self) -> Row | None:
        """What spends least if service periods end early: the best as it would then be, or what would then beat it."""
        best = self.ranked[0] if self.ranked else None
        if best is None or best.candidate.ends_early:
            return None
        early = [row for row in self.ranked if row.candidate.ends_early]
        own = [row for row in early if row.candidate.awake_to_the_end() == best.candidate]
        least = min(early, key=lambda row: row.simulation.energy_j if row.simulation else 0.0, default=None)
        if least is None or least.simulation is None or best.simulation is None:
            return None
        return own[0] if own else least if least.simulation.energy_j < best.simulation.energy_j else None

    @property
    def within_chance(self) -> bool:
        """Whether the intervals of the best and of the runner-up leave open which is better."""
        return bool(self._choice["within_chance"])

    @property
    def curve(self) -> list[tuple[float, Row]]:
        """What more delay buys: the delays at which a confirmed candidate undercuts all with less delay."""
        return [(delay_s, self.rows[index]) for delay_s, index in self._choice["curve"]]

    @property
    def models_choice(self) -> Row | None:
        """What the models alone would take."""
        return self._optional("models_choice")

    @property
    def disagreements(self) -> list[Row]:
        """Rows in which the energies of model and simulation differ by more than chance and assumptions explain."""
        return self._chosen("disagreements")

    @property
    def late(self) -> list[Row]:
        """Rows in which their delays differ."""
        return self._chosen("late")

    def model_error(self, row: Row) -> float | None:
        """By how much the model's energy differs from the simulation's, as a share of it."""
        error: float | None = self._choice["model_errors"][self.rows.index(row)]
        return error

    @property
    def battery_lasts_s(self) -> dict[str, float]:
        """How long it could run on the battery: with the advice, with nothing set, and always awake."""
        ranked, awake = self.ranked, [row for row in self.rows if row.candidate.policy == "active"]
        default = [row for row in [self.default] if row is not None and row not in ranked[:1]]
        named = {"as advised": ranked[:1], "by default": default, "active": awake[:1]}
        if self.battery is None:
            return {}
        return {
            name: self.battery.lasts_s(row.simulation.power_w, self.voltage_v)
            for name, rows in named.items()
            for row in rows
            if row.simulation and row.simulation.power_w > 0 and not self.battery.refuses(row.simulation.profile)
        }

    def to_dict(self) -> dict[str, Any]:
        """The document of `airwatt advise --json`."""
        ranked = self.ranked
        return {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "notes": self.notes,
            "radio": self.radio,
            "delay_budget_s": self.budget_s,
            "runs_per_candidate": self.runs,
            "seed": self.seed,
            "advice": self._shown(ranked[0]) if ranked else None,
            "runner_up": None if self.runner_up is None else self._shown(self.runner_up),
            "default": None if self.default is None else self._shown(self.default),
            "alike": [self._shown(row) for row in self.alike],
            "candidates": [self._shown(row) for row in self.rows],
            "curve": [{"delay_s": delay, **self._shown(row)} for delay, row in self.curve],
            "models_choice": None if self.models_choice is None else self._shown(self.models_choice),
            "disagreements": [self._shown(row) for row in self.disagreements],
            "delay_disagreements": [self._shown(row) for row in self.late],
            "ideal": None if self.bound is None else vars(self.bound),
            "battery_lasts_s": self.battery_lasts_s,
            "target": self.target,
            "settings": platforms.settings(ranked[0].candidate) if ranked else [],
            "deep_sleep": None if self.deep_sleep is None else vars(self.deep_sleep),
            "network_stack": None if self.network_stack is None else vars(self.network_stack),
            "beside": [one.to_dict() for one in self.beside],
            "keep_alives": [one.to_dict() for one in self.keep_alives],
            "keep_alives_in_flow": self.keep_alives_in_flow,
            "tunnel": self.tunnel,
            "tunnel_curve": [{"delay_bound_s": bound, "power_w": power} for bound, power in self.tunnel_curve],
        }

    def current_a(self, row: Row) -> float | None:
        """Mean current of a candidate's radio; None without a voltage or a run."""
        volts = self.voltage_v if self.battery is None else self.battery.voltage(self.voltage_v)
        return row.simulation.power_w / volts if row.simulation is not None and volts else None

    def _shown(self, row: Row) -> dict[str, Any]:
        return {
            "policy": row.candidate.policy,
            "parameters": dict(row.candidate.parameters),
            "listen_interval": row.candidate.listen_interval,
            "can_be_set": platforms.can_be_set(row.candidate),
            "average_current_a": self.current_a(row),
            "model": None if row.model is None else vars(row.model),
            "simulation": None if row.simulation is None else vars(row.simulation),
            "model_error": self.model_error(row),
            "verdict": self.verdict(row),
            **({"failure": row.failure} if row.failure else {}),
        }


def candidates() -> list[Candidate]:
    """All policies that a station can have, with the parameters that are tried."""
    return [_candidate(entry) for entry in json.loads(_core.advise_candidates())]


def rows_of(
    plan: dict[str, Any],
    chip: str,
    target: str | None = None,
    skipping: int | None = None,
    platform: str | None = None,
) -> list[Row]:
    """The candidates of a plan of the core, each with its model; with a `target` those that can be set there.

    All that the target, the kit of the chip or else Linux can set has to run. Where a listen
    interval is set for all, candidates that sleep have it (`skipping`), since it is a part of what has to be set.
    """
    rows = [
        Row(candidate, None if entry["model"] is None else Figures(**entry["model"]), confirm=entry["confirm"])
        for entry in plan["candidates"]
        for candidate in platforms.as_set(platform, _candidate(entry).listening(skipping))
    ]
    rows = [row for row in rows if target is None or platforms.is_for(target, row.candidate)]
    own = kits.of_chip(chip) or kits.LINUX
    for row in rows:
        row.confirm |= target is not None or platforms.can_set(own, row.candidate)
    # Of candidates that do the same the one without a setting goes first.
    usual = platforms.usual_of(target, chip)
    return sorted(rows, key=lambda row: not platforms.is_usual(usual, row.candidate))


def _candidate(entry: dict[str, Any]) -> Candidate:
    return Candidate(entry["policy"], tuple(entry["parameters"].items()), entry["listen_interval"])
