"""`airwattd gateway` at a base station whose mobile has no daemon: its TCP ends there, and nothing else can be told."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

from gateway_lab import HERE, MOBILE, SERVER, SERVER_V6, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        lab.write_alone()
        yield lab


def test_connections_of_an_unchanged_mobile_are_split(lab):
    lab.up("base")
    lab.serve()
    words = (sys.executable, HERE / "lan_capture.py", "wired", "30")
    capture = lab.start("server", *words, stdout=subprocess.PIPE, text=True)
    assert capture.stdout.readline() == "ready\n"
    assert lab.echo(300_000) == "{'same': 1}\n"
    assert {frozenset(line.split()[1:]) for line in capture.communicate(timeout=10)[0].splitlines()} == {
        frozenset({MOBILE, SERVER})
    }
    assert lab.echo(10, port=5001) == "{'ConnectionRefusedError': 1}\n"
    lab.serve(address=SERVER_V6)
    assert lab.echo(2_000, 40, 10, address=SERVER_V6) == "{'same': 40}\n"
    lab.serve(host="mobile", address=MOBILE)
    assert lab.echo(50_000, host="server", address=MOBILE) == "{'same': 1}\n"
    status = lab.status("base")
    assert (status["connections_relayed"], status["connections_begun"], status["mode"]) == (42, 43, "base-only")
    assert status["undelivered_bytes"] == 0
    assert lab.end("base", signal.SIGTERM) == 0
    assert lab.left_over("base") == []
    assert lab.echo(1_000) == "{'same': 1}\n", "without a gateway"


def test_rules_that_somebody_removes_are_made_again(lab):
    """A network manager that starts removes them, and each new connection would wait for an answer."""
    lab.up("base")
    lab.serve()
    assert lab.echo(1_000) == "{'same': 1}\n"
    rules = lab.run("base", "ip", "rule").stdout
    own = [line.split(":")[0] for line in rules.splitlines() if "fwmark" in line]
    assert len(own) == 2
    for priority in own:
        lab.run("base", "ip", "rule", "delete", "priority", priority)
    await_true(lambda: lab.run("base", "ip", "rule").stdout == rules, 2)
    assert lab.echo(1_000) == "{'same': 1}\n"
    assert lab.status("base")["connections_relayed"] == 2
    assert lab.end("base", signal.SIGTERM) == 0
    assert lab.left_over("base") == []


SERVE_AND_END = """
import socket
server = socket.create_server(("", 5002), family=socket.AF_INET6, dualstack_ipv6=True)
print("ready", flush=True)
while True:
    here, _ = server.accept()
    here.recv(100)
    here.sendall(bytes(50_000))
    here.close()
"""
FROM_ONE_PORT = """
import socket, sys, time
for _ in range(4):
    here = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.settimeout(5)
    here.bind(("", 40_000))
    begin = time.monotonic()
    here.connect((sys.argv[1], 5002))
    took = time.monotonic() - begin
    here.sendall(b"please")
    length = 0
    while got := here.recv(65_536):
        length += len(got)
    here.close()
    print(length, took < 0.9)
    time.sleep(0.2)
