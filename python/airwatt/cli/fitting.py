"""Radio profiles from measurements: mean currents of states in a trace, and averages of the idle, associated device."""

from __future__ import annotations

import json as json_
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from airwatt import _core, bands, laboratory
from airwatt._core import InputError
from airwatt.cli.output import print_json, print_text, show
from airwatt.record import Record

if TYPE_CHECKING:
    from airwatt.layout import Table

_BASE = "esp32-c3"
_STATES = ("sleep", "listen", "receive", "transmit")
_AVERAGE = re.compile(r"dtim([1-9][0-9]{0,2})")
_SAME = 0.01
"""A share by which the mean current between beacons is above the usual one without other wake-ups of the host."""
_LEAST_AWAKE = 0.25
"""The share of a chip's current in a state that another board takes in it at least."""
_MISSING = 0.01
"""The share of a time that may lie behind the end of a trace, as digits that a reader rounds."""
_BEACON_INTERVAL_S = 0.1024
"""Time between the beacons of averages (docs/radios.md)."""
_LENT = ("transmit", "receive", "wake_up", "sleep_clock")
"""Keys that a measurement may lack."""


def make(
    name: str | None, fit: Path | None, states: list[str], averages: str | None, new: Path | None, *, json: bool
) -> None:
    """Makes a profile, and writes or shows it with what it predicts. Raises `InputError`."""
    if new is not None and new.exists():
        raise InputError(f"--new {new}: expected a new file, got one that exists")
    given = list(_of_averages(averages))
    traced = [] if fit is None else list(_of_trace(fit, states))
    if fit is None and states:
        raise InputError(f"--state {states[0]}: expected --fit with it, got none")
    measured = [(one.key, one.mean_a) for one in traced] + [(key, amperes) for key, amperes, _ in given]
    base = laboratory.radio(name or _BASE)
    volts = base.voltage_v
    if volts is None:
        raise InputError(f"{base.name}: expected a profile with a voltage, which turns currents into powers, got none")
    _check_awake(traced, base)
    periods = [(int(match[1]), volts * amperes) for key, amperes in measured if (match := _AVERAGE.fullmatch(key))]
    powers = [(key, volts * amperes) for key, amperes in measured if key in _STATES]
    if len({period for period, _ in periods}) < len(periods) or len({key for key, _ in powers}) < len(powers):
        raise InputError("--state, --fit-averages: expected each state and each average once")
    between_a = _between(traced, dict(measured))
    between = None if between_a is None else (volts * between_a[0], volts * between_a[1])
    texts = {key: text for key, _, text in given}
    if not periods and name is not None and _is_of_a_board(base):
        periods, between = _measured_before(base, dict(powers))
        texts = tomllib.loads(_core.radio_text(name)).get("averages", {})
    radio = Record(json_.loads(_core.radio_fit(name or _BASE, periods, powers, between, name is not None)))
    own = {key for key, _ in powers} | ({"wake_up"} if periods else set()) | ({"sleep"} if between else set())
    # A chip of the same name lends nothing of its own.
    lent = [key for key in (radio.borrowed if name else _LENT) if key not in own]
    of = f"a trace, {fit.name}" if fit is not None else "averages"
    text = _toml(base, radio, name or _BASE, of, lent, own, texts)
    if new is not None:
        write(new, text)
    if json:
        print_json({"schema": _core.SCHEMA, "version": _core.__version__, "radio": radio.to_dict(), "toml": text})
        return
    if new is None:
        print_text(text)
        return
    shown = Record(json_.loads(_core.radio(str(new) if new.suffix == ".toml" else f"./{new}")))
    parts = (
        *_unchecked(traced),
        *_with_traffic(traced),
        *_of_sleep(radio, between_a),
        *_of_load(radio),
        *(() if own & {"sleep"} else _of_housekeeping(radio, base)),
        *_lent(radio, name, shown),
    )
    show(f"wrote {new}", *averages_parts(shown), *parts)


def _check_awake(traced: list[_Traced], base: Record) -> None:
    """Raises `InputError` for a state of a radio that is on with a current that the chip has in none of them."""
    for one in traced:
        if one.key not in _STATES[1:] or one.mean_a * base.voltage_v >= _LEAST_AWAKE * base[f"{one.key}_w"]:
            continue
        usual = f"{1e3 * base[f'{one.key}_w'] / base.voltage_v:.3g} mA of {base.name}"
        raise InputError(
            f"--state {one.key}: expected something like the {usual}, got {1e3 * one.mean_a:.4g} mA: the device sleeps "
            "for most of that time; hint: another time, or --of with another chip"
        )


class _Traced(NamedTuple):
    """What a trace has of a state, or of an average."""

    key: str
    mean_a: float
    between_a: tuple[float, float] | None
    """Of an average: the usual and the mean current between beacons, where the trace shows them."""
    is_checked: bool
    """Whether the trace shows how often the device wakes up, and an average so has the DTIM period that was said."""
    long: _LongWakeUps | None
    """Wake-ups that no beacon explains."""


