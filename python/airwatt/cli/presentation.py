"""How the documents of runs are shown, and their traces kept: the same for what was simulated and what was emulated."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt._core import InputError, RunError
from airwatt.cli.output import note_file, print_json, show, writing
from airwatt.results import Result, Runs
from airwatt.statistics import summarize

if TYPE_CHECKING:
    from airwatt.cli.layout import Table


@contextlib.contextmanager
def holding(trace: Path | None) -> Iterator[None]:
    """Makes the folder of `--trace` before anything runs, and keeps other runs out of it meanwhile.

    Raises `InputError`, or `RunError` while another run holds it.
    """
    if trace is None:
        yield
        return
    if trace.exists() and not trace.is_dir():
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
        os.close(folder)


def keep(result: Result, trace: Path | None, pcap: Path | None, perfetto: Path | None, plot: Path | None) -> None:
    """Writes the traces that were asked for. Raises `InputError` or `RunError` where a file cannot be written."""
    if trace is not None:
        with writing("--trace", trace):
            paths = result.write_tables(trace)
        for path in paths:
            note_file(path)
    if pcap is not None:
        with writing("--pcap", pcap):
            result.write_pcapng(pcap)
        note_file(pcap)
    if perfetto is not None:
        with writing("--perfetto", perfetto):
            result.write_perfetto(perfetto)
        note_file(perfetto)
    if plot is not None:
        from airwatt.plots import timeline

        with writing("--plot", plot):
            timeline.draw(result.to_dict(), result.traces(), plot)
        note_file(plot)


def present(result: Result | Runs, json: bool) -> None:
    """Prints the document of one run or of several, as JSON or as tables."""
    document = result.to_dict()
    if json:
        print_json(document)
        return
    documents = document.get("runs", [document])
    # A single run is the mean of itself.
    means = document.get("summary") or summarize([document])
    first = documents[0]
    hop = _link(means) if _is_link(first) else _cell(means)
    flows = () if not first["flows"] else (*_flows(first, means), *_overheads(first, means))
    show(_headline(first, len(documents)), *flows, *_stations(first, means), hop, *_clock(first))


Means = Mapping[str, Mapping[str, float | None]]


def _number(means: Means, key: str, unit: str) -> str:
    from airwatt.cli.tables import quantity

    estimate = means.get(key, {})
    return quantity(estimate.get("mean"), unit, estimate.get("ci95"))


def _count(means: Means, key: str) -> str:
    from airwatt.cli.tables import count

    estimate = means.get(key, {})
    return count(estimate.get("mean"), estimate.get("ci95"))


def _flows(document: dict[str, Any], means: Means) -> "Iterator[Table]":
    from airwatt.cli.tables import table

    rows = [
        [
            f"{flow['id']} {flow['direction']}",
            flow["transport"],
            _number(means, f"flows.{index}.bytes_delivered", "B"),
            _number(means, f"flows.{index}.goodput_bps", "b/s"),
            _number(means, f"flows.{index}.completed_s", "s"),
            _number(means, f"flows.{index}.rtt_s_mean", "s"),
            _count(means, f"flows.{index}.segments_retransmitted"),
        ]
        for index, flow in enumerate(document["flows"])
    ]
    yield table(["flow", "transport", "delivered", "goodput", "done at", "mean RTT", "resent"], rows, left=2)


def _is_link(document: dict[str, Any]) -> bool:
    """Whether the last hop is a point-to-point link: what crosses one has a time of delivery."""
    return any(flow["delivery_s_mean"] is not None for flow in document["flows"])


def _overheads(document: dict[str, Any], means: Means) -> "Iterator[Table]":
    """What flows over a point-to-point link spend beyond their data; a cell has a radio's joules instead."""
    from airwatt.cli.tables import percent, table

    if not _is_link(document):
        return
    rows = []
    for index, flow in enumerate(document["flows"]):
        base = f"flows.{index}"
        shares = [f"{base}.data_overhead", f"{base}.time_overhead"]
        shares += [f"{base}.energy_overhead.{radio}" for radio in ("always-active", "intermediate", "ideal")]
        cells = [percent(means[key]["mean"]) if means.get(key, {}).get("mean") is not None else "-" for key in shares]
        rows.append([f"{flow['id']} {flow['direction']}", *cells, _number(means, f"{base}.delivery_s_mean", "s")])
    yield table(["flow", "bytes", "time", "energy, always on", "intermediate", "ideal radio", "delivery"], rows)


def _link(means: Means) -> str:
    from airwatt.cli.tables import count, percent

    packets, damaged, drops = (
        count(round(means[f"cell.{key}"]["mean"] or 0)) for key in ("frames", "damaged", "ap_drops")
    )
    used = percent(means["cell.airtime_utilization"]["mean"] or 0.0)
    return f"link {used} used: {packets} packets, {damaged} damaged, {drops} dropped before it"


def _stations(document: dict[str, Any], means: Means) -> "Iterator[Table]":
    from airwatt.cli.tables import percent, table

    rows, times = [], []
    for index, station in enumerate(document["stations"]):
        base = f"stations.{index}"
        rows.append(
            [
                str(station["id"]),
                station["policy"],
                station["radio"],
                _number(means, f"{base}.energy_j", "J"),
                _number(means, f"{base}.average_power_w", "W"),
                _number(means, f"{base}.energy_per_bit_j", "J/b"),
                _count(means, f"{base}.wakeups"),
            ]
        )
        spent = [means[f"{base}.state_s.{state}"]["mean"] or 0.0 for state in station["state_s"]]
        times.append([str(station["id"]), *(percent(time / (sum(spent) or 1.0)) for time in spent)])
    yield table(["station", "policy", "radio", "energy", "power", "per bit", "wake-ups"], rows, left=3)
    yield table(["station", *(f"{state}" for state in document["stations"][0]["state_s"])], times)


def _headline(document: dict[str, Any], runs: int) -> str:
    from airwatt.cli.tables import count

    name, seed = document["scenario"], document["seed"]
    if runs > 1:
        return f"{name}, {runs} runs from seed {seed}: mean ± 95 % confidence interval"
    simulated, wall, events = document["simulated_s"], document["wall_s"], document["events"]
    if "realtime" in document:
        return f"{name}, seed {seed}: {simulated:.1f} s emulated, {count(events)} events"
    return f"{name}, seed {seed}: {simulated:.1f} s simulated in {wall:.2f} s, {count(events)} events"


def _clock(document: dict[str, Any]) -> Iterator[str]:
    """How well an emulation kept the wall clock."""
    from airwatt.cli.tables import count, percent, quantity

    realtime = document.get("realtime")
    if realtime is None or not realtime["deliveries"]:
        return
    p50, p99, worst = (quantity(realtime[f"lateness_s_{which}"], "s") for which in ("p50", "p99", "max"))
    yield (
        f"{count(realtime['deliveries'])} packets delivered, late by {p50} (median), {p99} (99 %), {worst} at most;"
        f" CPU {percent(realtime['cpu_share'])}"
    )


def _cell(means: Means) -> str:
    from airwatt.cli.tables import count, percent

    cell = {key.removeprefix("cell."): means[key]["mean"] for key in means if key.startswith("cell.")}
    frames, retries, collisions, drops = (
        count(round(cell[key] or 0)) for key in ("frames", "retries", "collisions", "ap_drops")
    )
    used = percent(cell["airtime_utilization"])
    return f"air {used} used: {frames} frames, {retries} retries, {collisions} collisions, {drops} AP drops"
