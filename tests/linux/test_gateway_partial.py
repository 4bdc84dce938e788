"""Programs that can do without some of their data, by the local socket of a running `airwattd gateway`: Python, C, the
example of the documentation; and the unit that lets the daemon create that socket."""

import socket
import subprocess
import sys

import pytest
from lab import DAEMON, ROOT, await_true, call, check_exposure, missing

from gateway_lab import KEYS, MOBILE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture
def lab(tmp_path):
    """Both ends over a path that loses 8 of 100 datagrams, and an echo server."""
    with Lab(tmp_path) as lab:
        lab.relay(100, 1, 8, 8, 5)
        lab.socket = tmp_path / "programs.sock"
        lab.write("mobile", top=f'local = "{lab.socket}"', endpoint=f"{MOBILE}:4000")
        lab.up("base", "mobile")
        yield lab


def test_programs_open_connections_with_a_reliability(lab):
    lab.serve()
    code = f"""
from airwatt import partial
with partial.connect("{lab.socket}", "{SERVER}", 5000, wanted=80) as stream:
    stream.write(b"x" * 400_000)
    stream.end()
    data = gaps = 0
    for piece in stream:
        if piece.kind == "gap": gaps += piece.length
        elif piece.kind == "data": data += piece.length
        elif piece.kind == "late": gaps -= piece.length
print(data, gaps)
try:
    partial.connect("{lab.socket}", "{SERVER}", 5001, wanted=80)
except ConnectionError as error:
    print(error)
"""
    data, gaps, *why = lab.run("mobile", sys.executable, "-c", code).stdout.split()
    assert int(data) == 400_000
    assert 0 < int(gaps) <= 80_000
    assert " ".join(why) == "refused"


def test_a_program_that_closes_before_it_is_answered_keeps_no_connection(lab):
    """A server that drops what opens connections keeps programs waiting; an address of this host is refused at once."""
    lab.run("server", "nft", "add table ip deaf; add chain ip deaf in { type filter hook input priority 0; }")
    lab.run("server", "nft", "add rule ip deaf in tcp dport 81 drop")

    def ask(address: str, port: int) -> socket.socket:
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(10)
        stream.connect(str(lab.socket))
        stream.sendall(f"open {address} {port} 80 100\n".encode())
        return stream

    programs = [ask(SERVER, 81) for _ in range(40)]
    await_true(lambda: len(lab.status("mobile")["connections"]) == 40)
    for program in programs:
        program.close()
    await_true(lambda: not lab.status("mobile")["connections"])
    # The path loses some of what says so to the base station.
    await_true(lambda: len(lab.status("base")["connections"]) < 20)
    with ask(MOBILE, 81) as stream:
        assert stream.recv(100) == b"error the address is this host's own, a broadcast or a group address\n"


FLOOD = """
import socket, sys, time
deadline = time.monotonic() + 6
while time.monotonic() < deadline:
    with socket.socket(socket.AF_UNIX) as program:
        program.setblocking(False)
        try:
            program.connect(sys.argv[1])
            program.send(b"open %s 5000 90 90\\n" % sys.argv[2].encode() + bytes(1000))
        except OSError:
            pass
"""


@pytest.mark.long
def test_programs_that_close_at_once_leave_nothing(lab):
    """The answer to a connection may come in the moment in which its program is seen to have gone."""
    lab.serve()
    lab.run("mobile", sys.executable, "-c", FLOOD, lab.socket, SERVER)
    await_true(lambda: not lab.status("mobile")["connections"], 30)


PROGRAM = """
#include "airwatt_partial.h"
int main(int count, char **words) {
    int fd = airwatt_partial_connect(words[1], words[2], (uint16_t)atoi(words[3]), 80, 100);
    long data = 0, gaps = 0;
    struct airwatt_piece piece;
    static char buffer[AIRWATT_PIECE_MAX], out[200000];
    if (count != 4 || fd < 0 || write(fd, out, sizeof out) != sizeof out || shutdown(fd, SHUT_WR))
        return perror("c"), 1;
    while (airwatt_partial_read(fd, &piece, buffer) > 0)
        if (piece.kind == AIRWATT_DATA) data += piece.length;
        else gaps += piece.kind == AIRWATT_GAP ? (long)piece.length : -(long)piece.length;
    return printf("%ld %ld", data, gaps) < 0;
}
"""


def test_a_c_program_reads_gaps(lab):
    source, program = lab.folder / "program.c", lab.folder / "program"
    source.write_text("#include <stdlib.h>" + PROGRAM)
    call("cc", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "packaging", "-o", program, source)
    lab.serve()
    data, gaps = map(int, lab.run("mobile", program, lab.socket, SERVER, 5000).stdout.split())
    assert data == 200_000
    assert 0 < gaps <= 40_000
    refused = lab.run("mobile", program, lab.socket, SERVER, 5001, check=False)
    assert (refused.returncode, refused.stderr) == (1, "c: Connection refused\n")


def test_the_example_shows_a_picture_with_gaps(lab):
    script = ROOT / "docs/examples/picture_with_gaps.py"
    server = lab.start("server", sys.executable, script, "--serve", SERVER, 5000, stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    file = lab.folder / "picture.png"
    words = (sys.executable, script, file, "--gateway", lab.socket, SERVER)
    lines = lab.run("mobile", *words, 5000).stdout.splitlines()
    missing = [int(line.split()[-4]) for line in lines]
    size = 960 * 640
    assert missing[0] == 0
    assert 0 < missing[1] <= size * 5 // 100
    assert 0 < missing[2] <= size * 10 // 100
    assert file.read_bytes().startswith(b"\x89PNG")
    refused = lab.run("mobile", *words, 5001, check=False)
    assert (refused.returncode, refused.stderr) == (1, "refused\n")


def test_the_unit_is_hardened_and_may_create_the_socket(tmp_path):
    configuration = tmp_path / "gateway.toml"
    text = call(DAEMON, "gateway", "example", "mobile").stdout.replace("# local =", "local =")
    for name, key in (("MOBILE_PRIVATE_KEY", KEYS["mobile"][0]), ("BASE_PUBLIC_KEY", KEYS["base"][1])):
        text = text.replace(name, key)
    configuration.write_text(text)
    configuration.chmod(0o600)
    unit = tmp_path / "airwatt-gateway.service"
    unit.write_text(call(DAEMON, "gateway", "unit", configuration).stdout)
    assert "ReadWritePaths=/run\n" in unit.read_text()
    check_exposure(unit)
