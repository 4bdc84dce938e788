"""`airwatt emulate`: real hosts and real kernels over the simulated air, in real time."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from airwatt import laboratory
from airwatt._core import InputError, Scenario
from airwatt.cli import options
from airwatt.cli.output import check_distinct, check_file, check_picture, print_text, say
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.presentation import holding, keep, present
from airwatt.cli.process import interruptible
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED, INTERRUPTED
from airwatt.results import Result

EPILOG = """\b
Examples:
  airwatt emulate fast-dsl --transport cubic --set tcp.profile=linux
  airwatt emulate fast-dsl --policy psm -- ping -c 10 server
  airwatt emulate wifi-bottleneck --shell station0
"""


def command(
    scenario: Annotated[
        str | None,
        Argument(help="A scenario file (TOML), or the name of one that ships.", show_default=False),
    ] = None,
    words: Annotated[
        list[str] | None,
        Argument(metavar="[-- COMMAND...]", help="What runs in the host; without it the scenario's own."),
    ] = None,
    host: Annotated[
        str | None,
        Option("--in", metavar="HOST", help="Where COMMAND runs: server, station0, ...; default station0."),
    ] = None,
    user: Annotated[
        str | None,
        Option(
            "--user",
            metavar="NAME",
            help="Who runs the commands of the scenario's hosts; default: who called sudo, or root.",
            show_default=False,
        ),
    ] = None,
    shell: Annotated[str | None, Option("--shell", metavar="HOST", help="Open a shell in a host.")] = None,
    policy: Annotated[str | None, Option("--policy", metavar="NAME", help="Power save of all stations.")] = None,
    transport: Annotated[
        str | None, Option("--transport", metavar="NAME", help="Transport of the scenario's own flows.")
    ] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    lateness: Annotated[
        str,
        Option("--lateness", metavar="TIME", help="More than 1 % of packets later than this: the run is not trusted."),
    ] = "2ms",
    json: options.Json = False,
    plot: options.Plot = None,
    trace: Annotated[
        Path | None, Option("--trace", metavar="DIR", help="Write Parquet time series into a folder.")
    ] = None,
    pcap: Annotated[
        Path | None,
        Option("--pcap", metavar="FILE", help="Write the frames on the air, with their real packets (pcapng)."),
    ] = None,
    perfetto: Annotated[
        Path | None, Option("--perfetto", metavar="FILE", help="Write the time line for the Perfetto viewer.")
    ] = None,
    fail_if: options.FailIf = None,
    clean: Annotated[
        bool, Option("--clean", help="Remove what a killed emulation left: there is never anything.")
    ] = False,
) -> None:
    """Run real kernels over the simulated air, in real time, with the energy bill. Needs root.

    Each station and the server become a network namespace; they know each other by name. COMMAND runs in one of
    them, as root. Without it the commands of the scenario's hosts run, or its flows over kernel sockets.
    """
    if clean:
        # Nothing has a name or a file: when the program dies, however it dies, the kernel ends its hosts.
        print_text("nothing to remove: hosts, devices and processes end with their emulation\n")
        return
    if scenario is None:
        raise InputError("SCENARIO: expected the name of one that ships, or a file, got none")
    limits = options.thresholds_of_runs(fail_if)
    check_picture("--plot", plot)
    check_file("--pcap", pcap)
    check_file("--perfetto", perfetto)
    check_distinct({"--plot": plot, "--pcap": pcap, "--perfetto": perfetto}, scenario)
    if shell is not None and (words or host is not None):
        raise InputError("--shell: expected neither COMMAND nor --in beside it, since it opens a shell")
    if host is not None and not words:
        raise InputError(f"--in {host}: expected a command, as in --in HOST -- COMMAND, got none")
    if shell is not None:
        host, words = shell, [os.environ.get("SHELL", "/bin/sh")]
    loaded = laboratory.load(scenario, laboratory.choices(policy, transport), options.overrides(set_))
    traced = any(wanted is not None for wanted in (trace, plot, pcap, perfetto))
    user = user or os.environ.get("SUDO_USER") or None
    _name_commands(loaded, user or "root")
    with holding(trace):
        with contextlib.ExitStack() as shown:
            # A command's own output would tear the bar apart.
            on_progress = None if words else shown.enter_context(bar(loaded.name))
            shown.enter_context(_ignoring_interrupts() if shell is not None else interruptible())
            result = laboratory.emulate(
                loaded,
                seed=seed,
                command=words or None,
                host=host,
                user=user,
                lateness=lateness,
                trace=traced,
                output_to_error=json,
                on_progress=on_progress,
            )
        keep(result, trace, pcap, perfetto, plot)
    present(result, json)
    if result.interrupted:
        raise Exit(INTERRUPTED)
    options.hold(limits, result)
    _check_trust(result, interactive=shell is not None)


def _name_commands(scenario: Scenario, user: str) -> None:
    """Says which commands of the scenario are about to run, and as whom: a scenario may be somebody else's."""
    import tomllib

    for host in tomllib.loads(scenario.to_toml()).get("host", ()):
        for line in (*host.get("serve", ()), *host.get("run", ())):
            say(f"runs as {user} in {host['name']}: {line}")


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Leaves Ctrl-C to the shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _check_trust(result: Result, *, interactive: bool) -> None:
    """Exits with 1 where the command failed or the clock was not kept; a shell's status says nothing."""
    failed = False
    if result.command is not None and result.command.status != 0 and not interactive:
        say(f"the command ended with status {result.command.status}")
        failed = True
    realtime = result.realtime
    if realtime is not None and not realtime.trusted:
        say(
            f"not to be trusted: {realtime.late} of {realtime.deliveries} packets were delivered more than"
            f" {realtime.bound_s * 1e3:g} ms late; this machine is too slow or too busy for it"
        )
        failed = True
    if failed:
        raise Exit(FAILED)
