"""Which documents there are, and what an id names."""

import importlib
import re
from collections.abc import Iterable, Sequence

from airwatt._core import InputError
from airwatt.reproductions.publication import Document, Reproduction

DOCUMENTS = ("hashimoto_2013", "ba_ta", "e2tcp", "hashimoto_2010", "singh_2002", "e2tcp_gateway")
"""Modules of this package, each with a `DOCUMENT`."""

Chosen = tuple[Document, Reproduction]


def documents() -> list[Document]:
    """All documents, in the order of `DOCUMENTS`."""
    return [importlib.import_module(f"airwatt.reproductions.{name}").DOCUMENT for name in DOCUMENTS]


def choose(ids: Iterable[str]) -> list[Chosen]:
    """What the ids name, in the order of the documents' pages and each once. Raises `InputError` for an unknown id."""
    known = documents()
    wanted: set[str] = set()
    for text in ids:
        wanted.update(_named(text, known))
    return [(d, r) for d in known for r in d.reproductions if d.id(r) in wanted]


def _named(text: str, known: Sequence[Document]) -> set[str]:
    """The full ids behind one argument: `all`, a document (by name or number), a place in it, or a place alone."""
    if text == "all":
        return {document.id(item) for document in known for item in document.reproductions}
    for document in known:
        if text in (document.name, document.number):
            return {document.id(item) for item in document.reproductions}
        for item in document.reproductions:
            if text in (document.id(item), f"{document.number}.{item.place}"):
                return {document.id(item)}
    # A place in any document, or all parts of one: `fig13` is `ba-ta/fig13.throughput` and its like.
    part = re.compile(rf"(?:.*/)?{re.escape(text)}(?:[.a-z].*)?")
    ids = {document.id(item) for document in known for item in document.reproductions}
    parts = {id_ for id_ in ids if part.fullmatch(id_)}
    # Nothing before the end of a place is no part of it.
    if parts and text and not text.endswith("/"):
        return parts
    raise InputError(f"reproduce: expected {_expected(text, known)}, got {text!r}")


def _expected(text: str, known: Sequence[Document]) -> str:
    import difflib

    ids = [document.id(item) for document in known for item in document.reproductions]
    names = ", ".join(["all", *(document.name for document in known)])
    # An alias is compared as the id that it stands for.
    for document in known:
        text = text.replace(f"{document.number}.", f"{document.name}/")
    close = difflib.get_close_matches(text, ids, n=3, cutoff=0.6)
    near = f" (near it: {', '.join(close)})" if close else ""
    return f"{names}, or one that `airwatt reproduce list` shows{near}"


def cost_s(chosen: Sequence[Chosen], runs: int, cores: int) -> float:
    """About how long the runs of these take, with what they share counted once."""
    points = {point for _, item in chosen for point in item.points}
    return sum(point.cost_s for point in points) * runs / cores
