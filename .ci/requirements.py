"""Prints what pyproject.toml asks for, base and test: installed before the package itself can be built."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
for requirement in [*project["project"]["dependencies"], *project["dependency-groups"]["test"]]:
    print(requirement)
