"""The study of a capture: what a station's radio would have spent under each policy, who slept when, and findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from airwatt import radio_notes
from airwatt.battery import Battery
from airwatt.reports import answers, numbers, tables, timeline
from airwatt.reports.numbers import exactly
from airwatt.reports.pack import Array, Pack
from airwatt.reports.study import Choice, Column, Study, Table
from airwatt.things import finding_name
from airwatt.timelines import labelled

if TYPE_CHECKING:
    import pyarrow as pa

_P95 = Column("delay_p95_s", "added delay 95 %", "s", "The delay that 95 % of the packets do not exceed.")
_COLUMNS = [
    numbers.ENERGY, numbers.EXCESS, numbers.POWER, numbers.CURRENT, numbers.CHARGE, numbers.LASTS, answers.DELAY, _P95,
    numbers.ASLEEP, numbers.WAKEUPS,
]  # fmt: skip
_BOUND = (
    "The tick is the energy of policy ideal: a radio that knows the packets of the capture in advance. "
    "The line across the end of a bar is the band that the assumptions leave."
)


def study_of(
    document: Mapping[str, Any], traces: Mapping[str, pa.Table], pack: Pack, battery: Battery | None, points: int
) -> Study:
    """What the page shows of the analysis of one station."""
    capture = document["capture"]
    name = Path(capture["file"]).name
    choices = _choices(document, battery)
    answers.mark_best(choices)
    whose = f" of station {document['station']}" if document["station"] is not None else ""
    return Study(
        "capture",
        name,
        f"What did the traffic{whose} in {name} cost its radio, and what would it have cost under each policy?",
        choices,
        list(_COLUMNS),
        answers=[*answers.of_choices(choices, battery), *_finding_answers(document)],
        notes=_notes(document),
        bound=_BOUND if any(choice.is_bound for choice in choices) else "",
        tables=_tables(document),
        timelines=[_timeline(document, traces, pack, points)] if traces else [],
    )


def _choices(document: Mapping[str, Any], battery: Battery | None) -> list[Choice]:
    bounds = [policy["energy_j"] for policy in document["policies"] if policy["policy"] == "ideal"]
    electric = numbers.electric(document.get("radio_voltage_v"), battery)
    found = []
    for policy in document["policies"]:
        energy, delay = policy["energy_j"], policy["added_delay_s"] or {}
        metrics = {
            "energy_j": energy, "power_w": policy["average_power_w"], "asleep": policy["sleep_share"],
            "wakeups": float(sum(policy["wakeups"].values())), answers.DELAY.key: delay.get("mean"),
            _P95.key: delay.get("p95"), **{key: of(policy["average_power_w"]) for key, of in electric.items()},
        }  # fmt: skip
        if bounds and bounds[0]:
            metrics |= {"bound_j": bounds[0], "excess": energy / bounds[0]}
        low, high = policy["energy_low_j"], policy["energy_high_j"]
        found.append(
            Choice(
                policy["policy"],
                {key: exactly(value) for key, value in metrics.items()},
                causes=numbers.causes_of(policy["energy_by_cause_j"]),
                states=dict(policy["state_s"]),
                band=None if low is None or high is None else (min(low, energy), max(high, energy)),
                is_bound=policy["policy"] == "ideal",
            )
        )
    return found


def _finding_answers(document: Mapping[str, Any]) -> list[str]:
    found = [finding for finding in document["findings"] if finding["certainty"] == "found"]
    if not found:
        return []
    kinds = ", ".join(f"{finding_name(finding)} ({finding['count']} times)" for finding in found[:4])
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return [f"Found in the capture: {kinds}{more}."]


def _notes(document: Mapping[str, Any]) -> list[str]:
    capture = document["capture"]
    used = f"{capture['packets_used']} of {capture['packets']} packets used, {capture['covered_s']:.6g} s."
    basis = ", ".join(dict.fromkeys(policy["basis"] for policy in document["policies"]))
    how = [f"What policies would have spent is {basis}; radio {document['radio']}; {document['phy']}."] if basis else []
    choose = (
        ["The capture leaves doubt which station is meant; --station ADDR names it."]
        if document["station"] is None
        else []
    )
    return [used, *how, *radio_notes.of_analysis(document), *choose, *capture["notes"]]


def _tables(document: Mapping[str, Any]) -> list[Table]:
    flows = [
        [
            f"{flow['first']} to {flow['second']}", flow["protocol"], flow["from_s"], flow["until_s"],
            flow["bytes_forward"], flow["bytes_reverse"], flow["retransmissions"], flow["handshake_rtt_s"],
        ]
        for flow in document["flows"]
    ]  # fmt: skip
    columns = [
        Column("", "flow", kind="text"), Column("protocol", "protocol", kind="text"), Column("from", "from", "s"),
        Column("until", "until", "s"), Column("forward", "forward", "B"), Column("reverse", "reverse", "B"),
        Column("resent", "resent"), Column("rtt", "handshake RTT", "s"),
    ]  # fmt: skip
    doubtful = document["candidates"] if document["station"] is None else []
    candidates = [[one["address"], one["packets"], one["bytes_sent"], one["bytes_received"]] for one in doubtful]
    seen = [
        Column("", "address", kind="text"), Column("packets", "packets"), Column("sent", "sent", "B"),
        Column("received", "received", "B"),
    ]  # fmt: skip
    return [
        tables.of_findings(document["findings"]),
        Table("flows", "Flows", columns, flows),
        Table("stations", "Stations that the capture may be about", seen, candidates),
        _air(document),
    ]


def _air(document: Mapping[str, Any]) -> Table:
    stations = (document["air"] or {}).get("stations", [])
    names = (
        ("mac", "station", "", "text"), ("bssid", "network", "", "text"), ("pm_changes", "mode changes", "", "number"),
        ("mode_known_s", "mode known", "s", "number"), ("in_power_save_s", "in power save", "s", "number"),
        ("ps_polls", "PS-Polls", "", "number"), ("triggers", "triggers", "", "number"),
        ("nulls", "Nulls", "", "number"),
        ("data_up", "data up", "", "number"), ("data_down", "data down", "", "number"),
        ("beacons", "beacons", "", "number"), ("tim_set", "TIM set", "", "number"),
    )  # fmt: skip
    columns = [Column(key, label, unit, kind=kind) for key, label, unit, kind in names]
    return Table(
        "air", "Stations on the air", columns, [[station.get(key) for key, *_ in names] for station in stations]
    )


def _timeline(document: Mapping[str, Any], traces: Mapping[str, pa.Table], pack: Pack, points: int) -> dict[str, Any]:
    """Packets, beacons and findings, each station's mode, and the radio under each policy."""
    times = {name: np.asarray(table["time_ns"], dtype=np.int64) for name, table in traces.items()}
    states = traces["radio_states"]
    duration = np.asarray(states["duration_ns"], dtype=np.int64)
    ends = [int(part.max()) for part in times.values() if len(part)] or [1]
    end = max([*ends, *(times["radio_states"] + duration).tolist()[-1:], 1])
    lanes = [*_mark_lanes(traces, times, pack), *_station_lanes(document, traces, times, pack)]
    policy, policies = labelled(states["policy"])
    code = timeline.coded(states["state"], timeline.state_code)
    share = max(1, points // max(1, len(policies)))
    for index, name in enumerate(policies):
        own = policy == index
        start = times["radio_states"][own]
        window = timeline.window_of([start], end, share)
        lanes.append(_radio_lane(name, start, duration[own], code[own], window, pack))
    return {"label": document["capture"]["file"], "end_ns": end, "lanes": lanes, "note": "Radio states are simulated."}


def _radio_lane(
    name: str, start: Array, duration: Array, code: Array, window: timeline.Window, pack: Pack
) -> dict[str, Any]:
    """Of long silence a part is simulated, so that there may be gaps, which are a state of their own."""
    names, colours = [*timeline.STATES, "not simulated"], [f"state-{one}" for one in timeline.STATES] + ["panel"]
    ends = start + duration
    gaps = np.flatnonzero(np.append(start[1:], window.whole) > ends)
    start = np.concatenate([start, ends[gaps]])
    code = np.concatenate([code, np.full(len(gaps), len(names) - 1)])
    order = np.argsort(start, kind="stable")
    return timeline.states_lane(f"{name}: radio", start[order], code[order], window, pack, names=names, colours=colours)


def _mark_lanes(traces: Mapping[str, pa.Table], times: Mapping[str, Array], pack: Pack) -> list[dict[str, Any]]:
    lanes = []
    packets, beacons = traces["packets"], traces["beacons"]
    if len(packets):
        code = np.asarray(packets["down"]).astype(np.uint8)
        lanes.append(
            _marks(
                "packets",
                times["packets"],
                code,
                ("from the station", "to the station"),
                ("state-transmit", "state-receive"),
                pack,
            )
        )
    if len(beacons):
        code = (beacons["aid_count"].to_numpy() > 0).astype(int)
        lanes.append(
            _marks(
                "beacons",
                times["beacons"],
                code,
                ("beacon", "beacon with TIM bits"),
                ("outcome-beacon", "outcome-collision"),
                pack,
            )
        )
    findings = traces["findings"]
    if len(findings):
        code, kinds = labelled(findings["kind"])
        colours = [f"series-{(7 + index) % 10}" for index in range(len(kinds))]
        lanes.append(_marks("findings", times["findings"], code, kinds, colours, pack))
    return lanes


def _marks(label: str, time: Array, code: Array, names: Any, colours: Any, pack: Pack) -> dict[str, Any]:
    order = np.argsort(time, kind="stable")
    return timeline.marks_lane(label, time[order], code[order], names, colours, pack)


_FRAMES = (
    ("data from the station", "state-transmit"),
    ("data to the station", "state-receive"),
    ("Null", "series-3"),
    ("PS-Poll", "outcome-beacon"),
    ("repeated", "outcome-asleep"),
)
"""What a captured frame can be; one that repeats another is that alone."""


def _station_lanes(
    document: Mapping[str, Any], traces: Mapping[str, pa.Table], times: Mapping[str, Array], pack: Pack
) -> list[dict[str, Any]]:
    """The mode that each station announced and its frames as captured, the station in question first."""
    modes, frames = traces["modes"], traces.get("frames")
    of_mode, stations = labelled(modes["station"])
    asleep = np.asarray(modes["in_power_save"]).astype(np.uint8)
    order = sorted(range(len(stations)), key=lambda index: stations[index] != document["station"])
    lanes = []
    for index in order[: timeline.MOST_STATIONS]:
        name = stations[index]
        mode = of_mode == index
        lanes += _spans(f"{name}: mode as captured", modes, times["modes"], mode, asleep, _MODES, pack)
        if frames is not None:
            of_frame, named = labelled(frames["station"])
            own = of_frame == (named.index(name) if name in named else -1)
            lanes += _spans(f"{name}: frames as captured", frames, times["frames"], own, _kinds(frames), _FRAMES, pack)
    return lanes


_MODES = (("active", "state-listen"), ("power save", "state-sleep"))


def _kinds(frames: pa.Table) -> Array:
    up = np.asarray(frames["up"]).astype(bool)
    kind, kinds = labelled(frames["kind"])
    special = {"null": 2, "ps-poll": 3}
    code = np.array([special.get(name, -1) for name in kinds] or [-1])[kind]
    code = np.where(code >= 0, code, np.where(up, 0, 1))
    return np.where(np.asarray(frames["repeated"]).astype(bool), 4, code).astype(np.uint8)


def _spans(
    label: str, table: pa.Table, time: Array, own: Array, code: Array, kinds: Sequence[tuple[str, str]], pack: Pack
) -> list[dict[str, Any]]:
    """A lane of periods with gaps between them, if there are any."""
    rows = np.flatnonzero(own)
    rows = rows[np.argsort(time[rows], kind="stable")]
    duration = np.asarray(table["duration_ns"], dtype=np.int64)[rows]
    lane = {
        "kind": "spans", "label": label, "start": pack.add_times(time[rows]), "duration": pack.add(duration, "f64"),
        "code": pack.add(code[rows], "u8"), "names": [name for name, _ in kinds], "colours": [one for _, one in kinds],
    }  # fmt: skip
    return [lane] if len(rows) else []
