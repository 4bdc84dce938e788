"""Writes findings/: for each rule about 802.11 frames small captures whose truth is known.

`KIND-guilty.pcap`, and `KIND-guilty-...`, break the rule of their name and no other; `KIND-innocent.pcap` keeps it
where it applies; in `KIND-undecidable.pcap` frames that the monitor missed, or a time that no frame shows, leave it
open; `KIND-near.pcap` looks like a violation and is none. Other names say what is missing in a capture that accuses
nobody.
"""

import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tim_never_set import (
    ACCESS_POINT,
    ACK,
    AID,
    BEACON,
    BEACON_INTERVAL_TU,
    DATA,
    FROM_DS,
    MORE_DATA,
    NULL,
    PS_POLL,
    STATION,
    TIME_UNIT_S,
    TO_DS,
    control,
    header,
    write,
)
from tim_never_set import POWER_MANAGEMENT as PM

EVERYBODY = b"\xff" * 6
BEACONS = b"beacon"  # An access point that counts its beacons apart.
ASSOCIATION_REQUEST, ASSOCIATION_RESPONSE, ACTION = 0x00, 0x10, 0xD0
QOS_DATA, QOS_NULL, RETRY, EOSP, CTS = 0x88, 0xC8, 0x08, 0x10, 0xC4
OTHER = b"\x02\x00\x00\x00\x00\x03"
INTERVAL_MS = BEACON_INTERVAL_TU * TIME_UNIT_S * 1e3
# HE capabilities: the station may ask for target wake time, the access point answers.
TWT_REQUESTER, TWT_RESPONDER = (bytes([255, 22, 35, bit]) + bytes(16) + b"\xfa\xff\xfa\xff" for bit in (0x02, 0x04))
# A set-up of target wake time that is accepted: flow 0, implicit, each 2^20 us for 16.384 ms (802.11ax-2021 9.4.2.199).
TWT_ACCEPTED = b"\x16\x06\x01\xd8\x0f\x00" + struct.pack("<HQBHB", 4 << 1 | 1 << 5 | 20 << 10, 0, 64, 1, 0)
WMM = b"\xdd\x07\x00\x50\xf2\x02\x00\x01"
SNAP_IP = b"\xaa\xaa\x03\x00\x00\x00\x08\x00"


