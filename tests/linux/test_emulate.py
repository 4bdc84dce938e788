"""`airwatt emulate` between real kernels: agreement with simulations, carried traffic, and removal of everything it
creates."""

import grp
import hashlib
import json
import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).parent / "airwatt"
# Real time passes for other programs too: a machine that is late is asked again. A test of its own is of lateness.
TRIES = 3
# The lateness of 99 % of the packets has to be below this, since what is compared with simulations moves with it.
LATE_S = 0.005
LATE = "this machine is too slow or too busy for it"


def missing() -> str | None:
    """Returns the reason why emulation is not possible here; None if it is."""
    if os.geteuid() != 0:
        return "root is needed for network namespaces"
    if not Path("/dev/net/tun").exists():
        return "this kernel has no TUN devices"
    return None


REASON = missing()
pytestmark = [pytest.mark.skipif(REASON is not None, reason=str(REASON)), pytest.mark.xdist_group("kernel")]


def program(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    words = [str(PROGRAM), *(str(argument) for argument in arguments)]
    # Under sudo the commands of a scenario are those of the caller, who cannot write to the folders of the tests.
    options.setdefault("env", {name: value for name, value in os.environ.items() if name != "SUDO_USER"})
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **options)


def document(how: str, scenario: object, *arguments: object) -> dict:
    """The result of a run or an emulation. Skips the test where the machine is late each time."""
    if how != "emulate":
        return answer_of(program(how, scenario, "--json", *arguments))
    for _ in range(TRIES):
        done = program(how, scenario, "--json", "--lateness", "50ms", *arguments)
        late = done.stderr.strip()
        if LATE in late:
            continue
        answer = answer_of(done)
        # Without a delivery nothing was late.
        late_s = answer["realtime"]["lateness_s_p99"] or 0.0
        if late_s < LATE_S:
            return answer
        late = f"1 % of the packets were more than {late_s:.3f} s late"
    pytest.skip(late)


def answer_of(done: subprocess.CompletedProcess[str]) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def namespaces(process: str = "[0-9]*") -> set[str]:
    """The network namespaces of a process, or of every process of this machine, by their threads."""
    seen = set()
    for place in Path("/proc").glob(f"{process}/task/[0-9]*/ns/net"):
        try:
            seen.add(str(place.readlink()))
        except OSError:
            continue
    return seen


def hosts_of(process: subprocess.Popen) -> set[str]:
    """The namespaces of an emulation's hosts: the server and one station."""
    found = namespaces(str(process.pid)) - namespaces(str(os.getpid()))
    assert len(found) == 2
    return found


def assert_gone(hosts: set[str]):
    deadline = time.monotonic() + 5
    while hosts & namespaces() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not hosts & namespaces()
    assert not [device.name for device in Path("/sys/class/net").iterdir() if device.name == "wlan0"]


# A window of 30 kB limits the rate, so that neither the end of slow start nor loss recovery matters.
WINDOW = ["--set", "tcp.receive_window=30kB", "--set", "tcp.delayed_ack=true", "--transport", "reno"]


# The kernel's connection begins at any phase of a U-APSD trigger interval (20 ms), which the simulated starts
# cover: over one interval the goodput of this download varies by 12 %. The others keep the station awake all the time.
@pytest.mark.parametrize(
    ("policy", "size", "starts_ms", "within"),
    [("active", "2MB", [0], 0.05), ("psm", "1200kB", [0], 0.05), ("uapsd", "1500kB", range(0, 20, 2), 0.1)],
)
def test_the_kernels_reno_and_ours_agree(policy, size, starts_ms, within):
    setting = ["--policy", policy, "--set", f"flow.application.size={size}", *WINDOW]
    simulated = [document("run", "fast-dsl", *setting, "--set", f"flow.start={start}ms") for start in starts_ms]
    emulated = document("emulate", "fast-dsl", *setting)
    assert emulated["realtime"]["trusted"]

    def assert_among(part: str, key: str, since_start: bool = False):
        ours = [
            run[part][0][key] - (start / 1e3) * since_start for run, start in zip(simulated, starts_ms, strict=True)
        ]
        assert min(ours) * (1 - within) <= emulated[part][0][key] <= max(ours) * (1 + within), key

    assert_among("flows", "goodput_bps")
    assert_among("flows", "completed_s", since_start=True)
    assert_among("stations", "average_power_w")
    assert_among("stations", "energy_j")
    assert emulated["flows"][0]["bytes_delivered"] == simulated[0]["flows"][0]["bytes_delivered"]
    assert emulated["flows"][0]["segments_retransmitted"] == 0


