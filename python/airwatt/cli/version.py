"""`airwatt --version`, and with `--verbose` what a report of a fault needs to know of the installation."""

import platform
from importlib import metadata

from airwatt._core import __version__
from airwatt.built import commit

_PACKAGES = ("numpy", "rich", "typer", "pyarrow", "pandas", "matplotlib", "distributed")


def text(*, verbose: bool) -> str:
    """The version with the commit, where it is known; with `verbose` also core, Python, kernel, packages."""
    built = commit()
    first = f"airwatt {__version__}" + (f" ({built})" if built else "")
    if not verbose:
        return first
    from airwatt.sweeps.plan import core_hash

    python = f"Python {platform.python_version()} ({platform.python_implementation()})"
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [first, f"core library {core_hash()}", python, system]
    return "\n".join([*lines, *(f"{name} {_version_of(name)}" for name in _PACKAGES)])


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
