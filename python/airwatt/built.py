"""What this package was built from."""

from __future__ import annotations

import functools
import subprocess
from importlib import metadata
from pathlib import Path

_ARCHIVED = "$Format:%H %cs$"
"""Commit and day in a tree that `git archive` made, which writes them here (`.gitattributes`)."""
_DIGITS = 12


def commit() -> str | None:
    """The commit of this package: of the tree that it lies in, or that its wheel, sdist or archive was made from.

    None if none is known. With `-dirty` at its end the tree had changes that no commit has.
    """
    return _built()[0]


def date() -> str | None:
    """The day of that commit, as `2026-11-26`; None where it is not known."""
    return _built()[1]


def repository() -> str | None:
    """The address that the project states for its source, or for itself; None if it states none."""
    try:
        stated = metadata.metadata("airwatt").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return None
    urls = {label.strip().lower(): url.strip() for label, _, url in (line.partition(",") for line in stated)}
    return next((urls[label] for label in ("repository", "source", "homepage") if label in urls), None)


@functools.cache
def _built() -> tuple[str | None, str | None]:
    package = Path(__file__).parent
    tree = package.parents[1]
    if not (tree / ".git").exists():
        built = package / "_commit"
        lines = built.read_text(encoding="utf-8").splitlines() if built.is_file() else _archived()
    else:
        lines = [
            *_git(tree, "describe", "--always", "--dirty", "--exclude=*", f"--abbrev={_DIGITS}"),
            *_git(tree, "log", "-1", "--format=%cs"),
        ]
    first, second, *_ = (*lines, "", "")
    return first or None, second or None


def _archived() -> list[str]:
    name, _, day = _ARCHIVED.partition(" ")
    return [] if name.startswith("$") else [name[:_DIGITS], day]


def _git(tree: Path, *words: str) -> list[str]:
    """What git says of a tree, in a line; nothing if it says nothing."""
    try:
        done = subprocess.run(["git", "-C", str(tree), *words], capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.split()[:1]


if __name__ == "__main__":
    # For what builds: a wheel, an sdist, or airwattd.
    print("\n".join(text or "" for text in _built()))
