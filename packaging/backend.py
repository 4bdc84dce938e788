"""The build backend: maturin's, after the commit was written into the package, where sdists and wheels find it.

What is built from such an sdist, or from an archive of git, has the commit already.
"""

import subprocess
import sys
from pathlib import Path

from maturin import (  # noqa: F401
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from maturin import build_sdist as _build_sdist
from maturin import build_wheel as _build_wheel

_TREE = Path(__file__).parents[1]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds a wheel; returns its name."""
    _write_commit()
    return _build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """Builds an sdist; returns its name."""
    _write_commit()
    return _build_sdist(sdist_directory, config_settings)


def _write_commit():
    if (_TREE / ".git").exists():
        package = _TREE / "python" / "airwatt"
        with (package / "_commit").open("w", encoding="utf-8") as out:
            subprocess.run([sys.executable, "-P", package / "built.py"], stdout=out, check=True)
