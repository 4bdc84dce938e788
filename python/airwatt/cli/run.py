"""`airwatt run`: simulate one scenario."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from airwatt import aggregates, laboratory
from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import check_file, check_picture, console, note_file, print_json, writing
from airwatt.cli.progress import bar
from airwatt.results import Result, Runs

EPILOG = """\b
Examples:
  airwatt run fast-dsl --policy psm
  airwatt run fast-dsl --set wired.rtt=50ms --runs 10 --json
"""


def command(
    scenario: options.Scenario,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Power save of all stations.")] = None,
    transport: Annotated[
        str | None, typer.Option("--transport", metavar="NAME", help="Transport of all flows.")
    ] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 1,
    json: options.Json = False,
    plot: options.Plot = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="DIR", help="Write Parquet time series of the first run into a folder."),
    ] = None,
    pcap: Annotated[
        Path | None,
        typer.Option("--pcap", metavar="FILE", help="Write the first run's frames on the air (radiotap pcapng)."),
    ] = None,
    fail_if: options.FailIf = None,
    show_config: Annotated[
        bool,
        typer.Option("--show-config", help="Print the scenario with all its defaults as TOML; run nothing."),
    ] = False,
) -> None:
    """Simulate a scenario: throughput and energy of each flow and station."""
    limits = options.thresholds(fail_if)
    check_picture("--plot", plot)
    check_file("--pcap", pcap)
    _check_folder(trace)
    loaded = laboratory.load(scenario, laboratory.choices(policy, transport), options.overrides(set_))
    if show_config:
        sys.stdout.write(loaded.to_toml())
        return
    traced = trace is not None or plot is not None
    try:
        with bar(loaded.name) as on_progress:
            result = laboratory.run(
                loaded, seed=seed, runs=runs, trace=traced, frames=pcap is not None, on_progress=on_progress
            )
    except laboratory.Interrupted as stop:
        if isinstance(stop.finished, Runs):
            _present(stop.finished, json)
        raise
    first = result.results[0] if isinstance(result, Runs) else result
    assert isinstance(first, Result)
    _keep(first, trace, pcap, plot)
    _present(result, json)
    options.hold(limits, result.to_dict())


def _check_folder(trace: Path | None) -> None:
    if trace is not None and trace.exists() and not trace.is_dir():
        raise InputError(f"--trace {trace}: is a file; allowed is a folder, new or old")
    if trace is not None:
        with writing("--trace", trace):
            trace.mkdir(parents=True, exist_ok=True)


def _keep(result: Result, trace: Path | None, pcap: Path | None, plot: Path | None) -> None:
    if trace is not None:
        import pyarrow.parquet as pq

        for name, table in result.traces().items():
            path = trace / f"{name}.parquet"
            with writing("--trace", path):
                pq.write_table(table, path, compression="zstd")
            note_file(path)
    if pcap is not None:
        with writing("--pcap", pcap):
            result.write_pcapng(str(pcap))
        note_file(pcap)
    if plot is not None:
        from airwatt.plots import timeline

        with writing("--plot", plot):
            timeline.draw(result.to_dict(), result.traces(), plot)
        note_file(plot)


def _present(result: Result | Runs, json: bool) -> None:
    if json:
        print_json(result.to_dict())
        return
    from airwatt.cli.tables import count, percent, quantity, table

    document = result.to_dict()
    documents = document.get("runs", [document])
    first = documents[0]
    summary = document.get("summary", {})

    def mean(key: str, value: float | None) -> tuple[float | None, float | None]:
        estimate = summary.get(key)
        return (estimate["mean"], estimate["ci95"]) if estimate else (value, None)

    def number(unit: str, base: str, item: dict[str, float | None], key: str) -> str:
        value, ci95 = mean(f"{base}.{key}", item.get(key))
        return quantity(value, unit, ci95)

    screen = console()
    screen.print(_headline(first, len(documents)))
    rows = []
    for index, flow in enumerate(first["flows"]):
        base = f"flows.{index}"
        rows.append(
            [
                f"{flow['id']} {flow['direction']}",
                flow["transport"],
                number("B", base, flow, "bytes_delivered"),
                number("b/s", base, flow, "goodput_bps"),
                number("s", base, flow, "completed_s"),
                number("s", base, flow, "rtt_s_mean"),
                count(*mean(f"{base}.segments_retransmitted", flow["segments_retransmitted"])),
            ]
        )
    heads = ["flow", "transport", "delivered", "goodput", "done at", "mean RTT", "resent"]
    screen.print()
    screen.print(table(heads, rows, left=2))
    rows, times = [], []
    for index, station in enumerate(first["stations"]):
        base = f"stations.{index}"
        wakes = [aggregates.count(item["stations"][index]["wakeups"]) for item in documents]
        rows.append(
            [
                str(station["id"]),
                station["policy"],
                station["radio"],
                number("J", base, station, "energy_j"),
                number("W", base, station, "average_power_w"),
                number("J/b", base, station, "energy_per_bit_j"),
                count(sum(wakes) / len(wakes)),
            ]
        )
        elapsed = sum(station["state_s"].values()) or 1.0
        times.append(
            [
                str(station["id"]),
                *(percent(station["state_s"][state] / elapsed) for state in station["state_s"]),
            ]
        )
    heads = ["station", "policy", "radio", "energy", "power", "per bit", "wake-ups"]
    screen.print()
    screen.print(table(heads, rows, left=3))
    screen.print()
    screen.print(table(["time in", *first["stations"][0]["state_s"]], times))
    screen.print()
    screen.print(_cell(first))


def _headline(document: dict[str, Any], runs: int) -> str:
    from airwatt.cli.tables import count

    name, seed = document["scenario"], document["seed"]
    if runs > 1:
        return f"{name}, {runs} runs from seed {seed}: mean ± 95 % confidence interval"
    simulated, wall, events = (float(document.get(key) or 0.0) for key in ("simulated_s", "wall_s", "events"))
    return f"{name}, seed {seed}: {simulated:.1f} s simulated in {wall:.2f} s, {count(events)} events"


def _cell(document: dict[str, dict[str, float]]) -> str:
    from airwatt.cli.tables import count, percent

    cell = document["cell"]
    return (
        f"air {percent(cell['airtime_utilization'])} used, {count(cell['frames'])} frames, {count(cell['retries'])} "
        f"retries, {count(cell['collisions'])} collisions, {count(cell['ap_drops'])} dropped by the AP"
    )
