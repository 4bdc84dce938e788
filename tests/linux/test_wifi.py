"""`airwattd station` over a kernel's own Wi-Fi (mac80211_hwsim): an access point in a namespace, and a station.

The doctor, the measurement, and the daemon: what it does to delays, and how it lives with others who set power save.

Skipped where the kernel has no simulated radios; `test_wifi_user_mode.py` runs it in a user-mode kernel.
"""

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import lab
import pytest
from lab import DAEMON, HERE, call, may_suspend, suspend

# Each look starts a program, which takes no virtual time but real one.
await_true = functools.partial(lab.await_true, interval=0.1)
IS_TIME_VIRTUAL = "AIRWATT_MAY_SUSPEND" in os.environ
"""Whether this is the user-mode kernel, whose delays are those of the simulated air however busy the host is."""
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
SUPPLICANT = """ctrl_interface=/run/wpa_supplicant
network={
 ssid="laboratory"
 key_mgmt=NONE
 scan_freq=2412
}
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="root is needed"),
    pytest.mark.skipif(not Path("/sys/class/mac80211_hwsim").exists(), reason="no simulated radios (mac80211_hwsim)"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("hostapd", "wpa_supplicant", "iw"))),
        reason="hostapd, wpa_supplicant or iw is missing",
    ),
]


@pytest.fixture(scope="module", autouse=True)
def cell() -> Iterator[Callable[[], None]]:
    """An access point, and a station that is associated with it; probes reach the access point by its address.

    Yields what starts the access point again.
    """
    folder = Path(tempfile.mkdtemp())
    (folder / "ap.conf").write_text(HOSTAPD)
    (folder / "station.conf").write_text(SUPPLICANT)
    call("ip", "netns", "add", "ap")
    # The third radio is for a second access point.
    for phy in ("phy0", "phy2"):
        call("iw", "phy", phy, "set", "netns", "name", "ap")
    call("ip", "-n", "ap", "address", "add", f"{AP}/24", "dev", "wlan0")
    call("ip", "address", "add", f"{STATION}/24", "dev", "wlan1")
    running = []
    with (folder / "log").open("w") as log:
        access_point = ["ip", "netns", "exec", "ap", "hostapd", folder / "ap.conf"]
        for command in (access_point, ["wpa_supplicant", "-i", "wlan1", "-c", folder / "station.conf"]):
            running.append(subprocess.Popen(command, stdout=log, stderr=log))

        def restart() -> None:
            running[0].kill()
            running[0].wait()
            running[0] = subprocess.Popen(access_point, stdout=log, stderr=log)

        try:
            for _ in range(120):
                if "Connected" in call("iw", "dev", "wlan1", "link").stdout:
                    break
                time.sleep(0.5)
            else:
                raise RuntimeError((folder / "log").read_text())
            yield restart
        finally:
            for process in running:
                process.kill()
                process.wait()
            call("ip", "netns", "delete", "ap")
            shutil.rmtree(folder)


def power_save() -> str:
    return call("iw", "dev", "wlan1", "get", "power_save").stdout.split()[-1]


def test_the_doctor_the_measurement_and_the_host_restored(tmp_path):
    found = json.loads(call(DAEMON, "station", "doctor", "--json").stdout)
    assert (found["interface"], found["driver"]) == ("wlan1", "mac80211_hwsim")
    assert (found["beacon_interval_s"], found["dtim_period"], found["power_save"]) == (0.1024, 2, False)
    print(call(DAEMON, "station", "doctor").stdout)

    reflector = subprocess.Popen(["ip", "netns", "exec", "ap", DAEMON, "station", "reflect"], stderr=subprocess.PIPE)
    config = tmp_path / "station.toml"
    config.write_text('[power_save]\npolicy = "latency-guard"\nbound = "20ms"\n')
    # Some 90 probes a setting: with 30, the confidence interval of the median reaches down to a quarter of a beacon
    # interval now and then, and the verdict is that nothing is known.
    measure = [DAEMON, "station", "measure", config, "--minutes", "6", "--reflector", f"{AP}:4647"]
    assert b"4647" in reflector.stderr.readline()
    found = json.loads(call(*measure, "--json", timeout=420).stdout)
    print(json.dumps(found, indent=1))
    off, on, ours = found["settings"]
    assert found["complete"]
    assert (found["policy"]["policy"], found["policy"]["bound"]) == ("latency-guard", "20ms")
    assert [each["setting"] for each in found["settings"]] == ["off", "on", "airwatt"]
    assert off["lost"] + on["lost"] + ours["lost"] <= 3
    # With power save on an answer waits for the next beacon: half an interval on average.
    assert off["p50"]["value_s"] < 0.02 < on["p50"]["value_s"] - off["p50"]["value_s"] < 0.09
    assert on["p95"]["value_s"] < 0.25
    # The probes are an interactive flow, for which the policy keeps active mode from the first probe of its block on.
    assert ours["p50"]["value_s"] < on["p50"]["value_s"] - 0.02
    assert 0 < ours["power_save_share"] < 0.5
    assert found["radio"] == "sleeps"
    assert power_save() == "off"

    for last in (signal.SIGTERM, signal.SIGKILL):
        call("iw", "dev", "wlan1", "set", "power_save", "on")
        process = subprocess.Popen(
            [*measure, "--block-seconds", "5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
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


def test_the_report_before_the_first_daemon(tmp_path):
    done = Station(tmp_path).call("report")
    said = "airwattd: wlan1: there is nothing to report yet; hint: run the daemon first (airwattd station)\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_a_policy_with_triggers_is_refused_without_u_apsd(tmp_path):
    config = tmp_path / "station.toml"
    config.write_text('[power_save]\npolicy = "ba-ta"\n')
    why = "not possible: this driver has no U-APSD"
    assert json.loads(call(DAEMON, "station", "doctor", "--interface", "wlan1", "--json").stdout)["triggers"] == why
    for words in (["run", config], ["run", config, "--dry-run"], ["measure", config]):
        done = call(DAEMON, "station", *words, "--interface", "wlan1", check=False)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (4, "", 1), done.stderr
        assert why in done.stderr
    assert call(DAEMON, "station", "run", config, "--check").returncode == 0


class Station:
    """`with Station() as station:` runs the daemon on wlan1, with a state folder of its own."""

    def __init__(self, folder: Path, config: str = 'observe = "0s"'):
        self.folder = folder
        self.environment = os.environ | {"STATE_DIRECTORY": str(folder / "state")}
        (folder / "station.toml").write_text(config + "\n")

    def command(self, *words: object) -> list[str]:
        return [str(DAEMON), "station", *map(str, words), "--interface", "wlan1"]

    def call(self, *words: object) -> subprocess.CompletedProcess[str]:
        command = self.command(*words)
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False)

    def __enter__(self) -> "Station":
        log = (self.folder / "station.log").open("w")
        with log:
            command = self.command("run", self.folder / "station.toml", "-v")
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        await_true(lambda: self.call("status").returncode == 0, 30, "the daemon answers")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(20) == 0, self.log()

    def log(self) -> str:
        return (self.folder / "station.log").read_text()

    def status(self) -> dict:
        done = self.call("status", "--json")
        assert done.returncode == 0, done.stderr + self.log()
        return json.loads(done.stdout)


def echoes(count: int, interval: float) -> list[str]:
    """Round trips in milliseconds of echo requests of the access point to the station; `-` is one without an answer."""
    words = ["ip", "netns", "exec", "ap", sys.executable, HERE / "echo.py", STATION, count, interval]
    return call(*words, timeout=300).stdout.splitlines()


def round_trips(count: int, interval: float) -> list[float]:
    """Round trips in milliseconds of echo requests of the access point to the station, without the first, sorted."""
    lines = echoes(count, interval)
    assert lines.count("-") <= 2, lines
    return sorted(float(line) for line in lines[1:] if line != "-")


def test_the_daemon_follows_the_traffic_and_restores_the_host(tmp_path):
    medians = {}
    for setting in ("off", "on"):
        call("iw", "dev", "wlan1", "set", "power_save", setting)
        times = round_trips(25, 0.4)
        medians[setting] = times[len(times) // 2]
    call("iw", "dev", "wlan1", "set", "power_save", "off")

    station = Station(tmp_path, 'observe = "0s"\nmetrics = "127.0.0.1:9471"')
    with station:
        await_true(lambda: power_save() == "on", 15, "power save is the rule on a quiet link")
        # The filter of system calls is in force, for all that follows.
        of_process = Path(f"/proc/{station.process.pid}/status").read_text()
        assert "Seccomp:\t2\n" in of_process
        # Somebody pings. The first requests wait for beacons, and teach the daemon that they do; the others find the
        # radio awake.
        round_trips(60, 0.4)
        times = round_trips(25, 0.4)
        medians["with airwatt"] = times[len(times) // 2]
        # Not the demand of this moment, which may be over where the processor is slow.
        counts = station.status()["counts"]
        assert counts["reach"] + counts["answer"] >= 1
        await_true(lambda: power_save() == "on", 15, "some pauses after the last packet")
        print("median round trip [ms] of echo requests to the station each 0.4 s:", medians)
        # Where the processor is emulated in real time, stalls of a busy host look like waits for beacons.
        assert medians["with airwatt"] < medians["on"] - 20 or not IS_TIME_VIRTUAL

        # Rare requests, each of another peer, since one that is known would find the radio awake: each waits for its
        # beacon, and says so of the radio.
        for number in range(100, 114):
            peer = f"10.55.0.{number}"
            call("ip", "-n", "ap", "address", "add", f"{peer}/24", "dev", "wlan0")
            call("ip", "-n", "ap", "route", "replace", STATION, "dev", "wlan0", "src", peer)
            round_trips(1, 0)
            time.sleep(3 + 0.137 * (number - 100))
        call("ip", "-n", "ap", "route", "delete", STATION, "dev", "wlan0")
        found = station.status()
        print(station.call("status").stdout)
        assert found["radio_in_power_save"] == "sleeps", found["arrivals"]
        assert found["counts"]["unsolicited"] >= 10
        # Of pings it is not known what their peers waited.
        assert found["with"]["peers"]["packets"] >= 14
        assert found["with"]["peers"]["timed"] == 0
        assert (found["radio"], found["with"]["power_w"]) == (None, None), "nobody has named a simulated radio"
        assert found["counts"]["rewrites"] == 0, "nobody else has set it"
        # Some milliseconds on a real processor, none in virtual time.
        # Only packets of flows that suffer ask for active mode: how many there are depends on when the requests come.
        assert found["reaction"]["count"] >= 1
        assert found["reaction"]["max_s"] < 0.5
        assert found["with"]["asleep_share"]["likely"] > 0.3
        assert found["self"]["power_w"] < 0.05, "under an emulated processor; 1 mW on a real one"
        # Prometheus and node_exporter get the same page, but for what has changed meanwhile.
        with urllib.request.urlopen("http://127.0.0.1:9471/metrics", timeout=10) as response:
            scraped = response.read().decode().splitlines()
        printed = station.call("status", "--metrics").stdout.splitlines()
        assert [line.split()[0] for line in scraped] == [line.split()[0] for line in printed]
        assert 'airwatt_station_power_save{interface="wlan1"} 1' in scraped

        for word in ("run", "measure"):
            second = station.call(word, *(["--target", AP] if word == "measure" else []))
            assert (second.returncode, len(second.stderr.splitlines())) == (5, 1), second.stderr
            assert "already runs there" in second.stderr
        # Idle, it wakes up once each 5 s, and no packet leaves.
        sent = Path("/sys/class/net/wlan1/statistics/tx_packets")
        time.sleep(3)
        before, packets = station.status()["self"]["wakeups_by_reason"], int(sent.read_text())
        time.sleep(12)
        after = station.status()["self"]["wakeups_by_reason"]
        # The question itself wakes it up up to three times: a program that connects, asks and goes.
        woken = {reason: count - before.get(reason, 0) for reason, count in after.items() if reason != "asked"}
        assert sum(woken.values()) <= 3, (before, after)
        assert int(sent.read_text()) - packets <= 2, "neighbour discovery apart, nothing is sent"
    assert power_save() == "off", "as it was found"

    # What was found is the opposite of what each policy does on a quiet link.
    for found, policy, acting in (("on", "active", "off"), ("off", "latency-guard", "on")):
        call("iw", "dev", "wlan1", "set", "power_save", found)
        with Station(tmp_path, f'observe = "0s"\n[power_save]\npolicy = "{policy}"') as station:
            await_true(lambda state=acting: power_save() == state, 15, f"{policy} acts")
            station.process.kill()
            station.process.wait()
            await_true(lambda state=found: power_save() == state, 2, "the guardian restores it")


def test_a_regular_peer_finds_the_radio_awake(tmp_path):
    """It comes within a window around the time at which it is expected, for which power save is switched off.

    mac80211 does not tell the access point that, which held each request for its beacon until the daemon said so by a
    frame of its own.
    """
    call("iw", "dev", "wlan1", "set", "power_save", "on")
    before = round_trips(25, 1.3)
    with Station(tmp_path) as station:
        round_trips(50, 1.3)
        counts = station.status()["counts"]
        times = round_trips(40, 1.3)
        found = station.status()
        print(f"regular requests: {before} before, {times} with the daemon", found["counts"], found["with"])
    assert counts["switches"] >= 5
    assert before[len(before) // 2] > 20
    share = sum(time > 15 for time in times) / len(times)
    assert share < 0.2 or not IS_TIME_VIRTUAL, times
    # A window is a small part of the pause.
    assert found["with"]["power_save_share"] > 0.5 or not IS_TIME_VIRTUAL, found["with"]
    call("iw", "dev", "wlan1", "set", "power_save", "off")


def bssid(interface: str) -> str:
    """The address of an access point's interface."""
    return call("ip", "-n", "ap", "link", "show", interface).stdout.split("link/ether ")[1].split()[0]


