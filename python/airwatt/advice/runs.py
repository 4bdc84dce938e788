"""What runs say of the candidates that the models put first, and those that no model describes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from airwatt import _core, aggregates, bands, laboratory
from airwatt._core import CONFIRM, InputError, Quantity, Scenario
from airwatt._documents import FlowResult
from airwatt.advice import deep_sleep, finer, network_stack, platforms
from airwatt.advice.answer import Advice, Row, rows_of
from airwatt.advice.candidate import Candidate, Figures
from airwatt.advice.chip import Chip
from airwatt.advice.combined_settings import SETTINGS, CombinedSetting
from airwatt.parallel import Progress
from airwatt.results import FinishedRun, Result
from airwatt.statistics import mean_ci95
from airwatt.tasks import Done, StorePath, Task, run_tasks
from airwatt.things import INTERVALS
from airwatt.things import interval_s as interval_of

_ZERO = Quantity("0s")


@dataclass(frozen=True)
class _Run:
    energy_j: float
    power_w: float
    goodput_bps: float
    delays_s: list[float | None]
    """Of each flow: the mean time of an answer, or of a packet, without the first, with which the connection opens."""
    p95s_s: list[float | None]
    """Of each flow the 95th percentile of these times."""
    p99s_s: list[float | None]
    causes_j: Sequence[Mapping[str, Any]]
    """Energy by cause of each station."""
    profile: Mapping[str, Any] | None = None
    """What the profile of the first station's radio says of its energy."""
    resent: int = 0
    """TCP segments that senders sent again."""
    waited_for: int | None = None
    """Packets or answers of the flow that has the fewest, without the first."""


def _time(flow: FlowResult, of: str) -> float | None:
    """A mean or percentile of a flow's times, of which there may be one alone."""
    steady: float | None = getattr(flow, f"steady_s_{of}")
    if steady is not None:
        return steady
    time: float | None = getattr(flow, f"latency_s_{of}" if flow.responses is None else f"response_s_{of}")
    return time


def _kept(run: FinishedRun) -> _Run:
    result = Result.of(run)
    energy = aggregates.energy_j(result)
    delays, p95s, p99s = ([_time(flow, of) for flow in result.flows] for of in ("mean", "p95", "p99"))
    causes_j = [station.energy_by_cause_j for station in result.stations]
    profile = result.to_dict()["stations"][0].get("profile")
    power = energy / result.simulated_s
    resent = sum(flow.segments_retransmitted or 0 for flow in result.flows)
    counts = [_waited_for(flow) for flow, p95 in zip(result.flows, p95s, strict=True) if p95 is not None]
    fewest = min(counts, default=None)
    return _Run(energy, power, aggregates.goodput_bps(result), delays, p95s, p99s, causes_j, profile, resent, fewest)


def _waited_for(flow: FlowResult) -> int:
    """How many times are those of `_time`."""
    count = flow.segments_sent - flow.segments_retransmitted if flow.responses is None else flow.responses
    return max(1, count if flow.steady_s_p95 is None else count - 1)


@dataclass(frozen=True)
class _Runs:
    """How runs are made."""

    seeds: range
    limit: str | None
    store: StorePath
    on_progress: Callable[[Progress], None] | None

    def of(self, scenario: Scenario, choices: Sequence[Sequence[tuple[str, str]]]) -> Done[_Run]:
        """Makes the runs of a scenario with each choice of keys, of which some may fail.

        Raises `InputError` for a key without an effect, and `Interrupted`.
        """
        tasks = [Task(scenario.replace(keys), self.seeds, _kept, settings=dict(keys)) for keys in choices]
        done = run_tasks(
            tasks,
            limit=self.limit,
            store=self.store,
            name="advise",
            on_progress=self.on_progress,
            keep_failures=True,
        )
        if done.interrupted:
            raise laboratory.Interrupted(None)
        return done


