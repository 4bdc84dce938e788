"""The patch of packaging/dcsctp: it applies to the locked release of dcsctp, and cargo builds with the result."""

import shutil
import subprocess

import pytest
from conftest import ROOT

pytestmark = pytest.mark.long


def test_the_patch_applies_to_the_locked_release_and_the_lock_file_stays(tmp_path):
    if not shutil.which("cargo") or not shutil.which("patch"):
        pytest.skip("cargo and patch are needed")
    locked = (ROOT / "Cargo.lock").read_text()
    for _ in range(2):
        subprocess.run([ROOT / "packaging/dcsctp/prepare", tmp_path / "dcsctp"], check=True, timeout=120)
    source = (tmp_path / "dcsctp/src/lib.rs").read_text()
    begin = source.index("pub fn log_packet(")
    assert source.index("log::log_enabled!", begin) < source.index("data.iter()", begin)
    words = ["cargo", "check", "--quiet", "--locked", "--package", "airwatt-proto"]
    words += ["--config", f'paths=["{tmp_path}/dcsctp"]']
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (ROOT / "Cargo.lock").read_text() == locked
