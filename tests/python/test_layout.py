"""Tables in any width: numbers are never cut, headings are; and what `COLUMNS` says counts in pipes too."""

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from airwatt.layout import Table, display_width, filled, wrapped
from airwatt.tables import count

_HEADS = ["policy", "goodput", "retransmissions", "average power"]
_ROWS = [["psm-throttling", "123.4 Mb/s\n± 0.2", "1 234 567", "947.12 mW"], ["ba-ta+str", "0 b/s", "7", "-"]]


@settings(deadline=None)
@given(width=st.integers(1, 120))
def test_numbers_are_whole_in_any_width(width):
    lines = list(Table(_HEADS, _ROWS, whole=[0]).lines(width))
    text = "\n".join(lines)
    assert all(number in text for number in ("psm-throttling", "123.4", "0.2", "1 234 567", "947.12"))
    assert "…" not in "\n".join(lines[lines.index(next(line for line in lines if line.startswith("─"))) :])
    # It fits from the width on that its numbers need.
    assert width < 45 or max(map(display_width, lines)) <= width


def test_headings_are_shortened_before_numbers():
    table = Table(["a", "retransmissions"], [["x", count(1_234_567)]])
    assert list(table.lines(10)) == ["a  retransm…", "─" * 12, "x  1 234 567"]


@settings(deadline=None)
@given(text=st.text(alphabet="ab c", max_size=60), width=st.integers(1, 20))
def test_wrapping_keeps_every_word(text, width):
    assert " ".join(wrapped(text, width)).split() == text.split()


def test_a_number_keeps_its_unit():
    assert list(wrapped("the file has 2577 packets in 13.99 s, of 2.00 MB", 36)) == [
        "the file has 2577 packets in",
        "13.99 s, of 2.00 MB",
    ]


def test_a_number_of_a_table_keeps_its_unit_while_there_is_room():
    heads, rows = ["policy", "ideal +", "energy"], [["psm", "+580 %", "10.17 J"], ["ideal", "", "27.20 mJ"]]
    for width in (25, 24, 23):
        lines = list(Table(heads, rows).lines(width))
        assert max(map(display_width, lines)) <= width
        for quantity in ("+580 %", "10.17 J", "27.20 mJ"):
            assert any(quantity in line for line in lines), (width, quantity)
    text = "timeout 50ms: 1.03 J, 1.72 mW, 979.7 µs of delay (95 %: 696.9 µs)"
    for width in range(20, 60):
        shown = [line[3:] for line in Table(["a", "b"], [["x", text]], left=[0, 1]).lines(width)]
        assert not any(line.startswith(("J", "mW", "µs", "%")) for line in shown), width


def test_a_number_of_a_paragraph_keeps_its_unit():
    text = "take psm: 27 787 wake-ups, 1.03 J, 979.7 ± 18.0 µs of delay (95 %: 180.0 µs), 5 to 25 % off, at 16.4 Mb/s"
    for width in range(20, 60):
        lines = filled(text, width, 4).split("\n")
        assert max(map(len, lines)) <= width
        assert "".join("".join(lines).split()) == "".join(text.split())
        for line in lines[1:]:
            assert line.startswith("    ")
            assert not line.strip().startswith(("787", "J", "±", "18.0", "µs", "%", "Mb/s")), width


def test_settings_move_below_their_name_before_anything_is_cut():
    table = Table(["policy", "wake-ups"], [["latency-guard:timeout=2s", "15"]], whole=[0])
    assert list(table.lines(34))[2:] == ["latency-guard:timeout=2s        15"]
    assert list(table.lines(24)) == [
        "policy          wake-ups",
        "─" * 24,
        "latency-guard:        15",
        "timeout=2s",
    ]


def test_columns_of_the_environment_count_in_pipes(program):
    for columns in (44, 80, 200):
        out, _ = program("policies", env=os.environ | {"COLUMNS": str(columns)}).communicate(timeout=60)
        assert max(map(len, out.splitlines())) <= columns
