"""Values between those of the table of docs/advise.md, and what a budget that is a little larger would save."""

import pytest

from airwatt import advice

C3 = {"station.radio": "esp32-c3"}


@pytest.fixture(scope="module")
def reports():
    """Reports whose answers come after 20 ms, so that 10 ms awake are too short for them and 50 ms are too long."""
    scenario = advice.scenario_of(["up:mqtt:30s:60B"], C3, "1200s")
    return advice.advise(scenario, 0.005, runs=1)


def of_timeouts(found, beacons):
    """Energy and delay by timeout, of one listen interval."""
    return {
        dict(row.candidate.parameters)["timeout"]: row.simulation
        for row in found.rows
        if row.candidate.policy == "timeout" and row.candidate.listen_interval == beacons and row.simulation
    }


def test_a_timeout_between_two_is_found(reports):
    best = reports.ranked[0]
    assert dict(best.candidate.parameters) == {"timeout": "30ms"}
    tried = of_timeouts(reports, best.candidate.listen_interval)
    # The one that is tried anyway takes more, and the one in the middle of what is left is late.
    assert best.simulation.energy_j < 0.95 * tried["50ms"].energy_j
    assert tried["20ms"].energy_j < best.simulation.energy_j
    assert tried["20ms"].judged_s > 0.005 >= best.simulation.judged_s


def test_with_keep_alives_it_has_their_energy_once():
    scenario = advice.scenario_of(["down:periodic:30s:60B"], C3, "1500s")
    found = advice.advise(scenario, 0.6, runs=1, keep_alive_s=60)
    between = [row for row in found.rows if (row.candidate.listen_interval or 0) in (4, 5, 6, 7, 8)]
    assert between
    without = advice.advise(scenario, 0.6, runs=1)
    prices = {one.candidate: one for one in found.keep_alives}
    assert len(prices) == len(found.keep_alives)
    for row in between:
        alone = next(one for one in without.rows if one.candidate == row.candidate)
        added_w = row.simulation.power_w - alone.simulation.power_w
        assert added_w == pytest.approx(prices[row.candidate].added_w)


def test_a_listen_interval_between_two_is_found():
    scenario = advice.scenario_of(["down:periodic:30s:60B"], C3, "1500s")
    best = advice.advise(scenario, 0.6, runs=1).ranked[0]
    # A packet waits for as many beacons of 102.4 ms at most, and 19 in 20 for 95 % of that.
    assert best.candidate.listen_interval == 6
    assert 0.5 < best.simulation.judged_s <= 0.6


def test_a_better_setting_is_found_far_from_the_first_best(airwatt):
    """Answers after 80 ms and more: 130 ms awake and ten beacons are best until 10 ms awake and two are tried."""
    keys = C3 | {"wired.rtt": "80ms", "wired.down.jitter": "15ms", "wired.up.jitter": "15ms"}
    best = advice.advise(advice.scenario_of(["up:mqtt:30s:60B"], keys), 0.2, runs=1).ranked[0]
    assert best.candidate == advice.Candidate("timeout", (("timeout", "10ms"),), 2)


def test_a_device_acknowledges_as_the_network_stack_of_its_kit():
    def timeout_of(settings, target=None):
        return str(advice.scenario_of(["up:mqtt:30s"], settings, None, target).to_dict()["tcp"]["delayed_ack_timeout"])

    assert [timeout_of(C3), timeout_of({}), timeout_of({}, "esp-idf")] == ["250ms", "40ms", "250ms"]
    assert timeout_of({"station.radio": "nrf7002"}) == "40ms"
    assert timeout_of(C3 | {"tcp.delayed_ack_timeout": "100ms"}) == "100ms"


def test_a_platform_that_cannot_set_it_gets_no_value_between():
    # 802-11-wireless.powersave has no time-out, and Linux no listen interval.
    scenario = advice.scenario_of(["down:periodic:30s:60B"], {}, "600s")
    found = advice.advise(scenario, 0.6, runs=1, target="linux")
    assert {row.candidate.listen_interval for row in found.rows} == {None}


def test_a_capture_is_replayed_with_values_between(airwatt, tmp_path):
    path = tmp_path / "reports.pcapng"
    scenario = tmp_path / "reports.toml"
    flow = '[[flow]]\ndirection = "up"\napplication = { kind = "mqtt", interval = "10s", report = "60B" }\n'
    wired = 'wired = { rtt = "20ms", down = { rate = "16Mbps" }, up = { rate = "1Mbps" } }\n'
    scenario.write_text(f'base = "idle"\nname = "reports"\nduration = "300s"\n{wired}{flow}')
    made = airwatt("run", scenario, "--set", "station.radio=esp32-c3", "--policy", "active", "--pcap", path)
    assert made.status == 0, made.err
    found = airwatt("advise", path, "--radio", "esp32-c3", "--delay", "5ms", "--json").json
    assert found["advice"]["parameters"] == {"timeout": "30ms"}


def test_a_budget_just_below_a_beacon_interval_says_what_little_more_would_save(airwatt):
    command = ["advise", "--flow", "down:periodic:30s:60B", "--radio", "esp32-c3", "--battery", "1000mAh"]
    below, above = (airwatt(*command, "--duration", "600s", "--delay", delay).out for delay in ("95ms", "103ms"))
    assert "take       active: 84.00 mA" in below
    assert "nearly     timeout 10ms: 1.46 mA" in below
    assert "4.11 ms over the budget; 1000mAh lasts 28.5 days" in " ".join(below.split())
    assert "take       timeout 10ms: 1.46 mA" in above
    assert "nearly" not in above


def test_a_radio_that_never_sleeps_gets_no_settings_of_a_host_that_sleeps(airwatt):
    command = ["advise", "--flow", "down:periodic:30s:60B", "--radio", "esp32-c3", "--battery", "1000mAh"]
    out = airwatt(*command, "--duration", "600s", "--delay", "95ms").out
    assert "esp_wifi_set_ps(WIFI_PS_NONE);" in out
    # Its 0.2 uA are no part of 84 mA, and a host beside an awake radio is in no other mode.
    assert not any(word in out for word in ("light_sleep", "TICKLESS", "Light-sleep while", "of lwIP", "1 ms of the"))