def test_keys_are_echoed_as_fast():
    setting = ["--policy", "psm", "--set", "flow.application.mean_gap=100ms", "--set", "flow.application.count=15"]
    simulated, emulated = (document(how, "ssh", *setting) for how in ("run", "emulate"))
    ours, kernels = (answer["flows"][0] for answer in (simulated, emulated))
    assert kernels["responses"] == ours["responses"] == 15
    # The times of keys within a beacon interval are drawn alike, but begin slightly later.
    assert kernels["response_s_mean"] == pytest.approx(ours["response_s_mean"], rel=0.25)
    assert kernels["response_s_p50"] > 0.04


def test_as_many_packets_are_dropped():
    setting = ["--transport", "udp", "--set", "flow.application.kind=cbr", "--set", "flow.application.rate=20Mbps"]
    setting += ["--set", "flow.application.size=5MB", "--set", "wired.down.queue=20packets"]
    simulated = document("run", "fast-dsl", *setting)
    ours = simulated["cell"]["down_queue_drops"]
    assert ours > 500
    # A sender that is held up for some milliseconds sends a burst afterwards, of which more is dropped.
    for _ in range(TRIES):
        emulated = document("emulate", "fast-dsl", *setting)
        kernels = emulated["cell"]["down_queue_drops"]
        if kernels == pytest.approx(ours, rel=0.03):
            break
    assert kernels == pytest.approx(ours, rel=0.03)
    # A byte is a byte of payload in both: what was not dropped was delivered, in packets of 1000 bytes.
    for answer in (simulated, emulated):
        assert answer["flows"][0]["bytes_delivered"] == 5_000_000 - 1_000 * answer["cell"]["down_queue_drops"]


def test_small_datagrams_count_their_payload():
    setting = ["--transport", "udp", "--set", "flow.application.kind=cbr", "--set", "flow.application.rate=200kbps"]
    setting += ["--set", "flow.application.packet=100B", "--set", "flow.application.size=50kB"]
    for how in ("run", "emulate"):
        flow = document(how, "fast-dsl", *setting)["flows"][0]
        assert (flow["bytes_delivered"], flow["segments_sent"]) == (50_000, 500), how


SERVE = """
import socket
listener = socket.create_server(("server", 7))
connection, _ = listener.accept()
with connection, open("/dev/shm/airwatt-test-sent", "rb") as sent:
    connection.sendall(sent.read())
"""
FETCH = """
import hashlib, socket
digest = hashlib.sha256()
with socket.create_connection(("server", 7)) as connection:
    while data := connection.recv(65536):
        digest.update(data)
print(digest.hexdigest())
"""


def test_a_transfer_is_intact_to_the_byte_under_loss(tmp_path):
    sent = os.urandom(700_000)
    content = Path("/dev/shm/airwatt-test-sent")
    content.write_bytes(sent)
    for name, text in (("serve.py", SERVE), ("fetch.py", FETCH)):
        (tmp_path / name).write_text(text)
    scenario = tmp_path / "lossy.toml"
    scenario.write_text(
        f"""
        base = "fast-dsl"
        [wifi]
        base = "fast-wifi"
        frame_error_rate = 0.05
        retry_limit = 0
        [[host]]
        name = "server"
        serve = ["{sys.executable} {tmp_path}/serve.py"]
        [[host]]
        name = "station0"
        run = ["{sys.executable} {tmp_path}/fetch.py > {tmp_path}/digest"]
        """
    )
    try:
        answer = document("emulate", scenario)
    finally:
        content.unlink()
    assert (tmp_path / "digest").read_text().strip() == hashlib.sha256(sent).hexdigest()
    (flow,) = answer["flows"]
    assert (flow["direction"], flow["bytes_delivered"], flow["transport"]) == ("down", len(sent), "tcp")
    assert answer["cell"]["retry_limit_drops"] > 10
    assert flow["segments_retransmitted"] > 10
    assert answer["command"] == {"status": 0}


