"""Findings for machines: counts for `--fail-if`, JUnit and SARIF files, and the comparison with an earlier analysis."""

import itertools
import json
from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from airwatt._core import InputError, RunError, __version__, finding_kinds
from airwatt.cli import decryption
from airwatt.cli.output import say, writing
from airwatt.files import document_of, replacing
from airwatt.layout import printable

if TYPE_CHECKING:
    from airwatt.threshold import Threshold

Document = Mapping[str, Any]
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


KEEP_ALIVE = "keep-alive"
"""The one kind of finding that no rule forbids."""
COUNTED = ("violated", "cost")
"""The verdicts of the occurrences that `count` of a finding counts: violations of a rule, and keep-alives."""
_MOST_LINES = 8
_COSTS = ("cost_j", "delay_s", "awake_s")
Counts = Mapping[str, Mapping[str, float | None]]
_SEVERITIES = dict(finding_kinds())


def counts(documents: Sequence[Document]) -> dict[str, dict[str, float | None]]:
    """Gives occurrences by kind and verdict, and what those that violated the rule cost.

    `count` is how many violated the rule. All are 0 without an occasion; a cost is None where frames do not show it.
    """
    found: dict[str, dict[str, float | None]] = {
        kind: dict.fromkeys(("count", "kept", "undecidable", *_COSTS), 0.0) for kind in _SEVERITIES
    }
    for check in _each_once(documents, "checks", "bssid"):
        of_kind = found[check["kind"]]
        for name, key in (("count", "violated"), ("kept", "kept"), ("undecidable", "undecidable")):
            of_kind[name] = _plus(of_kind[name], check[key])
    for finding in _each_once(documents, "findings", "station"):
        of_kind = found[finding["kind"]]
        if finding["kind"] == KEEP_ALIVE:
            of_kind["count"] = _plus(of_kind["count"], finding["count"])
        if finding["count"]:
            for name in _COSTS:
                of_kind[name] = _plus(of_kind[name], finding[name])
    return found


def _plus(sum_: float | None, part: float | None) -> float | None:
    return None if sum_ is None or part is None else sum_ + part


def _each_once(documents: Sequence[Document], what: str, whose: str) -> Iterator[Document]:
    """Yields checks or findings; those about an access point once, though each of its stations has them."""
    seen = set()
    for document in documents:
        for one in document[what]:
            of = one.get(whose)
            key = (one["kind"], of)
            # A peer's keep-alives are a finding each, and in a document of all stations a rule may have none named.
            if of is not None and one["kind"] != KEEP_ALIVE:
                if key in seen:
                    continue
                seen.add(key)
            yield one


def known(found: Counts) -> dict[str, dict[str, float]]:
    """Leaves out the costs that frames do not show."""
    return {
        kind: {name: number for name, number in of_kind.items() if number is not None}
        for kind, of_kind in found.items()
    }


def by_severity(limit: "Threshold", found: Counts) -> "tuple[Threshold, Counts]":
    """Gives a threshold of `findings.error`, of warnings or of notes as one of every kind, and those of that severity.

    Any other threshold stays as it is, with all kinds.
    """
    names = limit.key.split(".")
    if names[0] != "findings" or len(names) < 2 or names[1] not in _LEVELS:
        return limit, found
    of_severity = {kind: of_kind for kind, of_kind in found.items() if _SEVERITIES[kind] == names[1]}
    return limit._replace(key=".".join(["findings", "*", *names[2:]])), of_severity


def unknown_cost(key: str, found: Counts) -> str | None:
    """Says that frames do not show the cost that a key of `--fail-if` asks for, of one kind or of none but that."""
    names = key.split(".")
    if len(names) != 3 or names[0] != "findings" or names[2] not in _COSTS:
        return None
    kinds = [kind for kind in found if names[1] in (kind, "*")]
    unknown = [kind for kind in kinds if found[kind][names[2]] is None]
    if not unknown:
        return None
    return f"the captured frames do not show {names[2]} of {', '.join(unknown)}"


