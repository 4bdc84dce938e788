"""`airwatt advise`: within a delay budget, the policy and parameters that spend least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt import laboratory
from airwatt._core import NO_DELAY_S, InputError, Scenario
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.progress import bar
from airwatt.cli.status import FAILED
from airwatt.layout import filled

if TYPE_CHECKING:
    from airwatt.advice import Advice, Candidate, Row
    from airwatt.advice.candidate import Figures
    from airwatt.layout import Table

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

_COLUMNS = 80
_LEAST_RESENT = 1
"""Segments more than with a radio that never sleeps that are worth a line."""


def command(
    source: Annotated[
        str | None,
        Argument(metavar="[SCENARIO|CAPTURE]", help="A scenario, or a capture (.pcap, .pcapng, a folder); or --flow."),
    ] = None,
    delay: Annotated[
        str, Option("--delay", metavar="TIME", help="Mean delay that power save may add to packets or answers.")
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
            help="How long flows without an end are simulated; default: 20s, or 20 intervals of things.",
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
            help="linux, esp-idf, nrf, zephyr or hostapd: only what can be set there, ready to paste.",
        ),
    ] = None,
    station: Annotated[str | None, Option("--station", metavar="ADDR", help="The station in a capture.")] = None,
    cross: Annotated[
        str | None, Option("--cross", metavar="RATE", help="Traffic of others on the line down, which delays packets.")
    ] = None,
    loss: Annotated[
        str | None,
        Option("--loss", metavar="SHARE", help="Share of the attempts at a frame on the air that fail: 0.05 or 5%."),
    ] = None,
    jitter: Annotated[
        str | None,
        Option("--jitter", metavar="TIME", help="Mean random delay of a round trip beside --rtt, half of it each way."),
    ] = None,
    keep_alive: Annotated[
        str | None,
        Option("--keep-alive", metavar="TIME", help="Price keep-alives of this mean interval, and of longer ones."),
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
        show(*_parts(found))
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
        scenario = advice.scenario_of(flow, settings, duration)
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


def _parts(found: Advice) -> Iterator[str | Table]:
    from airwatt.advice import platforms
    from airwatt.tables import quantity, table

    confirmed = [row for row in found.rows if row.simulation]
    confirmed.sort(key=lambda row: (row not in found.ranked, _energy_j(row)))
    origin = ", by replay of its packets" if found.from_capture else f", {found.runs} runs from seed {found.seed}"
    waits = "" if found.from_capture else ", or to answers that are waited for"
    asked = (
        f"{found.source}, radio {found.radio}: at most {quantity(found.budget_s, 's')} of added delay to packets with "
        f"data{waits}{origin}"
    )
    yield filled(asked, _COLUMNS)
    if found.assumed:
        yield filled(found.assumed, _COLUMNS)
    yield from _verdict(found)
    heads = ["policy", "energy", "power", "delay +", "95 %", "goodput", "model", ""]
    # A replay has no goodput, and not everything has a model beside it.
    modelled = any(row.model is not None for row in confirmed)
    left_out = {5 for _ in range(found.from_capture)} | {6 for _ in range(not modelled)}
    kept = [index for index in range(len(heads)) if index not in left_out]
    rows = [[cells[index] for index in kept] for cells in (_cells(rows, found) for rows in _grouped(confirmed))]
    yield table([heads[index] for index in kept], rows, left=1)
    yield from _charges(found, confirmed)
    yield from _beside(found)
    yield from _keep_alives(found)
    yield from _how_to_set(found)
    if found.untried:
        yield filled(f"not tried: {found.untried}", _COLUMNS)
    skipped = [row for row in found.rows if not row.simulation]
    if skipped:
        names = ", ".join(_name(row, found) for row in skipped)
        yield filled(f"not simulated, as the models put others first: {names}", _COLUMNS)
    if any(_name(row, found).endswith(_UNSETTABLE) for row in found.rows):
        who = None if found.target else platforms.of_radio(found.radio)
        has = "no platform has a setting" if who is None else f"{who} has no setting"
        yield f"* {has} for all of it: a driver or a firmware would have to do it"


def _grouped(rows: list[Row]) -> list[list[Row]]:
    """Groups candidates that did exactly the same, so that they share a row."""
    groups: list[list[Row]] = []
    for row in rows:
        same = [group for group in groups if group[0].simulation == row.simulation]
        if same:
            same[0].append(row)
        else:
            groups.append([row])
    return groups


def _delay(delay_s: float | None, ci95_s: float | None = None) -> str:
    from airwatt.tables import quantity

    if delay_s is not None and delay_s < NO_DELAY_S:
        return quantity(0.0, "s")
    return quantity(delay_s, "s", ci95_s)


def _has_no_packets(figures: Figures) -> bool:
    return figures.delay_p95_s is None and not figures.goodput_bps


def _delays(figures: Figures) -> list[str]:
    """The mean and the 95th percentile of the added delay; nothing where there was no packet to delay."""
    from airwatt.tables import NOTHING

    if _has_no_packets(figures):
        return [NOTHING, NOTHING]
    return [_delay(figures.delay_s, figures.delay_ci95_s), _delay(figures.delay_p95_s)]


def _cells(rows: list[Row], found: Advice) -> list[str]:
    from airwatt.tables import NOTHING, quantity

    row = rows[0]
    figures = row.simulation
    assert figures is not None
    errors = [NOTHING if error is None else _percent(error) for error in map(found.model_error, rows)]
    verdict = "" if row in found.ranked else "over"
    return [
        "\n".join(_name(each, found) for each in rows),
        quantity(figures.energy_j, "J", figures.energy_ci95_j),
        quantity(figures.power_w, "W"),
        *_delays(figures),
        quantity(figures.goodput_bps, "b/s", figures.goodput_ci95_bps),
        errors[0] if len(set(errors)) == 1 else "\n".join(errors),
        "best" if found.ranked and found.ranked[0] in rows else verdict,
    ]


def _percent(share: float) -> str:
    text = f"{100 * share:+.0f} %"
    return "0 %" if text in ("-0 %", "+0 %") else text


_UNSETTABLE = "*"


def _name(row: Row, found: Advice) -> str:
    return _candidate_name(row.candidate, found)


def _candidate_name(candidate: Candidate, found: Advice) -> str:
    """The policy with its parameters, marked where the chip's platform or, of other radios, none can set it."""
    from airwatt.advice import platforms

    own = None if found.target else platforms.of_radio(found.radio)
    can_be_set = platforms.can_be_set(candidate) if own is None else platforms.can_set(own, candidate)
    return candidate.name + ("" if can_be_set else _UNSETTABLE)


