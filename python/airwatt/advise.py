"""What a station should do within a delay budget: the policy and parameters that spend least.

The models are asked first: a frame exchange's time and energy (`mac-frame`), what power save leaves of a download
(`psm-throughput`), and what a tunnel of bursts would save (`sctp-tunnel`). They put the candidates in order; the best
few, and those that no model describes, are then simulated, and the simulation decides. Both figures are kept, so that
a disagreement is seen. A *candidate* is a policy with its parameters; its *delay* is what it adds to the mean time
from host to host of the flow that suffers most, against a radio that never sleeps; where an application waits for
answers, to the time that a page or an answer takes.

From a capture the replay of `analyze` takes the place of both: packets are as they were, and only their waiting for the
radio is added. Left out: policies of other stations, changes of the transport, tunnels in runs.
"""

from __future__ import annotations

import contextlib
import math
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airwatt import _core, aggregates, laboratory, models
from airwatt._core import SCHEMA, InputError, Scenario, __version__
from airwatt.parallel import Progress, run_all
from airwatt.results import Result
from airwatt.statistics import mean_ci95

TIMEOUTS = ("10ms", "50ms", "100ms", "200ms")
INTERVALS = ("5ms", "10ms", "20ms", "40ms", "80ms")
CONFIRM = 4
BEYOND = 2
"""How many of those that need more delay are confirmed too, to know what more delay would buy."""
DISAGREE = 0.25
"""From this share on, a model that differs from the simulation is said to disagree."""
_UNDECIDED_S = 0.001
"""A model's delay that is over the budget by less than this is left to the simulation."""
CAPTURES = (".pcap", ".pcapng", ".cap")
APPLICATIONS = {
    "bulk": ("size", "size"),
    "cbr": ("rate", "rate"),
    "interactive": ("mean_gap", "time"),
    "streaming": ("rate", "rate"),
    "web": ("mean_gap", "time"),
    "request-response": ("mean_gap", "time"),
}
"""What a flow can be, with the key that its amount belongs to and the kind of quantity that this is."""
_MODELLED = ("bulk", "cbr", "interactive")
_PACKETS = ("cbr", "interactive")


@dataclass(frozen=True)
class Candidate:
    """A policy with its parameters."""

    policy: str
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """As keys of a scenario."""
        return [("policy", self.policy), *((f"station.{key}", value) for key, value in self.parameters)]


@dataclass(frozen=True)
class Figures:
    """What a candidate costs, by a model or by runs; intervals are 95 %, None where there is none."""

    energy_j: float
    power_w: float
    delay_s: float
    goodput_bps: float | None = None
    energy_ci95_j: float | None = None
    delay_ci95_s: float | None = None
    delay_p95_s: float | None = None
    energy_low_j: float | None = None
    energy_high_j: float | None = None
    """The band that a capture's unknowns leave."""


@dataclass
class Row:
    """A candidate with what the models say and what runs say."""

    candidate: Candidate
    model: Figures | None = None
    simulation: Figures | None = None
    failure: str | None = None
    """Why its runs came to nothing."""

    @property
    def best(self) -> Figures | None:
        """The simulation's word where there is one."""
        return self.simulation or self.model

    @property
    def model_error(self) -> float | None:
        """By how much the model's energy differs from the simulation's, as a share of it."""
        if self.model is None or self.simulation is None or not self.simulation.energy_j:
            return None
        return self.model.energy_j / self.simulation.energy_j - 1.0


