"""`airwattd tunnel pair`: a tunnel between two hosts from its output alone, without editing a file."""

import json
import re
import shutil
import subprocess

import pytest
from lab import DAEMON, call, missing

import tunnel_lab
from tunnel_lab import INNER, OUTER, PORT

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = tunnel_lab.pair


def write_pair(folder, *words: object, answers: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in (DAEMON, "tunnel", "pair", "--folder", folder, *words)]
    return subprocess.run(command, input=answers, capture_output=True, text=True, check=False, timeout=10)


def test_two_answers_bring_up_a_tunnel(pair):
    # One name at both ends, which are in two network namespaces.
    shared = pair.interfaces["client"]
    pair.interfaces["ap"] = shared
    done = write_pair(pair.folder, "--interface", shared, answers=f"{OUTER['ap']}\nnothing\n")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    files = {"client": pair.folder / f"{shared}-client.toml", "ap": pair.folder / f"{shared}-concentrator.toml"}
    assert all(f"airwattd tunnel up {file}\n" in done.stdout for file in files.values())
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files.values())
    pair.file = files.__getitem__
    pair.up("ap")
    pair.up("client")
    assert pair.ping()

    # The tunnels of other network namespaces are shown with the names of these.
    shown = json.loads(call(DAEMON, "tunnel", "show", "--json").stdout)["tunnels"]
    named = {tunnel["namespace"] for tunnel in shown if tunnel["interface"] == shared}
    assert named == set(pair.names.values())
    text = call(DAEMON, "tunnel", "show").stdout
    assert all(f"interface: {shared} in network namespace {name}\n" in text for name in named)
    (own,) = json.loads(pair.run("client", DAEMON, "tunnel", "show", shared, "--json"))["tunnels"]
    assert own["namespace"] is None
    assert f"interface: {shared}\n" in pair.run("client", DAEMON, "tunnel", "show", shared)


def test_what_is_asked_may_be_given_and_nothing_is_overwritten(tmp_path):
    words = ["--endpoint", f"{OUTER['ap']}:{PORT}", "--reach", "everything"]
    assert write_pair(tmp_path, *words).returncode == 0
    first = {file: file.read_bytes() for file in tmp_path.iterdir()}
    assert len(first) == 2
    again = write_pair(tmp_path, *words)
    assert (again.returncode, again.stdout, len(again.stderr.splitlines())) == (2, "", 1)
    assert "there is one already" in again.stderr
    # Nor is half a pair left.
    (tmp_path / "airwatt0-concentrator.toml").unlink()
    assert write_pair(tmp_path, *words).returncode == 2
    assert [file.name for file in tmp_path.iterdir()] == ["airwatt0-client.toml"]

    silent = write_pair(tmp_path, "--interface", "other")
    assert (silent.returncode, len(silent.stderr.splitlines())) == (2, 1)
    assert "Concentrator: at which address" in silent.stderr
    for wrong in (["--endpoint", "a b", "--reach", "nothing"], ["--endpoint", OUTER["ap"], "--reach", "x"]):
        done = write_pair(tmp_path, "--interface", "other", *wrong)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert len(list(tmp_path.iterdir())) == 1
    nowhere = write_pair(tmp_path / "absent")
    expected = f"airwattd: --folder {tmp_path}/absent: expected a folder, got none; hint: mkdir -p {tmp_path}/absent\n"
    assert (nowhere.returncode, nowhere.stdout, nowhere.stderr) == (2, "", expected), "before it asks anything"


def test_the_network_of_the_concentrator_is_reached_through_the_tunnel(pair):
    """The route to the concentrator itself stays outside, or the tunnel would run through itself."""
    network = OUTER["ap"].rsplit(".", 1)[0] + ".0/24"
    beyond = OUTER["ap"].rsplit(".", 1)[0] + ".9"
    shared = pair.interfaces["client"]
    pair.interfaces["ap"] = shared
    done = write_pair(pair.folder, "--interface", shared, "--endpoint", OUTER["ap"], "--reach", network)
    (note,) = done.stderr.splitlines()
    assert f"{network} is reached but for {OUTER['ap']}" in note
    assert INNER["ap"] in note
    pair.run("ap", "ip", "address", "add", f"{beyond}/32", "dev", "lo")
    files = {"client": pair.folder / f"{shared}-client.toml", "ap": pair.folder / f"{shared}-concentrator.toml"}
    pair.file = files.__getitem__
    pair.up("ap")
    pair.up("client")
    assert pair.ping()
    assert pair.ping(target=beyond)
    assert f"dev {shared}" in pair.run("client", "ip", "route", "get", beyond)
    assert "dev cable" in pair.run("client", "ip", "route", "get", OUTER["ap"])


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("zbarimg"), reason="zbarimg is not installed (zbar-tools)")
def test_the_qr_code_is_the_clients_file(tmp_path):
    """A reader of others decodes the picture as a terminal draws it: two rows of modules in a line, light on dark."""
    done = write_pair(tmp_path, "--endpoint", OUTER["ap"], "--reach", "192.168.7.0/24", "--qr")
    lines = [line for line in done.stdout.splitlines() if re.fullmatch("[ \u2580\u2584\u2588]+", line)]
    width = max(map(len, lines))
    assert width <= 80
    rows = []
    for line in lines:
        for upper in (True, False):
            lit = "\u2588\u2580" if upper else "\u2588\u2584"
            # Four pixels a module; a light module is a lit one.
            row = "".join(("0 " if mark in lit else "1 ") * 4 for mark in line.ljust(width))
            rows += [row] * 4
    picture = tmp_path / "code.pbm"
    picture.write_text(f"P1\n{width * 4} {len(rows)}\n" + "\n".join(rows) + "\n")
    read = call("zbarimg", "--quiet", "--raw", picture).stdout
    assert read.strip() == (tmp_path / "airwatt0-client.toml").read_text().strip()
    assert INNER["client"] in read
