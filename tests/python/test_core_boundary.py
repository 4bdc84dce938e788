"""The boundary between Python and Rust: any argument gets an answer or an exception, never a panic.

The core may be called by programs that check nothing. A panic would reach them as `PanicException`, which is no
`Exception`, and a failed allocation would end the interpreter.
"""

import contextlib

import pytest
from conftest import ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airwatt import _core

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"

# Of Python's own, those that say that an argument has the wrong type or is out of range, or that an object has not the
# attributes that are read; UnicodeError is a ValueError.
REFUSALS = (_core.AirwattError, TypeError, ValueError, OverflowError, AttributeError)

INTEGERS = st.one_of(st.integers(-3, 3), st.sampled_from([2**31, 2**32, 2**63, 2**64 - 1, 2**64, -(2**63), 10**40]))
FLOATS = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1.0, 1e-320, 1e308]))
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["", "\0", "psm", "uapsd:0ms", "ar5004", "192.168.7.2", "20ms", "\ud800", "x" * 10_000, "memory=0B"]
    ),
)
ANYTHING = st.one_of(
    st.none(), st.booleans(), INTEGERS, FLOATS, TEXTS, st.binary(max_size=30), st.lists(INTEGERS, max_size=3)
)

FUNCTIONS = {
    "data_overhead": (INTEGERS, INTEGERS),
    "time_overhead": (INTEGERS, INTEGERS, INTEGERS),
    "energy_overhead": (FLOATS, FLOATS, TEXTS),
    "efficiency": (FLOATS,),
    "energy_efficiency": (FLOATS, FLOATS, TEXTS),
    "e2tcp_decode": (st.binary(max_size=80),),
    "e2tcp_size": (st.binary(max_size=80),),
    "ack_gaps": (FLOATS, FLOATS, INTEGERS, FLOATS),
    "Quantity": (TEXTS, st.none() | TEXTS),
    "toml_value": (ANYTHING,),
    "fairness_index": (st.lists(FLOATS, max_size=4), st.none() | FLOATS, st.none() | FLOATS),
    "model_values": (TEXTS, TEXTS, TEXTS),
    "advise_choose": (st.lists(ANYTHING, max_size=3), FLOATS),
    "advise_scenario": (
        st.just(_core.Scenario.load("fast-dsl", [])),
        FLOATS,
        INTEGERS,
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    "advise_deep_sleep": (FLOATS, FLOATS, FLOATS, FLOATS, st.none() | FLOATS),
    "wake_request": (TEXTS,),
    "advise_added_delays": (
        st.lists(st.lists(st.none() | FLOATS, max_size=3), max_size=3),
        st.lists(st.lists(st.none() | FLOATS, max_size=3), max_size=3),
    ),
}


def refused_or_answered(function, *arguments, **keywords):
    with contextlib.suppress(*REFUSALS):
        function(*arguments, **keywords)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=100, deadline=2000)
@given(data=st.data())
def test_any_argument_is_refused_or_answered(name, data):
    expected = FUNCTIONS[name]
    # Mostly of the right type; sometimes anything.
    arguments = [data.draw(st.one_of(kind, kind, kind, ANYTHING)) for kind in expected]
    refused_or_answered(getattr(_core, name), *arguments)


@settings(max_examples=60, deadline=10_000)
@given(
    stations=st.lists(TEXTS, max_size=2),
    radio=st.none() | TEXTS,
    policies=st.lists(TEXTS, max_size=2),
    seed=INTEGERS,
    limit=st.none() | TEXTS | st.sampled_from(["events=1", "events=1e18", "memory=1B", "events=-1", "memory=1e99B"]),
)
def test_any_question_about_a_capture_is_refused_or_answered(stations, radio, policies, seed, limit):
    refused_or_answered(
        _core.analyze, CAPTURE, stations=stations, radio=radio, policies=policies or ["psm"], seed=seed, limit=limit
    )


@settings(max_examples=60, deadline=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200),
    magic=st.sampled_from([b"", b"\xd4\xc3\xb2\xa1", b"\n\r\r\n", b"\x1f\x8b\x08", b"(\xb5/\xfd"]),
)
def test_any_file_is_refused_or_answered(tmp_path, content, magic):
    path = tmp_path / "capture"
    path.write_bytes(magic + content)
    refused_or_answered(_core.analyze, path, policies=["psm"])


@settings(max_examples=100, deadline=5000)
@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=3), name=st.sampled_from(["fast-dsl", "no-such", "", "\0"]))
def test_any_override_is_refused_or_answered(pairs, name):
    refused_or_answered(_core.Scenario.load, name, pairs)
    scenario = _core.Scenario.load("fast-dsl", [])
    refused_or_answered(scenario.replace, pairs)
    for _, text in pairs:
        refused_or_answered(scenario.shortened, text)
