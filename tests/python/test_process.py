"""The process of the program: interrupts at any moment, closed standard streams, imports, length of messages."""

import functools
import inspect
import json
import os
import pwd
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airwatt.cli import COMMANDS, application, quick
from airwatt.cli.output import shortened
from airwatt.cli.parameters import Argument, Option, declared

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"


def _interrupt(process, after_s: float) -> tuple[int, str]:
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        pytest.fail(f"still running 20 s after an interrupt at {after_s * 1e3:.0f} ms")
    return process.returncode, err


def _is_quiet_end(status: int, err: str) -> bool:
    # In its first milliseconds the process is a shell, which ends as any program does: for its caller that is 130 too.
    return (status, err) in ((130, "airwatt: interrupted\n"), (-signal.SIGINT, ""))


def test_an_interrupt_at_any_moment_is_status_130_and_one_line(program):
    draw = random.Random(1)
    long = ["run", "reference-download", "--set", "flow.application.size=100GB", "--set", "time_limit=1000000s"]
    for delay_s in [0.0, 0.3, *(draw.uniform(0, 0.3) for _ in range(30))]:
        status, err = _interrupt(program(*long), delay_s)
        assert _is_quiet_end(status, err), (delay_s, status, err)


def test_interrupts_while_help_and_errors_are_made_are_quiet_too(program):
    draw = random.Random(2)
    for words in (["--help"], ["run", "--frob"], ["--version"]):
        for _ in range(4):
            delay_s = draw.uniform(0, 0.15)
            status, err = _interrupt(program(*words), delay_s)
            # Or the program was done before.
            assert _is_quiet_end(status, err) or status in (0, 2), (delay_s, status, err)
            assert len(err.splitlines()) <= 1, err


@pytest.mark.parametrize("command", ["analyze", "advise"])
def test_an_interrupt_ends_the_wait_for_a_pipe(program, tmp_path, command):
    fifo = tmp_path / "fifo.pcap"
    os.mkfifo(fifo)
    status, err = _interrupt(program(command, fifo), 0.8)
    assert (status, err) == (130, "airwatt: interrupted\n")
    # A writer that says nothing.
    process = program(command, fifo)
    writer = os.open(fifo, os.O_RDWR)
    try:
        assert _interrupt(process, 0.8) == (130, "airwatt: interrupted\n")
    finally:
        os.close(writer)


@pytest.mark.parametrize("command", ["run", "compare", "emulate"])
def test_a_scenario_is_never_read_from_a_pipe(program, tmp_path, command):
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    extra = {"compare": ["--policy", "active,psm"]}.get(command, [])
    process = program(command, fifo, *extra)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert len(err.splitlines()) == 1
    assert "regular file" in str(err)


def test_the_log_of_the_kernel_is_no_capture_and_no_document(program, tmp_path):
    """Reading it waits for the kernel, and takes lines that the system's log then lacks. Its size is zero."""
    shipped = ROOT / "captures/findings/tim-stuck-guilty.pcap"
    for words in (
        ["analyze", "/proc/kmsg"],
        ["advise", "/proc/kmsg"],
        ["analyze", "/dev/zero"],
        ["report", "-o", tmp_path / "report.html", "/proc/kmsg"],
        ["analyze", shipped, "--compare", "/proc/kmsg"],
    ):
        process = program(*map(str, words))
        _, err = process.communicate(timeout=60)
        assert (process.returncode, len(err.splitlines())) == (2, 1), err
        assert words[-1] in err


def test_a_folder_with_a_link_to_the_log_of_the_kernel_reads_the_rest(program, tmp_path):
    (tmp_path / "1.pcap").symlink_to("/proc/kmsg")
    (tmp_path / "2.pcap").write_bytes((ROOT / "captures/findings/tim-stuck-guilty.pcap").read_bytes())
    process = program("analyze", str(tmp_path))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "1.pcap" in out) == (1, True), (out, err)


def test_an_interrupt_ends_the_wait_for_standard_input(program):
    process = program("analyze", "-", stdin=subprocess.PIPE)
    process.stdin.write("x")
    process.stdin.flush()
    time.sleep(0.8)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.stderr.read() == "airwatt: interrupted\n"


def test_a_second_interrupt_is_not_needed_but_allowed(program):
    process = program("run", "fast-dsl", "--set", "flow.application.size=100GB", "--set", "time_limit=1000000s")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert set(err.splitlines()) == {"airwatt: interrupted"}


