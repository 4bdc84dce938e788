"""Policies and congestion controls written in Python: the same trajectories as those of the core, and their errors."""

import contextlib
import importlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
import zipfile
from pathlib import Path
from typing import ClassVar

import pytest
from conftest import ROOT

import airwatt
from airwatt.archive import archive, rerun

SMALL = {"flow.application.size": "400kB"}
LOSSY = {"flow.application.size": "1MB", "wired.down.queue": "8packets", "wifi.frame_error_rate": "0.1"}


def example():
    spec = importlib.util.spec_from_file_location("own_mechanisms", ROOT / "examples" / "own_mechanisms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OWN = example()


class Psm(airwatt.Policy):
    """Triggers and power save from the start, as policy `psm`."""

    needs = ("switch", "trigger", "tim")

    def on_start(self, radio):
        radio.set_power_save(True)

    def on_beacon(self, radio, tim):
        if tim:
            radio.trigger()

    def on_service_ended(self, radio, more_data, end_of_service):
        if more_data:
            radio.trigger()


class PsmLegacy(airwatt.Policy):
    """One PS-Poll a frame, as policy `psm-legacy`."""

    needs = ("switch", "poll", "tim", "service")

    def on_start(self, radio):
        radio.set_power_save(True)

    def on_beacon(self, radio, tim):
        if tim:
            radio.poll()

    def on_service_ended(self, radio, more_data, end_of_service):
        if more_data:
            radio.poll()


def recorded(**choice):
    """The document of a run without its names and the clock, and what was on the air and in the windows."""
    result = airwatt.run("fast-dsl", trace=True, **choice)
    document = result.to_dict()
    document.pop("wall_s")
    names = [document["stations"][0].pop("policy"), document["flows"][0].pop("transport")]
    tables = {name: table.to_pydict() for name, table in result.traces().items()}
    return names, document, tables


@pytest.mark.parametrize(
    ("keyword", "shipped", "own", "keys"),
    [
        ("policy", "timeout", OWN.Timeout, SMALL),
        ("policy", "timeout", OWN.Timeout, {**SMALL, "wired.rtt": "300ms", "wifi.frame_error_rate": "0.2"}),
        ("policy", "psm", Psm, SMALL),
        ("policy", "psm-legacy", PsmLegacy, SMALL),
        ("transport", "reno", OWN.Reno, LOSSY),
    ],
    ids=["timeout", "timeout-lossy", "psm", "psm-legacy", "reno"],
)
def test_a_mechanism_in_python_takes_the_trajectory_of_the_same_in_the_core(keyword, shipped, own, keys):
    (_, document, tables), (names, again, seen) = (recorded(**{keyword: each}, set=keys) for each in (shipped, own))
    assert own.__name__ in names
    assert again == document
    assert seen == tables


@pytest.mark.parametrize(
    ("recovery", "shipped"),
    [("go-back", "tahoe"), ("first-ack", "reno"), ("partial-acks", "newreno"), ("scoreboard", "sack")],
)
def test_what_a_congestion_control_does_not_override_is_the_algorithm_with_its_recovery(recovery, shipped):
    class Silent(airwatt.CongestionControl):
        pass

    class Outspoken(airwatt.CongestionControl):
        def on_ack(self, window, ack):
            super().on_ack(window, ack)

        def on_enter_recovery(self, window, flight, duplicates):
            super().on_enter_recovery(window, flight, duplicates)

        def on_duplicate_ack(self, window):
            super().on_duplicate_ack(window)

        def on_partial_ack(self, window, ack):
            super().on_partial_ack(window, ack)

        def on_leave_recovery(self, window):
            super().on_leave_recovery(window)

        def on_timeout(self, window, flight, reduces, recovering):
            super().on_timeout(window, flight, reduces, recovering)

    Silent.recovery = Outspoken.recovery = recovery
    _, document, tables = recorded(transport=shipped, set=LOSSY)
    assert document["flows"][0]["segments_retransmitted"] > 0
    for own in (Silent, Outspoken):
        _, again, seen = recorded(transport=own, set=LOSSY)
        assert (again, seen) == (document, tables)


class FlowTimeout(OWN.Timeout):
    """Policy `timeout` that also counts the packets of each flow."""

    needs = (*OWN.Timeout.needs, "flows")
    seen: ClassVar = {}

    def on_flow(self, radio, flow, sent, nbytes, dscp):
        packets, total = self.seen.get((flow, sent, dscp), (0, 0))
        self.seen[flow, sent, dscp] = packets + 1, total + nbytes


def test_a_policy_is_given_the_packets_of_each_flow():
    """What it counts is what the senders counted; to look at packets changes nothing."""
    FlowTimeout.seen.clear()
    (_, shipped, tables), (_, own, seen) = (recorded(policy=each, set=SMALL) for each in ("timeout", FlowTimeout))
    assert (own, seen) == (shipped, tables)
    assert set(FlowTimeout.seen) == {(0, False, 0), (0, True, 0)}
    packets, nbytes = FlowTimeout.seen[0, False, 0]
    assert 0 < packets <= own["flows"][0]["segments_sent"] + 1
    assert nbytes > 400_000


def test_a_policy_that_does_not_need_flows_is_not_given_them():
    class Deaf(OWN.Timeout):
        def on_flow(self, *_):
            raise AssertionError("not asked for")

    airwatt.run("fast-dsl", policy=Deaf, set=SMALL)


def test_a_class_stands_beside_names_in_a_comparison_and_repeats_with_seeds():
    compared = airwatt.compare("fast-dsl", policy=["timeout", OWN.Timeout], runs=2, set=SMALL)
    shipped, own = compared.rows
    assert own.choice == {"policy": "Timeout"}
    assert own.summary["stations.0.energy_j"] == shipped.summary["stations.0.energy_j"]


def test_a_function_can_make_instances_with_settings():
    shipped = airwatt.run("fast-dsl", policy="timeout", set={**SMALL, "station.0.power_save.timeout": "30ms"})
    own = airwatt.run("fast-dsl", policy=lambda: OWN.Timeout(30 * OWN.MS), set=SMALL)
    assert own.stations[0].energy_j == shipped.stations[0].energy_j


def test_an_exception_comes_back_with_its_traceback():
    class Careless(airwatt.Policy):
        needs = ("switch",)

        def on_received(self, radio, *facts):
            self.divide(len(facts))

        def divide(self, number):
            return number / 0

    with pytest.raises(ZeroDivisionError) as caught:
        airwatt.run("fast-dsl", policy=Careless)
    assert [frame.name for frame in traceback.extract_tb(caught.tb)][-2:] == ["on_received", "divide"]


def test_an_exception_of_a_congestion_control_and_of_making_one_comes_back():
    class Forgetful(airwatt.CongestionControl):
        def on_ack(self, window, ack):
            window.cwnd = self.missing

    class Unmakeable(airwatt.Policy):
        made = 0

        def __init__(self):
            Unmakeable.made += 1
            if Unmakeable.made > 1:
                raise LookupError("no second one")

    with pytest.raises(AttributeError, match="missing"):
        airwatt.run("fast-dsl", transport=Forgetful, set=SMALL)
    with pytest.raises(LookupError, match="no second one"):
        airwatt.run("fast-dsl", policy=Unmakeable, set=SMALL)


def policy_with(needs=("switch",), **methods):
    return type("Mine", (airwatt.Policy,), {"needs": needs, **methods})


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (policy_with(on_start=lambda self, radio: radio.trigger()), ('"trigger"', "needs")),
        (policy_with(on_start=lambda self, radio: radio.set_timer("tea", 5)), ("timer", "inactivity", '"tea"')),
        (policy_with(on_beacon=lambda self, radio, tim: radio.set_timer("update", 5)), ("at_ns", "now_ns")),
        (policy_with(on_start=lambda self, radio: radio.set_power_save(True, why="tea")), ("why", "beacon", '"tea"')),
    ],
)
def test_what_a_policy_may_not_do_says_why(policy, words):
    with pytest.raises((ValueError, RuntimeError)) as caught:
        airwatt.run("fast-dsl", policy=policy, set=SMALL)
    assert all(word in str(caught.value) for word in words)


