"""The comparison with ns-3: tables of docs/validation.md agree with the file of results, whose rows come out again."""

import importlib.util
from pathlib import Path

import pytest
from conftest import ROOT

PROGRAM = ROOT / "tests" / "reference" / "ns3" / "compare.py"
INSTALLED = Path("/usr/include/ns3/wifi-module.h").exists()


@pytest.fixture(scope="module")
def compare():
    spec = importlib.util.spec_from_file_location("compare_with_ns3", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept(compare, job, simulator, seed):
    """A row of the file."""
    wanted = (job, simulator, str(seed))
    return next(row for row in compare.kept() if (row["job"], row["simulator"], row["seed"]) == wanted)


def test_the_tables_are_those_of_the_file(compare):
    text = compare.PAGE.read_text()
    assert compare.page(text, compare.kept()) == text, "compare.py --tables writes them anew"


def test_every_job_has_its_runs(compare):
    found = compare.Found(compare.kept())
    for name in compare.JOBS:
        for variant in compare.TWICE:
            assert len(found.values(name, variant, "goodput_mbps")) == compare.SEEDS, (name, variant)


def test_rows_of_airwatt_come_out_again(compare):
    for job in ("download-b1", "download-b2", "n130", "fast-dsl"):
        assert compare.measured(None, job, "airwatt", 1) == kept(compare, job, "airwatt", 1)


def test_goodput_and_energy_agree_with_ns3(compare):
    """With a host delay in ns-3, and its radio's states named as here."""
    found = compare.Found(compare.kept())
    for job in ("download-b1", "download-b2", "n130", "fast-dsl"):
        there, here = (found.mean(job, variant, "goodput_mbps") for variant in ("ns-3, host delay", "airwatt"))
        assert here == pytest.approx(there, rel=0.01), job
    for job in compare.ENERGY:
        # 52 us at 6 Mb/s; the station sends every second CF-End, and receives the others.
        ends_s = 52e-6 * found.mean(job, "ns-3, host delay", "cf_ends") / 2
        ends_j = ends_s * (compare.TRANSMIT_W + compare.RECEIVE_W - 2 * compare.LISTEN_W)
        there_j = compare.as_here(found, job)[-1] - ends_j
        assert found.mean(job, "airwatt", "energy_j") == pytest.approx(there_j, rel=0.005), job


@pytest.mark.long
@pytest.mark.skipif(not INSTALLED, reason="needs ns-3: apt-get install libns3-dev")
def test_rows_of_ns3_come_out_again(compare, tmp_path):
    program = compare.build(tmp_path)
    for variant in ("ns-3", "ns-3, host delay", "ns-3, host delay, CCA"):
        assert compare.measured(program, "n130", variant, 1) == kept(compare, "n130", variant, 1)