class _LongWakeUps(NamedTuple):
    """Wake-ups that are far longer than those for beacons."""

    number: int
    from_s: float
    length_s: float
    share: float
    """The part of the charge in the time of the state."""


def _is_of_a_board(base: Record) -> bool:
    """Whether a profile was made from measurements itself, so that its averages are those of the board."""
    return str(base.name).partition(":")[0].endswith(bands.MEASURED)


def _measured_before(
    base: Record, powers: Mapping[str, float]
) -> tuple[list[tuple[int, float]], tuple[float, float] | None]:
    """The averages of a board's profile in watts, and the powers asleep and between beacons if it has one average.

    What is measured of a state leaves them as they are, and what a wake-up takes follows from both.
    """
    periods = [(int(each.dtim_period), float(each.power_w)) for each in base.averages]
    if len(periods) != 1 or base.other_sleep_w is not None:
        return periods, None
    return periods, (powers.get("sleep", _doze_w(base)), float(base.sleep_w))


def _between(traced: list[_Traced], measured: Mapping[str, float]) -> tuple[float, float] | None:
    """The currents asleep and, on the average, between beacons, where one average is all that has beacons.

    Asleep is what was measured without an association or, without that, the usual current between beacons.
    """
    averages = [key for key in measured if _AVERAGE.fullmatch(key)]
    known = [one.between_a for one in traced if one.key in averages]
    if len(averages) != 1 or not known or known[0] is None:
        return None
    floor_a, mean_a = known[0]
    floor_a = measured.get("sleep", floor_a)
    return (mean_a if mean_a < (1 + _SAME) * floor_a else floor_a), mean_a


def _of_sleep(radio: Record, between_a: tuple[float, float] | None) -> Iterator[str]:
    """What the trace has between beacons, or what one average leaves open."""
    from airwatt.tables import quantity

    if between_a is not None:
        asleep_a, mean_a = between_a
        own_a = max(0.0, mean_a - asleep_a)
        rest = f", and {quantity(own_a, 'A')} wake-ups of the host for itself" if own_a else ""
        yield (
            f"between beacons the trace has {quantity(mean_a, 'A')} on the average: {quantity(asleep_a, 'A')} are "
            f"taken to be sleep{rest}; what the average has beyond that is the wake-up's for a beacon"
        )
    elif radio.other_sleep_w is not None:
        yield f"warning: {radio.assumed.sleep}"


def _unchecked(traced: list[_Traced]) -> Iterator[str]:
    """Says of which averages nothing checks the DTIM period."""
    keys = [one.key for one in traced if _AVERAGE.fullmatch(one.key) and not one.is_checked]
    if keys:
        yield (
            f"{', '.join(keys)}: the trace does not show how often the device wakes up, so that this DTIM period was "
            f"not checked; it takes samples of 2 ms or less, and beacons each {1e3 * _BEACON_INTERVAL_S:g} ms"
        )


def _with_traffic(traced: list[_Traced]) -> Iterator[str]:
    """Says of which averages a part is traffic, which the profile would have in each wake-up."""
    from airwatt.tables import percent, quantity

    for one in traced:
        long = one.long
        if _AVERAGE.fullmatch(one.key) and long is not None and long.share >= _SAME:
            more = long.number - 1
            others = f" and in {more} more wake-up{'s' if more > 1 else ''}" if more else ""
            yield (
                f"warning: {one.key}: at {long.from_s:.4g} s{others} the device is awake for "
                f"{quantity(long.length_s, 's')}, far longer than for a beacon: that is traffic, and "
                f"{percent(long.share)} of this average, which the profile now has in every wake-up for a beacon; "
                "hint: another time, or a device without traffic"
            )


def _of_housekeeping(radio: Record, base: Record) -> Iterator[str]:
    """Says what two averages have beyond the chip, since a load of the board looks the same in them."""
    from airwatt.tables import quantity

    more_w = radio.housekeeping_w - base.housekeeping_w
    if more_w >= _SAME * radio.sleep_w:
        yield (
            f"{quantity(more_w / radio.voltage_v, 'A')} between wake-ups are more than {base.name} takes asleep, and "
            "count as housekeeping of the host; if they are a load of the board, the currents awake lack it: --fit "
            "with --state sleep=FROM..UNTIL measures it"
        )


def _of_load(radio: Record) -> Iterator[str]:
    """Says what the board takes beside its chip, so that nobody counts it twice."""
    from airwatt.tables import quantity

    if radio.load_w >= _SAME * radio.sleep_w:
        yield (
            f"{quantity(radio.load_w / radio.voltage_v, 'A')} are more than {radio.name} takes asleep: a load of the "
            "board, which is in every current of this profile that was not measured; load= of --battery is for what "
            "was not there when this was measured"
        )


