"""`airwattd tunnel` between two hosts: encrypted bursts, silence when idle, strangers, restarts, changes of address."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import tunnel_lab
from tunnel_lab import FORWARD, INNER, INNER_V6, KEYS, OUTER, OUTER_V6, PING, PORT, left_in_run

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = tunnel_lab.pair


def test_packets_cross_in_bursts_and_an_idle_tunnel_never_wakes(pair):
    pair.write("client", top='radio = "ar5004"')
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    pair.carry(1_000_000)
    client, ap = pair.settled()
    (sent,), (received,) = client["peers"], ap["peers"]
    assert sent["packets_sent"] > 600
    assert sent["bursts_full"] + sent["bursts_awake"] > 10 * sent["bursts_timed_out"] > 0
    # Runs of datagrams of equal size leave with one system call.
    assert client["socket"]["send_calls"] < 0.6 * client["socket"]["sent"]
    # The concentrator learnt the client's address from its datagrams.
    assert received["endpoint"].startswith(f"{OUTER['client']}:")
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    assert f"peer: client\n  public key: {KEYS['client'][1]}\n" in shown
    assert "latest handshake: " in shown
    # A wake-up of this radio takes 1 ms at 1.4 W, and sleeping 1 us at 0.8 W.
    assert sent["saved_j"] == pytest.approx([wakeups * 1.4008e-3 for wakeups in sent["saved_wakeups"]])
    assert "J by radio ar5004" in call(DAEMON, "tunnel", "show", pair.interfaces["client"]).stdout
    every = json.loads(call(DAEMON, "tunnel", "show", "--json").stdout)
    assert {pair.interfaces[end] for end in OUTER} <= {tunnel["interface"] for tunnel in every["tunnels"]}
    assert (sent["handshakes"], received["refused_sources"], ap["strange_datagrams"]) == (1, 0, 0)
    # The estimated rate of the peer, and triggers with it, fade within some seconds; then nothing wakes up any more.
    await_true(lambda: pair.is_silent_for(0.7), 20)


@pytest.mark.long
def test_an_idle_tunnel_sends_no_datagram_for_ten_minutes(pair):
    """It has been used before, so that there are sessions, whose keys are dropped after nine minutes."""
    for end in OUTER:
        pair.write(end, allowed='"0.0.0.0/0", "::/0"' if end == "client" else '"192.0.2.0/24"')
        pair.up(end)
    assert pair.ping()
    time.sleep(5)

    def datagrams() -> list[int]:
        """What the daemons have sent, and what the kernels have sent by UDP."""
        lines = [pair.run(end, "cat", "/proc/net/snmp") for end in OUTER]
        by_kernel = [int(re.findall(r"Udp: (\d.*)", line)[0].split()[3]) for line in lines]
        return [pair.show(end)["socket"]["sent"] for end in OUTER] + by_kernel

    before = datagrams()
    assert min(before) > 0
    time.sleep(600)
    assert datagrams() == before


def test_a_wrong_key_is_named_after_three_handshakes(pair):
    text = pair.file("client").read_text()
    pair.file("client").write_text(text.replace(KEYS["ap"][1], KEYS["client"][0]))
    pair.up("ap")
    client = pair.up("client")
    assert not pair.ping(attempts=1)
    await_true(lambda: pair.show("client")["peers"][0]["unanswered"] > 3, what="three handshakes")
    shown = call(DAEMON, "tunnel", "show", pair.interfaces["client"]).stdout
    assert re.search(r"no answer to the last \d+ handshakes: .* or the keys of the two ends do not fit", shown, re.S)
    assert max(map(len, shown.splitlines())) <= 80
    client.send_signal(signal.SIGTERM)
    _, log = client.communicate(timeout=10)
    assert log.count("no answer to handshakes") == 1
    assert "answers handshakes again" not in log


def test_a_peer_that_answers_again_is_named_once(pair):
    client = pair.up("client")
    await_true(lambda: pair.show("client")["peers"][0]["unanswered"] > 3, what="three handshakes")
    pair.up("ap")
    assert pair.ping(attempts=30)
    client.send_signal(signal.SIGTERM)
    _, log = client.communicate(timeout=10)
    assert (log.count("no answer to handshakes"), log.count("answers handshakes again")) == (1, 1)


def test_a_name_is_resolved_again_while_the_peer_is_silent(pair):
    # ip-netns(8) shows programs these files in place of those in /etc.
    folder = Path("/etc/netns", pair.names["client"])
    folder.mkdir(parents=True)
    hosts = folder / "hosts"
    try:
        hosts.write_text("10.98.0.9 ap.test\n")
        text = pair.file("client").read_text()
        pair.file("client").write_text(text.replace(f'endpoint = "{OUTER["ap"]}:', 'endpoint = "ap.test:'))
        pair.up("ap")
        pair.up("client")
        assert pair.show("client")["peers"][0]["endpoint"] == f"10.98.0.9:{PORT}"
        assert not pair.ping(attempts=1)
        hosts.write_text(f"{OUTER['ap']} ap.test\n")
        assert pair.ping(attempts=60)
        assert pair.show("client")["peers"][0]["endpoint"] == f"{OUTER['ap']}:{PORT}"
        pair.file("client").write_text(text.replace(f'endpoint = "{OUTER["ap"]}:', 'endpoint = "absent.invalid:'))
        absent = call(
            "ip", "netns", "exec", pair.names["client"], DAEMON, "tunnel", "up", pair.file("client"), check=False
        )
        assert (absent.returncode, len(absent.stderr.splitlines())) == (1, 1)
        assert "absent.invalid" in absent.stderr
    finally:
        hosts.unlink()
        folder.rmdir()


def test_strangers_get_silence_and_peers_their_own_sources_only(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    strange = """
import random, socket
here = socket.socket(type=socket.SOCK_DGRAM)
here.bind(("10.98.0.2", 0))
draw = random.Random(1)
for length in range(300):
    here.sendto(draw.randbytes(length % 60), ("10.98.0.1", 4646))
