"""What `airwattd cc` remembers: its lock, its undo log, and what is found without it, however it ended."""

import contextlib
import fcntl
import json
import os
import platform
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import interrupt
from congestion import AVAILABLE, PINS, STATE, cc, is_one_line, kernel  # noqa: F401 - the fixture is asked for by name
from lan import Lan

REASON = missing()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.usefixtures("kernel"),
    pytest.mark.xdist_group("kernel"),
]

LOAD = ("load", "--interface", "wifi", "--default")


@pytest.fixture
def lan():
    with Lan((0, 0)) as made:
        yield made


def default(lan) -> str:
    return lan.run("cat", "/proc/sys/net/ipv4/tcp_congestion_control").stdout.strip()


def observed(lan) -> tuple:
    """Everything that loading changes, as far as it shows."""
    mounted = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {PINS} " in line]
    ours = [name for name in AVAILABLE.read_text().split() if name.startswith("ackloss")]
    return lan.routes(), default(lan), ours, mounted, STATE.exists()


def test_eight_loads_at_once(lan):
    before = observed(lan)
    command = lan.inside(DAEMON, "cc", *LOAD)
    loads = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    said = [load.communicate(timeout=60)[1] for load in loads]
    assert [load.returncode for load in loads] == [0] * 8, said
    # One of them changed something, and remembers each of its changes once.
    assert sum("[#]" in each for each in said) == 1
    lines = [json.loads(line) for line in STATE.read_text().splitlines()[1:]]
    assert all(line["complete"] for line in lines)
    assert len(lines) == sum("congctl ackloss" in line for line in lan.routes()) + 1
    unloads = [
        subprocess.Popen(lan.inside(DAEMON, "cc", "unload"), stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = [unload.communicate(timeout=60)[1] for unload in unloads]
    assert [unload.returncode for unload in unloads] == [0] * 4, said
    assert sum(each.endswith("\nunloaded\n") for each in said) == 1
    assert observed(lan) == before


def test_the_second_waits_ten_seconds_and_names_the_first():
    STATE.parent.mkdir(mode=0o700, exist_ok=True)
    holder = os.open(STATE.parent, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX)
        began = time.monotonic()
        with ThreadPoolExecutor() as both:
            ended = list(both.map(lambda command: cc(command, check=False), ("load", "unload")))
        for done in ended:
            assert is_one_line(done, 1, "locked by", f"process {os.getpid()} (", "python"), done
        assert 10 <= time.monotonic() - began < 15
        # Reading needs no lock.
        cc("status")
    finally:
        os.close(holder)
    assert "ackloss: loaded" in cc("load").stderr


@pytest.mark.parametrize("umask", ["0000", "0077", "0777"])
def test_modes_do_not_depend_on_the_umask(lan, umask):
    script = f"umask {umask} && exec {DAEMON} cc load --interface wifi"
    lan.run("sh", "-c", script)
    assert oct(STATE.parent.stat().st_mode & 0o7777) == "0o700"
    assert oct(STATE.stat().st_mode & 0o7777) == "0o600"
    lan.cc("unload")


def test_links_in_the_state_folder_lead_nowhere(lan, tmp_path):
    before = observed(lan)
    precious = tmp_path / "precious"
    precious.write_text("precious")
    # A folder of its own: other daemons may have files in that of this host.
    folder = tmp_path / "state"
    state = folder / "cc.jsonl"
    folder.mkdir(mode=0o700)
    state.with_name("cc.jsonl.new").symlink_to(precious)
    lan.cc(*LOAD, "--state", state)
    assert not state.is_symlink()
    lan.cc("unload", "--state", state)
    assert observed(lan) == before
    state.symlink_to(precious)
    assert is_one_line(lan.cc("load", "--state", state, check=False), 2, str(state), "symbolic link", "hint: ")
    assert "symbolic link" in lan.cc("unload", "--state", state).stderr
    assert observed(lan) == before
    folder.rmdir()
    folder.symlink_to(tmp_path)
    done = lan.cc("load", "--state", state, check=False)
    assert is_one_line(done, 2, str(folder), "symbolic link"), done
    folder.unlink()
    assert precious.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_state_file_where_others_may_write_is_refused(lan, tmp_path):
    tmp_path.chmod(0o777)
    for command in ("load", "unload", "status"):
        done = lan.cc(command, "--state", tmp_path / "state", check=False)
        assert is_one_line(done, 2, "--state", "only its owner can write to"), done
    tmp_path.chmod(0o755)
    lan.cc(*LOAD, "--state", tmp_path / "own" / "state")
    assert oct((tmp_path / "own").stat().st_mode & 0o7777) == "0o700"
    lan.cc("unload", "--state", tmp_path / "own" / "state")
    assert [*tmp_path.iterdir()] == []
    # A folder that somebody else has made stays.
    (tmp_path / "own").mkdir(mode=0o700)
    lan.cc(*LOAD, "--state", tmp_path / "own" / "state")
    lan.cc("unload", "--state", tmp_path / "own" / "state")
    assert [*tmp_path.rglob("*")] == [tmp_path / "own"]


def damage_cut(state):
    state.write_bytes(state.read_bytes()[:-40])


def damage_middle(state):
    lines = state.read_text().splitlines()
    lines[2] = lines[2][:30]
    state.write_text("\n".join(lines))


def damage_bytes(state):
    state.write_bytes(bytes(range(256)) * 7)


def damage_numbers(state):
    state.write_text(state.read_text().replace('"message":"0', '"message":"f'))


def damage_empty(state):
    state.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_cut, damage_middle, damage_bytes, damage_numbers, damage_empty, Path.unlink])
