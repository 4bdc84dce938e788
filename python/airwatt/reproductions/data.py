"""What of a publication is data: `publication.toml` in its folder.

It has the names, the citation and the configuration, and whatever of the grid, the scenario and the printed numbers is
a table. What computes (values from runs, claims that compare curves, pictures) is Python beside it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from airwatt.reproductions.publication import Document, Reproduction


def read(package: str) -> Mapping[str, Any]:
    """The tables of a publication, by the name of its package. The shape of each is what its package expects."""
    return tomllib.loads(resources.files(package).joinpath("publication.toml").read_text())


def document(data: Mapping[str, Any], reproductions: Sequence[Reproduction]) -> Document:
    """The document that tables describe."""
    about = data["publication"]
    return Document(about["name"], about["number"], about["citation"], about["configuration"], tuple(reproductions))
