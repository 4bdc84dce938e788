"""Writes tim-never-set.pcap: an access point that forgets the TIM bit of a station's second buffered frame.

The first frame is announced, requested and delivered with More Data, so that the second one is known to be buffered.
Three beacons then have no bit for the station, which sleeps on and asks after the third by itself.
"""

import struct
import sys
from pathlib import Path

ACCESS_POINT, STATION = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
AID = 1
TIME_UNIT_S = 1.024e-3
BEACON_INTERVAL_TU = 100
# Frame control: type and subtype, then the flags of the second byte.
BEACON, DATA, NULL, PS_POLL, ACK = 0x80, 0x08, 0x48, 0xA4, 0xD4
TO_DS, FROM_DS, POWER_MANAGEMENT, MORE_DATA = 0x01, 0x02, 0x10, 0x20
CHANNEL_MHZ, CCK, OFDM, BAND_2GHZ = 2412, 0x20, 0x40, 0x80


def header(kind: int, flags: int, *addresses: bytes, sequence: int = 0) -> bytes:
    """A data or management header with three addresses; the duration is left at zero."""
    return struct.pack("<BBH", kind, flags, 0) + b"".join(addresses) + struct.pack("<H", sequence << 4)


def beacon(number: int, *, bit: bool) -> bytes:
    """A beacon with SSID, rates and TIM; `bit` is that of the station."""
    fixed = struct.pack("<QHH", round(1e6 * number * BEACON_INTERVAL_TU * TIME_UNIT_S), BEACON_INTERVAL_TU, 0x0001)
    tim = bytes([5, 4, 0, 1, 0, (1 << AID) * bit])
    elements = b"\x00\x07example" + b"\x01\x04\x82\x84\x8b\x96" + tim
    return header(BEACON, 0, b"\xff" * 6, ACCESS_POINT, ACCESS_POINT, sequence=number) + fixed + elements


def data(number: int, *, more: bool) -> bytes:
    """A UDP datagram of 200 bytes to the station."""
    udp = struct.pack(">HHHH", 40000, 40000, 208, 0) + bytes(200)
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([198, 51, 100, 10]), bytes([192, 168, 7, 2])
    )
    flags = FROM_DS | (MORE_DATA if more else 0)
    return (
        header(DATA, flags, STATION, ACCESS_POINT, ACCESS_POINT, sequence=number)
        + b"\xaa\xaa\x03\x00\x00\x00\x08\x00"
        + ip
        + udp
    )


def control(kind: int, *addresses: bytes, field: int = 0) -> bytes:
    """A PS-Poll, whose field is the AID, or an acknowledgement."""
    return struct.pack("<BBH", kind, POWER_MANAGEMENT if kind == PS_POLL else 0, field) + b"".join(addresses)


def frames() -> list[tuple[float, int, bytes]]:
    """Time in seconds, rate in units of 500 kb/s, and frame."""
    doze = header(NULL, TO_DS | POWER_MANAGEMENT, ACCESS_POINT, STATION, ACCESS_POINT)
    poll = control(PS_POLL, ACCESS_POINT, STATION, field=0xC000 | AID)
    to_station, to_access_point = control(ACK, STATION), control(ACK, ACCESS_POINT)
    found = [(BEACON_INTERVAL_TU * TIME_UNIT_S * i, 2, beacon(i, bit=i == 2)) for i in range(7)]
    # The numbers of both say that no frame of the station was missed in between, by which it was awake for a time.
    wake = header(NULL, TO_DS, ACCESS_POINT, STATION, ACCESS_POINT, sequence=1)
    for at, null in ((0.020, doze), (0.560, wake)):
        found += [(at, 48, null), (at + 0.0001, 48, to_station)]
    for number, after, more in ((1, 2, True), (2, 5, False)):
        at = BEACON_INTERVAL_TU * TIME_UNIT_S * after + 0.003
        found += [(at, 48, poll), (at + 0.0002, 48, data(number, more=more)), (at + 0.0004, 48, to_access_point)]
    return sorted(found)


def write(path: str, frames: list[tuple[float, int, bytes]]) -> None:
    """Writes a pcap file of radiotap frames."""
    with Path(path).open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for at, rate, frame in frames:
            channel = BAND_2GHZ | (CCK if rate == 2 else OFDM)
            whole = struct.pack("<BBHIBxHH", 0, 0, 14, 1 << 2 | 1 << 3, rate, CHANNEL_MHZ, channel) + frame
            out.write(struct.pack("<IIII", int(at), round(at % 1 * 1e6), len(whole), len(whole)) + whole)


if __name__ == "__main__":
    write(sys.argv[1] if len(sys.argv) > 1 else "tim-never-set.pcap", frames())
