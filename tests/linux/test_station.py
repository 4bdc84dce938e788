"""`airwattd station` where there is no Wi-Fi, and the reflector. What needs Wi-Fi is in `test_wifi.py`."""

import configparser
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import DAEMON, ROOT, await_true, call, check_exposure

pytestmark = pytest.mark.skipif(not DAEMON.exists(), reason="airwattd is not built: make build")

PROBE = struct.Struct(">4sIQII")


def has_wifi() -> bool:
    return any((interface / "phy80211").exists() for interface in Path("/sys/class/net").iterdir())


@contextlib.contextmanager
def control_socket(name: str, answers: dict[str, dict]) -> Iterator[None]:
    """A control socket as the daemon of an interface has it, which answers one command, and goes after `stop`."""
    namespace = Path("/proc/self/ns/net").stat().st_ino
    folder = Path("/run/airwatt")
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"station-{name}.{namespace}.sock"

    def serve(listener: socket.socket) -> None:
        stream, _ = listener.accept()
        with stream:
            command = json.loads(stream.recv(100))["command"]
            stream.sendall(json.dumps(answers[command]).encode() + b"\n")
        if command == "stop":
            path.unlink()

    with socket.create_server(str(path), family=socket.AF_UNIX) as listener:
        listener.settimeout(10)
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        yield
        server.join()
    path.unlink(missing_ok=True)
    # Other daemons may have files there.
    with contextlib.suppress(OSError):
        folder.rmdir()


@pytest.mark.skipif(has_wifi(), reason="this host has Wi-Fi")
@pytest.mark.parametrize("words", [[], ["run"], ["run", "--dry-run"], ["measure"], ["status"], ["report"]])
def test_without_wifi_each_verb_says_so_in_one_line(words):
    done = call(DAEMON, "station", *words, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert len(done.stderr.splitlines()) == 1
    assert "Wi-Fi" in done.stderr


@pytest.mark.skipif(has_wifi(), reason="this host has Wi-Fi")
def test_without_wifi_off_holds_for_the_first_interface_and_on_finds_what_is_off(tmp_path):
    def call_with_state(*words):
        return call("env", f"STATE_DIRECTORY={tmp_path}", DAEMON, "station", *words, check=False)

    for word, expected in (
        ("on", "nothing to do"),
        ("off", "the first Wi-Fi interface: no daemon starts there until `airwattd station on`"),
        ("run", "the first Wi-Fi interface: switched off by `airwattd station off`"),
        ("on", "the first Wi-Fi interface: a daemon may start again"),
    ):
        done = call_with_state(word)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (0, "", 1)
        assert expected in done.stderr
    (tmp_path / "station-aw9.off").touch()
    done = call_with_state("on")
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])
    assert "aw9: a daemon may start again; hint: systemctl start" in done.stderr


@pytest.mark.skipif(has_wifi(), reason="this host has Wi-Fi")
def test_without_wifi_an_interface_that_is_named_is_in_the_error():
    done = call(DAEMON, "station", "doctor", "--interface", "aw9", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1)
    assert "aw9: " in done.stderr


