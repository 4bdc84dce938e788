"""`airwatt.sweep` and `airwatt.open_store`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from airwatt import loading
from airwatt._core import InputError, Scenario
from airwatt.own import PolicyChoice, TransportChoice, by_file, files_of
from airwatt.parallel import Progress
from airwatt.record import flat
from airwatt.results import Interrupted
from airwatt.sweeps import plan as plans
from airwatt.sweeps.frames import Store
from airwatt.sweeps.grid import Grid, Point, Request, grid
from airwatt.sweeps.plan import Plan
from airwatt.sweeps.runner import LocalWork, Shard, Sweeper, Work
from airwatt.sweeps.store import Files
from airwatt.sweeps.until import Until

OnProgress = Callable[[Progress], None] | None


def sweep(
    scenario: loading.ScenarioLike,
    *,
    over: Mapping[str, Any] | None = None,
    together: Sequence[Mapping[str, Any]] = (),
    latin: Mapping[str, Any] | None = None,
    policy: PolicyChoice | Sequence[PolicyChoice] | None = None,
    transport: TransportChoice | Sequence[TransportChoice] | None = None,
    where: str | Sequence[str] = (),
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    runs: int = 1,
    seed: int = 1,
    until: str | None = None,
    store: str | os.PathLike[str] | None = None,
    shard: str | None = None,
    dask: str | None = None,
    limit: str | None = None,
    on_progress: OnProgress = None,
) -> Store:
    """Runs a scenario at every point of a grid and keeps the runs in a store, as `airwatt sweep`.

    >>> import airwatt
    >>> study = airwatt.sweep("web", over={"wired.rtt": ["10ms", "40ms"]}, policy=["psm"], set={"duration": "2s"})
    >>> len(study)
    2

    Args:
        scenario: The name of one that ships, a file, or a `Scenario`.
        over: For each key a list, or a range (`"10ms:300ms:10ms"`); their product is taken.
        together: Tables of lists whose values change together.
        latin: A Latin hypercube: `{"points": 100, "over": {KEY: "10ms:300ms"}}`.
        policy: Policies, or `"all"`. A class derived from `airwatt.Policy`, here and in the tables, is loaded from
            its file by each process.
        transport: Transports; also classes derived from `airwatt.CongestionControl`.
        where: Conditions on the points.
        set: Keys with their values, for all points.
        runs: Runs of each point.
        seed: The seed of the first run of each point.
        until: Stop a point when its mean is known well enough: `"ci95(energy_j) < 1%"`.
        store: The folder, new or old: what it has is not run again. Without it the runs are kept in a temporary folder
            as long as the answer lives.
        shard: A part of the jobs: `"2/8"`.
        dask: Run on a Dask cluster: the address of its scheduler.
        limit: What a run may cost, as in `airwatt.run`.
        on_progress: Called with the progress some times a second.

    Returns:
        The store. A run that fails is kept as failed (`Store.failures`) and stops no other.

    Raises:
        InputError: The scenario, a point of the grid or another argument is wrong.
        Interrupted: Ctrl-C; a further call goes on where this one stopped.
    """
    given = {"together": together, "latin": latin, "policy": policy, "transport": transport}
    request = Request(
        scenario if isinstance(scenario, Scenario) else os.fspath(scenario), by_file("", over or {}),
        **{name: by_file(name, value) for name, value in given.items()},
        where=where, set=by_file("", set or {}), runs=runs, seed=seed, until=until,
    )  # fmt: skip
    part = Shard() if shard is None else Shard.parse(shard)
    planned = prepare(request)
    folder = Path(tempfile.mkdtemp(prefix="airwatt-") if store is None else store)
    try:
        files = Files.create(folder)
        files.add(planned)
        interrupted = run(files, planned, worker(dask, limit, with_files=has_files(planned)), part, on_progress)
    except BaseException:
        if store is None:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    found = Store(folder, temporary=store is None)
    if interrupted:
        raise Interrupted(None)
    return found


def open_store(folder: str | os.PathLike[str], *more: str | os.PathLike[str]) -> Store:
    """Opens the store of a sweep, also while it goes on.

    Args:
        folder: Its folder.
        more: Further ones, which are read with it as one store: the other parts of a job array.

    Returns:
        The store, with `to_pandas`, `to_arrow`, `summary` and `failures`.

    Raises:
        InputError: A folder is no store.
    """
    return Store(folder, *more)


def prepare(request: Request) -> Plan:
    """Checks every point of a request. Raises `InputError`."""
    loading.check_seeds(request.seed, request.runs)
    if request.until is not None:
        Until.parse(request.until)
    base = loading.load(request.scenario, (), dict(flat(request.set)))
    needs_policies = request.policy is not None and "all" in request.policy
    wanted = grid(request, loading.possible_policies(base) if needs_policies else [])
    planned = plans.plan(
        _checked(base, wanted, request.origin),
        seed=request.seed,
        runs=request.runs,
        until=request.until,
        name=base.name,
    )
    if not planned.points:
        raise InputError("where: expected a condition that some point meets, got one that none does")
    if planned.jobs > plans.MAX_JOBS:
        raise InputError(f"sweep: expected at most {plans.MAX_JOBS} runs, got {planned.jobs}")
    return planned


def again(old: Plan, *, with_files: bool = False) -> Plan:
    """The plan of the same sweep for the core library of this process. Raises `InputError`.

    The columns of its settings are taken as they are. `with_files` says that a user trusts the mechanisms in files.
    """
    import pyarrow as pa

    assert old.texts is not None
    if has_files(old) and not with_files:
        raise InputError(f"{old.scenario}: mechanisms in files: expected the whole sweep command, got a store alone")
    loaded = [Scenario.from_toml(text.as_py(), name=old.scenario) for text in old.texts]
    new = plans.plan(
        (({}, scenario) for scenario in loaded), seed=old.seed, runs=old.runs, until=old.until, name=old.scenario
    )
    if len(new.points) < len(old.points):
        raise InputError(f"{old.scenario}: expected another scenario at each point, got the same one at two")
    settings = old.settings.set_column(old.settings.schema.get_field_index("point"), "point", pa.array(new.points))
    return plans.relabelled(new, settings, old.varied)


def worker(dask: str | None, limit: str | None, *, with_files: bool = False) -> Work:
    """What makes the runs: this process, processes of this machine, or a Dask cluster.

    `with_files` says that the plan was made of what a user has named, whose mechanisms in files may be executed; they
    share no processor in one process. Raises `InputError`, `MissingFeature`.
    """
    if dask is None and not with_files:
        return LocalWork(limit)
    if dask is None:
        from airwatt.sweeps.processes import Processes

        return Processes(limit)
    from airwatt.sweeps.cluster import Cluster

    return Cluster(dask, limit, with_files=with_files)


def has_files(planned: Plan) -> bool:
    """Whether some point of a plan has a mechanism in a file."""
    assert planned.texts is not None
    named = (planned.texts[index].as_py() for index in range(len(planned.points)) if planned.may_name_files(index))
    return any(files_of(Scenario.from_toml(text, name=planned.scenario)) for text in named)


def run(
    files: Files,
    planned: Plan,
    work: Work,
    shard: Shard,
    on_progress: OnProgress = None,
    *,
    again: bool = False,
    only: Collection[tuple[str, int]] | None = None,
) -> bool:
    """Runs what is missing of a plan, or of some of its points and seeds; returns whether it was interrupted.

    Raises `OSError`.
    """
    sweeper = Sweeper(files, planned, work, shard, again=again)
    if only is not None:
        sweeper.ledger.restrict(only)
    try:
        return sweeper.run(on_progress, work.at_once)
    finally:
        sweeper.close()
        work.close()


def _checked(base: Scenario, wanted: Grid, origin: str) -> Iterator[tuple[Point, Scenario]]:
    for point in wanted.points():
        try:
            yield point, base.replace(list(point.items())) if point else base
        except InputError as error:
            # The key came from the grid, whatever the loader calls it.
            text = str(error)
            raise InputError(f"{origin}{text.removeprefix('--set ')}" if text.startswith("--set ") else text) from None
