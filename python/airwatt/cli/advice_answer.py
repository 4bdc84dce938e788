"""The answer of `airwatt advise`: what to take, how long the battery lasts, and what to set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airwatt import kits
from airwatt.advice.combined_settings import OF_LWIP
from airwatt.cli.advice_words import (
    COLUMNS,
    UNSETTABLE,
    costs,
    deep_sleep,
    few,
    has_no_packets,
    judged,
    mean,
    more,
    name,
    why_not,
    with_error,
)
from airwatt.layout import filled, printable

if TYPE_CHECKING:
    from airwatt.advice import Advice, Row
    from airwatt.advice.combined_settings import CombinedSetting
    from airwatt.advice.network_stack import NetworkStack
    from airwatt.advice.setting import Setting as How
    from airwatt.layout import Table


def parts(found: Advice, *, details: bool) -> Iterator[str | Table]:
    """The answer, and what is said without being asked; with `details` all else follows."""
    from airwatt.cli import advice_details
    from airwatt.tables import quantity

    ran = sum(row.simulation is not None for row in found.rows)
    asked = f"at most {quantity(found.budget_s, 's')} of delay added at the 95th percentile"
    how = "were replayed" if found.from_capture else "ran"
    yield filled(
        f"{found.source}, radio {found.radio}: least energy with {asked}, of {ran} settings that {how}:", COLUMNS
    )
    if found.notes:
        yield "\n".join(filled(f"note: {printable(note)}", COLUMNS) for note in found.notes)
    yield "\n".join(filled(line, COLUMNS, 11) for line in _verdict(found))
    yield from _how_to_set(found)
    notes = list(_notes(found))
    if notes:
        yield "\n".join(filled(note, COLUMNS) for note in notes)
    if details:
        yield from advice_details.parts(found)
        return
    if found.keep_alives and found.ranked:
        shown = [found.ranked[0], *([] if found.default is None else [found.default])]
        yield from advice_details.keep_alives(found, [row.candidate for row in shown])
    kit = ", options" if kits.kits_of(found.chip.name) else ""
    yield f"--details: assumptions, alternatives, all candidates, causes, errors{kit}"


def _verdict(found: Advice) -> Iterator[str]:
    """What to take, beside what is done with nothing set, and the days of both."""
    from airwatt.advice import platforms

    yield from (f"failed     {name(row, found)}: {row.failure}" for row in found.rows if row.failure)
    if not found.ranked:
        yield "nothing is within the budget"
        return
    best, default = found.ranked[0], found.default
    yield f"take       {name(best, found)}: {_brief(found, best)}{_less(found)}"
    if found.target is None and best.is_out_of_reach:
        kit = kits.of_chip(found.chip.name)
        yield f"can be set {'anywhere' if kit is None else f'on {kit}'}: nothing within the budget"
    if default is not None:
        who = platforms.usual_of(found.target, found.chip.name)
        as_it_comes = f"what {'Linux' if who == kits.LINUX else who} does as it comes"
        over = "" if default in found.ranked else f"; {why_not(found, default)}"
        host = _with_its_host(found, default)
        if default is best:
            yield f"default    {name(default, found)} is {as_it_comes}{host}"
        else:
            yield f"default    {name(default, found)}, {as_it_comes}: {_brief(found, default)}{over}{host}"
    yield from _nearly(found, best)
    daemon = found.daemon
    if daemon is not None and daemon is not best:
        same = default is not None and daemon.simulation == default.simulation
        figures = "the same as the default" if same else f"{_brief(found, daemon)}; {why_not(found, daemon)}"
        yield f"airwattd   {name(daemon, found)}, the daemon: {figures}"
    if found.battery is not None and best.simulation is not None:
        yield f"battery    {_lasts(found)}"
    yield from _kept_alive(found)
    if found.reconnection or (found.deep_sleep is not None and found.deep_sleep.power_w is not None):
        yield from deep_sleep(found)


def _nearly(found: Advice, best: Row) -> Iterator[str]:
    """What a budget that is a little larger would save, where that is much: beacons make steps of their interval."""
    within_s = (1 + _LITTLE) * found.budget_s
    little = [
        (row.simulation.energy_j, row)
        for row in found.rows
        if row not in found.ranked
        and not row.is_out_of_reach
        and row.simulation
        and row.simulation.judged_s <= within_s
    ]
    least_j, row = min(little, key=lambda entry: entry[0], default=(0.0, best))
    if row is best or best.simulation is None or least_j > (1 - _MUCH) * best.simulation.energy_j:
        return
    battery, figures = found.battery, row.simulation
    lasts = ""
    if battery is not None and figures is not None:
        lasts = f"; {battery.text} lasts {battery.lasts(figures.power_w, found.voltage_v, figures.profile)}"
    yield f"nearly     {name(row, found)}: {_brief(found, row)}; {why_not(found, row)}{lasts}"


def _kept_alive(found: Advice) -> Iterator[str]:
    """Gives the line with what keep-alives make of the figures above."""
    from airwatt.tables import quantity

    volts = found.voltage_v if found.battery is None else found.battery.voltage(found.voltage_v)
    if not found.keep_alives or not volts:
        return
    texts: list[str] = []
    for row, whose in ((found.ranked[0], "as advised"), (found.default, "by default")):
        price = next((one for one in found.keep_alives if row is not None and one.candidate == row.candidate), None)
        if row is None or row.simulation is None or price is None or (texts and row is found.ranked[0]):
            continue
        texts.append(f"{whose} {quantity(price.added_w / volts, 'A')}")
    each = quantity(found.keep_alives[0].interval_s, "s")
    if found.keep_alives_in_flow:
        yield (
            f"keep-alive the flow of MQTT has them, one where it has sent nothing for {each}: they are in all of these "
            "figures"
        )
        return
    yield f"keep-alive each {each}, which is in all of these figures: {'; '.join(texts)}"


def _with_its_host(found: Advice, row: Row) -> str:
    """What a candidate takes with the host as it comes, if that is another mode than the figures assume."""
    from airwatt.tables import quantity

    profile = row.simulation.profile if row.simulation else None
    volts = found.voltage_v if found.battery is None else found.battery.voltage(found.voltage_v)
    powers = {mode["name"]: mode["average_power_w"] for mode in (profile or {}).get("modes", [])}
    if profile is None or not volts or found.chip.comes not in powers or found.chip.comes == profile["mode"]:
        return ""
    power_w = powers[found.chip.comes]
    days = "" if found.battery is None else f", {found.battery.lasts(power_w, found.voltage_v, profile)}"
    return f"; if the host is as it comes, too ({found.chip.comes}), {quantity(power_w / volts, 'A')}{days}"


def _brief(found: Advice, row: Row) -> str:
    """What a candidate takes and how much later packets are: a current, or without a voltage an energy."""
    figures, current = row.simulation, found.current_a(row)
    if figures is None or current is None:
        return costs(found, row)
    parts = [with_error(current, "A", None) + _band(row)]
    if has_no_packets(figures):
        parts.append("no packet to delay")
    else:
        parts.append(judged(figures))
    return ", ".join(parts)


def _band(row: Row) -> str:
    """How far a candidate's energy and current may be off."""
    figures = row.simulation
    if figures is None:
        return ""
    if figures.energy_low_j is not None and figures.energy_high_j is not None and figures.energy_j > 0:
        low, high = 1 - figures.energy_low_j / figures.energy_j, figures.energy_high_j / figures.energy_j - 1
    elif figures.profile is not None and "band_high" in figures.profile:
        low, high = figures.profile["band_low"], figures.profile["band_high"]
    else:
        return ""
    return f" (\N{MINUS SIGN}{100 * low:.0f} to +{100 * high:.0f} %)"


