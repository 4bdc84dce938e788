"""Findings of several stations and of several access points of one capture."""

import struct

import pytest
from conftest import ROOT

from airwatt import laboratory

SHIPPED = ROOT / "captures" / "findings"
ACCESS_POINT, STATION = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
OTHERS = {ACCESS_POINT: bytes.fromhex("0200000000b1"), STATION: bytes.fromhex("0200000000b2")}


def _records(path):
    file, at = path.read_bytes(), 24
    while at < len(file):
        seconds, micros, length = struct.unpack_from("<III", file, at)
        yield 1_000_000 * seconds + micros, file[at + 16 : at + 16 + length]
        at += 16 + length


def _beside_another_cell(path, folder):
    """The capture with the same frames once more, 33 ms later, as those of another cell."""
    packets = list(_records(path))
    for at_us, packet in packets.copy():
        for own, other in OTHERS.items():
            packet = packet.replace(own, other)
        packets.append((at_us + 33_000, packet))
    both = folder / f"{path.stem}-two-cells.pcap"
    with both.open("wb") as out:
        out.write(path.read_bytes()[:24])
        for at_us, packet in sorted(packets):
            times = struct.pack("<II", at_us // 1_000_000, at_us % 1_000_000)
            out.write(times + struct.pack("<II", len(packet), len(packet)) + packet)
    return both


def _verdicts(document):
    places = {
        (found["kind"], found["station"], place["packet"], place["verdict"], tuple(place["packets"]))
        for found in document["findings"]
        for place in found["occurrences"]
        if found["clause"]
    }
    checks = {
        (check["kind"], check["violated"], check["undecidable"], check["kept"], check["lacks"])
        for check in document["checks"]
    }
    return places, checks


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_all_stations_have_the_verdicts_of_each(path, tmp_path):
    """Also beside another cell, whose frames are on the same channel."""
    for capture in (path, _beside_another_cell(path, tmp_path)):
        whole = laboratory.analyze(capture, station="all", policies=["active"]).to_dict()
        documents = whole.get("analyses", [whole])
        assert len(documents) == (1 if capture == path else 2)
        for document in documents:
            alone = laboratory.analyze(capture, station=document["station"], policies=["active"]).to_dict()
            assert _verdicts(document) == _verdicts(alone), document["station"]


def _many(kind, count, folder):
    """The innocent capture as that of so many stations, one after the other, and the guilty one as of the last."""
    many = folder / f"{count}.pcap"
    with many.open("wb") as out:
        out.write((SHIPPED / f"{kind}-guilty.pcap").read_bytes()[:24])
        for number in range(count):
            address = STATION[:4] + (256 + number).to_bytes(2, "big")
            name = "guilty" if number == count - 1 else "innocent"
            for at_us, packet in _records(SHIPPED / f"{kind}-{name}.pcap"):
                seconds, micros = divmod(at_us, 1_000_000)
                head = struct.pack("<IIII", seconds + 60 * number, micros, len(packet), len(packet))
                out.write(head + packet.replace(STATION, address))
    return many


def test_no_station_is_left_out_in_silence(airwatt, tmp_path):
    asked = ("--station", "all", "--policy", "active", "--fail-if", "findings.sent-to-sleeping-station.count > 0")
    found = airwatt("analyze", _many("sent-to-sleeping-station", 40, tmp_path), *asked)
    assert (found.status, "1 more were not" in found.err) == (3, False), found.err
    many = airwatt("analyze", _many("sent-to-sleeping-station", 101, tmp_path), *asked, "--strict")
    assert (many.status, "1 more were not analysed" in many.err) == (1, True), many.err


def test_each_access_point_has_a_lane_of_beacons(tmp_path):
    from airwatt.plots import analyze, sleepers

    path = SHIPPED / "tim-never-set-guilty.pcap"
    analysis = laboratory.analyze(path, policies=["active"], trace=True)
    [(name, beacons)] = sleepers.Sleepers(analysis.to_dict()).cells
    assert (name, beacons.all()) == ("beacons", True)
    both = _beside_another_cell(path, tmp_path)
    analysis = laboratory.analyze(both, station="02:00:00:00:00:02", policies=["active"], trace=True)
    lanes = sleepers.Sleepers(analysis.to_dict()).cells
    assert sorted(name for name, _ in lanes) == ["beacons of 02:00:00:00:00:01", "beacons of 02:00:00:00:00:b1"]
    (_, first), (_, second) = lanes
    assert first.sum() == second.sum() == beacons.sum()
    assert not (first & second).any()
    analyze.draw(analysis.to_dict(), tmp_path / "two.png", what_if=False)
    assert (tmp_path / "two.png").stat().st_size > 10_000
