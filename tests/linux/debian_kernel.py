"""Tests of this folder under Debian's own kernel, which nobody has changed, in a virtual machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import ROOT

NEEDS = ("qemu-system-x86_64", "busybox", "depmod")


def passes_there(*words: str, needs: tuple[str, ...] = (), module: str | None = None) -> str:
    """Returns the output of pytest with these words, which has to pass there.

    `needs` are programs beside those of the virtual machine, and `module` is what `modprobe` loads first. Skips the
    test without a program and where the kernel cannot be downloaded.
    """
    if absent := [program for program in (*NEEDS, *needs) if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    command = [Path(__file__).parent / "in-debian-kernel", sys.executable, "-m", "pytest", *words, "-rs", "--color=no"]
    environment = os.environ | ({"AIRWATT_VM_MODULE": module} if module else {})
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 125 and "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout
