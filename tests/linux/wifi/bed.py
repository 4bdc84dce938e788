"""A test bed of Wi-Fi power save: the kernel's own mac80211 and TCP over the simulator's air, in a user-mode kernel.

    tests/linux/wifi/in-user-mode-kernel python3 tests/linux/wifi/bed.py [--settings off,on] [--workloads keys,asked]

Prints a JSON document as its last line: for each workload and setting its delays or its rate, and what the station's
radio spent according to the medium (`hwsim-medium`, over `air.toml`). Settings: `off`, `on` (the kernel's dynamic power
save, 100 ms), `airwatt` (the daemon with its defaults). With AIRWATT_UAPSD=15 also `u-apsd` (power save on, of a card
that fetches at beacons and with its own frames), and `ba-ta` and `ba-ta+str` (the daemon with these policies).
"""

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
DAEMON = ROOT / "target/release/airwattd"
MEDIUM = ROOT / "target/release/hwsim-medium"
AP, STATION = "10.55.0.1", "10.55.0.2"
PORT = 7000
# A stream: its rate, the blocks in which it is sent, its length, and how it is asked for.
STREAM_BPS, STREAM_BLOCK, STREAM_S, STREAM = 1_000_000, 64_000, 40, 1 << 63
# The delay of `air.toml`'s wire, all of it on the way to the station.
WIRE = "20ms"
HOSTAPD = """interface=wlan0
driver=nl80211
ssid=laboratory
hw_mode=g
channel=1
wmm_enabled=1
uapsd_advertisement_enabled=1
beacon_int=100
dtim_period=2
"""
SUPPLICANT = 'network={\n ssid="laboratory"\n key_mgmt=NONE\n scan_freq=2412\n}\n'
IN_AP = ["ip", "netns", "exec", "ap"]


def call(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=3600)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return done.stdout


class Air:
    """The medium. `with Air() as air:` has an access point in a namespace, and a station that is associated with it."""

    def __enter__(self) -> "Air":
        self.folder = Path(tempfile.mkdtemp())
        (self.folder / "ap.conf").write_text(HOSTAPD)
        (self.folder / "station.conf").write_text(SUPPLICANT)
        self.medium = subprocess.Popen([MEDIUM, HERE / "air.toml"], stdout=subprocess.PIPE, text=True)
        self.running = [self.medium]
        time.sleep(0.2)
        call("ip", "netns", "add", "ap")
        call("iw", "phy", "phy0", "set", "netns", "name", "ap")
        call("ip", "-n", "ap", "address", "add", f"{AP}/24", "dev", "wlan0")
        call("ip", "-n", "ap", "link", "set", "lo", "up")
        call("ip", "address", "add", f"{STATION}/24", "dev", "wlan1")
        self.log = (self.folder / "log").open("w")
        for command in (
            [*IN_AP, "hostapd", self.folder / "ap.conf"],
            ["wpa_supplicant", "-i", "wlan1", "-c", self.folder / "station.conf"],
        ):
            self.running.append(subprocess.Popen(command, stdout=self.log, stderr=self.log))
        for _ in range(60):
            if "Connected" in call("iw", "dev", "wlan1", "link"):
                break
            time.sleep(0.5)
        else:
            raise RuntimeError((self.folder / "log").read_text())
        call("ip", "-n", "ap", "neigh", "replace", STATION, "lladdr", address("wlan1"), "dev", "wlan0")
        call("ip", "neigh", "replace", AP, "lladdr", "02:00:00:00:00:00", "dev", "wlan1")
        call("tc", "-n", "ap", "qdisc", "add", "dev", "wlan0", "root", "netem", "delay", WIRE, "limit", "2000")
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.running):
            process.terminate()
            process.wait()
        self.log.close()

    def report(self) -> dict:
        """What has happened on the air so far."""
        self.medium.send_signal(signal.SIGHUP)
        return json.loads(self.medium.stdout.readline())

    @contextlib.contextmanager
    def measured(self, result: dict) -> Iterator[None]:
        """Adds to the result what the station's radio spends meanwhile."""
        before = self.report()
        yield
        after = self.report()
        [old], [new] = ([node for node in each["nodes"] if node["access_point"]] for each in (before, after))
        elapsed = after["elapsed_s"] - before["elapsed_s"]
        result |= {
            "elapsed_s": elapsed,
            "energy_j": new["energy_j"] - old["energy_j"],
            "power_w": (new["energy_j"] - old["energy_j"]) / elapsed,
            "asleep": (new["states"]["sleep"] - old["states"]["sleep"]) / elapsed,
            "wakeups": new["wakeups"] - old["wakeups"],
            "airborne": (after["airborne_s"] - before["airborne_s"]) / elapsed,
            "given_up": sum(node["given_up"] for node in after["nodes"])
            - sum(node["given_up"] for node in before["nodes"]),
        }


