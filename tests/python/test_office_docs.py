"""docs/office.md: its output is that of its commands, and its picture can be drawn."""

from conftest import ROOT

import pages

PAGE = ROOT / "docs" / "office.md"


def test_the_page_shows_what_its_commands_print(airwatt, request):
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))
    shown = pages.shown(PAGE.read_text())
    assert len(shown) == 4
    assert all(len(line) <= 80 for _, output in shown for line in output.splitlines())


def test_its_picture_can_be_drawn(airwatt, tmp_path):
    picture = tmp_path / "office.png"
    answer = airwatt("compare", "office", "--vary", "station.listen_interval=1,3,10", "--plot", picture)
    assert answer.status == 0, answer.err
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert "(img/office.png)" in PAGE.read_text()
    assert (ROOT / "docs" / "img" / "office.png").is_file()