_IN_OTHER_MODES = 4
"""Candidates for which the modes of the host are listed."""


def _charges(found: Advice, confirmed: list[Row]) -> Iterator[str | Table]:
    """What each candidate spends most on; current and charge a day, and how long the battery lasts."""
    from airwatt.cli import charge
    from airwatt.tables import table

    groups = [
        ("\n".join(_name(row, found) for row in rows), figures)
        for rows in _grouped(confirmed)
        if (figures := rows[0].simulation) is not None
    ]
    if charge.has_any([found.voltage_v], found.battery):
        rows = [
            [name, *charge.cells(figures.power_w, found.voltage_v, found.battery, figures.profile)]
            for name, figures in groups
        ]
        yield table(["policy", *charge.heads(found.battery, groups[0][1].profile)], rows)
        best = [(name, figures.profile) for name, figures in groups[:_IN_OTHER_MODES]]
        has_bands = any(figures.energy_low_j is not None for _, figures in groups)
        yield from charge.host_modes("policy", best, found.voltage_v, found.battery, energies_have_bands=has_bands)
    yield charge.causes_table([(name, figures.causes or {}) for name, figures in groups])


def _beside(found: Advice) -> Iterator[str | Table]:
    """What TCP and bursts change beside the best candidate."""
    from airwatt.tables import quantity, table

    if not found.beside:
        return
    rows = [
        [
            one.setting.name,
            quantity(one.figures.energy_j, "J", one.figures.energy_ci95_j),
            _percent(one.change),
            _delay(one.figures.delay_s),
            "over" if one.figures.delay_s > found.budget_s else "set it too" if one.is_advised else "",
        ]
        for one in found.beside
    ]
    yield f"beside {_name(found.ranked[0], found)}, what TCP and bursts change:"
    yield table(["setting", "energy", "change", "delay +", ""], rows, left=1)


