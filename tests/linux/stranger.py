"""What a host beside the path can send.

`stranger.py forge FROM PORT TO PORT` sends resets and data of a TCP connection with wrong sequence numbers.
`stranger.py flood FROM TO PORT COUNT` opens COUNT connections, from as many ports, and answers nothing.
`stranger.py record INTERFACE PORT COUNT FILE` stores COUNT IPv4 packets with UDP datagrams to this port.
`stranger.py replay FILE` sends them again as they were, and each datagram cut short at every place, from another port.
`stranger.py barrage FILE SOURCE` reads numbers; for each it sends as many datagrams that are noise, or made of those in
FILE: sent again, cut short, damaged, or forged with their session's index. Half of them have their sender's address and
port, the others SOURCE. Then it prints how many answers came to SOURCE.
`stranger.py initiate SOURCE TO PORT KEY` reads numbers, too, and sends initiations of tunnels that have a valid first
code for the public key KEY (base64) and are noise otherwise; it prints the lengths of the answers.
"""

import base64
import contextlib
import hashlib
import pickle
import random
import socket
import struct
import sys
from pathlib import Path

from checksum import checksum

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
# The first byte of messages of a tunnel's session.
INITIATION, DATA = 1, 4


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


def udp(source: tuple[str, int], to: tuple[str, int], data: bytes) -> bytes:
    """An IPv4 packet with a datagram without a checksum."""
    ends = socket.inet_aton(source[0]) + socket.inet_aton(to[0])
    header = struct.pack("!HHHH", source[1], to[1], 8 + len(data), 0)
    return struct.pack("!BBHHHBBH", 0x45, 0, 0, 0, 0, 64, 17, 0) + ends + header + data


def made_of(datagram: bytes, draw: random.Random) -> bytes:
    """A datagram that its receiver has to refuse, by somebody who has seen this one."""
    match draw.randrange(5):
        case 0:
            return draw.randbytes(draw.randrange(1400))
        case 1 if datagram[0] == DATA:
            return datagram
        case 2:
            # The last 16 bytes of handshake messages are not authenticated.
            place = draw.randrange(min(len(datagram), 100))
            return datagram[:place] + bytes([datagram[place] ^ 1 << draw.randrange(8)]) + datagram[place + 1 :]
        case 3:
            header = struct.pack("<BBH4sQ", DATA, draw.getrandbits(1), 0, datagram[4:8], draw.getrandbits(20))
            return header + draw.randbytes(draw.randrange(16, 1400))
        case _:
            return datagram[: draw.randrange(len(datagram))]


def answers(here: socket.socket) -> list[int]:
    """Lengths of the datagrams that have arrived."""
    lengths = []
    with contextlib.suppress(BlockingIOError):
        while True:
            lengths.append(len(here.recv(65535, socket.MSG_DONTWAIT)))
    return lengths


def barrage(file: Path, source: str) -> None:
    packets = pickle.loads(file.read_bytes())
    draw = random.Random(1)
    with raw() as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind((source, 0))
        for line in sys.stdin:
            for _ in range(int(line)):
                packet = draw.choice(packets)
                to = socket.inet_ntoa(packet[16:20])
                genuine, port = struct.unpack_from("!HH", packet, 20)
                sender = ear.getsockname() if draw.getrandbits(1) else (socket.inet_ntoa(packet[12:16]), genuine)
                here.sendto(udp(sender, (to, port), made_of(packet[28:], draw)), (to, 0))
            print(len(answers(ear)), flush=True)


def initiate(source: str, to: tuple[str, int], key: bytes) -> None:
    mac1_key = hashlib.blake2s(b"airwatt mac1" + key).digest()
    draw = random.Random(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        here.bind((source, 0))
        for line in sys.stdin:
            lengths = []
            for _ in range(int(line)):
                body = bytes([INITIATION, 0, 0, 0]) + draw.randbytes(112)
                code = hashlib.blake2s(body, digest_size=16, key=mac1_key).digest()
                here.sendto(body + code + bytes(16), to)
                lengths += answers(here)
            print(*lengths, flush=True)


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
        case ["barrage", file, source]:
            barrage(Path(file), source)
        case ["initiate", source, to, port, key]:
            initiate(source, (to, int(port)), base64.b64decode(key))
        case _:
            sys.exit(__doc__)
