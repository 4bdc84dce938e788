"""What `airwatt advise` says of the cost of keep-alives and reports, and of what a network stack sends by itself."""

import json
import re
from pathlib import Path

import pytest

from airwatt import advice, laboratory
from airwatt.advice import beside_none, keep_alives, network_stack
from airwatt.cli import advice_answer

ROOT = Path(__file__).parents[2]
# Keep-alives are priced with each candidate: a quarter of them is what the chip can be told.
CHIP = ["--target", "esp-idf"]


def test_reports_stand_for_keep_alives(airwatt):
    asked = ["--delay", "1s", "--runs", 1, "--radio", "esp32-c3", "--duration", "60s", "--confirm", "1", *CHIP]
    for interval, is_within in (("30s", True), ("2min", False)):
        shown = airwatt.output(["advise", "--flow", f"up:periodic:{interval}:60B", *asked, "--keep-alive", "60s"])
        assert ("are packets of the device within each keep-alive" in " ".join(shown.split())) is is_within


def test_keep_alives_of_a_flow_of_mqtt_are_not_counted_twice(airwatt):
    """A connection that reports each ten minutes sent its own each minute beside those that were asked for."""
    asked = ["--flow", "up:mqtt:10min:60B", "--radio", "esp32-c3", "--delay", "1s", "--runs", "1", *CHIP]
    beside = airwatt("advise", *asked, "--keep-alive", "240s", "--json").json
    own = airwatt("advise", *asked, "--set", "flow.application.keep_alive=240s", "--json").json
    assert beside["advice"]["simulation"] == own["advice"]["simulation"]
    assert beside["keep_alives"]
    assert not own["keep_alives"]
    shown = " ".join(airwatt.output(["advise", *asked, "--keep-alive", "240s"]).split())
    assert "the flow of MQTT has them, one where it has sent nothing for 240.0 s" in shown


def test_keep_alives_are_priced_under_each_policy(airwatt):
    question = ["idle", "--delay", "10s", "--runs", "1", "--keep-alive", "30s"]
    document = airwatt("advise", *question, "--json").json
    costs = {one["policy"]: one["one_j"] for one in document["keep_alives"] if one["listen_interval"] is None}
    # With the time-out of the policy that chips run a keep-alive keeps the radio awake for that time.
    assert costs["timeout"] > 2 * costs["psm"] > 0
    timeout = next(one for one in document["keep_alives"] if one["policy"] == "timeout")
    day_j = {day["interval_s"]: day["energy_j"] for day in timeout["days"]}
    assert list(day_j) == [30.0, 60.0, 120.0]
    assert day_j[60.0] == pytest.approx(day_j[30.0] / 2)


def test_the_first_lines_say_what_keep_alives_add(airwatt):
    """A report of the beacons alone would promise days that a device with keep-alives does not have."""
    question = ["idle", "--radio", "esp32-c3", "--delay", "1s", "--runs", "1", "--keep-alive", "60s", *CHIP]
    question += ["--battery", "1000mAh"]
    shown = airwatt.output(["advise", *question])
    first = " ".join(shown.partition("to set")[0].split())
    assert "keep-alive each 60.00 s, which is in all of these figures: as advised" in first
    one = airwatt("advise", *question, "--json").json["keep_alives"]
    usual = next(row for row in one if row["parameters"] == {"timeout": "50ms"} and row["listen_interval"] is None)
    # The table below has the days of beacons and keep-alives, which is all that there is.
    days = next(line for line in shown.splitlines() if line.startswith("timeout 50ms ")).split()[-2]
    assert f"by default {1e6 * usual['one_j'] / 60 / 3.3:.1f} µA" in first
    assert f"by default {days} days" in first


def test_the_answer_names_the_timer_of_tcp_where_a_connection_is_open(airwatt):
    asked = ["--radio", "esp32-c3", "--delay", "3s", "--runs", "1", "--battery", "1000mAh"]
    words = "nor lwIP's TCP timer of 250 ms, "
    for source, is_open in (
        (["--flow", "up:mqtt:30s"], True),
        (["idle", "--keep-alive", "30s"], True),
        (["--flow", "up:coap:30s"], False),
        (["idle"], False),
    ):
        shown = " ".join(airwatt.output(["advise", *source, *asked]).split())
        assert (words in shown) is is_open, source
        priced = re.search(r"250 ms, [0-9.]+ µA more \([0-9.]+ days\) for each ms that it keeps the host awake", shown)
        assert (priced is not None) is is_open


