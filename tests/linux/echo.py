"""Sends ICMP echo requests and prints the round trips in milliseconds, one a line, `-` for one without an answer within
2 s: echo.py ADDRESS COUNT INTERVAL_S. Needs root."""

import os
import socket
import struct
import sys
import time

from checksum import checksum


def request(number: int) -> bytes:
    body = struct.pack(">HH", os.getpid() & 0xFFFF, number) + bytes(56)
    return struct.pack(">BBH", 8, 0, checksum(struct.pack(">BBH", 8, 0, 0) + body)) + body


def main() -> None:
    address, count, interval = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as link:
        for number in range(count):
            began = time.monotonic()
            link.sendto(request(number), (address, 0))
            answer = None
            while answer is None and (left := began + 2 - time.monotonic()) > 0:
                link.settimeout(left)
                try:
                    packet = link.recv(2048)
                except TimeoutError:
                    break
                if packet[20] == 0 and struct.unpack(">HH", packet[24:28]) == (os.getpid() & 0xFFFF, number):
                    answer = (time.monotonic() - began) * 1e3
            print("-" if answer is None else f"{answer:.2f}", flush=True)
            time.sleep(max(0, began + interval - time.monotonic()))


main()
