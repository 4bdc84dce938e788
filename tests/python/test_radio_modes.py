"""Modes of the host, borrowed values, and profiles from measurements."""

import re

import pytest
from conftest import ROOT

import airwatt as library

IDLE = ["run", "idle", "--radio", "esp32-c3", "--set", "duration=60s"]


def _words(text):
    return " ".join(text.split())


def test_days_name_the_mode_of_the_host_and_the_others(airwatt):
    shown = _words(airwatt.output([*IDLE, "--battery", "1000mAh"]))
    assert "assumed is that the host is in Auto Light-sleep while the radio dozes" in shown
    assert "DFS + Modem-sleep" in shown
    assert "band of energies, currents and charges: −1.8 to +1.8 %: 1.8 % by which the profile errs" in shown
    modes = library.run("idle", set={"station.radio": "esp32-c3", "duration": "60s"}).stations[0].profile.modes
    assert [mode.id for mode in modes] == ["light-sleep", "dfs", "modem-sleep"]
    # The same run with its radio in that mode draws what the account says.
    for mode in modes:
        own = library.run("idle", set={"station.radio": f"esp32-c3:{mode.id}", "duration": "60s"}).stations[0]
        assert own.average_power_w == pytest.approx(mode.average_power_w, rel=1e-9)
    assert modes[2].average_power_w / 3.3 == pytest.approx(21.37e-3, rel=1e-3)


@pytest.mark.parametrize("radios", ["esp32-c3,siwx917", "siwx917,esp32-c3"])
def test_radios_with_other_modes_or_none_are_compared(airwatt, radios):
    asked = ["compare", "idle", "--vary", f"station.radio={radios}", "--set", "duration=60s"]
    shown = _words(airwatt.output(asked))
    assert "assumed is that the host of esp32-c3 is in Auto Light-sleep while the radio dozes" in shown
    assert "DFS + Modem-sleep" in shown
    # The days of a radio without modes are not headed by a mode of another.
    lasting = _words(airwatt.output([*asked, "--battery", "1000mAh", "--allow-borrowed"]))
    assert "lasts in" not in lasting


def test_a_voltage_of_the_battery_says_what_it_assumes(airwatt):
    asked = ["run", "idle", "--radio", "esp32-c3", "--set", "duration=5s", "--battery"]
    assert "is taken to lose nothing" in _words(airwatt.output([*asked, "1000mAh@3.7V"]))
    for same in ("1000mAh", "1000mAh@3.3V"):
        assert "is taken to lose nothing" not in _words(airwatt.output([*asked, same]))


def test_an_analysis_has_the_charge_of_a_day_by_cause(airwatt):
    asked = ["analyze", "captures/tcp-download.pcapng", "--policy", "psm", "--radio", "esp32-c3"]
    assert "energy, charge a day" in airwatt.output([*asked, "--battery", "1000mAh"])
    assert "energy, charge a day" not in airwatt.output(asked)


def test_borrowed_values_need_to_be_allowed(airwatt):
    idle = ["run", "idle", "--radio", "nrf7002", "--set", "duration=60s", "--battery", "1000mAh"]
    shown = _words(airwatt.output(idle))
    assert "days are ranges, those of the radio's band: up to" in shown
    assert "--allow-borrowed" in shown
    # An order of magnitude, with its ends.
    assert re.search(r"[0-9.]+ to [0-9.]+ days|above [0-9.]+ days", shown)
    assert airwatt(*idle, "--json").json["battery"]["stations"][0]["lasts_s"] is None
    allowed = airwatt(*idle, "--allow-borrowed", "--json").json["battery"]["stations"][0]
    assert allowed["lasts_s"] > 86_400
    assert "days are ranges" not in airwatt.output([*idle, "--allow-borrowed"])


