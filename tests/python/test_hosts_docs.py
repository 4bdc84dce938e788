"""docs/hosts.md: cells of its tables come out again, and every table is written by its program."""

import importlib.util
import re

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "hosts.md"
PROGRAM = ROOT / "tests" / "reference" / "hosts_page.py"


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location("hosts_page", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def table(name):
    """The rows of a table of the page, as texts."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", PAGE.read_text(), re.DOTALL)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]


def test_an_energy_comes_out_again(program):
    heads, _, *rows = table("energies")
    row = rows[1]
    assert row[:3] == ["phone", "2", "yes"]
    found = program.measured(program.scenario(2, "sack", "phone", "psm", 2, 50), range(1, program.RUNS + 1))
    assert float(row[heads.index("SACK")]) == pytest.approx(program.mean(found, "total"), rel=0.01)


def test_a_place_of_the_map_comes_out_again(program):
    heads, _, *rows = table("turns psm")
    seeds = range(1, 2 * program.RUNS + 1)
    both = [program.measured(program.scenario(3, tcp, "phone", "psm", 10, 200), seeds) for tcp in ("newreno", "sack")]
    assert (rows[-1][0], heads[-1]) == ("10 %", "200 ms")
    assert rows[-1][-1].split()[0] == program.turn(*both)[0]


def test_where_the_ranking_turns(program):
    """With 1 s less and 0.2 J more, 0.2 W of idle power pay; the other three cases have signs of their own."""

    def runs(time, beyond):
        return [{"time": time + noise, "beyond": beyond} for noise in (0.0, 0.1)]

    assert program.turn(runs(5, 1.0), runs(4, 1.2)) == ("above", pytest.approx(0.2), True)
    assert program.turn(runs(5, 1.0), runs(4, 0.9))[0] == "always"
    assert program.turn(runs(4, 1.0), runs(5, 1.2))[0] == "never"
    assert program.turn(runs(4, 1.0), runs(5, 0.8)) == ("below", pytest.approx(0.2), True)
    unsure = [{"time": time, "beyond": 1.0} for time in (3.0, 6.0)]
    assert not program.turn(runs(4, 1.0), unsure)[2]
