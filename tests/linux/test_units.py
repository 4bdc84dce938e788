"""The units of the package under a real systemd: each starts, is reloaded, ends and leaves nothing.

`boot-systemd` boots the systemd of this host in namespaces. Where there are Wi-Fi interfaces, the station's unit is
tried on them; a long test has simulated ones, under Debian's own kernel.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import DAEMON, HERE, ROOT, await_true, call, exclusive

from debian_kernel import passes_there

NEEDS = ("unshare", "nsenter", "systemctl", "ip")
UNITS = "/usr/lib/systemd/system"
# An emulated processor is some ten times slower, and `in-debian-kernel` says so.
SLOWER = int(os.environ.get("AIRWATT_SLOWER", "1"))
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def why_not() -> str | None:
    """The reason why no systemd can be booted here; None if it can."""
    if os.geteuid() != 0:
        return "root is needed for namespaces"
    if not DAEMON.exists():
        return f"{DAEMON} is not built: make build"
    if absent := [program for program in NEEDS if not shutil.which(program)]:
        return f"not installed: {', '.join(absent)}"
    if not Path("/lib/systemd/systemd").exists():
        return "systemd is not installed"
    script = """
    cd /mnt && mount -t tmpfs none . && cd /mnt && mkdir upper work root cgroup && mount -t cgroup2 none cgroup &&
    mount -t overlay root -o lowerdir=/,upperdir=upper,workdir=work root
    """
    if call("unshare", "--mount", "--cgroup", "sh", "-c", script, check=False).returncode != 0:
        return "this host mounts no overlay or no cgroup2"
    return None


pytestmark = pytest.mark.skipif((reason := why_not()) is not None, reason=str(reason))


class Machine:
    """What runs under its own systemd."""

    def __init__(self, work: Path):
        self.layer = work / "layer"
        units = self.layer / "usr/lib/systemd/system"
        for folder in (units, self.layer / "usr/lib/systemd/system-preset", self.layer / "etc/airwatt"):
            folder.mkdir(parents=True)
        shutil.copy(ROOT / "packaging/debian/90-airwattd.preset", self.layer / "usr/lib/systemd/system-preset")
        call(ROOT / "packaging/debian/units", DAEMON, units)
        (self.layer / "usr/bin").mkdir()
        shutil.copy(DAEMON, self.layer / "usr/bin/airwattd")
        self.configure()
        self.boot = subprocess.Popen([HERE / "boot-systemd", work])
        self.init = await_true(self.find_init, 30 * SLOWER, "systemd did not start", interval=0.1)
        try:
            await_true(self.is_up, 60 * SLOWER, interval=0.2 * SLOWER)
        except AssertionError:
            waits = self.run("systemctl", "list-jobs", "--no-pager", check=False)
            pytest.fail(
                f"systemd did not come up:\n{waits}\n{self.run('journalctl', '--no-pager', '-n', '60', check=False)}"
            )

    def configure(self) -> None:
        """Writes what the units of tunnels and gateways read."""
        folder = self.layer / "etc/airwatt"
        folder.chmod(0o700)
        words = ("--endpoint", "127.0.0.1", "--reach", "nothing", "--interface", "tun0", "--folder", folder)
        call(DAEMON, "tunnel", "pair", *words)
        (folder / "tun0-concentrator.toml").rename(folder / "tun0.toml")
        private, other = (call(DAEMON, "genkey").stdout.strip() for _ in range(2))
        public = subprocess.run([DAEMON, "pubkey"], input=other, capture_output=True, text=True, check=True)
        text = call(DAEMON, "gateway", "example", "base").stdout.replace("airwatt-gw", "gw0")
        text = text.replace("BASE_PRIVATE_KEY", private).replace("MOBILE_PUBLIC_KEY", public.stdout.strip())
        (folder / "gateway-gw0.toml").write_text(text)
        (folder / "gateway-gw0.toml").chmod(0o600)

    def find_init(self) -> int | None:
        """The process 1 of the machine, as soon as it is systemd."""
        assert self.boot.poll() is None, "boot-systemd failed"
        children = Path(f"/proc/{self.boot.pid}/task/{self.boot.pid}/children").read_text().split()
        found = [int(child) for child in children if Path(f"/proc/{child}/comm").read_text() == "systemd\n"]
        return found[0] if found else None

    def run(self, *command: object, check: bool = True) -> str:
        """Returns what a command in the machine prints."""
        # Its root as well: that of its mount namespace may be the kernel's first file system, as in a virtual machine.
        kinds = ("--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup")
        words = ("nsenter", f"--target={self.init}", *kinds, "--root", "--wd")
        done = call(*words, "env", "-i", PATH, *command, check=check, timeout=60 * SLOWER)
        return done.stdout

    def is_up(self) -> bool:
        return "active" in self.run("systemctl", "is-active", "basic.target", check=False).split()

    def shows(self, unit: str, *properties: str) -> list[str]:
        words = [f"--property={name}" for name in properties]
        return [line.partition("=")[2] for line in self.run("systemctl", "show", unit, *words).splitlines()]

    def start(self, unit: str) -> None:
        self.run("systemctl", "start", unit, check=False)
        result = self.shows(unit, "Result", "ActiveState")
        assert result == ["success", "active"], self.run("journalctl", "--no-pager", "--unit", unit)

    def end(self) -> None:
        self.boot.kill()
        self.boot.wait()


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("systemd"))
    try:
        made.run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1")
        made.run("ip", "address", "add", "192.0.2.1/24", "dev", "veth0")
        for name in ("veth0", "veth1"):
            made.run("ip", "link", "set", name, "up")
        yield made
    finally:
        made.end()


def state(machine: Machine) -> tuple[str, ...]:
    """What the daemons may change: rules, routes, settings, nftables' being beside the point."""
    settings = "cd /proc/sys/net && grep -r . ipv4/ip_forward ipv4/conf/all ipv6/conf/all 2>/dev/null | sort"
    return tuple(machine.run(*words) for words in (["ip", "rule"], ["ip", "route"], ["sh", "-c", settings]))


