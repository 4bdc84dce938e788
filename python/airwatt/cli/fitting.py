"""Radio profiles from measurements: mean currents of states in a trace, and averages of the idle, associated device."""

from __future__ import annotations

import json as json_
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airwatt import _core, laboratory
from airwatt._core import InputError
from airwatt.cli.output import print_json, print_text, show
from airwatt.record import Record

if TYPE_CHECKING:
    from airwatt.layout import Table

_BASE = "esp32-c3"
_STATES = ("sleep", "listen", "receive", "transmit")
_AVERAGE = re.compile(r"dtim([1-9][0-9]{0,2})")
_LENT = ("transmit", "receive", "wake_up", "sleep_clock")
"""Keys that a measurement may lack."""


def make(
    name: str | None, fit: Path | None, states: list[str], averages: str | None, new: Path | None, *, json: bool
) -> None:
    """Makes a profile, and writes or shows it with what it predicts. Raises `InputError`."""
    if new is not None and new.exists():
        raise InputError(f"--new {new}: expected a new file, got one that exists")
    given = list(_of_averages(averages))
    measured = [*_of_trace(fit, states), *((key, amperes) for key, amperes, _ in given)]
    base = laboratory.radio(name or _BASE)
    volts = base.voltage_v
    if volts is None:
        raise InputError(f"{base.name}: expected a profile with a voltage, which turns currents into powers, got none")
    periods = [(int(match[1]), volts * amperes) for key, amperes in measured if (match := _AVERAGE.fullmatch(key))]
    powers = [(key, volts * amperes) for key, amperes in measured if key in _STATES]
    if len({period for period, _ in periods}) < len(periods) or len({key for key, _ in powers}) < len(powers):
        raise InputError("--state, --fit-averages: expected each state and each average once")
    radio = Record(json_.loads(_core.radio_fit(name or _BASE, periods, powers)))
    own = {key for key, _ in powers} | ({"wake_up"} if periods else set())
    text = _toml(radio, name, fit, own, {key: text for key, _, text in given})
    if new is not None:
        write(new, text)
    if json:
        print_json({"schema": _core.SCHEMA, "version": _core.__version__, "radio": radio.to_dict(), "toml": text})
        return
    if new is None:
        print_text(text)
        return
    shown = Record(json_.loads(_core.radio(str(new) if new.suffix == ".toml" else f"./{new}")))
    show(f"wrote {new}", *averages_parts(shown), *_lent(radio, name, shown))


def _lent(base: Record, name: str | None, shown: Record) -> Iterator[str]:
    """Says whose values stand where nothing was measured, and how to say that it is the same chip."""
    if name is None and shown.borrowed:
        yield (
            f"{', '.join(shown.borrowed)} are those of {base.name} and count as borrowed, so that days are "
            "ranges without --allow-borrowed where more than 5 % of the charge rest on them; if the board has this "
            f"chip, name it: airwatt radios --of {base.name} ..."
        )


def _of_trace(fit: Path | None, states: list[str]) -> Iterator[tuple[str, float]]:
    if fit is None:
        if states:
            raise InputError(f"--state {states[0]}: expected --fit with it, got none")
        return
    if not states:
        raise InputError(f"--fit {fit}: expected --state NAME=FROM..UNTIL with it, as in sleep=0s..8s, got none")
    times = [_state(text) for text in states]
    means = _core.trace_means(fit, [(from_s, until_s) for _, from_s, until_s in times])
    for (key, from_s, until_s), mean_a in zip(times, means, strict=True):
        if mean_a is None or mean_a <= 0:
            got = "none" if mean_a is None else f"{1e3 * mean_a:.4g} mA"
            raise InputError(
                f"--state {key}: expected a current above zero from {from_s:g} to {until_s:g} s, got {got}"
            )
        yield key, mean_a


def _state(text: str) -> tuple[str, float, float]:
    """Reads `sleep=0s..8s`. Raises `InputError`."""
    from airwatt import advice

    key, equals, times = text.partition("=")
    first, dots, last = times.partition("..")
    if not (equals and dots) or not (key in _STATES or _AVERAGE.fullmatch(key)):
        raise InputError(
            f"--state {text}: expected {', '.join(_STATES)} or dtimN with its times, as in sleep=0s..8s, got {text!r}"
        )
    from_s, until_s = (advice.quantity(f"--state {key}", time, "time") for time in (first, last))
    if until_s <= from_s:
        raise InputError(f"--state {text}: expected an end after its begin, got {times}")
    return key, from_s, until_s


def _of_averages(text: str | None) -> Iterator[tuple[str, float, str]]:
    """Reads `dtim1=1.40mA,dtim3=0.62mA`, and keeps the text, whose digits are its precision. Raises `InputError`."""
    for part in (text or "").split(",") if text is not None else ():
        key, _, value = part.strip().partition("=")
        try:
            amperes = _core.Quantity(value, "current").value
        except InputError:
            amperes = 0.0
        if not _AVERAGE.fullmatch(key) or not amperes > 0:
            raise InputError(f"--fit-averages {part.strip()}: expected a DTIM period and a current, as in dtim1=1.40mA")
        yield key, amperes, value.strip()


