"""Looks for routes as fast as it can and counts how often there is none: lan_probe.py INTERFACE ADDRESS..."""

import contextlib
import select
import socket
import sys


def main() -> None:
    interface, *addresses = sys.argv[1:]
    sockets = []
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        made = socket.socket(family, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        sockets.append((made, (address, 9)))
    asked = failed = 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(50):
            for made, address in sockets:
                asked += 1
                failed += 1
                with contextlib.suppress(OSError):
                    # Connecting a datagram socket looks up a route and sends nothing.
                    made.connect(address)
                    failed -= 1
    print(asked, failed)


main()
