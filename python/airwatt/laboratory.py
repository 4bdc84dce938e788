"""The functions of `import airwatt`."""

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Literal, overload

from airwatt import _core
from airwatt._core import Control, InputError, Run
from airwatt.confined import in_child
from airwatt.loading import ScenarioLike, check_seeds, choices, load, policies, possible_policies, records
from airwatt.own import PolicyChoice, TransportChoice, name_of
from airwatt.parallel import Progress, run_all
from airwatt.record import Record
from airwatt.results import Analysis, Comparison, Interrupted, Result, Runs
from airwatt.tasks import Done, StorePath, Task, run_tasks

__all__ = [
    "Interrupted",
    "ScenarioLike",
    "analyze",
    "annotate",
    "anonymize",
    "check_seeds",
    "choices",
    "compare",
    "emulate",
    "load",
    "policies",
    "possible_policies",
    "product",
    "radio",
    "radios",
    "run",
    "scenarios",
    "schema",
    "transports",
]

_HOSTS_END_S = 15.0


@overload
def run(
    scenario: ScenarioLike,
    *,
    policy: PolicyChoice | None = ...,
    transport: TransportChoice | None = ...,
    seed: int = ...,
    runs: Literal[1] = ...,
    set: Mapping[str, object] | None = ...,
    trace: bool = ...,
    pcapng: BinaryIO | None = ...,
    limit: str | None = ...,
    store: StorePath = ...,
    on_progress: Callable[[Progress], None] | None = ...,
) -> Result: ...
@overload
def run(
    scenario: ScenarioLike,
    *,
    policy: PolicyChoice | None = ...,
    transport: TransportChoice | None = ...,
    seed: int = ...,
    runs: int,
    set: Mapping[str, object] | None = ...,
    trace: bool = ...,
    pcapng: BinaryIO | None = ...,
    limit: str | None = ...,
    store: StorePath = ...,
    on_progress: Callable[[Progress], None] | None = ...,
) -> Result | Runs: ...
def run(
    scenario: ScenarioLike,
    *,
    policy: PolicyChoice | None = None,
    transport: TransportChoice | None = None,
    seed: int = 1,
    runs: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    trace: bool = False,
    pcapng: BinaryIO | None = None,
    limit: str | None = None,
    store: StorePath = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result | Runs:
    """Simulates a scenario, as `airwatt run`.

    >>> import airwatt
    >>> result = airwatt.run("web", policy="psm", set={"duration": "2s"})
    >>> result.stations[0].energy_j < 2.0
    True

    Args:
        scenario: The name of one that ships, a file, or a `Scenario`.
        policy: Power save of all stations: a name, or a class derived from `airwatt.Policy`.
        transport: Transport of all flows, also of those over UDP: a name, or a class derived from
            `airwatt.CongestionControl`. What such a class raises is raised as it is.
        seed: The seed of the first run.
        runs: How many runs, with seed, seed + 1, ...
        set: Keys of the scenario with their values: `{"wired.rtt": "20ms"}`.
        trace: Keep what the first run did (`Result.traces`, `Result.write_pcapng`). It does not change the result.
        pcapng: A binary file for the frames of the first run, written while it goes on in memory that does not grow
            with it; not together with `trace`.
        limit: What a run may cost: `"events=1e10"`, the default.
        store: The folder of a sweep, or a new one: runs that are there are not made again, and those that are made are
            kept; not those with traces, or with mechanisms written in Python.
        on_progress: Called with the progress some times a second.

    Returns:
        A `Result` with energies in J, times in s and rates in bit/s; with `runs` above 1 a `Runs` with means and 95 %
        confidence intervals.

    Raises:
        InputError: The scenario or an argument is wrong.
        RunError: A run failed, or exceeded its limit.
        Interrupted: Ctrl-C; it has what was finished.
    """
    check_seeds(seed, runs)
    loaded = load(scenario, choices(policy, transport), set)
    settings = _settings(set, {"policy": policy, "transport": transport})
    seeds = range(seed, seed + runs)
    task = Task(loaded, seeds, Result.of, int(trace), pcapng, settings=settings)
    done = run_tasks([task], limit=limit, store=store, name=loaded.name, on_progress=on_progress)
    results = done.finished(0)
    if done.interrupted:
        raise Interrupted(Runs(results, interrupted=True) if results and runs > 1 else None)
    return results[0] if runs == 1 else Runs(results)


def compare(
    scenario: ScenarioLike,
    *,
    policy: Sequence[PolicyChoice] | None = None,
    transport: Sequence[TransportChoice] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    seed: int = 1,
    runs: int = 1,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    limit: str | None = None,
    store: StorePath = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Runs the same traffic under each choice, as `airwatt compare`; several kinds of choice make their product.

    >>> import airwatt
    >>> compared = airwatt.compare("web", policy=["active", "psm"], set={"duration": "2s"})
    >>> awake, psm = (row.runs[0].stations[0].energy_j for row in compared.rows)
    >>> psm < awake
    True

    Args:
        scenario: The name of one that ships, a file, or a `Scenario`.
        policy: Policies to compare: names, or classes as in `run`, which have the names of the classes.
        transport: Transports to compare, as policies.
        vary: Keys of the scenario, each with a list of values.
        seed: The seed of the first run.
        runs: Runs of each choice, with the same seeds.
        set: Keys of the scenario with their values, for all.
        limit: What a run may cost, as in `run`.
        store: A folder in which the runs are kept, as in `run`.
        on_progress: Called with the progress some times a second.

    Returns:
        The results of each choice, in the order given.

    Raises:
        InputError: The scenario or an argument is wrong.
        RunError: A run failed, or exceeded its limit.
        Interrupted: Ctrl-C; it has what was finished.
    """
    check_seeds(seed, runs)
    axes = {"policy": policy, "transport": transport, **(vary or {})}
    # A class has its name in the rows.
    classes = {(key, name_of(value)): value for key in axes for value in axes[key] or () if callable(value)}
    rows = product(
        policy=_names(policy), transport=_names(transport), vary={k: _names(v) for k, v in (vary or {}).items()}
    )
    loaded = [load(scenario, [(key, classes.get((key, row[key]), row[key])) for key in row], set) for row in rows]
    tasks = [
        Task(item, range(seed, seed + runs), Result.of, settings=_settings(set, row))
        for item, row in zip(loaded, rows, strict=True)
    ]
    done = run_tasks(tasks, limit=limit, store=store, name=loaded[0].name, on_progress=on_progress)
    return _comparison(loaded[0].name, rows, done)


def product(
    *,
    policy: Sequence[str] | None = None,
    transport: Sequence[str] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
) -> list[dict[str, str]]:
    """Gives the rows of a comparison: each with its value of every key. Raises `InputError`."""
    axes: dict[str, list[str]] = {}
    for key, values in (("policy", policy), ("transport", transport), *(vary or {}).items()):
        if values is None:
            continue
        if isinstance(values, str) or not values:
            raise InputError(f"{key}: expected a list of one or more choices, got {values!r}")
        axes[key] = [_core.toml_value(value) for value in values]
    if not axes:
        raise InputError("compare: expected policies, transports, or values of a key to vary, got none")
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def emulate(
    scenario: ScenarioLike,
    *,
    command: Sequence[str] | None = None,
    host: str | None = None,
    user: str | None = None,
    policy: str | None = None,
    transport: str | None = None,
    seed: int = 1,
    lateness: str = "2ms",
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    trace: bool = False,
    output_to_error: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Emulates a scenario in real time, as `airwatt emulate`: hosts are network namespaces with real kernels.

    Args:
        scenario: The name of one that ships, a file, or a `Scenario`.
        command: What runs in `host`, as the user of this process; its end is the end of the emulation. Without it the
            commands that the scenario lists for its hosts run, or its flows over kernel sockets.
        host: Where `command` runs; by default the first station.
        user: Who runs the commands of the scenario's hosts; by default the user of this process.
        policy: Power save of all stations.
        transport: Transport of the scenario's own flows.
        seed: The seed of the air.
        lateness: With more than one of a hundred packets delivered later than this (a text with its unit), the run is
            not trusted.
        set: Keys of the scenario with their values.
        trace: Keep what happened on the air, as in `run`.
        output_to_error: What commands print goes to standard error.
        on_progress: Called with the progress some times a second.

    Returns:
        A `Result` as of a run, with `realtime` beside it, whose `trusted` is false where packets were late. After
        Ctrl-C it has what there was until then, and `interrupted` is true.

    Raises:
        InputError: The scenario or an argument is wrong.
        RunError: The emulation failed.
        MissingFeature: Root or TUN devices are missing.
    """
    check_seeds(seed, 1)
    loaded = load(scenario, choices(policy, transport), set)

    def job(control: Control) -> Run:
        return _core.emulate(
            loaded,
            seed,
            bound=lateness,
            host=host,
            command=None if command is None else list(command),
            user=user,
            output_to_error=output_to_error,
            trace=trace,
            control=control,
        )

    # Its hosts' processes end first; they get time for it.
    (finished,) = run_all([job], on_progress, stop_s=_HOSTS_END_S).results
    if finished is None:
        raise Interrupted(None)
    return Result(json.loads(finished.json), finished)


def _settings(set_: Mapping[str, object] | None, choice: Mapping[str, object]) -> dict[str, str]:
    """The keys that a call gave, as text, for the tables of a store."""
    given = {**(set_ or {}), **{key: value for key, value in choice.items() if value is not None}}
    return {key: _core.toml_value(name_of(value) if callable(value) else value) for key, value in given.items()}


def _names(values: Any) -> Any:
    """Gives values, classes by their names; anything but a list as it is, for the error."""
    if values is None or isinstance(values, str):
        return values
    return [name_of(item) if callable(item) else item for item in values]


def _comparison(name: str, rows: Sequence[dict[str, str]], done: Done[Result]) -> Comparison:
    finished = [(row, results) for index, row in enumerate(rows) if (results := done.finished(index))]
    if done.interrupted:
        raise Interrupted(Comparison(name, finished, interrupted=True) if finished else None)
    return Comparison(name, finished)


def analyze(
    capture: str | os.PathLike[str],
    *,
    station: str | Sequence[str] | None = None,
    radio: str | None = None,
    policies: Sequence[str] | None = None,
    settings: Sequence[tuple[str, str]] = (),
    seed: int = 1,
    trace: bool = False,
    current: str | os.PathLike[str] | None = None,
    offset: float | None = None,
    load_a: float = 0.0,
    load_w: float = 0.0,
    wpa_pwd: Sequence[str] = (),
    wpa_psk: Sequence[str] = (),
    limit: str | None = None,
    user: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Analysis:
    """Says what a station's radio spent or would have spent under each policy, from a capture, as `airwatt analyze`.

    >>> import airwatt
    >>> found = airwatt.analyze("captures/tcp-download.pcapng", policies=["active", "psm"])
    >>> awake, psm = (policy.energy_j for policy in found.policies)
    >>> psm < awake
    True

    Args:
        capture: A capture file, or a folder of them.
        station: The station's address, several, or `"all"`. Without it the one that the capture leaves no doubt about
            is taken; otherwise `candidates` lists them.
        radio: The radio profile: a name, or a file.
        policies: The policies; by default all that there are.
        settings: Keys of the cell and the station with their values: `("wifi.beacon_rate", "1Mbps")`.
        seed: The seed of the replays.
        trace: Keep what can be written as a time line.
        current: A measured current as CSV (PPK2, Otii), which is laid beside the prediction.
        offset: Where the measured current begins, in seconds of the capture; by default where both correlate best.
        load_a: What the board draws all the time beside the radio and its host, in A, a part of the measured current.
        load_w: The same, in W.
        wpa_pwd: Passphrases of networks, `"PASSPHRASE"` or `"PASSPHRASE:SSID"`, which decrypt frames.
        wpa_psk: Keys of networks, 64 hexadecimal digits.
        limit: What the analysis may cost: `"memory=2GB,events=1e10"`, the default of captures above 1 MB.
        user: For root: a process of its own opens the file and becomes this user before it reads the first byte.
        on_progress: Called with the progress some times a second.

    Returns:
        Energies in J, times in s, findings with verdicts; with several stations `analyses` has one for each.

    Raises:
        InputError: The file is no capture, or an argument is wrong.
        RunError: A limit is exceeded, or nothing can be analysed.
        Interrupted: Ctrl-C.
    """
    check_seeds(seed, 1)
    stations = [station] if isinstance(station, str) else list(station or ())

    def job(control: Control) -> str:
        return _core.analyze(
            capture,
            stations=stations,
            radio=radio,
            policies=policies or [],
            settings=list(settings),
            seed=seed,
            trace=trace,
            current=current,
            offset=offset,
            load=(load_a, load_w),
            wpa_pwd=list(wpa_pwd),
            wpa_psk=list(wpa_psk),
            limit=limit,
            user=user,
            control=control,
        )

    return Analysis(json.loads(_confined(job, user, on_progress)))


def annotate(
    capture: str | os.PathLike[str],
    out: BinaryIO,
    *,
    remarks: Sequence[tuple[int, str]] = (),
    wpa_pwd: Sequence[str] = (),
    wpa_psk: Sequence[str] = (),
    limit: str | None = None,
    user: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> None:
    """Writes a copy of a capture as pcapng with comments at its 802.11 frames: states of stations, and findings.

    `remarks` are further comments, each with its packet number. With the keys of `analyze` it comments
    what that finds. Raises as `analyze`, and what `out` raises.
    """

    def job(control: Control) -> str:
        keys = {"wpa_pwd": list(wpa_pwd), "wpa_psk": list(wpa_psk)}
        _core.annotate(capture, out, remarks=list(remarks), **keys, limit=limit, user=user, control=control)
        out.flush()
        return ""

    _confined(job, user, on_progress)


def anonymize(
    capture: str | os.PathLike[str],
    out: BinaryIO,
    *,
    user: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> None:
    """Writes a capture as pcapng without addresses, names and contents; raises as `analyze`, and what `out` raises."""

    def job(control: Control) -> str:
        _core.anonymize(capture, out, user=user, control=control)
        out.flush()
        return ""

    _confined(job, user, on_progress)


def _confined(job: Callable[[Control], str], user: str | None, on_progress: Callable[[Progress], None] | None) -> str:
    """Does a job in a thread; with a user in a process of its own, which becomes that user."""

    def work(report: Callable[[Progress], None] | None) -> str:
        outcome = run_all([job], report)
        if outcome.interrupted or outcome.results[0] is None:
            raise Interrupted(None)
        return outcome.results[0]

    if user is None:
        return work(on_progress)
    try:
        return in_child(work, on_progress)
    except KeyboardInterrupt:
        raise Interrupted(None) from None


def radios() -> list[Record]:
    """The radio profiles that ship.

    Returns:
        A record a profile, with its name, source, powers in W and times in s.
    """
    return records(_core.radios())


def radio(name: str) -> Record:
    """One radio profile, by the name of one that ships or by the path of a file. Raises `InputError`."""
    return Record(json.loads(_core.radio(name)))


def scenarios() -> list[Record]:
    """The scenarios that ship.

    Returns:
        A record a scenario, with its name and a sentence about it.
    """
    return records(_core.scenarios())


def transports() -> list[Record]:
    """The transports.

    Returns:
        A record a transport, with its name and a sentence about it.
    """
    return records(_core.transports())


def schema() -> dict[str, Any]:
    """The schema of scenario files.

    Returns:
        A JSON schema.
    """
    document: dict[str, Any] = json.loads(_core.schema())
    return document
