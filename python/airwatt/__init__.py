"""airwatt: a laboratory for what a Wi-Fi radio spends on TCP.

>>> import airwatt
>>> result = airwatt.run("fast-dsl", policy="psm")
>>> round(result.stations[0].energy_j, 1)  # doctest: +SKIP

The functions here are thin: the Rust core decides what is right and what an error says. Plots, tables and the command
line stand in sub-packages and are imported only when they are asked for.
"""

from airwatt._core import (
    SCHEMA,
    AirwattError,
    InputError,
    MissingFeature,
    RunError,
    Scenario,
    __version__,
)
from airwatt.laboratory import (
    Interrupted,
    analyze,
    compare,
    policies,
    radios,
    run,
    scenarios,
    schema,
    transports,
)
from airwatt.results import Analysis, Comparison, Record, Result, Runs

__all__ = [
    "SCHEMA",
    "AirwattError",
    "Analysis",
    "Comparison",
    "InputError",
    "Interrupted",
    "MissingFeature",
    "Record",
    "Result",
    "RunError",
    "Runs",
    "Scenario",
    "__version__",
    "analyze",
    "compare",
    "policies",
    "radios",
    "run",
    "scenarios",
    "schema",
    "transports",
]
