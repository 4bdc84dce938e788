"""The answers at the head of a page, in sentences: what spends least, what it costs, how far the bound is.

A sentence is made of the numbers below it and of nothing else. A difference that the intervals leave open is said to be
open. The policy with perfect knowledge is a bound and is never recommended.
"""

from __future__ import annotations

from collections.abc import Sequence

from airwatt.battery import Battery, lasting
from airwatt.reports import numbers
from airwatt.reports.matched import difference
from airwatt.reports.study import Choice, Column
from airwatt.tables import percent, quantity

_NEAR = 0.005
"""Relative differences below this are none."""
_WORTH_NAMING = 0.15
_MOST_NAMED = 3


def of_choices(choices: Sequence[Choice], battery: Battery | None, noun: str = "choices") -> list[str]:
    """The answers about energies of choices, which may be called something else."""
    real = [choice for choice in choices if not choice.is_bound and choice.mean("energy_j") is not None]
    if not real:
        return []
    ranked = sorted(real, key=_energy)
    best = ranked[0]
    return [
        _least(best, ranked, noun),
        *_cost(best, real, noun),
        *_nearest(best, real),
        *_lasting(best, ranked, battery),
        *_mostly(best),
    ]


def mark_best(choices: Sequence[Choice]) -> None:
    """Marks the choice that spends least, if there is something to choose from."""
    real = [choice for choice in choices if not choice.is_bound and choice.mean("energy_j") is not None]
    if len(real) > 1:
        min(real, key=_energy).best = True


def _energy(choice: Choice) -> float:
    energy = choice.mean("energy_j")
    assert energy is not None
    return energy


def _least(best: Choice, ranked: Sequence[Choice], noun: str) -> str:
    spent = _spent(best)
    if len(ranked) == 1:
        return f"{best.label} spends {spent}."
    saved = 1 - _energy(best) / _energy(ranked[-1]) if _energy(ranked[-1]) else 0.0
    if saved < _NEAR:
        return f"All {len(ranked)} {noun} spend the same: {spent}."
    alike = [choice.label for choice in ranked[1:] if _is_open(best, choice)]
    if len(alike) == len(ranked) - 1:
        return (
            f"The runs show no difference between {_listed([best.label, *alike])}: {spent} with {best.label},"
            f" {_spent(ranked[-1])} with {ranked[-1].label}, and the interval of the difference includes zero."
        )
    other = _baseline(ranked)
    saved = 1 - _energy(best) / _energy(other) if _energy(other) else 0.0
    text = f"{best.label} spends least of {len(ranked)} {noun}: {spent}"
    text += f", {percent(saved)} less than {other.label}." if saved >= _NEAR and other.label not in alike else "."
    text += _delivered(best, other)
    if alike:
        named = _listed(alike)
        text += f" Between it and {named} the runs leave it open which spends less."
    return text


def _delivered(best: Choice, other: Choice) -> str:
    """What the cheapest choice delivered, where it is another amount than with what its energy is compared with."""
    own, their = best.mean(numbers.DELIVERED.key), other.mean(numbers.DELIVERED.key)
    if own is None or not their or best.delivered is None or other.delivered is None:
        return ""
    more, half = difference(best.delivered, other.delivered)
    if more is None or abs(more) <= max(half or 0.0, _NEAR * their):
        return ""
    than = f"{percent(abs(1 - own / their))} {'less' if own < their else 'more'} than {other.label}"
    return f" It delivered {quantity(own, 'B')}, {than}."


def _baseline(ranked: Sequence[Choice]) -> Choice:
    """What the best choice is compared with: a radio that is always awake, or else the choice that spends most."""
    return next((choice for choice in ranked if choice.label == "active"), ranked[-1])


def _spent(choice: Choice) -> str:
    current = choice.mean(numbers.CURRENT.key)
    power = choice.mean(numbers.POWER.key)
    rate = quantity(current, "A") if current is not None else quantity(power, "W") if power is not None else ""
    return quantity(choice.mean("energy_j"), "J") + (f" ({rate} on average)" if rate else "")


def _is_open(a: Choice, b: Choice) -> bool:
    """Whether the interval of the paired difference includes zero, or the energies are equal.

    Without pairs of runs the intervals of both energies stand in.
    """
    if a.band and b.band:
        return abs(_energy(a) - _energy(b)) <= _NEAR * _energy(b)
    if a.sample is not None and b.sample is not None:
        more, half = difference(a.sample, b.sample)
        if more is not None and half is not None:
            return more <= max(half, _NEAR * _energy(b))
    wide = sum(choice.metrics["energy_j"].ci95 or 0.0 for choice in (a, b))
    return _energy(b) - _energy(a) <= max(wide, _NEAR * _energy(b))


