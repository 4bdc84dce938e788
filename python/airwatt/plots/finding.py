"""One occurrence of a finding: who was awake, what was buffered since when, TIM bits as sent and as they should be.

All lanes share one time axis around the packets that decide the verdict. The radio is what the captured frames show,
and between them what a station in power save is assumed to do, as the picture says; nothing in it is simulated.
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
from airwatt.plots.labels import Labels

_MARGIN = 0.05
# How much of the capture is seen at least: two beacon intervals, or as many as a finding about beacons needs.
_LEAST_S = 0.205
_LEAST_OF_KIND_S = {"beacon-late": 0.36, "beacon-missing": 0.46, "dtim-skipped": 0.56}
# Which share of that lies before what was found.
_BEFORE = {"pm-flapping": 0.95, "awake-in-power-save": 0.1, "uapsd-not-granted": 0.1}
_ASSUMED = (
    "The radio between its frames is assumed: with PM = 1 it sleeps but for DTIM beacons, answers that it waits for, "
    "and group-addressed frames that are announced."
)
# After these requests the station waits in vain for as long as the cost says.
_WAITS_S = {"ps-poll-unanswered": 0.205, "more-data-then-nothing": 0.205}
_MOST_LABELS = 14
# From one row of labels to the next, in lanes.
_ROW = 0.22
_TRANSITIONS = ("to-sleep", "wake-up")
# What is wrong with the frame of these findings.
_WRONG_FRAMES = {
    "sent-to-sleeping-station": "not requested",
    "group-not-after-dtim": "not after a DTIM beacon",
    "more-data-missing": "More=0, should be 1",
    "more-data-then-nothing": "should be 0",
    "uapsd-not-granted": "grants no U-APSD",
    "late-delivery": "late",
    "eosp-missing": "no EOSP",
    "twt-delivery-outside": "outside",
    "twt-sent-outside": "outside",
}
# In these the wrong frame is the last of the deciding ones: the packet of the occurrence is the request.
_WRONG_IS_LAST = ("eosp-missing",)
_GROUP_KINDS = ("group-announced-not-sent", "group-not-after-dtim", "more-data-missing")
_TIM_KINDS = (
    "tim-never-set", "tim-stuck", "tim-missing", "late-fetch", "late-delivery", "ps-poll-unanswered",
    "more-data-then-nothing", "sent-to-sleeping-station", "twt-delivery-outside", "twt-absent",
)  # fmt: skip
# The kinds among whose deciding frames are those that prove a sleep, and how far beside the rest such a frame is shown.
_PROVE_SLEEP, _FAR_S = ("tim-never-set", *_GROUP_KINDS), 0.5
_NO_DTIM = 255
# What stands for a field that no frame decides.
_NOT_JUDGED = "–"


class _Beacon(NamedTuple):
    time: float
    packet: int
    dtim_count: int
    dtim_period: int
    sent: str
    """The field in question: the station's bit in the TIM, that of group-addressed frames, or the DTIM count."""
    due: str
    """What it should have been, as far as the capture proves."""

    def is_wrong(self) -> bool:
        """Whether the field is proven to be another one than it should have been."""
        return self.due not in (self.sent, _NOT_JUDGED)


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
        axes.set_xlabel(scene.caption(), fontsize=9)
        # Late in a capture these are large numbers, and Wireshark has their digits.
        axes.ticklabel_format(axis="x", style="plain")
        figure.legend(handles=scene.handles(), loc="outside lower center", ncols=6, handlelength=1.0)
        figure.suptitle(_title(document, finding, occurrence), x=0.01, ha="left", fontsize=10.5, fontweight="bold")
        axes.set_title("\n".join(_lines(document, finding)), fontweight="normal", fontsize=9, pad=8)
        style.save(figure, path)


def _title(document: Mapping[str, Any], finding: Mapping[str, Any], occurrence: Mapping[str, Any]) -> str:
    name = Path(document["capture"]["file"]).name
    own = any(network["bssid"] == finding["station"] for network in document["air"]["networks"])
    where = f"{'access point' if own else 'station'} {finding['station']}"
    with_ = f" with {occurrence['access_point']}" if not own and occurrence["access_point"] else ""
    text = f"{finding['kind']}: {finding['severity']} of the {finding['whose']} ({name}, {where}{with_})"
    return textwrap.fill(text, 105)


