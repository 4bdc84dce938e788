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
from airwatt.own import PolicyChoice, TransportChoice, choice, name_of
from airwatt.parallel import Progress, run_all
from airwatt.record import Record
from airwatt.results import Analysis, Comparison, Interrupted, Result, Runs
from airwatt.tasks import Done, StorePath, Task, run_tasks

__all__ = [
    "Interrupted",
    "ScenarioLike",
    "analyze",
    "annotate",
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
_MECHANISMS = ("policy", "transport")


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
    """Simulates a scenario: the name of one that ships, a file, or a `Scenario`.

    `policy` and `transport` go to all stations and flows: each a name, or a class derived from `airwatt.Policy` or
    `airwatt.CongestionControl`, whose exceptions are raised as they are. `set` overrides any key of the scenario
    (`{"wired.rtt": "20ms"}`). With `runs` over 1 the seeds are seed, seed + 1, ... and the answer is a `Runs` with
    means and 95 % confidence intervals. `trace` keeps what the first run did (`Result.traces`,
    `Result.write_pcapng`); it does not change the result. Into `pcapng`, a binary file, the frames of the first run are
    written while it goes on, in memory that does not grow with it; it excludes `trace`. A run of more events than
    `limit` says (`events=1e10` by default) is a `RunError`. With `store`, the folder of a sweep or a new one, runs that
    are there are not made again, and those that are made are kept; not those with traces, or with mechanisms written in
    Python.

    Raises `InputError`, `RunError`, or `Interrupted` with what was finished.
    """
    check_seeds(seed, runs)
    chosen = choice(policy, transport)
    loaded = load(scenario, chosen.overrides, set)
    settings = _settings(set, {"policy": policy, "transport": transport})
    seeds = range(seed, seed + runs)
    task = Task(loaded, seeds, Result.of, int(trace), pcapng, mechanisms=chosen, settings=settings)
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
    """Runs the same traffic under each choice; several kinds of choice make their product.

    A choice of `policy` or `transport` is a name, or a class as in `run`, which has the name of the class.

    `limit` holds for each run, and `store` keeps them, as in `run`.

    Raises `InputError`, `RunError`, or `Interrupted` with what was finished.
    """
    check_seeds(seed, runs)
    policies = {name_of(item): item for item in policy or ()}
    transports = {name_of(item): item for item in transport or ()}
    rows = product(policy=_names(policy), transport=_names(transport), vary=vary)
    chosen = [choice(policies.get(row.get("policy", "")), transports.get(row.get("transport", ""))) for row in rows]
    loaded = [
        load(scenario, [*item.overrides, *((key, row[key]) for key in row if key not in _MECHANISMS)], set)
        for row, item in zip(rows, chosen, strict=True)
    ]
    tasks = [
        Task(item, range(seed, seed + runs), Result.of, mechanisms=made, settings=_settings(set, row))
        for item, made, row in zip(loaded, chosen, rows, strict=True)
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
    """Emulates a scenario in real time: its hosts as network namespaces with real kernels, its air simulated.

    `command` runs in `host` (default the first station) and ends the emulation; without it the commands that the
    scenario lists for its hosts run, or its flows over kernel sockets. The commands of the scenario run as `user`,
    `command` as the user of this process. The result has `realtime` beside what a run
    has: `trusted` is false where more than one of a hundred packets was delivered later than `lateness`. Ctrl-C ends
    it; what there is until then is returned, with `interrupted` true.

    Raises `InputError`, `RunError`, or `MissingFeature` without root or TUN devices.
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


def _names(choices: Sequence[str | Callable[[], object]] | None) -> Sequence[str] | None:
    """Gives the names of choices; anything but a list as it is, for the error."""
    if choices is None or isinstance(choices, str):
        return choices
    return [name_of(item) for item in choices]


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
    wpa_pwd: Sequence[str] = (),
    wpa_psk: Sequence[str] = (),
    limit: str | None = None,
    user: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Analysis:
    """Says what a station's radio spent or would have spent under each policy, from a capture file or a folder of them.

    Without `station` it takes the one that the capture leaves no doubt about; otherwise `candidates` lists them. With
    several addresses, or `"all"`, the result has `analyses`, one for each.
    Without `policies` it takes all that there are. `settings` are keys of the cell and the station with their values,
    as in `("wifi.beacon_rate", "1Mbps")`. With `trace` the result can be written as a time line. `current` is
    a measured current as CSV (PPK2, Otii), which is laid beside the prediction; it begins at `offset` seconds of the
    capture, or where both correlate best. `wpa_pwd` are passphrases of networks (`"PASSPHRASE"` or
    `"PASSPHRASE:SSID"`) and `wpa_psk` their keys (64 hexadecimal digits), which decrypt frames. `limit` bounds the
    cost, as in `"memory=2GB,events=1e10"`, the
    default of captures above 1 MB. With `user`, for which root is needed, a process of its own opens the file and
    becomes that user before it reads the first byte. Raises `InputError`, `RunError` if a limit is exceeded or nothing
    can be analysed, or `Interrupted`.
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
    """The radio profiles that ship, each with its source."""
    return records(_core.radios())


def radio(name: str) -> Record:
    """One radio profile, by the name of one that ships or by the path of a file. Raises `InputError`."""
    return Record(json.loads(_core.radio(name)))


def scenarios() -> list[Record]:
    """The scenarios that ship."""
    return records(_core.scenarios())


def transports() -> list[Record]:
    """The transports."""
    return records(_core.transports())


def schema() -> dict[str, Any]:
    """The JSON schema of scenario files."""
    document: dict[str, Any] = json.loads(_core.schema())
    return document
