"""Boards with a load, fitted at one DTIM period: at another one the band has the truth, or the trace tells the load."""

import random
import re
import tomllib

import pytest
from conftest import ROOT

import airwatt as library

CHIP = "esp32-c3"
INTERVAL_S = 0.1024
RUN = 0.006
"""A share by which a run is off what a profile predicts (docs/radios.md)."""
LOADS = {"LED": 0.5, "sensor": 0.08, "regulator": 5.0}
"""In mA."""


def idle_ma(radio, period):
    keys = {"station.radio": str(radio), "ap.dtim_period": period, "duration": "120s", "policy": "timeout"}
    return 1e3 * library.run("idle", set=keys).stations[0].average_current_a


def with_load(folder, load_ma, chip=CHIP):
    """The chip on a board that takes more, asleep as well as awake."""
    text = (ROOT / "radios" / f"{chip}.toml").read_text()
    for key in ("receive", "sleep"):
        found = re.search(rf'^{key} = "([0-9.]+)mA"', text, re.MULTILINE)
        text = text.replace(found[0], f'{key} = "{float(found[1]) + load_ma:.6f}mA"')
    board = folder / f"{chip}-{load_ma}.toml"
    board.write_text(text)
    return board


def trace(path, mean_ma, floor_ma, *, hertz=5_000, seconds=20.0, period=1, host=(0.0, 0.0, 1.0), noise_ma=0.0):
    """An idle device: a floor, wake-ups of 3 ms for beacons, and those of a host: current, time, and interval."""
    chance = random.Random(1)
    every_s, on_s = period * INTERVAL_S, 3e-3
    host_ma, host_s, host_every_s = host
    height_ma = (mean_ma - floor_ma - host_ma * host_s / host_every_s) * every_s / on_s
    # A sample is the mean of its time.
    parts = round(20_000 / hertz)
    lines = ["Timestamp(ms),Current(uA)"]
    for index in range(int(hertz * seconds)):
        current_ma = floor_ma + chance.gauss(0, noise_ma)
        for part in range(parts):
            at_s = (index + (part + 0.5) / parts) / hertz
            current_ma += (height_ma * ((at_s + 0.03) % every_s < on_s)) / parts
            current_ma += (host_ma * ((at_s + 0.4) % host_every_s < host_s)) / parts
        lines.append(f"{1e3 * index / hertz:.4f},{1e3 * current_ma:.3f}")
    path.write_text("\n".join(lines) + "\n")


def fitted(airwatt, folder, *measured, of=CHIP):
    new = folder / "board.toml"
    new.unlink(missing_ok=True)
    made = airwatt("radios", "--of", of, *measured, "--new", new)
    assert made.status == 0, made.err
    return new, " ".join(made.out.split())


def band_ma(radio, period):
    """The current that is predicted, and the ends of its band."""
    keys = {"station.radio": str(radio), "ap.dtim_period": period, "duration": "120s", "policy": "timeout"}
    station = library.run("idle", set=keys).stations[0]
    mean_ma = 1e3 * station.average_current_a
    return mean_ma * (1 - station.profile.band_low), mean_ma, mean_ma * (1 + station.profile.band_high)


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("hertz", [100, 1_000, 5_000])
def test_a_trace_with_one_dtim_period_tells_a_load_from_a_wake_up(airwatt, tmp_path, load, hertz):
    """A load of 0.5 mA was charge of a wake-up: 123 days were promised with DTIM 10, where it is 68."""
    floor_ma = 0.14 + LOADS[load]
    board = with_load(tmp_path, LOADS[load])
    truth = {period: idle_ma(board, period) for period in (1, 3, 10)}
    csv = tmp_path / "trace.csv"
    trace(csv, truth[1], floor_ma, hertz=hertz, noise_ma=0.02)
    new, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s")
    assert "between beacons the trace has" in said
    assert "warning" not in said
    slow = "dtim1: the trace does not show how often the device wakes up, so that this DTIM period was not checked"
    assert (f"{slow}; it takes samples of 2 ms or less, and beacons each 102.4 ms" in said) is (hertz < 500)
    text = airwatt.output(["radios", str(new)])
    assert "one average does not tell" not in " ".join(text.split())
    for period, true_ma in truth.items():
        low_ma, mean_ma, high_ma = band_ma(new, period)
        assert mean_ma == pytest.approx(true_ma, rel=0.05), period
        assert low_ma * (1 - RUN) <= true_ma <= high_ma * (1 + RUN), period