REQUESTS = 10
LATE_S = 0.03


def asked(kind: str) -> float:
    """How long a request of this host to the access point takes, as a program sees it, in seconds."""
    if kind == "ping":
        return float(call(sys.executable, HERE / "echo.py", AP, 1, 0).stdout) / 1e3
    began = time.monotonic()
    if kind == "handshake":
        with socket.create_connection((AP, 5300), timeout=10):
            return time.monotonic() - began
    with socket.socket(type=socket.SOCK_DGRAM) as link:
        link.settimeout(10)
        link.sendto(b"question", (AP, 5300))
        link.recv(100)
        return time.monotonic() - began


def test_queries_pings_and_handshakes_are_timed_while_the_radio_sleeps(tmp_path):
    """The daemon times them in the kernel, within what the program waits that asks, however busy the host is."""
    words = ["ip", "netns", "exec", "ap", sys.executable, HERE / "answers.py", AP, 5300, LATE_S]
    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            with Station(tmp_path) as station:
                await_true(lambda: power_save() == "on", 15, "power save is the rule on a quiet link")
                taken = {"udp": [], "ping": [], "handshake": []}
                for _ in range(REQUESTS):
                    for kind, times in taken.items():
                        # Longer than the tail of mac80211, and than the pause after which a datagram is a request.
                        time.sleep(0.7)
                        times.append(asked(kind))
                found = station.status()["with"]["requests"]
        finally:
            server.kill()
    print({kind: (max(times), found[kind]) for kind, times in taken.items()})
    for kind, times in taken.items():
        asleep, awake = found[kind]["asleep"], found[kind]["awake"]
        # Neighbour discovery and keep-alives of the link wake the radio now and then.
        assert asleep["round_trips"] + awake["round_trips"] == REQUESTS, (kind, found[kind])
        assert asleep["round_trips"] >= REQUESTS // 2, (kind, found[kind])
        # Four buckets an octave: the end of one is at most a quarter beyond its begin. The first ends at 64 us; in
        # virtual time an answer takes none.
        assert asleep["p95_s"] <= max(1.25 * max(times), 64e-6), (kind, times, found[kind])
    # The server answers late, the kernel at once.
    assert found["udp"]["asleep"]["p50_s"] >= LATE_S


