"""The output in docs/models is that of the commands; `--bless` writes it anew. Each model has its page."""

import re
import shlex

import pytest
from conftest import ROOT

from airwatt import models

PAGES = sorted((ROOT / "docs" / "models").glob("*.md"))
_SHOWN = re.compile(
    r"^    \$ airwatt (?P<command>.*)\n(?P<output>(?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE
)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_the_commands_print(airwatt, request, page):
    def printed(match):
        answer = airwatt(*shlex.split(match["command"]))
        assert answer.status == 0, answer.err
        return f"    $ airwatt {match['command']}\n{_indented(answer.out)}"

    text = page.read_text()
    renewed, count = _SHOWN.subn(printed, text)
    assert count
    if request.config.getoption("--bless"):
        page.write_text(renewed)
    assert renewed == text or request.config.getoption("--bless")


def test_every_model_has_a_page_in_the_index():
    index = (ROOT / "docs" / "models" / "README.md").read_text()
    assert {page.stem for page in PAGES} == {*models.ALL, "README"}
    for name in models.ALL:
        assert f"({name}.md)" in index
        assert (ROOT / "crates" / "models" / "src" / f"{name.replace('-', '_')}.rs").exists()


def test_the_python_of_the_index_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "models" / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})
