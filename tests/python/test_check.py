"""`.ci/check` shares the tests of Python out to its workers by file."""

import re
import subprocess
import sys

from conftest import ROOT

TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(6))
def test_worker(number):
    with open(__file__ + ".workers", "a") as file:
        file.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_each_file_is_one_worker_s(tmp_path):
    """What the tests of a file share is made once.

    Under pytest 9.2 the groups of pytest-xdist 3.8 were ignored without a word, and all was made twice.
    """
    shares = re.findall(r"-n 2 --dist \w+", (ROOT / ".ci" / "check").read_text())
    assert len(shares) == 2
    assert len(set(shares)) == 1
    for name in ("one", "other"):
        (tmp_path / f"test_{name}.py").write_text(TESTS)
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *shares[0].split(), "."]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "12 passed" in done.stdout, done.stdout + done.stderr
    workers = [path.read_text().split() for path in tmp_path.glob("*.workers")]
    assert [len(of_file) for of_file in workers] == [6, 6]
    assert [len(set(of_file)) for of_file in workers] == [1, 1]
