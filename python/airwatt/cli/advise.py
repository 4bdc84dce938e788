"""`airwatt advise`: within a delay budget, the policy and parameters that spend least."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from airwatt import laboratory
from airwatt._core import InputError, Scenario
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED

if TYPE_CHECKING:
    from airwatt.advice import Advice

EPILOG = """\b
A flow: down or up, then one of
  bulk:SIZE                  a transfer over TCP       down:bulk:5MB
  cbr:RATE[:PACKET]          datagrams, as in a call   up:cbr:64kbps:160B
  interactive:GAP[:PACKET]   packets at random times   down:interactive:500ms
  streaming:RATE             media in blocks           down:streaming:1Mbps
  web:GAP                    pages, time between them  down:web:7s
  request-response:GAP       small questions           down:request-response:1s
  periodic:INTERVAL[:PACKET] a thing's reports         up:periodic:30s:60B
  mqtt:KEEP_ALIVE            keep-alives over TCP      up:mqtt:60s
  mqtt:INTERVAL:REPORT       reports at QoS 1          up:mqtt:30s:60B
  coap, lwm2m, matter        keep-alives over UDP      up:coap:2min
The direction is that of the data. Of web and request-response these are the
answers: with down the station asks, with up it answers. Of keep-alives they are
what the one who begins sends: with up the station begins. In a scenario the key
flow.application.begins of request-response and periodic says who begins.
A report of MQTT is acknowledged by its server; with more than 60 s from one to
the next there are keep-alives between (flow.application.keep_alive).

\b
Examples:
  airwatt advise --delay 20ms --flow down:bulk:5MB
  airwatt advise --delay 15ms --flow up:cbr:64kbps:160B --flow down:cbr:64kbps:160B
  airwatt advise --delay 100ms --flow down:request-response:1s --rtt 80ms --jitter 20ms --runs 5
  airwatt advise slow-dsl --delay 50ms --set flow.application.size=2MB --radio ar5004
  airwatt advise captures/tcp-download.pcapng --delay 30ms
  airwatt advise --delay 1s --flow down:interactive:30s --battery 1000mAh@3.7V
  airwatt advise idle --delay 1s --keep-alive 30s --battery 1000mAh
  airwatt advise idle --delay 1s --radio esp32-c3 --target esp-idf
