"""What counts as a difference of a page from a new run of its commands."""

import pytest

from pages import differs, renewed, shown

TABLE = """\
policy  goodput      energy
────────────────────────────
psm     14.61 Mb/s   5.20 J
        ± 0.20       ± 0.01
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TABLE, TABLE),
        # Within the interval, although more than one per cent; and a column that has become wider.
        (TABLE, TABLE.replace("14.61 Mb/s  ", "14.42 Mb/s    ")),
        (TABLE, TABLE.replace("────────────────────────────", "─────────────────────────────")),
        ("kept at 5 of 5 points", "kept at 5 of 5 points"),
        ("delay 123.4 ms", "delay 122.9 ms"),
        ("differs by -0.4 %", "differs by +0.3 %"),
        (
            "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567 B",
            "1\N{NARROW NO-BREAK SPACE}240\N{NARROW NO-BREAK SPACE}000 B",
        ),
    ],
)
def test_chance_is_no_difference(old, new):
    assert differs(old, new) is None


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (TABLE, TABLE.replace("14.61", "14.30"), "14.61 has become 14.30"),
        (TABLE, TABLE.replace("5.20 J", "5.40 J"), "5.20 has become 5.40"),
        (TABLE, TABLE.replace("psm", "uapsd"), "'psm' has become 'uapsd'"),
        (TABLE, TABLE.replace("Mb/s", "kb/s"), "'Mb/s' has become 'kb/s'"),
        (TABLE, TABLE + "uapsd\n", "None has become 'uapsd'"),
        ("kept at 50 of 50 points", "kept at 48 of 50 points", "50 has become 48"),
        ("802.11a, 3 runs", "802.11b, 3 runs", "802.11b"),
        ("differs by -0.4 %", "differs by +0.9 %", "-0.4 has become +0.9"),
    ],
)
def test_more_than_chance_is_one(old, new, words):
    assert words in differs(old, new)


def test_a_page_is_written_with_what_its_commands_print():
    page = "Text.\n\n    $ airwatt run a --seed 2\n    old\n\n    more\n\nText.\n"
    assert shown(page) == [("run a --seed 2", "old\n\nmore\n")]
    assert (
        renewed(page, lambda arguments: " ".join(arguments))
        == "Text.\n\n    $ airwatt run a --seed 2\n    run a --seed 2\n\nText.\n"
    )