def check_evaluated(option: str, kinds: Iterable[str], documents: Sequence[Document], *, strict: bool = False) -> None:
    """Raises `RunError` where the captures decide nothing about one of these kinds: passing would mean nothing.

    With `strict` also where they leave any occasion undecidable; otherwise a line says how many.
    """
    found = counts(documents)
    for kind in kinds:
        if kind == KEEP_ALIVE and any(document["station"] is not None for document in documents):
            continue
        undecidable = _number(found[kind], "undecidable")
        if not _is_decided(found[kind]):
            raise RunError(f"{option}: {kind} was not evaluated: {_lacks(kind, undecidable, documents)}")
        lacking = _lacking(documents, [kind])
        _tell(option, lacking)
        idle = _without_occasion(documents, kind)
        if idle:
            names = ", ".join(idle[:_MOST_LINES]) + (
                f" and {len(idle) - _MOST_LINES} more" if idle[_MOST_LINES:] else ""
            )
            say(f"{option}: {kind} had no occasion at {names}")
        if lacking and strict:
            raise RunError(f"{option}: {kind} was not evaluated for all stations: --strict expects that")
        if undecidable:
            text = f"{option}: {kind}: {undecidable} undecidable beside {_number(found[kind], 'kept')} kept"
            if strict:
                raise RunError(f"{text}: --strict expects none")
            say(f"{text}; --strict makes that a failure")


def say_violated(documents: Sequence[Document]) -> None:
    """Says that what was violated does not change the exit status, since nothing asked for that."""
    violated = sum(one["count"] for document in documents for one in document["findings"] if one["clause"])
    if violated:
        say(f"rules were violated {violated} times, which ends with 3 only by --fail-if 'findings.*.count > 0'")


def check_any(
    option: str, found: Counts, documents: Sequence[Document], *, strict: bool = False, each: bool = False
) -> None:
    """Raises `RunError` where nothing of these kinds is decided, and with `strict` where one is undecidable.

    Otherwise a line says how many are, and one for what the captures lack says of which kinds they decide nothing. With
    `strict` that is a failure, too, if `each` kind was asked about.
    """
    nothing = _nothing_decided(found)
    # No case of JUnit is about keep-alives.
    if nothing is not None and (option == "--junit" or not found.get(KEEP_ALIVE, {}).get("count")):
        raise RunError(f"{option}: {nothing}")
    lacking = _lacking(documents, found)
    _tell(option, lacking)
    open_ = [f"{kind} {_number(of_kind, 'undecidable')}" for kind, of_kind in found.items() if of_kind["undecidable"]]
    if open_:
        text = f"{option}: undecidable: {', '.join(open_)}"
        if strict:
            raise RunError(f"{text}: --strict expects none")
        say(f"{text}; --strict makes that a failure")
    if lacking and strict and each:
        raise RunError(f"{option}: {', '.join(unevaluated(found, documents))} not evaluated: --strict expects that")


def unevaluated(kinds: Container[str], documents: Sequence[Document]) -> list[str]:
    """Those of these kinds about which the captures lack something, and decide nothing."""
    return list(dict.fromkeys(kind for lacking in _lacking(documents, kinds).values() for kind in lacking))


def _lacking(documents: Sequence[Document], kinds: Container[str]) -> dict[str, list[str]]:
    """What the captures lack of stations about which nothing is decided, with the kinds that need it."""
    lacking: dict[str, list[str]] = {}
    for check in _each_once(documents, "checks", "bssid"):
        if check["lacks"] and check["kind"] in kinds and not check["undecidable"]:
            of_these = lacking.setdefault(str(check["lacks"]), [])
            of_these += [] if check["kind"] in of_these else [check["kind"]]
    return lacking


def _without_occasion(documents: Sequence[Document], kind: str) -> list[str]:
    """Names the stations at which nothing happened that a rule is about, though nothing is lacking."""
    return [
        printable(str(document["station"]))
        for document in documents
        for check in document["checks"]
        if check["kind"] == kind and check["bssid"] is None and not check["lacks"]
        if not any(check[verdict] for verdict in ("violated", "kept", "undecidable"))
    ]


def _tell(option: str, lacking: Mapping[str, Sequence[str]]) -> None:
    """Says what was not evaluated, of many stations for the first ones."""
    for lacks, kinds in itertools.islice(lacking.items(), _MOST_LINES):
        say(f"{option}: not evaluated, since {lacks}: {', '.join(kinds)}")
    if len(lacking) > _MOST_LINES:
        say(f"{option}: and so on, {len(lacking)} in all; checks of the JSON document has them")