"""


def command(
    source: Annotated[
        str | None,
        Argument(metavar="[SCENARIO|CAPTURE]", help="A scenario, or a capture (.pcap, .pcapng, a folder); or --flow."),
    ] = None,
    delay: Annotated[
        str, Option("--delay", metavar="TIME", help="Delay that power save may add to the 95th percentile.")
    ] = "20ms",
    flow: Annotated[
        list[str] | None, Option("--flow", metavar="FLOW", help="A flow, see below; may be repeated.")
    ] = None,
    radio: Annotated[str | None, Option("--radio", metavar="NAME", help="The radio: a name or a TOML file.")] = None,
    rtt: Annotated[str | None, Option("--rtt", metavar="TIME", help="Round trip of the wired path.")] = None,
    down: Annotated[str | None, Option("--down", metavar="RATE", help="Rate of the line down.")] = None,
    up: Annotated[str | None, Option("--up", metavar="RATE", help="Rate of the line up.")] = None,
    duration: Annotated[
        str | None,
        Option(
            "--duration",
            metavar="TIME",
            help="How long flows without an end are simulated; default: 20s, or 101 intervals of things.",
        ),
    ] = None,
    confirm: Annotated[
        int, Option("--confirm", metavar="N", min=1, help="How many of the models' best are simulated.")
    ] = 4,
    target: Annotated[
        str | None,
        Option(
            "--target",
            metavar="NAME",
            help="linux, esp-idf, nrf, zephyr, wiseconnect, pico-sdk, whd or hostapd: only what can be set there.",
        ),
    ] = None,
    station: Annotated[str | None, Option("--station", metavar="ADDR", help="The station in a capture.")] = None,
    cross: Annotated[
        str | None, Option("--cross", metavar="RATE", help="Traffic of others on the line down, which delays packets.")
    ] = None,
    loss: Annotated[
        str | None,
        Option(
            "--loss",
            metavar="SHARE",
            help="Share of the attempts at a frame on the air that fail: 0.05 or 5%. Beacons arrive.",
        ),
    ] = None,
    jitter: Annotated[
        str | None,
        Option("--jitter", metavar="TIME", help="Mean random delay of a round trip beside --rtt, half of it each way."),
    ] = None,
    keep_alive: Annotated[
        str | None,
        Option("--keep-alive", metavar="TIME", help="Count keep-alives of this mean interval, and price longer ones."),
    ] = None,
    reconnect: Annotated[
        str | None,
        Option(
            "--reconnect",
            metavar="TIME",
            help="Price deep sleep in which the device is awake for this time to connect again and report.",
        ),
    ] = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 3,
    limit: options.Limit = None,
    store: options.Store = None,
    user: options.User = None,
    details: Annotated[
        bool, Option("--details", help="Below the answer: alternatives, all candidates, assumptions, other modes.")
    ] = False,
    json: options.Json = False,
    plot: options.Plot = None,
    fail_if: options.FailIf = None,
) -> None:
    """Find the power save that spends least within a delay budget.

    Models come first and say what is worth a simulation; the simulation decides. Exits with 1 if nothing is within
    the budget.
    """
    from airwatt import advice
    from airwatt.advice import platforms
    from airwatt.cli import advice_answer

    limits = options.thresholds(fail_if)
    check_picture("--plot", plot)
    if target is not None and target not in platforms.TARGETS:
        raise InputError(f"--target {target}: expected {', '.join(platforms.TARGETS)}, got another name")
    budget = advice.quantity("--delay", delay, "time")
    lasting = options.battery(battery, allow_borrowed)
    reconnection_s = None if reconnect is None else advice.quantity("--reconnect", reconnect, "time")
    keep_alive_s = None if keep_alive is None else advice.interval_of(keep_alive)
    settings = _settings(
        radio,
        {
            "wired.rtt": rtt,
            "wired.down.rate": down,
            "wired.up.rate": up,
            "wired.down.cross.rate": cross,
            "wifi.frame_error_rate": _share("--loss", loss),
            **_jitter(jitter),
        },
        set_,
    )
    _check_source(source, flow)
    if source is not None and advice.is_capture(source):
        _only_for_scenarios(
            {
                "--rtt": rtt,
                "--down": down,
                "--up": up,
                "--cross": cross,
                "--loss": loss,
                "--jitter": jitter,
                "--keep-alive": keep_alive,
                "--reconnect": reconnect,
                "--store": store,
            }
        )
        reader = options.parser_of_captures(user)
        with bar(source) as on_progress:
            found = advice.advise_capture(
                source,
                budget,
                station=station,
                radio=radio,
                settings=options.overrides(set_),
                seed=seed,
                confirm=confirm,
                limit=limit,
                user=reader,
                target=target,
                on_progress=on_progress,
            )
    else:
        for option, value in {"--station": station, "--user": user}.items():
            if value is not None:
                raise InputError(f"{option} {value}: expected a capture beside it, got none")
        with options.storing(store):
            found = _simulated(
                source,
                flow or [],
                settings,
                duration,
                limit,
                (keep_alive_s, reconnection_s),
                store,
                (budget, runs, seed, confirm),
                target,
            )
    found.battery = lasting
    document = found.to_dict()
    if plot is not None:
        from airwatt.advice import picture

        with writing("--plot", plot):
            picture.draw(found, plot)
        note_file(plot)
    if json:
        print_json(document)
    else:
        show(*advice_answer.parts(found, details=details))
    options.hold(limits, document)
    if not found.ranked:
        raise Exit(FAILED)


def _simulated(
    source: str | None,
    flow: list[str],
    settings: dict[str, str],
    duration: str | None,
    limit: str | None,
    priced: tuple[float | None, float | None],
    store: Path | None,
    how: tuple[float, int, int, int],
    target: str | None,
) -> Advice:
    """Gives the advice for a scenario, or for one that the flows make."""
    from airwatt import advice

    budget, runs, seed, confirm = how
    keep_alive_s, reconnection_s = priced
    scenario: laboratory.ScenarioLike | None = source
    given = list(settings)
    if scenario is None:
        # Its settings are in it.
        scenario = advice.scenario_of(flow, settings, duration, target)
        settings = {}
    with bar(source or "advise") as on_progress:
        found = advice.advise(
            scenario,
            budget,
            runs=runs,
            seed=seed,
            confirm=confirm,
            set=settings or None,
            given=given,
            limit=limit,
            keep_alive_s=keep_alive_s,
            reconnection_s=reconnection_s,
            store=store,
            target=target,
            on_progress=on_progress,
        )
    if isinstance(scenario, Scenario):
        found.assumed = advice.assumed(scenario)
    return found


def _jitter(text: str | None) -> dict[str, str | None]:
    """Half of the mean random delay in each direction."""
    from airwatt import advice

    half = None if text is None else f"{advice.quantity('--jitter', text, 'time') / 2:.9f}s"
    return {"wired.down.jitter": half, "wired.up.jitter": half}


def _share(option: str, text: str | None) -> str | None:
    """Reads `5%` or `0.05`."""
    if text is None:
        return None
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InputError(f"{option} {text}: expected a share from 0 to below 1, or below 100%, got {text}")
    return repr(share)


def _settings(radio: str | None, path: dict[str, str | None], set_: list[str] | None) -> dict[str, str]:
    if radio is not None and "/" not in radio and not radio.lower().endswith(".toml"):
        try:
            laboratory.radio(radio)
        except InputError as error:
            raise InputError(f"--radio: {error}") from None
    keys = {**path, "station.radio": radio}
    return {key: value for key, value in keys.items() if value is not None} | dict(options.overrides(set_))


def _check_source(source: str | None, flow: list[str] | None) -> None:
    if source is None and not flow:
        raise InputError("advise: expected a scenario, a capture, or --flow as in down:bulk:5MB, got none")
    if source is not None and flow:
        raise InputError(f"--flow {flow[0]}: expected no scenario or capture beside it, got {source}")


def _only_for_scenarios(given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise InputError(
                f"{option}: expected a scenario or --flow beside it, got a capture, whose packets are as they were"
            )
