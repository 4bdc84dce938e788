"""docs/topologies.md: its output is that of its commands, its scenario runs, and each of its pictures can be drawn."""

import re

import pytest
from conftest import ROOT

import pages
from airwatt import Scenario, laboratory

PAGE = ROOT / "docs" / "topologies.md"
NAMES = ("two-hops", "two-cells", "two-access-points", "hidden-stations", "four-in-a-row")


def test_the_page_shows_what_its_commands_print(airwatt, request):
    shown = pages.shown(PAGE.read_text())
    assert tuple(command.split()[1] for command, _ in shown) == NAMES
    assert all(len(line) <= 80 and "…" not in line for _, output in shown for line in output.splitlines())
    pages.check(PAGE, airwatt.output, request.config.getoption("--bless"))


def test_the_example_of_the_general_form_runs():
    import tomllib

    text = re.search(r"```toml\n(\[\[node\]\].*?)```", PAGE.read_text(), re.DOTALL)[1]
    keys = tomllib.loads(text)
    keys["node"] += [{"name": "server"}, {"name": "access-point"}]
    keys["flow"][0]["application"]["size"] = "100kB"
    result = laboratory.run(Scenario.of(keys))
    assert result.flows[0].bytes_delivered == 100_000


@pytest.mark.parametrize("name", NAMES)
def test_each_has_a_picture_and_a_description(airwatt, tmp_path, name):
    picture = tmp_path / "topology.png"
    answer = airwatt("scenarios", name, "--plot", picture)
    assert answer.status == 0, answer.err
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert f"(img/{name}.png)" in PAGE.read_text()
    assert (ROOT / "docs" / "img" / f"{name}.png").is_file()
    assert airwatt("scenarios", name, "--json").json["scenarios"][0]["name"] == name


def test_hidden_uploads_starve_with_rts_and_hidden_datagrams_do_not():
    def shares(changes):
        return sorted(flow.goodput_bps for flow in laboratory.run("hidden-stations", set=changes).flows)

    rts = {"wifi.station_rts_threshold": "500B"}
    datagrams = {
        "flow.transport": "udp",
        "flow.application.kind": "cbr",
        "flow.application.rate": "200Mbps",
        "flow.application.packet": "1448B",
    }
    less, more = shares({})
    assert less > 0.3 * more
    assert less + more < 120e6
    less, more = shares(rts)
    assert less < 0.2 * more
    less, more = shares(datagrams)
    assert less > 0.8 * more
    assert less + more < 100e6
    less, more = shares(datagrams | rts)
    assert less > 0.8 * more
    assert less + more > 200e6


def test_each_shipped_scenario_has_a_picture(airwatt, tmp_path):
    names = [one["name"] for one in airwatt("scenarios", "--json").json["scenarios"]]
    assert len(names) > 25
    for name in names:
        picture = tmp_path / f"{name}.png"
        answer = airwatt("scenarios", name, "--plot", picture)
        assert answer.status == 0, (name, answer.err)
        assert "Warning" not in answer.err, (name, answer.err)
        assert picture.stat().st_size > 1000


def test_a_picture_without_a_scenario_is_one_line(airwatt, tmp_path):
    answer = airwatt("scenarios", "--plot", tmp_path / "a.png")
    assert answer.status == 2
    assert answer.is_one_line("expected a scenario whose topology is drawn, got none")
