"""What commands do, and what several of them have in common: for `airwatt help TOPIC` and for the manual pages."""

import inspect
from importlib import import_module
from typing import NamedTuple


class Topic(NamedTuple):
    """One topic: a line that says what it is about, and paragraphs; indented lines stay as they are."""

    title: str
    text: str


TOPICS = {
    "scenario": Topic(
        "scenario files",
        """A scenario says what is simulated: a wired path, an access point, stations and what their flows carry. It is
a TOML file. `airwatt init` writes one with comments, `airwatt scenarios` lists those that ship, `airwatt
keys PATTERN` explains keys, and `airwatt run SCENARIO --show-config` prints a scenario with all its
defaults.

A file usually starts from another scenario and changes some keys:

  base = "fast-dsl"

  [wired]
  rtt = "50ms"

  [[station]]
  power_save = { policy = "psm" }

The same can be said on the command line, with list positions from 0:

  airwatt run fast-dsl --set wired.rtt=50ms --set station.0.buffer=9packets

An unknown key, a value out of its range and a key without effect are errors; all errors of a file are
reported at once. Paths in a file are relative to the file.""",
    ),
    "quantities": Topic(
        "numbers with units",
        """A number that measures something has its unit: 20ms, 16Mbps, 1500B, 50MB, 390mW, 100packets, 3m. A bare
number there is an error. MB is 10^6 bytes, MiB is 2^20.

Results have SI base units, with the unit last in the name: energy_j, goodput_bps, rtt_s_mean.""",
    ),
    "seeds": Topic(
        "repeatable runs",
        """A run depends on the scenario and the seed alone: `--seed N` (default 1) repeats it to the bit, on any
machine. `--runs N` takes the seeds N, N+1, ... and reports means with 95 % confidence intervals.""",
    ),
    "stores": Topic(
        "runs that are kept",
        """A store is a folder in which runs are kept as they finish. `sweep` makes one for a grid of settings, and
`run`, `compare`, `advise`, `reproduce` and `model NAME --validate` use one with `--store DIR`: what is there
is not run again, whichever command made it, and the output is the same.

A run is known by its checked scenario, its seed and the core library. Ctrl-C, a power cut and `kill -9` lose
only the runs under way: the same command goes on with the others. Several commands may use one store at the
same time.

  airwatt compare fast-dsl --policy all --runs 30 --store dsl.runs
  airwatt sweep status dsl.runs
  airwatt sweep export dsl.runs --out dsl.csv

The tables in it are Parquet files, for pandas, polars and DuckDB.""",
    ),
    "exit-status": Topic(
        "exit status",
        """  0    done
  1    it ran and failed: a claim missed, a limit exceeded, a capture
       that decides nothing of what --fail-if asks
  2    the input is wrong: a scenario, an option, a file
  3    an expression of --fail-if is true
  4    a privilege, a kernel feature or an optional package is missing
  130  interrupted; what was finished is kept

What is wrong is one line on standard error, with the place, the value and what is expected.""",
    ),
    "environment": Topic(
        "environment",
        """  NO_COLOR     set to anything: no colour
  AIRWATT_LOG  levels of the log on standard error, as in debug or
               airwatt_sim=debug; -v is info, -vv is debug""",
    ),
}
"""The topics in the order of `airwatt help`."""


def about(command: str) -> str:
    """What a command does: the first sentence of its help."""
    text = inspect.cleandoc(import_module(f"airwatt.cli.{command}").command.__doc__ or "")
    return " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
