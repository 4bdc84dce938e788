"""Answers datagrams late, and lets connections in: answers.py ADDRESS PORT DELAY_S. Prints a line when it is ready."""

import socket
import sys
import time


def main() -> None:
    address, port, delay_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    # The kernel answers a SYN at once, and ends what nobody accepts when this process ends.
    with socket.create_server((address, port), backlog=64), socket.socket(type=socket.SOCK_DGRAM) as link:
        link.bind((address, port))
        print("ready", flush=True)
        while True:
            question, sender = link.recvfrom(2048)
            time.sleep(delay_s)
            link.sendto(question, sender)


main()