def test_keep_alives_count_in_the_choice():
    """The answer for beacons alone had 67 days where what is chosen with the keep-alives as a flow has 104."""
    chip = {"station.radio": "esp32-c3"}
    beside = advice.advise("idle", 3.0, runs=1, set=chip, keep_alive_s=30.0).ranked[0]
    flow = advice.advise(advice.scenario_of(["up:mqtt:30s"], chip), 3.0, runs=1).ranked[0]
    assert beside.candidate == flow.candidate
    assert beside.simulation.power_w == pytest.approx(flow.simulation.power_w, rel=0.03)
    assert sum(beside.simulation.causes.values()) == pytest.approx(1)
    assert beside.simulation.causes["keep-alives"] > 0.1


def test_keep_alives_last_as_long_as_the_same_flow_of_a_scenario(airwatt, tmp_path):
    question = ["idle", "--radio", "esp32-c3", "--delay", "10s", "--runs", "1", "--keep-alive", "60s", *CHIP]
    advised = airwatt("advise", *question, "--json").json["keep_alives"]
    mine = tmp_path / "mine.toml"
    flow = 'direction = "up"\ntransport = "cubic"\napplication = { kind = "mqtt", keep_alive = "60s" }'
    # The path that advise takes where the scenario has none: the radio waits for the answer for as long.
    wired = 'rtt = "20ms"\ndown = { rate = "16Mbps" }\nup = { rate = "1Mbps" }'
    mine.write_text(f'base = "idle"\nname = "mine"\n[wired]\n{wired}\n[[flow]]\n{flow}\n')
    run = airwatt("run", mine, "--radio", "esp32-c3", "--policy", "timeout", "--json").json["stations"][0]
    [usual] = [one for one in advised if one["parameters"] == {"timeout": "50ms"} and one["listen_interval"] is None]
    assert usual["power_w"] == pytest.approx(run["average_power_w"], rel=0.005)
    # Without packets there is no delay to speak of.
    text = airwatt.output(["advise", *question, "--battery", "1000mAh"])
    assert "no packet to delay" in text.replace("\n           ", " ")
    assert ", 0 s of delay" not in text
    assert re.search(r"^timeout 50ms +30\.\d+ mJ .* 26\.\d days$", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("flows", "duration"), [(["up:periodic:30s"], "3030s"), (["up:periodic:30s", "up:mqtt:60s"], "6060s")]
)
def test_reports_are_as_frequent_as_they_are_said_to_be(airwatt, flows, duration):
    """Without a duration whole intervals are simulated: 20 s of a report each 30 s have one report."""
    scenario = advice.scenario_of(flows, {})
    assert scenario.to_dict()["duration"] == duration
    run = laboratory.run(scenario)
    sent = sum(flow.bytes_delivered for flow in run.flows)
    # 60 B a report; 22 B of a record and its header of 2 B each for the keep-alive.
    per_hour = sent / run.simulated_s * 3600
    expected = 120 * 60 + (60 * 24 if len(flows) > 1 else 0)
    assert per_hour == pytest.approx(expected, rel=0.03)


def test_a_keep_alive_has_one_price(airwatt):
    """With and without a wired path in the scenario the radio waits for the answer equally long."""
    candidate = advice.Candidate("timeout", (("timeout", "50ms"),))
    # The scenario acknowledges as Linux does, and flows of this chip as lwIP.
    named = advice.scenario_of(["up:mqtt:30s"], {"station.radio": "esp32-c3", "tcp.delayed_ack_timeout": "40ms"})
    idle = laboratory.load("idle", (), {"station.radio": "esp32-c3"})
    ((one,), (other,)) = (keep_alives.price(scenario, [candidate], 30.0) for scenario in (idle, named))
    assert one.one_j == pytest.approx(other.one_j, rel=0.01)
    assert one.rtt_s == other.rtt_s == 0.02
    # 50 ms of timeout after the answer, which comes 20 ms after the question, at 277 mW.
    assert one.one_j > 0.07 * 0.277 * 0.9


def test_deep_sleep_stands_beside_reports():
    scenario = advice.scenario_of(["up:periodic:60s:60B"], {"station.radio": "esp32-c3"}, "2min")
    found = advice.advise(scenario, 1.0, runs=1, reconnection_s=1.5)
    other, best_w = found.deep_sleep, found.ranked[0].simulation.power_w
    assert (other.interval_s, other.deep_sleep_w, other.awake_w) == (60.0, 3.3 * 5e-6, pytest.approx(3.3 * 0.084))
    assert other.break_even_s == pytest.approx(
        (best_w - other.deep_sleep_w) * 60 / (other.awake_w - other.deep_sleep_w)
    )
    assert other.power_w == pytest.approx(other.deep_sleep_w + (other.awake_w - other.deep_sleep_w) * 1.5 / 60)
    # Whoever is asked something has to be there.
    down = advice.scenario_of(["down:periodic:60s:60B"], {"station.radio": "esp32-c3"}, "2min")
    assert advice.advise(down, 1.0, runs=1).deep_sleep is None