def test_a_model_with_a_borrowed_radio_says_no_days_unless_allowed(airwatt):
    asked = ["model", "tcp-energy", "--battery", "1000mAh", "--radio"]
    shown = " ".join(airwatt.output([*asked, "nrf7002"]).split())
    assert "no days: values of the profile are another chip's" in shown
    assert " times" not in shown
    [point] = airwatt(*asked, "nrf7002", "--json").json["battery"]["points"]
    assert point["cam_j"] == {"times": None}
    assert " times" in airwatt.output([*asked, "nrf7002", "--allow-borrowed"])
    # A chip's own values are no reason to say nothing.
    assert "no days" not in airwatt.output([*asked, "esp32-c3"])


def test_a_profile_of_a_chip_shows_what_sets_its_modes(airwatt):
    shown = _words(airwatt.output(["radios", "esp32-c3"]))
    for text in (
        "Auto Light-sleep (assumed)",
        "CONFIG_FREERTOS_USE_TICKLESS_IDLE=y",
        "light_sleep_enable = true",
        "-1.8 %",
    ):
        assert text in shown
    assert airwatt("run", "idle", "--radio", "esp32-c3:deep").is_one_line("light-sleep, dfs, modem-sleep", "deep")


def test_a_profile_says_how_sure_it_is_and_how_to_make_it_ones_own(airwatt):
    shown = _words(airwatt.output(["radios", "esp32-c6"]))
    assert (
        "band: 2.4 GHz power save as it comes: awake for 50.00 ms after each packet, wakes up for DTIM beacons" in shown
    )
    assert "predicts averages that it is not fitted on within 2.8 % in Auto Light-sleep, 1.0 % in DFS" in shown
    assert "version of ESP-IDF: its source does not say" in shown
    assert "airwatt radios --of esp32-c6 --fit trace.csv --state dtim1=0s..20s" in shown
    other = _words(airwatt.output(["radios", "nrf7002"]))
    assert "no average is known that it is not fitted on" in other
    assert "ESP-IDF" not in other.partition("how sure")[2]
    # Currents of a profile without a voltage cannot be measured ones.
    assert "your own board" not in airwatt.output(["radios", "broadcom-4311"])


def test_averages_make_a_profile(airwatt, tmp_path):
    new = tmp_path / "mine.toml"
    made = airwatt("radios", "--fit-averages", "dtim1=1.40mA,dtim3=0.62mA,dtim10=0.31mA", "--new", new)
    assert made.status == 0, made.err
    assert "predicted" in made.out
    idle = library.run("idle", set={"station.radio": str(new)}).stations[0]
    assert idle.average_current_a == pytest.approx(1.40e-3, rel=2e-3)
    tenth = library.run("idle", set={"station.radio": str(new), "ap.dtim_period": 10}).stations[0]
    assert tenth.average_current_a == pytest.approx(0.31e-3, rel=3e-3)
    # Two averages of a profile that is known give it back.
    text = airwatt.output(["radios", "esp32-s3", "--fit-averages", "dtim1=2.45mA,dtim10=0.93mA"])
    assert 'charge = "86.4' in text
    assert 'current = "0.481' in text
    # A device without traffic is what was measured. Of what another chip takes for traffic days are a range; a board
    # that has the chip says so.
    assert "are those of esp32-c3 and count as borrowed" in _words(made.out)
    assert "are ranges" not in airwatt.output(["run", "idle", "--battery", "1000mAh", "--radio", str(new)])
    days = ["run", "ssh", "--set", "duration=60s", "--battery", "1000mAh", "--radio"]
    assert "days are ranges" in airwatt.output([*days, str(new)])
    own = tmp_path / "own.toml"
    of = airwatt("radios", "--of", "esp32-c3", "--fit-averages", "dtim1=1.40mA,dtim10=0.31mA", "--new", own)
    assert of.status == 0
    assert "borrowed" not in of.out
    shown = _words(airwatt.output([*days, str(own)]))
    assert "days are ranges" not in shown
    assert "band of energies, currents" in shown
    assert "days" in shown
    assert airwatt("radios", "--of", "esp32-c3").is_one_line("--of", "--fit")
    for wrong in ("dtim0=1mA", "dtim1=1", "dtim1", "dtim1=0.001mA"):
        assert airwatt("radios", "--fit-averages", wrong).status == 2
    assert airwatt("radios", "--fit-averages", "dtim1=1mA", "--new", new).is_one_line("--new", "exists")


