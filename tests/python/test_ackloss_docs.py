"""docs/ackloss.md: a row of each of its simulated tables comes out again."""

import importlib.util

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def program():
    """The program that writes the tables."""
    spec = importlib.util.spec_from_file_location("ackloss_page", ROOT / "tests" / "reference" / "ackloss_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def rows(table):
    """The lines of a table of the page."""
    page = (ROOT / "docs" / "ackloss.md").read_text()
    return page.split(f"<!-- {table} -->\n")[1].split(f"\n<!-- end of {table} -->")[0].splitlines()


def test_a_row_of_wires_comes_out_again(program):
    assert program.wire_row("a way back of 200 kbit/s", "each segment; published") in rows("wires")


def test_each_row_of_the_tables_is_there(program):
    for load in program.CELLS:
        heads = [line.split(" | ")[:2] for line in rows(load)[2:]]
        assert heads == [[f"| {name}", method] for name in program.CONTROLS for method in ("without", "with")]
    assert len(rows("wires")) == 2 + len(program.WIRES) * len(program.RECEIVERS)


@pytest.mark.long
@pytest.mark.parametrize(
    ("load", "name", "method"), [("ten uploads", "Veno", False), ("five and five", "TCP-Jersey", True)]
)
def test_a_row_of_the_cell_comes_out_again(program, load, name, method):
    assert program.cell_row(load, name, method) in rows(load)
