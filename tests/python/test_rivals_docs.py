"""docs/fairness.md: a row of its tables of rivals comes out again."""

import importlib.util

from conftest import ROOT


def test_a_row_comes_out_again():
    spec = importlib.util.spec_from_file_location("rivals_page", ROOT / "tests" / "reference" / "rivals_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    table = (ROOT / "docs" / "fairness.md").read_text().split("<!-- five and five -->")[1].split("<!--")[0]
    assert f"\n{program.row('five and five', 'window rewriting')}\n" in table
