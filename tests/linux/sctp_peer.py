"""The other end of a tunnel over SCTP, without airwatt: this kernel's SCTP carries packets of a TUN device as messages.

`sctp_peer.py ADDRESS/LENGTH LISTEN_ADDRESS PORT`; the address is that of the TUN device.
"""

import contextlib
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
DEVICE = "others0"

prefix, address, port = sys.argv[1:]
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
for command in (["address", "add", prefix, "dev", DEVICE], ["link", "set", DEVICE, "mtu", "1400", "up"]):
    subprocess.run(["ip", *command], check=True)
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP)
listener.bind((address, int(port)))
listener.listen()
print("ready", flush=True)
association, _ = listener.accept()
while True:
    ready, _, _ = select.select([tun, association], [], [])
    if association in ready:
        message = association.recv(65535)
        # A trigger has one byte.
        if len(message) > 1:
            os.write(tun, message)
    if tun in ready:
        packet = os.read(tun, 65535)
        with contextlib.suppress(BlockingIOError):
            association.send(packet)
