"""Capacities, lifetimes by hand, and what `run --battery` prints."""

import json
import math

import pytest

from airwatt._core import InputError
from airwatt.battery import Battery, lasting


@pytest.mark.parametrize(
    ("text", "radio_v", "capacity_j"),
    [
        ("1000mAh@3.7V", 3.3, 13_320.0),  # 3,600 C at 3.7 V
        ("1000mAh", 3.3, 11_880.0),
        ("2.6Ah@3V", None, 28_080.0),
        ("3.7Wh", None, 13_320.0),
        ("40kJ", None, 40_000.0),
    ],
)
def test_capacities(text, radio_v, capacity_j):
    assert Battery.parse(text).capacity_j(radio_v) == pytest.approx(capacity_j)


def test_lifetimes_by_hand():
    # 1.4 mA at 3.3 V are 4.62 mW: 11,880 J last 714 h.
    assert Battery.parse("1000mAh").lasts_s(4.62e-3, 3.3) == pytest.approx(1000 / 1.4 * 3600)
    # A tenth stays unused, and 0.6 mA of the host make 2 mA of 1.4 mA.
    battery = Battery.parse("1000mAh,cutoff=10%,load=0.6mA")
    assert battery.lasts_s(4.62e-3, 3.3) == pytest.approx(900 / 2.0 * 3600)
    # Without a load, half of it is gone when (1 - 2 %) to the power of the months is a half.
    months = math.log(0.5) / math.log(0.98)
    idle = Battery.parse("3.7Wh,self-discharge=2%,cutoff=50%").lasts_s(0.0, None)
    assert idle == pytest.approx(months * 365.25 / 12 * 86_400)
    assert Battery.parse("3.7Wh").lasts_s(0.0, None) == math.inf
    # A share of a year is that of twelve months, one after the other.
    yearly = Battery.parse("3.7Wh,self-discharge=2%/year,cutoff=50%").lasts_s(0.0, None)
    assert yearly == pytest.approx(12 * idle)
    assert Battery.parse("3.7Wh,self-discharge=2%/month,cutoff=50%").lasts_s(0.0, None) == pytest.approx(idle)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1000",
        "1000mAh@",
        "1000mAh@3",
        "-1Wh",
        "1Wh,cutoff=1",
        "1Wh,cutoff=100%",
        "1Wh,load=3",
        "1Wh,self-discharge=2%/week",
        "1Wh,self-discharge=2%/",
        "1Wh,load=-1mA",
        "1Wh,load=-1W",
        "1Wh,x=1%",
    ],
)
def test_what_is_no_battery_says_what_one_is(text):
    with pytest.raises(InputError, match=r"1000mAh@3\.7V"):
        Battery.parse(text)


def test_a_charge_needs_a_voltage():
    with pytest.raises(InputError, match="expected a voltage"):
        Battery.parse("1000mAh").lasts_s(1.0, None)


def test_times_are_written_as_people_say_them():
    assert [lasting(hours * 3600.0) for hours in (3, 47, 714, 24 * 900)] == ["3 h", "47 h", "29.8 days", "2.46 years"]


def test_run_says_how_long_a_battery_lasts(airwatt):
    shown = airwatt.output(["run", "idle", "--battery", "1000mAh"])
    assert all(words in shown for words in ("1.40 mA", "33.6 mAh", "29.8 days")), shown
    document = json.loads(airwatt.output(["run", "idle", "--battery", "1000mAh", "--json"]))
    assert document["battery"]["capacity_j"] == pytest.approx(11_880)
    assert document["battery"]["stations"][0]["lasts_s"] == pytest.approx(714 * 3600, rel=0.002)
    assert document["stations"][0]["average_current_a"] == pytest.approx(1.4e-3, rel=0.002)


def test_a_new_profile_is_one_that_can_be_shown(airwatt, tmp_path):
    path = tmp_path / "mine.toml"
    assert airwatt("radios", "--new", path).status == 0
    shown = airwatt.output(["radios", str(path)])
    assert "my-radio" in shown
    assert "assumed, listen: equal to receive" in " ".join(shown.split())
    again = airwatt("radios", "--new", path)
    assert again.status == 2
    assert "expected a new file" in again.err


def test_analyze_has_a_battery_and_thresholds_of_findings(airwatt):
    capture = "captures/tcp-download.pcapng"
    short = ["analyze", capture, "--policy", "psm", "--radio", "esp32-c3"]
    shown = airwatt.output([*short, "--battery", "1000mAh"])
    assert "1000mAh lasts" in shown, shown
    # A check that nothing in the capture can decide did not pass.
    unchecked = airwatt(*short, "--fail-if", "findings.tim-never-set.count > 0")
    assert unchecked.status == 1
    assert "tim-never-set was not evaluated" in unchecked.err
    assert airwatt(*short, "--fail-if", "findings.keep-alive.count > 0").status == 3
    wrong = airwatt(*short, "--fail-if", "findings.frob.count > 0")
    assert wrong.status == 2
    assert "findings.frob.count" in wrong.err
    assert airwatt(*short, "--set", "flow.0.start=1s").status == 2


def test_compare_says_what_each_choice_costs_and_why(airwatt):
    shown = airwatt.output(["compare", "idle", "--policy", "active,psm", "--battery", "1000mAh@3.7V"])
    # 84 mA, 13,320 J at 84 mA x 3.3 V; 1.4 mA, at 4.62 mW.
    assert all(words in shown for words in ("84.00 mA", "13.3 h", "1.40 mA", "33.4 days", "mostly for")), shown
    assert "idle 99" in shown
    assert "goodput" not in shown
    document = airwatt("compare", "idle", "--policy", "active,psm", "--battery", "1000mAh", "--json").json
    active, psm = document["battery"]["rows"]
    assert active["choice"] == {"policy": "active"}
    assert active["average_current_a"] == pytest.approx(84e-3)
    assert psm["lasts_s"] == pytest.approx(3600 * 1000 / 1.4, rel=0.002)


def test_a_host_beside_the_radio_is_a_cause_with_a_share(airwatt):
    shown = airwatt.output(["run", "idle", "--battery", "1000mAh,load=0.6mA"])
    # 1.4 mA and 0.6 mA: 2 mA, of which the host has 30 %, 48 mAh and 14.4 mAh a day.
    assert all(words in shown for words in ("2.00 mA", "48 mAh", "20.8 days")), shown
    host = next(line for line in shown.splitlines() if line.startswith("host and sensors"))
    assert "30.0 %" in host
    assert "14.4 mAh" in host


def test_models_have_charges_of_their_powers_and_energies(airwatt):
    shown = airwatt.output(["model", "tcp-energy", "--radio", "esp32-c3", "--battery", "1000mAh"])
    document = airwatt("model", "tcp-energy", "--radio", "esp32-c3", "--battery", "1000mAh", "--json").json
    energy_j = document["points"][0]["results"]["cam_j"]
    assert document["battery"]["points"][0]["cam_j"]["times"] == pytest.approx(11_880 / energy_j)
    assert f"{energy_j / 3.3 / 3.6:.4g} mAh" in shown
    wrong = airwatt("model", "ack-gap", "--battery", "1000mAh@3.7V")
    assert wrong.status == 2
    assert wrong.is_one_line("expected a model with a power or an energy")
