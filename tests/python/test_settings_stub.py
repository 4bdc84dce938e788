"""The types of a scenario's keys are those of the schema."""

import subprocess
import sys

from conftest import ROOT


def test_the_stub_is_what_the_schema_gives():
    command = [sys.executable, ".ci/settings_stub.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
