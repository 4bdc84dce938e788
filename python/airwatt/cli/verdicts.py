"""Findings for machines: counts for `--fail-if`, JUnit and SARIF files, and the comparison with an earlier analysis."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from airwatt._core import InputError, RunError, __version__, finding_kinds
from airwatt.cli import decryption
from airwatt.cli.output import say, writing
from airwatt.files import document_of, replacing
from airwatt.layout import printable

Document = Mapping[str, Any]
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def counts(documents: Sequence[Document]) -> dict[str, dict[str, float]]:
    """Gives occurrences by kind and verdict; `count` is how many violated the rule, 0 without an occasion."""
    found = {kind: {"count": 0.0, "kept": 0.0, "undecidable": 0.0} for kind in finding_kinds()}
    for document in documents:
        for check in document["checks"]:
            of_kind = found[check["kind"]]
            of_kind["count"] += check["violated"]
            of_kind["kept"] += check["kept"]
            of_kind["undecidable"] += check["undecidable"]
        for finding in document["findings"]:
            if finding["kind"] == "keep-alive":
                found["keep-alive"]["count"] += finding["count"]
    return found


def check_evaluated(option: str, kinds: Iterable[str], documents: Sequence[Document], *, strict: bool = False) -> None:
    """Raises `RunError` where the captures decide nothing about one of these kinds: passing would mean nothing.

    With `strict` also where they leave any occasion undecidable; otherwise a line says how many.
    """
    found = counts(documents)
    for kind in kinds:
        if kind == "keep-alive" and any(document["station"] is not None for document in documents):
            continue
        undecidable = int(found[kind]["undecidable"])
        if not _is_decided(found[kind]):
            raise RunError(f"{option}: {kind} was not evaluated: {_lacks(kind, undecidable, documents)}")
        if undecidable:
            text = f"{option}: {kind}: {undecidable} undecidable beside {found[kind]['kept']:.0f} kept"
            if strict:
                raise RunError(f"{text}: --strict expects none")
            say(f"{text}; --strict makes that a failure")


def check_any(option: str, documents: Sequence[Document], *, strict: bool = False) -> None:
    """Raises `RunError` where the captures decide no rule, and with `strict` where they leave one undecidable."""
    found = counts(documents)
    if not any(map(_is_decided, found.values())):
        raise RunError(f"{option}: nothing was evaluated: no captured frame decides any rule")
    open_ = [f"{kind} {of_kind['undecidable']:.0f}" for kind, of_kind in found.items() if of_kind["undecidable"]]
    if open_ and strict:
        raise RunError(f"{option}: undecidable: {', '.join(open_)}: --strict expects none")


def _is_decided(of_kind: Mapping[str, float]) -> bool:
    """Whether any occasion of a kind is decided."""
    return bool(of_kind.get("count", 0.0) + of_kind.get("kept", 0.0))


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


def write_junit(path: Path, documents: Sequence[Document], *, strict: bool = False) -> None:
    """Writes a test case for each rule: failed where it was violated, skipped where nothing was decided.

    With `strict` a rule of which anything is undecidable has failed, too. Keys that decrypt nothing are an error.
    """
    found = counts(documents)
    texts = _texts(documents)
    file = printable(Path(documents[0]["capture"]["file"]).name)
    cases = []
    for kind, of_kind in found.items():
        if kind == "keep-alive":  # No rule forbids one.
            continue
        case = ElementTree.Element("testcase", classname=file, name=kind)
        undecidable = int(of_kind["undecidable"])
        if of_kind["count"] or (strict and undecidable):
            message = f"{of_kind['count']:.0f} times violated, {undecidable} undecidable"
            lines = map(printable, texts.get(kind, []))
            ElementTree.SubElement(case, "failure", message=message).text = "\n".join(lines)
        elif not of_kind["kept"]:
            why = f"not evaluated: {_lacks(kind, undecidable, documents)}"
            ElementTree.SubElement(case, "skipped", message=printable(why))
        cases.append(case)
    undecrypted = decryption.failure(documents)
    if undecrypted is not None:
        cases.append(_error(file, "decryption", undecrypted))
    _write_suite(path, cases)


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
    """Writes each violated occurrence as a result of SARIF 2.1.0, with the packets that decide it.

    Keys that decrypt nothing are an invocation without success, so that no results do not look like no violations.
    """
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for document in documents:
        for finding in document["findings"]:
            rule = {"id": finding["kind"], "shortDescription": {"text": finding["clause"] or finding["kind"]}}
            rules.setdefault(finding["kind"], rule)
            for place in finding["occurrences"]:
                if place["verdict"] == "violated":
                    results.append(_sarif_result(document, finding, place))
    driver = {"name": "airwatt analyze", "version": __version__, "rules": list(rules.values())}
    run: dict[str, Any] = {"tool": {"driver": driver}, "results": results}
    undecrypted = decryption.failure(documents)
    if undecrypted is not None:
        notifications = [{"level": "error", "message": {"text": undecrypted}}]
        run["invocations"] = [{"executionSuccessful": False, "toolExecutionNotifications": notifications}]
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    with writing("--sarif", path), replacing(path) as out:
        out.write(json.dumps(log, indent=2).encode() + b"\n")


def _sarif_result(document: Document, finding: Document, place: Document) -> dict[str, Any]:
    details = {example["packet"]: example["detail"] for example in finding["examples"]}
    text = details.get(place["packet"], finding["text"])
    packets = ", ".join(map(str, place["packets"]))
    return {
        "ruleId": finding["kind"],
        "level": _LEVELS[finding["severity"]],
        "message": {"text": f"packet {place['packet']}, {finding['station']}: {text} (decided by packets {packets})"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": document["capture"]["file"]}}}],
        "properties": {"packet": place["packet"], "time_s": place["time_s"], "packets": place["packets"]},
    }


def _texts(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Gives the occurrences of each kind that are not kept, each with the packets that decide it."""
    texts: dict[str, list[str]] = {}
    for document in documents:
        for finding in document["findings"]:
            for place in finding["occurrences"]:
                if place["verdict"] == "kept":
                    continue
                packets = ", ".join(map(str, place["packets"]))
                detail = f": {place['detail']}" if "detail" in place else ""
                line = f"packet {place['packet']} at {place['time_s']:.6f} s, {finding['station']}, {place['verdict']}"
                texts.setdefault(finding["kind"], []).append(f"{line}{detail} (decided by packets {packets})")
    return texts


