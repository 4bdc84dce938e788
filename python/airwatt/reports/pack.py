"""Typed arrays for the page: one deflated blob in base64, with the place of each array in it.

Instants are integer nanoseconds, which a number of JavaScript holds exactly for 104 days; they are kept as differences,
which deflate well. `assets/pack.js` reads what is written here.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_KINDS = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "f32": np.float32, "f64": np.float64}
_ALIGNMENT = 8
_LEVEL = 6


class Pack:
    """The arrays of one page; each is known by the number that adding it returns."""

    def __init__(self) -> None:
        self.places: list[dict[str, Any]] = []
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: npt.ArrayLike, kind: str) -> int:
        """Adds numbers of a kind: u8, u16, u32, f32 or f64."""
        array = np.ascontiguousarray(values, dtype=_KINDS[kind])
        return self._place(kind, array.astype(array.dtype.newbyteorder("<")).tobytes(), len(array))

    def add_times(self, times_ns: npt.ArrayLike) -> int:
        """Adds instants in nanoseconds in rising order."""
        times = np.asarray(times_ns, dtype=np.int64)
        steps = np.diff(times, prepend=0)
        if len(steps) and steps.min() < 0:
            raise ValueError("instants of a time line have to rise")
        low, high = (steps & 0xFFFFFFFF).astype("<u4"), (steps >> 32).astype("<u4")
        return self._place("time", low.tobytes() + high.tobytes(), len(times))

    def _place(self, kind: str, data: bytes, length: int) -> int:
        self.places.append({"kind": kind, "offset": self._size, "length": length})
        padding = -len(data) % _ALIGNMENT
        self._parts.append(data + bytes(padding))
        self._size += len(data) + padding
        return len(self.places) - 1

    def text(self) -> str:
        """The blob."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), _LEVEL)).decode("ascii") if self._parts else ""
