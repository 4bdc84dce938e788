"""Writes to findings/, beside findings.py: what access points do that looks like a fault, and faults that look so.

A capture is named as there. The names of cases: `reserved` (other cells hold the medium by the Duration field of their
frames), `quiet` (a Quiet element), `absent` (a notice of absence of Wi-Fi Direct), `switch` (the access point announces
another channel), `called` (it sends RTS, which the station does not answer, MU-RTS in `triggered`, MU-RTS to a group in
`grouped`; in `guilty-grouped` that calls others), `managed`
(a management frame is what was buffered), `trigger` (U-APSD in all access categories, which the TIM is then about).
"""

import struct
import sys
from pathlib import Path

from findings import (
    ACTION,
    ASSOCIATION_REQUEST,
    ASSOCIATION_RESPONSE,
    BEACONS,
    CTS,
    EVERYBODY,
    INTERVAL_MS,
    OTHER,
    QOS_DATA,
    QOS_NULL,
    Air,
    Case,
    again,
    datagram,
    fetched,
    main,
    managed,
    polled,
    retried,
)
from tim_never_set import (
    ACCESS_POINT,
    AID,
    FROM_DS,
    MORE_DATA,
    STATION,
    TO_DS,
    control,
    header,
)
from tim_never_set import POWER_MANAGEMENT as PM

RTS, PROBE_REQUEST, TRIGGER, DEAUTHENTICATION = 0xB4, 0x40, 0x24, 0xC0
FURTHER = b"\x02\x00\x00\x00\x00\x04"
# The group address of frames that are sent again by a retry policy for groups (GCR).
CONCEALMENT = b"\x01\x0f\xac\x47\x43\x52"
MOST_US = 32_000


def reserve(air: Air, from_ms: float, until_ms: float) -> None:
    """Another cell reserves the medium: by RTS and CTS for 32 ms at most each time, and again right after that."""
    while until_ms - from_ms > 0.5:
        lasts_us = min(MOST_US, round(1e3 * (until_ms - from_ms)))
        air.put(from_ms, control(RTS, OTHER, FURTHER, field=lasts_us))
        air.put(from_ms + 0.1, control(CTS, FURTHER, field=lasts_us - 100))
        from_ms += lasts_us / 1e3 + 0.2


def call(air: Air, at_ms: float, times: int, each_ms: float) -> None:
    """The access point calls the station, which does not answer."""
    for number in range(times):
        air.put(at_ms + each_ms * number, control(RTS, STATION, ACCESS_POINT, field=300))


