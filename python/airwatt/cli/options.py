"""The flags that several commands share, and how their texts are read."""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt._core import InputError
from airwatt.battery import Battery as _Battery
from airwatt.cli.parameters import Argument, Exit, Option
from airwatt.cli.status import THRESHOLD

if TYPE_CHECKING:
    from airwatt.threshold import RowNumbers, Threshold

Scenario = Annotated[str, Argument(help="A scenario file (TOML), or the name of one that ships.", show_default=False)]
Json = Annotated[bool, Option("--json", help="Print one JSON document and nothing else.")]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Override a key of the scenario; may be repeated."),
]
Seed = Annotated[int, Option("--seed", metavar="N", help="Seed of the first run.")]
Runs = Annotated[
    int,
    Option("--runs", metavar="N", help="Repeat with seeds N, N+1, ...; report mean and 95 % interval."),
]
FailIf = Annotated[
    list[str] | None,
    Option(
        "--fail-if",
        metavar="EXPRESSION",
        help="Exit with 3 if true: KEY OP NUMBER, as in 'stations.0.energy_j > 20'; with compare also ROW: before it,"
        " as in 'psm: stations.0.energy_j > 20'; may be repeated.",
    ),
]
Plot = Annotated[
    Path | None,
    Option("--plot", metavar="FILE", help="Draw a picture (.png, .svg, .pdf).", show_default=False),
]

Battery = Annotated[
    str | None,
    Option(
        "--battery",
        metavar="CAPACITY",
        help="How long it lasts: 1000mAh@3.7V, 1000mAh, 3.7Wh; then ,self-discharge=2% ,cutoff=10% ,load=0.5mA.",
        show_default=False,
    ),
]

WpaPwd = Annotated[
    list[str] | None,
    Option(
        "--wpa-pwd",
        metavar="PASS[:SSID]",
        help="Decrypt WPA2 with a passphrase; - reads standard input, since ps shows arguments; may be repeated.",
    ),
]
WpaPsk = Annotated[
    list[str] | None,
    Option("--wpa-psk", metavar="HEX", help="Decrypt WPA2 with a key of 64 digits; - as above; may be repeated."),
]

AllowBorrowed = Annotated[
    bool,
    Option(
        "--allow-borrowed",
        help="Say one number of days though over 5 % of the charge rest on another chip's values.",
    ),
]

Limit = Annotated[
    str | None,
    Option(
        "--limit",
        metavar="memory=SIZE,events=COUNT",
        help="Stop with status 1 beyond this cost: memory of packets, replays and time lines, beside the program's own "
        "(30 MB; 90 with --trace, 110 with --plot), and events of a station. Default: memory=2GB,events=1e10; captures "
        "below 1 MB have less, so that they take less than 200 MB in all.",
        show_default=False,
    ),
]

User = Annotated[
    str | None,
    Option(
        "--user",
        metavar="NAME",
        help="As root: who parses the capture; default: who called sudo, or nobody.",
        show_default=False,
    ),
]

RunLimit = Annotated[
    str | None,
    Option(
        "--limit",
        metavar="events=COUNT,memory=SIZE",
        help="Stop with status 1 if a run takes more events, or its traces more memory in all their forms. Default: "
        "events=1e10, some 20 minutes, and memory=4GB.",
        show_default=False,
    ),
]

Store = Annotated[
    Path | None,
    Option(
        "--store",
        metavar="DIR",
        help="Keep the runs in a store, new or old; what is there is not run again.",
        show_default=False,
    ),
]


@contextlib.contextmanager
def storing(store: Path | None) -> Iterator[None]:
    """Says of which option a file is that a store cannot write. Raises `InputError` or `RunError`."""
    if store is None:
        yield
        return
    from airwatt.cli.output import writing

    with writing("--store", store):
        yield


def print_schema(asked: bool, of: Callable[[], str]) -> bool:
    """Prints the JSON schema of a document and ends, if it is asked for."""
    if asked:
        from airwatt.cli.output import print_json

        schema = json.loads(of())
        # What is printed has it beside the version, where it is known.
        described = {"type": "string", "description": "The commit that this version was built from, if it is known."}
        for properties in (part.get("properties", {}) for part in (schema, *schema["$defs"].values())):
            if "version" in properties:
                properties["commit"] = described
        print_json(schema)
        raise Exit(0)
    return asked