"""


@pytest.mark.parametrize("address", [SERVER, SERVER_V6])
def test_a_port_is_used_again_while_the_kernel_has_the_end_of_its_last_connection(lab, address):
    """The server ends first, so that the base station waits at the mobile's side (TIME-WAIT)."""
    lab.up("base")
    server = lab.start("server", sys.executable, "-c", SERVE_AND_END, stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    said = lab.run("mobile", sys.executable, "-c", FROM_ONE_PORT, address).stdout.splitlines()
    # The first SYN of IPv6 may be lost as the device comes up.
    assert (said[0].split()[0], said[1:]) == ("50000", ["50000 True"] * 3)
    status = lab.status("base")
    assert (status["connections_relayed"], status["connections_passed"]) == (4, 0), status


def test_connections_beyond_the_descriptors_of_a_process_are_plain_tcp(lab):
    lab.up("base", descriptors=128 + 2 * 20)
    lab.serve()
    assert lab.echo(20_000, 60, 60) == "{'same': 60}\n", "some are relayed, the others go past"
    status = lab.status("base")
    relayed = status["connections_relayed"]
    assert 20 <= relayed < 60, status
    assert (status["connections_passed"], status["over_limit"]) == (60 - relayed, 60 - relayed), status
    seconds = processor_seconds(lab.running["base"].pid)
    time.sleep(1)
    assert processor_seconds(lab.running["base"].pid) - seconds < 0.2, "it does not spin"
    lab.running["base"].send_signal(signal.SIGTERM)
    log = lab.running.pop("base").communicate(timeout=15)[1]
    assert "hint: `LimitNOFILE` of its unit, or ulimit -n" in log, log


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


SEND_MUCH_AND_END = """
import socket
server = socket.create_server(("", 5000))
print("ready", flush=True)
here, _ = server.accept()
here.sendall(bytes(700_000))
here.close()
"""
READ_SLOWLY = f"""
import socket, sys, time
here = socket.socket()
here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
here.connect(("{SERVER}", 5000))
here.shutdown(socket.SHUT_WR)
until = time.monotonic() + 3
while time.monotonic() < until:
    here.recv(2_000)
    time.sleep(0.1)
print("read", flush=True)
sys.stdin.readline()
"""


def test_a_slow_reader_of_a_stream_that_both_hosts_have_ended_keeps_nobody_awake(lab):
    """The kernel reports the end of both directions for as long as it is asked: the daemon took a whole core."""
    lab.up("base")
    server = lab.start("server", sys.executable, "-c", SEND_MUCH_AND_END, stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    before = processor_seconds(lab.running["base"].pid)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    client = lab.start("mobile", sys.executable, "-c", READ_SLOWLY, **pipes)
    assert client.stdout.readline() == "read\n"
    assert processor_seconds(lab.running["base"].pid) - before < 0.5, "of 3 s"
    client.communicate("end\n", timeout=10)


def test_status_lists_both_legs_and_a_killed_daemon_leaves_plain_tcp(lab):
    lab.up("base")
    lab.serve()
    code = f"""
import socket, sys
here = socket.create_connection(("{SERVER}", 5000))
here.sendall(b"x" * 5000)
got = 0
while got < 5000: got += len(here.recv(9000))
print("open", flush=True)
sys.stdin.readline()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = lab.start("mobile", sys.executable, "-c", code, **pipes)
    assert program.stdout.readline() == "open\n"
    (row,) = lab.status("base")["connections"]
    assert (row["bytes_from_host"], row["bytes_to_host"], row["stands"]) == (5_000, 5_000, True)
    assert (row["wired_retransmissions"], row["hop_retransmissions"]) == (0, 0)
    text = call(DAEMON, "gateway", "status", lab.interfaces["base"]).stdout
    assert "segments sent again: 0 to the mobile, 0 on the wired leg" in text
    assert max(map(len, text.splitlines())) <= 80
    lab.end("base", signal.SIGKILL)
    await_true(lambda: lab.left_over("base") == [])
    assert lab.echo(1_000) == "{'same': 1}\n", "as plain TCP"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
def test_addresses_of_connections_that_have_ended_are_used_again_when_it_has_ended(lab, ending):
    """The base station's kernel has their sockets for a minute, and does not forward what is theirs."""
    lab.up("base")
    lab.serve()
    code = f"""
import socket
here = socket.socket(); here.settimeout(8)
here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
here.bind(("{MOBILE}", 40000)); here.connect(("{SERVER}", 5000))
here.sendall(b"ab"); assert here.recv(2) == b"ab"
here.shutdown(socket.SHUT_WR)
assert here.recv(1) == b""
print("whole")
"""
    assert lab.run("mobile", sys.executable, "-c", code).stdout == "whole\n"
    # The mobile has none of it any more, as one that has restarted.
    lab.run("mobile", "ss", "-K", "state", "time-wait", "dst", SERVER)
    if "TIME-WAIT" in lab.run("mobile", "ss", "-tan").stdout:
        pytest.skip("this kernel does not forget connections on demand")
    lab.end("base", ending)
    await_true(lambda: lab.left_over("base") == [])
    assert lab.run("mobile", sys.executable, "-c", code).stdout == "whole\n"


def test_a_mobile_that_has_restarted_reuses_its_addresses_and_ports(lab):
    """Its SYN has the addresses of a connection that the base station still has, and that it knows nothing of."""
    lab.up("base")
    lab.serve()
    code = f"""
import socket
def connect():
    here = socket.socket(); here.settimeout(8)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.bind(("{MOBILE}", 40000)); here.connect(("{SERVER}", 5000))
    here.sendall(b"ab"); assert here.recv(2) == b"ab"
    return here
here = connect()
# TCP_REPAIR: the connection is gone when the socket is closed, and nothing is sent.
here.setsockopt(socket.IPPROTO_TCP, 19, 1)
here.close()
connect()
print("same")
"""
    assert lab.run("mobile", sys.executable, "-c", code).stdout == "same\n"


def test_wrong_configurations_are_one_line(tmp_path):
    file = tmp_path / "gateway.toml"
    example = call(DAEMON, "gateway", "example", "base-only").stdout
    file.write_text(example)
    assert call(DAEMON, "gateway", "up", file, "--check").stdout == ""
    assert "ip saddr 192.168.1.0/24" in call(DAEMON, "gateway", "up", file, "--dry-run").stdout
    file.write_text(example.replace('["192.168.1.0/24"]', "[]"))
    done = call(DAEMON, "gateway", "up", file, "--check", check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("addresses: expected the addresses of mobiles, got none\n")


@pytest.mark.long
def test_an_end_by_name_waits_for_as_long_as_connections_may_take(lab):
    """The configuration is not the usual file of that name, and allows more than the default's 15 s."""
    lab.write_alone(gateway='drain = "30s"')
    unit = call(DAEMON, "gateway", "unit", lab.file("base")).stdout
    assert "TimeoutStopSec=65\n" in unit
    lab.up("base")
    lab.serve()
    code = (
        f"import socket, time; s = socket.create_connection(({SERVER!r}, 5000)); s.sendall(b'a'); s.recv(1); "
        "print('open', flush=True); time.sleep(17); s.sendall(b'b' * 1000); s.shutdown(socket.SHUT_WR); "
        "print(len(s.makefile('rb').read()), flush=True)"
    )
    client = lab.start("mobile", sys.executable, "-c", code, stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "open\n"
    began = time.monotonic()
    lab.run("base", DAEMON, "gateway", "down", lab.interfaces["base"])
    assert 16 < time.monotonic() - began < 25
    assert client.communicate(timeout=10)[0] == "1000\n"
    assert lab.left_over("base") == []
