"""A store from somebody else, packed with its links: nothing outside of it is removed, written or waited for."""

import json
import os
import shutil
import subprocess
import zlib

import pyarrow
import pyarrow.parquet
import pytest
from conftest import PROGRAM, ROOT

import airwatt as laboratory
from airwatt._core import InputError
from airwatt.sweeps.store import FOLDERS, _footer

TINY = ["fast-dsl", "--set", "flow.application.size=20kB", "--policy", "active,psm", "--runs", "2"]
CONTENT = b"of value to somebody"


@pytest.fixture
def store(tmp_path):
    """A store with four runs, and the files of a runner and its claim that were left behind."""
    given = {"policy": ["active", "psm"], "set": {"flow.application.size": "20kB"}, "runs": 2}
    laboratory.sweep("fast-dsl", **given, store=tmp_path / "store")
    (plan,) = (tmp_path / "store" / "plans").glob("*.json")
    (tmp_path / "store" / "runners" / "host-1-abcdef").touch()
    (tmp_path / "store" / "claims" / f"{plan.stem}-1-0").touch()
    (tmp_path / "store" / "journal" / "host-1-abcdef-000001.jsonl").touch()
    return tmp_path / "store"


def outside(folder):
    """All that is in a folder outside of the store, with content and time."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def lines(store):
    """What a user may do with a store."""
    return [
        ["sweep", "status", store],
        ["sweep", "resume", store],
        ["sweep", "retry", store],
        ["sweep", *TINY, "--seed", "3", "--store", store],
        ["run", "fast-dsl", "--set", "flow.application.size=20kB", "--seed", "9", "--store", store],
        ["sweep", "export", store, "--out", store.parent / "all.csv"],
    ]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_a_link_is_refused_and_its_target_untouched(store, name, airwatt):
    foreign = store.parent / "foreign"
    shutil.move(store / name, foreign)
    (foreign / "host-2-abcdef").touch()
    (foreign / "0123456789abcdef-1-7").touch()
    (foreign / "notes.txt").write_bytes(CONTENT)
    (store / name).symlink_to(foreign)
    before = outside(foreign)
    statuses = []
    for words in lines(store):
        answer = airwatt(*words)
        statuses.append(answer.status)
        if answer.status != 0:
            assert answer.status == 2
            assert answer.is_one_line(str(store / name), "link"), answer.err
        assert outside(foreign) == before
    # Whatever makes runs opens all folders.
    assert statuses[3:5] == [2, 2]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_files_that_are_links_or_pipes_are_neither_followed_nor_waited_for(store, kind, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    for name in FOLDERS:
        for path in list((store / name).iterdir()):
            target = foreign / f"{name}-{path.name}"
            shutil.move(path, target)
            path.symlink_to(target) if kind == "link" else os.mkfifo(path)
    before = outside(foreign)
    assert len(before) > 6
    for words in lines(store):
        done = subprocess.run(
            [PROGRAM, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode in (0, 1, 2), done.stderr
        assert "internal error" not in done.stderr
        assert outside(foreign) == before, words


def test_a_claim_that_is_a_link_is_said_and_not_waited_for(store, airwatt):
    (plan,) = (store / "plans").glob("*.json")
    (claim,) = (store / "claims").iterdir()
    claim.unlink()
    target = store.parent / "target"
    target.write_bytes(CONTENT)
    claim.symlink_to(target)
    for path in store.rglob("*.parquet"):
        if path.parent.name != "plans":
            path.unlink()
    answer = airwatt("sweep", "resume", store)
    assert answer.status == 2
    assert answer.is_one_line(str(claim), "link"), answer.err
    assert target.read_bytes() == CONTENT
    assert plan.exists()


def test_only_empty_files_with_the_names_of_runners_are_removed(store):
    kept = {
        store / "runners" / "notes": b"",
        store / "runners" / "host-3-abcdef": CONTENT,
        store / "claims" / "notes": b"",
        store / "claims" / "0123456789abcdef-1-8": CONTENT,
        store / "journal" / "notes.jsonl": b"",
        store / "runs" / "notes.txt": CONTENT,
    }
    for path, content in kept.items():
        path.write_bytes(content)
    laboratory.run("fast-dsl", seed=9, set={"flow.application.size": "20kB"}, store=store)
    for path, content in kept.items():
        assert path.read_bytes() == content
    assert not (store / "runners" / "host-1-abcdef").exists()
    assert not (store / "journal" / "host-1-abcdef-000001.jsonl").exists()
    assert [path.name for path in (store / "claims").iterdir() if not path.name.startswith("0123")] == ["notes"]


def test_a_store_may_be_reached_by_a_link(store):
    link = store.parent / "link"
    link.symlink_to(store)
    assert len(laboratory.open_store(link)) == 4
    with pytest.raises(InputError, match="expected the store of a sweep"):
        laboratory.open_store(store / "plans")


def journal_lines(point, document):
    """Lines of a journal whose sums are right, and whose content is not."""
    station = document["stations"][0]
    runs = [
        {}, [], "x", 5, {**document, "flows": None}, {**document, "flows": "abc"}, {**document, "flows": [1, 2]},
        {**document, "stations": [{**station, "energy_j": "many"}]}, json.loads("[" * 900 + "]" * 900),
        {**document, "wired": 10**400}, {**document, "scenario": "\ud800"}, {**document, "unknown": 5},
    ]  # fmt: skip
    done = {"point": point, "seed": 1, "wall_s": 1.0}
    failed = {**done, "error": "x", "at": 1.0}
    changes = [
        {"seed": "1"}, {"seed": -1}, {"seed": 1.5}, {"seed": 2**70}, {"seed": True}, {"point": 5}, {"point": [1]},
        {"error": 5}, {"error": None}, {"at": "x"}, {"at": None}, {"wall_s": "x"}, {"wall_s": 10**400},
    ]  # fmt: skip
    texts = [json.dumps(item) for item in [[1, 2], *({**done, "run": run} for run in runs)]]
    return [*texts, *(json.dumps({**failed, **change}) for change in changes), "[" * 100_000]


def test_lines_of_a_journal_with_a_right_sum_and_wrong_content_are_damaged(tmp_path, airwatt):
    given = {"set": {"flow.application.size": "20kB"}, "runs": 2}
    store = laboratory.sweep("fast-dsl", **given, store=tmp_path / "store")
    point = store.to_arrow("runs", ["point"])["point"][0].as_py()
    found = laboratory.run("fast-dsl", set=given["set"]).to_dict()
    bad = journal_lines(point, found)
    good = json.dumps({"point": point, "seed": 1, "wall_s": 1.0, "run": found})
    before = airwatt("sweep", "export", store.path).out
    for chunk in (store.path / "runs").iterdir():
        chunk.unlink()
    path = store.path / "journal" / "host-1-abcdef-000001.jsonl"
    path.write_bytes(b"".join(b"%08x %s\n" % (zlib.crc32(text.encode()), text.encode()) for text in [*bad, good]))
    (state,) = store.status()
    assert (state.damaged_lines, state.finished, state.failed) == (len(bad), 1, 0)
    assert airwatt("sweep", "export", store.path).err.startswith("airwatt: 1 of 2 runs are in it: 1 missing")
    assert f"{len(bad)} damaged lines" in airwatt("sweep", "status", store.path).out
    assert airwatt("sweep", "resume", store.path).status == 0
    assert airwatt("sweep", "export", store.path).out == before


def without(*path):
    """A change of a result document that takes something out of it."""

    def change(text):
        document = json.loads(text)
        *above, last = path
        place = document
        for key in above:
            place = place[key]
        del place[last]
        return json.dumps(document)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda _: '{"half"',
        lambda _: "[]",
        lambda _: "{}",
        lambda _: "[" * 100_000,
        without("flows"),
        without("scenario"),
        without("flows", 0, "goodput_bps"),
        lambda text: text.replace('"flows": [', '"flows": ["x", '),
        lambda text: text.replace('"events": ', '"events": "x", "were": '),
    ],
    ids=["null", "half", "list", "empty", "nested", "flows", "scenario", "number", "text for flow", "text for number"],
)
def test_result_documents_with_right_sums_and_wrong_content_are_named_and_repaired(tmp_path, airwatt, change):
    store = tmp_path / "store"
    words = ["run", "fast-dsl", "--set", "flow.application.size=20kB", "--runs", "2", "--store", store, "--json"]
    before = airwatt(*words)
    (path,) = (store / "documents").iterdir()
    table = pyarrow.parquet.read_table(path)
    forged = pyarrow.array(map(change, table.column("document").to_pylist()), pyarrow.string())
    pyarrow.parquet.write_table(table.set_column(2, "document", forged), path)
    footers = store / "footers" / f"{path.stem}.json"
    with path.open("rb") as file:
        footers.write_text(json.dumps(json.loads(footers.read_text()) | {"documents": _footer(file)}))
    answer = airwatt(*words)
    assert answer.status == 2
    assert answer.is_one_line(str(path), "has no result document", "sweep repair"), answer.err
    repaired = airwatt("sweep", "repair", store)
    assert repaired.status == 0
    assert "has no result document" in repaired.err
    again = airwatt(*words)
    assert (again.status, timeless(again.json)) == (0, timeless(before.json))


def timeless(document):
    """A document of runs without how long the computer took."""
    for run in document["runs"]:
        del run["wall_s"]
    return {**document, "summary": {key: value for key, value in document["summary"].items() if key != "wall_s"}}
