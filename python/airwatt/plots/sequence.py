"""Sequence numbers over time, of a connection in several captures: what was sent over the air and acknowledged.

Captures are those that airwatt writes (`Result.write_pcapng`): frames of the simulated air with their TCP headers.
"""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from airwatt.plots import style

_PACKET = 6
"""The type of a block of pcapng that holds a frame."""
_QOS_DATA = 0x88
_MAC_HEADER = 26
# LLC and SNAP before an IPv4 packet.
_IPV4 = bytes.fromhex("aaaa030000000800")
_TCP = 6
_SYN = 0x02


class Segment(NamedTuple):
    """A TCP segment in a capture: when it came in seconds, its two addresses with ports, and its numbers."""

    time_s: float
    source: bytes
    destination: bytes
    sequence: int
    acknowledgement: int
    length: int
    flags: int


class Connection(NamedTuple):
    """The data of a connection from its larger sender, counted from its first byte, and their acknowledgements."""

    data: list[tuple[float, int]]
    repeated: list[tuple[float, int]]
    acknowledged: list[tuple[float, int]]


def segments(capture: Path) -> Iterator[Segment]:
    """The TCP segments over IPv4 in a capture of airwatt, which has nanoseconds, in the order of the file."""
    octets = capture.read_bytes()
    at = 0
    while at + 8 <= len(octets):
        kind, length = struct.unpack_from("<II", octets, at)
        if kind == _PACKET:
            high, low, kept = struct.unpack_from("<III", octets, at + 12)
            frame = octets[at + 28 : at + 28 + kept]
            segment = _segment(((high << 32) | low) / 1e9, frame)
            if segment is not None:
                yield segment
        at += max(length, 12)


def _segment(time_s: float, frame: bytes) -> Segment | None:
    mac = frame[int.from_bytes(frame[2:4], "little") :]
    ip = mac[_MAC_HEADER + len(_IPV4) :]
    if mac[:1] != bytes([_QOS_DATA]) or mac[_MAC_HEADER : _MAC_HEADER + len(_IPV4)] != _IPV4 or len(ip) < 40:
        return None
    if ip[9] != _TCP:
        return None
    header = 4 * (ip[0] & 15)
    tcp = ip[header:]
    sequence, acknowledgement = struct.unpack_from(">II", tcp, 4)
    length = int.from_bytes(ip[2:4], "big") - header - 4 * (tcp[12] >> 4)
    source, destination = ip[12:16] + tcp[:2], ip[16:20] + tcp[2:4]
    return Segment(time_s, source, destination, sequence, acknowledgement, length, tcp[13])


def connection(capture: Path) -> Connection:
    """The connection with the most data in a capture. Repeated is what comes below the highest number before it."""
    found = list(segments(capture))
    sent: dict[tuple[bytes, bytes], int] = {}
    for one in found:
        sent[one.source, one.destination] = sent.get((one.source, one.destination), 0) + one.length
    if not sent:
        return Connection([], [], [])
    source, destination = max(sent, key=lambda ends: sent[ends])
    first = next(one for one in found if (one.source, one.destination) == (source, destination))
    base = first.sequence + bool(first.flags & _SYN)
    data: list[tuple[float, int]] = []
    repeated: list[tuple[float, int]] = []
    acknowledged: list[tuple[float, int]] = []
    end = 0
    for one in found:
        if (one.source, one.destination) == (source, destination) and one.length > 0:
            place = (one.sequence - base) & 0xFFFFFFFF
            (data if place >= end else repeated).append((one.time_s, place))
            end = max(end, place + one.length)
        elif (one.source, one.destination) == (destination, source) and not one.flags & _SYN:
            acknowledged.append((one.time_s, (one.acknowledgement - base) & 0xFFFFFFFF))
    return Connection(data, repeated, acknowledged)


def draw(title: str, captures: Mapping[str, Path], path: Path) -> None:
    """Draws the largest connection of each capture, one above the other, over one axis of time. Raises `OSError`."""
    with style.styled():
        figure = Figure(figsize=(9.6, 1.2 + 2.9 * len(captures)), layout="constrained")
        rows = figure.subplots(len(captures), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (name, capture) in zip(rows, captures.items(), strict=True):
            one = connection(capture)
            for points, label, colour, marker in (
                (one.data, "data", style.BLUE, "."),
                (one.acknowledged, "acknowledged", style.GREEN, "."),
                (one.repeated, "sent again", style.VERMILION, "x"),
            ):
                times, places = [point[0] for point in points], [point[1] / 1e3 for point in points]
                axes.plot(times, places, marker, color=colour, markersize=3, label=f"{label} ({len(points)})")
            axes.set_ylabel(f"{name}\nsequence number (kB)")
            axes.legend(loc="lower right")
        rows[-1].set_xlabel("time (s)")
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        style.save(figure, path)
