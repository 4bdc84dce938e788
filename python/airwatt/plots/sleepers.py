"""Who slept when: modes and frames of stations as captured, and the states of a radio under each policy.

The left column is the whole capture, the right one a second of it: around the first finding, or where most packets are.
If traffic is sparse, the axis of the left column is shortened in silent times, which are tinted, so that short
exchanges stay visible. Radio states are drawn as shares of each dot: nothing is left out by sampling. Below each
station is a strip of the beacons of its access point, with its own TIM bit where its association identifier is known.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from airwatt import timelines
from airwatt.plots import style
from airwatt.plots.labels import Labels
from airwatt.things import finding_name

Numbers = NDArray[np.float64]

_DOTS = 900
# Packets of several interfaces come in another order by less.
_SET_BACK_S = 0.1
_MOST_ZOOM_S = 5.0
_ZOOM_S = 1.0
_MOST_STATIONS = 6
_MOST_LANES = 20
_MOST_CELLS = 6
_MOST_POLICIES = 12
# Silence is shortened if traffic takes a smaller share of the time than this.
_SPARSE = 0.25
# The share of the axis that shortened silence gets.
_SILENT_SHARE = 0.3
_TICKS = 7
_TRANSITIONS = ("to-sleep", "wake-up")
# What a station did for a time, of which the first and the last packet decide.
_LASTING = ("pm-flapping", "awake-in-power-save")
_ACTIVE, _ASLEEP = style.STATES["listen"], style.STATES["sleep"]
# The strip of TIM bits below a station's lane, whose height is 1.
_STRIP = 0.4
# Silence that the axis shortens: no colour of a state, a cause or a mark.
_SHORTENED = "#FBF3DC"
# Letters of a label along an axis: the column with the whole capture is twice as wide.
_LETTERS, _LETTERS_OF_PART = 104, 49
# From one row of labels to the next, and the height of the lane with two of them above its marks, in lanes.
_ROW, _FINDINGS = 0.42, 1.4


class Scale(NamedTuple):
    """A time axis: positions of knots, and the times that stand there. Linear between two knots."""

    times: Numbers
    places: Numbers
    gaps: list[tuple[float, float]]
    """Shortened silence, as positions."""

    def place(self, times: Numbers) -> Numbers:
        """Gives the positions of times."""
        return np.interp(times, self.times, self.places)

    def time(self, places: Numbers) -> Numbers:
        """Gives the times at positions."""
        return np.interp(places, self.places, self.times)


def scale_of(times: Numbers, end: float) -> Scale:
    """The axis of a whole capture, whose packets have these times."""
    bare = Scale(np.array([0.0, end]), np.array([0.0, end]), [])
    if len(times) == 0:
        return bare
    knots = np.unique(np.concatenate([[0.0], times, [end]]))
    silences = np.diff(knots)
    is_long = silences > max(1.0, end / 200)
    busy = end - silences[is_long].sum()
    if not is_long.any() or busy > _SPARSE * end:
        return bare
    # Even a capture of two packets has some width for each.
    busy = max(busy, 1e-3)
    around = busy / (4 * (len(silences) + 1))
    shortened = _SILENT_SHARE * busy / is_long.sum()
    widths = np.where(is_long, shortened, silences + around)
    places = np.concatenate([[0.0], np.cumsum(widths)])
    gaps = [(float(places[i]), float(places[i + 1])) for i in np.flatnonzero(is_long)]
    # Where there is next to nothing but silence, none of it is shortened.
    if sum(right - left for left, right in gaps) / places[-1] >= silences[is_long].sum() / end:
        return bare
    return Scale(knots, places, gaps)


def _shortening(scale: Scale) -> str:
    """By how much silence is shortened: what the tinted parts stand for, and how much of the axis they have."""
    edges = np.array(scale.gaps)
    lengths = scale.time(edges[:, 1]) - scale.time(edges[:, 0])
    share = (edges[:, 1] - edges[:, 0]).sum() / (scale.places[-1] - scale.places[0])
    each = clock(lengths[0]) if len(lengths) == 1 else f"{clock(lengths.min())} to {clock(lengths.max())} each"
    return f"tinted: {each}, {clock(lengths.sum())} of {clock(scale.times[-1])} on {100 * share:.0f} % of the axis"


def clock(seconds: float) -> str:
    """A time on an axis: seconds, or hours and minutes of long captures."""
    if seconds < 120:
        return f"{seconds:.4g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Sleepers:
    """The rows of the picture, from an analysis with a time line, or from those of several stations of a capture.

    They are what was captured, and with `what_if` the radio under each policy; with several stations a lane for each
    and none of what policies would have done.
    """

    def __init__(self, document: Mapping[str, Any], *others: Mapping[str, Any], what_if: bool = True) -> None:
        self.documents = [document, *others]
        self.document = document
        self.line = document["timeline"]
        captured = {name: timelines.columns(self.line, name) for name in ("modes", "frames", "beacons")}
        packets = [timelines.columns(one["timeline"], "packets") for one in self.documents]
        times = [_seconds(of["time_ns"]) for of in packets]
        self.packets = np.concatenate(times)
        self.down = packets[0]["down"]
        self.beacons = captured["beacons"]
        frames, modes = captured["frames"], captured["modes"]
        self.frames = _seconds(frames["time_ns"])
        # Packets that follow may have times before those of others.
        self.is_set_back = any(bool((np.diff(of) < -_SET_BACK_S).any()) for of in (*times, self.frames))
        # A capture's clock may go back, and then the numbers of its packets are not in order of time.
        self.by_number = np.argsort(frames["packet"], kind="stable")
        self.packet_numbers = frames["packet"][self.by_number]
        self.of_station, self.up = frames["station"], frames["up"]
        self.mode_starts = _seconds(modes["time_ns"])
        self.mode_ends = self.mode_starts + _seconds(modes["duration_ns"])
        self.mode_of, self.mode_asleep = modes["station"], modes["in_power_save"].astype(np.float64)
        self.states = timelines.columns(self.line, "radio_states")
        self.times = np.unique(np.concatenate([self.packets, self.frames]))
        beacons = _seconds(self.beacons["time_ns"])
        self.end = float(max([1e-6, *(array.max() for array in (self.times, beacons) if len(array))]))
        self.aids = self._aids()
        self.cells = self._cells()
        self.stations = self._chosen()
        self.policies = list(self.line["policies"])[:_MOST_POLICIES] if what_if and not others else []
        # Stations of a wire, whose modes are not known.
        self.wired = [] if self.stations else self.documents[: _MOST_LANES if others else 0]

    def _chosen(self) -> list[int]:
        """The station in question first, then those with most frames."""
        if len(self.documents) > 1:
            places = {address: index for index, address in enumerate(self.line["stations"])}
            own = [places[one["station"]] for one in self.documents if one["station"] in places]
            return own[:_MOST_LANES]
        counts = np.bincount(self.of_station, minlength=len(self.line["stations"]))
        order = sorted(range(len(counts)), key=lambda index: -counts[index])
        named = self.document["station"]
        order.sort(key=lambda index: self.line["stations"][index] != named)
        return [index for index in order if counts[index] or self.line["stations"][index] == named][:_MOST_STATIONS]

    def _cells(self) -> list[tuple[str, NDArray[np.bool_]]]:
        """The beacons of each access point, those with most first, with their names; the last has all others."""
        cell = self.beacons["cell"].astype(np.int64)
        counts = np.bincount(cell, minlength=len(self.line["cells"]))
        order = [int(place) for place in np.argsort(-counts, kind="stable") if counts[place]]
        if len(order) == 1:
            return [("beacons", cell == order[0])]
        named = order[: _MOST_CELLS if len(order) == _MOST_CELLS else _MOST_CELLS - 1]
        rows = [(f"beacons of {self.line['cells'][place]}", cell == place) for place in named]
        others = len(order) - len(named)
        return [*rows, (f"beacons of {others} others", ~np.isin(cell, named))] if others else rows

    def _aids(self) -> dict[int, tuple[int, int]]:
        """The cell and the association identifier of stations, by index, as far as one holds for the whole capture."""
        # The names of beacons may have taken too much memory.
        if len(self.beacons["aids"]) != self.beacons["aid_count"].sum(dtype=np.int64):
            return {}
        places = {address: index for index, address in enumerate(self.line["stations"])}
        cells = {bssid: index for index, bssid in enumerate(self.line["cells"])}
        return {
            places[station["mac"]]: (cells[station["bssid"]], station["aid"])
            for one in self.documents
            for station in (one["air"] or {"stations": ()})["stations"]
            if station["aid"] is not None and not station["aid_changed"]
            if station["mac"] in places and station["bssid"] in cells
        }

    def tim(self, station: int) -> tuple[Numbers, Numbers]:
        """The times of the beacons of a station's access point without its TIM bit, and of those with it."""
        cell, aid = self.aids[station]
        counts = self.beacons["aid_count"].astype(np.int64)
        named = np.repeat(np.arange(len(counts)), counts)[self.beacons["aids"] == aid]
        has_bit = np.zeros(len(counts), dtype=bool)
        has_bit[named] = True
        own = (self.beacons["cell"] == cell) & self.beacons["tim_known"]
        times = _seconds(self.beacons["time_ns"])
        return times[own & ~has_bit], times[own & has_bit]

    def rows(self) -> int:
        """The number of panels of a column."""
        return 1 + len(self.stations) + len(self.wired) + len(self.policies)

    def heights(self) -> list[float]:
        """Heights of the panels, relative to each other."""
        lane = 0.7 if len(self.documents) == 1 else 0.5
        stations = [lane * (1 + _STRIP) if station in self.aids else lane for station in self.stations]
        return [
            0.5 * (_FINDINGS + max(1, len(self.cells))),
            *stations,
            *([lane] * len(self.wired)),
            *([0.4] * len(self.policies)),
        ]

    def _found(self, is_rule: bool) -> list[tuple[float, float, str]]:
        """When a rule of 802.11 was violated, from and until, or the other findings, each with its packet and kind.

        Of several stations each has the end of its address.
        """
        findings = [finding for one in self.documents for finding in one["findings"]]

        def name(finding: Mapping[str, Any]) -> str:
            station = finding["station"]
            several = len(self.line["stations"]) > 1 and station in self.line["stations"]
            return f"{finding_name(finding)} {station[-5:]}" if several else finding_name(finding)

        places = {
            (place["time_s"], self._until(finding["kind"], place), f"{place['packet']} {name(finding)}")
            for finding in findings
            if bool(finding["clause"]) == is_rule
            for place in finding["occurrences"]
            if place["verdict"] in ("violated", "cost")
        }
        return sorted(places)

    def _until(self, kind: str, place: Mapping[str, Any]) -> float:
        """The end of an occurrence: of what a station did for a time, that of its last packet."""
        if kind not in _LASTING:
            return float(place["time_s"])
        row = int(np.searchsorted(self.packet_numbers, place["packets"][-1]))
        is_there = row < len(self.packet_numbers) and self.packet_numbers[row] == place["packets"][-1]
        return max(float(place["time_s"]), float(self.frames[self.by_number[row]]) if is_there else 0.0)

    def deciding(self) -> list[float]:
        """The times of the packets that decide the first violation of a rule; none without one."""
        rules = [finding for one in self.documents for finding in one["findings"] if finding["clause"]]
        places = [place for finding in rules for place in finding["occurrences"] if place["verdict"] == "violated"]
        if not places:
            return []
        first = min(places, key=lambda place: float(place["time_s"]))
        tables = [timelines.columns(self.line, name) for name in ("frames", "beacons", "groups")]
        own = [_seconds(table["time_ns"])[np.isin(table["packet"], first["packets"])] for table in tables]
        return sorted({float(first["time_s"]), *(float(time) for times in own for time in times)})

    def zoom(self) -> tuple[float, float]:
        """A second of the capture, a quarter of a short one: around the first violation, or where most packets are.

        It is longer where the packets that decide the violation are farther apart, up to some seconds.
        """
        width = _ZOOM_S if self.end > 2 * _ZOOM_S else self.end / 4
        deciding = self.deciding() if self.document["air"] is not None else []
        if deciding:
            apart = 1.2 * (deciding[-1] - deciding[0])
            width = min(max(width, min(apart, _MOST_ZOOM_S)), self.end)
            # What is farther apart than that shows the violation itself.
            around = self._found(is_rule=True)[0][0] + 0.2 * width
            centre = (deciding[0] + deciding[-1]) / 2 if apart <= width else around
        elif len(self.times):
            counts = np.searchsorted(self.times, self.times + width) - np.arange(len(self.times))
            centre = float(self.times[int(np.argmax(counts))]) + 0.48 * width
        else:
            centre = width / 2
        start = min(max(centre - width / 2, 0.0), self.end - width)
        return (start, start + width)

    def draw(self, grid: Any) -> None:
        """Draws both columns into axes of `rows()` rows."""
        begin, end = self.zoom()
        whole = scale_of(self.times, self.end)
        part = Scale(np.array([begin, end]), np.array([begin, end]), [])
        for column, scale in enumerate((whole, part)):
            axes = list(grid[:, column])
            self._signals(axes[0], scale)
            for row, station in enumerate(self.stations):
                self._station(axes[1 + row], scale, station)
            for row, one in enumerate(self.wired):
                self._packets(axes[1 + row], scale, one)
            for row, policy in enumerate(self.policies):
                self._policy(axes[1 + len(self.stations) + row], scale, policy)
            for panel in axes:
                panel.set_xlim(scale.places[0], scale.places[-1])
                panel.tick_params(axis="y", length=0)
                panel.grid(axis="y", visible=False)
                panel.tick_params(axis="x", labelbottom=panel is axes[-1])
                for left, right in scale.gaps[:400]:
                    panel.axvspan(left, right, color=_SHORTENED, zorder=-5, linewidth=0)
                if column:
                    panel.set_yticks([])
            _ticks(axes[-1], scale)
        silent = "1 silent time" if len(whole.gaps) == 1 else f"{len(whole.gaps)} silent times"
        shortened = f", {silent} shortened (tinted)" if whole.gaps else ""
        over = "; its clock was set back: parts lie over each other" if self.is_set_back else ""
        grid[0, 0].set_title(f"the whole capture, {clock(self.end)}{shortened}{over}", pad=28 if whole.gaps else None)
        if whole.gaps:
            grid[-1, 0].set_xlabel(_shortening(whole), fontsize=8)
            self._proportions(grid[0, 0])
        grid[0, 1].set_title(f"{1000 * (end - begin):.0f} ms from {begin:.3f} s")

    def _proportions(self, axes: Axes) -> None:
        """A lane above the others in which time is as long as it was."""
        # Above the first lane by more than the height of a label.
        lane = axes.inset_axes((0, 1.22, 1, 0.14))
        lane.vlines(self.times, 0, 1, color=style.INK, linewidth=0.4)
        lane.set_xlim(0, self.end)
        lane.set_ylim(0, 1)
        lane.set_facecolor(_SHORTENED)
        lane.set_xticks([])
        lane.set_yticks([0.5], ["true proportions"])
        lane.tick_params(axis="y", length=0)

    def _signals(self, axes: Axes, scale: Scale) -> None:
        """Lanes of packets or beacons, and of findings."""
        lanes: list[tuple[str, list[tuple[Numbers, str]]]] = []
        beacons, marked = _seconds(self.beacons["time_ns"]), self.beacons["aid_count"] > 0
        for name, own in self.cells:
            text = f"{name}, with TIM bits of\nany station in the lower half"
            series = [(beacons[own], style.CAUSES["beacon"]), (beacons[own & marked], style.INK)]
            lanes.append((text, series))
        if not self.stations and not self.wired:
            down = self.down
            both = [(self.packets[down], style.STATES["receive"]), (self.packets[~down], style.STATES["transmit"])]
            lanes.append(("packets to, from", both))
        for lane, (_, series) in enumerate(lanes):
            for part, (times, colour) in enumerate(series):
                inside = times[(times >= scale.times[0]) & (times <= scale.times[-1])]
                height = 0.76 / len(series)
                bottom = lane + 0.12 + height * part
                width = 0.9 if len(inside) < 200 else 0.4
                axes.vlines(_distinct(scale, inside), bottom, bottom + height, color=colour, linewidth=width)
        self._findings(axes, scale, len(lanes))
        axes.set_ylim(len(lanes) + _FINDINGS, 0)
        ticks = {0.5 + place: name for place, (name, _) in enumerate(lanes)} | {len(lanes) + _FINDINGS / 2: "findings"}
        axes.set_yticks(list(ticks), list(ticks.values()))

    def _findings(self, axes: Axes, scale: Scale, lane: int) -> None:
        """Marks of what was found, those of violated rules in their colour, below their packets and kinds."""
        letters = _LETTERS if scale.times[0] == 0 else _LETTERS_OF_PART
        if self.stations and not self._found(True) and not self._found(False):
            count = self._undecidable()
            text = "no rule seen violated" + (f"; {count} undecidable" if count else "")
            axes.text(scale.places[0], lane + _FINDINGS / 2, f" {text}", fontsize=7, va="center", color=style.INK)
        labels = Labels(float(scale.places[-1] - scale.places[0]) / letters, float(scale.places[-1]))
        for is_rule, colour in ((True, style.WRONG), (False, style.INK)):
            begin, end = scale.times[0], scale.times[-1]
            seen = [one for one in self._found(is_rule) if one[0] <= end and one[1] >= begin]
            places = [(max(since, begin), text) for since, _, text in seen]
            marks = _distinct(scale, np.array([at for at, _ in places], dtype=np.float64))
            bottom = lane + _FINDINGS - 0.1
            axes.vlines(marks, bottom - 0.4, bottom, color=colour, linewidth=0.9 if len(marks) < 200 else 0.4)
            lasting = [scale.place(np.clip([since, until], begin, end)) for since, until, _ in seen if until > since]
            bars = [(left, right - left) for left, right in lasting]
            axes.broken_barh(bars, (bottom - 0.3, 0.2), color=colour, linewidth=0)
            # The last one, which has no room on its right, chooses first.
            for at, text in [*places[-1:], *places[:-1]]:
                # Where there is no room for the kind the number of the packet stands alone.
                label = labels.place(float(scale.place(np.array(at))), (text, text.split()[0]), list(marks))
                if label is not None:
                    y = bottom - 0.45 - _ROW * label.row
                    axes.text(label.left, y, label.text, fontsize=7, va="bottom", ha="left", color=colour)

    def _undecidable(self) -> int:
        """The rules of 802.11 that were not seen to be violated, and may have been."""
        findings = [finding for one in self.documents for finding in one["findings"] if finding["clause"]]
        return len({finding["kind"] for finding in findings if finding["undecidable"]})

    def _station(self, axes: Axes, scale: Scale, station: int) -> None:
        """Modes as bands, with frames from the station above the middle and to it below."""
        own = self.mode_of == station
        starts, ends, asleep = self.mode_starts[own], self.mode_ends[own], self.mode_asleep[own]
        _bands(axes, scale, (starts, ends), ((_ASLEEP, asleep), (_ACTIVE, 1 - asleep)))
        own = self.of_station == station
        _lines(axes, scale, self.frames[own], self.up[own])
        below = "\nas captured" if len(self.documents) == 1 else ""
        ticks = {0.5: f"{self.line['stations'][station]}{below}"}
        if station in self.aids:
            self._strip(axes, scale, station)
            ticks = {-_STRIP / 2: "its TIM bit", **ticks}
        axes.set_yticks(list(ticks), list(ticks.values()))

    def _strip(self, axes: Axes, scale: Scale, station: int) -> None:
        """Draws the beacons of a station's access point below its lane: whole lines have its TIM bit."""
        for times, top, colour in zip(self.tim(station), (0.3, 0.9), (style.CAUSES["beacon"], style.INK), strict=True):
            inside = times[(times >= scale.times[0]) & (times <= scale.times[-1])]
            width = 0.9 if len(inside) < 200 else 0.4
            axes.vlines(_distinct(scale, inside), -_STRIP, -_STRIP * (1 - top), color=colour, linewidth=width)
        axes.axhline(0, color=style.INK, linewidth=0.4)
        axes.set_ylim(-_STRIP, 1)

    def _packets(self, axes: Axes, scale: Scale, document: Mapping[str, Any]) -> None:
        """The packets of a station of which nothing else was captured."""
        packets = timelines.columns(document["timeline"], "packets")
        _lines(axes, scale, _seconds(packets["time_ns"]), ~packets["down"])
        axes.set_yticks([0.5], [document["station"]])

    def _policy(self, axes: Axes, scale: Scale, policy: str) -> None:
        """Simulated radio states as shares of each dot."""
        own = self.states["policy"] == self.line["policies"].index(policy)
        starts = _seconds(self.states["time_ns"][own])
        ends = starts + _seconds(self.states["duration_ns"][own])
        codes = self.states["state"][own]
        bands = []
        for state, colour in style.STATES.items():
            names = _TRANSITIONS if state == "transition" else (state,)
            wanted = np.isin(codes, [self.line["states"].index(name) for name in names]).astype(np.float64)
            bands.append((colour, wanted))
        _bands(axes, scale, (starts, ends), bands)
        axes.set_ylim(0, 1)
        axes.set_yticks([0.5], [policy])


