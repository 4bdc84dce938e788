"""`airwatt model`: solve an analytical model at one point or many."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt._core import SCHEMA, InputError, __version__
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, show, writing
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.status import FAILED
from airwatt.record import Record

if TYPE_CHECKING:
    from airwatt.battery import Battery
    from airwatt.models import Model

EPILOG = """\b
A parameter's values: 100ms, 10ms,50ms (a list), 10ms:300ms:5ms (from, to,
step) or 1e-4:0.1:x2 (from, to, factor). The unit in its name may be left
out: rtt for rtt_s. Several lists make their product.

\b
Examples:
  airwatt model list
  airwatt model tcp-energy --describe
  airwatt model tcp-energy --param p=0.001 --param m=1,2,5,10
  airwatt model tcp-energy --param rtt=50ms:300ms:5ms --plot energy.png
  airwatt model sctp-tunnel --param q=0.1 --param up=1.2Mbps:8Mbps:400kbps
  airwatt model tcp-energy --radio esp32-c3 --battery 1000mAh
  airwatt model mac-frame --validate
"""

MAX_POINTS = 1_000_000
# A table of more rows than this is no table; the document has them all.
MAX_ROWS = 200
# What fits beside the parameters in 80 columns.
MAX_COLUMNS = 5


def command(
    name: Annotated[str, Argument(metavar="NAME", help="A model; without it, or with 'list', what there is.")] = "list",
    param: Annotated[
        list[str] | None,
        Option("--param", "-p", metavar="KEY=VALUES", help="Value or values of a parameter; may be repeated."),
    ] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="NAME", help="Take a radio's powers (airwatt radios).")
    ] = None,
    results: Annotated[
        str | None, Option("--show", metavar="A,B,...", help="Results to show, the first one to draw.")
    ] = None,
    describe: Annotated[bool, Option("--describe", help="Print parameters and results.")] = False,
    validate: Annotated[
        bool, Option("--validate", help="Hold the model against simulations, at points of its own.")
    ] = False,
    runs: Annotated[
        int | None,
        Option("--runs", metavar="N", help="With --validate: runs of each point. [default: the model's]"),
    ] = None,
    seed: Annotated[int, Option("--seed", metavar="N", help="With --validate: seed of the first run.")] = 1,
    store: options.Store = None,
    battery: options.Battery = None,
    allow_borrowed: options.AllowBorrowed = False,
    json: options.Json = False,
    plot: options.Plot = None,
) -> None:
    """Solve an analytical model, at one point or over ranges, or hold it against simulations.

    With --validate exits with 1 if a figure is further from the runs than is stated.
    """
    from airwatt import models

    check_picture("--plot", plot)
    if name == "list":
        _refuse_with_list(param, radio, results, plot, describe, validate, battery, store)
        _print_list(json)
        return
    model = models.find(name)
    if validate:
        _refuse_with_validate(
            {"--param": param, "--radio": radio, "--show": results, "--describe": describe, "--battery": battery}
        )
        _validate(model, runs, seed, store, json, plot)
        return
    for option, value in {"--runs": runs, "--store": store}.items():
        if value is not None:
            raise InputError(f"{option} {value}: expected --validate beside it, since a model has no runs, got none")
    if describe:
        _print_description(model, json)
        return
    lasting = options.battery(battery, allow_borrowed)
    radio_v, profile = _profile(radio)
    given = _given(model, param)
    if radio is not None:
        powers = {key: [value] for key, value in models.radio(radio).items() if key in model.parameters}
        if not powers:
            raise InputError(f"--radio {radio}: expected a model with powers of a radio, got {model.name}")
        given = powers | given
    shown = _shown(model, results)
    document = solve(model, given)
    if plot is not None:
        from airwatt.plots import model_curves as picture

        with writing("--plot", plot):
            picture.draw(document, model, shown if results else None, plot)
        note_file(plot)
    if lasting is not None:
        document["battery"] = _battery(model, document, lasting, radio_v, profile)
    if json:
        print_json(document)
    elif len(document["points"]) == 1:
        _print_point(model, document, shown if results else list(model.results))
        _print_charges(model, document, lasting, radio_v, profile)
    else:
        _print_points(model, document, shown)
        _print_charges(model, document, lasting, radio_v, profile)


_Profile = Mapping[str, Any] | None


def _profile(radio: str | None) -> tuple[float | None, _Profile]:
    """The voltage of a radio's profile, and what it borrows from another chip.

    Whether a model's result rests on a borrowed value is not known, so that each may.
    """
    from airwatt import laboratory

    if radio is None:
        return None, None
    found = laboratory.radio(radio)
    return found.voltage_v, {"borrowed_share": 1.0, "borrowed": found.borrowed} if found.borrowed else None


def _battery(
    model: Model, document: Mapping[str, Any], battery: Battery, radio_v: float | None, profile: _Profile
) -> dict[str, Any]:
    """How long the battery lasts at each power, and for how many times each energy it is enough, by point."""
    from airwatt.cli import charge

    units = {name: field.unit for name, field in model.results.items() if field.unit in ("W", "J")}
    if not units:
        raise InputError(f"--battery {battery.text}: expected a model with a power or an energy, got {model.name}")
    usable_j = battery.capacity_j(radio_v) * (1 - battery.cutoff)

    def of(name: str, value: float) -> dict[str, Any]:
        if units[name] == "W":
            return charge.document(value, radio_v, battery, profile)
        return {"times": usable_j / value if value > 0 and not battery.refuses(profile) else None}

    points = [
        {"at": point["at"], **{name: of(name, point["results"][name]) for name in units}}
        for point in document["points"]
    ]
    return {"text": battery.text, "points": points}


def _print_charges(
    model: Model, document: Mapping[str, Any], battery: Battery | None, radio_v: float | None, profile: _Profile
) -> None:
    """Currents of the model's powers and charges of its energies, where a voltage or a battery is known."""
    from airwatt.cli import charge
    from airwatt.tables import NOTHING, count, table

    if not charge.has_any([radio_v], battery):
        return
    volts = radio_v if battery is None else battery.voltage(radio_v)
    powers, energies = [], []
    for point in document["points"][:MAX_ROWS]:
        place = [_text(model.parameters[name], value) for name, value in point["at"].items()]
        for name, field in model.results.items():
            value = point["results"][name]
            if field.unit == "W":
                powers.append([*place, name, *charge.cells(value, radio_v, battery, profile)])
            elif field.unit == "J":
                has_times = battery is not None and value > 0 and not battery.refuses(profile)
                times = battery.capacity_j(radio_v) * (1 - battery.cutoff) / value if battery and has_times else None
                enough = (
                    [] if battery is None else [NOTHING if times is None else f"{count(float(round(times)))} times"]
                )
                energies.append([*place, name, charge.charge(value, volts), *enough])
    varied = [model.parameters[name].short_name for name in document["points"][0]["at"]]
    if powers:
        show(table([*varied, "power", *charge.heads(battery)], powers, left=len(varied) + 1))
    if energies:
        enough = [] if battery is None else [f"{battery.text} is enough for"]
        show(table([*varied, "energy", "charge", *enough], energies, left=len(varied) + 1))
    if battery is not None and profile is not None and battery.refuses(profile):
        show(
            f"no days: values of the profile are another chip's ({', '.join(profile['borrowed'])}); "
            "--allow-borrowed says days all the same"
        )


