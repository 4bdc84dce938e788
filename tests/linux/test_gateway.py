"""`airwattd gateway` between a server, a base station and a mobile: unmodified programs over real kernels, truthful
refusals, losses, restarts, moves, and the host restored after every end."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

from gateway_lab import BASE, HERE, MOBILE, MOBILE_V6, SERVER, SERVER_V6, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        yield lab


def test_connections_are_relayed_with_both_addresses_and_refusals_are_true(lab):
    lab.up("base", "mobile")
    lab.serve()
    for process in lab.running.values():
        assert "Seccomp:\t2" in Path(f"/proc/{process.pid}/status").read_text()
    assert lab.echo(300_000) == "{'same': 1}\n"
    refused = lab.echo(10, port=5001)
    assert refused == "{'ConnectionRefusedError': 1}\n"
    mobile, base = lab.status("mobile"), lab.status("base")
    assert (mobile["connections_relayed"], base["connections_relayed"]) == (1, 1)
    assert (mobile["connections_passed"], mobile["connections_begun"]) == (0, 2)
    assert mobile["undelivered_bytes"] == base["undelivered_bytes"] == 0
    # An address without a host: the base station's kernel says so after three questions, and so does the mobile's end.
    lab.run("base", "sysctl", "-qw", "net.ipv4.neigh.wired.retrans_time_ms=50")
    code = "import socket; socket.create_connection(('10.96.0.77', 80), 10)"
    assert "No route to host" in lab.run("mobile", sys.executable, "-c", code, check=False).stderr
    began = time.monotonic()
    assert lab.end("mobile", signal.SIGTERM) == lab.end("base", signal.SIGTERM) == 0
    assert time.monotonic() - began < 4, "without connections nothing is waited for: `drain` is 5 s"
    assert lab.left_over("mobile") == lab.left_over("base") == []
    assert lab.echo(1_000) == "{'same': 1}\n", "without a gateway"


SLOW_CLIENT = """
import socket, sys
here = socket.create_connection((sys.argv[1], 5000), 10)
here.settimeout(20)
here.sendall(b"x" * 1000)
print(len(here.recv(1000)), flush=True)
sys.stdin.readline()
here.sendall(b"y" * 1000)
print(len(here.recv(1000)), flush=True)
"""


def test_a_base_station_that_was_stopped_opens_nothing_that_a_mobile_has_given_up(lab):
    """Its SYN from the same port reset the plain connection at the server, of which the mobile heard nothing."""
    for end in ("base", "mobile"):
        lab.write(end, gateway='fallback = "500ms"')
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(1_000) == "{'same': 1}\n"
    lab.running["base"].send_signal(signal.SIGSTOP)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    clients = [lab.start("mobile", sys.executable, "-c", SLOW_CLIENT, SERVER, **pipes) for _ in range(3)]
    assert [client.stdout.readline() for client in clients] == ["1000\n"] * 3
    lab.running["base"].send_signal(signal.SIGCONT)
    time.sleep(1)
    for client in clients:
        client.stdin.write("\n")
        client.stdin.flush()
    assert [client.stdout.readline() for client in clients] == ["1000\n"] * 3
    # Connections that come later are relayed again, once the mobile has heard of the base station.
    await_true(lambda: lab.echo(1_000) and lab.status("mobile")["connections_relayed"] > 1, 20)


URGENT = """
import socket, sys
server = len(sys.argv) > 2
here = socket.create_server((sys.argv[1], 5000)) if server else socket.create_connection((sys.argv[1], 5000), 10)
if server:
    print("ready", flush=True)
    peer, _ = here.accept()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
    text = b""
    while part := peer.recv(1000):
        text += part
    peer.sendall(text)
else:
    here.sendall(b"before ")
    here.send(b"!", socket.MSG_OOB)
    here.sendall(b" after")
    here.shutdown(socket.SHUT_WR)
    print(here.makefile("rb").read())
