"""docs/pacing.md: a row of each of its tables comes out again."""

import importlib.util
import re

import pytest
from conftest import ROOT


@pytest.fixture(scope="module")
def program():
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("pacing_page", ROOT / "tests" / "reference" / "pacing_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def printed(table, beginning):
    """The row of a table of the page that begins so."""
    page = (ROOT / "docs" / "pacing.md").read_text()
    rows = re.search(rf"<!-- {table} -->\n(.*?)\n<!-- end of {table} -->", page, re.DOTALL)[1]
    return next(line for line in rows.splitlines() if line.startswith(beginning))


@pytest.mark.parametrize(
    ("job", "policy", "sender"),
    [("download", "timeout", "BBRv1"), ("stream", "psm", "CUBIC"), ("stream", "uapsd", "QUIC")],
)
def test_a_row_comes_out_again(program, job, policy, sender):
    assert printed(job, f"| {policy} | {sender} |") == program.row(job, policy, sender, program.SENDERS[sender])


def test_a_row_of_acknowledgements_comes_out_again(program):
    assert printed("acknowledgements", "| psm | Chrome |") in program.acknowledgements(
        "download", ("psm",), ("Chrome",)
    )


def test_a_row_of_pages_comes_out_again(program):
    assert printed("pages", "| timeout | HTTP/3 |") == program.browsing("timeout", "HTTP/3")
