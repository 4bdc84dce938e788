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


def _named(place: str) -> set[str]:
    """The names in backquotes that a place holds, by the table and by its list, without a slash at their end."""
    table = PAGE.split("| place | holds |")[1].split("\n\n")[0]
    holds = next(line for line in table.splitlines() if line.startswith(f"| `{place}"))
    listed = PAGE.partition(f"### What is in `{place}`")[2].split("\n#")[0]
    return {name.rstrip("/") for name in re.findall(r"`([^`]+)`", holds + listed)}


# Of these the files are listed elsewhere: a file a model, a format or a binding.
UNLISTED = {"dot11", "models", "packetdrill", "partial", "py"}


def _parts(folder: Path) -> set[str]:
    """The files and folders of a crate or package."""
    return {path.name.split(".")[0] for path in folder.iterdir() if not path.name.startswith("__")} - {
        "lib", "main", "mod", "tests", "testkit", "bin", "py", "_core", "_commit",
    }  # fmt: skip


def test_everything_that_exists_has_its_place() -> None:
    """Crates and the package, the parts of each, and the pages of documentation."""
    crates = [path.name for path in (ROOT / "crates").iterdir() if (path / "Cargo.toml").exists()]
    missing = {name: _parts(ROOT / f"crates/{name}/src") - _named(f"crates/{name}") for name in {*crates} - UNLISTED}
    missing["python"] = _parts(ROOT / "python/airwatt") - _named("crates/py")
    missing["docs"] = {path.name for path in (ROOT / "docs").glob("*.md")} - _named("docs/")
    assert not {name: parts for name, parts in missing.items() if parts}
    assert all(_named(f"crates/{name}") for name in UNLISTED)


def test_what_the_page_names_exists() -> None:
    """A name in backquotes, in the table and in the walks, is how some path ends, without `src` and suffix."""
    paths = [path.relative_to(ROOT) for path in ROOT.glob("*/*")]
    paths += [path.relative_to(ROOT) for top in ("crates", "python") for path in (ROOT / top).rglob("*")]
    ends = {"/" + "/".join(part for part in path.with_suffix("").parts if part != "src") for path in paths}
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/?`", PAGE.split("| place | holds |")[1].split("## Twenty")[0])
    named = [name for name in named if not (ROOT / name).exists()]
    missing = {name for name in named if not any(end.endswith(f"/{name}") for end in ends)}
    assert missing == {"airwattd"}, "which is a program"


def test_every_machine_is_held_to_the_contract() -> None:
    """Some test of its crate that calls `check_machine` names it."""
    held: dict[str, str] = {}
    machines = []
    for path in sorted((ROOT / "crates").rglob("*.rs")):
        crate, text = path.relative_to(ROOT / "crates").parts[0], path.read_text()
        machines += [(crate, name) for name in re.findall(r"^impl.*\bMachine for (\w+)", text, re.MULTILINE)]
        if "check_machine(" in text:
            # The tests of a file, or a file of tests.
            held[crate] = held.get(crate, "") + text.split("#[cfg(test)]\nmod tests {")[-1]
    assert len(machines) > 20
    assert not [(crate, name) for crate, name in machines if not re.search(rf"\b{name}\b", held.get(crate, ""))]
