"""What `airwatt analyze` writes beside its document: time lines, annotated copies, and captures of several files."""

import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

import airwatt as library
from airwatt import laboratory
from airwatt.cli import measured

CAPTURE = "captures/tcp-download.pcapng"
SHORT = ["analyze", CAPTURE, "--policy", "psm"]


@pytest.fixture(scope="module")
def air(tmp_path_factory):
    """The frames of a simulated run, as a monitor would have captured them."""
    path = tmp_path_factory.mktemp("air") / "air.pcapng"
    run = library.run("fast-dsl", policy="psm-legacy", set={"flow.application.size": "100kB"}, trace=True)
    run.write_pcapng(path)
    return path


def test_a_time_line_comes_in_four_forms(airwatt, tmp_path, air):
    picture, perfetto, folder, copy = (tmp_path / name for name in ("x.png", "x.perfetto", "tables", "x.pcapng"))
    answer = airwatt(
        "analyze", air, "--policy", "psm-legacy", "--json",
        "--plot", picture, "--perfetto", perfetto, "--trace", folder, "--pcap", copy,
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert "timeline" not in answer.json
    for path in (picture, perfetto, copy):
        assert path.stat().st_size > 1000
        assert f"wrote {path}\n" in answer.err
    assert b"power save" in perfetto.read_bytes()
    assert b"airwatt: from 02:" in copy.read_bytes()
    import pyarrow.parquet as pq

    names = {path.stem for path in folder.iterdir()}
    assert names == {"modes", "frames", "beacons", "groups", "packets", "radio_states", "findings"}
    modes = pq.read_table(folder / "modes.parquet").to_pylist()
    (station,) = answer.json["air"]["stations"]
    asleep = sum(row["duration_ns"] for row in modes if row["in_power_save"])
    assert asleep / 1e9 == pytest.approx(station["in_power_save_s"])
    states = pq.read_table(folder / "radio_states.parquet").to_pylist()
    slept = sum(row["duration_ns"] for row in states if row["state"] == "sleep")
    assert slept / 1e9 == pytest.approx(answer.json["policies"][0]["state_s"]["sleep"])


def test_wireshark_shows_the_comments(airwatt, tmp_path, air):
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    copy = tmp_path / "copy.pcapng"
    assert airwatt("analyze", air, "--policy", "psm", "--pcap", copy).status == 0
    fields = ["-T", "fields", "-e", "frame.number", "-e", "frame.time_epoch", "-e", "frame.len"]
    shown = [
        subprocess.run(["tshark", "-n", "-r", str(path), *fields], capture_output=True, text=True, check=False).stdout
        for path in (air, copy)
    ]
    assert shown[0] == shown[1] != ""
    comments = [
        "tshark",
        "-n",
        "-r",
        str(copy),
        "-Y",
        "frame.comment contains airwatt",
        "-T",
        "fields",
        "-e",
        "frame.number",
    ]
    found = subprocess.run(comments, capture_output=True, text=True, check=False).stdout
    assert len(found.splitlines()) > 20


def test_what_is_simulated_is_not_called_measured(airwatt, air):
    shown = airwatt.output(["analyze", str(air), "--policy", "psm"])
    head = next(line for line in shown.splitlines() if line.startswith("what policies would have spent"))
    assert "simulated" in head
    assert "measured" not in head
    assert re.search(r"\d+ of \d+ packets used", " ".join(shown.split()))
    assert "of known" in shown


def test_a_folder_and_several_stations(airwatt, tmp_path):
    folder = tmp_path / "rotated"
    folder.mkdir()
    shutil.copy(CAPTURE, folder / "x_00001.pcapng")
    alone, joined = (
        json.loads(airwatt("analyze", path, "--policy", "psm", "--json").out) for path in (CAPTURE, folder)
    )
    assert joined["policies"] == alone["policies"]
    several = airwatt("analyze", CAPTURE, "--policy", "psm", "--station", "all", "--json").json
    assert several["analyses"][0]["station"] == alone["station"]
    assert several["analyses"][0]["policies"] == alone["policies"]
    both = ["--station", "192.168.7.2", "--station", "198.51.100.10", "--policy", "psm"]
    kept = airwatt("analyze", CAPTURE, *both, "--plot", tmp_path / "x.png", "--trace", tmp_path / "traces")
    assert kept.status == 0, kept.err
    for address in ("192.168.7.2", "198.51.100.10"):
        assert (tmp_path / "traces" / address / "radio_states.parquet").exists()
    assert [path.name for path in tmp_path.glob("*.png")] == ["x.png"]
    refused = airwatt("analyze", CAPTURE, *both, "--current", tmp_path / "x.csv")
    assert refused.status == 2
    assert refused.is_one_line("--station", "expected one station")
    assert airwatt("analyze", "-", "--pcap", tmp_path / "x.pcapng").is_one_line("--pcap", "standard input")


def test_an_analysis_that_was_not_traced_says_so(tmp_path):
    analysis = library.analyze(CAPTURE, policies=["psm"])
    with pytest.raises(library.InputError, match="trace=True"):
        analysis.write_perfetto(tmp_path / "x.perfetto")


def _trace_of(run, path, ahead_s, host_a):
    """Writes what a meter would show of a simulated run: 10 samples a millisecond, begun before it, with a host."""
    import numpy as np

    states = run.traces()["radio_states"].to_pylist()
    radio = laboratory.radio("esp32-c3")
    volts = radio["voltage_v"]
    powers = {name: radio[f"{name}_w"] for name in ("receive", "listen", "sleep")}
    powers["transmit"] = radio["transmit_by_rate"][1]["power_w"]
    powers |= {"wake-up": radio["wake_up"]["power_w"], "to-sleep": radio["to_sleep"]["power_w"]}
    step = 1e-4
    ends = np.array([(row["time_ns"] + row["duration_ns"]) / 1e9 for row in states])
    currents = np.array([powers[row["state"]] / volts for row in states])
    times = np.arange(-ahead_s, ends[-1], step)
    index = np.minimum(np.searchsorted(ends, times, side="right"), len(ends) - 1)
    shown = np.where(times < 0, powers["sleep"] / volts, currents[index]) + host_a
    lines = [f"{1e3 * (time + ahead_s):.2f},{1e6 * current:.3f}" for time, current in zip(times, shown, strict=True)]
    path.write_text("Timestamp(ms),Current(uA)\n" + "\n".join(lines) + "\n")
    return float((shown[times >= 0]).sum() * step)


def test_a_measured_current_is_laid_beside_the_prediction(airwatt, tmp_path):
    """The truth is known: the trace is that of a simulated run, and its frames are the capture."""
    run = library.run(
        "fast-dsl",
        policy="psm-legacy",
        set={"flow.application.size": "100kB", "station.radio": "esp32-c3"},
        trace=True,
    )
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    charge_c = _trace_of(run, trace, ahead_s=0.75, host_a=0.002)
    short = ["analyze", capture, "--radio", "esp32-c3", "--current", trace]
    assert airwatt(*short, "--policy", "active,psm-legacy").is_one_line("expected one policy with --current")
    answer = airwatt(*short, "--json")
    assert answer.status == 0, answer.err
    current = answer.json["current"]
    assert current["prediction"] == "as captured"
    # The capture begins with its first frame.
    first = run.traces()["frames"].to_pylist()[0]["time_ns"] / 1e9
    assert current["offset_s"] == pytest.approx(-0.75 - first, abs=0.003)
    assert current["correlation"] > 0.8
    assert current["measured_c"] == pytest.approx(charge_c, rel=0.05)
    assert sum(state["share"] for state in current["states"]) == pytest.approx(1.0)
    shown = " ".join(airwatt.output([str(word) for word in short]).split())
    assert "measured current" in shown
    # 68.15 mA stood with an error of 0.04 mA where 84 were true.
    assert "an error of the place, which samples as long as a state hardly show, is not in it" in shown
    apart = airwatt(*short, "--offset", "5h")
    assert apart.status == 2
    assert apart.is_one_line("overlaps with the capture")
    given = airwatt(*short, "--offset", "-600ms", "--json").json["current"]
    assert (given["offset_s"], given["offset_given"]) == (-0.6, True)
    assert given["correlation"] < current["correlation"]
    noise = tmp_path / "noise.csv"
    noise.write_text("Timestamp(ms),Current(uA)\n" + "".join(f"{i},{(i * 7919) % 997}\n" for i in range(2000)))
    # What the trace says alone is said.
    apart = airwatt(*short[:-1], noise, "--battery", "1000mAh")
    assert apart.status == 0, apart.err
    shown = " ".join(apart.out.split())
    assert re.search(r"measured 49\d\.\d µA .* predicted, as captured", shown), shown
    assert "predicted state" not in shown
    negative = tmp_path / "negative.csv"
    negative.write_text("Timestamp(ms),Current(uA)\n" + "".join(f"{i},-63000\n" for i in range(2000)))
    assert airwatt(*short[:-1], negative).status == 2
    assert airwatt(*short[:-1], negative).is_one_line("above zero", "-63.0000 mA")
    assert airwatt("analyze", CAPTURE, "--offset", "1s").is_one_line("--offset", "--current")
    (tmp_path / "trace.csv").write_text("0,0.1\n")
    assert airwatt("analyze", tmp_path / "trace.csv").is_one_line("--current FILE", "idle --pcap")


def _meter_of(run, path, currents_ma, noise_ma=0.0):
    """Writes what a meter would show of a simulated run: means of a millisecond of the current of each state."""
    import numpy as np

    states = run.traces()["radio_states"].to_pylist()
    ends = np.array([0.0] + [(row["time_ns"] + row["duration_ns"]) / 1e6 for row in states])
    spent = np.cumsum([0.0] + [currents_ma[row["state"]] * row["duration_ns"] / 1e6 for row in states])
    times = np.arange(0.0, ends[-1], 1.0)
    means = 1e3 * np.diff(np.interp(times, ends, spent))
    means += 1e3 * noise_ma * np.random.default_rng(1).standard_normal(len(means))
    lines = [f"{time:.2f},{current:.3f}" for time, current in zip(times[:-1], means, strict=True)]
    path.write_text("Timestamp(ms),Current(uA)\n" + "\n".join(lines) + "\n")


def _reports_each_5_s(tmp_path):
    scenario = tmp_path / "sensor.toml"
    scenario.write_text(
        """
base = "idle"
name = "sensor"
duration = "200s"
[wired]
rtt = "30ms"
down = { rate = "16Mbps" }
up = { rate = "1Mbps" }
[[station]]
radio = "esp32-c3"
power_save = { policy = "timeout", timeout = "50ms" }
[[flow]]
direction = "up"
application = { kind = "periodic", interval = "5s", packet = "60B", reply = "8B" }
"""
    )
    return scenario


def test_a_run_and_its_own_current_give_the_profile_back(airwatt, tmp_path):
    """Frames of a run, and the current of the same run's states: the currents of the profile come back within 3 %."""
    scenario = _reports_each_5_s(tmp_path)
    run = library.run(scenario, trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    known = {"transmit": 285.0, "receive": 84.0, "listen": 84.0, "sleep": 0.14, "wake-up": 24.8}
    _meter_of(run, trace, known)
    current = airwatt("analyze", capture, "--radio", "esp32-c3", "--current", trace, "--json").json["current"]
    assert current["verdict"]["kind"] == "as-predicted"
    assert current["predicted_a"] == pytest.approx(current["mean_a"], rel=0.02)
    states = {state["state"]: state for state in current["states"]}
    assert known.keys() <= states.keys()
    for name, expected_ma in known.items():
        assert states[name]["measured_a"] == pytest.approx(1e-3 * expected_ma, rel=0.03), name
        # Transmission is predicted at the rate that frames went at.
        assert states[name]["predicted_c"] / states[name]["time_s"] == pytest.approx(1e-3 * expected_ma, rel=1e-3)


def test_which_beacons_of_a_listen_interval_are_received_is_not_known(airwatt, tmp_path):
    """A device that takes another one of ten beacons than the prediction has its currents all the same."""
    run = library.run(_reports_each_5_s(tmp_path), set={"station.listen_interval": 10}, trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    _meter_of(run, trace, {"transmit": 285.0, "receive": 84.0, "listen": 84.0, "sleep": 0.14, "wake-up": 24.8})
    asked = ["analyze", capture, "--radio", "esp32-c3", "--current", trace, "--set"]
    current = airwatt(*asked, "station.listen_interval=10", "--json").json["current"]
    assert (current["prediction"], current["beacons_in_sleep"]) == ("as captured", True)
    states = {state["state"]: state for state in current["states"]}
    assert states["listen"]["measured_a"] == pytest.approx(0.084, rel=0.02)
    asleep = states["sleep"]
    assert asleep["measured_a"] == pytest.approx(asleep["predicted_c"] / asleep["time_s"], rel=0.05)
    text = airwatt(*asked, "station.listen_interval=10").out
    assert "within the listen interval the device receives no frame says" in " ".join(text.split())
    known = airwatt(*asked, "station.listen_interval=1", "--json").json["current"]
    assert not known["beacons_in_sleep"]


@pytest.mark.parametrize(
    ("load_ma", "noise_ma"),
    [
        (0.2, 0.03),
        (0.25, 0.03),
        (0.28, 0.03),
        (0.3, 0.03),
        (0.32, 0.03),
        (0.36, 0.03),
        (1.0, 0.1),
        (61.3, 0.3),
        (61.3, 1.0),
    ],
)
def test_a_load_does_not_change_how_long_a_device_sleeps(airwatt, tmp_path, load_ma, noise_ma):
    """Beside 0.32 mA a device slept for 8.7 % of the time, beside 61.3 mA and a noise of 1 mA for 59 %: it is 97 %."""
    run = library.run(_reports_each_5_s(tmp_path), trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    own = {"transmit": 285.0, "receive": 84.0, "listen": 84.0, "sleep": 0.14, "wake-up": 24.8}
    _meter_of(run, trace, {state: own_ma + load_ma for state, own_ma in own.items()}, noise_ma)
    asked = ["analyze", capture, "--radio", "esp32-c3", "--current", trace, "--json"]
    current = airwatt(*asked).json["current"]
    assert current["asleep_share"] == pytest.approx(current["predicted_asleep_share"], abs=0.015)
    assert current["verdict"]["kind"] == "load" or load_ma < 0.3


def test_what_a_load_and_a_host_are_worth_is_said_beside_each_other(airwatt, tmp_path):
    """Of a host awake beside a load of 41.5 mA the answer listed what lets the host sleep, which leaves 43 mA."""
    load_ma, host_ma = 41.5, 20.56
    run = library.run(_reports_each_5_s(tmp_path), trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    own = {"transmit": 285.0, "receive": 84.0, "listen": 84.0, "sleep": host_ma, "wake-up": 24.8}
    _meter_of(run, trace, {state: own_ma + load_ma for state, own_ma in own.items()})
    asked = ["analyze", capture, "--radio", "esp32-c3", "--current", trace, "--battery", "1000mAh"]
    current = airwatt(*asked, "--json").json["current"]
    verdict, mean_ma = current["verdict"], 1e3 * current["mean_a"]
    assert verdict["kind"] == "host-awake"
    assert verdict["on_all_states_a"] == pytest.approx(1e-3 * load_ma, rel=0.02)
    asleep_ma = 1e3 * (verdict["more_a"] - verdict["on_all_states_a"]) * current["predicted_asleep_share"]
    shown = " ".join(airwatt.output(asked).split())
    of_load = r"1000mAh would last: without the (\S+) mA on all states (\S+) mA, (\S+) h"
    found = re.search(of_load + r"; if the host sleeps, too, (\S+) mA, ", shown)
    assert found, shown
    load, left, hours, both = map(float, found.groups())
    assert load == pytest.approx(load_ma, rel=0.02)
    assert left == pytest.approx(mean_ma - load, rel=0.01)
    assert hours == pytest.approx(1000 / left, rel=0.01)
    assert both == pytest.approx(left - asleep_ma, rel=0.05)
    assert both == pytest.approx(1e3 * current["predicted_a"], rel=0.3)


def test_wake_ups_that_are_dearer_are_not_beacons_that_were_missed(airwatt, tmp_path):
    """The verdict named missed beacons, group-addressed frames and missing traffic, and the next line the reason."""
    run = library.run(_reports_each_5_s(tmp_path), trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    _meter_of(run, trace, {"transmit": 285.0, "receive": 84.0, "listen": 84.0, "sleep": 0.14, "wake-up": 100.0})
    asked = ["analyze", capture, "--radio", "esp32-c3", "--current", trace, "--json"]
    text = airwatt(*asked).json["current"]["verdict"]["text"]
    # 1 ms of 75.2 mA more each 102.4 ms.
    assert re.search(r"most of the difference is in its wake-ups for beacons, which take 0\.7\d+ mA more", text), text
    assert "misses" not in text


def test_what_a_wake_up_for_a_beacon_takes_is_said_with_its_days():
    """A host that wakes up dearer than the profile has it showed in the current of sleep alone."""
    beacon = {"count": 585, "every_s": 0.1024, "measured_c": 183e-6, "predicted_c": 133e-6, "more_a": 50e-6 / 0.1024}
    current = {"mean_a": 2e-3, "beacon": beacon, "beacons_in_sleep": False, "verdict": {"kind": "differs"}}
    document = {"current": current, "radio_voltage_v": 3.3}
    (text,) = measured._beacon(document, None)
    # 2.000 mA are 20.8 days of 1000 mAh, and 0.488 mA less 27.6.
    assert text == (
        "each of 585 wake-ups for a beacon, one in 102.4 ms, takes 183.0 µC above the current between them, where "
        "133.0 µC are predicted: 488.3 µA more on the average; with the predicted charge 1000mAh would last 27.6 days "
        "instead of 20.8 days"
    )
    # A beacon's length is known to a tenth, and beside a host that is awake there is less above the current between.
    (close,) = measured._beacon({**document, "current": {**current, "beacon": {**beacon, "measured_c": 140e-6}}}, None)
    assert close.endswith("where 133.0 µC are predicted")
    (replayed,) = measured._beacon({**document, "current": {**current, "beacons_in_sleep": True}}, None)
    assert "with a beacon's length assumed" in replayed
    for predicted_s, ends in ((0.1024, "instead of 20.8 days"), (0.3072, "station.listen_interval=N)")):
        other = {**beacon, "predicted_every_s": predicted_s}
        (named,) = measured._beacon({**document, "current": {**current, "beacon": other}}, None)
        assert named.endswith(ends)
    assert "the device wakes up each 102.4 ms, the prediction each 307.2 ms: another DTIM period" in named
    # The charge of a wake-up is of the time since the last one.
    assert "would last" not in named
    awake = {**current, "verdict": {"kind": "host-awake"}}
    assert not [*measured._beacon({**document, "current": awake}, None)]
    assert not [*measured._beacon({**document, "current": {**current, "beacon": None}}, None)]


def test_group_addressed_frames_and_bands_are_shown(airwatt, tmp_path):
    capture = "../shared/captures/android.pcap"
    from conftest import ROOT

    if not (ROOT / capture).exists():
        pytest.skip(f"{capture} is not there")
    shown = airwatt.output(["analyze", capture, "--policy", "psm"])
    assert "group-addressed frames" in shown
    assert "beacon rate" in shown


def test_policies_that_a_chip_has_no_settings_for_are_named(airwatt):
    asked = ["analyze", CAPTURE, "--radio", "esp32-c3", "--policy"]
    shown = " ".join(airwatt.output([*asked, "active,timeout,psm"]).split())
    assert "of these ESP-IDF has settings for active, timeout; airwatt advise says how" in shown
    assert "has settings for" not in airwatt.output([*asked, "active,timeout"])
    # Radios that are programmed by no kit of a chip have those of Linux.
    assert "has settings for" not in airwatt.output(["analyze", CAPTURE, "--policy", "active,psm,uapsd"])


def test_thresholds_name_policies_and_are_checked_before_the_capture_is_read(airwatt):
    short = ["analyze", CAPTURE, "--policy", "active,psm"]
    held = airwatt(*short, "--fail-if", "psm: energy_j > 3", "--fail-if", "findings.keep-alive.count > 100")
    assert held.status == 0, held.err
    tripped = airwatt(*short, "--fail-if", "active: energy_j > 3")
    assert tripped.status == 3
    assert "active: energy_j is 6.3" in tripped.err
    for expression, word in [("uapsd: energy_j > 3", "there are active; psm"), ("findings.none.count > 0", "none")]:
        refused = airwatt(*short, "--fail-if", expression)
        assert (refused.status, refused.out) == (2, "")
        assert refused.is_one_line("--fail-if", word)


def test_captured_beacons_are_counted_of_those_due(airwatt, air, tmp_path):
    whole = airwatt.output(["analyze", str(air), "--policy", "psm"])
    assert re.search(r"access point +network +beacons +of those due", whole)
    assert "says nothing there" not in whole
    sparse = tmp_path / "sparse.pcapng"
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed")
    keep = "wlan.fc.type_subtype != 8 || frame.time_relative < 0.1"
    subprocess.run(["tshark", "-r", str(air), "-w", str(sparse), "-Y", keep], check=True, capture_output=True)
    assert "says nothing there" in " ".join(airwatt.output(["analyze", str(sparse), "--policy", "psm"]).split())


def test_a_shipped_capture_lacks_tim_bits(airwatt, tmp_path):
    from conftest import ROOT

    shipped, made = ROOT / "captures" / "tim-never-set.pcap", tmp_path / "made.pcap"
    subprocess.run([sys.executable, ROOT / "captures" / "tim_never_set.py", made], check=True)
    assert made.read_bytes() == shipped.read_bytes()
    [finding] = airwatt("analyze", shipped, "--policy", "psm-legacy", "--json").json["findings"]
    assert (finding["kind"], finding["certainty"], finding["count"]) == ("tim-never-set", "found", 3)
    violated = [place for place in finding["occurrences"] if place["verdict"] == "violated"]
    assert [place["packet"] for place in violated] == [9, 10, 11]
    # More Data, the PS-Polls around the beacon that show that the station slept, the Null frames whose numbers say that
    # none was missed between them, the beacon, and the frame that waited.
    assert violated[0]["packets"] == [2, 6, 7, 9, 12, 13, 15]
    # From the first beacon without the bit to the last one before the frame.
    assert finding["delay_s"] == pytest.approx(2 * 0.1024, abs=1e-6)


def test_several_stations_are_one_picture(airwatt, tmp_path):
    air, plot = tmp_path / "air.pcapng", tmp_path / "all.svg"
    cell = ["run", "ten-stations", "--set", "station.count=3", "--set", "duration=2s", "--policy", "psm", "--json"]
    assert airwatt(*cell, "--pcap", air).status == 0
    done = airwatt("analyze", air, "--station", "all", "--policy", "psm", "--plot", plot, "--trace", tmp_path / "t")
    assert done.status == 0, done.err
    assert [path.name for path in tmp_path.glob("*.svg")] == ["all.svg"]
    picture = plot.read_text()
    stations = [f"02:00:00:00:01:{number:02}" for number in (1, 2, 3)]
    assert all(address in picture for address in stations)
    # Access point and router are no stations.
    assert "02:00:00:00:00:01" not in picture
    assert sorted(path.name for path in (tmp_path / "t").iterdir()) == [name.replace(":", "-") for name in stations]
    document = airwatt("analyze", air, "--station", "all", "--policy", "psm", "--plot", plot, "--json").json
    assert all("timeline" not in one for one in document["analyses"])


def test_stations_of_a_wire_are_lanes_of_packets(airwatt, tmp_path):
    plot = tmp_path / "all.svg"
    both = ["--station", "192.168.7.2", "--station", "198.51.100.10"]
    assert airwatt("analyze", CAPTURE, *both, "--policy", "psm", "--plot", plot).status == 0
    assert all(address in plot.read_text() for address in ("192.168.7.2", "198.51.100.10"))


def test_each_finding_has_its_cost_and_its_picture(airwatt, tmp_path):
    from conftest import ROOT

    shipped, pictures = ROOT / "captures" / "tim-never-set.pcap", tmp_path / "pictures"
    answer = airwatt("analyze", shipped, "--policy", "psm", "--plot-findings", pictures)
    [row] = [line for line in answer.out.splitlines() if line.startswith("tim-never-set  ") and "psm-legacy" in line]
    # Under the policy of the station's PS-Polls, whatever is simulated.
    assert row.split() == ["tim-never-set", "3", "psm-legacy", "0", "J", "204.8", "ms"]
    assert max(map(len, answer.out.splitlines())) <= 80
    [picture] = pictures.iterdir()
    assert picture.name == "tim-never-set-02-00-00-00-00-02.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    # A capture without a violated rule has none, and says so.
    none = airwatt("analyze", CAPTURE, "--policy", "psm", "--plot-findings", tmp_path / "none")
    assert (none.status, list((tmp_path / "none").iterdir())) == (0, [])
    assert "no rule of 802.11 was violated" in none.err


@pytest.mark.parametrize("scenario", ["ten-stations", "fast-dsl"])
def test_a_replay_says_what_it_lacks_of_others(airwatt, tmp_path, scenario):
    """Ten stations overhear each other, which a replay of one cannot know, and a station alone lacks nothing."""
    capture = tmp_path / "own.pcapng"
    run = airwatt("run", scenario, "--policy", "psm", "--set", "duration=20s", "--pcap", capture, "--json").json
    asked = airwatt("analyze", capture, "--station", "02:00:00:00:01:01", "--policy", "psm", "--json").json
    notes = [note for note in asked["capture"]["notes"] if "this station alone" in note]
    spent, replayed = run["stations"][0]["energy_j"], asked["policies"][0]["energy_j"]
    if scenario == "fast-dsl":
        assert notes == []
        assert replayed == pytest.approx(spent, rel=0.05)
        return
    [note] = notes
    assert replayed < spent / 2
    assert float(re.search(r"about ([\d.]+) J", note)[1]) == pytest.approx(spent, rel=0.15)


def test_simulated_lanes_stand_in_a_picture_of_frames_only_if_asked_for(tmp_path):
    from conftest import ROOT

    from airwatt.plots import sleepers

    analysis = laboratory.analyze(ROOT / "captures" / "tim-never-set.pcap", policies=["psm"], trace=True)
    document = analysis.to_dict()
    assert sleepers.Sleepers(document, what_if=False).policies == []
    assert sleepers.Sleepers(document).policies == ["psm"]


def test_a_picture_of_frames_has_what_was_found_and_no_simulated_bars(tmp_path):
    from conftest import ROOT
    from matplotlib.figure import Figure

    from airwatt.plots import analyze, style

    document = laboratory.analyze(ROOT / "captures" / "tim-never-set.pcap", policies=["psm"], trace=True).to_dict()
    texts: dict[bool, set[str]] = {}

    def seen(figure: Figure, path: object) -> None:
        texts[what_if] = {text.get_text() for text in figure.findobj(lambda one: hasattr(one, "get_text"))}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", seen)
        for what_if in (False, True):
            analyze.draw(document, tmp_path / "x.png", what_if)
    violated = [one for one in document["findings"] if one["kind"] == "tim-never-set"]
    places = [place["packet"] for place in violated[0]["occurrences"] if place["verdict"] == "violated"]
    assert f"{places[0]} tim-never-set" in texts[False]
    assert "radio state (% of time)" in texts[True] - texts[False]


def test_a_passphrase_decrypts_a_capture(airwatt, tmp_path):
    from conftest import ROOT

    subprocess.run([sys.executable, ROOT / "captures" / "wpa2.py", tmp_path], check=True)
    psm = ["--policy", "psm"]
    for name in ("wpa2-ccmp.pcap", "wpa2-gcmp.pcap"):
        shipped = ROOT / "captures" / name
        assert (tmp_path / name).read_bytes() == shipped.read_bytes()
        by_argument = ["analyze", shipped, "--station", "192.168.7.2", *psm, "--wpa-pwd", "correct horse"]
        document = airwatt(*by_argument, "--json").json
        assert document["bytes"]["udp"] == 8 * 68
        found = document["capture"]["decryption"]
        assert (found["verdict"], found["protected_frames"], found["decrypted_frames"]) == ("partly", 16, 15)
        schema = airwatt("analyze", "--schema").json
        assert found.keys() == schema["$defs"]["DecryptionReport"]["properties"].keys()
        assert "correct horse" not in airwatt.output(by_argument)
        # The capture does not say which station is meant, so that the station is named.
        wrong = airwatt("analyze", shipped, "--station", "02:00:00:00:00:02", *psm, "--wpa-pwd", "wrong horse")
        assert wrong.status == 1
        assert "undecidable: nothing was decrypted: no given passphrase or key fits" in wrong.err
        assert "wrong horse" not in wrong.out + wrong.err
    # An annotated copy is written from the same knowledge, and its frames stay encrypted.
    copy = tmp_path / "copy.pcapng"
    done = airwatt("analyze", shipped, "--station", "192.168.7.2", *psm, "--wpa-pwd", "correct horse", "--pcap", copy)
    assert done.status == 0, done.err
    assert b"correct horse" not in copy.read_bytes()


def test_a_decrypted_capture_lists_each_device_once(airwatt):
    """IP addresses and packets of an A-MSDU are no further stations: the busiest one is as clear as without the key."""
    from conftest import ROOT

    capture = ROOT / "captures" / "wpa2-ccmp.pcap"
    documents = [airwatt("analyze", capture, *key, "--json").json for key in ((), ("--wpa-pwd", "correct horse"))]
    flows = [{flow["protocol"] for flow in document["flows"]} for document in documents]
    assert flows[0] != flows[1]
    for document in documents:
        addresses = [candidate["address"] for candidate in document["candidates"]]
        assert addresses == ["02:00:00:00:00:02", "02:00:00:00:00:03"]
        assert document["station"] == "02:00:00:00:00:02"


def test_a_secret_comes_from_standard_input(airwatt):
    from conftest import ROOT

    shipped = str(ROOT / "captures" / "wpa2-ccmp.pcap")
    command = [sys.executable, "-m", "airwatt", "analyze"]
    asked = ["--station", "192.168.7.2", "--policy", "psm", "--wpa-pwd", "-"]

    def of(capture: str, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, capture, *asked], input=text, capture_output=True, text=True, check=False)

    assert "15 of 16 protected data frames decrypted" in of(shipped, "no such word\ncorrect horse\n").stdout
    for capture, text, problem in (
        (shipped, "", "got none"),
        ("-", "", "standard input for both"),
        (shipped, "x", "8 to 63"),
        (shipped, "a passphrase\n" * 100_000, "at most 1000000 characters"),
    ):
        done = of(capture, text)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert problem in done.stderr


def absent(schema: dict, value: object, kinds: dict, place: str = "") -> Iterator[str]:
    """The keys that a schema requires and a document lacks, as paths."""
    if "$ref" in schema:
        schema = kinds[schema["$ref"].rpartition("/")[2]]
    if value is not None:
        for choice in schema.get("anyOf", ()):
            yield from absent(choice, value, kinds, place)
    if isinstance(value, dict):
        yield from (f"{place}.{key}" for key in schema.get("required", ()) if key not in value)
        for key, part in schema.get("properties", {}).items():
            if key in value and isinstance(part, dict):
                yield from absent(part, value[key], kinds, f"{place}.{key}")
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for part in value:
            yield from absent(schema["items"], part, kinds, f"{place}[]")


def test_checks_for_ci_say_what_was_violated_and_what_was_not_evaluated(airwatt, tmp_path):
    import json
    from xml.etree import ElementTree

    from conftest import ROOT

    shipped, other = ROOT / "captures" / "tim-never-set.pcap", ROOT / "captures" / "tcp-download.pcapng"
    junit, sarif, before = tmp_path / "a.xml", tmp_path / "a.sarif", tmp_path / "before.json"
    psm = ["--policy", "psm"]
    done = airwatt("analyze", shipped, *psm, "--junit", junit, "--sarif", sarif, "--json")
    assert done.status == 0, done.err
    document = done.json
    schema = airwatt("analyze", "--schema").json
    assert document.keys() <= schema["properties"].keys()
    one = {"$ref": "#/$defs/Analysis"}
    assert list(absent(one, document, schema["$defs"])) == []
    # With several stations the document has an analysis of each, and what is of the capture.
    several = airwatt("analyze", shipped, "--station", "all", "--json").json
    assert several.keys() - {"commit"} == {"schema", "version", "capture", "analyses"}
    assert schema["properties"]["analyses"]["items"] == one
    of_one, of_several = (set(choice["required"]) for choice in schema["anyOf"])
    assert of_one == set(schema["$defs"]["Analysis"]["required"])
    assert of_several == several.keys() - {"commit"}
    for analysis in several["analyses"]:
        assert list(absent(one, analysis, schema["$defs"])) == []
    cases = {case.get("name"): [part.tag for part in case] for case in ElementTree.parse(junit).getroot()}
    assert cases["tim-never-set"] == ["failure"]
    assert cases["beacon-late"] == ["skipped"]
    assert cases["dtim-skipped"] == []
    [run] = json.loads(sarif.read_text())["runs"]
    assert [result["properties"]["packet"] for result in run["results"]] == [9, 10, 11]
    before.write_text(json.dumps(document))
    assert airwatt("analyze", shipped, *psm, "--compare", before).status == 0
    [check] = [check for check in document["checks"] if check["kind"] == "tim-never-set"]
    check["violated"] = 2
    before.write_text(json.dumps(document))
    worse = airwatt("analyze", shipped, *psm, "--compare", before)
    assert worse.status == 1
    assert "violated 3 times, 2 before" in worse.err
    for capture, kind, reason in [
        (other, "tim-never-set", "takes a capture of 802.11 frames"),
        (shipped, "uapsd-not-granted", "no occasion"),
    ]:
        done = airwatt("analyze", capture, *psm, "--fail-if", f"findings.{kind}.count > 0")
        assert done.status == 1
        assert reason in done.err
    endless = airwatt("analyze", shipped, "--compare", "/dev/zero")
    assert (endless.status, len(endless.err.splitlines())) == (2, 1)
    wrong = airwatt("analyze", shipped, "--compare", sarif)
    assert wrong.status == 2
    assert "expected a document of analyze --json" in wrong.err


def test_all_policies_are_taken_once(airwatt):
    document = airwatt("analyze", CAPTURE, "--policy", "psm,all", "--json").json
    names = [policy["policy"] for policy in document["policies"]]
    assert names[0] == "psm"
    assert sorted(names) == sorted(policy["name"] for policy in library.policies())


def test_time_beyond_the_capture_is_said_where_it_counts(airwatt, tmp_path):
    short = airwatt("analyze", ROOT / "captures" / "tim-never-set.pcap").out
    assert "note: energies and shares are of 864.4 ms: 250.0 ms after the capture count" in " ".join(short.split())
    assert airwatt("run", "idle", "--set", "duration=60s", "--pcap", tmp_path / "minute.pcapng").status == 0
    minute = airwatt("analyze", tmp_path / "minute.pcapng", "--station", "all")
    assert "policy" in minute.out
    assert "energies and shares are of" not in minute.out


def test_a_capture_without_names_says_the_same(airwatt, tmp_path):
    out = tmp_path / "shared.pcapng"
    answer = airwatt("analyze", CAPTURE, "--anonymize", out)
    assert (answer.status, answer.out) == (0, "")
    both = [
        json.loads(airwatt("analyze", file, "--policy", "psm", "--json").out)["policies"] for file in (CAPTURE, out)
    ]
    keys = ("energy_j", "energy_low_j", "energy_high_j", "average_power_w", "energy_by_cause_j")
    before, after = ([{key: policy[key] for key in keys} for policy in policies] for policies in both)
    assert before == after
    assert b"\xc0\xa8\x07\x02" not in out.read_bytes()
    for option in ("--junit", "--pcap", "--sarif"):
        answer = airwatt("analyze", CAPTURE, option, tmp_path / "x", "--anonymize", out)
        assert (answer.status, answer.err.count("\n")) == (2, 1)
        assert answer.err.startswith(f"airwatt: {option}: ")
        assert not (tmp_path / "x").exists()


def test_of_a_capture_that_cannot_be_read_there_is_no_copy(airwatt, tmp_path):
    whole = (ROOT / "captures" / "tim-never-set.pcap").read_bytes()
    ppi, none = tmp_path / "ppi.pcap", tmp_path / "none.pcap"
    ppi.write_bytes(whole[:20] + (192).to_bytes(4, "little") + whole[24:])
    none.write_bytes(whole[:24])
    for capture, why in ((ppi, "link type 192 is not supported"), (none, "a capture without packets")):
        answer = airwatt("analyze", capture, "--anonymize", tmp_path / "copy.pcapng")
        assert answer.status == airwatt("analyze", capture).status != 0
        assert answer.is_one_line(why)
        assert not (tmp_path / "copy.pcapng").exists()


def test_an_output_replaces_nothing_that_is_read_and_no_other_output(airwatt, tmp_path):
    copy, profile, link = tmp_path / "x.pcapng", tmp_path / "r.toml", tmp_path / "link"
    copy.write_bytes(Path(CAPTURE).read_bytes())
    shutil.copy(ROOT / "radios/esp32-c3.toml", profile)
    link.symlink_to(copy)
    before = [copy.read_bytes(), profile.read_bytes()]
    for option in ("--anonymize", "--pcap", "--perfetto", "--junit", "--sarif"):
        for place in (copy, link, tmp_path / "." / "x.pcapng"):
            answer = airwatt("analyze", copy, option, place)
            assert (answer.status, answer.err.count("\n")) == (2, 1), answer
            assert answer.err.startswith(f"airwatt: {option} ")
        assert airwatt("analyze", copy, "--radio", profile, option, profile).status == 2
    answer = airwatt("analyze", copy, "--pcap", tmp_path / "o", "--perfetto", tmp_path / "o")
    assert (answer.status, "--perfetto writes" in answer.err or "--pcap writes" in answer.err) == (2, True)
    assert [copy.read_bytes(), profile.read_bytes()] == before


def test_a_capture_of_wifi_6_is_replayed_as_it_was_sent(airwatt, tmp_path):
    """The mode, the A-MPDUs and the radio are those of the run, so that energies are as well."""
    capture = tmp_path / "wifi6.pcapng"
    small = ["--set", "flow.application.size=20MB"]
    run = airwatt("run", "wifi6", *small, "--policy", "active", "--pcap", capture, "--json").json
    document = airwatt("analyze", capture, "--policy", "active", "--json").json
    energy_j = run["stations"][0]["energy_j"]
    assert document["radio"] == "halperin-2010"
    assert "802.11ax at HE80 MCS 11 x2 GI 0.8us" in document["phy"]
    # Before the capture's first packet and after its last one the radio listens.
    listen_w = laboratory.radio("halperin-2010").listen_w
    before_s = run["simulated_s"] - document["capture"]["covered_s"]
    measured = document["air"]["stations"][0]["measured"]
    assert measured["energy_high_j"] + before_s * listen_w == pytest.approx(energy_j, rel=0.02)
    after_s = document["pace"]["elapsed_s"] - run["simulated_s"]
    assert document["policies"][0]["energy_j"] - after_s * listen_w == pytest.approx(energy_j, rel=0.02)


def test_a_capture_has_the_radio_that_its_run_had_from_a_file(airwatt, tmp_path):
    """The file is gone when the capture is analysed."""
    shipped = (ROOT / "radios" / "esp32-c3.toml").read_text()
    radio, capture = tmp_path / "board.toml", tmp_path / "run.pcapng"
    radio.write_text(shipped.replace('name = "esp32-c3"', 'name = "my-board"').replace('"84mA"', '"168mA"'))
    common = ["--set", "flow.application.size=2MB", "--radio", radio, "--pcap", capture, "--json"]
    run = airwatt("run", "fast-dsl", *common, "--policy", "psm-legacy").json
    radio.unlink()
    document = airwatt("analyze", capture, "--policy", "psm-legacy", "--json").json
    assert document["radio"] == "my-board"
    assert "radio my-board is the one that the simulator named" in " ".join(document["capture"]["notes"])
    after_j = (document["pace"]["elapsed_s"] - run["simulated_s"]) * laboratory.radio("esp32-c3").sleep_w
    energy_j = run["stations"][0]["energy_j"]
    assert document["policies"][0]["energy_j"] - after_j == pytest.approx(energy_j, rel=0.05)


def test_a_radio_that_is_not_known_is_said(airwatt, tmp_path):
    """Another one was taken, and its energies were those of the capture."""
    capture = tmp_path / "idle.pcapng"
    airwatt("run", "idle", "--set", "duration=2s", "--pcap", capture)
    capture.write_bytes(capture.read_bytes().replace(b"esp32-c3", b"esp99-x9"))
    notes = " ".join(airwatt("analyze", capture, "--policy", "psm", "--json").json["capture"]["notes"])
    assert 'the capture names radio "esp99-x9" for 02:00:00:00:01:01' in notes


def test_a_radio_that_a_key_names_is_that_of_the_option(airwatt, tmp_path):
    """It was read after privileges were given up, and the answer named another radio than the one of its energies."""
    name = tmp_path / "mine.toml"
    name.write_text((ROOT / "radios/siwx917.toml").read_text().replace('"siwx917"', '"mine"'))
    common = ["analyze", CAPTURE, "--policy", "psm", "--json"]
    by_key, by_option = (
        airwatt(*common, *more).json for more in (["--set", f"station.radio={name}"], ["--radio", name])
    )
    assert by_key == by_option
    assert by_key["radio"] == "mine"
    # Options are read before the capture, which takes a file that is there: nothing is said of it.
    refused = airwatt("analyze", tmp_path / "none.pcap", "--set", "station.radio=./none.toml")
    assert refused.status == 2
    assert refused.is_one_line("--set station.radio", "none.toml")


def test_a_picture_of_a_clock_that_was_set_back_has_all_parts(airwatt, tmp_path):
    """The second half of three seconds of packets is 30 s earlier: lanes have states wherever packets are."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 48, 0, 0, 64, 17, 0, bytes([192, 168, 7, 2]), bytes([198, 51, 100, 1]))
    packet = ip + struct.pack(">HHHH", 5_000, 443, 28, 0) + bytes(20)
    times = [100 + 0.1 * place - 30 * (place >= 15) for place in range(30)]
    records = [struct.pack("<IIII", int(at), round(1e6 * (at % 1)), 48, 48) + packet for at in times]
    capture, picture = tmp_path / "back.pcap", tmp_path / "back.svg"
    capture.write_bytes(head + b"".join(records))
    assert airwatt("analyze", capture, "--policy", "psm", "--plot", picture).status == 0
    assert "its clock was set back" in picture.read_text()
    assert airwatt("analyze", CAPTURE, "--policy", "psm", "--plot", picture).status == 0
    assert "its clock was set back" not in picture.read_text()
    # Packets of a second station begin before those of the first one end.
    assert airwatt("run", "two-access-points", "--pcap", tmp_path / "two.pcapng").status == 0
    assert airwatt("analyze", tmp_path / "two.pcapng", "--station", "all", "--plot", picture).status == 0
    assert "its clock was set back" not in picture.read_text()
