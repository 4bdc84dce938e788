"""Collects the pages of the documentation site: site.py FOLDER.

The site has the folders of the repository, so that links between pages stay as they are. What else a page links to (a
scenario, a source file, a folder) is copied or listed. A link that leads nowhere is an error. With SITE_WITHOUT_RUST
there is no page of the Rust crates, since it leads to what rustdoc makes.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parent.parent
_LINK = re.compile(r"(?P<before>\]\()(?P<target>[^)\s]+)(?P<after>\))")
_CONFIG = """site_name: airwatt
site_description: What a Wi-Fi radio spends on TCP, and what can be done about it
docs_dir: pages
theme:
  name: material
  font: false
  features: [navigation.indexes, navigation.top, search.highlight, content.code.copy]
plugins:
  - search
  - mkdocstrings:
      handlers:
        python:
          paths: [{python}]
          options: {{ show_source: false, members_order: source, show_root_heading: true }}
markdown_extensions:
  [admonition, attr_list, tables, toc: {{ permalink: true }}, pymdownx.highlight, pymdownx.superfences]
validation:
  nav: {{ omitted_files: ignore }}
  links: {{ anchors: warn, not_found: warn, unrecognized_links: warn }}
nav:
  - Home: README.md
  - Tutorials: [{tutorials}]
  - Guides: [{guides}]
  - Models: [{models}]
  - Reproductions: [{reproductions}]
  - Reference:
      - Python: python.md{rust}
      - Dependencies: docs/dependencies.md
  - Project: [ARCHITECTURE.md, CONTRIBUTING.md, SECURITY.md, CHANGELOG.md]
"""


class Site:
    """The pages under construction."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wrong: list[str] = []

    def page(self, path: Path) -> None:
        """Copies a page with what it links to."""
        code = False
        lines = []
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            code = code != line.lstrip().startswith("```")
            if not code and not line.startswith("    "):
                place = f"{path}:{number}"
                line = _LINK.sub(lambda link, place=place: self._link(link, path, place), line)
            lines.append(line)
        self._write(path, "\n".join(lines) + "\n")

    def _link(self, link: re.Match[str], page: Path, place: str) -> str:
        target, _, anchor = link["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        real = (ROOT / page.parent / unquote(target)).resolve()
        if not real.exists() or not real.is_relative_to(ROOT):
            self.wrong.append(f"{place}: {link['target']} leads nowhere")
            return link[0]
        if real.is_dir():
            target = f"{target.rstrip('/')}/{self._listing(real.relative_to(ROOT))}"
        elif real.suffix != ".md":
            shown = real.relative_to(ROOT)
            if not (self.folder / shown).exists():
                (self.folder / shown).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(real, self.folder / shown)
        return f"{link['before']}{target}{'#' + anchor if anchor else ''}{link['after']}"

    def _listing(self, folder: Path) -> str:
        """The page of a folder: its own, or a list of what is in it."""
        if (ROOT / folder / "README.md").exists():
            return "README.md"
        files = [Path(name) for name in tracked(str(folder))]
        for file in files:
            if file.suffix != ".md" and not (self.folder / file).exists():
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, self.folder / file)
        lines = [f"- [{file.relative_to(folder)}]({file.relative_to(folder)})" for file in files]
        self._write(folder / "index.md", f"# {folder}\n\n" + "\n".join(lines) + "\n")
        return "index.md"

    def _write(self, path: Path, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")


def tracked(*patterns: str) -> list[str]:
    """The files of the repository that match."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    return subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


def main(out: Path) -> None:
    """Writes the pages and the configuration."""
    shutil.rmtree(out, ignore_errors=True)
    site = Site((out / "pages").resolve())
    pages = [Path(name) for name in tracked("*.md") if not name.startswith(".github/")]
    for page in pages:
        site.page(page)
    # Pictures that no page shows belong to the site too.
    for picture in tracked("docs/img"):
        if not (site.folder / picture).exists():
            (site.folder / picture).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / picture, site.folder / picture)
    if site.wrong:
        sys.exit("\n".join(site.wrong))
    site._write(Path("python.md"), "# The Python package\n\n::: airwatt\n")
    rust = ""
    if not os.environ.get("SITE_WITHOUT_RUST"):
        rust = "\n      - Rust: rust.md"
        rustdoc = '<a href="../rustdoc/airwatt_sim/index.html">airwatt_sim</a>'
        text = f"# The Rust crates\n\nrustdoc makes their reference: {rustdoc} and its neighbours.\n"
        site._write(Path("rust.md"), text)

    def below(folder: str) -> str:
        return ", ".join(
            str(page) for page in sorted(pages) if str(page.parent) == folder and page.name != "dependencies.md"
        )

    places = {
        "tutorials": "docs/tutorials",
        "guides": "docs",
        "models": "docs/models",
        "reproductions": "docs/reproductions",
    }
    nav = {name: below(folder) for name, folder in places.items()}
    (out / "mkdocs.yml").write_text(_CONFIG.format(python=ROOT / "python", rust=rust, **nav), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
