"""The daemon under Debian's own kernel, which has simulated Wi-Fi radios, in a virtual machine.

One test of `test_wifi.py`: that the daemon and its eBPF program run on a kernel that nobody has changed. The others run
in virtual time (`test_wifi_user_mode.py`), which takes a fraction of the time.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import DAEMON, ROOT

HERE = Path(__file__).parent
NEEDS = ("qemu-system-x86_64", "busybox", "depmod", "hostapd", "wpa_supplicant", "iw")


@pytest.mark.long
@pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")
def test_under_debians_kernel():
    if absent := [program for program in NEEDS if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    inner = [sys.executable, "-m", "pytest", "tests/linux/test_wifi.py", "-k", "follows_the_traffic"]
    inner += ["-rs", "-s", "--color=no"]
    environment = os.environ | {"AIRWATT_VM_MODULE": "mac80211_hwsim radios=3"}
    command = [HERE / "in-debian-kernel", *inner]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 125 and "cannot be had" in done.stderr:
        pytest.skip(done.stderr.strip())
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout
