"""The output in docs/models is that of the commands; `--bless` writes it anew. Each model has its page."""

import re

import pytest
from conftest import ROOT

import pages
from airwatt import models

PAGES = sorted((ROOT / "docs" / "models").glob("*.md"))
FEWER_RUNS = {"ack-gap": 1, "ap-buffer": 1, "psm-throughput": 1, "tcp-energy": 3}
"""Models whose validations take long, and the runs of each point with which they are tried in the normal lane."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long) if page.stem in FEWER_RUNS else page for page in PAGES],
    ids=lambda page: page.stem,
)
def test_the_page_shows_what_the_commands_print(airwatt, request, page):
    pages.check(page, airwatt.output, request.config.getoption("--bless"))


@pytest.mark.parametrize("model", FEWER_RUNS)
def test_a_validation_that_takes_long_holds_with_fewer_runs(airwatt, model):
    """The commands of the page, compared as they are but for the numbers of the validation."""
    for command, printed in pages.shown((ROOT / "docs" / "models" / f"{model}.md").read_text()):
        words = command.split()
        if "--validate" in words:
            answer = airwatt(*words, "--runs", FEWER_RUNS[model])
            assert answer.status == 0, answer.out
        else:
            assert pages.differs(printed, airwatt.output(words)) is None


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
