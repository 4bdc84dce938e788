"""Ten uploads of small rate through a tunnel or beside it.

`ten_uploads.py sink` discards what comes to port 5000.
`ten_uploads.py send ADDRESS SECONDS` sends 30 packets/s over each of ten connections. It fails if ADDRESS is not
reached within 10 s.
"""

import contextlib
import random
import socket
import sys
import threading
import time

PORT = 5000
CONNECTIONS, PACKETS_PER_S = 10, 30
# One segment of TCP with time stamps, also in a tunnel.
PACKET = bytes(1_380)
# When each connection begins: flows that begin at any time.
DRAW = random.Random(1)
PHASES_S = [DRAW.random() / PACKETS_PER_S for _ in range(CONNECTIONS)]


def sink() -> None:
    with socket.create_server(("", PORT), backlog=CONNECTIONS) as here:
        while True:
            stream, _ = here.accept()
            threading.Thread(target=discard, args=(stream,), daemon=True).start()


def discard(stream: socket.socket) -> None:
    with stream:
        while stream.recv(1 << 16):
            pass


def reach(address: str) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection((address, PORT), 1):
            return
        time.sleep(0.1)
    sys.exit(f"{address}: not reached")


def upload(address: str, begins: float, seconds: float) -> None:
    with socket.create_connection((address, PORT)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number in range(int(seconds * PACKETS_PER_S)):
            time.sleep(max(begins + number / PACKETS_PER_S - time.monotonic(), 0))
            stream.sendall(PACKET)


def send(address: str, seconds: float) -> None:
    reach(address)
    now = time.monotonic() + 0.2
    threads = [threading.Thread(target=upload, args=(address, now + phase_s, seconds)) for phase_s in PHASES_S]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["sink"]:
            sink()
        case ["send", address, seconds]:
            send(address, float(seconds))
        case _:
            sys.exit(__doc__)