def _toml(radio: Record, name: str | None, fit: Path | None, own: set[str], written: Mapping[str, str]) -> str:
    """Writes a profile whose measured keys are `own`; a chip of the same name lends nothing.

    Averages stand as they were `written`.
    """
    volts = radio.voltage_v

    def current(watts: float) -> str:
        # Currents are multiples of a nanoampere.
        return f'"{round(1e9 * watts / volts) / 1e6:.10g}mA"'

    lent = [key for key in (radio.borrowed if name else _LENT) if key not in own]
    clock, beacon = radio.sleep_clock, radio.beacon
    base = radio.name.partition(":")[0]
    transmit = current(radio.transmit_w)
    if radio.transmit_by_rate:
        rates = (f'"{entry.rate_bps / 1e6:g}Mbps" = {current(entry.power_w)}' for entry in radio.transmit_by_rate)
        transmit = f"{{ {', '.join(rates)} }}"
    of = f"a trace, {fit.name}" if fit is not None else "averages"
    lines = [
        f'name = "{base}-measured"',
        f'description = "Fitted on {of}; everything else is that of {base}"',
        f'source = "measured: {", ".join(sorted(own)) or "nothing"}; {base}: {_plain(radio.source)}"',
        f'voltage = "{volts:g}V"',
        f"transmit = {transmit}",
        f"receive = {current(radio.receive_w)}",
        *([] if "listen" in radio.assumed.to_dict() else [f"listen = {current(radio.listen_w)}"]),
        f"sleep = {current(radio.sleep_w - radio.housekeeping_w)}",
        *([] if radio.deep_sleep_w is None else [f"deep_sleep = {current(radio.deep_sleep_w)}"]),
        f'min_awake = "{1e6 * radio.min_awake_s:g}us"',
        *([] if radio.band is None else [f'band = "{radio.band}"']),
        *([] if radio.timeout_s is None else [f'timeout = "{1e3 * radio.timeout_s:g}ms"']),
        f"borrowed = {json_.dumps(list(lent))}",
        *(["", "[housekeeping]", f"current = {current(radio.housekeeping_w)}"] if radio.housekeeping_w else []),
        "",
        "[wake_up]",
        f'time = "{1e6 * radio.wake_up.time_s:g}us"',
        f'charge = "{round(1e9 * radio.wake_up.energy_j / volts) / 1e3:.10g}uC"',
        "",
        "[to_sleep]",
        f'time = "{1e6 * radio.to_sleep.time_s:g}us"',
        f"power = {current(radio.to_sleep.power_w)}",
        "",
        "[sleep_clock]",
        f'guard = "{1e6 * clock.guard_s:g}us"',
        f"accuracy_ppm = {clock.accuracy_ppm:g}",
        f"wander_ppm = {clock.wander_ppm:g}",
        "",
        "[beacon]",
        f'reception = "{beacon.reception}"',
        f'wait = "{1e3 * beacon.wait_s:g}ms"',
    ]
    if radio.averages and "wake_up" in own:
        fitted = ", ".join(f'"dtim{each.dtim_period}"' for each in radio.averages if each.fitted)
        named = [(f"dtim{each.dtim_period}", each.power_w) for each in radio.averages]
        texts = (f'{key} = "{written[key]}"' if key in written else f"{key} = {current(watts)}" for key, watts in named)
        lines += ["", "[averages]", *texts]
        lines.append(f"fitted = [{fitted}]")
    assumed = {key: why for key, why in radio.assumed.to_dict().items() if key not in own and key != "listen"}
    lines += ["", "[assumed]", *(f'{key} = "{_plain(why)}"' for key, why in assumed.items())]
    for place, mode in enumerate(radio.modes):
        lines += ["", "[[mode]]", f'id = "{mode.id}"', f'name = "{_plain(mode.name)}"']
        lines += [f"sleep = {current(mode.sleep_w)}"] if place else []
        lines += ["set = [", *(f'    "{_plain(each)}",' for each in mode.set), "]"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def write(path: Path, text: str) -> None:
    """Writes a new profile. Raises `InputError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--new {path}: {error.strerror}") from None


def averages_parts(radio: Record) -> Iterator[str | Table]:
    """Averages of the idle, associated device beside what the profile predicts, in each mode of the host."""
    from airwatt.tables import quantity, table

    volts = radio.voltage_v
    known = [(mode.name, mode.averages) for mode in radio.modes] or [("", radio.averages)]
    rows = [
        [
            name,
            f"DTIM {average.dtim_period}",
            quantity(average.power_w / volts, "A") if volts else quantity(average.power_w, "W"),
            quantity(average.predicted_w / volts, "A") if volts else quantity(average.predicted_w, "W"),
            f"{100 * average.residual:+z.1f} %",
            "fitted" if average.fitted else "predicted",
        ]
        for name, averages in known
        for average in averages
    ]
    if rows:
        yield "averages of the associated device without traffic, beacons each 102.4 ms:"
        # The averages of a profile that was fitted here are those of its board.
        whose = "measured" if radio.source.startswith("measured: ") else "published"
        yield table(["host", "beacons", whose, "profile", "off by", ""], rows, left=2, also_left=[5])