# Well-formed, but not encrypted.
packet = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1])
here.sendto(bytes([3, 0, 0, 0]) + packet, ("10.98.0.1", 4646))
here.settimeout(0.3)
try:
    here.recv(100)
    raise SystemExit("an answer")
except TimeoutError:
    pass
"""
    pair.run("client", sys.executable, "-c", strange)
    ap = pair.show("ap")
    assert ap["strange_datagrams"] == 301
    assert "  datagrams of strangers: 301\n" in call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
    # The client's own tunnel with a source that it may not use.
    pair.run("client", "ip", "address", "add", "198.51.100.9/32", "dev", "lo")
    assert not pair.ping("198.51.100.9", 1)
    await_true(lambda: pair.show("ap")["peers"][0]["refused_sources"] > 0)
    assert pair.ping()


def test_a_new_configuration_is_read_while_packets_flow(pair, tmp_path):
    metrics = tmp_path / "private/metrics.sock"
    pair.write("ap", top=f'metrics = "unix:{metrics}"')
    process = pair.up("ap")
    pair.up("client")
    assert pair.ping()
    other = '[[peer]]\nname = "other"\nallowed_ips = ["10.77.0.3", "10.88.0.0/24"]'
    other = other.replace("allowed", f'public_key = "{"A" * 43}="\nallowed')
    pair.write("ap", extra_peer=other, top=f'metrics = "unix:{metrics}"')
    process.send_signal(signal.SIGHUP)
    await_true(lambda: len(pair.show("ap")["peers"]) == 2)
    kept = pair.show("ap")["peers"][0]
    assert kept["packets_delivered"] >= 1
    assert kept["endpoint"] is not None
    assert f"10.88.0.0/24 dev {pair.interfaces['ap']}" in pair.run("ap", "ip", "route")
    pair.write("ap", extra_peer=other.replace("10.88", "10.99"), top=f'metrics = "unix:{metrics}"')
    process.send_signal(signal.SIGHUP)
    await_true(lambda: "10.99.0.0/24" in pair.run("ap", "ip", "route"), interval=0.05)
    assert "10.88.0.0/24" not in pair.run("ap", "ip", "route")
    # A damaged one changes nothing.
    pair.file("ap").write_text("interface = 7")
    process.send_signal(signal.SIGHUP)
    assert pair.ping()
    with socket.socket(socket.AF_UNIX) as scrape:
        scrape.connect(str(metrics))
        scrape.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        page = b"".join(iter(lambda: scrape.recv(1 << 16), b"")).decode()
    assert f'airwatt_tunnel_packets_sent_total{{interface="{pair.interfaces["ap"]}",peer="client"}} ' in page
    assert f'airwatt_tunnel_strange_datagrams_total{{interface="{pair.interfaces["ap"]}"}} 0' in page
    # For the textfile collector of node_exporter, without a socket in the configuration.
    printed = call(DAEMON, "tunnel", "show", pair.interfaces["ap"], "--metrics").stdout.splitlines()
    scraped = page.split("\r\n\r\n", 1)[1].splitlines()
    assert [line.split(" ")[:-1] for line in printed] == [line.split(" ")[:-1] for line in scraped]
    absent = call(DAEMON, "tunnel", "show", "--metrics", check=False)
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "--metrics: expected the interface of one tunnel" in absent.stderr


def test_what_is_wrong_is_said_before_anything_changes(pair):
    def up(*words: str) -> subprocess.CompletedProcess[str]:
        return call("ip", "netns", "exec", pair.names["ap"], DAEMON, "tunnel", "up", *words, check=False)

    file = str(pair.file("ap"))
    assert up(file, "--check").returncode == 0
    pair.file("ap").chmod(0o644)
    assert "others can read the key" in up(file, "--check").stderr
    pair.file("ap").chmod(0o600)
    assert up(file, "--check").stderr == f"{file}: nothing is wrong with this configuration\n"
    dry = up(file, "--dry-run").stdout
    assert up(file, "--check", "--dry-run").stdout == dry
    assert f"[#] ip tuntap add {pair.interfaces['ap']} mode tun" in dry
    assert f"[#] sysctl -w {FORWARD}=1" in dry
    assert not pair.has_device("ap")
    unit = call(DAEMON, "tunnel", "unit", file).stdout
    assert f"ExecStart={DAEMON} tunnel up {file}" in unit
    pair.write("ap", tunnel='hold = "10h"')
    wrong = up(file)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "tunnel.hold" in wrong.stderr
    pair.write("ap")
    pair.file("ap").write_text(pair.file("ap").read_text().replace("private_key", "private_key_file"))
    wrong = up(file)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)
    assert "private_key_file: " in wrong.stderr
    pair.write("ap")
    pair.up("ap")
    second = up(file)
    assert second.returncode == 5
    assert f"another daemon listens there: process {pair.running[0].pid} (" in second.stderr
    assert pair.forwards() == "1"
    absent = call(DAEMON, "tunnel", "show", "nothing0", check=False)
    assert (absent.returncode, absent.stderr) == (1, "airwattd: no tunnel runs on nothing0\n")


def test_a_firewall_that_drops_what_is_passed_on_is_named(pair):
    """What a client sends to a network beyond the concentrator would be lost in silence."""
    drops = "type filter hook forward priority 0; policy drop; ct state established,related accept;"
    pair.run("ap", "nft", f"table inet fw {{ chain pass {{ {drops} }}; }}")

    def said(end: str) -> str:
        return call(*pair.inside(end, DAEMON, "tunnel", "up", pair.file(end), "--check")).stderr

    text = said("ap")
    hint = text.split("hint: nft ")[1].splitlines()[0]
    assert "inet fw pass drops what its rules do not accept" in text, text
    assert "the hints above are about this host" in text
    assert hint == f"insert rule inet fw pass iifname {pair.interfaces['ap']} accept"
    pair.run("ap", "nft", hint)
    assert "drops what" not in said("ap")
    # A client passes nothing on.
    pair.run("client", "nft", f"table inet fw {{ chain pass {{ {drops} }}; }}")
    assert "drops what" not in said("client")


def test_packets_for_which_the_device_has_no_room_are_counted(pair):
    """A daemon that is stopped reads nothing, and the queue of the device holds some hundred packets."""
    pair.up("ap")
    client = pair.up("client")
    assert pair.ping()
    assert pair.show("client")["device_dropped"] == 0
    client.send_signal(signal.SIGSTOP)
    flood = """
import socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(3000):
    s.sendto(b"x", (sys.argv[1], 9))
"""
    pair.run("client", sys.executable, "-c", flood, INNER["ap"])
    client.send_signal(signal.SIGCONT)
    counted = pair.show("client")["device_dropped"]
    (link,) = json.loads(pair.run("client", "ip", "-s", "-j", "link", "show", pair.interfaces["client"]))
    assert 0 < counted == link["stats64"]["tx"]["dropped"]


def test_keys_are_those_of_wireguard():
    for private, public in KEYS.values():
        shown = subprocess.run([DAEMON, "pubkey"], input=private + "\n", capture_output=True, text=True, check=True)
        assert shown.stdout == public + "\n"
    keys = {call(DAEMON, "genkey").stdout for _ in range(3)}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {45}
    wrong = subprocess.run([DAEMON, "pubkey"], input="no key", capture_output=True, text=True, check=False)
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("words", ["genkey", "--version", "completion bash", "cc --help", "tunnel example client"])
def test_a_result_that_a_full_disk_swallows_is_an_error(words):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([DAEMON, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "airwattd: standard output: No space left on device\n")


def test_what_crosses_the_cable_cannot_be_read(pair):
    # Both ends with other keys hear nothing of each other.
    pair.up("ap")
    pair.file("client").write_text(pair.file("client").read_text().replace(KEYS["client"][0], "A" * 43 + "="))
    client = pair.up("client")
    assert not pair.ping(attempts=2)
    assert pair.show("ap")["peers"][0]["endpoint"] is None
    client.terminate()
    assert client.wait(5) == 0
    pair.write("client")
    pair.up("client")
    listen = """
