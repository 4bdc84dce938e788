"""Findings of several stations and of several access points of one capture."""

import pytest
from conftest import ROOT, pcap_records, write_pcap

from airwatt import laboratory

SHIPPED = ROOT / "captures" / "findings"
GUILTY_OF_A_BEACON = SHIPPED / "beacon-missing-guilty.pcap"
ACCESS_POINT, STATION = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
OTHERS = {ACCESS_POINT: bytes.fromhex("0200000000b1"), STATION: bytes.fromhex("0200000000b2")}


def _records(path):
    """The packets of a capture with their times in microseconds."""
    return [(1_000_000 * seconds + micros, packet) for (seconds, micros), packet in pcap_records(path)[1]]


def _write(path, packets):
    """Writes packets with their times in microseconds, and returns the path."""
    head = pcap_records(GUILTY_OF_A_BEACON)[0]
    return write_pcap(path, head, [(divmod(at_us, 1_000_000), packet) for at_us, packet in packets])


def _beside_another_cell(path, folder):
    """The capture with the same frames once more, 33 ms later, as those of another cell."""
    packets = _records(path)
    for at_us, packet in packets.copy():
        for own, other in OTHERS.items():
            packet = packet.replace(own, other)
        packets.append((at_us + 33_000, packet))
    return _write(folder / f"{path.stem}-two-cells.pcap", sorted(packets))


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
    packets = []
    for number in range(count):
        address = STATION[:4] + (256 + number).to_bytes(2, "big")
        name = "guilty" if number == count - 1 else "innocent"
        for at_us, packet in _records(SHIPPED / f"{kind}-{name}.pcap"):
            packets.append((at_us + 60_000_000 * number, packet.replace(STATION, address)))
    return _write(folder / f"{count}.pcap", packets)


def test_no_station_is_left_out_in_silence(airwatt, tmp_path):
    asked = ("--station", "all", "--policy", "active", "--fail-if", "findings.sent-to-sleeping-station.count > 0")
    found = airwatt("analyze", _many("sent-to-sleeping-station", 40, tmp_path), *asked)
    assert (found.status, "1 more were not" in found.err) == (3, False), found.err
    many = airwatt("analyze", _many("sent-to-sleeping-station", 101, tmp_path), *asked, "--strict")
    assert (many.status, "1 more were not analysed" in many.err) == (1, True), many.err


def test_stations_without_an_occasion_are_named(airwatt, tmp_path):
    packets = _records(SHIPPED / "tim-never-set-innocent.pcap")
    for at_us, packet in _records(SHIPPED / "awake-in-power-save-innocent.pcap"):
        for own, other in OTHERS.items():
            packet = packet.replace(own, other)
        packets.append((at_us + 33_000, packet))
    both, suite = _write(tmp_path / "both.pcap", sorted(packets)), tmp_path / "suite.xml"
    asked = ("--station", "all", "--policy", "active", "--fail-if", "findings.tim-never-set.count > 0")
    strict = airwatt("analyze", both, *asked, "--strict")
    assert (strict.status, "tim-never-set had no occasion at 02:00:00:00:00:b2" in strict.err) == (0, True), strict.err
    assert airwatt("analyze", both, *asked, "--junit", suite).status == 0
    assert "<system-out>no occasion at 02:00:00:00:00:b2</system-out>" in suite.read_text()


def test_the_rules_of_each_access_point_of_a_station_are_checked(airwatt, tmp_path):
    """The first one skips a beacon; the station goes to one that is innocent."""
    other, path = OTHERS[ACCESS_POINT], tmp_path / "roams.pcap"
    before = ((at_us, packet.replace(ACCESS_POINT, other)) for at_us, packet in _records(GUILTY_OF_A_BEACON))
    later = ((at_us + 60_000_000, packet) for at_us, packet in _records(SHIPPED / "tim-never-set-innocent.pcap"))
    _write(path, [*before, *later])
    asked = ("analyze", path, "--station", STATION.hex(":"))
    document = airwatt(*asked, "--json").json
    checks = {one["bssid"]: one for one in document["checks"] if one["kind"] == "beacon-missing"}
    own = ACCESS_POINT.hex(":")
    assert (checks.keys(), checks[own]["violated"]) == ({own, other.hex(":")}, 0)
    assert checks[other.hex(":")]["violated"] > 0
    failed = airwatt(*asked, "--fail-if", "findings.beacon-missing.count > 0")
    assert failed.status == 3, failed.err


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