@pytest.mark.skipif(has_wifi(), reason="this host has Wi-Fi")
def test_without_wifi_the_doctor_reports_on_the_host():
    plain = call(DAEMON, "station", "doctor", check=False)
    assert (plain.returncode, len(plain.stderr.splitlines())) == (4, 1)
    assert "Wi-Fi" in plain.stderr
    explained = call(DAEMON, "station", "doctor", "--explain", check=False).stdout
    for text in (plain.stdout, explained):
        assert all(len(line) <= 80 for line in text.splitlines() if " " in line.strip())
        facts = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith(" "))
        assert facts["kernel"] == os.uname().release
        assert set(facts) - {"restrictions"} == {"kernel", "eBPF", "supply", "privileges", "also", "the"}
    assert "by:" not in plain.stdout
    # Each fact says how it is known, and each program that may set power save is named.
    assert explained.count("by:") == sum(not line.startswith(" ") for line in explained.splitlines())
    assert all(program in explained for program in ("NetworkManager", "iwd", "TLP"))

    document = json.loads(call(DAEMON, "station", "doctor", "--json", check=False).stdout)
    assert "interface" not in document
    assert (document["kernel"], document["would"]) == (
        os.uname().release,
        "wait for a Wi-Fi interface as a service, and otherwise end with status 4: there is none",
    )
    if os.geteuid() == 0:
        assert (document["bpf"], document["bpf_error"], document["missing_capability"]) == (True, None, None)
        words = [
            "setpriv",
            "--inh-caps=-all",
            "--bounding-set=-bpf,-net_raw,-sys_admin",
            DAEMON,
            "station",
            "doctor",
            "--json",
        ]
        document = json.loads(call(*words, check=False).stdout)
        assert (document["bpf"], document["missing_capability"]) == (None, "CAP_NET_RAW")


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for /run/airwatt")
def test_metrics_are_printed_for_a_collector_of_text_files():
    document = {"interface": "aw8", "power_save": True, "state": "acting", "counts": {"scans": 3}}
    with control_socket("aw8", {"status": document}):
        page = call(DAEMON, "station", "status", "--interface", "aw8", "--metrics").stdout
    assert 'airwatt_station_power_save{interface="aw8"} 1\n' in page
    assert 'airwatt_station_scans_total{interface="aw8"} 3\n' in page
    names = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}
    # The manual page has the same names.
    with tempfile.TemporaryDirectory() as folder:
        call(DAEMON, "manual", folder, "--date", "2026-01-31")
        manual = (Path(folder) / "airwattd-station.5").read_text().replace("\\-", "-")
    assert len(names) > 10
    assert all(name in manual for name in names)


def test_wrong_input_is_one_line():
    for words in (
        ["measure", "--minutes", "0"],
        ["measure", "--reflector", "192.168.1.1"],
        ["measure", "--reflector", "192.168.1.1:1", "--target", "192.168.1.1"],
        ["reflect", "--listen", "here"],
        ["run", "/nowhere/station.toml"],
        ["measure", "/nowhere/station.toml"],
        ["status", "wlan0"],
    ):
        done = call(DAEMON, "station", *words, check=False)
        assert done.returncode == 2, words
        assert len(done.stderr.splitlines()) == 1, done.stderr