"""


@pytest.mark.parametrize("ends", [("base", "mobile"), ("base",)])
def test_urgent_data_stays_in_its_place(lab, ends):
    """A byte that was sent with MSG_OOB was taken out of the stream, which then ended as if it were whole."""
    if ends == ("base",):
        lab.write_alone()
    lab.up(*ends)
    server = lab.start("server", sys.executable, "-c", URGENT, SERVER, "serve", stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    assert lab.run("mobile", sys.executable, "-c", URGENT, SERVER).stdout == "b'before ! after'\n"


def test_both_ip_versions_and_connections_to_the_mobile(lab):
    # However busy this machine is, no end takes the other one for silent.
    for end in ("base", "mobile"):
        lab.write(end, gateway='fallback = "30s"')
    lab.up("base", "mobile")
    lab.serve(address=SERVER_V6)
    assert lab.echo(50_000, address=SERVER_V6) == "{'same': 1}\n"
    lab.serve(host="mobile", address=MOBILE)
    lab.serve(host="mobile", address=MOBILE_V6)
    assert lab.echo(50_000, host="server", address=MOBILE) == "{'same': 1}\n"
    assert lab.echo(50_000, host="server", address=MOBILE_V6) == "{'same': 1}\n"
    assert lab.echo(10, host="server", address=MOBILE, port=5001) == "{'ConnectionRefusedError': 1}\n"
    assert lab.status("base")["connections_relayed"] == 3


def test_the_server_sees_plain_tcp_of_the_mobile(lab):
    lab.up("base", "mobile")
    lab.serve()
    # Linux and IPv4 alone: a packet socket that sees what the server's interface sees.
    words = (sys.executable, HERE / "lan_capture.py", "wired", "30")
    capture = lab.start("server", *words, stdout=subprocess.PIPE, text=True)
    assert capture.stdout.readline() == "ready\n"
    assert lab.echo(20_000) == "{'same': 1}\n"
    seen = capture.communicate(timeout=10)[0].splitlines()
    assert {line.split()[0] for line in seen} == {"tcp"}
    assert {frozenset(line.split()[1:3]) for line in seen} == {frozenset({MOBILE, SERVER})}


def test_curl_and_many_connections_over_a_path_that_loses_bursts(lab):
    # States whose period divides no timeout.
    relay = lab.relay(187, 10, 1, 80, 3)
    lab.write("mobile", endpoint=f"{MOBILE}:4000")
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(3_000, 200, 100) == "{'same': 200}\n"
    file = lab.folder / "page"
    file.write_bytes(bytes(range(256)) * 800)
    lab.start(
        "server", sys.executable, "-m", "http.server", "8000", "--directory", lab.folder, stderr=subprocess.DEVNULL
    )
    got = lab.folder / "got"
    words = ("curl", "-sS", "--retry", 20, "--retry-connrefused", "-o", got, f"http://{SERVER}:8000/page")
    lab.run("mobile", *words)
    assert got.read_bytes() == file.read_bytes()
    relay.send_signal(signal.SIGUSR2)
    assert int(relay.stdout.readline()) > 0, "something was lost"


@pytest.mark.parametrize("end", ["mobile", "base"])
def test_a_killed_end_fails_open_and_comes_back(lab, end):
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(1_000) == "{'same': 1}\n"
    lab.end(end, signal.SIGKILL)
    await_true(lambda: lab.left_over(end) == [])
    assert lab.echo(1_000) == "{'same': 1}\n", "as plain TCP"
    lab.up(end)
    relayed = lab.status("mobile")["connections_relayed"]
    await_true(lambda: lab.echo(1_000) == "{'same': 1}\n" and lab.status("mobile")["connections_relayed"] > relayed, 15)


def test_a_mobile_that_falls_back_is_not_in_the_way_of_its_own_connection(lab):
    """The base station has connected to the server when the mobile, which hears nothing, goes on as plain TCP with the
    same addresses and ports."""
    relay = lab.relay(1000, 1, 0, 0, 1)
    lab.write("mobile", gateway='fallback = "300ms"', endpoint=f"{MOBILE}:4000")
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(1_000) == "{'same': 1}\n"
    relay.send_signal(signal.SIGUSR1)
    assert lab.echo(1_000, timeout=8) == "{'same': 1}\n"
    mobile, base = lab.status("mobile"), lab.status("base")
    assert (mobile["connections_passed"], base["connections_begun"]) == (1, 2)
    assert [row for row in base["connections"] if not row["stands"]] == []


SEND_AND_END = """
import socket
listener = socket.create_server(("10.96.0.1", 5002))
print("ready", flush=True)
stream, _ = listener.accept()
stream.sendall(bytes(200_000))
stream.close()
"""
# It has nothing to say, which ends its direction, and begins to read when the gateway has forgotten the connection.
READ_LATE = """
import socket, time
stream = socket.socket()
stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
stream.connect(("10.96.0.1", 5002))
stream.shutdown(socket.SHUT_WR)
time.sleep(18)
taken = 0
# Something else that the gateway does, meanwhile: flows are forgotten when it is awake.
other = socket.create_connection(("10.96.0.1", 5000))
other.close()
time.sleep(0.5)
while data := stream.recv(4096):
    taken += len(data)
    time.sleep(0.005)
