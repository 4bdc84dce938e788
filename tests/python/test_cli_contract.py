"""Standard output, standard error and exit status, as the interface requires."""

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT, SHORT

COMMANDS = ["run", "compare", "analyze", "model", "reproduce", "radios", "scenarios", "policies", "transports"]
CAPTURE = ROOT / "captures" / "tcp-download.pcapng"


def _examples(text: str) -> list[str]:
    return [line.strip() for line in text.partition("Examples:")[2].splitlines() if line.strip().startswith("airwatt ")]


def test_help_lists_the_commands_and_ends_with_examples(airwatt):
    answer = airwatt("--help")
    assert answer.status == 0
    assert all(re.search(rf"^  {command} ", answer.out, re.M) for command in COMMANDS)
    assert _examples(answer.out)
    assert airwatt().out == answer.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_fits_and_ends_with_examples_that_work(airwatt, command, tmp_path):
    answer = airwatt(command, "--help")
    assert answer.status == 0
    assert max(map(len, answer.out.splitlines())) <= 80
    examples = _examples(answer.out)
    assert examples
    for example in examples:
        # The example runs as printed, in the project's folder; only pictures, stores and redirections go elsewhere.
        words = re.sub(r"(?<![\w/-])([\w-]+\.(png|pcapng|runs|schema\.json))\b", rf"{tmp_path}/\1", example)
        _, *arguments = shlex.split(words.partition(" > ")[0])
        done = airwatt(*arguments)
        assert done.status == 0, f"{example}: {done.err}"
        assert done.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "fast-dsl", *SHORT],
        ["run", "fast-dsl", *SHORT, "--runs", "2"],
        ["compare", "fast-dsl", *SHORT, "--policy", "active,psm"],
        ["radios"],
        ["scenarios"],
        ["scenarios", "--schema"],
        ["run", "--schema"],
        ["policies"],
        ["transports"],
        ["analyze", CAPTURE],
    ],
    ids=lambda arguments: " ".join(map(str, arguments[:2])).split("/")[0],
)
def test_json_is_one_document_and_nothing_else(airwatt, arguments):
    answer = airwatt(*arguments, "--json")
    assert answer.status == 0, answer.err
    document, end = json.JSONDecoder().raw_decode(answer.out)
    assert answer.out[end:] == "\n"
    assert answer.err == ""
    if "--schema" not in arguments:
        assert document["schema"] == 1
        assert re.fullmatch(r"\d+\.\d+\.\d+", document["version"])


def test_a_result_has_the_fields_of_the_contract(airwatt):
    document = airwatt("run", "fast-dsl", *SHORT, "--json").json
    expected = {
        "schema",
        "version",
        "scenario",
        "seed",
        "simulated_s",
        "wall_s",
        "events",
        "flows",
        "stations",
        "cell",
    }
    assert expected | {"fairness"} <= document.keys()
    flow = "id station direction transport bytes_delivered goodput_bps completed_s latency_s_mean rtt_s_mean"
    flow += " segments_sent segments_retransmitted timeouts acks_lost data_overhead time_overhead energy_overhead"
    assert set(flow.split()) <= document["flows"][0].keys()
    station = "id policy radio energy_j idealized_energy_j energy_per_bit_j average_power_w state_s wakeups triggers"
    station += " lower_bound_j energy_by_cause_j energy_by_peer_j"
    assert set(station.split()) <= document["stations"][0].keys()
    states = ["transmit", "receive", "listen", "sleep", "transition"]
    assert list(document["stations"][0]["state_s"]) == states
    assert {"airtime_utilization", "frames", "retries", "collisions", "ap_drops"} <= document["cell"].keys()
    assert {"capacity_bps", "jain", "fair_utilization", "fair_utilization_alpha1"} <= document["fairness"].keys()


def test_energy_by_cause_and_by_peer_adds_up(airwatt):
    station = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--json").json["stations"][0]
    causes = dict(station["energy_by_cause_j"])
    flows = causes.pop("flow")
    assert list(flows) == ["0"]
    energy_j = pytest.approx(station["energy_j"], rel=1e-12)
    assert sum(causes.values()) + sum(flows.values()) == energy_j
    assert station["energy_by_peer_j"] == {"none": pytest.approx(sum(causes.values())), "server": flows["0"]}
    assert sum(station["energy_by_peer_j"].values()) == energy_j


def test_state_durations_add_up_to_the_run(airwatt):
    document = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--json").json
    assert sum(document["stations"][0]["state_s"].values()) == pytest.approx(document["simulated_s"], abs=2e-9)


def test_the_same_seed_gives_the_same_bytes_traced_or_not(airwatt, tmp_path):
    def document(*more):
        parsed = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--json", "--seed", "7", *more).json
        del parsed["wall_s"]
        return json.dumps(parsed)

    first = document()
    assert document() == first
    assert document("--trace", tmp_path / "t", "--pcap", tmp_path / "p.pcapng", "--plot", tmp_path / "p.png") == first


