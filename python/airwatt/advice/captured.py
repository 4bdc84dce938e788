"""What a capture's own packets say, replayed under each candidate that the models put first."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from airwatt import _core, laboratory
from airwatt._core import CONFIRM, InputError
from airwatt.advice import finer, network_stack, platforms
from airwatt.advice.answer import Advice, Row, rows_of
from airwatt.advice.candidate import Candidate, Figures
from airwatt.advice.chip import Chip
from airwatt.aggregates import cause_shares
from airwatt.parallel import Progress


def advise_capture(
    capture: str | Path,
    budget_s: float,
    *,
    station: str | None = None,
    radio: str | None = None,
    settings: Sequence[tuple[str, str]] = (),
    seed: int = 1,
    confirm: int = CONFIRM,
    limit: str | None = None,
    user: str | None = None,
    target: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds what would have spent least on a station's captured traffic.

    `settings` are keys of the cell, as in `airwatt.analyze`. `limit` bounds the cost of each of the two analyses, and
    `user` parses the capture, as there. `target` (`platforms.TARGETS`) leaves only candidates that can be set there.
    Raises `InputError`, or `RunError` if the limit is exceeded.
    """
    analyze = partial(
        laboratory.analyze,
        capture,
        station=station,
        radio=radio,
        settings=settings,
        seed=seed,
        limit=limit,
        user=user,
    )
    first = analyze(policies=["active"]).to_dict()
    if not first["policies"]:
        there = ", ".join(str(one.get("address", one)) for one in first["candidates"][:5])
        raise InputError(
            f"{capture}: expected a capture of one station, got several; hint: --station with one of {there}"
        )
    listening = [value for key, value in settings if key == "station.listen_interval"]
    plan = json.loads(_core.advise_analysis(first, budget_s, confirm, not listening))
    radio_name = str(first["radio"])
    chip = Chip.of(radio or radio_name)
    rows = rows_of(plan, chip.name, target, platforms.skipped(listening[-1] if listening else None))
    confirmed = [row for row in rows if row.confirm]
    advice = Advice(
        budget_s, str(capture), radio_name, chip, rows, 1, seed, from_capture=True, voltage_v=first["radio_voltage_v"],
        notes=first["capture"]["notes"], beacon_interval_s=first["cell"]["beacon_interval_s"],
        usual_beacons=first["cell"]["listen_interval"],
    )  # fmt: skip
    packets = first["pace"]["packets_down"] + first["pace"]["packets_up"]

    def replay(asked: Sequence[Row], *others: str) -> None:
        """Enters what replays give. A listen interval is a setting of the cell: those of one have an analysis."""
        for beacons in dict.fromkeys([*([None] if others else []), *(row.candidate.listen_interval for row in asked)]):
            names = {_name(row.candidate): row for row in asked if row.candidate.listen_interval == beacons}
            own = [] if beacons is None else [("station.listen_interval", str(beacons))]
            policies = [*names, *(others if beacons is None else ())]
            document = analyze(policies=policies, settings=[*settings, *own], on_progress=on_progress).to_dict()
            for found in document["policies"]:
                if found["policy"] in names:
                    names[found["policy"]].simulation = _figures(found, packets)
                else:
                    advice.bound = _figures(found, packets)

    replay(confirmed, "ideal")
    advice.decide(target)
    finer.seek(advice, replay)
    if platforms.with_wake_times(target, chip.name) is not None:
        advice.untried = (
            "target wake time: no capture says to which times its access point would agree; --flow tries it"
        )
    if platforms.is_esp_idf(chip.name, target):
        has_tcp = any(flow["protocol"] == "tcp" for flow in first["flows"])
        advice.network_stack = network_stack.of_capture(radio or radio_name, is_tcp_open=has_tcp)
    return advice


def _name(candidate: Candidate) -> str:
    """As `analyze` has it: `uapsd:interval=40ms`."""
    return ":".join([candidate.policy, *(f"{key}={value}" for key, value in candidate.parameters)])


def _figures(replay: dict[str, Any], packets: int) -> Figures:
    # A capture may have no packet that both replays delivered.
    delay = replay["added_delay_s"] or {"mean": 0.0, "p95": None, "p99": None}
    return Figures(
        replay["energy_j"],
        replay["average_power_w"],
        delay["mean"],
        delay_p95_s=delay["p95"],
        delay_p99_s=delay["p99"],
        energy_low_j=replay["energy_low_j"],
        energy_high_j=replay["energy_high_j"],
        causes=dict(cause_shares([replay["energy_by_cause_j"]])),
        profile=replay["profile"],
        waited_for=packets,
    )
