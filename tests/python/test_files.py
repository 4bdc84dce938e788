"""Output files: an old one is replaced as a whole, or it is as it was, whatever ends the program that writes."""

import contextlib
import errno
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT

from airwatt import files
from airwatt.files import replacing, write_text

OLD = b"what was there before"


class _StoppedError(Exception):
    pass


@pytest.fixture(params=["unnamed", "named"])
def way(request, monkeypatch):
    """Both ways to write beside: without a name, and with a hidden one where the file system knows no other."""
    if request.param == "named":
        monkeypatch.setattr(files._Draft, "_open_unnamed", lambda self: None)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("way")
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "new", "é")
    finally:
        os.umask(before)
    assert (tmp_path / "new").read_bytes() == "é".encode()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert _names(tmp_path) == ["new"]


@pytest.mark.usefixtures("way")
def test_an_old_file_keeps_its_mode_and_owner(tmp_path):
    path = tmp_path / "old"
    path.write_bytes(OLD)
    path.chmod(0o604)
    if os.geteuid() == 0:
        os.chown(path, 1234, 2345)
    before = path.stat()
    write_text(path, "new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino


@pytest.mark.usefixtures("way")
def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "target").write_bytes(OLD)
    (tmp_path / "link").symlink_to("second")
    (tmp_path / "second").symlink_to("there/target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "target").read_text() == "new"
    (tmp_path / "dangling").symlink_to("there/not-yet")
    write_text(tmp_path / "dangling", "new")
    assert (tmp_path / "there" / "not-yet").read_text() == "new"
    assert _names(tmp_path / "there") == ["not-yet", "target"]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("reason", [_StoppedError, KeyboardInterrupt, OSError])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path, reason):
    (tmp_path / "old").write_bytes(OLD)
    for name in ("old", "new"):
        with pytest.raises(reason):
            _write_and_raise(tmp_path / name, reason)
    assert _names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == OLD


def _write_and_raise(path: Path, reason: type[BaseException]) -> None:
    with replacing(path) as out:
        out.write(b"x" * 5_000_000)
        raise reason


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("call", ["fsync", "link", "replace"])
def test_a_failure_at_the_last_steps_leaves_the_old_file(tmp_path, monkeypatch, call):
    (tmp_path / "old").write_bytes(OLD)

    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, fail)
    # With a name from the beginning there is nothing to link.
    if call == "link" and files._Draft._open_unnamed.__module__ != files.__name__:
        write_text(tmp_path / "old", OLD.decode())
    else:
        with pytest.raises(OSError, match="Input/output"):
            write_text(tmp_path / "old", "new")
    monkeypatch.undo()
    assert (tmp_path / "old").read_bytes() == OLD
    assert _names(tmp_path) == ["old"]


def test_what_is_no_regular_file_is_written_directly(tmp_path):
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)  # noqa: PTH116 - as it says
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "fifo", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_standard_output_is_written_behind_what_it_holds(tmp_path):
    path = tmp_path / "out"
    line = f"echo before; {PROGRAM} run fast-dsl --set flow.application.size=20kB --pcap /dev/stdout --json; echo after"
    with path.open("wb") as out:
        subprocess.run(["bash", "-c", line], stdout=out, stderr=subprocess.DEVNULL, cwd=ROOT, check=True)
    content = path.read_bytes()
    assert content.startswith(b"before\n\x0a\x0d\x0d\x0a")
    assert content.endswith(b"}\nafter\n")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("most", [0, 1, 4095, 4096, 65_536, 999_999])
def test_a_full_disk_at_any_byte_leaves_the_old_file(tmp_path, most):
    """A limit on file size is a disk that is full after so many bytes."""
    (tmp_path / "old").write_bytes(OLD)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"), replacing(tmp_path / "old") as out:
            out.write(b"x" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert _names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == OLD


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 64 kB; root only."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
        pytest.skip("may not mount")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_each_kind_of_file_survives_a_full_disk(airwatt, small_disk):
    outputs = [
        (["run", "fast-dsl", "--set", "flow.application.size=2MB", "--pcap", "f.pcapng"], ["f.pcapng"]),
        (["run", "fast-dsl", "--set", "flow.application.size=2MB", "--perfetto", "f.pftrace"], ["f.pftrace"]),
        (["run", "fast-dsl", "--set", "flow.application.size=2MB", "--plot", "f.png"], ["f.png"]),
        (
            ["run", "fast-dsl", "--set", "flow.application.size=2MB", "--trace", "."],
            ["frames.parquet", "queues.parquet"],
        ),
        (["reproduce", "hashimoto-2010/tab1", "--runs", "1", "--out", "."], ["hashimoto-2010/tab1.csv"]),
    ]
    for words, names in outputs:
        for name in names:
            (small_disk / name).parent.mkdir(exist_ok=True)
            (small_disk / name).write_bytes(OLD)
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * 4096)
        with filler.open("ab") as out, contextlib.suppress(OSError):
            while True:
                os.write(out.fileno(), b"x" * 4096)
        words = [small_disk / word if word == "." or word.startswith("f.") else word for word in words]
        answer = airwatt(*words)
        assert answer.status == 1, (words, answer)
        assert answer.is_one_line("No space left"), answer
        filler.unlink()
        left = {str(path.relative_to(small_disk)) for path in small_disk.rglob("*") if path.is_file()}
        assert left == set(names)
        assert all((small_disk / name).read_bytes() == OLD for name in names)
        for name in names:
            (small_disk / name).unlink()