@pytest.mark.parametrize("load", LOADS)
def test_a_load_is_in_the_currents_awake_too(airwatt, tmp_path, load):
    """A radio that never sleeps took 84.0 mA beside a regulator of 5 mA, where the board takes 89.0 mA."""
    board, csv = with_load(tmp_path, LOADS[load]), tmp_path / "trace.csv"
    trace(csv, idle_ma(board, 1), 0.14 + LOADS[load], noise_ma=0.02)
    new, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s")
    assert "a load of the board, which is in every current of this profile that was not measured" in said
    truth, found = (
        library.run("idle", set={"station.radio": str(radio), "duration": "10s", "policy": "active"}).stations[0]
        for radio in (board, new)
    )
    assert found.average_current_a == pytest.approx(truth.average_current_a, rel=1e-3)
    rates = tomllib.loads(new.read_text())["transmit"]
    assert float(rates["54Mbps"].removesuffix("mA")) == pytest.approx(285.0 + LOADS[load], abs=0.05)
    # A current that was measured contains the load, which is not added to it again.
    csv.write_text(
        "Timestamp(ms),Current(uA)\n" + "".join(f"{ms},{640 if ms < 2_000 else 84_500}\n" for ms in range(4_000))
    )
    new, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "sleep=0s..2s", "--state", "receive=2s..4s")
    radio = library.laboratory.radio(str(new))
    assert radio.receive_w / 3.3 == radio.listen_w / 3.3 == pytest.approx(84.5e-3, rel=1e-6)
    assert radio.deep_sleep_w / 3.3 == pytest.approx(505e-6, rel=1e-6)


def test_a_sleep_of_a_host_that_is_awake_is_none(airwatt, tmp_path):
    csv = tmp_path / "awake.csv"
    csv.write_text("Timestamp(ms),Current(uA)\n" + "".join(f"{ms},20700\n" for ms in range(2_000)))
    asked = ["--fit", csv, "--state", "sleep=0s..2s"]
    refused = airwatt("radios", "--of", CHIP, *asked)
    assert refused.status == 2
    assert refused.is_one_line(
        "--state sleep",
        "20.70 mA: the host does not sleep, which takes 20.56 mA in Modem-sleep, or the board has a load",
    )
    assert airwatt("radios", "--of", f"{CHIP}:modem-sleep", *asked).status == 0


@pytest.mark.parametrize(("period", "said"), [(1, 3), (3, 1), (10, 1), (10, 3), (3, 10)])
@pytest.mark.parametrize("hertz", [1_000, 5_000])
def test_wake_ups_of_another_dtim_period_than_was_said_are_named(airwatt, tmp_path, period, said, hertz):
    """Three times the charge of a wake-up was fitted, without a word."""
    csv = tmp_path / "trace.csv"
    host = (24.0, 5e-3, 0.7)
    mean_ma = 0.14 + 2.0 / period + host[0] * host[1] / host[2]
    trace(csv, mean_ma, 0.14, period=period, hertz=hertz, host=host, noise_ma=0.02)
    asked = ["radios", "--of", CHIP, "--fit", csv, "--state"]
    refused = airwatt(*asked, f"dtim{said}=0s..20s")
    assert refused.status == 2
    numbers = [f"{102.4 * each:.1f} ms" for each in (said, period)]
    assert refused.is_one_line(*numbers, f"as with DTIM {period}", f"hint: dtim{period}=0s..20s")
    assert airwatt(*asked, f"dtim{period}=0s..20s").status == 0


