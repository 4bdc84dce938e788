"""Currents, charges and lifetimes beside powers and energies, in the same columns for runs, comparisons and advice.

A power is a current at the voltage of the radio's profile, or without one at that of the battery. Without either there
are no currents, but a battery whose capacity is an energy still has a lifetime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airwatt._core import LARGEST_PROFILE_ERROR, MOST_BORROWED, WIDE_BAND
from airwatt.aggregates import over
from airwatt.battery import SECONDS_A_DAY, load_instead
from airwatt.tables import NOTHING, quantity, table

if TYPE_CHECKING:
    from airwatt._documents import RunResult
    from airwatt.battery import Battery
    from airwatt.layout import Table

_MILLIAMPERE_HOUR_C = 3.6
_SMALL_MAH = 0.01
_MOST_CAUSES = 6
_SAME_V = 1e-3
_WORTH_NAMING = 0.1
"""Share of the energy from which a cause is named in a row."""


def voltage(run: RunResult, index: int = 0) -> float | None:
    """The voltage of a station's radio, as its power and its current have it; None without one."""
    station = run.stations[index]
    current = station.average_current_a
    return station.average_power_w / current if current else None


def has_any(volts: Sequence[float | None], battery: Battery | None) -> bool:
    """Whether there is anything to say of currents or lifetimes."""
    return battery is not None or any(volts)


def heads(battery: Battery | None, profile: Mapping[str, Any] | None = None) -> list[str]:
    """The headings of `cells`, with the mode of the host for which the days hold."""
    host = ["host", "together"] if battery is not None and (battery.load_a or battery.load_w) else []
    # The capacity alone: options would take the room of the numbers.
    mode = f" in {profile['mode']}" if profile is not None and profile["mode"] else ""
    if radio_alone(battery, profile):
        mode = ", radio alone"
    lasts = [] if battery is None else [f"{battery.text.partition(',')[0]} lasts{mode}"]
    return ["current", *host, "charge a day", *lasts]


def radio_alone(battery: Battery | None, profile: Mapping[str, Any] | None) -> str:
    """Says that days lack the host of a radio whose profile has none, and how to add it; empty where they do not."""
    if battery is None or profile is None or profile["mode"] or battery.load_a or battery.load_w:
        return ""
    capacity = battery.text.partition(",")[0]
    return f"radio alone; with the host: --battery {capacity},load=0.5mA, whatever your host takes on the average"


def cells(
    power_w: float | None, radio_v: float | None, battery: Battery | None, profile: Mapping[str, Any] | None = None
) -> list[str]:
    """A radio's current, its host's if the battery feeds one, the charge of a day, and how long the battery lasts.

    A `profile` that borrows too much from another chip says days as a range.
    """
    if power_w is None:
        return [NOTHING] * len(heads(battery))
    volts = radio_v if battery is None else battery.voltage(radio_v)
    extra_w = 0.0 if battery is None else battery.extra_w(radio_v)
    loaded = battery is not None and bool(battery.load_a or battery.load_w)
    powers = [power_w, extra_w, power_w + extra_w] if loaded else [power_w]
    return [
        *(quantity(power / volts if volts else None, "A") for power in powers),
        charge((power_w + extra_w) * SECONDS_A_DAY, volts),
        *([] if battery is None else [battery.lasts(power_w, radio_v, profile)]),
    ]


