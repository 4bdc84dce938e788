"""A profile that is fitted on a chip's own averages is the chip: no key of it is left behind, and no answer moves."""

import tomllib

import pytest
from conftest import ROOT

import airwatt as library

CHIPS = {path.stem: tomllib.loads(path.read_text()) for path in sorted((ROOT / "radios").glob("*.toml"))}
SLEEPERS = [name for name, keys in CHIPS.items() if "wake_up" in keys and "voltage" in keys]
"""Chips of which a fit has a wake-up to find, and currents to find it from."""
REPLACED = {"averages.within", "averages.within.dtim1", "assumed.wake_up"}
"""Keys of the chip of which averages that were measured leave nothing."""


def keys_of(table, above=""):
    for key, value in table.items():
        yield f"{above}{key}"
        if isinstance(value, dict):
            yield from keys_of(value, f"{above}{key}.")
        if isinstance(value, list):
            for index, each in enumerate(value):
                yield from keys_of(each, f"{above}{key}.{index}.") if isinstance(each, dict) else ()


def idle(radio, period):
    # A chip that wakes up for DTIM beacons of its own accord does so, and only such a chip.
    keys = {"station.radio": str(radio), "ap.dtim_period": period, "duration": "60s", "policy": "timeout"}
    needs = {} if library.laboratory.radio(str(radio)).wakes_for_dtims else {"station.listen_interval": "dtim"}
    return library.run("idle", set=keys | (needs if period > 1 else {})).stations[0]


def averages_of(chip):
    """Its published averages if it is fitted on them, and otherwise what it predicts."""
    known = CHIPS[chip].get("averages", {})
    if "fitted" in known:
        return {key: value for key, value in known.items() if key.startswith("dtim")}
    return {f"dtim{period}": f"{1e3 * idle(chip, period).average_current_a:.6f}mA" for period in (1, 10)}


@pytest.mark.parametrize("chip", SLEEPERS)
def test_a_chip_that_is_fitted_on_its_own_averages_is_that_chip(airwatt, tmp_path, chip):
    new = tmp_path / "same.toml"
    averages = ",".join(f"{key}={value}" for key, value in averages_of(chip).items())
    made = airwatt("radios", "--of", chip, "--fit-averages", averages, "--new", new)
    assert made.status == 0, made.err
    same = tomllib.loads(new.read_text())
    assert set(keys_of(CHIPS[chip])) - set(keys_of(same)) <= REPLACED
    measured = {"name", "description", "source", "wake_up", "housekeeping", "averages", "assumed", "borrowed"}
    changed = {key for key in CHIPS[chip] if key not in measured and key != "mode" and same[key] != CHIPS[chip][key]}
    assert changed <= {"sleep"}
    # Without published averages to be fitted on it is another device. Others move by half a unit of the last digit.
    for period in (1, 3, 10) if "fitted" in CHIPS[chip].get("averages", {}) else ():
        before, after = idle(chip, period), idle(new, period)
        assert after.average_current_a == pytest.approx(before.average_current_a, rel=5e-3)
        modes = zip(before.profile.modes, after.profile.modes, strict=True)
        assert all(own.average_power_w == pytest.approx(mode.average_power_w, rel=5e-3) for mode, own in modes)


def test_days_of_a_capture_are_those_of_the_chip(airwatt, tmp_path):
    """The beacons that a chip wakes up for were lost: 24 days instead of 66."""
    new, capture = tmp_path / "same.toml", tmp_path / "tenth.pcapng"
    fit = ["radios", "--of", "esp32-c3", "--fit-averages", "dtim1=1.40mA,dtim10=0.31mA", "--new", new]
    assert airwatt(*fit).status == 0
    run = ["run", "idle", "--radio", "esp32-c3", "--set", "duration=60s", "--pcap", capture]
    assert airwatt(*run, "--set", "ap.dtim_period=10").status == 0
    asked = ["analyze", capture, "--policy", "timeout", "--set", "ap.dtim_period=10", "--json", "--radio"]
    chip, own = (
        [one["average_power_w"] for one in airwatt(*asked, radio).json["policies"]] for radio in ("esp32-c3", new)
    )
    assert own == pytest.approx(chip, rel=5e-3)


def test_a_trace_leaves_what_it_does_not_measure(airwatt, tmp_path):
    trace, new = tmp_path / "trace.csv", tmp_path / "board.toml"
    trace.write_text("Timestamp(ms),Current(uA)\n" + "\n".join(f"{ms},240000" for ms in range(1_000)) + "\n")
    assert airwatt("radios", "--of", "esp32-c6", "--fit", trace, "--state", "transmit=0s..1s", "--new", new).status == 0
    board, chip = tomllib.loads(new.read_text()), CHIPS["esp32-c6"]
    assert float(board["transmit"].removesuffix("mA")) == pytest.approx(240)
    assert {key for key in chip if board.get(key) != chip[key]} == {"name", "description", "source", "transmit"}
    # A chip that was measured is found in no band that it has not.
    esp32 = tmp_path / "esp32.toml"
    assert airwatt("radios", "--of", "esp32", "--fit-averages", "dtim1=3.34mA", "--new", esp32).status == 0
    five = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps", "--set", "duration=5s"]
    for radio in (new, esp32):
        assert "has 2.4 GHz alone" in " ".join(airwatt.output(["run", "idle", "--radio", radio, *five]).split())


def test_a_mode_of_the_host_that_was_measured_is_the_profile(airwatt, tmp_path):
    new = tmp_path / "awake.toml"
    fit = ["radios", "--of", "esp32-c3:modem-sleep", "--fit-averages", "dtim1=21.47mA,dtim10=20.67mA", "--new", new]
    made = airwatt(*fit)
    assert made.status == 0, made.err
    (mode,) = library.laboratory.radio(str(new)).modes
    assert (mode.id, mode.name) == ("modem-sleep", "Modem-sleep")
    assert mode.sleep_w / 3.3 == pytest.approx(20.545e-3, rel=1e-3)


def test_what_a_board_takes_more_leaves_no_average_of_the_chip_in_other_modes(airwatt):
    fit = ["radios", "--of", "esp32-c3", "--fit-averages"]
    own, board = (
        tomllib.loads(airwatt.output([*fit, averages]))
        for averages in ("dtim1=1.40mA,dtim10=0.31mA", "dtim1=1.60mA,dtim10=0.51mA")
    )
    assert [("averages" in mode) for mode in own["mode"]] == [False, True, True]
    assert [("averages" in mode) for mode in board["mode"]] == [False, False, False]
    assert [mode.get("sleep", "")[:6] for mode in board["mode"]] == ["", "10.378", "20.756"]


def test_a_board_of_the_user_is_the_radio_of_a_captured_cell(airwatt, tmp_path):
    """The name of its profile is none that ships, and the analysis ended with that as an error."""
    new, own, capture = tmp_path / "board.toml", tmp_path / "own.toml", tmp_path / "idle.pcapng"
    assert (
        airwatt("radios", "--of", "esp32-c3", "--fit-averages", "dtim1=1.40mA,dtim10=0.31mA", "--new", new).status == 0
    )
    own.write_text(new.read_text().replace("esp32-c3-measured", "mine"))
    five = ["--set", "wifi.standard=802.11a", "--set", "wifi.beacon_rate=6Mbps", "--set", "duration=5s"]
    airwatt.output(["run", "idle", "--radio", "esp32-c5-5ghz", *five, "--pcap", capture])
    for radio, notes in ((new, 1), (own, 0)):
        answer = airwatt("analyze", capture, "--radio", radio, "--policy", "psm")
        assert answer.status == 0, answer.err
        # A chip that has 2.4 GHz alone is known by the name that its measured board has.
        assert " ".join(answer.out.split()).count("esp32-c3-measured has 2.4 GHz alone") == notes


def test_a_second_measurement_keeps_the_averages_of_the_first(airwatt, tmp_path):
    """A profiler exports one file a test, and a second one took the averages of the first from the profile."""
    first, second, trace = tmp_path / "first.toml", tmp_path / "second.toml", tmp_path / "trace.csv"
    fit = ["radios", "--of", "esp32-c3", "--fit-averages", "dtim1=1.50mA,dtim10=0.35mA", "--new", first]
    assert airwatt(*fit).status == 0
    trace.write_text("Timestamp(ms),Current(uA)\n" + "".join(f"{ms},90000\n" for ms in range(4_000)))
    assert airwatt("radios", "--of", first, "--fit", trace, "--state", "listen=0s..4s", "--new", second).status == 0
    kept = tomllib.loads(second.read_text())
    assert kept["averages"] == tomllib.loads(first.read_text())["averages"]
    assert float(kept["listen"].removesuffix("mA")) == pytest.approx(90.0, abs=1e-3)
    for period, measured_ma in ((1, 1.50), (10, 0.35)):
        keys = {"station.radio": str(second), "ap.dtim_period": period, "duration": "120s", "policy": "timeout"}
        mean_ma = 1e3 * library.run("idle", set=keys).stations[0].average_current_a
        assert mean_ma == pytest.approx(measured_ma, rel=0.02)