import socket, sys, time
here = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
here.bind(("cable", 0))
here.settimeout(0.1)
print("ready", flush=True)
until, seen = time.monotonic() + 1, b""
while time.monotonic() < until:
    try:
        seen += here.recv(2000)
    except TimeoutError:
        pass
print(len(seen), b"a secret of this test" in seen)
"""
    say = """
import socket, sys
here = socket.socket(type=socket.SOCK_DGRAM)
here.sendto(b"a secret of this test", (sys.argv[1], 9))
"""
    words = ["ip", "netns", "exec", pair.names["ap"], sys.executable, "-c", listen]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ear:
        assert ear.stdout is not None
        assert ear.stdout.readline() == "ready\n"
        pair.run("client", sys.executable, "-c", say, INNER["ap"])
        length, found = ear.stdout.read().split()
        assert int(length) > 148 + 92 + 32 + 21
        assert found == "False"


@pytest.mark.parametrize("end", ["ap", "client"])
def test_a_restarted_end_is_reached_again(pair, end):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    handshakes = pair.show("client")["peers"][0]["handshakes"]
    process = pair.running[0 if end == "ap" else 1]
    process.kill()
    process.wait()
    await_true(lambda: not pair.has_device(end))
    pair.up(end)
    begin = time.monotonic()
    assert pair.ping(attempts=30)
    # 1.2 s of silence and a handshake; the bound is for busy machines.
    assert time.monotonic() - begin < 5
    if end == "ap":
        assert pair.show("client")["peers"][0]["handshakes"] == handshakes + 1


def reaches_client(pair, attempts: int) -> bool:
    """Whether the concentrator's host, which speaks first, gets an answer from the client."""
    words = ["ip", "netns", "exec", pair.names["ap"], sys.executable, "-c", PING]
    return call(*words, INNER["client"], INNER["ap"], attempts, check=False).returncode == 0


