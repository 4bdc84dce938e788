import copy
import doctest
import importlib
import inspect
import pickle
import threading
from pathlib import Path

import pytest
from conftest import ROOT

import airwatt

SHORT = {"flow.application.size": "1MB"}


@pytest.fixture(scope="module")
def result():
    return airwatt.run("fast-dsl", policy="psm", set=SHORT, trace=True)


def test_the_sentence_of_the_readme(result):
    assert result.stations[0].policy == "psm"
    assert 0 < result.stations[0].energy_j < 100
    assert result.flows[0].goodput_bps > 0
    assert result.flows[0].energy_overhead["always-active"] >= 0
    assert "energy_j" in dir(result.stations[0])


def test_an_unknown_field_says_what_there_is(result):
    with pytest.raises(AttributeError, match="no field 'energy'; there are id, "):
        _ = result.stations[0].energy


def test_json_is_the_document(result):
    assert airwatt.Record(result.to_dict()).json == result.json


def test_data_frames_have_a_row_a_station_and_a_flow(result):
    stations = result.to_arrow()
    assert stations["energy_j"][0].as_py() == result.stations[0].energy_j
    assert stations["state_s.sleep"][0].as_py() > 0
    frame = result.to_pandas("flows")
    assert list(frame["scenario"]) == ["fast-dsl"]
    assert frame["goodput_bps"][0] == result.flows[0].goodput_bps
    with pytest.raises(airwatt.InputError, match="expected stations, flows or runs"):
        result.to_arrow("frob")


def test_traces_are_arrow_tables(result):
    traces = result.traces()
    radio = traces["radio_states"]
    assert radio["time_ns"][0].as_py() >= 0
    assert {"receive", "listen", "sleep"} <= set(radio["state"].to_pylist())
    assert airwatt.run("fast-dsl", set=SHORT).traces() == {}


def test_repeated_runs_summarize():
    runs = airwatt.run("fast-dsl", set=SHORT, runs=3, seed=4)
    assert isinstance(runs, airwatt.Runs)
    assert [one.seed for one in runs.runs] == [4, 5, 6]
    assert runs.summary["flows.0.goodput_bps"].mean > 0
    assert runs.to_arrow("runs").num_rows == 3


def test_compare_gives_rows():
    comparison = airwatt.compare("fast-dsl", policy=["active", "psm"], set=SHORT)
    active, psm = comparison.rows
    assert active.choice.policy == "active"
    assert psm.runs[0].stations[0].policy == "psm"
    frame = comparison.to_pandas()
    assert list(frame["choice.policy"]) == ["active", "psm"]


def test_values_of_python_are_written_as_in_a_file():
    result = airwatt.run("fast-dsl", set={**SHORT, "tcp.delayed_ack": False, "wifi.retry_limit": 4})
    assert result.flows[0].bytes_delivered == 1_000_000


