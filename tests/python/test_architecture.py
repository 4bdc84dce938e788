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


def _named(row: str) -> set[str]:
    """The names in backquotes of a row of the table of places, without a slash at their end."""
    table = PAGE.split("| place | holds |")[1].split("\n\n")[0]
    holds = next(line for line in table.splitlines() if line.startswith(f"| `{row}"))
    return {name.rstrip("/") for name in re.findall(r"`([^`]+)`", holds)}


def test_everything_that_exists_has_its_place() -> None:
    """Crates, the parts of `linux` and of `proto`, and the pages of documentation."""
    table = PAGE.split("| place | holds |")[1]
    crates = [path.name for path in (ROOT / "crates").iterdir() if (path / "Cargo.toml").exists()]
    assert not [name for name in crates if f"`crates/{name}`" not in table]
    linux = {path.stem for path in (ROOT / "crates/linux/src").iterdir()} - {"lib", "testkit"}
    assert linux <= _named("crates/linux"), linux - _named("crates/linux")
    mechanisms = {path.name for path in (ROOT / "crates/proto/src").iterdir() if path.is_dir()}
    assert mechanisms <= _named("crates/proto"), mechanisms - _named("crates/proto")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages <= _named("docs/"), pages - _named("docs/")
