"""A class of one's own for one station or one flow beside others: in files, keys, comparisons, sweeps and archives."""

import re
import signal
import threading

import pytest
from conftest import ROOT

import airwatt
from airwatt import parallel

MINE = """\
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


class Polls(airwatt.Policy):
    needs = ("switch", "tim", "trigger")


class Gentle(airwatt.CongestionControl):
    recovery = "scoreboard"
"""
KEY = "station.1.power_save.policy"
CELL = """\
node = [{ name = "server" }, { name = "access-point" }, { name = "phone", count = 3 }]
flow = [{ from = "server", to = "phone", application = { kind = "bulk", size = "100kB" } }]

[[link]]
name = "wire"
between = ["server", "access-point"]
delay = "10ms"
forward = { rate = "16Mbps" }
reverse = { rate = "1Mbps" }

[[cell]]
name = "air"
wifi = "fast-wifi"
access_point = { node = "access-point" }
station = [
    { node = "phone0", power_save = { policy = "timeout" } },
    { node = "phone1..phone2", power_save = { policy = "./mine.py:Nap" } },
]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of mechanisms and the scenario of the page; the current one is another."""
    (tmp_path / "mine.py").write_text(MINE)
    page = (ROOT / "docs" / "own-mechanisms.md").read_text()
    (scenario,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "two.toml").write_text(scenario.replace("5MB", "200kB"))
    (tmp_path / "cell.toml").write_text(CELL)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


def named(result):
    return [item.policy for item in result.stations], [flow.transport for flow in result.flows]


def test_a_class_stands_beside_listed_mechanisms_in_a_file(folder):
    """The path is relative to the file; each station and flow has its own, and the class behaves as it does alone."""
    result = airwatt.run(folder / "two.toml")
    assert named(result) == (["Nap", "timeout"], ["Gentle", "newreno"])
    listed = airwatt.run(folder / "two.toml", set={"station.0.power_save.policy": "psm", "flow.0.transport": "sack"})
    assert listed.stations[0].energy_j != result.stations[0].energy_j
    # What a class does not override is the algorithm of its recovery.
    same = airwatt.run(folder / "two.toml", set={"flow.0.transport": "sack"})
    assert same.stations == result.stations


def test_a_class_is_that_of_a_group_of_a_cell(folder):
    result = airwatt.run(folder / "cell.toml")
    assert named(result)[0] == ["timeout", "Nap", "Nap"]


def test_a_key_takes_a_class_by_its_file_or_itself(folder):
    names: dict = {}
    exec(MINE, names)
    by_file = airwatt.run(folder / "two.toml", set={KEY: "../mine.py:Nap"})
    by_class = airwatt.run(folder / "two.toml", set={KEY: names["Nap"], "flow.0.transport": names["Gentle"]})
    assert named(by_file) == named(by_class) == (["Nap", "Nap"], ["Gentle", "newreno"])
    assert by_file.stations == by_class.stations
    compared = airwatt.compare(folder / "two.toml", vary={KEY: ["active", names["Nap"], f"{folder}/mine.py:Nap"]})
    assert [row.choice[KEY] for row in compared.rows] == ["active", "Nap", f"{folder}/mine.py:Nap"]
    active, one, other = (row.runs[0].stations for row in compared.rows)
    assert one == other == by_file.stations
    assert active != one


def test_the_command_line_compares_and_shows_a_class_of_one_station(folder, airwatt):
    compared = airwatt("compare", folder / "two.toml", "--vary", f"{KEY}=active,{folder}/mine.py:Nap", "--json").json
    one = airwatt("run", folder / "two.toml", "--set", f"{KEY}={folder}/mine.py:Nap", "--json").json
    assert [row["runs"][0]["stations"][1]["policy"] for row in compared["rows"]] == ["active", "Nap"]
    assert compared["rows"][1]["runs"][0]["stations"] == one["stations"]
    # What is shown reads back, and no file is executed for it.
    (folder / "mine.py").write_text("raise SystemExit('executed')")
    shown = airwatt("run", folder / "two.toml", "--show-config").out
    assert f'policy = "{folder}/mine.py:Nap"' in shown
    (folder / "again.toml").write_text(shown)
    (folder / "mine.py").write_text(MINE)
    assert airwatt("run", folder / "again.toml", "--json").json["stations"][0]["policy"] == "Nap"


