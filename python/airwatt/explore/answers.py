"""What the analytical models give for a scenario or a capture, within a millisecond: while a slider is dragged.

They are those that `airwatt advise` asks first, in `crates/capture/src/advise`. They know transfers and packets of one
station; where they know nothing, the simulation alone answers, and the page says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airwatt import _core
from airwatt._core import Scenario

_BUDGET_S = 1.0
"""Only decides which candidates an advice would simulate, which nobody asks for here."""


def of_scenario(scenario: Scenario) -> dict[str, Any]:
    """The models' answers for a scenario."""
    return _answers(json.loads(_core.advise_scenario(scenario, _BUDGET_S, 1, True, False)))


def of_capture(document: Mapping[str, Any]) -> dict[str, Any]:
    """The models' answers for an analysis that has a replay of policy active."""
    return _answers(json.loads(_core.advise_analysis(document, _BUDGET_S, 1, True)))


def _answers(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Power, energy, delay and goodput of each candidate that a model knows."""
    rows = []
    for candidate in plan["candidates"]:
        model = candidate["model"]
        if model is None or candidate["listen_interval"] is not None:
            continue
        parameters = ", ".join(f"{key} {value}" for key, value in candidate["parameters"].items())
        rows.append(
            {
                "label": f"{candidate['policy']} ({parameters})" if parameters else candidate["policy"],
                "power_w": model["power_w"],
                "energy_j": model["energy_j"],
                "delay_s": model["delay_s"],
                "goodput_bps": model["goodput_bps"],
            }
        )
    tunnel = plan.get("tunnel")
    if tunnel is not None and rows:
        rows.append({"label": "a tunnel with bursts", "power_w": tunnel["ideal_w"], "delay_s": tunnel["delay_s"]})
    return {"rows": rows}