def test_runs_use_the_seeds_that_follow_and_report_intervals(airwatt):
    document = airwatt("run", "fast-dsl", *SHORT, "--seed", "5", "--runs", "3", "--json").json
    assert [run["seed"] for run in document["runs"]] == [5, 6, 7]
    energies = [run["stations"][0]["energy_j"] for run in document["runs"]]
    assert document["summary"]["stations.0.energy_j"]["mean"] == pytest.approx(sum(energies) / 3)
    assert document["summary"]["stations.0.energy_j"]["ci95"] > 0


def test_compare_takes_every_policy_that_the_scenario_can_have(airwatt):
    def policies(*arguments):
        answer = airwatt("compare", *arguments, "--policy", "all", "--json")
        return [row["choice"]["policy"] for row in answer.json["rows"]]

    known = [policy["name"] for policy in airwatt("policies", "--json").json["policies"]]
    assert policies("fast-dsl", *SHORT) == known
    again = airwatt("compare", "fast-dsl", *SHORT, "--policy", "psm,all,active", "--json").json["rows"]
    assert [row["choice"]["policy"] for row in again] == ["psm", *(name for name in known if name != "psm")]
    assert "ba-ta" not in policies("fast-dsl", *SHORT, "--set", "ap.uapsd=false")
    assert policies("e2tcp", "--set", "flow.application.size=100kB") == ["active"]
    assert airwatt("compare", "fast-dsl", "--set", "frob=1", "--policy", "all").status == 2


def test_compare_tells_energy_over_the_bound_and_the_time_of_answers(airwatt):
    table = airwatt("compare", "fast-dsl", *SHORT, "--policy", "active,ideal").out
    assert "ideal +" in table
    assert "goodput" in table
    web = ["--set", "flow.application.kind=web", "--set", "flow.application.count=2"]
    table = airwatt("compare", "fast-dsl", *web, "--policy", "active,psm").out
    assert all(head in table for head in ("p50", "p95", "p99"))
    assert "goodput" not in table


def test_compare_puts_a_difference_into_brackets_that_its_runs_leave_open(airwatt):
    rates = ["fast-dsl", *SHORT, "--vary", "wifi.frame_error_rate=0.1,0.102"]
    said = airwatt("compare", *rates, "--policy", "uapsd", "--runs", "3").out
    assert re.search(r" \([+\N{MINUS SIGN}]\d %\) ", said)
    assert said.rstrip().endswith("in brackets: the 95 % interval of the difference, seed by seed, includes zero")
    assert "in brackets" not in airwatt("compare", *rates, "--policy", "uapsd").out, "one run has no interval"
    policies = airwatt("compare", "fast-dsl", *SHORT, "--policy", "active,psm", "--runs", "3").out
    assert re.search(r" \N{MINUS SIGN}\d+ % ", policies)
    assert "in brackets" not in policies


def test_compare_makes_the_product_of_its_choices(airwatt):
    answer = airwatt("compare", "fast-dsl", *SHORT, "--policy", "active,psm", "--vary", "wired.rtt=20ms,40ms", "--json")
    choices = [row["choice"] for row in answer.json["rows"]]
    assert choices == [{"policy": p, "wired.rtt": r} for p in ("active", "psm") for r in ("20ms", "40ms")]
    assert all(row["runs"][0]["stations"][0]["policy"] == row["choice"]["policy"] for row in answer.json["rows"])


def test_fail_if_exits_with_3_and_still_prints(airwatt):
    answer = airwatt("run", "fast-dsl", *SHORT, "--json", "--fail-if", "stations.0.energy_j > 0")
    assert answer.status == 3
    assert answer.json["stations"]
    assert "stations.0.energy_j is" in answer.err
    assert airwatt("run", "fast-dsl", *SHORT, "--fail-if", "stations.0.energy_j < 0").status == 0
    compared = airwatt("compare", "fast-dsl", *SHORT, "--policy", "active,psm", "--fail-if", "stations.0.energy_j>0")
    assert compared.status == 3
    assert "psm: stations.0.energy_j" in compared.err
    rows = ["compare", "fast-dsl", *SHORT, "--policy", "active,psm", "--vary", "wired.rtt=20ms,40ms", "--fail-if"]
    named = airwatt(*rows, "psm, wired.rtt=40ms: stations.0.energy_j > 0")
    assert named.status == 3
    assert [line.partition("': ")[2].split(" is ")[0] for line in named.err.splitlines()] == [
        "psm, wired.rtt=40ms: stations.0.energy_j"
    ]
    # What cannot be held is said before anything runs.
    for text, words in (("uapsd: stations.0.energy_j > 0", "uapsd"), ("stations.0.energi_j > 0", "energy_j")):
        answer = airwatt(*rows, text, "--set", "time_limit=1s")
        assert answer.status == 2
        assert answer.is_one_line("--fail-if", words), answer.err


def test_show_config_is_a_scenario_that_runs_the_same(airwatt, tmp_path):
    shown = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--show-config")
    assert shown.status == 0
    path = tmp_path / "shown.toml"
    path.write_text(shown.out)
    first = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--json").json
    again = airwatt("run", path, "--json").json
    assert {**first, "wall_s": 0} == {**again, "wall_s": 0}