@pytest.mark.parametrize("where", ["method", "file"])
def test_a_file_that_ends_the_program_is_an_error_with_its_line(where, folder, airwatt, tmp_path):
    """Otherwise nothing would be said, and the status be that of success."""
    text = "import sys\nimport airwatt\nclass Ends(airwatt.Policy):\n    def on_start(self, radio): sys.exit(0)\n"
    (folder / "ends.py").write_text(text if where == "method" else f"{text}sys.exit(0)\n")
    line, status = ("ends.py, line 4: SystemExit: 0", 1) if where == "method" else ("ends.py, line 5: SystemExit: 0", 2)
    chosen = ["--set", f"{KEY}={folder}/ends.py:Ends"]
    answer = airwatt("run", folder / "two.toml", *chosen, "--json")
    assert answer.is_one_line(line), answer
    assert (answer.status, answer.out) == (status, "")
    store = tmp_path / "two.sweep"
    swept = airwatt("sweep", folder / "two.toml", *chosen, "--store", store)
    assert swept.status == status
    said = airwatt("sweep", "status", store, "--json").out if where == "method" else swept.err
    assert line in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Text", ["Text.needs: expected a list of some of switch, tim", "got 'switch'"]),
        ("Number", ["Number.needs: expected a list of some of switch, tim", "got 5"]),
        ("Numbers", ["Numbers.needs: expected a list of some of switch, tim", "got 5"]),
        ("Strange", ["Strange.needs: expected a list of some of switch, tim", "got '\\ud800'"]),
        ("NoMethod", ["NoMethod.on_start: expected a method, got 5"]),
        ("Recovers", ["Recovers.recovery: expected one of go-back", "got 5"]),
        ("Wants", ["wrong.py:Wants: TypeError: ", "missing 1 required positional argument: 'size'"]),
        ("Divides", ["wrong.py, line 23: ValueError: two lines"]),
        ("Base", ["wrong.py, line 26: BaseException: made"]),
        ("Exits", ["wrong.py, line 29: GeneratorExit"]),
        ("Other", ["expected a class derived from airwatt.Policy", "got <class 'own mechanism in ", "Other'>"]),
        ("Unshown", ["expected a class derived from airwatt.Policy", "Shown'>"]),
        ("Mute", ["wrong.py, line 43: Silent"]),
    ],
)
def test_what_is_wrong_with_a_class_is_one_line_before_anything_runs(folder, airwatt, name, said):
    (folder / "wrong.py").write_text(WRONG)
    option = "--transport" if name == "Recovers" else "--policy"
    answer = airwatt("run", "fast-dsl", option, f"{folder}/wrong.py:{name}", "--json")
    assert answer.status == 2
    assert answer.is_one_line(*said), answer.err
    store = folder / "store"
    swept = airwatt("sweep", "fast-dsl", option, f"{folder}/wrong.py:{name}", "--store", store)
    assert swept.status == 2
    assert swept.is_one_line(*said), swept.err