def _bands(
    axes: Axes, scale: Scale, periods: tuple[Numbers, Numbers], shown: Iterable[tuple[str, NDArray[Any]]]
) -> None:
    """Draws periods, from their starts to their ends, as shares of each dot: one band of a colour upon the other."""
    edges = np.linspace(scale.places[0], scale.places[-1], _DOTS + 1)
    times = scale.time(edges)
    base = np.zeros(_DOTS + 1)
    # Where the clock was set back, parts lie over each other: the later begin counts.
    order = np.argsort(periods[0], kind="stable")
    starts = periods[0][order]
    ends = np.minimum(periods[1][order], np.append(starts[1:], np.inf))
    for colour, wanted in shown:
        share = _shares(starts, ends, wanted[order], times)
        axes.fill_between(edges, base, base + share, step="post", color=colour, linewidth=0)
        base = base + share


def _lines(axes: Axes, scale: Scale, times: Numbers, up: NDArray[np.bool_]) -> None:
    """Frames from a station above the middle of its lane and to it below."""
    for wanted, low, colour in ((up, 0.5, style.VERMILION), (~up, 0.0, style.BLUE)):
        inside = times[wanted]
        inside = inside[(inside >= scale.times[0]) & (inside <= scale.times[-1])]
        width = 0.8 if len(inside) < 300 else 0.3
        axes.vlines(_distinct(scale, inside), low, low + 0.5, color=colour, linewidth=width)
    axes.set_ylim(0, 1)


