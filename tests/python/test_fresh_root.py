"""The checkout in a fresh Debian with Rust and Python: what is missing is named or installed, then `make demo` and
`make test` run for a user without root.

`AIRWATT_FRESH_ROOT` names a folder in which the Debian and what was built stay, so that a second call builds nothing.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from fresh_debian import NEEDED, fresh_debian

pytestmark = [*NEEDED, pytest.mark.xdist_group("fresh-root")]

USER = "somebody"
PLACE = f"/home/{USER}/airwatt"
RUST = "/opt/rust"


def registries():
    """The variables that pip has here, and the files and folders that they and its settings name."""
    variables = {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    named = [Path(value) for value in variables.values() if value.startswith("/")]
    return variables, [path for path in (Path("/etc/pip.conf"), *named) if path.exists()]


def checkout(target):
    """A copy of what git has of this checkout, with changes that are not committed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    if names == [""]:
        pytest.skip("the checkout is not of git")
    for name in filter(None, names):
        if (ROOT / name).is_file():  # not deleted
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    kept = os.environ.get("AIRWATT_FRESH_ROOT")
    place = Path(kept) if kept else tmp_path_factory.mktemp("fresh")
    made = fresh_debian(place, ["python3", "ca-certificates", "make"])
    toolchain = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    made.bind(Path(toolchain.stdout.strip()), RUST)
    made.bind(Path("/dev"), "/dev")
    for path in registries()[1]:
        made.bind(path, str(path))
    home = made.root / "home" / USER
    if not home.exists():
        made.run("useradd", "--create-home", USER)
    checkout(home / "airwatt")
    # Crates that cargo has downloaded here are not downloaded again.
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for name in ("registry/cache", "registry/index"):
        if (cargo / name).is_dir():
            shutil.copytree(cargo / name, home / ".cargo" / name, dirs_exist_ok=True)
    made.run("chown", "--recursive", f"{USER}:", f"/home/{USER}")
    return made


@pytest.fixture
def make(debian):
    def run(*words, status=0, user=USER):
        path = f"{RUST}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return debian.run(*words, status=status, user=user, within=PLACE, PATH=path, **registries()[0])

    return run


def test_a_user_without_root_is_told_what_to_install(debian, make):
    if (debian.root / "usr/bin/tshark").exists():
        pytest.skip("the packages of a former call are there")
    answer = make("make", "demo", status=2)
    (line,) = (line for line in answer.stderr.splitlines() if line.startswith("missing: "))
    missing = line.removeprefix("missing: ").partition("; as root: apt-get install ")
    assert missing[0] == missing[2]
    assert {"gcc", "python3-venv", "tshark", "clang", "pkg-config", "libelf-dev"} <= set(missing[0].split())


def test_root_gets_what_is_missing_by_apt(make):
    assert make(".ci/system-packages", user=None).stderr == ""
    # There is nothing left to do, also for a user without root.
    assert make(".ci/system-packages").stdout == ""


def test_make_demo_runs_without_root(debian, make):
    answer = make("make", "demo")
    assert "$ airwatt compare fast-dsl --policy active,psm" in answer.stdout
    assert "keep-alive" in answer.stdout
    for name in ("compare.png", "analyze.png"):
        assert (debian.root / PLACE.lstrip("/") / "out" / name).read_bytes().startswith(b"\x89PNG")
    # Once built, it is quick: nothing is built again.
    assert "building" not in make("make", "demo").stderr


def test_make_test_runs_without_root(make):
    """As continuous integration runs it, in a quarter of an hour; what needs root is skipped with its reason."""
    lines = make("make", "test").stdout.splitlines()
    assert lines[-1].endswith(" passed, 0 failed")
    assert any("root" in line for line in lines if line.startswith("SKIPPED"))
