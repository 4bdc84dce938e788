"""`airwattd station` over a kernel's own Wi-Fi (mac80211_hwsim): an access point in a namespace, and a station.

Skipped where the kernel has no simulated radios; `test_wifi_debian.py` runs it in a virtual machine.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import DAEMON, call

AP, STATION = "10.55.0.1", "10.55.0.2"
HOSTAPD = """interface=wlan0
driver=nl80211
ssid=laboratory
hw_mode=g
channel=1
wmm_enabled=1
beacon_int=100
dtim_period=2
"""
SUPPLICANT = 'network={\n ssid="laboratory"\n key_mgmt=NONE\n scan_freq=2412\n}\n'

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="root is needed"),
    pytest.mark.skipif(not Path("/sys/class/mac80211_hwsim").exists(), reason="no simulated radios (mac80211_hwsim)"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("hostapd", "wpa_supplicant", "iw"))),
        reason="hostapd, wpa_supplicant or iw is missing",
    ),
]


@contextlib.contextmanager
def cell() -> Iterator[None]:
    """An access point, and a station that is associated with it; probes reach the access point by its address."""
    folder = Path(tempfile.mkdtemp())
    (folder / "ap.conf").write_text(HOSTAPD)
    (folder / "station.conf").write_text(SUPPLICANT)
    call("ip", "netns", "add", "ap")
    call("iw", "phy", "phy0", "set", "netns", "name", "ap")
    call("ip", "-n", "ap", "address", "add", f"{AP}/24", "dev", "wlan0")
    call("ip", "address", "add", f"{STATION}/24", "dev", "wlan1")
    running = []
    with (folder / "log").open("w") as log:
        for command in (
            ["ip", "netns", "exec", "ap", "hostapd", folder / "ap.conf"],
            ["wpa_supplicant", "-i", "wlan1", "-c", folder / "station.conf"],
        ):
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
        try:
            for _ in range(120):
                if "Connected" in call("iw", "dev", "wlan1", "link").stdout:
                    break
                time.sleep(0.5)
            else:
                raise RuntimeError((folder / "log").read_text())
            yield
        finally:
            for process in running:
                process.kill()
                process.wait()
            call("ip", "netns", "delete", "ap")
            shutil.rmtree(folder)


def power_save() -> str:
    return call("iw", "dev", "wlan1", "get", "power_save").stdout.split()[-1]


def test_the_doctor_the_measurement_and_the_host_restored():
    with cell():
        found = json.loads(call(DAEMON, "station", "doctor", "--json").stdout)
        assert (found["interface"], found["driver"]) == ("wlan1", "mac80211_hwsim")
        assert (found["beacon_interval_s"], found["dtim_period"], found["power_save"]) == (0.1024, 2, False)
        print(call(DAEMON, "station", "doctor").stdout)

        reflector = subprocess.Popen(
            ["ip", "netns", "exec", "ap", DAEMON, "station", "reflect"], stderr=subprocess.PIPE
        )
        measure = [DAEMON, "station", "measure", "--minutes", "1", "--block-seconds", "10", "--reflector", f"{AP}:4647"]
        assert b"4647" in reflector.stderr.readline()
        found = json.loads(call(*measure, "--json", timeout=300).stdout)
        print(json.dumps(found, indent=1))
        off, on = found["settings"]
        assert found["complete"]
        assert off["lost"] + on["lost"] <= 2
        # With power save on an answer waits for the next beacon: half an interval on average.
        assert off["p50"]["value_s"] < 0.02 < on["p50"]["value_s"] - off["p50"]["value_s"] < 0.09
        assert on["p95"]["value_s"] < 0.25
        assert found["radio"] == "sleeps"
        assert power_save() == "off"

        for last in (signal.SIGTERM, signal.SIGKILL):
            call("iw", "dev", "wlan1", "set", "power_save", "on")
            process = subprocess.Popen(measure, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            changed = time.monotonic() + 60
            while power_save() == "on" and time.monotonic() < changed:
                time.sleep(0.1)
            assert power_save() == "off", "the block with power save off comes"
            process.send_signal(last)
            process.wait()
            restored = time.monotonic() + 2
            while power_save() == "off" and time.monotonic() < restored:
                time.sleep(0.05)
            assert power_save() == "on", f"{last!r}"
        reflector.terminate()
        reflector.communicate()