def gaps(documents: Sequence[Document], *, named: bool) -> list[str]:
    """Says for what the rules were not checked: for what is missing of a capture, and for other stations.

    It may be damaged or cut, and packets may have been dropped. `named`: whether stations were asked for.
    """
    first = documents[0]
    capture = first["capture"]
    missing = ("dropped as it was captured", "were not analysed")
    lost = [note for note in capture["notes"] if any(text in note for text in missing)]
    found = [f"{capture['file']}: {note}" for note in (*cuts(capture), *lost)]
    others = [each for each in first["candidates"] if each["kind"] == "mac" and each["address"] != first["station"]]
    if not named and first["station"] is not None and first["air"] is not None and others:
        what = "1 other station was" if len(others) == 1 else f"{len(others)} other stations were"
        found.append(f"{what} not checked: name what to check with --station, or --station all")
    return [printable(each) for each in found]


def unheard(documents: Sequence[Document]) -> list[str]:
    """Says that there was no station to check, where rules are asked for that are about stations as well."""
    heard = any(document["station"] is not None for document in documents)
    return [] if heard or documents[0]["air"] is None else ["no station was heard: no rule about one was checked"]


def is_of_many(limit: "Threshold") -> bool:
    """Whether a threshold is one of every kind of finding, or of every kind of a severity."""
    return by_severity(limit, {})[0].key.startswith("findings.*")


def cuts(capture: Document) -> list[str]:
    """What a capture says of its end if its file is damaged or cut."""
    return [note for note in capture["notes"] if "damaged at byte" in note or "is cut short" in note]


def check_gaps(found: Sequence[str], *, allowed: bool) -> None:
    """Raises `RunError` if something was not checked, unless that is allowed; a line says what."""
    for text in found:
        say(text)
    if found and not allowed:
        raise RunError("a check that has not seen everything does not pass; --allow-unchecked lets it")


def _nothing_decided(found: Counts) -> str | None:
    """Says that no rule is decided, so that what has no failure does not pass for a success; None if one is."""
    if any(_is_decided(of_kind) for kind, of_kind in found.items() if kind != KEEP_ALIVE):
        return None
    return "nothing was evaluated: no captured frame decides any rule"


def _is_decided(of_kind: Mapping[str, float | None]) -> bool:
    """Whether any occasion of a kind is decided."""
    return bool(_number(of_kind, "count") + _number(of_kind, "kept"))


def _number(of_kind: Mapping[str, float | None], name: str) -> int:
    """How many occasions of a kind have a verdict."""
    return int(of_kind.get(name) or 0)


def _lacks(kind: str, undecidable: int, documents: Sequence[Document]) -> str:
    """Says why the captures decide nothing about a kind."""
    if undecidable:
        return f"of {undecidable} occasions the captured frames decide none"
    for document in documents:
        for check in document["checks"]:
            if check["kind"] == kind and check["lacks"]:
                return str(check["lacks"])
    if any(document["air"] is not None for document in documents):
        return "the captured frames have no occasion for it"
    return "that takes a capture of 802.11 frames"


def write_junit(
    path: Path,
    documents: Sequence[Document],
    *,
    strict: bool = False,
    gaps: Sequence[str] = (),
    asked: Collection[str] = (),
) -> None:
    """Writes a test case for each rule: failed where it was violated, skipped where nothing was decided.

    One that passes says what it leaves undecidable. With `strict` a rule of which anything is undecidable has failed,
    too. Each of the `gaps` is an error, and so is a rule that was `asked` about and not decided.
    Keys that decrypt nothing are an error, and so is a capture that decides no rule.
    """
    found = counts(documents)
    texts = _texts(documents)
    file = printable(Path(documents[0]["capture"]["file"]).name)
    cases = []
    for kind, of_kind in found.items():
        if kind == KEEP_ALIVE:
            continue
        case = ElementTree.Element("testcase", classname=file, name=kind)
        undecidable = _number(of_kind, "undecidable")
        message = f"{_number(of_kind, 'count')} times violated, {undecidable} undecidable"
        lines = "\n".join(map(printable, texts.get(kind, [])))
        # A note is about what the standard allows.
        is_failed = of_kind["count"] and _SEVERITIES[kind] != "note"
        if is_failed or (strict and undecidable):
            ElementTree.SubElement(case, "failure", message=message).text = lines
        elif of_kind["count"]:
            ElementTree.SubElement(case, "system-out").text = f"{message}\n{lines}"
        elif not of_kind["kept"]:
            why = f"not evaluated: {_lacks(kind, undecidable, documents)}"
            ElementTree.SubElement(case, "error" if kind in asked else "skipped", message=printable(why))
        elif undecidable:
            text = f"{undecidable} undecidable beside {_number(of_kind, 'kept')} kept"
            ElementTree.SubElement(case, "system-out").text = text
        elif idle := _without_occasion(documents, kind):
            ElementTree.SubElement(case, "system-out").text = f"no occasion at {', '.join(idle)}"
        cases.append(case)
        if of_kind["kept"] or of_kind["count"]:
            cases.extend(_skipped(file, kind, documents))
    undecrypted, nothing = decryption.failure(documents), _nothing_decided(found)
    if undecrypted is not None:
        cases.append(_error(file, "decryption", undecrypted))
    if nothing is not None:
        # A suite of which all cases are skipped looks like a success.
        cases.append(_error(file, "evaluation", nothing))
    cases.extend(_error(file, "capture", gap) for gap in gaps)
    _write_suite(path, cases)