@pytest.mark.parametrize("unit", ["airwattd-tunnel@tun0", "airwattd-gateway@gw0"])
def test_tunnels_and_gateways_start_are_reloaded_end_and_leave_nothing(machine, unit):
    before = state(machine)
    machine.start(unit)
    verb, name = ("show", "tun0") if "tunnel" in unit else ("status", "gw0")
    kind = unit.removeprefix("airwattd-").partition("@")[0]
    (shown,) = json.loads(machine.run("airwattd", kind, verb, name, "--json"))[f"{kind}s"]
    assert shown["interface"] == name
    machine.run("systemctl", "reload", unit)
    main = machine.shows(unit, "MainPID")
    machine.run("systemctl", "kill", "--signal=KILL", "--kill-who=main", unit)
    others = [["0"], main]
    await_true(
        lambda: machine.shows(unit, "MainPID") not in others, 20 * SLOWER, "it was not started again", interval=0.1
    )
    await_true(lambda: machine.shows(unit, "ActiveState") == ["active"], 20 * SLOWER, "it did not start", interval=0.1)
    machine.run("systemctl", "stop", unit)
    assert machine.shows(unit, "Result", "ActiveState") == ["success", "inactive"]
    assert state(machine) == before


def test_the_congestion_control_is_loaded_and_unloaded(machine):
    with exclusive():
        before = state(machine)
        machine.start("airwattd-cc@veth0")
        assert "congctl ackloss" in machine.run("ip", "route")
        machine.run("systemctl", "stop", "airwattd-cc@veth0")
        assert machine.shows("airwattd-cc@veth0", "Result", "ActiveState") == ["success", "inactive"]
        assert state(machine) == before


def wifi_interfaces() -> list[str]:
    found = (interface for interface in Path("/sys/class/net").iterdir() if (interface / "phy80211").exists())
    return sorted(
        (interface.name for interface in found), key=lambda name: Path(f"/sys/class/net/{name}/ifindex").read_text()
    )


@contextlib.contextmanager
def read_only(machine: Machine, folder: str) -> Iterator[None]:
    machine.run("mount", "--bind", folder, folder)
    machine.run("mount", "-o", "remount,bind,ro", folder)
    try:
        yield
    finally:
        machine.run("umount", folder)


def test_without_wifi_the_stations_unit_waits_with_a_read_only_disk_too(machine):
    unit = "airwattd-station"
    with read_only(machine, "/var/lib"):
        machine.start(unit)
        assert machine.shows(unit, "StatusText") == ["waits for a Wi-Fi interface"]
        machine.run("systemctl", "stop", unit)
    machine.start(unit)
    assert machine.run("stat", "--format=%a", "/var/lib/airwatt") == "700\n"
    instance = f"{unit}@wlan7"
    machine.start(instance)
    for waits in (unit, instance):
        machine.run("systemctl", "reload", waits)
        assert machine.shows(waits, "StatusText", "ActiveState") == ["waits for a Wi-Fi interface", "active"]
        assert "waits for one" in machine.run("journalctl", "--no-pager", "--unit", waits)
    machine.run("systemctl", "stop", unit, instance)
    assert machine.shows(unit, "ActiveState") == ["inactive"]