def test_the_timer_of_tcp_is_priced_beside_a_captured_connection(airwatt, tmp_path):
    """Frames of lwIP are in a capture, but nothing of its timer is."""
    capture = tmp_path / "reports.pcapng"
    airwatt("run", "sensor", "--set", "duration=130s", "--pcap", capture)
    shown = airwatt.output(["advise", capture, "--radio", "esp32-c3", "--delay", "1s", "--battery", "1000mAh"])
    shown = " ".join(shown.split())
    assert re.search(r"not in it is lwIP's TCP timer of 250 ms, 40\.\d+ µA more \(\d", shown)
    assert "frames of lwIP" not in shown
    # Half a per cent of a radio that is never asleep.
    awake = airwatt.output(["advise", ROOT / "captures/tcp-download.pcapng", "--radio", "esp32-c3", "--delay", "1s"])
    assert "TCP timer of 250 ms, " not in awake


def test_what_lwip_does_by_itself_has_a_price(airwatt, tmp_path):
    """A frame a minute costs what that datagram costs as a flow, 4 ms of the host a second 1/250 of its power."""
    arguments = ["advise", "idle", "--delay", "1s", "--radio", "esp32-c3", "--runs", "1", "--set", "duration=60s"]
    stack = json.loads(airwatt(*arguments, "--battery", "1000mAh", "--json").out)["network_stack"]
    best = json.loads(airwatt(*arguments, "--json").out)["advice"]
    assert (best["parameters"], best["listen_interval"]) == ({"timeout": "50ms"}, 10)
    lone = tmp_path / "lone.toml"
    application = '{ kind = "periodic", interval = "60s", packet = "28B" }'
    flow = f'[[flow]]\ndirection = "up"\ntransport = "udp"\napplication = {application}\n'
    lone.write_text(f'base = "idle"\n[wired]\nrtt = "20ms"\ndown.rate = "16Mbps"\nup.rate = "1Mbps"\n{flow}')
    settings = ["--radio", "esp32-c3", "--set", "duration=2400s", "--policy", "timeout:timeout=50ms", "--json"]
    settings += ["--set", "station.listen_interval=10"]
    powers = [
        json.loads(airwatt("run", scenario, *settings).out)["stations"][0]["average_power_w"]
        for scenario in ("idle", lone)
    ]
    assert stack["frames_w"]["gratuitous ARP"] == pytest.approx(powers[1] - powers[0], rel=0.02)
    assert stack["frames_w"]["MLDv6 report"] == pytest.approx(1.5 * stack["frames_w"]["gratuitous ARP"])
    assert stack["timer_w_each_ms"] == pytest.approx(3.3 * (10.18e-3 - 0.14e-3) / 250, rel=0.01)
    brief = " ".join(airwatt(*arguments, "--battery", "1000mAh").out.split())
    assert "not in it are frames of lwIP itself: gratuitous ARP, " in brief
    out = " ".join(airwatt(*arguments, "--battery", "1000mAh", "--details").out.split())
    assert "each 60 s as it comes (" in out
    assert re.search(r"at the power of DFS \+ Modem-sleep, is 40\.\d+ µA more: 1000mAh lasts \d", out)
    of_linux = [*arguments[:5], "ar5004", *arguments[6:]]
    assert json.loads(airwatt(*of_linux, "--json").out)["network_stack"] is None


def test_a_price_is_that_of_each_message():
    """A lone datagram costs the time awake after it: so do forty more of them in a run that is twice as long.

    Their run and the one without began with the same time awake, in which the first of forty was for nothing.
    """
    candidate = advice.Candidate("timeout", (("timeout", "200ms"),))
    idle = laboratory.load("idle", (), {"station.radio": "esp32-c3"})
    one_j = network_stack.price(idle, candidate, 1, None).frame_j
    flow = {
        "direction": "up",
        "transport": "udp",
        "application": {"kind": "periodic", "interval": "60s", "packet": "28B"},
    }
    durations_s = (2400.0, 4800.0)
    [(short, few)], [(long, many)] = (
        beside_none.runs(idle, [candidate], flow, duration_s, 1, None) for duration_s in durations_s
    )
    more_j = (many.energy_j - few.energy_j) - (long.energy_j - short.energy_j)
    assert one_j == pytest.approx(more_j / 40, rel=0.005)
    # 200 ms of listening at 84 mA, less two of the beacons that it is then awake for anyway, 0.15 mJ each.
    assert one_j == pytest.approx(0.2 * 3.3 * 84e-3 - 2 * 0.15e-3, rel=0.02)


