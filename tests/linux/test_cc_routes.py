"""`airwattd cc` on a host with cable and Wi-Fi in one LAN: it changes the routes it is told to change, and no other."""

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from lab import call, missing

from congestion import is_one_line, kernel  # noqa: F401 - the fixture is asked for by name
from lan import INTERFACES, PREFIX, PREFIX6, ROUTER, ROUTER6, Lan

REASON = missing()
pytestmark = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.usefixtures("kernel"),
    pytest.mark.xdist_group("kernel"),
]

EQUAL, DIFFERENT = (0, 0), (100, 600)
HERE = Path(__file__).parent


@pytest.fixture(params=[EQUAL, DIFFERENT], ids=["equal", "different"])
def lan(request):
    with Lan(request.param) as made:
        yield made


@pytest.fixture
def equal():
    with Lan(EQUAL) as made:
        yield made


@contextlib.contextmanager
def events(lan):
    """Collects what the kernel reports of changed routes."""
    seen: list[str] = []
    monitor = subprocess.Popen(lan.inside("ip", "monitor", "route"), stdout=subprocess.PIPE, text=True)
    # The last event of all, by which it is known that those before it were read.
    reader = threading.Thread(target=lambda: [seen.append(line) for line in iter(monitor.stdout.readline, "")])
    lan.run("sleep", 0.3)
    reader.start()
    try:
        yield seen
        lan.run("sleep", 0.3)
    finally:
        monitor.terminate()
        reader.join()
        monitor.communicate()


def without(lines, algorithm="ackloss"):
    return [line.replace(f" congctl {algorithm}", "") for line in lines]


def test_a_dry_run_prints_the_changes_and_makes_none(equal):
    before = equal.routes()
    done = equal.cc("load", "--interface", INTERFACES[0], "--default", "--dry-run")
    assert equal.routes() == before
    assert equal.cc("status").stdout == "nothing is loaded\n"
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"[#] bpf: register the congestion control {name}" for name in ("ackloss", "ackloss_cubic")]
    assert lines[-1] == "[#] sysctl -w net.ipv4.tcp_congestion_control=ackloss"
    # They are the lines of the real thing, apart from the mount that it may need.
    real = equal.cc("load", "--interface", INTERFACES[0], "--default").stderr.splitlines()
    assert lines == [line for line in real if line.startswith("[#]") and "mount" not in line]
    # Loaded already, there is nothing to do.
    assert equal.cc("load", "--interface", INTERFACES[0], "--default", "--dry-run").stdout == ""
    equal.cc("unload")
    assert equal.routes() == before


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_other_interface_is_never_touched(lan, interface):
    (other,) = {*INTERFACES} - {interface}
    before, decided = lan.routes(), lan.decisions()
    with events(lan) as seen:
        lan.cc("load", "--interface", interface)
        loaded = lan.routes()
        # Nothing but the congestion control differs, and the order is the same.
        assert without(loaded) == before
        assert without(lan.decisions()) == decided
        directed = [line for line in loaded if "congctl ackloss" in line]
        expected = [line for line in before if f"dev {interface} " in line and line.startswith("unicast")]
        assert without(directed) == [line for line in expected if not line.startswith("unicast fe80")]
        assert len(directed) >= 3
        lan.cc("load", "--interface", interface, "--algorithm", "ackloss_cubic")
        assert without(lan.routes(), "ackloss_cubic") == before
        assert "unloaded" in lan.cc("unload").stderr
    assert any(f"dev {interface} " in event for event in seen)
    assert not [event for event in seen if f"dev {other} " in event]
    assert lan.routes() == before
    assert lan.decisions() == decided


def test_both_interfaces_can_be_directed(lan):
    before = lan.routes()
    lan.cc("load", "--interface", "cable", "--interface", "wifi")
    assert sum("congctl ackloss" in line for line in lan.routes()) == 2 * sum(
        line.startswith("unicast") and "dev wifi" in line and "fe80" not in line for line in before
    )
    assert without(lan.routes()) == before
    lan.cc("unload")
    lan.cc("load", "--route", PREFIX, "--route", PREFIX6)
    assert sum("congctl ackloss" in line for line in lan.routes()) == 4
    lan.cc("unload")
    assert lan.routes() == before


