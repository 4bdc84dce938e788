"""One occurrence of a finding: who was awake, what was buffered since when, TIM bits as sent and as they should be.

All lanes share one time axis around the packets that decide the verdict. The radio is what the captured frames show;
nothing in the picture is simulated.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from airwatt import timelines
from airwatt.plots import style

_MARGIN = 0.05
# Two beacon intervals of the usual length are seen at least, and which share of them before what was found.
_LEAST_S = 0.205
_BEFORE = {"pm-flapping": 0.95, "awake-in-power-save": 0.1}
_MOST_LABELS = 14
_TRANSITIONS = ("to-sleep", "wake-up")
# The beacon that these findings are about had the bit, and should not have had it.
_BIT_TOO_MANY = "tim-stuck"
# And here the beacon of the occurrence itself should have had it.
_BIT_TOO_FEW = "tim-never-set"
_GROUP_KINDS = ("group-announced-not-sent", "group-not-after-dtim", "more-data-missing")
_NO_DTIM = 255


class _Beacon(NamedTuple):
    time: float
    packet: int
    dtim_count: int
    sent: bool
    """The bit in question: the station's in the TIM, or that of group-addressed frames."""
    due: bool
    """What the bit should have been, as far as the capture proves."""


def draw_all(document: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draws a picture of each finding that violated a rule of 802.11; returns their files. Raises `OSError`."""
    faults = [finding for finding in document["findings"] if finding["count"] and finding["clause"]]
    paths = []
    for finding in faults:
        paths.append(folder / f"{finding['kind']}-{finding['station'].replace(':', '-')}.png")
        draw(document, finding, paths[-1])
    return paths


def draw(document: Mapping[str, Any], finding: Mapping[str, Any], path: Path) -> None:
    """Draws the first occurrence that violated the rule. Raises `OSError`."""
    occurrence = next(place for place in finding["occurrences"] if place["verdict"] == "violated")
    scene = _Scene(document, finding, occurrence)
    lanes = list(scene.lanes())
    with style.styled():
        figure = Figure(figsize=(11, 2.3 + 0.62 * len(lanes)), layout="constrained")
        axes = figure.subplots()
        for lane, (_, paint) in enumerate(lanes):
            paint(axes, lane)
        axes.set_xlim(1e3 * scene.start, 1e3 * scene.end)
        axes.set_ylim(len(lanes), 0)
        axes.set_yticks([lane + 0.5 for lane in range(len(lanes))], [name for name, _ in lanes])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("time of the capture (ms)")
        figure.legend(handles=scene.handles(), loc="outside lower center", ncols=4, handlelength=1.0)
        figure.suptitle(_title(document, finding), x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        axes.set_title("\n".join(_lines(document, finding)), fontweight="normal", fontsize=9, pad=8)
        style.save(figure, path)


def _title(document: Mapping[str, Any], finding: Mapping[str, Any]) -> str:
    name = Path(document["capture"]["file"]).name
    own = any(network["bssid"] == finding["station"] for network in document["air"]["networks"])
    where = "access point" if own else "station"
    return f"{finding['kind']}: {finding['severity']} of the {finding['whose']} ({name}, {where} {finding['station']})"


def _lines(document: Mapping[str, Any], finding: Mapping[str, Any]) -> Iterator[str]:
    """The rule and what was found, and the cost of all occurrences."""
    from airwatt.tables import quantity, span

    times = "once" if finding["count"] == 1 else f"{finding['count']} times, first"
    yield from textwrap.wrap(f"{finding['clause']}; {times}: {finding['text']}", 135)
    costs = []
    if finding["cost_j"] is not None:
        band = span(finding["cost_low_j"], finding["cost_high_j"], "J") if finding["cost_high_j"] else ""
        energy = quantity(finding["cost_j"], "J")
        costs.append(f"{energy} with radio {document['radio']}" + (f" ({band} with others)" if band else ""))
    if finding["delay_s"] is not None:
        delay = quantity(finding["delay_s"], "s") if finding["delay_s"] else "no"
        costs.append(f"{delay}{' of' if finding['delay_s'] else ''} delay")
    policy = f" under {finding['policy']}" if finding["policy"] else ""
    cost = " and ".join(costs) or "not known from the frames"
    yield from textwrap.wrap(f"In all it cost{policy}: {cost}. Compared with: {finding['without']}.", 135)


class _Scene:
    """The part of the time line around one occurrence, for one station."""

    def __init__(self, document: Mapping[str, Any], finding: Mapping[str, Any], occurrence: Mapping[str, Any]) -> None:
        self.line = document["timeline"]
        self.frames, self.sent_beacons = (timelines.columns(self.line, table) for table in ("frames", "beacons"))
        self.finding, self.occurrence = finding, occurrence
        self.deciding = {occurrence["packet"], *occurrence["packets"]}
        of_station = {station["mac"]: station for station in document["air"]["stations"]}
        # A finding about an access point is shown with the station in question, or one of its own.
        own = [mac for mac, one in of_station.items() if one["bssid"] == finding["station"]]
        named = [finding["station"], document["station"], *own]
        self.mac = next((mac for mac in named if mac in of_station), None)
        station = of_station.get(self.mac, {}) if self.mac else {}
        self.aid, self.bssid = station.get("aid"), station.get("bssid") or finding["station"]
        # The time line has the radio of the station in question alone.
        self.has_radio = self.mac is not None and self.mac == document["station"]
        times = [occurrence["time_s"], *(occurrence["buffered_s"] or ()), *self._times(self.deciding)]
        first, last = min(times), max(times)
        missing = max(_LEAST_S - (last - first), 0.0)
        before = _BEFORE.get(finding["kind"], 0.4) * missing
        margin = _MARGIN * max(last - first, _LEAST_S)
        self.start, self.end = max(first - before - margin, 0.0), last + missing - before + margin

    def _times(self, packets: set[int]) -> list[float]:
        tables = (self.frames, self.sent_beacons)
        return [
            time / 1e9
            for table in tables
            for packet, time in zip(table["packet"], table["time_ns"], strict=True)
            if packet in packets
        ]

    def lanes(self) -> Iterator[tuple[str, Any]]:
        """Yields the name of each lane and what paints it, the captured radio first."""
        if self.has_radio and self.line["captured"]["time_ns"]:
            yield f"radio of\n{self.mac}\nas captured", self._radio
        if self.mac is not None:
            yield "frames from it", lambda axes, lane: self._frames(axes, lane, up=True)
            yield "frames to it", lambda axes, lane: self._frames(axes, lane, up=False)
        if self.occurrence["buffered_s"] is not None:
            yield "buffered at the\naccess point", self._buffered
        beacons = self.beacons()
        if not beacons:
            return
        bit = "group bit" if self._is_group() else "TIM bit"
        yield "beacons", lambda axes, lane: self._beacons(axes, lane, beacons)
        if self._is_group() or self.aid is not None:
            yield f"{bit} as sent", lambda axes, lane: _bits(axes, lane, beacons, is_due=False)
            yield f"{bit} as it\nshould be", lambda axes, lane: _bits(axes, lane, beacons, is_due=True)

    def _is_group(self) -> bool:
        return self.finding["kind"] in _GROUP_KINDS

    def beacons(self) -> list[_Beacon]:
        """The beacons of the cell in the picture."""
        table = self.sent_beacons
        named = np.split(table["aids"], np.cumsum(table["aid_count"], dtype=np.int64)[:-1])
        found = []
        for row, (cell, time_ns) in enumerate(zip(table["cell"], table["time_ns"], strict=True)):
            time = time_ns / 1e9
            if self.line["cells"][cell] != self.bssid or not self.start <= time <= self.end:
                continue
            packet = table["packet"][row]
            sent = table["group"][row] if self._is_group() else self.aid in named[row]
            due = self._due(packet, time, sent=sent)
            found.append(_Beacon(time, packet, table["dtim_count"][row], sent, due))
        return found

    def _due(self, packet: int, time: float, *, sent: bool) -> bool:
        """What the bit should have been: what it was, unless the verdict says otherwise."""
        kind = self.finding["kind"]
        if kind == _BIT_TOO_FEW:
            blamed = {place["packet"] for place in self.finding["occurrences"] if place["verdict"] == "violated"}
            return sent or packet in blamed
        if kind == _BIT_TOO_MANY:
            return sent and packet != self.occurrence["packets"][0]
        if kind == "group-announced-not-sent":
            return sent and packet != self.occurrence["packet"]
        return sent

    def _radio(self, axes: Axes, lane: int) -> None:
        columns = timelines.columns(self.line, "captured")
        starts = columns["time_ns"] / 1e9
        ends = starts + columns["duration_ns"] / 1e9
        inside = (ends > self.start) & (starts < self.end)
        for start, end, code in zip(starts[inside], ends[inside], columns["state"][inside], strict=True):
            name = self.line["states"][code]
            colour = style.STATES["transition" if name in _TRANSITIONS else name]
            # Frames are shorter than a dot of the picture.
            width = max(end - start, (self.end - self.start) / 900)
            above = name in ("transmit", "receive")
            axes.barh(lane + 0.5, 1e3 * width, left=1e3 * start, height=0.8, color=colour, zorder=3 if above else 2)

    def _frames(self, axes: Axes, lane: int, *, up: bool) -> None:
        frames = self.frames
        station = self.line["stations"].index(self.mac) if self.mac in self.line["stations"] else -1
        rows = [
            row
            for row, (of, is_up, time) in enumerate(
                zip(frames["station"], frames["up"], frames["time_ns"], strict=True)
            )
            if of == station and is_up == up and self.start <= time / 1e9 <= self.end
        ]
        colour = style.STATES["transmit" if up else "receive"]
        # What decides the verdict has its number, and the others if there is room.
        labelled = (
            rows if len(rows) <= _MOST_LABELS else [row for row in rows if frames["packet"][row] in self.deciding]
        )
        for row in rows:
            at = frames["time_ns"][row] / 1e6
            axes.vlines(at, lane + 0.55, lane + 0.92, color=colour, linewidth=1.6)
        texts = [(frames["time_ns"][row] / 1e6, self._frame_text(row)) for row in labelled]
        self._labels(axes, lane + 0.5, texts)

    def _frame_text(self, row: int) -> str:
        frames = self.frames
        kind = self.line["kinds"][frames["kind"][row]]
        name = {"ps-poll": "PS-Poll", "null": "Null"}.get(kind, kind)
        bits = [f"PM={int(frames['power_management'][row])}"] if frames["up"][row] and name != "PS-Poll" else []
        bits += ["More"] if frames["more_data"][row] else []
        bits += ["EOSP"] if frames["eosp"][row] else []
        bits += ["retry"] if frames["repeated"][row] else []
        return f"{frames['packet'][row]} {name}" + (f" {' '.join(bits)}" if bits else "")

    def _labels(self, axes: Axes, y: float, texts: Sequence[tuple[float, str]]) -> None:
        """Writes texts at their times, and leaves out one that would lie on the one before."""
        room = 1e3 * (self.end - self.start) / 125
        free_from = -np.inf
        for at, text in texts:
            width = room * len(text)
            left = min(at, 1e3 * self.end - width)
            if left < free_from:
                continue
            axes.text(left, y, text, fontsize=7.5, va="bottom", ha="left", color=style.INK)
            free_from = left + width

    def _buffered(self, axes: Axes, lane: int) -> None:
        since, until = self.occurrence["buffered_s"]
        axes.barh(lane + 0.5, 1e3 * (until - since), left=1e3 * since, height=0.5, color=style.BUFFERED)
        text = f"one frame, {1e3 * (until - since):.1f} ms from {1e3 * since:.1f} ms on"
        axes.text(1e3 * (since + until) / 2, lane + 0.5, text, fontsize=8, ha="center", va="center", color=style.INK)

    def _beacons(self, axes: Axes, lane: int, beacons: Sequence[_Beacon]) -> None:
        axes.vlines([1e3 * one.time for one in beacons], lane + 0.55, lane + 0.92, color=style.INK, linewidth=1.4)
        texts = [
            (1e3 * one.time, f"{one.packet}" + ("" if one.dtim_count in (0, _NO_DTIM) else f" (DTIM {one.dtim_count})"))
            for one in beacons
            if len(beacons) <= _MOST_LABELS or one.packet in self.deciding
        ]
        self._labels(axes, lane + 0.5, texts)

    def handles(self) -> list[Patch]:
        """What the colours stand for, as far as the picture has them."""
        names = {"transmit": "sends", "receive": "receives", "listen": "listens", "sleep": "asleep"}
        handles = [Patch(color=style.STATES[state], label=name) for state, name in names.items()]
        if self.occurrence["buffered_s"] is not None:
            handles.append(Patch(color=style.BUFFERED, label="buffered"))
        if any(one.sent != one.due for one in self.beacons()):
            handles.append(Patch(color=style.WRONG, label="not as it should be"))
        return handles


def _bits(axes: Axes, lane: int, beacons: Sequence[_Beacon], *, is_due: bool) -> None:
    """A 0 or a 1 at each beacon; where both lanes differ, in the colour of what is wrong."""
    for one in beacons:
        bit = one.due if is_due else one.sent
        differs = one.sent != one.due
        axes.text(
            1e3 * one.time,
            lane + 0.5,
            str(int(bit)),
            fontsize=10,
            ha="center",
            va="center",
            fontweight="bold" if differs else "normal",
            color=style.WRONG if differs and not is_due else style.INK,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "linewidth": 1.2 if differs else 0.5,
                  "edgecolor": style.WRONG if differs and not is_due else style.GREY},
        )  # fmt: skip