WRITTEN = {
    "tables and frames": ["--pcap", "f.pcapng", "--perfetto", "f.pftrace", "--trace", "."],
    "a picture": ["--plot", "f.png"],
}


@pytest.fixture(scope="module", params=WRITTEN)
def whole(request, tmp_path_factory):
    """A run that writes files: its command line, how long it took, the size of each file; and how often it is ended."""
    folder = tmp_path_factory.mktemp("whole")
    words = ["run", "fast-dsl", "--set", "flow.application.size=2MB", "--policy", "psm", *WRITTEN[request.param]]
    started = time.monotonic()
    subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, check=True)
    whole_s = time.monotonic() - started
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert sizes.keys() >= ({"f.png"} if "picture" in request.param else {"f.pcapng", "f.pftrace", "frames.parquet"})
    # Drawing takes most of the time of a picture, and writing it little.
    return words, whole_s, sizes, 1 if "picture" in request.param else 4


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_program_that_is_ended_while_it_writes_leaves_old_files(program, tmp_path, whole, ending):
    words, whole_s, sizes, times = whole
    draw = random.Random(int(ending))
    for _ in range(times):
        for name in sizes:
            (tmp_path / name).write_bytes(OLD)
        process = program(*words, cwd=tmp_path)
        time.sleep(draw.uniform(0.3, 1.0) * whole_s)
        process.send_signal(ending)
        process.communicate(timeout=30)
        names = _names(tmp_path)
        if ending == signal.SIGKILL:
            # Between the two calls that give a file its name nothing can be put away.
            hidden = [tmp_path / name for name in names if name.endswith(".part")]
            assert len(hidden) <= 1
            for path in hidden:
                names.remove(path.name)
                path.unlink()
        assert names == sorted(sizes)
        for name, size in sizes.items():
            # Each file is the old one or a whole new one; the result is the same in each run.
            path = tmp_path / name
            assert path.read_bytes() == OLD or path.stat().st_size == size, name


@pytest.mark.parametrize("step", ["link", "replace"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_a_file_takes_its_name_waits_for_it(tmp_path, step, ending):
    (tmp_path / "f").write_bytes(OLD)
    script = f"""
import os, signal
from airwatt import files
signal.signal(signal.SIGINT, lambda *_: os._exit(130))
original = os.{step}
def ended(*arguments, **options):
    original(*arguments, **options) if "{step}" == "link" else None
    os.kill(os.getpid(), {int(ending)})
    original(*arguments, **options) if "{step}" == "replace" else None
os.{step} = ended
with files.replacing("f") as out:
    out.write(b"new")
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, timeout=60)
    assert ended.returncode == (130 if ending == signal.SIGINT else -ending), ended.stderr
    assert _names(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"new"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("call", ["os.mkdir", "os.rmdir"])
def test_a_signal_while_a_temporary_folder_is_made_or_removed_leaves_none(tmp_path, monkeypatch, call, ending):
    """It arrives right after the folder is made, and right before it is removed."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module, name = call.split(".")
    target = sys.modules[module]
    real = getattr(target, name)

    def interrupted(*given, **named):
        if call == "os.rmdir":
            signal.raise_signal(ending)
            real(*given, **named)
            return
        real(*given, **named)
        signal.raise_signal(ending)

    def end(*_):
        raise KeyboardInterrupt

    before = signal.signal(ending, end)
    monkeypatch.setattr(target, name, interrupted)
    try:
        with pytest.raises(KeyboardInterrupt), files.temporary_folder() as folder:
            (folder / "file").write_text("content")
    finally:
        signal.signal(ending, before)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_traces_belongs_to_one_run(program, airwatt, tmp_path):
    long = ["--set", "flow.application.size=100GB", "--set", "time_limit=1000000s"]
    first = program("run", "fast-dsl", *long, "--trace", tmp_path)
    until = time.monotonic() + 20
    answer = airwatt("run", "fast-dsl", "--set", "flow.application.size=20kB", "--trace", tmp_path)
    while answer.status == 0 and time.monotonic() < until:
        # On a busy machine this run may have had the folder when the long one asked for it.
        if first.poll() is not None:
            first = program("run", "fast-dsl", *long, "--trace", tmp_path)
        time.sleep(0.2)
        answer = airwatt("run", "fast-dsl", "--set", "flow.application.size=20kB", "--trace", tmp_path)
    assert answer.status == 1
    assert answer.is_one_line("--trace", str(tmp_path), "another run")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert airwatt("run", "fast-dsl", "--set", "flow.application.size=20kB", "--trace", tmp_path).status == 0


def test_a_folder_of_traces_goes_where_nothing_could_be_written_to_it(tmp_path):
    from airwatt.cli.presentation import holding

    for folder, kept in ((tmp_path / "new", False), (tmp_path / "old", True)):
        if kept:
            folder.mkdir()
        with contextlib.suppress(OSError), holding(folder):
            assert folder.is_dir()
            raise OSError("no space")
        assert folder.exists() == kept
    with holding(tmp_path / "new"):
        (tmp_path / "new" / "packets.csv").touch()
    assert (tmp_path / "new" / "packets.csv").exists()
