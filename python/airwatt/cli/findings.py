"""The findings of an analysis: what was violated, what it cost, and what the frames leave open."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from airwatt.cli.verdicts import COUNTED
from airwatt.layout import printable
from airwatt.things import finding_name

if TYPE_CHECKING:
    from airwatt.layout import Table


def rules(document: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence for each violated rule, and lines about what is undecidable and what is not evaluated."""
    findings = document["findings"]
    faults = _violated(document)
    if faults:
        yield "\n".join(_sentence(finding, document) for finding in faults)
    yield from _undecided(findings)
    yield from _not_evaluated(document)


def costs(document: dict[str, Any]) -> "Iterator[str | Table]":
    """Yields the costs of what was violated."""
    yield from _costs(document, _violated(document))


def remarks(document: dict[str, Any]) -> Iterator[str]:
    """Yields a sentence for each finding that violates no rule."""
    others = [finding for finding in document["findings"] if finding["count"] and not finding["clause"]]
    if others:
        yield "\n".join(_sentence(finding, document) for finding in others)


def _violated(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["count"] and finding["clause"]]


def _not_evaluated(document: dict[str, Any]) -> Iterator[str]:
    """Names the rules about which the capture says nothing, and what it lacks for them."""
    if document["station"] is None:
        return
    kinds: dict[str, list[str]] = {}
    for check in document["checks"]:
        if check["lacks"] and not check["undecidable"]:
            kinds.setdefault(check["lacks"], []).append(check["kind"])
    for lacks, of_kind in kinds.items():
        yield f"not evaluated: {', '.join(of_kind)}: {lacks}"


def _costs(document: dict[str, Any], faults: list[dict[str, Any]]) -> "Iterator[str | Table]":
    """Yields what each finding cost the radio of one station, the delay, and what that is compared with."""
    from airwatt.tables import NOTHING, count, quantity, span, table

    if not faults or document["radio"] is None:
        return
    # There is one radio, unless the capture of a run names several.
    radios = list(dict.fromkeys(one["radio"] for one in faults if one["radio"] is not None))
    several = len(radios) > 1
    rows = [
        [
            finding_name(finding),
            count(finding["count"]),
            *([finding["radio"] or NOTHING] if several else []),
            finding["policy"] or NOTHING,
            NOTHING if finding["cost_j"] is None else quantity(finding["cost_j"], "J"),
            span(finding["cost_low_j"], finding["cost_high_j"], "J") if finding["cost_high_j"] else "",
            NOTHING if finding["delay_s"] is None else quantity(finding["delay_s"], "s"),
        ]
        for finding in faults
    ]
    is_assumed = any(one["cost_high_j"] is not None for one in faults)
    assumed = ", which is assumed; the band is that of all radios that ship" if is_assumed else ""
    if several:
        radio = "the radio that the capture names"
        assumed = "; an assumed one has the band of all that ship" if is_assumed else ""
    else:
        radio = f"radio {radios[0] if radios else document['radio']}"
    # No policy is known of a station whose frames do not show when it sleeps.
    sleeps = ", if it sleeps" if any(one["policy"] is None for one in faults) else ""
    yield f"what it cost a station with {radio}{assumed}{sleeps}:"
    heads = ["finding", "times", *(["radio"] if several else []), "policy", "energy", "band", "delay"]
    yield table(heads, rows, left=1)
    remedies = dict.fromkeys((finding_name(finding), finding["without"]) for finding in faults)
    yield table(["finding", "is compared with"], [list(remedy) for remedy in remedies], left=2)


def _undecided(findings: list[dict[str, Any]]) -> Iterator[str]:
    """What the captured frames leave open accuses nobody: for each kind the count, and why the first one is open."""
    from airwatt.tables import count

    open_ = [finding for finding in findings if finding["undecidable"]]
    if not open_:
        return
    lines = ["undecidable by the captured frames, and nobody's fault so far:"]
    for kind in dict.fromkeys(finding["kind"] for finding in open_):
        of_kind = [finding for finding in open_ if finding["kind"] == kind]
        places = [place for finding in of_kind for place in finding["occurrences"]]
        first = next(place for place in places if place["verdict"] == "undecidable")
        total = count(sum(finding["undecidable"] for finding in of_kind))
        lines.append(f"  {kind} {total} (first: packet {first['packet']}): {first.get('detail', '')}")
    yield "\n".join(lines)


_MOST_PACKETS = 8
"""Packets that a sentence names; the document has all."""


def _accused(finding: dict[str, Any], document: dict[str, Any]) -> str:
    """The address of the device that caused it, with the station whose frames show it if that is another one."""
    station: str = finding["station"]
    if finding["whose"] == "peer":
        return f"{finding['peer']} (station {station})"
    places = [place for place in finding["occurrences"] if place["verdict"] in COUNTED]
    # A station that roams may have been wronged by several.
    of_each = [place["access_point"] for place in places]
    accused = [bssid for bssid in dict.fromkeys(of_each) if bssid is not None]
    if finding["whose"] != "access point" or accused in ([], [station]):
        return station
    several = len(accused) > 1
    named = [f"{bssid}{f' {of_each.count(bssid)} times' if several else ''}" for bssid in accused]
    return f"{', '.join(named)} (station {station})"


def _sentence(finding: dict[str, Any], document: dict[str, Any]) -> str:
    where = finding["examples"][:1]
    file = "" if not where or "file" not in where[0] else printable(" ({}: {})".format(*where[0]["file"]))
    violated = [place for place in finding["occurrences"] if place["verdict"] in COUNTED]
    place = f" (first: packet {where[0]['packet']}{file}, {where[0]['time_s']:.3f} s" if where else ""
    if place and violated and len(violated[0]["packets"]) > 1:
        place += f", decided by packets {_listed(violated[0]['packets'])}"
    if place and len(violated) > 1:
        place += f"; then {_listed([other['packet'] for other in violated[1:]])}"
    place += ")" if place else ""
    times = f" {finding['count']} times," if finding["count"] > 1 else ""
    clause = f" [{finding['clause']}]" if finding["clause"] else ""
    whose = f"{finding['severity']} of the {finding['whose']}, {_accused(finding, document)}"
    return f"{finding_name(finding)},{times} {whose}: {finding['text']}{place}{clause}"


def _listed(packets: Sequence[int]) -> str:
    more = len(packets) - _MOST_PACKETS
    words = ", ".join(map(str, packets[:_MOST_PACKETS]))
    return words if more <= 0 else f"{words} and {more} more"
