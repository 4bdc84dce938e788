"""docs/queues.md: a row of each of its tables comes out again."""

import importlib.util
import re

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def program():
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("queues_page", ROOT / "tests" / "reference" / "queues_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def table(name):
    """The rows of a table of the page."""
    page = (ROOT / "docs" / "queues.md").read_text()
    return re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", page, re.DOTALL)[1].splitlines()


def test_a_row_of_the_household_comes_out_again(program):
    assert program.evening("cake") in table("evening")


def test_a_row_of_the_slow_way_up_comes_out_again(program):
    assert program.line("psm", "cake-ack-filter") in table("line")


def test_a_row_of_codel_comes_out_again(program):
    assert program.codel("6Mbps", "14 Mbit/s", 3) in table("codel")


def test_a_row_of_marks_comes_out_again(program):
    assert program.marks("psm", "line", True) in table("marks")