def solve(model: Model, given: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Solves the product of the values given; gives the document. Raises `InputError`."""
    import numpy as np

    varied = {name: values for name, values in given.items() if len(values) > 1}
    points = int(np.prod([len(values) for values in varied.values()], dtype=object)) if varied else 1
    if points > MAX_POINTS:
        raise InputError(f"{model.name}: expected at most {MAX_POINTS} points, got {points}")
    grid = dict(zip(varied, np.meshgrid(*varied.values(), indexing="ij"), strict=True))
    numbers = {name: grid[name] if name in grid else values[0] for name, values in given.items()}
    solution = model(**{name: _named(model.parameters[name], value) for name, value in numbers.items()})
    columns = {name: np.atleast_1d(value).reshape(-1).tolist() for name, value in solution.items()}
    places = itertools.product(*([_one(model.parameters[name], v) for v in values] for name, values in varied.items()))
    return {
        "schema": SCHEMA,
        "version": __version__,
        "model": model.name,
        "source": model.source,
        "parameters": {
            name: _one(field, given[name][0]) if name in given else field.default
            for name, field in model.parameters.items()
            if name not in varied
        },
        "points": [
            {"at": dict(zip(varied, place, strict=True)), "results": {name: columns[name][index] for name in columns}}
            for index, place in enumerate(places)
        ],
    } | _outside(model, columns)


def _outside(model: Model, columns: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """The conditions of the model that some points do not meet, each with the number of these points."""
    counts = [(region, sum(value < region.least for value in columns[region.result])) for region in model.regions]
    found = [{"result": region.result, "points": count, "text": region.outside} for region, count in counts if count]
    return {"outside": found} if found else {}


def _one(field: Record, number: float) -> Any:
    """Gives a number as the document has it: a choice by name, a count whole, no limit as null."""
    if field.kind == "choice":
        return field.choices[int(number)]
    if field.kind == "number":
        return float(number)
    return None if number == float("inf") else int(number) if number == int(number) else number


def _named(field: Record, numbers: Any) -> Any:
    """Gives what the model takes: choices by name."""
    import numpy as np

    if field.kind != "choice":
        return numbers
    named = np.array(field.choices, dtype=object)[np.asarray(numbers, dtype=int)]
    return str(named) if isinstance(named, str) else named


def _given(model: Model, texts: Sequence[str] | None) -> dict[str, list[float]]:
    given: dict[str, list[float]] = {}
    for text, key, values in options.by_key("--param", "KEY=VALUES", texts):
        name = _full_name(model, key)
        if name in given:
            raise InputError(f"--param {text!r}: expected {name} once, with a list of values, got it twice")
        given[name] = model.values(name, values)
    return given


def _full_name(model: Model, key: str) -> str:
    if key in model.parameters:
        return key
    meant = [field.name for field in model.parameters.values() if field.short_name == key]
    if len(meant) > 1:
        raise InputError(f"--param: expected {' or '.join(meant)}, got {key}")
    return meant[0] if meant else str(model.parameter(key).name)


def _shown(model: Model, text: str | None) -> list[str]:
    names = options.names("--show", text)
    if names is None:
        return list(model.columns)
    for name in names:
        if name not in model.results:
            raise InputError(f"--show: expected results of {model.name} ({', '.join(model.results)}), got {name}")
    return names


def _refuse_with_list(*flags: object) -> None:
    if any(flags):
        raise InputError(
            "model: expected the name of a model with these flags, got none; hint: --json alone lists the models"
        )


def _refuse_with_validate(flags: Mapping[str, object]) -> None:
    for flag, value in flags.items():
        if value:
            raise InputError(f"{flag}: expected no --validate beside it, since a validation has points of its own")


def _validate(model: Model, runs: int | None, seed: int, store: Path | None, json: bool, plot: Path | None) -> None:
    from airwatt import laboratory
    from airwatt import validate as validations
    from airwatt.cli import validation
    from airwatt.cli.progress import bar

    laboratory.check_seeds(seed, 1 if runs is None else runs)
    with options.storing(store), bar(f"validate {model.name}") as on_progress:
        found = validations.validate(validations.ALL[model.name], runs, seed, on_progress, store)
    if plot is not None:
        from airwatt.validate import picture

        with writing("--plot", plot):
            picture.draw(found, plot)
        note_file(plot)
    if json:
        print_json(found.to_dict())
    else:
        show(*validation.parts(found))
    if not found.holds:
        raise Exit(FAILED)


def _print_list(json: bool) -> None:
    from airwatt import models

    if json:
        items = [_description(model) for model in models.ALL.values()]
        print_json({"schema": SCHEMA, "version": __version__, "models": items})
        return
    from airwatt.tables import table

    show(table(["model", "what it gives"], [[model.name, model.summary] for model in models.ALL.values()], left=2))


def _description(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "summary": model.summary,
        "source": model.source,
        "parameters": [field.to_dict() for field in model.parameters.values()],
        "results": [field.to_dict() for field in model.results.values()],
    }


def _print_description(model: Model, json: bool) -> None:
    if json:
        print_json({"schema": SCHEMA, "version": __version__} | _description(model))
        return
    from airwatt.tables import table

    parameters = [[field.name, _default(field), field.text] for field in model.parameters.values()]
    results = [[field.name, field.unit, field.text] for field in model.results.values()]
    show(
        f"{model.name}: {model.summary} ({model.source})",
        table(["parameter", "default", ""], parameters, left=3),
        table(["result", "unit", ""], results, left=3),
    )


def _default(field: Record) -> str:
    return "none" if field.default is None else _text(field, field.default)


def _text(field: Record, value: Any) -> str:
    """Writes a value with its unit, three or four digits."""
    from airwatt.tables import quantity

    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if field.unit in ("", "packets"):
        return f"{value:.6g}" if float(value).is_integer() else f"{value:.4g}"
    return quantity(value, field.unit)


def _print_point(model: Model, document: Mapping[str, Any], shown: Sequence[str]) -> None:
    from airwatt.tables import table

    results = document["points"][0]["results"]
    fields = [model.results[name] for name in shown]
    rows = [[field.name, _text(field, results[field.name]), field.text] for field in fields]
    show(table([model.name, "", ""], rows, also_left=[2]), *_notes(model, document))


def _print_points(model: Model, document: Mapping[str, Any], shown: Sequence[str]) -> None:
    from airwatt.tables import table

    points = document["points"]
    varied = list(points[0]["at"])
    shown = shown[: max(1, MAX_COLUMNS + 1 - len(varied))]
    rows = [
        [
            *(_text(model.parameters[name], point["at"][name]) for name in varied),
            *(_text(model.results[name], point["results"][name]) for name in shown),
        ]
        for point in points[:MAX_ROWS]
    ]
    heads = [*(model.parameters[name].short_name for name in varied), *(model.results[n].short_name for n in shown)]
    notes = list(_notes(model, document))
    if len(points) > MAX_ROWS:
        notes.append(f"{len(points) - MAX_ROWS} more rows; --json has all {len(points)}")
    show(table([head.replace("_", " ") for head in heads], rows, left=0), *notes)


def _notes(model: Model, document: Mapping[str, Any]) -> list[str]:
    """Says at which parameters the table is, apart from those that are in it and from defaults, and which points are
    outside the region in which the model holds."""
    changed = [
        f"{name} {_text(model.parameters[name], value)}"
        for name, value in document["parameters"].items()
        if value != model.parameters[name].default
    ]
    points = len(document["points"])
    outside = [
        f"{each['points']} of {points} points are outside the model's region: {each['text']}"
        if points > 1
        else f"outside the model's region: {each['text']}"
        for each in document.get("outside", ())
    ]
    return ([f"at {', '.join(changed)}"] if changed else []) + outside
