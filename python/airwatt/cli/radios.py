"""`airwatt radios`: the radio profiles that ship, one profile with its sources, and a profile to start from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from airwatt import bands, laboratory
from airwatt._core import InputError, radio_template
from airwatt.cli import options
from airwatt.cli.output import print_json, show
from airwatt.cli.parameters import Argument, Option
from airwatt.record import Record

EPILOG = """\b
Examples:
  airwatt radios
  airwatt radios esp32-c3
  airwatt radios --fit-averages dtim1=1.40mA,dtim3=0.62mA
"""

_STATES = ("transmit", "receive", "listen", "sleep")


def command(
    name: Annotated[
        str | None, Argument(help="A profile that ships, or the path of a file: show it whole.", show_default=False)
    ] = None,
    new: Annotated[
        Path | None,
        Option("--new", metavar="FILE", help="Write a commented profile to start from.", show_default=False),
    ] = None,
    fit: Annotated[
        Path | None,
        Option("--fit", metavar="CSV", help="Make a profile from a measured current, whose times --state explains."),
    ] = None,
    state: Annotated[
        list[str] | None,
        Option(
            "--state",
            metavar="NAME=FROM..UNTIL",
            help="What the device did in --fit: sleep, listen, receive, transmit, or dtimN for idle and associated.",
        ),
    ] = None,
    fit_averages: Annotated[
        str | None,
        Option(
            "--fit-averages", metavar="dtimN=CURRENT,...", help="Make a profile from averages, idle and associated."
        ),
    ] = None,
    of: Annotated[
        str | None,
        Option(
            "--of", metavar="NAME", help="The chip of the board that was measured: its other values are not borrowed."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List the radio profiles that ship, show one with its sources, or make one: to start from, or from measurements.

    A profile from measurements has everything else from the one that is named. Without a name it is the ESP32-C3, whose
    values then count as borrowed.
    With --new it is written into a file.
    """
    if of is not None and (name is not None or (fit is None and fit_averages is None)):
        raise InputError(f"--of {of}: expected --fit or --fit-averages with it, and no profile beside it")
    if fit is not None or fit_averages is not None:
        from airwatt.cli import fitting

        fitting.make(of or name, fit, state or [], fit_averages, new, json=json)
        return
    if state:
        raise InputError(f"--state {state[0]}: expected --fit with it, got none")
    if new is not None:
        if name is not None:
            raise InputError(f"--new: expected no profile beside it, got {name}")
        _write(new)
        return
    radios = laboratory.radios() if name is None else [_named(name)]
    if json:
        from airwatt._core import SCHEMA, __version__

        print_json({"schema": SCHEMA, "version": __version__, "radios": [radio.to_dict() for radio in radios]})
    elif name is None:
        _list(radios)
    else:
        _show(radios[0])


def _named(name: str) -> Record:
    try:
        return laboratory.radio(name)
    except InputError as error:
        # The error of a file names the file already.
        text = str(error)
        raise InputError(text if text.startswith(name) else f"{name}: {text}") from None


def _write(path: Path) -> None:
    if path.exists():
        raise InputError(f"--new {path}: expected a new file, got one that exists")
    from airwatt.cli.fitting import write

    write(path, radio_template())
    show(f"wrote {path}\ncheck it with: airwatt radios ./{path}" if path.parent == Path() else f"wrote {path}")


def _list(radios: list[Record]) -> None:
    from airwatt.tables import quantity, table

    def marked(radio: Record, key: str, figure: str) -> str:
        """With a star if it is the figure of another chip, or follows from one that is."""
        origins = (key, "receive") if key == "listen" and "listen" in radio.assumed.to_dict() else (key,)
        return f"{figure}*" if any(origin in radio.borrowed for origin in origins) else figure

    rows = []
    for radio in radios:
        powers = [marked(radio, state, quantity(radio[f"{state}_w"], "W")) for state in _STATES]
        wake_up = f"{quantity(radio.wake_up.time_s, 's')}, {quantity(radio.wake_up.energy_j, 'J')}"
        rows.append([radio.name, *powers, marked(radio, "wake_up", wake_up)])
    sources = "\n".join(f"{radio.name}: {radio.source}" for radio in radios)
    notes = (
        "* the figure of another chip, since this one's source has none\n"
        "airwatt radios NAME: currents, and where each figure is from"
    )
    show(table(["radio", *_STATES, "wake-up"], rows), notes, sources)