def test_a_trace_makes_a_profile(airwatt, tmp_path):
    trace, new = tmp_path / "trace.csv", tmp_path / "board.toml"
    currents = [0.5] * 2_000 + [40.0] * 1_000 + [250.0] * 1_000 + [2.0] * 4_000
    rows = "\n".join(f"{ms},{1e3 * current}" for ms, current in enumerate(currents))
    trace.write_text(f"Timestamp(ms),Current(uA)\n{rows}\n")
    states = ["sleep=0s..2s", "receive=2s..3s", "transmit=3s..4s", "dtim1=4s..8s"]
    options = [word for state in states for word in ("--state", state)]
    made = airwatt("radios", "esp32-c3", "--fit", trace, *options, "--new", new)
    assert made.status == 0, made.err
    radio = library.laboratory.radio(str(new))
    for key, current in (("sleep", 0.5), ("receive", 40.0), ("transmit", 250.0)):
        assert radio[f"{key}_w"] / 3.3 == pytest.approx(1e-3 * current, rel=1e-5)
    idle = library.run("idle", set={"station.radio": str(new), "duration": "120s"}).stations[0]
    assert idle.average_current_a == pytest.approx(2.0e-3, rel=5e-3)
    for wrong in (["--state", "sleep=2s..1s"], ["--state", "sleep"], ["--state", "sleep=90s..99s"], []):
        assert airwatt("radios", "--fit", trace, *wrong).status == 2
    assert airwatt("radios", "--state", "sleep=0s..1s").is_one_line("--fit")


def test_a_board_that_listens_cheaply_has_its_average_in_a_run_too(airwatt, tmp_path):
    """What a beacon takes has one law in the fit, in a run, and in the analysis of the run's own capture."""
    trace, new, capture = tmp_path / "trace.csv", tmp_path / "board.toml", tmp_path / "own.pcapng"
    rows = "\n".join(f"{ms},{1e3 * (70.0 if ms < 1_000 else 1.606)}" for ms in range(5_000))
    trace.write_text(f"Timestamp(ms),Current(uA)\n{rows}\n")
    fit = ["--fit", trace, "--state", "listen=0s..1s", "--state", "dtim1=1s..5s"]
    made = airwatt("radios", "esp32-c3", *fit, "--new", new)
    assert made.status == 0, made.err
    # Beside the board's own stand those that its chip's maker published for other modes.
    assert "   average   profile" in made.out.partition("off by")[0]
    asked = ["run", "idle", "--radio", new, "--set", "duration=120s", "--pcap", capture, "--json"]
    assert airwatt(*asked).json["stations"][0]["average_current_a"] == pytest.approx(1.606e-3, rel=4e-3)
    asked = ["analyze", capture, "--radio", new, "--policy", "psm-legacy", "--json"]
    (policy,) = airwatt(*asked).json["policies"]
    assert policy["average_power_w"] / 3.3 == pytest.approx(1.606e-3, rel=1e-2)


def test_averages_are_no_board_in_deep_sleep(airwatt):
    """An associated host that wakes up for other things is not associated in deep sleep."""
    text = airwatt.output(["radios", "--of", "esp32-c3", "--fit-averages", "dtim1=1.6mA,dtim10=0.45mA"])
    assert 'deep_sleep = "5uA"' in text