_MOST_SHORTER = 0.05
"""The most by which service periods of a run are closer than those that are advised."""


def _out_of_step(text: Mapping[str, Any], candidate: Candidate) -> list[tuple[str, str]]:
    """Keys by which messages of things meet all times between two service periods of target wake time.

    A message each 30 s and a period each 10 s stay as they begin to each other in a run, so that each answer would wait
    for the same time. No clock of a device is in step with the one of its access point: over months each wait is as
    likely as another. In a run the periods are shorter by so little that the messages pass through one of them.
    """
    interval = dict(candidate.parameters).get("interval")
    if candidate.policy != "twt" or interval is None:
        return []
    interval_s = Quantity(interval).value
    duration_s = text["duration"].value if text.get("duration") else float("inf")
    spread_s = min(interval_s, duration_s / 2)
    things = [
        index
        for index, flow in enumerate(text["flow"])
        if flow["application"]["kind"] in INTERVALS and not flow.get("start_spread", _ZERO).value
    ]
    between = [interval_of(text["flow"][index]["application"]) for index in things]
    if not between:
        return []
    # The last message is later by a period than the first one, with regard to them, or by as much as is between two.
    shorter = min(_MOST_SHORTER, max(min(interval_s, each_s) for each_s in between) / duration_s)
    keys = [(f"flow.{index}.start_spread", f"{spread_s:.9f}s") for index in things]
    return [*keys, ("station.power_save.interval", f"{interval_s * (1.0 - shorter):.9f}s")]


Delays = Callable[[_Run], list[float | None]]


def _added(runs: Sequence[_Run], awake: Sequence[_Run], delays: Delays) -> tuple[float, float | None] | None:
    """The delay that a candidate adds, of the flow that suffers most."""
    added = _core.advise_added_delays([delays(run) for run in runs], [delays(run) for run in awake])
    return None if added is None else mean_ci95(added)


def _figures(runs: Sequence[_Run], awake: Sequence[_Run]) -> Figures:
    energy, ci95 = mean_ci95([run.energy_j for run in runs])
    delay, delay_ci95 = _added(runs, awake, lambda run: run.delays_s) or (0.0, None)
    p95 = _added(runs, awake, lambda run: run.p95s_s)
    p99 = _added(runs, awake, lambda run: run.p99s_s)
    power, _ = mean_ci95([run.power_w for run in runs])
    goodput, goodput_ci95 = mean_ci95([run.goodput_bps for run in runs])
    return Figures(
        energy,
        power,
        delay,
        goodput,
        ci95,
        delay_ci95,
        None if p95 is None else p95[0],
        None if p99 is None else p99[0],
        goodput_ci95_bps=goodput_ci95,
        causes=dict(aggregates.cause_shares([by_cause_j for run in runs for by_cause_j in run.causes_j])),
        profile=aggregates.mean_profile([run.profile for run in runs]),
        resent=mean_ci95([run.resent for run in runs])[0],
        waited_for=min((run.waited_for for run in runs if run.waited_for is not None), default=None),
    )


