"""`airwattd gateway` at a base station alone, which translates addresses or filters what it forwards."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from lab import DAEMON, await_true, call, missing

from gateway_lab import BASE, HERE, MOBILE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
FORWARD = "policy drop; ct state established,related accept; iifname air oifname wired accept"


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        lab.write_alone()
        yield lab


def check(lab: Lab) -> str:
    return lab.run("base", DAEMON, "gateway", "up", lab.file("base"), "--check").stderr


def relayed(lab: Lab) -> int:
    return lab.status("base")["connections_relayed"]


@pytest.mark.parametrize(
    "rule", ["oifname wired masquerade", "ip saddr 10.97.0.0/24 masquerade", "oifname wired snat ip to 10.96.0.254"]
)
def test_connections_are_relayed_and_translated(lab, rule):
    lab.translate(rule)
    lab.up("base")
    lab.serve()
    words = (sys.executable, HERE / "lan_capture.py", "wired", "30")
    capture = lab.start("server", *words, stdout=subprocess.PIPE, text=True)
    assert capture.stdout.readline() == "ready\n"
    assert lab.echo(300_000) == "{'same': 1}\n"
    assert {frozenset(line.split()[1:]) for line in capture.communicate(timeout=10)[0].splitlines()} == {
        frozenset({BASE["wired"], SERVER})
    }
    assert lab.echo(2_000, 40, 10) == "{'same': 40}\n"
    assert relayed(lab) == 41
    assert lab.end("base", signal.SIGTERM) == 0
    assert lab.left_over("base") == []
    assert "airwatt" not in lab.run("base", "nft", "list", "tables").stdout
    assert lab.echo(1_000) == "{'same': 1}\n", "without a gateway"


def test_a_refused_port_is_refused_and_a_killed_daemon_leaves_plain_tcp(lab):
    lab.translate("oifname wired masquerade")
    lab.up("base")
    assert lab.echo(10, port=5001) == "{'ConnectionRefusedError': 1}\n"
    lab.serve()
    lab.end("base", signal.SIGKILL)
    await_true(lambda: lab.left_over("base") == [])
    assert lab.echo(1_000) == "{'same': 1}\n"


@pytest.mark.parametrize("is_translated", [False, True])
def test_a_mobile_learns_the_end_though_the_reset_is_lost(lab, is_translated):
    """It says nothing itself. The air loses what is sent for 0.3 s after the kill."""
    if is_translated:
        lab.translate("oifname wired masquerade")
    lab.up("base")
    lab.serve()
    code = f"""
import socket
here = socket.create_connection(("{SERVER}", 5000))
here.sendall(b"a"); assert here.recv(9) == b"a"
print("open", flush=True)
try:
    print("end", here.recv(9))
except ConnectionResetError:
    print("reset", flush=True)