def act(air: Air, at_ms: float, *, more: bool = False) -> None:
    """An action frame to the station."""
    flags = MORE_DATA if more else 0
    head = header(ACTION, flags, STATION, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
    air.put(at_ms, head + bytes([3, 0, 1, 0, 0, 0, 0, 0, 0]), answered=ACCESS_POINT)


def acts(air: Air, at_ms: float, *, sleeps: bool) -> None:
    """An action frame of the station, whose PM bit says whether it sleeps."""
    flags = PM if sleeps else 0
    head = header(ACTION, flags, ACCESS_POINT, STATION, ACCESS_POINT, sequence=air.next(STATION))
    air.put(at_ms, head + bytes([3, 0, 1, 0, 0, 0, 0, 0, 0]), answered=STATION)


def quiet(count: int, lasts_tu: int, after_tu: int) -> bytes:
    """A Quiet element for an interval so long after the target time of the beacon that comes so many beacons later."""
    return bytes([40, 6, count, 0]) + struct.pack("<HH", lasts_tu, after_tu)


def absent(after_ms: int, lasts_ms: int) -> bytes:
    """An element of Wi-Fi Direct: the group owner is absent in each beacon interval, from the sixth beacon on."""
    start_us = round(1e3 * (INTERVAL_MS * 5 + after_ms))
    times = struct.pack("<BIII", 255, 1000 * lasts_ms, round(1e3 * INTERVAL_MS), start_us)
    notice = bytes([12]) + struct.pack("<HBB", 2 + len(times), 1, 0) + times
    contents = b"\x50\x6f\x9a\x09" + b"\x02\x02\x00\x00\x00" + notice
    return bytes([221, len(contents)]) + contents


def others(air: Air, at_ms: float, until_ms: float) -> None:
    """Now and then a frame of another cell, so that the monitor cannot have stalled."""
    while at_ms < until_ms:
        air.put(at_ms, control(CTS, OTHER))
        at_ms += 20


def tim_never_set(air: Air, case: str) -> None:
    """More Data, beacons without the bit or with it, and what More Data announced."""
    if case in ("guilty-nulls", "alone", "woken"):
        tim_after_qos_nulls(air, case)
        return
    if case in FLICKERS:
        flicker(air, case)
        return
    if case == "counters":
        # The data has a counter of its own, so that no number says that the action frame is the announced one.
        air.beacon()
        air.associate(0)
        polled(air, air.beacon(bit=True) + 3, 1, tid=0, more=True)
        for _ in range(2):
            air.beacon()
        managed(air, air.beacon(bit=True) + 3)
        air.end(empty=True)
        return
    if case == "new":
        # After its association the station is in active mode, in which More Data says nothing to it.
        air.beacon()
        associated(air, 5, 10)
        air.down(50, more=True)
        air.null(60, sleeps=True)
        for _ in range(4):
            air.beacon()
        fetched(air, air.beacon(bit=True) + 3)
        air.end()
        return
    if case == "old":
        # Both frames arrived in the first beacon interval, and the second one was discarded after the listen interval.
        air.beacon()
        associated(air, 5, 1)
        air.null(10, sleeps=True)
        air.beacon(bit=True)
        fetched(air, air.beacon(bit=True) + 3, more=True)
        for _ in range(3):
            air.beacon()
        fetched(air, air.beacon(bit=True) + 3)
        air.end()
        return
    if case == "gap":
        # Beacons have a counter of their own. Of management one number is missing, as its later frames show.
        air.counter, air.number[BEACONS] = BEACONS, 500
        air.beacon()
        associated(air, 5, 10)
        air.null(60, sleeps=True)
        polled(air, air.beacon(bit=True) + 3, 1, tid=0, more=True)
        air.next(ACCESS_POINT)
        for _ in range(2):
            air.beacon()
        polled(air, air.beacon(bit=True) + 3, 2, tid=0)
        act(air, air.beacon() + 40)
        air.end(empty=True)
        return
    air.begin()
    at_ms = air.beacon(bit=True) + 3
    if case == "guilty-managed-first":
        air.poll(at_ms)
        act(air, at_ms + 1, more=True)
    else:
        fetched(air, at_ms, more=True)
    if case == "another":
        # Another action frame comes first, without waiting for a beacon.
        managed(air, at_ms + 3)
    if case == "guilty-probe":
        probe = header(PROBE_REQUEST, 0, EVERYBODY, STATION, EVERYBODY, sequence=air.next(STATION))
        air.put(at_ms + 60, probe + b"\x00\x07example")
    for _ in range(2):
        air.beacon(bit=case == "managed")
    at_ms = air.beacon(bit=True) + 3
    if case in ("guilty-managed", "managed"):
        managed(air, at_ms)
    else:
        fetched(air, at_ms)
    air.end()


def tim_after_qos_nulls(air: Air, case: str) -> None:
    """The same for a station that changes its mode by QoS Null frames, which have no number.

    In `woken` it is awake for each of these beacons, and in `alone` only one beacon lacks the bit.
    """
    for number in range(3):
        at_ms = air.beacon(group=True)
        air.group(at_ms + 2)
        air.served(at_ms + 5, number, last=False, tid=0)
    qos_null(air, INTERVAL_MS * 2 + 20, sleeps=True)
    polled(air, air.beacon(bit=True) + 3, 3, tid=0, more=True)
    for _ in range(1 if case == "alone" else 3):
        at_ms = INTERVAL_MS * air.beacons
        if case == "woken":
            qos_null(air, at_ms - 2, sleeps=False, missed=True)
        air.beacon()
        if case == "woken":
            qos_null(air, at_ms + 2, sleeps=True, missed=True)
    polled(air, air.beacon(bit=True) + 3, 4, tid=0)
    qos_null(air, INTERVAL_MS * air.beacons - 20, sleeps=True)
    air.beacon()


FLICKERS = ("guilty-flicker", "guilty-flap", "guilty-flap-qos", "fetched", "aged", "unknown", "stale")


def flicker(air: Air, case: str) -> None:
    """The bit goes out, and on again, before the frame is fetched.

    In `fetched` the monitor misses that one was delivered, in `aged` it may have waited for the listen interval, in
    `unknown` the association is missing, and in `stale` the first bit was composed before the frame that it announces
    was delivered.
    """
    qos = case == "guilty-flap-qos"
    for number in range(3):
        at_ms = air.beacon(group=qos)
        if qos:
            air.group(at_ms + 2)
            air.served(at_ms + 5, number, last=False, tid=0)
        else:
            air.down(at_ms + 5)
    if case == "unknown":
        fetched(air, at_ms + 10)
    else:
        associated(air, at_ms + 20, 1 if case == "aged" else 10)
    air.null(at_ms + 30, sleeps=True)
    if case == "guilty-flicker":
        fetched(air, air.beacon(bit=True) + 3, more=True)
    if case == "stale":
        fetched(air, INTERVAL_MS * 3 - 6)
    at_ms = air.beacon(bit=True) + 3
    if case == "fetched":
        air.down(at_ms, missed=True)
    for _ in range(2 if case in ("guilty-flap", "guilty-flap-qos") else 1):
        air.beacon()
        at_ms = air.beacon(bit=True) + 3
    if qos:
        polled(air, at_ms, 3, tid=0)
    else:
        fetched(air, at_ms)
    air.end(empty=qos)


def associated(air: Air, at_ms: float, listen_interval: int) -> None:
    """The station associates again, without U-APSD."""
    request = header(ASSOCIATION_REQUEST, 0, ACCESS_POINT, STATION, ACCESS_POINT, sequence=air.next(STATION))
    air.put(at_ms, request + struct.pack("<HH", 1, listen_interval), answered=STATION)
    answer = header(ASSOCIATION_RESPONSE, 0, STATION, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
    air.put(at_ms + 1, answer + struct.pack("<HHH", 1, 0, 0xC000 | AID), answered=ACCESS_POINT)


def qos_null(air: Air, at_ms: float, *, sleeps: bool, missed: bool = False) -> None:
    """The station says whether it sleeps by a QoS Null frame; the monitor may miss it, but not the acknowledgement."""
    head = header(QOS_NULL, TO_DS | (PM if sleeps else 0), ACCESS_POINT, STATION, ACCESS_POINT) + b"\x00\x00"
    if missed:
        air.put(at_ms + 0.2, control(0xD4, STATION))
    else:
        air.put(at_ms, head, answered=STATION)


def sent_to_sleeper(air: Air, case: str) -> None:
    """A frame that nobody hears, after the station has left power save by an action frame; or that had to wait."""
    air.begin()
    at_ms = air.beacon()
    if case == "managed":
        acts(air, at_ms + 30, sleeps=False)
        at_ms += 60
    else:
        air.null(at_ms + 20, sleeps=False)
        air.null(at_ms + 30, sleeps=True)
        reserve(air, at_ms + 30.4, at_ms + 62)
        at_ms += 62.5
    again(air, at_ms, air.down(at_ms, heard=False))
    air.end()


def tim_stuck(air: Air, case: str) -> None:
    """The bit for the listen interval, then a PS-Poll and a Null frame: what waited was discarded for its age."""
    air.begin()
    for number in range(12):
        at_ms = air.beacon(bit=True)
        if number == 11:
            air.null(at_ms - 40, sleeps=True)
    air.poll(at_ms + 3)
    air.empty(at_ms + 4)
    air.end()


def more_data_then_nothing(air: Air, case: str) -> None:
    """More Data and a PS-Poll, after which the access point cannot send; or does not, by the numbers of QoS data."""
    if case in ("guilty-qos", "gap"):
        promised_qos(air, case)
        return
    air.begin()
    at_ms = air.beacon(bit=True)
    for after_ms in (3, 6):
        fetched(air, at_ms + after_ms, more=True)
    air.poll(at_ms + 9)
    wait(air, case, at_ms + 9.4)
    fetched(air, air.beacon(bit=True) + 3)
    air.end()


def promised_qos(air: Air, case: str) -> None:
    """QoS data of two identifiers with More Data, a PS-Poll, and nothing, or in `gap` a frame that is missed."""
    for number in range(3):
        at_ms = air.beacon(group=True)
        air.group(at_ms + 2)
        for tid in (0, 5):
            air.served(at_ms + 5 + tid, number, last=False, tid=tid)
    air.poll(at_ms + 20)
    air.served(at_ms + 21, 3, last=False, tid=0)
    air.null(at_ms + 30, sleeps=True)
    at_ms = air.beacon(bit=True)
    polled(air, at_ms + 3, 4, tid=0, more=True)
    air.poll(at_ms + 6)
    if case == "gap":
        air.served(at_ms + 7, 3, last=False, tid=5, missed=True)
    for _ in range(3):
        at_ms = air.beacon()
    air.null(at_ms + 50, sleeps=True)
    at_ms = air.beacon(bit=True)
    polled(air, at_ms + 3, 5, tid=0, more=True)
    polled(air, at_ms + 6, 3 + (case == "gap"), tid=5)
    air.end(empty=True)


def wait(air: Air, case: str, at_ms: float) -> None:
    """Three beacon intervals in which the medium is reserved but for beacons, or the station does not answer."""
    if case == "called":
        call(air, at_ms, 5, 2.0)
    for _ in range(3):
        if case == "reserved":
            reserve(air, at_ms, INTERVAL_MS * air.beacons - 0.5)
        at_ms = air.beacon(bit=True) + 1


def ps_poll_unanswered(air: Air, case: str) -> None:
    """A PS-Poll after which the access point cannot send; or does not."""
    if case in IGNORED or case in SHARED:
        (ignored_poll if case in IGNORED else two_identifiers)(air, case)
        return
    air.begin()
    if case == "acted":
        # The monitor misses that the station enters power save again; an action frame answers it.
        air.null(INTERVAL_MS * 2 + 50, sleeps=False)
        air.null(INTERVAL_MS * 2 + 60, sleeps=True, missed=True)
    at_ms = air.beacon(bit=True) + 3
    air.poll(at_ms)
    if case == "acted":
        act(air, at_ms + 3)
        air.beacon(bit=True)
    else:
        wait(air, case, at_ms + 0.4)
    fetched(air, air.beacon(bit=True) + 3)
    air.end()


# The cases in which a PS-Poll is acknowledged and ignored, and its frame comes four beacons later.
IGNORED = (
    "guilty-promised",
    "guilty-second",
    "copy",
    "missed",
    "unannounced",
    "stale",
    "cleared",
    "waited",
    "unheard",
)
# The same with QoS data of two traffic identifiers: in `guilty-two` alone the second proves that none was sent.
SHARED = ("guilty-two", "gap", "ended")


def ignored_poll(air: Air, case: str) -> None:
    """A PS-Poll that is ignored, and what says that a frame was there.

    That is More Data in `guilty-promised`, `copy` and `missed`; in `guilty-second` a retransmission
    has no More Data, so that the second PS-Poll counts. In `unannounced` nothing announced a frame, in `stale` the
    beacon was composed before the delivery, in `cleared` the last beacon has no bit, in `waited` the frame may be too
    old, in `unheard` the last frame may have been sent again.
    """
    air.begin()
    if case in ("guilty-second", "unheard"):
        associated(air, INTERVAL_MS * 2 + 40, 10)
        air.null(INTERVAL_MS * 2 + 45, sleeps=True)
    for _ in range(3 if case == "waited" else 0):
        air.beacon(bit=True)
    at_ms = air.beacon(bit=case != "unannounced")
    if case == "cleared":
        at_ms = air.beacon()
    elif case == "stale":
        fetched(air, at_ms + 95)
        at_ms = air.beacon(bit=True)
    elif case == "guilty-second":
        retried(air, at_ms + 2, more=False)
    elif case not in ("unannounced", "waited"):
        air.poll(at_ms + 3)
        air.down(at_ms + 4, more=case != "unheard", heard=case != "unheard")
        at_ms = air.beacon(bit=True) if case == "unheard" else at_ms
    air.poll(at_ms + 6)
    if case in ("missed", "copy"):
        frame = air.down(at_ms + 7, missed=True)
    for number in range(4):
        later_ms = air.beacon(bit=True)
        if case == "guilty-second" and number == 0:
            air.poll(later_ms + 3)
    air.poll(later_ms + 2.5)
    if case == "copy":
        air.again(later_ms + 3.5, frame)
    else:
        air.down(later_ms + 3.5)
    air.end()


def two_identifiers(air: Air, case: str) -> None:
    """QoS data of traffic identifiers 0 and 5, a PS-Poll that is ignored for five beacons, and a frame of each."""
    for number in range(3):
        at_ms = air.beacon(group=True)
        air.group(at_ms + 2)
        air.served(at_ms + 5, number, last=False, tid=0)
        air.served(at_ms + 7, number, last=False, tid=5)
    air.poll(INTERVAL_MS * 2 + 20)
    air.served(INTERVAL_MS * 2 + 21, 3, last=False, tid=0)
    air.null(INTERVAL_MS * 2 + 30, sleeps=True)
    at_ms = air.beacon(bit=True)
    air.poll(at_ms + 2)
    if case == "gap":
        air.served(at_ms + 3, 3, last=False, tid=5, missed=True)
    for _ in range(4):
        at_ms = air.beacon(bit=True)
    air.poll(at_ms + 2)
    air.served(at_ms + 3, 4, last=False, tid=0)
    at_ms = air.beacon(bit=case != "ended")
    if case != "ended":
        air.poll(at_ms + 2)
        air.served(at_ms + 3, 4 if case == "gap" else 3, last=False, tid=5)
    air.end(empty=True)


def asked_again(air: Air, case: str) -> None:
    """A PS-Poll that is acknowledged and not answered, another one after the next beacon, and its frame at once.

    In `guilty-again` beacons say before and between them that a frame waits; in `unannounced` only the one between
    says so, so that the frame may have arrived after the first PS-Poll; in `retried` the frame is a retransmission.
    """
    air.begin()
    at_ms = air.beacon(bit=case != "unannounced")
    air.poll(at_ms + 3)
    if case == "retried":
        frame = air.down(at_ms + 4, missed=True)
    at_ms = air.beacon(bit=True)
    air.poll(at_ms + 3)
    if case == "retried":
        air.again(at_ms + 4, frame)
    else:
        air.down(at_ms + 4)
    air.end()


def late_delivery(air: Air, case: str) -> None:
    """A request, and its frame 65 ms later: as the medium was held, or after calls; or triggers that were ignored."""
    if case in ("guilty-again", "unannounced", "retried"):
        asked_again(air, case)
        return
    if case in ("guilty-trigger", "voice", "emptied", "answered"):
        ignored_trigger(air, case)
        return
    air.begin()
    if case == "slept":
        # The station sleeps again before the access point has had time to send, and its next request is missed.
        at_ms = air.beacon(bit=True) + 3
        air.null(at_ms, sleeps=False)
        air.null(at_ms + 12, sleeps=True)
        for _ in range(3):
            at_ms = air.beacon(bit=True)
        air.down(at_ms + 5)
        air.end()
        return
    absence = absent(5, 61) if case == "absent" else b""
    for count in (2, 1):
        air.beacon(more=quiet(count, 60, 5) if case == "quiet" else absence)
    at_ms = air.beacon(bit=True, more=absence) + 3
    air.poll(at_ms)
    if case == "reserved":
        reserve(air, at_ms + 0.4, at_ms + 64.5)
    elif case in ("quiet", "absent"):
        others(air, at_ms + 10, at_ms + 65)
    elif case in ("triggered", "grouped", "guilty-grouped"):
        # A Trigger frame that calls the station (MU-RTS), and others in the frame to a group.
        aids = {"triggered": [AID], "grouped": [9, AID], "guilty-grouped": [9, 10]}[case]
        users = b"".join(struct.pack("<HBH", aid, 0, 0) for aid in aids)
        receiver = STATION if case == "triggered" else EVERYBODY
        for number in range(3):
            frame = control(TRIGGER, receiver, ACCESS_POINT, field=300) + bytes([3, *bytes(7)]) + users
            air.put(at_ms + 1 + number, frame)
        # Too late even if the monitor stalled in the longest silence.
        longer_ms = 0 if case == "triggered" else 15
        others(air, at_ms + 10, at_ms + 65 + longer_ms)
        at_ms += longer_ms
    else:
        call(air, at_ms + 1, 12, 5.0)
    air.down(at_ms + 65)
    air.end()


def ignored_trigger(air: Air, case: str) -> None:
    """Two beacons with the bit after a trigger that was acknowledged, then another trigger and its frame.

    In `voice` only voice is delivered so, which the TIM leaves out; in `emptied` a beacon in between has
    no bit, after the access point said in a QoS Null frame that there is nothing; `answered` has that frame.
    """
    categories = 0x01 if case == "voice" else 0x0F
    number = 0
    air.associate(categories)
    for _ in range(3):
        at_ms = air.beacon(uapsd=True, bit=True) + 3
        air.trigger(at_ms)
        number += 1
        air.served(at_ms + 1, number, last=True)
    at_ms = air.beacon(uapsd=True, bit=True) + 3
    air.trigger(at_ms)
    if case == "answered":
        head = header(QOS_NULL, FROM_DS, STATION, ACCESS_POINT, ACCESS_POINT) + bytes([6 | 0x10, 0])
        air.put(at_ms + 1, head, answered=ACCESS_POINT)
    others(air, at_ms + 10, at_ms + 300)
    for _ in range(2):
        air.beacon(uapsd=True, bit=case in ("guilty-trigger", "voice"))
    at_ms = air.beacon(uapsd=True, bit=True) + 3
    air.trigger(at_ms)
    air.served(at_ms + 1, number + 1, last=True)
    for _ in range(3):
        air.beacon(uapsd=True)


def group_not_after_dtim(air: Air, case: str) -> None:
    """Group-addressed frames after a beacon that is no DTIM: it announced them, too, on a full channel; or GCR."""
    for number in range(4):
        air.down(air.beacon(count=number % 2, period=2) + 5)
    at_ms = air.beacon(count=0, period=2, group=case == "continued")
    air.null(at_ms + 0.5, sleeps=True)
    if case == "continued":
        reserve(air, at_ms + 1, at_ms + INTERVAL_MS - 0.5)
    at_ms = air.beacon(count=1, period=2, group=case == "continued") + 3
    if case == "continued":
        air.group(at_ms, more=True)
        air.group(at_ms + 2)
    else:
        for number in range(3):
            head = header(QOS_DATA, FROM_DS, CONCEALMENT, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
            air.put(at_ms + 3 * number, head + bytes(2) + datagram())
    air.null(at_ms + 60, sleeps=True)
    air.beacon(count=0, period=2)


def group_not_sent(air: Air, case: str) -> None:
    """A DTIM beacon that announces group-addressed frames, which cannot be sent before the next one.

    In `ended` it is a deauthentication of all stations; in `guilty-discovery` there is a FILS Discovery frame alone,
    which comes between beacons and is not announced.
    """
    air.begin()
    at_ms = air.beacon(group=True)
    number = air.next(ACCESS_POINT) if case != "reserved" else 0
    if case == "ended":
        head = header(DEAUTHENTICATION, 0, EVERYBODY, ACCESS_POINT, ACCESS_POINT, sequence=number)
        air.put(at_ms + 2, head + b"\x03\x00")
        for _ in range(3):
            air.beacon()
        return
    if case == "guilty-discovery":
        head = header(ACTION, 0, EVERYBODY, ACCESS_POINT, ACCESS_POINT, sequence=number)
        air.put(at_ms + 20, head + bytes([4, 34]) + bytes(20))
        air.end()
        return
    reserve(air, at_ms + 1, at_ms + INTERVAL_MS - 0.5)
    at_ms = air.beacon(group=True)
    air.group(at_ms + 2)
    air.end()


def beacon_late(air: Air, case: str) -> None:
    """Thirty beacons, of which one is late by 15 ms: the medium was held, by others or by itself."""
    air.null(10, sleeps=False)
    for number in range(30):
        at_ms = INTERVAL_MS * number
        if case == "reserved" and number == 12:
            reserve(air, at_ms - 0.5, at_ms + 14.8)
        if case == "guilty-own" and number == 12:
            air.put(at_ms - 0.5, control(CTS, ACCESS_POINT, field=16_000))
        # From 95 TU after the target time of the beacon before it on, for 20 TU.
        is_told = case == "quiet" and number in (9, 10)
        air.beacon(late_ms=15.6 * (number == 12) + 0.1, more=quiet(11 - number, 20, 95) if is_told else b"")


def beacon_missing(air: Air, case: str) -> None:
    """Forty beacons of which some were not sent: the medium was held, or the access point moved to another channel."""
    air.null(10, sleeps=False)
    for number in range(40):
        if case == "reserved" and number == 20:
            reserve(air, INTERVAL_MS * 20 - 0.5, INTERVAL_MS * 21 - 0.5)
            air.beacons += 1
            continue
        leaves = case == "switch" and 17 <= number < 20
        air.beacon(more=bytes([37, 3, 1, 11, 20 - number]) if leaves else b"")
        if case == "switch" and number == 19:
            air.beacons += 3


CASES: dict[str, tuple[Case, tuple[str, ...]]] = {
    "tim-never-set": (
        tim_never_set,
        (
            "guilty-managed",
            "guilty-managed-first",
            "guilty-probe",
            "guilty-nulls",
            "managed",
            "another",
            "counters",
            "gap",
            "new",
            "old",
            "alone",
            "woken",
            *FLICKERS,
        ),
    ),
    "sent-to-sleeping-station": (sent_to_sleeper, ("managed", "reserved")),
    "tim-stuck": (tim_stuck, ("aged",)),
    "more-data-then-nothing": (more_data_then_nothing, ("reserved", "called", "guilty-qos", "gap")),
    "ps-poll-unanswered": (ps_poll_unanswered, ("reserved", "called", "acted", *IGNORED, *SHARED)),
    "late-delivery": (
        late_delivery,
        (
            "reserved",
            "quiet",
            "absent",
            "called",
            "triggered",
            "grouped",
            "guilty-grouped",
            "guilty-trigger",
            "voice",
            "emptied",
            "answered",
            "slept",
            "guilty-again",
            "unannounced",
            "retried",
        ),
    ),
    "group-not-after-dtim": (group_not_after_dtim, ("continued", "gcr")),
    "group-announced-not-sent": (group_not_sent, ("reserved", "ended", "guilty-discovery")),
    "beacon-late": (beacon_late, ("guilty-own", "reserved", "quiet")),
    "beacon-missing": (beacon_missing, ("reserved", "switch")),
}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "findings"), CASES)
