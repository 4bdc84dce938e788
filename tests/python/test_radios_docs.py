"""docs/radios.md: the reasons for its misses. The predictions are checked in crates/sim/tests/runs/radios.rs."""

import pytest
from conftest import ROOT

import airwatt
from airwatt import laboratory

KEEP_ALIVE = """
base = "idle"
name = "keep-alive"
duration = "6000s"
[wired]
rtt = "40ms"
down = { rate = "20Mbps" }
up = { rate = "20Mbps" }
[[flow]]
direction = "up"
transport = "newreno"
application = { kind = "interactive", mean_gap = "30s", packet = "60B" }
"""


def _average_a(scenario, radio, **settings):
    chosen = {"station.radio": str(radio), **{key.replace("__", "."): value for key, value in settings.items()}}
    return airwatt.run(scenario, set=chosen).stations[0].average_current_a


def _profile(tmp_path, name, old, new):
    """A shipped profile with one value changed."""
    text = (ROOT / "radios" / f"{name}.toml").read_text()
    assert old in text
    path = tmp_path / f"{name}.toml"
    path.write_text(text.replace(old, new))
    return path


def test_a_keep_alive_is_not_what_the_siwx917_lacks(tmp_path):
    scenario = tmp_path / "keep-alive.toml"
    scenario.write_text(KEEP_ALIVE)
    idle = _average_a("idle", "siwx917", ap__dtim_period=10)
    kept = _average_a(scenario, "siwx917", ap__dtim_period=10)
    assert (1e3 * idle, 1e3 * kept) == (pytest.approx(0.054, abs=5e-4), pytest.approx(0.056, abs=5e-4))
    charged = _profile(tmp_path, "siwx917", "16.5uC", "25.5uC")
    assert 1e3 * _average_a(scenario, charged, ap__dtim_period=10) == pytest.approx(0.065, abs=5e-4)
    receiving = _profile(tmp_path, "siwx917", 'receive = "22mA"', 'receive = "34mA"')
    assert 1e3 * _average_a(scenario, receiving, ap__dtim_period=10) == pytest.approx(0.065, abs=1e-3)


def test_the_page_says_what_the_profiles_say_of_their_modes():
    page = (ROOT / "docs" / "radios.md").read_text()
    for name in ("esp32", "esp32-c2", "esp32-c3", "esp32-c5", "esp32-c5-5ghz", "esp32-s3"):
        radio = laboratory.radio(name)
        for mode in radio.modes[1:]:
            currents = [1e3 * average.predicted_w / radio.voltage_v for average in mode.averages]
            row = f"| {1e3 * mode.sleep_w / radio.voltage_v:.2f} |"
            assert row in page, (name, mode.id, row)
            assert " / ".join(f"{current:.2f}" for current in currents) in page, (name, mode.id)
