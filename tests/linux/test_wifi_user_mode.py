"""Wi-Fi power save of a real kernel in virtual time: `test_wifi.py`, and traffic over the simulator's air.

`make test-wifi` builds that kernel, once; without it these tests are skipped.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import DAEMON, ROOT

HERE = Path(__file__).parent / "wifi"
MEDIUM = ROOT / "target/release/hwsim-medium"
NEEDS = ("busybox", "hostapd", "wpa_supplicant", "iw", "tc")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build"),
    pytest.mark.skipif(
        subprocess.run([HERE / "user-mode-kernel", "--cached"], capture_output=True, check=False).returncode != 0,
        reason="there is no user-mode kernel: make test-wifi",
    ),
]


def in_user_mode_kernel(*words: object) -> str:
    """The output of a command in the kernel."""
    if absent := [program for program in NEEDS if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    command = [str(word) for word in (HERE / "in-user-mode-kernel", *words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def test_the_daemon():
    words = ["-m", "pytest", "tests/linux/test_wifi.py", "-rs", "-s", "--color=no", "-p", "no:cacheprovider"]
    assert "skipped" not in in_user_mode_kernel(sys.executable, *words)


@pytest.mark.skipif(not MEDIUM.exists(), reason="the medium is not built: make test-wifi")
def test_a_real_kernel_over_the_simulators_air_agrees_with_the_simulator():
    sys.path.insert(0, str(HERE))
    import beside

    words = ["--settings", "off,on,airwatt", "--workloads", "keys,asked"]
    output = in_user_mode_kernel(sys.executable, HERE / "bed.py", *words)
    results = json.loads(output.splitlines()[-1])
    print(beside.table(results))
    for workload, settings in results.items():
        for setting, measured in settings.items():
            simulated = beside.predicted(workload, setting)
            where = f"{workload} {setting}: {measured}, simulated {simulated}"
            # An answer that waits for a beacon waits for half an interval on average.
            assert abs(measured["p50_s"] - simulated["p50_s"]) < 0.03, where
            assert abs(measured["power_w"] / simulated["power_w"] - 1) < 0.3, where
    asked = results["asked"]
    assert asked["off"]["p50_s"] + 0.02 < asked["on"]["p50_s"]
    assert asked["airwatt"]["p50_s"] < asked["off"]["p50_s"] + 0.01
    assert asked["on"]["power_w"] < asked["off"]["power_w"] / 2
