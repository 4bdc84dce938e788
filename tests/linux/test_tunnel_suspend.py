"""A laptop that is suspended: its tunnel's connections go on after it, and the handshake comes with the first packet.

The laptop is a virtual machine with Debian's kernel, which really suspends to memory and is woken up by the alarm of
its clock. The other end of the tunnel runs here and goes on meanwhile. No hardware virtualisation is needed.
"""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from lab import DAEMON, await_true, call, missing

import test_tunnel
from test_tunnel import INNER

HERE = Path(__file__).parent
NEEDS = ("qemu-system-x86_64", "busybox", "modprobe", "strip")
REASON = missing() or next((f"{name} is not installed" for name in NEEDS if not shutil.which(name)), None)
pytestmark = [pytest.mark.long, pytest.mark.skipif(REASON is not None, reason=str(REASON))]
pair = test_tunnel.pair


def kernel() -> Path:
    """Returns the folder of Debian's kernel; skips the test without one."""
    done = call(HERE / "debian-kernel", check=False, timeout=600)
    if done.returncode != 0:
        pytest.skip(done.stderr.strip())
    return Path(done.stdout.strip())


def image(folder: Path, root: Path, seconds: int, configuration: str) -> Path:
    """Makes the laptop's files: a shell, the daemon with its libraries, and the kernel's modules for a network."""
    files = folder / "root"
    for name in ("bin", "proc", "sys", "dev", "run", "modules"):
        (files / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), files / "bin/busybox")
    call("strip", "-o", files / "bin/airwattd", DAEMON)
    libraries = [word for word in call("ldd", DAEMON).stdout.split() if word.startswith("/")]
    for library in libraries:
        (files / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, files / library[1:])
    modules: list[str] = []
    for name in ("virtio_pci", "virtio_net", "tun"):
        needed = call("modprobe", "-d", root, "-S", root.name.removeprefix("linux-image-"), "--show-depends", name)
        modules += [line.split()[1] for line in needed.stdout.splitlines() if line.startswith("insmod")]
    for number, module in enumerate(dict.fromkeys(modules), 10):
        shutil.copy(module, files / f"modules/{number}-{Path(module).name}")
    shutil.copy(HERE / "suspended-laptop", files / "init")
    (files / "seconds").write_text(str(seconds))
    (files / "tunnel.toml").write_text(configuration)
    (files / "tunnel.toml").chmod(0o600)
    archive = folder / "initramfs"
    call("sh", "-c", f"cd {files} && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >{archive}")
    return archive


def run_laptop(pair, seconds: int) -> dict[str, str]:
    """Returns what the laptop printed."""
    root = kernel()
    text = pair.file("client").read_text().replace(pair.interfaces["client"], "airwatt0")
    archive = image(pair.folder, root, seconds, text)
    (image_of_kernel,) = (root / "boot").glob("vmlinuz-*")
    words = [
        "qemu-system-x86_64",
        "-accel",
        "tcg",
        "-smp",
        "2",
        "-m",
        "512",
        "-cpu",
        "max",
        "-nographic",
        "-nodefaults",
    ]
    words += ["-no-reboot", "-serial", "stdio", "-kernel", str(image_of_kernel), "-initrd", str(archive)]
    words += ["-append", "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off no_timer_check"]
    words += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="]
    inside = ["ip", "netns", "exec", pair.names["ap"], *words]
    done = subprocess.run(inside, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 200)
    lines = (line.strip().partition("laptop: ")[2] for line in done.stdout.splitlines() if "laptop: " in line)
    said = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    assert "log" in said, done.stdout[-2000:] + done.stderr[-2000:]
    return said


@pytest.mark.parametrize("seconds", [5, 190], ids=["the session lives", "the session has ended"])
def test_connections_survive_and_the_first_packet_brings_a_handshake(pair, seconds):
    pair.up("ap")
    with pair.program("ap", "python3", HERE / "soak.py", "serve", INNER["ap"]) as server:
        assert server.stdout.readline() == "ready\n"
        said = run_laptop(pair, seconds)
        before, after = (json.loads(said[name])["tunnels"][0]["peers"][0] for name in ("before", "after"))
        began, woke = map(float, said["woke"].split())
        asked, answered = map(float, said["answered"].split())
        renewed = float(said["renewed"].split()[1])
        print(f"suspended for {woke - began:.1f} s; answer {answered - asked:.2f} s and handshake", end=" ")
        print(f"{renewed - asked:.2f} s after the first packet; {said['log']}")
        # The alarm has a resolution of 1 s.
        assert woke - began > seconds - 1.5
        assert said["connection"] == "kept"
        assert (before["handshakes"], after["handshakes"]) == (1, 2)
        assert max(answered, renewed) - asked < 2
        assert "suspended" in said["log"]
        await_true(lambda: pair.show("ap")["peers"][0]["handshakes"] == 2)