def battery(text: str | None, allow_borrowed: bool = False) -> _Battery | None:
    """Reads `--battery`. Raises `InputError`."""
    return None if text is None else _Battery.parse(text)._replace(allow_borrowed=allow_borrowed)


def overrides(pairs: Iterable[str] | None) -> list[tuple[str, str]]:
    """Reads `KEY=VALUE` texts. Raises `InputError`."""
    return [(key, value.strip()) for _, key, value in by_key("--set", "KEY=VALUE", pairs)]


def by_key(option: str, form: str, texts: Iterable[str] | None) -> Iterator[tuple[str, str, str]]:
    """Yields the texts of an option, each with its key and what stands behind the `=`. Raises `InputError`."""
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{option}: expected {form}, got {text!r}")
        yield text, key.strip(), value


def names(option: str, text: str | None) -> list[str] | None:
    """Reads `A,B,...`. Raises `InputError` for an empty or a repeated name."""
    if text is None:
        return None
    parsed = [name.strip() for name in text.split(",")]
    if "" in parsed:
        raise InputError(f"{option}: expected A,B,..., got an empty name in {text!r}")
    for name in parsed:
        if parsed.count(name) > 1:
            raise InputError(f"{option} {text!r}: expected each name once, got {name} twice")
    return parsed


def parser_of_captures(user: str | None) -> str | None:
    """The user who parses captures; None for that of this process. Raises `InputError`.

    A capture may be hostile and needs no privilege once it is open, so that root leaves it to somebody else.
    """
    if os.geteuid() != 0:
        if user is not None:
            raise InputError(f"--user {user}: expected to be root, got user ID {os.geteuid()}")
        return None
    if user is None:
        caller = os.environ.get("SUDO_USER") or "root"
        user = "nobody" if caller == "root" else caller
    return None if user == "root" else user


SECRETS_CHARACTERS = 1_000_000
"""The most that is read of standard input for `--wpa-pwd` and `--wpa-psk`: some ten thousand passphrases."""


def secrets(option: str, texts: Sequence[str] | None, capture: str) -> list[str]:
    """Gives the secrets of a repeated option: with `-` the lines of standard input. Raises `InputError`."""
    found: list[str] = []
    for text in texts or ():
        if text != "-":
            found.append(text)
            continue
        if capture == "-":
            raise InputError(f"{option}: expected a capture in a file with -, got standard input for both")
        read = sys.stdin.read(SECRETS_CHARACTERS + 1)
        if len(read) > SECRETS_CHARACTERS:
            raise InputError(f"{option}: expected at most {SECRETS_CHARACTERS} characters in standard input, got more")
        lines = read.splitlines()
        if not any(lines):
            raise InputError(f"{option}: expected a line in standard input, got none")
        found += [line for line in lines if line]
    return found


def thresholds(expressions: Iterable[str] | None) -> "list[Threshold]":
    """Reads `--fail-if` texts before anything runs. Raises `InputError`."""
    if not expressions:
        return []
    from airwatt.threshold import Threshold

    return [Threshold.parse(expression) for expression in expressions]


def thresholds_of_runs(expressions: Iterable[str] | None, rows: Iterable[Mapping[str, str]] = ()) -> "list[Threshold]":
    """Reads `--fail-if` texts about runs, or about rows of them. Raises `InputError` for what no run will have."""
    limits = thresholds(expressions)
    choices = list(rows) if limits else []
    for limit in limits:
        limit.check_rows(choices)
        limit.check_key()
    return limits


def hold(limits: "Iterable[Threshold]", result: Mapping[str, Any]) -> None:
    """Exits with 3, and a line for each, where a threshold does not hold."""
    if not limits:
        return
    from airwatt.threshold import numbers

    held = numbers(result)
    hold_rows((limit, held) for limit in limits)


def hold_rows(limits: "Iterable[tuple[Threshold, Sequence[RowNumbers]]]") -> None:
    """The same for thresholds, each with what it is held against."""
    from airwatt.cli.output import say
    from airwatt.compared import names_of

    tripped = False
    for limit, held in limits:
        for choice, values in held:
            if not limit.holds_for(choice):
                continue
            row = f"{', '.join(names_of(choice))}: " if choice else ""
            for reason in limit.trips(values):
                say(f"--fail-if {limit.text!r}: {row}{reason}")
                tripped = True
    if tripped:
        raise Exit(THRESHOLD)