def test_a_need_that_there_is_not_is_an_input_error():
    with pytest.raises(airwatt.InputError, match=r"Mine\.needs: .*switch.*'telepathy'"):
        airwatt.run("fast-dsl", policy=policy_with(needs=("telepathy",)), set=SMALL)


def test_a_timer_that_never_lets_time_pass_is_refused():
    class Busy(airwatt.Policy):
        def on_start(self, radio):
            radio.set_timer("update", radio.now_ns)

        def on_timer(self, radio, timer):
            radio.set_timer("update", radio.now_ns)

    with pytest.raises(ValueError, match="at_ns"):
        airwatt.run("fast-dsl", policy=Busy, set=SMALL)


@pytest.mark.parametrize("cwnd", [-1, 0, 1_447, 2**30 + 1])
def test_a_window_out_of_its_range_is_refused(cwnd):
    class Wrong(airwatt.CongestionControl):
        def on_ack(self, window, ack):
            window.cwnd = cwnd

    with pytest.raises(ValueError, match="cwnd: expected 1448 to 1073741824 bytes"):
        airwatt.run("fast-dsl", transport=Wrong, set=SMALL)


def test_what_is_no_class_of_a_mechanism_is_an_input_error():
    for wrong in (OWN.Timeout(), OWN.Reno, int, 5):
        with pytest.raises(airwatt.InputError, match=r"policy: expected a name, .* airwatt\.Policy, got"):
            airwatt.run("fast-dsl", policy=wrong)
    with pytest.raises(airwatt.InputError, match=r"transport: .*airwatt\.CongestionControl"):
        airwatt.run("fast-dsl", transport=OWN.Timeout)