@pytest.mark.parametrize("scenario", ["fast-dsl", "two-hops", "e2tcp"])
def test_the_general_form_is_a_scenario_that_runs_the_same(airwatt, tmp_path, scenario):
    shown = airwatt("run", scenario, "--set", "duration=2100ms", "--show-config", "--expand")
    assert shown.status == 0, shown.err
    assert {"[[node]]", "[[flow]]"} <= set(shown.out.splitlines())
    assert "[wired]" not in shown.out
    path = tmp_path / "general.toml"
    path.write_text(shown.out)
    first = airwatt("run", scenario, "--set", "duration=2100ms", "--json").json
    again = airwatt("run", path, "--json").json
    assert {**first, "wall_s": 0} == {**again, "wall_s": 0}
    assert airwatt("run", path, "--show-config").out == shown.out
    assert airwatt("run", scenario, "--expand").is_one_line("--expand: no effect without --show-config")


def test_traces_of_two_cells_name_them(airwatt, tmp_path):
    import pyarrow.parquet as pq

    files = ["--trace", tmp_path, "--plot", tmp_path / "two.png", "--perfetto", tmp_path / "two.perfetto"]
    answer = airwatt(
        "run", "two-cells", "--set", "duration=2100ms", *files, "--pcap", tmp_path / "two.pcapng", "--json"
    )
    assert answer.status == 0, answer.err
    frames = pq.read_table(tmp_path / "frames.parquet")
    assert set(frames["cell"].to_pylist()) == {"air", "extension"}
    assert {"access point access-point", "access point station0"} <= set(frames["from"].to_pylist())
    document = answer.json
    assert [cell["name"] for cell in document["cells"]] == ["air", "extension"]
    assert [station["name"] for station in document["stations"]] == ["station0", "phone"]
    assert (document["flows"][0]["from"], document["flows"][0]["to"]) == ("server", "phone")
    assert document["cell"].items() >= {key: document["cells"][0][key] for key in ("frames", "collisions")}.items()


def test_traces_are_parquet_with_units_in_their_names(airwatt, tmp_path):
    import pyarrow.parquet as pq

    answer = airwatt("run", "fast-dsl", *SHORT, "--policy", "psm", "--trace", tmp_path / "new" / "folder", "--json")
    assert answer.status == 0
    tables = {path.stem: pq.read_table(path) for path in (tmp_path / "new" / "folder").glob("*.parquet")}
    expected = {"congestion_window", "deliveries", "queues", "radio_states", "triggers", "beacons", "frames"}
    assert expected <= tables.keys()
    for name, table in tables.items():
        # U-APSD at beacons has no adaptations.
        assert (table.num_rows > 0) == (name != "adaptations"), name
        times = table["time_ns"].to_numpy()
        assert (times[1:] >= times[:-1]).all(), name


def test_no_colour_codes_reach_a_pipe(program):
    out, _ = program("run", "fast-dsl", *SHORT).communicate(timeout=60)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_closed_pipe_is_quiet(program):
    process = program("run", "fast-dsl", *SHORT, "--json")
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr.read() == ""


def test_a_closed_pipe_leaves_the_status_of_a_threshold(program):
    process = program("run", "fast-dsl", *SHORT, "--fail-if", "stations.0.energy_j > 0")
    process.stdout.close()
    assert process.wait(timeout=60) == 3
    assert process.stderr.read().startswith("airwatt: --fail-if 'stations.0.energy_j > 0'")
    process = program("--help")
    process.stdout.close()
    assert process.wait(timeout=60) == 0


def test_a_full_disk_is_one_line_and_status_1(program, airwatt, tmp_path):
    with Path("/dev/full").open("w") as full:
        process = program("run", "fast-dsl", *SHORT, "--json", stdout=full)
        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == "airwatt: standard output: No space left on device\n"
    for option, name in (("--plot", "full.png"), ("--pcap", "full.pcapng")):
        path = tmp_path / name
        path.symlink_to("/dev/full")
        answer = airwatt("run", "fast-dsl", *SHORT, option, path)
        assert answer.status == 1
        assert answer.is_one_line(option, "No space left"), answer


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_fills_up_half_way_is_one_line_and_status_1(unbuffered, tmp_path):
    """With PYTHONUNBUFFERED, as images of containers set it, Python takes a half-written text for a whole one."""
    limited = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", PROGRAM, "keys"]
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "keys.txt").open("wb") as out:
        done = subprocess.run(limited, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, "airwatt: standard output: File too large\n")


def test_ctrl_c_ends_with_130_and_keeps_finished_runs(program):
    process = program(
        "compare",
        "fast-dsl",
        "--vary",
        "flow.application.size=1MB,100GB,200GB",
        "--set",
        "time_limit=1000000s",
        "--json",
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "airwatt: interrupted\n"
    document = json.loads(out)
    assert document["interrupted"] is True
    assert [row["choice"]["flow.application.size"] for row in document["rows"]] == ["1MB"]
