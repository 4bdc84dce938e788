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


def finding_name(finding: Mapping[str, Any]) -> str:
    """The kind of a finding as people read it: small exchanges that are reports are no keep-alives."""
    return "small exchange" if finding.get("exchanges") == "reports" else str(finding["kind"])
