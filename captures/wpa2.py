"""Writes wpa2-ccmp.pcap and wpa2-gcmp.pcap: a cell with WPA2-Personal, its handshakes, and data frames of every form.

The ciphers are written out here, apart from those of airwatt, which the tests have decrypt these files. The network is
"example" and its passphrase "correct horse"; a second station's handshake is not in the capture.
"""

import functools
import hashlib
import hmac
import itertools
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from tim_never_set import ACCESS_POINT, BEACON_INTERVAL_TU, DATA, FROM_DS, STATION, TIME_UNIT_S, TO_DS, beacon, write
from tim_never_set import POWER_MANAGEMENT as PM

PASSPHRASE, NETWORK = b"correct horse", b"example"
OTHER = bytes.fromhex("020000000003")
EVERYBODY = b"\xff" * 6
QOS_DATA, RETRY, PROTECTED = 0x88, 0x08, 0x40
AMSDU = 0x80
SNAP = b"\xaa\xaa\x03\x00\x00\x00"
SERVER_IP, STATION_IP = bytes([198, 51, 100, 10]), bytes([192, 168, 7, 2])


@functools.cache
def _substitutions() -> bytes:
    """The S-box of AES: the inverse in its field, then an affine map (FIPS 197, 5.1.1)."""
    box = bytearray(256)
    for value in range(256):
        inverse = next((other for other in range(256) if _times(value, other) == 1), 0)
        box[value] = 0x63
        for shift in range(5):
            box[value] ^= (inverse << shift | inverse >> (8 - shift)) & 0xFF
    return bytes(box)


@functools.cache
def _times(first: int, second: int) -> int:
    product = 0
    while second:
        product ^= first * (second & 1)
        first = first << 1 ^ (0x11B if first & 0x80 else 0)
        second >>= 1
    return product


def aes(key: bytes, block: bytes) -> bytes:
    """Encrypts a block with a key of 128 bits (FIPS 197)."""
    box = _substitutions()
    words = [list(key[i : i + 4]) for i in range(0, 16, 4)]
    constant = 1
    for number in range(4, 44):
        word = words[-1]
        if number % 4 == 0:
            word = [box[octet] for octet in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _times(constant, 2)
        words.append([a ^ b for a, b in zip(words[-4], word, strict=True)])
    rounds = [list(itertools.chain(*words[i : i + 4])) for i in range(0, 44, 4)]
    state = [a ^ b for a, b in zip(block, rounds[0], strict=True)]
    for number, round_key in enumerate(rounds[1:], 1):
        state = [box[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < 10:
            state = [
                _times(state[i], 2)
                ^ _times(state[i - i % 4 + (i + 1) % 4], 3)
                ^ state[i - i % 4 + (i + 2) % 4]
                ^ state[i - i % 4 + (i + 3) % 4]
                for i in range(16)
            ]
        state = [a ^ b for a, b in zip(state, round_key, strict=True)]
    return bytes(state)


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=False))


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 16)


