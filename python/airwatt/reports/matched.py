"""Like with like: which runs of choices were made at the same point and with the same seed, and how they differ.

Runs with one seed share their random streams, so that the difference of a pair varies less than either run. Its 95 %
interval decides whether one choice spends less; that of each choice alone says little about it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from airwatt.reports.pack import Array
from airwatt.statistics import Estimate, mean_ci95, t_quantile_975


class Sample(NamedTuple):
    """A number of each run of a choice, with what the run has in common with one of another choice."""

    strata: Array
    """The combination of all other settings, as a number."""
    seeds: Array
    values: Array


def difference(one: Sample, other: Sample) -> Estimate:
    """The mean over strata of how much more `other` has, with its 95 % interval; no mean without a pair.

    With two or more pairs in every stratum the interval is that of these seeds; otherwise the strata are the sample.
    """
    if np.array_equal(one.strata, other.strata) and np.array_equal(one.seeds, other.seeds):
        return _mean(one.strata, other.values - one.values)
    places = {key: index for index, key in enumerate(zip(one.strata.tolist(), one.seeds.tolist(), strict=True))}
    pairs = [
        (places[key], index)
        for index, key in enumerate(zip(other.strata.tolist(), other.seeds.tolist(), strict=True))
        if key in places
    ]
    if not pairs:
        return Estimate(None, None)
    mine, yours = np.array(pairs).T
    return _mean(one.strata[mine], other.values[yours] - one.values[mine])


def _mean(strata: Array, more: Array) -> Estimate:
    _, stratum = np.unique(strata, return_inverse=True)
    counts = np.bincount(stratum)
    means = np.bincount(stratum, weights=more) / counts
    if counts.min() < 2:
        return Estimate(*mean_ci95(means.tolist()))
    spread = np.bincount(stratum, weights=(more - means[stratum]) ** 2) / (counts - 1) / counts
    quantile = t_quantile_975(int((counts - 1).sum()))
    return Estimate(float(means.mean()), quantile * math.sqrt(float(spread.sum())) / len(counts))


def in_all(groups: Array, sample: Sequence[Array]) -> Array:
    """Which runs have a partner in every group: the same stratum and the same seed. Returns a mask."""
    _, keys = np.unique(np.stack(sample), axis=1, return_inverse=True)
    keys = keys.ravel()
    pairs = np.unique(np.stack([keys, groups]), axis=1)
    found = np.bincount(pairs[0], minlength=int(keys.max()) + 1)
    return np.asarray(found[keys] == len(np.unique(groups)))
