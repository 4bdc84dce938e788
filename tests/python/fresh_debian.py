"""A fresh Debian of this system's release in a folder, and programs that run in it. Needs root and debootstrap."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

NEEDED = (
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="a fresh Debian root needs root"),
    pytest.mark.skipif(shutil.which("debootstrap") is None, reason="debootstrap is not installed"),
)
"""Marks of the tests that make one."""

_RELEASE = dict(line.rstrip().split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
_BARE = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
_BARE |= {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")}


def _mirror() -> str:
    """Where this system gets Debian's packages from."""
    folder = Path("/etc/apt/sources.list.d")
    sources = [Path("/etc/apt/sources.list"), folder / "debian.sources", *folder.glob("*.list")]
    words = [word for path in sources if path.is_file() for word in path.read_text().split()]
    found = [word for word in words if word.startswith("http") and word.rstrip("/").endswith("/debian")]
    return found[0] if found else "http://deb.debian.org/debian"


class Debian:
    """A fresh Debian, and what of this system is seen in it.

    Mounts are those of the processes that run in it and end with them: nothing that deletes the folder, however the
    test ended, reaches what they show.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._mounts = ["mount --rbind /proc proc", "mount --rbind /sys sys"]

    def bind(self, source: Path, place: str) -> None:
        """Shows a file or a folder of this system at a place in it, with what is mounted below."""
        target = self.root / place.lstrip("/")
        if source.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        self._mounts.append(shlex.join(["mount", "--rbind", str(source), place.lstrip("/")]))

    def run(
        self, *command: str | Path, status: int = 0, user: str | None = None, within: str = "/", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program as root or as a user of it, and asserts its exit status."""
        home = "/root" if user is None else f"/home/{user}" if (self.root / "home" / user).is_dir() else "/tmp"
        switched = [] if user is None else [f"--userspec={user}"]
        script = "\n".join([*self._mounts, 'exec chroot "$@"'])
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", script, "sh", *switched, ".", "env", f"--chdir={within}", *command],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
            env={**_BARE, "HOME": home, **environment},
        )
        assert done.returncode == status, done.stdout[-20_000:] + done.stderr[-20_000:]
        return done


def fresh_debian(place: Path, packages: Sequence[str]) -> Debian:
    """Makes a Debian with these packages beside the minimum; skips the test where it cannot be had.

    One that was finished there before is taken as it is.
    """
    if not (place / ".finished").exists():
        _make(place, packages)
    return Debian(place)


def _make(place: Path, packages: Sequence[str]) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}"]
    done = subprocess.run(
        [*command, _RELEASE["VERSION_CODENAME"], place, _mirror()], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"debootstrap: {done.stdout.splitlines()[-1:]} {done.stderr[-200:]}")
    # The folder of a test is for root alone; here others run programs.
    place.chmod(0o755)
    # apt as this system reaches its mirror.
    for name in ("apt.conf", "apt.conf.d"):
        source = Path("/etc/apt") / name
        if source.is_dir():
            shutil.copytree(source, place / "etc/apt" / name, dirs_exist_ok=True)
        elif source.exists():
            shutil.copy(source, place / "etc/apt" / name)
    # Debootstrap leaves this file out, which every installed system has.
    (place / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    (place / ".finished").touch()
