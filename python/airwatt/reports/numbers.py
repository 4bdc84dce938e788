"""The numbers of each choice, from its runs: energy and its lower bound, current and battery, time, sleep."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from airwatt import aggregates
from airwatt._documents import RunResult
from airwatt.battery import SECONDS_A_DAY, Battery
from airwatt.reports.matched import Sample
from airwatt.reports.study import Choice, Column
from airwatt.statistics import Estimate, estimate

_MILLIAMPERE_HOUR_C = 3.6

Metric = Callable[[RunResult], float | None]

ENERGY = Column("energy_j", "energy", "J", "Energy of all stations' radios over the run.")
BOUND = Column("bound_j", "lower bound", "J", "The least energy for the same frames at the same times.")
EXCESS = Column("excess", "over the bound", "x", "Energy over its lower bound.")
POWER = Column("power_w", "power", "W", "Mean power of a station's radio.")
CURRENT = Column("current_a", "current", "A", "Mean current of a station's radio at its supply voltage.")
CHARGE = Column(
    "charge_mah", "charge a day", "mAh", "Charge that a station takes in a day, with the host if one was given."
)
LASTS = Column("lasts_s", "battery lasts", "lasting", "How long the battery of a station lasts.")
GOODPUT = Column("goodput_bps", "goodput", "b/s", "Payload of all flows, each over its time.")
MEASURED = Column("measured_bps", "goodput measured", "b/s", "Payload of all flows from `measure_from` to the end.")
DELIVERED = Column("delivered_bytes", "delivered", "B", "Payload of all flows that was delivered.")
DONE = Column("completed_s", "done at", "s", "When the last transfer was complete.")
ASLEEP = Column("asleep", "asleep", "%", "Share of the time in which radios slept.")
WAKEUPS = Column("wakeups", "wake-ups", "", "How often radios woke up.")
RESENT = Column("resent", "resent", "", "Segments that were sent again.")
WAITS = tuple(
    Column(f"response_{name}", f"answer {name}", "s", f"How long {name[1:]} % of the answers or blocks took at most.")
    for name in aggregates.PERCENTILES
)
COLUMNS = (
    ENERGY,
    BOUND,
    EXCESS,
    POWER,
    CURRENT,
    CHARGE,
    LASTS,
    DONE,
    *WAITS,
    DELIVERED,
    GOODPUT,
    MEASURED,
    ASLEEP,
    WAKEUPS,
    RESENT,
)
BOUND_TEXT = (
    "The tick is the lower bound: the least energy for the same frames at the same times, of a radio that knows them "
    "in advance and sleeps in every gap that is long enough. Each policy has its own, as its frames have other times."
)


def metrics_of(volts: float | None, battery: Battery | None) -> dict[str, Metric]:
    """The numbers of a run by the key of their column; those that need a voltage or a battery only with one."""
    found: dict[str, Metric] = {
        ENERGY.key: aggregates.energy_j,
        BOUND.key: bound_j,
        EXCESS.key: _excess,
        POWER.key: power_w,
        # One of both, as tables have it.
        GOODPUT.key: lambda run: (
            aggregates.goodput_bps(run) if run.flows and aggregates.measured_bps(run) is None else None
        ),
        MEASURED.key: lambda run: aggregates.measured_bps(run) if run.flows else None,
        DELIVERED.key: lambda run: aggregates.delivered_bytes(run) if run.flows else None,
        DONE.key: lambda run: aggregates.completed_s(run) if run.flows else None,
        ASLEEP.key: partial(aggregates.share, state="sleep"),
        WAKEUPS.key: aggregates.wakeups,
        RESENT.key: lambda run: aggregates.retransmitted(run) if run.flows else None,
    }
    for column, name in zip(WAITS, aggregates.PERCENTILES, strict=True):
        found[column.key] = partial(aggregates.response_s, percentile=name)
    own = {key: partial(lambda run, of: of(power_w(run)), of=of) for key, of in electric(volts, battery).items()}
    return found | own


def electric(volts: float | None, battery: Battery | None) -> dict[str, Callable[[float | None], float | None]]:
    """What follows from a mean power at a voltage: current, charge a day, and how long a battery lasts."""
    supply = volts if battery is None else battery.voltage(volts)
    extra_w = 0.0 if battery is None else battery.extra_w(volts)
    found: dict[str, Callable[[float | None], float | None]] = {}
    if supply:
        found[CURRENT.key] = lambda power: None if power is None else power / supply
        found[CHARGE.key] = lambda power: (
            None if power is None else (power + extra_w) * SECONDS_A_DAY / supply / _MILLIAMPERE_HOUR_C
        )
    if battery is not None:
        found[LASTS.key] = lambda power: None if power is None else battery.lasts_s(power, volts)
    return found


def choice_of(label: str, runs: Sequence[RunResult], battery: Battery | None) -> Choice:
    """The numbers of the runs of one choice."""
    volts = next((aggregates.mean_voltage(run) for run in runs if run.stations), None)
    metrics = metrics_of(volts, battery)
    profile = aggregates.mean_profile([run.stations[0].get("profile") for run in runs if run.stations])
    columns = {key: [metric(run) for run in runs] for key, metric in metrics.items()}
    powers = [power for run in runs if (power := power_w(run)) is not None]
    lasts = "" if battery is None or not powers else battery.lasts(math.fsum(powers) / len(powers), volts, profile)
    if battery is not None and battery.refuses(profile):
        columns[LASTS.key] = [None] * len(runs)
    return Choice(
        label,
        {key: estimate(values) for key, values in columns.items()},
        {
            key: kept
            for key, values in columns.items()
            if len(kept := [v for v in values if v is not None]) == len(runs)
        },
        causes=_means([_causes(run) for run in runs]),
        states=_means([_states(run) for run in runs]),
        sample=_sample(runs, columns[ENERGY.key]),
        delivered=_sample(runs, columns[DELIVERED.key]),
        profile=profile,
        lasts=lasts,
        is_bound=bool(runs) and all(station.policy == "ideal" for run in runs for station in run.stations),
    )


def _sample(runs: Sequence[RunResult], values: Sequence[float | None]) -> Sample | None:
    if any(value is None for value in values):
        return None
    seeds = np.array([run.seed for run in runs], np.uint64)
    return Sample(np.zeros(len(runs), np.int64), seeds, np.array(values, np.float64))


def bound_j(run: RunResult) -> float | None:
    """All stations' lower bounds, in joules; None of a document that has none."""
    bounds = [station.lower_bound_j for station in run.stations]
    return math.fsum(bounds) if bounds and None not in bounds else None


def power_w(run: RunResult) -> float | None:
    """Mean power of a station."""
    powers = [station.average_power_w for station in run.stations]
    return math.fsum(powers) / len(powers) if powers else None


def _excess(run: RunResult) -> float | None:
    bound = bound_j(run)
    return aggregates.energy_j(run) / bound if bound else None


def causes_of(energy_by_cause_j: Mapping[str, object]) -> dict[str, float]:
    """Energy by cause, with all flows together."""
    return {
        name: math.fsum(spent.values()) if isinstance(spent, Mapping) else float(spent)  # type: ignore[arg-type]
        for name, spent in energy_by_cause_j.items()
    }


def _causes(run: RunResult) -> dict[str, float]:
    return _sums([causes_of(station["energy_by_cause_j"]) for station in run.stations])


def _states(run: RunResult) -> dict[str, float]:
    return _sums([dict(station["state_s"]) for station in run.stations])


def _sums(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: math.fsum(part.get(name, 0.0) for part in parts) for name in names}


def _means(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: total / len(parts) for name, total in _sums(parts).items()}


def exactly(value: float | None) -> Estimate:
    """A number without an interval."""
    return Estimate(value, None)
