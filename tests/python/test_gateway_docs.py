"""docs/gateway.md: the table of uplink frames is what its program prints, and its sentences are true of it."""

import importlib.util
import re
import subprocess
import sys

from conftest import ROOT

PAGE = ROOT / "docs" / "gateway.md"
PROGRAM = ROOT / "docs" / "examples" / "gateway_frames.py"


def test_the_page_shows_uplink_frames_as_its_program_prints_them(request):
    table = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, check=True).stdout
    text = PAGE.read_text()
    if request.config.getoption("--bless"):
        lines = re.search(rf"^{re.escape(table.splitlines()[0])}\n(\|.*\n)+", text, re.MULTILINE)
        PAGE.write_text(text.replace(lines[0], table))
        return
    assert table in text
    rows = [line.strip("|\n").split("|") for line in table.splitlines()[2:]]
    measured = {name.strip(): [tuple(map(float, cell.split("/"))) for cell in cells] for name, *cells in rows}
    tcp, split, plain, both = (
        measured[name] for name in ("TCP from end to end (CUBIC)", "TCP on both legs (split)", "E2TCP", "E2TCP, both")
    )
    # Without losses: (goodput, frames) beside TCP's, and beside E2TCP as the thesis has it.
    assert both[0][0] > 0.95 * tcp[0][0] > 1.5 * plain[0][0]
    assert both[0][1] < 0.55 * tcp[0][1]
    assert tcp[0][1] < 0.55 * plain[0][1]
    # With 1 % of losses.
    assert both[2][0] > max(5.5 * tcp[2][0], 2.8 * split[2][0])
    assert 1.3 < both[2][1] / tcp[2][1] < 1.4


def test_a_cell_of_the_table_of_today_comes_out_again():
    spec = importlib.util.spec_from_file_location("wireless_page", ROOT / "tests" / "reference" / "wireless_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    table = PAGE.read_text().split("<!-- wireless -->")[1].split("<!--")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()]
    assert rows[0][1:] == [head for head, *_ in program.CELLS]
    assert [name for name, *_ in rows[2:]] == list(program.ROWS)
    for name, column in (("Linux, BBRv3", 4), ("QUIC", 0)):
        (shown,) = (row[1 + column] for row in rows if row[0] == name)
        assert program.cell(name, *program.CELLS[column][1:]) == shown