def host_modes(
    what: str,
    rows: Sequence[tuple[str, Mapping[str, Any] | None]],
    radio_v: float | Sequence[float | None] | None,
    battery: Battery | None,
    *,
    energies_have_bands: bool = False,
) -> Iterator[str | Table]:
    """What the same traffic costs in each mode of the host, and how far the answer may be off.

    The voltage is that of all radios, or there is one for each row. A current has the band of its energy, if that has
    one: the profile's part is in it.
    """
    named = [(name, profile) for name, profile in rows if profile is not None]
    profiles = [profile for _, profile in named]
    if not profiles:
        if battery is not None:
            yield (
                "the profile is compared with no average of its maker, so that nothing says how far days are off; "
                f"profiles that are compared with one err by up to {100 * LARGEST_PROFILE_ERROR:.0f} %"
            )
        return
    lack_host = {name: text for name, profile in named if (text := radio_alone(battery, profile))}
    if lack_host:
        whose = "" if len(lack_host) == len(rows) else f" of {_listed(lack_host)}"
        yield f"days{whose} are those of the {next(iter(lack_host.values()))}"
    # Choices may be radios, each with modes of its own or with none.
    modes = list(dict.fromkeys(mode["name"] for profile in profiles for mode in profile["modes"]))
    volts = [radio_v] * len(rows) if radio_v is None or isinstance(radio_v, float) else list(radio_v)
    cells = []
    for (name, profile), radio in zip(rows, volts, strict=True):
        if profile is None:
            continue
        divided = radio if battery is None else battery.voltage(radio)
        powers = {mode["name"]: mode["average_power_w"] for mode in profile["modes"]}
        texts = [quantity(powers[mode] / divided if divided and mode in powers else None, "A") for mode in modes]
        if battery is not None:
            days = [battery.lasts(powers[mode], radio, profile) if mode in powers else "" for mode in modes]
            texts = [f"{text}\n{lasts}".rstrip() for text, lasts in zip(texts, days, strict=True)]
        cells.append([name, *texts])
    if modes and any(volt if battery is None else battery.voltage(volt) for volt in volts):
        assumed = " or ".join(dict.fromkeys(profile["mode"] for profile in profiles if profile["mode"]))
        have = [name for name, profile in named if profile["mode"]]
        whose = "" if len(have) == len(rows) else f" of {_listed(have)}"
        yield (
            f"assumed is that the host{whose} is in {assumed} while the radio dozes; airwatt radios NAME lists "
            "what sets each mode; the same traffic in each:"
        )
        yield table([what, *modes], cells)
    if energies_have_bands:
        yield "currents have the bands of the energies, in which the profile's is contained; days go the other way"
    else:
        yield from _bands(what, rows, battery)
    own = battery.voltage_v if battery is not None else None
    if own is not None and any(volt is not None and abs(volt - own) > _SAME_V for volt in volts):
        yield f"the battery has {own:g} V, the radio has not: the converter between them is taken to lose nothing"
    ranges = [name for name, profile in named if battery is not None and battery.refuses(profile)]
    if ranges:
        whose = "" if len(ranges) == len(rows) else f" of {_listed(ranges)}"
        yield (
            f"days{whose} are ranges, those of the radio's band: {why_ranges(profiles)}, and one number wants "
            f"{100 * MOST_BORROWED:.0f} % or less; --allow-borrowed says one all the same"
        )


def why_ranges(profiles: Iterable[Mapping[str, Any]]) -> str:
    """Says why days are ranges, by the profile of which most rests on other chips or is left open by one average."""
    most = max(profiles, key=lambda profile: max(profile["borrowed_share"], abs(load_instead(profile))))
    if (load := load_instead(most)) and abs(load) >= most["borrowed_share"]:
        return f"it is {100 * load:+.1f} % if a load of the board makes the one average that was measured"
    share, borrowed = 100 * most["borrowed_share"], _listed(most["borrowed"])
    return f"up to {share:.1f} % of the charge rest on values of another chip ({borrowed})"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _band(profile: Mapping[str, Any]) -> str:
    return f"\N{MINUS SIGN}{100 * profile['band_low']:.1f} to +{100 * profile['band_high']:.1f} %"


def _bands(
    what: str, rows: Sequence[tuple[str, Mapping[str, Any] | None]], battery: Battery | None
) -> Iterator[str | Table]:
    """The band of each row, and why the widest one is that wide; one sentence if all rows have the same."""
    named = [(name, profile) for name, profile in rows if profile is not None]
    modes = {profile["mode"] for _, profile in named}
    if len({_band(profile) for _, profile in named}) == 1 and len(modes) == 1 and len(named) == len(rows):
        yield band_text(named[0][1])
        return
    loaded = battery is not None and bool(battery.load_a or battery.load_w)
    without = "as --battery has it" if loaded else "not included"

    def cells(name: str, profile: Mapping[str, Any] | None) -> list[str]:
        if profile is None:
            return [name, *([without] if len(modes) > 1 else []), "unknown"]
        return [name, *([profile["mode"] or without] if len(modes) > 1 else []), _band(profile)]

    heads = [what, *(["host"] if len(modes) > 1 else []), "band of energy, current, charge"]
    yield table(heads, [cells(*row) for row in rows], left=len(heads) - 1)
    name, widest = max(named, key=lambda row: max(row[1]["band_low"], row[1]["band_high"]))
    # A choice of several keys is its values.
    yield band_text(widest, name if ", " in what else f"{what} {name}")


def _other_modes(profile: Mapping[str, Any]) -> str:
    """The errors of modes of the host that are not assumed, in parentheses."""
    texts = [
        f"{100 * mode['error']:.1f} % in {mode['name']}"
        for mode in profile["modes"]
        if mode["name"] != profile["mode"] and mode["error"] is not None
    ]
    return f" ({', '.join(texts)})" if texts else ""


_ASSUMED = {
    "listen": "the current of listening, no less than 75 % of receiving",
    "sleep": "the current of sleep, which may be that of another chip",
    "wake_up": "the charge of a wake-up",
}