def _skipped(file: str, kind: str, documents: Sequence[Document]) -> Iterator[ElementTree.Element]:
    """Yields a skipped case for each station of several about which a rule is not evaluated."""
    for document in documents if len(documents) > 1 else ():
        for lacks in _lacking([document], [kind]):
            case = ElementTree.Element("testcase", classname=file, name=f"{kind} {printable(str(document['station']))}")
            ElementTree.SubElement(case, "skipped", message=printable(f"not evaluated: {lacks}"))
            yield case


def write_junit_error(path: Path, capture: str, why: str) -> None:
    """Writes that the capture could not be analysed, so that no earlier file passes for the result of this analysis."""
    _write_suite(path, [_error(printable(Path(capture).name), "analyze", why)])


def _error(file: str, name: str, why: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=file, name=name)
    ElementTree.SubElement(case, "error", message=printable(why))
    return case


def _write_suite(path: Path, cases: Sequence[ElementTree.Element]) -> None:
    suite = ElementTree.Element("testsuite", name="airwatt analyze", tests=str(len(cases)))
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(key, str(sum(case.find(tag) is not None for case in cases)))
    suite.extend(cases)
    ElementTree.indent(suite)
    with writing("--junit", path), replacing(path) as out:
        out.write(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n")


def write_sarif(path: Path, documents: Sequence[Document]) -> None:
    """Writes each violated occurrence and keep-alive as a result of SARIF 2.1.0, with the packets that decide it.

    Keys that decrypt nothing are an invocation without success, so that no results do not look like no violations.
    """
    rules: dict[str, dict[str, Any]] = {}
    results = []
    capture = documents[0]["capture"]
    for finding in _each_once(documents, "findings", "station"):
        rule = {"id": finding["kind"], "shortDescription": {"text": finding["clause"] or finding["kind"]}}
        rules.setdefault(finding["kind"], rule)
        for place in finding["occurrences"]:
            if place["verdict"] in COUNTED:
                results.append(_sarif_result(capture, finding, place))
    driver = {"name": "airwatt analyze", "version": __version__, "rules": list(rules.values())}
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    found = counts(documents)
    nothing = None if found[KEEP_ALIVE]["count"] else _nothing_decided(found)
    failures = [text for text in (decryption.failure(documents), nothing) if text is not None]
    if failures:
        notifications = [{"level": "error", "message": {"text": text}} for text in failures]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notifications}]
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    with writing("--sarif", path), replacing(path) as out:
        out.write(json.dumps(log, indent=2).encode() + b"\n")


def _sarif_result(capture: Document, finding: Document, place: Document) -> dict[str, Any]:
    text = place.get("detail", finding["text"])
    # Consumers of SARIF require a line of a text: that of `tshark -r FILE`, which prints one for each packet.
    file, number = _in_file(capture, place["packet"]) or (capture["file"], place["packet"])
    region = {"startLine": number}
    packet, packets = _numbers(capture, [place["packet"]]), _numbers(capture, place["packets"])
    message = f"packet {packet}, {_whom(finding, place)}: {text} (decided by packets {packets})"
    return {
        "ruleId": finding["kind"],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": file}, "region": region}}],
        "properties": {key: place[key] for key in ("packet", "time_s", "packets", "access_point")},
    }