def _lent(base: Record, name: str | None, shown: Record) -> Iterator[str]:
    """Says whose values stand where nothing was measured, and how to say that it is the same chip."""
    if name is None and shown.borrowed:
        yield (
            f"{', '.join(shown.borrowed)} are those of {base.name} and count as borrowed, so that days are "
            "ranges without --allow-borrowed where more than 5 % of the charge rest on them; if the board has this "
            f"chip, name it: airwatt radios --of {base.name} ..."
        )


def _of_trace(fit: Path, states: list[str]) -> Iterator[_Traced]:
    """Each state with its mean current. Raises `InputError`."""
    if not states:
        raise InputError(f"--fit {fit}: expected --state NAME=FROM..UNTIL with it, as in sleep=0s..8s, got none")
    times = [_state(text) for text in states]
    periods = [_AVERAGE.fullmatch(key) for key, _, _ in times]
    asked = [
        (from_s, until_s, int(period[1]) if period else 1 if key == "sleep" else None)
        for (key, from_s, until_s), period in zip(times, periods, strict=True)
    ]
    means = _core.trace_means(fit, asked)
    for text, (key, from_s, until_s), (_, _, said), (mean_a, between, seen, known_s, long) in zip(
        states, times, asked, means, strict=True
    ):
        if mean_a is None or mean_a <= 0:
            got = "none" if mean_a is None else f"{1e3 * mean_a:.4g} mA"
            raise InputError(
                f"--state {key}: expected a current above zero from {from_s:g} to {until_s:g} s, got {got}"
            )
        if until_s - known_s > _MISSING * (until_s - from_s):
            raise InputError(f"--state {text}: expected a time of {fit}, which ends at {known_s:.4g} s")
        if key == "sleep" and seen is not None:
            each = f"{1e3 * _BEACON_INTERVAL_S * seen:.1f} ms"
            hint = f"hint: dtim{seen}={text.partition('=')[2]}"
            raise InputError(f"--state {text}: expected a time asleep, got a wake-up each {each} in {fit}; {hint}")
        if seen not in (None, said):
            _refuse(text, said, seen, fit)
        yield _Traced(key, mean_a, between, seen is not None, None if long is None else _LongWakeUps(*long))


def _refuse(text: str, said: int | None, seen: int | None, fit: Path) -> None:
    """Raises `InputError`, since the wake-ups of a trace are those of another DTIM period than was said."""
    said_ms, seen_ms = (f"{1e3 * _BEACON_INTERVAL_S * (period or 0):.1f} ms" for period in (said, seen))
    times = text.partition("=")[2]
    raise InputError(
        f"--state {text}: expected a wake-up for a beacon each {said_ms} (DTIM {said}), got one each {seen_ms} in "
        f"{fit}, as with DTIM {seen}; hint: dtim{seen}={times}"
    )


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


def _toml(
    base: Record, radio: Record, name: str, of: str, lent: list[str], own: set[str], written: Mapping[str, str]
) -> str:
    """The file of the profile `base`, read by `name`, with what `radio` has of measurements, whose keys are `own`.

    A key that no measurement concerns stays as it is in the file, whatever it is. The profile is fitted on `of`, `lent`
    are the keys that another chip lends, and `written` has the texts of averages.
    """
    table = tomllib.loads(_core.radio_text(name))
    current = partial(_current, volts=radio.voltage_v)
    chip, is_of_file = base.name.partition(":")[0], base.mode == _mode_of_file(base)
    table["name"] = f"{chip.removesuffix(bands.MEASURED)}{bands.MEASURED}"
    table["description"] = f"Fitted on {of}; everything else is that of {chip}"
    table["source"] = f"measured: {', '.join(sorted(own)) or 'nothing'}; {chip}: {base.source}"
    for state in ("transmit", "receive", "listen"):
        # A profile may say that it assumes listening to be as receiving, which then is that of the board.
        if state in own or (state in table and radio[f"{state}_w"] != base[f"{state}_w"]):
            if state == "transmit" and radio.transmit_by_rate:
                by_rate = {each.rate_bps: current(each.power_w) for each in radio.transmit_by_rate}
                table[state] = {rate: by_rate[_core.Quantity(rate, "rate").value] for rate in table[state]}
            else:
                table[state] = current(radio[f"{state}_w"])
    if not is_of_file or current(_doze_w(radio)) != current(_doze_w(base)):
        table["sleep"] = current(_doze_w(radio))
    if not is_of_file or radio.housekeeping_w != base.housekeeping_w:
        table["housekeeping"] = {"current": current(radio.housekeeping_w)} if radio.housekeeping_w else {}
    if radio.deep_sleep_w != base.deep_sleep_w:
        table["deep_sleep"] = current(radio.deep_sleep_w)
    for change in ("wake_up", "to_sleep"):
        if change not in own and radio[change].energy_j == base[change].energy_j:
            continue
        charge = f"{round(1e9 * radio[change].energy_j / radio.voltage_v) / 1e3:.10g}uC"
        # A wake-up without a time gets one, since a charge takes some.
        is_timed = radio[change].time_s == base[change].time_s
        time = table[change]["time"] if is_timed else f"{1e6 * radio[change].time_s:g}us"
        table[change] = {"time": time, "charge": charge}
    table["borrowed"] = lent
    if "wake_up" in own:
        table["averages"] = _averages(radio, written)
    elif not is_of_file or own - {"transmit"}:
        # Those of the chip are not those of a device without traffic that takes something else.
        table["averages"] = {}
    # What is assumed of listening where the file does not have it is no key of the file.
    unwritten = {"listen"} - table.get("assumed", {}).keys()
    table["assumed"] = {key: why for key, why in radio.assumed.to_dict().items() if key not in own | unwritten}
    table["mode"] = list(_modes(base, radio, table.get("mode", [])))
    return _file({key: value for key, value in table.items() if value not in ([], {})})


