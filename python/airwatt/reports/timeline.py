"""Time lines for the page: what each radio did when, frames with their outcomes, the channel, windows and queues.

Everything is kept to the nanosecond, so that the page zooms from hours to microseconds without asking anyone. Beyond a
number of points a span of the run keeps its detail; outside it, periods of each state are added up in bins, whose order
within a bin is not kept but whose durations are exact, and single frames are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from airwatt.reports.pack import Array, Pack
from airwatt.timelines import labelled

if TYPE_CHECKING:
    import pyarrow as pa

POINTS = 2_000_000
"""How many periods, frames and steps a page holds in detail."""
_BINS = 4_000
_BEGIN_SHARE = 0.6
"""Where the span of full detail begins, if not everything has it: past slow start."""
MOST_STATIONS = 16
_MOST_SERIES = 8

STATES = ("transmit", "receive", "listen", "transition", "sleep")
_STATE_COLOURS = [f"state-{name}" for name in STATES]
_TRANSITIONS = {"to-sleep": "transition", "wake-up": "transition"}
OUTCOMES = (
    ("data received", "outcome-data"),
    ("control or management received", "outcome-control"),
    ("beacon", "outcome-beacon"),
    ("collision", "outcome-collision"),
    ("damaged by noise", "outcome-noise"),
    ("receiver asleep", "outcome-asleep"),
)
_OUTCOME_CODES = {"collision": 3, "noise": 4, "asleep": 5}
_SIGNAL_COLOURS = ("outcome-beacon", "outcome-collision", "series-3", "series-0")
_CHANNEL = (("one frame on the air", "outcome-data"), ("a collision", "outcome-collision"))


@dataclass(frozen=True)
class Window:
    """The span that keeps its detail."""

    begin: int
    end: int
    whole: int
    """The end of the run."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.begin <= 0 and self.end >= self.whole


def window_of(times: Sequence[Array], end: int, points: int) -> Window:
    """The span that has at most so many of the points with these times."""
    total = sum(len(part) for part in times)
    if total <= points:
        return Window(0, end, end)
    ordered = np.sort(np.concatenate(times))
    first = min(int(np.searchsorted(ordered, int(_BEGIN_SHARE * end))), total - points)
    return Window(int(ordered[first]), int(ordered[first + points - 1]), end)


def states_lane(label: str, start: Array, code: Array, window: Window, pack: Pack, **more: Any) -> dict[str, Any]:
    """A lane of periods without gaps, each of which lasts until the next one."""
    start, code = thinned(start, code, len(more["names"]), window)
    return {
        "kind": "states", "label": label, "start": pack.add_times(start), "code": pack.add(code, "u8"),
        "end_ns": window.whole, **more,
    }  # fmt: skip


def thinned(start: Array, code: Array, codes: int, window: Window) -> tuple[Array, Array]:
    """Periods with their detail inside the window; outside it each bin has a period for each state that it has."""
    if window.is_everything or len(start) <= 2 * _BINS:
        return start, code
    ends = np.append(start[1:], window.whole)
    share = (window.whole - (window.end - window.begin)) / _BINS or 1.0
    parts = []
    for low, high in ((int(start[0]), window.begin), (window.end, window.whole)):
        bins = max(1, round((high - low) / share))
        parts.append(_binned(start, ends, code, codes, np.linspace(low, high, bins + 1)) if high > low else None)
    first = int(np.searchsorted(start, window.begin, side="right")) - 1
    last = int(np.searchsorted(start, window.end))
    inside = np.maximum(start[first:last], window.begin), code[first:last]
    kept = [part for part in (parts[0], inside, parts[1]) if part is not None]
    return np.concatenate([part[0] for part in kept]), np.concatenate([part[1] for part in kept])


def _binned(start: Array, ends: Array, code: Array, codes: int, edges: Array) -> tuple[Array, Array]:
    knots = np.append(start, ends[-1]).astype(np.float64)
    durations = np.empty((len(edges) - 1, codes))
    for one in range(codes):
        spent = np.concatenate([[0.0], np.cumsum((ends - start) * (code == one))])
        durations[:, one] = np.diff(np.interp(edges, knots, spent))
    begins = edges[:-1, None] + np.cumsum(durations, axis=1) - durations
    wanted = durations > 0.5
    found = np.broadcast_to(np.arange(codes, dtype=code.dtype), durations.shape)[wanted]
    return np.round(begins[wanted]).astype(np.int64), found


