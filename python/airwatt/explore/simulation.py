"""A process that simulates for the page: one job at a time, given up when a newer one comes.

The parent (`Simulation`) writes what is explored as the first line of JSON, then each job as a line, and reads its
answer as a line. A line `{"cancel": ID}` gives up that job and every older one: the runs under way end within
milliseconds. A process that does not answer is replaced. The process (`python -P -m airwatt.explore.simulation`) ends
when its standard input does: it cannot outlive the page. It imports nothing from the current folder (`-P`), which may
have been downloaded with the capture.
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from typing import Any

from airwatt import laboratory, radio_notes
from airwatt._core import AirwattError, InputError, RunError
from airwatt.battery import Battery
from airwatt.explore import answers, controls
from airwatt.reports import capture as captures
from airwatt.reports import runs
from airwatt.reports.pack import Pack
from airwatt.reports.page import view_of
from airwatt.results import Result
from airwatt.sweeps import processes
from airwatt.tasks import Task, run_tasks

_STOP_S = 5.0
_POINTS = 300_000
LIMIT = "events=3e6"
"""A run of more events is shortened: on one processor it would take longer than a second."""
_SHORTENED = ("60s", "10s", "2s")


class Simulation:
    """The process, and the newest job."""

    def __init__(self, source: dict[str, Any]) -> None:
        self._source = source
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        """Of the numbers of jobs, and of writing to the process."""
        self._newest = 0
        self._closed = False
        self._process = self._start()

    def ask(self, job: dict[str, Any]) -> dict[str, Any]:
        """The answer to a job; `{"superseded": true}` if a newer one has come. Older jobs are given up."""
        with self._lock:
            self._newest += 1
            mine = self._newest
            self._write({"cancel": mine - 1})
        if not self._turn.acquire(timeout=_STOP_S):
            # It does not stop; whoever waits for its answer starts another.
            self._process.kill()
            self._turn.acquire()
        try:
            with self._lock:
                if mine != self._newest or self._closed:
                    return {"superseded": True}
                self._write({**job, "id": mine})
            return self._answer(mine)
        finally:
            self._turn.release()

    def _write(self, message: dict[str, Any]) -> None:
        self._send(self._process, message)

    @staticmethod
    def _send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
        assert process.stdin is not None
        # A process that has ended is noticed where its answer is read.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()

    def _answer(self, mine: int) -> dict[str, Any]:
        process = self._process
        assert process.stdout is not None
        line = process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        with self._lock:
            if self._closed:
                return {"superseded": True}
            processes.end(process)
            self._process = self._start()
            if mine != self._newest:
                # It did not stop in time for a newer job, which has ended it.
                return {"superseded": True}
        return {"error": "the simulating process ended; try again"}

    def _start(self) -> subprocess.Popen[str]:
        # Of its own group: Ctrl-C at the terminal is for the parent, which then ends it.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "airwatt.explore.simulation"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        self._send(process, self._source)
        return process

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._closed = True
            self._process.kill()
        # Whoever waits for an answer has it now.
        with self._turn:
            processes.end(self._process)


class _Jobs:
    """The other end: does jobs in its process."""

    def __init__(self, source: dict[str, Any]) -> None:
        self.source = source
        battery = source["battery"] and Battery.parse(source["battery"])
        self.battery = battery and battery._replace(allow_borrowed=source["allow_borrowed"])
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._current: int | None = None
        self._given_up = 0

    def serve(self) -> None:
        """Answers each job that standard input has."""
        signal.signal(signal.SIGINT, self._interrupted)
        threading.Thread(target=self._read, daemon=True).start()
        while (job := self._waiting.get()) is not None:
            text = json.dumps(self._answer(job), allow_nan=False)
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def _read(self) -> None:
        """Takes jobs in, and has those end that are given up."""
        for line in sys.stdin:
            message = json.loads(line)
            if "cancel" not in message:
                self._waiting.put(message)
                continue
            with self._lock:
                self._given_up = message["cancel"]
                if self._current is not None and self._current <= self._given_up:
                    _thread.interrupt_main()
        # The page has gone, and nobody waits for what is under way.
        os._exit(0)

    def _interrupted(self, _signal: int, _frame: object) -> None:
        # A job that has ended meanwhile has nothing to give up.
        if self._current is not None:
            self._current = None
            raise KeyboardInterrupt

    def _answer(self, job: dict[str, Any]) -> dict[str, Any]:
        try:
            try:
                self._current = job["id"]
                # Given up before it was the current one.
                if job["id"] <= self._given_up:
                    return {"superseded": True}
                return self._captured(job) if self.source["capture"] else self._simulated(job)
            finally:
                self._current = None
        except KeyboardInterrupt:
            return {"superseded": True}
        except AirwattError as error:
            return {"error": " ".join(str(error).splitlines())}

    def _simulated(self, job: dict[str, Any]) -> dict[str, Any]:
        seed: int = self.source["seed"]
        shortened = None
        for shortened in (None, *_SHORTENED):
            try:
                groups = self._groups(job, seed, shortened)
                break
            except RunError:
                if shortened == _SHORTENED[-1]:
                    raise
        pack = Pack()
        study = runs.study_of(self.source["name"], groups, pack, self.battery, _POINTS)
        if shortened is not None:
            study.notes.append(f"Shortened to {shortened} of simulated time, so that it answers at once.")
        return self._shown(study, pack)

    def _groups(self, job: dict[str, Any], seed: int, shortened: str | None) -> list[runs.Group]:
        names: list[str] = job["policies"]
        tasks = []
        for name in names:
            given = [(key, value) for key, value in self.source["set"] if key != controls.POLICY]
            loaded = laboratory.load(self.source["text"], [*given, *map(tuple, job["set"]), ("policy", name)])
            loaded = loaded if shortened is None else loaded.shortened(shortened)
            traced = job["trace"] and name == job["chosen"] and name != "ideal"
            tasks.append(Task(loaded, range(seed, seed + 1), Result.of, traced=int(traced)))
        done = run_tasks(tasks, limit=self.source["limit"])
        if done.interrupted:
            raise KeyboardInterrupt
        results = [done.finished(index)[0] for index in range(len(names))]
        notes = list(radio_notes.other_band(task.scenario for task in tasks))
        return [runs.Group(name, [result], result.traces(), notes) for name, result in zip(names, results, strict=True)]

    def _captured(self, job: dict[str, Any]) -> dict[str, Any]:
        """The analysis of a capture, or what the models make of it."""
        settings = [(key, value) for key, value in (*self.source["set"], *job["set"]) if key != "station.radio"]
        radio = dict(job["set"]).get("station.radio", self.source["radio"])
        for_models = job.get("models", False)
        analysis = laboratory.analyze(
            self.source["text"],
            station=self.source["station"],
            radio=radio,
            policies=["active"] if for_models else job["policies"],
            settings=settings,
            trace=not for_models,
            user=self.source["user"],
        )
        document = analysis.to_dict()
        if not document.get("policies"):
            raise InputError("expected a capture of one station, got several; hint: --station ADDR")
        if for_models:
            return {**answers.of_capture(document), "radio": document["radio"], "cell": document["cell"]}
        pack = Pack()
        study = captures.study_of(document, analysis.tables(), pack, self.battery, _POINTS)
        return self._shown(study, pack)

    def _shown(self, study: Any, pack: Pack) -> dict[str, Any]:
        view = view_of([study], pack, f"explore {self.source['name']}")
        return {"view": view, "arrays": pack.text()}


def main() -> None:
    """The process."""
    source = sys.stdin.readline()
    # The page may have gone before it said what it shows.
    if source.endswith("\n"):
        _Jobs(json.loads(source)).serve()


if __name__ == "__main__":
    main()
