"""How results look where they are not printed as a document: a line each, and in a notebook a table with a picture.

A picture is made where matplotlib is installed and the result has what it shows: a comparison always, a run and an
analysis if they were traced.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwatt import aggregates
from airwatt.files import temporary_folder
from airwatt.tables import estimate, percent, quantity

if TYPE_CHECKING:
    import pyarrow as pa

    from airwatt._documents import RunResult
    from airwatt.compared import ComparedRow


def line_of_runs(name: str, runs: Sequence[RunResult]) -> str:
    """What runs of one choice came to, in a line."""
    seeds = f"seed {runs[0].seed}" if len(runs) == 1 else f"{len(runs)} runs from seed {runs[0].seed}"
    shown = [f"{quantity(aggregates.over(runs, aggregates.energy_j).mean, 'J')}"]
    if any(run.flows for run in runs):
        shown.append(quantity(aggregates.over(runs, aggregates.shown_bps).mean, "b/s"))
    return f"<{name} {runs[0].scenario}, {seeds}: {', '.join(shown)}>"


def of_run(result: RunResult, traces: Mapping[str, pa.Table]) -> str:
    """A run as HTML: its stations, its flows, and the time line where it was traced."""
    stations = [
        [aggregates.station_label(result, one), one.policy, quantity(one.energy_j, "J"),
         quantity(one.average_power_w, "W"), percent(one.state_s["sleep"] / (sum(one.state_s.values()) or 1.0))]
        for one in result.stations
    ]  # fmt: skip
    flows = [
        [aggregates.flow_label(result, one), one.transport, quantity(aggregates.shown_flow_bps(one), "b/s"),
         quantity(one.completed_s, "s")] for one in result.flows
    ]  # fmt: skip
    parts = [paragraph(f"{result.scenario}, seed {result.seed}, {quantity(result.simulated_s, 's')}")]
    parts += [html_table(["station", "policy", "energy", "power", "asleep"], stations)] if stations else []
    parts += [html_table(["flow", "transport", aggregates.goodput_head([result]), "done at"], flows)] if flows else []
    if traces:

        def draw(path: Path) -> None:
            from airwatt.plots import timeline

            timeline.draw(result, traces, path)

        parts.append(_picture(draw))
    return "\n".join(parts)


def of_runs(runs: Sequence[RunResult]) -> str:
    """Repeated runs as HTML: means and 95 % intervals."""
    title = f"{runs[0].scenario}, {len(runs)} runs from seed {runs[0].seed}"
    return "\n".join([paragraph(title), html_table(_heads(runs), [_numbers(runs)])])


def of_comparison(scenario: str, compared: Sequence[ComparedRow]) -> str:
    """A comparison as HTML: a row a choice, and the picture of `airwatt compare --plot`."""

    def draw(path: Path) -> None:
        from airwatt.plots import compare

        compare.draw(scenario, compared, path)

    rows = [[*row.choice.values(), *_numbers(row.runs)] for row in compared]
    heads = [*(compared[0].choice if compared else ()), *_heads([run for row in compared for run in row.runs])]
    return "\n".join([paragraph(scenario), html_table(heads, rows), *([_picture(draw)] if compared else [])])


def of_analysis(document: Mapping[str, Any]) -> str:
    """An analysis as HTML: what each policy would have spent, the findings, and the time line if it was traced."""
    if "analyses" in document:
        return paragraph(f"{len(document['analyses'])} stations: of_stations has the analysis of each")
    if "candidates" in document and not document.get("policies"):
        return paragraph(f"{len(document['candidates'])} stations, none of them chosen: station= names one")
    rows = [[one["policy"], quantity(one["energy_j"], "J"), quantity(one["average_power_w"], "W")]
            for one in document["policies"]]  # fmt: skip
    found = [[one["kind"], str(one["count"]), str(one["undecidable"])] for one in document.get("findings", [])]
    parts = [html_table(["policy", "energy", "power"], rows)] if rows else []
    parts += [html_table(["finding", "violated", "undecidable"], found)] if found else []
    if "timeline" in document:

        def draw(path: Path) -> None:
            from airwatt.plots import analyze

            analyze.draw(document, path)

        parts.append(_picture(draw))
    return "\n".join(parts)


def _heads(runs: Sequence[RunResult]) -> list[str]:
    return [aggregates.goodput_head(runs), "done at", "energy", "asleep"]


def _numbers(runs: Sequence[RunResult]) -> list[str]:
    def mean(number: aggregates.Number, unit: str) -> str:
        return estimate(aggregates.over(runs, number), unit) if any(run.flows for run in runs) else ""

    asleep = aggregates.over(runs, lambda run: aggregates.share(run, "sleep")).mean
    energy = estimate(aggregates.over(runs, aggregates.energy_j), "J")
    return [mean(aggregates.shown_bps, "b/s"), mean(aggregates.completed_s, "s"), energy, percent(asleep)]


def paragraph(text: str) -> str:
    """A text as HTML."""
    return f"<p>{html.escape(text)}</p>"


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML."""

    def row(cells: Sequence[str], kind: str) -> str:
        texts = (html.escape(" ".join(cell.split())) for cell in cells)
        return "<tr>" + "".join(f"<{kind}>{text}</{kind}>" for text in texts) + "</tr>"

    return "\n".join(["<table>", row(heads, "th"), *(row(cells, "td") for cells in rows), "</table>"])


def _picture(draw: Callable[[Path], None]) -> str:
    """A picture within the text; nothing where matplotlib is not installed."""
    with temporary_folder() as folder:
        path = folder / "picture.png"
        try:
            draw(path)
        except ImportError:
            return ""
        data = base64.b64encode(path.read_bytes()).decode()
    return f'<img src="data:image/png;base64,{data}" style="max-width: 100%">'