WRONG = """\
import airwatt


class Text(airwatt.Policy):
    needs = "switch"
class Number(airwatt.Policy):
    needs = 5
class Numbers(airwatt.Policy):
    needs = ["switch", 5]
class Strange(airwatt.Policy):
    needs = ["\\ud800"]
class NoMethod(airwatt.Policy):
    on_start = 5
class Recovers(airwatt.CongestionControl):
    recovery = 5


class Wants(airwatt.Policy):
    def __init__(self, size):
        pass
class Divides(airwatt.Policy):
    def __init__(self):
        raise ValueError("two\\nlines")
class Base(airwatt.Policy):
    def __init__(self):
        raise BaseException("made")
class Exits(airwatt.Policy):
    def __init__(self):
        raise GeneratorExit
class Other(airwatt.Policy):
    def __new__(cls):
        return 5
class Shown(type):
    def __repr__(cls):
        raise ValueError("not shown")
class Unshown(Other, metaclass=Shown):
    pass
class Silent(Exception):
    def __str__(self):
        raise ValueError("mute")
class Mute(airwatt.Policy):
    def __init__(self):
        raise Silent
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise BaseException('late')", "wrong.py, line 4: BaseException: late"),
        ("raise KeyboardInterrupt", "wrong.py, line 4: KeyboardInterrupt"),
        ("radio.trigger(5, 6)", "wrong.py, line 4: TypeError: "),
        ("raise airwatt.InputError('mine')", "wrong.py, line 4: InputError: mine"),
    ],
)
def test_what_a_method_raises_is_a_failed_run_with_its_line(folder, airwatt, body, said):
    """Also what is no `Exception`, and what looks like Ctrl-C."""
    method = f"    def on_start(self, radio):\n        {body}\n"
    (folder / "wrong.py").write_text(f"import airwatt\nclass Late(airwatt.Policy):\n{method}")
    words = ["fast-dsl", "--policy", f"{folder}/wrong.py:Late", "--set", "flow.application.size=100kB"]
    answer = airwatt("run", *words, "--json")
    assert answer.status == 1
    assert answer.is_one_line(said), answer.err
    store = folder / "store"
    assert airwatt("sweep", *words, "--store", store).status == 1
    (failed,) = airwatt("sweep", "status", store, "--json").json["failed"]
    assert said in failed["error"]


def test_a_method_with_other_parameters_is_named_by_its_class(folder, airwatt):
    (folder / "wrong.py").write_text(
        "import airwatt\nclass Few(airwatt.Policy):\n    def on_start(self):\n        pass\n"
    )
    answer = airwatt("run", "fast-dsl", "--policy", f"{folder}/wrong.py:Few")
    assert answer.status == 1
    assert answer.is_one_line(f"{folder}/wrong.py:Few: TypeError: Few.on_start() takes 1 positional"), answer.err


def test_a_file_that_raises_an_interrupt_itself_is_no_ctrl_c(folder, program):
    (folder / "wrong.py").write_text("raise KeyboardInterrupt\n")
    process = program("run", "fast-dsl", "--policy", f"{folder}/wrong.py:Nap")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert f"{folder}/wrong.py, line 1: KeyboardInterrupt" in err
    assert len(err.splitlines()) == 1


def test_ctrl_c_while_a_thread_begins_is_no_lack_of_threads():
    """The wait for its begin ended with a lock that was not taken, which was read as the system's limit of threads."""
    thread = threading.Thread(target=int)

    def interrupted():
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()

    thread.start = interrupted
    with pytest.raises(KeyboardInterrupt):
        parallel.begin(thread)


def test_ctrl_c_ends_a_class_that_never_returns(folder, program):
    (folder / "endless.py").write_text(
        "import airwatt, sys\n"
        "class Endless(airwatt.Policy):\n"
        "    def on_start(self, radio):\n"
        "        print('here', file=sys.stderr, flush=True)\n"
        "        while True: pass\n"
    )
    process = program("run", "fast-dsl", "--policy", f"{folder}/endless.py:Endless")
    assert process.stderr.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "airwatt: interrupted\n")


def test_an_interrupt_that_a_class_raises_comes_back_from_the_package():
    class Stops(airwatt.Policy):
        def on_start(self, radio):
            raise KeyboardInterrupt("mine")

    with pytest.raises(KeyboardInterrupt, match="mine"):
        airwatt.run("fast-dsl", policy=Stops)