def _how_to_set(found: Advice) -> Iterator[str]:
    """How the best candidate, and what is advised beside it, is set on each platform, or on the target."""
    from airwatt.advice import esp_idf, platforms

    if not found.ranked:
        return
    best, chip = found.ranked[0], found.chip
    first = (name(best, found), platforms.how(best.candidate))
    # A host whose radio never sleeps is never asleep in any mode.
    has_mode = bool(chip.mode) and best.candidate.policy != "active"
    mode = [f"and for the host, {chip.mode}, which the figures assume:"] if has_mode else []
    targets = platforms.words_of(found.target, chip.name)
    for target in targets:
        wanted = [first, *_set_beside(found, functools.partial(platforms.to_paste, target))]
        what = " and ".join(what for what, _ in wanted)
        if all(platforms.needs_nothing(target, how) for _, how in wanted):
            yield f"{what} needs no setting on {target}"
            continue
        lines = [line for _, how in wanted for line in platforms.to_paste(target, how)]
        if target == "esp-idf":
            lines += esp_idf.keeps_association(best.candidate)
            host = [f"// {mode[0]}", *platforms.host_to_paste(chip.sets)] if mode else []
            lines = platforms.in_files([*lines, *host])
        yield "\n".join([f"to set {what} on {target}:", *(f"    {line}" for line in lines)])
    if targets:
        return

    def settable(how: Sequence[How | None]) -> list[str]:
        return [line for line in platforms.described(how, chip.name) if not line.endswith(platforms.NONE)]

    text = [f"to set {first[0]}:", *platforms.described(first[1], chip.name)]
    for what, how in _set_beside(found, settable):
        text += [f"and {what}:", *settable(how)]
    # The call that sets power save stands above.
    if mode:
        text += [*mode, *(line for line in chip.sets if not line.startswith("esp_wifi_set_ps("))]
    yield "\n".join(filled(line, COLUMNS, 4) for line in text)


