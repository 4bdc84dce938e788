"""Prints what pyproject.toml asks for, base and development: installed before the package itself can be built."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
for requirement in [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]:
    print(requirement)