@pytest.mark.parametrize("how", ["--user", "SUDO_USER", "neither"])
def test_the_commands_of_a_scenario_run_as_the_user_that_is_named_before(tmp_path, how):
    scenario = tmp_path / "who.toml"
    command = "id -un && id -rgn && echo $HOME"
    scenario.write_text(f'base = "fast-dsl"\n[[host]]\nname = "server"\nrun = ["{command}"]\n')
    nobody = pwd.getpwnam("nobody")
    arguments = ["--user", "nobody"] if how == "--user" else []
    environment = {name: value for name, value in os.environ.items() if name != "SUDO_USER"}
    if how == "SUDO_USER":
        environment["SUDO_USER"] = "nobody"
    done = program("emulate", scenario, "--json", "--lateness", "1s", *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    user = "root" if how == "neither" else "nobody"
    lines = done.stderr.splitlines()
    said = next(index for index, line in enumerate(lines) if f"runs as {user} in server: {command}" in line)
    expected = ["root", "root", os.environ.get("HOME", "/root")]
    if user == "nobody":
        expected = ["nobody", grp.getgrgid(nobody.pw_gid).gr_name, nobody.pw_dir]
    assert lines[said + 1 :][:3] == expected


def test_users_and_programs_that_do_not_exist_get_a_line(tmp_path):
    done = program("emulate", "fast-dsl", "--user", "no-such-user")
    assert done.returncode == 2
    assert '--user: expected the name of a user of this machine, got "no-such-user"' in done.stderr
    done = program("emulate", "fast-dsl", "--", "no-such-program")
    assert done.returncode == 4
    assert "no-such-program: no such program" in done.stderr


def test_an_idle_emulation_wakes_up_at_beacons_only():
    idle = document("emulate", "fast-dsl", "--policy", "psm", "--", "sleep", "3")
    beacons = idle["simulated_s"] / 0.1
    # For each beacon the radio wakes up, the beacon is due, and it ends. On a busy machine a late timer can split one
    # of these wake-ups in two; a tick of 10 ms would be 10 wake-ups for each beacon.
    assert idle["realtime"]["wakeups"] <= 4 * beacons + 5
    assert idle["flows"] == []


ECHO = """
import socket
here = socket.socket(type=socket.SOCK_DGRAM)
here.bind(("station1", 9))
while True:
    data, peer = here.recvfrom(2000)
    here.sendto(data, peer)
"""
ASK = """
import socket, time
here = socket.socket(type=socket.SOCK_DGRAM)
here.settimeout(0.5)
here.connect(("station1", 9))
for attempt in range(20):
    try:
        here.send(b"x" * 1000)
        assert len(here.recv(2000)) == 1000
        break
    except (TimeoutError, ConnectionRefusedError):
        time.sleep(0.1)
else:
    raise SystemExit("no answer")
"""


def test_stations_reach_each_other_across_the_air(tmp_path):
    scenario = tmp_path / "pair.toml"
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "ask.py").write_text(ASK)
    scenario.write_text(
        f"""
        base = "fast-dsl"
        [[station]]
        count = 2
        [[host]]
        name = "station1"
        serve = ["{sys.executable} {tmp_path}/echo.py"]
        """
    )
    answer = document("emulate", scenario, "--", sys.executable, tmp_path / "ask.py")
    # Each direction crosses the air twice; the 20 ms of the wire are not part of it.
    assert answer["flows"][0]["latency_s_mean"] < 0.015
    assert answer["cell"]["frames"] >= 4


