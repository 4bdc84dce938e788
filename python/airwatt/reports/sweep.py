"""The study of a store: numbers of every point over the settings that vary, and choices pooled over the grid.

Each point becomes the mean and the 95 % interval of its runs before anything enters the page, so that a million runs
cost what their points cost. The page of a store of few points shows each of them with its single runs; of others
the choices are the values of a setting in words (policy, transport), each the mean over its points. Answers compare
choices: in a small store the values of all settings in words, since a number (a round-trip time, a rate) is a condition
under which they are compared; where there are numbers alone, points.

Choices and answers are made of matched runs alone: combinations of the other settings and seeds that are finished under
every choice (`matched`). While some combination has none yet, nothing is compared. Pictures over the settings and the
table of points show all that is finished.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airwatt import radio_notes
from airwatt._core import RunError, Scenario
from airwatt._documents import EnergyByCause
from airwatt.battery import Battery
from airwatt.reports import answers, numbers
from airwatt.reports.matched import Sample, in_all
from airwatt.reports.pack import Array, Pack
from airwatt.reports.study import Choice, Column, Study, Table
from airwatt.reports.timeline import STATES
from airwatt.statistics import Estimate, t_quantile_975
from airwatt.sweeps.plan import SUFFIXES
from airwatt.tables import percent
from airwatt.timelines import labelled

if TYPE_CHECKING:
    import pyarrow as pa

    from airwatt.sweeps.frames import Status, Store

MOST_POINTS = 200_000
_FEW_POINTS = 24
_MOST_VALUES = 100_000
_MOST_CHOICES = 24
_MOST_ROWS = 2_000
_CAUSE, _STATE = "energy_by_cause_j.", "state_s."
_SUMS = ("lower_bound_j", "average_power_w", "wakeups")
_VALUES = ("energy_j", "goodput_bps", "measured_bps", "completed_s", numbers.DELIVERED.key)
"""The numbers of single runs; of both goodputs a table has one."""
_FIXED_CAUSES = tuple(name for name in EnergyByCause.__annotations__ if name not in ("_parts", "flow"))
_STATION_COLUMNS = [
    "point", "seed", "energy_j", *_SUMS, "average_current_a", *(f"{_STATE}{state}" for state in STATES),
    *(f"{_CAUSE}{cause}" for cause in _FIXED_CAUSES),
]  # fmt: skip
"""What is read of stations, which are many. The energy of flows is what the other causes leave of the total."""
_RUN_METRICS = (
    numbers.ENERGY, numbers.BOUND, numbers.EXCESS, numbers.DONE, numbers.DELIVERED, numbers.GOODPUT, numbers.MEASURED,
    numbers.POWER, numbers.CURRENT, numbers.CHARGE, numbers.LASTS, numbers.ASLEEP, numbers.WAKEUPS,
)  # fmt: skip


def study_of(store: Store, name: str, pack: Pack, battery: Battery | None) -> Study:
    """What the page shows of a store. Raises `RunError` for one without a finished run."""
    table = store.to_arrow("runs", _run_columns(store))
    if not table.num_rows:
        raise RunError(f"{name}: expected a store with finished runs, got one without")
    table = table.append_column(numbers.DELIVERED.key, _delivered(store, table))
    stations = store.to_arrow("stations", _STATION_COLUMNS, lenient=True)
    grid = Grid(table, stations, battery)
    status = store.status()
    like, note = _matched(store, grid, table, stations, battery, sum(one.missing for one in status))
    choices, pooled = (like or grid).choices(grid)
    said = []
    if like is not None:
        compared, noun = choices, "points" if grid.has_numbers_alone else "choices"
        if grid.is_small and grid.chosen:
            compared, pooled = like.pooled(grid.chosen)
            pooled = pooled.replace("Choices", "The choices of the answers")
        else:
            answers.mark_best(choices)
        said = [*answers.of_choices(compared, battery, noun), *like.best_by_point()]
    return Study(
        "sweep",
        name,
        _question(status, grid),
        choices,
        list(numbers.COLUMNS),
        answers=said,
        notes=[*_progress(status), *_radios(store, status), *note, *([pooled] if pooled else [])],
        bound=numbers.BOUND_TEXT,
        tables=[grid.table(), *_failures(store)],
        sweep=grid.axes(pack) if grid.settings else None,
    )


def _radios(store: Store, status: Sequence[Status]) -> list[str]:
    """Notes on the radios of the points of a store that has few."""
    if sum(one.points for one in status) > _FEW_POINTS:
        return []
    texts = [text.as_py() for plan in store.plans(texts=True) for text in plan.texts or ()]
    return list(radio_notes.other_band(map(Scenario.from_toml, texts)))


def _matched(
    store: Store, grid: Grid, runs: pa.Table, stations: pa.Table, battery: Battery | None, missing: int
) -> tuple[Grid | None, list[str]]:
    """The grid of the runs that have a partner in every choice; None where they would not tell what all of them will.

    Beside it a note about what was left out.
    """
    import pyarrow as pa

    choices, rest = grid.sides()
    if missing == 0 and len(np.unique(choices)) < 2:
        return grid, []
    mask = in_all(choices, (rest, grid.seeds))
    kept = runs.filter(pa.array(mask))
    if not mask.any() or (missing and (mask.sum() < 2 * len(np.unique(choices)) or not _covers(store, grid, kept))):
        return None, ["Nothing is compared: not every combination of settings has runs under all choices yet."]
    if mask.all():
        return grid, []
    partners = set(zip(kept["point"].to_pylist(), kept["seed"].to_pylist(), strict=True))
    own = zip(stations["point"].to_pylist(), stations["seed"].to_pylist(), strict=True)
    like = Grid(kept, stations.filter(pa.array([job in partners for job in own], pa.bool_())), battery)
    alone = int((~mask).sum())
    return like, [f"{alone} finished runs have no partner of the same settings and seed in every choice; answers and"
                  " choices leave them out."]  # fmt: skip


def _covers(store: Store, grid: Grid, kept: pa.Table) -> bool:
    """Whether runs of every combination that is planned under all choices are among those that are kept."""
    points, columns = store.settings()
    values = {name: column.to_pylist() for name, column in columns.items()}
    if not grid.chosen:
        return set(points) == set(kept["point"].to_pylist())
    others = [column for name, column in values.items() if name not in grid.chosen]
    rests = list(zip(*others, strict=True)) if others else [()] * len(points)
    choices = list(zip(*(values[name] for name in grid.chosen), strict=True))
    under: dict[tuple[Any, ...], set[Any]] = {}
    for rest, choice in zip(rests, choices, strict=True):
        under.setdefault(rest, set()).add(choice)
    everything = set(choices)
    found = set(kept["point"].to_pylist())
    covered = {rest for rest, point in zip(rests, points, strict=True) if point in found}
    return covered >= {rest for rest, choices in under.items() if choices == everything}


def _run_columns(store: Store) -> list[str]:
    given = store.settings()[1]
    return ["point", *given, "seed", "energy_j", store.goodput()[0], "completed_s"]


def _delivered(store: Store, runs: pa.Table) -> pa.Array:
    """The bytes that each run delivered; null of runs without flows."""
    import pyarrow as pa

    flows = store.to_arrow("flows", ["point", "seed", "bytes_delivered"], lenient=True)
    if not flows.num_rows:
        return pa.nulls(runs.num_rows, pa.float64())
    sums = flows.group_by(["point", "seed"]).aggregate([("bytes_delivered", "sum")])
    of = dict(zip(zip(sums["point"].to_pylist(), sums["seed"].to_pylist(), strict=True),
                  sums["bytes_delivered_sum"].to_pylist(), strict=True))  # fmt: skip
    jobs = zip(runs["point"].to_pylist(), runs["seed"].to_pylist(), strict=True)
    return pa.array([of.get(job) for job in jobs], pa.float64())


class Setting:
    """A setting that varies: its column, the values that it takes in order, and the place of each point among them."""

    def __init__(self, name: str, column: Any) -> None:
        codes, values = labelled(column)
        self.numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        order = sorted(range(len(values)), key=(lambda i: values[i]) if self.numeric else (lambda i: 0))
        rank = np.empty(len(values), np.int64)
        rank[order] = np.arange(len(values))
        self.name, self.codes = name, rank[codes]
        self.values = [values[index] for index in order]
        self.unit = next((unit for unit, end in SUFFIXES.items() if name.endswith(end)), "")
        self.label = name.removesuffix(SUFFIXES[self.unit]) if self.unit else name

    def text(self, code: int) -> str:
        """A value as a label has it."""
        from airwatt.tables import quantity

        value = self.values[code]
        return quantity(value, self.unit) if self.numeric and self.unit else str(value)


class Grid:
    """The points of a store with their means."""

    def __init__(self, runs: pa.Table, stations: pa.Table, battery: Battery | None) -> None:
        self._run, self._keys = labelled(runs["point"])
        self.seeds = runs["seed"].to_numpy()
        first = np.unique(self._run, return_index=True)[1]
        self.points = len(self._keys)
        self.runs = np.bincount(self._run, minlength=self.points)
        rows = runs.take(first)
        known = {"point", "seed", *_VALUES}
        found = [Setting(name, rows[name]) for name in rows.schema.names if name not in known]
        self.settings = [setting for setting in found if len(setting.values) > 1]
        self.values = {name: _numbers(runs[name]) for name in _VALUES if name in runs.schema.names}
        self.metrics = {name: _estimates(self._run, values, self.runs) for name, values in self.values.items()}
        self._add_stations(stations, {key: index for index, key in enumerate(self._keys)}, battery)

    def _add_stations(self, stations: pa.Table, points: dict[str, int], battery: Battery | None) -> None:
        """Sums over the stations of each run, as means over the runs of each point."""
        names = stations.schema.names
        codes, keys = labelled(stations["point"])
        place = np.array([points.get(key, -1) for key in keys])[codes] if keys else np.zeros(0, np.int64)
        sums = ["energy_j", *_SUMS, *(name for name in names if name.startswith((_CAUSE, _STATE)))]
        self.sums = {name: _sum(place, _numbers(stations[name]), self.points) / self.runs for name in sums}
        fixed = [column for name, column in self.sums.items() if name.startswith(_CAUSE)]
        self.sums[f"{_CAUSE}flow"] = np.maximum(self.sums.pop("energy_j") - np.sum(fixed, axis=0), 0.0)
        count = _sum(place, np.ones(len(place)), self.points) / self.runs
        energy = self.metrics["energy_j"][0]
        none = np.full(self.points, np.nan)
        bound = self.sums.get("lower_bound_j", none)
        spent = sum((self.sums[name] for name in sums if name.startswith(_STATE)), np.zeros(self.points))
        with np.errstate(divide="ignore", invalid="ignore"):
            power = self.sums.get("average_power_w", none) / count
            derived = {
                "bound_j": bound, "excess": energy / bound, "power_w": power, "wakeups": self.sums.get("wakeups", none),
                "asleep": self.sums.get(f"{_STATE}sleep", none) / spent,
            }  # fmt: skip
        # As in `mean_voltage`: a point with a radio whose current is not known has none.
        currents = (
            _numbers(stations["average_current_a"]) if "average_current_a" in names else np.full(len(place), np.nan)
        )
        total_a = _sum(place, currents, self.points) / self.runs
        total_a[_sum(place, (~(currents > 0)).astype(np.float64), self.points) > 0] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            volts = self.sums.get("average_power_w", none) / total_a
        electric = [numbers.electric(None if math.isnan(each) else each, battery) for each in volts.tolist()]
        for key in dict.fromkeys(key for each in electric for key in each):
            derived[key] = np.array(
                [
                    np.nan if math.isnan(watts) or key not in each else each[key](watts)
                    for watts, each in zip(power.tolist(), electric, strict=True)
                ],
                np.float64,
            )
        self.metrics |= {name: (values, none) for name, values in derived.items()}

    def axes(self, pack: Pack) -> dict[str, Any]:
        """The points over their settings, for lines and heat maps."""
        kept = (
            np.arange(self.points)
            if self.points <= MOST_POINTS
            else np.arange(0, self.points, -(-self.points // MOST_POINTS))
        )
        metrics = self._known_metrics()
        return {
            "points": len(kept),
            "settings": [
                {
                    "label": one.label, "unit": one.unit, "numeric": one.numeric,
                    "values": one.values if one.numeric else [str(value) for value in one.values],
                    "codes": pack.add(one.codes[kept], "u32"),
                }
                for one in self.settings
            ],
            "metrics": [
                {
                    "label": column.label, "unit": column.unit,
                    "mean": pack.add(self.metrics[column.key][0][kept], "f64"),
                    "ci95": pack.add(np.nan_to_num(self.metrics[column.key][1][kept]), "f64"),
                }
                for column in metrics
            ],
        }  # fmt: skip

    @property
    def is_small(self) -> bool:
        """Whether the page shows each point."""
        return self.points <= _FEW_POINTS and int(self.runs.sum()) <= _MOST_VALUES

    @property
    def words(self) -> Setting | None:
        """The setting whose values are the choices of a large grid."""
        words = next((one for one in self.settings if not one.numeric and len(one.values) <= _MOST_CHOICES), None)
        return words or next((one for one in self.settings if len(one.values) <= _MOST_CHOICES), None)

    @property
    def chosen(self) -> list[str]:
        """The settings whose values are choices, under the conditions of all others; none where each point is one."""
        if not self.is_small:
            return [] if self.words is None else [self.words.name]
        words = [one.name for one in self.settings if not one.numeric]
        return words if len(words) < len(self.settings) else []

    @property
    def has_numbers_alone(self) -> bool:
        """Whether points differ in numbers, of which nobody knows whether they are choices."""
        return self.is_small and bool(self.settings) and all(one.numeric for one in self.settings)

    def sides(self) -> tuple[Array, Array]:
        """Of each run the number of its choice, and that of its combination of the other settings."""
        if not (chosen := self.chosen):
            return self._run, np.zeros(len(self._run), np.int64)
        return self._combination(chosen)[self._run], self._rest(chosen)[self._run]

    def _combination(self, names: Sequence[str]) -> Array:
        """The number of the combination of these settings, of each point."""
        number = np.zeros(self.points, np.int64)
        for one in self.settings:
            if one.name in names:
                number = number * len(one.values) + one.codes
        return number

    def _rest(self, chosen: Sequence[str]) -> Array:
        """The combination of all settings but these, of each point."""
        return self._combination([one.name for one in self.settings if one.name not in chosen])

    def choices(self, whole: Grid) -> tuple[list[Choice], str]:
        """The choices of the page, and what they are if they are not single points of the whole grid."""
        if whole.is_small:
            # The whole grid may have settings that do not vary here, and points that are not here.
            labels = {key: whole.label(point) for point, key in enumerate(whole._keys)}
            return [
                self._choice(labels[key], np.array([point]), single=True) for point, key in enumerate(self._keys)
            ], ""
        if not (chosen := whole.chosen):
            return [
                self._choice("every point", np.arange(self.points))
            ], "Numbers are means over all points of the grid."
        return self.pooled(chosen)

    def pooled(self, chosen: Sequence[str]) -> tuple[list[Choice], str]:
        """The values of some settings as choices, each the mean over its points, and what they are."""
        mine = [one for one in self.settings if one.name in chosen]
        numbers = self._combination(chosen)
        found = []
        for number in np.unique(numbers):
            points = np.flatnonzero(numbers == number)
            label = ", ".join(self._text(one, points[0], alone=len(mine) == 1) for one in mine)
            found.append(self._choice(label, points, chosen=chosen))
        named = " and ".join(one.label for one in mine)
        return (
            found,
            f"Choices are values of {named}; their numbers are means over all points of the grid that have them.",
        )

    def _choice(self, label: str, points: Array, *, single: bool = False, chosen: Sequence[str] = ()) -> Choice:
        def mean(values: Array) -> float | None:
            found = values[points]
            return None if np.isnan(found).any() else float(found.mean())

        def interval(key: str) -> float | None:
            value = float(self.metrics[key][1][points[0]]) if single else math.nan
            return None if math.isnan(value) else value

        metrics = {key: Estimate(mean(self.metrics[key][0]), interval(key)) for key in self.metrics}
        own = self._run == points[0]
        values = {name: column[own].tolist() for name, column in self.values.items()} if single else {}
        causes = {
            name.removeprefix(_CAUSE): float(np.nan_to_num(column[points]).mean())
            for name, column in self.sums.items()
            if name.startswith(_CAUSE)
        }
        mine = np.flatnonzero(np.isin(self._run, points))
        strata = np.zeros(len(mine), np.int64) if single else self._rest(chosen)[self._run[mine]]
        order = np.lexsort((self.seeds[mine], strata))
        sample, delivered = (
            Sample(strata[order], self.seeds[mine][order], self.values[name][mine][order])
            for name in ("energy_j", numbers.DELIVERED.key)
        )
        states = {
            state: float(np.nan_to_num(self.sums[f"{_STATE}{state}"][points]).mean())
            for state in STATES
            if f"{_STATE}{state}" in self.sums
        }
        kept = {name: column for name, column in values.items() if not any(math.isnan(value) for value in column)}
        is_bound = label == "ideal" or label.startswith("ideal, ")
        return Choice(label, metrics, kept, causes, states, is_bound=is_bound, sample=sample, delivered=delivered)

    def label(self, point: int) -> str:
        """The settings of a point, policies and transports without their keys."""
        return ", ".join(self._text(one, point) for one in self.settings) or "the only point"

    @staticmethod
    def _text(setting: Setting, point: int, *, alone: bool = False) -> str:
        text = setting.text(int(setting.codes[point]))
        return text if alone or setting.name in ("policy", "transport") else f"{setting.label} = {text}"

    def best_by_point(self) -> list[str]:
        """At how many points of the rest of the grid each policy spends least."""
        policy = next((one for one in self.settings if one.name in ("policy", "transport")), None)
        others = [one for one in self.settings if one is not policy]
        if policy is None or not others:
            return []
        real = policy.codes != (policy.values.index("ideal") if "ideal" in policy.values else -1)
        rest = np.zeros(self.points, np.int64)
        for one in others:
            rest = rest * len(one.values) + one.codes
        energy = np.where(real & ~np.isnan(self.metrics["energy_j"][0]), self.metrics["energy_j"][0], np.inf)
        order = np.lexsort((energy, rest))
        first = order[np.unique(rest[order], return_index=True)[1]]
        first = first[np.isfinite(energy[first])]
        won = np.bincount(policy.codes[first], minlength=len(policy.values))
        ranked = [code for code in np.argsort(-won) if won[code]]
        named = ", ".join(
            f"{policy.text(int(code))} at {won[code]} ({percent(won[code] / len(first))})" for code in ranked
        )
        return [f"Least energy by {policy.label}, over the {len(first)} combinations of the other settings: {named}."]

    def _known_metrics(self) -> list[Column]:
        """The metrics of which any point has a number."""
        means = {key: mean for key, (mean, *_) in self.metrics.items()}
        return [column for column in _RUN_METRICS if column.key in means and np.isfinite(means[column.key]).any()]

    def table(self) -> Table:
        """The points with their settings and means."""
        metrics = self._known_metrics()
        columns = [Column("", "point", kind="text"), Column("runs", "runs"), *metrics]
        rows = [
            [
                self.label(point),
                int(self.runs[point]),
                *(float(self.metrics[column.key][0][point]) for column in metrics),
            ]
            for point in range(min(self.points, _MOST_ROWS))
        ]
        text = (
            f"The first {_MOST_ROWS} of {self.points} points; airwatt sweep export has all."
            if self.points > _MOST_ROWS
            else ""
        )
        return Table("points", "Points of the grid", columns, rows, text)


def _numbers(column: Any) -> Array:
    return (
        np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), dtype=np.float64)
        if hasattr(column, "chunks")
        else np.asarray(column, dtype=np.float64)
    )


def _sum(place: Array, values: Array, points: int) -> Array:
    inside = place >= 0
    return np.bincount(place[inside], weights=np.nan_to_num(values[inside]), minlength=points).astype(np.float64)


def _estimates(place: Array, values: Array, counts: Array) -> tuple[Array, Array]:
    """Mean and half width of the 95 % interval of each point; no mean where a run has no number."""
    points = len(counts)
    mean = np.bincount(place, weights=values, minlength=points) / counts
    spread = np.bincount(place, weights=(values - mean[place]) ** 2, minlength=points)
    quantiles = np.array(
        [math.nan if one < 2 else t_quantile_975(int(one) - 1) for one in range(int(counts.max()) + 1)]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean, quantiles[counts] * np.sqrt(spread / (counts - 1) / counts)


def _question(status: Sequence[Status], grid: Grid) -> str:
    scenario = ", ".join(dict.fromkeys(one.scenario for one in status))
    over = ", ".join(f"{one.label} ({len(one.values)} values)" for one in grid.settings) or "one setting"
    return f"What does {scenario} spend over {over}? ({grid.points} points, {int(grid.runs.sum())} runs)"


def _progress(status: Sequence[Status]) -> list[str]:
    missing = sum(one.missing for one in status)
    failed = sum(one.failed for one in status)
    found = [f"{missing} runs of the sweep are still missing."] if missing else []
    return [*found, *([f"{failed} runs failed; they are in the table of failures."] if failed else [])]


def _failures(store: Store) -> list[Table]:
    found = store.failures()[:_MOST_ROWS]
    columns = [
        Column("", "settings", kind="text"),
        Column("seed", "seed", kind="text"),
        Column("error", "error", kind="text", wrap=True),
    ]
    rows = [
        [", ".join(f"{key} {value}" for key, value in one.settings.items()), str(one.seed), one.error] for one in found
    ]
    return [Table("failures", "Failed runs", columns, rows)]
