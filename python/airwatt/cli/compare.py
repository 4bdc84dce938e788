"""`airwatt compare`: the same traffic under several choices, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeAlias

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import against as beside
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.parameters import Option
from airwatt.cli.progress import bar
from airwatt.compared import ComparedRow, names_of
from airwatt.results import Comparison

if TYPE_CHECKING:
    from airwatt._documents import ProfileAccount, RunResult
    from airwatt.aggregates import Number
    from airwatt.battery import Battery
    from airwatt.layout import Table

EPILOG = """\b
Examples:
  airwatt compare fast-dsl --policy active,psm
  airwatt compare fast-dsl --policy active,psm --runs 5 --plot compare.png
  airwatt compare fast-dsl --policy all
  airwatt compare idle --radio esp32-c3,esp32-c6 --battery 1000mAh
  airwatt compare idle --policy active,timeout,psm --battery 1000mAh@3.7V
"""


_HEADING = 10
"""Longest key that is a heading as it stands."""

_Column: TypeAlias = "tuple[str, Callable[[Sequence[RunResult]], str]]"
"""A head, and the cell of a row by its runs."""


def command(
    scenario: options.Scenario,
    policy: Annotated[
        str | None,
        Option("--policy", metavar="A,B,...", help="Power-save policies to compare; all for every one."),
    ] = None,
    transport: Annotated[
        str | None,
        Option("--transport", metavar="A,B,...", help="Transports to compare: of all flows, also of those over UDP."),
    ] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="A,B,...", help="Radios of all stations to compare: names or TOML files.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        Option("--vary", metavar="KEY=V1,V2,...", help="Values of a scenario's key to compare; may be repeated."),
    ] = None,
    against: Annotated[
        str | None,
        Option(
            "--against",
            metavar="emulation",
            help="Hold one run against the same traffic over sockets of this machine's kernel; --plot draws the"
            " sequence numbers of both. Needs root.",
            show_default=False,
        ),
    ] = None,
    set_: options.Set = None,
    seed: options.Seed = 1,
    runs: options.Runs = 1,
    limit: options.RunLimit = None,
    store: options.Store = None,
    json: options.Json = False,
    plot: options.Plot = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    fail_if: options.FailIf = None,
) -> None:
    """Run the same traffic under each choice. Several kinds of choice make their product."""
    lasting = options.battery(battery, allow_borrowed)
    check_picture("--plot", plot)
    overrides = dict(options.overrides(set_))
    policies = _policies(scenario, options.names("--policy", policy), overrides)
    transports = options.names("--transport", transport)
    radios = options.names("--radio", radio)
    varied = ({} if radios is None else {"station.radio": radios}) | _varied(vary)
    if against is not None:
        several = {
            "several policies": len(policies or ()) > 1,
            "several transports": len(transports or ()) > 1,
            "--radio": radios,
            "--vary": vary,
            "--runs": runs > 1,
            "--store": store,
            "--limit": limit,
            "--battery": battery,
            "--fail-if": fail_if,
        }
        beside.check(against, several)
        one = laboratory.choices(*(names[0] if names else None for names in (policies, transports)))
        beside.hold(laboratory.load(scenario, one, overrides), seed, json=json, plot=plot)
        return
    if not varied and not policies and not transports:
        raise InputError("compare: expected --policy A,B --transport A,B --radio A,B or --vary KEY=V1,V2, got none")
    limits = options.thresholds_of_runs(fail_if, laboratory.product(policy=policies, transport=transports, vary=varied))
    interrupted: laboratory.Interrupted | None = None
    try:
        with options.storing(store), bar(scenario) as on_progress:
            comparison = laboratory.compare(
                scenario,
                policy=policies,
                transport=transports,
                vary=varied,
                seed=seed,
                runs=runs,
                set=overrides,
                limit=limit,
                store=store,
                on_progress=on_progress,
            )
    except laboratory.Interrupted as stop:
        if not isinstance(stop.finished, Comparison):
            raise
        comparison, interrupted = stop.finished, stop
    if plot is not None:
        from airwatt.plots import compare as picture

        with writing("--plot", plot):
            picture.draw(comparison.scenario, comparison.rows, plot)
        note_file(plot)
    if json:
        print_json(comparison.to_dict() | ({} if lasting is None else {"battery": _battery(comparison, lasting)}))
    else:
        from airwatt import radio_notes

        compared = [laboratory.load(scenario, list(row.choice.items()), overrides) for row in comparison.rows]
        for note in (*radio_notes.other_band(compared), *radio_notes.never_sleeping(compared)):
            show(note)
        _print_table(comparison, lasting)
        for row in comparison.rows:
            for note in radio_notes.given_up(row.runs[0], " ".join(names_of(row.choice))):
                show(note)
    if interrupted is not None:
        raise interrupted
    options.hold(limits, comparison)


def _policies(scenario: str, names: list[str] | None, overrides: dict[str, str]) -> list[str] | None:
    """Gives the names, with every policy that the scenario can have instead of `all`, each once."""
    if names is None or "all" not in names:
        return names
    everyone = laboratory.possible_policies(scenario, overrides)
    return list(dict.fromkeys(policy for name in names for policy in (everyone if name == "all" else [name])))


def _varied(texts: Sequence[str] | None) -> dict[str, list[str]]:
    varied = {}
    for text, key, values in options.by_key("--vary", "KEY=V1,V2,...", texts):
        if key in varied:
            raise InputError(f"--vary {text!r}: expected each key once, got {key} twice")
        varied[key] = options.names(f"--vary {key}", values) or []
    return varied


def _print_table(comparison: Comparison, battery: Battery | None) -> None:
    from airwatt import aggregates
    from airwatt.tables import percent, table

    # One bound for all: with other choices beside the policy each would have its own.
    bounds = [row for row in comparison.rows if _is_ideal(row)]
    bound = bounds[0] if len(bounds) == 1 else None
    reference, head = (comparison.rows[0], "") if bound is None else (bound, "ideal +")
    everything = [run for row in comparison.rows for run in row.runs]
    first, last = _columns(comparison, everything)
    middle = [
        _column("energy", aggregates.energy_j, "J"),
        (head, lambda runs: _relative(runs, reference.runs)),
        ("asleep", lambda runs: percent(aggregates.over(runs, partial(aggregates.share, state="sleep")).mean)),
    ]
    columns = [*first, *middle, *last]
    varied = _varying(comparison.rows)
    rows = [[*(row.choice[key] for key in varied), *(cell(row.runs) for _, cell in columns)] for row in comparison.rows]
    choices = _short(varied)
    heads = [*choices, *(head for head, _ in columns)]
    parts: list[str | Table] = [_headline(comparison), table(heads, rows, left=len(choices))]
    if any("(" in row[heads.index(head, len(choices))] for row in rows):
        parts.append("in brackets: the 95 % interval of the difference, seed by seed, includes zero")
    parts += _currents(comparison, battery)
    if comparison.interrupted:
        parts.append("interrupted: the rows above are what was finished")
    show(*parts)


def _column(head: str, number: Number, unit: str, *, short: bool = False) -> _Column:
    from airwatt.aggregates import over
    from airwatt.tables import estimate

    return head, lambda runs: estimate(over(runs, number), unit, short=short)


def _counts(head: str, number: Number) -> _Column:
    from airwatt.aggregates import over
    from airwatt.tables import count

    return head, lambda runs: count(over(runs, number).mean)


def _columns(comparison: Comparison, everything: Sequence[RunResult]) -> tuple[list[_Column], list[_Column]]:
    """The columns left and right of those about energy: what was delivered, and what that took."""
    from airwatt import aggregates

    wakeups = _counts("wake-ups", aggregates.wakeups)
    if not any(run.flows for run in everything):
        return [], [wakeups]
    # Energies of different amounts of data are compared by the bit; who waits for answers sends as these come.
    unequal = aggregates.has_unequal_payload([row.runs for row in comparison.rows])
    by_bit = [_column("per bit", aggregates.energy_per_bit_j, "J/b", short=True)] if unequal else []
    goodput = _column(aggregates.goodput_head(everything), aggregates.shown_bps, "b/s")
    waits = [
        _column(name, partial(aggregates.response_s, percentile=name), "s", short=True)
        for name in aggregates.PERCENTILES
    ]
    if all(map(aggregates.answers, everything)):
        return waits, [wakeups]
    if all(map(aggregates.streams, everything)):
        # 80 columns have no room for one more.
        return [goodput, *waits[len(by_bit) :]], by_bit
    done = _column("done at", aggregates.completed_s, "s")
    if not unequal:
        return [goodput, done], [wakeups, _counts("resent", aggregates.retransmitted)]
    # Nor for these beside the longest names.
    if all(aggregates.completed_s(run) is None for run in everything):
        return [goodput], [*by_bit, wakeups]
    return [goodput, done], by_bit


def _currents(comparison: Comparison, battery: Battery | None) -> Iterator[str | Table]:
    """Current and charge a day of the mean station, how long its battery lasts, and what most was spent on."""
    from airwatt.aggregates import causes, mean_profile, mean_voltage
    from airwatt.cli import charge
    from airwatt.tables import table

    rows = [row for row in comparison.rows if row.runs and row.runs[0].stations]
    volts = [mean_voltage(row.runs[0]) for row in rows]
    if not charge.has_any(volts, battery):
        return
    varied = _varying(comparison.rows)
    cells = [
        [
            *(row.choice[key] for key in varied),
            *charge.cells(charge.power_w(row.runs), radio_v, battery, _profile(row)),
            charge.mostly(causes(row.runs)),
        ]
        for row, radio_v in zip(rows, volts, strict=True)
    ]
    choices = _short(varied)
    # A mode of the host heads the days only where all rows have it.
    modes = {profile["mode"] if (profile := _profile(row)) else None for row in rows}
    shared = _profile(rows[0]) if len(modes) == 1 else None
    heads = [*choices, *charge.heads(battery, shared), "mostly for"]
    yield table(heads, cells, left=len(choices), also_left=[len(heads) - 1])
    if any(len(row.runs[0].stations) > 1 for row in rows):
        yield "these are of the mean station; of each, and in other modes of its host: airwatt run"
        return
    profiles = [
        (" ".join(row.choice[key] for key in varied), mean_profile([run.stations[0].profile for run in row.runs]))
        for row in rows
    ]
    yield from charge.host_modes(", ".join(choices), profiles, volts, battery)


def _profile(row: ComparedRow) -> ProfileAccount | None:
    """What the profile of the radio says of the energies, where all stations have one radio and host."""
    profiles = [station.profile for station in row.runs[0].stations]
    first = profiles[0]
    alike = all(one is not None and first is not None and one["mode"] == first["mode"] for one in profiles)
    return first if alike else None


def _battery(comparison: Comparison, battery: Battery) -> dict[str, object]:
    """How long the battery of the mean station lasts under each choice, for the JSON document."""
    from airwatt.aggregates import mean_voltage
    from airwatt.cli import charge

    rows = [
        {
            "choice": dict(row.choice),
            **charge.document(charge.power_w(row.runs), mean_voltage(row.runs[0]), battery, _profile(row)),
        }
        for row in comparison.rows
        if row.runs and row.runs[0].stations
    ]
    return {"text": battery.text, "rows": rows}


def _varying(rows: Sequence[ComparedRow]) -> list[str]:
    """The keys in which rows differ, which tell them apart; all of them without two rows."""
    keys = list(rows[0].choice)
    return [key for key in keys if len({row.choice[key] for row in rows}) > 1] or keys


def _short(keys: list[str]) -> list[str]:
    """Long keys by their last parts, as many as tell them apart: `mean_gap` instead of `flow.application.mean_gap`."""

    def tail(key: str, count: int) -> str:
        return ".".join(key.split(".")[-count:])

    def least(key: str) -> str:
        counts = range(1, key.count(".") + 2)
        unique = (tail(key, n) for n in counts if [tail(other, n) for other in keys].count(tail(key, n)) == 1)
        return next(unique, key)

    return [key if len(key) <= _HEADING else least(key) for key in keys]


def _is_ideal(row: ComparedRow) -> bool:
    return all(station.policy == "ideal" for run in row.runs for station in run.stations)


def _headline(comparison: Comparison) -> str:
    first, varied = comparison.rows[0], _varying(comparison.rows)
    keys = [key for key in first.choice if key not in varied]
    same = [f"{short} {first.choice[key]}" for key, short in zip(keys, _short(keys), strict=True)]
    named = ", ".join([comparison.scenario, *same])
    runs = first.runs
    if len(runs) > 1:
        return f"{named}, {len(runs)} runs from seed {runs[0].seed}: mean ± 95 % confidence interval"
    return f"{named}, seed {runs[0].seed}"


def _relative(runs: Sequence[RunResult], others: Sequence[RunResult]) -> str:
    """How much more energy runs have than others; in brackets where pairs of a seed leave open whether it is more."""
    from airwatt.aggregates import energy_j, over
    from airwatt.statistics import mean_ci95

    energy, first = over(runs, energy_j).mean, over(others, energy_j).mean
    if energy is None or not first or energy == first:
        return ""
    if energy >= 10 * first:
        text = f"\N{MULTIPLICATION SIGN}{energy / first:.0f}"
    else:
        change = round(100 * (energy / first - 1))
        text = f"{change:+d} %".replace("-", "\N{MINUS SIGN}") if change else "0 %"
    of_seed = {run.seed: energy_j(run) for run in others}
    pairs = [energy_j(run) - of_seed[run.seed] for run in runs if run.seed in of_seed]
    more, half = mean_ci95(pairs) if pairs else (0.0, None)
    return text if half is None or abs(more) > half else f"({text})"