def _set_beside(
    found: Advice, settable: Callable[[Sequence[How | None]], Sequence[str]]
) -> Iterator[tuple[str, Sequence[How | None]]]:
    """Gives what is advised beside the power save, of each kind what saves most of what can be set."""
    from airwatt.tables import percent

    best: dict[str, CombinedSetting] = {}
    for one in found.beside:
        kind = one.setting.overrides[0][0]
        if one.is_advised and settable(one.setting.how) and (kind not in best or one.change < best[kind].change):
            best[kind] = one
    for one in best.values():
        yield f"{one.setting.name} ({percent(-one.change)} less energy)", one.setting.how


def _round_trip(found: Advice) -> Iterator[str]:
    """Gives the line with how far the other ends are, which decides whether answers come within a timeout."""
    if not found.rtt or "timeout" not in found.ranked[0].candidate.name:
        return
    if found.rtt == "0ms":
        yield "answers come from the access point itself: from beyond it ([wired], rtt) they need a longer timeout"
        return
    key = "--rtt" if found.assumed else "wired.rtt"
    yield f"round trip {found.rtt} ({key}): a timeout below it leaves answers to a beacon"


def _notes(found: Advice) -> Iterator[str]:
    """What has to be known before it is set."""
    if not found.ranked:
        return
    best = found.ranked[0]
    yield from _round_trip(found)
    yield from few(found, best)
    yield from _beyond_the_percentile(found, best)
    yield from _of_own_profile(found)
    yield from _unasked(found, best)
    if (best.candidate.listen_interval or 1) > 1:
        yield (
            "it misses frames to everyone (ARP, mDNS) after the beacons that it skips: a peer that asks for its "
            "address may get no answer"
        )
    if found.network_stack is not None:
        yield from _beyond_flows(found, found.network_stack)
    if found.untried:
        yield f"not tried: {found.untried}"
    if name(best, found).endswith(UNSETTABLE):
        yield "* nothing sets all of it: a driver or a firmware would have to do it"


def _beyond_the_percentile(found: Advice, best: Row) -> Iterator[str]:
    """Says so where one packet in a hundred is far from the budget, and why a mean may be above the 95th percentile."""
    from airwatt.tables import quantity

    figures = best.simulation
    if figures is None or figures.delay_p95_s is None:
        return
    slowest_s = figures.delay_p99_s or 0.0
    is_mean_above = figures.delay_s > max(0.0, figures.delay_p95_s)
    if slowest_s > found.budget_s or (is_mean_above and slowest_s > figures.delay_s):
        beyond = f", beyond the {quantity(found.budget_s, 's')}" if slowest_s > found.budget_s else ""
        makes = ": they make the mean larger than the 95th" if is_mean_above else ""
        yield (f"one in a hundred is delayed by {quantity(slowest_s, 's')} or more, the 99th percentile{beyond}{makes}")
    elif is_mean_above:
        yield (
            "it adds more to the mean delay than to the 95th percentile: each is compared with that of a radio "
            "that never sleeps, whose slowest packets may be delayed less than others"
        )


