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
