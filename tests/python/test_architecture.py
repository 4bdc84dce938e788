"""The paths that ARCHITECTURE.md names exist, the answers to its twenty questions among them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text()


def test_each_of_the_twenty_questions_has_one_place() -> None:
    section = PAGE.split("## Twenty questions")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*\?) \| `(.*)` \|$", section, re.MULTILINE)
    assert len(rows) == 20
    assert len({path for _, path in rows}) == 20, "two questions lead to the same place"
    missing = [(question, path) for question, path in rows if not (ROOT / path).exists()]
    assert not missing


def test_places_and_links_exist() -> None:
    table = PAGE.split("| place | holds |")[1].split("\n\n")[0]
    places = re.findall(
        r"`([^`]+)`", "\n".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    )
    links = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert len(places) > 15
    missing = [path for path in places + links if not (ROOT / path).exists()]
    assert not missing