@dataclass
class Advice:
    """All candidates, and which of them to take."""

    budget_s: float
    source: str
    radio: str
    rows: list[Row]
    runs: int
    seed: int
    bound: Figures | None = None
    """Of policy `ideal`: the timing of a radio that never sleeps, with sleep in every gap."""
    tunnel: dict[str, float] | None = None
    """By the model alone: a tunnel with the largest burst within the budget."""
    tunnel_curve: list[tuple[float, float]] = field(default_factory=list)
    """Delay bounds in s, and the power of the tunnel in W."""

    @property
    def ranked(self) -> list[Row]:
        """Those confirmed and within the budget, the least energy first."""
        inside = [row for row in self.rows if row.simulation and row.simulation.delay_s <= self.budget_s]
        return sorted(inside, key=lambda row: row.simulation.energy_j if row.simulation else math.inf)

    @property
    def alike(self) -> list[Row]:
        """Those that did exactly what the best one did."""
        ranked = self.ranked
        return [row for row in ranked[1:] if row.simulation == ranked[0].simulation]

    @property
    def runner_up(self) -> Row | None:
        """The next that did something else."""
        return next((row for row in self.ranked[1:] if row not in self.alike), None)

    @property
    def curve(self) -> list[tuple[float, Row]]:
        """What more delay buys: the delays at which a confirmed candidate undercuts all with less delay."""
        confirmed = sorted((row for row in self.rows if row.simulation), key=_delay)
        steps: list[tuple[float, Row]] = []
        for row in confirmed:
            if row.simulation and (not steps or row.simulation.energy_j < _energy(steps[-1][1])):
                steps.append((max(0.0, row.simulation.delay_s), row))
        return steps

    @property
    def models_choice(self) -> Row | None:
        """What the models alone would take."""
        inside = [row for row in self.rows if row.model and row.model.delay_s <= self.budget_s + _UNDECIDED_S]
        return min(inside, key=lambda row: row.model.energy_j if row.model else math.inf, default=None)

    @property
    def disagreements(self) -> list[Row]:
        """Where model and simulation differ by more than `DISAGREE`."""
        return [row for row in self.rows if row.model_error is not None and abs(row.model_error) > DISAGREE]

    def to_dict(self) -> dict[str, Any]:
        """The document of `airwatt advise --json`."""
        ranked = self.ranked
        return {
            "schema": SCHEMA,
            "version": __version__,
            "source": self.source,
            "radio": self.radio,
            "delay_budget_s": self.budget_s,
            "runs_per_candidate": self.runs,
            "seed": self.seed,
            "advice": _shown(ranked[0]) if ranked else None,
            "runner_up": None if self.runner_up is None else _shown(self.runner_up),
            "alike": [_shown(row) for row in self.alike],
            "candidates": [_shown(row) for row in self.rows],
            "curve": [{"delay_s": delay, **_shown(row)} for delay, row in self.curve],
            "models_choice": None if self.models_choice is None else _shown(self.models_choice),
            "disagreements": [_shown(row) for row in self.disagreements],
            "ideal": None if self.bound is None else vars(self.bound),
            "tunnel": self.tunnel,
            "tunnel_curve": [{"delay_bound_s": bound, "power_w": power} for bound, power in self.tunnel_curve],
        }


def _delay(row: Row) -> tuple[float, float]:
    return (row.simulation.delay_s, row.simulation.energy_j) if row.simulation else (math.inf, math.inf)


def _energy(row: Row) -> float:
    return row.simulation.energy_j if row.simulation else math.inf


def _shown(row: Row) -> dict[str, Any]:
    return {
        "policy": row.candidate.policy,
        "parameters": dict(row.candidate.parameters),
        "model": None if row.model is None else vars(row.model),
        "simulation": None if row.simulation is None else vars(row.simulation),
        "model_error": row.model_error,
        **({"failure": row.failure} if row.failure else {}),
    }


def candidates() -> list[Candidate]:
    """All policies that a station can have, with the parameters that are tried."""
    found = []
    for policy in (str(record.name) for record in laboratory.policies()):
        if policy == "timeout":
            found += [Candidate(policy, (("timeout", value),)) for value in TIMEOUTS]
        elif policy == "uapsd":
            found += [Candidate(policy, (("interval", value),)) for value in INTERVALS]
        elif policy != "ideal":
            found.append(Candidate(policy))
    return found


# What is asked: quantities, flows, scenarios.

_KINDS = {
    "time": (models.tcp_energy, "rtt_s", "20ms"),
    "rate": (models.psm_throughput, "down_bps", "64kbps"),
    "size": (models.psm_throughput, "mtu_bytes", "5MB"),
}


