"""Wi-Fi power save of a real kernel in virtual time: `test_wifi.py`, and traffic over the simulator's air.

`make test-wifi` builds that kernel, once; without it these tests are skipped.
"""

import json
import os
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


def in_user_mode_kernel(*words: object, **settings: object) -> str:
    """The output of a command in the kernel, whose `settings` are those of `in-user-mode-kernel`."""
    if absent := [program for program in NEEDS if not shutil.which(program)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    environment = os.environ | {f"AIRWATT_{name.upper()}": str(value) for name, value in settings.items()}
    command = [str(word) for word in (HERE / "in-user-mode-kernel", *words)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


def pytest_words(file: str) -> list[str]:
    return [sys.executable, "-m", "pytest", f"tests/linux/{file}", "-rs", "-s", "--color=no", "-p", "no:cacheprovider"]


def test_the_daemon():
    assert "skipped" not in in_user_mode_kernel(*pytest_words("test_wifi.py"))


def test_a_driver_that_refuses():
    assert "skipped" not in in_user_mode_kernel(*pytest_words("refusing_driver.py"), no_power_save=1)


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
        # The daemon keeps its bound, for little more than the cheaper setting that keeps it.
        bound_s = settings["off"]["p95_s"] + 0.03
        cheapest_w = min(settings[name]["power_w"] for name in ("off", "on") if settings[name]["p95_s"] <= bound_s)
        assert settings["airwatt"]["p95_s"] <= bound_s, settings
        assert settings["airwatt"]["power_w"] <= 1.05 * cheapest_w, settings
    asked = results["asked"]
    assert asked["off"]["p50_s"] + 0.02 < asked["on"]["p50_s"]
    assert asked["airwatt"]["p50_s"] < asked["off"]["p50_s"] + 0.01
    assert asked["on"]["power_w"] < asked["off"]["power_w"] / 2


@pytest.mark.skipif(not MEDIUM.exists(), reason="the medium is not built: make test-wifi")
def test_ba_ta_sends_triggers_where_u_apsd_is_negotiated():
    words = ["--settings", "u-apsd,ba-ta", "--workloads", "idle,asked,pages,down"]
    output = in_user_mode_kernel(sys.executable, HERE / "bed.py", *words, uapsd=15)
    results = json.loads(output.splitlines()[-1])
    idle = results["idle"]["ba-ta"]
    assert (idle["status"]["policy"], idle["status"]["counts"]["triggers"]) == ("ba-ta", 0), "nothing on a quiet link"
    assert idle["asleep"] > 0.95
    # Beacons alone fetch an answer after half an interval and more, and a page burst by burst.
    for workload in ("asked", "pages"):
        ours = results[workload]["ba-ta"]
        assert ours["p50_s"] < results[workload]["u-apsd"]["p50_s"], results[workload]
        assert ours["asleep"] > 0.7, ours
    assert results["asked"]["ba-ta"]["status"]["counts"]["triggers"] > 100
    # A power-save buffer that is released at once is not lost on its way to the medium: the transfer ends.
    assert all(each["goodput_bps"] > 5e6 for each in results["down"].values()), results["down"]
