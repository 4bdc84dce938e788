"""Unmodified programs through a running gateway over a path that loses datagrams: ssh, iperf3, curl; and connections
that negotiate ECN."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lab import call, missing

from gateway_lab import MOBILE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
# Good and bad states in ms, and the losses in per cent of either.
PATHS = {"5 %": (1_000, 1, 5, 5, 1), "bursts": (187, 10, 1, 80, 2)}


@pytest.fixture(params=PATHS)
def lab(request, tmp_path):
    with Lab(tmp_path) as lab:
        lab.relay(*PATHS[request.param])
        lab.write("mobile", endpoint=f"{MOBILE}:4000")
        lab.up("base", "mobile")
        yield lab


def needed(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    return found or pytest.skip(f"{program} is not installed")


def check_relayed(lab: Lab) -> None:
    """No connection went around the gateway, and everything that was acknowledged was delivered."""
    assert lab.status("mobile")["connections_passed"] == 0
    assert lab.status("mobile")["undelivered_bytes"] == lab.status("base")["undelivered_bytes"] == 0


def ssh_server(lab: Lab) -> list[object]:
    """Starts sshd at the server. Returns the words of a client."""
    server, client = lab.folder / "host_key", lab.folder / "key"
    for key in (server, client):
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    config = lab.folder / "sshd_config"
    config.write_text(
        f"HostKey {server}\nAuthorizedKeysFile {client}.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
        f"ListenAddress {SERVER}\nPermitRootLogin yes\nPrintMotd no\nPasswordAuthentication no\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    log = lab.folder / "sshd.log"
    lab.start("server", needed("sshd"), "-D", "-E", log, "-f", config)
    options = ("StrictHostKeyChecking=no", f"UserKnownHostsFile={lab.folder / 'known'}", "LogLevel=ERROR")
    words = ["ssh", "-F", "none", "-i", client, *(word for option in options for word in ("-o", option))]
    return [*words, "-o", "ConnectionAttempts=20", f"root@{SERVER}"]


@pytest.mark.long
def test_ssh_carries_files_in_both_directions(lab):
    needed("ssh")
    words = ssh_server(lab)
    data = random.Random(1).randbytes(1_000_000)
    (lab.folder / "there").write_bytes(data)
    process = subprocess.run(
        lab.inside("mobile", *words, "cat", lab.folder / "there"), capture_output=True, timeout=60, check=False
    )
    assert process.returncode == 0, (process.stderr, (lab.folder / "sshd.log").read_text())
    assert process.stdout == data
    up = lab.inside("mobile", *words, f"cat > {lab.folder / 'up'}")
    subprocess.run(up, input=data, timeout=60, check=True)
    assert (lab.folder / "up").read_bytes() == data
    check_relayed(lab)


@pytest.mark.long
@pytest.mark.parametrize("way", ["-R", "-P2"])
def test_iperf3_downloads_and_uploads(lab, way):
    words = (needed("iperf3"), "-s", "-B", SERVER, "--forceflush")
    server = lab.start("server", *words, stdout=subprocess.PIPE, text=True)
    while "listening" not in server.stdout.readline():
        assert server.poll() is None
    # With a bound for its own send buffer, which otherwise grows to 4 MiB.
    words = ("iperf3", "-c", SERVER, way, "-w", "128K", "-n", "8M", "-J", "--connect-timeout", "9000")
    done = lab.run("mobile", *words, check=False)
    report = json.loads(done.stdout)
    assert "error" not in report, report
    sent, received = (report["end"][key]["bytes"] for key in ("sum_sent", "sum_received"))
    # The receiver counts until the test ends, which is when the sender has sent everything: buffers are full.
    assert sent >= 8 << 20
    assert sent // 2 < received <= sent
    # It leaves with data that it has not read, which resets the connections.
    assert lab.status("mobile")["connections_passed"] == 0


@pytest.mark.long
def test_curl_downloads(lab):
    file = lab.folder / "page"
    file.write_bytes(random.Random(2).randbytes(1_000_000))
    server = lab.start(
        "server",
        *(sys.executable, "-u", "-m", "http.server", "8000", "--directory", lab.folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout.readline().startswith("Serving")
    got = lab.folder / "got"
    lab.run("mobile", "curl", "-sS", "-o", got, f"http://{SERVER}:8000/page")
    assert got.read_bytes() == file.read_bytes()
    check_relayed(lab)


CAPTURE = """
import socket, struct, sys
here = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
here.bind(("wired", 0)); here.settimeout(20)
print("ready", flush=True)
seen = set()
while True:
    frame = here.recv(65535)
    packet = frame[14:]
    if frame[12:14] != bytes([8, 0]) or packet[9] != 6: continue
    here.settimeout(1)
    ports, flags, length = struct.unpack_from("!HH", packet, 20), packet[33], struct.unpack_from("!H", packet, 2)[0]
    way = "up" if ports[1] == 5000 else "down"
    if flags & 2: print(way, "SYN", "ECE" if flags & 64 else "-", "CWR" if flags & 128 else "-", flush=True)
    elif length > 200 and way not in seen:
        seen.add(way)
        print(way, "data", "ECT" if packet[1] & 3 == 2 else "-", flush=True)
"""


@pytest.mark.parametrize("who", ["both ends", pytest.param("base only", marks=pytest.mark.long)])
def test_ecn_is_negotiated_on_the_wired_leg(tmp_path, who):
    """A SYN with ECN's bits is relayed as any other, and the leg to the server negotiates ECN if this host does."""
    with Lab(tmp_path) as lab:
        if who == "base only":
            lab.write_alone()
        for host in ("server", "base", "mobile"):
            lab.run(host, "sysctl", "-qw", "net.ipv4.tcp_ecn=1")
        lab.up(*(["base"] if who == "base only" else ["base", "mobile"]))
        lab.serve()
        capture = lab.start("server", sys.executable, "-c", CAPTURE, stdout=subprocess.PIPE, text=True)
        assert capture.stdout.readline() == "ready\n"
        assert lab.echo(20_000) == "{'same': 1}\n"
        seen = set(capture.communicate(timeout=10)[0].splitlines())
        assert {"up SYN ECE CWR", "down SYN ECE -", "up data ECT", "down data ECT"} == seen
        assert lab.status("base")["connections_relayed"] == 1