class Air:
    """An access point with one counter for beacons and other frames, a station, and a monitor that may miss frames."""

    def __init__(self) -> None:
        self.frames: list[tuple[float, int, bytes]] = []
        self.number = {ACCESS_POINT: 0, STATION: 0, BEACONS: 0}
        self.beacons = 0
        # Whose counter beacons have.
        self.counter = ACCESS_POINT
        # When the access point started, by the time of its clock.
        self.started_ms = 0.0

    def put(self, at_ms: float, frame: bytes, *, answered: bytes | None = None, missed: bool = False) -> None:
        """A frame at a time; `answered` is whom an acknowledgement follows; `missed` frames are not captured."""
        rate = 2 if frame[0] == BEACON else 48
        if not missed:
            self.frames.append((at_ms / 1e3, rate, frame))
        if answered is not None and not missed:
            self.frames.append((at_ms / 1e3 + 0.0002, 48, control(ACK, answered)))

    def next(self, sender: bytes) -> int:
        """The next sequence number of a sender."""
        self.number[sender] = (self.number[sender] + 1) & 0xFFF
        return self.number[sender]

    def beacon(
        self,
        *,
        bit: bool = False,
        count: int = 0,
        period: int = 1,
        group: bool = False,
        tim: bool = True,
        late_ms: float = 0.0,
        uapsd: bool | None = None,
        more: bytes = b"",
        missed: bool = False,
    ) -> float:
        """The next beacon, with `more` elements; gives its time in milliseconds."""
        at_ms = INTERVAL_MS * self.beacons + late_ms
        self.beacons += 1
        body = (
            struct.pack("<QHH", round(1e3 * (at_ms - self.started_ms)), BEACON_INTERVAL_TU, 0x0001) + b"\x00\x07example"
        )
        if tim:
            body += bytes([5, 4, count, period, group, (1 << AID) * bit])
        if uapsd is not None:
            body += WMM + bytes([0x80 * uapsd])
        body += more
        number = self.next(self.counter)
        frame = header(BEACON, 0, EVERYBODY, ACCESS_POINT, ACCESS_POINT, sequence=number) + body
        self.put(at_ms, frame, missed=missed)
        return at_ms

    def again(self, at_ms: float, frame: bytes) -> None:
        """Puts the retransmission of a frame to the station, which is acknowledged."""
        self.put(at_ms, bytes([frame[0], frame[1] | RETRY]) + frame[2:], answered=ACCESS_POINT)

    def down(
        self, at_ms: float, *, more: bool = False, missed: bool = False, heard: bool = True, packet: bytes = b""
    ) -> bytes:
        """A data frame to the station, which acknowledges it if it hears it."""
        number = self.next(ACCESS_POINT)
        flags = FROM_DS | (MORE_DATA if more else 0)
        frame = header(DATA, flags, STATION, ACCESS_POINT, ACCESS_POINT, sequence=number) + (packet or datagram())
        self.put(at_ms, frame, answered=ACCESS_POINT if heard else None, missed=missed)
        return frame

    def empty(self, at_ms: float) -> None:
        """A Null frame to the station: there is nothing for it."""
        number = self.next(ACCESS_POINT)
        null = header(NULL, FROM_DS, STATION, ACCESS_POINT, ACCESS_POINT, sequence=number)
        self.put(at_ms, null, answered=ACCESS_POINT)

    def group(self, at_ms: float, *, more: bool = False, missed: bool = False) -> None:
        """A group-addressed frame."""
        number = self.next(ACCESS_POINT)
        flags = FROM_DS | (MORE_DATA if more else 0)
        head = header(DATA, flags, EVERYBODY, ACCESS_POINT, ACCESS_POINT, sequence=number)
        self.put(at_ms, head + datagram(), missed=missed)

    def null(self, at_ms: float, *, sleeps: bool, missed: bool = False) -> None:
        """The station says whether it sleeps from now on."""
        flags = TO_DS | (PM if sleeps else 0)
        number = self.next(STATION)
        null = header(NULL, flags, ACCESS_POINT, STATION, ACCESS_POINT, sequence=number)
        self.put(at_ms, null, answered=STATION, missed=missed)

    def up(self, at_ms: float, packet: bytes = b"") -> None:
        """A data frame of the station, which stays in power save."""
        number = self.next(STATION)
        head = header(DATA, TO_DS | PM, ACCESS_POINT, STATION, ACCESS_POINT, sequence=number)
        self.put(at_ms, head + (packet or datagram()), answered=STATION)

    def poll(self, at_ms: float, *, heard: bool = True) -> None:
        """A PS-Poll, which the access point acknowledges if it hears it."""
        poll = control(PS_POLL, ACCESS_POINT, STATION, field=0xC000 | AID)
        self.put(at_ms, poll, answered=STATION if heard else None)

    def trigger(self, at_ms: float) -> None:
        """A trigger frame of U-APSD: a QoS Null frame."""
        head = header(QOS_NULL, TO_DS | PM, ACCESS_POINT, STATION, ACCESS_POINT) + b"\x06\x00"
        self.put(at_ms, head, answered=STATION)

    def served(
        self, at_ms: float, number: int, *, last: bool, missed: bool = False, tid: int = 6, more: bool = False
    ) -> None:
        """A QoS data frame to the station, with EOSP or not."""
        flags = FROM_DS | (MORE_DATA if more else 0)
        head = header(QOS_DATA, flags, STATION, ACCESS_POINT, ACCESS_POINT, sequence=number)
        frame = head + bytes([tid | EOSP * last, 0]) + datagram()
        self.put(at_ms, frame, answered=ACCESS_POINT, missed=missed)

    def associate(self, categories: int = 0x0F) -> None:
        """The station associates with U-APSD in these access categories and sleeps."""
        request = header(ASSOCIATION_REQUEST, 0, ACCESS_POINT, STATION, ACCESS_POINT) + b"\x31\x04\x0a\x00" + WMM
        self.put(5, request + bytes([categories]))
        answer = struct.pack("<HHH", 1, 0, 0xC000 | AID) + WMM + b"\x80"
        self.put(6, header(ASSOCIATION_RESPONSE, 0, STATION, ACCESS_POINT, ACCESS_POINT) + answer)
        self.null(10, sleeps=True)

    def begin(self) -> None:
        """Three beacons with frames between them, so that the counter shows itself; the station then sleeps."""
        for _ in range(3):
            self.down(self.beacon() + 5)
        self.poll(INTERVAL_MS * 2 + 20)
        self.down(INTERVAL_MS * 2 + 21)
        self.null(INTERVAL_MS * 2 + 30, sleeps=True)

    def end(self, *, empty: bool = False) -> None:
        """The station sleeps on, and wakes up after three beacons, to a frame for it unless there is none."""
        for _ in range(3):
            at_ms = self.beacon()
        self.null(at_ms + 50, sleeps=True)
        self.null(at_ms + 70, sleeps=False)
        at_ms = self.beacon()
        if not empty:
            self.down(at_ms + 5)