def _in_file(capture: Document, packet: int) -> tuple[str, int] | None:
    """The file of a folder that has a packet, and its number there; None for a capture of one file."""
    files = capture.get("files", [])
    if len(files) < 2:
        return None
    file, first = files[bisect_right(files, packet, key=lambda one: one[1]) - 1]
    return file, packet - first + 1


def _numbers(capture: Document, packets: Sequence[int]) -> str:
    """The numbers of packets in the whole capture, and beside them those in the files of a folder."""
    found = [(packet, _in_file(capture, packet)) for packet in packets]
    return ", ".join(
        str(packet) if place is None else f"{packet} ({printable(place[0])}: {place[1]})" for packet, place in found
    )


def _whom(finding: Document, place: Document) -> str:
    """The station or access point of an occurrence, with the access point that the station was with."""
    bssid = place["access_point"]
    return str(finding["station"]) + (f" with {bssid}" if bssid not in (None, finding["station"]) else "")


def _texts(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Gives the occurrences of each kind that are not kept, each with the packets that decide it."""
    texts: dict[str, list[str]] = {}
    for finding in _each_once(documents, "findings", "station"):
        for place in finding["occurrences"]:
            if place["verdict"] == "kept":
                continue
            capture = documents[0]["capture"]
            packet, packets = _numbers(capture, [place["packet"]]), _numbers(capture, place["packets"])
            detail = f": {place['detail']}" if "detail" in place else ""
            line = f"packet {packet} at {place['time_s']:.6f} s, {_whom(finding, place)}, {place['verdict']}"
            texts.setdefault(finding["kind"], []).append(f"{line}{detail} (decided by packets {packets})")
    return texts


class Baseline(NamedTuple):
    """What an earlier analysis has found."""

    found: Counts
    decided: set[tuple[str, str]]
    """The stations and the kinds about which it decided something."""


def _decided(documents: Sequence[Document]) -> set[tuple[str, str]]:
    """The stations and the kinds about which something is decided."""
    return {
        (str(document["station"]), check["kind"])
        for document in documents
        for check in document["checks"]
        if check["violated"] or check["kept"]
    }


def baseline(path: Path) -> Baseline:
    """Reads an earlier analysis. Raises `InputError` unless the file is from `analyze --json`."""
    try:
        document = document_of(path)
    except OSError as error:
        raise InputError(f"--compare {path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"--compare {path}: expected a document of analyze --json, got no JSON") from None
    documents = document.get("analyses", [document]) if isinstance(document, dict) else []
    if not documents or not all(isinstance(one, dict) and "checks" in one and "findings" in one for one in documents):
        raise InputError(f"--compare {path}: expected a document of analyze --json, got another one")
    try:
        return Baseline(counts(documents), _decided(documents))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InputError(f"--compare {path}: expected a document of analyze --json, got a damaged one") from None


def compare(path: Path, before: Baseline, documents: Sequence[Document]) -> None:
    """Says what changed since an earlier analysis.

    Raises `RunError` if a rule is violated more often than it was, or if one that was decided then is not decided now,
    at all or about a station.
    """
    worse, lost = [], []
    for kind, now in counts(documents).items():
        was = before.found.get(kind, {})
        violated, before_ = _number(now, "count"), _number(was, "count")
        if violated != before_:
            say(f"--compare {path}: {kind}: violated {violated} times, {before_} before")
        if violated > before_:
            worse.append(kind)
        if _is_decided(was) and not _is_decided(now) and kind != KEEP_ALIVE:
            why = _lacks(kind, _number(now, "undecidable"), documents)
            say(f"--compare {path}: {kind}: not evaluated: {why}")
            lost.append(kind)
    # Another night has other occasions; what the capture lacks is another matter.
    for document in documents:
        kinds = [kind for station, kind in before.decided if station == document["station"] and kind not in lost]
        lacking = _lacking([document], sorted(kinds))
        _tell(f"--compare {path}", lacking)
        lost.extend(itertools.chain.from_iterable(lacking.values()))
    if worse:
        raise RunError(f"--compare {path}: {', '.join(worse)}: violated more often than before")
    if lost:
        raise RunError(f"--compare {path}: {', '.join(dict.fromkeys(lost))}: evaluated before, and not now")
