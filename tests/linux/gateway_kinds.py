"""Connections of many kinds between two hosts, each end of which says how and when it ended.

`gateway_kinds.py serve ADDRESS PORT` accepts connections; `gateway_kinds.py open ADDRESS PORT KINDS SEED BYTES` opens
one for each word of KINDS, up to BYTES long. A line on standard input ends either, and it prints what it has seen as
JSON: a row for each connection with its name and kind, whether this end opened it, since when it stands and when it
ended (seconds of CLOCK_MONOTONIC; null if not), by what (`complete`, `reset`, or `cut` for a clean end before all
bytes), and the bytes that it has received, and would have to.

* `up` and `down` send that many bytes to the one who accepts or who opens, without a length in front of the data. The
  one who opens `down` has ended its direction before; `fetch` is the same without that. The other direction of `up`
  ends after all bytes.
* `idle` says a byte in each direction and then nothing.
* `half-up` and `half-down` are idle after the one who opens, or who accepts, has ended its direction.
* `stalled-up` and `stalled-down` are `up` and `fetch` to a program that reads nothing, so that its window closes.
* `trickle` is `half-up` with a byte down each 50 ms.
"""

import json
import random
import select
import socket
import sys
import time

PIECE = bytes(range(256)) * 256
UP, DOWN = ("up", "stalled-up"), ("down", "fetch", "stalled-down")
# Kinds in which no end of the stream is to come from the one who opens, or from the one who accepts.
OPEN_UP = {"idle", "half-down"}
OPEN_DOWN = {"idle", "half-up", "trickle"}


class Connection:
    def __init__(self, stream: socket.socket, opens: bool, name: str = "", kind: str = "", size: int = 0):
        self.stream, self.opens = stream, opens
        self.name, self.kind, self.size = name, kind, size
        self.since: float | None = None
        self.at: float | None = None
        self.ending = ""
        self.line = b""
        self.received = 0
        self.to_send = 0
        self.has_read_all = self.is_shut = False

    def begin(self) -> None:
        """Both ends know what kind it is."""
        self.to_send = self.size if self.kind in (UP if self.opens else DOWN) else 1

    def expected(self) -> int:
        return self.size if self.kind in (DOWN if self.opens else UP) else 1

    def reads(self) -> bool:
        return self.kind != ("stalled-down" if self.opens else "stalled-up")

    def end(self, ending: str) -> None:
        self.at, self.ending = time.monotonic(), ending

    def ends_own_direction(self) -> bool:
        if self.kind in (("fetch", "stalled-down") if self.opens else ("up", "stalled-up")):
            return self.has_read_all
        return self.kind not in (OPEN_UP if self.opens else OPEN_DOWN)

    def write(self) -> None:
        if self.to_send > 0:
            self.to_send -= self.stream.send(PIECE[: self.to_send])
        if self.to_send == 0 and not self.is_shut and self.ends_own_direction():
            self.stream.shutdown(socket.SHUT_WR)
            self.is_shut = True

    def read(self) -> None:
        data = self.stream.recv(1 if not self.kind else 1 << 16)
        if not data:
            self.has_read_all = True
            is_whole = self.received >= self.expected() if self.kind else False
            if not is_whole or self.kind in (OPEN_DOWN if self.opens else OPEN_UP):
                self.end("cut")
        elif self.kind:
            self.received += len(data)
        elif data == b"\n":
            self.name, self.kind, size = self.line.decode().split()
            self.size = int(size)
            self.begin()
        else:
            self.line += data

    def step(self, events: int) -> None:
        try:
            if self.since is None:
                error = self.stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    raise OSError(error, "connect")
                self.since = time.monotonic()
                self.stream.send(f"{self.name} {self.kind} {self.size}\n".encode())
                self.begin()
            if events & (select.POLLERR | select.POLLHUP) and not self.reads():
                raise OSError("reset")
            if events & (select.POLLIN | select.POLLERR | select.POLLHUP) and not self.has_read_all:
                self.read()
            if self.kind and self.at is None:
                self.write()
            if self.at is None and self.has_read_all and self.is_shut and self.to_send == 0:
                self.end("complete")
            elif self.at is None and self.has_read_all and events & (select.POLLERR | select.POLLHUP):
                raise OSError("reset")
        except BlockingIOError:
            pass
        except OSError:
            self.end("reset")

    def wanted(self) -> int:
        if self.since is None:
            return select.POLLOUT
        wants_write = bool(self.kind) and (self.to_send > 0 or (self.ends_own_direction() and not self.is_shut))
        return (0 if self.has_read_all or not self.reads() else select.POLLIN) | (select.POLLOUT if wants_write else 0)

    def row(self) -> dict:
        row = {key: getattr(self, key) for key in ("name", "kind", "opens", "since", "at", "ending", "received")}
        return row | {"expected": self.expected()}


def run(listener: socket.socket | None, connections: list[Connection]) -> None:
    poll, known = select.poll(), {}
    poll.register(sys.stdin, select.POLLIN)
    if listener:
        poll.register(listener, select.POLLIN)
    for one in connections:
        known[one.stream.fileno()] = one
    print("ready", flush=True)
    ticked = 0.0
    while True:
        for number, one in known.items():
            if one.at is None:
                poll.register(number, one.wanted())
        for number, events in poll.poll(50):
            if number == sys.stdin.fileno():
                print(json.dumps([one.row() for one in known.values()]), flush=True)
                return
            if listener and number == listener.fileno():
                stream, _ = listener.accept()
                stream.setblocking(False)
                one = Connection(stream, opens=False)
                one.since = time.monotonic()
                known[stream.fileno()] = one
                continue
            one = known[number]
            one.step(events)
            if one.at is not None:
                poll.unregister(number)
        if time.monotonic() - ticked > 0.05:
            ticked = time.monotonic()
            for one in known.values():
                if one.kind == "trickle" and not one.opens and one.at is None:
                    one.to_send += 1


def main() -> None:
    what, address, port, *rest = sys.argv[1:]
    if what == "serve":
        run(socket.create_server((address, int(port)), backlog=256), [])
        return
    kinds, seed, most = rest[0].split(","), int(rest[1]), int(rest[2])
    draw = random.Random(seed)
    connections = []
    for number, kind in enumerate(kinds):
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex((address, int(port)))
        connections.append(Connection(stream, True, f"{kind}-{seed}-{number}", kind, draw.randint(1, most)))
    run(None, connections)


if __name__ == "__main__":
    main()
