"""Studies of runs: of one scenario under one or several choices, from result documents or simulated for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airwatt._documents import RunResult
from airwatt.battery import Battery
from airwatt.reports import answers, numbers, tables, timeline
from airwatt.reports.pack import Pack
from airwatt.reports.study import Study

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Group:
    """The runs of one choice, and the traces of the first one if there are any."""

    label: str
    runs: list[RunResult]
    traces: Mapping[str, pa.Table] = field(default_factory=dict)
    notes: Sequence[str] = ()
    """What is to be known of its scenario."""

    @property
    def names(self) -> timeline.Names:
        """What the scenario calls its stations, and the ends of its flows. Earlier versions' documents lack both."""
        stations = {item.id: item.name for run in self.runs[:1] for item in run.stations if "name" in item}
        flows = {
            item.id: f"{item['from']} to {item['to']}" for run in self.runs[:1] for item in run.flows if "from" in item
        }
        return timeline.Names(stations, flows)


def study_of(scenario: str, groups: Sequence[Group], pack: Pack, battery: Battery | None, points: int) -> Study:
    """What the page shows of the runs of a scenario."""
    choices = [numbers.choice_of(group.label, group.runs, battery) for group in groups if group.runs]
    answers.mark_best(choices)
    has_bound = any(choice.mean(numbers.BOUND.key) for choice in choices)
    labelled = [(group.label, run) for group in groups for run in group.runs]
    frames = [
        row
        for group in groups
        if group.traces
        for row in tables.of_frames(group.label, group.traces["frames"], group.names)
    ]
    return Study(
        "runs",
        scenario,
        _question(scenario, groups),
        choices,
        list(numbers.COLUMNS),
        answers=answers.of_choices(choices, battery),
        notes=_notes(groups),
        bound=numbers.BOUND_TEXT if has_bound else "",
        tables=[*([tables.frames_table(frames)] if frames else []), *(tables.of_runs(labelled) if labelled else [])],
        timelines=_timelines(groups, pack, points),
    )


def _timelines(groups: Sequence[Group], pack: Pack, points: int) -> list[dict[str, Any]]:
    traced = {group.label: (group.traces, _end_s(group), group.names) for group in groups if group.traces}
    return timeline.of_runs(traced, pack, points)


def _end_s(group: Group) -> float:
    """The end of a traced run; of traces without their document, the end of the last period."""
    if group.runs:
        return group.runs[0].simulated_s
    radios = group.traces["radio_states"]
    if not len(radios):
        return 0.0
    return float((radios["time_ns"].to_numpy() + radios["duration_ns"].to_numpy()).max()) / 1e9


def _question(scenario: str, groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    if not runs:
        return f"What happened in {scenario}, as it was traced?"
    counts = {len(group.runs) for group in groups if group.runs}
    times = f"{max(counts)} runs each" if max(counts) > 1 else "one run each" if len(groups) > 1 else "one run"
    seeds = sorted({run.seed for run in runs})
    seed = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    radios = ", ".join(dict.fromkeys(station.radio for run in runs for station in run.stations))
    radio = f", radio {radios}" if radios else ""
    # A bound is no candidate.
    named = [group.label for group in groups if group.label != "ideal"] or [groups[0].label]
    if len(named) == 1:
        return f"What does {named[0]} spend on {scenario}? ({times}, {seed}{radio})"
    return f"Which of {', '.join(named)} spends least on {scenario}? ({times}, {seed}{radio})"


def _notes(groups: Sequence[Group]) -> list[str]:
    runs = [run for group in groups for run in group.runs]
    found = list(dict.fromkeys(note for group in groups for note in group.notes))
    if any(run.get("realtime") is not None for run in runs):
        found.append("An emulation: hosts with real kernels over the simulated air.")
    if any(len(run.stations) > 1 for run in runs):
        found.append(
            "Energies are sums over all stations; powers, currents and lifetimes are those of the mean station."
        )
    unfinished = [
        group.label for group in groups if any(flow.completed_s is None for run in group.runs for flow in run.flows)
    ]
    if unfinished and len(unfinished) < len(groups):
        found.append(f"Not every transfer was complete with {', '.join(unfinished)}.")
    return found
