"""Common parts of the tests: the command line in this process and in a process of its own, and snapshots."""

import importlib.util
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from airwatt import laboratory
from airwatt.cli import status_of

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "airwatt"

# Settings for a run that takes milliseconds.
SHORT = ["--set", "flow.application.size=1MB"]


def pytest_addoption(parser):
    parser.addoption("--bless", action="store_true", help="write the snapshots anew")


@dataclass
class Answer:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    def is_lines(self) -> bool:
        """Whether standard error is lines of ours, one an error, and standard output is empty."""
        lines = self.err.splitlines()
        ours = all(line.startswith("airwatt: ") and "internal error" not in line for line in lines)
        return self.out == "" and bool(lines) and ours

    def is_one_line(self, *words: str) -> bool:
        """Whether standard error is one line of ours that contains the words, and standard output is empty."""
        lines = self.err.splitlines()
        return (
            self.out == ""
            and len(lines) == 1
            and lines[0].startswith("airwatt: ")
            and "internal error" not in lines[0]
            and all(word in lines[0] for word in words)
        )


@pytest.fixture
def airwatt(capfd, monkeypatch) -> Callable[..., Answer]:
    """Runs the command line in this process; `airwatt.output(arguments)` is the text that a command prints."""
    monkeypatch.chdir(ROOT)

    def output(arguments: list[str]) -> str:
        answer = run(*arguments)
        assert answer.status == 0, answer.err
        return answer.out

    def run(*arguments: object) -> Answer:
        capfd.readouterr()
        status = status_of([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Answer(status, out, err)

    run.output = output
    return run


@pytest.fixture
def program() -> Callable[..., subprocess.Popen]:
    """Starts the installed program as a process of its own."""
    started = []

    def run(*arguments: object, **options) -> subprocess.Popen:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": ROOT} | options
        # Tests in the background may run with interrupts ignored.
        options["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], **options)
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def snapshot(request) -> Callable[[str], None]:
    """Compares a text with the file named after the test; `--bless` writes the file."""
    path = Path(__file__).parent / "snapshots" / f"{request.node.name}.txt"

    def compare(text: str) -> None:
        if request.config.getoption("--bless"):
            path.write_text(text)
        assert path.exists(), f"no snapshot {path.name}; pytest --bless writes it"
        assert text == path.read_text()

    return compare


os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def script():
    """The script of the shipped captures of findings as a module."""
    spec = importlib.util.spec_from_file_location("findings", ROOT / "captures" / "findings.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "captures"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "captures"))
    return module


def violated(path):
    """The rules that the frames of the scripted station violate."""
    document = laboratory.analyze(path, station="02:00:00:00:00:02", policies=["psm"]).to_dict()
    return {check["kind"] for check in document["checks"] if check["violated"]}


def pcap_records(path):
    """The records of a capture: seconds and microseconds, and the frame."""
    file, at, records = path.read_bytes(), 24, []
    while at < len(file):
        length = struct.unpack_from("<I", file, at + 8)[0]
        records.append((struct.unpack_from("<II", file, at), file[at + 16 : at + 16 + length]))
        at += 16 + length
    return file[:24], records


def write_pcap(path, head, records, snap_length=65_535):
    lines = (
        struct.pack("<IIII", *time, min(len(frame), snap_length), len(frame)) + frame[:snap_length]
        for time, frame in records
    )
    path.write_bytes(head + b"".join(lines))
    return path
