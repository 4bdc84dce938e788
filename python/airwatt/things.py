"""Traffic of things: messages that a timer sends, and the time between two of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airwatt._core import Quantity

INTERVALS = {
    "periodic": "interval",
    "mqtt": "keep_alive",
    "coap": "interval",
    "lwm2m": "interval",
    "matter": "interval",
}
"""The applications of things, with the key that has the time between two messages."""


def interval_s(application: Mapping[str, Any]) -> float:
    """The time between two messages of a thing: of its reports, if it has keep-alives beside them."""
    key = "interval" if application.get("report") else INTERVALS[application["kind"]]
    return float(Quantity(str(application[key]), "time").value)
