"""Traffic of things: messages of N bytes each T, keep-alives of protocols, and who begins."""

import re

import pytest

import airwatt
from airwatt._core import InputError

THINGS = """
base = "idle"
name = "things"
duration = "600s"
[wired]
rtt = "40ms"
down = { rate = "20Mbps" }
up = { rate = "20Mbps" }
"""


def _flow(tmp_path, application, direction="up", transport="newreno"):
    scenario = tmp_path / "things.toml"
    scenario.write_text(
        f'{THINGS}[[flow]]\ndirection = "{direction}"\ntransport = "{transport}"\napplication = {{ {application} }}\n'
    )
    return airwatt.run(scenario, set={"station.radio": "esp32-c3"}).flows[0]


@pytest.mark.parametrize("transport", ["newreno", "udp"])
@pytest.mark.parametrize("reply", ["", ', reply = "8B"'])
@pytest.mark.parametrize("direction", ["up", "down"])
def test_sixty_bytes_each_thirty_seconds(tmp_path, transport, reply, direction):
    flow = _flow(tmp_path, f'kind = "periodic", interval = "30s", phase = "1s"{reply}', direction, transport)
    assert flow.bytes_delivered == 20 * 60
    assert flow.responses == (20 if reply else None)


@pytest.mark.parametrize("transport", ["newreno", "udp"])
def test_who_begins_does_not_turn_the_data_around(tmp_path, transport):
    """The server asks each minute, and the station's data are the answers."""
    application = 'kind = "periodic", interval = "60s", phase = "1s", packet = "4B", reply = "60B", begins = "receiver"'
    flow = _flow(tmp_path, application, "up", transport)
    assert (flow.direction, flow.bytes_delivered, flow.responses) == ("up", 10 * 60, 10)


def test_keep_alives_by_name(tmp_path):
    for kind, transport, count, size in [("mqtt", "newreno", 10, 24), ("coap", "udp", 5, 33)]:
        flow = _flow(tmp_path, f'kind = "{kind}"', "up", transport)
        # The first comes at once, and one at the very end is on its way.
        assert (flow.responses, flow.bytes_delivered) == (count, count * size), kind


def test_a_rate_of_sixteen_bits_a_second(airwatt, tmp_path):
    flow = _flow(tmp_path, 'kind = "cbr", rate = "16bps", packet = "60B"', "up", "udp")
    assert flow.bytes_delivered == 20 * 60
    shown = airwatt.output(["run", str(tmp_path / "things.toml"), "--radio", "esp32-c3", "--set", "duration=60s"])
    assert "mb/s" not in shown
    assert "esp32-c3" in shown


def test_slow_rates_have_no_prefix_below_one():
    from airwatt.tables import quantity

    assert quantity(0.5467, "b/s") == "0.547 b/s"
    assert quantity(0.5467e-3, "J") == "546.7 µJ"


def test_what_cannot_be_is_said(tmp_path):
    for application, transport, words in [
        ('kind = "periodic", begins = "receiver"', "udp", "reply: expected a size"),
        ('kind = "periodic", jitter = "31s"', "udp", "jitter: expected less than interval"),
        ('kind = "request-response"', "udp", "requests need a TCP"),
    ]:
        with pytest.raises(InputError, match=words):
            _flow(tmp_path, application, "up", transport)


_BOTH = """
[[flow]]
direction = "up"
application = { kind = "periodic", interval = "30s" }
[[flow]]
direction = "up"
application = { kind = "mqtt", keep_alive = "60s" }
"""


def test_timers_that_coincide_are_said(airwatt, tmp_path):
    """A report and a keep-alive at the same time share a wake-up, and the output says what they cost apart."""
    scenario = tmp_path / "both.toml"
    scenario.write_text(f'{THINGS}[[station]]\npower_save = {{ policy = "timeout", timeout = "50ms" }}\n{_BOTH}')
    question = ["run", str(scenario), "--radio", "esp32-c3", "--battery", "1000mAh"]
    shown = " ".join(airwatt.output(question).split())
    assert "flows 0, 1 begin at the same time" in shown
    together, apart = (
        airwatt(*question, "--json", *more).json["stations"][0]["average_current_a"]
        for more in ([], ["--set", "flow.1.start=15s"])
    )
    assert apart > 1.03 * together
    assert f"apart it is {1e3 * apart:.2f} mA" in shown
    assert "begin at the same time" not in airwatt.output([*question, "--set", "flow.1.start=15s"])


def test_a_flow_and_a_scenario_have_the_same_defaults(airwatt, tmp_path):
    scenario = tmp_path / "mqtt.toml"
    line = THINGS.replace("40ms", "20ms").replace('down = { rate = "20Mbps" }', 'down = { rate = "16Mbps" }')
    line = line.replace('up = { rate = "20Mbps" }', 'up = { rate = "1Mbps" }')
    scenario.write_text(f'{line}[[flow]]\ndirection = "up"\napplication = {{ kind = "mqtt", keep_alive = "60s" }}\n')
    how = ["--radio", "esp32-c3", "--delay", "200ms", "--runs", "1", "--battery", "1000mAh", "--details"]
    of_flow = airwatt("advise", "--flow", "up:mqtt:60s", "--duration", "600s", *how)
    assert "assumed: rtt 20ms, 16Mbps down" in " ".join(of_flow.out.split())
    # A scenario acknowledges as it says, which is as Linux does, and a flow of this chip as lwIP.
    of_file = airwatt("advise", scenario, *how, "--set", "tcp.delayed_ack_timeout=250ms")
    last = [re.search(r"lasts: as advised ([0-9.]+) days", " ".join(one.out.split()))[1] for one in (of_flow, of_file)]
    assert last[0] == last[1], last