def _keep_alives(found: Advice) -> Iterator[str | Table]:
    from airwatt.cli import charge
    from airwatt.tables import quantity, table

    if not found.keep_alives:
        return
    battery = found.battery
    volts = found.voltage_v if battery is None else battery.voltage(found.voltage_v)

    def amount(energy_j: float) -> str:
        return charge.charge(energy_j, volts) if volts else quantity(energy_j, "J")

    first = found.keep_alives[0]
    longer = [interval_s for interval_s in first.day_j if interval_s != first.interval_s]
    rows = [
        [
            _candidate_name(one.candidate, found),
            quantity(one.one_j, "J"),
            amount(one.day_j[one.interval_s]),
            *(amount(one.saved_j[interval_s]) for interval_s in longer),
            *([battery.lasts(one.power_w, one.voltage_v, one.profile)] if battery else []),
        ]
        for one in found.keep_alives
    ]
    path = "" if first.rtt_s is None else f" over a round trip of {quantity(first.rtt_s, 's')}"
    yield (
        f"keep-alives of MQTT over TLS that the station sends each {quantity(first.interval_s, 's')}{path}, without "
        'other traffic, as application = { kind = "mqtt" } of a scenario:'
    )
    heads = [
        "policy",
        "one costs",
        "a day",
        *(f"each {quantity(interval_s, 's')} saves a day" for interval_s in longer),
        *([f"{battery.text.partition(',')[0]} lasts"] if battery else []),
    ]
    yield table(heads, rows)
    # MQTT asks for a packet of any kind within the keep-alive (5.0 3.1.2.10).
    if found.deep_sleep is not None and found.deep_sleep.interval_s <= first.interval_s:
        yield (
            f"the reports each {quantity(found.deep_sleep.interval_s, 's')} are packets of the device within each "
            "keep-alive: a client that counts them, as MQTT permits, sends no keep-alives beside them"
        )


def _how_to_set(found: Advice) -> Iterator[str]:
    """How the best candidate, and what is advised beside it, is set on each platform, or on the target."""
    from airwatt.advice import platforms

    if not found.ranked:
        return
    beside = [(one.setting.name, one.setting.how) for one in found.beside if one.is_advised]
    best = found.ranked[0].candidate
    if best.listen_interval is not None:
        yield (
            f"of frames to everyone (ARP, mDNS) it misses those after the beacons that it skips: with {best.name} a "
            "peer that asks for its address may get no answer"
        )
    wanted = [(_name(found.ranked[0], found), platforms.how(best)), *beside]
    hints = list(
        platforms.hints(found.radio, found.target, best, found.network_stack, lambda watts: _adds(found, watts))
    )
    target = platforms.words_of(found.target, found.radio)
    if target is not None:
        for name, how in wanted:
            lines = [f"    {line}" for line in platforms.to_paste(target, how)]
            yield "\n".join([f"to set {name} on {target}:", *lines])
        mode = _host_mode(found)
        if target == "esp-idf" and mode:
            yield "\n".join(f"    {line}" for line in [f"// {mode[0]}", *platforms.host_to_paste(mode[1:])])
        yield from hints
        return
    text = [line for name, how in wanted for line in (f"to set {name}:", *platforms.described(how, found.radio))]
    # The call that sets power save stands above.
    mode = [line for line in _host_mode(found) if not line.startswith("esp_wifi_set_ps(")]
    yield "\n".join(filled(line, _COLUMNS, 4) for line in [*text, *mode])
    yield from hints


def _adds(found: Advice, more_w: float) -> str:
    """Writes what a mean power adds to the best candidate: a current, and the days that are left then."""
    best, battery = found.ranked[0].simulation, found.battery
    text = _more(found, more_w)
    if battery is None or best is None:
        return text
    capacity = battery.text.partition(",")[0]
    lasts = battery.lasts(best.power_w + more_w, found.voltage_v, best.profile)
    return f"{text}: {capacity} lasts {lasts}"


