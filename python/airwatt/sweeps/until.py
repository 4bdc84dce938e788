"""Sequential stopping: `--until 'ci95(energy_j) < 1%'`, point by point.

After each run of a point, from the fifth on, the 95 % confidence interval of its mean is computed; when it is narrow
enough the point needs no further seed. Seeds are taken in order, so that the runs that are made do not depend on what
else runs. Because the runs stop when the interval happens to be narrow, its coverage is somewhat below 95 %.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from airwatt._core import InputError
from airwatt.statistics import mean_ci95
from airwatt.sweeps import columns
from airwatt.threshold import Threshold

FEWEST = 5
"""Runs before the first decision: fewer have intervals that are known to a factor only."""
_FORM = re.compile(
    r"\s*ci95\(\s*(?P<key>[\w.*+-]+)\s*\)\s*<\s*(?P<limit>[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(?P<share>%?)\s*"
)


class Until(NamedTuple):
    """One rule."""

    key: str
    limit: float
    relative: bool
    """Whether the limit is a share of the mean."""

    @classmethod
    def parse(cls, text: str) -> Until:
        """Raises `InputError`."""
        match = _FORM.fullmatch(text)
        try:
            limit = float(match["limit"]) if match else 0.0
        except ValueError:
            limit = 0.0
        if match is None or limit <= 0.0:
            raise InputError(f"until: expected ci95(KEY) < LIMIT, as in 'ci95(energy_j) < 1%', got {text!r}")
        if match["key"] not in columns.AGGREGATES:
            Threshold.parse(f"{match['key']} > 0").check_key("until", text)
        relative = match["share"] == "%"
        return cls(match["key"], limit / 100 if relative else limit, relative)

    def number(self, run: Mapping[str, Any]) -> float | None:
        """The number of a run that the rule is about; None if the run does not have it."""
        try:
            return columns.number(run, self.key)
        except (KeyError, IndexError):
            return None

    def is_met(self, values: Sequence[float | None]) -> bool:
        """Whether the first runs of a point are enough. A number that a run does not have never is."""
        known = [value for value in values if value is not None]
        if len(values) < FEWEST or len(known) < len(values):
            return False
        mean, half = mean_ci95(known)
        return half is not None and half < self.limit * (abs(mean) if self.relative else 1.0)
