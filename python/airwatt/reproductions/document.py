"""The result document, and the files of a reproduction: its values as CSV, its picture."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from airwatt._core import SCHEMA, __version__
from airwatt.files import write_text
from airwatt.reproductions.engine import Finished
from airwatt.reproductions.publication import Value, tally


def document(finished: Sequence[Finished], files: dict[str, list[str]], runs: int, seed: int) -> dict[str, Any]:
    """The document that `--json` prints; `files` by the ids of the reproductions."""
    return {
        "schema": SCHEMA,
        "version": __version__,
        "runs_per_point": runs,
        "seed": seed,
        "total": asdict(tally([claim for item in finished for claim in item.outcome.claims])),
        "results": [_result(item, files.get(item.id, [])) for item in finished],
    }


def _result(item: Finished, files: list[str]) -> dict[str, Any]:
    return {
        "id": item.id,
        "alias": f"{item.document.number}.{item.reproduction.place}",
        "shows": item.reproduction.shows,
        "claims": [asdict(claim) for claim in item.outcome.claims],
        "values": [asdict(value) for value in item.outcome.values],
        "published": [asdict(value) for value in item.outcome.published],
        "notes": item.outcome.notes,
        "files": files,
    }


def values_csv(item: Finished) -> str:
    """All values, one a line, with the printed number where there is one for the same place.

    Claims follow under their text: many are about a ratio or an average. What is printed in words stays in words; an
    order has no value.
    """
    values = item.outcome.values
    keys = list(dict.fromkeys(key for value in values for key in value.at))
    printed = {_place(value): value.value for value in item.outcome.published}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["what", *keys, "value", "ci95", "unit", "published"])
    for value in values:
        place = [value.at.get(key, "") for key in keys]
        ci95 = "" if value.ci95 is None else f"{value.ci95:.6g}"
        writer.writerow([value.what, *place, f"{value.value:.6g}", ci95, value.unit, printed.get(_place(value), "")])
    for claim in item.outcome.claims:
        if claim.paper != "":
            here, paper = ("" if isinstance(claim.here, str) else f"{claim.here:.6g}"), claim.paper
            printed_as = paper if isinstance(paper, str) else f"{paper:.6g}"
            writer.writerow([claim.text, *[""] * len(keys), here, "", claim.unit, printed_as])
    return out.getvalue()


def _place(value: Value) -> tuple[str, frozenset[tuple[str, str | float]]]:
    return value.what, frozenset(value.at.items())


def write(item: Finished, folder: Path) -> list[Path]:
    """Writes the CSV and, where there is one, the picture of a reproduction. Raises `OSError`."""
    place = folder / item.document.name
    place.mkdir(parents=True, exist_ok=True)
    table = place / f"{item.reproduction.place}.csv"
    write_text(table, values_csv(item))
    written = [table]
    if item.reproduction.picture is not None and item.outcome.values:
        from airwatt.reproductions import picture

        written.append(place / f"{item.reproduction.place}.png")
        picture.draw(item, written[-1])
    return written
