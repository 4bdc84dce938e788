"""What this package was built from."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path


@functools.cache
def commit() -> str | None:
    """The commit that this package is of: of the tree that it lies in, or the one that its wheel was built from.

    None where neither is known. With `-dirty` at its end the tree had changes that no commit has.
    """
    package = Path(__file__).parent
    built = package / "_commit"
    tree = package.parents[1]
    if not (tree / ".git").exists():
        return built.read_text(encoding="utf-8").strip() if built.is_file() else None
    line = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        return subprocess.run(line, capture_output=True, text=True, check=True, timeout=5).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