def _cost(best: Choice, real: Sequence[Choice], noun: str) -> list[str]:
    """What the cheapest choice costs in time."""
    for column, what in (
        (numbers.DONE, "the traffic takes {} instead of {}"),
        (numbers.WAITS[1], "95 % of the answers take up to {} instead of {}"),
        (DELAY, "packets wait {} longer on average than with {}"),
    ):
        timed = [choice for choice in real if choice.mean(column.key) is not None]
        if best not in timed or len(timed) < 2:
            continue
        fastest = min(timed, key=lambda choice: choice.mean(column.key) or 0.0)
        own, least = best.mean(column.key) or 0.0, fastest.mean(column.key) or 0.0
        if own <= (1 + _NEAR) * least:
            return [f"No {noun.removesuffix('s')} is faster than {best.label}."]
        texts = (
            (quantity(own - least, "s"), fastest.label)
            if column is DELAY
            else (quantity(own, "s"), f"{quantity(least, 's')} with {fastest.label}")
        )
        return [f"The price is time: with {best.label} {what.format(*texts)}."]
    return []


def _nearest(best: Choice, real: Sequence[Choice]) -> list[str]:
    bounded = [choice for choice in real if choice.mean("excess") is not None]
    if not bounded:
        return []
    nearest = min(bounded, key=lambda choice: choice.mean("excess") or 0.0)
    text = f"{nearest.label} is nearest to its lower bound, at {nearest.mean('excess'):.2f} times it"
    if len(bounded) == 1:
        text = f"{nearest.label} spends {nearest.mean('excess'):.2f} times its lower bound"
    elif nearest is not best and best in bounded:
        text += f"; {best.label} spends {best.mean('excess'):.2f} times its own"
    return [f"{text}."]


def _lasting(best: Choice, ranked: Sequence[Choice], battery: Battery | None) -> list[str]:
    own = best.mean(numbers.LASTS.key)
    if battery is None or not (own or best.lasts):
        return []
    if own is None:
        why = "too much of the profile is another chip's, or open, for one number of days"
        return [f"With {best.label} a battery of {battery.text} lasts {best.lasts}: {why}.", *_modes(best, battery)]
    text = f"With {best.label} a battery of {battery.text} lasts {lasting(own)}"
    other = _baseline(ranked)
    least = other.mean(numbers.LASTS.key)
    if least is not None and own > (1 + _NEAR) * least:
        text += f", with {other.label} {lasting(least)}"
    longest = max(ranked, key=lambda choice: choice.mean(numbers.LASTS.key) or 0.0)
    most = longest.mean(numbers.LASTS.key) or 0.0
    if longest not in (best, other) and most > (1 + _NEAR) * own:
        text += f", longest with {longest.label}: {lasting(most)}"
    return [f"{text}, if the device went on like this.", *_modes(best, battery)]


def _modes(choice: Choice, battery: Battery) -> list[str]:
    """For which host the days hold, and what the same traffic costs in its other modes."""
    profile = choice.profile
    if profile is None:
        return []
    if not profile["mode"]:
        return [] if battery.load_a or battery.load_w else ["The days are those of the radio alone, without its host."]
    power, current = choice.mean(numbers.POWER.key), choice.mean(numbers.CURRENT.key)
    others = [
        f"{quantity(current * mode['average_power_w'] / power, 'A')} in {mode['name']}"
        for mode in profile["modes"]
        if power and current and mode["name"] != profile["mode"]
    ]
    text = f"They hold for a host that is in {profile['mode']} while the radio dozes"
    return [f"{text}; the same traffic takes {_listed(others)}." if others else f"{text}."]


def _mostly(best: Choice) -> list[str]:
    total = sum(best.causes.values())
    if not total:
        return []
    from airwatt.aggregates import cause_name

    shares = sorted(((spent / total, cause_name(name)) for name, spent in best.causes.items()), reverse=True)
    named = [f"{name} ({percent(share)})" for share, name in shares if share >= _WORTH_NAMING] or [
        f"{shares[0][1]} ({percent(shares[0][0])})"
    ]
    return [f"Most of the energy of {best.label} goes to {_listed(named)}."]


def _listed(items: Sequence[str]) -> str:
    shown = list(items[:_MOST_NAMED])
    if len(items) > _MOST_NAMED:
        shown.append(f"{len(items) - _MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


DELAY = Column("delay_s", "added delay", "s", "Mean time that power save adds to a packet.")