def levels_lane(
    label: str, unit: str, series: Mapping[str, tuple[Array, Array]], window: Window, pack: Pack
) -> dict[str, Any]:
    """A lane of steps; outside the window only the last step of each bin, and the greatest, are kept."""
    drawn = []
    for name, (time, value) in list(series.items())[:_MOST_SERIES]:
        if not window.is_everything and len(time) > 4 * _BINS:
            keep = _steps_kept(time, value, window)
            time, value = time[keep], value[keep]
        drawn.append({"name": name, "time": pack.add_times(time), "value": pack.add(value, "f32")})
    return {"kind": "levels", "label": label, "unit": unit, "series": drawn}


def _steps_kept(time: Array, value: Array, window: Window) -> Array:
    bins = (time * _BINS) // max(window.whole, 1)
    keep = (time >= window.begin) & (time <= window.end)
    keep[np.flatnonzero(np.diff(bins, append=-1))] = True
    order = np.lexsort((value, bins))
    keep[order[np.flatnonzero(np.diff(bins[order], append=-1))]] = True
    return np.flatnonzero(keep)


def marks_lane(
    label: str, time: Array, code: Array, names: Sequence[str], colours: Sequence[str], pack: Pack
) -> dict[str, Any]:
    """A lane of instants."""
    return {
        "kind": "marks", "label": label, "start": pack.add_times(time), "code": pack.add(code, "u8"),
        "names": list(names), "colours": list(colours),
    }  # fmt: skip


@dataclass(frozen=True)
class Names:
    """What the scenario calls the stations and flows that traces have numbers of."""

    stations: Mapping[int, str] = field(default_factory=dict)
    flows: Mapping[int, str] = field(default_factory=dict)

    def station(self, number: int) -> str:
        """A station by its name; of traces without their document by its number."""
        return self.stations.get(number, f"station {number}")

    def member(self, traced: str) -> str:
        """A sender or receiver as traces of frames have it: `station 3`, or an access point by its name."""
        kind, _, number = traced.rpartition(" ")
        return self.station(int(number)) if kind == "station" and number.isdigit() else traced

    def flow(self, number: int) -> str:
        """A flow by its number and its two ends."""
        return f"flow {number}" + (f", {self.flows[number]}" if number in self.flows else "")