@pytest.mark.skipif(not wifi_interfaces() or not shutil.which("iw"), reason="there is no Wi-Fi here, or no iw")
def test_the_stations_unit_has_the_first_interface_and_instances_have_the_others(machine):
    first, second, *_ = wifi_interfaces()
    for name in (first, second):
        phy = Path(f"/sys/class/net/{name}/phy80211/name").read_text().strip()
        call("iw", "phy", phy, "set", "netns", machine.init)
        machine.run("ip", "link", "set", name, "up")
    for unit, name in (("airwattd-station", first), (f"airwattd-station@{second}", second)):
        machine.run("iw", "dev", name, "set", "power_save", "on")
        with read_only(machine, "/var/lib"):
            machine.start(unit)
            log = machine.run("journalctl", "--no-pager", "--unit", unit)
            assert "the account is not kept" in log
            assert f"{first}: the first Wi-Fi interface (none is connected); " in log or name == second
            await_true(lambda name=name, unit=unit: machine.shows(unit, "StatusText") == [name], 30 * SLOWER, unit)
            document = json.loads(machine.run("airwattd", "station", "status", "--interface", name, "--json"))
            assert document["interface"] == name
            machine.run("systemctl", "stop", unit)
        assert machine.shows(unit, "Result", "ActiveState") == ["success", "inactive"]
        assert machine.run("iw", "dev", name, "get", "power_save").strip() == "Power save: on"
    document = json.loads(machine.run("airwattd", "station", "doctor", "--json"))
    assert (document["interface"], document["other_interfaces"]) == (first, [second])


def test_the_doctor_tries_the_restrictions_of_the_unit(machine):
    said = machine.run("airwattd", "station", "doctor", "--as-unit", "--json", check=False)
    document = json.loads(said)
    keys = ("bpf", "bpf_error", "missing_capability", "confined", "confined_error")
    assert [document[key] for key in keys] == [True, None, None, True, None]
    # Beside them, those of another unit.
    filters = ["--property=SystemCallFilter=~seccomp", "--property=SystemCallErrorNumber=EPERM"]
    words = ["systemd-run", "--quiet", "--pipe", "--wait", *filters, "airwattd", "station", "doctor"]
    said = " ".join(machine.run(*words, check=False).split())
    assert re.search("restrictions seccomp: .*Operation not permitted .* -> a unit has to permit", said), said
    words[words.index(filters[0])] = "--property=SystemCallFilter=~bpf"
    said = " ".join(machine.run(*words, check=False).split())
    assert re.search("eBPF counting packets .* -> a unit has to permit the system call bpf", said), said


def test_nothing_is_enabled_by_a_preset(machine):
    units = [
        "airwattd-station",
        "airwattd-station@wlan0",
        "airwattd-cc@wlan0",
        "airwattd-tunnel@tun0",
        "airwattd-gateway@gw0",
    ]
    for unit in units:
        machine.run("systemctl", "preset", unit)
        assert machine.run("systemctl", "is-enabled", unit, check=False) == "disabled\n", unit
        machine.run("systemctl", "enable", unit)
        assert machine.run("systemctl", "is-enabled", unit) == "enabled\n", unit
        machine.run("systemctl", "disable", unit)


@pytest.mark.skipif(not shutil.which("deb-systemd-invoke"), reason="init-system-helpers are not installed")
def test_the_first_installation_starts_what_a_distribution_enables(machine):
    unit, presets = "airwattd-station", "/etc/systemd/system-preset"

    def script(name: str, *words: str) -> None:
        text = (ROOT / "packaging/debian" / name).read_text()
        machine.run("env", "DPKG_MAINTSCRIPT_PACKAGE=airwattd", "sh", "-c", text, name, *words)

    # An image that starts no services by its policy is another matter.
    machine.run("rm", "-f", "/usr/sbin/policy-rc.d")
    machine.run("mkdir", "-p", presets)
    machine.run("sh", "-c", f"echo enable {unit}.service >{presets}/50-distribution.preset")

    def now() -> tuple[str, str]:
        return machine.run("systemctl", "is-enabled", unit, check=False).strip(), machine.shows(unit, "ActiveState")[0]

    script("postinst", "configure", "")
    assert now() == ("enabled", "active")
    # What was removed, and is installed again, is enabled as it was.
    script("prerm", "remove")
    assert now() == ("enabled", "inactive")
    script("postrm", "remove")
    script("postinst", "configure", "1.0-1")
    assert now() == ("enabled", "active")
    machine.run("systemctl", "disable", "--now", unit)
    for installed in ("1.0-1", "1.1-1"):
        script("postinst", "configure", installed)
        assert now() == ("disabled", "inactive")
    machine.run("systemctl", "mask", unit)
    script("postinst", "configure", "1.2-1")
    assert now() == ("masked", "inactive")
    # A purge forgets what was enabled, and leaves what the administrator has masked.
    script("postrm", "purge")
    assert now() == ("masked", "inactive")
    machine.run("systemctl", "unmask", unit)
    script("postinst", "configure", "")
    assert now() == ("enabled", "active")
    machine.run("systemctl", "disable", "--now", unit)
    machine.run("rm", f"{presets}/50-distribution.preset")


def test_systemd_reads_every_line_of_the_units(machine):
    """What it does not know it leaves out, and says so."""
    said = machine.run("journalctl", "--no-pager", "--boot", "_PID=1")
    assert not re.search(r"airwattd-\S*\.service:\d+: ", said), said


@pytest.mark.long
def test_with_wifi_under_debians_kernel():
    words = ("tests/linux/test_units.py", "-m", "not long")
    assert " passed" in passes_there(*words, needs=("iw",), module="mac80211_hwsim radios=2")