def test_a_scenario_can_be_loaded_once_and_changed():
    scenario = airwatt.Scenario.load("fast-dsl", [("flow.application.size", "1MB")])
    assert scenario.name == "fast-dsl"
    assert "policy" in scenario.to_toml()
    assert airwatt.run(scenario, policy="psm").stations[0].policy == "psm"
    assert airwatt.run(scenario).stations[0].policy == "active"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: airwatt.run("no-such"), "no-such"),
        (lambda: airwatt.run("fast-dsl", policy="frob"), "frob"),
        (lambda: airwatt.run("fast-dsl", seed=-1), "seed"),
        (lambda: airwatt.run("fast-dsl", runs=0), "runs"),
        (lambda: airwatt.compare("fast-dsl"), "compare: expected policies"),
        (lambda: airwatt.compare("fast-dsl", policy="psm"), "expected a list of one or more"),
        (lambda: airwatt.compare("fast-dsl", policy=[]), "expected a list of one or more"),
        (lambda: airwatt.analyze("/no/such.pcap"), "/no/such.pcap"),
    ],
)
def test_wrong_input_is_one_exception(call, words):
    with pytest.raises(airwatt.InputError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_exceptions_are_of_one_family():
    for kind in (airwatt.InputError, airwatt.RunError, airwatt.MissingFeature):
        assert issubclass(kind, airwatt.AirwattError)
    assert issubclass(airwatt.Interrupted, KeyboardInterrupt)


def test_lists():
    assert "fast-dsl" in [item.name for item in airwatt.scenarios()]
    assert {"active", "timeout", "psm-legacy", "psm", "uapsd"} <= {item.name for item in airwatt.policies()}
    assert "newreno" in [item.name for item in airwatt.transports()]
    radios = {radio.name: radio for radio in airwatt.radios()}
    assert radios["broadcom-4311"].transmit_w == 2.0
    assert all(radio.source for radio in radios.values())
    assert airwatt.schema()["properties"]["wired"]


def test_every_listed_choice_runs():
    for policy in airwatt.policies():
        assert airwatt.run("fast-dsl", policy=policy.name, set=SHORT).flows[0].completed_s > 0
    for radio in airwatt.radios():
        assert airwatt.run("fast-dsl", set={**SHORT, "station.radio": radio.name}).stations[0].energy_j > 0


def test_threads_may_run_at_once():
    results = [None] * 4

    def work(index):
        results[index] = airwatt.run("fast-dsl", set=SHORT, seed=index + 1)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.seed for result in results] == [1, 2, 3, 4]
    alone = airwatt.run("fast-dsl", set=SHORT, seed=3)
    assert {**results[2].to_dict(), "wall_s": 0} == {**alone.to_dict(), "wall_s": 0}


def test_records_copy_and_pickle(result):
    station = result.stations[0]
    assert copy.deepcopy(station) == station
    assert pickle.loads(pickle.dumps(station)) == station


def test_results_have_the_types_that_they_declare():
    result = airwatt.run("fast-dsl", set={"flow.application.size": "20kB"})
    (flow,), (station,) = result.flows, result.stations
    assert (type(flow).__name__, type(station.state_s).__name__) == ("FlowResult", "StateSeconds")
    assert flow["goodput_bps"] == flow.goodput_bps > 0
    # Declared, and not in the document of this run.
    assert flow.measured_bps is None
    assert result.realtime is None
    with pytest.raises(AttributeError, match="no field 'frob'; there are id"):
        _ = flow.frob
    rows = airwatt.compare("fast-dsl", policy=["active"], set={"flow.application.size": "20kB"}).rows
    assert rows[0].runs[0].stations[0].energy_j == station.energy_j


FUNCTIONS = [name for name in airwatt.__all__ if inspect.isfunction(getattr(airwatt, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_says_what_it_takes_gives_and_raises(name):
    function = getattr(airwatt, name)
    text = inspect.getdoc(function)
    parameters = inspect.signature(function).parameters
    assert "\nReturns:\n" in text
    for parameter in parameters:
        assert f"\n    {parameter}: " in text, parameter
    assert not parameters or "\nRaises:\n    " in text


def test_the_commands_of_the_laboratory_are_functions():
    commands = {"run", "compare", "sweep", "analyze", "advise", "model", "emulate", "reproduce", "report"}
    assert commands <= set(FUNCTIONS)


@pytest.mark.parametrize("module", ["airwatt.commands", "airwatt.laboratory", "airwatt.models", "airwatt.sweeps.sweep"])
def test_examples_of_docstrings_run(module, monkeypatch):
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(importlib.import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


def test_advice_in_a_notebook():
    found = airwatt.advise("web", 0.05, set={"duration": "2s"}, runs=1, confirm=1)
    assert repr(found).startswith("<Advice web: ")
    assert "within the budget" in found._repr_html_()
    with pytest.raises(airwatt.InputError, match="station sta: expected a capture"):
        airwatt.advise("web", "50ms", station="sta")


def test_a_reproduction_gives_its_claims_and_files(tmp_path):
    done = airwatt.reproduce("hashimoto-2013/tab3.1.analysis", runs=1, out=tmp_path)
    assert {claim.holds for claim in done.results[0].claims} <= {True, False}
    assert all(Path(path).exists() for path in done.results[0].files)