def address(interface: str) -> str:
    return Path(f"/sys/class/net/{interface}/address").read_text().strip()


def percentiles(delays: list[float]) -> dict:
    ordered = sorted(delays)
    at = {50: len(ordered) // 2, 95: int(len(ordered) * 0.95), 99: int(len(ordered) * 0.99)}
    return {"count": len(ordered)} | {f"p{percent}_s": ordered[index] for percent, index in at.items()}


def read(connection: socket.socket, count: int) -> None:
    while count:
        got = len(connection.recv(min(count, 1 << 16)))
        if not got:
            raise ConnectionError
        count -= got


def serve() -> None:
    """Answers, in the namespace of whoever calls.

    Each request begins with the length of its answer and of its rest. A rest of `STREAM` asks for a stream.
    """
    server = socket.create_server(("0.0.0.0", PORT))
    while True:
        connection, _ = server.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(ConnectionError):
        while True:
            request = b""
            while len(request) < 16:
                request += connection.recv(16 - len(request)) or b"\0" * 16
            length, more = int.from_bytes(request[:8], "big"), int.from_bytes(request[8:], "big")
            if not length:  # the end of the connection
                return
            if more == STREAM:
                stream(connection, length)
                continue
            read(connection, more)
            connection.sendall(bytes(length))


def stream(connection: socket.socket, length: int) -> None:
    """Sends ten seconds of media at once, and the rest in blocks at the rate of the encoding."""
    ahead = min(length, 10 * STREAM_BPS // 8)
    connection.sendall(bytes(ahead))
    due = time.monotonic()
    for at in range(ahead, length, STREAM_BLOCK):
        due += STREAM_BLOCK * 8 / STREAM_BPS
        time.sleep(max(0.0, due - time.monotonic()))
        connection.sendall(bytes(min(STREAM_BLOCK, length - at)))


def exchanges(to: str, count: int, gap: float, request: int, response: int, seed: int) -> list[float]:
    """Delays of requests at random times, each sent after the answer to the one before."""
    stream = random.Random(seed)
    delays = []
    with socket.create_connection((to, PORT)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            time.sleep(stream.expovariate(1 / gap))
            began = time.monotonic()
            connection.sendall(response.to_bytes(8, "big") + (request - 16).to_bytes(8, "big") + bytes(request - 16))
            read(connection, response)
            delays.append(time.monotonic() - began)
    return delays


def keys(_: Air) -> dict:
    """Keys typed at the station into a remote shell, each echoed."""
    return percentiles(exchanges(AP, 300, 0.5, 48, 48, 1))


def asked(_: Air) -> dict:
    """Somebody else asks the station, as by keys typed into a shell on it."""
    words = [*IN_AP, sys.executable, __file__, "--exchanges", STATION, "300", "1.0", "48", "48"]
    return percentiles(json.loads(call(*words)))


def messages(_: Air) -> dict:
    """Messages of a broker to the station, each of which it acknowledges, as MQTT has them."""
    words = [*IN_AP, sys.executable, __file__, "--exchanges", STATION, "300", "10.0", "48", "48"]
    return percentiles(json.loads(call(*words)))


def downloads(_: Air) -> dict:
    """Files of 2 MB with some seconds between them."""
    return percentiles(exchanges(AP, 20, 8.0, 48, 2_000_000, 4))


def pages(_: Air) -> dict:
    """Pages of 400 kB with some seconds to read each."""
    return percentiles(exchanges(AP, 10, 5.0, 400, 400_000, 2))


def bulk(down: bool) -> dict:
    size = 2_000_000
    began = time.monotonic()
    with socket.create_connection((AP, PORT)) as connection:
        # An upload ends with an answer of one byte.
        response, more = (size, 0) if down else (1, size)
        connection.sendall(response.to_bytes(8, "big") + more.to_bytes(8, "big"))
        connection.sendall(bytes(more))
        read(connection, response)
    return {"goodput_bps": size * 8 / (time.monotonic() - began)}


def watch(_: Air) -> dict:
    """A stream of 40 s."""
    size, began = STREAM_S * STREAM_BPS // 8, time.monotonic()
    with socket.create_connection((AP, PORT)) as connection:
        connection.sendall(size.to_bytes(8, "big") + STREAM.to_bytes(8, "big"))
        read(connection, size)
    return {"goodput_bps": size * 8 / (time.monotonic() - began)}


def idle(_: Air) -> dict:
    """Nothing, until also BA-TA has come to rest, and a time of it."""
    time.sleep(40)
    return {}


WORKLOADS = {
    "idle": idle,
    "keys": keys,
    "asked": asked,
    "messages": messages,
    "downloads": downloads,
    "pages": pages,
    "stream": watch,
    "down": lambda _: bulk(True),
    "up": lambda _: bulk(False),
}


@contextlib.contextmanager
def setting(name: str, folder: Path) -> Iterator[dict]:
    """Power save as this name says; yields what is to be added to each result of it."""
    if name == "u-apsd" or name.startswith("ba-ta"):
        [queues] = Path("/sys/kernel/debug/ieee80211/phy1").glob("netdev:wlan1/uapsd_queues")
        if int(queues.read_text(), 16) == 0:
            raise RuntimeError(f"{name}: the radios have no U-APSD: AIRWATT_UAPSD=15")
    call("iw", "dev", "wlan1", "set", "power_save", "on" if name in ("on", "u-apsd") else "off")
    if name in ("off", "on", "u-apsd"):
        yield dict
        return
    config = folder / "station.toml"
    policy = "latency-guard" if name == "airwatt" else name
    config.write_text(f'observe = "0s"\n[power_save]\npolicy = "{policy}"\n')
    environment = os.environ | {"STATE_DIRECTORY": str(folder / name)}
    command = [DAEMON, "station", "run", config, "--interface", "wlan1"]
    daemon = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(3)
        if daemon.poll() is not None:
            raise RuntimeError(daemon.stderr.read())
        yield lambda: json.loads(
            subprocess.run(
                [DAEMON, "station", "status", "--interface", "wlan1", "--json"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    finally:
        daemon.terminate()
        daemon.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--settings", default="off,on,airwatt")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--exchanges", nargs=5)
    options = parser.parse_args()
    if options.serve:
        serve()
    if options.exchanges:
        to, count, gap, request, response = options.exchanges
        print(json.dumps(exchanges(to, int(count), float(gap), int(request), int(response), 3)))
        return
    results: dict[str, dict] = {}
    with Air() as air:
        servers = [subprocess.Popen([*where, sys.executable, __file__, "--serve"]) for where in (IN_AP, [])]
        air.running += servers
        time.sleep(1)
        for name in options.settings.split(","):
            with setting(name, air.folder) as status:
                for workload in options.workloads.split(","):
                    result = results.setdefault(workload, {})[name] = {}
                    with air.measured(result):
                        result |= WORKLOADS[workload](air)
                    if document := status():
                        result["status"] = {
                            key: document[key]
                            for key in ("policy", "counts", "radio_in_power_save", "reaction", "self")
                        }
                    print(f"{workload} {name}: {result}", file=sys.stderr, flush=True)
                    # What is under way ends, and power save is entered again.
                    time.sleep(5)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
