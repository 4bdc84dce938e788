"""Prints what pyproject.toml asks for: installed before the package itself can be built.

Without arguments what the base and the tests need; with names of extras, the base with these.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
extras = project["project"]["optional-dependencies"]


def expanded(requirements: list[str]) -> list[str]:
    """Puts the packages of extras of the package itself in their place."""
    found = []
    for requirement in requirements:
        if requirement.startswith("airwatt["):
            for extra in requirement.removeprefix("airwatt[").removesuffix("]").split(","):
                found += expanded(extras[extra])
        else:
            found.append(requirement)
    return found


asked = [f"airwatt[{','.join(sys.argv[1:])}]"] if sys.argv[1:] else project["dependency-groups"]["test"]
for requirement in dict.fromkeys(expanded([*project["project"]["dependencies"], *asked])):
    print(requirement)