"""
    program = lab.start("mobile", sys.executable, "-c", code, stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "open\n"
    lab.run("mobile", "nft", "table ip lose { chain c { type filter hook input priority 0; tcp flags rst drop; }; }")
    os.kill(lab.running["base"].pid, signal.SIGKILL)
    time.sleep(0.3)
    lab.run("mobile", "nft", "delete table ip lose")
    assert program.communicate(timeout=3)[0] == "reset\n"
    lab.end("base", signal.SIGKILL)
    assert lab.left_over("base") == []
    assert "airwatt" not in lab.run("base", "nft", "list", "tables").stdout


def test_a_connection_whose_destination_is_translated_passes_as_plain_tcp(lab):
    lab.run("base", "nft", "table ip d { chain d { type nat hook prerouting priority -100; }; }")
    lab.run("base", "nft", f"add rule ip d d iifname air tcp dport 5001 dnat to {SERVER}:5000")
    lab.up("base")
    lab.serve()
    assert lab.echo(10_000, address="10.96.0.7", port=5001, timeout=10) == "{'same': 1}\n"
    assert relayed(lab) == 0
    assert lab.echo(10_000) == "{'same': 1}\n"
    assert relayed(lab) == 1


def test_a_firewall_that_forwards_nothing_into_the_device_is_named_and_gone_round(lab):
    lab.run("base", "nft", f"table ip fw {{ chain f {{ type filter hook forward priority 0; {FORWARD}; }}; }}")
    lab.serve()
    said = check(lab)
    assert "ip fw f drops what its rules do not accept" in said
    lab.up("base")
    # The SYN is led to the device when it is sent and after 1 s, and goes its way after 3 s.
    assert lab.echo(10_000, timeout=10) == "{'same': 1}\n"
    assert lab.echo(2_000, 40, 10, timeout=10) == "{'same': 40}\n"
    assert relayed(lab) == 0
    assert lab.status("base")["mobiles_kept_away"] == [MOBILE]
    shown = lab.run("base", DAEMON, "gateway", "status").stdout
    assert f"kept away: SYNs of {MOBILE} were led to " in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80, shown
    base = lab.running.pop("base")
    base.send_signal(signal.SIGTERM)
    log = base.communicate(timeout=15)[1]
    assert base.returncode == 0
    assert log.count("SYNs that were led to the device did not come back from it") == 1, log
    lab.run("base", "nft", said.split("hint: nft ")[1].splitlines()[0])
    assert "nf_tables" not in check(lab)
    lab.up("base")
    assert lab.echo(2_000, 40, 10) == "{'same': 40}\n"
    assert relayed(lab) == 40
    assert lab.status("base")["mobiles_kept_away"] == []
    assert "kept away" not in lab.run("base", DAEMON, "gateway", "status").stdout


@pytest.mark.parametrize("ends", [("base",), ("base", "mobile")], ids=["alone", "both"])
def test_connections_to_mobiles_go_round_a_firewall_that_forwards_none_into_the_device(lab, ends):
    chain = "policy drop; ct state established,related accept; iifname wired oifname air accept; iifname air accept"
    lab.run("base", "nft", f"table ip fw {{ chain f {{ type filter hook forward priority 0; {chain}; }}; }}")
    lab.serve(host="mobile", address=MOBILE)
    if len(ends) == 2:
        lab.write("base")
        lab.write("mobile")
    lab.up(*ends)
    assert lab.echo(10_000, host="server", address=MOBILE, timeout=10) == "{'same': 1}\n"
    assert lab.echo(2_000, 40, 10, host="server", address=MOBILE, timeout=10) == "{'same': 40}\n"
    assert relayed(lab) == 0
    assert lab.status("base")["mobiles_kept_away"] == [SERVER]


def test_a_firewall_that_rejects_is_gone_round_after_two_connections(lab):
    chain = "type filter hook forward priority 0; iifname air oifname wired accept; oifname air accept; counter reject"
    lab.run("base", "nft", f"table inet fw {{ chain f {{ {chain}; }}; }}")
    lab.serve()
    assert "inet fw f drops what its rules do not accept" in check(lab)
    lab.up("base")
    outcomes = [lab.echo(1_000, timeout=10) for _ in range(3)]
    assert ["same" in outcome for outcome in outcomes] == [False, False, True]


def test_a_rule_for_one_ip_version_does_not_accept_the_other(lab):
    """`--check` found nothing wrong, and mobiles with IPv6 were kept away."""
    lab.run("base", "nft", f"table inet fw {{ chain f {{ type filter hook forward priority 0; {FORWARD}; }}; }}")
    lab.serve()
    hints = [part.splitlines()[0] for part in check(lab).split("hint: nft ")[1:]]
    assert [" ip " in hint for hint in hints] == [True, False], hints
    lab.run("base", "nft", hints[0])
    assert [part.splitlines()[0] for part in check(lab).split("hint: nft ")[1:]] == hints[1:]
    lab.run("base", "nft", hints[1])
    assert "nf_tables" not in check(lab)


def test_a_firewall_of_the_old_iptables_is_named(lab):
    if lab.run("base", "iptables-legacy", "-P", "FORWARD", "DROP", check=False).returncode != 0:
        pytest.skip("this kernel or host has no iptables-legacy")
    lab.run("base", "iptables-legacy", "-A", "FORWARD", "-i", "wired", "-j", "ACCEPT")
    said = check(lab)
    assert "iptables-legacy: FORWARD drops what its rules do not accept" in said
    lab.run("base", *said.split("hint: ")[1].splitlines()[0].split())
    assert "iptables" not in check(lab)
    lab.run("base", "iptables-legacy", "-A", "INPUT", "-j", "DROP")
    said = check(lab)
    assert "iptables-legacy: INPUT drops what its rules do not accept" in said
    lab.run("base", *said.split("hint: ")[1].splitlines()[0].split())
    assert "iptables" not in check(lab)


def test_a_firewall_of_the_host_itself_is_named(lab):
    chain = (
        "type filter hook input priority 0; policy drop; ct state established,related accept; meta l4proto icmp accept"
    )
    lab.run("base", "nft", f"table ip fw {{ chain in {{ {chain}; }}; }}")
    lab.serve()
    said = check(lab)
    assert "ip fw in drops what its rules do not accept" in said
    lab.run("base", "nft", said.split("hint: nft ")[1].splitlines()[0])
    assert "nf_tables" not in check(lab)
    lab.up("base")
    assert lab.echo(10_000) == "{'same': 1}\n"
    assert relayed(lab) == 1


def test_the_rules_of_a_dry_run_are_those_of_nft(lab):
    text = call(DAEMON, "gateway", "up", lab.file("base"), "--dry-run").stdout
    rules = text.split("nft -i <<'END'\n")[1].split("END\n")[0]
    # The daemon's device is not there.
    rules = re.sub(rf"(iif|device) {lab.interfaces['base']}\b", r'\1 "air"', rules)
    file = lab.folder / "rules.nft"
    file.write_text(rules.replace("flags owner\n", ""))
    lab.run("base", "nft", "-c", "-f", file)
