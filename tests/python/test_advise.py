"""`airwatt advise`: models come first, runs decide, and a wrong question gives an error of one line."""

import json
import re
import shlex
import struct
from pathlib import Path
from random import Random

import pytest
from conftest import ROOT

from airwatt import InputError, advice, laboratory
from airwatt.advice import beside_none, companion_kits, esp_idf, keep_alives, network_stack, platforms
from airwatt.cli import advice_answer
from airwatt.cli import advise as command

BULK = ["--flow", "down:bulk:1MB", "--runs", "2"]
CALL = ["--flow", "up:cbr:64kbps:160B", "--flow", "down:cbr:64kbps:160B", "--duration", "5s", "--runs", "2"]


@pytest.fixture(scope="module")
def bulk():
    scenario = advice.scenario_of(["down:bulk:2MB"], {}, "20s")
    return advice.advise(scenario, 0.12, runs=2)


def row(found, policy, **parameters):
    wanted = advice.Candidate(policy, tuple(parameters.items()))
    return next(each for each in found.rows if each.candidate == wanted)


def test_the_best_is_within_the_budget_and_beats_the_runner_up(bulk):
    best, second = bulk.ranked[0].simulation, bulk.runner_up.simulation
    assert best.judged_s <= 0.12
    assert best.energy_j <= second.energy_j
    assert best.energy_j < row(bulk, "active").simulation.energy_j
    assert row(bulk, "active").simulation.delay_s == 0.0


def test_models_and_runs_agree_on_a_transfer(bulk):
    for each in bulk.rows:
        error = bulk.model_error(each)
        assert error is None or abs(error) < 0.4, each
    psm = row(bulk, "psm")
    assert psm.simulation.delay_s == pytest.approx(psm.model.delay_s, rel=0.3)


def test_only_the_models_best_are_run_and_those_without_a_model():
    scenario = advice.scenario_of(["down:bulk:1MB"], {}, "20s")
    found = advice.advise(scenario, 0.02, runs=1, confirm=1)
    ran = {each.candidate.policy for each in found.rows if each.simulation}
    # The best candidate of each policy runs, so that no policy is left out because of its model, and what Linux sets.
    # Nothing says that this radio and this access point have target wake time.
    assert ran == {each.policy for each in advice.candidates()} - {"twt", "ba-ta-twt"}
    assert all(each.simulation for each in found.rows if platforms.can_set("iw", each.candidate))
    modelled = [
        each for each in found.rows if each.simulation and each.model and not platforms.can_set("iw", each.candidate)
    ]
    kinds = {(each.candidate.policy, each.candidate.listen_interval) for each in modelled}
    assert len(modelled) <= len(kinds) + 1 + 2  # beyond the budget
    assert len(modelled) < len([each for each in found.rows if each.model])


def test_a_call_sleeps_between_its_packets():
    # The air for which the figures are: with the long beacons of the default more packets are fetched after a beacon.
    air = {"wifi": "fast-wifi"}
    scenario = advice.scenario_of(["up:cbr:64kbps:160B", "down:cbr:64kbps:160B"], air, "5s")
    found = advice.advise(scenario, 0.015, runs=1)
    assert found.ranked[0].simulation.energy_j < 0.2 * row(found, "active").simulation.energy_j
    # Uplink packets, 20 ms apart, fetch the downlink packets.
    assert row(found, "psm").simulation.delay_s == pytest.approx(0.01, rel=0.1)
    assert row(found, "psm").model.delay_s == pytest.approx(0.01)
    assert abs(found.model_error(row(found, "psm"))) < 0.15


def test_the_curve_falls_and_more_delay_never_costs(bulk):
    delays, energies = zip(*((delay, each.simulation.energy_j) for delay, each in bulk.curve), strict=True)
    assert list(delays) == sorted(delays)
    assert list(energies) == sorted(energies, reverse=True)
    powers = [power for _, power in bulk.tunnel_curve]
    assert powers == sorted(powers, reverse=True)


def test_the_document_is_repeatable_and_complete(airwatt):
    first, second = (airwatt("advise", "--delay", "20ms", *BULK, "--json") for _ in range(2))
    assert first.status == 0
    assert first.out == second.out
    document = first.json
    assert document["advice"]["simulation"]["delay_p95_s"] <= document["delay_budget_s"] == 0.02
    assert {each["policy"] for each in document["candidates"]} >= {"active", "psm", "uapsd", "ba-ta", "timeout"}
    assert document["curve"]
    assert document["tunnel"]["burst_packets"] >= 1


@pytest.mark.parametrize("line", [line for line in command.EPILOG.splitlines() if line.startswith("  airwatt")])
def test_the_examples_work_and_fit(airwatt, line):
    answer = airwatt(*shlex.split(line)[1:])
    assert answer.status == 0, answer.err
    assert all(len(printed) <= 80 for printed in answer.out.splitlines())
    assert "take  " in answer.out
    assert ("one costs" in answer.out and "saves a day" in answer.out) == ("--keep-alive" in line)


def test_a_capture_is_advised_from_its_replay(airwatt):
    capture = ROOT / "captures" / "tcp-download.pcapng"
    tight, loose = (airwatt("advise", capture, "--delay", delay, "--json").json for delay in ("1ms", "1s"))
    assert loose["advice"]["simulation"]["energy_j"] < tight["advice"]["simulation"]["energy_j"]
    assert tight["advice"]["simulation"]["delay_p95_s"] is not None
    assert tight["tunnel"] is None


def test_answers_are_what_is_delayed_where_an_application_waits_for_them(airwatt):
    answer = airwatt(
        "advise", "--delay", "50ms", "--flow", "down:request-response:200ms", "--duration", "10s", "--json"
    )
    found = answer.json["advice"]
    assert found["model"] is None
    assert found["simulation"]["delay_p95_s"] <= 0.05
    assert {each["policy"] for each in answer.json["candidates"]} > {"psm", "active"}