def test_what_a_class_prints_is_no_part_of_a_document(folder, airwatt, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (folder / "loud.py").write_text(
        "import airwatt\n"
        "print('loaded')\n"
        "class Loud(airwatt.Policy):\n"
        "    def on_start(self, radio):\n"
        "        print('begins')\n"
    )
    size, loud = ["--set", "flow.application.size=100kB"], f"{folder}/loud.py:Loud"
    for words in (
        ["run", "fast-dsl", "--policy", loud, *size, "--json"],
        ["run", "fast-dsl", "--policy", loud, *size, "--runs", "2", "--json"],
        ["compare", "fast-dsl", "--policy", f"active,{loud}", *size, "--json"],
        ["sweep", "fast-dsl", "--policy", loud, *size, "--dry-run", "--json"],
        ["sweep", "fast-dsl", "--policy", loud, *size, "--store", folder / "store", "--json"],
    ):
        answer = airwatt(*words)
        assert answer.status == 0, answer.err
        assert isinstance(answer.json, dict)
        assert "begins" in answer.err, words
        assert "begins" not in answer.out
        assert "loaded" not in answer.out


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (KEY, "../mine.py:None", ["--set station.1", "/mine.py:None: ", "airwatt.Policy", "no class of that name"]),
        (KEY, "../mine.py:Gentle", ["--set station.1", "airwatt.Policy", "another class"]),
        ("flow.1.transport", "../mine.py:Nap", ["--set flow.1.transport", "airwatt.CongestionControl", "another"]),
        (KEY, "../none.py:Nap", ["--set station.1", "none.py", "No such file"]),
        ("ap.uapsd", "false", ["two.toml:7: station.1.power_save.policy", "without U-APSD", "mine.py:Polls"]),
        ("station.1.hide", '["tim"]', ["two.toml:7", "station.1.hide", 'it needs "tim"']),
        ("station.1.power_save.interval", "20ms", ["station.1.power_save.interval", "unknown key", "policy"]),
        ("tcp.profile", "linux", ["transport", "linux-settings"]),
        ("flow.0.application.kind", "saturated", ["flow.0", 'needs transport "udp"']),
    ],
)
def test_what_does_not_go_is_one_line_with_its_place(folder, airwatt, key, value, said):
    file = folder / "two.toml"
    file.write_text(file.read_text().replace('policy = "timeout"', 'policy = "./mine.py:Polls"'))
    answer = airwatt("run", file, "--set", f"{key}={value.replace('..', str(folder))}")
    assert answer.status == 2
    assert answer.is_one_line(*said), answer.err


def test_a_file_that_is_not_there_is_said_with_its_line(folder, airwatt):
    (folder / "mine.py").unlink()
    answer = airwatt("run", folder / "cell.toml")
    assert answer.status == 2
    assert answer.is_one_line("cell.toml:17: cell.0.station.1.power_save.policy", f"{folder}/mine.py could not be read")


def test_what_a_class_of_the_file_raises_is_one_line(folder, airwatt):
    (folder / "mine.py").write_text(MINE.replace("if tim:", "if 1 / 0:"))
    answer = airwatt("run", folder / "cell.toml")
    assert answer.status == 1
    assert answer.is_one_line(f"{folder}/mine.py, line 11: ZeroDivisionError"), answer.err


def test_what_runs_no_simulation_refuses_a_class(folder, airwatt):
    answer = airwatt("emulate", folder / "two.toml", "--", "true")
    assert answer.status != 0
    assert answer.is_one_line("two.toml:4: station.0.power_save.policy", "a class in Python") or "root" in answer.err


def test_a_sweep_varies_a_class_of_one_station(folder):
    """In processes of its own; a run is known by the text of the file, wherever that is and whatever named it."""
    given = {"over": {KEY: ["timeout", "../mine.py:Nap"]}, "runs": 2}
    store = airwatt.sweep(folder / "two.toml", **given, store="store")
    rows = store.to_arrow("runs", [KEY, "seed", "energy_j", "wall_s"]).to_pylist()
    assert len(rows) == 4
    for row in rows:
        run = airwatt.run(folder / "two.toml", seed=row["seed"], set={KEY: row[KEY]})
        assert row["energy_j"] == sum(item.energy_j for item in run.stations)
    walls = {row["wall_s"] for row in rows}
    (folder / "elsewhere" / "moved.py").write_text(MINE)
    again = airwatt.sweep(folder / "two.toml", over={KEY: ["timeout", "moved.py:Nap"]}, runs=2, store="store")
    assert {row["wall_s"] for row in again.to_arrow("runs", ["wall_s"]).to_pylist()} == walls
    (folder / "mine.py").write_text(MINE.replace("20_000_000", "200_000_000"))
    assert len(airwatt.sweep(folder / "two.toml", **given, store="store")) == 8


