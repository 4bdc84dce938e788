"""`measure_from`: every goodput that is shown, compared, swept and exported is measured from then on."""

import pytest

import airwatt
from airwatt import aggregates, laboratory, notebook
from airwatt.reports import tables
from airwatt.sweeps import typeset

# The sender's window grows for some of the time, so that both goodputs differ.
GIVEN = {"duration": "8s", "measure_from": "6s"}
SCENARIO = "fast-dsl"


@pytest.fixture(name="program")
def _program(airwatt):
    return airwatt


def options(given):
    return [word for key, value in given.items() for word in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def run():
    found = laboratory.run(SCENARIO, set=GIVEN)
    flow = found.flows[0]
    assert abs(flow.measured_bps / flow.goodput_bps - 1) > 0.05
    return found


def shown(number):
    from airwatt.tables import quantity

    return quantity(number, "b/s")


def test_tables_obey_it_and_say_so(airwatt, run):
    for command in (("run", SCENARIO), ("compare", SCENARIO, "--vary", "wired.rtt=20ms,60ms")):
        text = airwatt(*command, "--policy", run.stations[0].policy, *options(GIVEN)).out
        assert "goodput from" in text
    assert shown(run.flows[0].measured_bps) in airwatt("run", SCENARIO, *options(GIVEN)).out
    assert shown(run.flows[0].goodput_bps) not in airwatt("run", SCENARIO, *options(GIVEN)).out


def test_a_run_without_it_has_the_goodput_from_its_start(airwatt):
    plain = laboratory.run(SCENARIO, set={"duration": "8s"})
    text = airwatt("run", SCENARIO, "--set", "duration=8s").out
    assert shown(plain.flows[0].goodput_bps) in text
    assert "goodput from" not in text


def test_sweeps_and_their_exports_obey_it(program, tmp_path, run):
    airwatt.sweep(SCENARIO, set=GIVEN, policy=[run.stations[0].policy], store=tmp_path / "store")
    store = airwatt.open_store(tmp_path / "store")
    measured = sum(flow.measured_bps for flow in run.flows)
    assert store.to_pandas().goodput_bps.item() == measured
    assert store.summary(["goodput_bps"])[0][2][0].mean == measured
    assert "goodput from 6 s" in typeset.points(store)[0]
    assert "goodput from" in program("sweep", "status", tmp_path / "store").out


def test_notebooks_and_reports_obey_it(run):
    measured = run.flows[0].measured_bps
    assert shown(measured) in notebook.of_run(run, {})
    assert shown(measured) in notebook.line_of_runs("Result", [run])
    flows = tables.of_runs([("it", run)])[0]
    place = [column.label for column in flows.columns].index("goodput from 6 s")
    assert flows.rows[0][place] == measured
    assert "goodput" not in [column.label for column in flows.columns]


def test_runs_that_are_measured_from_several_times_are_told_apart(run):
    plain = laboratory.run(SCENARIO, set={"duration": "8s"})
    assert aggregates.goodput_head([run, plain]) == "goodput measured"
    assert aggregates.goodput_head([run, run]) == "goodput from 6 s"
    assert aggregates.goodput_head([plain]) == "goodput"