class RunLines:
    """The lanes of one traced run."""

    def __init__(self, traces: Mapping[str, pa.Table], end_s: float, names: Names) -> None:
        self.traces, self.names = traces, names
        self.end = max(1, round(1e9 * end_s))
        radios = traces["radio_states"]
        self._radio = _columns(radios, ("time_ns", "station"))
        self._state = coded(radios["state"], state_code)
        self._frames = _columns(traces["frames"], ("time_ns", "duration_ns"))
        self.stations = [int(one) for one in np.unique(self._radio["station"])]

    @property
    def times(self) -> list[Array]:
        """The times of everything that counts as a point."""
        levels = [np.asarray(self.traces[name]["time_ns"]) for name in ("congestion_window", "queues")]
        return [self._radio["time_ns"], self._frames["time_ns"], *levels]

    def radio(self, station: int, label: str, window: Window, pack: Pack) -> dict[str, Any]:
        """The lane of one radio."""
        own = self._radio["station"] == station
        return states_lane(
            label,
            self._radio["time_ns"][own],
            self._state[own],
            window,
            pack,
            names=list(STATES),
            colours=_STATE_COLOURS,
        )

    def lanes(self, window: Window, pack: Pack) -> list[dict[str, Any]]:
        """All lanes: the channel, frames by their senders, signals, radios, windows and queues."""
        found = [*self._channels(window, pack), *self._frame_lanes(window, pack), *self._signals(window, pack)]
        found += [
            self.radio(one, f"radio of {self.names.station(one)}", window, pack)
            for one in self.stations[:MOST_STATIONS]
        ]
        windows = _windows(self.traces["congestion_window"], self.names)
        if windows:
            found.append(levels_lane("congestion window", "B", windows, window, pack))
        queues = {
            name: one for name, one in _series(self.traces["queues"], "queue", "packets").items() if one[1].max() > 1
        }
        if queues:
            found.append(levels_lane("queues in packets", "", queues, window, pack))
        return found

    def _channels(self, window: Window, pack: Pack) -> list[dict[str, Any]]:
        if not len(self.traces["frames"]):
            return []
        of, names = labelled(self.traces["frames"]["cell"])
        lanes = []
        for index, name in enumerate(names):
            own = of == index
            start, code = occupancy(self._frames["time_ns"][own], self._frames["duration_ns"][own])
            label = f"channel of {name}" if len(names) > 1 else "channel"
            drawn = [("idle", "panel"), *_CHANNEL]
            lanes.append(
                states_lane(
                    label, start, code, window, pack, names=[one for one, _ in drawn], colours=[one for _, one in drawn]
                )
            )
        return lanes

    def _frame_lanes(self, window: Window, pack: Pack) -> list[dict[str, Any]]:
        table = self.traces["frames"]
        if not len(table):
            return []
        time = self._frames["time_ns"]
        inside = (time >= window.begin) & (time <= window.end)
        senders = coded(table["from"], lambda name: name.startswith("station")).astype(bool)
        lanes = []
        for label, wanted in (("frames from access points", ~senders), ("frames from stations", senders)):
            rows = np.flatnonzero(inside & wanted)
            if len(rows):
                lanes.append(_frames_lane(label, table.take(rows), self.names, window, pack))
        return lanes

    def _signals(self, window: Window, pack: Pack) -> list[dict[str, Any]]:
        lanes = []
        beacons, triggers = self.traces["beacons"], self.traces["triggers"]
        if len(beacons):
            announces = (np.asarray(beacons["tim_stations"]) > 0).astype(np.uint8)
            lanes.append(_signal_lane("beacons", beacons, announces, ("beacon", "beacon that announces frames"), pack))
        if len(triggers):
            kind = coded(triggers["kind"], ("trigger", "ps-poll", "pm-null", "data").index)
            names = ("trigger", "PS-Poll", "mode switch", "data")
            lanes.append(_signal_lane("requests of stations", triggers, kind, names, pack))
        return lanes


def _signal_lane(label: str, table: pa.Table, code: Array, names: Sequence[str], pack: Pack) -> dict[str, Any]:
    return marks_lane(label, np.asarray(table["time_ns"]), code, names, _SIGNAL_COLOURS[: len(names)], pack)


def _frames_lane(label: str, table: pa.Table, called: Names, window: Window, pack: Pack) -> dict[str, Any]:
    coded = {name: labelled(table[name]) for name in ("from", "to", "kind", "outcome", "rate_bps")}
    for name in ("from", "to"):
        coded[name] = (coded[name][0], [called.member(one) for one in coded[name][1]])
    (kind, kinds), (outcome, outcomes) = coded["kind"], coded["outcome"]
    received = np.array([2 if name == "beacon" else 0 if name == "data" else 1 for name in kinds])[kind]
    failed = np.array([_OUTCOME_CODES.get(name, -1) for name in outcomes])[outcome]
    code = np.where(failed >= 0, failed, received)
    rate, rates = coded["rate_bps"]
    coded["rate_bps"] = (rate, [f"{one / 1e6:g} Mb/s" for one in rates])
    names = {"kind": "type", "rate_bps": "rate"}
    fields = {names.get(name, name): pack.add(codes, "u16") for name, (codes, _) in coded.items()}
    labels = {names.get(name, name): texts for name, (_, texts) in coded.items()}
    fields |= {
        "bytes": pack.add(np.asarray(table["bytes"]), "u32"),
        "retry": pack.add(np.asarray(table["retry"]), "u8"),
        "sequence": pack.add(np.asarray(table["sequence"]), "u16"),
    }
    return {
        "kind": "frames", "label": label, "start": pack.add_times(np.asarray(table["time_ns"])),
        "duration": pack.add(np.asarray(table["duration_ns"]), "u32"), "code": pack.add(code, "u8"),
        "names": [name for name, _ in OUTCOMES], "colours": [colour for _, colour in OUTCOMES],
        "fields": fields, "labels": labels, "detail": [window.begin, window.end],
    }  # fmt: skip


