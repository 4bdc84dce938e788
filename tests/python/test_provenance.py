"""The commit that a package is of, in whatever form it came, and that results name it."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

import airwatt as laboratory
from airwatt import archive, built
from airwatt.cli import version
from airwatt.sweeps import plan

COMMIT = "0123456789ab"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
GIT = ["git", "-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    built._built.cache_clear()


def stated(package):
    """What a package says of itself to what builds it."""
    command = [sys.executable, "-P", package / "built.py"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_a_wheel_knows_the_day_of_its_commit(tmp_path, monkeypatch):
    package = tmp_path / "lib" / "airwatt"
    package.mkdir(parents=True)
    monkeypatch.setattr(built, "__file__", str(package / "built.py"))
    for text, known in (
        (f"{COMMIT}\n2031-05-02\n", (COMMIT, "2031-05-02")),
        ("\n\n", (None, None)),
        ("", (None, None)),
    ):
        (package / "_commit").write_text(text)
        built._built.cache_clear()
        assert (built.commit(), built.date()) == known


@needs_git
def test_a_tree_that_git_archived_knows_its_commit(tmp_path):
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    package = tree / "python" / "airwatt"
    package.mkdir(parents=True)
    (package / "built.py").write_bytes((ROOT / "python" / "airwatt" / "built.py").read_bytes())
    (tree / ".gitattributes").write_bytes((ROOT / ".gitattributes").read_bytes())
    environment = os.environ | {"GIT_AUTHOR_DATE": "2031-05-02T12:00:00Z", "GIT_COMMITTER_DATE": "2031-05-02T12:00:00Z"}
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "-m", "All"],
        ["archive", "-o", "../all.tar", "HEAD"],
    ):
        subprocess.run([*GIT, *words], cwd=tree, check=True, env=environment)
    commit = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True).stdout
    with tarfile.open(tmp_path / "all.tar") as packed:
        packed.extractall(copy, filter="data")
    assert stated(copy / "python" / "airwatt") == [commit[:12], "2031-05-02"]
    # A copy that neither git nor a build has made knows none, and invents none.
    (copy / "python" / "airwatt" / "built.py").write_bytes((package / "built.py").read_bytes())
    assert stated(copy / "python" / "airwatt") == []


@needs_git
def test_an_sdist_knows_its_commit_and_has_all_that_its_build_embeds(tmp_path):
    code = f"import sys, backend; print('=' + backend.build_sdist({str(tmp_path)!r}))"
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "packaging"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / done.stdout.rpartition("=")[2].strip()) as packed:
        packed.extractall(tmp_path, filter="data")
    (tree,) = [place for place in tmp_path.iterdir() if place.is_dir()]
    assert stated(tree / "python" / "airwatt") == stated(ROOT / "python" / "airwatt")
    wanted = ["pyproject.toml", "packaging/backend.py", "packaging/wheel/scripts/airwatt"]
    for folder in ("hosts", "radios", "scenarios"):
        wanted += [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.toml")]
    assert [name for name in wanted if not (tree / name).is_file()] == []
    # What else the sources embed lies within their crates.
    for source in (tree / "crates").rglob("src/**/*.rs"):
        if "tests" in source.parts or source.name == "tests.rs":
            continue
        text = source.read_text().partition("#[cfg(test)]\nmod tests")[0]
        for name in re.findall(r'include_(?:str|bytes)!\("([^"]+)"\)', text):
            assert (source.parent / name).is_file(), f"{source}: {name}"


def test_documents_and_stores_name_the_commit(airwatt, tmp_path, monkeypatch):
    for module in (built, plan, version):
        monkeypatch.setattr(module, "commit", lambda: COMMIT)
    store = tmp_path / "store"
    options = ("idle", "--set", "duration=1s")
    document = airwatt("run", *options, "--store", store, "--json").json
    assert list(document)[:3] == ["schema", "version", "commit"]
    assert document["commit"] == COMMIT
    for words in (("compare", *options, "--policy", "active,psm"), ("radios",), ("model", "list")):
        assert airwatt(*words, "--json").json["commit"] == COMMIT, words
    assert airwatt("sweep", "status", store, "--json").json["sweeps"][0]["commit"] == COMMIT
    # A later commit with the same core library makes no other runs.
    for module in (built, plan):
        monkeypatch.setattr(module, "commit", lambda: "ba9876543210")
    monkeypatch.setattr(archive, "commit", lambda: "ba9876543210")
    archive.archive(store, tmp_path / "study.zip")
    with zipfile.ZipFile(tmp_path / "study.zip") as packed:
        assert json.loads(packed.read("about.json"))["commit"] == COMMIT
        assert f"commit {COMMIT}:" in packed.read("README.md").decode()
    assert laboratory.open_store(store).plans()[-1].commit == COMMIT