def test_unloading_does_without_the_state_file(lan, damage):
    before = observed(lan)
    lan.cc("load", "--interface", "wifi")
    lan.cc(*LOAD)
    damage(STATE)
    if damage is not Path.unlink and damage is not damage_numbers:
        assert is_one_line(lan.cc("load", check=False), 2, str(STATE), "line ", "hint: ")
    done = lan.cc("unload", check=False)
    if done.returncode:
        # What the default was stands nowhere else; all else is undone, and only somebody who insists gets a guess.
        assert done.returncode == 1
        errors = [line for line in done.stderr.splitlines() if line.startswith("airwattd: not undone: ")]
        assert len(errors) == 1
        assert errors[0].endswith("; so the programs stay in the kernel; hint: do that by hand, or use --force")
        assert "\nunloaded" not in done.stderr
        assert [line for line in lan.routes() if "congctl" in line] == []
        lan.cc("unload", "--force")
        lan.run("sysctl", "-qw", f"net.ipv4.tcp_congestion_control={before[1]}")
    assert observed(lan) == before


def test_force_finds_everything_everywhere_without_a_state_file(lan):
    """Routes and the default of a network namespace that this process is not in."""
    before = observed(lan)
    lan.cc(*LOAD)
    STATE.unlink()
    done = cc("unload", check=False)
    assert is_one_line(done, 1, "other network namespaces", f"/run/netns/{lan.name}", "--force"), done
    said = cc("unload", "--force").stderr
    assert said.endswith("\nunloaded\n")
    lan.run("sysctl", "-qw", f"net.ipv4.tcp_congestion_control={before[1]}")
    assert observed(lan) == before


