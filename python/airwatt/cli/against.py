"""`airwatt compare --against emulation`: the same traffic simulated and over sockets of this machine's kernel."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli.output import note_file, print_json, say, show, writing
from airwatt.cli.parameters import Exit
from airwatt.cli.process import interruptible
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from airwatt._core import Scenario
    from airwatt.results import Result

EMULATION = "emulation"
LATENESS = "50ms"
"""Not more than 1 % of the packets may be delivered later than this by the emulation's clock."""


def check(against: str, others: Mapping[str, object]) -> None:
    """Raises `InputError` if a run cannot be held against this, or for options of which a pair of runs has no use."""
    if against != EMULATION:
        raise InputError(f"--against: expected {EMULATION}, got {against!r}")
    for option, value in others.items():
        if value:
            raise InputError(f"--against {EMULATION}: expected a single run over the simulated air, got {option} too")


def hold(scenario: Scenario, seed: int, *, json: bool, plot: Path | None) -> None:
    """Runs the scenario in both ways, shows both beside each other, and draws their sequence numbers."""
    with bar(scenario.name) as on_progress, interruptible():
        ours = laboratory.run(scenario, seed=seed, trace=plot is not None)
        kernels = laboratory.emulate(
            scenario,
            seed=seed,
            lateness=LATENESS,
            trace=plot is not None,
            output_to_error=json,
            on_progress=on_progress,
        )
    pair = {"simulated": ours, "kernel": kernels}
    if plot is not None:
        _draw(scenario.name, pair, plot)
    if json:
        print_json({name: result.to_dict() for name, result in pair.items()})
    else:
        _print_table(scenario.name, seed, pair)
    if kernels.interrupted:
        raise Exit(INTERRUPTED)
    if kernels.realtime is not None and not kernels.realtime.trusted:
        say("not to be trusted: this machine is too slow or too busy for it")
        raise Exit(FAILED)


def _draw(name: str, pair: Mapping[str, Result], plot: Path) -> None:
    from airwatt.plots import sequence

    with tempfile.TemporaryDirectory() as folder:
        captures = {which: Path(folder) / f"{which}.pcapng" for which in pair}
        for which, result in pair.items():
            result.write_pcapng(captures[which])
        with writing("--plot", plot):
            sequence.draw(f"{name}: simulated, and over a kernel", captures, plot)
    note_file(plot)


def _print_table(name: str, seed: int, pair: Mapping[str, Result]) -> None:
    from airwatt import aggregates
    from airwatt.tables import count, quantity, table

    heads = ["", aggregates.goodput_head(pair.values()), "energy", "packets down", "up", "resent", "time-outs"]
    rows = [
        [
            which,
            quantity(aggregates.shown_bps(result), "b/s"),
            quantity(aggregates.energy_j(result), "J"),
            count(sum(link.forward.packets for link in result.links)),
            count(sum(link.reverse.packets for link in result.links)),
            count(aggregates.retransmitted(result)),
            count(sum(flow.timeouts for flow in result.flows)),
        ]
        for which, result in pair.items()
    ]
    show(f"{name}, seed {seed}", table(heads, rows))
