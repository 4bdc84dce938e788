"""The commands that take several steps, as functions: `advise`, `model`, `reproduce`, `report`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt import laboratory, models
from airwatt._core import InputError, Quantity, Scenario, toml_value
from airwatt.loading import ScenarioLike
from airwatt.parallel import Progress
from airwatt.record import Record
from airwatt.results import Interrupted
from airwatt.tasks import StorePath

if TYPE_CHECKING:
    from airwatt.advice import Advice

__all__ = ["advise", "model", "report", "reproduce"]


def advise(
    source: ScenarioLike,
    delay: str | float | Quantity,
    *,
    station: str | None = None,
    radio: str | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    target: str | None = None,
    confirm: int | None = None,
    seed: int = 1,
    runs: int = 3,
    limit: str | None = None,
    store: StorePath = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Advice:
    """Finds the power save that spends least within a delay budget, as `airwatt advise`.

    >>> import airwatt
    >>> found = airwatt.advise("fast-dsl", "50ms", set={"duration": "5s"}, runs=1, confirm=1)
    >>> found.ranked[0].simulation.judged_s <= 0.05
    True

    Args:
        source: A scenario (the name of one that ships, a file, a `Scenario`), or a capture file.
        delay: What the policy may add to the 95th percentile of the time from host to host: a text with its unit, or
            seconds.
        station: Of a capture: the station's address.
        radio: The radio profile: a name, or a file. By default that of the scenario.
        set: Keys of the scenario, or of the cell of a capture, with their values: `{"wired.rtt": "20ms"}`.
        target: Where the settings are to be made (`linux`, `esp-idf`, `nrf`, `zephyr`, `hostapd`); only what can be set
            there is a candidate.
        confirm: How many of the candidates that models describe are simulated.
        seed: The seed of the first run.
        runs: Runs of each candidate of a scenario.
        limit: What one run, or the analysis of a capture, may cost: `"events=1e10"`.
        store: Of a scenario: a folder in which the runs are kept.
        on_progress: Called with the progress some times a second.

    Returns:
        The candidates with their energy in J and delay in s. `ranked` has those within the budget, the cheapest first,
        and is empty where there is none.

    Raises:
        InputError: An argument is wrong.
        RunError: A run failed, or exceeded its limit.
        Interrupted: Ctrl-C.
    """
    from airwatt import advice

    given = delay if isinstance(delay, str | Quantity) else f"{float(delay):.9f}s"
    budget_s = advice.quantity("delay", str(given), "time")
    how: dict[str, Any] = {"seed": seed, "limit": limit, "target": target, "on_progress": on_progress}
    how["confirm"] = advice.CONFIRM if confirm is None else confirm
    keys = dict(set or {})
    if not isinstance(source, Scenario) and advice.is_capture(str(source)):
        if store is not None:
            raise InputError(
                f"store {store}: expected a scenario beside it, since a capture has no runs, got a capture"
            )
        settings = [(key, toml_value(value)) for key, value in keys.items()]
        return advice.advise_capture(str(source), budget_s, station=station, radio=radio, settings=settings, **how)
    if station is not None:
        raise InputError(f"station {station}: expected a capture beside it, got a scenario")
    if radio is not None:
        keys["station.radio"] = radio
    return advice.advise(source, budget_s, runs=runs, set=keys, store=store, **how)


def model(name: str, **parameters: Any) -> models.Solution:
    """Solves an analytical model, at one point or over arrays, as `airwatt model`.

    >>> import airwatt
    >>> round(airwatt.model("tcp-energy", p=0.01, rtt_s="100ms", m=5).ratio, 3)
    0.117

    Args:
        name: The model, as `airwatt model list` has it; `airwatt.models.ALL` describes each.
        parameters: Its parameters in SI base units, or as texts with a unit; arrays are broadcast as in numpy. Those
            that are not given have the model's defaults.

    Returns:
        Every result by name, in the unit that its name ends in: numbers for numbers, arrays for arrays.

    Raises:
        InputError: There is no such model or parameter, or a value is out of its range.
    """
    return models.find(name)(**parameters)


def reproduce(
    ids: str | Sequence[str],
    *,
    runs: int = 10,
    seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    store: StorePath = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Record:
    """Runs published experiments again and says claim by claim whether what was printed holds, as `airwatt reproduce`.

    >>> import airwatt
    >>> done = airwatt.reproduce("hashimoto-2013/tab3.1.analysis", runs=1)
    >>> sum(claim.holds for claim in done.results[0].claims) > 0
    True

    Args:
        ids: What to reproduce: `"fig13"`, `"e2tcp/tab5.3"`, a document, or several of them.
        runs: Runs of each point.
        seed: The seed of the first run.
        out: A folder for pictures (PNG) and values (CSV); without it none is written.
        store: A folder in which the runs are kept.
        on_progress: Called with the progress some times a second.

    Returns:
        The document that `airwatt reproduce --json` prints: `results` has an entry for each figure or table, with its
        `claims` (`id`, `holds`, what was printed and what was found), `values` with their units, and `published` ones.

    Raises:
        InputError: Nothing of this name is reproduced, or another argument is wrong.
        Interrupted: Ctrl-C.
    """
    from airwatt.reproductions import catalogue, document, engine

    laboratory.check_seeds(seed, runs)
    chosen = catalogue.choose([ids] if isinstance(ids, str) else ids)
    batch = engine.reproduce(chosen, runs, seed, on_progress, store=store)
    if batch.interrupted:
        raise Interrupted(None)
    files: dict[str, list[str]] = {}
    if out is not None:
        files = {item.id: [str(path) for path in document.write(item, Path(out))] for item in batch.finished}
    return Record(document.document(batch.finished, files, runs, seed))


def report(
    out: str | os.PathLike[str],
    *sources: str | os.PathLike[str],
    policies: Sequence[str] | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002 - the name of the option
    runs: int = 1,
    seed: int = 1,
    limit: str | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Path:
    """Writes a page (HTML, one file) that shows results, as `airwatt report`.

    >>> import airwatt, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = airwatt.report(pathlib.Path(folder.name, "page.html"), "web", policies=["psm"], set={"duration": "2s"})
    >>> page.stat().st_size > 10_000
    True
    >>> folder.cleanup()

    Args:
        out: The file, which is replaced; its name ends in .html.
        sources: Stores of sweeps, documents of `run`, `compare` or `analyze --json`, scenarios, captures.
        policies: Of a scenario or a capture: these policies; by default all.
        set: Of a scenario: keys with their values.
        runs: Of a scenario: runs of each policy.
        seed: The seed of the first run.
        limit: What a run may cost: `"events=1e10"`.
        on_progress: Called with the progress some times a second.

    Returns:
        The path of the page.

    Raises:
        InputError: A source or another argument is wrong.
        RunError: A run failed, or exceeded its limit.
        OSError: The page could not be written.
        Interrupted: Ctrl-C.
    """
    from airwatt import reports
    from airwatt.reports.sources import Options

    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"out: expected a name that ends in .html, got {path}")
    if not sources:
        raise InputError("report: expected one source or more, got none")
    overrides = [(key, toml_value(value)) for key, value in (set or {}).items()]
    how = Options(policies, overrides, runs, seed, limit=limit, on_progress=on_progress)
    reports.write(path, [os.fspath(source) for source in sources], how)
    return path
