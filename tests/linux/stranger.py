"""What a host beside the path can send.

`stranger.py forge FROM PORT TO PORT` sends resets and data of a TCP connection with wrong sequence numbers.
`stranger.py flood FROM TO PORT COUNT` opens COUNT connections, from as many ports, and answers nothing.
`stranger.py record INTERFACE PORT COUNT FILE` stores COUNT IPv4 packets with UDP datagrams to this port.
`stranger.py replay FILE` sends them again as they were, and each datagram cut short at every place, from another port.
"""

import pickle
import random
import socket
import struct
import sys
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def segment(source: tuple[str, int], to: tuple[str, int], sequence: int, answers: int, flags: int, data=b"") -> bytes:
    """An IPv4 packet."""
    ends = socket.inet_aton(source[0]) + socket.inet_aton(to[0])
    header = struct.pack("!HHIIBBHHH", source[1], to[1], sequence, answers, 5 << 4, flags, 64_000, 0, 0)
    whole = checksum(ends + struct.pack("!HH", 6, len(header) + len(data)) + header + data)
    header = header[:16] + struct.pack("!HH", whole, 0)
    # The kernel fills length and checksum of the IP header.
    return struct.pack("!BBHHHBBH", 0x45, 0, 0, 0, 0, 64, 6, 0) + ends + header + data


def raw() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)


def forge(source: tuple[str, int], to: tuple[str, int]) -> None:
    draw = random.Random(1)
    with raw() as here:
        for _ in range(200):
            numbers = draw.getrandbits(32), draw.getrandbits(32)
            for flags, data in (
                (RST, b""),
                (RST | ACK, b""),
                (PSH | ACK, b"forged" * 50),
                (SYN, b""),
                (FIN | ACK, b""),
            ):
                here.sendto(segment(source, to, *numbers, flags, data), (to[0], 0))


def flood(source: str, to: tuple[str, int], count: int) -> None:
    with raw() as here:
        for port in range(count):
            here.sendto(segment((source, 20_000 + port), to, 7 * port, 0, SYN), (to[0], 0))


def record(interface: str, port: int, count: int, file: Path) -> None:
    packets: list[bytes] = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as here:
        here.bind((interface, 0))
        here.settimeout(20)
        print("ready", flush=True)
        while len(packets) < count:
            packet = here.recv(65535)[14:]
            # A longer one is several that the kernel has not taken apart yet.
            if packet[9] == 17 and len(packet) <= 1500 and struct.unpack_from("!H", packet, 22)[0] == port:
                packets.append(packet)
    file.write_bytes(pickle.dumps(packets))


def replay(file: Path) -> None:
    packets = pickle.loads(file.read_bytes())
    with raw() as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        for packet in packets:
            to, port = socket.inet_ntoa(packet[16:20]), struct.unpack_from("!H", packet, 22)[0]
            here.sendto(packet, (to, 0))
            for length in range(len(packet) - 28 + 1):
                other.sendto(packet[28 : 28 + length], (to, port))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["forge", source, source_port, to, port]:
            forge((source, int(source_port)), (to, int(port)))
        case ["flood", source, to, port, count]:
            flood(source, (to, int(port)), int(count))
        case ["record", interface, port, count, file]:
            record(interface, int(port), int(count), Path(file))
        case ["replay", file]:
            replay(Path(file))
        case _:
            sys.exit(__doc__)
