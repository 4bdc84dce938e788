"""How the documents of runs are shown, and their traces kept: the same for what was simulated and what was emulated."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airwatt._core import InputError, RunError
from airwatt._documents import FlowResult, HostResult, RunResult
from airwatt.aggregates import (
    Number,
    cause_name,
    flow_label,
    goodput_head,
    has_one_hop,
    mean_profile,
    mean_voltage,
    over,
    shown_flow_bps,
    station_label,
)
from airwatt.cli.output import note_file, print_json, show, writing
from airwatt.results import Result, Runs

if TYPE_CHECKING:
    from airwatt.battery import Battery
    from airwatt.layout import Table
    from airwatt.results import Analysis


@contextlib.contextmanager
def holding(trace: Path | None) -> Iterator[None]:
    """Makes the folder of `--trace` before anything runs, and keeps other runs out of it meanwhile.

    Raises `InputError`, or `RunError` while another run holds it.
    """
    if trace is None:
        yield
        return
    is_new = not trace.exists()
    if not is_new and not trace.is_dir():
        raise InputError(f"--trace {trace}: expected a folder, new or old, got a file")
    with writing("--trace", trace):
        trace.mkdir(parents=True, exist_ok=True)
        folder = os.open(trace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # The kernel gives the lock back when the process ends, however it ends.
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        raise RunError(f"--trace {trace}: expected a folder of this run, got one that another run writes to") from None
    except OSError:
        # A file system without locks: two runs at once are then the user's to avoid.
        pass
    try:
        yield
    finally:
        if is_new:
            # It is empty where nothing could be written.
            with contextlib.suppress(OSError):
                trace.rmdir()
        os.close(folder)


def keep(
    result: "Result | Analysis",
    trace: Path | None,
    pcap: Path | None,
    perfetto: Path | None,
    plot: Path | None,
    what_if: bool = True,
) -> None:
    """Writes the traces that were asked for. Raises `InputError` or `RunError` where a file cannot be written.

    `what_if` says whether a picture of a capture has simulated lanes.
    """
    if trace is not None:
        with writing("--trace", trace):
            paths = result.write_tables(trace)
        for path in paths:
            note_file(path)
    if pcap is not None:
        assert isinstance(result, Result)
        with writing("--pcap", pcap):
            result.write_pcapng(pcap)
        note_file(pcap)
    if perfetto is not None:
        with writing("--perfetto", perfetto):
            result.write_perfetto(perfetto)
        note_file(perfetto)
    if plot is not None:
        with writing("--plot", plot):
            _draw(result, plot, what_if)
        note_file(plot)


def _draw(result: "Result | Analysis", plot: Path, what_if: bool) -> None:
    if isinstance(result, Result):
        from airwatt.plots import timeline

        timeline.draw(result, result.traces(), plot)
    else:
        from airwatt.plots import analyze, current

        document = result.to_dict()
        is_measured = bool((document.get("current") or {}).get("windows"))
        if is_measured:
            current.draw(document, plot)
        else:
            analyze.draw(document, plot, what_if)


def present(result: Result | Runs, json: bool, battery: "Battery | None" = None) -> None:
    """Prints the document of one run or of several, as JSON or as tables, and how long a battery lasts."""
    # A single run is the mean of itself.
    runs = result.runs if isinstance(result, Runs) else [result]
    if json:
        print_json(result.to_dict() | ({} if battery is None else {"battery": _battery(runs, battery)}))
        return
    first = runs[0]
    flows = () if not first.flows else (*_flows(runs), *_overheads(runs))
    stations = () if not first.stations else _stations(runs, battery)
    hosts = () if not first.hosts else (_hosts(runs, first.hosts),)
    show(
        _headline(first, len(runs)),
        *flows,
        *stations,
        *hosts,
        *_currents(runs, battery),
        *_hops(runs),
        *_categories(runs),
        *_clock(result),
    )


def _number(runs: Sequence[RunResult], number: Number, unit: str) -> str:
    from airwatt.tables import estimate

    return estimate(over(runs, number), unit)


def _count(runs: Sequence[RunResult], number: Number) -> str:
    from airwatt.tables import count

    return count(*over(runs, number))


def _percent(runs: Sequence[RunResult], number: Number) -> str:
    from airwatt.tables import percent

    return percent(over(runs, number).mean)


def _flows(runs: Sequence[RunResult]) -> "Iterator[Table]":
    from airwatt.tables import table

    # Of datagrams nobody measures a round trip; what they take stands beside that of connections.
    has_datagrams = any(flow.transport == "udp" for flow in runs[0].flows)

    def cells(index: int, flow: FlowResult) -> list[str]:
        one_way = _number(runs, lambda run: run.flows[index].latency_s_mean, "s")
        return [
            flow_label(runs[0], flow),
            flow.transport,
            _number(runs, lambda run: run.flows[index].bytes_delivered, "B"),
            _number(runs, lambda run: shown_flow_bps(run.flows[index]), "b/s"),
            _number(runs, lambda run: run.flows[index].completed_s, "s"),
            *([one_way] if has_datagrams else []),
            _number(runs, lambda run: run.flows[index].rtt_s_mean, "s"),
            _count(runs, lambda run: run.flows[index].segments_retransmitted),
        ]

    rows = [cells(index, flow) for index, flow in enumerate(runs[0].flows)]
    times = ["done at", *(["one way"] if has_datagrams else []), "mean RTT"]
    heads = ["flow", "transport", "delivered", goodput_head(runs), *times, "resent"]
    yield table(heads, rows, left=2)


def _hops(runs: Sequence[RunResult]) -> "Iterator[str | Table]":
    """Yields what crossed the wireless hops: a line for one, a table for several cells."""
    if has_one_hop(runs[0]):
        yield _link(runs) if _is_link(runs[0]) else _cell(runs)
    elif runs[0].cells:
        from airwatt.tables import table

        heads = ["cell", "channel", "air used", "frames", "retries", "collisions", "AP drops"]
        yield table(heads, [_cell_row(runs, index) for index in range(len(runs[0].cells))], left=2)
        channels = [cell.channel for cell in runs[0].cells if cell.channel is not None]
        if len(set(channels)) < len(channels):
            yield "cells on one channel: air, frames, retries and collisions are those of the whole channel"


def _categories(runs: Sequence[RunResult]) -> "Iterator[Table]":
    """Yields what was sent in each access category, where cells tell them apart."""
    from airwatt.tables import table

    several = len(runs[0].cells) > 1

    def row(at: int, place: int) -> list[str]:
        def number(key: str) -> str:
            return _whole(runs, lambda run: (run.cells[at].categories or [])[place][key])

        cell = runs[0].cells[at]
        names = [*([cell.name] if several else []), (cell.categories or [])[place].category]
        return [*names, *map(number, ("frames", "retries", "internal_collisions"))]

    places = ((at, place) for at, cell in enumerate(runs[0].cells) for place in range(len(cell.categories or [])))
    if rows := [row(at, place) for at, place in places]:
        heads = [*(["cell"] if several else []), "category", "frames", "retries", "internal collisions"]
        yield table(heads, rows, left=len(heads) - 3)


def _cell_row(runs: Sequence[RunResult], index: int) -> list[str]:
    cell = runs[0].cells[index]
    return [
        cell.name,
        cell.channel or "own",
        _percent(runs, lambda run: run.cells[index].airtime_utilization),
        _whole(runs, lambda run: run.cells[index].frames),
        _whole(runs, lambda run: run.cells[index].retries),
        _whole(runs, lambda run: run.cells[index].collisions),
        _whole(runs, lambda run: run.cells[index].ap_drops),
    ]


def _is_link(run: RunResult) -> bool:
    """Returns whether the last hop is a point-to-point link, whose packets have a time of delivery."""
    return any(flow.delivery_s_mean is not None for flow in run.flows)


def _overheads(runs: Sequence[RunResult]) -> "Iterator[Table]":
    """Yields what flows over a point-to-point link spend beyond their data; a cell has a radio's joules instead."""
    from airwatt.tables import table

    if not _is_link(runs[0]):
        return

    def energy(index: int, radio: str) -> Number:
        def overhead(run: RunResult) -> float | None:
            of_all = run.flows[index].energy_overhead
            return None if of_all is None else of_all[radio]

        return overhead

    def cells(index: int, flow: FlowResult) -> list[str]:
        return [
            flow_label(runs[0], flow),
            _percent(runs, lambda run: run.flows[index].data_overhead),
            _percent(runs, lambda run: run.flows[index].time_overhead),
            *(_percent(runs, energy(index, radio)) for radio in ("always-active", "intermediate", "ideal")),
            _number(runs, lambda run: run.flows[index].delivery_s_mean, "s"),
        ]

    rows = [cells(index, flow) for index, flow in enumerate(runs[0].flows)]
    yield table(["flow", "bytes", "time", "energy, always on", "intermediate", "ideal radio", "delivery"], rows)


