"""The tables of an analysis's time line: from the columns that the core hands over to numpy and Arrow."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

# The tables of a time line with the kinds of their numbers, those that all stations share, and what indices stand for.
KINDS = {
    "modes": {"station": "<u4", "time_ns": "<i8", "duration_ns": "<i8", "in_power_save": "?"},
    "frames": {
        "station": "<u4", "time_ns": "<i8", "duration_ns": "<i8", "packet": "<u4", "up": "?", "kind": "u1",
        "bytes": "<u4", "power_management": "?", "more_data": "?", "eosp": "?", "repeated": "?",
    },
    "beacons": {
        "cell": "<u4", "time_ns": "<i8", "packet": "<u4", "dtim_count": "u1", "dtim_period": "u1",
        "tim_known": "?", "group": "?", "aid_count": "<u2", "aids": "<u2",
    },
    "groups": {"cell": "<u4", "time_ns": "<i8", "duration_ns": "<i8", "packet": "<u4", "more_data": "?"},
    "packets": {"time_ns": "<i8", "packet": "<u4", "down": "?", "bytes": "<u4"},
    "radio_states": {"policy": "<u2", "time_ns": "<i8", "duration_ns": "<i8", "state": "u1", "simulated": "?"},
    "captured": {"policy": "<u2", "time_ns": "<i8", "duration_ns": "<i8", "state": "u1", "simulated": "?"},
}  # fmt: skip
SHARED = ("stations", "cells", "kinds", "modes", "frames", "beacons", "groups")
_LABELS = {"station": "stations", "cell": "cells", "policy": "policies", "state": "states", "kind": "kinds"}


def columns(line: Mapping[str, Any], table: str) -> dict[str, NDArray[Any]]:
    """Gives the columns of a table of a time line, which the core hands over as the base64 of their numbers."""
    import numpy as np

    texts = line[table]
    return {name: np.frombuffer(base64.b64decode(texts[name]), np.dtype(kind)) for name, kind in KINDS[table].items()}


def tables(line: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Gives the tables of a time line by name."""
    labels = {name: line[of] for name, of in _LABELS.items()}
    return {name: _table(columns(line, name), labels) for name in KINDS if name != "captured"}


def _table(columns: Mapping[str, NDArray[Any]], labels: Mapping[str, list[str]]) -> pa.Table:
    """Gives the columns of a time line as a table; a column that has labels holds indices into them."""
    import numpy as np
    import pyarrow as pa

    def array(name: str, values: NDArray[Any]) -> pa.Array:
        if name in labels:
            return pa.DictionaryArray.from_arrays(numbers(values, "<i4"), texts(labels[name]))
        if name == "aids":
            ends = np.concatenate([[0], np.cumsum(columns["aid_count"], dtype=np.int32)])
            return pa.ListArray.from_arrays(numbers(ends, "<i4"), numbers(values, "<u2"))
        return numbers(values, "?" if values.dtype == bool else "<i8")

    # Beacons keep the number of stations that they name where the names would take too much memory.
    is_unnamed = "aids" in columns and len(columns["aids"]) != columns["aid_count"].sum(dtype=np.int64)
    wanted = {name: values for name, values in columns.items() if name != "aids" or not is_unnamed}
    return pa.Table.from_arrays([array(*column) for column in wanted.items()], names=list(wanted))


def findings_table(columns: Mapping[str, list[Any]]) -> pa.Table:
    """Gives where the findings of an analysis are as a table."""
    import pyarrow as pa

    arrays = [numbers(of) if name in ("time_ns", "packet") else texts(of) for name, of in columns.items()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def numbers(values: Any, kind: str = "<i8") -> pa.Array:
    """Gives numbers, or truth values of the kind `?`, as an Arrow array.

    Neither this nor `texts` calls `pyarrow.array`, which imports pandas where it is installed: 40 MB and 0.3 s.
    """
    import numpy as np
    import pyarrow as pa

    array = np.ascontiguousarray(values, np.dtype(kind))
    if kind == "?":
        return pa.Array.from_buffers(
            pa.bool_(), len(array), [None, pa.py_buffer(np.packbits(array, bitorder="little"))]
        )
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), [None, pa.py_buffer(array)])


def labelled(column: Any) -> tuple[NDArray[Any], list[Any]]:
    """The values of a column as indices into a list of the different ones."""
    import numpy as np
    import pyarrow as pa

    whole = column.combine_chunks()
    whole = whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()
    return np.asarray(whole.indices, dtype=np.int64), whole.dictionary.to_pylist()


def texts(values: Sequence[str | None]) -> pa.Array:
    """Gives texts as an Arrow array."""
    import numpy as np
    import pyarrow as pa

    encoded = [(value or "").encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    known = np.packbits(np.array([value is not None for value in values], bool), bitorder="little")
    missing = sum(value is None for value in values)
    buffers = [pa.py_buffer(known) if missing else None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers, missing)