def baseline(path: Path) -> dict[str, dict[str, float]]:
    """Reads the counts of an earlier analysis. Raises `InputError` unless the file is from `analyze --json`."""
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
        return counts(documents)
    except (TypeError, KeyError, ValueError, AttributeError):
        raise InputError(f"--compare {path}: expected a document of analyze --json, got a damaged one") from None


def compare(path: Path, before: Mapping[str, Mapping[str, float]], documents: Sequence[Document]) -> None:
    """Says what changed since an earlier analysis.

    Raises `RunError` if a rule is violated more often than it was, or if one that was decided then is not decided now.
    """
    worse, lost = [], []
    for kind, now in counts(documents).items():
        was = before.get(kind, {})
        violated = was.get("count", 0.0)
        if now["count"] != violated:
            say(f"--compare {path}: {kind}: violated {now['count']:.0f} times, {violated:.0f} before")
        if now["count"] > violated:
            worse.append(kind)
        if _is_decided(was) and not _is_decided(now) and kind != "keep-alive":
            say(f"--compare {path}: {kind}: not evaluated: {_lacks(kind, int(now['undecidable']), documents)}")
            lost.append(kind)
    if worse:
        raise RunError(f"--compare {path}: {', '.join(worse)}: violated more often than before")
    if lost:
        raise RunError(f"--compare {path}: {', '.join(lost)}: evaluated before, and not now")
