"""The scenario evening: what its flows send is what their sources say, and docs/evening.md has what it spends."""

import importlib.util
import re

import pytest
from conftest import ROOT

import airwatt

VIDEO, CALL_UP, CALL_DOWN, PAGES, GAME_UP, GAME_DOWN = 0, 1, 2, 3, 6, 7
MINUTES = 10


@pytest.fixture(scope="module")
def evening():
    """Its ten minutes, once."""
    return airwatt.run("evening")


@pytest.fixture(scope="module")
def program():
    """The program that writes the page."""
    spec = importlib.util.spec_from_file_location("evening_page", ROOT / "tests" / "reference" / "evening_page.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def table(name):
    """The rows of a table of the page."""
    page = (ROOT / "docs" / "evening.md").read_text()
    return re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", page, re.DOTALL)[1].splitlines()


def test_each_flow_has_its_station(evening):
    assert [flow.station for flow in evening.flows] == [0, 1, 1, 2, 1, 2, 3, 3, 3, 4, 5, 6, 7]


def test_the_video_has_its_best_rate_and_never_stalls(evening):
    """A line of 50 Mbit/s takes the largest rate of the ladder, 7.8 Mbit/s, and a segment of 6 s comes each 6 s."""
    video = evening.flows[VIDEO]
    assert video.video_stalls == 0
    assert video.video_bps_mean == pytest.approx(7.8e6, rel=0.05)
    # The buffer of 30 s is five segments ahead.
    assert video.video_segments == pytest.approx(MINUTES * 10 + 5, abs=2)


def test_a_call_and_a_game_send_at_their_published_rates(evening):
    """Half of the time somebody speaks, with 50 packets a second, otherwise one each 400 ms; video has 30 frames."""
    for flow in (CALL_UP, CALL_DOWN):
        call = evening.flows[flow]
        # The models of MacMillan et al.: 0.8 to 1.9 Mbit/s.
        assert 0.8e6 < call.goodput_bps < 1.9e6
        assert call.segments_sent > MINUTES * 60 * (25 + 10 + 30)
    # IEEE 802.11-18/2009: means of 55 packets a second up and 66 down.
    for flow, rate in ((GAME_UP, 55), (GAME_DOWN, 66)):
        assert evening.flows[flow].segments_sent == pytest.approx(rate * 60 * MINUTES, rel=0.02)


def test_pages_are_read_one_after_another(evening):
    """One each 30 s on average: within four standard deviations of a Poisson process."""
    pages = evening.flows[PAGES]
    assert 20 - 4 * 20**0.5 < pages.responses < 20 + 4 * 20**0.5
    # Half of the pages of 2025 weigh more than 2.4 MB; a mean of some 3 MB.
    assert 1.5e6 < pages.bytes_delivered / pages.responses < 6e6


def test_things_send_their_keep_alives_and_hardly_do_anything_else(evening):
    """MQTT each 60 s, CoAP and Matter by their own intervals; nine group-addressed frames a second are heard by all."""
    mqtt, coap, lwm2m, matter = evening.flows[9:]
    assert mqtt.bytes_delivered == 24 * MINUTES
    assert matter.bytes_delivered == 42 * MINUTES
    assert lwm2m.bytes_delivered == 49 * 2
    assert coap.bytes_delivered > 0
    for thing in evening.stations[4:]:
        assert thing.state_s["sleep"] > 0.95 * 60 * MINUTES
        # What neighbours send costs more than all packets of its own.
        assert thing.energy_by_cause_j["group"] > 10 * sum(thing.energy_by_cause_j["flow"].values())
    assert evening.stations[0].state_s["sleep"] == 0


def test_the_tables_come_out_again(evening, program):
    """The run of the first seed is within a few per cent of the means of three; a row of the choices is the same."""
    printed = [float(row.split("|")[3]) for row in table("stations")[2:]]
    found = [sum(causes.values()) for causes in program.by_cause([evening.to_dict()])]
    assert found == pytest.approx(printed, rel=0.1)
    name = "phone with `uapsd`"
    assert next(row for row in table("choices") if row.startswith(f"| {name} ")) == program.choice(name)
    assert (ROOT / "docs" / "img" / "evening.png").is_file()