def advise(
    scenario: laboratory.ScenarioLike,
    budget_s: float,
    *,
    runs: int = 3,
    seed: int = 1,
    confirm: int = CONFIRM,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    given: Collection[str] = (),
    limit: str | None = None,
    keep_alive_s: float | None = None,
    reconnection_s: float | None = None,
    store: StorePath = None,
    target: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds what spends least on a scenario's traffic within a delay budget. Raises `InputError`, `RunError`.

    `given` are keys that the caller has set in the scenario before, as those of `set` here. `limit` bounds each run,
    and `store` keeps them, as in `airwatt.run`. With `keep_alive_s` keep-alives of this mean interval count in each
    energy, and with `reconnection_s` deep sleep has so much time awake for each report. `target`
    (`platforms.TARGETS`) leaves only candidates that can be set there.
    """
    laboratory.check_seeds(seed, runs)
    loaded = laboratory.load(scenario, (), set)
    text = loaded.to_dict()
    own = [index for index, flow in enumerate(text.get("flow", [])) if flow["application"]["kind"] == "mqtt"]
    if keep_alive_s is not None and own:
        loaded = loaded.replace([(f"flow.{index}.application.keep_alive", f"{keep_alive_s:.9f}s") for index in own])
        text = loaded.to_dict()
    chip = _chip(loaded.name, text, target)
    plan = _plan(loaded, text, chip, budget_s, confirm, {*given, *(set or {})}, target)
    confirmed = [row for row in plan.rows if row.confirm]
    measured = loaded.replace([("latency_percentiles", "true")])
    make = _Runs(range(seed, seed + runs), limit, store, on_progress)
    done = make.of(measured, [*_choices(text, confirmed), [("policy", "ideal")]])
    awake = _awake(confirmed, done)
    alone = _enter(confirmed, done, awake)
    radios = ", ".join(sorted({one["radio"] for one in text["station"]}))
    advice = Advice(budget_s, loaded.name, radios, chip, plan.rows, runs, seed)
    advice.untried, advice.tunnel, advice.tunnel_curve = plan.untried, plan.tunnel, plan.tunnel_curve
    advice.voltage_v = laboratory.radio(text["station"][0]["radio"]).voltage_v
    advice.beacon_interval_s = _core.Quantity(str(text["ap"]["beacon_interval"]), "time").value
    advice.usual_beacons = _usual_beacons(text)
    if text.get("flow"):
        advice.rtt = str(text["wired"]["rtt"] if "wired" in text else "0ms")
    least = len(confirmed)
    advice.bound = None if done.failure(least) is not None else _figures(done.finished(least), awake)
    if keep_alive_s is not None:
        advice.keep_alives_in_flow = bool(own)
        prices = partial(_keep_alive, advice, loaded, keep_alive_s, seed, store)
        prices(plan.rows, with_bound=True)
    advice.decide(target)

    def run(between: Sequence[Row]) -> None:
        alone.update(_enter(between, make.of(measured, _choices(text, between)), awake))
        if keep_alive_s is not None:
            prices(between, with_bound=False)

    finer.seek(advice, run)
    if advice.ranked:
        best = advice.ranked[0]
        _price_best(advice, best, text, reconnection_s)
        if platforms.is_esp_idf(chip.name, target):
            keeps_alive = keep_alive_s is not None
            advice.network_stack = network_stack.price(loaded, best.candidate, seed, store, keeps_alive=keeps_alive)
        words = platforms.words_of(target, chip.name)
        # A setting beside the policy does not change what keep-alives take, so that they are left out on both sides.
        advice.beside = _beside(measured, best.candidate, alone[best.candidate], awake, make, words, budget_s)
    return advice


def _chip(name: str, text: Mapping[str, Any], target: str | None) -> Chip:
    """The chip of the first station, if all stations can sleep in their cell. Raises `InputError`."""
    if "wifi" not in text:
        raise InputError(f"advise {name}: expected a scenario whose stations can sleep, got one without [wifi]")
    chips = [Chip.of(str(station["radio"])) for station in text["station"]]
    for each in chips:
        platforms.check_fits(target, each.name)
        _check_band(each.name, text["wifi"]["standard"])
    return chips[0]


@dataclass(frozen=True)
class _Plan:
    """What the models say, and what is to be run."""

    rows: list[Row]
    untried: str
    tunnel: dict[str, float] | None
    tunnel_curve: list[list[float]]


def _plan(
    scenario: Scenario,
    text: Mapping[str, Any],
    chip: Chip,
    budget_s: float,
    confirm: int,
    given: Collection[str],
    target: str | None,
) -> _Plan:
    """Asks the models for all candidates that the caller has not fixed by the keys that are `given`."""
    is_interval_given = "station.listen_interval" in given
    tries_listen_intervals = not is_interval_given and _has_dtims_beside(given, text["station"])
    platform, standard = platforms.with_wake_times(target, chip.name), text["wifi"]["standard"]
    wakes = platform is not None and platforms.agrees(standard)
    plan = json.loads(_core.advise_scenario(scenario, budget_s, confirm, tries_listen_intervals, wakes))
    has_dtims = _of_dtims(text) is not None
    interval = text["station"][0].get("listen_interval")
    skipping = platforms.skipped(interval, instead_of_dtims=is_interval_given and has_dtims)
    rows = rows_of(plan, chip.name, target, skipping, platform)
    without_wakes = standard if platform is not None and not wakes else None
    untried = _untried(without_wakes, without_intervals=not tries_listen_intervals and not is_interval_given)
    return _Plan(rows, untried, plan["tunnel"], plan["tunnel_curve"])


def _of_dtims(text: Mapping[str, Any]) -> int | None:
    """The DTIM period above 1, with a radio that receives DTIM beacons alone as it comes."""
    period = int(text["ap"]["dtim_period"])
    return period if period > 1 and laboratory.radio(str(text["station"][0]["radio"])).wakes_for_dtims else None


def _usual_beacons(text: Mapping[str, Any]) -> int:
    """Beacon intervals from one beacon that the first station receives to the next, as the scenario has it."""
    interval = str(text["station"][0].get("listen_interval", ""))
    return int(interval) if interval.isdecimal() else _of_dtims(text) or 1


def _price_best(advice: Advice, best: Row, text: Mapping[str, Any], reconnection_s: float | None) -> None:
    """Enters what goes with the best candidate: deep sleep between reports, and beacons of periods that end early."""
    assert best.simulation is not None
    advice.deep_sleep = deep_sleep.beside(text, best.simulation.power_w, reconnection_s)
    if reconnection_s is not None and advice.deep_sleep is None:
        advice.reconnection = deep_sleep.why_not(text)
    if advice.ending_early is not None:
        advice.early_beacon_w = _beacon_w(text, advice.default, advice.ending_early.candidate)


def _choices(text: Mapping[str, Any], rows: Sequence[Row]) -> list[list[tuple[str, str]]]:
    """The keys of each candidate."""
    return [list({**dict(row.candidate.overrides), **dict(_out_of_step(text, row.candidate))}.items()) for row in rows]


def _awake(confirmed: Sequence[Row], done: Done[_Run]) -> Sequence[_Run]:
    """The runs of an awake radio. Raises why there are none."""
    is_awake = [row.candidate.policy for row in confirmed].index("active")
    failure = done.failure(is_awake)
    if failure is not None:
        raise failure
    return done.finished(is_awake)


def _enter(rows: Sequence[Row], done: Done[_Run], awake: Sequence[_Run]) -> dict[Candidate, Figures]:
    """Enters what the runs gave into the rows. Returns it."""
    for index, row in enumerate(rows):
        failure = done.failure(index)
        row.failure = None if failure is None else str(failure)
        row.simulation = None if failure is not None else _figures(done.finished(index), awake)
    return {row.candidate: row.simulation for row in rows if row.simulation is not None}


def _untried(without_wakes: str | None, *, without_intervals: bool) -> str:
    """What was not tried, and how it is: wake times for want of a standard that has them, and listen intervals."""
    untried = []
    if without_wakes is not None:
        of_band = "802.11ax-2.4GHz" if bands.of_standard(without_wakes) == "2.4GHz" else "802.11ax"
        untried.append(f"target wake time, as of 802.11ax: --set wifi.standard={of_band}")
    if without_intervals:
        untried.append(
            "listen intervals, beside which the DTIM period that is set has no effect with this radio: without "
            "--set ap.dtim_period they are"
        )
    return "; ".join(untried)


def _keep_alive(
    advice: Advice,
    scenario: Scenario,
    interval_s: float,
    seed: int,
    store: StorePath,
    rows: Sequence[Row],
    *,
    with_bound: bool,
) -> None:
    """Prices keep-alives under each candidate that was run, and adds what they take to its energy if no flow has it.

    With the bound they are added to what the models say, too, of which there is nothing new later.
    """
    from airwatt.advice import keep_alives

    run = [row for row in rows if row.simulation]
    has_bound = with_bound and advice.bound is not None
    candidates = [row.candidate for row in run] + [Candidate("ideal")] * has_bound
    found = keep_alives.price(scenario, candidates, interval_s, seed, store)
    if has_bound and advice.bound is not None:
        of_bound = found.pop()
        advice.bound = advice.bound if advice.keep_alives_in_flow else of_bound.beside(advice.bound)
    advice.keep_alives += found
    if advice.keep_alives_in_flow:
        return
    prices = {price.candidate: price for price in found}
    # Candidates that were not run are no worse for it than the one with the cheapest keep-alives.
    least = min(found, key=lambda price: price.one_j)
    for row in rows:
        price = prices.get(row.candidate, least)
        row.model = price.beside(row.model) if row.model is not None and with_bound else row.model
        row.simulation = None if row.simulation is None else price.beside(row.simulation)


def _check_band(chip: str, standard: str) -> None:
    if bands.cannot_join(chip, standard):
        band = bands.spaced(bands.of_standard(standard))
        raise InputError(
            f"advise: expected a cell at 2.4 GHz, the only band of {chip}, got {standard} at {band}; "
            "hint: --set wifi.standard=802.11n-2.4GHz"
        )


def _beacon_w(keys: Mapping[str, Any], usual: Row | None, agreed: Candidate) -> float | None:
    """What a beacon at each of the agreed wake times takes: as much as one that the usual candidate receives.

    A station that is awake to the end of the period receives it in a time that is paid for; one that sleeps earlier is
    awake for it, too.
    """
    if usual is None or usual.simulation is None or not usual.simulation.causes:
        return None
    station, point = keys["station"][0], keys["ap"]
    is_dtim = laboratory.radio(str(station["radio"])).wakes_for_dtims or station.get("listen_interval") == "dtim"
    each_s = Quantity(str(point["beacon_interval"]), "time").value * (int(point["dtim_period"]) if is_dtim else 1)
    between_s = Quantity(dict(agreed.parameters)["interval"], "time").value
    return float(usual.simulation.causes.get("beacon", 0.0) * usual.simulation.power_w * each_s / between_s)


def _has_dtims_beside(given: Collection[str], stations: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a DTIM period, if one is given, may stand beside a listen interval that counts beacons.

    With chips that wake up for DTIM beacons otherwise it may; with others it would have no effect, which is an error.
    """
    return "ap.dtim_period" not in given or all(laboratory.radio(str(one["radio"])).wakes_for_dtims for one in stations)


def _beside(
    scenario: Scenario,
    candidate: Candidate,
    alone: Figures,
    awake: Sequence[_Run],
    make: _Runs,
    targets: Sequence[str],
    budget_s: float,
) -> list[CombinedSetting]:
    """Runs what can be set beside a candidate, as far as it has an effect on the scenario."""
    possible = []
    for setting in SETTINGS:
        if targets and not any(platforms.to_paste(target, setting.how) for target in targets):
            continue
        try:
            scenario.replace([*candidate.overrides, *setting.overrides])
        except InputError:
            # A key without an effect: no TCP, a tunnel that is there already, or no place for one.
            continue
        possible.append(setting)
    done = make.of(scenario, [[*candidate.overrides, *setting.overrides] for setting in possible])
    found = [
        CombinedSetting.of(setting, candidate, _figures(done.finished(index), awake), alone, budget_s)
        for index, setting in enumerate(possible)
        if done.failure(index) is None
    ]
    return [one for one in found if one.has_effect]
