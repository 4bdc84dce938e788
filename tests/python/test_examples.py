"""The programs in examples/ run as they are."""

import subprocess
import sys

import pytest
from conftest import ROOT

import airwatt

# One of eight settings of each traffic: test_station_docs.py has rows of the others.
LESS = {"latency_guard": ["--tails", "100", "--beacons", "3"]}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    words = [sys.executable, path, tmp_path, *LESS.get(path.stem, [])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert list(tmp_path.glob("*.png")) or "savefig" not in path.read_text()


def test_the_citation_names_this_version():
    assert f"\nversion: {airwatt.__version__}\n" in (ROOT / "CITATION.cff").read_text()