def _more(found: Advice, more_w: float) -> str:
    from airwatt.tables import quantity

    volts = found.voltage_v if found.battery is None else found.battery.voltage(found.voltage_v)
    return f"{quantity(more_w / volts, 'A') if volts else quantity(more_w, 'W')} more"


def _host_mode(found: Advice) -> list[str]:
    """What sets the mode of the host that the figures assume."""
    try:
        radio = laboratory.radio(found.radio)
    except InputError:
        # Several radios, or one of a file that a capture's analysis names by its content.
        return []
    for mode in radio.modes:
        if mode.id == radio.mode:
            return [f"and for the host, {mode.name}, which the figures assume:", *mode.set]
    return []


def _verdict(found: Advice) -> Iterator[str]:
    from airwatt.tables import quantity

    ranked = found.ranked
    if not ranked:
        yield "nothing is within the budget"
        return
    best = ranked[0]
    lines = [f"take       {_name(best, found)}: {_costs(found, best)}{_less(found)}"]
    if found.alike:
        lines.append(f"the same   {', '.join(_name(row, found) for row in found.alike)}")
    lines += _ending_early(found)
    lines += _reached(found)
    if found.runner_up is not None:
        chance = "; the difference is within chance" if found.within_chance else ""
        lines.append(f"runner-up  {_name(found.runner_up, found)}: {_costs(found, found.runner_up)}{chance}")
    if found.bound is not None:
        lines.append(f"ideal      {quantity(found.bound.energy_j, 'J')}: {_ideal(found)}")
    if found.battery is not None and best.simulation is not None:
        lines.append(f"battery    {_lasts(found)}")
    lines += _resent(found)
    lines += _deep_sleep(found)
    lines += _more_delay(found)
    if found.tunnel is not None:
        count = found.tunnel["burst_packets"]
        lines.append(
            f"tunnel     by the model alone, 5 to 25 % off: bursts of {count:.0f} packet{'' if count == 1 else 's'}, "
            f"{quantity(found.tunnel['ideal_w'], 'W')} ({100 * found.tunnel['saving_floored']:.0f} % less than awake)"
        )
    lines += _disagreement(found)
    yield "\n".join(filled(line, _COLUMNS, 11) for line in lines)


def _resent(found: Advice) -> list[str]:
    """Says that a listen interval has senders send again what waits for a beacon longer than their time-out."""
    best = found.ranked[0]
    awake = next((row.simulation for row in found.rows if row.candidate.policy == "active" and row.simulation), None)
    resent = None if best.simulation is None else best.simulation.resent
    usual = None if awake is None else awake.resent
    if best.candidate.listen_interval is None or resent is None or usual is None or resent < usual + _LEAST_RESENT:
        return []
    return [
        f"resent     {resent:.0f} TCP segments a run, {usual:.0f} with active: what waits for the listen interval "
        "longer than the sender's time-out is sent again, and is in the energy"
    ]


def _reached(found: Advice) -> Iterator[str]:
    """What Linux or the chip's kit does as it comes, and what would spend less if there were a setting for it."""
    from airwatt.advice import platforms

    best, default = found.ranked[0], found.default
    platform = platforms.of_radio(found.radio)
    if default is not None:
        over = "" if default in found.ranked else "; over the budget"
        who = platforms.usual_of(found.target, found.radio)
        is_best = f" is what {'Linux' if who == platforms.LINUX else who} does as it comes"
        yield f"default    {_name(default, found)}{is_best if default is best else f': {_costs(found, default)}{over}'}"
    if found.target is None and best.is_out_of_reach:
        yield f"can be set {'anywhere' if platform is None else f'on {platform}'}: nothing within the budget"
    elif found.target is None:
        who = "no platform has a setting for all of it" if platform is None else f"{platform} has no setting for it"
        others = (row for row in found.ranked if row.is_out_of_reach and not row.candidate.ends_early)
        for row in [row for row in others if _energy_j(row) < _energy_j(best)][:1]:
            yield f"out of reach {_name(row, found)}: {_costs(found, row)}; {who}"