def _unasked(found: Advice, best: Row) -> Iterator[str]:
    """Says what the budget does not bound: a packet that comes while the station sleeps, which this traffic has not."""
    from airwatt.tables import quantity

    wait_s = found.unasked_wait_s(best.candidate)
    if wait_s is not None and wait_s > (1 + _NEARLY) * found.budget_s:
        traffic = "this capture" if found.from_capture else "this traffic"
        yield (
            f"a packet that comes while it sleeps waits for a beacon, up to {quantity(wait_s, 's')}: {traffic} has too "
            f"few of them to be held against the {quantity(found.budget_s, 's')}"
        )


def _of_own_profile(found: Advice) -> Iterator[str]:
    """What a profile without modes of the host leaves out, and that it does not say for what to give advice."""
    from airwatt.advice import platforms

    chip, own = found.chip, kits.of_chip(found.chip.name)
    if platforms.is_esp_idf(chip.name, found.target) and not chip.mode:
        yield (
            f"{chip.name} has no modes of the host: these figures are of the radio alone. With ESP-IDF the host sleeps "
            "while the radio dozes only with CONFIG_PM_ENABLE=y, CONFIG_FREERTOS_USE_TICKLESS_IDLE=y and "
            "esp_pm_configure() with light_sleep_enable = true, and otherwise takes some 10 to 20 mA more "
            "(docs/same-current.md); airwatt radios --of CHIP, with --fit or --fit-averages, makes one with modes"
        )
    elif chip.is_own and own is None and found.target is None:
        yield f"on what {chip.name} is set is not known: --target says that ({', '.join(platforms.TARGETS)})"


def _beyond_flows(found: Advice, stack: NetworkStack) -> Iterator[str]:
    """What lwIP does that is in no flow, and in no capture."""
    best = found.ranked[0].simulation
    if best is None or not _has_stack(found, stack):
        return
    timer_w, timer = stack.timer_w_each_ms if stack.is_tcp_open else None, ""
    if timer_w is not None and timer_w > _DECIDES * best.power_w:
        each = f"{more(found, timer_w)}{_left(found, timer_w)}"
        timer = f"lwIP's TCP timer of 250 ms, {each} for each ms that it keeps the host awake"
    if stack.frames_w:
        priced = " and ".join(
            f"{kind}, {more(found, watts)}{_left(found, watts)}" for kind, watts in stack.frames_w.items()
        )
        beside = f"; nor {timer}" if timer else ""
        total = _of_stack(found, stack, best.power_w, ", with 1 ms of the timer," if timer else "")
        yield f"not in it are frames of lwIP itself: {priced}{_late_acks(found)}{beside}{total}"
    elif timer:
        yield f"not in it is {timer}"


def _has_stack(found: Advice, stack: NetworkStack) -> bool:
    """Whether what lwIP does by itself is worth a word."""
    best = found.ranked[0].simulation
    most_w = _of_stack_w(found, stack) + _report_w(stack)
    return best is not None and most_w > _DECIDES * best.power_w


def _of_stack(found: Advice, stack: NetworkStack, power_w: float, with_timer: str) -> str:
    """What remains with all that lwIP does as it comes: without IPv6 and with it."""
    added_w = _of_stack_w(found, stack)
    both = (f"{mean(found, power_w + each)}{_left(found, each)}" for each in (added_w, added_w + _report_w(stack)))
    return f"; all of it{with_timer} makes " + ", and with IPv6 ".join(both)


def _of_stack_w(found: Advice, stack: NetworkStack) -> float:
    """What lwIP adds by itself as it comes without IPv6: its ARP, its late acknowledgements, and its timer of TCP."""
    timer_w = (stack.timer_w_each_ms if stack.is_tcp_open else None) or 0.0
    return sum(stack.frames_w.values()) - _report_w(stack) + _late_acks_w(found) + timer_w


def _report_w(stack: NetworkStack) -> float:
    """The mean power that its report of IPv6's groups adds, in watts."""
    return stack.frames_w.get("MLDv6 report", 0.0)