def _with_closed(stream: str, *words: str) -> subprocess.CompletedProcess:
    line = " ".join([str(PROGRAM), *words, f"{stream}&-"])
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_messages_stay_out_of_other_streams_and_files_when_standard_ones_are_closed(tmp_path):
    done = _with_closed("2>", "run", "no-such")
    assert (done.returncode, done.stdout) == (2, "")
    done = _with_closed(">", "run", "no-such")
    assert done.returncode == 2
    assert done.stderr.startswith("airwatt: ")
    done = _with_closed(">", "policies")
    assert (done.returncode, done.stderr) == (1, "airwatt: standard output: Bad file descriptor\n")
    for stream in (">", "2>", "<"):
        path = tmp_path / "frames.pcapng"
        path.unlink(missing_ok=True)
        _with_closed(stream, "run", "fast-dsl", "--set", "flow.application.size=20kB", "--pcap", str(path))
        content = path.read_bytes()
        assert content[:4] == b"\x0a\x0d\x0d\x0a", stream
        assert b"wrote" not in content, stream
        assert b"flow   " not in content, stream


@pytest.mark.parametrize(
    "words",
    [
        ["run", "x" * 100_000],
        ["run", "fast-dsl", "--set", "wired.rtt=" + "9" * 308 + "s"],
        ["run", "fast-dsl", "--set", "wired.rtt=" + "1 " * 50_000],
        ["run", "fast-dsl", "--policy", "p" * 100_000],
        ["run", "fast-dsl", "--seed", "7" * 308],
        ["run", "fast-dsl", "--fail-if", "k" * 100_000],
        ["model", "tcp-energy", "--param", "rtt=" + "1" * 100_000],
        ["model", "m" * 100_000],
        ["analyze", "c" * 100_000],
        ["f" * 100_000],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_long_values_are_shortened_in_messages(airwatt, words):
    answer = airwatt(*words)
    assert answer.status == 2
    assert answer.is_one_line(), answer.err[:300]
    assert len(answer.err) < 2_200
    assert max(map(len, answer.err.split())) < 200


def test_shortened_texts_keep_their_ends_and_say_what_is_left_out():
    assert shortened("x: expected y") == "x: expected y"
    assert shortened("key: " + "ab" * 500 + ": expected y") == (
        "key: " + "ab" * 32 + "...(873 more)..." + "b" + "ab" * 31 + ": expected y"
    )


def _imported(words: list[str]) -> set[str]:
    code = f"import sys; from airwatt.cli import status_of; status_of({words}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words", [["run", "fast-dsl", "--set", "flow.application.size=20kB"], ["policies"], ["--version"]]
)
def test_only_what_a_command_needs_is_imported(words):
    heavy = {"typer", "pydantic", "rich", "numpy", "pyarrow", "matplotlib", "inspect", "logging", "concurrent.futures"}
    assert not heavy & _imported(words)


def _commands():
    return {name: import_module(f"airwatt.cli.{name}").command for name in COMMANDS}


_WORDS = st.sampled_from(
    ["fast-dsl", "a.toml", "", "-", "--", "7", "007", "1e3", "a=b", "x,y", "--frob", "-p", "-1", "ü"]
)


@st.composite
def _lines(draw):
    name = draw(st.sampled_from(COMMANDS))
    options = [
        option
        for _, parameter in declared(_commands()[name]).values()
        if isinstance(parameter, Option)
        for option in parameter.names
    ]
    # A command may have no options.
    named = [st.sampled_from(options), st.sampled_from(options).map("{}=7".format)] if options else []
    words = st.one_of(_WORDS, *named)
    return name, draw(st.lists(words, max_size=6))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(line=_lines())
def test_typer_reads_what_the_quick_reader_reads(line):
    """A line that is read without typer gives the values that typer gives, those that are not given apart."""
    name, words = line
    command = _commands()[name]
    read = quick.read(command, words)
    if read is None:
        return
    seen = []

    @functools.wraps(command)
    def instead(**arguments):
        seen.append(arguments)

    application.program({name: (instead, "")})(args=[name, *words], prog_name="airwatt", standalone_mode=False)
    (typers,) = seen
    assert {key: typers[key] for key in read} == read
    defaults = {key: parameter.default for key, parameter in inspect.signature(command).parameters.items()}
    assert all(typers[key] == defaults[key] for key in typers.keys() - read.keys())


def test_every_command_declares_its_parameters_for_both_readers():
    for name, command in _commands().items():
        kinds = {type(parameter) for _, parameter in declared(command).values()}
        assert kinds <= {Option, Argument}, name


def test_verbose_tells_what_the_core_does(program):
    words = ["run", "fast-dsl", "--set", "flow.application.size=20kB", "--json"]
    silent = program(*words)
    out, err = silent.communicate(timeout=60)
    assert err == ""
    for process in (program("-vv", *words), program(*words, env=os.environ | {"AIRWATT_LOG": "airwatt_sim=debug"})):
        verbose, err = process.communicate(timeout=60)
        assert "DEBUG" in err
        assert "run complete" in err
        assert "simulated_s" in err
        assert _without_wall_time(verbose) == _without_wall_time(out)
    _, err = program("-v", *words).communicate(timeout=60)
    assert "DEBUG" not in err
    process = program(*words, env=os.environ | {"AIRWATT_LOG": "frob=frob"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("airwatt: AIRWATT_LOG: expected ")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to give up")


def _children(process) -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(number) for number in listed.split()]


def _identity(number: int) -> tuple[set[str], str]:
    """The user IDs of a process, and its capabilities."""
    lines = Path(f"/proc/{number}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return set(fields["Uid"].split()), fields["CapPrm"].strip()


def _await(condition):
    deadline = time.monotonic() + 20
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def _parser_of(process, user: str) -> int:
    """Waits until a child of `process` is this user in all respects; returns its number."""
    wanted = ({str(pwd.getpwnam(user).pw_uid)}, "0" * 16)
    return _await(lambda: next((child for child in _children(process) if _identity(child) == wanted), None))


@as_root
@pytest.mark.parametrize(
    ("words", "environment", "user"),
    [
        (["analyze", "--policy", "psm", "--json"], {}, "nobody"),
        (["analyze", "--policy", "psm", "--json"], {"SUDO_USER": "daemon"}, "daemon"),
        (["analyze", "--policy", "psm", "--json", "--user", "bin"], {"SUDO_USER": "daemon"}, "bin"),
        (["advise", "--confirm", "1"], {}, "nobody"),
    ],
)
def test_root_leaves_the_parsing_to_an_ordinary_user(program, tmp_path, words, environment, user):
    fifo = tmp_path / "fifo.pcapng"
    os.mkfifo(fifo, 0o600)
    others = {name: value for name, value in os.environ.items() if name != "SUDO_USER"}
    process = program(words[0], str(fifo), *words[1:], env=others | environment)
    # Opened by root, who alone may; nothing has been read when the parser is somebody else.
    with fifo.open("wb") as pipe:
        parser = _parser_of(process, user)
        if words[0] == "advise":  # it reads twice, which a pipe cannot
            os.kill(parser, signal.SIGKILL)
            assert "was killed by signal 9" in process.communicate(timeout=60)[1]
            return
        pipe.write(CAPTURE.read_bytes())
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    straight, _ = program("analyze", str(CAPTURE), "--policy", "psm", "--json", "--user", "root").communicate(
        timeout=60
    )
    ours, theirs = json.loads(out), json.loads(straight)
    assert ours["policies"] == theirs["policies"]


@as_root
def test_root_reads_and_writes_where_only_root_may(program, tmp_path):
    tmp_path.chmod(0o700)
    capture, picture = tmp_path / "mine.pcapng", tmp_path / "mine.png"
    capture.write_bytes(CAPTURE.read_bytes())
    capture.chmod(0o600)
    process = program("analyze", str(capture), "--policy", "psm", "--plot", str(picture))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, f"wrote {picture}\n")
    assert picture.stat().st_size > 1000
    # So it does every file beside the capture: a profile, also in a mode of its host, and a trace.
    board, trace = tmp_path / "board.toml", tmp_path / "trace.csv"
    board.write_text((ROOT / "radios" / "esp32-c3.toml").read_text())
    trace.write_text("Timestamp(ms),Current(uA)\n" + "".join(f"{ms},84000\n" for ms in range(2_000)))
    for radio in (str(board), f"{board}:dfs"):
        process = program("analyze", str(capture), "--policy", "psm", "--radio", radio, "--current", str(trace))
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, ""), radio
    process = program("analyze", str(tmp_path / "none.pcapng"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("airwatt: ")
    assert "No such file" in err


@as_root
@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_parser_ends_with_the_program(program, tmp_path, with_signal):
    fifo = tmp_path / "fifo.pcap"
    os.mkfifo(fifo)
    process = program("analyze", str(fifo), "--user", "nobody")
    with fifo.open("wb"):
        parser = _parser_of(process, "nobody")
        process.send_signal(with_signal)
        _, err = process.communicate(timeout=20)
        assert err == ("airwatt: interrupted\n" if with_signal == signal.SIGINT else "")
        _await(lambda: not Path(f"/proc/{parser}").exists())


def test_a_user_to_parse_must_exist_and_needs_root(airwatt):
    answer = airwatt("analyze", CAPTURE, "--user", "no-such-user")
    assert answer.status == 2
    assert answer.is_one_line("--user", "expected"), answer


def _without_wall_time(document: str) -> dict:
    return {**json.loads(document), "wall_s": 0}


def test_a_scenario_may_have_any_name(program, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe sc\xc3\xa9nario.toml"
    with open(path, "w") as out:  # noqa: PTH123 - a name in bytes
        out.write('base = "fast-dsl"\n[wired]\nrtt = "30ms"\n')
    output = os.fsencode(tmp_path) + b"/\xff.pcapng"
    words = [os.fsencode(PROGRAM), b"run", path, b"--pcap", output]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert os.path.getsize(output) > 1000  # noqa: PTH202
    done = subprocess.run([os.fsencode(PROGRAM), b"run", path + b"x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "internal" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