def test_the_daemon_follows_to_another_access_point_and_back_when_its_beacons_cease(tmp_path):
    call("iw", "dev", "wlan1", "set", "power_save", "off")
    config = tmp_path / "second.conf"
    config.write_text(HOSTAPD.replace("wlan0", "wlan2"))
    second = subprocess.Popen(["ip", "netns", "exec", "ap", "hostapd", config], stdout=subprocess.DEVNULL)
    control = ["wpa_cli", "-i", "wlan1"]
    try:
        with Station(tmp_path) as station:
            await_true(lambda: power_save() == "on", 15, "power save")
            first, other = bssid("wlan0"), bssid("wlan2")
            assert station.status()["access_point"] == first

            def seen() -> bool:
                call(*control, "scan")
                time.sleep(1)
                return other in call(*control, "scan_results").stdout

            await_true(seen, 60, "the other access point is found")
            call(*control, "roam", other)
            await_true(lambda: station.status()["access_point"] == other, 30, "the daemon knows of the roam")
            await_true(lambda: power_save() == "on", 15, "power save")
            assert station.status()["counts"]["scans"] >= 1
            # Out of range without a word: the radios of another group hear nothing of this one.
            Path("/sys/kernel/debug/ieee80211/phy2/hwsim/group").write_text("2")
            await_true(lambda: station.status()["access_point"] == first, 90, "back at the first")
            losses = json.loads(station.call("doctor", "--json").stdout)["beacon_losses"]
            print(f"beacon losses at the first access point: {losses}", station.status()["counts"])
            await_true(lambda: power_save() == "on", 15, "power save")
            assert station.status()["state"] == "acting"
            said = json.loads(station.call("doctor", "--json").stdout)["daemon"]
            assert said["state"] == "acting"
            assert said["power_save"].endswith("(found off)")
            assert "would" not in station.call("doctor").stdout
        assert power_save() == "off", "as it was found"
    finally:
        second.terminate()
        second.wait()