def _link(runs: Sequence[RunResult]) -> str:
    used, packets, damaged, drops = (
        _percent(runs, lambda run: run.cell.airtime_utilization),
        _whole(runs, lambda run: run.cell.frames),
        _whole(runs, lambda run: run.cell.damaged),
        _whole(runs, lambda run: run.cell.ap_drops),
    )
    return f"link {used} used: {packets} packets, {damaged} damaged, {drops} dropped before it"


def _whole(runs: Sequence[RunResult], number: Number) -> str:
    """Writes a mean count as a whole number, for sentences."""
    from airwatt.tables import count

    return count(round(over(runs, number).mean or 0))


def _stations(runs: Sequence[RunResult], battery: "Battery | None") -> "Iterator[Table]":
    from airwatt.tables import percent, table

    rows, times = [], []
    for index, station in enumerate(runs[0].stations):
        rows.append(_station(runs, index))
        states = list(station.state_s)
        spent = [over(runs, _time_in(index, state)).mean or 0.0 for state in states]
        times.append([station_label(runs[0], station), *(percent(time / (sum(spent) or 1.0)) for time in spent)])
    yield table(["station", "policy", "radio", "energy", "power", "per bit", "wake-ups"], rows, left=3)
    yield table(["station", *runs[0].stations[0].state_s], times)
    yield _causes(runs, battery)
    peers = _peers(runs)
    if peers is not None:
        yield peers


