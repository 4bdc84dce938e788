"""What SACK blocks cost a kernel: the time for which Linux works on an acknowledgement with blocks, and on making one.

A host as a network namespace has one connection with this program, which is its peer in TCP by hand, over a TUN
device. What is written into a TUN device is worked through by the kernel before the call returns, from IP up to TCP and
to what TCP sends in answer, so that the length of the call is what a packet costs. It needs no counters and no tracing.

* As sender, the host has 30 segments in flight, as many as the window allows, so that it sends nothing in answer. Every
  second one is missing, and six duplicate acknowledgements come: with one block, two, three, and four from then on,
  newest first (RFC 2018); without SACK the same without blocks. `net.ipv4.tcp_reordering` keeps the host from
  retransmitting.
* As receiver, the host gets every second of twelve segments, and answers with duplicate acknowledgements.

Connections with SACK and without take turns. Prints, by the place of a packet in its series, the mean over the pairs of
the median of a connection, with 95 % intervals. Caches are warm: a series takes less than a millisecond. The program
needs root.

.venv/bin/python benches/sack_blocks.py [--pairs 12] [--series 400] [--csv FILE.csv]
"""

import argparse
import contextlib
import csv
import fcntl
import os
import select
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from airwatt.statistics import mean_ci95

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/linux"))

from lab import call  # noqa: E402

from checksum import checksum  # noqa: E402

HOST, OWN = "10.97.0.1", "10.97.0.2"
PORT = 5001
PEER = ROOT / "tests/linux/peer.py"
SEGMENT, IN_FLIGHT, SERIES = 1460, 30, 6
_TUNSETIFF, _TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
_SYN, _PUSH, _ACK = 0x02, 0x08, 0x10

Columns = Mapping[int, float]
"""Median of a connection in ns, by the place in the series, from 1."""