def ccm(key: bytes, nonce: bytes, aad: bytes, data: bytes) -> bytes:
    """Encrypts with CCM: checksum of 8 octets, length field of 2 (RFC 3610)."""
    mac = bytes(16)
    first = bytes([0x40 | 3 << 3 | 1]) + nonce + struct.pack(">H", len(data))
    blocks = first + _padded(struct.pack(">H", len(aad)) + aad) + _padded(data)
    for at in range(0, len(blocks), 16):
        mac = aes(key, _xor(mac, blocks[at : at + 16]))
    stream = [aes(key, b"\x01" + nonce + struct.pack(">H", i)) for i in range(len(data) // 16 + 2)]
    return _xor(data, b"".join(stream[1:])) + _xor(mac[:8], stream[0])


def gcm(key: bytes, nonce: bytes, aad: bytes, data: bytes) -> bytes:
    """Encrypts with GCM: checksum of 16 octets, nonce of 12 (NIST SP 800-38D)."""
    stream = [aes(key, nonce + struct.pack(">I", i + 1)) for i in range(len(data) // 16 + 2)]
    encrypted = _xor(data, b"".join(stream[1:]))
    hashed, subkey = 0, int.from_bytes(aes(key, bytes(16)), "big")
    blocks = _padded(aad) + _padded(encrypted) + struct.pack(">QQ", 8 * len(aad), 8 * len(encrypted))
    for at in range(0, len(blocks), 16):
        value, factor, hashed = hashed ^ int.from_bytes(blocks[at : at + 16], "big"), subkey, 0
        for bit in range(127, -1, -1):
            hashed ^= factor * (value >> bit & 1)
            factor = factor >> 1 ^ (0xE1 << 120) * (factor & 1)
    return encrypted + _xor(hashed.to_bytes(16, "big"), stream[0])


def cmac(key: bytes, data: bytes) -> bytes:
    """The checksum of RFC 4493."""
    subkey = int.from_bytes(aes(key, bytes(16)), "big")
    whole = bool(data) and len(data) % 16 == 0
    for _ in range(1 if whole else 2):
        subkey = (subkey << 1 ^ 0x87 * (subkey >> 127)) & (1 << 128) - 1
    data = data if whole else _padded(data + b"\x80")
    mac = bytes(16)
    for at in range(0, len(data) - 16, 16):
        mac = aes(key, _xor(mac, data[at : at + 16]))
    return aes(key, _xor(_xor(mac, data[-16:]), subkey.to_bytes(16, "big")))


def wrapped(key: bytes, data: bytes) -> bytes:
    """Wraps keys (RFC 3394)."""
    check, parts = b"\xa6" * 8, [data[at : at + 8] for at in range(0, len(data), 8)]
    for step in range(6 * len(parts)):
        block = aes(key, check + parts[step % len(parts)])
        check, parts[step % len(parts)] = _xor(block[:8], struct.pack(">Q", step + 1)), block[8:]
    return check + b"".join(parts)


class Suite(NamedTuple):
    """Cipher and key management by their numbers (802.11-2020 tables 9-149 and 9-151), and the handshake's version."""

    cipher: int
    management: int
    version: int

    @property
    def element(self) -> bytes:
        """The station's security element."""
        oui = b"\x00\x0f\xac"
        cipher, management = oui + bytes([self.cipher]), oui + bytes([self.management])
        return b"\x30\x14\x01\x00" + cipher + b"\x01\x00" + cipher + b"\x01\x00" + management + b"\x00\x00"


class Keys(NamedTuple):
    """What a handshake gives: keys for checksums, for key data, and for frames."""

    confirmation: bytes
    encryption: bytes
    temporal: bytes


class Cell:
    """The access point with the station's keys, and the frames so far."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.master = hashlib.pbkdf2_hmac("sha1", PASSPHRASE, NETWORK, 4096, 32)
        self.number = 0
        self.counter = 0
        self.frames: list[tuple[float, int, bytes]] = []
        self.keys = Keys(b"", b"", b"")

    def send(self, frame: bytes) -> None:
        """Sends a frame, 2 ms after the one before."""
        self.frames.append((0.010 + 0.002 * len(self.frames), 48, frame))

    def derived(self, offer: bytes, answer: bytes) -> Keys:
        """The keys of both nonces (802.11-2020 12.7.1.3)."""
        label = b"Pairwise key expansion"
        context = b"".join(sorted((ACCESS_POINT, STATION)) + sorted((offer, answer)))
        octets = b""
        for count in range(3):
            if self.suite.version == 2:
                octets += hmac.digest(self.master, label + b"\x00" + context + bytes([count]), "sha1")
            else:
                block = struct.pack("<H", count + 1) + label + context + struct.pack("<H", 384)
                octets += hmac.digest(self.master, block, "sha256")
        return Keys(octets[:16], octets[16:32], octets[32:48])

    def message(self, information: int, keys: Keys, *, nonce: bytes = bytes(32), data: bytes = b"") -> bytes:
        """An EAPOL-Key frame; the replay counter is one that the access point raises."""
        if information & 1 << 7:
            self.counter += 1
        if information & 1 << 12:
            data = wrapped(keys.encryption, data + (b"\xdd" + bytes(-len(data) % 8))[: -len(data) % 8])
        head = struct.pack(">BHHQ", 2, information | self.suite.version, 16, self.counter) + nonce + bytes(32)
        tail = struct.pack(">H", len(data)) + data
        whole = struct.pack(">BBH", 2, 3, len(head) + 16 + len(tail)) + head + bytes(16) + tail
        mac = bytes(16)
        if information & 1 << 8:
            by_sha1 = self.suite.version == 2
            mac = hmac.digest(keys.confirmation, whole, "sha1")[:16] if by_sha1 else cmac(keys.confirmation, whole)
        return SNAP + b"\x88\x8e" + whole[: 4 + len(head)] + mac + tail

    def frame(
        self,
        body: bytes,
        *,
        up: bool = False,
        key: bytes = b"",
        group: int = 0,
        flags: int = 0,
        qos: int | None = None,
        spp: bool = False,
        other: bytes = STATION,
    ) -> bytes:
        """A data frame; `key` protects it, by a group's key with the identifier `group`."""
        receiver = EVERYBODY if group else other
        addresses = (ACCESS_POINT, other, ACCESS_POINT) if up else (receiver, ACCESS_POINT, ACCESS_POINT)
        kind = DATA if qos is None else QOS_DATA
        self.number += 1
        direction = TO_DS if up else FROM_DS
        flags |= direction | (PROTECTED if key else 0)
        control = b"" if qos is None else struct.pack("<H", qos)
        sequence = struct.pack("<H", self.number << 4)
        head = struct.pack("<BBH", kind, flags, 0) + b"".join(addresses) + sequence + control
        if not key:
            return head + body
        number = struct.pack(">Q", self.number)[2:]
        protected = b"" if qos is None else struct.pack("<H", qos & (0x8F if spp else 0x0F))
        aad = bytes([kind, direction | PROTECTED]) + b"".join(addresses) + b"\x00\x00" + protected
        before = bytes([number[5], number[4], 0, 0x20 | group << 6, number[3], number[2], number[1], number[0]])
        if self.suite.cipher == 4:
            nonce = bytes([0 if qos is None else qos & 0x0F]) + addresses[1] + number
            return head + before + ccm(key, nonce, aad, body)
        return head + before + gcm(key, addresses[1] + number, aad, body)

    def handshake(self, seed: bytes, group: int, *, late: bool = False) -> None:
        """The 4-way handshake; a later one is protected, with a frame by the old key before its last message."""
        old = self.keys.temporal
        offer, answer = (hashlib.sha256(seed + who).digest() for who in (b"access point", b"station"))
        secure = 1 << 9 if old else 0
        first = self.frame(self.message(1 << 3 | 1 << 7, self.keys, nonce=offer), key=old)
        self.send(first)
        self.send(bytes([first[0], first[1] | RETRY]) + first[2:])
        keys = self.derived(offer, answer)
        element = self.suite.element
        self.send(
            self.frame(self.message(1 << 3 | 1 << 8 | secure, keys, nonce=answer, data=element), up=True, key=old)
        )
        third = 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 12
        data = element + self.group_data(group)
        self.send(self.frame(self.message(third, keys, nonce=offer, data=data), key=old))
        if late:
            self.send(self.frame(packet(9), key=old, qos=0))
        self.send(self.frame(self.message(1 << 3 | 1 << 8 | 1 << 9, keys), up=True, key=old))
        self.keys = keys

    def group_data(self, group: int) -> bytes:
        """The key data with a group's key."""
        return b"\xdd\x16\x00\x0f\xac\x01" + bytes([group, 0]) + group_key(group)


def group_key(group: int) -> bytes:
    """The group's key with this identifier."""
    return hashlib.sha256(b"group" + bytes([group])).digest()[:16]


def packet(number: int, *, up: bool = False) -> bytes:
    """A UDP datagram with LLC/SNAP; its source port says which one it is."""
    udp = struct.pack(">HHHH", 41000 + number, 5683, 8 + 40, 0) + bytes(40)
    ends = STATION_IP + SERVER_IP if up else SERVER_IP + STATION_IP
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0) + ends
    return SNAP + b"\x08\x00" + ip + udp


def question() -> bytes:
    """An ARP request of the server's gateway for the station."""
    ends = ACCESS_POINT + bytes([192, 168, 7, 1]) + bytes(6) + STATION_IP
    return SNAP + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + ends


def together(*bodies: bytes) -> bytes:
    """An A-MSDU to the station."""
    parts = [STATION + ACCESS_POINT + struct.pack(">H", len(body)) + body for body in bodies]
    return b"".join(part + bytes(-len(part) % 4) for part in parts[:-1]) + parts[-1]


def frames(suite: Suite) -> list[tuple[float, int, bytes]]:
    """Time in seconds, rate in units of 500 kb/s, and frame."""
    cell = Cell(suite)
    cell.handshake(b"first", group=1)
    key = cell.keys.temporal
    down = cell.frame(packet(1), key=key, qos=6)
    cell.send(down)
    cell.send(bytes([down[0], down[1] | RETRY]) + down[2:])
    cell.send(cell.frame(packet(2, up=True), up=True, key=key, flags=PM))
    cell.send(cell.frame(question(), key=group_key(1), group=1))
    cell.send(cell.frame(together(packet(3), packet(4)), key=key, qos=AMSDU))
    cell.send(cell.frame(together(packet(5), packet(6)), key=key, qos=AMSDU | 5, spp=True))
    cell.send(cell.frame(packet(7), up=True, key=bytes(16), qos=0, other=OTHER))
    renewed = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 12
    cell.send(cell.frame(cell.message(renewed, cell.keys, data=cell.group_data(2)), key=key))
    cell.send(cell.frame(question(), key=group_key(2), group=2))
    cell.handshake(b"second", group=1, late=True)
    cell.send(cell.frame(packet(8, up=True), up=True, key=cell.keys.temporal, qos=3))
    beacons = [(BEACON_INTERVAL_TU * TIME_UNIT_S * i, 2, beacon(i, bit=False)) for i in range(2)]
    return sorted(beacons + cell.frames)


def main(folder: Path) -> None:
    """Writes both files: WPA2 as it is common, and with checksums by SHA-256 and GCMP."""
    write(str(folder / "wpa2-ccmp.pcap"), frames(Suite(cipher=4, management=2, version=2)))
    write(str(folder / "wpa2-gcmp.pcap"), frames(Suite(cipher=8, management=6, version=3)))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