def test_an_average_of_a_host_that_is_awake_makes_no_profile(airwatt, tmp_path):
    """63 mA are no wake-up of 20.9 W, whether they are typed or measured."""
    trace, new = tmp_path / "trace.csv", tmp_path / "board.toml"
    _flat(trace, 1_000, 3, 63.0)
    for measured in (["--fit-averages", "dtim1=63mA"], ["--fit", trace, "--state", "dtim1=0s..2s"]):
        refused = airwatt("radios", "--of", "esp32-c3", *measured, "--new", new)
        assert refused.status == 2
        assert "no mode of the host takes more than 20.56 mA" in refused.err
        assert len(refused.err.strip().splitlines()) == 1
        assert not new.exists()
    host = airwatt("radios", "--of", "esp32-c3", "--fit-averages", "dtim1=21.5mA")
    assert host.status == 2
    assert "the host does not sleep" in host.err


def test_a_measured_average_narrows_the_band_of_what_was_measured(airwatt, tmp_path):
    new = tmp_path / "nrf.toml"
    averages = "dtim1=0.900mA,dtim3=0.400mA"
    assert airwatt("radios", "--of", "nrf7002", "--fit-averages", averages, "--new", new).status == 0
    for period, current_a in ((1, 0.9e-3), (3, 0.4e-3)):
        asked = ["run", "idle", "--radio", new, "--set", f"ap.dtim_period={period}", "--battery", "1000mAh"]
        text = _words(airwatt.output([*asked, "--set", "duration=60s", "--set", "station.listen_interval=dtim"]))
        assert "days are ranges" not in text
        assert "too little of the chip is published" not in text
        # The profile errs elsewhere, by how much a third average would tell.
        assert "the average with DTIM 10, measured beside those of the profile" in text
        low, high = re.search(r"band of energies, currents and charges: .([0-9.]+) to \+([0-9.]+) %", text).groups()
        assert float(low) < 3
        assert float(high) < 3
        run = library.run("idle", set={"station.radio": str(new), "ap.dtim_period": period, "duration": "10min"})
        assert run.stations[0].average_current_a == pytest.approx(current_a, rel=0.02)


def test_a_measured_average_is_known_no_better_than_its_digits(airwatt, tmp_path):
    """1.5 mA stood with a band of 0.3 %."""
    bands = {}
    for digits in ("1.5mA", "1.500mA"):
        new = tmp_path / f"{digits}.toml"
        assert airwatt("radios", "--of", "nrf7002", "--fit-averages", f"dtim1={digits}", "--new", new).status == 0
        assert f'dtim1 = "{digits}"' in new.read_text()
        shown = _words(airwatt.output(["run", "idle", "--radio", new, "--set", "duration=60s"]))
        bands[digits] = [float(one) for one in re.search(r"charges: .([0-9.]+) to \+([0-9.]+) %", shown).groups()]
        assert ("that the last digit of the averages it is fitted on leaves open" in shown) is (digits == "1.5mA")
    assert min(bands["1.5mA"]) >= 3.3
    assert max(bands["1.500mA"]) < 1


def test_a_deep_sleep_that_nobody_measured_is_no_source(airwatt, tmp_path):
    trace, new = tmp_path / "trace.csv", tmp_path / "board.toml"
    _flat(trace, 1_000, 3, 0.2)
    fit = ["radios", "--of", "esp32-c3", "--fit", trace, "--state", "sleep=0s..2s", "--new", new]
    assert airwatt(*fit).status == 0
    shown = airwatt.output(["radios", str(new)])
    (row,) = (line for line in shown.splitlines() if line.startswith("deep sleep"))
    assert row.split()[-1] == "assumed"
    assert "assumed, deep_sleep: 5.000 uA of the chip, and 60.000 uA that the board takes above" in _words(shown)


def _flat(path, hertz, seconds, current_ma):
    rows = "\n".join(f"{1e3 * n / hertz:.2f},{1e3 * current_ma}" for n in range(hertz * seconds))
    path.write_text(f"Timestamp(ms),Current(uA)\n{rows}\n")