def quantity(option: str, text: str, kind: str) -> float:
    """Reads a time, rate or size with its unit. Raises `InputError`."""
    model, parameter, example = _KINDS[kind]
    message = f"{option} {text!r}: not a {kind}; allowed is a number with a unit, as in {example}"
    try:
        values = model.values(parameter, text)
    except InputError:
        raise InputError(message) from None
    if len(values) != 1 or not math.isfinite(values[0]) or values[0] < 0:
        raise InputError(message)
    return values[0]


def flow(text: str) -> dict[str, str]:
    """Reads `DIRECTION:APPLICATION:AMOUNT[:PACKET]`, as in `up:cbr:64kbps:160B`. Raises `InputError`."""
    parts = text.split(":")
    if not 3 <= len(parts) <= 4 or parts[0] not in ("down", "up") or parts[1] not in APPLICATIONS:
        known = ", ".join(f"{name}:{key.upper()}" for name, (key, _) in APPLICATIONS.items())
        raise InputError(
            f"--flow {text!r}: not a flow; allowed are down: or up: and one of {known}, as in down:bulk:5MB"
        )
    direction, application, amount, *packet = parts
    key, kind = APPLICATIONS[application]
    if quantity(f"--flow {text!r}: ", amount, kind) <= 0:
        raise InputError(f"--flow {text!r}: {key} {amount}; allowed is more than nothing")
    read = {"direction": direction, "application": application, key: amount}
    if packet:
        if application not in _PACKETS:
            raise InputError(f"--flow {text!r}: no packet size goes with {application}; allowed is it without")
        quantity(f"--flow {text!r}: ", packet[0], "size")
        read["packet"] = packet[0]
    if application == "cbr":
        read["transport"] = "udp"
    return read


