"""`lan_capture.py INTERFACE COUNT` prints protocol, source and destination of this many IPv4 packets, or until 1 s of
silence."""

import socket
import sys

NAMES = {1: "icmp", 6: "tcp", 17: "udp"}

here = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
here.bind((sys.argv[1], 0))
print("ready", flush=True)
here.settimeout(20)
for _ in range(int(sys.argv[2])):
    try:
        frame = here.recv(65535)
    except TimeoutError:
        break
    here.settimeout(1)
    packet = frame[14:]
    addresses = (socket.inet_ntoa(packet[at : at + 4]) for at in (12, 16))
    print(NAMES.get(packet[9], packet[9]), *addresses)