def test_a_killed_concentrator_reaches_a_client_that_has_not_spoken_since(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    before = pair.show("ap")["peers"][0]["endpoint"]
    process = pair.running[0]
    process.kill()
    process.wait()
    await_true(lambda: not pair.has_device("ap"))
    assert left_in_run(pair) == [".peers"]
    process = pair.up("ap")
    assert pair.show("ap")["peers"][0]["endpoint"] == before
    began = time.monotonic()
    assert reaches_client(pair, 30)
    print(f"the client answered {time.monotonic() - began:.2f} s after the first packet")
    assert time.monotonic() - began < 5
    # An orderly end forgets them.
    process.terminate()
    assert process.wait(5) == 0
    assert left_in_run(pair) == []


def test_a_restarted_client_that_only_listens_is_reached_at_its_new_port(pair):
    pair.up("ap")
    client = pair.up("client")
    assert pair.ping()
    client.kill()
    client.wait()
    await_true(lambda: not pair.has_device("client"))
    pair.up("client")
    await_true(lambda: pair.show("client")["peers"][0]["handshakes"] == 1)
    assert reaches_client(pair, 2)
    assert pair.show("client")["peers"][0]["packets_sent"] > 0, "answers alone"


def test_a_request_and_its_reply_take_two_datagrams(pair):
    pair.up("ap")
    pair.up("client")
    for _ in range(5):
        assert pair.ping(attempts=1)
        time.sleep(2)
    # Five each, and the handshake. The client begins it as it starts, and confirms it by a datagram of its own,
    # since no packet waits.
    assert [pair.show(end)["socket"]["sent"] for end in OUTER] == [7, 6]


def test_a_handshake_at_the_start_is_one_and_no_strangers(pair):
    pair.up("ap")
    pair.up("client")
    time.sleep(1.5)
    assert [pair.show(end)["strange_datagrams"] for end in OUTER] == [0, 0]
    assert [pair.show(end)["socket"]["sent"] for end in OUTER] == [2, 1]


def test_a_client_that_moves_keeps_its_session(pair):
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    pair.run("client", "ip", "address", "add", "10.98.0.3/24", "dev", "cable")
    pair.run("client", "ip", "address", "delete", f"{OUTER['client']}/24", "dev", "cable")
    pair.run("client", "ip", "address", "add", "10.98.0.3/24", "dev", "cable", check=False)
    assert pair.ping()
    (client,) = pair.show("ap")["peers"]
    assert client["endpoint"].startswith("10.98.0.3:")
    assert client["moves"] == 1


@pytest.mark.parametrize(("listen", "asked"), [("0.0.0.0", "10.98.0.3"), ("[::]", "10.98.0.3"), ("[::]", "fd98::3")])
def test_who_is_asked_answers_from_the_address_that_was_asked(pair, listen, asked):
    """A translator or a firewall before the client would let no answer of another address pass."""
    for end, address in (("client", "fd98::2"), ("ap", "fd98::1"), ("ap", asked)):
        length = 64 if ":" in address else 24
        pair.run(end, "ip", "address", "replace", f"{address}/{length}", "dev", "cable", *(["nodad"] * (length == 64)))
    at = f"[{asked}]" if ":" in asked else asked
    for end, before, after in (("ap", f'"{OUTER["ap"]}:', f'"{listen}:'), ("client", f'"{OUTER["ap"]}:', f'"{at}:')):
        pair.write(end)
        text = pair.file(end).read_text()
        assert before in text
        pair.file(end).write_text(text.replace(before, after))
        pair.up(end)
    assert pair.ping()
    # By a move the client would have noticed another address.
    assert pair.show("client")["peers"][0]["endpoint"] == f"{at}:{PORT}"


@pytest.mark.parametrize("gap_s", [0, 0.6])
def test_a_client_that_moves_and_only_listens_is_found(pair, gap_s):
    """As in a download, whose sender waits for acknowledgements: nothing of the client leaves by itself."""
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    time.sleep(1)
    before = pair.show("client")["socket"]["sent"]
    pair.run("client", "ip", "address", "delete", f"{OUTER['client']}/24", "dev", "cable")
    time.sleep(gap_s)
    assert pair.show("client")["socket"]["sent"] == before
    pair.run("client", "ip", "address", "add", "10.98.0.3/24", "dev", "cable")
    await_true(lambda: pair.show("ap")["peers"][0]["endpoint"].startswith("10.98.0.3:"), seconds=3)
    assert " 0% packet loss" in pair.run("ap", "ping", "-c", "1", "-W", "2", INNER["client"])
    # Once, and not for other news of routes.
    sent = pair.show("client")["socket"]["sent"]
    pair.run("client", "ip", "address", "add", "10.97.0.9/24", "dev", "lo")
    time.sleep(0.5)
    assert pair.show("client")["socket"]["sent"] == sent
    assert pair.show("ap")["peers"][0]["moves"] == 1


def test_loading_the_congestion_control_names_a_tunnel_that_may_thin_acknowledgements(pair):
    pair.up("ap")
    pair.up("client")
    interface = pair.interfaces["client"]
    load = [*pair.inside("client", DAEMON, "cc", "load", "--dry-run")]
    if (said := call(*load, check=False)).returncode != 0:
        pytest.skip(said.stderr.strip())
    assert "thin_acks" not in said.stderr
    for where in (["--default"], ["--interface", interface]):
        assert f"the tunnel {interface}" in call(*load, *where).stderr
    assert "thin_acks" not in call(*load, "--interface", "cable").stderr


def use_ipv6(pair) -> None:
    """Has the tunnel over IPv6, with both versions inside."""
    for end, name in pair.names.items():
        call("ip", "-n", name, "address", "add", f"{OUTER_V6[end]}/64", "dev", "cable", "nodad")
        pair.write(end, v6=True, allowed=f'"{INNER["ap" if end == "client" else "client"]}/32"')
        text = pair.file(end).read_text().replace("addresses = [", f'addresses = ["{INNER[end]}/24", ')
        pair.file(end).write_text(text)


def test_both_ip_versions_are_inside_and_outside(pair):
    use_ipv6(pair)
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    assert pair.ping(INNER_V6["client"], target=INNER_V6["ap"])
    ap = pair.show("ap")
    assert ap["mtu_bytes"] == 1_500 - 40 - 8 - 4 - 32
    assert ap["peers"][0]["endpoint"].startswith(f"[{OUTER_V6['client']}]:")


def test_a_client_without_an_outer_address_does_not_move_into_its_own_tunnel(pair):
    """Its kernel then sends from its inner address, where the concentrator would answer through the tunnel."""
    use_ipv6(pair)
    text = pair.file("client").read_text().replace("allowed_ips = [", 'allowed_ips = ["::/0", ')
    pair.file("client").write_text(text)

    def link_local(end: str) -> str | None:
        """The address of the cable there, once the kernel knows it to be unique: before, it resolves no neighbour."""
        found = re.search(
            r"inet6 (fe80::\S+)/64 scope link (.*)", pair.run(end, "ip", "-6", "address", "show", "dev", "cable")
        )
        return found.group(1) if found and "tentative" not in found.group(2) else None

    await_true(lambda: link_local("client"))
    gateway = await_true(lambda: link_local("ap"))
    pair.run("client", "ip", "-6", "route", "add", "default", "via", gateway, "dev", "cable")
    pair.up("ap")
    pair.up("client")
    assert pair.ping(INNER_V6["client"], target=INNER_V6["ap"])
    before = pair.show("ap")
    outer = [f"{OUTER_V6['client']}/64", "dev", "cable"]
    pair.run("client", "ip", "-6", "addr", "del", *outer)
    pair.ping(INNER_V6["client"], attempts=4, target=INNER_V6["ap"])
    meanwhile = pair.show("ap")
    assert meanwhile["peers"][0]["endpoint"] == before["peers"][0]["endpoint"]
    assert meanwhile["strange_datagrams"] > before["strange_datagrams"], "nothing came from the inner address"
    pair.run("client", "ip", "-6", "addr", "add", *outer, "nodad")
    assert pair.ping(INNER_V6["client"], attempts=30, target=INNER_V6["ap"])
    time.sleep(1.1)
    assert pair.ping(INNER_V6["client"], attempts=30, target=INNER_V6["ap"])
    after = pair.show("ap")
    assert after["peers"][0]["endpoint"] == before["peers"][0]["endpoint"]
    assert (after["peers"][0]["moves"], after["mtu_bytes"]) == (0, before["mtu_bytes"])


@pytest.mark.parametrize("headers", [64, 84], ids=["ipv4", "ipv6"])
def test_a_path_that_carries_less_than_ethernet_neither_stalls_nor_fragments(pair, headers):
    if headers == 84:
        use_ipv6(pair)
    for end in OUTER:
        call("ip", "-n", pair.names[end], "link", "set", "cable", "mtu", "1400")
        pair.up(end)
    pair.carry(200_000)
    client = pair.show("client")
    assert client["mtu_bytes"] == 1_400 - headers
    assert f"mtu {1_400 - headers}" in pair.run("client", "ip", "link", "show", pair.interfaces["client"])
    fragments = "grep ^Ip: /proc/net/snmp | tail -n 1 | cut -d' ' -f 20"
    assert pair.run("client", "sh", "-c", fragments).strip() == "0"


@pytest.mark.parametrize(("path", "outer_v6"), [(1_280, False), (1_343, False), (1_300, True)])
def test_a_tunnel_of_both_ip_versions_over_a_path_too_narrow_for_1280_bytes_within(pair, path, outer_v6):
    """IPv6 has no smaller MTU. Segments are kept small enough, and larger packets are divided into fragments."""
    if outer_v6:
        use_ipv6(pair)
    for end in OUTER:
        if not outer_v6:
            text = pair.file(end).read_text().replace("addresses = [", f'addresses = ["{INNER_V6[end]}/64", ')
            other = INNER_V6["ap" if end == "client" else "client"]
            pair.file(end).write_text(text.replace("allowed_ips = [", f'allowed_ips = ["{other}/128", '))
        call("ip", "-n", pair.names[end], "link", "set", "cable", "mtu", path)
        pair.up(end)
    pair.carry(200_000)
    assert pair.show("client")["mtu_bytes"] == 1_280
    for address, headers in ((INNER["ap"], 28), (INNER_V6["ap"], 48)):
        pair.run("client", "ping", "-c", "4", "-W", "5", "-s", 1_280 - headers, address)


def test_the_plain_form_is_for_private_addresses(pair):
    for end in OUTER:
        pair.write(end, plain=True)
        pair.up(end)
    assert pair.ping()
    assert "neither encrypted nor authenticated" in call(DAEMON, "tunnel", "show", pair.interfaces["ap"]).stdout
