"""Writes to findings/, beside findings.py: service periods of individual target wake times, kept and not.

A capture is named as there. The periods have 16.384 ms, each 409.6 ms from 357.2 ms on by the access point's clock,
and by that of the capture: 357.2, 766.8, 1176.4 ms. The names of cases: `missed` (the monitor missed a teardown),
`moved` (an information frame names another period), `suspended` (one without a time), `explicit` (each period names
the next one).
"""

import struct
import sys
from pathlib import Path

from findings import (
    ACTION,
    ASSOCIATION_REQUEST,
    ASSOCIATION_RESPONSE,
    INTERVAL_MS,
    TWT_REQUESTER,
    TWT_RESPONDER,
    Air,
    Case,
    again,
    fetched,
    main,
)
from tim_never_set import ACCESS_POINT, AID, STATION, header
from tim_never_set import POWER_MANAGEMENT as PM

FIRST_MS, PERIOD_MS, DURATION_MS = 357.2, 409.6, 16.384
SUGGEST, ACCEPT = 1, 4
S1G, SETUP, TEARDOWN, INFORMATION = 22, 6, 7, 11
# The third beacon is at 204.8 ms; the station sleeps from here on.
SLEEPS_MS = 240.0


def period(number: int) -> float:
    """The time at which a service period begins."""
    return FIRST_MS + PERIOD_MS * number


def action(air: Air, at_ms: float, body: bytes, *, up: bool, sleeps: bool = False, missed: bool = False) -> None:
    """An action frame of the station or of the access point."""
    sender, receiver = (STATION, ACCESS_POINT) if up else (ACCESS_POINT, STATION)
    head = header(ACTION, PM if sleeps else 0, receiver, sender, ACCESS_POINT, sequence=air.next(sender))
    air.put(at_ms, head + body, answered=sender, missed=missed)


def setup(command: int, *, announced: bool, explicit: bool = False, first_ms: float = 0.0) -> bytes:
    """The body of a request (Suggest TWT), or of the answer that accepts it: flow 0, an interval of 400 * 2^10 us."""
    bits = command << 1 | (not explicit) << 5 | (not announced) << 6 | 10 << 10 | (command == SUGGEST)
    return bytes([S1G, SETUP, 1, 216, 15, 0]) + struct.pack("<HQBHB", bits, round(1e3 * first_ms), 64, 400, 0)


def associate(air: Air) -> None:
    """The station associates without U-APSD; the access point's answer has a number, as its other frames have."""
    request = header(ASSOCIATION_REQUEST, 0, ACCESS_POINT, STATION, ACCESS_POINT, sequence=air.next(STATION))
    air.put(5, request + b"\x31\x04\x0a\x00" + TWT_REQUESTER, answered=STATION)
    answer = struct.pack("<HHH", 1, 0, 0xC000 | AID)
    head = header(ASSOCIATION_RESPONSE, 0, STATION, ACCESS_POINT, ACCESS_POINT, sequence=air.next(ACCESS_POINT))
    air.put(6, head + answer + TWT_RESPONDER, answered=ACCESS_POINT)


def agree(air: Air, case: str, *, announced: bool) -> None:
    """The station associates without U-APSD, asks for target wake time, gets it, and sleeps from 240 ms on."""
    air.beacon(more=TWT_RESPONDER)
    associate(air)
    air.beacon(more=TWT_RESPONDER)
    air.down(INTERVAL_MS + 20)
    action(air, INTERVAL_MS + 30, setup(SUGGEST, announced=announced, explicit=case == "explicit"), up=True)
    answer = setup(ACCEPT, announced=announced, explicit=case == "explicit", first_ms=FIRST_MS)
    action(air, INTERVAL_MS + 32, answer, up=False)
    air.beacon(more=TWT_RESPONDER)
    air.null(SLEEPS_MS, sleeps=True)


