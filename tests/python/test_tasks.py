"""The runner under all commands: with and without a store, interrupted, failed, traced, and with own mechanisms."""

import json
import signal
import subprocess
import time
from dataclasses import replace

import pytest
from conftest import PROGRAM

import airwatt as laboratory
from airwatt import _core, advice, validate
from airwatt._core import InputError, RunError
from airwatt.reproductions import catalogue, engine
from airwatt.reproductions.publication import Outcome, Value
from airwatt.sweeps import journal
from airwatt.sweeps.store import Files

SMALL = {"flow.application.size": "20kB"}
CHOICES = {"policy": ["active", "psm"], "runs": 3, "set": SMALL}


def timeless(item):
    """A document without how long the computer took."""
    if isinstance(item, dict):
        return {key: timeless(value) for key, value in item.items() if key != "wall_s"}
    return [timeless(value) for value in item] if isinstance(item, list) else item


def text(result):
    """The bytes of a document, with the order of its keys."""
    return json.dumps(timeless(result.to_dict()))


@pytest.fixture
def made(monkeypatch):
    """The seeds of the runs that are made, in their order."""
    seeds = []
    simulate = _core.run

    def counted(scenario, seed, **how):
        seeds.append(seed)
        return simulate(scenario, seed, **how)

    monkeypatch.setattr(_core, "run", counted)
    return seeds


def test_a_store_changes_no_byte_and_what_it_has_is_not_run_again(tmp_path, made):
    plain = laboratory.compare("fast-dsl", **CHOICES)
    first = laboratory.compare("fast-dsl", **CHOICES, store=tmp_path / "store")
    assert len(made) == 12
    second = laboratory.compare("fast-dsl", **CHOICES, store=tmp_path / "store")
    assert len(made) == 12
    assert text(plain) == text(first) == text(second)
    assert json.dumps(first.to_dict()) == json.dumps(second.to_dict())


def test_all_commands_share_a_store(tmp_path, made):
    store = laboratory.sweep("fast-dsl", policy="active,psm", runs=2, set=SMALL, store=tmp_path / "store")
    assert len(made) == 4
    compared = laboratory.compare("fast-dsl", **CHOICES, store=store.path)
    assert made[4:] == [3, 3]
    runs = laboratory.run("fast-dsl", policy="psm", runs=4, set=SMALL, store=store.path)
    assert made[6:] == [4]
    assert [run.to_dict() for run in runs.runs[:3]] == [run.to_dict() for run in compared.rows[1].runs]
    # What `compare` made is in the tables of the store, under its settings.
    frame = store.to_pandas()
    assert list(frame.policy.value_counts().sort_index()) == [3, 4]
    assert [state.missing for state in store.status()] == [0, 0, 0]


def test_a_run_with_traces_is_made_anew_and_its_followers_are_found(tmp_path, made):
    laboratory.run("fast-dsl", runs=3, set=SMALL, store=tmp_path / "store")
    runs = laboratory.run("fast-dsl", runs=3, set=SMALL, trace=True, store=tmp_path / "store")
    assert made[3:] == [1]
    assert runs.results[0].traces()
    assert not runs.results[1].traces()
    with pytest.raises(InputError, match="comes from a store, which keeps no traces"):
        runs.results[1].write_perfetto(tmp_path / "line")
    assert not (tmp_path / "line").exists()


def test_a_mechanism_written_in_python_is_not_looked_up(tmp_path, made):
    class Mine(laboratory.CongestionControl):
        pass

    for _ in range(2):
        laboratory.compare("fast-dsl", transport=["newreno", Mine], set=SMALL, store=tmp_path / "store")
    assert len(made) == 3


def test_a_failed_run_is_kept_as_failed_and_tried_again(tmp_path, made):
    how = {"policy": "psm", "runs": 2, "set": {"flow.application.size": "20MB"}, "store": tmp_path / "store"}
    with pytest.raises(RunError, match="events"):
        laboratory.run("fast-dsl", **how, limit="events=5e4")
    failures = laboratory.open_store(tmp_path / "store").failures()
    assert [(item.seed, item.settings["policy"]) for item in failures] == [(1, "psm"), (2, "psm")]
    assert len(laboratory.run("fast-dsl", **how).runs) == 2
    assert laboratory.open_store(tmp_path / "store").failures() == []
    assert sorted(made) == [1, 1, 2, 2]


