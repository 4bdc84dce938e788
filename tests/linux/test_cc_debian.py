"""The same tests with Debian 12's own kernel, 6.1, whose structures, BPF compiler and registration differ."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import DAEMON, ROOT

HERE = Path(__file__).parent
# The tests that a virtual machine without hardware support completes in a few minutes.
CHOICE = "twice or read_from or route or halve_the_window or outlives or replaced or privilege"
NEEDS = ("qemu-system-x86_64", "busybox", "depmod", "clang")


@pytest.mark.long
@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")
@pytest.mark.parametrize("choice", [CHOICE])
def test_under_debians_kernel(choice):
    if absent := [program for program in NEEDS if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    inner = [sys.executable, "-m", "pytest", "tests/linux/test_cc.py", "-rs", "--color=no", "-k", choice]
    done = subprocess.run([HERE / "in-debian-kernel", *inner], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 125 and "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