def _show(radio: Record) -> None:
    from airwatt.cli.fitting import averages_parts
    from airwatt.tables import NOTHING, quantity, table

    volts, assumed = radio.voltage_v, radio.assumed.to_dict()

    def row(what: str, key: str, watts: float, time_s: float | None = None) -> list[str]:
        current = quantity(watts / volts, "A") if volts else NOTHING
        if time_s == 0:
            return [what, NOTHING, NOTHING, "immediate", "default"]
        return [what, quantity(watts, "W"), current, quantity(time_s, "s"), "assumed" if key in assumed else "source"]

    rows = []
    for state in _STATES:
        if state == "transmit" and radio.transmit_by_rate:
            rows += [
                row(f"transmit, {quantity(entry.rate_bps, 'b/s')}", "transmit", entry.power_w)
                for entry in radio.transmit_by_rate
            ]
        else:
            rows.append(row(state, state, radio[f"{state}_w"]))
    if radio.deep_sleep_w is not None:
        rows.append(row("deep sleep", "deep_sleep", radio.deep_sleep_w))
    if radio.host_w is not None:
        rows.append(row("host, in sleep", "host", radio.host_w))
    if radio.housekeeping_w:
        rows.append(row("housekeeping, in sleep", "housekeeping", radio.housekeeping_w))
    for what, key in (("wake-up", "wake_up"), ("to sleep", "to_sleep")):
        rows.append(row(what, key, radio[key].power_w, radio[key].time_s))
    clock, beacon = radio.sleep_clock, radio.beacon
    lines = [
        f"voltage: {quantity(volts, 'V') if volts else 'not given'}",
        *([f"band: {bands.spaced(radio.band)}"] if radio.band else []),
        *_power_save(radio),
        f"least time awake: {quantity(radio.min_awake_s, 's')}",
        f"guard before a beacon, after T of sleep: {quantity(clock.guard_s, 's')}"
        f" + {clock.accuracy_ppm:g} ppm x T + {clock.wander_ppm:g} ppm x sqrt(T x 1 s)",
        f"beacons: reception of the {'whole frame' if beacon.reception == 'whole' else 'frame up to its TIM'};"
        f" given up after {quantity(beacon.wait_s, 's')}",
        f"source: {radio.source}",
        *([f"borrowed from another chip: {', '.join(radio.borrowed)}"] if radio.borrowed else []),
        *(f"assumed, {key}: {why}" for key, why in assumed.items()),
    ]
    show(
        f"{radio.name}: {radio.description}",
        table(["", "power", "current", "time", "from"], rows),
        "\n".join(lines),
        *averages_parts(radio),
        *_modes(radio),
        "\n".join(_unsure(radio)),
    )


def _power_save(radio: Record) -> Iterator[str]:
    """What the chip's power save does as it comes."""
    from airwatt import kits
    from airwatt.tables import quantity

    if radio.timeout_s is not None or radio.wakes_for_dtims:
        awake = "" if radio.timeout_s is None else f"awake for {quantity(radio.timeout_s, 's')} after each packet"
        beacons = "wakes up for DTIM beacons" if radio.wakes_for_dtims else "wakes up for each beacon"
        yield f"power save as it comes: {', '.join(part for part in (awake, beacons) if part)}"
    elif kits.is_off_as_it_comes(str(radio.name)):
        yield f"power save as it comes: off, until {kits.of_chip(str(radio.name))} is told otherwise"


def _unsure(radio: Record) -> Iterator[str]:
    """How sure the figures are, with which software they were measured, and how to make them those of a board."""
    from airwatt.advice import platforms

    known = [(mode.name, mode.averages) for mode in radio.modes] or [("", radio.averages)]
    predicted = [
        (name, max(abs(each.residual) for each in averages if not each.fitted))
        for name, averages in known
        if any(not each.fitted for each in averages)
    ]
    within = ", ".join(f"{100 * off:.1f} %{f' in {name}' if name else ''}" for name, off in predicted)
    yield (
        f"how sure: it predicts averages that it is not fitted on within {within}"
        if within
        else "how sure: no average is known that it is not fitted on"
    ) + "; run, analyze and advise have the band of each answer"
    if radio.modes and platforms.is_esp_idf(radio.name.partition(":")[0], None):
        yield "version of ESP-IDF: its source does not say with which one the averages were measured"
    if radio.voltage_v:
        of = radio.name.removesuffix(bands.MEASURED)
        yield (
            f"your own board: airwatt radios --of {of} --fit trace.csv --state dtim1=0s..20s --new mine.toml, or "
            "--fit-averages dtim1=CURRENT,dtim10=CURRENT (docs/radios.md)"
        )


def _modes(radio: Record) -> Iterator[str]:
    """What sets each mode of the host."""
    from airwatt.tables import quantity

    volts = radio.voltage_v
    for mode in radio.modes:
        stays = quantity(mode.sleep_w / volts, "A") if volts else quantity(mode.sleep_w, "W")
        chosen = " (assumed)" if mode.id == radio.mode else ""
        base = radio.name.partition(":")[0]
        lines = [f"{mode.name}{chosen}, {base}:{mode.id}: {stays} stay while the radio dozes; all of this sets it:"]
        yield "\n".join([*lines, *(f"    {each}" for each in mode.set)])