def _lines(document: Mapping[str, Any], finding: Mapping[str, Any]) -> Iterator[str]:
    """The rule and what was found, and the cost of all occurrences."""
    from airwatt.tables import quantity, span

    times = "once" if finding["count"] == 1 else f"{finding['count']} times, first"
    yield from textwrap.wrap(f"{finding['clause']}; {times}: {finding['text']}", 135)
    costs = []
    if finding["cost_j"] is not None:
        band = span(finding["cost_low_j"], finding["cost_high_j"], "J") if finding["cost_high_j"] else ""
        energy = quantity(finding["cost_j"], "J")
        costs.append(f"{energy} with radio {finding['radio']}" + (f" ({band} with others)" if band else ""))
    if finding["delay_s"] is not None:
        delay = quantity(finding["delay_s"], "s") if finding["delay_s"] else "no"
        costs.append(f"{delay}{' of' if finding['delay_s'] else ''} delay")
    policy = f" under {finding['policy']}" if finding["policy"] else ""
    # Of a station nothing else is known: it may have been awake.
    whom = "" if policy or finding["whose"] == "station" else " a station that sleeps"
    cost = " and ".join(costs) or "not known from the frames"
    yield from textwrap.wrap(f"In all it cost{whom}{policy}: {cost}. Compared with: {finding['without']}.", 135)


def _is_of_one_wait(place: Mapping[str, Any], occurrence: Mapping[str, Any]) -> bool:
    """Whether an occurrence is the one in question, or violated the rule about the same frame in the buffer."""
    buffered = occurrence["buffered_s"]
    is_same = buffered is not None and place["buffered_s"] == buffered
    return place is occurrence or (is_same and place["verdict"] == "violated")