def test_the_daemon_lives_with_others_and_with_interfaces_that_go(tmp_path):
    call("iw", "dev", "wlan1", "set", "power_save", "off")
    with Station(tmp_path) as station:
        await_true(lambda: power_save() == "on", 15, "power save")
        # As NetworkManager does at a connection: once. Then as a script that insists.
        call("iw", "dev", "wlan1", "set", "power_save", "off")
        await_true(lambda: power_save() == "on", 15, "set again")
        for _ in range(6):
            if station.status()["state"] == "aside":
                break
            call("iw", "dev", "wlan1", "set", "power_save", "off")
            await_true(lambda: power_save() == "on" or station.status()["state"] == "aside", 15, "set again, or aside")
        found = station.status()
        assert (found["state"], found["power_save"], power_save()) == ("aside", False, "off")
        assert found["counts"]["rewrites"] == 5

    with Station(tmp_path) as station:
        await_true(lambda: power_save() == "on", 15, "power save")
        call("ip", "link", "set", "wlan1", "down")
        call("ip", "link", "set", "wlan1", "up")
        await_true(lambda: "Connected" in call("iw", "dev", "wlan1", "link").stdout, 60, "wpa_supplicant connects")
        await_true(lambda: station.status()["access_point"] is not None, 15, "the daemon knows")
        assert power_save() == "on"
        call("ip", "link", "set", "wlan1", "down")
        call("iw", "dev", "wlan1", "del")
        await_true(lambda: station.status()["counts"].get("vanished") == 1, 15, "the interface is gone")
        call("iw", "phy", "phy1", "interface", "add", "wlan1", "type", "managed")
        # Its address went with the interface.
        call("ip", "address", "add", f"{STATION}/24", "dev", "wlan1")
        call("ip", "link", "set", "wlan1", "up")
        # wpa_supplicant connects it again, and the daemon goes on with the new interface.
        await_true(lambda: station.status()["access_point"] is not None, 60, "the daemon has it again")
        await_true(lambda: power_save() == "on", 15, "power save")
        done = station.call("off")
        assert (done.returncode, done.stderr) == (0, "")
        assert station.process.wait(20) == 0, station.log()
        assert power_save() == "off", "as a new interface of this driver was found"
        # And it stays off.
        again = station.call("run")
        assert (again.returncode, len(again.stderr.splitlines())) == (0, 1), again.stderr
        assert "station on" in station.call("status").stderr
        assert station.call("on").returncode == 0
        assert station.call("report").returncode == 0