def test_two_network_namespaces_are_unloaded_one_after_the_other(lan):
    before = observed(lan)
    lan.cc(*LOAD)
    other = f"airwatt-other-{os.getpid()}"
    # Unlike `ip netns exec`, this leaves the file system of BPF where it is.
    within = ("nsenter", f"--net=/run/netns/{other}")
    setting = (*within, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")
    call("ip", "netns", "add", other)
    try:
        usual = call(*setting).stdout
        call(*within, DAEMON, "cc", "load", "--default")
        said = lan.cc("unload").stderr
        assert "unloaded in this network namespace; the congestion controls stay registered" in said
        assert f"/run/netns/{other}" in said
        # Routes and the default are as before, and the other namespace has its own.
        assert observed(lan)[:2] == before[:2]
        assert call(*setting).stdout == "ackloss\n"
        said = call(*within, DAEMON, "cc", "unload").stderr
        assert said.endswith("\nunloaded\n")
        assert call(*setting).stdout == usual
        assert observed(lan) == before
    finally:
        call("ip", "netns", "delete", other)


def test_what_is_not_registered_any_more_leaves_no_trace_on_routes(lan):
    """The kernel hides the congestion control of a route then, and shows it again with the next load."""
    before = observed(lan)
    lan.cc("load", "--interface", "wifi")
    for pin in (PINS / "airwatt").iterdir():
        pin.unlink()
    time.sleep(0.2)
    assert not [line for line in lan.routes() if "congctl" in line]
    lan.cc("unload")
    assert observed(lan) == before
    lan.cc("load")
    assert not [line for line in lan.routes() if "congctl" in line]


def test_a_namespace_that_is_gone_is_forgotten_with_force():
    with Lan((0, 0)) as lan:
        lan.cc(*LOAD)
    assert is_one_line(cc("unload", check=False), 1, "cannot be found", "--force")
    assert "is gone" in cc("unload", "--force").stderr
    assert not STATE.exists()


def test_one_failure_does_not_keep_the_rest(lan):
    """A congestion control that a route had and the kernel has no more cannot come back."""
    lan.ip("route", "append", "198.18.0.0/24", "dev", "wifi", "congctl", "reno")
    lan.cc(*LOAD)
    STATE.write_text(STATE.read_text().replace('"before":"reno"', '"before":"gone"'))
    before = default(lan)
    done = lan.cc("unload", check=False)
    assert done.returncode == 1
    assert "airwattd: not undone: route 198.18.0.0/24 dev wifi" in done.stderr
    assert "unloaded" not in done.stderr
    assert default(lan) != before
    assert not [line for line in lan.routes() if "congctl ackloss" in line]
    # What asks for it has gone all the same, and a second attempt finds nothing left to do.
    assert "unloaded" in lan.cc("unload", "--force").stderr


def test_names_of_other_programs_stay(lan):
    before = observed(lan)
    lan.cc(*LOAD)
    mine = PINS / "other-program"
    mine.mkdir()
    try:
        assert "stays mounted: other programs have names in it" in lan.cc("unload").stderr
        assert mine.exists()
    finally:
        mine.rmdir()
    assert "umount" in lan.cc("unload").stderr
    assert observed(lan) == before
    # A mount that was there stays, with nothing in it as well; and so do other names in our folder.
    call("mount", "-t", "bpf", "bpf", PINS)
    try:
        lan.cc(*LOAD)
        (PINS / "airwatt/theirs").mkdir()
        assert f"{PINS}/airwatt stays: other programs have names in it" in lan.cc("unload").stderr
        (PINS / "airwatt/theirs").rmdir()
        lan.cc("load")
        assert "umount" not in lan.cc("unload").stderr
        assert PINS.is_mount()
        assert not (PINS / "airwatt").exists()
    finally:
        call("umount", PINS)


def sample(total: int, points: int) -> list[int]:
    """Gives that many moments over all of them, the last ones included."""
    return sorted({total - 1 - round(index * (total - 1) / (points - 1)) for index in range(points)})


def was_killed_or_over(command, kill_before: int) -> bool:
    """Whether a command was killed at its point; or succeeded without reaching it, since the number of calls varies."""
    seen, status = interrupt.run(command, kill_before)
    return status == -9 or (status == 0 and seen <= kill_before)


def check_undone(lan, before, what: str) -> None:
    """The kernel lets go of what a killed process held a little after the process has ended."""
    with contextlib.suppress(AssertionError):
        await_true(lambda: observed(lan) == before)
    # Programs beside the tests may use the kernel's only list of congestion controls, and do not take the tests' lock.
    assert observed(lan) == before, (what, cc("status").stdout, call("ps", "-eo", "pid,ppid,args").stdout)


def kill_everywhere(lan, points: int) -> None:
    before = observed(lan)
    interrupted = 0
    load, unload = lan.inside(DAEMON, "cc", *LOAD), lan.inside(DAEMON, "cc", "unload")

    def counted(command) -> int:
        seen, status = interrupt.run(command, None)
        assert status == 0
        return seen

    totals = counted(load), counted(unload)
    assert observed(lan) == before
    assert min(totals) > points
    for round_, kill_before in enumerate(sample(totals[0], points)):
        assert was_killed_or_over(load, kill_before)
        if round_ % 2:
            # A second load goes on from whatever there is.
            lan.cc(*LOAD)
            assert sum("congctl ackloss" in line for line in lan.routes()) == 3, kill_before
            assert default(lan) == "ackloss"
        left = STATE.exists() or STATE.with_name("cc.jsonl.new").exists() or (PINS / "airwatt").exists()
        said = lan.cc("unload").stderr
        assert said.endswith("nothing was loaded\n") == (not left), (kill_before, said)
        interrupted += said.endswith("had left is undone\n")
        check_undone(lan, before, f"load killed before call {kill_before}")
    # Before anything was registered: the log names what was about to be changed.
    assert interrupted > 0
    for round_, kill_before in enumerate(sample(totals[1], points)):
        lan.cc(*LOAD)
        assert was_killed_or_over(unload, kill_before)
        if round_ % 2:
            lan.cc(*LOAD)
            assert sum("congctl ackloss" in line for line in lan.routes()) == 3, kill_before
        lan.cc("unload")
        check_undone(lan, before, f"unload killed before call {kill_before}")


KNOWN = pytest.mark.skipif(
    platform.machine() not in interrupt.CALLS, reason="numbers of system calls are not known here"
)


@KNOWN
def test_killed_at_any_point_it_is_undone(lan):
    """Twenty moments of each command, over all system calls that change something."""
    kill_everywhere(lan, 20)


@KNOWN
@pytest.mark.long
def test_killed_at_each_point_it_is_undone(lan):
    kill_everywhere(lan, 150)