def test_a_price_does_not_hang_on_the_distance_from_a_beacon():
    """Of a cell with beacons each 100 ms each message of a minute came at the same time after one."""
    candidate = advice.Candidate("timeout", (("timeout", "50ms"),), 10)
    prices = []
    for seed in (1, 2, 3, 4):
        cell = {"station.radio": "esp32-c3", "ap.beacon_interval": "100ms"}
        prices.append(network_stack.price(laboratory.load("idle", (), cell), candidate, seed, None).frame_j)
    # 50 ms at 84 mA and a wake-up; one in twenty saves a beacon.
    assert prices == pytest.approx([13.9e-3] * 4, rel=0.01)


def test_a_device_without_packets_is_advised_what_its_chip_does_as_it_comes(airwatt):
    """Time-outs make no difference to it: 10 ms won by the one that began the run."""
    arguments = ["advise", "idle", "--delay", "1s", "--radio", "esp32-c3", "--runs", "1", "--set", "duration=60s"]
    found = airwatt(*arguments, "--json").json
    assert (found["advice"]["parameters"], found["advice"]["listen_interval"]) == ({"timeout": "50ms"}, 10)
    alike = [(one["parameters"], one["listen_interval"]) for one in found["alike"]]
    assert ({"timeout": "10ms"}, 10) in alike
    assert (found["default"]["parameters"], found["default"]["listen_interval"]) == ({"timeout": "50ms"}, None)


def test_reports_of_mqtt_cost_what_their_exchange_keeps_the_radio_awake_for():
    """PUBLISH, 20 ms to its PUBACK, the acknowledgement of TCP 40 ms later, and 50 ms of timeout, at 84 mA."""
    read = advice.flow("up:mqtt:30s:60B")
    assert read["application"] == {"kind": "mqtt", "interval": "30s", "report": "60B"}
    idle = laboratory.load("idle", (), {"station.radio": "esp32-c3"})
    candidate = advice.Candidate("timeout", (("timeout", "50ms"),))

    def one_j(application, messages):
        [(rest, loaded)] = beside_none.runs(idle, [candidate], {**read, "application": application}, 1200.0, 1, None)
        assert loaded.answered == messages
        return (loaded.energy_j - rest.energy_j) / messages

    report = one_j(read["application"], 40)
    # Less the wake-ups for the beacon that comes in this time.
    assert report == pytest.approx(0.11 * 3.3 * 84e-3 - 0.15e-3, rel=0.03)
    # A report in ten minutes has nine pings between it and the next one.
    assert one_j({"kind": "mqtt", "interval": "10min", "report": "60B"}, 20) == pytest.approx(report, rel=0.02)


@pytest.mark.parametrize(
    ("radio", "flow", "why"),
    [
        ("cyw43439", "up:periodic:10min:60B", "the profile of cyw43439 has no current of deep sleep"),
        ("esp32-c3", "up:mqtt:10min", "it is for one station that sends reports at equal intervals and nothing else"),
        ("esp32-c6", "up:periodic:10min:60B", None),
    ],
)
def test_a_reconnection_that_is_not_priced_is_said(airwatt, radio, flow, why):
    arguments = ["advise", "--delay", "1s", "--radio", radio, "--flow", flow, "--duration", "10min", "--runs", "1"]
    arguments += ["--target", "esp-idf"] if radio.startswith("esp") else []
    out = " ".join(airwatt(*arguments, "--reconnect", "2s").out.split())
    if why is None:
        assert "with 2.00 s it takes 267." in out
    else:
        assert f"deep sleep is not priced, so that --reconnect has no effect: {why}" in out
        assert "deep sleep is not priced" not in " ".join(airwatt(*arguments).out.split())


def test_nothing_spends_nothing():
    assert [advice_answer._below_all(left) for left in (0.5, 0.0055, 0.004, 0.0004, 1e-9)] == [
        "50 %",
        "99 %",
        "99.6 %",
        "99.96 %",
        "100.0000 %",
    ]
