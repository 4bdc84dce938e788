"""Drivers without power save: what the user of `airwattd station` is told.

`test_wifi_user_mode.py` runs it in a kernel whose simulated radios refuse power save, and which has virt_wifi, a driver
without it.
"""

import pytest
from lab import DAEMON, call

# wlan1 says that power save is off, and refuses to switch it. virtual0 does not even say that.
REFUSALS = {"wlan1": "switching power save on", "virtual0": "reading power save"}


@pytest.fixture(scope="module", autouse=True)
def virtual_radio():
    call("ip", "link", "add", "wired0", "type", "dummy")
    call("ip", "link", "add", "link", "wired0", "name", "virtual0", "type", "virt_wifi")
    yield
    call("ip", "link", "delete", "virtual0")
    call("ip", "link", "delete", "wired0")


@pytest.mark.parametrize("interface", REFUSALS)
def test_one_line_and_status_4(interface, tmp_path):
    config = tmp_path / "station.toml"
    config.write_text('observe = "0s"\n')
    done = call(DAEMON, "station", "run", config, "--interface", interface, check=False)
    said = f"{interface}: its driver has no power save to switch: {REFUSALS[interface]}: Operation not supported"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"airwattd: {said}\n")
    # Nothing is left to be undone.
    done = call(DAEMON, "station", "restore", check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith(": nothing to restore\n")


def test_the_doctor_says_what_it_can():
    said = {name: call(DAEMON, "station", "doctor", "--interface", name).stdout for name in REFUSALS}
    # That a driver refuses shows only when it is asked to switch, which the doctor does not.
    assert "power save       off" in said["wlan1"]
    assert "power save       the driver has none" in said["virtual0"]
    assert "measuring        not possible: there is no power save to switch" in said["virtual0"]
    assert all(len(line) <= 80 for text in said.values() for line in text.splitlines())