class Connection:
    """One connection of the host with this program, whose ends are told apart by ports."""

    def __init__(self, tun: int) -> None:
        self._tun = tun
        self._ports = (PORT, 0)
        self.next = 1_000
        self.expected = 0

    def write(self, flags: int, options: bytes = b"", data: bytes = b"", at: int | None = None) -> int:
        """Sends a segment with the sequence number `at`; returns how long the kernel worked on it, in ns."""
        length = 20 + len(options)
        sequence = (self.next if at is None else at) % 2**32
        tcp = [*self._ports, sequence, self.expected % 2**32, length // 4 << 4, flags, IN_FLIGHT * SEGMENT, 0, 0]
        addresses = bytes(map(int, f"{OWN}.{HOST}".split(".")))
        segment = struct.pack("!HHIIBBHHH", *tcp) + options + data
        pseudo = addresses + struct.pack("!HH", 6, len(segment))
        tcp[7] = checksum(pseudo + segment)
        segment = struct.pack("!HHIIBBHHH", *tcp) + segment[20:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 0, 0, 64, 6, 0) + addresses
        packet = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + segment
        begin = time.perf_counter_ns()
        os.write(self._tun, packet)
        return time.perf_counter_ns() - begin

    def read(self, wait_s: float = 0.0) -> list[tuple[int, int, int]]:
        """Sequence number, flags and bytes of data of what the host has sent."""
        found = []
        while select.select([self._tun], [], [], 0.0 if found else wait_s)[0]:
            packet = os.read(self._tun, 2048)
            # The kernel has other things to say to a new interface.
            if packet[0] == 0x45 and packet[9] == 6:
                source, _, sequence, _, offset, flags = struct.unpack_from("!HHIIBB", packet, 20)
                self._ports = (self._ports[0], source)
                found.append((sequence, flags, len(packet) - 20 - (offset >> 4) * 4))
        return found

    def handshake(self, sack: bool, port: int | None) -> None:
        """Opens the connection to a port of the host, or lets the host open it."""
        options = struct.pack("!BBH", 2, 4, SEGMENT) + (b"\1\1\4\2" if sack else b"")
        if port is not None:
            self._ports = (PORT, port)
            self.write(_SYN, options)
        while not (begun := [each for each in self.read(1.0) if each[1] & _SYN]):
            pass
        self.expected = begun[0][0] + 1
        if port is None:
            self.write(_SYN | _ACK, options)
        self.next += 1
        if port is not None:
            self.write(_ACK)


def blocks_of(first: int, count: int) -> bytes:
    """The option for every second segment after `first`, newest first, at most four."""
    edges = [first + (2 * each + 1) * SEGMENT for each in range(count)][-4:]
    option = b"".join(struct.pack("!II", edge % 2**32, (edge + SEGMENT) % 2**32) for edge in reversed(edges))
    return b"\1\1" + bytes((5, 2 + len(option))) + option


def as_sender(connection: Connection, sack: bool, series: int) -> Columns:
    """The host sends; this program acknowledges."""
    times: dict[int, list[int]] = {place: [] for place in range(1, SERIES + 1)}
    for _ in range(series):
        while True:
            newest = connection.expected
            until = time.monotonic() + 1.0
            while (newest - connection.expected) // SEGMENT < IN_FLIGHT and time.monotonic() < until:
                for sequence, _, length in connection.read(0.002):
                    newest = max(newest, sequence + length)
                if newest > connection.expected and (newest - connection.expected) // SEGMENT < IN_FLIGHT:
                    # The window of congestion is not open yet.
                    connection.expected = newest
                    connection.write(_ACK)
            if (newest - connection.expected) // SEGMENT >= IN_FLIGHT:
                break
        first = connection.expected
        took = [connection.write(_ACK, blocks_of(first, place) if sack else b"") for place in range(1, SERIES + 1)]
        # A timer has sent something meanwhile: that series does not count.
        if not connection.read():
            for place, each in enumerate(took, 1):
                times[place].append(each)
        connection.expected = newest
        connection.write(_ACK)
    return {place: statistics.median(each) for place, each in times.items()}


def as_receiver(connection: Connection, sack: bool, series: int) -> Columns:
    """This program sends; the host acknowledges."""
    del sack
    times: dict[int, list[int]] = {place: [] for place in range(1, SERIES + 1)}
    data = bytes(SEGMENT)
    for _ in range(series):
        first = connection.next
        for place in times:
            times[place].append(connection.write(_ACK, data=data, at=first + (2 * place - 1) * SEGMENT))
        for place in times:
            connection.write(_ACK | _PUSH, data=data, at=first + (2 * place - 2) * SEGMENT)
        connection.next = first + 2 * SERIES * SEGMENT
        # The host reads what has come.
        time.sleep(0.0005)
        connection.read()
    return {place: statistics.median(each) for place, each in times.items()}


@contextlib.contextmanager
def host() -> Iterator[tuple[str, int]]:
    """A namespace and the other end of its TUN device."""
    name, device = f"sk-{os.getpid()}", f"sk{os.getpid()}"
    call("ip", "netns", "add", name)
    tun = os.open("/dev/net/tun", os.O_RDWR)
    try:
        fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", device.encode(), _TUN_WITHOUT_HEADER))
        call("ip", "link", "set", device, "netns", name)
        call("ip", "-n", name, "address", "add", f"{HOST}/24", "dev", device)
        call("ip", "-n", name, "link", "set", device, "txqueuelen", 5000, "up")
        call("ip", "netns", "exec", name, "sysctl", "-q", "net.ipv4.tcp_reordering=127", "net.ipv4.tcp_timestamps=0")
        yield name, tun
    finally:
        os.close(tun)
        call("ip", "netns", "delete", name, check=False)


def connect(role: str, sack: bool, series: int) -> Columns:
    """The times of one connection of a host in this role."""
    with host() as (name, tun):
        peer = ["ip", "netns", "exec", name, sys.executable, str(PEER)]
        words = ["send", OWN, str(PORT), "reno", "600"] if role == "sender" else ["receive", HOST]
        with subprocess.Popen([*peer, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            port = None if role == "sender" else int(process.stdout.readline())
            connection = Connection(tun)
            connection.handshake(sack, port)
            found = ROLES[role](connection, sack, series)
            process.kill()
    return found


ROLES: Mapping[str, Callable[[Connection, bool, int], Columns]] = {"sender": as_sender, "receiver": as_receiver}


def rows(pairs: int, series: int) -> Iterator[dict[str, str | float]]:
    """The table: by role and place."""
    for role in ROLES:
        found = [(connect(role, True, series), connect(role, False, series)) for _ in range(pairs)]
        for place in range(1, SERIES + 1):
            columns = {
                "with_sack": [one[place] for one, _ in found],
                "without": [other[place] for _, other in found],
                "difference": [one[place] - other[place] for one, other in found],
            }
            row: dict[str, str | float] = {"host": role, "place": place, "blocks": min(place, 4)}
            for name, column in columns.items():
                row[f"{name}_ns"], row[f"{name}_ci95_ns"] = (round(each or 0) for each in mean_ci95(column))
            yield row


def main() -> int:
    """Prints the table, and stores it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=12, help="connections with SACK, and without (12)")
    parser.add_argument("--series", type=int, default=400, help="series of packets of each (400)")
    parser.add_argument("--csv", type=Path, help="where the table is stored")
    options = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("root is needed for network namespaces")
    found = []
    for row in rows(options.pairs, options.series):
        found.append(row)
        words = (
            f"{what.replace('_', ' ')} {row[f'{what}_ns']:.0f} ± {row[f'{what}_ci95_ns']:.0f} ns"
            for what in ("with_sack", "without", "difference")
        )
        print(f"{row['host']}, packet {row['place']} ({row['blocks']} blocks): {', '.join(words)}", flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]))
            writer.writeheader()
            writer.writerows(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
