"""No command imports anything from the current folder, which may have come with a capture from somebody else."""

import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import PROGRAM, ROOT, SHORT

import airwatt
from airwatt.archive import archive
from airwatt.cli import COMMANDS

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"
HERE = ("matplotlib", "numpy", "pandas", "pyarrow", "rich", "typer", "distributed", "dask", "airwatt")
# With what is there even before `open` is.
TRAP = """\
import posix
notes = posix.open(posix.environ[b"AIRWATT_TRAP"], posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND)
posix.write(notes, __name__.encode() + b"\\n")
"""
LINES = {
    "run": ["fast-dsl", *SHORT, "--plot", "run.png", "--trace", "traces", "--store", "runs"],
    "compare": ["fast-dsl", "--policy", "active,psm", *SHORT, "--plot", "compare.png"],
    "emulate": ["fast-dsl", "--check"],
    "analyze": [CAPTURE, "--plot", "analyze.png", "--trace", "analyzed"],
    "model": ["psm-throughput"],
    "advise": ["fast-dsl", "--delay", "50ms", *SHORT],
    "reproduce": ["e2tcp/ex3.2"],
    "sweep": ["fast-dsl", "--policy", "active,psm", *SHORT, "--runs", "2"],
    "archive": ["STUDY/store", "-o", "study.zip"],
    "rerun": ["STUDY/study.zip"],
    "report": [CAPTURE, "-o", "report.html"],
    "explore": ["fast-dsl", *SHORT],
    "radios": [],
    "scenarios": [],
    "policies": [],
    "transports": [],
    "keys": ["wired"],
    "cite": ["fast-dsl"],
    "init": ["mine.toml"],
    "completion": ["bash"],
    "help": ["stores"],
}


@pytest.fixture
def trapped(tmp_path):
    """A folder in which each module that anybody could import leaves a note; the folder and the file of notes."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    for name in (*sys.stdlib_module_names, *HERE, "sitecustomize", "usercustomize"):
        if name in ("antigravity", "this"):
            continue
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(TRAP)
        (folder / f"{name}.py").write_text(TRAP)
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    return folder, tmp_path / "imported"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A folder with the store of a sweep and its archive."""
    folder = tmp_path_factory.mktemp("study")
    airwatt.sweep("fast-dsl", policy=["active"], set={"flow.application.size": "20kB"}, store=folder / "store")
    archive(folder / "store", folder / "study.zip")
    return folder


def environment(notes, path):
    """The environment of a command, with PYTHONPATH if one is given."""
    given = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    # What a notebook's kernel sets for the programs that it starts; matplotlib refuses one that is not installed.
    given["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    return given | {"AIRWATT_TRAP": str(notes)} | ({} if path is None else {"PYTHONPATH": path})


def test_the_trap_is_one(trapped):
    folder, notes = trapped
    for words, path in ((["-c", "import queue"], None), (["-P", "-c", "0"], "/none:")):
        env = environment(notes, path)
        subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, check=False)
    assert {"queue", "encodings"} <= set(notes.read_text().split())


def test_every_command_is_tried():
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *((name, None) for name in COMMANDS if name != "explore"),
        *(("policies", path) for path in (":/none", "/none::/none", "/none:")),
    ],
)
def test_a_command_imports_nothing_from_the_current_folder(trapped, study, name, path):
    folder, notes = trapped
    words = [PROGRAM, name, *(str(word).replace("STUDY", str(study)) for word in LINES[name])]
    done = subprocess.run(
        words, cwd=folder, env=environment(notes, path), capture_output=True, text=True, timeout=120, check=False
    )
    assert not notes.exists(), notes.read_text()
    assert "internal error" not in done.stderr
    assert done.returncode == 0 or name == "emulate", done.stderr


def test_explore_and_its_process_import_nothing_from_the_current_folder(trapped):
    folder, notes = trapped
    process = subprocess.Popen(
        [PROGRAM, "explore", *LINES["explore"]],
        cwd=folder,
        env=environment(notes, None),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        address = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        connection.request("GET", f"{address.path}simulate?policy=psm")
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()
        # Its arguments, which every user of the machine can list, do not say what is explored.
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert "fast-dsl" not in Path(f"/proc/{child}/cmdline").read_text()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert not notes.exists(), notes.read_text()
