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
    # Two numbers with a name each, the same for a run and its flows.
    runs, flows = store.to_pandas(), store.to_pandas("flows")
    assert runs.measured_bps.item() == flows.measured_bps.sum() == measured
    assert runs.goodput_bps.item() == flows.goodput_bps.sum() == sum(flow.goodput_bps for flow in run.flows) != measured
    latex, data = typeset.points(store)
    assert "goodput from 6 s" in latex
    heads, row = (line.split() for line in data.splitlines())
    assert float(row[heads.index("measured_bps")]) == measured
    assert "goodput_bps" not in heads
    assert shown(measured) in program("sweep", "status", tmp_path / "store").out
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


def test_a_store_has_one_goodput_for_runs_with_and_without_it(tmp_path):
    """Their tables show what all of them have."""
    plain = airwatt.sweep(SCENARIO, set={"duration": "8s"}, store=tmp_path / "store")
    assert "measured_bps" not in plain.to_arrow().schema.names
    assert plain.goodput() == ("goodput_bps", "goodput")
    airwatt.sweep(SCENARIO, set=GIVEN, store=tmp_path / "store")
    both = airwatt.open_store(tmp_path / "store")
    assert both.goodput() == ("goodput_bps", "goodput")
    assert len(both.summary(["goodput_bps"])) == 2


def test_a_report_has_each_goodput_under_its_name(run, tmp_path):
    from airwatt.reports import numbers

    metrics = numbers.metrics_of(None, None)
    assert metrics["measured_bps"](run) == run.flows[0].measured_bps
    assert metrics["goodput_bps"](run) is None
    plain = laboratory.run(SCENARIO, set={"duration": "8s"})
    assert metrics["goodput_bps"](plain) == plain.flows[0].goodput_bps
    assert metrics["measured_bps"](plain) is None
    airwatt.sweep(SCENARIO, set=GIVEN, policy=["active", "psm"], store=tmp_path / "store")
    assert "goodput measured" in airwatt.report(tmp_path / "page.html", tmp_path / "store").read_text()