print(taken)
"""


def test_a_slow_reader_gets_the_end_of_a_stream_that_both_hosts_have_ended(lab):
    lab.up("base", "mobile")
    lab.serve()
    server = lab.start("server", sys.executable, "-c", SEND_AND_END, stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    assert lab.run("mobile", sys.executable, "-c", READ_LATE).stdout == "200000\n"


def test_connections_may_finish_after_sigterm(lab):
    lab.up("base", "mobile")
    lab.serve()
    code = f"""
import socket, sys
here = socket.create_connection(("{SERVER}", 5000))
here.sendall(b"a"); assert here.recv(9) == b"a"
print("open", flush=True)
sys.stdin.readline()
here.sendall(b"b"); assert here.recv(9) == b"b"
here.shutdown(socket.SHUT_WR); assert here.recv(9) == b""
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = lab.start("mobile", sys.executable, "-c", code, **pipes)
    assert program.stdout.readline() == "open\n"
    daemon = lab.running["mobile"]
    daemon.send_signal(signal.SIGTERM)
    assert lab.echo(1_000) == "{'same': 1}\n", "new ones are plain"
    program.communicate("go\n", timeout=10)
    assert program.returncode == 0
    assert lab.end("mobile", signal.SIGCONT) == 0, "and it ends by itself"


def test_a_mobile_that_changes_its_address_keeps_its_connections(lab):
    # The address of the connections stays on the host; that of the path changes.
    call("ip", "-n", lab.names["mobile"], "address", "add", f"{MOBILE}/32", "dev", "lo")
    call("ip", "-n", lab.names["base"], "route", "add", f"{MOBILE}/32", "dev", "air")
    lab.up("base", "mobile")
    lab.serve()
    code = f"""
import socket, sys
here = socket.socket(); here.bind(("{MOBILE}", 0)); here.connect(("{SERVER}", 5000))
for line in sys.stdin:
    here.sendall(b"x" * 5000)
    got = b""
    while len(got) < 5000: got += here.recv(9000)
    print("same", flush=True)
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = lab.start("mobile", sys.executable, "-c", code, **pipes)

    def exchange() -> str:
        program.stdin.write("go\n")
        program.stdin.flush()
        return program.stdout.readline()

    assert exchange() == "same\n"
    before = lab.status("base")["peers"][0]["endpoint"]
    mobile = lab.names["mobile"]
    call("ip", "-n", mobile, "address", "delete", f"{MOBILE}/24", "dev", "air")
    call("ip", "-n", mobile, "address", "add", "10.97.0.3/24", "dev", "air")
    call("ip", "-n", mobile, "route", "add", "default", "via", BASE["air"])
    assert exchange() == "same\n"
    after = lab.status("base")["peers"][0]["endpoint"]
    assert before.startswith(f"{MOBILE}:")
    assert after.startswith("10.97.0.3:")


def test_a_program_reuses_addresses_and_ports_after_its_daemon_was_killed(lab):
    """The base station still has the connection that the program has lost."""
    lab.up("base", "mobile")
    lab.serve()
    code = f"""
