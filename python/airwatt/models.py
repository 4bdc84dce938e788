"""The analytical models, over numbers and arrays.

>>> from airwatt import models
>>> solved = models.tcp_energy(p=[0.001, 0.01], rtt_s=0.1, m=5)
>>> solved.ratio.round(3).tolist()
[0.46, 0.117]

Each model is a function of keyword arguments in SI base units, the unit last in the name; an argument that is not given
has the model's default. Numbers, texts with a unit (`rtt_s="100ms"`), quantities (`airwatt.Quantity`) and arrays can be
mixed: arrays are broadcast against each other as in numpy. The solution has every result by name, numbers for numbers
and arrays for arrays. A wrong argument raises an `InputError` that names it and what is expected; no result is NaN.

`models.ALL` has the models by name, each with its `parameters` and `results`. The equations, their sources and where
they hold stand in `docs/models/`.
"""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from airwatt import _core
from airwatt._core import InputError, Quantity
from airwatt.record import Record

Array = npt.NDArray[Any]

# More points than this at once would take more memory than most machines have.
MAX_POINTS = 100_000_000
_CHUNK = 16_384


class Solution(Mapping[str, Any]):
    """Every result of a model by name: `solution["cam_j"]` or `solution.cam_j`."""

    __slots__ = ("_results",)

    def __init__(self, results: Mapping[str, Any]) -> None:
        self._results = dict(results)

    def __getitem__(self, name: str) -> Any:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_results":
            raise AttributeError(name)
        try:
            return self._results[name]
        except KeyError:
            raise AttributeError(f"no result {name!r}; there are {', '.join(self._results)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._results]

    def __repr__(self) -> str:
        return f"Solution({', '.join(f'{name}={value!r}' for name, value in self._results.items())})"


class Model:
    """One model: call it with its parameters."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self.name: str = description["name"]
        self.summary: str = description["summary"]
        self.source: str = description["source"]
        self.columns: list[str] = description["columns"]
        self.regions = [Record(region) for region in description["regions"]]
        self.parameters = {field["name"]: Record(field) for field in description["parameters"]}
        self.results = {field["name"]: Record(field) for field in description["results"]}
        self.__name__ = self.name.replace("-", "_")
        self.__doc__ = _documentation(self)
        keyword = inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(field.name, keyword, default=field.default) for field in self.parameters.values()]
        )

    def __call__(self, **parameters: Any) -> Solution:
        """Solves the model. Raises `InputError`."""
        for name in parameters:
            self.parameter(name)
        given = [
            self._numbers(field, parameters[name]) if name in parameters else _default(field)
            for name, field in self.parameters.items()
        ]
        shape = self._shape(given)
        points = int(np.prod(shape, dtype=np.int64))
        if points > MAX_POINTS:
            raise InputError(f"{self.name}: expected at most {MAX_POINTS} points at once, got {points}")
        columns = [
            value if isinstance(value, float) else np.ascontiguousarray(np.broadcast_to(value, shape)).reshape(-1)
            for value in given
        ]
        solved = self._solve(columns, points, scalar=not shape)
        named = zip(self.results.values(), solved, strict=True)
        return Solution({field.name: _result(field, row, shape) for field, row in named})

    def _solve(self, columns: list[float | Array], points: int, *, scalar: bool) -> Array:
        """Solves some thousand points at a time, so that Ctrl-C is heard and little memory is needed twice."""
        solved = np.empty((len(self.results), points))
        for first in range(0, points, _CHUNK):
            part = slice(first, min(first + _CHUNK, points))
            rows = np.empty((len(self.results), part.stop - first))
            given = [column if isinstance(column, float) else column[part] for column in columns]
            _core.model_solve(self.name, given, rows.reshape(-1), None if scalar else first)
            solved[:, part] = rows
        return solved

    def parameter(self, name: str) -> Record:
        """Describes a parameter. Raises `InputError` if there is none of this name."""
        if name in self.parameters:
            return self.parameters[name]
        raise InputError(f"{self.name}: expected a parameter ({_suggestion(name, self.parameters)}), got {name}")

    def values(self, name: str, text: str) -> list[float]:
        """Reads values as the command line takes them: `10ms`, `10ms,20ms`, `10ms:300ms:5ms`. Raises `InputError`."""
        return _core.model_values(self.name, self.parameter(name).name, text)

    def __repr__(self) -> str:
        return f"<model {self.name}: {self.summary}>"

    def _numbers(self, field: Record, value: Any) -> float | Array:
        if isinstance(value, str | Quantity):
            read = self.values(field.name, str(value))
            return read[0] if len(read) == 1 else np.array(read)
        if value is None and field.kind == "whole-or-none":
            return float("inf")
        if field.kind == "choice":
            return self._choices(field, value)
        try:
            numbers = np.asarray(value)
            if numbers.dtype.kind not in "iuf":
                raise TypeError
            numbers = np.asarray(numbers, dtype=np.float64)
        except (TypeError, ValueError):
            shown = _shown(value)
            raise InputError(f"{self.name}: {field.name}: expected numbers or arrays of numbers, got {shown}") from None
        return float(numbers) if numbers.ndim == 0 else numbers

    def _choices(self, field: Record, value: Any) -> float | Array:
        """Turns names into their indices."""
        indices = []
        names = np.asarray(value, dtype=object)
        for name in names.reshape(-1):
            if name not in field.choices:
                shown = repr(name) if isinstance(name, str) else _shown(name)
                raise InputError(f"{self.name}: {field.name}: expected {', '.join(field.choices)}, got {shown}")
            indices.append(float(field.choices.index(name)))
        return indices[0] if names.ndim == 0 else np.array(indices).reshape(names.shape)

    def _shape(self, given: list[float | Array]) -> tuple[int, ...]:
        named = zip(self.parameters, given, strict=True)
        arrays = {name: value for name, value in named if not isinstance(value, float)}
        try:
            return np.broadcast_shapes(*(array.shape for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise InputError(f"{self.name}: expected shapes that broadcast to one, got {shapes}") from None


def radio(name: str) -> dict[str, float]:
    """Gives a radio profile, by name or file, as parameters: `tcp_energy(p=0.01, **radio("broadcom-4311"))`.

    Raises `InputError`.
    """
    profile = json.loads(_core.radio(name))
    powers = {f"{state}_w": float(profile[f"{state}_w"]) for state in ("transmit", "receive", "listen", "sleep")}
    for transition in ("to_sleep", "wake_up"):
        time_s, energy_j = profile[transition]["time_s"], profile[transition]["energy_j"]
        powers[f"{transition}_s"] = float(time_s)
        # A transition that takes no time costs nothing, at any power.
        powers[f"{transition}_w"] = float(energy_j / time_s) if time_s else 0.0
    return powers


def ack_gaps(*, throughput_bps: float, rtt_s: float = 0.1, m: int = 1, q: float = 0.3) -> tuple[Array, Array]:
    """Gives the distribution behind `ack_gap`: gaps in seconds, and how often each is expected in a period."""
    try:
        pairs = np.array(_core.ack_gaps(throughput_bps, rtt_s, m, q))
    except OverflowError as error:
        raise InputError(f"ack-gap: expected floating-point numbers: {error}") from None
    return pairs[:, 0], pairs[:, 1]


def find(name: str) -> Model:
    """Gives the model of a name, as in `tcp-energy` or `tcp_energy`. Raises `InputError`."""
    found = ALL.get(name.replace("_", "-"))
    if found is None:
        raise InputError(f"model: expected a model ({_suggestion(name, ALL)}), got {name}")
    return found


def _suggestion(name: str, known: Mapping[str, Any]) -> str:
    # The names all at once would be more than a line.
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"near it: {', '.join(close)}" if close else ", ".join(known)


def _shown(value: Any) -> str:
    """Writes what was given instead of numbers."""
    try:
        return np.array2string(np.asarray(value, dtype=object), threshold=4, separator=", ")
    except ValueError:
        # Python refuses to write an integer of more than some thousand digits.
        return "an integer beyond all floating-point numbers"


def _default(field: Record) -> float:
    if field.kind == "choice":
        return float(field.choices.index(field.default))
    return float("inf") if field.default is None else float(field.default)


def _result(field: Record, row: Array, shape: tuple[int, ...]) -> Any:
    if field.kind == "choice":
        named = np.array(field.choices)[row.astype(np.intp)].reshape(shape)
        return named if shape else str(named)
    return row.reshape(shape) if shape else float(row[0])


def _documentation(model: Model) -> str:
    lines = [f"{model.summary[:1].upper()}{model.summary[1:]} ({model.source}).", "", "Parameters:"]
    lines += [f"    {field.name}: {field.text} Default {field.default}." for field in model.parameters.values()]
    lines += ["", "Results:"]
    lines += [f"    {field.name}: {field.text}" for field in model.results.values()]
    return "\n".join(lines)


ALL: dict[str, Model] = {item["name"]: Model(item) for item in json.loads(_core.models())}
"""The models by name."""

mac_frame = ALL["mac-frame"]
tcp_latency = ALL["tcp-latency"]
tcp_throughput = ALL["tcp-throughput"]
tcp_energy = ALL["tcp-energy"]
ack_gap = ALL["ack-gap"]
wni_factors = ALL["wni-factors"]
sctp_tunnel = ALL["sctp-tunnel"]
psm_throughput = ALL["psm-throughput"]
ba_ta_controller = ALL["ba-ta-controller"]
dcf_saturation = ALL["dcf-saturation"]
max_throughput = ALL["max-throughput"]
energy_throughput = ALL["energy-throughput"]
ap_buffer = ALL["ap-buffer"]
