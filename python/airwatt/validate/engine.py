"""Runs the cases of a validation and puts the model's figures beside them."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwatt._core import SCHEMA, InputError, RunError, __version__
from airwatt.files import temporary_folder
from airwatt.parallel import Progress
from airwatt.reproductions.engine import run_points
from airwatt.reproductions.publication import At
from airwatt.tasks import StorePath
from airwatt.validate.cases import Figure, Validation


@dataclass(frozen=True)
class Validated:
    """A validation with its figures, case by case."""

    validation: Validation
    rows: list[tuple[At, list[Figure]]]
    runs: int
    seed: int

    @property
    def holds(self) -> bool:
        """Whether every figure keeps its stated accuracy."""
        return all(figure.holds for _, figures in self.rows for figure in figures)

    def to_dict(self) -> dict[str, Any]:
        """The document of `airwatt model NAME --validate --json`."""
        return {
            "schema": SCHEMA,
            "version": __version__,
            "model": self.validation.model,
            "against": self.validation.against,
            "runs_per_point": self.runs,
            "seed": self.seed,
            "holds": self.holds,
            "points": [{"at": at, "figures": [_shown(figure) for figure in figures]} for at, figures in self.rows],
        }


def _shown(figure: Figure) -> dict[str, Any]:
    return {
        "what": figure.what,
        "unit": figure.unit,
        "run": figure.run,
        "ci95": figure.ci95,
        "model": figure.model,
        "difference": figure.difference,
        "stated": list(figure.bounds),
        "holds": figure.holds,
    }


def validate(
    validation: Validation,
    runs: int | None = None,
    seed: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    store: StorePath = None,
) -> Validated:
    """Runs everything with seeds seed, seed + 1, ... but what `store` has.

    Raises `RunError`, and `KeyboardInterrupt` on an interrupt.
    """
    count = validation.runs if runs is None else runs
    if count < 1:
        raise InputError(f"--runs: expected 1 or more, got {count}")
    with _folder(store) as folder:
        cases = validation.cases(folder)
        points = [point for case in cases for point in case.points]
        results, interrupted = run_points(points, count, seed, on_progress, store=store, name="validate")
    if interrupted:
        raise KeyboardInterrupt
    for reason in results.failures.values():
        raise RunError(reason)
    rows = [(case.at, case.compare([results[point] for point in case.points])) for case in cases]
    return Validated(validation, rows, count, seed)


@contextlib.contextmanager
def _folder(store: StorePath) -> Iterator[Path]:
    """A folder for scenario files: in the store, since the path of a profile is part of a run's key."""
    if store is None:
        with temporary_folder() as folder:
            yield folder
        return
    from airwatt.sweeps.store import Files

    yield Files.create(Path(store).resolve()).folder / "profiles"
