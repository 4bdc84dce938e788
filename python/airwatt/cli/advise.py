"""`airwatt advise`: within a delay budget, the policy and parameters that spend least."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.progress import bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from airwatt.advise import Advice, Row

EPILOG = """\b
A flow: down or up, then one of
  bulk:SIZE                  a transfer over TCP       down:bulk:5MB
  cbr:RATE[:PACKET]          datagrams, as in a call   up:cbr:64kbps:160B
  interactive:GAP[:PACKET]   packets at random times   down:interactive:500ms
  streaming:RATE             media in blocks           down:streaming:1Mbps
  web:GAP                    pages, time between them  down:web:7s
  request-response:GAP       small questions           down:request-response:1s

\b
Examples:
  airwatt advise --delay 20ms --flow down:bulk:5MB
  airwatt advise --delay 15ms --flow up:cbr:64kbps:160B --flow down:cbr:64kbps:160B
  airwatt advise --delay 100ms --flow down:request-response:1s --runs 5
  airwatt advise slow-dsl --delay 50ms --set flow.size=2MB --radio ar5004
  airwatt advise captures/tcp-download.pcapng --delay 30ms
"""

FAILED = 1


def command(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[SCENARIO|CAPTURE]", help="A scenario, or a capture (.pcap, .pcapng); or --flow."),
    ] = None,
    delay: Annotated[
        str, typer.Option("--delay", metavar="TIME", help="Mean delay that power save may add to packets or answers.")
    ] = "20ms",
    flow: Annotated[
        list[str] | None, typer.Option("--flow", metavar="FLOW", help="A flow, see below; may be repeated.")
    ] = None,
    radio: Annotated[str | None, typer.Option("--radio", metavar="NAME", help="The radio (airwatt radios).")] = None,
    rtt: Annotated[str | None, typer.Option("--rtt", metavar="TIME", help="Round trip of the wired path.")] = None,
    down: Annotated[str | None, typer.Option("--down", metavar="RATE", help="Rate of the line down.")] = None,
    up: Annotated[str | None, typer.Option("--up", metavar="RATE", help="Rate of the line up.")] = None,
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="How long flows without an end are simulated.")
    ] = "20s",
    confirm: Annotated[
        int, typer.Option("--confirm", metavar="N", min=1, help="How many of the models' best are simulated.")
    ] = 4,
    station: Annotated[str | None, typer.Option("--station", metavar="ADDR", help="The station in a capture.")] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 3,
    json: options.Json = False,
    plot: options.Plot = None,
    fail_if: options.FailIf = None,
) -> None:
    """Find the power save that spends least within a delay budget.

    Models come first and say what is worth a simulation; the simulation decides. Exits with 1 if nothing is within
    the budget.
    """
    from airwatt import advise

    limits = options.thresholds(fail_if)
    check_picture("--plot", plot)
    budget = advise.quantity("--delay", delay, "time")
    settings = _settings(radio, {"wired.rtt": rtt, "wired.down.rate": down, "wired.up.rate": up}, set_)
    _check_source(source, flow)
    if source is not None and Path(source).suffix.lower() in advise.CAPTURES:
        _only_for_scenarios(rtt, down, up, set_)
        with bar(source) as on_progress:
            found = advise.advise_capture(
                source, budget, station=station, radio=radio, seed=seed, on_progress=on_progress
            )
    elif station is not None:
        raise InputError(f"--station {station}: is for captures; allowed is a capture beside it")
    elif source is not None:
        with bar(source) as on_progress:
            found = advise.advise(
                source, budget, runs=runs, seed=seed, confirm=confirm, set=settings, on_progress=on_progress
            )
    else:
        with advise.scenario_of(flow or [], settings, duration) as scenario, bar("advise") as on_progress:
            found = advise.advise(scenario, budget, runs=runs, seed=seed, confirm=confirm, on_progress=on_progress)
    document = found.to_dict()
    if plot is not None:
        from airwatt.plots import advise as picture

        with writing("--plot", plot):
            picture.draw(found, plot)
        note_file(plot)
    if json:
        print_json(document)
    else:
        show(*_parts(found))
    options.hold(limits, document)
    if not found.ranked:
        raise typer.Exit(FAILED)


def _settings(radio: str | None, path: dict[str, str | None], set_: list[str] | None) -> dict[str, str]:
    if radio is not None:
        known = [str(profile.name) for profile in laboratory.radios()]
        if radio not in known:
            raise InputError(f"--radio {radio}: unknown; allowed are {', '.join(known)}")
    keys = {**path, "station.radio": radio}
    return {key: value for key, value in keys.items() if value is not None} | dict(options.overrides(set_))


def _check_source(source: str | None, flow: list[str] | None) -> None:
    if source is None and not flow:
        raise InputError("advise: no traffic; allowed are a scenario, a capture, or --flow as in down:bulk:5MB")
    if source is not None and flow:
        raise InputError(f"--flow {flow[0]}: beside {source}; allowed is one of the two")


def _only_for_scenarios(rtt: str | None, down: str | None, up: str | None, set_: list[str] | None) -> None:
    given = {"--rtt": rtt, "--down": down, "--up": up, "--set": set_}
    for option, value in given.items():
        if value:
            raise InputError(f"{option}: a capture has its path; allowed is with a scenario or --flow")


def _parts(found: Advice) -> Iterator[RenderableType]:
    from airwatt.cli.tables import quantity, table

    confirmed = [row for row in found.rows if row.simulation]
    confirmed.sort(key=lambda row: (row not in found.ranked, row.simulation.energy_j if row.simulation else 0.0))
    from_capture = all(row.simulation and row.simulation.energy_low_j is not None for row in confirmed)
    origin = "" if from_capture else f", {found.runs} runs from seed {found.seed}"
    yield f"{found.source}, radio {found.radio}: at most {quantity(found.budget_s, 's')} of added delay{origin}"
    heads = ["policy", "parameter", "energy", "power", "delay +", "95 %" if from_capture else "goodput", "model", ""]
    # A replay has no parameters of ours, and not everything has a model beside it.
    modelled = any(row.model is not None for row in confirmed)
    left_out = ([1] if from_capture else []) + ([] if modelled else [6])
    kept = [index for index in range(len(heads)) if index not in left_out]
    rows = [[cells[index] for index in kept] for cells in (_cells(row, found) for row in confirmed)]
    yield table([heads[index] for index in kept], rows, left=1 if from_capture else 2)
    yield from _verdict(found)
    skipped = [row for row in found.rows if not row.simulation]
    if skipped:
        names = ", ".join(_name(row) for row in skipped)
        yield f"not simulated, the models put others first: {names}"


def _cells(row: Row, found: Advice) -> list[str]:
    from airwatt.cli.tables import NOTHING, quantity

    figures = row.simulation
    assert figures is not None
    last = figures.delay_p95_s if figures.goodput_bps is None else figures.goodput_bps
    unit = "s" if figures.goodput_bps is None else "b/s"
    error = row.model_error
    verdict = "" if row in found.ranked else "over"
    return [
        row.candidate.policy,
        " ".join(value for _, value in row.candidate.parameters),
        quantity(figures.energy_j, "J", figures.energy_ci95_j),
        quantity(figures.power_w, "W"),
        quantity(max(0.0, figures.delay_s), "s", figures.delay_ci95_s),
        quantity(last, unit),
        NOTHING if error is None else f"{100 * error:+.0f} %",
        "best" if found.ranked[:1] == [row] else verdict,
    ]


def _name(row: Row) -> str:
    return " ".join([row.candidate.policy, *(value for _, value in row.candidate.parameters)])


def _verdict(found: Advice) -> Iterator[str]:
    from airwatt.cli.tables import quantity

    ranked = found.ranked
    if not ranked:
        yield "nothing is within the budget"
        return
    lines = [f"take       {_name(ranked[0])}: {_costs(ranked[0])}"]
    if found.alike:
        lines.append(f"the same   {', '.join(_name(row) for row in found.alike)}")
    if found.runner_up is not None:
        chance = ", the difference within chance" if _overlap(ranked[0], found.runner_up) else ""
        lines.append(f"runner-up  {_name(found.runner_up)}: {_costs(found.runner_up)}{chance}")
    if found.bound is not None:
        spent = quantity(found.bound.energy_j, "J")
        lines.append(f"ideal      {spent}: asleep in every gap, with the timing of active")
    lines += _more_delay(found)
    if found.tunnel is not None:
        saved = quantity(found.tunnel["ideal_w"], "W")
        lines.append(
            f"tunnel     by the model alone: bursts of {found.tunnel['burst_packets']:.0f} packets, "
            f"{saved} ({100 * found.tunnel['saving_floored']:.0f} % less)"
        )
    lines += _disagreement(found)
    yield "\n".join(textwrap.fill(line, 80, subsequent_indent=" " * 11) for line in lines)


def _overlap(first: Row, second: Row) -> bool:
    a, b = first.simulation, second.simulation
    if a is None or b is None or a.energy_ci95_j is None or b.energy_ci95_j is None:
        return False
    return abs(a.energy_j - b.energy_j) <= a.energy_ci95_j + b.energy_ci95_j


def _costs(row: Row) -> str:
    from airwatt.cli.tables import quantity

    figures = row.simulation
    assert figures is not None
    text = f"{quantity(figures.energy_j, 'J')}, {quantity(max(0.0, figures.delay_s), 's')} of delay"
    if figures.delay_p95_s is not None:
        text += f" (95 %: {quantity(max(0.0, figures.delay_p95_s), 's')})"
    if figures.energy_ci95_j is not None:
        text += f", energy ± {quantity(figures.energy_ci95_j, 'J')}"
    if figures.energy_low_j is not None:
        text += f", energy {quantity(figures.energy_low_j, 'J')} to {quantity(figures.energy_high_j, 'J')}"
    return text


def _more_delay(found: Advice) -> list[str]:
    """The steps of the curve beyond the budget."""
    from airwatt.cli.tables import quantity

    best = found.ranked[0].simulation
    assert best is not None
    lines = []
    for delay, row in found.curve:
        figures = row.simulation
        if figures is not None and delay > found.budget_s:
            saved = quantity(best.energy_j - figures.energy_j, "J")
            lines.append(f"more delay {quantity(delay, 's')} would buy {_name(row)}: {saved} less")
    return lines or ["more delay buys nothing"]


def _disagreement(found: Advice) -> list[str]:
    lines = []
    if found.disagreements:
        names = ", ".join(f"{_name(row)} {100 * (row.model_error or 0.0):+.0f} %" for row in found.disagreements)
        lines.append(f"disagree   model against simulation, energy: {names}")
    choice = found.models_choice
    if choice is not None and choice.simulation and choice not in [found.ranked[0], *found.alike]:
        lines.append(f"models     alone would have taken {_name(choice)}")
    return lines