def test_what_models_do_not_describe_is_simulated_alone(airwatt):
    answer = airwatt(
        "advise",
        "fast-dsl",
        "--delay",
        "1ms",
        "--set",
        "station.count=2",
        "--set",
        "flow.application.size=200kB",
        "--json",
    )
    assert answer.status == 0
    assert all(each["model"] is None for each in answer.json["candidates"])


def test_a_picture_is_drawn(airwatt, tmp_path):
    assert airwatt("advise", *CALL, "--plot", tmp_path / "a.png").status == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_threshold_is_held(airwatt):
    assert airwatt("advise", *BULK, "--fail-if", "advice.simulation.energy_j > 100").status == 0
    assert airwatt("advise", *BULK, "--fail-if", "advice.simulation.energy_j > 0.001").status == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["expected a scenario, a capture"]),
        (["--delay", "20", *BULK], ["--delay", "20", "unit"]),
        (["--delay", "-1ms", *BULK], ["--delay"]),
        (["--delay", "nan", *BULK], ["--delay"]),
        (["--flow", "sideways:bulk:5MB"], ["--flow", "sideways"]),
        (["--flow", "down:bulk"], ["--flow", "down:bulk"]),
        (["--flow", "down:bulk:5"], ["--flow", "5"]),
        (["--flow", "down:bulk:0MB"], ["--flow", "0MB"]),
        (["--flow", "down:bulk:5MB:100B"], ["--flow", "packet"]),
        (["--flow", "down:web:often"], ["--flow", "often"]),
        (["--flow", "down:cbr:64kbps:many"], ["--flow", "many"]),
        (["--flow", "down:cbr:64kbps", "--duration", "soon"], ["--duration", "soon"]),
        ([*BULK, "--radio", "crystal"], ["--radio", "crystal", "ar5004"]),
        ([*BULK, "--down", "1bps"], ["wired.down.rate"]),
        ([*BULK, "--set", "nowhere=1"], ["nowhere"]),
        ([*BULK, "--loss", "5x"], ["--loss", "5x"]),
        ([*BULK, "--loss", "100%"], ["--loss", "100%"]),
        ([*BULK, "--runs", "0"], ["runs", "0"]),
        ([*BULK, "--battery", "5"], ["--battery", "5", "Wh"]),
        ([*BULK, "--battery", "0Wh"], ["--battery", "0Wh"]),
        ([*BULK, "--confirm", "0"], ["confirm"]),
        ([*BULK, "--station", "02:00:00:00:00:01"], ["--station"]),
        (["fast-dsl", *BULK], ["fast-dsl"]),
        (["nothing-like-it"], ["nothing-like-it"]),
        (["nothing.pcap"], ["nothing.pcap"]),
        (["e2tcp"], ["e2tcp", "wifi"]),
        (["captures/tcp-download.pcapng", "--rtt", "5ms"], ["--rtt"]),
        ([*BULK, "--plot", "a.txt"], ["--plot", "a.txt"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(airwatt, arguments, words):
    answer = airwatt("advise", *arguments)
    assert answer.status == 2
    assert answer.is_one_line(*words), answer.err
    assert "/tmp" not in answer.err


def test_python_raises_what_the_command_says():
    with pytest.raises(InputError, match="down:bulk:5MB"):
        advice.flow("down")
    assert json.dumps(advice.flow("up:cbr:64kbps"))


def test_a_capture_is_asked_of_the_models_first_too():
    capture = ROOT / "captures" / "tcp-download.pcapng"
    found = advice.advise_capture(capture, 0.001)
    modelled = [each for each in found.rows if found.model_error(each) is not None]
    assert {each.candidate.policy for each in modelled} >= {"active", "timeout", "uapsd", "psm"}
    assert all(abs(found.model_error(each)) < 0.25 for each in modelled)
    # The parameters of policies are tried, and the pace of the packets permits a short timeout.
    assert found.ranked[0].candidate == advice.Candidate("timeout", (("timeout", "10ms"),), 10)
    assert found.ranked[0].model.delay_s < 0.001
    assert any(each.simulation is None for each in found.rows)


def test_a_battery_lasts(airwatt):
    question = ["--delay", "15ms", *CALL, "--battery", "3.6kJ"]
    document = airwatt("advise", *question, "--json").json
    lasting = document["battery_lasts_s"]
    assert lasting["as advised"] == pytest.approx(3600 / document["advice"]["simulation"]["power_w"])
    assert lasting["as advised"] > 5 * lasting["active"]
    assert "3.6kJ lasts: as advised" in airwatt("advise", *question).out
    assert airwatt("advise", "--delay", "15ms", *CALL, "--json").json["battery_lasts_s"] == {}


def test_candidates_that_do_the_same_share_a_row(airwatt):
    lines = airwatt("advise", "--delay", "15ms", *CALL, "--details").out.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("psm   "))
    assert lines[first + 1].startswith("uapsd")
    # Its packets up fetch those down, so that beacons may be skipped.
    assert next(line for line in lines if line.rstrip().endswith("best")).startswith("psm every 10 ")


def test_uapsd_is_triggered_without_packets_down_too():
    scenario = advice.scenario_of(["up:cbr:1kbps:100B"], {"station.radio": "ar5004"}, "100s")
    found = advice.advise(scenario, 0.05, runs=1)
    errors = [error for error in map(found.model_error, found.rows) if error is not None]
    assert errors
    assert all(abs(error) < 0.25 for error in errors)


def test_a_delay_that_is_far_off_is_a_disagreement():
    found = advice.advise_capture(ROOT / "captures" / "tcp-download.pcapng", 0.03)
    # With every listen interval that was replayed.
    assert {each.candidate.policy for each in found.late} == {"psm-legacy"}
    assert found.to_dict()["delay_disagreements"][0]["policy"] == "psm-legacy"


def test_listen_intervals_are_searched_and_said_how_to_set(airwatt):
    question = ["idle", "--delay", "10s", "--runs", "1", "--battery", "1000mAh"]
    document = airwatt("advise", *question, "--json").json
    best = document["advice"]
    assert best["listen_interval"] == 10
    # Every tenth beacon: by the hand calculation of docs/radios.md 0.31 mA, 134 days.
    assert best["average_current_a"] == pytest.approx(0.31e-3, rel=0.01)
    assert document["battery_lasts_s"]["as advised"] == pytest.approx(134.4 * 86_400, rel=0.01)
    shown = airwatt("advise", *question).out
    assert "wifi_config.sta.listen_interval = 10;" in " ".join(shown.split())
    assert "iw:" not in shown


@pytest.mark.parametrize("source", [["captures/tcp-download.pcapng"], ["--flow", "up:periodic:30s:60B"], ["idle"]])
def test_listen_intervals_beyond_the_dtim_period_are_tried(airwatt, source):
    cell = ["--radio", "esp32-c3", "--set", "ap.dtim_period=3"]
    answer = airwatt("advise", *source, "--delay", "2s", "--runs", 1, *cell, "--json")
    assert answer.status == 0, answer.err
    found = {row["listen_interval"] for row in answer.json["candidates"] if row["policy"] == "timeout"}
    assert found == {None, 10}
    best = answer.json["advice"]
    assert best["listen_interval"] == 10


def test_reports_stand_for_keep_alives(airwatt):
    asked = ["--delay", "1s", "--runs", 1, "--radio", "esp32-c3", "--duration", "60s", "--confirm", "1"]
    for interval, is_within in (("30s", True), ("2min", False)):
        shown = airwatt.output(["advise", "--flow", f"up:periodic:{interval}:60B", *asked, "--keep-alive", "60s"])
        assert ("are packets of the device within each keep-alive" in " ".join(shown.split())) is is_within


def test_a_chip_that_receives_every_beacon_is_asked_for_dtim_beacons_alone(airwatt):
    # A DTIM period has no effect beside one of its listen intervals, so that none is tried.
    cell = ["--radio", "siwx917", "--set", "ap.dtim_period=3"]
    answer = airwatt("advise", "--flow", "up:periodic:30s:60B", "--delay", "2s", "--runs", 1, *cell, "--json")
    assert answer.status == 0, answer.err
    assert {row["listen_interval"] for row in answer.json["candidates"]} == {None}
    said = airwatt(
        "advise", "--flow", "up:periodic:30s:60B", "--delay", "2s", "--runs", 1, "--duration", "60s", *cell, "--details"
    )
    assert "not tried: listen intervals, beside which the DTIM period that is set" in " ".join(said.out.split())


def test_a_listen_interval_takes_the_place_of_dtim_beacons(airwatt):
    radio = ["run", "idle", "--radio", "esp32-c3", "--policy", "timeout", "--json"]

    def spent(*settings):
        keys = [text for setting in settings for text in ("--set", setting)]
        answer = airwatt(*radio, *keys)
        assert answer.status == 0, answer.err
        return answer.json["stations"][0]["energy_j"]

    # One beacon in ten, whatever the DTIM period is, as of an access point that announces each tenth.
    assert spent("ap.dtim_period=3", "station.listen_interval=10") == spent("station.listen_interval=10")
    assert spent("ap.dtim_period=10") == pytest.approx(spent("station.listen_interval=10"), rel=1e-6)
    assert spent("ap.dtim_period=3") > 1.5 * spent("ap.dtim_period=10")


@pytest.mark.parametrize("source", [["captures/tcp-download.pcapng"], ["--flow", "down:request-response:1s"]])
def test_a_listen_interval_that_is_set_is_the_only_one(airwatt, source):
    cell = ["--set", "station.listen_interval=dtim", "--set", "ap.dtim_period=3"]
    answer = airwatt("advise", *source, "--delay", "1s", "--runs", 1, *cell, "--json")
    assert answer.status == 0, answer.err
    found = {row["policy"]: row["listen_interval"] for row in answer.json["candidates"]}
    assert found["psm"] is None
    assert set(found.values()) == {None}


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
    question = ["idle", "--radio", "esp32-c3", "--delay", "1s", "--runs", "1", "--keep-alive", "60s"]
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


def test_the_answer_says_how_target_wake_time_is_tried(airwatt):
    asked = ["advise", "idle", "--radio", "esp32-c6", "--delay", "1s", "--runs", "1", "--set", "duration=10s"]
    hint = "--set wifi.standard=802.11ax-2.4GHz"
    assert f"not tried: target wake time, as of 802.11ax: {hint}" in " ".join(airwatt.output(asked).split())
    tried = airwatt(*asked, *hint.split(), "--json").json["candidates"]
    assert "twt" in {row["policy"] for row in tried}


def test_keep_alives_last_as_long_as_the_same_flow_of_a_scenario(airwatt, tmp_path):
    question = ["idle", "--radio", "esp32-c3", "--delay", "10s", "--runs", "1", "--keep-alive", "60s"]
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
    assert "0 s of delay" not in text
    assert re.search(r"^timeout 50ms +30\.\d+ mJ .* 26\.\d days$", text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("flows", "duration"), [(["up:periodic:30s"], "600s"), (["up:periodic:30s", "up:mqtt:60s"], "1200s")]
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


def test_what_is_pasted_is_code_or_a_comment(airwatt):
    question = ["idle", "--radio", "esp32-c3", "--delay", "1s", "--runs", "1", "--target", "esp-idf"]
    text = airwatt.output(["advise", *question])
    indented = text[text.index("// and for the host") :].partition("\n\n")[0]
    pasted = [line.strip() for line in indented.splitlines()]
    assert len(pasted) > 3
    assert all(line.startswith(("//", "#", "CONFIG_")) for line in pasted), pasted


def test_cross_traffic_and_loss_move_the_delay(airwatt):
    question = ["advise", "--delay", "1s", "--flow", "down:request-response:1s", "--runs", "1", "--duration", "60s"]
    clean = airwatt(*question, "--json").json
    rough = airwatt(*question, "--json", "--cross", "15Mbps", "--loss", "0.3").json
    of = {
        name: {each["policy"]: each["simulation"] for each in found["candidates"] if each["simulation"]}
        for name, found in {"clean": clean, "rough": rough}.items()
    }
    assert of["rough"]["active"]["energy_j"] != of["clean"]["active"]["energy_j"]
    assert of["rough"]["psm"]["delay_p95_s"] is not None


def test_jitter_makes_answers_late_that_a_fixed_round_trip_does_not():
    flows = ["down:request-response:500ms"]
    path = {"wired.rtt": "40ms"}
    jitter = {"wired.down.jitter": "20ms", "wired.up.jitter": "20ms"}
    fixed, varied = (
        advice.advise(advice.scenario_of(flows, settings, "10s"), 0.1, runs=1) for settings in (path, path | jitter)
    )
    assert row(fixed, "timeout", timeout="50ms").simulation.delay_s < 0.001
    late = row(varied, "timeout", timeout="50ms").simulation
    assert late.delay_s > 0.005
    assert late.delay_p99_s >= late.delay_p95_s > 0.005


def test_what_is_set_beside_the_best_is_compared_with_it():
    found = advice.advise(advice.scenario_of(["down:bulk:1MB"], {}, "20s"), 0.02, runs=2)
    best = found.ranked[0]
    names = [one.setting.name for one in found.beside]
    # The scenario acknowledges at once already.
    assert "ACK in 250ms" in names
    assert "ACK at once" not in names
    for one in found.beside:
        assert one.candidate == best.candidate
        assert one.alone == best.simulation
        assert not one.is_advised or one.figures.energy_j < 0.98 * best.simulation.energy_j
    without_tcp = advice.advise(advice.scenario_of(["up:cbr:64kbps:160B"], {}, "2s"), 0.02, runs=1)
    assert all(one.setting.name.startswith("bursts") for one in without_tcp.beside)


@pytest.mark.parametrize("target", platforms.TARGETS)
def test_a_target_has_only_what_can_be_set_there(airwatt, target):
    chips = {"nrf": "nrf7002", "wiseconnect": "siwx917", "pico-sdk": "cyw43439", "whd": "cyw43439"}
    radio = chips.get(target, "esp32-c3")
    question = ["idle", "--delay", "1s", "--runs", "1", "--radio", radio, "--target", target]
    document = airwatt("advise", *question, "--json").json
    found = {
        (row["policy"], tuple(row["parameters"].items()), row["listen_interval"]) for row in document["candidates"]
    }
    expected = {
        (each.policy, each.parameters, each.listen_interval)
        for each in advice.candidates()
        # The cell is not one of 802.11ax.
        if platforms.is_for(target, each) and each.policy != "twt"
    }
    assert found == expected
    assert all(row["simulation"] for row in document["candidates"])
    shown = airwatt("advise", *question).out
    _, _, to_paste = shown.partition(f" on {target}:\n")
    assert to_paste.startswith("    ")
    assert "has no setting" not in shown


def test_what_esp_idf_is_told_is_code_and_options(airwatt):
    question = ["--flow", "up:periodic:1s:60B", "--delay", "5ms", "--runs", "1", "--radio", "esp32-c3"]
    shown = airwatt("advise", *question, "--target", "esp-idf").out
    code = shown.partition(" on esp-idf:\n")[2].partition("\n\n")[0]
    assert re.search(r"^    esp_wifi_set_ps\(WIFI_PS_\w+\);$", code, re.M)
    assert "CONFIG_PM_ENABLE=y" in shown
    assert ";;" not in shown
    assert "    // esp_pm_configure() with" in shown
    for radio, target in [("siwx917", "esp-idf"), ("esp32-c3", "nrf"), ("nrf7002", "esp-idf")]:
        refused = airwatt("advise", "idle", "--radio", radio, "--target", target)
        assert refused.status == 2
        assert refused.is_one_line(f"--target {target}", radio)
    assert airwatt("advise", *question, "--target", "amiga").is_one_line("linux, esp-idf, nrf, zephyr, wiseconnect")


def test_what_no_platform_can_set_is_marked(airwatt):
    question = ["slow-dsl", "--delay", "50ms", "--runs", "1", "--set", "flow.application.size=500kB"]
    marked = {row["policy"]: row["can_be_set"] for row in airwatt("advise", *question, "--json").json["candidates"]}
    assert marked["uapsd"] is marked["ba-ta"] is False
    assert marked["psm"] is marked["timeout"] is marked["active"] is marked["latency-guard"] is True
    shown = airwatt("advise", *question, "--details").out
    assert "\n* no platform has a setting for all of it" in shown


def test_settings_are_within_the_ranges_of_the_platforms():
    for each in advice.candidates():
        lines = platforms.lines(each)
        assert len(lines) == len(platforms.PLATFORMS)
        for value in re.findall(r"MIN_ACTIVE_TIME=(\d+)", lines[2]):
            assert 8 <= int(value) <= 60


def test_a_board_into_which_somebody_types_is_told_of_long_timeouts(airwatt):
    question = ["ssh", "--delay", "30ms", "--target", "linux", "--set", "flow.direction=up"]
    document = airwatt("advise", *question, "--runs", "1", "--json").json
    tried = {row["parameters"]["timeout"] for row in document["candidates"] if row["policy"] == "timeout"}
    assert {"1s", "1.5s", "2s"} <= tried
    assert document["advice"]["policy"] == "timeout"


@pytest.mark.parametrize(("mean_gap", "taken"), [("500ms", "timeout 1.5s"), ("2s", "latency-guard")])
def test_slow_answers_decide_as_on_the_page_of_the_daemon(airwatt, mean_gap, taken):
    """By the mean, 7 ms, a timeout of 1 s was advised to a board of which one key in twenty comes 64 ms late."""
    keys = ["flow.direction=up", f"flow.application.mean_gap={mean_gap}", "ap.beacon_interval=102.4ms"]
    question = ["ssh", "--delay", "30ms", "--target", "linux", *(word for key in keys for word in ("--set", key))]
    document = airwatt("advise", *question, "--json").json
    candidates = [advice.Candidate(row["policy"], tuple(row["parameters"].items())) for row in document["candidates"]]
    rows = {one.name: row for one, row in zip(candidates, document["candidates"], strict=True)}
    assert rows[taken]["verdict"] == {"reason": "taken"}
    late = rows["timeout 1s"]
    assert late["simulation"]["delay_s"] < 0.03 or mean_gap == "2s"
    assert late["verdict"]["reason"] == "late"
    assert late["verdict"]["over_s"] == pytest.approx(late["simulation"]["delay_p95_s"] - 0.03)
    for row in rows.values():
        is_late = row["simulation"]["delay_p95_s"] > 0.03
        assert (row["verdict"]["reason"] == "late") == is_late
    # The page has the same bound, and the same answer: the timeout is in bold where it suffices.
    page = (ROOT / "docs" / "station.md").read_text()
    traffic = {"500ms": "keys-there", "2s": "gap-2s"}[mean_gap]
    of_timeout, of_daemon = re.search(rf"\n\| {traffic} \|[^|]*\|([^|]*)\|([^|]*)\|\n", page).groups()
    assert ("**" in of_timeout, "**" in of_daemon) == (taken == "timeout 1.5s", taken == "latency-guard")


def test_the_answer_says_which_limit_the_default_and_the_daemon_fail(airwatt):
    shown = " ".join(airwatt("advise", "ssh", "--set", "flow.direction=up", "--delay", "30ms").out.split())
    assert "at the 95th percentile:" in shown
    assert re.search(
        r"default timeout 100ms, .* \d\d\.\d+ ms over the budget airwattd latency-guard, the daemon: ", shown
    )
    assert re.search(r"; within the budget, for \d+\.\d+ J more \(\+\d+ %\) to set ", shown)
    assert "few packets" not in shown
    # Where no packet waits the daemon does what the driver does.
    shown = " ".join(airwatt("advise", "ssh", "--delay", "30ms", "--runs", "1").out.split())
    assert "airwattd latency-guard, the daemon: the same as the default" in shown


def test_few_packets_are_said(airwatt):
    few = ["advise", "--flow", "down:request-response:1s", "--duration", "8s", "--runs", "1", "--delay", "100ms"]
    shown = " ".join(airwatt(*few).out.split())
    assert re.search(r"few packets: the 95th percentile of \d+ in a run is the delay of the slowest", shown)


def test_what_is_said_of_linux_can_be_pasted():
    for time, count, driver in (("1.5s", 1500, "wl18xx"), ("2s", 2000, "brcmfmac")):
        iw = platforms.how(advice.Candidate("timeout", (("timeout", time),)))[0]
        assert f"iwconfig wlan0 power timeout {count}m" in iw.lines
        assert f"; {driver} has" in iw.note or f"and {driver} have" in iw.note
    # Each file that a line names is in the package, and in the tree.
    manager = platforms.how(advice.Candidate("latency-guard"))[1]
    copied = next(word for line in manager.lines for word in line.split() if word.startswith("/usr/share/doc/airwattd"))
    build = (ROOT / "packaging/debian/build").read_text()
    assert '"$root/usr/share/doc/airwattd/examples/"' in build
    assert copied.startswith("/usr/share/doc/airwattd/examples/")
    assert (ROOT / "packaging/NetworkManager" / Path(copied).name).exists()
    assert manager.lines[-1] == "systemctl enable --now airwattd-station"
    # A long command goes on in the next line, as a shell reads it.
    pasted = "\n".join(platforms.to_paste("linux", platforms.how(advice.Candidate("latency-guard"))))
    assert all(len(line) <= 76 for line in pasted.splitlines())
    assert set(manager.lines) <= set(re.sub(r" \\\n +", " ", pasted).splitlines())


def test_a_keep_alive_has_one_price(airwatt):
    """With and without a wired path in the scenario the radio waits for the answer equally long."""
    candidate = advice.Candidate("timeout", (("timeout", "50ms"),))
    named = advice.scenario_of(["up:mqtt:30s"], {"station.radio": "esp32-c3"})
    idle = laboratory.load("idle", (), {"station.radio": "esp32-c3"})
    ((one,), (other,)) = (keep_alives.price(scenario, [candidate], 30.0) for scenario in (idle, named))
    assert one.one_j == pytest.approx(other.one_j, rel=0.01)
    assert one.rtt_s == other.rtt_s == 0.02
    # 50 ms of timeout after the answer, which comes 20 ms after the question, at 277 mW.
    assert one.one_j > 0.07 * 0.277 * 0.9


def test_first_is_what_the_chip_can_be_told():
    found = advice.advise(advice.scenario_of(["up:mqtt:10s:60B"], {"station.radio": "esp32-c3"}, "30s"), 1.0, runs=1)
    best = found.ranked[0]
    assert (best.candidate.policy, best.is_out_of_reach) == ("timeout", False)
    cheaper = [
        row for row in found.ranked if row.is_out_of_reach and row.simulation.energy_j < best.simulation.energy_j
    ]
    assert cheaper
    assert found.runner_up is not None
    assert not found.runner_up.is_out_of_reach


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


def test_wake_times_are_tried_where_the_kit_and_the_cell_have_them():
    wifi_6 = {"station.radio": "nrf7002", "wifi.standard": "802.11ax-2.4GHz"}
    scenario = advice.scenario_of(["up:periodic:10s:60B"], wifi_6, "30s")
    found = advice.advise(scenario, 6.0, runs=1)
    tried = [row.candidate for row in found.rows if row.candidate.policy == "twt"]
    assert [candidate.name for candidate in tried] == ["twt 50ms", "twt 200ms", "twt 1s", "twt 10s"]
    assert all(dict(candidate.parameters)["early_end"] == "false" for candidate in tried)
    lines = {one["platform"]: one["lines"] for one in platforms.settings(tried[2])}
    assert lines["nRF Connect SDK"] == ["wifi twt quick_setup 16384 1000000"]
    assert ".wake_invl_mant = 62500, .wake_invl_expn = 4" in lines["ESP-IDF"][0]
    other = advice.advise("idle", 1.0, runs=1, set={"station.radio": "esp32-c6", "duration": "10s"})
    assert "802.11ax" in other.untried
    assert all(row.candidate.policy != "twt" for row in other.rows)


def test_delays_do_not_depend_on_how_long_a_connection_is_simulated():
    """With target wake time the first answer waits 10 s for a service period, which no later one does."""
    air = {"wifi.standard": "802.11ax-2.4GHz", "station.radio": "esp32-c6"}
    delays_s = []
    for duration in ("300s", "900s"):
        scenario = advice.scenario_of(["up:mqtt:30s:60B"], air, duration)
        found = advice.advise(scenario, 1.0, runs=1)
        [rare] = [each for each in found.rows if each.candidate.name == "twt 10s" and each.simulation]
        delays_s.append(rare.simulation.delay_s)
        settings = {**dict(rare.candidate.overrides), "latency_percentiles": "true"}
        [flow] = laboratory.run(scenario, set=settings).flows
        assert flow.response_s_mean * flow.responses - flow.steady_s_mean * (flow.responses - 1) > 5
        assert flow.steady_s_mean < flow.steady_s_p99 < 0.2
    assert delays_s[0] == pytest.approx(delays_s[1], abs=0.02)


def test_answers_wait_for_half_an_interval_between_service_periods():
    """A report each 30 s and a period each second, in step with each other, had answers without a wait."""
    air = {"wifi.standard": "802.11ax-2.4GHz", "station.radio": "esp32-c6"}
    found = advice.advise(advice.scenario_of(["up:mqtt:30s:60B"], air, "300s"), 2.0, runs=20)
    [each_second] = [each.simulation for each in found.rows if each.candidate.name == "twt 1s"]
    assert each_second.delay_ci95_s < 0.2
    assert each_second.delay_s == pytest.approx(0.5, abs=each_second.delay_ci95_s)


def test_wake_times_do_not_rest_on_an_early_end_that_nothing_sets(airwatt):
    """549 days of an ESP32-C6 stood without a word where a firmware that stays awake to the end makes 207 of them."""
    arguments = ["advise", "--delay", "1s", "--radio", "esp32-c6", "--set", "wifi.standard=802.11ax-2.4GHz"]
    arguments += ["--flow", "up:periodic:30s:60B", "--duration", "5min", "--battery", "1000mAh", "--runs", "1"]
    found = json.loads(airwatt(*arguments, "--json").out)
    rows = {
        (one["parameters"]["interval"], one["parameters"]["early_end"]): one
        for one in found["candidates"]
        if one["policy"] == "twt"
    }
    whole, early = rows["10s", "false"], rows["10s", "true"]
    assert whole["can_be_set"]
    assert not early["can_be_set"]
    assert whole["simulation"]["energy_j"] > 2 * early["simulation"]["energy_j"]
    assert found["advice"]["parameters"] == {"interval": "10s", "early_end": "false"}
    out = " ".join(airwatt(*arguments, "--details").out.split())
    assert "take twt 10s: " in out
    assert "if early twt 10s ending early*: " in out
    days = float(out.partition("if early")[2].split("1000mAh lasts ")[1].split(" days")[0])
    lasts = float(out.split("as advised ")[1].split(" days")[0])
    assert lasts == pytest.approx(found["battery_lasts_s"]["as advised"] / 86_400, rel=0.01)
    assert days > 2 * lasts
    # A beacon each 10 s is 71 uC: of the profile, 78 mA for 0.92 ms until its TIM has come, with the guard before it.
    with_beacons = float(out.partition("or ")[2].split(" days with a beacon in each period")[0].split()[-1])
    assert 1000 / 24 * (1 / with_beacons - 1 / days) == pytest.approx(0.0071, abs=0.0004)
    # It hears one beacon in 10 s at most.
    assert "without a beacon for 6 s, which is less than one of these intervals between wake times" in out
    assert "esp_wifi_set_inactive_time(WIFI_IF_STA, 100);" in out
    pasted = airwatt(*arguments, "--target", "esp-idf", "--details").out
    assert "twt 10s ending early*" in pasted


def test_a_profile_of_ones_own_is_of_the_chip_that_it_names(tmp_path, airwatt):
    board = tmp_path / "board.toml"
    shipped = (ROOT / "radios" / "esp32-c6.toml").read_text()
    board.write_text(shipped.replace('name = "esp32-c6"', 'name = "esp32-c6-board"'))
    found = advice.advise("idle", 1.0, runs=1, set={"station.radio": str(board), "duration": "10s"})
    assert (found.chip.name, found.chip.mode) == ("esp32-c6-board", "Auto Light-sleep")
    assert "CONFIG_PM_ENABLE=y" in found.chip.sets
    assert platforms.of_chip(found.chip.name) == "ESP-IDF"
    assert platforms.with_wake_times(None, found.chip.name) == "ESP-IDF"
    assert platforms.words_of(None, found.chip.name) == ["esp-idf"]
    assert platforms.words_of("linux", found.chip.name) == ["linux"]
    # A chip with a kit of its own is not told calls of another maker's.
    candidate = advice.Candidate("psm", (), 10)
    lines = platforms.described(platforms.how(candidate), "cc3130")
    assert [line.partition(":")[0] for line in lines] == ["iw", "NetworkManager", "hostapd", "cc3130"]


def test_chips_beside_a_host_are_told_their_own_calls(airwatt):
    """A CYW43439 and an SiWx917 had "the kit of its maker has no settings here"."""
    arguments = ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=60s", "--radio"]
    for radio, targets, calls in [
        ("cyw43439", ["pico-sdk", "whd"], ["cyw43_pm_value(CYW43_PM", "whd_wifi_set_listen_interval(ifp, 10, "]),
        ("siwx917", ["wiseconnect"], ["sl_wifi_set_performance_profile_v2(&profile);", "listen_interval = 1024;"]),
    ]:
        out = airwatt.output([*arguments, radio])
        assert all(f" on {target}:\n" in out for target in targets), out
        assert all(call in out for call in calls), out
        for target in targets:
            pasted = airwatt.output([*arguments, radio, "--target", target])
            assert f" on {target}:\n" in pasted
        assert list(companion_kits.hints(radio))
    assert airwatt(*arguments, "esp32-c3", "--target", "pico-sdk").is_one_line("--target pico-sdk", "esp32-c3")


def test_a_chip_is_not_advised_a_band_that_it_has_not(airwatt):
    cell = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps"]
    refused = airwatt("advise", "idle", "--delay", "1s", "--radio", "cyw43439", *cell)
    assert refused.status == 2
    assert refused.is_one_line("expected a cell at 2.4 GHz", "cyw43439", "5 GHz")
    run = airwatt("run", "idle", "--radio", "esp32-c3", *cell)
    assert run.status == 0, run.err
    assert "esp32-c3 has 2.4 GHz alone" in " ".join((run.out + run.err).split())
    both = ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=10s", "--radio", "nrf7002", *cell]
    assert airwatt(*both).status == 0


def test_values_of_chips_beside_a_host_are_within_their_ranges():
    beacon_ms = 102.4
    assert "cyw43_pm_value(CYW43_PM2_POWERSAVE_MODE, 50, 1, 1, 10)" in str(companion_kits.pico_sdk(50, None))
    assert "cyw43_pm_value(CYW43_PM1_POWERSAVE_MODE, 10, 10, 0, 10)" in str(companion_kits.pico_sdk(None, 10))
    # Four bits hold the listen interval, and the return to sleep has steps of 10 ms up to 2 s.
    assert companion_kits.pico_sdk(50, 16) is None
    assert (
        companion_kits.pico_sdk(45, None) is companion_kits.pico_sdk(2010, None) is companion_kits.whd(5, None) is None
    )
    assert "powersave_with_throughput(ifp, 200)" in str(companion_kits.whd(200, None))
    # The last beacon within so many milliseconds is the one that is meant.
    for beacons in (1, 3, 10):
        line = next(line for line in companion_kits.wiseconnect(50, beacons).lines if "listen_interval" in line)
        within_ms = int(line.split(" = ")[1].rstrip(";"))
        assert int(within_ms / beacon_ms) == beacons
    assert "1000 as it comes" in companion_kits.wiseconnect(50, 10).note
    assert "1000" not in companion_kits.wiseconnect(50, 3).note
    usual = [advice.Candidate("timeout", (("timeout", "200ms"),)), advice.Candidate("active")]
    assert [platforms.is_usual("pico-sdk", one) for one in usual] == [True, False]
    assert [platforms.is_usual("WiSeConnect", one) for one in usual] == [False, True]


def test_the_answer_is_short_and_the_rest_behind_details(airwatt):
    """A walker got 284 lines before he knew what to set."""
    arguments = ["advise", "--flow", "up:mqtt:30s:60B", "--delay", "1s", "--duration", "2min", "--runs", "1"]
    arguments += ["--battery", "1000mAh@3.3V", "--radio"]
    for radio, most in (("nrf7002", 26), ("cyw43439", 31), ("siwx917", 26), ("ar5004", 27), ("esp32-c3", 40)):
        brief = airwatt.output([*arguments, radio])
        lines = brief.splitlines()
        assert len(lines) <= most, brief
        assert all(len(line) <= 80 for line in lines)
        assert "\ntake  " in brief
        assert "by default" in brief
        assert "\nto set " in brief
        assert "\n--details: " in brief
        assert "CANDIDATES" not in brief
    whole = airwatt.output([*arguments, "esp32-c3", "--details"])
    assert whole.startswith(brief.rpartition("\n\n--details")[0])
    for heading in ("ASSUMPTIONS", "ALTERNATIVES", "CANDIDATES", "CURRENT AND DAYS", "WHAT THE ENERGY GOES TO"):
        assert f"\n\n{heading}\n\n" in whole
    # With nothing set at all the host of an ESP32-C3 does not sleep: 20.6 mA and what the radio takes more.
    found = re.search(
        r"if the host is as it comes, too \(Modem-sleep\), 21\.\d+ mA, 4\d\.\d h", " ".join(brief.split())
    )
    assert found, brief
    # An ESP32-C3 with a listen interval is told of the call that keeps its association, among what is pasted.
    pasted = brief.partition(" on esp-idf:\n")[2].partition("\n\n")[0]
    assert "    esp_wifi_set_inactive_time(WIFI_IF_STA, 11);" in pasted
    assert pasted.count("# sdkconfig.defaults") == 1


def test_days_of_a_radio_beside_a_host_say_so(airwatt):
    """27 days of an nRF7002 stood without a word about the host that it needs."""
    for command_ in (["run", "idle"], ["advise", "idle", "--delay", "1s", "--runs", "1", "--set", "duration=60s"]):
        alone = " ".join(airwatt.output([*command_, "--radio", "nrf7002", "--battery", "1000mAh"]).split())
        assert "radio alone; with the host: --battery 1000mAh,load=0.5mA" in alone
        loaded = airwatt.output([*command_, "--radio", "nrf7002", "--battery", "1000mAh,load=0.5mA"])
        assert "radio alone" not in loaded
        whole = airwatt.output([*command_, "--radio", "esp32-c3", "--battery", "1000mAh"])
        assert "radio alone" not in whole


def test_what_else_of_esp_idf_wakes_the_radio_or_ends_its_association():
    skipping = advice.Candidate("timeout", (("timeout", "50ms"),), 10)
    radio, host, options, inactive = esp_idf.hints(skipping)
    assert "CONFIG_LWIP_ESP_GRATUITOUS_ARP=n" in radio
    assert "CONFIG_LWIP_ESP_MLDV6_REPORT=n" in radio
    # What the makers' averages have of them nobody says.
    assert "is not published" in radio
    assert "CONFIG_LWIP_TCP_TMR_INTERVAL" in host
    assert "CONFIG_USJ_NO_AUTO_LS_ON_CONNECTION=y" in host
    for option in ("DEFAULT_MAX_ACTIVE_TIME", "DEFAULT_WAIT_BROADCAST_DATA_TIME", "BEACON_LOST_OPT"):
        assert f"CONFIG_ESP_WIFI_SLP_{option}" in options
    assert "which are 5 of these listen intervals" in inactive
    assert esp_idf.keeps_association(skipping)[0].startswith("esp_wifi_set_inactive_time(WIFI_IF_STA, 11);")
    assert len(list(esp_idf.hints(skipping.listening(5)))) == 3
    assert esp_idf.keeps_association(skipping.listening(5)) == []
    minute = advice.Candidate("twt", (("interval", "1s"), ("early_end", "false")))
    *_, inactive = esp_idf.hints(minute)
    assert "which are 6 of these intervals" in inactive
    assert esp_idf.keeps_association(minute)[0].startswith("esp_wifi_set_inactive_time(WIFI_IF_STA, 10);")


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
    ("radio", "beside", "others"),
    [
        ("nrf7002", "wifi ps_wakeup_mode listen_interval", ("esp_wifi", "iwconfig", "nmcli", "bursts of")),
        ("esp32-c3", "esp_wifi_set_ps(WIFI_PS_MAX_MODEM);", ("wifi ps", "iwconfig", "nmcli", "bursts of")),
    ],
)
def test_advice_for_a_chip_of_one_platform_is_in_its_words(airwatt, radio, beside, others):
    arguments = ["advise", "--flow", "up:mqtt:30s:60B", "--delay", "1s", "--runs", "1", "--radio", radio]
    assert beside in airwatt.output([*arguments, "--duration", "60s"])
    out = airwatt.output([*arguments, "--duration", "60s", "--details"])
    assert not [words for words in others if words in out]
    # Of Linux only: the guard of its daemon.
    assert "latency-guard*" in out


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


def typed(tmp_path, pause_s):
    """A capture at the station of a shell into it: bursts of twelve keys, and pauses of `pause_s` on average."""
    random, ends = Random(4), ((b"\xc0\xa8\x07\x09", 50_000), (b"\xc0\xa8\x07\x02", 22))
    numbers, packets = [1_000, 5_000], []

    def segment(at_s, sender, data=b"", flags=0x18):
        (src, sport), (dst, dport) = ends[sender], ends[1 - sender]
        tcp = struct.pack(">HHIIBBHHH", sport, dport, *(numbers[i] for i in (sender, 1 - sender)), 80, flags, 501, 0, 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(data), 0, 0x4000, 64, 6, 0, src, dst)
        frame = b"\x02\0\0\0\0" + dst[3:] + b"\x02\0\0\0\0" + src[3:] + b"\x08\0" + ip + tcp + data
        numbers[sender] += len(data) + (flags >> 1 & 1)
        packets.append(struct.pack("<IIII", int(at_s), int(at_s % 1 * 1e6), len(frame), len(frame)) + frame)

    segment(0.0, 0, flags=2)
    segment(0.0003, 1, flags=0x12)
    at_s = 2.0
    for _ in range(20):
        for _ in range(12):
            segment(at_s, 0, b"k" * 48)
            segment(at_s + 0.001, 1, b"e" * 48)
            segment(at_s + 0.005, 0, flags=0x10)
            at_s += max(0.06, random.expovariate(5))
        at_s += random.expovariate(1 / pause_s)
    capture = tmp_path / "typed.pcap"
    capture.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1) + b"".join(packets))
    return capture


def test_the_advice_loses_to_nothing_that_can_be_set(airwatt, tmp_path):
    """Whatever the models make of it: the delay of a time-out is that of the pauses, which they do not know."""
    question = [typed(tmp_path, 10.0), "--station", "192.168.7.2", "--delay", "80ms"]
    free, linux = (airwatt("advise", *question, *target, "--json").json for target in ([], ["--target", "linux"]))
    assert free["advice"]["can_be_set"] is True
    assert free["advice"]["simulation"]["energy_j"] <= linux["advice"]["simulation"]["energy_j"]
    assert (free["default"]["policy"], free["default"]["parameters"]) == ("timeout", {"timeout": "100ms"})
    shown = airwatt("advise", *question, "--details").out
    # The answer comes before the table, and beside it what Linux does as it comes.
    assert shown.index("\ntake  ") < shown.index("\ndefault  ") < shown.index("\npolicy  ")
    assert re.search(r"\nout of reach uapsd \d+ms\*: ", shown)