def _ending_early(found: Advice) -> list[str]:
    """What target wake time would spend if its service periods ended early, which nothing sets and nobody promises."""
    row = found.ending_early
    if row is None or row.simulation is None:
        return []
    lasts, beacon_w = "", found.early_beacon_w
    if found.battery is not None:
        powers = [row.simulation.power_w, *([] if beacon_w is None else [row.simulation.power_w + beacon_w])]
        days = [found.battery.lasts(power_w, found.voltage_v, row.simulation.profile) for power_w in powers]
        lasts = f", {found.battery.text.partition(',')[0]} lasts {days[0]}"
        lasts += "" if beacon_w is None else f", or {days[-1]} with a beacon in each period"
    receives = (
        "" if beacon_w is None else f" (a beacon in each, as ESP-IDF issue 13884 has it, is {_more(found, beacon_w)})"
    )
    return [
        f"if early   {_name(row, found)}: {_costs(found, row)}{lasts}: if the access point ends each service period "
        f"with its first answer and the firmware sleeps then{receives}; whether it does is not published, and the band "
        "has it not, so that the advice is that of a station which is awake to the end of each"
    ]


def _energy_j(row: Row) -> float:
    return row.simulation.energy_j if row.simulation is not None else 0.0


def _less(found: Advice) -> str:
    """Says by how much the best is below a radio that never sleeps."""
    awake = next((row.simulation for row in found.rows if row.candidate.policy == "active" and row.simulation), None)
    best = found.ranked[0].simulation
    if awake is None or best is None or best.energy_j >= awake.energy_j:
        return ""
    return f"; {_below_all(best.energy_j / awake.energy_j)} less energy than active"


def _below_all(left: float) -> str:
    """The share that is saved where `left` stays, with so many digits that it is not all."""
    decimals = next((digits for digits in range(4) if round(100 * (1 - left), digits) < 100), 4)
    return f"{100 * (1 - left):.{decimals}f} %"


def _ideal(found: Advice) -> str:
    text = "asleep in every gap, with the timing of active"
    best = found.ranked[0].simulation
    # Whoever waits wakes less often.
    beaten = best is not None and found.bound is not None and best.energy_j < found.bound.energy_j
    return text + ("; what waits for more is cheaper, as waking costs" if beaten else "")


def _lasts(found: Advice) -> str:
    from airwatt.battery import lasting

    assert found.battery is not None
    times = ", ".join(f"{name} {lasting(seconds)}" for name, seconds in found.battery_lasts_s.items())
    profile = found.ranked[0].simulation.profile if found.ranked[0].simulation else None
    best = found.ranked[0].simulation
    if not times and best is not None:
        times = f"as advised {found.battery.lasts(best.power_w, found.voltage_v, profile)}"
    mode = f", with the host in {profile['mode']} while the radio dozes" if profile and profile["mode"] else ""
    return f"{found.battery.text} lasts: {times}{mode}{_other_modes(found, profile)}"


def _deep_sleep(found: Advice) -> Iterator[str]:
    """Says when giving up the association between reports would spend less, and what it would take."""
    from airwatt.battery import lasting
    from airwatt.tables import quantity

    other = found.deep_sleep
    if found.reconnection:
        yield f"deep sleep is not priced, so that --reconnect has no effect: {found.reconnection}"
    if other is None:
        return
    every = f"for each report, once in {quantity(other.interval_s, 's')}"
    text = f"with an association {every}, it would not spend less"
    if other.break_even_s:
        most = quantity(other.break_even_s, "s")
        text = f"between reports would spend less if connecting took below {most} awake {every}"
    if other.power_w is not None:
        volts = found.voltage_v
        taken = quantity(other.power_w / volts, "A") if volts else quantity(other.power_w, "W")
        days = "" if found.battery is None else f", {lasting(found.battery.lasts_s(other.power_w, volts))}"
        text += f"; with {quantity(other.reconnection_s, 's')} it takes {taken}{days}"
    yield f"deep sleep {text}; in between nothing reaches the device"


