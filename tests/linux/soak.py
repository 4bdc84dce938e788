"""The programs in and around a tunnel that runs for a long time.

`soak.py serve ADDRESS` answers each connection to port 5000 with the bytes that it gets.
`soak.py exchange ADDRESS COUNT SECONDS` exchanges random bytes over COUNT connections, and prints as JSON how many
exchanges the slowest connection made, the longest exchange, and how many connections ended or gave back other bytes.
`soak.py relay ADDRESS PORT TARGET_PORT SOURCE...` forwards datagrams to a port of its own address. It loses 2 of 100
and delays 10 of 100 by up to 20 ms, so that others overtake them. Every 10 s it begins to send from the next one of its
sources, and from another port.
"""

import contextlib
import heapq
import itertools
import json
import random
import selectors
import socket
import sys
import threading
import time

PORT = 5000
LOST, DELAYED, DELAY_S, MOVE_S = 0.02, 0.1, 0.02, 10.0
BYTES_MAX, PAUSE_S = 20_000, 0.1


def echo(stream: socket.socket) -> None:
    with stream:
        while data := stream.recv(1 << 16):
            stream.sendall(data)


def serve(address: str) -> None:
    with socket.create_server((address, PORT)) as here:
        print("ready", flush=True)
        while True:
            stream, _ = here.accept()
            threading.Thread(target=echo, args=(stream,), daemon=True).start()


def converse(address: str, seed: int, until: float, result: list[tuple[int, float, bool]]) -> None:
    """Exchanges bytes until the time.

    Appends the number of exchanges, the longest one in s, and whether the connection was kept.
    """
    draw, count, longest = random.Random(seed), 0, 0.0
    try:
        with socket.create_connection((address, PORT), 10) as stream:
            stream.settimeout(60)
            while time.monotonic() < until:
                data, began, got = draw.randbytes(draw.randrange(1, BYTES_MAX)), time.monotonic(), b""
                stream.sendall(data)
                while len(got) < len(data):
                    part = stream.recv(len(data) - len(got))
                    if not part:
                        raise ConnectionError("closed")
                    got += part
                if got != data:
                    raise ValueError("other bytes")
                count, longest = count + 1, max(longest, time.monotonic() - began)
                time.sleep(draw.random() * PAUSE_S)
        result.append((count, longest, True))
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr, flush=True)
        result.append((count, longest, False))


def exchange(address: str, connections: int, seconds: float) -> None:
    until, result = time.monotonic() + seconds, []
    threads = [threading.Thread(target=converse, args=(address, seed, until, result)) for seed in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts, longest, kept = zip(*result, strict=True)
    print(json.dumps({"exchanges": min(counts), "longest_s": max(longest), "lost": kept.count(False)}))


class Relay:
    """Forwards datagrams between one client and a port of its own address, not very well."""

    def __init__(self, address: str, port: int, target_port: int, sources: list[str]):
        self.target = (address, target_port)
        self.sources = itertools.cycle(sources)
        self.draw = random.Random(1)
        self.inner = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.inner.bind((address, port))
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.inner, selectors.EVENT_READ)
        self.client: tuple[str, int] | None = None
        # Datagrams on their way: when each leaves, a number that breaks ties, its bytes, and whether it goes up.
        self.waiting: list[tuple[float, int, bytes, bool]] = []
        self.numbers = itertools.count()
        self.outer: socket.socket | None = None
        self.move()

    def move(self) -> None:
        """Sends from another address and port from now on."""
        if self.outer is not None:
            self.selector.unregister(self.outer)
            self.outer.close()
        self.outer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.outer.bind((next(self.sources), 0))
        self.outer.connect(self.target)
        self.selector.register(self.outer, selectors.EVENT_READ)
        self.moves_at = time.monotonic() + MOVE_S

    def take(self, source: socket.socket) -> None:
        """Receives a datagram, which may be lost or delayed."""
        try:
            data, sender = source.recvfrom(65535)
        except OSError:
            # The network refused an earlier one: an end has been stopped.
            return
        is_up = source is self.inner
        if is_up:
            self.client = sender
        if self.draw.random() >= LOST:
            delay_s = self.draw.random() * DELAY_S if self.draw.random() < DELAYED else 0.0
            heapq.heappush(self.waiting, (time.monotonic() + delay_s, next(self.numbers), data, is_up))

    def forward(self) -> None:
        """Sends what is due."""
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, data, is_up = heapq.heappop(self.waiting)
            with contextlib.suppress(OSError):
                if is_up:
                    self.outer.send(data)
                elif self.client is not None:
                    self.inner.sendto(data, self.client)

    def run(self) -> None:
        print("ready", flush=True)
        while True:
            due = min([self.moves_at, *(entry[0] for entry in self.waiting[:1])])
            for key, _ in self.selector.select(max(due - time.monotonic(), 0)):
                self.take(key.fileobj)
            self.forward()
            if time.monotonic() >= self.moves_at:
                self.move()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", address]:
            serve(address)
        case ["exchange", address, count, seconds]:
            exchange(address, int(count), float(seconds))
        case ["relay", address, port, target, *sources]:
            Relay(address, int(port), int(target), sources).run()
        case _:
            sys.exit(__doc__)