def _late_acks_w(found: Advice) -> float:
    """What acknowledgements take that lwIP delays for longer than the flows assume, if it is worth a word."""
    late = next((one for one in found.beside if one.setting.name == OF_LWIP and one.has_effect), None)
    return 0.0 if late is None or late.change < _DECIDES else late.figures.power_w - late.alone.power_w


def _late_acks(found: Advice) -> str:
    more_w = _late_acks_w(found)
    if not more_w:
        return ""
    return f"; nor that lwIP acknowledges after 250 ms, {more(found, more_w)}{_left(found, more_w)}"


_LITTLE = 0.1
"""By which share of the budget what nearly is within it may be late."""
_MUCH = 0.25
"""The share of the energy that it has to save."""
_NEARLY = 0.05
"""A share by which a wait may exceed a budget without a word: beacon intervals are multiples of 1.024 ms."""
_DECIDES = 0.01
"""Share of the power from which on late acknowledgements are named, and a millisecond of lwIP's timer of TCP: a wake-up
takes several."""


def _left(found: Advice, more_w: float) -> str:
    """The days that are left with a mean power more."""
    best, battery = found.ranked[0].simulation, found.battery
    if battery is None or best is None:
        return ""
    return f" ({battery.lasts(best.power_w + more_w, found.voltage_v, best.profile)})"


def _less(found: Advice) -> str:
    """Says by how much the best is below a radio that never sleeps."""
    awake = next((row.simulation for row in found.rows if row.candidate.policy == "active" and row.simulation), None)
    best = found.ranked[0].simulation
    if awake is None or best is None or best.energy_j >= awake.energy_j:
        return ""
    return f"; {_below_all(best.energy_j / awake.energy_j)} less energy than active"


def _below_all(left: float) -> str:
    """The share that is saved where `left` stays, with so many digits that it is not all."""
    decimals = next((digits for digits in range(4) if round(100 * (1 - left), digits) < 100), 4)
    return f"{100 * (1 - left):.{decimals}f} %"


def _lasts(found: Advice) -> str:
    """How long the battery lasts as advised, with nothing set, and with a radio that never sleeps."""
    battery = found.battery
    assert battery is not None
    best, default = found.ranked[0], found.default
    awake = [row for row in found.rows if row.candidate.policy == "active" and row.simulation]
    named = {"as advised": [best], "by default": [] if default in (None, best) else [default], "active": awake[:1]}
    stack = found.network_stack
    with_stack = ""
    if stack is not None and best.simulation is not None and stack.frames_w and _has_stack(found, stack):
        left = battery.lasts(
            best.simulation.power_w + _of_stack_w(found, stack), found.voltage_v, best.simulation.profile
        )
        with_stack = f" ({left} with what lwIP does by itself)"
    times = ", ".join(
        f"{what} {battery.lasts(row.simulation.power_w, found.voltage_v, row.simulation.profile)}"
        + (with_stack if row is best else "")
        for what, rows in named.items()
        for row in rows
        if row is not None and row.simulation is not None
    )
    profile = best.simulation.profile if best.simulation else None
    mode = ""
    if profile and profile["mode"] and best.candidate.policy != "active":
        mode = f", with the host in {profile['mode']} while the radio dozes{_other_modes(found, profile)}"
    return f"{battery.text} lasts: {times}{mode}{_of_what(found, profile)}"


def _of_what(found: Advice, profile: Mapping[str, Any] | None) -> str:
    """Whose days they are, and why they may be ranges."""
    from airwatt.cli import charge

    battery = found.battery
    assert battery is not None
    alone = charge.radio_alone(battery, profile)
    borrowed = ""
    if profile is not None and battery.refuses(profile):
        borrowed = f"; days are ranges: {charge.why_ranges([profile])}"
    return f"{'; ' if alone else ''}{alone}{borrowed}"


def _other_modes(found: Advice, profile: Mapping[str, Any] | None) -> str:
    """Says how long the battery lasts with the same policy if the host does something else."""
    from airwatt.battery import lasting

    assert found.battery is not None
    others = [
        f"in {mode['name']} {lasting(found.battery.lasts_s(mode['average_power_w'], found.voltage_v))}"
        for mode in (profile or {}).get("modes", [])
        if profile and mode["name"] != profile["mode"]
    ]
    return f"; {', '.join(others)}" if others else ""