def test_at_no_time_there_is_no_route(lan):
    """Looks for a route all the time, bound to the interface whose routes are changed."""
    destinations = [ROUTER, ROUTER6, "198.51.100.7"]
    probe = subprocess.Popen(
        lan.inside(sys.executable, HERE / "lan_probe.py", "wifi", *destinations),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert probe.stdout.readline() == "ready\n"
        for _ in range(15):
            lan.cc("load", "--interface", "wifi")
            lan.cc("unload")
    finally:
        told, _ = probe.communicate("", timeout=20)
    asked, failed = map(int, told.split())
    assert asked > 10_000
    assert failed == 0


def test_connections_outlive_loading_and_unloading(lan):
    listener = (
        "import socket; s = socket.create_server(('192.168.1.1', 9)); print('ready', flush=True); c, _ = s.accept()\n"
    )
    listener += "while (data := c.recv(100)): c.sendall(data)"
    server = subprocess.Popen(
        ["nsenter", f"--net=/run/netns/{lan.router}", sys.executable, "-c", listener], stdout=subprocess.PIPE, text=True
    )
    client = (
        "import socket, sys\n"
        "s = socket.socket(); s.setsockopt(1, 25, b'wifi'); s.settimeout(10); s.connect(('192.168.1.1', 9))\n"
        "for line in sys.stdin: s.sendall(line.encode()); print(s.recv(100).decode(), end='', flush=True)"
    )
    try:
        assert server.stdout.readline() == "ready\n"
        talk = subprocess.Popen(
            lan.inside(sys.executable, "-c", client), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for command in (["load", "--interface", "wifi"], ["unload"]) * 3:
            lan.cc(*command)
            talk.stdin.write("still there\n")
            talk.stdin.flush()
            assert talk.stdout.readline() == "still there\n"
        talk.communicate(timeout=10)
        assert talk.returncode == 0
    finally:
        server.kill()
        server.communicate()


def test_what_a_route_has_stays(lan):
    """Other metrics, locks, a congestion control of its own; preference and expiry, as NetworkManager sets them."""
    made = [
        f"-4 198.18.0.0/24 via {ROUTER} dev wifi metric 7 mtu lock 1400 advmss 1300 congctl reno",
        f"-4 198.18.0.0/24 via {ROUTER} dev cable metric 7 initcwnd 20 features ecn",
        "-6 2001:db8:a::/48 via fe80::1 dev wifi proto ra metric 7 expires 900 pref high mtu 1300",
        "-6 2001:db8:b::/48 dev wifi metric 8 hoplimit 9 congctl reno",
        "-6 2001:db8:b::/48 dev cable metric 8 quickack 1",
        "-6 2001:db8:c::/48 from 2001:db8:1::/64 via fe80::1 dev wifi",
    ]
    for line in made:
        family, *words = line.split()
        lan.ip(family, "route", "append", *words)
    lan.ip("route", "add", "198.18.1.0/24", "dev", "wifi", "table", 100, "tos", "0x10", "onlink", "via", ROUTER)
    before, decided = lan.routes(), lan.decisions()
    lan.cc("load", "--interface", "wifi")
    loaded = lan.routes()
    assert sum("congctl ackloss" in line for line in loaded) >= 8
    for words in (
        "mtu lock 1400",
        "advmss 1300",
        "expires",
        "pref high",
        "hoplimit 9",
        "table 100",
        "from 2001:db8:1::/64",
    ):
        assert any(words in line and "congctl ackloss" in line for line in loaded), words
    assert [line for line in loaded if "dev cable" in line] == [line for line in before if "dev cable" in line]
    assert "unloaded" in lan.cc("unload").stderr
    assert lan.routes() == before
    assert lan.decisions() == decided


def test_a_route_of_several_paths_is_directed_whole_or_named(equal):
    both = ("nexthop", "via", ROUTER, "dev", "cable", "nexthop", "via", ROUTER, "dev", "wifi")
    both6 = ("nexthop", "via", ROUTER6, "dev", "cable", "nexthop", "via", ROUTER6, "dev", "wifi")
    equal.ip("route", "add", "198.18.0.0/24", *both)
    equal.ip("-6", "route", "add", "2001:db8:a::/48", *both6)
    before = equal.routes()
    said = equal.cc("load", "--interface", "wifi").stderr
    for prefix in ("198.18.0.0/24", "2001:db8:a::/48"):
        assert any(
            "not directed" in line and prefix in line and "hint: --interface cable" in line
            for line in said.splitlines()
        )
    assert sum("congctl" in line for line in equal.routes()) == 3
    equal.cc("unload")
    for words in (
        ["--interface", "wifi", "--interface", "cable"],
        ["--route", "198.18.0.0/24", "--route", "2001:db8:a::/48"],
    ):
        assert "not directed" not in equal.cc("load", *words).stderr
        assert without(equal.routes()) == before
        assert any("198.18.0.0/24" in line and "congctl" in line for line in equal.routes())
        equal.cc("unload")
        assert equal.routes() == before


def test_next_hop_objects_stay(equal):
    equal.ip("nexthop", "add", "id", 7, "via", ROUTER, "dev", "wifi")
    equal.ip("nexthop", "add", "id", 8, "via", ROUTER6, "dev", "wifi")
    equal.ip("nexthop", "add", "id", 9, "via", ROUTER, "dev", "cable")
    equal.ip("nexthop", "add", "id", 10, "group", "7/9")
    for prefix, number in (("198.18.0.0/24", 7), ("198.18.1.0/24", 10), ("2001:db8:a::/48", 8)):
        equal.ip("route", "add", prefix, "nhid", number)
    before = equal.routes()
    said = equal.cc("load", "--interface", "wifi").stderr
    assert "not directed: route 198.18.1.0/24" in said
    assert sum("nhid" in line and "congctl ackloss" in line for line in equal.routes()) == 2
    equal.cc("unload")
    assert equal.routes() == before
    equal.cc("load", "--route", "198.18.1.0/24")
    assert sum("nhid" in line and "congctl ackloss" in line for line in equal.routes()) == 1
    # The kernel gives a new route the metrics of another with the same object.
    equal.ip("route", "add", "198.18.2.0/24", "nhid", 10)
    equal.cc("unload")
    equal.ip("route", "delete", "198.18.2.0/24")
    assert equal.routes() == before


def test_the_middle_of_three_is_refused_by_name():
    with Lan((0, 0, 0), ("cable", "wifi", "third")) as lan:
        before = lan.routes()
        done = lan.cc("load", "--interface", "wifi", check=False)
        assert is_one_line(done, 2, "--interface wifi", "dev wifi", "between routes of equal metric", "hint: "), done
        assert is_one_line(lan.cc("load", "--route", PREFIX, check=False), 2, PREFIX, "dev wifi")
        for interface in ("cable", "third"):
            lan.cc("load", "--interface", interface)
            assert without(lan.routes()) == before
            lan.cc("unload")
            assert lan.routes() == before


def test_what_the_kernel_learnt_from_advertisements_is_left_to_it(equal):
    """A changed copy lacks the kernel's mark, and the kernel then processes no further advertisement."""
    equal.run("sysctl", "-qw", "net.ipv6.conf.wifi.accept_ra=1")

    def routes():
        return [line for line in equal.routes() if line.startswith("unicast")]

    def advertise(valid_s):
        call("nsenter", f"--net=/run/netns/{equal.router}", sys.executable, HERE / "advertise.py", "lan", 1800, valid_s)
        equal.run("sleep", 0.5)

    advertise(3600)
    before = routes()
    assert any(line.startswith("unicast default via fe80::") and "dev wifi" in line for line in before)
    said = equal.cc("load", "--interface", "wifi").stderr
    assert "not directed: route ::/0 dev wifi" in said
    assert "router advertisement" in said
    assert sum("congctl" in line for line in equal.routes()) == 3
    advertise(7200)
    assert any(f"valid_lft {seconds}sec" in equal.ip("-6", "address").stdout for seconds in range(7190, 7201))
    done = equal.cc("load", "--route", "::/0", check=False)
    assert is_one_line(done, 2, "--route ::/0", "router advertisement")
    equal.cc("unload")
    assert routes() == before


def replace(lan):
    """As `ip route replace` in a script of dhclient, where metrics differ."""
    lan.ip("route", "replace", "default", "via", ROUTER, "dev", "wifi", "proto", "dhcp", "metric", 600, "mtu", 1400)
    lan.ip("-6", "route", "replace", PREFIX6, "dev", "wifi", "proto", "kernel", "metric", 600)


def flush(lan):
    """All of an interface away and back, as when a lease is renewed."""
    for family in ("-4", "-6"):
        lan.ip(family, "route", "flush", "dev", "wifi", "scope", "global")
        lan.ip(family, "address", "flush", "dev", "wifi", "scope", "global")
        lan.ip(family, "route", "flush", "dev", "wifi", "proto", "kernel")
    lan.configure("wifi")


def another_metric(lan):
    """As NetworkManager, when an interface loses its way to the Internet."""
    flush(lan)
    for family in ("-4", "-6"):
        lan.ip(family, "route", "flush", "dev", "wifi", "proto", "kernel")
        lan.ip(family, "route", "flush", "dev", "wifi", "proto", "dhcp")
        lan.ip(family, "address", "flush", "dev", "wifi", "scope", "global")
    lan.configure("wifi", 20_600)


def copy_with_congestion_control(lan):
    """As a program that reads a route and writes it back changed, attributes that it does not know included."""
    lan.ip("route", "append", PREFIX, "dev", "wifi", "metric", 77, "congctl", "ackloss")
    lan.ip("-6", "route", "append", "2001:db8:a::/48", "dev", "wifi", "metric", 77, "congctl", "ackloss")


def more_behind(lan):
    """Another route of equal metric behind ours, which is then between two."""
    lan.ip("link", "add", "third", "type", "veth")
    lan.ip("link", "set", "third", "up")
    metric = ("metric", lan.interfaces["wifi"]) if lan.interfaces["wifi"] else ()
    lan.ip("route", "append", PREFIX, "dev", "third", *metric)
    lan.ip("-6", "route", "append", PREFIX6, "dev", "third", *(metric or ("metric", 256)))


def unplug(lan):
    """The interface goes down, by which its routes go, and comes back without them."""
    lan.ip("link", "set", "wifi", "down")
    lan.ip("link", "set", "wifi", "up")


@pytest.mark.parametrize("rewrite", [replace, flush, another_metric, copy_with_congestion_control, more_behind, unplug])
def test_what_others_wrote_meanwhile_stays(lan, rewrite):
    if rewrite is replace and len({*lan.interfaces.values()}) == 1:
        pytest.skip("with equal metrics such a program replaces the other interface's route itself")
    lan.cc("load", "--interface", "wifi")
    rewrite(lan)
    written = lan.routes()
    assert "unloaded" in lan.cc("unload").stderr
    found = lan.routes()
    assert not [line for line in found if "congctl" in line]
    if rewrite is more_behind:
        # Ours goes behind the new ones, which are not touched.
        assert sorted(found) == sorted(without(written))
        assert [line for line in found if "dev wifi" not in line] == [
            line for line in written if "dev wifi" not in line
        ]
    else:
        assert found == without(written)
    # Nothing is left that a later load brings back.
    lan.cc("load")
    assert not [line for line in lan.routes() if "congctl" in line]


@pytest.mark.parametrize("interface", INTERFACES)
def test_while_another_program_changes_the_same_prefixes_nothing_of_it_is_lost(lan, interface):
    """One that never rests; in the end there is what it wrote last, and our routes as they were."""
    (other,) = {*INTERFACES} - {interface}
    metric = lan.interfaces[other]
    of, of6 = (f"metric {metric}", f"metric {metric}") if metric else ("", "metric 256")
    script = "".join(
        f"route {verb} {prefix} dev {other} proto kernel {options}\n"
        for _ in range(3000)
        for verb in ("delete", "append")
        for prefix, options in ((PREFIX, of), (PREFIX6, of6))
    )
    before = sorted(lan.routes())
    restless = subprocess.Popen(
        lan.inside("ip", "-force", "-batch", "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    feeder = threading.Thread(target=restless.communicate, args=(script,))
    feeder.start()
    try:
        while feeder.is_alive():
            done = lan.cc("load", "--interface", interface, check=False)
            assert done.returncode in (0, 1, 2), done
            lan.cc("unload", check=False)
    finally:
        feeder.join()
    lan.cc("unload", "--force")
    # `src` is left out by the script.
    tidy = [line.replace(" src 192.168.1.10", "").replace(" src 192.168.1.11", "") for line in before]
    found = [line.replace(" src 192.168.1.10", "").replace(" src 192.168.1.11", "") for line in sorted(lan.routes())]
    assert found == tidy