def test_documents_outlive_the_merging_of_chunks(tmp_path, made):
    store = tmp_path / "store"
    for seed in (1, 2):
        laboratory.run("fast-dsl", seed=seed, set=SMALL, store=store)
    files = Files.open(store)
    merged = files.merge("merged-000001", files.chunks(), at=2)
    assert {path.stem for path in (store / "documents").iterdir()} == {merged}
    assert [run.seed for run in laboratory.run("fast-dsl", runs=2, set=SMALL, store=store).runs] == [1, 2]
    assert len(made) == 2


def test_a_reproduction_goes_on_where_it_stopped(tmp_path, made):
    """What comes of a store is what comes without one, also where it was read from traces."""
    chosen = catalogue.choose(["e2tcp/sec4.1.1", "e2tcp/ex3.2", "singh-2002/fig1"])
    points = [point for _, item in chosen for point in item.points]
    plain = engine.reproduce(chosen, 1, 1)
    engine.run_points(points[::2], 1, 1, store=tmp_path / "store")
    made.clear()
    first = engine.reproduce(chosen, 1, 1, store=tmp_path / "store")
    assert len(made) == len(points[1::2])
    made.clear()
    second = engine.reproduce(chosen, 1, 1, store=tmp_path / "store")
    assert made == []
    assert plain == first == second


def test_a_reading_of_traces_that_is_not_whole_or_of_another_function_is_made_again(tmp_path, made, monkeypatch):
    points = [point for _, item in catalogue.choose(["singh-2002/fig1"]) for point in item.points]
    engine.run_points(points, 1, 1, store=tmp_path / "store")
    for path in (tmp_path / "store" / "readings").iterdir():
        path.write_text('{"half":')
    engine.run_points(points, 1, 1, store=tmp_path / "store")
    monkeypatch.setattr(engine, "_identity", lambda function: f"{function.__name__} of another day")
    engine.run_points(points, 1, 1, store=tmp_path / "store")
    assert len(made) == 3


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b"[1]", b"{}", b'{"x": NaN}', b'"x"', b'{"x": 1%s}' % (b"0" * 400), None],
    ids=["nested", "list", "empty", "nan", "text", "large", "digit"],
)
def test_a_damaged_reading_is_made_again_and_counted(tmp_path, made, content):
    points = [point for _, item in catalogue.choose(["singh-2002/fig1"]) for point in item.points]
    before, _ = engine.run_points(points, 1, 1, store=tmp_path / "store")
    (path,) = (tmp_path / "store" / "readings").iterdir()
    good = path.read_bytes()
    digit = good.replace(b"1", b"2") if b"1" in good[9:] else good.replace(b"0", b"3")
    # A text that is not a reading is refused with a right sum, too.
    path.write_bytes(digit if content is None else journal.summed(content))
    again, _ = engine.run_points(points, 1, 1, store=tmp_path / "store")
    assert (len(made), again.damaged_readings) == (2, 1)
    assert [again[point] for point in points] == [before[point] for point in points]
    assert path.read_bytes() == good


def forged(content):
    """A change of all readings of a store, with right sums."""

    def change(store):
        for path in (store / "readings").iterdir():
            found = journal.unsummed(path.read_bytes().removesuffix(b"\n"))
            path.write_bytes(journal.summed(json.dumps(content(found)).encode()))

    return change


@pytest.mark.parametrize(
    "change",
    [
        forged(lambda _: {"x": 1.0}),
        forged(lambda found: dict(list(found.items())[:-1])),
    ],
    ids=["other names", "a name less"],
)
def test_a_reading_of_no_run_with_a_right_sum_is_made_again_and_counted(tmp_path, made, change):
    chosen = catalogue.choose(["e2tcp/ex3.2", "singh-2002/fig1"])
    before = engine.reproduce(chosen, 2, 1, store=tmp_path / "store")
    runs = len(made)
    change(tmp_path / "store")
    again = engine.reproduce(chosen, 2, 1, store=tmp_path / "store")
    assert again.finished == before.finished
    assert (len(made) - runs, again.damaged_readings) == (2, 2)
    assert engine.reproduce(chosen, 2, 1, store=tmp_path / "store") == before


