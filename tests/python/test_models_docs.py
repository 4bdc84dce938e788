"""The output in docs/models is that of the commands; `--bless` writes it anew. Each model has its page."""

import re

import pytest
from conftest import ROOT

import pages
from airwatt import models

PAGES = sorted((ROOT / "docs" / "models").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_the_commands_print(airwatt, request, page):
    pages.check(page, airwatt.output, request.config.getoption("--bless"))


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
