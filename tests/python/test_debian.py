"""The Debian packages in a fresh Debian: installed, used, upgraded, removed, purged. Needs root and debootstrap."""

import gzip
import re
import shutil
import subprocess

import pytest
from conftest import ROOT
from fresh_debian import NEEDED, fresh_debian

pytestmark = [*NEEDED, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def packages():
    done = subprocess.run(["make", "deb"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    paths = [ROOT / line for line in done.stdout.splitlines() if line.endswith(".deb")]
    return {path.name.partition("_")[0]: path for path in paths}


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


def version(package, root, number):
    """The same package with another version, in the root."""
    made = root / "tmp" / f"{package.stem}-{number}.deb"
    place = root / "tmp" / f"unpacked-{number}"
    subprocess.run(["dpkg-deb", "--raw-extract", package, place], check=True)
    control = place / "DEBIAN" / "control"
    lines = control.read_text().splitlines()
    control.write_text(
        "\n".join(f"Version: {number}" if line.startswith("Version:") else line for line in lines) + "\n"
    )
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", place, made], check=True, capture_output=True)
    shutil.rmtree(place)
    return f"/tmp/{made.name}"


def test_the_packages_install_run_are_upgraded_removed_and_purged(packages, root, inside):
    assert packages.keys() == {"airwattd", "airwatt", "airwatt-doc"}
    # A commit that is no release has a version that orders by its time.
    number = subprocess.run([ROOT / "packaging/debian/version"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"\d+\.\d+\.\d+(~git\d{12}\.[0-9a-f]{12})?\n", number)
    assert {path.name.split("_")[1] for path in packages.values()} == {f"{number.strip()}-1"}
    for package in packages.values():
        shutil.copy(package, root / "tmp")
    local = {name: f"/tmp/{package.name}" for name, package in packages.items()}
    inside("apt-get", "update", "-q")
    # Their dependencies stay when they go, so these come first.
    for path in (local["airwattd"], local["airwatt"]):
        depends = inside("dpkg-deb", "--field", path, "Depends")
        inside("apt-get", "install", "-qy", *(part.split()[0] for part in depends.split(",")))
    before = files(root)

    inside("apt-get", "install", "-qy", local["airwattd"])
    assert int(inside("dpkg-query", "--show", "--showformat=${Installed-Size}", "airwattd")) < 15_000
    assert inside("airwattd", "--version").startswith("airwattd ")
    assert "airwattd tunnel up" in inside("airwattd", "tunnel", "up", "--help")
    assert "AIRWATTD(8)" in inside("man", "8", "airwattd")
    changes = gzip.decompress((root / "usr/share/doc/airwattd/changelog.gz").read_bytes()).decode()
    assert f"## {number.strip()} (" in changes
    assert "Unreleased" not in changes
    assert 10 < changes.count("\n- ") < (ROOT / "CHANGELOG.md").read_text().count("\n- ") / 2
    notices = (root / "usr/share/doc/airwattd/copyright").read_text()
    assert all(f"Files: vendor/rust/{crate}/*\nCopyright: " in notices for crate in ("serde", "dcsctp", "ring"))
    page = inside("man", "8", "airwattd-station")
    assert page.index("EXIT STATUS") < page.index("FILES") < page.index("EXAMPLES") < page.index("SEE ALSO")
    for page in ("tunnel", "gateway", "station"):
        assert f"AIRWATTD-{page.upper()}(5)" in inside("man", "5", f"airwattd-{page}")
    units = {path.name for path in (root / "usr/lib/systemd/system").glob("airwattd*")}
    services = {"airwattd-cc@", "airwattd-gateway@", "airwattd-station", "airwattd-tunnel@"}
    assert {f"{service}.service" for service in services} <= units
    assert not list((root / "etc/systemd").rglob("airwattd*")), "a unit is enabled"
    assert not list((root / "usr/lib/NetworkManager").rglob("*airwatt*")), "the installation changes NetworkManager"
    tunnel = (root / "usr/lib/systemd/system/airwattd-tunnel@.service").read_text()
    assert "ExecStart=/usr/bin/airwattd tunnel up /etc/airwatt/%i.toml" in tunnel
    gateway = (root / "usr/lib/systemd/system/airwattd-gateway@.service").read_text()
    assert "ExecStart=/usr/bin/airwattd gateway up /etc/airwatt/gateway-%i.toml" in gateway
    assert "NAME" not in gateway
    assert "ReadWritePaths=/run\n" in gateway

    inside("apt-get", "install", "-qy", local["airwatt"], local["airwatt-doc"])
    assert '"energy_j"' in inside(
        "airwatt", "run", "fast-dsl", "--set", "flow.application.size=2MB", "--json", user="nobody"
    )
    assert "psm" in inside("airwatt", "compare", "fast-dsl", "--policy", "active,psm", user="nobody")
    assert "AIRWATT-RUN(1)" in inside("man", "airwatt-run")
    assert "KEYS" in inside("man", "5", "airwatt-scenario")
    for shell in ("bash-completion/completions", "zsh/vendor-completions", "fish/vendor_completions.d"):
        assert len(list((root / "usr/share" / shell).glob("*airwatt*"))) == 2
    known = inside("zsh", "-fc", "autoload -Uz compinit; compinit -u -D; print $_comps[airwatt] $_comps[airwattd]")
    assert known.split() == ["_airwatt", "_airwattd"]
    assert "sweep" in completed_by_zsh(inside, "airwatt", "sw")
    assert {"--over", "--until"} <= set(completed_by_zsh(inside, "airwatt", "sweep", "--"))
    assert (root / "usr/share/doc/airwatt-doc/README.md").exists()
    # Only typer and what it needs come along.
    vendored = {path.name for path in (root / "usr/lib/airwatt/python").iterdir()}
    assert vendored <= {"airwatt", "typer", "shellingham", "click", "annotated_doc", "__pycache__"}

    key = root / "etc/airwatt/key.toml"
    key.write_text("# a configuration\n")
    newer, older = (version(packages["airwattd"], root, number) for number in ("99.0-1", "0.0.1-1"))
    inside("apt-get", "install", "-qy", newer)
    assert inside("dpkg-query", "--show", "--showformat=${Version}", "airwattd") == "99.0-1"
    inside("apt-get", "install", "-qy", "--allow-downgrades", older)
    assert inside("dpkg-query", "--show", "--showformat=${Version}", "airwattd") == "0.0.1-1"
    inside("airwattd", "--version")
    assert key.exists(), "a configuration outlives upgrades"

    inside("apt-get", "remove", "-qy", "airwatt", "airwatt-doc", "airwattd")
    assert key.exists(), "a configuration outlives the removal"
    assert not (root / "usr/bin/airwatt").exists()
    assert not (root / "usr/bin/airwattd").exists()
    inside("apt-get", "purge", "-qy", "airwattd")
    left = files(root) - before
    assert not {name for name in left if "airwatt" in name}, left
    assert not (root / "usr/lib/airwatt").exists()
    assert not (root / "etc/airwatt").exists()


def test_the_pages_have_the_sizes(packages):
    """Those of a release: with a daemon of the profile for tests the package is half as large again."""
    package = packages["airwattd"]
    installed = subprocess.run(
        ["dpkg-deb", "--field", package, "Installed-Size"], capture_output=True, text=True, check=True
    ).stdout
    size = f"{package.stat().st_size / 1e6:.1f} MB"
    page = (ROOT / "docs/tutorials/distribution.md").read_text()
    assert f"`airwattd` alone ({size}, {int(installed) * 1024 / 1e6:.0f} MB installed, without Python)" in page
    line = next(line for line in (ROOT / "README.md").read_text().splitlines() if "make deb" in line)
    assert f"# {size}, no Python" in line


@pytest.mark.skipif(not shutil.which("lintian"), reason="lintian is not installed")
@pytest.mark.parametrize("name", ["airwattd", "airwatt", "airwatt-doc"])
def test_lintian_finds_no_errors(packages, name):
    fail_on = "error,warning" if name == "airwattd" else "error"
    words = ["lintian", "--allow-root", "--fail-on", fail_on, packages[name]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "maintainer-script-calls-systemctl" not in done.stdout
