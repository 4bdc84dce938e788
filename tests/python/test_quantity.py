"""`airwatt.Quantity`, and scenarios of nested dicts: typed values in and out, without a text in between."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import airwatt
from airwatt import InputError, Quantity, Scenario, _core, models


@pytest.mark.parametrize(
    ("text", "value", "unit", "dimension"),
    [
        ("20ms", 0.02, "s", "time"),
        ("16Mbps", 16e6, "b/s", "rate"),
        ("1KiB", 1024.0, "B", "size"),
        ("390mW", 0.39, "W", "power"),
        ("11.4Wh", 41040.0, "J", "energy"),
        ("63mA", 0.063, "A", "current"),
        ("3.3V", 3.3, "V", "voltage"),
        ("4m", 4.0, "m", "distance"),
    ],
)
def test_a_text_has_its_value_in_si_units(text, value, unit, dimension):
    quantity = Quantity(text)
    assert (quantity.value, quantity.unit, quantity.dimension) == (value, unit, dimension)
    assert Quantity(str(quantity)) == quantity == Quantity.of(value, unit) == text
    assert eval(repr(quantity)) == quantity


@given(st.floats(1e-9, 1e9))
def test_what_is_printed_is_read_back(value):
    quantity = Quantity.of(value, "s")
    assert Quantity(str(quantity)).value == pytest.approx(value, rel=1e-9)


def test_arithmetic_and_comparison():
    packet, rate = Quantity("1500B"), Quantity("1Mbps")
    assert packet / rate == "12ms"
    assert packet / "12ms" == rate
    assert rate * "12ms" == packet
    assert Quantity("250mW") * "12ms" == "3mJ"
    assert Quantity("20ms") + "5ms" == "25ms"
    assert "20ms" - Quantity("5ms") == "15ms"
    assert 2 * Quantity("20ms") == Quantity("20ms") * 2 == Quantity("80ms") / 2
    assert Quantity("20ms") / "5ms" == 4.0
    assert Quantity("20ms") < "30ms" <= Quantity("30ms")
    assert Quantity("20ms") != "20B"
    assert Quantity("20ms") != 0.02
    assert len({Quantity("20ms"), Quantity("0.02s"), Quantity("20B")}) == 2
    assert not Quantity("0s")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Quantity("20"), "as in 20ms"),
        (lambda: Quantity("20parsec"), "20parsec"),
        (lambda: Quantity("20ms", "rate"), "expected a unit of"),
        (lambda: Quantity("20ms", "speed"), "dimension: expected one of time, rate"),
        (lambda: Quantity.of(1.0, "ms"), "unit: expected one of s, b/s"),
        (lambda: Quantity("20ms") + "1B", "expected dimensions that add, got time and size"),
        (lambda: Quantity("20ms") * "1s", "multiply"),
        (lambda: Quantity("20ms") < "1B", "compare"),
        (lambda: models.tcp_energy(rtt_s=Quantity("20MB")), "rtt_s"),
    ],
)
def test_what_has_no_meaning_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_division_by_zero_is_pythons():
    for zero in (0, "0s"):
        with pytest.raises(ZeroDivisionError):
            operator.truediv(Quantity("20ms"), zero)


def test_it_is_accepted_wherever_a_text_is():
    assert models.tcp_energy(rtt_s=Quantity("100ms")).ratio == models.tcp_energy(rtt_s=0.1).ratio
    texts, typed = (
        airwatt.run("fast-dsl", set={"wired.rtt": rtt, "flow.application.size": size}).to_dict()
        for rtt, size in (("40ms", "100kB"), (Quantity("40ms"), Quantity("100kB")))
    )
    assert texts | {"wall_s": 0} == typed | {"wall_s": 0}


# Scenarios.


def test_a_scenario_of_nested_dicts_is_that_of_the_file():
    shipped = Scenario.load("fast-dsl")
    values = shipped.to_dict()
    assert values["wired"]["rtt"] == Quantity("20ms")
    assert isinstance(values["wired"]["down"]["rate"], Quantity)
    assert isinstance(values["name"], str)
    assert isinstance(values["station"][0]["count"], int)
    again = Scenario.of(values)
    assert again.to_toml() == shipped.to_toml()
    assert again.to_dict() == values


@pytest.mark.parametrize("name", [item["name"] for item in airwatt.scenarios()])
def test_every_scenario_that_ships_comes_back_from_its_dict(name):
    shipped = Scenario.load(name)
    assert Scenario.of(shipped.to_dict()).to_toml() == shipped.to_toml()


def test_a_base_and_overrides_are_laid_over_each_other():
    values = {
        "base": "fast-dsl",
        "wired": {"rtt": Quantity("40ms")},
        "flow": [{"direction": "down", "application": {"kind": "bulk", "size": "1MB"}}],
    }
    scenario = Scenario.of(values, [("flow.application.size", "2MB")])
    assert scenario.name == "scenario"
    assert scenario.to_dict()["wired"]["rtt"] == "40ms"
    assert scenario.to_dict()["flow"][0]["application"]["size"] == "2MB"
    assert scenario.replace([("wired.rtt", "50ms")]).to_dict()["wired"]["rtt"] == "50ms"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"base": "fast-dsl", "wired": {"rtt": 20}}, r"mine: wired\.rtt"),
        ({"base": "fast-dsl", "frob": 1}, "mine: .*frob"),
        ({"base": "nowhere"}, "nowhere"),
        ({"base": "fast-dsl", "wired": None}, r"mine\.wired: expected a text"),
        ({"flow": [object()]}, r"mine\.flow\.0: expected a text"),
        (["base"], "mine: expected a mapping"),
    ],
)
def test_a_wrong_value_is_named_by_its_key(values, words):
    with pytest.raises(InputError, match=words):
        Scenario.of(values, name="mine")


def test_a_cycle_is_refused():
    values = {}
    values["wired"] = values
    with pytest.raises(InputError, match="levels"):
        Scenario.of(values)


def test_values_of_overrides_are_written_as_a_file_has_them():
    assert _core.toml_value("20ms") == "20ms"
    assert _core.toml_value(Quantity("0.02s")) == "20ms"
    assert [_core.toml_value(value) for value in (True, 3, 0.5, np.int64(3), np.float64(0.5))] == [
        "true",
        "3",
        "0.5",
        "3",
        "0.5",
    ]
    assert _core.toml_value([{"direction": "up", "size": Quantity("1MB")}]) == '[{ direction = "up", size = "1MB" }]'
