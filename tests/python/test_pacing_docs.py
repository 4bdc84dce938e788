"""docs/pacing.md: a row of each of its tables comes out again."""

import importlib.util
import re

import pytest
from conftest import ROOT


@pytest.mark.parametrize(("job", "policy", "sender"), [("download", "timeout", "BBRv1"), ("stream", "psm", "CUBIC")])
def test_a_row_comes_out_again(job, policy, sender):
    spec = importlib.util.spec_from_file_location("pacing_page", ROOT / "tests" / "reference" / "pacing_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    page = (ROOT / "docs" / "pacing.md").read_text()
    table = re.search(rf"<!-- {job} -->\n(.*?)\n<!-- end of {job} -->", page, re.DOTALL)[1]
    row = next(line for line in table.splitlines() if line.startswith(f"| {policy} | {sender} |"))
    assert row == program.row(job, policy, sender)