@pytest.mark.parametrize("hertz", [1_000, 100_000])
def test_sixty_three_milliamperes_are_sixty_three_in_every_state(airwatt, tmp_path, hertz):
    run = library.run("office", set={"station.radio": "esp32-c3", "duration": "4s"}, trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    _flat(trace, hertz, 3, 63.0)
    short = ["analyze", capture, "--radio", "esp32-c3", "--current", trace, "--battery", "1000mAh"]
    given = airwatt(*short, "--offset", "0s", "--json")
    assert given.status == 0, given.err
    states = given.json["current"]["states"]
    assert {state["state"] for state in states} >= {"receive", "sleep", "wake-up"}
    measured = {state["state"]: state["measured_a"] for state in states if state["measured_a"] is not None}
    assert {"receive", "sleep", "wake-up"} <= set(measured)
    assert all(current_a == pytest.approx(63e-3, rel=1e-5) for current_a in measured.values())
    # Only of states that lasted less than 1 ms nothing is determined.
    assert all(state["time_s"] < 1e-3 for state in states if state["measured_a"] is None)
    # Without an offset it is an answer, with days and a verdict.
    answer = airwatt(*short)
    assert answer.status == 0, answer.err
    shown = _words(answer.out)
    assert "63.00 mA on the average" in shown
    assert re.search(r"measured 63.00 mA 0.0 % 1512 mAh 15.9 h", shown), shown
    # What sets the mode of the host that the prediction has is there.
    assert "Auto Light-sleep needs all of this: CONFIG_PM_ENABLE=y" in shown
    assert (
        "awake: the radio is awake, or the board has a load, since no mode of the host takes more than 20.6 mA: "
        "the current is 63.0 mA throughout"
    ) in shown
    assert "measure once with Wi-Fi off: what stays is not the radio's" in shown
    assert airwatt(*short, "--json").json["current"]["battery_lasts_s"] == pytest.approx(1000 / 63 * 3600)
    picture = tmp_path / "current.png"
    assert airwatt(*short, "--offset", "0s", "--plot", picture).status == 0
    assert picture.stat().st_size > 10_000


def test_a_picture_says_that_it_has_no_place_for_a_constant_current(airwatt, tmp_path):
    run = library.run("office", set={"station.radio": "esp32-c3", "duration": "4s"}, trace=True)
    capture, trace = tmp_path / "run.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    _flat(trace, 1_000, 3, 63.0)
    drawn = airwatt("analyze", capture, "--radio", "esp32-c3", "--current", trace, "--plot", tmp_path / "p.png")
    assert drawn.status == 0
    assert "without the measured current" in drawn.err


def test_what_is_asked_of_no_clear_station_is_not_ignored(airwatt, tmp_path):
    """Two stations with about the same bytes: candidates are listed, and the exit status says that nothing was done."""
    run = library.run(
        "fast-dsl", set={"station.0.count": 2, "flow.application.size": "50kB", "station.radio": "esp32-c3"}, trace=True
    )
    capture, trace = tmp_path / "two.pcapng", tmp_path / "trace.csv"
    run.write_pcapng(capture)
    _flat(trace, 1_000, 1, 63.0)
    listed = airwatt("analyze", capture)
    assert listed.status == 0, listed.err
    assert "choose one with --station" in listed.out
    for asked in (["--current", trace], ["--policy", "psm"]):
        refused = airwatt("analyze", capture, *asked)
        assert refused.status == 1
        assert f"expected --station ADDR, for {asked[0]}" in refused.err
        assert "choose one with --station" in refused.out
        assert "what the stations did" not in refused.out
        document = airwatt("analyze", capture, *asked, "--json")
        assert (document.status, document.json["station"]) == (1, None)
        assert {each["kind"] for each in document.json["candidates"]} == {"mac"}
    alone = airwatt.output(["analyze", "captures/tcp-download.pcapng", "--policy", "psm"])
    assert "of the bytes; --station names another" in alone


def test_a_cell_in_another_band_than_the_radio_is_noted(airwatt, tmp_path):
    five = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps"]
    text = " ".join(airwatt.output(["run", "idle", "--radio", "esp32-c5", *five]).split())
    assert (
        "the cell is at 5 GHz, and the figures of esp32-c5 are those at 2.4 GHz; esp32-c5-5ghz has those of 5 GHz"
        in text
    )
    # The note comes before the numbers.
    wrong = airwatt.output(["run", "idle", "--set", "duration=5s", "--radio", "esp32-c5-5ghz"])
    assert wrong.startswith("note: the cell is at 2.4 GHz")
    # Once for a table of several radios or points, wherever they have days.
    alone = "esp32-c3 has 2.4 GHz alone, so that it cannot join: figures are of no real device"
    base = ["idle", "--set", "duration=5s", *five]
    compared = " ".join(airwatt.output(["compare", *base, "--radio", "esp32-c3,esp32-c5"]).split())
    assert compared.startswith(f"note: the cell is at 5 GHz, and {alone}; the figures of esp32-c5 are those at 2.4 GHz")
    policies = ["--policy", "psm,timeout"]
    swept = ["sweep", *base, "--set", "station.radio=esp32-c3", *policies, "--store", tmp_path / "s"]
    cells = ["compare", "idle", "--radio", "esp32-c3", "--vary", "wifi.standard=802.11g,802.11a", *policies]
    asked = (["compare", *base, "--radio", "esp32-c3", *policies], swept, [*cells, *five[2:], "--set", "duration=5s"])
    for command in asked:
        shown = " ".join(airwatt.output(command).split())
        assert shown.count(alone) == shown.count("note:") == 1
    for radio, cell in (("esp32-c5-5ghz", five), ("esp32-c5", []), ("nrf7002", five)):
        assert "the cell is at" not in airwatt.output(["run", "idle", "--radio", radio, *cell])


def test_a_run_names_the_timeout_of_the_chip_and_its_capture_the_file(airwatt, tmp_path):
    board, capture = tmp_path / "board.toml", tmp_path / "board.pcapng"
    board.write_text((ROOT / "radios" / "esp32-c3.toml").read_text().replace('"esp32-c3"', '"my-board"', 1))
    asked = ["run", "idle", "--set", "duration=5s", "--radio", board]
    text = " ".join(airwatt.output([*asked, "--policy", "timeout", "--pcap", capture]).split())
    assert "policy timeout is that of my-board as it comes, 50.00 ms" in text
    assert "--radio" not in text
    assert airwatt("analyze", capture, "--policy", "psm", "--json").json["radio"] == "my-board"
    for other in (["--policy", "timeout:timeout=100ms"], ["--policy", "psm"]):
        assert "note:" not in airwatt.output([*asked, *other])
    for shipped in ("esp32-c3", "esp32-c3:dfs"):
        asked = ["run", "idle", "--set", "duration=5s", "--radio", shipped, "--policy", "psm", "--pcap", capture]
        assert "note:" not in airwatt.output(asked)


def test_borrowed_values_have_a_band_without_a_battery(airwatt):
    for asked in (
        ["run", "idle", "--radio", "nrf7002"],
        ["compare", "idle", "--radio", "cc3130,nrf7002", "--policy", "psm"],
    ):
        text = " ".join(airwatt.output(asked).split())
        assert "band of energ" in text, asked
        assert "too little of the chip is published for more than an order of magnitude" in text, asked


def test_each_chip_of_a_comparison_has_its_band_and_its_host(airwatt):
    """One band of up to 57 % stood for all chips, and nothing said which of them had a host in the figures."""
    radios = ["esp32-c3", "esp32-c5", "nrf7002", "cc3130"]
    asked = ["compare", "idle", "--radio", ",".join(radios), "--set", "duration=60s", "--battery", "1000mAh"]
    text = airwatt.output(asked)
    assert max(map(len, text.splitlines())) <= 80
    for radio in radios:
        alone = airwatt.output(["run", "idle", "--radio", radio, "--set", "duration=60s"])
        band = re.search(r"band of energies, currents and charges: (.[0-9.]+ to \+[0-9.]+ %)", alone).group(1)
        row = next(line for line in text.splitlines() if line.startswith(radio) and line.endswith(band))
        assert ("not included" in row) == (radio in {"nrf7002", "cc3130"}), row
    words = _words(text)
    assert "the widest band is that of radio nrf7002" in words
    assert "days of nrf7002, cc3130 are those of the radio alone" in words
    assert "assumed is that the host of esp32-c3, esp32-c5 is in Auto Light-sleep" in words
    assert "days of nrf7002 are ranges" in words


def test_a_chips_own_power_save_wakes_up_for_dtim_beacons(airwatt, tmp_path):
    """In a run and in the analysis of its capture: a third of the beacons where the DTIM period is 3."""
    capture = tmp_path / "dtim3.pcapng"
    cell = ["--set", "station.radio=esp32-c3", "--set", "ap.dtim_period=3", "--set", "duration=60s"]
    run = airwatt("run", "idle", "--policy", "timeout", *cell, "--pcap", capture, "--json").json
    wakeups = run["stations"][0]["wakeups"]
    assert abs(wakeups - 60 / 0.3072) < 3
    replay = ["analyze", capture, "--policy", "timeout", "--json"]
    (policy,) = airwatt(*replay).json["policies"]
    assert abs(sum(policy["wakeups"].values()) / wakeups - 1) < 0.05
    (every,) = airwatt(*replay, "--set", "station.listen_interval=1").json["policies"]
    assert abs(sum(every["wakeups"].values()) / wakeups / 3 - 1) < 0.05


def test_policies_of_one_chip_wake_up_for_the_same_beacons(airwatt, tmp_path):
    """And a DTIM period that is set has its effect, whether group-addressed frames were captured or not."""
    capture = tmp_path / "dtim3.pcapng"
    cell = ["--set", "station.radio=esp32-c3", "--set", "ap.dtim_period=3", "--set", "duration=60s"]
    assert airwatt("run", "idle", "--policy", "timeout", *cell, "--pcap", capture).status == 0
    replay = ["analyze", capture, "--policy", "timeout,psm,psm-legacy", "--json"]
    counts = [sum(policy["wakeups"].values()) for policy in airwatt(*replay).json["policies"]]
    assert max(counts) < 1.05 * min(counts)
    wired = ["analyze", "captures/tcp-download.pcapng", "--radio", "esp32-c3", "--policy", "timeout,psm", "--json"]
    first = [policy["energy_j"] for policy in airwatt(*wired).json["policies"]]
    third = [policy["energy_j"] for policy in airwatt(*wired, "--set", "ap.dtim_period=3").json["policies"]]
    assert all(one > other for one, other in zip(first, third, strict=True))
    assert airwatt(*wired, "--radio", "broadcom-4311", "--set", "ap.dtim_period=3").status == 0


def test_a_chip_that_comes_with_power_save_off_is_not_compared_in_silence(airwatt):
    """A siwx917 came out best by a timeout of Linux, where its kit does not sleep until it is told to."""
    note = "policy timeout is not that of siwx917 as it comes: WiSeConnect has power save off until it is set"
    short = ["--set", "duration=10s"]
    chips = "station.radio=esp32-c3,siwx917"
    for asked in (
        ["run", "sensor", "--radio", "siwx917", *short],
        ["compare", "sensor", "--vary", chips, *short],
        ["analyze", "captures/tcp-download.pcapng", "--radio", "siwx917", "--policy", "active,timeout"],
    ):
        assert " ".join(airwatt.output(asked).split()).count(note) == 1, asked
    assert "power save as it comes: off, until WiSeConnect is told otherwise" in airwatt.output(["radios", "siwx917"])
    assert note not in " ".join(
        airwatt.output(["run", "sensor", "--radio", "siwx917", "--policy", "psm", *short]).split()
    )