def beacons_until(air: Air, until_ms: float, *, bit_from: float = 1e9) -> None:
    """The beacons up to a time, with the station's bit from a time on."""
    while INTERVAL_MS * air.beacons < until_ms:
        air.beacon(bit=INTERVAL_MS * air.beacons >= bit_from, more=TWT_RESPONDER)


def delivery(air: Air, case: str) -> None:
    """Data between two unannounced periods, which a station that sleeps does not acknowledge; or in one."""
    agree(air, case, announced=False)
    beacons_until(air, period(0))
    air.up(period(0) + 2)
    if case == "explicit":
        air.down(period(0) + 4)
    at_ms = {"innocent": period(1) + 3, "near": period(1) + DURATION_MS + 3}.get(case, period(1) - 130)
    if case == "missed":
        action(air, period(0) + 60, bytes([S1G, TEARDOWN, 0]), up=True, sleeps=True, missed=True)
    if case == "moved":
        next_us = struct.pack("<Q", round(1e3 * (at_ms - 5)))
        action(air, period(0) + 10, bytes([S1G, INFORMATION, 3 << 5]) + next_us, up=True, sleeps=True)
    beacons_until(air, at_ms)
    is_heard = case in ("innocent", "undecidable", "moved")
    frame = air.down(at_ms, heard=is_heard)
    if not is_heard:
        again(air, at_ms, frame)
    # After an information frame the periods go on from the one that it names.
    last_ms = at_ms + PERIOD_MS if case == "moved" else period(2)
    beacons_until(air, last_ms)
    air.up(last_ms + 2)
    beacons_until(air, last_ms + 200)


def sent(air: Air, case: str) -> None:
    """The station sends between two periods, or in each, or shortly after one in which it had sent."""
    agree(air, case, announced=True)
    beacons_until(air, period(0))
    fetched(air, period(0) + 1)
    if case == "near":
        air.up(period(0) + 14)
        air.up(period(0) + DURATION_MS + 8)
    if case == "suspended":
        action(air, period(0) + 10, bytes([S1G, INFORMATION, 0]), up=True, sleeps=True)
    if case == "undecidable":
        # The monitor misses the teardown.
        action(air, period(0) + 60, bytes([S1G, TEARDOWN, 0]), up=True, sleeps=True, missed=True)
    between_ms = period(1) - 150
    beacons_until(air, between_ms)
    if case in ("guilty", "undecidable", "suspended"):
        air.up(between_ms)
        air.up(between_ms + 2)
    beacons_until(air, period(1))
    fetched(air, period(1) + 1)
    beacons_until(air, period(1) + 200)
    air.null(period(1) + 5, sleeps=True)
    beacons_until(air, period(1) + 300)


def absent(air: Air, case: str) -> None:
    """Beacons announce a frame, and the station comes to the next announced period, or to the one after that."""
    agree(air, case, announced=True)
    beacons_until(air, period(0))
    fetched(air, period(0) + 1)
    # In `near` the frame comes after the period that the station did not use.
    bit_from = period(1) + 30 if case == "near" else period(0) + 150
    beacons_until(air, period(1), bit_from=bit_from)
    if case == "undecidable":
        air.down(period(1) + 3, missed=True)
    comes = period(1 if case == "innocent" else 2)
    beacons_until(air, comes, bit_from=bit_from)
    fetched(air, comes + 1)
    beacons_until(air, comes + 200)
    air.null(comes + 5, sleeps=True)
    beacons_until(air, comes + 300)


CASES: dict[str, tuple[Case, tuple[str, ...]]] = {
    "twt-delivery-outside": (delivery, ("guilty", "innocent", "undecidable", "near", "missed", "moved", "explicit")),
    "twt-sent-outside": (sent, ("guilty", "innocent", "undecidable", "near", "suspended")),
    "twt-absent": (absent, ("guilty", "innocent", "undecidable", "near")),
}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "findings"), CASES)