def test_a_time_with_wake_ups_is_no_sleep(airwatt, tmp_path):
    """1.94 mA were taken for sleep, 1.80 mA of it a load of the board, without a word."""
    csv = tmp_path / "trace.csv"
    trace(csv, 2.0, 0.14)
    asked = ["radios", "--of", CHIP, "--fit", csv, "--state"]
    refused = airwatt(*asked, "sleep=0s..10s")
    assert refused.status == 2
    assert refused.is_one_line("a time asleep, got a wake-up each 102.4 ms", "hint: dtim1=0s..10s")
    for state in ("listen", "receive", "transmit"):
        assert airwatt(*asked, f"{state}=0s..10s").is_one_line(f"--state {state}", "the device sleeps")
    for longer in ("dtim1=0s..40s", "sleep=0s..25s"):
        assert airwatt(*asked, longer).is_one_line(f"--state {longer}", "ends at 20 s")


def test_lost_beacons_are_no_other_dtim_period(airwatt, tmp_path):
    csv = tmp_path / "trace.csv"
    trace(csv, 2.0, 0.14)
    lines = csv.read_text().splitlines()
    chance = random.Random(2)
    lost = {beacon for beacon in range(200) if chance.random() < 0.3}
    kept = [
        line if int((float(line.split(",")[0]) + 80.0) / 102.4) not in lost else f"{line.split(',')[0]},140"
        for line in lines[1:]
    ]
    csv.write_text("\n".join([lines[0], *kept]) + "\n")
    assert airwatt("radios", "--of", CHIP, "--fit", csv, "--state", "dtim1=0s..20s").status == 0


def test_wake_ups_of_the_host_are_no_part_of_a_beacon(airwatt, tmp_path):
    """An associated ESP32-S3 takes 0.48 mA for wake-ups of its own, which come with any DTIM period."""
    csv = tmp_path / "trace.csv"
    # 24 mA for 10 ms each half a second.
    trace(csv, 2.45, 0.28, host=(24.0, 10e-3, 0.5))
    new, _ = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s", of="esp32-s3")
    assert idle_ma(new, 10) == pytest.approx(0.93, rel=0.05)
    radio = library.laboratory.radio(str(new))
    assert (radio.sleep_w - radio.housekeeping_w) / 3.3 == pytest.approx(0.28e-3, rel=0.02)


@pytest.mark.parametrize("asleep_ma", [0.05, 0.14, 0.2])
@pytest.mark.parametrize("period", [1, 3])
def test_what_an_associated_host_takes_between_beacons_is_kept_beside_a_measured_sleep(
    airwatt, tmp_path, asleep_ma, period
):
    """Sleep as measured without an association took the place of what lies between beacons: 42 % too little."""
    floor_ma, beacons, both = 0.25, tmp_path / "beacons.csv", tmp_path / "both.csv"
    truth = {each: idle_ma(CHIP, each) + floor_ma - 0.14 for each in (1, 3, 10)}
    trace(beacons, truth[period], floor_ma, hertz=2_000, seconds=40.0, period=period, noise_ma=0.02)
    first, *lines = beacons.read_text().splitlines()
    before = [f"{0.5 * index:.4f},{1e3 * asleep_ma:.3f}" for index in range(40_000)]
    after = [f"{float(line.split(',')[0]) + 20_000:.4f},{line.split(',')[1]}" for line in lines]
    both.write_text("\n".join([first, *before, *after]) + "\n")
    states = ["--state", "sleep=0s..19s", "--state", f"dtim{period}=20s..60s"]
    new, said = fitted(airwatt, tmp_path, "--fit", both, *states)
    assert "wake-ups of the host for itself; what the average has beyond that is the wake-up's for a beacon" in said
    for each, true_ma in truth.items():
        low_ma, mean_ma, high_ma = band_ma(new, each)
        assert mean_ma == pytest.approx(true_ma, rel=0.05), each
        assert low_ma * (1 - RUN) <= true_ma <= high_ma * (1 + RUN), each
    radio = library.laboratory.radio(str(new))
    assert (radio.sleep_w - radio.housekeeping_w) / 3.3 == pytest.approx(1e-3 * asleep_ma, rel=0.02)


