"""A run in a handful of numbers: sums over its flows and stations, for tables and pictures side by side."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from airwatt._documents import FlowResult, RunResult, StationResult
from airwatt.statistics import Estimate, estimate

Number = Callable[[RunResult], float | None]
"""One number of a run; None where the run has none."""


def has_one_hop(run: RunResult) -> bool:
    """Whether the topology is the usual one, one access point or point-to-point link, without names."""
    links = [link for link in run.links if link.kind == "point-to-point"]
    return len(run.access_points) + len(links) == 1 and len(run.cells) + len(links) == 1


def flow_label(run: RunResult, flow: FlowResult) -> str:
    """What a flow is called in tables: by its direction over one hop, else by the nodes at its ends."""
    return f"{flow.id} {flow.direction}" if has_one_hop(run) else f"{flow.id} {flow['from']} to {flow.to}"


def station_label(run: RunResult, station: StationResult) -> str:
    """What a station is called in tables: by its number over one hop, else by its name."""
    return str(station.id) if has_one_hop(run) else station.name


def energy_j(run: RunResult) -> float:
    """All stations' energy, in joules."""
    return math.fsum(station.energy_j for station in run.stations)


def goodput_bps(run: RunResult) -> float:
    """The sum of all flows' `goodput_bps`: each from its start until it was complete, or until the run ended."""
    return math.fsum(flow.goodput_bps for flow in run.flows)


def measured_bps(run: RunResult) -> float | None:
    """The sum of all flows' `measured_bps`: from `measure_from` until the run ended; None if the scenario sets none."""
    if run.fairness.measured_from_s is None:
        return None
    return math.fsum(flow.measured_bps or 0.0 for flow in run.flows)


def shown_bps(run: RunResult) -> float:
    """The goodput that tables and pictures show: `measured_bps`, or without it `goodput_bps`."""
    measured = measured_bps(run)
    return goodput_bps(run) if measured is None else measured


def shown_flow_bps(flow: FlowResult) -> float:
    """The same of a flow."""
    return flow.goodput_bps if flow.measured_bps is None else flow.measured_bps


def goodput_head(runs: Iterable[RunResult]) -> str:
    """The head of a column of goodputs, with the time from which on they are measured."""
    return head_from(run.fairness.measured_from_s for run in runs if run.flows)


def head_from(starts_s: Iterable[float | None]) -> str:
    """The same from these times; None is the start of each flow."""
    starts = set(starts_s)
    if len(starts) > 1:
        return "goodput measured"
    start_s = starts.pop() if starts else None
    return "goodput" if start_s is None else f"goodput from {start_s:g} s"


def delivered_bytes(run: RunResult) -> float:
    """All flows' payload that was delivered, in bytes."""
    return math.fsum(flow.bytes_delivered for flow in run.flows)


def energy_per_bit_j(run: RunResult) -> float | None:
    """All stations' energy by all flows' payload that was delivered, in joules a bit; None if none was delivered."""
    bits = 8 * delivered_bytes(run)
    return energy_j(run) / bits if bits else None


def has_unequal_payload(choices: Sequence[Sequence[RunResult]]) -> bool:
    """Whether the runs of choices end before all is delivered, and what they deliver differs by more than 1 %.

    Then their energies are not of the same work.
    """
    if all(completed_s(run) is not None for runs in choices for run in runs):
        return False
    delivered = [over(runs, delivered_bytes).mean or 0.0 for runs in choices]
    return max(delivered) > 1.01 * min(delivered)


def completed_s(run: RunResult) -> float | None:
    """When the last transfer was complete, in simulated seconds; None if one was not."""
    return _latest([flow.completed_s for flow in run.flows])


def _latest(times: Sequence[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return max(known) if known and len(known) == len(times) else None


PERCENTILES = ("p50", "p95", "p99")
"""Of the times that pages, responses and blocks of a stream took."""


def answers(run: RunResult) -> bool:
    """Whether all flows are of applications that wait for answers."""
    return bool(run.flows) and all(flow.responses is not None for flow in run.flows)


def streams(run: RunResult) -> bool:
    """Whether all flows are streams in blocks."""
    return bool(run.flows) and all(flow.blocks is not None for flow in run.flows)


def response_s(run: RunResult, percentile: str) -> float | None:
    """How long that share of the answers or blocks took at most, of the flow that waited longest."""
    return _latest([_response_s(flow, percentile) for flow in run.flows])


def _response_s(flow: FlowResult, percentile: str) -> float | None:
    if flow.responses is not None:
        return {"p50": flow.response_s_p50, "p95": flow.response_s_p95, "p99": flow.response_s_p99}[percentile]
    return {"p50": flow.block_s_p50, "p95": flow.block_s_p95, "p99": flow.block_s_p99}[percentile]


def share(run: RunResult, state: str) -> float:
    """Share of all stations' time that was spent in a radio state, from 0 to 1."""
    spent = math.fsum(station.state_s[state] for station in run.stations)
    total = math.fsum(math.fsum(station.state_s.values()) for station in run.stations)
    return spent / total if total else 0.0


def wakeups(run: RunResult) -> float:
    """How often stations' radios woke up."""
    return sum(station.wakeups for station in run.stations)


def retransmitted(run: RunResult) -> float:
    """Segments that were sent again."""
    return math.fsum(flow.segments_retransmitted for flow in run.flows)


def causes(runs: Sequence[RunResult]) -> list[tuple[str, float]]:
    """Shares of the energy of all stations over several runs by cause, as `cause_shares` has them."""
    return cause_shares([station.energy_by_cause_j for run in runs for station in run.stations])


def cause_shares(energies_by_cause_j: Iterable[Mapping[str, Any]]) -> list[tuple[str, float]]:
    """Shares of the energy by cause, the largest first, without those of nothing. All flows are one cause."""
    energies: dict[str, float] = {}
    for by_cause_j in energies_by_cause_j:
        for name, spent in by_cause_j.items():
            added_j = math.fsum(spent.values()) if name == "flow" else spent
            label = cause_name(name)
            energies[label] = energies.get(label, 0.0) + added_j
    total = math.fsum(energies.values()) or 1.0
    found = [(name, energy_j / total) for name, energy_j in energies.items() if energy_j]
    return sorted(found, key=lambda entry: -entry[1])


def cause_name(name: str) -> str:
    """A cause as tables and pictures have it."""
    return "packets of flows" if name == "flow" else name.replace("_", " ")


def over(runs: Sequence[RunResult], number: Number) -> Estimate:
    """The mean and interval of one number over several runs."""
    return estimate([number(run) for run in runs])


def mean_voltage(run: RunResult) -> float | None:
    """The voltage at which the mean power of a run's stations is their mean current; None if one has no current.

    Radios have voltages of their own: at that of one of them the others would have currents that are not theirs.
    """
    currents = [station.average_current_a for station in run.stations]
    total_a = math.fsum(current for current in currents if current)
    if not total_a or not all(currents):
        return None
    return math.fsum(station.average_power_w for station in run.stations) / total_a


def mean_profile(profiles: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """What a radio's profile says of the energies of several runs: the mean power in each mode of the host."""
    known = [profile for profile in profiles if profile is not None]
    if not known:
        return None
    most = max(known, key=lambda profile: float(profile["borrowed_share"]))
    modes = [
        {**mode, "average_power_w": math.fsum(one["modes"][place]["average_power_w"] for one in known) / len(known)}
        for place, mode in enumerate(known[0]["modes"])
    ]
    return {**most, "modes": modes}
