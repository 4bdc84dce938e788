"""Throughput, processor time a byte and delay of `airwattd gateway` beside a splice proxy and HAProxy, over veth.

Needs root, and HAProxy if it is to be compared. Each way is taken in turn, several times; medians are printed. The
gateway is measured with encryption at 46 packets in flight, where the processor time of the base station's end and of
the mobile's end stand beside each other, and as a base station alone.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "linux"))

from gateway_lab import BASE, SERVER, Lab

MEGABYTES = 100
ROUNDS = 5
PINGS = 200
SINK = """
import socket, threading
here = socket.create_server(("", 5000))
def serve(stream):
    buffer = bytearray(1 << 18)
    if stream.recv(1) == b"p":
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := stream.recv(1): stream.sendall(data)
    else:
        while stream.recv_into(buffer): pass
        stream.sendall(b".")
print("ready", flush=True)
while True:
    stream, _ = here.accept()
    threading.Thread(target=serve, args=(stream,), daemon=True).start()
"""
PUSH = f"""
import socket, statistics, sys, time
def connect():
    here = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return here
here, data = connect(), bytes(1 << 18)
began = time.monotonic()
here.sendall(b"b")
for _ in range({MEGABYTES} * 4): here.sendall(data)
here.shutdown(socket.SHUT_WR)
assert here.recv(1) == b"."
took = time.monotonic() - began
here, delays = connect(), []
here.sendall(b"p")
for _ in range({PINGS}):
    began = time.monotonic()
    here.sendall(b"x"); here.recv(1)
    delays.append(time.monotonic() - began)
print(took, statistics.median(delays))
"""


def processor_s(process: subprocess.Popen) -> float:
    """Processor time that a process has taken, with its threads."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started(lab: Lab, host: str, *command: object) -> subprocess.Popen:
    """Starts a program that prints a line when it is ready."""
    process = lab.start(host, *command, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def main() -> int:
    """Measures and prints a line for each way."""
    with Lab(Path(tempfile.mkdtemp())) as lab:
        for end in ("base", "mobile"):
            lab.write(end, top="e2tcp = { max_window = 46 }")
        started(lab, "server", sys.executable, "-c", SINK)
        splice = (sys.executable, Path(__file__).parent / "splice_proxy.py", BASE["air"], 6000, SERVER, 5000)
        ways: dict[str, tuple[str, int, list[subprocess.Popen]]] = {"direct": (SERVER, 5000, [])}
        ways["splice proxy"] = (BASE["air"], 6000, [started(lab, "base", *splice)])
        if shutil.which("haproxy"):
            config = lab.folder / "haproxy.cfg"
            limits = "defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n"
            config.write_text(f"{limits}listen here\n bind {BASE['air']}:6001\n server there {SERVER}:5000\n")
            ways["HAProxy"] = (BASE["air"], 6001, [lab.start("base", "haproxy", "-db", "-f", config)])
            time.sleep(1)
        found: dict[str, list[tuple[float, list[float], float]]] = {}
        for _ in range(ROUNDS):
            for name, (address, port, processes) in ways.items():
                found.setdefault(name, []).append(measured(lab, address, port, processes))
            lab.up("base", "mobile")
            ends = [lab.running[end] for end in ("base", "mobile")]
            found.setdefault("gateway", []).append(measured(lab, SERVER, 5000, ends))
            for end in ("mobile", "base"):
                lab.end(end, 15)
            both = lab.file("base").read_text()
            lab.write_alone()
            lab.up("base")
            found.setdefault("base only", []).append(measured(lab, SERVER, 5000, [lab.running["base"]]))
            lab.end("base", 15)
            lab.file("base").write_text(both)
    print(f"{'':14}{'MB/s':>8}{'ns/byte':>14}{'round trip in us':>18}")
    for name, rows in found.items():
        rate, delay = (statistics.median(row[at] for row in rows) for at in (0, 2))
        costs = zip(*(row[1] for row in rows), strict=True)
        cost = " + ".join(f"{statistics.median(column):.2f}" for column in costs)
        print(f"{name:14}{rate:8.0f}{cost or '-':>14}{delay:18.0f}")
    return 0


def measured(lab: Lab, address: str, port: int, processes: list[subprocess.Popen]) -> tuple[float, list[float], float]:
    """MB/s, nanoseconds of each process a byte, and the median round trip in microseconds."""
    before = [processor_s(process) for process in processes]
    took, delay = map(float, lab.run("mobile", sys.executable, "-c", PUSH, address, port, timeout=120).stdout.split())
    count = MEGABYTES * (1 << 20)
    spent = [processor_s(process) - start for process, start in zip(processes, before, strict=True)]
    return count / took / 1e6, [seconds * 1e9 / count for seconds in spent], delay * 1e6


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    sys.exit(main())
