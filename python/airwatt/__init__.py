"""airwatt: a laboratory for what a Wi-Fi radio spends on TCP.

>>> import airwatt
>>> result = airwatt.run("fast-dsl", policy="psm")
>>> round(result.stations[0].energy_j, 1)  # doctest: +SKIP

The functions here are thin: the Rust core decides what is right and what an error says. Each name is imported when it
is first used, so that a program loads only what it needs; the same holds for plots, tables and the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airwatt._core import (
        SCHEMA,
        AirwattError,
        InputError,
        MissingFeature,
        Quantity,
        RunError,
        Scenario,
        __version__,
    )
    from airwatt.commands import advise, model, report, reproduce
    from airwatt.laboratory import (
        Interrupted,
        analyze,
        compare,
        emulate,
        policies,
        radios,
        run,
        scenarios,
        schema,
        transports,
    )
    from airwatt.own import CongestionControl, Policy
    from airwatt.record import Record
    from airwatt.results import Analysis, Comparison, Result, Runs
    from airwatt.sweeps.frames import Store
    from airwatt.sweeps.sweep import open_store, sweep

__all__ = [
    "SCHEMA",
    "AirwattError",
    "Analysis",
    "Comparison",
    "CongestionControl",
    "InputError",
    "Interrupted",
    "MissingFeature",
    "Policy",
    "Quantity",
    "Record",
    "Result",
    "RunError",
    "Runs",
    "Scenario",
    "Store",
    "__version__",
    "advise",
    "analyze",
    "compare",
    "emulate",
    "model",
    "open_store",
    "policies",
    "radios",
    "report",
    "reproduce",
    "run",
    "scenarios",
    "schema",
    "sweep",
    "transports",
]

_HOMES = {
    **dict.fromkeys(
        ("SCHEMA", "AirwattError", "InputError", "MissingFeature", "Quantity", "RunError", "Scenario", "__version__"),
        "_core",
    ),
    **dict.fromkeys(("CongestionControl", "Policy"), "own"),
    **dict.fromkeys(("advise", "model", "report", "reproduce"), "commands"),
    "Record": "record",
    **dict.fromkeys(("Analysis", "Comparison", "Result", "Runs"), "results"),
    **dict.fromkeys(
        (
            "Interrupted",
            "analyze",
            "compare",
            "emulate",
            "policies",
            "radios",
            "run",
            "scenarios",
            "schema",
            "transports",
        ),
        "laboratory",
    ),
    "Store": "sweeps.frames",
    **dict.fromkeys(("open_store", "sweep"), "sweeps.sweep"),
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used. Raises `AttributeError`."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