class _Scene:
    """The part of the time line around one occurrence, for one station."""

    def __init__(self, document: Mapping[str, Any], finding: Mapping[str, Any], occurrence: Mapping[str, Any]) -> None:
        self.document, self.line = document, document["timeline"]
        tables = ("frames", "beacons", "groups")
        self.frames, self.sent_beacons, self.groups = (timelines.columns(self.line, table) for table in tables)
        self.finding, self.occurrence = finding, occurrence
        # All beacons that concealed one frame are of one picture.
        same = [place for place in finding["occurrences"] if _is_of_one_wait(place, occurrence)]
        self.deciding = {packet for place in same for packet in (place["packet"], *place["packets"])}
        of_station = {station["mac"]: station for station in document["air"]["stations"]}
        # A finding about an access point is shown with the station in question, or one of its own.
        own = [
            mac
            for mac, one in of_station.items()
            if any(other["bssid"] == finding["station"] for other in one["access_points"])
        ]
        named = [finding["station"], document["station"], *own]
        self.mac = next((mac for mac in named if mac in of_station), None)
        station = of_station.get(self.mac, {}) if self.mac else {}
        self.bssid = occurrence["access_point"] or station.get("bssid") or finding["station"]
        # A station that roams has an association identifier of each.
        aids = {one["bssid"]: one["aid"] for one in station.get("access_points", ())}
        self.aid = occurrence.get("aid", aids.get(self.bssid))
        # The time line has the radio of the station in question alone.
        is_own = self.mac is not None and self.mac == document["station"]
        self.shows_radio = is_own and len(self.line["captured"]["time_ns"]) > 0
        kind = finding["kind"]
        due = occurrence.get("due_s", ())
        self.periods = occurrence.get("periods_s", ())
        times = [occurrence["time_s"], *due, *(occurrence["buffered_s"] or ())]
        # The numbers that prove who slept may be of frames far away.
        far = _FAR_S if kind in _PROVE_SLEEP else float("inf")
        begin, end = min(times) - far, max(times) + far
        times += [time for time in self._times(self.deciding) if begin <= time <= end]
        # The nearest service period is seen, however far it is.
        at = occurrence["time_s"]
        if self.periods:
            nearest: Sequence[float] = min(self.periods, key=lambda period: max(period[0] - at, at - period[1]))
            times += nearest
        first, last = min(times), max(times)
        last = max(last, self._last_request() + _WAITS_S[kind]) if kind in _WAITS_S else last
        least = _LEAST_OF_KIND_S.get(kind, _LEAST_S)
        missing = max(least - (last - first), 0.0)
        before = _BEFORE.get(kind, 0.4) * missing
        margin = _MARGIN * max(last - first, least)
        self.start = max(first - before - margin, -margin)
        self.end = min(last + missing - before, max(last, self._end())) + margin

    def _end(self) -> float:
        """The time of the last frame in the capture."""
        tables = (self.frames, self.sent_beacons, self.groups)
        return max((table["time_ns"][-1] / 1e9 for table in tables if len(table["time_ns"])), default=0.0)

    def _last_request(self) -> float:
        """The time of the station's last frame among those that decide."""
        frames = self.frames
        rows = zip(frames["packet"], frames["time_ns"], frames["up"], strict=True)
        return max((time / 1e9 for packet, time, up in rows if up and packet in self.deciding), default=0.0)

    def _times(self, packets: set[int]) -> list[float]:
        tables = (self.frames, self.sent_beacons, self.groups)
        return [
            time / 1e9
            for table in tables
            for packet, time in zip(table["packet"], table["time_ns"], strict=True)
            if packet in packets
        ]

    def lanes(self) -> Iterator[tuple[str, Any]]:
        """Yields the name of each lane and what paints it, the captured radio first."""
        if self.shows_radio:
            yield f"radio of\n{self.mac}\nby its frames", self._radio
        for name, up in (("frames from it", True), ("frames to it", False)):
            if rows := self._rows(up=up):
                yield name, lambda axes, lane, rows=rows, up=up: self._frames(axes, lane, rows, up=up)
        groups = self._group_rows()
        if groups or self._is_group():
            yield "frames to\nthe group", lambda axes, lane: self._group_frames(axes, lane, groups)
        if self.occurrence["buffered_s"] is not None:
            yield "buffered at the\naccess point", self._buffered
        if self.periods:
            yield "service\nperiods", self._periods
        beacons = self.beacons()
        if not beacons:
            return
        yield "beacons", lambda axes, lane: self._beacons(axes, lane, beacons)
        if (field := self._field()) is not None:
            yield f"{field} as sent", lambda axes, lane: _fields(axes, lane, beacons, is_due=False)
            if any(one.is_wrong() for one in beacons):
                yield f"{field} as it\nshould be", lambda axes, lane: _fields(axes, lane, beacons, is_due=True)

    def caption(self) -> str:
        """What stands below the axis of time."""
        label = "time of the capture (ms); numbers are packets, and bold ones decide the verdict"
        beacons = self.beacons()
        if any(one.is_wrong() for one in beacons) and any(one.due == _NOT_JUDGED for one in beacons):
            label += f"; {_NOT_JUDGED}: no frame decides it"
        return "\n".join([label, *(textwrap.wrap(_ASSUMED, 105) if self.shows_radio else ())])

    def _is_group(self) -> bool:
        return self.finding["kind"] in _GROUP_KINDS

    def _field(self) -> str | None:
        """Names the field of beacons that the finding is about."""
        kind = self.finding["kind"]
        if kind == "dtim-skipped":
            return "DTIM count"
        if self._is_group():
            return "group bit"
        return "TIM bit" if kind in _TIM_KINDS and (self.aid is not None or kind == "tim-missing") else None

    def beacons(self) -> list[_Beacon]:
        """The beacons of the cell in the picture."""
        table = self.sent_beacons
        named = np.split(table["aids"], np.cumsum(table["aid_count"], dtype=np.int64)[:-1])
        found = []
        before: int | None = None
        for row, (cell, time_ns) in enumerate(zip(table["cell"], table["time_ns"], strict=True)):
            if self.line["cells"][cell] != self.bssid:
                continue
            packet, count, period = (int(table[name][row]) for name in ("packet", "dtim_count", "dtim_period"))
            sent = self._sent(row, named[row])
            due = self._due(packet, sent, before, period)
            before = count
            if self.start <= time_ns / 1e9 <= self.end:
                found.append(_Beacon(time_ns / 1e9, packet, count, period, sent, due))
        return found

    def _sent(self, row: int, aids: Any) -> str:
        """What a beacon had in the field of the finding."""
        table = self.sent_beacons
        if not table["tim_known"][row]:
            return "?"
        if table["dtim_count"][row] == _NO_DTIM:
            return "none"
        if self.finding["kind"] == "dtim-skipped":
            return str(table["dtim_count"][row])
        return str(int(table["group"][row] if self._is_group() else self.aid in aids))

    def _due(self, packet: int, sent: str, before: int | None, period: int) -> str:
        """What the field should have been: what it was, unless the verdict says otherwise or nothing decides.

        No frame shows that none was buffered, so that a TIM bit without a verdict may be wrong.
        """
        kind = self.finding["kind"]
        blamed = {place["packet"] for place in self.finding["occurrences"] if place["verdict"] == "violated"}
        # The beacon that had a bit too many is the first of those that decide.
        stuck = {place["packets"][0] for place in self.finding["occurrences"] if place["verdict"] == "violated"}
        if kind == "tim-never-set" and packet in blamed:
            return "1"
        if (kind == "tim-stuck" and packet in stuck) or (kind == "group-announced-not-sent" and packet in blamed):
            return "0"
        if kind == "tim-missing" and packet in blamed:
            return "0 or 1"
        if kind == "dtim-skipped" and packet in blamed and before is not None:
            return str(before - 1 if before else period - 1)
        is_open = kind == "tim-stuck" or (kind == "tim-never-set" and sent == "0")
        return _NOT_JUDGED if is_open else sent

    def _rows(self, *, up: bool) -> list[int]:
        """The station's frames in the picture."""
        frames = self.frames
        station = self.line["stations"].index(self.mac) if self.mac in self.line["stations"] else -1
        columns = zip(frames["station"], frames["up"], frames["time_ns"], strict=True)
        return [
            row
            for row, (of, is_up, time) in enumerate(columns)
            if of == station and is_up == up and self.start <= time / 1e9 <= self.end
        ]

    def _group_rows(self) -> list[int]:
        columns = zip(self.groups["cell"], self.groups["time_ns"], strict=True)
        return [
            row
            for row, (cell, time) in enumerate(columns)
            if self.line["cells"][cell] == self.bssid and self.start <= time / 1e9 <= self.end
        ]

    def _wrong_packet(self) -> int | None:
        """The frame that is not as it should be, if the finding is about one that was sent."""
        kind = self.finding["kind"]
        if kind not in _WRONG_FRAMES:
            return None
        return int(self.occurrence["packets"][-1] if kind in _WRONG_IS_LAST else self.occurrence["packet"])

    def _radio(self, axes: Axes, lane: int) -> None:
        columns = timelines.columns(self.line, "captured")
        starts = columns["time_ns"] / 1e9
        ends = starts + columns["duration_ns"] / 1e9
        inside = (ends > self.start) & (starts < self.end)
        for start, end, code in zip(starts[inside], ends[inside], columns["state"][inside], strict=True):
            name = self.line["states"][code]
            colour = style.STATES["transition" if name in _TRANSITIONS else name]
            width = max(end - start, self._dot_s())
            above = name in ("transmit", "receive")
            axes.barh(lane + 0.5, 1e3 * width, left=1e3 * start, height=0.8, color=colour, zorder=3 if above else 2)

    def _dot_s(self) -> float:
        """The time of a dot of the picture: frames are shorter, and service periods among seconds."""
        return float(self.end - self.start) / 900

    def _frames(self, axes: Axes, lane: int, rows: Sequence[int], *, up: bool) -> None:
        frames = self.frames
        marks = [(frames["time_ns"][row] / 1e6, int(frames["packet"][row]), self._frame_text(row)) for row in rows]
        self._marks(axes, lane, marks, style.STATES["transmit" if up else "receive"])

    def _group_frames(self, axes: Axes, lane: int, rows: Sequence[int]) -> None:
        groups = self.groups
        marks = [
            (groups["time_ns"][row] / 1e6, int(packet := groups["packet"][row]),
             f"{packet} data" + (" More" if groups["more_data"][row] else ""))
            for row in rows
        ]  # fmt: skip
        self._marks(axes, lane, marks, style.STATES["receive"])

    def _marks(self, axes: Axes, lane: int, marks: Sequence[tuple[float, int, str]], colour: str) -> None:
        """Draws frames: each with its time in ms, its packet number, and what is said of it."""
        wrong = self._wrong_packet()
        for at, packet, _ in marks:
            mark = style.WRONG if packet == wrong else colour
            axes.vlines(at, lane + 0.55, lane + 0.92, color=mark, linewidth=1.6, zorder=3 if packet == wrong else 2)
        reason = _WRONG_FRAMES.get(self.finding["kind"])
        texts = [(at, packet, f"{text}, {reason}" if packet == wrong else text) for at, packet, text in marks]
        # What decides the verdict has its number, and the others if there is room.
        is_full = len(marks) > _MOST_LABELS
        self._labels(axes, lane + 0.5, [one for one in texts if not is_full or one[1] in self.deciding])

    def _frame_text(self, row: int) -> str:
        frames = self.frames
        kind = self.line["kinds"][frames["kind"][row]]
        name = {"ps-poll": "PS-Poll", "null": "Null"}.get(kind, kind)
        bits = [f"PM={int(frames['power_management'][row])}"] if frames["up"][row] and kind in ("data", "null") else []
        bits += ["More"] if frames["more_data"][row] else []
        bits += ["EOSP"] if frames["eosp"][row] else []
        bits += ["retry"] if frames["repeated"][row] else []
        is_request = self.finding["kind"] == "uapsd-not-granted" and kind == "association request"
        bits += ["for U-APSD"] if is_request and frames["packet"][row] in self.deciding else []
        return f"{frames['packet'][row]} {name}" + (f" {' '.join(bits)}" if bits else "")

    def _labels(self, axes: Axes, y: float, texts: Sequence[tuple[float, int, str]]) -> None:
        """Writes texts at their times, those that decide first; without room the packet's number, or nothing."""
        labels = Labels(1e3 * (self.end - self.start) / 118, 1e3 * self.end)
        for at, packet, text in sorted(texts, key=lambda one: one[1] not in self.deciding):
            label = labels.place(at, (text, str(packet)))
            if label is None:
                continue
            colour = style.WRONG if packet == self._wrong_packet() else style.INK
            weight = "bold" if packet in self.deciding else "normal"
            height = y - _ROW * label.row
            axes.text(
                label.left, height, label.text, fontsize=7.5, va="bottom", ha="left", color=colour, fontweight=weight
            )

    def _buffered(self, axes: Axes, lane: int) -> None:
        since, until = self.occurrence["buffered_s"]
        axes.barh(lane + 0.5, 1e3 * (until - since), left=1e3 * since, height=0.5, color=style.BUFFERED)
        text = f"a frame, {1e3 * (until - since):.1f} ms from {1e3 * since:.1f} ms on"
        axes.text(1e3 * (since + until) / 2, lane + 0.5, text, fontsize=8, ha="center", va="center", color=style.INK)

    def _periods(self, axes: Axes, lane: int) -> None:
        for begin, end in self.periods:
            width = max(end - begin, self._dot_s())
            axes.barh(lane + 0.5, 1e3 * width, left=1e3 * begin, height=0.5, color=style.GREY)

    def _beacons(self, axes: Axes, lane: int, beacons: Sequence[_Beacon]) -> None:
        dues = self.occurrence.get("due_s", ())
        for due in dues:
            axes.vlines(1e3 * due, lane + 0.05, lane + 0.92, color=style.WRONG, linewidth=1.2, linestyle="--")
            text = f"due {1e3 * due:.1f} ms "
            axes.text(1e3 * due, lane + 0.28, text, fontsize=7.5, va="bottom", ha="right", color=style.WRONG)
        for one in beacons:
            is_late = bool(dues) and one.packet == self.occurrence["packet"] and self.finding["kind"] == "beacon-late"
            colour = style.WRONG if is_late else style.INK
            axes.vlines(1e3 * one.time, lane + 0.55, lane + 0.92, color=colour, linewidth=1.4)
        labels = [(1e3 * one.time, one.packet, self._beacon_text(one)) for one in beacons]
        is_full = len(beacons) > _MOST_LABELS
        self._labels(axes, lane + 0.5, [one for one in labels if not is_full or one[1] in self.deciding])

    def _beacon_text(self, beacon: _Beacon) -> str:
        """The packet number, and the place between two DTIM beacons unless a lane has it or each beacon is one."""
        if self.finding["kind"] == "dtim-skipped" or beacon.dtim_count == _NO_DTIM or beacon.dtim_period < 2:
            return str(beacon.packet)
        return f"{beacon.packet} ({'DTIM' if beacon.dtim_count == 0 else f'DTIM in {beacon.dtim_count}'})"

    def handles(self) -> list[Patch]:
        """What the colours stand for, as far as the picture has them."""
        names = {"transmit": "sends", "receive": "receives", "listen": "listens", "sleep": "asleep"}
        handles = [Patch(color=style.STATES[state], label=name) for state, name in names.items()]
        if self.occurrence["buffered_s"] is not None:
            handles.append(Patch(color=style.BUFFERED, label="buffered"))
        is_wrong = any(one.is_wrong() for one in self.beacons()) or self._wrong_packet() is not None
        if is_wrong or self.occurrence.get("due_s"):
            handles.append(Patch(color=style.WRONG, label="not as it should be"))
        return handles


def _fields(axes: Axes, lane: int, beacons: Sequence[_Beacon], *, is_due: bool) -> None:
    """The field of each beacon; where both lanes differ, in the colour of what is wrong."""
    for one in beacons:
        differs = one.is_wrong()
        axes.text(
            1e3 * one.time,
            lane + 0.5,
            one.due if is_due else one.sent,
            fontsize=10,
            ha="center",
            va="center",
            fontweight="bold" if differs else "normal",
            color=style.WRONG if differs and not is_due else style.INK,
            bbox={"boxstyle": "round,pad=0.25", "facecolor": "white", "linewidth": 1.2 if differs else 0.5,
                  "edgecolor": style.WRONG if differs and not is_due else style.GREY},
        )  # fmt: skip