def test_a_sweep_takes_a_class_itself_and_names_it_by_its_file(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    (folder / "from_here.py").write_text(MINE)
    mine = __import__("from_here")
    by_file = airwatt.sweep(folder / "two.toml", over={KEY: ["active", f"{folder}/from_here.py:Nap"]}, store="store")
    made = {row["wall_s"] for row in by_file.to_arrow("runs", ["wall_s"]).to_pylist()}
    by_class = airwatt.sweep(folder / "two.toml", over={KEY: ["active", mine.Nap]}, store="store")
    assert {row["wall_s"] for row in by_class.to_arrow("runs", ["wall_s"]).to_pylist()} == made
    given = {"policy": mine.Nap, "transport": [mine.Gentle, "sack"], "set": {KEY: mine.Nap}}
    assert len(airwatt.sweep(folder / "two.toml", **given)) == 2
    names: dict = {}
    exec(MINE, names)
    with pytest.raises(airwatt.InputError, match=r"station.1.*a class at the top of a file"):
        airwatt.sweep(folder / "two.toml", over={KEY: [names["Nap"]]})
    with pytest.raises(airwatt.InputError, match=r"policy: expected a class at the top of a file"):
        airwatt.sweep(folder / "two.toml", policy=lambda: mine.Nap())


def test_a_file_that_begins_a_sweep_as_it_is_loaded_is_refused(folder, airwatt):
    """Otherwise each process of the sweep would begin one."""
    (folder / "mine.py").write_text(f"{MINE}\nairwatt.sweep('fast-dsl', policy=Nap)\n")
    answer = airwatt("run", folder / "two.toml")
    assert answer.status == 2
    assert answer.is_one_line(f"{folder}/mine.py", "__main__"), answer.err


def test_a_misspelt_name_says_that_a_class_is_accepted(airwatt):
    for flag in ("--policy", "--transport"):
        assert airwatt("run", "fast-dsl", flag, "./mine.py").is_one_line(flag, ", or FILE.py:CLASS, got")
    answer = airwatt("run", "fast-dsl", "--set", "gateway.transport=nap")
    assert "FILE.py" not in answer.err


def test_the_schema_has_classes(airwatt):
    """So that an editor takes what the loader takes, and nothing else in the place of a name."""
    kinds = airwatt("scenarios", "--schema").json["$defs"]
    (policy,) = (kinds[part["$ref"].rpartition("/")[2]] for part in kinds["PolicyChoice"]["anyOf"][1:])
    (transport,) = kinds["TransportChoice"]["anyOf"][1:]
    for node in (policy["properties"]["policy"], transport):
        assert re.search(node["pattern"], "./mine.py:Nap")
        assert not re.search(node["pattern"], "nap")


def test_a_store_executes_no_file_that_its_scenario_names(folder, airwatt):
    store = folder / "store"
    words = ["sweep", folder / "two.toml", "--over", "flow.0.start=0s,1s", "--store", store]
    assert airwatt(*words).status == 0
    for kept in ("runs", "flows", "stations", "documents"):
        for path in (store / kept).iterdir():
            path.unlink()
    executed = folder / "executed"
    (folder / "mine.py").write_text(f"open({str(executed)!r}, 'w').close()\n{MINE}")
    answer = airwatt("sweep", "resume", store)
    assert answer.status == 2
    assert answer.is_one_line("mine.py:Nap", "whole sweep command"), answer.err
    assert not executed.exists()


def test_an_archive_has_the_files_that_its_scenario_names(folder, airwatt):
    store, packed = folder / "store", folder / "study.zip"
    assert (
        airwatt("sweep", folder / "two.toml", "--over", f"{KEY}=active,{folder}/mine.py:Nap", "--store", store).status
        == 0
    )
    assert airwatt("archive", store, "-o", packed).status == 0
    (folder / "mine.py").unlink()
    refused = airwatt("rerun", packed)
    assert refused.status == 2
    assert refused.is_one_line("mechanisms/mine.py:Nap", "--trust")
    assert airwatt("rerun", packed, "--trust").status == 0