def occupancy(start: Array, duration: Array) -> tuple[Array, Array]:
    """The periods of a channel: 0 idle, 1 with one frame on it, 2 with several."""
    if not len(start):
        return np.zeros(1, np.int64), np.zeros(1, np.uint8)
    edges = np.concatenate([start, start + duration])
    steps = np.concatenate([np.ones(len(start), np.int64), -np.ones(len(start), np.int64)])
    order = np.argsort(edges, kind="stable")
    edges, on_air = edges[order], np.cumsum(steps[order])
    # Of several changes at one instant the last one counts.
    last = np.flatnonzero(np.diff(edges, append=edges[-1] + 1))
    edges, code = edges[last], np.minimum(on_air[last], 2).astype(np.uint8)
    changed = np.flatnonzero(np.diff(code, prepend=255))
    edges, code = edges[changed], code[changed]
    if edges[0] > 0:
        edges, code = np.insert(edges, 0, 0), np.insert(code, 0, 0)
    return edges, code


def of_runs(
    runs: Mapping[str, tuple[Mapping[str, pa.Table], float, Names]], pack: Pack, points: int = POINTS
) -> list[dict[str, Any]]:
    """The time lines of traced runs by label: one that lays the radios beside each other, then each run's own."""
    lines = {label: RunLines(*traced) for label, traced in runs.items()}
    share = max(1, points // max(1, len(lines)))
    windows = {label: window_of(line.times, line.end, share) for label, line in lines.items()}
    own = [
        {
            "label": f"{label}: everything",
            "end_ns": line.end,
            "lanes": line.lanes(windows[label], pack),
            "note": _note(windows[label], line),
        }
        for label, line in lines.items()
    ]
    if len(lines) < 2:
        return own
    end = max(line.end for line in lines.values())
    beside = [
        line.radio(line.stations[0], f"{label}: radio of {line.names.station(line.stations[0])}", windows[label], pack)
        for label, line in lines.items()
        if line.stations
    ]
    together = {
        "label": "every choice: its radio",
        "end_ns": end,
        "lanes": beside,
        "note": "The first run of each choice.",
    }
    return [together, *own] if beside else own


def _note(window: Window, line: RunLines) -> str:
    texts = []
    if not window.is_everything:
        texts.append(
            f"Frames, and periods to the nanosecond, from {window.begin / 1e9:.3f} s to {window.end / 1e9:.3f} s; "
            "outside, times are exact over a few thousandths of the run, in no order within them. "
            "airwatt report --points keeps more."
        )
    if len(line.stations) > MOST_STATIONS:
        texts.append(f"The radios of {MOST_STATIONS} of {len(line.stations)} stations.")
    return " ".join(texts)


def _columns(table: pa.Table, names: Sequence[str]) -> dict[str, Array]:
    return {name: np.asarray(table[name]) for name in names}


def coded(column: Any, code: Callable[[Any], int]) -> Array:
    """The number of each value, which is asked for once for each different one."""
    indices, labels = labelled(column)
    codes: Array = np.array([code(label) for label in labels] or [0])[indices]
    return codes


def _windows(table: pa.Table, names: Names) -> dict[str, tuple[Array, Array]]:
    """The congestion windows of each flow, and of its connections after the first."""
    import pyarrow.compute as pc

    if "connection" not in table.column_names:
        return _series(table, "flow", "congestion_window_bytes", names.flow)
    found: dict[str, tuple[Array, Array]] = {}
    for one in pc.unique(table["connection"]).to_pylist():
        of_one = table.filter(pc.equal(table["connection"], one))
        series = _series(of_one, "flow", "congestion_window_bytes", names.flow)
        found |= {f"{name}, connection {one}" if one else name: levels for name, levels in series.items()}
    return found


def _series(
    table: pa.Table, key: str, value: str, called: Callable[[Any], str] = str
) -> dict[str, tuple[Array, Array]]:
    """Splits steps into a series a name, in the order of their first appearance."""
    indices, labels = labelled(table[key])
    time, level = np.asarray(table["time_ns"]), np.asarray(table[value])
    present = dict.fromkeys(indices.tolist())
    return {called(labels[one]): (time[indices == one], level[indices == one]) for one in present}


def state_code(name: str) -> int:
    """The place of a radio's state among `STATES`; both ways between awake and asleep are one."""
    return STATES.index(_TRANSITIONS.get(name, name))
