"""`airwatt run`: simulate one scenario."""

from pathlib import Path
from typing import Annotated

from airwatt import laboratory
from airwatt._core import InputError, result_schema
from airwatt.cli import options
from airwatt.cli.output import check_distinct, check_file, check_picture, print_text, prints_aside, show, streaming
from airwatt.cli.parameters import Option
from airwatt.cli.presentation import holding, keep, present
from airwatt.cli.progress import bar
from airwatt.results import Result, Runs

EPILOG = """\b
Examples:
  airwatt run fast-dsl --policy psm
  airwatt run fast-dsl --set wired.rtt=50ms --runs 10 --json
  airwatt run two-hops --show-config --expand
"""


def _print_schema(asked: bool) -> bool:
    return options.print_schema(asked, result_schema)


def _settings(radio: str | None, set_: list[str] | None) -> list[tuple[str, str]]:
    return [*([] if radio is None else [("station.radio", radio)]), *options.overrides(set_)]


def command(
    scenario: options.Scenario,
    policy: Annotated[str | None, Option("--policy", metavar="NAME", help="Power save of all stations.")] = None,
    transport: Annotated[
        str | None, Option("--transport", metavar="NAME", help="Transport of all flows, also of those over UDP.")
    ] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="NAME", help="Radio of all stations: a name or a TOML file.")
    ] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 1,
    limit: options.RunLimit = None,
    store: options.Store = None,
    json: options.Json = False,
    plot: options.Plot = None,
    trace: Annotated[
        Path | None,
        Option("--trace", metavar="DIR", help="Write Parquet time series of the first run into a folder."),
    ] = None,
    pcap: Annotated[
        Path | None,
        Option("--pcap", metavar="FILE", help="Write the first run's frames on the air (radiotap pcapng)."),
    ] = None,
    perfetto: Annotated[
        Path | None,
        Option("--perfetto", metavar="FILE", help="Write the first run's time line for the Perfetto viewer."),
    ] = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    fail_if: options.FailIf = None,
    show_config: Annotated[
        bool,
        Option("--show-config", help="Print the scenario with all its defaults as TOML; run nothing."),
    ] = False,
    expand: Annotated[
        bool,
        Option("--expand", help="With --show-config: in the general form of nodes, links, cells and flows."),
    ] = False,
    schema: Annotated[
        bool,
        Option("--schema", help="Print the JSON schema of a run's document.", is_eager=True, callback=_print_schema),
    ] = False,
) -> None:
    """Simulate a scenario: throughput and energy of each flow and station."""
    # A line that is read without typer has not called it.
    _print_schema(schema)
    limits = options.thresholds_of_runs(fail_if)
    lasting = options.battery(battery, allow_borrowed)
    check_picture("--plot", plot)
    check_file("--pcap", pcap)
    check_file("--perfetto", perfetto)
    check_distinct({"--plot": plot, "--pcap": pcap, "--perfetto": perfetto}, scenario, radio)
    loaded = laboratory.load(scenario, laboratory.choices(policy, transport), _settings(radio, set_))
    if expand and not show_config:
        raise InputError("--expand: no effect without --show-config")
    if show_config:
        print_text(loaded.to_toml(expand=expand))
        return
    # Frames alone are written while the run goes on; what needs them afterwards keeps them.
    streamed = pcap if trace is None and plot is None and perfetto is None else None
    traced = streamed is None and any(wanted is not None for wanted in (trace, plot, pcap, perfetto))
    with holding(trace):
        try:
            with streaming("--pcap", streamed) as out, options.storing(store), bar(loaded.name) as on_progress:
                result = laboratory.run(
                    loaded,
                    seed=seed,
                    runs=runs,
                    trace=traced,
                    pcapng=out,
                    limit=limit,
                    store=store,
                    on_progress=on_progress,
                )
        except laboratory.Interrupted as stop:
            if isinstance(stop.finished, Runs):
                present(stop.finished, json)
            raise
        first = result.results[0] if isinstance(result, Runs) else result
        assert isinstance(first, Result)
        keep(first, trace, None if streamed else pcap, perfetto, plot)
    if not json:
        from airwatt import radio_notes

        for note in radio_notes.other_band([loaded]):
            show(note)
    present(result, json, lasting)
    if not json:
        from airwatt.cli import coinciding

        for note in (*radio_notes.timeouts(loaded), *radio_notes.given_up(first)):
            show(note)
        with prints_aside():
            coincide = coinciding.note(loaded, seed, first, lasting)
        if coincide is not None:
            show(coincide)
    options.hold(limits, result)
