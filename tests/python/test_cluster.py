"""Sweeps on a Dask cluster whose workers come and go, with the newest and the oldest Dask that is admitted."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

import airwatt as laboratory
from airwatt.sweeps.frames import Store

pytestmark = pytest.mark.long

SWEEPS = 20
SIZE = "20MB"
"""A run takes some 30 ms, so that a sweep of a hundred is under way when a worker ends."""
WORDS = ["fast-dsl", "--over", "wired.rtt=10ms:100ms:10ms", "--policy", "active,psm", "--runs", "5"]


class Cluster:
    """A scheduler and workers, each a process of its own, of one version of Dask."""

    def __init__(self, folder, packages):
        self._file = folder / "scheduler.json"
        self._environment = os.environ | {"PYTHONPATH": str(packages)}
        self.workers = []
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard")
        end = time.monotonic() + 60
        while not self._file.exists():
            assert time.monotonic() < end
            time.sleep(0.1)
        time.sleep(0.5)
        self.address = json.loads(self._file.read_text())["address"]

    def _start(self, what, *options):
        # Not `dask`: a script of another version may be installed.
        module = f"distributed.cli.dask_{what}"
        words = [sys.executable, "-P", "-m", module, "--scheduler-file", self._file, *options]
        return subprocess.Popen(words, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def join(self):
        """Starts a worker."""
        self.workers.append(self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"))

    def kill_oldest(self):
        """SIGKILL for the worker that has been there for longest."""
        worker = self.workers.pop(0)
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def sweep(self, store, *words):
        """Starts a sweep."""
        words = [sys.executable, "-P", "-m", "airwatt", "sweep", *words, "--store", store, "--dask", self.address]
        return subprocess.Popen(
            words, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def oldest():
    """The oldest version of Dask that the package admits."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (requirement,) = (one for one in extras["cluster"] if one.startswith("distributed"))
    return requirement.replace(">=", "==") + ".0"


@pytest.fixture(scope="module", params=["newest", "oldest"])
def packages(request, tmp_path_factory):
    """A folder with a version of Dask."""
    folder = tmp_path_factory.mktemp(request.param)
    wanted = "distributed" if request.param == "newest" else oldest()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", folder, wanted]
    subprocess.run(pip, check=True)
    return folder


@pytest.fixture
def cluster(tmp_path, packages):
    started = Cluster(tmp_path, packages)
    yield started
    started.close()


def exported(store, out):
    """The bytes of an export."""
    Store(store).export(out)
    return out.read_bytes()


def cpu_s(process):
    """The processor time of a process in seconds."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_twenty_sweeps_outlive_a_worker_each_and_give_what_a_local_sweep_gives(tmp_path, cluster):
    words = [*WORDS, "--set", f"flow.application.size={SIZE}"]
    laboratory.sweep(
        "fast-dsl",
        over={"wired.rtt": "10ms:100ms:10ms"}, policy=["active", "psm"], runs=5, set={"flow.application.size": SIZE},
        store=tmp_path / "local",
    )  # fmt: skip
    expected = exported(tmp_path / "local", tmp_path / "local.csv")
    cluster.join()
    cluster.join()
    among = 0
    for number in range(SWEEPS):
        store = tmp_path / f"sweep{number}"
        process = cluster.sweep(store, *words)
        while process.poll() is None and sum(path.read_bytes().count(b"\n") for path in store.glob("journal/*")) < 10:
            time.sleep(0.02)
        among += process.poll() is None
        cluster.kill_oldest()
        cluster.join()
        _, err = process.communicate(timeout=300)
        assert (process.returncode, err) == (0, ""), number
        assert exported(store, tmp_path / "one.csv") == expected, number
    # Nearly always the worker ended while the sweep went on.
    assert among > SWEEPS // 2


def test_ten_thousand_runs_cost_the_scheduler_little(tmp_path, cluster):
    cluster.join()
    cluster.join()
    time.sleep(8)

    def used_s():
        return cpu_s(cluster.scheduler), sum(map(cpu_s, cluster.workers))

    # The start of Python, and what an idle cluster costs for as long, are no cost of runs.
    begun = used_s()
    time.sleep(10)
    before_s, begun_s = used_s(), time.monotonic()
    idle = [(later - earlier) / 10 for earlier, later in zip(begun, before_s, strict=True)]
    words = ["fast-dsl", "--set", "flow.application.size=5MB", "--policy", "active,psm", "--runs", "5000"]
    process = cluster.sweep(tmp_path / "store", *words)
    _, err = process.communicate(timeout=1200)
    # Each minute a line of a log says how far it is.
    assert process.returncode == 0, err
    assert all(" left" in line for line in err.splitlines()), err
    wall_s = time.monotonic() - begun_s
    after_s = used_s()
    scheduler_s, workers_s = (after_s[place] - before_s[place] - idle[place] * wall_s for place in (0, 1))
    print(f"scheduler {scheduler_s:.2f} s, workers {workers_s:.2f} s: {scheduler_s / workers_s:.1%}")
    assert scheduler_s < 0.05 * workers_s


def test_a_scheduler_that_ends_is_said_in_one_line(tmp_path, cluster):
    cluster.join()
    process = cluster.sweep(tmp_path / "store", *WORDS, "--set", "flow.application.size=500MB")
    while process.poll() is None and not list(tmp_path.glob("store/claims/*")):
        time.sleep(0.1)
    time.sleep(1)
    cluster.scheduler.kill()
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert any(line.startswith("airwatt: --dask: ") for line in err.splitlines()), err
    assert "Traceback" not in err


def test_an_interrupt_ends_a_sweep_whose_tasks_are_under_way(tmp_path, cluster):
    cluster.join()
    process = cluster.sweep(tmp_path / "store", *WORDS, "--set", "flow.application.size=500MB")
    while process.poll() is None and not list(tmp_path.glob("store/claims/*")):
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
