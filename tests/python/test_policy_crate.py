"""The crate in examples/policy-crate, from which own mechanisms in Rust start, builds and runs."""

import os
import shutil
import subprocess

import pytest
from conftest import ROOT


@pytest.mark.long
def test_the_template_crate_builds_and_runs_beside_the_listed_mechanisms(tmp_path):
    crate = tmp_path / "policy-crate"
    shutil.copytree(ROOT / "examples" / "policy-crate", crate)
    manifest = crate / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("../../crates", str(ROOT / "crates")))
    # The versions that the workspace has; cargo takes out what the crate does not need.
    shutil.copy(ROOT / "Cargo.lock", crate)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    command = ["cargo", "run", "--quiet", "--manifest-path", str(manifest)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=crate, env=environment)
    assert done.returncode == 0, done.stderr
    listed, own = (line.split() for line in done.stdout.splitlines())
    assert listed[:2] == ["timeout", "newreno"]
    assert own[:2] == ["nap", "half"]
    assert own[2] != listed[2]
