"""Writes docs/dependencies.md: what the manifests ask for directly, who uses it, and why, from their comments.

With `--check` it compares instead, and names the first difference.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "dependencies.md"
_TABLE = re.compile(r"^\[(?:workspace\.)?(?P<kind>|dev-|build-)dependencies\]$")
_LINE = re.compile(
    r"^(?P<name>[a-zA-Z0-9_-]+)(?P<shared>\.workspace = true| = \{ workspace = true)?(?: = )?(?P<rest>.*)$"
)
_HEAD = """# Dependencies

What the project asks for directly, and why; `.ci/dependencies.py` writes this page from the comments of the manifests.
`make audit` checks licences, sources and bans (`deny.toml`) and known vulnerabilities. With what these packages ask for
themselves, `Cargo.lock` has {count} packages of others.

A new one is worth a line: what it replaces, and why this one.
"""


def reasons(manifest: Path) -> dict[str, tuple[str, str, str]]:
    """Gives the external dependencies of a manifest: kind, version (empty if the workspace has it) and reason."""
    found: dict[str, tuple[str, str, str]] = {}
    kind, comment = None, []
    for line in manifest.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = _TABLE.match(line)
            kind, comment = (table["kind"] if table else None), []
        elif line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
        else:
            entry = _LINE.match(line)
            if kind is not None and entry and not entry["name"].startswith("airwatt-"):
                version = "" if entry["shared"] else (re.search(r'"([^"]+)"', entry["rest"]) or [""])[0].strip('"')
                found[entry["name"]] = (kind, version, " ".join(comment))
            comment = []
    return found


def rust() -> list[tuple[str, str, str, str]]:
    """Gives name, version, users and reason of each package, and raises `ValueError` for one without a reason."""
    shared = reasons(ROOT / "Cargo.toml")
    users: dict[str, list[str]] = {}
    own: dict[str, tuple[str, str]] = {}
    for manifest in sorted([*ROOT.glob("crates/*/Cargo.toml"), ROOT / "fuzz" / "Cargo.toml"]):
        for name, (kind, version, reason) in reasons(manifest).items():
            users.setdefault(name, []).append(
                manifest.parent.name + {"": "", "dev-": " (tests)", "build-": " (build)"}[kind]
            )
            if version:
                own[name] = (version, reason)
            elif name not in own:
                own[name] = shared[name][1:]
    for name, (_, reason) in own.items():
        if not reason:
            raise ValueError(f"{name}: expected a comment above it that says why, got none")
    return [(name, own[name][0], ", ".join(users[name]), own[name][1]) for name in sorted(own)]


def python() -> list[tuple[str, str, str]]:
    """Gives requirement, use and reason of each Python package."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)
    why = {
        match["name"]: match["why"]
        for match in re.finditer(r'^\s*"(?P<name>[A-Za-z0-9_-]+)[^"]*", *# (?P<why>.+)$', text, re.MULTILINE)
    }
    uses = {"always": project["project"]["dependencies"], **project["project"].get("optional-dependencies", {})}
    uses["tests"] = project["dependency-groups"]["test"]
    rows: dict[str, tuple[str, list[str]]] = {}
    for use, requirements in uses.items():
        for requirement in requirements:
            name = re.split(r"[><=\[]", requirement)[0]
            if name != "airwatt":
                rows.setdefault(name, (requirement, []))[1].append(use)
    for name in rows:
        if name not in why:
            raise ValueError(f"pyproject.toml: {name}: expected a comment after it that says why, got none")
    return [(rows[name][0], ", ".join(rows[name][1]), why[name]) for name in sorted(rows)]


def page() -> str:
    """The whole page."""
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    parts = [_HEAD.format(count=sum(not package["name"].startswith("airwatt-") for package in packages))]
    parts += ["## Rust\n", "| package | version | used by | why |", "| --- | --- | --- | --- |"]
    parts += [f"| `{name}` | {version} | {users} | {why} |" for name, version, users, why in rust()]
    parts += ["\n## Python\n", "| package | asked for by | why |", "| --- | --- | --- |"]
    parts += [f"| `{requirement}` | {use} | {why} |" for requirement, use, why in python()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text(encoding="utf-8") != page():
            sys.exit(
                "docs/dependencies.md: expected what the manifests say; hint: .venv/bin/python .ci/dependencies.py"
            )
    else:
        PAGE.write_text(page(), encoding="utf-8")
