"""Runs with mechanisms that are written in Python, in processes of their own: in one process they would take turns.

The parent writes a run as a line of JSON and reads what came of it as a line. A process loads the classes from the
files that the user has named, imports nothing from the current folder (`-P`), and ends when its standard input does.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence

from airwatt._core import AirwattError, Control, InputError, Scenario
from airwatt.own import Mechanisms, files_of, mechanisms
from airwatt.sweeps.plan import Plan, key_of
from airwatt.sweeps.runner import RunOutcome, run_once

_END_S = 5.0
"""How long a process that answers no more may take to end before it is killed."""


@functools.lru_cache(maxsize=64)
def loaded(name: str, text: str, key: str) -> tuple[Scenario, Mechanisms]:
    """A scenario with its mechanisms. Raises `InputError` where a file has changed since the sweep was planned."""
    scenario = Scenario.from_toml(text, name=name)
    if (files := files_of(scenario)) and key_of(scenario) != key:
        raise InputError(f"{' and '.join(files)}: expected the file as it was when the sweep began")
    return scenario, mechanisms(scenario)


class Processes:
    """Makes runs in processes, one a processor."""

    at_once = None

    def __init__(self, limit: str | None) -> None:
        self._limit = limit
        self._idle: queue.SimpleQueue[subprocess.Popen[str]] = queue.SimpleQueue()
        self._all: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self._stopped = False

    def chunk(self) -> int:
        """One: each run is kept as it finishes."""
        return 1

    def make(self, plan: Plan, jobs: Sequence[int], _control: Control) -> Iterable[tuple[int, RunOutcome]]:
        """Makes runs one after the other. Raises `InputError`."""
        assert plan.texts is not None
        for job in jobs:
            point, seed = plan.job(job)
            text = plan.texts[point].as_py()
            yield job, self._ask([plan.scenario, text, plan.points[point], seed, self._limit])

    def _ask(self, run: Sequence[object]) -> RunOutcome:
        begun = time.perf_counter()
        found = self._answer(run)
        if isinstance(found, str):
            # It may have been killed for a reason of somebody else, as by the kernel when memory ran out.
            found = self._answer(run)
        if isinstance(found, str):
            error = f"the process that made it ended twice, the second time {found}"
            found = RunOutcome(time.perf_counter() - begun, None, error)
        return found

    def _answer(self, run: Sequence[object]) -> RunOutcome | str:
        """What came of a run, or how the process that made it ended."""
        process = self._process()
        assert process.stdin is not None
        assert process.stdout is not None
        # A process that has ended is noticed where its answer is read.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(run) + "\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer.endswith("\n"):
            with self._lock:
                if self._stopped:
                    raise KeyboardInterrupt
                self._all.remove(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)
            end(process)
            status = process.returncode
            return f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        self._idle.put(process)
        found = json.loads(answer)
        if isinstance(found, str):
            raise InputError(found)
        return RunOutcome(*found)

    def _process(self) -> subprocess.Popen[str]:
        """A process without work, started if there is none."""
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        with self._lock:
            if self._stopped:
                raise KeyboardInterrupt
            # Of its own group: Ctrl-C at the terminal is for the parent, which then ends it.
            words = [sys.executable, "-P", "-m", "airwatt.sweeps.processes"]
            pipe = subprocess.PIPE
            self._all.append(subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, process_group=0))
            return self._all[-1]

    def stop(self) -> None:
        """Ends the processes, so that every `make` under way raises `KeyboardInterrupt`."""
        with self._lock:
            self._stopped = True
            for process in self._all:
                process.kill()

    def close(self) -> None:
        """Ends the processes."""
        self.stop()
        for process in self._all:
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """Ends a process, and closes the pipes to it."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def main() -> None:
    """The process."""
    # An interrupt is for the parent, which ends this one; what raises `KeyboardInterrupt` here is a mechanism.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a mechanism prints goes to standard error, line by line: a signal ends the process, and what is in a buffer.
    with os.fdopen(os.dup(1), "w") as answers, contextlib.redirect_stdout(sys.stderr):
        os.dup2(2, 1)
        for line in sys.stdin:
            name, text, key, seed, limit = json.loads(line)
            try:
                scenario, own = loaded(name, text, key)
                answer: object = run_once(scenario, seed, limit, None, own)
            except AirwattError as error:
                answer = str(error)
            try:
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
            except BrokenPipeError:
                # Whoever asked was killed. At the end of a block the stream would try it once more.
                os._exit(1)


if __name__ == "__main__":
    main()
