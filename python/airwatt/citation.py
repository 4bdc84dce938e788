"""What to cite: airwatt with its version, the publications of mechanisms, and the sources of radio profiles."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from airwatt import laboratory
from airwatt._core import Scenario, __version__
from airwatt.built import commit, date, repository

Entry = Mapping[str, str]
"""The fields of a BibTeX entry, with its `key` and its `type`."""

_AUTHORS = "{The airwatt authors}"
_NEEDED = {
    "misc": ("howpublished", "year"), "inproceedings": ("booktitle", "year"), "article": ("journal", "year"),
    "techreport": ("institution", "year"), "phdthesis": ("school", "year"), "mastersthesis": ("school", "year"),
    "book": ("publisher", "year"),
}  # fmt: skip
"""What a bibliography asks for, by the type of an entry."""
_SPECIAL = re.compile(r"([&%$#_])")


def of_airwatt() -> Entry:
    """The entry of this software."""
    built = commit()
    note = f"Version {__version__}" + (f", commit {built}" if built else "")
    title = "airwatt: A Laboratory for What a {Wi-Fi} Radio Spends on {TCP}"
    address = repository()
    # Not `software`: the styles that come with BibTeX do not know it.
    entry = {"key": "airwatt", "type": "misc", "author": _AUTHORS, "title": title, "note": note}
    return {
        **entry,
        **_year(),
        **({"howpublished": f"\\url{{{address}}}"} if address else {}),
    }


def _year() -> dict[str, str]:
    """The year of the commit that this package is of, as far as it is known."""
    year = (date() or "").partition("-")[0]
    return {"year": year} if year else {}


def of(name: str) -> list[Entry]:
    """The entries of a policy, a transport, a radio profile, a scenario, or a store. Raises `InputError`."""
    radios = {radio.name: radio for radio in laboratory.radios()}
    if name in radios:
        return list(_of_radio(name, radios[name].source))
    if name in {item.name for item in (*laboratory.policies(), *laboratory.transports())}:
        return list(_of(name))
    if (Path(name) / "plans").is_dir():
        from airwatt.sweeps.store import Files

        planned = Files.open(Path(name)).plans(texts=True)
        texts = [(plan.scenario, text.as_py()) for plan in planned for text in plan.texts or ()]
        return of_scenarios(Scenario.from_toml(text, name=title) for title, text in texts)
    return of_scenarios([laboratory.load(name)])


def of_scenarios(scenarios: Iterable[Scenario]) -> list[Entry]:
    """The entries of what scenarios use: airwatt, mechanisms, radio profiles. Raises `InputError`."""
    found: list[Entry] = [of_airwatt()]
    for scenario in scenarios:
        found += _of(scenario.name)
        for key, value in texts(scenario.to_dict(expand=True)):
            if key in ("policy", "transport"):
                found += _of(value)
            elif key == "radio" and value != "shared":  # That of the station, of which an access point is a part.
                found += _of_radio(value, laboratory.radio(value).source)
            elif key == "tunnel":
                found += _of("tunnel")
    return each_once(found)


def bibtex(entries: Iterable[Entry]) -> str:
    """Entries as a BibTeX file. A comment says what an entry lacks that only a person can fill in."""
    return "\n".join(_one(entry) for entry in entries)


def _one(entry: Entry) -> str:
    fields = [(name, value) for name, value in entry.items() if name not in ("key", "type", "of")]
    width = max(len(name) for name, _ in fields)
    lines = [f"  {name:{width}} = {{{value}}}," for name, value in fields]
    missing = [name for name in _NEEDED.get(entry["type"], ()) if name not in entry]
    if "howpublished" in missing and entry["key"] == "airwatt":
        missing[missing.index("howpublished")] += (
            " (where a reader can get this version; the project states no address)"
        )
    # BibTeX ignores what stands between entries.
    note = [f"% To be filled in by hand, as it is not known here: {', '.join(missing)}"] if missing else []
    return "\n".join([*note, f"@{entry['type']}{{{entry['key']},", *lines, "}", ""])


def _of(name: str) -> Iterator[Entry]:
    """Yields the publications of a mechanism, also of the one beside it (`newreno+ackloss`)."""
    parts = {name, name.partition("+")[0], "+" + name.partition("+")[2]}
    for entry in _published():
        if parts & set(entry["of"]):
            yield {key: str(value) for key, value in entry.items() if key != "of"}


def _of_radio(name: str, source: str) -> Iterator[Entry]:
    """Yields the publication that a radio's numbers are from, if there is one, and the profile: where in it."""
    plain = Path(name).stem if "/" in name else name
    published = list(_of(plain)) if plain == name else []
    yield from published
    cited = "".join(f" \\cite{{{entry['key']}}}" for entry in published)
    # Whose a profile in a user's own file is, the user knows.
    ours = {"author": _AUTHORS, "howpublished": f"A file of airwatt {__version__} \\cite{{airwatt}}", **_year()}
    yield {
        "key": f"airwatt-radio-{plain}", "type": "misc", **(ours if plain == name else {}),
        "title": f"Currents of the radio profile {_escaped(plain)}", "note": _escaped(source) + cited,
    }  # fmt: skip


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


@functools.cache
def _published() -> list[dict[str, Any]]:
    text = resources.files("airwatt").joinpath("references.toml").read_text(encoding="utf-8")
    return [{"key": key, **fields} for key, fields in tomllib.loads(text).items()]


def texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts of a nested document with their keys; of a table its key with no text."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, Mapping):
                yield name, ""
            yield from texts(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item, key)
    elif isinstance(value, str):
        yield key, value


def each_once(entries: Iterable[Entry]) -> list[Entry]:
    """Entries without those whose key was there before."""
    return list({entry["key"]: entry for entry in entries}.values())
