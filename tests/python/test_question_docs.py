"""docs/question.md: rows of its tables come out again."""

import importlib.util
import re
import sys

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "question.md"


@pytest.fixture(scope="module")
def program():
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("question_page", ROOT / "tests" / "reference" / "question_page.py")
    module = importlib.util.module_from_spec(spec)
    # Its types are looked up by the name of their module.
    sys.modules["question_page"] = module
    spec.loader.exec_module(module)
    return module


def lines(table):
    found = re.search(rf"<!-- {table} -->\n(.*?)<!-- end of {table} -->", PAGE.read_text(), re.DOTALL)
    return [line.removeprefix("    ") for line in found[1].splitlines() if line.strip()]


def test_a_row_comes_out_again(program):
    kinds = [(radio, "11ax") for radio in program.RADIOS]
    asked = [program.Point("call", "uapsd", *kind, among) for kind in kinds for among in (False, True)]
    runs = {point: program.measured(point) for point in asked}
    assert program.row(runs, "call", "uapsd", "radio") in lines("call by radio")


def test_an_answer_comes_out_again(program):
    """The first policy of those that are good enough and spend little, alone."""
    for traffic in ("download", "messages"):
        asked = [program.Point(traffic, policy, "phone", "11ax", False) for policy in program.POLICIES]
        runs = {point: program.measured(point) for point in asked}
        row = next(line for line in lines("answers") if line.startswith(f"{traffic:<9} alone"))
        assert row.split()[3] == program.best(runs, asked[0])


def test_what_off_costs_beside_timeout_is_what_the_tables_have():
    ratios = []
    for traffic in ("download", "video", "pages"):
        for by in ("radio", "air"):
            rows = {line.split()[0]: re.findall(r"(\d+)/", line) for line in lines(f"{traffic} by {by}")}
            ratios += [int(off) / int(on) for off, on in zip(rows["active"], rows["timeout"], strict=True)]
    said = re.search(r"Off costs ([\d.]+) times .* to ([\d.]+) times .*as much as `timeout`", PAGE.read_text())
    assert said is not None
    assert (f"{min(ratios):.1f}", f"{max(ratios):.1f}") == said.groups(), ratios


def test_tables_fit_a_terminal(program):
    names = [f"{traffic} by {by}" for traffic in program.TRAFFIC for by in ("radio", "air")]
    tables = [lines(name) for name in ["answers", *names]]
    assert all(len(table) > 1 and max(map(len, table)) <= 76 for table in tables)