def _hosts(runs: Sequence[RunResult], hosts: Sequence[HostResult]) -> "Table":
    """Gives what hosts drew beside their radios; `hosts` are those of the first run."""
    from airwatt.tables import table

    def number(index: int, key: str) -> str:
        return _number(runs, lambda run: run["hosts"][index][key], "J")

    def row(index: int, host: HostResult) -> list[str]:
        return [
            host.node,
            host.profile,
            number(index, "energy_j"),
            number(index, "idealized_energy_j"),
            number(index, "marginal_energy_j"),
            _percent(runs, lambda run: 1 - run["hosts"][index].time_s.idle / run.simulated_s),
        ]

    rows = [row(index, host) for index, host in enumerate(hosts)]
    return table(["host", "profile", "energy", "without idle", "beyond idle", "busy"], rows, left=2)


def _causes(runs: Sequence[RunResult], battery: "Battery | None") -> "Table":
    """What the energy of all stations together was spent on, and what that is in a day."""
    from airwatt.battery import SECONDS_A_DAY
    from airwatt.cli import charge
    from airwatt.tables import percent, quantity, table

    first = runs[0]
    radio_v = mean_voltage(first)
    volts = radio_v if battery is None else battery.voltage(radio_v)
    host_j = 0.0 if battery is None else battery.extra_w(radio_v) * first.simulated_s * len(first.stations)
    # A station without scans has no such cause.
    fixed = dict.fromkeys(name for station in first.stations for name in station.energy_by_cause_j if name != "flow")
    energies = {cause_name(name): _spent_on(name) for name in fixed}
    energies[cause_name("flow")] = _spent_on_flows
    total = host_j + sum(over(runs, energy).mean or 0.0 for energy in energies.values()) or 1.0
    days = first.simulated_s / SECONDS_A_DAY

    def row(name: str, text: str, mean_j: float) -> list[str]:
        return [name, text, percent(mean_j / total), *([charge.charge(mean_j / days, volts)] if volts else [])]

    rows = []
    for name, energy in energies.items():
        mean = over(runs, energy).mean
        if mean:
            rows.append(row(name, _number(runs, energy, "J"), mean))
    if host_j:
        rows.append(row("host and sensors", quantity(host_j, "J"), host_j))
    return table(["cause", "energy", "share", *(["a day"] if volts else [])], rows)


def _peers(runs: Sequence[RunResult]) -> "Table | None":
    """The same total by the other ends of the stations' flows; None of a single one, which has that of the flows."""
    from airwatt.tables import percent, table

    names = dict.fromkeys(name for run in runs for station in run.stations for name in station.energy_by_peer_j)
    if len(names.keys() - {"none"}) < 2:
        return None
    energies = {name: over(runs, _spent_with(name)).mean or 0.0 for name in names}
    total = sum(energies.values()) or 1.0
    rows = [
        [name, _number(runs, _spent_with(name), "J"), percent(energy_j / total)]
        for name, energy_j in sorted(energies.items(), key=lambda entry: (entry[0] == "none", -entry[1]))
    ]
    return table(["peer", "energy", "share"], rows)


def _spent_with(peer: str) -> Number:
    return lambda run: sum(station.energy_by_peer_j.get(peer, 0.0) for station in run.stations)