def datagram() -> bytes:
    """A UDP datagram of 60 bytes to the station, with LLC/SNAP."""
    return SNAP_IP + ip(17, struct.pack(">HHHH", 40000, 40000, 68, 0) + bytes(60), up=False)


def echo(*, reply: bool) -> bytes:
    """An echo request of the station, or its reply."""
    return SNAP_IP + ip(1, struct.pack(">BBHHH", 0 if reply else 8, 0, 0, 7, 1) + bytes(32), up=not reply)


def ip(protocol: int, payload: bytes, *, up: bool) -> bytes:
    """An IPv4 packet between the station and a server."""
    ends = [bytes([192, 168, 7, 2]), bytes([198, 51, 100, 10])]
    source, destination = ends if up else ends[::-1]
    fields = (0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, source, destination)
    return struct.pack(">BBHHHBBH4s4s", *fields) + payload


def fetched(air: Air, at_ms: float, *, more: bool = False) -> None:
    """The station polls and gets a frame."""
    air.poll(at_ms)
    air.down(at_ms + 1, more=more)


def managed(air: Air, at_ms: float) -> None:
    """The station polls and gets an action frame."""
    air.poll(at_ms)
    action = header(ACTION, 0, STATION, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
    air.put(at_ms + 1, action + bytes([3, 0, 1, 0, 0, 0, 0, 0, 0]), answered=ACCESS_POINT)


def retried(air: Air, at_ms: float, *, more: bool) -> None:
    """The station polls and gets a frame at its second transmission, whose More Data bit is not that of the first."""
    air.poll(at_ms)
    frame = air.down(at_ms + 1, more=not more, heard=False)
    air.put(at_ms + 1.8, bytes([frame[0], frame[1] ^ MORE_DATA | RETRY]) + frame[2:], answered=ACCESS_POINT)


def polled(air: Air, at_ms: float, number: int, *, tid: int, more: bool = False, missed: bool = False) -> None:
    """The station polls and gets a QoS frame; the monitor may miss both."""
    if not missed:
        air.poll(at_ms)
    air.served(at_ms + 1, number, last=False, tid=tid, more=more, missed=missed)


def tim_never_set(air: Air, case: str) -> None:
    """Three beacons while a frame waits of which More Data told, or nothing is known; or which the monitor misses."""
    if case == "uapsd":
        # The access point has U-APSD, and the association of the station, which has QoS, was not captured.
        air.beacon(uapsd=True)
        air.null(10, sleeps=True)
        polled(air, air.beacon(bit=True, uapsd=True) + 3, 1, tid=0, more=True)
        for _ in range(3):
            at_ms = air.beacon(uapsd=True)
        polled(air, at_ms + 3, 2, tid=0)
        for _ in range(3):
            at_ms = air.beacon(uapsd=True)
        air.null(at_ms + 10, sleeps=True)
        return
    if case == "later":
        # More Data announced a frame of another traffic identifier, which was fetched unseen. Its next one comes later.
        air.beacon()
        air.null(10, sleeps=True)
        polled(air, air.beacon(bit=True) + 3, 1, tid=0, more=True)
        polled(air, INTERVAL_MS + 6, 1, tid=6, missed=True)
        for _ in range(3):
            air.beacon()
        polled(air, air.beacon(bit=True) + 3, 2, tid=0, more=True)
        for number in (2, 3):
            polled(air, INTERVAL_MS * 5 + 3 * number, number, tid=6)
        air.end(empty=True)
        return
    air.begin()
    if case == "missed":
        for _ in range(3):
            fetched(air, air.beacon(bit=True, missed=True) + 3)
        air.end()
        return
    if case == "busy":
        # The channel is full: a beacon that was composed before the first frame is transmitted after it.
        fetched(air, air.beacon(bit=True) + 3)
        at_ms = INTERVAL_MS * 4
        fetched(air, at_ms + 8, more=True)
        for number in range(20):
            air.put(at_ms + 9.5 + number, control(CTS, OTHER))
        air.beacon(late_ms=30)
        fetched(air, air.beacon(bit=True) + 3)
        air.end()
        return
    if case == "guilty-woke":
        # After beacons without the bit the station wakes up by a Null frame with the next number of its own.
        fetched(air, air.beacon(bit=True) + 3, more=True)
        for _ in range(3):
            at_ms = air.beacon()
        air.null(at_ms + 20, sleeps=False)
        air.down(at_ms + 20.5)
        air.null(at_ms + 60, sleeps=True)
        air.end()
        return
    if case == "awake":
        # The station is awake for a beacon by Null frames that the monitor misses, and no later frame has a number.
        fetched(air, air.beacon(bit=True) + 3, more=True)
        air.null(INTERVAL_MS * air.beacons - 8, sleeps=False, missed=True)
        air.null(air.beacon() + 2, sleeps=True, missed=True)
        fetched(air, air.beacon(bit=True) + 3)
        for _ in range(3):
            air.beacon()
        return
    if case == "taken":
        # The station asks right before a beacon, which comes before the frame.
        fetched(air, air.beacon(bit=True) + 3, more=True)
        at_ms = INTERVAL_MS * 4
        air.poll(at_ms - 3)
        air.beacon()
        air.down(at_ms + 1.2)
        air.end()
        return
    if case in ("retried", "guilty-retried"):
        # The access point clears More Data in the retransmission, or sets it there.
        retried(air, air.beacon(bit=True) + 3, more=case == "guilty-retried")
        for _ in range(2):
            air.beacon()
        fetched(air, air.beacon(bit=True) + 3)
        air.end()
        return
    fetched(air, air.beacon(bit=True) + 3, more=case in ("guilty", "innocent", "restarted"))
    if case == "restarted":
        air.started_ms = INTERVAL_MS * 3 + 50
    if case == "near":
        # The frame answers what the station sent after the last beacon without its bit.
        air.up(air.beacon() + 20, echo(reply=False))
        air.poll(INTERVAL_MS * 5 - 30)
        air.down(INTERVAL_MS * 5 - 29, packet=echo(reply=True))
    else:
        for _ in range(3):
            at_ms = air.beacon(bit=case == "innocent")
        fetched(air, at_ms + 40)
    air.end()


def sent_to_sleeper(air: Air, case: str) -> None:
    """A frame for a station that sleeps, which does not hear it; or one that it asked for."""
    air.begin()
    if case == "missed":
        # It wakes up unseen: its numbers have a gap, with PS-Polls in between, which have none.
        fetched(air, air.beacon(bit=True) + 3)
        at_ms = air.beacon() + 60
        air.null(at_ms - 1, sleeps=False, missed=True)
        again(air, at_ms, air.down(at_ms, heard=False))
        air.null(at_ms + 3, sleeps=True)
        air.end()
        return
    at_ms = air.beacon() + 60
    if case == "innocent":
        fetched(air, at_ms)
    else:
        frame = air.down(at_ms, heard=case == "undecidable")
        if case == "guilty":
            again(air, at_ms, frame)
    air.end()


def again(air: Air, at_ms: float, frame: bytes) -> None:
    """Three more transmissions of a frame that nobody acknowledges."""
    for retry in range(1, 4):
        air.put(at_ms + 0.5 * retry, bytes([frame[0], frame[1] | RETRY]) + frame[2:])


def tim_stuck(air: Air, case: str) -> None:
    """The TIM bit, a PS-Poll, and a Null frame for an answer; or that of a second one, after QoS data was missed.

    In `probe` the station was silent before, and the Null frame itself was buffered, to ask whether it is there.
    """
    air.begin()
    if case == "probe":
        for _ in range(12):
            air.beacon()
    if case == "late":
        # The station fetches the frame before a beacon that announces it is transmitted, on a full channel.
        air.beacon(bit=True)
        at_ms = INTERVAL_MS * 4
        fetched(air, at_ms + 5)
        for number in range(20):
            air.put(at_ms + 7 + number, control(CTS, OTHER))
        air.beacon(bit=True, late_ms=30)
        air.poll(at_ms + 33)
        air.empty(at_ms + 34)
        air.end()
        return
    if case in ("missed", "acknowledged"):
        if case == "missed":
            air.served(INTERVAL_MS * 2 + 25, 1, last=False)
        for number in range(4):
            at_ms = air.beacon(bit=True)
            air.poll(at_ms + 3)
            air.served(at_ms + 3.5, number + 2, last=False, missed=True)
            if case == "acknowledged":
                air.put(at_ms + 3.7, control(ACK, ACCESS_POINT))
            air.poll(at_ms + 6)
            air.empty(at_ms + 7)
        if case == "missed":
            air.beacon(bit=True)
            air.poll(INTERVAL_MS * 7 + 3)
            air.served(INTERVAL_MS * 7 + 4, 6, last=False)
        air.end()
        return
    if case == "managed":
        # What was buffered is an action frame.
        managed(air, air.beacon(bit=True) + 3)
        air.poll(INTERVAL_MS * 3 + 6)
        air.empty(INTERVAL_MS * 3 + 7)
        air.end()
        return
    # One frame was missed at first; what the others answer, an empty buffer, does not depend on it.
    for _ in range(4 if case == "guilty-gap" else 1):
        at_ms = air.beacon(bit=True)
        if case in ("undecidable", "guilty-gap") and air.beacons == 4:
            air.down(at_ms + 2, missed=True)
        air.poll(at_ms + 3)
        air.down(at_ms + 4) if case == "innocent" else air.empty(at_ms + 4)
    air.end()


def tim_missing(air: Air, case: str) -> None:
    """Beacons with and without a TIM element."""
    air.begin()
    for _ in range(3):
        air.beacon(tim=case == "innocent")
    air.end()


def more_data_then_nothing(air: Air, case: str) -> None:
    """More Data, a PS-Poll, and nothing; or the frame, which the monitor may miss; or a retry without the bit."""
    air.begin()
    at_ms = air.beacon(bit=True)
    if case == "retried":
        fetched(air, at_ms + 3, more=True)
        fetched(air, at_ms + 6)
        at_ms = air.beacon(bit=True)
        retried(air, at_ms + 3, more=False)
        air.poll(at_ms + 6)
        air.end()
        air.end()
        return
    fetched(air, at_ms + 3, more=True)
    air.poll(at_ms + 6)
    if case != "guilty":
        air.down(at_ms + 7, missed=case == "undecidable")
    air.end()
    air.end()


def more_data_missing(air: Air, case: str) -> None:
    """Two group-addressed frames after a DTIM beacon."""
    air.begin()
    at_ms = air.beacon(group=True)
    air.group(at_ms + 2, more=case == "innocent")
    if case == "near":
        # The second one is of the next interval.
        at_ms = air.beacon(group=True)
    air.group(at_ms + 4)
    air.end()


def eosp_missing(air: Air, case: str) -> None:
    """Service periods that EOSP ends, or never, or of which the monitor missed one end."""
    air.associate()
    for number in range(8):
        at_ms = air.beacon(uapsd=True) + 30
        air.trigger(at_ms)
        lost = case == "undecidable" and number == 3
        air.served(at_ms + 1, 2 * number + 1, last=False)
        if not lost:
            air.served(at_ms + 2, 2 * number + 2, last=case != "guilty")
    for _ in range(3):
        air.beacon(uapsd=True)


def uapsd_not_granted(air: Air, case: str) -> None:
    """An access point that announces U-APSD, a station that asks for it or not, and the answer."""
    air.beacon(uapsd=True)
    asked = WMM + bytes([0 if case == "near" else 0x0F])
    request = header(ASSOCIATION_REQUEST, 0, ACCESS_POINT, STATION, ACCESS_POINT) + b"\x31\x04\x0a\x00" + asked
    air.put(5, request, answered=STATION)
    answer = struct.pack("<HHH", 1, 0, 0xC000 | AID) + WMM + bytes([0x80 * (case == "innocent")])
    response = header(ASSOCIATION_RESPONSE, 0, STATION, ACCESS_POINT, ACCESS_POINT) + answer
    air.put(6, response, answered=ACCESS_POINT)
    air.null(10, sleeps=False)
    air.beacon(uapsd=True)


def late_delivery(air: Air, case: str) -> None:
    """A PS-Poll, and its frame after 80 ms; or at once; or on a full channel; or what came before was missed.

    In `repeated` that may be a retransmission, which leaves no gap in the numbers, and in `copy` the frame itself is
    one. In `ended` an empty service period ends the wait, and the next one has the frame.
    """
    if case == "ended":
        air.associate()
        for number in range(5):
            at_ms = air.beacon(uapsd=True, bit=True) + 3
            air.trigger(at_ms)
            if number == 2:
                head = header(QOS_NULL, FROM_DS, STATION, ACCESS_POINT, ACCESS_POINT) + bytes([6 | EOSP, 0])
                air.put(at_ms + 5, head, answered=ACCESS_POINT)
                for later in range(4):
                    air.put(at_ms + 20 * (later + 1), control(CTS, OTHER))
            else:
                air.served(at_ms + 1, number + 1 - (number > 2), last=True)
        return
    air.begin()
    at_ms = air.beacon(bit=True) + 3
    if case == "repeated":
        air.poll(at_ms)
        air.down(at_ms + 1, more=True, heard=False)
        at_ms = air.beacon(bit=True) + 3
    air.poll(at_ms)
    if case == "undecidable":
        air.down(at_ms + 1, missed=True)
    # A full channel; or now and then a frame, so that the monitor cannot have stalled.
    every_ms, count = {"near": (0.7, 113), "guilty": (20, 3), "repeated": (20, 3), "copy": (20, 3)}.get(case, (0, 0))
    for number in range(count):
        air.put(at_ms + every_ms * (number + 1), control(CTS, OTHER))
    if case == "copy":
        frame = air.down(at_ms + 1, missed=True)
        air.again(at_ms + 80, frame)
    else:
        air.down(at_ms + (1 if case == "innocent" else 80))
    air.end()


def late_fetch(air: Air, case: str) -> None:
    """A station with a listen interval of one beacon that asks after six; or at once; or with a target wake time."""
    asks, answers = (TWT_REQUESTER, TWT_RESPONDER) if case == "near" else (b"", b"")
    air.begin()
    if case != "undecidable":
        at_ms = INTERVAL_MS * 2 + 40
        request = header(ASSOCIATION_REQUEST, 0, ACCESS_POINT, STATION, ACCESS_POINT) + b"\x31\x04\x01\x00" + asks
        air.put(at_ms, request, answered=STATION)
        number = air.next(ACCESS_POINT)
        response = header(ASSOCIATION_RESPONSE, 0, STATION, ACCESS_POINT, ACCESS_POINT, sequence=number)
        air.put(at_ms + 1, response + struct.pack("<HHH", 1, 0, 0xC000 | AID) + answers, answered=ACCESS_POINT)
        if case == "near":
            set_up = header(ACTION, 0, STATION, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
            air.put(at_ms + 2, set_up + TWT_ACCEPTED, answered=ACCESS_POINT)
        air.null(at_ms + 5, sleeps=True)
    for _ in range(1 if case == "innocent" else 6):
        at_ms = air.beacon(bit=True, more=answers)
    fetched(air, at_ms + 3)
    air.end()


def pm_flapping(air: Air, case: str) -> None:
    """Ten changes of PM, close to each other or far apart."""
    air.beacon()
    for number in range(10):
        apart_ms = 20 if case == "guilty" else 130
        air.null(10 + number * apart_ms, sleeps=number % 2 == 0)
    air.beacons = 14
    air.beacon()


def awake_in_power_save(air: Air, case: str) -> None:
    """Thirty frames with PM = 1, so close that the radio cannot sleep, or not; or none of which says so."""
    air.begin()
    at_ms = air.beacon() + 10
    for number in range(30):
        air.up(at_ms + number * (20 if case == "innocent" else 6))
    air.beacons = 11 if case == "innocent" else 6
    air.end()


def ps_poll_unanswered(air: Air, case: str) -> None:
    """A PS-Poll that is acknowledged, and no response though the TIM bit stays; or the monitor missed one.

    In `guilty-again` the station asks after each of twenty beacons, in `guilty-later` its second PS-Poll is answered,
    in `guilty-qos` the fifth, with QoS data whose numbers say that none was sent before.
    """
    if case == "guilty-qos":
        for number in range(3):
            at_ms = air.beacon(group=True)
            air.group(at_ms + 2)
            air.served(at_ms + 5, number, last=False, tid=0)
        air.poll(INTERVAL_MS * 2 + 20)
        air.served(INTERVAL_MS * 2 + 21, 3, last=False, tid=0)
        air.null(INTERVAL_MS * 2 + 30, sleeps=True)
        for _ in range(5):
            at_ms = air.beacon(bit=True)
            air.poll(at_ms + 2)
        air.served(at_ms + 3, 4, last=False, tid=0)
        air.end(empty=True)
        return
    air.begin()
    if case == "guilty-again":
        for _ in range(20):
            air.poll(air.beacon(bit=True) + 2)
        air.beacon(bit=True)
        air.end(empty=True)
        return
    if case == "guilty-later":
        air.poll(air.beacon(bit=True) + 2)
        for _ in range(3):
            at_ms = air.beacon(bit=True)
        fetched(air, at_ms + 2)
        air.end()
        return
    if case == "managed":
        # An action frame answers, and the frame of the later beacons is another one.
        managed(air, air.beacon(bit=True) + 3)
        for _ in range(4):
            at_ms = air.beacon(bit=True)
        fetched(air, at_ms + 3)
        air.end()
        return
    at_ms = air.beacon(bit=True) + 3
    air.poll(at_ms)
    if case == "innocent":
        air.down(at_ms + 1)
    elif case == "undecidable":
        air.down(at_ms + 1, missed=True)
    # Near: the frame went out of the buffer in another way, since the bit is gone.
    for _ in range(3):
        air.beacon(bit=case in ("guilty", "undecidable"))
    air.end(empty=case == "guilty")


def group_not_after_dtim(air: Air, case: str) -> None:
    """A group-addressed frame after a beacon that is no DTIM, while the station sleeps or is awake."""
    for number in range(4):
        air.down(air.beacon(count=number % 2, period=2) + 5)
    at_ms = air.beacon(count=0, period=2)
    if case != "near":
        air.null(at_ms + 20, sleeps=True)
    if case != "innocent":
        at_ms = air.beacon(count=1, period=2)
    air.group(at_ms + (3 if case != "innocent" else 2))
    # Whether the station still slept only another frame of it would show.
    if case != "undecidable":
        air.null(at_ms + 60, sleeps=case != "near")
    air.beacon(count=0 if case != "innocent" else 1, period=2)


def group_not_sent(air: Air, case: str) -> None:
    """A DTIM beacon that announces group-addressed frames, and none, or one that the monitor may miss.

    In `apart` beacons have a counter of their own, whose numbers fit by chance.
    """
    if case == "apart":
        air.counter = BEACONS
    air.begin()
    for _ in range(2):
        at_ms = air.beacon(group=True)
        air.group(at_ms + 2)
    at_ms = air.beacon(group=True)
    if case != "guilty":
        air.group(at_ms + 2, missed=case in ("undecidable", "apart"))
    air.end()


def dtim_skipped(air: Air, case: str) -> None:
    """DTIM counts of a period of three, one of which does not continue the one before."""
    counts = [2, 1, 0, 2, 1, 0, 2, 1, 0]
    if case == "guilty":
        counts[4] = 2
    for number, count in enumerate(counts):
        air.beacon(count=count, period=3, missed=case == "near" and number == 4)
    air.null(INTERVAL_MS * 9, sleeps=False)


def beacon_late(air: Air, case: str) -> None:
    """Thirty beacons, of which one is late by 15 ms, or by what a busy channel delays it; or on a full one."""
    air.null(10, sleeps=False)
    for number in range(30):
        late_ms = (
            0.3 * (number % 3) + (number == 12) * {"guilty": 15.0, "busy": 15.0, "near": 7.0, "innocent": 0.0}[case]
        )
        if case == "busy" and number == 12:
            for other in range(24):
                air.put(INTERVAL_MS * 12 - 1 + 0.7 * other, control(CTS, OTHER))
        air.beacon(late_ms=late_ms)


def beacon_missing(air: Air, case: str) -> None:
    """Forty beacons of which one was not captured, with a number that it had or not; or a monitor that misses many.

    In `apart` beacons have a counter of their own, and another frame has the number.
    """
    air.null(10, sleeps=False)
    if case == "apart":
        air.counter = BEACONS
        for number in range(40):
            at_ms = air.beacon(missed=number == 20)
            if number in (5, 10, 19):
                # The last one has the number of the beacon that was missed.
                air.number[ACCESS_POINT] = number + (number == 19)
                air.down(at_ms + 10)
        return
    for number in range(40):
        if number == 20 and case == "guilty":
            air.beacons += 1
            continue
        missed = {"undecidable": number == 20, "near": number % 3 == 1}.get(case, False)
        air.beacon(missed=missed)


Case = Callable[[Air, str], None]
CASES: dict[str, tuple[Case, tuple[str, ...]]] = {
    "tim-never-set": (
        tim_never_set,
        (
            "guilty",
            "innocent",
            "undecidable",
            "near",
            "missed",
            "later",
            "restarted",
            "busy",
            "uapsd",
            "retried",
            "guilty-retried",
            "guilty-woke",
            "awake",
            "taken",
        ),
    ),
    "sent-to-sleeping-station": (sent_to_sleeper, ("guilty", "innocent", "undecidable", "missed")),
    "tim-stuck": (
        tim_stuck,
        ("guilty", "guilty-gap", "innocent", "undecidable", "missed", "acknowledged", "late", "probe", "managed"),
    ),
    "tim-missing": (tim_missing, ("guilty", "innocent")),
    "more-data-then-nothing": (more_data_then_nothing, ("guilty", "innocent", "undecidable", "retried")),
    "more-data-missing": (more_data_missing, ("guilty", "innocent", "near")),
    "eosp-missing": (eosp_missing, ("guilty", "innocent", "undecidable")),
    "uapsd-not-granted": (uapsd_not_granted, ("guilty", "innocent", "near")),
    "late-delivery": (late_delivery, ("guilty", "innocent", "undecidable", "near", "repeated", "copy", "ended")),
    "late-fetch": (late_fetch, ("guilty", "innocent", "undecidable", "near")),
    "pm-flapping": (pm_flapping, ("guilty", "innocent")),
    "awake-in-power-save": (awake_in_power_save, ("guilty", "innocent")),
    "ps-poll-unanswered": (
        ps_poll_unanswered,
        ("guilty", "guilty-again", "guilty-later", "guilty-qos", "innocent", "undecidable", "near", "managed"),
    ),
    "group-not-after-dtim": (group_not_after_dtim, ("guilty", "innocent", "undecidable", "near")),
    "group-announced-not-sent": (group_not_sent, ("guilty", "innocent", "undecidable", "apart")),
    "dtim-skipped": (dtim_skipped, ("guilty", "innocent", "near")),
    "beacon-late": (beacon_late, ("guilty", "innocent", "near", "busy")),
    "beacon-missing": (beacon_missing, ("guilty", "innocent", "undecidable", "near", "apart")),
}


def main(folder: Path, kinds: Mapping[str, tuple[Case, tuple[str, ...]]]) -> None:
    """Writes every case of every kind."""
    folder.mkdir(exist_ok=True)
    for kind, (make, cases) in kinds.items():
        for case in cases:
            air = Air()
            make(air, case)
            write(str(folder / f"{kind}-{case}.pcap"), sorted(air.frames))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "findings"), CASES)
