"""The wheel: installed into a fresh environment without a compiler, it runs."""

import os
import subprocess
import sys
import venv
import zipfile

import pytest
from conftest import ROOT

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("wheel")]

BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
"""No cargo, no virtual environment, nothing of this checkout."""


@pytest.fixture(scope="module")
def wheel():
    done = subprocess.run(["make", "wheel"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ROOT / done.stdout.splitlines()[-1]


def test_the_wheel_is_for_any_python_from_3_11_and_typed(wheel):
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.stat().st_size < 15e6
    assert {"airwatt/py.typed", "airwatt/_core.pyi", "airwatt/_settings.pyi", "airwatt/_core.abi3.so"} <= set(names)
    metadata = zipfile.ZipFile(wheel).read(next(name for name in names if name.endswith("METADATA"))).decode()
    for extra in ("all", "plots", "pandas", "tables", "cluster"):
        assert f"Provides-Extra: {extra}\n" in metadata


def test_it_installs_and_runs_without_a_compiler(wheel, tmp_path):
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    # An index that the environment of this process names is part of how pip is used here.
    environment = BARE | {key: value for key, value in os.environ.items() if key.startswith("PIP_")}
    environment["HOME"] = os.environ.get("HOME", str(tmp_path))

    def run(*command, **extra):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment, **extra
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(place / "bin" / "pip", "install", "--quiet", "--only-binary", ":all:", wheel)
    airwatt = place / "bin" / "airwatt"
    assert '"energy_j"' in run(airwatt, "run", "fast-dsl", "--set", "flow.application.size=2MB", "--json")
    # What is an extra is asked for by name.
    for line, package, extra in (
        ("compare fast-dsl --policy psm --plot x.png", "matplotlib", "plots"),
        ("run fast-dsl --trace folder", "pyarrow", "tables"),
    ):
        missing = subprocess.run(
            [airwatt, *line.split()], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
        )
        assert missing.returncode == 4, missing
        assert f"{package} is not installed; `pip install 'airwatt[{extra}]'`" in missing.stderr
    run(place / "bin" / "pip", "install", "--quiet", "--only-binary", ":all:", f"airwatt[all] @ {wheel.as_uri()}")
    compared = run(airwatt, "compare", "fast-dsl", "--policy", "active,psm", "--plot", "energy.png")
    assert "psm" in compared
    assert (tmp_path / "energy.png").read_bytes().startswith(b"\x89PNG")
    run(place / "bin" / "python", ROOT / "examples" / "own_mechanisms.py")
    assert str(place) in run(place / "bin" / "python", "-c", "import airwatt; print(airwatt.__file__)")
    assert sys.version_info >= (3, 11)
