"""The paths that ARCHITECTURE.md names exist, the answers to its twenty questions among them."""

import ast
import collections
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


def test_everything_that_exists_has_its_place() -> None:
    """Each crate has its row, and each page of documentation its link."""
    crates = {f"crates/{path.name}" for path in (ROOT / "crates").iterdir() if (path / "Cargo.toml").exists()}
    assert not {crate for crate in crates if f"| `{crate}`" not in PAGE}
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    linked = PAGE + (ROOT / "README.md").read_text()
    assert not {page for page in pages if page not in linked}


def test_each_file_opens_with_what_it_models() -> None:
    """The page leaves it to them."""
    rust = [path for path in ROOT.glob("crates/*/src/**/*.rs") if not {"tests", "tests.rs"} & {*path.parts}]
    python = list((ROOT / "python/airwatt").rglob("*.py"))
    assert len(rust) > 300
    assert len(python) > 100
    silent = [path for path in rust if not path.read_text().startswith("//!")]
    silent += [path for path in python if ast.get_docstring(ast.parse(path.read_text())) is None]
    assert not silent


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


_ROLES = {"Event", "Input", "Output", "Params", "Reason"}
_TWINS = {"Connection", "Packet", "RttEstimator", "Statistics"}
"""Types that TCP, Linux's TCP and E2TCP each have under the same name."""


def test_a_public_type_has_a_name_of_its_own() -> None:
    """But for roles and twins, which CONTRIBUTING.md names."""
    homes = collections.defaultdict(list)
    for path in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        for name in re.findall(r"^ *pub (?:struct|enum|trait|type|union) (\w+)", path.read_text(), re.MULTILINE):
            homes[name].append(str(path.relative_to(ROOT)))
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1 and name not in _ROLES | _TWINS}
    assert twice == {}