def _other_modes(found: Advice, profile: Mapping[str, Any] | None) -> str:
    """Says how long the battery lasts with the same policy if the host does something else."""
    from airwatt.battery import lasting

    assert found.battery is not None
    others = [
        f"in {mode['name']} {lasting(found.battery.lasts_s(mode['average_power_w'], found.voltage_v))}"
        for mode in (profile or {}).get("modes", [])
        if profile and mode["name"] != profile["mode"]
    ]
    return f"; {', '.join(others)}" if others else ""


def _costs(found: Advice, row: Row) -> str:
    """Says what to expect of a candidate, with the error of each figure and of the model."""
    figures = row.simulation
    assert figures is not None
    parts = [_with_error(figures.energy_j, "J", figures.energy_ci95_j)]
    if figures.energy_low_j is not None:
        low, high = figures.energy_low_j, figures.energy_high_j
        parts[0] += f" ({_with_error(low, 'J', None)} to {_with_error(high, 'J', None)})"
    parts.append(_with_error(figures.power_w, "W", None))
    if _has_no_packets(figures):
        parts.append("no packet to delay")
    else:
        delay = f"{_with_error(max(0.0, figures.delay_s), 's', figures.delay_ci95_s)} of delay"
        if figures.delay_p95_s is not None:
            delay += f" (95 %: {_with_error(max(0.0, figures.delay_p95_s), 's', None)})"
        parts.append(delay)
    if figures.goodput_bps is not None:
        parts.append(_with_error(figures.goodput_bps, "b/s", figures.goodput_ci95_bps))
    error = found.model_error(row)
    if error is not None:
        parts.append(f"model {_percent(error)}")
    return ", ".join(parts)


def _with_error(value: float | None, unit: str, ci95: float | None) -> str:
    """Writes `1.35 ± 0.07 J` on one line, in one unit."""
    from airwatt.tables import quantity

    text = quantity(value, unit, ci95 or None)
    number, *error = text.split("\n")
    if not error:
        return number
    digits, _, rest = number.partition(" ")
    return f"{digits} {error[0]} {rest}"


def _more_delay(found: Advice) -> list[str]:
    """Yields the steps of the curve beyond the budget."""
    from airwatt.tables import quantity

    best = found.ranked[0].simulation
    assert best is not None
    lines = []
    for delay, row in found.curve:
        figures = row.simulation
        if figures is not None and row not in found.ranked and delay > found.budget_s:
            saved_j = best.energy_j - figures.energy_j
            share = 100 * saved_j / best.energy_j
            saved = f"{quantity(saved_j, 'J')} less ({share:.0f} %)"
            lines.append(f"more delay {quantity(delay, 's')} would buy {_name(row, found)}: {saved}")
    return lines or ["more delay buys nothing among what was simulated"]


def _disagreement(found: Advice) -> list[str]:
    from airwatt.tables import quantity

    lines = [f"failed     {_name(row, found)}: {row.failure}" for row in found.rows if row.failure]
    other = "replay" if found.from_capture else "simulation"
    if found.disagreements:
        names = ", ".join(
            f"{_name(row, found)} {_percent(found.model_error(row) or 0.0)}" for row in found.disagreements
        )
        lines.append(f"disagree   model against {other}, energy: {names}")
    if found.late:
        names = "; ".join(
            f"{_name(row, found)} {quantity(row.model.delay_s, 's')}, {quantity(max(0.0, row.simulation.delay_s), 's')}"
            for row in found.late
            if row.model and row.simulation
        )
        lines.append(f"disagree   model and {other}, delay: {names}")
    choice, best = found.models_choice, found.ranked[0]
    if choice is None or choice in [best, *found.alike] or best.simulation is None:
        return lines
    if choice.simulation is None:
        lines.append(f"models     alone would have taken {_name(choice, found)}")
    elif choice not in found.ranked:
        lines.append(f"models     alone would have taken {_name(choice, found)}, which is over the budget")
    else:
        more = choice.simulation.energy_j / best.simulation.energy_j - 1
        lines.append(f"models     alone would have taken {_name(choice, found)}: {100 * more:.1f} % more energy")
    return lines