import socket, struct, sys
def connected():
    here = socket.socket(); here.settimeout(8)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    here.bind(("{MOBILE}", 40000)); here.connect(("{SERVER}", 5000))
    here.sendall(b"x" * 5000)
    got = b""
    while len(got) < 5000: got += here.recv(9000)
    print("same", flush=True)
    return here
here = connected()
sys.stdin.readline()
here.close()
connected()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    program = lab.start("mobile", sys.executable, "-c", code, **pipes)
    assert program.stdout.readline() == "same\n"
    lab.end("mobile", signal.SIGKILL)
    await_true(lambda: lab.left_over("mobile") == [])
    assert program.communicate("go\n", timeout=10)[0] == "same\n"
    base = lab.status("base")
    assert (base["connections_relayed"], base["connections_replaced"]) == (1, 1)


def test_status_without_root_says_why_there_is_none(lab):
    lab.up("base")
    for words in ((), (lab.interfaces["base"],)):
        asked = [DAEMON, "gateway", "status", *words]
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        done = subprocess.run(asked, capture_output=True, text=True, check=False, **nobody)
        assert (done.returncode, done.stdout) == (4, ""), done.stderr
        assert "permission denied" in done.stderr.lower()


def test_more_connections_than_numbers_again_and_again_are_whole_and_never_refused(lab):
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(2_000, 900, 300) == "{'same': 900}\n"
    mobile = lab.status("mobile")
    assert mobile["connections_relayed"] + mobile["connections_passed"] == 900


@pytest.mark.long
def test_ten_thousand_connections_in_sequence(lab):
    lab.up("base", "mobile")
    lab.serve()
    began = time.monotonic()
    assert lab.echo(500, 10_000, 8, timeout=600) == "{'same': 10000}\n"
    print(f"{10_000 / (time.monotonic() - began):.0f} connections/s")
    mobile = lab.status("mobile")
    assert mobile["connections_relayed"] + mobile["connections_passed"] == 10_000
    await_true(lambda: lab.status("mobile")["connections"] == [], 30)


def said_of_a_closed_input(lab: Lab, rule: str) -> str:
    """What `--check` says of a chain that drops all that comes in but what is established and what `rule` accepts."""
    table = "set open { type inet_service; elements = { 53, 4747 }; };" if "@open" in rule else ""
    chain = f"type filter hook input priority 0; policy drop; ct state established,related accept; {rule}"
    lab.run("base", "nft", f"table ip fw {{ {table} chain in {{ {chain}; }}; }}")
    return lab.run("base", DAEMON, "gateway", "up", lab.file("base"), "--check").stderr


def test_a_firewall_that_drops_the_datagrams_of_mobiles_is_named(lab):
    said = said_of_a_closed_input(lab, "udp dport 4748 accept")
    hints = [hint.splitlines()[0] for hint in said.split("hint: nft ")[1:]]
    assert said.count("ip fw in drops what its rules do not accept") == len(hints) == 2
    assert "none names UDP port 4747" in said
    for hint in hints:
        lab.run("base", "nft", hint)
    lab.up("base", "mobile")
    lab.serve()
    assert lab.echo(10_000) == "{'same': 1}\n"
    assert lab.status("base")["connections_relayed"] == 1


def test_a_firewall_that_keeps_connections_to_mobiles_from_the_device_is_named(lab):
    chain = "type filter hook forward priority 0; policy drop; ct state established,related accept"
    lab.run("base", "nft", f"table inet fw {{ chain pass {{ {chain}; }}; }}")
    said = lab.run("base", DAEMON, "gateway", "up", lab.file("base"), "--check").stderr
    hints = [hint.splitlines()[0] for hint in said.split("hint: nft ")[1:]]
    assert any(hint.startswith("insert rule inet fw pass ip daddr ") for hint in hints), said
    for hint in hints:
        lab.run("base", "nft", hint)
    said = lab.run("base", DAEMON, "gateway", "up", lab.file("base"), "--check").stderr
    assert "drops what" not in said


@pytest.mark.parametrize("ports", ["4747", "{ 53, 4747 }", "@open"])
def test_a_firewall_that_accepts_the_port_is_not_named_for_it(lab, ports):
    assert "UDP port" not in said_of_a_closed_input(lab, f"udp dport {ports} accept")
