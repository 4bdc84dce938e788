"""The traffic of tcp-download.pcapng: `serve` answers, `fetch` downloads, keeps alive and fetches again.

One request is a line `GET N`, its answer N bytes. A line `PING` is answered with 32 bytes, as applications keep a
connection alive. Everything goes over plain TCP, so that the capture shows TCP and no more.
"""

import socket
import sys
import threading
import time

ADDRESS = ("198.51.100.10", 8080)
DOWNLOAD_BYTES = 1_800_000
PAGE_BYTES = 60_000
KEEP_ALIVES = 8
KEEP_ALIVE_S = 1.5


def answer(connection: socket.socket) -> None:
    """Answers the lines of a connection until it ends."""
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            words = line.split()
            if words and words[0] == b"PING":
                connection.sendall(bytes(32))
            elif len(words) == 2 and words[0] == b"GET":
                connection.sendall(bytes(int(words[1])))


def serve() -> None:
    """Answers every connection, until it is killed."""
    with socket.create_server(ADDRESS) as listener:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


def read(connection: socket.socket, count: int) -> None:
    """Reads so many bytes. Raises `ConnectionError` if there are fewer."""
    while count > 0:
        got = connection.recv(65536)
        if not got:
            raise ConnectionError("the server closed early")
        count -= len(got)


def get(count: int) -> None:
    """Downloads so many bytes over a connection of its own."""
    with socket.create_connection(ADDRESS) as connection:
        connection.sendall(b"GET %d\n" % count)
        read(connection, count)


def fetch() -> None:
    """Makes the traffic of the capture: a long connection with keep-alives, and two downloads beside it."""
    with socket.create_connection(ADDRESS) as alive:
        alive.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        alive.sendall(b"PING\n")
        read(alive, 32)
        get(DOWNLOAD_BYTES)
        for _ in range(KEEP_ALIVES):
            time.sleep(KEEP_ALIVE_S)
            alive.sendall(b"PING\n")
            read(alive, 32)
        get(PAGE_BYTES)
        time.sleep(1)


if __name__ == "__main__":
    {"serve": serve, "fetch": fetch}[sys.argv[1]]()