def handles(air: bool, what_if: bool) -> list[Patch]:
    """What the colours stand for, in a picture with what was captured on the air or with lanes of policies."""
    names = {"transmit": "transmit, from the station", "receive": "receive, to the station"}
    if air:
        names |= {"listen": "listen, active", "sleep": "sleep, power save"}
    if what_if:
        names = {state: names.get(state, state) for state in style.STATES}
    unknown = [Patch(facecolor="white", edgecolor=style.INK, linewidth=0.5, label="white: mode unknown")] if air else []
    return [*(Patch(color=style.STATES[state], label=name) for state, name in names.items()), *unknown]


def _distinct(scale: Scale, times: Numbers) -> Numbers:
    """Gives the positions of times, one for all that fall on the same quarter of a dot where there are many."""
    places = scale.place(times)
    if len(places) <= 4 * _DOTS:
        return places
    quarter = (scale.places[-1] - scale.places[0]) / (4 * _DOTS)
    return places[np.unique(np.floor(places / quarter), return_index=True)[1]]


def _seconds(nanoseconds: NDArray[np.int64]) -> Numbers:
    return nanoseconds / 1e9


def _shares(starts: Numbers, ends: Numbers, wanted: Numbers, times: Numbers) -> Numbers:
    """The share of each dot that the periods of which are wanted take; the last value is that of the dot before."""
    if len(starts) == 0:
        return np.zeros(len(times))
    # Periods may have gaps between them: both ends are knots.
    knots = np.column_stack([starts, ends]).ravel()
    spent = np.cumsum(np.column_stack([np.zeros(len(starts)), (ends - starts) * wanted]).ravel())
    inside = np.diff(np.interp(times, knots, spent, left=0.0))
    share = inside / np.maximum(np.diff(times), 1e-12)
    share = np.clip(share, 0.0, 1.0)
    return np.append(share, share[-1])


def _is_silent(scale: Scale, place: float) -> bool:
    return any(left < place < right for left, right in scale.gaps)


def _ticks(axes: Axes, scale: Scale) -> None:
    """Labels with the time; where silence is shortened, at the beginnings of what follows it."""
    if not scale.gaps:
        axes.set_xlabel("time (s)")
        return
    width = float(scale.places[-1])
    after = [0.0, *(right for _, right in scale.gaps)]
    # Between two silent times, and after the last one, also places at equal distances.
    between = [place for place in np.linspace(0.0, width, 4 * _TICKS) if not _is_silent(scale, float(place))]
    chosen: list[float] = []
    for places, room in ((after, width / _TICKS), (between, width / _TICKS)):
        for place in places:
            if all(abs(place - other) >= room for other in chosen):
                chosen.append(float(place))
    chosen.sort()
    times = [float(time) for time in scale.time(np.array(chosen))]
    labels = [clock(time) for time in times]
    # In an exchange of milliseconds after hours of silence two places would have the same label.
    if len(set(labels)) < len(labels):
        labels = [f"{time:.3f} s" for time in times]
    axes.set_xticks(chosen, labels)
    axes.set_xlabel("time of the capture")
