"""docs/mixed-cell.md: rows of its tables come out again."""

import importlib.util

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "mixed-cell.md"


def program_of(name):
    """A program of the examples."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


@pytest.mark.parametrize(
    ("bottleneck", "queue", "policy", "savers"), [("wire", "drop-tail", "uapsd", 1), ("cell", "fq-codel", "psm", 9)]
)
def test_a_row_comes_out_again(bottleneck, queue, policy, savers):
    program = program_of("mixed_cell")
    tables = PAGE.read_text().split("    bottleneck ")
    table = next(text for text in tables if text.startswith(f"{bottleneck}, {queue} at"))
    line = program.line(policy, savers, program.row(bottleneck, queue, policy, savers))
    assert f"\n    {line}\n" in table


def test_a_row_with_access_categories_comes_out_again():
    line = program_of("separated").line("line", "ba-ta", "four")
    assert f"\n    {line}\n" in PAGE.read_text().split("    bottleneck line\n")[1]


def test_the_page_has_its_picture():
    assert "(img/mixed-cell.png)" in PAGE.read_text()
