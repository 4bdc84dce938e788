"""No two files need each other, and no two rooms: what a crate's files and the package's modules need has no circle.

A room is a file with the folder of its children. A file and its own children may know each other; the children among
themselves may not. A name counts for the file that defines it: re-exports (`pub use`, and imports of a package's
`__init__`) are followed, and are no need of the file that has them. In Rust, `use` and qualified names count, also
within functions; in Python, lazy imports and those for types. Where the methods of one type stand in several files, a
file that calls a method on `self` needs the file that has it.
Left out: tests, what macros write, calls of methods on anything but `self`, and those of traits' methods.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRATES = sorted(path.name for path in (ROOT / "crates").iterdir())

Module = tuple[str, ...]
Graph = dict[Module, set[Module]]

# Circles of the crates that are still there. The list may only become shorter.
LEFT = {
    # The exchanges of hidden stations go over the steps of the others, and use what the cell has for both.
    "sim": [["media/cell", "media/cell/exchange", "media/cell/exchange/overlap"]],
}

_USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+((?:crate|super|self|\w+)\b[^;]*);")
_PATH = re.compile(r"(?<![\w:$])((?:\w+::)+\w+)")
_IMPL = re.compile(r"^impl(?:<[^{;]*?>)?\s+(?:[^{;]*?\bfor\s+)?((?:\w+::)*\w+)[^{;]*\{(.*?)^\}", re.M | re.S)
_METHOD = re.compile(r"\bfn (\w+)")
_CALL = re.compile(r"\bself\s*\.\s*(\w+)(?:::<[^()]*>)?\(|\bSelf::(\w+)\b")
_DEFINES = r"\b(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+{}\b"


def circles(graph: Mapping[Module, set[Module]]) -> Iterator[set[Module]]:
    """Gives the files that need each other. What a file needs of the one whose child it is does not count."""
    yield from _components({module: needed - {module[:-1]} for module, needed in graph.items()})


def _components(graph: Mapping[Module, set[Module]]) -> Iterator[set[Module]]:
    reachable = {module: _reached(graph, module) for module in graph}
    seen: set[Module] = set()
    for module in sorted(graph):
        if module not in seen:
            component = {other for other in reachable[module] if module in reachable.get(other, ())}
            seen |= component
            if len(component) > 1:
                yield component


def _reached(graph: Mapping[Module, set[Module]], start: Module) -> set[Module]:
    found, left = set(), [start]
    while left:
        for module in graph[left.pop()] - found:
            found.add(module)
            left.append(module)
    return found


def rooms(graph: Mapping[Module, set[Module]]) -> Iterator[set[Module]]:
    """Gives the rooms of one folder that need each other: what any file of a room needs, the room needs."""
    for folder in sorted({module[:depth] for module in graph for depth in range(len(module))}):
        depth = len(folder) + 1
        inside = [module for module in graph if len(module) >= depth and module[: depth - 1] == folder]
        below: Graph = {module[:depth]: set() for module in inside}
        for module in inside:
            needed = {other[:depth] for other in graph[module]}
            below[module[:depth]] |= {room for room in needed if room in below and room != module[:depth]}
        yield from _components(below)


class Crate:
    """The files of a crate, and which of them each needs."""

    def __init__(self, folder: Path) -> None:
        self._texts = {}
        for path in folder.rglob("*.rs"):
            parts = path.relative_to(folder).with_suffix("").parts
            if "tests" not in parts and parts[0] != "bin":
                module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
                self._texts[module] = _without_tests(path.read_text("utf-8"))
        self._names = {
            module: {name: path for name, path, _ in _uses(module, text)} for module, text in self._texts.items()
        }

    def graph(self) -> Graph:
        """Gives the files that each file needs."""
        graph: Graph = {module: set() for module in self._texts}
        for module, text in self._texts.items():
            rest = _USE.sub("", text)
            paths = [
                path
                for name, path, exported in _uses(module, text)
                if path not in self._texts and not (exported and not re.search(rf"\b{re.escape(name)}\b", rest))
            ]
            paths += [self._absolute(module, tuple(path.split("::"))) for path in _PATH.findall(rest)]
            for path in paths:
                target = self._defined(path)
                if target is not None and target != module:
                    graph[module].add(target)
        for module, target, _ in self.calls():
            graph[module].add(target)
        return graph

    def calls(self) -> Iterator[tuple[Module, Module, str]]:
        """Gives the methods that other files of their type call: the file of the call, that of the method, its name."""
        impls = [
            (module, (self._defined(self._absolute(module, tuple(name.split("::")))) or module, name), inherent, body)
            for module, text in self._texts.items()
            for name, inherent, body in _impls(text)
        ]
        methods: dict[tuple[tuple[Module, str], str], set[Module]] = {}
        for module, of_type, inherent, body in impls:
            for method in _METHOD.findall(body) if inherent else ():
                methods.setdefault((of_type, method), set()).add(module)
        for module, of_type, _, body in impls:
            for method in {name for names in _CALL.findall(body) for name in names if name}:
                files = methods.get((of_type, method), set())
                if module not in files:
                    yield from ((module, target, method) for target in files)

    def _absolute(self, module: Module, path: Module) -> Module:
        """The path of a qualified name: its first part is a name of the file, a child, or `crate`, `self`, `super`."""
        if path[0] in ("crate", "self", "super"):
            return _from_root(module, path)
        if path[0] in self._names[module]:
            return self._names[module][path[0]] + path[1:]
        return module + path if module + path[:1] in self._texts else ("?",)

    @cache  # noqa: B019 - a crate is read once
    def _defined(self, path: Module, depth: int = 0) -> Module | None:
        """The file that defines a name, if it is one of this crate."""
        module: Module = ()
        for at, part in enumerate(path):
            if (*module, part) in self._texts:
                module = (*module, part)
                continue
            further = self._names.get(module, {})
            if self._defines(module, part):
                return module
            if part in further and depth < 9:
                return self._defined(further[part] + path[at + 1 :], depth + 1)
            if at == 0:
                return None
            for name, target in further.items():
                if name.startswith("*") and self._has(target, part):
                    return self._defined((*target, *path[at:]), depth + 1)
            return module
        return module if path else None

    def _has(self, module: Module, name: str) -> bool:
        return name in self._names.get(module, {}) or self._defines(module, name)

    @cache  # noqa: B019
    def _defines(self, module: Module, name: str) -> bool:
        return bool(re.search(_DEFINES.format(re.escape(name)), self._texts.get(module, "")))


def _impls(text: str) -> Iterator[tuple[str, bool, str]]:
    """The types of the impl blocks of a file, whether a block is of no trait, and its text."""
    for impl in _IMPL.finditer(text):
        head = impl[0][: impl.start(2) - impl.start()]
        yield impl[1], not re.search(r"\sfor\s", head), impl[2]


def _without_tests(text: str) -> str:
    text = re.sub(r"//[^\n]*", "", text)
    # Who may see a name is no need of it.
    text = re.sub(r"\bpub\(in [^)]*\)", "pub(super)", text)
    return re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", text)[0]


def _uses(module: Module, text: str) -> Iterator[tuple[str, Module, bool]]:
    """The names that a file imports, their paths from the root of the crate, and whether they are re-exported."""
    for public, tree in _USE.findall(text):
        for one in _expanded(re.sub(r"\s+", " ", tree)):
            path, _, alias = one.partition(" as ")
            parts = tuple(part.strip() for part in path.split("::"))
            parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
            whole = _from_root(module, parts)
            if whole[-1:] == ("*",):
                yield "*" + "::".join(whole), whole[:-1], bool(public)
            elif whole:
                yield alias.strip() or parts[-1], whole, bool(public)


def _from_root(module: Module, parts: Module) -> Module:
    if parts[0] == "crate":
        return parts[1:]
    if parts[0] not in ("self", "super"):
        # A child of this file, or another crate: the child is found, the crate is not.
        return parts if len(parts) > 1 and parts[0].startswith("airwatt_") else (*module, *parts)
    at = module
    while parts and parts[0] in ("self", "super"):
        at, parts = (at[:-1] if parts[0] == "super" else at), parts[1:]
    return (*at, *parts)


def _expanded(tree: str) -> list[str]:
    """A use tree as single paths."""
    at = tree.find("{")
    if at < 0:
        return [tree]
    parts, depth, part = [], 0, ""
    for char in tree[at + 1 :]:
        if depth == 0 and char in ",}":
            parts.append(part)
            part = ""
            if char == "}":
                break
            continue
        depth += (char == "{") - (char == "}")
        part += char
    return [one for part in parts if part.strip() for one in _expanded(tree[:at] + part.strip())]


def package(folder: Path) -> Graph:
    """Gives the modules of a Python package that each module needs."""
    trees, is_init = {}, {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        module = parts[:-1] if parts[-1] == "__init__" else parts
        is_init[module] = module != parts
        trees[module] = ast.parse(path.read_text("utf-8"))
    names = {module: dict(_imports(tree)) for module, tree in trees.items()}

    def defined(path: Module, depth: int = 0) -> Module | None:
        if path in trees:
            return path
        module, name = path[:-1], path[-1]
        if folder.parent.joinpath(*path).with_suffix(".pyi").exists():
            return None
        if name in names.get(module, {}) and depth < 9:
            return defined(names[module][name], depth + 1)
        return module if module in trees else None

    graph: Graph = {module: set() for module in trees}
    for module, tree in trees.items():
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for name, path in _imports(tree):
            if is_init[module] and name not in used:
                continue
            target = defined(path)
            if target is not None and target != module:
                graph[module].add(target)
    return graph


def _imports(tree: ast.Module) -> Iterator[tuple[str, Module]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, (*node.module.split("."), alias.name)


def _found(graph: Graph) -> list[list[str]]:
    return [sorted("/".join(module) or "lib" for module in circle) for circle in [*circles(graph), *rooms(graph)]]


@pytest.mark.parametrize("crate", CRATES)
def test_files_and_rooms_of_a_crate_have_no_circle(crate):
    assert _found(Crate(ROOT / "crates" / crate / "src").graph()) == LEFT.get(crate, [])


def test_modules_and_rooms_of_the_package_have_no_circle():
    assert _found(package(ROOT / "python" / "airwatt")) == []


def floors(graph: Graph, depth: int) -> list[list[str]]:
    """The rooms at this depth, those that need no other first; each floor needs those before it alone."""
    needed: dict[Module, set[Module]] = {module[:depth]: set() for module in graph if len(module) >= depth}
    for module, others in graph.items():
        if module[:depth] in needed:
            needed[module[:depth]] |= {other[:depth] for other in others} & needed.keys() - {module[:depth]}
    found: list[list[str]] = []
    placed: set[Module] = set()
    while floor := [room for room in sorted(needed) if room not in placed and needed[room] <= placed]:
        found.append([room[-1] for room in floor])
        placed |= set(floor)
    assert placed == needed.keys()
    return found


def test_the_floors_that_the_architecture_shows_are_those_of_the_code(pytestconfig):
    graphs = [(f"crates/{crate}", Crate(ROOT / "crates" / crate / "src").graph(), 1) for crate in CRATES]
    graphs += [("python/airwatt", package(ROOT / "python" / "airwatt"), 2)]
    lines = ["| place | floors |", "| --- | --- |"]
    for place, graph, depth in graphs:
        rows = [" ".join(f"`{room}`" for room in floor) for floor in floors(graph, depth)]
        lines.append(f"| `{place}` | {' < '.join(rows) or 'one file'} |")
    page = ROOT / "ARCHITECTURE.md"
    before, _, rest = page.read_text().partition("<!-- floors -->\n")
    _, _, after = rest.partition("<!-- end of floors -->")
    whole = before + "<!-- floors -->\n" + "\n".join(lines) + "\n<!-- end of floors -->" + after
    if pytestconfig.getoption("--bless"):
        page.write_text(whole)
    assert page.read_text() == whole


def test_a_circle_is_found(tmp_path):
    texts = {
        "lib": "mod a;\nmod b;\npub use b::B;",
        "a": "mod part;\npub struct A;\nfn f() { part::f() }",
        # A re-export leads to the file that defines the name, and a qualified name counts.
        "a/part": "use super::A;\npub fn f() { let _ = crate::B::new(); }",
        "b": "pub struct B;\nfn g(a: crate::a::A) {}",
        "c": "mod d;\nuse d::D;\npub struct C;",
        "c/d": "use super::C;\npub struct D;",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.rs").write_text(text)
    assert list(circles(Crate(tmp_path).graph())) == [{("a",), ("a", "part"), ("b",)}]
    (tmp_path / "a" / "part.rs").write_text("use super::A;\npub fn f() {}")
    assert list(circles(Crate(tmp_path).graph())) == []


def test_methods_of_one_type_in_two_files_may_not_call_each_other(tmp_path):
    texts = {
        "lib": "mod end;",
        # A file and its own child may, as `f` and `one`; a method of another type or of a trait is none of this one.
        "end": "mod left;\nmod right;\nstruct End<S>(S);\nimpl<S: Copy> End<S> {\n    fn f(&self) { self.one() }\n}",
        "end/left": "use super::End;\nimpl<S> End<S> {\n    fn one(&self) {\n        self\n          .two()\n    }\n}",
        "end/right": "use super::End;\nimpl<S> End<S> {\n    fn two(&self) { self.f() }\n}\n"
        "impl<S> Clone for End<S> {\n    fn clone(&self) -> Self { Self::one(self) }\n}\n"
        "struct Other;\nimpl Other {\n    fn one(&self) { self.one() }\n}",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.rs").write_text(text)
    assert list(circles(Crate(tmp_path).graph())) == [{("end", "left"), ("end", "right")}]
    right = tmp_path / "end" / "right.rs"
    right.write_text(right.read_text().replace("Self::one(self)", "todo!()"))
    assert list(circles(Crate(tmp_path).graph())) == []


def test_rooms_may_need_each_other_where_no_two_files_do(tmp_path):
    texts = {
        "lib": "mod a;\nmod b;",
        "a": "mod one;\nmod two;\npub struct A;",
        "a/one": "use crate::b::B;\npub fn one(b: B) {}",
        "a/two": "pub struct Two;",
        "b": "mod part;\npub struct B;",
        "b/part": "use crate::a::two::Two;\npub fn part(two: Two) {}",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.rs").write_text(text)
    graph = Crate(tmp_path).graph()
    assert list(circles(graph)) == []
    assert list(rooms(graph)) == [{("a",), ("b",)}]


def test_a_lazy_import_closes_a_circle(tmp_path):
    (tmp_path / "p").mkdir()
    texts = {"__init__": "from p.a import f", "a": "def f():\n    from p.b import g\n", "b": "from p import f\ng = f"}
    for name, text in texts.items():
        (tmp_path / "p" / f"{name}.py").write_text(text)
    assert list(circles(package(tmp_path / "p"))) == [{("p", "a"), ("p", "b")}]
