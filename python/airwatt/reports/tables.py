"""The tables below the pictures: flows, stations, outcomes of frames, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airwatt import aggregates
from airwatt._documents import RunResult
from airwatt.reports.study import Column, Table
from airwatt.reports.timeline import Names

if TYPE_CHECKING:
    import pyarrow as pa

Rows = Sequence[tuple[str, RunResult]]
"""Runs with the labels of their choices."""

_MOST_ROWS = 2_000
_FLOW = (
    Column("from", "from", kind="text"),
    Column("to", "to", kind="text"),
    Column("transport", "transport", kind="text"),
    Column("bytes_delivered", "delivered", "B"),
    Column("goodput_bps", "goodput", "b/s"),
    Column("measured_bps", "goodput measured", "b/s"),
    Column("completed_s", "done at", "s"),
    Column("rtt_s_mean", "RTT", "s"),
    Column("latency_s_mean", "latency", "s"),
    Column("response_s_p95", "answer 95 %", "s"),
    Column("block_s_p95", "block 95 %", "s"),
    Column("segments_sent", "segments"),
    Column("segments_retransmitted", "resent"),
    Column("timeouts", "time-outs"),
    Column("acks_lost", "ACKs lost"),
)
_STATION = (
    Column("policy", "policy", kind="text"),
    Column("radio", "radio", kind="text"),
    Column("energy_j", "energy", "J"),
    Column("lower_bound_j", "lower bound", "J"),
    Column("average_power_w", "power", "W"),
    Column("average_current_a", "current", "A"),
    Column("state_s.transmit", "transmit", "s"),
    Column("state_s.receive", "receive", "s"),
    Column("state_s.listen", "listen", "s"),
    Column("state_s.transition", "transition", "s"),
    Column("state_s.sleep", "sleep", "s"),
    Column("wakeups", "wake-ups"),
    Column("triggers", "triggers"),
    Column("ps_polls", "PS-Polls"),
    Column("service_periods", "service periods"),
    Column("waits_given_up", "waits given up"),
    Column("beacons_missed", "beacons missed"),
)
_CELL = (
    Column("airtime_utilization", "airtime", "%"),
    Column("frames", "frames"),
    Column("retries", "retries"),
    Column("collisions", "collisions"),
    Column("retry_limit_drops", "given up"),
    Column("ap_drops", "dropped at access point"),
    Column("down_queue_drops", "dropped at queue down"),
    Column("up_queue_drops", "dropped at queue up"),
)


def of_runs(runs: Rows) -> list[Table]:
    """Flows, stations and the channel of each run."""
    everything = [run for _, run in runs]
    measured = any(flow.measured_bps is not None for run in everything for flow in run.flows)
    head, unwanted = aggregates.goodput_head(everything), "goodput_bps" if measured else "measured_bps"
    flow = [replace(one, label=head) if one.unit == "b/s" else one for one in _FLOW if one.key != unwanted]
    return [
        _items("flows", "Flows", flow, runs, "flows"),
        _items("stations", "Stations and states", _STATION, runs, "stations"),
        _items("channel", "The channel", _CELL, runs, None),
    ]


def _items(name: str, title: str, columns: Sequence[Column], runs: Rows, what: str | None) -> Table:
    seeds = len({run.seed for _, run in runs}) > 1
    several = what is not None and any(len(run[what]) > 1 for _, run in runs)
    rows: list[list[Any]] = []
    left_out = 0
    for label, run in runs:
        for item in [run.cell] if what is None else run[what]:
            if len(rows) == _MOST_ROWS:
                left_out += 1
                continue
            number = f", {_called(name, item)}" if several else ""
            seed = f", seed {run.seed}" if seeds else ""
            rows.append([f"{label}{seed}{number}", *(_value(item, column.key) for column in columns)])
    present = [place for place in range(len(columns)) if any(row[place + 1] is not None for row in rows)]
    rows = [[row[0], *(row[place + 1] for place in present)] for row in rows]
    text = f"{left_out} further rows are left out; airwatt sweep export has all." if left_out else ""
    return Table(name, title, [Column("", "", kind="text"), *(columns[place] for place in present)], rows, text)


def _called(name: str, item: Mapping[str, Any]) -> str:
    """A station by its name, a flow by its number: it has its two ends in columns."""
    number = f"{name.removesuffix('s')} {item['id']}"
    return str(item.get("name", number)) if name == "stations" else number


def _value(item: Mapping[str, Any], path: str) -> Any:
    value: Any = item
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def of_frames(label: str, frames: pa.Table, names: Names) -> list[list[Any]]:
    """Outcomes of frames by sender, kind and rate: a row each, with its label first."""
    import pyarrow.compute as pc

    if not len(frames):
        return []
    named = {name: frames[name].cast("string") for name in ("from", "kind", "outcome")}
    table = frames.select(["rate_bps", "retry", "duration_ns", "bytes"])
    for name, column in named.items():
        table = table.append_column(name, column)
    for outcome in _OUTCOMES:
        table = table.append_column(outcome, pc.equal(table["outcome"], outcome).cast("int64"))
    table = table.set_column(1, "retry", table["retry"].cast("int64"))
    sums = [("duration_ns", "count"), ("duration_ns", "sum"), ("bytes", "mean"), ("retry", "sum")]
    grouped = table.group_by(["from", "kind", "rate_bps"]).aggregate([*sums, *((one, "sum") for one in _OUTCOMES)])
    grouped = grouped.sort_by([("duration_ns_sum", "descending")])
    return [
        [
            f"{label}: {names.member(row['from'])}", row["kind"], float(row["rate_bps"]), row["duration_ns_count"],
            float(row["bytes_mean"]), row["duration_ns_sum"] / 1e9, row["retry_sum"],
            *(row[f"{outcome}_sum"] for outcome in _OUTCOMES),
            row["received_sum"] / row["duration_ns_count"],
        ]
        for row in grouped.to_pylist()
    ]  # fmt: skip


_OUTCOMES = ("received", "collision", "noise", "asleep")


def frames_table(rows: Sequence[Sequence[Any]]) -> Table:
    """The table of `of_frames`."""
    columns = [
        Column("", "sender", kind="text"), Column("kind", "kind", kind="text"), Column("rate", "rate", "b/s"),
        Column("frames", "frames"), Column("bytes", "mean length", "B"), Column("air", "on the air", "s"),
        Column("retries", "retries"), Column("received", "received"), Column("collision", "collision"),
        Column("noise", "noise"), Column("asleep", "receiver asleep"), Column("share", "received", "%"),
    ]  # fmt: skip
    return Table(
        "frames", "Frames and their outcomes", columns, rows, "The first run of each choice, every transmission."
    )


def of_findings(findings: Sequence[Mapping[str, Any]]) -> Table:
    """What a capture shows that breaks a rule or costs energy."""
    columns = [
        Column("kind", "finding", kind="text"), Column("certainty", "certainty", kind="text"),
        Column("severity", "severity", kind="text"), Column("count", "times"), Column("cost_j", "cost", "J"),
        Column("delay_s", "delay", "s"), Column("first", "first packet"),
        Column("text", "what it is", kind="text", wrap=True),
    ]  # fmt: skip
    rows = [
        [
            finding["kind"], finding["certainty"], finding["severity"], finding["count"], finding.get("cost_j"),
            finding.get("delay_s"), finding["occurrences"][0]["packet"] if finding["occurrences"] else None,
            finding["text"],
        ]
        for finding in findings
    ]  # fmt: skip
    return Table("findings", "Findings", columns, rows)
