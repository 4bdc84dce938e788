"""The same tests with Debian 12's own kernel, 6.1, whose structures, BPF compiler and registration differ."""

import pytest
from lab import DAEMON

from debian_kernel import passes_there

# The tests that a virtual machine without hardware support completes in a few minutes.
CHOICE = "twice or read_from or route or halve_the_window or outlives or replaced or privilege"


@pytest.mark.long
@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")
@pytest.mark.parametrize("choice", [CHOICE])
def test_under_debians_kernel(choice):
    assert "skipped" not in passes_there("tests/linux/test_cc.py", "-k", choice, needs=("clang",))
