"""docs/mixed-cell.md: rows of its tables come out again."""

import importlib.util

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "mixed-cell.md"


@pytest.mark.parametrize(
    ("bottleneck", "queue", "policy", "savers"), [("wire", "drop-tail", "uapsd", 1), ("cell", "fq-codel", "psm", 9)]
)
def test_a_row_comes_out_again(bottleneck, queue, policy, savers):
    spec = importlib.util.spec_from_file_location("mixed_cell", ROOT / "examples" / "mixed_cell.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    tables = PAGE.read_text().split("    bottleneck ")
    table = next(text for text in tables if text.startswith(f"{bottleneck}, {queue} at"))
    line = program.line(policy, savers, program.row(bottleneck, queue, policy, savers))
    assert f"\n    {line}\n" in table
