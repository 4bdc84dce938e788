# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt", "matplotlib"]
# ///
"""Writes the tables of docs/evening.md and draws its picture: python tests/reference/evening_page.py

The tables stand between marks in the page (`<!-- NAME -->`). Every number is the mean of three runs, and
all of them take two minutes.
"""

import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from airwatt.aggregates import cause_name
from airwatt.laboratory import run
from airwatt.plots import style

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evening.md"
PICTURE = ROOT / "docs" / "img" / "evening.png"
SEEDS = (1, 2, 3)
STATIONS = (
    "television, video",
    "laptop, call",
    "laptop, pages",
    "phone, game",
    "thing, MQTT",
    "thing, CoAP",
    "thing, LwM2M",
    "thing, Matter",
)
PLUGGED_OR_CHARGED = 4
"""So many of the stations are no things."""
CHOICES = {
    "as it ships": {},
    "laptops with `uapsd`": {"station.1.power_save.policy": "uapsd"},
    "phone with `uapsd`": {"station.2.power_save.policy": "uapsd"},
    "laptops and phone with `psm`": {"station.1.power_save.policy": "psm", "station.2.power_save.policy": "psm"},
    "television with `timeout`": {"station.0.power_save.policy": "timeout"},
    "no broadcast of neighbours": {"ap.group": "[]"},
    "things hear each tenth beacon": {"station.3.listen_interval": "10"},
}
VIDEO, CALL, PAGES, GAME = 0, 2, 3, 7
"""Flows towards the house."""


def documents(choice: str, duration: str = "10min") -> list[Any]:
    """The documents of the runs."""
    keys = {"latency_percentiles": "true", "duration": duration, **CHOICES[choice]}
    return [run("evening", seed=seed, set=keys).to_dict() for seed in SEEDS]


def mean(values: list[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)


def by_cause(found: list[Any]) -> list[dict[str, float]]:
    """The mean energy of each station by cause, in joules; all flows are one cause."""
    stations = []
    for place in range(len(STATIONS)):
        causes = [each["stations"][place]["energy_by_cause_j"] for each in found]
        amounts = [
            {name: sum(value.values()) if name == "flow" else value for name, value in one.items()} for one in causes
        ]
        stations.append({cause_name(name): mean([one[name] for one in amounts]) for name in amounts[0]})
    return stations


def stations(found: list[Any]) -> str:
    """Table: what each station spends, for what, and how long it sleeps."""
    rows = ["| station | policy | J | asleep | for what |", "| --- | --- | --- | --- | --- |"]
    for place, causes in enumerate(by_cause(found)):
        whole = sum(causes.values())
        largest = sorted(causes.items(), key=lambda entry: -entry[1])[:4]
        reasons = ", ".join(f"{name} {100 * amount / whole:.0f} %" for name, amount in largest)
        spent = [each["stations"][place] for each in found]
        asleep = mean([100 * one["state_s"]["sleep"] / sum(one["state_s"].values()) for one in spent])
        rows.append(f"| {STATIONS[place]} | {spent[0]['policy']} | {whole:.2f} | {asleep:.0f} % | {reasons} |")
    return "\n".join(rows)


def whole(found: list[Any]) -> str:
    """Table: what all stations together spend, by cause."""
    totals: dict[str, float] = {}
    for causes in by_cause(found):
        for name, amount in causes.items():
            totals[name] = totals.get(name, 0.0) + amount
    spent = sum(totals.values())
    rows = ["| cause | J | share |", "| --- | --- | --- |"]
    for name, amount in sorted(totals.items(), key=lambda entry: -entry[1]):
        if amount >= 0.001 * spent:
            rows.append(f"| {name} | {amount:.1f} | {100 * amount / spent:.1f} % |")
    return "\n".join([*rows, f"| all | {spent:.0f} | 100 % |"])


def choice(name: str) -> str:
    """A row of the table of choices: two minutes, of which the delays are those towards the house."""
    found = documents(name, "2min")

    def energy(place: int) -> str:
        return f"{mean([each['stations'][place]['energy_j'] for each in found]):.3g}"

    def delays(flow: int) -> str:
        both = [mean([1e3 * each["flows"][flow][f"latency_s_p{p}"] for each in found]) for p in (50, 99)]
        return " / ".join(f"{one:.0f}" for one in both)

    pages = [mean([each["flows"][PAGES][f"response_s_p{p}"] for each in found]) for p in (50, 95)]
    cells = [name, *map(energy, range(5)), delays(CALL), delays(GAME), " / ".join(f"{one:.1f}" for one in pages)]
    return f"| {' | '.join(cells)} |"


def choices() -> str:
    """Table: what other settings spend and delay."""
    heads = ["choice", "television (J)", "call (J)", "pages (J)", "phone (J)", "MQTT (J)"]
    heads += ["call p50 / p99 (ms)", "game p50 / p99 (ms)", "page p50 / p95 (s)"]
    return "\n".join([f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|", *map(choice, CHOICES)])


def draw(found: list[Any], path: Path) -> None:
    """Bars of the stations by cause: those that are plugged in or charged, and the things on a scale of their own."""
    causes = by_cause(found)
    parts = (slice(0, PLUGGED_OR_CHARGED), slice(PLUGGED_OR_CHARGED, None))
    with style.styled():
        figure = Figure(figsize=(9.6, 3.0), layout="constrained")
        for axes, part in zip(figure.subplots(1, 2), parts, strict=True):
            names, shown = STATIONS[part], causes[part]
            style.cause_bars(axes, shown)
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            totals = [sum(one.values()) for one in shown]
            axes.set_xlim(0, 1.2 * max(totals))
            for place, total in enumerate(totals):
                style.value(axes, total, place, total)
            axes.set_title("energy in ten minutes (J) by cause")
            style.bare_y(axes)
        style.save(figure, path)


def marked(text: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{table}\n{end}{tail}"


def main() -> int:
    """Writes the page and the picture."""
    found = documents("as it ships")
    text = marked(PAGE.read_text(), "stations", stations(found))
    text = marked(text, "causes", whole(found))
    PAGE.write_text(marked(text, "choices", choices()))
    draw(found, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