def test_a_trace_of_a_host_that_is_awake_is_refused_for_that(airwatt, tmp_path):
    """Its wake-ups had less than nothing, for which a setting of the profile was blamed."""
    csv = tmp_path / "trace.csv"
    trace(csv, 21.47, 20.56, hertz=1_000)
    made = airwatt("radios", "--of", CHIP, "--fit", csv, "--state", "dtim1=0s..20s", "--new", tmp_path / "board.toml")
    assert made.status == 2
    assert "the host does not sleep, which takes 20.56 mA in Modem-sleep, or the board has a load" in made.err
    assert len(made.err.splitlines()) == 1


@pytest.mark.parametrize(("load_ma", "on_s", "every_s"), [(8.0, 0.2, 2.0), (8.0, 0.5, 5.0), (20.0, 0.2, 2.0)])
def test_a_load_that_is_switched_is_no_part_of_a_beacon(airwatt, tmp_path, load_ma, on_s, every_s):
    """A light of 8 mA for 0.2 s each 2 s went into the charge of wake-ups: 0.83 mA with DTIM 10, where it is 1.1."""
    csv, mean_ma = tmp_path / "trace.csv", load_ma * on_s / every_s
    trace(csv, idle_ma(CHIP, 1) + mean_ma, 0.14, hertz=1_000, seconds=60.0, host=(load_ma, on_s, every_s))
    new, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..60s")
    assert "between beacons the trace has" in said
    for period in (1, 3, 10):
        true_ma = idle_ma(CHIP, period) + mean_ma
        low_ma, predicted_ma, high_ma = band_ma(new, period)
        assert predicted_ma == pytest.approx(true_ma, rel=0.04), period
        assert low_ma * (1 - RUN) <= true_ma <= high_ma * (1 + RUN), period


@pytest.mark.parametrize("load", LOADS)
def test_without_a_floor_the_band_has_a_load_and_a_wake_up(airwatt, tmp_path, load):
    """Averages alone, and samples too slow for a beacon: the band has both, and a line names what settles it."""
    board = with_load(tmp_path, LOADS[load])
    truth = {period: idle_ma(board, period) for period in (1, 3, 10)}
    csv = tmp_path / "slow.csv"
    trace(csv, truth[1], 0.14 + LOADS[load], hertz=10)
    ways = [["--fit-averages", f"dtim1={truth[1]:.3f}mA"], ["--fit", csv, "--state", "dtim1=0s..20s"]]
    if LOADS[load] > 3:
        # A wake-up of more than sending takes is none.
        for way in ways:
            refused = airwatt("radios", "--of", CHIP, *way)
            assert refused.status == 2
            assert "averages of two DTIM periods tell apart" in refused.err
        return
    for way in ways:
        new, said = fitted(airwatt, tmp_path, *way)
        assert "warning: one average does not tell a load of the board from the charge of a wake-up" in said
        assert "measure dtim10 beside it" in said
        for period, true_ma in truth.items():
            low_ma, mean_ma, high_ma = band_ma(new, period)
            assert low_ma * (1 - RUN) <= true_ma <= high_ma * (1 + RUN), period
        assert high_ma < 1.5 * true_ma
        asked = ["run", "idle", "--radio", new, "--set", "duration=60s", "--battery", "1000mAh"]
        tenth = " ".join(airwatt.output([*asked, "--set", "ap.dtim_period=10"]).split())
        assert "if a load of the board makes the one average that was measured" in tenth
        assert "radios --of NAME --fit-averages dtim10=CURRENT" in tenth
        assert ("are ranges" in tenth) is (true_ma / mean_ma > 1.05)
        first = " ".join(airwatt.output(asked).split())
        assert "are ranges" not in first
        assert "if a load of the board" not in first


