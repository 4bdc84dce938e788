"""The Debian package in a fresh Debian: installed, used, removed, purged. Needs root, debootstrap and a mirror."""

import shutil
import subprocess

import pytest
from conftest import ROOT
from fresh_debian import NEEDED, fresh_debian

pytestmark = [*NEEDED, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def package():
    done = subprocess.run(["make", "deb"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return ROOT / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def debian(tmp_path_factory):
    packages = ["python3", "ca-certificates", "man-db", "zsh"]
    made = fresh_debian(tmp_path_factory.mktemp("debian"), packages)
    # Manual pages are left out of small images; this test reads one.
    for path in (made.root / "etc/dpkg/dpkg.cfg.d").glob("*"):
        path.unlink()
    return made


@pytest.fixture
def root(debian):
    return debian.root


@pytest.fixture
def inside(debian):
    def run(*command, user=None):
        return debian.run(*command, user=user).stdout

    return run


def files(root):
    """What lies in the places that a package may fill."""
    return {
        str(path.relative_to(root))
        for part in ("etc", "usr", "opt", "var/lib/airwatt")
        for path in (root / part).rglob("*")
        if "__pycache__" not in path.parts and not path.match("etc/ld.so.cache")
    }


def completed_by_zsh(inside, *words):
    """What the function offers for the last word of a line; zsh itself leaves those that begin otherwise."""
    script = f"""
        autoload -Uz compinit bashcompinit; compinit -u -D; bashcompinit
        source /usr/share/zsh/vendor-completions/_airwatt
        emulate sh; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _airwatt_words
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return inside("zsh", "-fc", script).split()


def test_the_package_installs_runs_is_removed_and_purged(package, root, inside):
    shutil.copy(package, root / "tmp")
    inside("apt-get", "update", "-q")
    # Its dependencies stay when it goes, so they come first.
    depends = inside("dpkg-deb", "--field", f"/tmp/{package.name}", "Depends")
    inside("apt-get", "install", "-qy", *(part.split()[0] for part in depends.split(",")))
    before = files(root)
    inside("apt-get", "install", "-qy", f"/tmp/{package.name}")

    assert '"energy_j"' in inside(
        "airwatt", "run", "fast-dsl", "--set", "flow.application.size=2MB", "--json", user="nobody"
    )
    assert "psm" in inside(
        "airwatt", "compare", "fast-dsl", "--policy", "active,psm", "--plot", "/tmp/x.png", user="nobody"
    )
    assert inside("airwattd", "--version").startswith("airwattd ")
    assert "airwattd tunnel up" in inside("airwattd", "tunnel", "up", "--help")
    assert "AIRWATT-RUN(1)" in inside("man", "airwatt-run")
    assert "AIRWATTD(8)" in inside("man", "8", "airwattd")
    assert "KEYS" in inside("man", "5", "airwatt-scenario")
    for page in ("tunnel", "gateway", "station"):
        assert f"AIRWATTD-{page.upper()}(5)" in inside("man", "5", f"airwattd-{page}")
    for shell in ("bash-completion/completions", "zsh/vendor-completions", "fish/vendor_completions.d"):
        assert len(list((root / "usr/share" / shell).glob("*airwatt*"))) == 2
    known = inside("zsh", "-fc", "autoload -Uz compinit; compinit -u -D; print $_comps[airwatt] $_comps[airwattd]")
    assert known.split() == ["_airwatt", "_airwattd"]
    assert "sweep" in completed_by_zsh(inside, "airwatt", "sw")
    assert {"--over", "--until"} <= set(completed_by_zsh(inside, "airwatt", "sweep", "--"))
    units = {path.name for path in (root / "usr/lib/systemd/system").glob("airwattd*")}
    services = {"airwattd-cc@", "airwattd-gateway@", "airwattd-station", "airwattd-tunnel@"}
    assert {f"{service}.service" for service in services} <= units
    assert not list((root / "etc/systemd").rglob("airwattd*")), "a unit is enabled"
    assert list((root / "usr/lib/NetworkManager/conf.d").glob("*airwatt*"))
    tunnel = (root / "usr/lib/systemd/system/airwattd-tunnel@.service").read_text()
    assert "ExecStart=/usr/bin/airwattd tunnel up /etc/airwatt/%i.toml" in tunnel
    gateway = (root / "usr/lib/systemd/system/airwattd-gateway@.service").read_text()
    assert "ExecStart=/usr/bin/airwattd gateway up /etc/airwatt/gateway-%i.toml" in gateway
    assert "NAME" not in gateway
    assert "ReadWritePaths=/run\n" in gateway

    key = root / "etc/airwatt/key.toml"
    key.write_text("# a configuration\n")
    inside("apt-get", "remove", "-qy", "airwatt")
    assert key.exists(), "a configuration outlives the removal"
    assert not (root / "usr/bin/airwatt").exists()
    inside("apt-get", "purge", "-qy", "airwatt")
    left = files(root) - before
    assert not {name for name in left if "airwatt" in name}, left
    assert not (root / "usr/lib/airwatt").exists()