def test_a_mechanism_that_a_scenario_cannot_use_is_an_input_error():
    with pytest.raises(airwatt.InputError, match=r"policy Psm: needs 'tim', which station\.hide hides|needs \"tim\""):
        airwatt.run("fast-dsl", policy=Psm, set={**SMALL, "station.0.hide": ["tim"]})


def test_the_python_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "own-mechanisms.md").read_text(), re.DOTALL)
    assert len(blocks) == 2
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n".join(blocks), "own-mechanisms.md", "exec"), {"__name__": "page"})
    *rows, transport = printed.getvalue().splitlines()
    assert [row.split()[0] for row in rows] == ["active", "psm", "Nap"]
    assert transport == "Gentle"


IN_FILE = """\
import queue

import airwatt


class Nap(airwatt.Policy):
    needs = ("switch", "tim")

    def on_start(self, radio):
        radio.set_power_save(True)

    def on_beacon(self, radio, tim):
        if tim:
            radio.set_power_save(False)
            radio.set_timer("inactivity", radio.now_ns + 20_000_000)

    def on_timer(self, radio, timer):
        radio.set_power_save(True)


class Bad(Nap):
    def on_beacon(self, radio, tim):
        1 / 0


class Gentle(airwatt.CongestionControl):
    recovery = "scoreboard"
"""
SIZE = {"flow.application.size": "200kB"}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A file with own mechanisms, in a folder with a module that must not be imported in the place of Python's."""
    (tmp_path / "queue.py").write_text("raise SystemError('imported from the current folder')")
    (tmp_path / "mine.py").write_text(IN_FILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine.py"


def test_a_class_is_named_by_its_file(mine):
    names: dict = {}
    exec(IN_FILE, names)
    for keyword, name in (("policy", "Nap"), ("transport", "Gentle")):
        by_file = airwatt.run("fast-dsl", **{keyword: f"./mine.py:{name}"}, set=SIZE)
        by_class = airwatt.run("fast-dsl", **{keyword: names[name]}, set=SIZE)
        assert by_file.stations == by_class.stations
        assert by_file.flows == by_class.flows
    rows = airwatt.compare("fast-dsl", policy=["active", f"{mine}:Nap"], set=SIZE).rows
    assert [row.choice["policy"] for row in rows] == ["active", f"{mine}:Nap"]
    # A changed file is read anew.
    mine.write_text(IN_FILE.replace("20_000_000", "200_000_000"))
    later = airwatt.run("fast-dsl", policy="./mine.py:Nap", set=SIZE)
    assert later.stations != airwatt.run("fast-dsl", policy=names["Nap"], set=SIZE).stations


def test_the_command_line_takes_a_class_by_its_file(mine, airwatt):
    size = ["--set", "flow.application.size=200kB"]
    row = airwatt("compare", "fast-dsl", "--policy", f"active,{mine}:Nap", *size, "--json").json["rows"][1]
    one = airwatt("run", "fast-dsl", "--policy", f"{mine}:Nap", *size, "--json").json
    assert row["runs"][0]["stations"] == one["stations"]
    assert one["stations"][0]["policy"] == "Nap"
    page = mine.parent / "page.html"
    assert airwatt("report", "fast-dsl", "--policy", f"active,{mine}:Nap", *size, "-o", page).status == 0


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("mine.py:Bad", 1, ["mine.py, line 23", "ZeroDivisionError"]),
        ("mine.py:None", 2, ["mine.py:None", "airwatt.Policy", "no class"]),
        ("mine.py:Gentle", 2, ["airwatt.Policy", "another class"]),
        ("none.py:Nap", 2, ["none.py", "No such file"]),
        ("queue.py:Nap", 2, ["queue.py, line 1", "SystemError"]),
        ("wrong.py:Nap", 2, ["wrong.py, line 2", "SyntaxError"]),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(mine, airwatt, name, status, said):
    (mine.parent / "wrong.py").write_text("\ndef x(:\n")
    answer = airwatt("run", "fast-dsl", "--policy", mine.parent / name)
    assert answer.status == status
    assert answer.is_one_line(*said), answer.err


def test_a_sweep_makes_runs_of_a_class_in_a_file(mine):
    given = {"policy": ["active", "./mine.py:Nap"], "over": {"wired.rtt": ["10ms", "40ms"]}, "set": SIZE, "runs": 2}
    store = airwatt.sweep("fast-dsl", **given, store="store")
    rows = store.to_arrow("runs", ["policy", "wired.rtt_s", "seed", "energy_j", "wall_s"]).to_pylist()
    assert len(rows) == 8
    for row in rows:
        settings = {**SIZE, "wired.rtt": f"{1e3 * row['wired.rtt_s']:.0f}ms"}
        run = airwatt.run("fast-dsl", policy=row["policy"], seed=row["seed"], set=settings)
        assert row["energy_j"] == run.stations[0].energy_j
    # What is there is not run again, wherever the file is; another content is another mechanism.
    moved = mine.with_name("moved.py")
    moved.write_text(IN_FILE)
    again = airwatt.sweep("fast-dsl", **given | {"policy": ["./moved.py:Nap"]}, store="store")
    assert {row["wall_s"] for row in again.to_arrow("runs", ["wall_s"]).to_pylist()} <= {row["wall_s"] for row in rows}
    moved.write_text(IN_FILE.replace("20_000_000", "200_000_000"))
    other = airwatt.sweep("fast-dsl", **given | {"policy": ["./moved.py:Nap"]}, store="store")
    assert len(other) == 12


def test_a_class_is_named_by_its_place_from_the_current_folder(mine, monkeypatch):
    """As on a command line. Tables and archives are given away: no name of a folder above is in them."""
    monkeypatch.syspath_prepend(mine.parent)
    chosen = importlib.import_module("mine").Nap
    folder = mine.parent / "study"
    folder.mkdir()
    for here, name in ((mine.parent, "./mine.py:Nap"), (folder, "../mine.py:Nap")):
        monkeypatch.chdir(here)
        store = airwatt.sweep("fast-dsl", policy=chosen, set=SIZE, store="store")
        assert store.to_arrow("runs", ["policy"])["policy"].to_pylist() == [name]
        archive("store", "study.zip")
        with zipfile.ZipFile("study.zip") as packed:
            for member in packed.namelist():
                assert str(mine.parent).encode() not in packed.read(member), member
        assert rerun("study.zip", trust=True).same


def test_a_store_alone_executes_no_file(mine, airwatt):
    """A store may come from somebody else: what its plan names is executed only where the user names it too."""
    words = ["sweep", "fast-dsl", "--policy", f"{mine}:Nap", "--set", "flow.application.size=200kB", "--runs", "2"]
    store = mine.parent / "store"
    assert airwatt(*words, "--store", store).status == 0
    for folder in ("runs", "flows", "stations", "documents"):
        for path in (store / folder).iterdir():
            path.unlink()
    executed = mine.parent / "executed"
    mine.write_text(f"open({str(executed)!r}, 'w').close()\n{IN_FILE}")
    answer = airwatt("sweep", "resume", store)
    assert answer.status == 2
    assert answer.is_one_line("mine.py:Nap", "whole sweep command"), answer.err
    assert not executed.exists()
    assert airwatt(*words, "--store", store).status == 0
    assert executed.exists()


def test_a_class_that_fails_in_a_sweep_is_a_failed_run(mine, airwatt):
    store = mine.parent / "store"
    answer = airwatt(
        "sweep", "fast-dsl", "--policy", f"active,{mine}:Bad", "--set", "flow.application.size=200kB", "--store", store
    )
    assert answer.status == 1
    (failed,) = airwatt("sweep", "status", store, "--json").json["failed"]
    said = airwatt("sweep", "status", store).out
    assert "sweep retry" not in said, "retry executes no file"
    assert "the sweep's own command" in " ".join(said.split())
    retry = airwatt("sweep", "retry", store)
    assert retry.status == 2
    assert retry.is_one_line("a store executes no file", "whole sweep command"), retry.err
    assert "mine.py, line 23: ZeroDivisionError" in failed["error"]


@pytest.mark.parametrize(
    ("end", "how"),
    [("__import__('os').abort()", "by SIGABRT"), ("__import__('os')._exit(3)", "with status 3")],
)
def test_a_process_that_ends_fails_its_run_alone(airwatt, mine, end, how):
    mine.write_text(mine.read_text().replace("1 / 0", end))
    store = mine.parent / "s"
    answer = airwatt(
        "sweep", "fast-dsl", "--policy", f"active,{mine}:Bad,{mine}:Nap", "--set", "flow.application.size=200kB",
        "--runs", "2", "--store", store,
    )  # fmt: skip
    assert answer.status == 1, answer.err
    status = airwatt("sweep", "status", store, "--json").json
    assert [run["error"] for run in status["failed"]] == [
        f"the process that made it ended twice, the second time {how}"
    ] * 2
    assert status["sweeps"][0]["finished"] == 4, status


def test_a_process_that_was_killed_makes_its_run_again(mine, program):
    words = ["--policy", f"{mine}:Nap", "--set", "flow.application.size=100MB", "--runs", "3"]
    process = program("sweep", "fast-dsl", *words, "--store", mine.parent / "store")
    found = await_children_of(process.pid)
    os.kill(found[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "3 of 3 runs finished" in out


def children_of(pid):
    """The processes of a sweep that make its runs."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [child for task in tasks for child in (task / "children").read_text().split()]
    return [
        int(child) for child in children if b"airwatt.sweeps.processes" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def await_children_of(pid):
    end = time.monotonic() + 60
    while not (found := children_of(pid)):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_an_interrupt_ends_the_processes_of_a_sweep(mine, program):
    words = ["--policy", f"{mine}:Nap", "--set", "flow.application.size=500MB", "--runs", "9"]
    process = program("sweep", "fast-dsl", *words, "--store", mine.parent / "store")
    found = await_children_of(process.pid)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not [child for child in found if Path(f"/proc/{child}").exists()]


def test_a_process_whose_sweep_was_killed_ends_in_silence():
    words = [sys.executable, "-P", "-m", "airwatt.sweeps.processes"]
    reader, writer = os.pipe()
    os.close(reader)
    # The answer is an error, which goes to whoever asked as well.
    job = json.dumps(["nothing", "", "", 1, None]) + "\n"
    done = subprocess.run(words, input=job, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("command", ["run", "compare", "sweep"])
def test_help_says_that_a_transport_is_also_that_of_flows_over_udp(airwatt, command):
    assert "also of those over UDP" in " ".join(airwatt(command, "--help").out.replace("│", " ").split())


def test_a_transport_is_that_of_all_flows_and_a_key_that_of_one():
    def transports(**changed):
        return [flow.transport for flow in airwatt.run("call-today", **changed).flows]

    short = {"duration": "100ms"}
    assert transports(set=short) == ["udp", "udp", "cubic", "cubic"]
    assert transports(set=short, transport="newreno") == ["newreno"] * 4
    assert transports(set={**short, "flow.2.transport": "newreno"}) == ["udp", "udp", "newreno", "newreno"]
