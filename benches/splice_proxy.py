"""`splice_proxy.py ADDRESS PORT TARGET PORT`: relays TCP connections with splice(2), for comparison."""

import os
import socket
import sys
import threading

PIECE = 1 << 16


def carry(source: socket.socket, target: socket.socket) -> None:
    """Carries one direction until its end."""
    outlet, inlet = os.pipe()
    with os.fdopen(outlet, "rb", 0), os.fdopen(inlet, "wb", 0):
        while count := os.splice(source.fileno(), inlet, PIECE):
            while count:
                count -= os.splice(outlet, target.fileno(), count)
    target.shutdown(socket.SHUT_WR)


def main() -> None:
    """Serves connections until it is killed."""
    address, port, target, target_port = sys.argv[1:]
    here = socket.create_server((address, int(port)))
    print("ready", flush=True)
    while True:
        client, _ = here.accept()
        server = socket.create_connection((target, int(target_port)))
        for pair in ((client, server), (server, client)):
            threading.Thread(target=carry, args=pair, daemon=True).start()


if __name__ == "__main__":
    main()