def _spent_on(cause: str) -> Number:
    return lambda run: sum(station.energy_by_cause_j.get(cause, 0.0) for station in run.stations)


def _spent_on_flows(run: RunResult) -> float:
    return sum(sum(station.energy_by_cause_j.flow.values()) for station in run.stations)


def _station(runs: Sequence[RunResult], index: int) -> list[str]:
    station = runs[0].stations[index]
    return [
        station_label(runs[0], station),
        station.policy,
        station.radio,
        _number(runs, lambda run: run.stations[index].energy_j, "J"),
        _number(runs, lambda run: run.stations[index].average_power_w, "W"),
        _number(runs, lambda run: run.stations[index].energy_per_bit_j, "J/b"),
        _count(runs, lambda run: run.stations[index].wakeups),
    ]


def _currents(runs: Sequence[RunResult], battery: "Battery | None") -> "Iterator[str | Table]":
    """Current and charge a day of stations whose radio has a voltage, and how long the battery lasts."""
    from airwatt.cli import charge
    from airwatt.tables import table

    first = runs[0]
    volts = [charge.voltage(first, index) for index in range(len(first.stations))]
    if not charge.has_any(volts, battery):
        return
    rows = [
        [
            station_label(first, station),
            *charge.cells(charge.power_w(runs, index), volts[index], battery, station.profile),
        ]
        for index, station in enumerate(first.stations)
    ]
    yield table(["station", *charge.heads(battery, first.stations[0].profile)], rows)
    profiles = [
        (station_label(first, station), mean_profile([run.stations[index].profile for run in runs]))
        for index, station in enumerate(first.stations)
    ]
    yield from charge.host_modes("station", profiles, volts, battery)


def _battery(runs: Sequence[RunResult], battery: "Battery") -> dict[str, object]:
    """How long the battery lasts for each station, for the JSON document."""
    from airwatt.cli import charge

    first = runs[0]
    stations = [
        {
            "id": station.id,
            **charge.document(charge.power_w(runs, index), charge.voltage(first, index), battery, station.profile),
        }
        for index, station in enumerate(first.stations)
    ]
    capacity_j = battery.capacity_j(charge.voltage(first)) if first.stations else battery.energy_j
    return {"text": battery.text, "capacity_j": capacity_j, "stations": stations}


def _time_in(index: int, state: str) -> Number:
    return lambda run: run.stations[index].state_s[state]


def _headline(first: RunResult, runs: int) -> str:
    from airwatt.tables import count, quantity

    if runs > 1:
        return f"{first.scenario}, {runs} runs from seed {first.seed}: mean ± 95 % confidence interval"
    time = f"{first.simulated_s:.1f} s" if first.simulated_s >= 0.1 else quantity(first.simulated_s, "s")
    begin = f"{first.scenario}, seed {first.seed}: {time}"
    if isinstance(first, Result) and first.realtime is not None:
        return f"{begin} emulated, {count(first.events)} events"
    return f"{begin} simulated in {first.wall_s:.2f} s, {count(first.events)} events"


def _clock(result: Result | Runs) -> Iterator[str]:
    """Says how well an emulation kept the wall clock."""
    from airwatt.tables import count, percent, quantity

    realtime = result.realtime if isinstance(result, Result) else None
    if realtime is None or not realtime.deliveries:
        return
    p50, p99, worst = (
        quantity(late_s, "s") for late_s in (realtime.lateness_s_p50, realtime.lateness_s_p99, realtime.lateness_s_max)
    )
    yield (
        f"{count(realtime.deliveries)} packets delivered, late by {p50} (median), {p99} (99 %), {worst} at most;"
        f" CPU {percent(realtime.cpu_share)}"
    )


def _cell(runs: Sequence[RunResult]) -> str:
    used, frames, retries, collisions, drops = (
        _percent(runs, lambda run: run.cell.airtime_utilization),
        _whole(runs, lambda run: run.cell.frames),
        _whole(runs, lambda run: run.cell.retries),
        _whole(runs, lambda run: run.cell.collisions),
        _whole(runs, lambda run: run.cell.ap_drops),
    )
    counts = [(frames, "frame"), (retries, "retry"), (collisions, "collision"), (drops, "AP drop")]
    return f"air {used} used: {', '.join(_counted(number, what) for number, what in counts)}"


def _counted(number: str, what: str) -> str:
    if number == "1":
        return f"1 {what}"
    return f"{number} {what.removesuffix('y')}ies" if what.endswith("y") else f"{number} {what}s"