def test_readings_whose_numbers_become_infinite_are_made_again(tmp_path):
    ((document, item),) = catalogue.choose(["singh-2002/fig1"])

    def tenfold(item, results):
        return Outcome([Value("x", {}, 10 * results.first(item.points[0], "elapsed"), None, "s")])

    chosen = [(document, replace(item, compute=tenfold))]
    before = engine.reproduce(chosen, 1, 1, store=tmp_path / "store")
    forged(lambda found: dict.fromkeys(found, 1e308))(tmp_path / "store")
    again = engine.reproduce(chosen, 1, 1, store=tmp_path / "store")
    assert (again.finished, again.damaged_readings) == (before.finished, 1)


def test_what_fails_with_the_readings_of_its_runs_is_no_damage(tmp_path):
    (document, item), *_ = catalogue.choose(["singh-2002/fig1"])

    def wrong(_item, _results):
        raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        engine.reproduce([(document, replace(item, compute=wrong))], 1, 1, store=tmp_path / "store")


@pytest.mark.parametrize("model", ["max-throughput", "wni-factors"])
def test_a_validation_goes_on_where_it_stopped(tmp_path, made, model):
    """Also where its scenarios name files."""
    plain = validate.validate(validate.ALL[model], 1).to_dict()
    runs = len(made)
    first = validate.validate(validate.ALL[model], 1, store=tmp_path / "store").to_dict()
    assert len(made) == 2 * runs
    second = validate.validate(validate.ALL[model], 1, store=tmp_path / "store").to_dict()
    assert len(made) == 2 * runs
    assert plain == first == second


def test_advice_of_another_budget_runs_only_what_differs(tmp_path, made):
    scenario = advice.scenario_of(["down:bulk:100kB"], {}, "20s")
    how = {"runs": 2, "confirm": 1, "keep_alive_s": 5.0}
    plain = advice.advise(scenario, 0.02, **how).to_dict()
    runs = len(made)
    first = advice.advise(scenario, 0.02, **how, store=tmp_path / "store").to_dict()
    made.clear()
    second = advice.advise(scenario, 0.02, **how, store=tmp_path / "store").to_dict()
    assert made == []
    assert plain == first == second
    advice.advise(scenario, 0.05, **how, store=tmp_path / "store")
    assert len(made) < runs / 2
    # Its candidates are in the tables of the store, under their settings.
    assert "psm" in set(laboratory.open_store(tmp_path / "store").to_pandas().policy)


def test_an_emulation_has_no_store(tmp_path):
    with pytest.raises(InputError, match="--store: expected simulated runs"):
        engine.run_points([], 1, 1, over=engine.RealKernels("1s"), store=tmp_path / "store")


def test_a_comparison_that_is_killed_goes_on(tmp_path, made):
    words = ["compare", "fast-dsl", "--policy", "active,psm", "--set", "flow.application.size=2MB", "--runs", "20"]
    process = subprocess.Popen([PROGRAM, *words, "--store", tmp_path / "store"], stdout=subprocess.DEVNULL)
    journals = tmp_path / "store" / "journal"
    while process.poll() is None and sum(path.read_bytes().count(b"\n") for path in journals.glob("*.jsonl")) < 3:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(laboratory.open_store(tmp_path / "store"))
    how = {"policy": ["active", "psm"], "set": {"flow.application.size": "2MB"}, "runs": 20}
    whole = laboratory.compare("fast-dsl", **how, store=tmp_path / "store")
    assert kept >= 3
    assert len(made) == 40 - kept
    assert [len(row.runs) for row in whole.rows] == [20, 20]


@pytest.mark.parametrize(
    "command",
    [
        "run fast-dsl",
        "compare fast-dsl --policy active,psm",
        "reproduce e2tcp/ex3.2 --out {}/out",
        "advise --flow down:bulk:20kB",
        "model mac-frame --validate",
    ],
)
def test_a_place_that_is_no_store_is_refused_in_a_line(airwatt, tmp_path, command):
    letters = tmp_path / "letters.txt"
    letters.write_text("mine")
    for place in (tmp_path, letters):
        answer = airwatt(*command.format(tmp_path).split(), "--store", place)
        assert answer.status == 2
        assert answer.is_one_line(f"airwatt: --store {place}: expected ")