def test_the_daemon_after_a_time_in_which_it_did_not_run(tmp_path):
    """As after a suspend: the daemon stands still, the link goes and comes back, and the setting is another."""
    call("iw", "dev", "wlan1", "set", "power_save", "off")
    with Station(tmp_path) as station:
        await_true(lambda: power_save() == "on", 15, "power save")
        station.process.send_signal(signal.SIGSTOP)
        call("ip", "link", "set", "wlan1", "down")
        time.sleep(10)
        call("ip", "link", "set", "wlan1", "up")
        await_true(lambda: "Connected" in call("iw", "dev", "wlan1", "link").stdout, 60, "wpa_supplicant connects")
        call("iw", "dev", "wlan1", "set", "power_save", "off")
        station.process.send_signal(signal.SIGCONT)
        await_true(lambda: power_save() == "on", 15, "the daemon goes on")
        found = station.status()
        assert (found["state"], found["access_point"] is not None) == ("acting", True)
    assert power_save() == "off", "as it was found"


@pytest.mark.skipif(not may_suspend(), reason="this kernel is not to be suspended")
def test_the_daemon_after_a_suspend(tmp_path, cell):
    """A minute in memory: the link is gone afterwards, and time has passed of which CLOCK_MONOTONIC knows nothing."""
    call("iw", "dev", "wlan1", "set", "power_save", "off")
    with Station(tmp_path) as station:
        await_true(lambda: power_save() == "on", 15, "power save")
        before = station.status()
        assert suspend(60) > 55
        # The kernel ends what every radio does, also that of the access point, which has not slept in reality.
        cell()
        await_true(lambda: "Connected" in call("iw", "dev", "wlan1", "link").stdout, 60, "wpa_supplicant connects")
        await_true(lambda: station.status()["access_point"] is not None, 15, "the daemon knows")
        await_true(lambda: power_save() == "on", 15, "power save")
        after = station.status()
        assert (after["state"], after["counts"].get("suspends")) == ("acting", 1)
        # The minute counts neither as time with the daemon nor as its own.
        assert after["self"]["uptime_s"] - before["self"]["uptime_s"] < 50
        # Traffic is followed as before.
        round_trips(60, 0.4)
        await_true(lambda: power_save() == "on", 15, "some pauses after the last packet")
        counts = station.status()["counts"]
        assert counts["reach"] + counts["answer"] >= 1
        station.process.kill()
        station.process.wait()
        await_true(lambda: power_save() == "off", 2, "the guardian restores it")
