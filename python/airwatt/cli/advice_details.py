"""What `airwatt advise --details` says below its answer: alternatives, assumptions, and what the figures consist of."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from airwatt import kits
from airwatt.cli.advice_words import (
    COLUMNS,
    UNSETTABLE,
    adds,
    beyond,
    candidate_name,
    costs,
    deep_sleep,
    delay,
    delays,
    energy_j,
    more,
    name,
    percent,
)
from airwatt.layout import filled

if TYPE_CHECKING:
    from airwatt.advice import Advice, Candidate, Row
    from airwatt.advice.candidate import Figures
    from airwatt.layout import Table

_LEAST_RESENT = 1
"""Segments more than with a radio that never sleeps that are worth a line."""


def parts(found: Advice) -> Iterator[str | Table]:
    """All parts, each under a heading."""
    yield "ASSUMPTIONS"
    yield filled(_assumed(found), COLUMNS)
    confirmed = [row for row in found.rows if row.simulation]
    confirmed.sort(key=lambda row: (row not in found.ranked, energy_j(row)))
    if found.ranked:
        yield "ALTERNATIVES"
        yield "\n".join(filled(line, COLUMNS, 11) for line in _alternatives(found))
    yield "CANDIDATES"
    yield from _candidates(found, confirmed)
    yield from _charges(found, confirmed)
    yield from _beside(found)
    yield from keep_alives(found)
    yield from _other_settings(found)


def _assumed(found: Advice) -> str:
    origin = "a replay of its packets" if found.from_capture else f"runs: {found.runs}, from seed {found.seed} on"
    waits = (
        ""
        if found.from_capture
        else (
            ", or of answers that are waited for, but for the first, with which the connection opens, of the flow that "
            "suffers most"
        )
    )
    text = (
        f"{origin}; delay is that of packets with data{waits}, beyond that with a radio that never sleeps: at the "
        "95th percentile (95 %), by which candidates are ranked, and its mean"
    )
    return f"{text}; {found.assumed}" if found.assumed else text


def _candidates(found: Advice, confirmed: list[Row]) -> Iterator[str | Table]:
    from airwatt.tables import table

    heads = ["policy", "energy", "power", "delay +", "95 %", "goodput", "model", "over"]
    # A replay has no goodput, and not everything has a model beside it.
    modelled = any(row.model is not None for row in confirmed)
    left_out = {5 for _ in range(found.from_capture)} | {6 for _ in range(not modelled)}
    kept = [index for index in range(len(heads)) if index not in left_out]
    rows = [[cells[index] for index in kept] for cells in (_cells(rows, found) for rows in _grouped(confirmed))]
    yield table([heads[index] for index in kept], rows, left=1)
    yield filled("over: the budget, by a time at the 95th percentile, or within it the energy of the best", COLUMNS)
    skipped = [row for row in found.rows if not row.simulation]
    if skipped:
        names = ", ".join(name(row, found) for row in skipped)
        yield filled(f"not simulated, as the models put others first: {names}", COLUMNS)
    if any(name(row, found).endswith(UNSETTABLE) for row in found.rows):
        who = None if found.target else kits.of_chip(found.chip.name)
        has = "no platform has a setting" if who is None else f"{who} has no setting"
        yield f"* {has} for all of it: a driver or a firmware would have to do it"


def _alternatives(found: Advice) -> Iterator[str]:
    """What comes near the answer, or would spend less, and why it was not taken."""
    from airwatt.tables import quantity

    best = found.ranked[0]
    yield f"taken      {name(best, found)}: {costs(found, best)}"
    if found.alike:
        yield f"the same   {', '.join(name(row, found) for row in found.alike)}"
    yield from _ending_early(found)
    yield from _reached(found)
    if found.runner_up is not None:
        chance = "; the difference is within chance" if found.within_chance else ""
        yield f"runner-up  {name(found.runner_up, found)}: {costs(found, found.runner_up)}{chance}"
    if found.bound is not None:
        yield f"ideal      {quantity(found.bound.energy_j, 'J')}: {_ideal(found)}"
    yield from _resent(found)
    if not found.reconnection and found.deep_sleep is not None and found.deep_sleep.power_w is None:
        yield from deep_sleep(found)
    yield from _more_delay(found)
    if found.tunnel is not None:
        count = found.tunnel["burst_packets"]
        yield (
            f"tunnel     by the model alone, 5 to 25 % off: bursts of {count:.0f} packet{'' if count == 1 else 's'}, "
            f"{quantity(found.tunnel['ideal_w'], 'W')} ({100 * found.tunnel['saving_floored']:.0f} % less than awake)"
        )
    yield from _disagreement(found)


def _grouped(rows: list[Row]) -> list[list[Row]]:
    """Groups candidates that did exactly the same, so that they share a row."""
    groups: list[list[Row]] = []
    for row in rows:
        same = [group for group in groups if group[0].simulation == row.simulation]
        if same:
            same[0].append(row)
        else:
            groups.append([row])
    return groups


def _cells(rows: list[Row], found: Advice) -> list[str]:
    from airwatt.tables import NOTHING, quantity

    row = rows[0]
    figures = row.simulation
    assert figures is not None
    errors = [NOTHING if error is None else percent(error) for error in map(found.model_error, rows)]
    return [
        "\n".join(name(each, found) for each in rows),
        quantity(figures.energy_j, "J", figures.energy_ci95_j),
        quantity(figures.power_w, "W"),
        *delays(figures),
        quantity(figures.goodput_bps, "b/s", figures.goodput_ci95_bps),
        errors[0] if len(set(errors)) == 1 else "\n".join(errors),
        beyond(found, row),
    ]


_IN_OTHER_MODES = 4
"""Candidates for which the modes of the host are listed."""


def _charges(found: Advice, confirmed: list[Row]) -> Iterator[str | Table]:
    """What each candidate spends most on; current and charge a day, and how long the battery lasts."""
    from airwatt.cli import charge
    from airwatt.tables import table

    groups = [
        ("\n".join(name(row, found) for row in rows), figures)
        for rows in _grouped(confirmed)
        if (figures := rows[0].simulation) is not None
    ]
    if charge.has_any([found.voltage_v], found.battery):
        rows = [
            [name, *charge.cells(figures.power_w, found.voltage_v, found.battery, figures.profile)]
            for name, figures in groups
        ]
        yield "CURRENT AND DAYS"
        yield table(["policy", *charge.heads(found.battery, groups[0][1].profile)], rows)
        best = [(name, figures.profile) for name, figures in groups[:_IN_OTHER_MODES]]
        has_bands = any(figures.energy_low_j is not None for _, figures in groups)
        yield (
            "HOW FAR FIGURES MAY BE OFF, AND THE OTHER MODES OF THE HOST"
            if _has_modes(groups[0][1])
            else "HOW FAR FIGURES MAY BE OFF"
        )
        yield from charge.host_modes("policy", best, found.voltage_v, found.battery, energies_have_bands=has_bands)
    yield "WHAT THE ENERGY GOES TO"
    yield charge.causes_table([(name, figures.causes or {}) for name, figures in groups])


def _beside(found: Advice) -> Iterator[str | Table]:
    """What TCP and bursts change beside the best candidate."""
    from airwatt.tables import quantity, table

    if not found.beside:
        return
    rows = [
        [
            one.setting.name,
            quantity(one.figures.energy_j, "J", one.figures.energy_ci95_j),
            percent(one.change),
            delay(one.figures.judged_s),
            "over" if one.figures.judged_s > found.budget_s else "set it too" if one.is_advised else "",
        ]
        for one in found.beside
    ]
    yield "BESIDE IT: WHAT TCP AND BURSTS CHANGE"
    yield table(["setting", "energy", "change", "95 % +", ""], rows, left=1)


def keep_alives(found: Advice, only: Collection[Candidate] | None = None) -> Iterator[str | Table]:
    """What keep-alives cost under each candidate, or under those of `only`."""
    from airwatt.cli import charge
    from airwatt.tables import quantity, table

    if not found.keep_alives:
        return
    battery = found.battery
    volts = found.voltage_v if battery is None else battery.voltage(found.voltage_v)

    def amount(energy_j: float) -> str:
        return charge.charge(energy_j, volts) if volts else quantity(energy_j, "J")

    first = found.keep_alives[0]
    longer = [interval_s for interval_s in first.day_j if interval_s != first.interval_s]
    rows = [
        [
            candidate_name(one.candidate, found),
            quantity(one.one_j, "J"),
            amount(one.day_j[one.interval_s]),
            *(amount(one.saved_j[interval_s]) for interval_s in longer),
            *([battery.lasts(one.power_w, one.voltage_v, one.profile)] if battery else []),
        ]
        for one in found.keep_alives
        if only is None or one.candidate in only
    ]
    path = "" if first.rtt_s is None else f" over a round trip of {quantity(first.rtt_s, 's')}"
    yield (
        f"keep-alives of MQTT over TLS that the station sends each {quantity(first.interval_s, 's')}{path}, without "
        'other traffic, as application = { kind = "mqtt" } of a scenario:'
    )
    heads = [
        "policy",
        "one costs",
        "a day",
        *(f"each {quantity(interval_s, 's')} saves a day" for interval_s in longer),
        *([f"{battery.text.partition(',')[0]} lasts"] if battery else []),
    ]
    yield table(heads, rows)
    # MQTT asks for a packet of any kind within the keep-alive (5.0 3.1.2.10).
    reports = found.deep_sleep
    if reports is not None and reports.interval_s <= first.interval_s and not found.keep_alives_in_flow:
        yield (
            f"the reports each {quantity(reports.interval_s, 's')} are packets of the device within each "
            "keep-alive: a client that counts them, as MQTT permits, sends no keep-alives beside them"
        )


def _reached(found: Advice) -> Iterator[str]:
    """What would spend less if there were a setting for it."""

    best, platform = found.ranked[0], kits.of_chip(found.chip.name)
    if found.target is None and best.is_out_of_reach:
        yield f"can be set {'anywhere' if platform is None else f'on {platform}'}: nothing within the budget"
    elif found.target is None:
        who = "no platform has a setting for all of it" if platform is None else f"{platform} has no setting for it"
        others = (row for row in found.ranked if row.is_out_of_reach and not row.candidate.ends_early)
        for row in [row for row in others if energy_j(row) < energy_j(best)][:1]:
            yield f"out of reach {name(row, found)}: {costs(found, row)}; {who}"


def _ideal(found: Advice) -> str:
    text = "asleep in every gap, with the timing of active"
    best = found.ranked[0].simulation
    # Whoever waits wakes less often.
    beaten = best is not None and found.bound is not None and best.energy_j < found.bound.energy_j
    return text + ("; what waits for more is cheaper, as waking costs" if beaten else "")


def _ending_early(found: Advice) -> list[str]:
    """What target wake time would spend if its service periods ended early, which nothing sets and nobody promises."""
    row = found.ending_early
    if row is None or row.simulation is None:
        return []
    lasts, beacon_w = "", found.early_beacon_w
    if found.battery is not None:
        powers = [row.simulation.power_w, *([] if beacon_w is None else [row.simulation.power_w + beacon_w])]
        days = [found.battery.lasts(power_w, found.voltage_v, row.simulation.profile) for power_w in powers]
        lasts = f", {found.battery.text.partition(',')[0]} lasts {days[0]}"
        lasts += "" if beacon_w is None else f", or {days[-1]} with a beacon in each period"
    receives = (
        "" if beacon_w is None else f" (a beacon in each, as ESP-IDF issue 13884 has it, is {more(found, beacon_w)})"
    )
    return [
        f"if early   {name(row, found)}: {costs(found, row)}{lasts}: if the access point ends each service period "
        f"with its first answer and the firmware sleeps then{receives}; whether it does is not published, and the band "
        "has it not, so that the advice is that of a station which is awake to the end of each"
    ]


def _resent(found: Advice) -> list[str]:
    """Says that a listen interval has senders send again what waits for a beacon longer than their time-out."""
    best = found.ranked[0]
    awake = next((row.simulation for row in found.rows if row.candidate.policy == "active" and row.simulation), None)
    resent = None if best.simulation is None else best.simulation.resent
    usual = None if awake is None else awake.resent
    if best.candidate.listen_interval is None or resent is None or usual is None or resent < usual + _LEAST_RESENT:
        return []
    return [
        f"resent     {resent:.0f} TCP segments a run, {usual:.0f} with active: what waits for the listen interval "
        "longer than the sender's time-out is sent again, and is in the energy"
    ]


def _more_delay(found: Advice) -> list[str]:
    """Yields the steps of the curve beyond the budget."""
    from airwatt.tables import quantity

    best = found.ranked[0].simulation
    assert best is not None
    lines = []
    for delay_s, row in found.curve:
        figures = row.simulation
        if figures is not None and row not in found.ranked and delay_s > found.budget_s:
            saved_j = best.energy_j - figures.energy_j
            share = 100 * saved_j / best.energy_j
            saved = f"{quantity(saved_j, 'J')} less ({share:.0f} %)"
            lines.append(f"more delay {quantity(delay_s, 's')} would buy {name(row, found)}: {saved}")
    return lines or ["more delay buys nothing among what was simulated"]


def _disagreement(found: Advice) -> list[str]:
    from airwatt.tables import quantity

    lines = []
    other = "replay" if found.from_capture else "simulation"
    if found.disagreements:
        names = ", ".join(f"{name(row, found)} {percent(found.model_error(row) or 0.0)}" for row in found.disagreements)
        lines.append(f"disagree   model against {other}, energy: {names}")
    if found.late:
        names = "; ".join(
            f"{name(row, found)} {quantity(row.model.delay_s, 's')}, {quantity(max(0.0, row.simulation.delay_s), 's')}"
            for row in found.late
            if row.model and row.simulation
        )
        lines.append(f"disagree   model and {other}, delay: {names}")
    choice, best = found.models_choice, found.ranked[0]
    if choice is None or choice in [best, *found.alike] or best.simulation is None:
        return lines
    if choice.simulation is None:
        lines.append(f"models     alone would have taken {name(choice, found)}")
    elif choice not in found.ranked:
        lines.append(f"models     alone would have taken {name(choice, found)}, which is over the budget")
    else:
        more = choice.simulation.energy_j / best.simulation.energy_j - 1
        lines.append(f"models     alone would have taken {name(choice, found)}: {100 * more:.1f} % more energy")
    return lines


def _has_modes(figures: Figures) -> bool:
    return figures.profile is not None and bool(figures.profile["mode"])


def _other_settings(found: Advice) -> Iterator[str]:
    """What else the chip's kit has, and how other platforms are set."""
    from airwatt.advice import companion_kits, esp_idf, platforms

    if not found.ranked:
        return
    best, chip = found.ranked[0].candidate, found.chip.name
    hints = list(companion_kits.hints(chip))
    if platforms.is_esp_idf(chip, found.target):
        hints += esp_idf.hints(best, found.network_stack, lambda watts: adds(found, watts))
    if hints:
        yield "WHAT ELSE THE KIT DOES AND HAS"
        yield from hints
    if found.target is None and not kits.kits_of(chip):
        yield "ON OTHER PLATFORMS"
        shown = zip(platforms.PLATFORMS, platforms.lines(best), strict=True)
        yield "\n".join(filled(line, COLUMNS, 4) for kit, line in shown if kit in kits.KITS)