@contextlib.contextmanager
def scenario_of(flows: Sequence[str], settings: Mapping[str, str], duration: str) -> Iterator[Scenario]:
    """Makes a scenario of flows over a line and an access point, for as long as it is used. Raises `InputError`."""
    read = [flow(text) for text in flows]
    lines = ['base = "fast-dsl"', 'name = "advice"']
    if any(one["application"] != "bulk" for one in read):
        quantity("--duration", duration, "time")
        lines.append(f'duration = "{duration}"')
    for one in read:
        lines += ["[[flow]]", *(f'{key} = "{value}"' for key, value in one.items())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "advice.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            loaded = Scenario.load(str(path), list(settings.items()))
        except InputError as error:
            raise InputError(str(error).replace(str(path), "--flow")) from None
        yield loaded


# What the models say.


@dataclass(frozen=True)
class _Setting:
    """What the models need of a scenario."""

    rtt_s: float
    down_bps: float
    up_bps: float
    queue_packets: float
    beacon_s: float
    guard_s: float
    mtu_bytes: float
    header_bytes: float
    data_rate_bps: float
    control_rate_bps: float
    data_for_ack: float
    duration_s: float | None
    radio: dict[str, float]
    flows: list[dict[str, Any]]


def _setting(scenario: Scenario) -> _Setting | None:
    """None for what the models do not describe: no line, no Wi-Fi, several stations, endless bulk."""
    text = tomllib.loads(scenario.to_toml())
    stations = text["station"]
    if "wired" not in text or "wifi" not in text or len(stations) != 1 or stations[0]["count"] != 1:
        return None
    wired, wifi, station = text["wired"], text["wifi"], stations[0]
    flows = text["flow"]
    if any(one["application"] not in _MODELLED for one in flows):
        return None
    if any(one["application"] == "bulk" and "size" not in one for one in flows):
        return None
    try:
        radio = models.radio(station["radio"])
    except InputError:
        return None  # a file of the user's
    queue = wired["down"]["queue"]
    return _Setting(
        rtt_s=quantity("wired.rtt", wired["rtt"], "time"),
        down_bps=quantity("wired.down.rate", wired["down"]["rate"], "rate"),
        up_bps=quantity("wired.up.rate", wired["up"]["rate"], "rate"),
        queue_packets=float(queue.removesuffix("packets")) if queue.endswith("packets") else 50.0,
        beacon_s=quantity("ap.beacon_interval", text["ap"]["beacon_interval"], "time"),
        guard_s=quantity("station.wake_guard", station["wake_guard"], "time"),
        mtu_bytes=quantity("tcp.mtu", text["tcp"]["mtu"], "size"),
        header_bytes=quantity("tcp.header", text["tcp"]["header"], "size"),
        data_rate_bps=quantity("wifi.data_rate", wifi["data_rate"], "rate"),
        control_rate_bps=quantity("wifi.control_rate", wifi.get("control_rate", "24Mbps"), "rate"),
        data_for_ack=float(text["tcp"]["delayed_ack_segments"]) if text["tcp"]["delayed_ack"] else 1.0,
        duration_s=quantity("duration", text["duration"], "time") if "duration" in text else None,
        radio=radio,
        flows=flows,
    )


_BEACON_S = 0.000_15
"""A beacon's own time, about."""


@dataclass(frozen=True)
class _Traffic:
    """All packets of a run, with what their frames cost a radio that is awake for them."""

    elapsed_s: float
    goodput_bps: float
    down_packets: float
    up_packets: float
    busy_s: float
    frames_j: float
    poll_j: float
    """A short frame up: a trigger or a PS-Poll."""
    has_bulk: bool
    down_wait_s: float
    """How long a packet down waits at most for a packet up that fetches it; zero without packets down but answers."""


def _frames(setting: _Setting, bytes_up: float, bytes_down: float) -> Any:
    powers = {name: setting.radio[name] for name in ("transmit_w", "receive_w", "listen_w")}
    return models.mac_frame(
        q=0.0,
        data_bytes=max(bytes_up, 1.0),
        ack_bytes=max(bytes_down, 1.0),
        data_rate_bps=setting.data_rate_bps,
        control_rate_bps=setting.control_rate_bps,
        timing="ofdm",
        protection="none",
        **powers,
    )


def _bulk_bps(setting: _Setting, direction: str, policy: str) -> float:
    """What one bulk flow gets, in bit/s of IP packets."""
    bulk = [one for one in setting.flows if one["application"] == "bulk"]
    same = sum(one["direction"] == direction for one in bulk)
    line = setting.down_bps if direction == "down" else setting.up_bps
    air = _frames(setting, setting.mtu_bytes, setting.mtu_bytes)
    share = min(line, 8 * setting.mtu_bytes / float(air.uplink_s)) / same
    if policy in ("psm", "psm-legacy") and direction == "down" and len(setting.flows) == 1:
        asked = models.psm_throughput(
            rtt_s=setting.rtt_s,
            down_bps=setting.down_bps,
            up_bps=setting.up_bps,
            queue_packets=setting.queue_packets,
            beacon_s=setting.beacon_s,
            mtu_bytes=setting.mtu_bytes,
            ack_bytes=setting.header_bytes,
        )
        return float(min(share, asked.throughput_bps))
    return float(share)


def _traffic(setting: _Setting, policy: str) -> _Traffic:
    payload = setting.mtu_bytes - setting.header_bytes
    elapsed = setting.duration_s or 0.0
    sizes = {}
    for index, one in enumerate(setting.flows):
        if one["application"] == "bulk":
            sizes[index] = quantity("flow.size", one["size"], "size")
            rate = _bulk_bps(setting, one["direction"], policy) * payload / setting.mtu_bytes
            if setting.duration_s is None:
                elapsed = max(elapsed, 8 * sizes[index] / rate)
            else:
                sizes[index] = min(sizes[index], rate * elapsed / 8)
    down = up = busy = joules = bits = 0.0
    for index, one in enumerate(setting.flows):
        data, count = _packets(setting, one, elapsed, sizes.get(index))
        answers = 0.0 if one["transport"] == "udp" else count / setting.data_for_ack
        upward = one["direction"] == "up"
        air = _frames(setting, *((data, setting.header_bytes) if upward else (setting.header_bytes, data)))
        ups, downs = (count, answers) if upward else (answers, count)
        up, down = up + ups, down + downs
        busy += ups * float(air.uplink_s) + downs * float(air.downlink_s)
        joules += ups * float(air.uplink_j) + downs * float(air.downlink_j)
        bits += 8 * count * (data - setting.header_bytes)
    poll = float(_frames(setting, 1.0, 1.0).uplink_j)
    waits = any(one["direction"] == "down" for one in setting.flows)
    wait = min([setting.beacon_s, *_gaps_up(setting)]) if waits else 0.0
    return _Traffic(elapsed, bits / elapsed if elapsed else 0.0, down, up, busy, joules, poll, bool(sizes), wait)


def _gaps_up(setting: _Setting) -> list[float]:
    """Times between the packets that flows send up by themselves, at a constant rate."""
    steady = [one for one in setting.flows if one["direction"] == "up" and one["application"] == "cbr"]
    return [
        8 * quantity("flow.packet", one["packet"], "size") / quantity("flow.rate", one["rate"], "rate")
        for one in steady
    ]


def _packets(setting: _Setting, one: Mapping[str, Any], elapsed: float, size: float | None) -> tuple[float, float]:
    """The length of an IP packet with data of a flow, and how many there are."""
    if size is not None:
        return setting.mtu_bytes, size / (setting.mtu_bytes - setting.header_bytes)
    packet = quantity("flow.packet", one["packet"], "size")
    if one["application"] == "cbr":
        return packet + setting.header_bytes, quantity("flow.rate", one["rate"], "rate") * elapsed / (8 * packet)
    return packet + setting.header_bytes, elapsed / quantity("flow.mean_gap", one["mean_gap"], "time")


def ask_models(setting: _Setting, candidate: Candidate) -> Figures | None:
    """What the models say of a candidate; None where none describes it."""
    policy, radio = candidate.policy, setting.radio
    parameters = {key: quantity(key, value, "time") for key, value in candidate.parameters}
    traffic = _traffic(setting, policy)
    elapsed = traffic.elapsed_s
    rest = max(0.0, elapsed - traffic.busy_s)
    wake_j = radio["to_sleep_w"] * radio["to_sleep_s"] + radio["wake_up_w"] * radio["wake_up_s"]
    above_w = radio["listen_w"] - radio["sleep_w"]
    beacons_j = elapsed / setting.beacon_s * ((setting.guard_s + _BEACON_S) * above_w + wake_j)
    awake_j = traffic.frames_j + radio["listen_w"] * rest
    asleep_j = traffic.frames_j + radio["sleep_w"] * rest + beacons_j
    waits_s = traffic.down_wait_s / 2
    if policy in ("active", "psm-throttling"):
        energy, delay = awake_j, 0.0
    elif policy == "ideal":
        energy, delay = asleep_j - beacons_j, 0.0
    elif policy == "psm":
        polls = min(elapsed / setting.beacon_s, traffic.down_packets)
        energy, delay = asleep_j + polls * (traffic.poll_j + wake_j), waits_s
    elif policy == "psm-legacy":
        energy, delay = asleep_j + traffic.down_packets * (traffic.poll_j + wake_j), waits_s
    elif policy == "uapsd":
        # A packet up puts the next trigger off; the answers to bulk come in bursts and leave gaps.
        idle = traffic.has_bulk or min(_gaps_up(setting), default=math.inf) > parameters["interval"]
        triggers = elapsed / parameters["interval"] if idle and traffic.down_packets else 0.0
        energy = asleep_j + triggers * (traffic.poll_j + wake_j)
        delay = min(waits_s, parameters["interval"] / 2)
    elif policy == "timeout":
        packets = traffic.down_packets + traffic.up_packets
        often = traffic.has_bulk or packets * parameters["timeout"] > elapsed
        energy = awake_j if often else asleep_j + packets * (parameters["timeout"] * above_w + wake_j)
        delay = 0.0 if often else waits_s
    else:
        return None
    energy = min(energy, awake_j)
    # Over a fixed time a bulk flow's goodput is that of the time until it is done, which no model gives.
    known = setting.duration_s is None or not traffic.has_bulk
    return Figures(energy, energy / elapsed, delay, traffic.goodput_bps if known else None)


def _tunnel(setting: _Setting, bound_s: float) -> dict[str, float] | None:
    """A tunnel with the largest burst whose delay is within the bound; None where there is nothing to say."""
    rates = {"up": 0.0, "down": 0.0}
    for one in setting.flows:
        if one["application"] == "bulk":
            rates[one["direction"]] += _bulk_bps(setting, one["direction"], "active")
        elif one["application"] == "cbr":
            rates[one["direction"]] += quantity("flow.rate", one["rate"], "rate")
    if not rates["up"] + rates["down"]:
        return None
    try:
        got = models.sctp_tunnel(
            up_bps=rates["up"],
            down_bps=rates["down"],
            burst="within-bound",
            delay_bound_s=bound_s,
            q=0.0,
            timing="ofdm",
            data_rate_bps=setting.data_rate_bps,
            control_rate_bps=setting.control_rate_bps,
            **setting.radio,
        )
    except InputError:
        return None
    names = ("burst_packets", "delay_s", "cam_w", "ideal_w", "saving_floored", "trigger_interval_s")
    return {name: float(got[name]) for name in names}


# What runs say.


@dataclass(frozen=True)
class _Run:
    energy_j: float
    power_w: float
    goodput_bps: float
    delays_s: list[float | None]
    """Of each flow: the mean time of an answer, or of a packet."""
    p95s_s: list[float | None]
    """Of each flow, of the time of an answer."""


def _job(scenario: Scenario, seed: int) -> Callable[[_core.Control], _Run | str]:
    def job(control: _core.Control) -> _Run | str:
        try:
            document = Result(_core.run(scenario, seed, control=control)).to_dict()
        except _core.RunError as error:
            return str(error)
        energy = aggregates.energy_j(document)
        delays = [one.get("response_s_mean", one["latency_s_mean"]) for one in document["flows"]]
        p95s = [one.get("response_s_p95") for one in document["flows"]]
        return _Run(energy, energy / document["simulated_s"], aggregates.goodput_bps(document), delays, p95s)

    return job


Delays = Callable[[_Run], list[float | None]]


def _added(runs: Sequence[_Run], awake: Sequence[_Run], delays: Delays) -> tuple[float, float | None] | None:
    """The delay that a candidate adds, of the flow that suffers most: differences are taken seed by seed."""
    found = []
    for index in range(len(delays(runs[0]))):
        pairs = [(delays(a)[index], delays(b)[index]) for a, b in zip(runs, awake, strict=True)]
        known = [a - b for a, b in pairs if a is not None and b is not None]
        if known:
            found.append(mean_ci95(known))
    return max(found, key=lambda each: each[0], default=None)


def _figures(runs: Sequence[_Run], awake: Sequence[_Run]) -> Figures:
    energy, ci95 = mean_ci95([run.energy_j for run in runs])
    delay, delay_ci95 = _added(runs, awake, lambda run: run.delays_s) or (0.0, None)
    p95 = _added(runs, awake, lambda run: run.p95s_s)
    power, _ = mean_ci95([run.power_w for run in runs])
    goodput, _ = mean_ci95([run.goodput_bps for run in runs])
    return Figures(energy, power, delay, goodput, ci95, delay_ci95, None if p95 is None else p95[0])


def _to_confirm(rows: Sequence[Row], budget_s: float, confirm: int) -> list[Row]:
    """Those that no model describes, the best that the models put within the budget, and the best beyond it."""
    chosen = [row for row in rows if row.model is None or row.candidate.policy == "active"]
    modelled = sorted((row for row in rows if row.model is not None), key=lambda row: _modelled(row).energy_j)
    inside = [row for row in modelled if _modelled(row).delay_s <= budget_s + _UNDECIDED_S]
    beyond = [row for row in modelled if row not in inside]
    chosen += [row for row in [*inside[:confirm], *beyond[:BEYOND]] if row not in chosen]
    return [row for row in rows if row in chosen]


def _modelled(row: Row) -> Figures:
    assert row.model is not None
    return row.model


def advise(
    scenario: laboratory.ScenarioLike,
    budget_s: float,
    *,
    runs: int = 3,
    seed: int = 1,
    confirm: int = CONFIRM,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds what spends least on a scenario's traffic within a delay budget. Raises `InputError`, `RunError`."""
    laboratory.check_seeds(seed, runs)
    loaded = laboratory.load(scenario, (), set)
    text = tomllib.loads(loaded.to_toml())
    if "wifi" not in text:
        raise InputError(f"advise {loaded.name}: has no [wifi]; allowed is a scenario whose stations can sleep")
    setting = _setting(loaded)
    rows = [Row(one, ask_models(setting, one) if setting else None) for one in candidates()]
    confirmed = _to_confirm(rows, budget_s, confirm)
    scenarios = [loaded.replace(row.candidate.overrides) for row in confirmed]
    bound = loaded.replace([("policy", "ideal")])
    jobs = [_job(one, seed + index) for one in [*scenarios, bound] for index in range(runs)]
    outcome = run_all(jobs, on_progress)
    if outcome.interrupted:
        raise laboratory.Interrupted(None)
    results = [outcome.results[first : first + runs] for first in range(0, len(jobs), runs)]
    awake = _complete(results[[row.candidate.policy for row in confirmed].index("active")])
    if isinstance(awake, str):
        raise _core.RunError(awake)
    for row, mine in zip(confirmed, results, strict=False):
        done = _complete(mine)
        row.failure = done if isinstance(done, str) else None
        row.simulation = None if isinstance(done, str) else _figures(done, awake)
    least = _complete(results[-1])
    advice = Advice(
        budget_s, loaded.name, ", ".join(sorted({one["radio"] for one in text["station"]})), rows, runs, seed
    )
    advice.bound = None if isinstance(least, str) else _figures(least, awake)
    if setting is not None:
        advice.tunnel = _tunnel(setting, budget_s)
        bounds = sorted({*(1e-3 * ms for ms in (0, 1, 2, 5, 10, 20, 50, 100)), budget_s})
        tunnels = [(bound_s, _tunnel(setting, bound_s)) for bound_s in bounds]
        advice.tunnel_curve = [(bound_s, min(t["ideal_w"], t["cam_w"])) for bound_s, t in tunnels if t is not None]
    return advice


def _complete(runs: Sequence[_Run | str | None]) -> list[_Run] | str:
    """All runs of a candidate, or why one failed."""
    failed = [run for run in runs if isinstance(run, str)]
    return failed[0] if failed else [run for run in runs if isinstance(run, _Run)]


def advise_capture(
    capture: str | Path,
    budget_s: float,
    *,
    station: str | None = None,
    radio: str | None = None,
    seed: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds what would have spent least on a station's captured traffic. Raises `InputError`."""
    analysis = laboratory.analyze(capture, station=station, radio=radio, seed=seed, on_progress=on_progress)
    document = analysis.to_dict()
    if not document["policies"]:
        there = ", ".join(str(one.get("address", one)) for one in document["candidates"][:5])
        raise InputError(f"{capture}: no single station; allowed is --station with one of {there}")
    advice = Advice(budget_s, str(capture), document["radio"], [], 1, seed)
    for replay in document["policies"]:
        figures = Figures(
            replay["energy_j"],
            replay["average_power_w"],
            replay["added_delay_s"]["mean"] or 0.0,
            delay_p95_s=replay["added_delay_s"]["p95"],
            energy_low_j=replay["energy_low_j"],
            energy_high_j=replay["energy_high_j"],
        )
        if replay["policy"] == "ideal":
            advice.bound = figures
        else:
            advice.rows.append(Row(Candidate(replay["policy"]), None, figures))
    return advice