def test_what_a_killed_measurement_may_have_left_can_be_undone_where_there_is_nothing():
    done = call(DAEMON, "station", "restore", "--interface", "nothing0", check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("station nothing0 in this network namespace (net:[")
    assert done.stderr.endswith("]): nothing to restore\n")


def test_the_reflector_answers_late_says_how_late_and_nothing_else():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    listen = f"{address[0]}:{address[1]}"
    reflector = subprocess.Popen([DAEMON, "station", "reflect", "--listen", listen], stderr=subprocess.PIPE, text=True)
    try:
        assert listen in reflector.stderr.readline()
        status = Path(f"/proc/{reflector.pid}/status")
        await_true(lambda: "Seccomp:\t2" in status.read_text())
        words = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
        assert (words["NoNewPrivs"], int(words["CapPrm"], 16)) == ("1", 0)
        assert "0" not in words["Uid"].split()
        assert os.geteuid() != 0 or int(words["CapBnd"], 16) == 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.settimeout(5)
            client.connect(address)
            sent = {}
            for number in range(20):
                client.send(PROBE.pack(b"AWR1", number, 7, 0, 0))
                sent[number] = time.monotonic()
            for stranger in (
                b"",
                b"AWR1",
                PROBE.pack(b"XXXX", 1, 7, 0, 0),
                PROBE.pack(b"AWR1", 99, 7, 1, 0),
                b"x" * 900,
            ):
                client.send(stranger)
            waits = []
            for _ in range(20):
                magic, number, nonce, kind, waited_us = PROBE.unpack(client.recv(100))
                took = time.monotonic() - sent.pop(number)
                assert (magic, nonce, kind) == (b"AWR1", 7, 1)
                # It may be delivered later than it was sent, never earlier.
                assert took >= waited_us / 1e6 - 0.005
                waits.append(waited_us / 1e6)
            client.settimeout(0.1)
            with pytest.raises(TimeoutError):
                client.recv(100)
        assert max(waits) - min(waits) > 0.3
    finally:
        reflector.send_signal(signal.SIGTERM)
        assert reflector.wait(5) == 0
        reflector.stderr.close()


def test_a_configuration_is_checked_without_wifi(tmp_path):
    config = tmp_path / "station.toml"
    config.write_text('[power_save]\npolicy = "latency-guard"\nbound = "20ms"\n')
    assert call(DAEMON, "station", config, "--check", check=False).returncode == 0
    config.write_text('[power_save]\npolicy = "latency-guard"\nbound = "20"\n')
    done = call(DAEMON, "station", "run", config, "--check", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert f"{config}: power_save" in done.stderr
    config.write_text("observe = '5s'\ninterface =\n")
    assert f"{config}: line 2: " in call(DAEMON, "station", config, "--check", check=False).stderr
    config.write_text('interface = "lo"\n')
    done = call(DAEMON, "station", config, "--check", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert 'interface: expected a Wi-Fi interface, got "lo"' in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a namespace of mounts")
def test_the_file_of_the_service_is_read_if_none_is_named():
    script = (
        "mount -t tmpfs etc /etc && mkdir /etc/airwatt && echo 'obsrve = 1' >/etc/airwatt/station.toml &&"
        ' exec "$0" station run --check'
    )
    done = call("unshare", "--mount", "sh", "-c", script, DAEMON, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "/etc/airwatt/station.toml: obsrve: unknown field `obsrve`, expected one of `interface`" in done.stderr
    # No daemon runs with that, which `status` does not leave to the journal to say.
    asked = call("unshare", "--mount", "sh", "-c", script.replace("run --check", "status"), DAEMON, check=False)
    assert (asked.returncode in (1, 4), len(asked.stderr.splitlines())) == (True, 1)
    assert "; a daemon would end with status 2: /etc/airwatt/station.toml: obsrve: unknown field" in asked.stderr
    well = script.replace("echo 'obsrve = 1' >", "echo 'observe = \"5min\"' >").replace("run --check", "status")
    assert "would end" not in call("unshare", "--mount", "sh", "-c", well, DAEMON, check=False).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a namespace of mounts")
def test_a_configuration_that_this_user_may_not_read_is_an_error_and_the_doctor_says_so():
    plain = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    script = (
        "mount -t tmpfs etc /etc && mkdir -m 700 /etc/airwatt && touch /etc/airwatt/station.toml &&"
        f' cp "$0" /etc/airwattd && chmod 755 /etc /etc/airwattd && exec {plain} /etc/airwattd station "$@"'
    )
    done = call("unshare", "--mount", "sh", "-c", script, DAEMON, "--check", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "/etc/airwatt/station.toml: " in done.stderr
    done = call("unshare", "--mount", "sh", "-c", script, DAEMON, "doctor", "--json", check=False)
    assert "by the defaults, since this user may not read /etc/airwatt/station.toml" in json.loads(done.stdout)["would"]


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a namespace of mounts")
def test_the_doctor_reports_on_the_host_beside_a_wrong_configuration():
    script = (
        "mount -t tmpfs etc /etc && mkdir /etc/airwatt && echo 'metrics = \"bad\"' >/etc/airwatt/station.toml &&"
        ' exec "$0" station doctor "$@"'
    )
    done = call("unshare", "--mount", "sh", "-c", script, DAEMON, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "/etc/airwatt/station.toml: metrics: " in done.stderr
    facts = [line.split()[0] for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert {"kernel", "eBPF", "supply", "privileges", "also", "the"} <= set(facts)
    assert "would end with status 2: /etc/airwatt/station.toml: metrics: " in " ".join(done.stdout.split())
    document = json.loads(call("unshare", "--mount", "sh", "-c", script, DAEMON, "--json", check=False).stdout)
    assert document["config_error"].startswith("/etc/airwatt/station.toml: metrics: ")


@pytest.mark.skipif(Path("/run/systemd/system").is_dir(), reason="systemd runs here")
def test_without_systemd_the_doctor_cannot_be_a_unit():
    done = call(DAEMON, "station", "doctor", "--as-unit", check=False)
    assert (done.returncode, done.stderr.splitlines()) == (4, [done.stderr.strip()])
    assert "systemd does not run" in done.stderr


@pytest.mark.parametrize("verb", ["run", "status", "off", "doctor"])
def test_an_interface_has_a_name_and_no_path(verb):
    done = call(DAEMON, "station", verb, "--interface", "../x", *(["--check"] if verb == "run" else []), check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "--interface" in done.stderr
    assert '"../x"' in done.stderr


def test_a_command_behind_an_option_is_no_file():
    done = call(DAEMON, "station", "--interface", "aw9", "off", check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.endswith("hint: airwattd station off --interface aw9\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for /run/airwatt")
def test_off_ends_the_daemon_also_if_it_cannot_be_remembered():
    """What stands for the daemon takes the command `stop`, and goes. The first interface has the same reason."""
    with control_socket("aw9", {"stop": {"stopping": True}}):
        # A folder in which nobody can write, root neither.
        words = ["env", "STATE_DIRECTORY=/proc/airwatt", DAEMON, "station", "off"]
        off = subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE, text=True)
        _, said = off.communicate(timeout=10)
    assert (off.returncode, said) == (
        1,
        "airwattd: aw9: the daemon has ended and power save is restored; later starts are not prevented: "
        "/proc/airwatt: No such file or directory\n",
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to become another user")
@pytest.mark.parametrize("word", ["off", "on"])
def test_another_user_is_told_that_root_switches_it_off_and_on(tmp_path, word):
    tmp_path.chmod(0o700)
    as_nobody = ("setpriv", "--reuid=65534", "--clear-groups", DAEMON, "station", word)
    done = call("env", f"STATE_DIRECTORY={tmp_path}", *as_nobody, check=False)
    said = f"{'nothing is switched off: ' if word == 'off' else ''}{tmp_path}: Permission denied: run this as root"
    # While a daemon of another test has files there.
    other = "/run/airwatt: permission denied: run this as root"
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr in (f"airwattd: {said}\n", f"airwattd: {other}\n")


def test_the_unit_of_the_congestion_control_is_hardened(tmp_path):
    shipped = ROOT / "packaging/systemd/airwattd-cc@.service"
    unit = tmp_path / shipped.name
    unit.write_text(shipped.read_text().replace("/usr/bin/airwattd", str(DAEMON)))
    check_exposure(unit)


@pytest.mark.parametrize("words", [[], ["--interface", "%i"]])
def test_the_units_ship_and_are_hardened(words, tmp_path):
    shipped = ROOT / f"packaging/systemd/airwattd-station{'@' if words else ''}.service"
    assert call(DAEMON, "station", "unit", *words).stdout == shipped.read_text()
    unit = tmp_path / shipped.name
    # What the unit runs has to exist for the analysis.
    unit.write_text(shipped.read_text().replace("/usr/bin/airwattd", str(DAEMON)))
    check_exposure(unit)


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to give up capabilities")
def test_the_program_that_counts_packets_loads_with_the_capabilities_of_the_unit():
    unit = (ROOT / "packaging/systemd/airwattd-station.service").read_text()
    bounds = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE)
    assert bounds is not None
    allowed = "-all," + ",".join(f"+{name.removeprefix('CAP_').lower()}" for name in bounds[1].split())
    limits = ("--bounding-set", allowed, "--inh-caps", allowed, "--ambient-caps", allowed)
    said = call("setpriv", *limits, DAEMON, "station", "doctor", check=False).stdout
    root = call(DAEMON, "station", "doctor", check=False).stdout
    ebpf = [line for line in root.splitlines() if line.strip().startswith("eBPF")]
    assert ebpf
    assert ebpf == [line for line in said.splitlines() if line.strip().startswith("eBPF")]


def test_daemons_may_install_their_own_filter_of_system_calls_and_give_up_privileges(tmp_path):
    """The group of systemd 252 (Debian 12) does not have the call, and @privileged has capset.

    Daemons that begin with the privileges that they keep do not need the latter.
    """
    call(ROOT / "packaging/debian/units", DAEMON, tmp_path)
    units = sorted(tmp_path.glob("*.service"))
    assert len(units) == 5
    for unit in units:
        text = unit.read_text()
        filters = re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE)
        assert "seccomp" in " ".join(filters).split(), unit.name
        forbidden = [words for words in filters if words.startswith("~")]
        begins_with_few = "tunnel" in unit.name or "gateway" in unit.name
        assert forbidden == (["~@privileged @resources"] if begins_with_few else []), unit.name
        assert "SystemCallErrorNumber=EPERM" in text.splitlines(), "it says what it may not do"


def test_the_unit_waits_for_an_interface_that_comes_late_and_not_for_a_better_configuration():
    lines = (ROOT / "packaging/systemd/airwattd-station.service").read_text().splitlines()
    assert {"StartLimitIntervalSec=0", "Restart=on-failure", "RestartPreventExitStatus=2 5"} <= set(lines)
    assert lines.index("StartLimitIntervalSec=0") < lines.index("[Service]")


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a mount of its own")
def test_a_removal_keeps_what_is_enabled_and_a_purge_nothing(tmp_path):
    """Without a running systemd, as in the folder of an image; links of other packages stay."""
    wants = "/etc/systemd/system/multi-user.target.wants"
    # This is about links: no folder of the host is removed.
    for name in ("rm", "deb-systemd-helper"):
        (tmp_path / name).symlink_to(shutil.which("true"))
    script = f"""
    mkdir -p /etc/systemd/system && mount -t tmpfs none /etc/systemd/system && mkdir {wants}
    for unit in airwattd-station airwattd-cc@wlan0 ssh; do ln -s /nowhere {wants}/$unit.service; done
    for step in "prerm upgrade" "prerm remove" "postrm purge"; do
        PATH={tmp_path}:$PATH sh {ROOT}/packaging/debian/$step && ls {wants} || exit
    done
    """
    if Path("/run/systemd/system").exists():
        pytest.skip("systemd runs here, and its units are not to be ended")
    listed = call("unshare", "--mount", "sh", "-c", script).stdout.split()
    assert listed == [*["airwattd-cc@wlan0.service", "airwattd-station.service", "ssh.service"] * 2, "ssh.service"]


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a mount of its own")
def test_maintainer_scripts_restart_and_end_what_runs_as_the_policy_of_the_host_allows(tmp_path):
    """Programs that only write down how they are called stand for Debian's. An upgrade leaves gateways and cc alone."""
    units = ["airwattd-station", "airwattd-tunnel@a", "airwattd-gateway@b", "airwattd-cc@wlan0"]
    listed = "".join(f"{unit}.service loaded active running text\\n" for unit in units)
    said = tmp_path / "said"
    listing = f'case "$1" in list-units) printf "{listed}" ;; esac'
    helper = f'case "$*" in *is-enabled*) test -e {tmp_path}/enabled ;; esac'
    programs = {"systemctl": listing, "deb-systemd-invoke": ":", "deb-systemd-helper": helper}
    folder = tmp_path / "programs"
    folder.mkdir()
    for tool in ("sh", "cut", "find"):
        (folder / tool).symlink_to(shutil.which(tool))
    for name, body in programs.items():
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{said}\n{body}\n')
        (folder / name).chmod(0o755)

    def run(name, *words):
        said.write_text("")
        script = (
            "mount -t tmpfs none /run && mkdir -p /run/systemd/system && mount -t tmpfs none /etc/systemd/system &&"
            f' PATH={folder} exec sh {ROOT}/packaging/debian/{name} "$@"'
        )
        printed = call("unshare", "--mount", "sh", "-c", script, "sh", *words).stdout
        asks = ("systemctl list-units", "deb-systemd-helper")
        return printed, [line for line in said.read_text().splitlines() if not line.startswith(asks)]

    services = [f"{unit}.service" for unit in units]
    assert run("prerm", "upgrade", "2") == ("", [])
    for version in ("", "1"):
        printed, calls = run("postinst", "configure", version)
        assert printed.endswith(f"until they are restarted: {' '.join(services[2:])}\n")
        assert calls == [
            "systemctl --system daemon-reload",
            f"deb-systemd-invoke restart {' '.join(services[:2])}",
        ]
    # One that is enabled is restarted once, whether it runs or not.
    (tmp_path / "enabled").touch()
    assert f"deb-systemd-invoke restart {' '.join(services[:2])}" in run("postinst", "configure", "1")[1]
    assert run("prerm", "remove") == ("", [f"deb-systemd-invoke stop {' '.join(services)}"])


def test_networkmanager_is_told_to_leave_power_save_alone():
    text = (ROOT / "packaging/NetworkManager/90-airwatt-station.conf").read_text()
    parsed = configparser.ConfigParser()
    parsed.read_string(text)
    assert dict(parsed["connection-airwatt-station"]) == {"match-device": "type:wifi", "wifi.powersave": "1"}


class WaitingDaemon:
    """A daemon that waits for its Wi-Fi interface, as a service manager starts it, where there is none."""

    def __init__(self, folder: Path, *words: object):
        self.folder = folder
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(folder / "notify"))
        self.manager.settimeout(10)
        self.environment = os.environ | {"STATE_DIRECTORY": str(folder)}
        command = list(map(str, ["unshare", "--net", DAEMON, "station", *words]))
        environment = self.environment | {"NOTIFY_SOCKET": str(folder / "notify")}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> "WaitingDaemon":
        self.expect("READY=1", "STATUS=waits for a Wi-Fi interface")
        return self

    def __exit__(self, *error: object) -> None:
        self.process.terminate()
        self.process.communicate(timeout=5)
        self.manager.close()

    def expect(self, *lines: str) -> None:
        """The next message to the service manager has these lines."""
        said = self.manager.recv(4096).decode().splitlines()
        assert set(lines) <= set(said), said

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of `airwattd station` in its network namespace."""
        command = ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", str(DAEMON), "station", *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)

    def metrics(self, path: Path) -> str:
        """What it serves for Prometheus on a Unix socket."""
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(5)
            stream.connect(str(path))
            stream.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            return b"".join(iter(lambda: stream.recv(4096), b"")).decode()


needs_namespaces = pytest.mark.skipif(os.geteuid() != 0, reason="root is needed for a network namespace")


@needs_namespaces
def test_a_service_waits_for_wifi_and_says_so_once(tmp_path):
    """A host without Wi-Fi is no failure of a unit that is enabled everywhere, and an adapter may be plugged in."""
    with WaitingDaemon(tmp_path) as daemon:
        with pytest.raises(subprocess.TimeoutExpired):
            daemon.process.wait(0.5)
        daemon.process.terminate()
        said = daemon.process.communicate(timeout=5)[1]
        assert daemon.process.returncode == 0
        assert "waits for one" in said
        assert len(said.splitlines()) == 1


@needs_namespaces
def test_a_daemon_that_waits_reads_its_configuration_again(tmp_path):
    config, first, second = (tmp_path / name for name in ("station.toml", "first", "second"))
    config.write_text(f'metrics = "unix:{first}"\n')
    with WaitingDaemon(tmp_path, config) as daemon:
        assert "waits for one" in daemon.process.stderr.readline()
        assert 'airwatt_station_waiting{interface="-"} 1\n' in daemon.metrics(first)
        config.write_text(f'metrics = "unix:{second}"\ninterface = "aw7"\n')
        daemon.process.send_signal(signal.SIGHUP)
        daemon.expect("RELOADING=1")
        daemon.expect("READY=1")
        assert 'airwatt_station_waiting{interface="aw7"} 1\n' in daemon.metrics(second)
        assert not first.exists()
        config.write_text("obsrve = 1\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.expect("RELOADING=1")
        daemon.expect("READY=1")
        assert "obsrve: unknown field" in daemon.process.stderr.readline()
        assert json.loads(daemon.call("status", "--json").stdout)["interface"] == "aw7"


@needs_namespaces
@pytest.mark.parametrize("words", [[], ["--interface", "aw7"]])
def test_a_daemon_that_waits_is_known_and_switched_off(tmp_path, words):
    name = words[-1] if words else "the first Wi-Fi interface"
    with WaitingDaemon(tmp_path, *words) as daemon:
        for verb in ("status", "report"):
            done = daemon.call(verb, *words)
            facts = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if not line.startswith(" "))
            assert (done.returncode, facts["interface"]) == (0, name), done.stderr
            assert facts["state"].startswith("waits: ")
        document = json.loads(daemon.call("status", "--json").stdout)
        assert (document["state"], document["interface"]) == ("waits", words[-1] if words else None)
        assert "airwatt_station_waiting{" in daemon.call("status", "--metrics").stdout
        assert daemon.call("on", *words).stderr.count("nothing") == 1, "it was not switched off"

        other = daemon.call("off", "--interface", "aw9")
        assert daemon.process.poll() is None
        assert (other.returncode, "still waits" in other.stderr) == (0, not words)
        done = daemon.call("off", *words)
        assert done.stderr.startswith(f"{name}: the daemon that waited for it has ended, and none starts there until")
        assert (done.returncode, daemon.process.wait(5)) == (0, 0)

    def now(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(DAEMON), "station", *words]
        return subprocess.run(command, env=daemon.environment, capture_output=True, text=True, check=False)

    status, doctor = now("status", *words), now("doctor", *words)
    assert (status.returncode, status.stdout) == (1, "")
    assert status.stderr.endswith("; it was switched off: airwattd station on\n"), status.stderr
    said = " ".join(doctor.stdout.split())
    assert said.endswith("would end at once: `airwattd station off` was said, and not yet `on` -> airwattd station on")
    again = now(*words)
    assert (again.returncode, len(again.stderr.splitlines())) == (0, 1)
    assert f"{name}: switched off by" in again.stderr
    assert "a daemon may start again" in call("env", f"STATE_DIRECTORY={tmp_path}", DAEMON, "station", "on").stderr
    assert not list(tmp_path.glob("*.off"))


@needs_namespaces
def test_two_daemons_that_wait_have_one_address_of_metrics_and_the_first_is_shown(tmp_path):
    config, page = tmp_path / "station.toml", tmp_path / "page"
    config.write_text(f'metrics = "unix:{page}"\n')
    with WaitingDaemon(tmp_path, config) as daemon:
        assert "waits for one" in daemon.process.stderr.readline()
        enter = ["nsenter", f"--net=/proc/{daemon.process.pid}/ns/net", str(DAEMON), "station"]
        words = [*enter, "run", "--interface", "aw7", config]
        environment = daemon.environment | {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as second:
            said = second.stderr.readline()
            assert "runs without metrics" in said
            assert f"{page}: another daemon listens there" in said
            assert "aw7: " in second.stderr.readline()
            assert 'airwatt_station_waiting{interface="-"} 1\n' in daemon.metrics(page)
            for verb in (["status"], ["report"], ["status", "--metrics"]):
                done = daemon.call(*verb)
                assert (done.returncode, len(done.stderr.splitlines())) == (0, 1), done.stderr
                assert "a daemon waits for aw7 too; hint: --interface" in done.stderr
                assert ":first" not in done.stdout + done.stderr
            assert json.loads(daemon.call("status", "--interface", "aw7", "--json").stdout)["interface"] == "aw7"
            assert daemon.call("off").returncode == 0
            assert (daemon.process.wait(5), second.wait(5)) == (0, 0)


@needs_namespaces
@pytest.mark.skipif(not shutil.which("systemctl"), reason="systemctl is not installed")
def test_the_first_installation_enables_what_a_preset_says_and_an_upgrade_nothing():
    """Without a running systemd, as in the folder of an image."""
    if Path("/run/systemd/system").exists():
        pytest.skip("systemd runs here, and its units are not to be changed")
    lib = "/usr/lib/systemd"
    folders = ("/etc/systemd/system", f"{lib}/system", f"{lib}/system-preset", "/var/lib/systemd")
    mounts = "; ".join(f"mkdir -p {folder}; mount -t tmpfs none {folder}" for folder in folders)
    wants = "/etc/systemd/system/multi-user.target.wants/airwattd-station.service"

    def is_enabled(script: str) -> bool:
        shell = f"""set -e; export DPKG_MAINTSCRIPT_PACKAGE=airwattd; {mounts}
        cp {ROOT}/packaging/systemd/*.service {lib}/system
        cp {ROOT}/packaging/debian/90-airwattd.preset {lib}/system-preset
        preset() {{ echo "enable airwattd-station.service" >{lib}/system-preset/50-distribution.preset; }}
        postinst() {{ sh {ROOT}/packaging/debian/postinst configure "$1" 2>&1; }}
        {script}
        if [ -L {wants} ]; then echo enabled; fi"""
        return call("unshare", "--mount", "bash", "-c", shell).stdout.endswith("enabled\n")

    assert not is_enabled("postinst ''")
    assert is_enabled("preset; postinst ''")
    assert not is_enabled("postinst ''; preset; postinst 1"), "an upgrade enables nothing"
    assert not is_enabled(f"preset; postinst ''; rm {wants}; postinst 1"), "the administrator has disabled it"
    assert is_enabled("postinst ''; systemctl enable airwattd-station; postinst 1"), "the administrator has enabled it"