def test_a_second_average_settles_it(airwatt, tmp_path):
    board = with_load(tmp_path, 0.5)
    truth = {period: idle_ma(board, period) for period in (1, 3, 10)}
    averages = f"dtim1={truth[1]:.3f}mA,dtim10={truth[10]:.3f}mA"
    new, said = fitted(airwatt, tmp_path, "--fit-averages", averages)
    assert "warning" not in said
    assert f"between wake-ups are more than {CHIP} takes asleep, and count as housekeeping of the host" in said
    low_ma, mean_ma, high_ma = band_ma(new, 3)
    assert low_ma <= truth[3] <= high_ma
    assert mean_ma == pytest.approx(truth[3], rel=0.03)


def test_an_average_of_the_chip_itself_leaves_nothing_open(airwatt, tmp_path):
    for averages in ("dtim1=1.40mA", "dtim1=1.40mA,dtim10=0.31mA"):
        _, said = fitted(airwatt, tmp_path, "--fit-averages", averages)
        assert "warning" not in said
        assert "housekeeping" not in said
        assert "not checked" not in said


def test_what_is_open_stays_open_in_a_copy_of_the_profile(airwatt, tmp_path):
    new, _ = fitted(airwatt, tmp_path, "--fit-averages", "dtim1=1.90mA")
    assert re.search(r'^other_sleep = "0\.6[0-9]*mA"$', new.read_text(), re.MULTILINE)
    assert "other_sleep" in airwatt.output(["radios", "--of", CHIP, "--fit-averages", "dtim1=1.90mA"])
    # With the sleep measured it is settled.
    csv = tmp_path / "sleep.csv"
    csv.write_text("Timestamp(ms),Current(uA)\n" + "\n".join(f"{ms},640" for ms in range(2_000)) + "\n")
    both = ["--fit-averages", "dtim1=1.90mA", "--fit", csv, "--state", "sleep=0s..2s"]
    new, said = fitted(airwatt, tmp_path, *both)
    assert "warning" not in said
    assert "other_sleep" not in new.read_text()


def with_report(csv, at_ms, awake_ms):
    """Puts a time at the current of listening into a trace."""
    first, *lines = csv.read_text().splitlines()
    for index, line in enumerate(lines):
        ms = float(line.partition(",")[0])
        if at_ms <= ms < at_ms + awake_ms:
            lines[index] = f"{ms:.4f},84000.0"
    csv.write_text("\n".join([first, *lines]) + "\n")


@pytest.mark.parametrize("hertz", [500, 1_000, 5_000])
def test_a_report_in_an_idle_average_is_said(airwatt, tmp_path, hertz):
    """One report of 110 ms in a minute made 310 uA at DTIM 10 490 uA, without a word."""
    csv = tmp_path / "trace.csv"
    trace(csv, idle_ma(CHIP, 1), 0.14, hertz=hertz, noise_ma=0.02)
    _, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s")
    assert "warning" not in said
    with_report(csv, 12_340, 110)
    _, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s")
    assert "warning: dtim1: at 12.34 s the device is awake for 11" in said
    # 110 ms at 84 mA of 20 s at 1.4 mA and these.
    assert "that is traffic, and 24" in said
    with_report(csv, 15_000, 60)
    _, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..20s")
    assert "at 12.34 s and in 1 more wake-up the device is awake" in said
    # A time without it has no such line.
    _, said = fitted(airwatt, tmp_path, "--fit", csv, "--state", "dtim1=0s..12s")
    assert "warning" not in said
