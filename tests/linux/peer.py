"""One end of a transfer, as a process in a namespace.

`receive ADDRESS` prints its port and reads whatever comes. `send ADDRESS PORT CONGESTION SECONDS` sends that long,
samples TCP_INFO, prints one JSON line and keeps the connection open until its standard input ends. `push` sends bytes
instead, so many. Ends that have nothing more to do print the CPU time they took.
"""

import contextlib
import json
import socket
import struct
import sys
import time

SAMPLE_S = 0.02


def receive(address: str) -> None:
    server = socket.create_server((address, 0))
    print(server.getsockname()[1], flush=True)
    connection, _ = server.accept()
    buffer = bytearray(1 << 18)
    while connection.recv_into(buffer):
        pass
    print(json.dumps({"cpu_s": time.process_time()}), flush=True)


def information(connection: socket.socket) -> dict[str, int]:
    """Decodes struct tcp_info of linux/tcp.h as far as it is used."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    (rtt_us,) = struct.unpack_from("I", raw, 68)
    (cwnd,) = struct.unpack_from("I", raw, 80)
    (retransmitted,) = struct.unpack_from("I", raw, 100)
    (bytes_acked,) = struct.unpack_from("Q", raw, 120)
    return {"rtt_us": rtt_us, "cwnd": cwnd, "retransmitted": retransmitted, "bytes_acked": bytes_acked}


def send(address: str, port: int, congestion: str, seconds: float) -> None:
    connection = socket.socket()
    if congestion != "-":
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    connection.connect((address, port))
    connection.settimeout(SAMPLE_S)
    data = bytes(1 << 16)
    began = last = time.monotonic()
    round_trips, windows = 0.0, []
    while last - began < seconds:
        with contextlib.suppress(TimeoutError):
            connection.send(data)
        now = time.monotonic()
        if now - last >= SAMPLE_S:
            seen = information(connection)
            round_trips += (now - last) * 1e6 / max(seen["rtt_us"], 1)
            windows.append(seen["cwnd"])
            last = now
    seen = information(connection)
    name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
    answer = {
        "congestion": name,
        "seconds": time.monotonic() - began,
        "bytes_acked": seen["bytes_acked"],
        "round_trips": round_trips,
        "cwnd_mean": sum(windows) / max(len(windows), 1),
        "cwnd_min": min(windows, default=0),
        "retransmitted": seen["retransmitted"],
    }
    print(json.dumps(answer), flush=True)
    sys.stdin.read()


def push(address: str, port: int, congestion: str, size: int) -> None:
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    connection.connect((address, port))
    data = memoryview(bytes(1 << 18))
    began = time.process_time()
    while size > 0:
        size -= connection.send(data[: min(size, len(data))])
    print(json.dumps({"cpu_s": time.process_time() - began}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2])
    elif sys.argv[1] == "push":
        push(sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    else:
        send(sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