def test_the_capture_has_the_real_packets(tmp_path):
    capture = tmp_path / "air.pcapng"
    setting = ["--set", "flow.application.size=100kB", "--pcap", capture]
    document("emulate", "fast-dsl", *setting)
    fields = ["-T", "fields", "-e", "tcp.len", "-e", "wlan.fc.type_subtype", "-e", "ip.checksum.status"]
    shown = subprocess.run(
        ["tshark", "-r", capture, "-o", "ip.check_checksum:TRUE", "-Y", "tcp.srcport == 5001 && tcp.len > 0", *fields],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    rows = [line.split("\t") for line in shown.splitlines()]
    assert sum(int(length) for length, _, _ in rows) >= 100_000
    assert {subtype for _, subtype, _ in rows} == {"0x0028"}
    assert {status for *_, status in rows} == {"1"}


def test_queues_mark_the_packets_of_kernels_that_ask_for_it(tmp_path):
    capture = tmp_path / "air.pcapng"
    keys = ("tcp.profile=linux", "tcp.ecn=true", "wired.down.discipline=fq-codel", "flow.transport=cubic")
    more = ("flow.application.size=6MB", "policy=active")
    sets = [part for key in (*keys, *more) for part in ("--set", key)]
    answer = document("emulate", "fast-dsl", *sets, "--pcap", capture)
    assert answer["flows"][0]["segments_retransmitted"] == 0

    def count(what):
        command = ["tshark", "-r", capture, "-o", "ip.check_checksum:TRUE", "-Y", what]
        return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

    assert 1 <= count("ip.dsfield.ecn == 3 && tcp.len > 0") < 30
    assert count("tcp.flags.ece == 1 && tcp.flags.syn == 0") > 1
    assert count("tcp.flags.cwr == 1 && tcp.flags.syn == 0") >= 1
    assert count("ip.checksum.status == 0") == 0


def test_a_pair_of_runs_is_drawn(tmp_path):
    """The table has both, with the same data, and the picture their sequence numbers."""
    picture = tmp_path / "both.png"
    keys = ["--set", "tcp.profile=linux", "--set", "flow.application.size=500kB", "--transport", "cubic"]
    done = program("compare", "fast-dsl", *keys, "--against", "emulation", "--json", "--plot", picture)
    if LATE in done.stderr:
        pytest.skip(LATE)
    pair = answer_of(done)
    assert {name: one["flows"][0]["bytes_delivered"] for name, one in pair.items()} == {
        "simulated": 500_000,
        "kernel": 500_000,
    }
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("with_signal", [signal.SIGKILL, signal.SIGTERM])
def test_killed_it_leaves_nothing_behind(with_signal):
    marker = "86399"
    words = [str(PROGRAM), "emulate", "fast-dsl", "--", "sh", "-c", f"sleep {marker} & setsid sleep {marker}"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            await_processes(marker, 2)
            hosts = hosts_of(process)
        finally:
            process.send_signal(with_signal)
    await_processes(marker, 0)
    assert_gone(hosts)


def await_processes(marker: str, count: int):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = sleepers(marker)
        if found == count:
            return
        time.sleep(0.05)
    pytest.fail(f"there are {found} processes; {count} were expected")


def sleepers(marker: str) -> int:
    """Number of processes of this machine that sleep for this time."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += place.read_bytes().split(b"\0")[:2] == [b"sleep", marker.encode()]
        except OSError:
            continue
    return found


def test_interrupted_it_keeps_what_there_is():
    words = [str(PROGRAM), "emulate", "fast-dsl", "--json", "--", "sleep", "86398"]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests in the background may run with this signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            await_processes("86398", 1)
            hosts = hosts_of(process)
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 130
    assert err.strip() == "airwatt: interrupted"
    answer = json.loads(out)
    assert answer["interrupted"]
    assert answer["simulated_s"] > 0.3
    assert_gone(hosts)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["fast-dsl", "--in", "station7", "--", "true"], 2, ["station7", "station0"]),
        (["fast-dsl", "--in", "station0"], 2, ["COMMAND"]),
        (["fast-dsl", "--shell", "server", "--", "true"], 2, ["--shell"]),
        (["fast-dsl", "--", "no-such-program-anywhere"], 4, ["no-such-program-anywhere"]),
        (["fast-dsl", "--transport", "tahoe"], 2, ["tahoe", "cubic"]),
        (["saturation"], 2, ["saturated"]),
        (["fast-dsl", "--lateness", "3", "--", "true"], 2, ["unit"]),
        (["fast-dsl", "--set", "station.count=201", "--", "true"], 2, ["200"]),
        (["fast-dsl", "--set", "time_limit=1s", "--set", "flow.application.size=9MB"], 1, ["time limit"]),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, status, words):
    done = program("emulate", *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("airwatt: ")
    for word in words:
        assert word in line


def test_a_command_that_fails_fails_the_emulation():
    done = program("emulate", "fast-dsl", "--json", "--", "sh", "-c", "exit 7")
    assert done.returncode == 1
    assert json.loads(done.stdout)["command"] == {"status": 7}
    assert done.stderr == "airwatt: the command ended with status 7\n"


def test_a_run_that_was_late_is_not_trusted():
    done = program("emulate", "fast-dsl", "--json", "--lateness", "1ns", "--set", "flow.application.size=50kB")
    assert done.returncode == 1
    answer = json.loads(done.stdout)["realtime"]
    assert not answer["trusted"]
    assert answer["late"] == answer["deliveries"] > 50
    assert "not to be trusted" in done.stderr


def test_without_privileges_it_says_what_is_missing():
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", str(PROGRAM)]
    done = subprocess.run(
        [*powerless, "emulate", "fast-dsl", "--", "true"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 4, done.stderr
    assert "CAP_SYS_ADMIN" in done.stderr


def test_a_published_experiment_over_real_kernels():
    """Ten stations send through one access point for 4 seconds instead of 180."""
    from airwatt.reproductions import engine
    from airwatt.reproductions.hashimoto_2010.setup import BED_2013, PLAIN

    point = BED_2013.at_access_point(10, PLAIN)
    for _ in range(TRIES):
        results, interrupted = engine.run_points([point], 1, 1, over=engine.RealKernels("4s", "50ms"))
        assert not interrupted
        if not any(LATE in str(failure) for failure in results.failures.values()):
            break
    else:
        pytest.skip(LATE)
    assert results.failures == {}
    assert results.first(point, "total") > 20
    assert 0.1 < results.first(point, "jain") < 1.0
    assert results.has(point, "index 2013 2")
    assert not results.has(point, "index 2013 5")
