"""docs/sweeps.md: its output is that of its command, its programs run, and its file is one."""

import re

import pytest
from conftest import ROOT

import pages
from airwatt.cli import sweep
from airwatt.sweeps import grid

PAGE = ROOT / "docs" / "sweeps.md"


@pytest.fixture(autouse=True)
def elsewhere(airwatt, tmp_path, monkeypatch):
    """Stores are made where the program runs."""
    monkeypatch.chdir(tmp_path)


def test_the_table_is_what_the_command_prints(airwatt, request):
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))


def test_the_python_of_the_page_runs():
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block.replace("runs=3", "runs=1"), {})


def test_the_file_of_the_page_describes_a_sweep(tmp_path):
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "study.toml").write_text(block)
    assert grid.is_sweep_file("study.toml")
    made = grid.grid(grid.read("study.toml"), ["active", "psm"])
    assert [len(group) for group in made.groups] == [2, 30, 2, 2, 100]
    next(made.points())


def test_every_option_of_a_grid_on_the_page_is_read():
    for text in re.findall(r"`--over ([^`]+)`", PAGE.read_text()):
        assert all(grid.grid(grid.Request("fast-dsl", over=sweep._over([text])), []).groups)


def test_the_examples_of_the_help_run(airwatt):
    for line in re.findall(r"^  airwatt (.*)$", sweep.EPILOG, re.MULTILINE):
        answer = airwatt(*line.split(), *(["--set", "flow.application.size=1MB"] if "--over" in line else []))
        assert answer.status == 0, answer.err