def _current(watts: float, volts: float) -> str:
    # Currents are multiples of a nanoampere.
    return f"{1e3 * watts / volts:.6f}".rstrip("0").rstrip(".") + "mA"


def _doze_w(radio: Record) -> float:
    return float(radio.sleep_w - radio.housekeeping_w)


def _mode_of_file(radio: Record) -> str | None:
    """The mode of the host whose figures are those of the file itself."""
    return radio.modes[0].id if radio.modes else None


def _averages(radio: Record, written: Mapping[str, str]) -> dict[str, object]:
    """Averages of the board, as they were `written` if they were."""
    named = {f"dtim{each.dtim_period}": each for each in radio.averages}
    texts = {key: written.get(key) or _current(each.power_w, radio.voltage_v) for key, each in named.items()}
    other = {} if radio.other_sleep_w is None else {"other_sleep": _current(radio.other_sleep_w, radio.voltage_v)}
    return {**texts, "fitted": [key for key, each in named.items() if each.fitted], **other}


def _modes(base: Record, radio: Record, tables: list[dict[str, object]]) -> Iterator[dict[str, object]]:
    """The modes of the file, of which a board that takes more than the chip has no averages of its maker.

    A host that was measured in another mode than that of the file has this mode alone.
    """
    if base.mode != _mode_of_file(base):
        own = next(one for one in tables if one["id"] == base.mode)
        yield {key: value for key, value in own.items() if key not in ("sleep", "averages")}
        return
    for place, (one, chip, board) in enumerate(zip(tables, base.modes, radio.modes, strict=True)):
        sleep = _current(board.sleep_w, radio.voltage_v)
        if place == 0 or sleep == _current(chip.sleep_w, radio.voltage_v):
            yield one
            continue
        # What is below the last digit of an average does not show in it.
        shows = any(board.sleep_w - chip.sleep_w > average.within_w for average in chip.averages)
        yield {key: value for key, value in {**one, "sleep": sleep}.items() if not (shows and key == "averages")}


def _file(table: Mapping[str, object]) -> str:
    """A profile as TOML: tables after what stands alone, and modes at the end."""
    alone = [_line(key, value) for key, value in table.items() if key == "transmit" or not _is_table(value)]
    parts = [alone]
    for key, value in sorted(table.items(), key=lambda entry: isinstance(entry[1], list)):
        if _is_table(value) and key != "transmit":
            tables = [(f"[[{key}]]", each) for each in value] if isinstance(value, list) else [(f"[{key}]", value)]
            parts += [[head, *(_line(*entry) for entry in each.items())] for head, each in tables]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _is_table(value: object) -> TypeGuard[dict[str, object] | list[dict[str, object]]]:
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value))


_LONGEST = 120
"""A list that makes a longer line has one value in each line."""


def _line(key: str, value: object) -> str:
    line = f"{key} = {_value(value)}"
    if isinstance(value, list) and len(line) > _LONGEST:
        return "\n".join([f"{key} = [", *(f"    {_value(each)}," for each in value), "]"])
    return line


def _value(value: object) -> str:
    # A text alone has no quotes there.
    return json_.dumps(value, ensure_ascii=False) if isinstance(value, str) else _core.toml_value(value)


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
        # The averages of a profile that was fitted here are those of its board, but for other modes of its host.
        is_board = "wake_up" in radio.source.partition("measured: ")[2].partition(";")[0]
        others = any(mode.averages for mode in radio.modes if mode.id != radio.mode)
        whose = ("average" if others else "measured") if is_board else "published"
        yield table(["host", "beacons", whose, "profile", "off by", ""], rows, left=2, also_left=[5])
