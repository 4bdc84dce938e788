"""Captures of access points that did nothing wrong, in which a frame was missed or discarded: no rule is violated."""

import struct

import pytest
from conftest import violated


def _associates(script, air, at_ms, *, more=b""):
    request = script.header(script.ASSOCIATION_REQUEST, 0, script.ACCESS_POINT, script.STATION, script.ACCESS_POINT)
    air.put(at_ms, request + b"\x31\x04\x0a\x00" + more)
    answer = script.header(script.ASSOCIATION_RESPONSE, 0, script.STATION, script.ACCESS_POINT, script.ACCESS_POINT)
    air.put(at_ms + 1, answer + struct.pack("<HHH", 1, 0, 0xC000 | script.AID))


def _emptied_by_an_association(script, air):
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    _associates(script, air, air.beacon(bit=True) + 40)
    air.null(script.INTERVAL_MS * air.beacons - 20, sleeps=True)
    for _ in range(3):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


def _announced_and_fetched_unseen(script, air):
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    air.beacon(bit=True)
    for _ in range(3):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


def _older_than_the_listen_interval(script, air):
    _associates(script, air, script.INTERVAL_MS * air.beacons - 40)
    air.null(script.INTERVAL_MS * air.beacons - 30, sleeps=True)
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    for _ in range(11):
        air.beacon(bit=True)
    for _ in range(5):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


def _answers_a_later_request(script, air):
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    for _ in range(3):
        at_ms = air.beacon()
    air.up(at_ms + 20, script.echo(reply=False))
    air.poll(at_ms + 60)
    air.down(at_ms + 61, packet=script.echo(reply=True))


def _on_another_link(script, air):
    _associates(script, air, script.INTERVAL_MS * air.beacons - 40, more=bytes([255, 5, 107, 0, 1, 1, 0]))
    air.null(script.INTERVAL_MS * air.beacons - 30, sleeps=True)
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    for _ in range(3):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


def _woke_for_a_moment(script, air):
    at_ms = air.beacon(bit=True)
    script.fetched(air, at_ms + 3, more=True)
    air.null(at_ms + 6, sleeps=False)
    air.null(at_ms + 7, sleeps=True)
    for _ in range(3):
        at_ms = air.beacon(bit=True)
    script.fetched(air, at_ms + 3)


def _left_power_save_unseen(script, air):
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    captured = list(air.frames)
    at_ms = script.INTERVAL_MS * air.beacons
    air.null(at_ms - 3, sleeps=False)
    air.null(at_ms + 5, sleeps=True)
    air.frames[:] = captured
    script.fetched(air, air.beacon() + 13)
    # Only the number of this frame shows that two were missed.
    air.null(at_ms + 60, sleeps=True)


def _discarded(script, air, request):
    """Beacons announce the frame and later none: the request comes after the frame was discarded."""
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    air.beacon(bit=True)
    for _ in range(4):
        at_ms = air.beacon()
    request(air, at_ms + 40)
    for _ in range(4):
        at_ms = air.beacon()
    air.null(at_ms + 40, sleeps=True)


def _discarded_and_left_power_save(script, air):
    _discarded(script, air, lambda air, at_ms: air.null(at_ms, sleeps=False))


def _discarded_and_polled(script, air):
    _discarded(script, air, lambda air, at_ms: air.poll(at_ms))


def _left_power_save_at_once(script, air):
    at_ms = air.beacon(bit=True)
    script.fetched(air, at_ms + 3, more=True)
    air.null(at_ms + 8, sleeps=False)
    for _ in range(4):
        at_ms = air.beacon()
    air.null(at_ms + 40, sleeps=True)


@pytest.mark.parametrize(
    "happens",
    [
        _discarded_and_left_power_save,
        _discarded_and_polled,
        _left_power_save_at_once,
        _emptied_by_an_association,
        _left_power_save_unseen,
        _woke_for_a_moment,
        _announced_and_fetched_unseen,
        _older_than_the_listen_interval,
        _answers_a_later_request,
        _on_another_link,
    ],
)
def test_more_data_proves_nothing_about_a_buffer_that_was_emptied(script, tmp_path, happens):
    air = script.Air()
    air.begin()
    happens(script, air)
    air.end()
    script.write(str(tmp_path / "air.pcap"), sorted(air.frames))
    assert violated(tmp_path / "air.pcap") == set()


def _requested_unseen(script, air, *, bit_seen=True):
    """The monitor hears neither the PS-Poll nor the acknowledgements of the answer."""
    script.fetched(air, air.beacon(bit=True) + 3)
    at_ms = air.beacon(bit=True, missed=not bit_seen)
    frame = air.down(at_ms + 60, heard=False)
    air.put(at_ms + 60.7, bytes([frame[0], frame[1] | script.RETRY]) + frame[2:])
    air.null(at_ms + 80, sleeps=True)


def _delivered_unseen_before_a_beacon(script, air):
    at_ms = air.beacon(bit=True, missed=True)
    air.down(at_ms + script.INTERVAL_MS - 2, missed=True)
    at_ms = air.beacon(bit=True)
    air.poll(at_ms + 3)
    air.empty(at_ms + 3.4)


def _not_heard_afterwards(script, air):
    at_ms = air.beacon(bit=True)
    script.fetched(air, at_ms + 3, more=True)
    air.poll(at_ms + 6)
    air.down(at_ms + 7, missed=True)
    for _ in range(3):
        air.beacon(missed=True)
    air.null(script.INTERVAL_MS * air.beacons - 20, sleeps=True)


def _in_fragments(script, air):
    """More Data in the first fragment; the second one is missed."""
    at_ms = air.beacon(bit=True)
    air.poll(at_ms + 3)
    frame = air.down(at_ms + 3.4, more=True, missed=True)
    air.put(at_ms + 3.4, bytes([frame[0], frame[1] | 0x04]) + frame[2:], answered=script.ACCESS_POINT)
    for _ in range(3):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


def _on_a_link_that_the_beacons_have(script, air):
    """The association is not in the capture; the access point's beacons have a Multi-Link element."""
    air.frames = [
        (at, rate, frame + bytes([255, 5, 107, 0, 1, 1, 0]) if frame[0] == script.BEACON else frame)
        for at, rate, frame in air.frames
    ]
    script.fetched(air, air.beacon(bit=True) + 3, more=True)
    for _ in range(3):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 40)


@pytest.mark.parametrize(
    "happens",
    [
        _requested_unseen,
        lambda script, air: _requested_unseen(script, air, bit_seen=False),
        _delivered_unseen_before_a_beacon,
        _not_heard_afterwards,
        _in_fragments,
        _on_a_link_that_the_beacons_have,
    ],
    ids=["poll", "poll and beacon", "before a beacon", "afterwards", "fragments", "links"],
)
def test_what_the_monitor_missed_accuses_nobody(script, tmp_path, happens):
    air = script.Air()
    air.begin()
    happens(script, air)
    air.end()
    script.write(str(tmp_path / "air.pcap"), sorted(air.frames))
    assert violated(tmp_path / "air.pcap") == set()
