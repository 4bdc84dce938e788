"""The Python types of scenarios and results are those of the schemas."""

import subprocess
import sys

from conftest import ROOT


def test_the_types_are_what_the_schemas_give():
    command = [sys.executable, ".ci/schema_types.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
