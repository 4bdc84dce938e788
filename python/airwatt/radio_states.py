"""The radio states of a time line as columns."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray


def radio_states(line: Mapping[str, Any], table: str = "radio_states") -> dict[str, NDArray[Any]]:
    """Gives the columns of a time line's radio states, which the core hands over as the base64 of their numbers.

    The states that captured frames show are in table `captured`.
    """
    import numpy as np

    kinds = {"policy": "<u2", "time_ns": "<i8", "duration_ns": "<i8", "state": "u1", "simulated": "?"}
    return {name: np.frombuffer(base64.b64decode(line[table][name]), np.dtype(kind)) for name, kind in kinds.items()}