def band_text(profile: Mapping[str, Any], widest: str = "") -> str:
    """How far currents and days may be off: the profile's own error, and what borrowed values may make.

    With `widest` it is said of the row of that name, whose band stands in a table.
    """
    error, borrowed = profile["error"], profile["borrowed"]
    if error is None:
        why = (
            f"up to {100 * LARGEST_PROFILE_ERROR:.0f} %, the largest error of profiles that predict a published "
            "average (here none is), as far as averages of the profile, without the error of what measured them, leave "
            "room for it"
        )
    else:
        predicts = f"{100 * error:.1f} % by which the profile errs where it predicts its maker's averages"
        why = predicts + _other_modes(profile)
    digits = profile.get("digits") or 0.0
    if digits:
        why += (
            f", no less than the {100 * digits:.1f} % that the last digit of the averages it is fitted on leaves open, "
            "or that the profile states"
        )
    if profile["assumed"]:
        why += f", and what the profile assumes ({_listed(_ASSUMED.get(key, key) for key in profile['assumed'])})"
    load = load_instead(profile)
    if load:
        why += (
            f", and that it is {100 * load:+.1f} % if a load of the board makes the one average that was measured, and "
            "not the wake-up"
        )
    if borrowed:
        why += f", and the range that {_listed(borrowed)} of other chips leave{'s' if len(borrowed) == 1 else ''}"
    text = f"band of energies, currents and charges: {_band(profile)}: {why}; days go the other way"
    if widest:
        text = f"days go the other way; the widest band is that of {widest}: {why}"
    # What one average leaves open is not for the maker to publish.
    if max(profile["band_low"], profile["band_high"]) > WIDE_BAND and abs(load) < WIDE_BAND:
        text += "; a band this wide says that too little of the chip is published for more than an order of magnitude"
    # A result that was stored before has no such key.
    if (period := profile.get("next_average")) is not None:
        text += (
            f"; the average with DTIM {period}, measured beside those of the profile, narrows it most (airwatt "
            f"radios --of NAME --fit-averages dtim{period}=CURRENT,... --new my.toml)"
        )
    return text


def charge(energy_j: float | None, volts: float | None) -> str:
    """Writes an energy as a charge: `33.6 mAh`."""
    if energy_j is None or not volts:
        return NOTHING
    return _mah(charge_mah(energy_j, volts))


def charge_mah(energy_j: float, volts: float) -> float:
    """An energy as a charge in mAh."""
    return energy_j / volts / _MILLIAMPERE_HOUR_C


def _mah(amount: float) -> str:
    if 0 < abs(amount) < _SMALL_MAH:
        return f"{1e3 * amount:.3g} µAh"
    return f"{amount:.4g} mAh"


def document(
    power_w: float, radio_v: float | None, battery: Battery, profile: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The same for JSON."""
    volts = battery.voltage(radio_v)
    extra_w = battery.extra_w(radio_v)
    return {
        "lasts_s": None if battery.refuses(profile) else battery.lasts_s(power_w, radio_v),
        "average_current_a": power_w / volts if volts else None,
        "host_current_a": extra_w / volts if volts else None,
        "charge_per_day_c": (power_w + extra_w) * SECONDS_A_DAY / volts if volts else None,
    }


def power_w(runs: Sequence[RunResult], index: int | None = None) -> float:
    """Mean power of one station, or of all of them, over several runs."""

    def of(run: RunResult) -> float:
        stations = run.stations if index is None else [run.stations[index]]
        return sum(station.average_power_w for station in stations) / max(1, len(stations))

    return over(runs, of).mean or 0.0


def mostly(shares: Sequence[tuple[str, float]]) -> str:
    """What most of the energy was spent on: `idle 98 %`, with every cause of a tenth or more."""
    kept = [entry for place, entry in enumerate(shares) if entry[1] >= _WORTH_NAMING or not place]
    return ", ".join(f"{name} {_whole(share)}" for name, share in kept) or NOTHING


def _whole(share: float) -> str:
    # The unit stays beside its number.
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%" if share else NOTHING


def causes_table(rows: Sequence[tuple[str, Mapping[str, float]]], a_day_mah: Sequence[float] | None = None) -> Table:
    """The shares of the energy by cause, a row for each choice: the causes with most in one of them, and the others.

    With the charge of a day for each row there is that of each cause below its share.
    """
    most: dict[str, float] = {}
    for _, shares in rows:
        for name, share in shares.items():
            most[name] = max(share, most.get(name, 0.0))
    named = [name for name, share in sorted(most.items(), key=lambda entry: -entry[1]) if share >= _WORTH_NAMING]
    named = named[:_MOST_CAUSES]
    others = [sum(share for name, share in shares.items() if name not in named) for _, shares in rows]
    days: Sequence[float | None] = a_day_mah or [None] * len(rows)

    def cell(share: float, day_mah: float | None) -> str:
        return _whole(share) if day_mah is None or not share else f"{_whole(share)}\n{_mah(share * day_mah)}"

    cells = [
        [choice, *(cell(shares.get(name, 0.0), day) for name in named), cell(rest, day)]
        for (choice, shares), rest, day in zip(rows, others, days, strict=True)
    ]
    return table(["energy for" if a_day_mah is None else "energy, charge a day", *named, "others"], cells)
