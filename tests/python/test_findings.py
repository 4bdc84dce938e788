"""Verdicts about the shipped captures whose truth is known."""

import gzip
import json
import random
import re
import struct
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import ROOT, violated

import airwatt
from airwatt import laboratory

SHIPPED = ROOT / "captures" / "findings"
STATION = "02:00:00:00:00:02"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("findings")
    for script in ("findings.py", "access_points.py", "wake_times.py"):
        subprocess.run([sys.executable, "-B", ROOT / "captures" / script, folder], check=True)
    return folder


def test_the_captures_are_those_of_the_script(made):
    names = sorted(path.name for path in SHIPPED.glob("*.pcap"))
    assert names == sorted(path.name for path in made.glob("*.pcap"))
    for name in names:
        assert (SHIPPED / name).read_bytes() == (made / name).read_bytes(), name


def _named(path):
    """The kind and the case of a capture, by its name: `KIND-CASE`, or `KIND-guilty-...`."""
    kind, guilty, _ = path.stem.partition("-guilty")
    return (kind, "guilty") if guilty else path.stem.rpartition("-")[::2]


def test_every_kind_has_a_guilty_and_an_innocent_capture():
    kinds = {_named(path)[0] for path in SHIPPED.glob("*.pcap")}
    schema_kinds = {kind for kind in _kinds() if kind != "keep-alive"}
    assert kinds == schema_kinds
    for kind in kinds:
        assert (SHIPPED / f"{kind}-guilty.pcap").exists(), kind
        assert (SHIPPED / f"{kind}-innocent.pcap").exists(), kind


def _kinds():
    from airwatt._core import finding_kinds

    return [kind for kind, _ in finding_kinds()]


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_verdicts_are_the_truth(path):
    kind, case = _named(path)
    document = laboratory.analyze(path, station=STATION, policies=["psm"]).to_dict()
    checks = {check["kind"]: check for check in document["checks"]}
    accused = {name for name, check in checks.items() if check["violated"]}
    undecidable = checks.get(kind, {"undecidable": 0})["undecidable"]
    assert accused == ({kind} if case == "guilty" else set())
    if case in ("innocent", "undecidable"):
        assert bool(undecidable) == (case == "undecidable")
    if case == "innocent" and kind != "group-not-after-dtim":  # Its station is awake.
        assert checks[kind]["kept"] > 0


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*-undecidable.pcap")), ids=lambda path: path.stem)
def test_what_is_undecidable_says_why(path, airwatt):
    kind = path.stem.removesuffix("-undecidable")
    document = airwatt("analyze", path, "--policy", "psm", "--json").json
    places = [place for found in document["findings"] if found["kind"] == kind for place in found["occurrences"]]
    first = next(place for place in places if place["verdict"] == "undecidable")
    assert first["detail"]
    text = " ".join(airwatt("analyze", path, "--policy", "psm").out.split())
    assert f"(first: packet {first['packet']}): {first['detail']}" in text


def test_a_finding_names_whom_it_accuses(airwatt):
    text = " ".join(airwatt("analyze", SHIPPED / "tim-never-set-guilty.pcap").out.split())
    assert f"error of the access point, 02:00:00:00:00:01 (station {STATION}):" in text
    text = " ".join(airwatt("analyze", SHIPPED / "late-fetch-guilty.pcap").out.split())
    assert f"of the station, {STATION}:" in text


@pytest.mark.parametrize("kind", ["late-delivery", "more-data-then-nothing", "tim-never-set"])
def test_a_clock_that_jumps_accuses_nobody(kind, tmp_path):
    """The monitor's clock is set ahead by 0.7 s somewhere; beacons have the clock of their access point."""
    file = (SHIPPED / f"{kind}-innocent.pcap").read_bytes()
    packets, at = [], 24
    while at < len(file):
        seconds, micros, length = struct.unpack_from("<III", file, at)
        packets.append((1_000_000 * seconds + micros, file[at + 8 : at + 16 + length]))
        at += 16 + length
    changed = tmp_path / "changed.pcap"
    for place in range(1, len(packets)):
        with changed.open("wb") as out:
            out.write(file[:24])
            for number, (micros, rest) in enumerate(packets):
                shown = micros + 700_000 * (number >= place)
                out.write(struct.pack("<II", shown // 1_000_000, shown % 1_000_000) + rest)
        document = laboratory.analyze(changed, station=STATION, policies=["psm"]).to_dict()
        assert not [check["kind"] for check in document["checks"] if check["violated"]], place


@pytest.mark.parametrize("kind", ["tim-never-set", "sent-to-sleeping-station", "tim-stuck", "late-delivery"])
def test_a_short_snap_length_accuses_nobody(kind, tmp_path):
    """A beacon whose TIM was cut off says nothing, neither that the bit was set nor that it was not."""
    file = (SHIPPED / f"{kind}-innocent.pcap").read_bytes()
    # Below this length beacons have no interval, and frames no station.
    for snap in range(48, 110):
        out, at = bytearray(file[:24]), 24
        while at < len(file):
            times, (length, original) = file[at : at + 8], struct.unpack_from("<II", file, at + 8)
            kept = min(length, snap)
            out += times + struct.pack("<II", kept, original) + file[at + 16 : at + 16 + kept]
            at += 16 + length
        (tmp_path / "cut.pcap").write_bytes(out)
        assert violated(tmp_path / "cut.pcap") == set(), snap


def test_a_group_that_goes_on_past_a_beacon_is_no_fault(script, tmp_path):
    air = script.Air()
    air.begin()
    at_ms = air.beacon(group=True, count=0, period=2)
    air.group(at_ms + 90, more=True)
    at_ms = air.beacon(group=True, count=1, period=2)
    air.group(at_ms + 2)
    air.end()
    script.write(str(tmp_path / "air.pcap"), sorted(air.frames))
    assert "group-not-after-dtim" not in violated(tmp_path / "air.pcap")


def test_a_mode_that_the_access_point_did_not_hear_accuses_nobody(script, tmp_path):
    air = script.Air()
    air.begin()
    at_ms = air.beacon()
    air.null(at_ms + 10, sleeps=False)
    flags, number = script.TO_DS | script.PM, air.next(script.STATION)
    ends = (script.ACCESS_POINT, script.STATION, script.ACCESS_POINT)
    null = script.header(script.NULL, flags, *ends, sequence=number)
    air.put(at_ms + 20, null)
    frame = air.down(at_ms + 85, heard=False)
    for retry in range(1, 4):
        air.put(at_ms + 85 + 0.5 * retry, bytes([frame[0], frame[1] | script.RETRY]) + frame[2:])
    air.null(air.beacon() + 40, sleeps=True)
    air.end()
    script.write(str(tmp_path / "air.pcap"), sorted(air.frames))
    assert "sent-to-sleeping-station" not in violated(tmp_path / "air.pcap")


TOLD_BY_A_FRAME = {
    "tim-stuck-acknowledged": "tim-stuck",
    "tim-stuck-missed": "tim-stuck",
    "late-delivery-repeated": "late-delivery",
    "tim-never-set-later": "tim-never-set",
    "tim-never-set-gap": "tim-never-set",
    "tim-never-set-old": "tim-never-set",
    "beacon-late-quiet": "beacon-late",
    "late-delivery-absent": "late-delivery",
    "late-delivery-triggered": "late-delivery",
    "late-delivery-grouped": "late-delivery",
    "beacon-missing-switch": "beacon-missing",
    "group-announced-not-sent-reserved": "group-announced-not-sent",
    "group-not-after-dtim-continued": "group-announced-not-sent",
    "more-data-then-nothing-reserved": "ps-poll-unanswered",
    "ps-poll-unanswered-reserved": "ps-poll-unanswered",
}
"""Innocent captures in which a frame or two tell that others were missed (an acknowledgement), that the access point
could not send (a reservation, a Quiet or Channel Switch element), or the listen interval. Without these, or on the
other side of a jump of the clock, nothing tells it, and what is assumed stands in the sentence of the finding: the rule
that they may violate."""

HELD_BY_ITS_COPY = "beacon-late-guilty-own"
"""Guilty since it reserved the medium itself. A copy of it in another cell reserves the medium for this one, too, which
excuses it."""


def _allowed(path):
    """The rule that a capture may violate when frames of it are missing."""
    kind, case = _named(path)
    return {kind} if case == "guilty" else {rule for stem, rule in TOLD_BY_A_FRAME.items() if stem == path.stem}


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_frames_that_were_missed_or_cut_accuse_nobody_else(path, tmp_path):
    """Random loss, holes, a kind of frames that is missing, and snap lengths add no violated rule."""
    file = path.read_bytes()
    records, at = [], 24
    while at < len(file):
        length = struct.unpack_from("<I", file, at + 8)[0]
        records.append((file[at : at + 16], file[at + 16 : at + 16 + length]))
        at += 16 + length
    kinds = [frame[struct.unpack_from("<H", frame, 2)[0]] for _, frame in records]
    allowed = _allowed(path)
    for seed in range(24):
        chance = random.Random(seed)
        match seed % 4:
            case 0:
                share = chance.choice([0.02, 0.05, 0.1, 0.3])
                heard = [record for record in records if chance.random() > share]
            case 1:
                first = chance.randrange(len(records))
                heard = records[:first] + records[first + chance.randint(1, 8) :]
            case 2:
                kind, share = chance.choice(sorted(set(kinds))), chance.choice([0.3, 0.7, 1])
                pairs = zip(records, kinds, strict=True)
                heard = [record for record, is_kind in pairs if is_kind != kind or chance.random() > share]
            case _:
                snap = chance.randint(24, 140)
                heard = [
                    (head[:8] + struct.pack("<II", min(len(frame), snap), len(frame)), frame[:snap])
                    for head, frame in records
                ]
        (tmp_path / "air.pcap").write_bytes(file[:24] + b"".join(head + frame for head, frame in heard))
        try:
            accused = violated(tmp_path / "air.pcap")
        except airwatt.InputError:  # Nothing of the station is left.
            continue
        assert accused <= allowed, seed


def _drifted(records, chance):
    """The monitor's clock is wrong by 20 to 100 parts in a million, and each time by 0.1 ms."""
    wrong, last, changed = chance.choice([-100, -20, 20, 100]) * 1e-6, 0, []
    for at, frame in records:
        last = max(round(at * (1 + wrong)) + chance.randint(-100, 100), last + 1)
        changed.append((last, frame))
    return changed


def _repeated(records, chance):
    """Half of the frames are sent once more, as after a missed acknowledgement."""
    changed = list(records)
    for at, frame in records:
        start = struct.unpack_from("<H", frame, 2)[0]
        is_control, is_beacon = frame[start] & 0x0C == 0x04, frame[start] == 0x80
        if not is_control and not is_beacon and chance.random() < 0.5:
            retry = bytes([frame[start + 1] | 0x08])
            changed.append((at + 350, frame[: start + 1] + retry + frame[start + 2 :]))
    return sorted(changed, key=lambda record: record[0])


def _among_others(records, chance):
    """Another access point is on the channel and does the same at other times; both have a station."""
    addresses = [(bytes([2, 0, 0, 0, 0, last]), bytes([2, 0, 0, 0, 1, last])) for last in (1, 2)]
    later, changed = chance.choice([0, 3_000, 51_000]), list(records)
    for at, frame in records:
        start = struct.unpack_from("<H", frame, 2)[0]
        body = frame[start:]
        for own, other in addresses:
            body = body.replace(own, other)
        changed.append((at + later, frame[:start] + body))
    return sorted(changed, key=lambda record: record[0])


@pytest.mark.parametrize("mutate", [_drifted, _repeated, _among_others])
@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_what_changes_no_truth_changes_no_verdict(path, mutate, tmp_path):
    head, records = _records(path)
    records = [(1_000_000 * second + micros, frame) for (second, micros), frame in records]
    kind, case = _named(path)
    expected = {kind} if case == "guilty" else set()
    for seed in range(4):
        changed = mutate(records, random.Random(seed))
        mutant = [(divmod(at, 1_000_000), frame) for at, frame in changed]
        found = violated(_written(tmp_path / "air.pcap", head, mutant))
        if mutate is _among_others and path.stem == HELD_BY_ITS_COPY:
            assert found <= expected, seed
        else:
            assert found == expected, seed


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_a_clock_that_is_set_adds_no_violation(path, tmp_path):
    """By 0.3 s back or ahead, or by 5 s back, at random frames."""
    head, records = _records(path)
    allowed = _allowed(path)
    chance = random.Random(path.stem)
    for step_us in (-5_000_000, -300_000, 300_000) * 3:
        first = chance.randrange(1, len(records))
        times = (5_000_000 + 1_000_000 * second + micros for (second, micros), _ in records)
        shown = (at + step_us * (number >= first) for number, at in enumerate(times))
        mutant = [(divmod(at, 1_000_000), frame) for at, (_, frame) in zip(shown, records, strict=True)]
        assert violated(_written(tmp_path / "air.pcap", head, mutant)) <= allowed, (step_us, first)


def _records(path):
    """The records of a capture: seconds and microseconds, and the frame."""
    file, at, records = path.read_bytes(), 24, []
    while at < len(file):
        length = struct.unpack_from("<I", file, at + 8)[0]
        records.append((struct.unpack_from("<II", file, at), file[at + 16 : at + 16 + length]))
        at += 16 + length
    return file[:24], records


def _written(path, head, records):
    lines = (struct.pack("<IIII", *time, len(frame), len(frame)) + frame for time, frame in records)
    path.write_bytes(head + b"".join(lines))
    return path


def _lossy(path, head, records):
    """As pcapng, with the statistics of an interface that has dropped 1,200 packets."""

    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    blocks = [
        block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack("<HHI", *struct.unpack_from("<H", head, 20), 0, 0)),
    ]
    for (seconds, micros), frame in records:
        time = seconds * 1_000_000 + micros
        about = struct.pack("<5I", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
        blocks.append(block(6, about + frame))
    blocks.append(block(5, struct.pack("<3IHHQI", 0, 0, 0, 5, 8, 1200, 0)))
    path.write_bytes(b"".join(blocks))
    return path


def _is_beacon(script, frame):
    return frame[struct.unpack_from("<H", frame, 2)[0]] == script.BEACON


@pytest.fixture
def without_beacons(script, tmp_path):
    head, records = _records(SHIPPED / "tim-never-set-innocent.pcap")
    heard = [record for record in records if not _is_beacon(script, record[1])]
    return _written(tmp_path / "without-beacons.pcap", head, heard)


def test_a_clock_that_jumps_over_a_wait_leaves_it_undecidable(airwatt, tmp_path):
    """The clock is set ahead by half a second between More Data and the frame that it announced."""
    head, records = _records(SHIPPED / "tim-never-set-guilty.pcap")
    jumped = [
        (divmod(1_000_000 * second + micros + 500_000 * (number >= 20), 1_000_000), frame)
        for number, ((second, micros), frame) in enumerate(records)
    ]
    path = _written(tmp_path / "jump.pcap", head, jumped)
    document = laboratory.analyze(path, station=STATION).to_dict()
    check = next(check for check in document["checks"] if check["kind"] == "tim-never-set")
    assert check["violated"] == 0
    assert check["undecidable"] > 0
    assert any("clock jumps before packet 21:" in note for note in document["capture"]["notes"])
    arguments = ["analyze", path, "--fail-if", "findings.tim-never-set.count > 0"]
    loose = airwatt(*arguments)
    assert (loose.status, "--strict makes that a failure" in loose.err) == (0, True)
    strict = airwatt(*arguments, "--strict")
    assert (strict.status, "--strict expects none" in strict.err) == (1, True)


def test_what_was_not_checked_is_no_success(airwatt, tmp_path):
    """A damaged file, of which the rest was not read, a cut packet, dropped packets, and another station."""
    whole = gzip.compress((SHIPPED / "tim-never-set-innocent.pcap").read_bytes())
    (tmp_path / "cut.pcap.gz").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "cut.pcap").write_bytes((SHIPPED / "tim-never-set-innocent.pcap").read_bytes()[:-5])
    (folder := tmp_path / "folder").mkdir()
    (folder / "1.pcap.gz").write_bytes(whole[: len(whole) * 2 // 3])
    others = ROOT / "captures/wpa2-ccmp.pcap"
    dropped = _lossy(tmp_path / "dropped.pcapng", *_records(SHIPPED / "tim-never-set-innocent.pcap"))
    rules = tmp_path / "rules.xml"
    for path, of_station, said in (
        (dropped, ("--station", STATION), "1200 packets were dropped as it was captured"),
        (tmp_path / "cut.pcap.gz", ("--station", STATION), "damaged at byte"),
        (folder, ("--station", STATION), "damaged at byte"),
        (tmp_path / "cut.pcap", ("--station", STATION), "the last packet is cut short"),
        (others, (), "1 other station was not checked"),
    ):
        for check in (["--junit", rules], ["--fail-if", "findings.tim-missing.count > 0"]):
            arguments = ["analyze", path, *of_station, *check]
            refused = airwatt(*arguments)
            assert (refused.status, said in refused.err, "--allow-unchecked" in refused.err) == (1, True, True)
            if check[0] == "--junit":
                error = ElementTree.parse(rules).find(".//testcase[@name='capture']/error")
                assert said in error.get("message")
            allowed = airwatt(*arguments, "--allow-unchecked")
            assert (allowed.status, said in allowed.err) == (0, True), allowed.err
            is_cut = "packets used up to where the file is cut or damaged" in " ".join(allowed.out.split())
            assert is_cut == (path not in (others, dropped)), allowed.out
        assert ElementTree.parse(rules).find(".//testcase[@name='capture']") is None
    assert "not checked" not in airwatt("analyze", others, "--station", "all", "--junit", tmp_path / "rules.xml").err
    # An energy lacks what the capture lacks; that of one station has nothing to do with the others.
    energy = ("--policy", "psm", "--fail-if", "policies.0.energy_j > 1000")
    for path, status in ((dropped, 1), (tmp_path / "cut.pcap", 1), (others, 0)):
        assert airwatt("analyze", path, *energy).status == status
        assert airwatt("analyze", path, *energy, "--allow-unchecked").status == 0
    # A file of a folder that cannot be read is an error for machines, too.
    (read := tmp_path / "read").mkdir()
    (read / "1.pcap").write_bytes((SHIPPED / "tim-never-set-innocent.pcap").read_bytes())
    (read / "z.pcap").write_bytes(b"no capture" * 50)
    assert airwatt("analyze", read, "--station", STATION, "--junit", rules).status == 1
    error = ElementTree.parse(rules).find(".//testcase[@name='capture']/error")
    assert "z.pcap" in error.get("message")


def test_a_capture_that_ends_early_does_not_pass(airwatt, tmp_path):
    """The last packet is a beacon without the bit, after More Data and before the frame that it announced."""
    head, records = _records(SHIPPED / "tim-never-set-guilty.pcap")
    path = _written(tmp_path / "cut.pcap", head, records[:21])
    arguments = ["analyze", path, "--station", STATION, "--fail-if", "findings.tim-never-set.count > 0"]
    loose = airwatt(*arguments)
    assert (loose.status, "tim-never-set: 1 undecidable" in loose.err) == (0, True), loose.err
    assert airwatt(*arguments, "--strict").status == 1


def _concealed(script, listen_interval, beacons):
    """An association, PM = 1, a PS-Poll, a frame with More Data, beacons without the bit, and the announced frame.

    Returns the frames, and the times of the Null frame and of the first PS-Poll in milliseconds.
    """
    air = script.Air()
    request = script.header(script.ASSOCIATION_REQUEST, 0, script.ACCESS_POINT, script.STATION, script.ACCESS_POINT)
    air.put(5, request + struct.pack("<HH", 0x0431, listen_interval), answered=script.STATION)
    ends, number = (script.STATION, script.ACCESS_POINT, script.ACCESS_POINT), air.next(script.ACCESS_POINT)
    response = script.header(script.ASSOCIATION_RESPONSE, 0, *ends, sequence=number)
    air.put(6, response + struct.pack("<HHH", 1, 0, 0xC000 | script.AID), answered=script.ACCESS_POINT)
    air.beacons = 1
    null_ms = air.beacon() + 20
    air.null(null_ms, sleeps=True)
    poll_ms = air.beacon(bit=True) + 3
    script.fetched(air, poll_ms, more=True)
    for _ in range(beacons):
        at_ms = air.beacon()
    script.fetched(air, at_ms + 3)
    return sorted(air.frames), null_ms, poll_ms


def test_how_early_a_capture_has_to_begin(script, tmp_path):
    """The table of docs/findings.md: how many beacons are violations by the first frame of the capture."""

    def violated(frames, begin_ms):
        script.write(str(tmp_path / "x.pcap"), [one for one in frames if one[0] >= begin_ms / 1e3 - 1e-6])
        document = laboratory.analyze(tmp_path / "x.pcap", station=STATION, policies=["psm"]).to_dict()
        return next(check["violated"] for check in document["checks"] if check["kind"] == "tim-never-set")

    for listen_interval, judged in ((10, 3), (3, 2), (1, 0)):
        frames, null_ms, poll_ms = _concealed(script, listen_interval, 3)
        assert violated(frames, 0) == judged
        assert violated(frames, null_ms) == violated(frames, poll_ms) == 3
        assert violated(frames, poll_ms + 1) == 0
    # One beacon is enough, and another one by which its target time is known.
    frames, _, poll_ms = _concealed(script, 10, 1)
    assert violated(frames, poll_ms - 3) == 1
    assert violated(frames, poll_ms) == 0


def test_a_clock_that_jumps_makes_no_request_late(script, tmp_path):
    """A station with a listen interval of one beacon asks after the next one; 50 ms more would be too late."""
    air = script.Air()
    air.begin()
    at_ms, ends = script.INTERVAL_MS * 2 + 40, (script.ACCESS_POINT, script.STATION, script.ACCESS_POINT)
    air.put(at_ms, script.header(script.ASSOCIATION_REQUEST, 0, *ends) + b"\x31\x04\x01\x00", answered=script.STATION)
    ends, number = (script.STATION, script.ACCESS_POINT, script.ACCESS_POINT), air.next(script.ACCESS_POINT)
    response = script.header(script.ASSOCIATION_RESPONSE, 0, *ends, sequence=number)
    air.put(at_ms + 1, response + struct.pack("<HHH", 1, 0, 0xC000 | script.AID), answered=script.ACCESS_POINT)
    air.null(at_ms + 5, sleeps=True)
    for _ in range(2):
        at_ms = air.beacon(bit=True)
    script.fetched(air, at_ms + 3)
    air.end()
    frames = sorted(air.frames)
    for place in range(len(frames)):
        shown = [(at + 0.05 * (number >= place), rate, frame) for number, (at, rate, frame) in enumerate(frames)]
        script.write(str(tmp_path / "x.pcap"), shown)
        assert violated(tmp_path / "x.pcap") == set(), place


def test_what_was_cut_off_of_an_association_is_not_known(tmp_path):
    """The last byte of the response, which grants U-APSD, was not captured."""
    file = (SHIPPED / "uapsd-not-granted-innocent.pcap").read_bytes()
    out, at = bytearray(file[:24]), 24
    while at < len(file):
        length, original = struct.unpack_from("<II", file, at + 8)
        kept = length - (file[at + 16 + 14] == 0x10)
        out += file[at : at + 8] + struct.pack("<II", kept, original) + file[at + 16 : at + 16 + kept]
        at += 16 + length
    assert len(out) == len(file) - 1
    (tmp_path / "cut.pcap").write_bytes(out)
    assert violated(tmp_path / "cut.pcap") == set()


def test_rules_about_the_times_of_beacons_say_how_many_they_need(airwatt):
    document = airwatt("analyze", SHIPPED / "late-delivery-guilty.pcap", "--policy", "psm", "--json").json
    lacks = {check["kind"]: check["lacks"] for check in document["checks"]}
    for kind in ("beacon-late", "beacon-missing"):
        assert lacks[kind].endswith("were captured, and at least 20 are needed")
    assert lacks["tim-missing"] is None


def test_what_a_capture_lacks_is_said(airwatt, without_beacons, tmp_path):
    shown = airwatt("analyze", without_beacons)
    line = " ".join(shown.out.split())
    assert "not evaluated: tim-never-set," in line
    assert "no beacon of 02:00:00:00:00:01 was captured" in line
    asked = airwatt("analyze", without_beacons, "--fail-if", "findings.late-fetch.count > 0")
    assert asked.status == 1
    assert "late-fetch was not evaluated: no beacon of" in asked.err


def test_a_snap_length_that_cuts_the_tim_off_is_said(airwatt, tmp_path):
    head, records = _records(SHIPPED / "tim-never-set-innocent.pcap")
    path = _written(tmp_path / "cut.pcap", head, [(time, frame[:60]) for time, frame in records])
    assert "captured up to its TIM" in " ".join(airwatt("analyze", path).out.split())


def test_a_rule_that_is_not_evaluated_any_more_fails_the_comparison(airwatt, without_beacons, tmp_path):
    before = tmp_path / "before.json"
    before.write_text(airwatt("analyze", SHIPPED / "tim-never-set-innocent.pcap", "--json").out)
    same = airwatt("analyze", SHIPPED / "tim-never-set-innocent.pcap", "--compare", before)
    assert same.status == 0, same.err
    lost = airwatt("analyze", without_beacons, "--compare", before)
    assert lost.status == 1
    assert "evaluated before, and not now" in lost.err


def test_a_station_about_which_nothing_is_decided_is_named(airwatt, tmp_path):
    """It passed every check of all stations, since another one was decided."""
    head, records = _records(SHIPPED / "tim-never-set-innocent.pcap")
    own, other = (bytes([2, 0, 0, 0, 0, number]) for number in (2, 9))
    (link,) = struct.unpack_from("<I", head, 20)

    def kind(frame):
        return frame[struct.unpack_from("<H", frame, 2)[0] if link == 127 else 0]

    # Without a PS-Poll no frame shows the association identifier of the other one.
    both = [
        (time, each)
        for time, frame in records
        for each in ([frame, frame.replace(own, other)] if own in frame and kind(frame) != 0xA4 else [frame])
    ]
    path = _written(tmp_path / "two.pcap", head, both)
    check = ["analyze", path, "--station", "all", "--fail-if", "findings.tim-never-set.count > 0"]
    loose = airwatt(*check, "--junit", tmp_path / "rules.xml")
    assert (loose.status, "02:00:00:00:00:09" in loose.err) == (0, True), loose.err
    suite = ElementTree.parse(tmp_path / "rules.xml").getroot()
    skipped = suite.find("testcase[@name='tim-never-set 02:00:00:00:00:09']/skipped")
    assert "association identifier" in skipped.get("message")
    strict = airwatt(*check, "--strict")
    assert (strict.status, "not evaluated for all stations" in strict.err) == (1, True), strict.err
    # An earlier capture had its PS-Polls.
    polls = [(time, frame.replace(own, other)) for time, frame in records if own in frame]
    before = _written(tmp_path / "before.pcap", head, sorted([*records, *polls], key=lambda record: record[0]))
    document = airwatt("analyze", before, "--station", "all", "--json").out
    (tmp_path / "before.json").write_text(document)
    compared = airwatt("analyze", path, "--station", "all", "--compare", tmp_path / "before.json")
    assert (compared.status, "evaluated before, and not now" in compared.err) == (1, True), compared.err


def test_junit_has_the_packets_and_the_reasons(airwatt, without_beacons, tmp_path):
    file = tmp_path / "rules.xml"
    airwatt("analyze", SHIPPED / "tim-never-set-guilty.pcap", "--junit", file)
    suite = ElementTree.parse(file).getroot()
    failures = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failures] == ["tim-never-set"]
    assert "decided by packets 17, 19, 21, 24, 26" in failures[0].find("failure").text
    airwatt("analyze", without_beacons, "--junit", file)
    skipped = ElementTree.parse(file).getroot().find("testcase[@name='tim-never-set']/skipped")
    assert "no beacon of" in skipped.get("message")


def test_junit_of_a_capture_that_cannot_be_read_is_an_error(airwatt, tmp_path):
    (tmp_path / "empty.pcap").touch()
    file = tmp_path / "rules.xml"
    file.write_text("yesterday's")
    result = airwatt("analyze", tmp_path / "empty.pcap", "--junit", file)
    assert result.status == 2
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("errors"), "an empty file" in suite.find("testcase/error").get("message")) == ("1", True)


def test_keys_that_decrypt_nothing_are_an_error_for_machines(airwatt, tmp_path):
    junit, sarif = tmp_path / "rules.xml", tmp_path / "rules.sarif"
    shipped = ROOT / "captures" / "wpa2-ccmp.pcap"
    asked = ["analyze", shipped, "--station", "02:00:00:00:00:02", "--junit", junit, "--sarif", sarif]
    assert airwatt(*asked, "--wpa-pwd", "wrong horse").status == 1
    suite = ElementTree.parse(junit).getroot()
    error = suite.find("testcase[@name='decryption']/error")
    assert suite.get("errors") == "1"
    assert "no given passphrase or key fits" in error.get("message")
    (invocation,) = json.loads(sarif.read_text())["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["message"]["text"] == error.get("message")
    # An address within protected frames is not known without the key.
    unknown = airwatt("analyze", shipped, "--station", "192.168.7.2", "--wpa-pwd", "wrong horse")
    assert unknown.status == 2
    assert "nothing was decrypted: no given passphrase or key fits their handshake" in " ".join(unknown.err.split())
    # What the right passphrase leaves is no error, though one frame has no handshake.
    assert airwatt(*asked, "--wpa-pwd", "correct horse").status == 0
    assert ElementTree.parse(junit).getroot().get("errors") == "0"
    assert "invocations" not in json.loads(sarif.read_text())["runs"][0]


def test_a_damaged_file_of_a_folder_does_not_lose_the_night(airwatt, tmp_path):
    (tmp_path / "a.pcap").write_bytes((SHIPPED / "tim-stuck-guilty.pcap").read_bytes())
    (tmp_path / "b.pcap").touch()
    result = airwatt("analyze", tmp_path)
    assert result.status == 1
    assert "1 file could not be read, and the others were analysed" in result.err
    # The verdict stands before the energies.
    rules, energies = result.out.index("tim-stuck, error of"), result.out.index("what policies would have spent")
    assert "note: left out: " in " ".join(result.out.split())
    assert rules < energies


def test_a_capture_in_pieces_is_the_same_capture(tmp_path):
    """Lengths and numbers of beacons are of all files of a folder, and so are joules."""
    path = SHIPPED / "tim-never-set-guilty.pcap"
    head, records = _records(path)
    pieces = tmp_path / "pieces"
    pieces.mkdir()
    for piece in range(3):
        part = records[piece * len(records) // 3 : (piece + 1) * len(records) // 3]
        _written(pieces / f"{piece}.pcap", head, part)
    whole, parts = (laboratory.analyze(one, station=STATION, policies=["psm"]).to_dict() for one in (path, pieces))
    assert whole["cell"]["beacon_bytes"] > 50
    assert parts["cell"] == whole["cell"]
    assert parts["policies"][0]["energy_j"] == whole["policies"][0]["energy_j"]
    assert [check["violated"] for check in parts["checks"]] == [check["violated"] for check in whole["checks"]]


def test_the_table_of_access_points_counts_the_beacons_that_were_due(airwatt):
    text = " ".join(airwatt("analyze", SHIPPED / "beacon-missing-undecidable.pcap").out.split())
    assert "02:00:00:00:00:01 example 39 97.5 %" in text


def test_files_of_two_monitors_are_not_mixed(airwatt, tmp_path):
    for name in ("a.pcap", "b.pcap"):
        (tmp_path / name).write_bytes((SHIPPED / "tim-stuck-guilty.pcap").read_bytes())
    result = airwatt("analyze", tmp_path)
    assert result.status == 2
    assert "expected files that follow each other in time, got " in result.err
    assert len(result.err.splitlines()) <= 2


def test_a_nightly_check_finds_an_ignored_ps_poll(airwatt):
    """More Data and later beacons say that the frame was there, and the PS-Poll got no response for 407.1 ms."""
    arguments = ["analyze", SHIPPED / "ps-poll-unanswered-guilty-promised.pcap", "--policy", "psm"]
    violated = [one for one in airwatt(*arguments, "--json").json["findings"] if one["count"]]
    assert [(one["kind"], one["delay_s"]) for one in violated] == [("ps-poll-unanswered", 0.4071)]
    for expression in ("findings.*.delay_s > 0.2", "findings.ps-poll-unanswered.count > 0"):
        assert airwatt(*arguments, "--fail-if", expression).status == 3, expression


def test_the_schema_says_which_packets_are_listed(airwatt):
    occurrence = airwatt("analyze", "--schema").json["$defs"]["OccurrenceReport"]
    assert "without acknowledgements" in occurrence["properties"]["packets"]["description"]


def test_a_check_may_be_of_a_severity(airwatt):
    """A note, as that a station stays awake in power save, is no error."""
    for case, statuses in (
        ("awake-in-power-save-guilty", {"*": 3, "note": 3, "warning": 0, "error": 0}),
        ("tim-never-set-guilty", {"*": 3, "note": 0, "warning": 0, "error": 3}),
        ("late-delivery-guilty", {"*": 3, "note": 0, "warning": 3, "error": 0}),
    ):
        for severity, status in statuses.items():
            expression = f"findings.{severity}.count > 0"
            answer = airwatt("analyze", SHIPPED / f"{case}.pcap", "--policy", "psm", "--fail-if", expression)
            assert answer.status == status, (case, expression, answer.err)
    arguments = ["analyze", SHIPPED / "late-delivery-guilty.pcap", "--policy", "psm", "--fail-if"]
    assert airwatt(*arguments, "findings.errors.count > 0").is_one_line("no number findings.errors.count")
    tripped = airwatt(*arguments, "findings.warning.count > 0").err
    assert "'findings.warning.count > 0': findings.late-delivery.count is 1" in tripped


def test_a_check_may_be_of_what_a_finding_cost(airwatt):
    capture = SHIPPED / "late-delivery-guilty.pcap"
    arguments = ["analyze", capture, "--policy", "psm", "--radio", "esp32-c3"]
    document = airwatt(*arguments, "--json").json
    [found] = [one for one in document["findings"] if one["kind"] == "late-delivery"]
    assert found["cost_j"] > 0
    for name in ("cost_j", "delay_s", "awake_s"):
        for share, status in ((0.99, 3), (1.01, 0)):
            expression = f"findings.late-delivery.{name} > {share * found[name]:.9f}"
            assert airwatt(*arguments, "--fail-if", expression).status == status, expression
    # Of no finding at all nothing is known, and of one without a violation the cost is zero.
    assert airwatt(*arguments, "--fail-if", "findings.late-delivery.joules > 1").is_one_line("no number", "cost_j")
    unknown = SHIPPED / "uapsd-not-granted-guilty.pcap"
    for kind in ("uapsd-not-granted", "*"):
        answer = airwatt("analyze", unknown, "--policy", "psm", "--fail-if", f"findings.{kind}.cost_j > 0")
        assert answer.status == 1
        assert "frames do not show cost_j of uapsd-not-granted" in answer.err


def test_what_an_access_point_does_counts_once_for_all_of_its_stations():
    from airwatt.cli import verdicts

    def document(station, beacon_late, late):
        def check(kind, bssid, violated):
            return {"kind": kind, "bssid": bssid, "violated": violated, "kept": 1, "undecidable": 0}

        def found(kind, of, count):
            costs = {"cost_j": 0.5 * count, "delay_s": None, "awake_s": 0.1 * count}
            return {"kind": kind, "station": of, "count": count, **costs}

        return {
            "station": station,
            "checks": [check("beacon-late", "ap", beacon_late), check("late-delivery", None, late)],
            "findings": [found("beacon-late", "ap", beacon_late), found("late-delivery", station, late)],
        }

    counts = verdicts.counts([document("a", 3, 1), document("b", 3, 2)])
    assert counts["beacon-late"]["count"] == 3
    assert counts["beacon-late"]["cost_j"] == 1.5
    assert counts["late-delivery"]["count"] == 3
    assert counts["late-delivery"]["cost_j"] == 1.5
    assert counts["late-delivery"]["delay_s"] is None


def test_a_suite_of_which_all_cases_are_skipped_is_no_success(airwatt, tmp_path):
    """A capture without 802.11 frames decides no rule, though it has keep-alives."""
    junit, sarif = tmp_path / "a.xml", tmp_path / "a.sarif"
    wired = ROOT / "captures" / "tcp-download.pcapng"
    answer = airwatt("analyze", wired, "--policy", "psm", "--junit", junit)
    assert answer.status == 1
    assert answer.err.splitlines()[-1].endswith("--junit: nothing was evaluated: no captured frame decides any rule")
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    [case] = [case for case in suite if case.find("skipped") is None]
    assert (case.get("name"), case.find("error").get("message")) == (
        "evaluation",
        "nothing was evaluated: no captured frame decides any rule",
    )
    # A keep-alive, which no rule forbids, is a result of SARIF, so that something was evaluated there.
    assert airwatt("analyze", wired, "--policy", "psm", "--sarif", sarif).status == 0
    run = json.loads(sarif.read_text())["runs"][0]
    assert "invocations" not in run
    document = airwatt("analyze", wired, "--policy", "psm", "--json").json
    [found] = [finding for finding in document["findings"] if finding["kind"] == "keep-alive"]
    assert {place["verdict"] for place in found["occurrences"]} == {"cost"}
    assert len(run["results"]) == found["count"] > 1


@pytest.mark.parametrize(("size", "is_report"), [("60B", True), ("24B", False)])
def test_reports_are_no_keep_alives(airwatt, tmp_path, size, is_report):
    """60 bytes each 30 s are more than any keep-alive has."""
    scenario, capture = tmp_path / "things.toml", tmp_path / "things.pcapng"
    application = f'{{ kind = "periodic", interval = "10s", packet = "{size}" }}'
    flow = f'direction = "up"\ntransport = "udp"\napplication = {application}'
    wired = 'rtt = "20ms"\ndown = { rate = "16Mbps" }\nup = { rate = "1Mbps" }'
    scenario.write_text(f'base = "idle"\nname = "things"\nduration = "60s"\n[wired]\n{wired}\n[[flow]]\n{flow}\n')
    assert airwatt("run", scenario, "--policy", "psm", "--pcap", capture).status == 0
    asked = ["analyze", capture, "--policy", "psm"]
    shown = " ".join(airwatt.output(asked).split())
    name = "small exchange" if is_report else "keep-alive"
    assert f"{name}, 6 times, note of the peer" in shown
    assert ("exchanges as small as keep-alives" in shown) is not is_report
    assert ("more data than keep-alives have, up to 60 bytes in a packet" in shown) is is_report
    (found,) = [one for one in airwatt(*asked, "--json").json["findings"] if one["kind"] == "keep-alive"]
    assert found["exchanges"] == ("reports" if is_report else "keep-alives")


def test_agreements_on_sleep_are_listed_by_station(airwatt):
    capture = SHIPPED / "late-fetch-near.pcap"
    [station] = airwatt("analyze", capture, "--policy", "psm", "--json").json["air"]["stations"]
    [agreement] = station["agreements"]
    assert (agreement["kind"], agreement["packet"], agreement["until_s"]) == ("target-wake-time", 20, None)
    assert agreement["wake_time"]["announced"] is True
    assert agreement["wake_time"]["duration_s"] == pytest.approx(0.016384)
    text = airwatt("analyze", capture, "--policy", "psm").out
    assert f"agreements on sleep of {STATION}" in text
    assert re.search(r"TWT +20 +246.8 ms +end +1.05 s +16.38 ms +announced", text)
    assert "agreements" not in airwatt("analyze", SHIPPED / "tim-stuck-guilty.pcap", "--policy", "psm").out


def test_broadcast_wake_times_are_listed_by_access_point(airwatt, tmp_path):
    """Each beacon announces a schedule: 100 x 2^10 us = 102.4 ms, 64 x 256 us = 16.384 ms, number 3, trigger-enabled.

    It has no end.
    """
    element = bytes([216, 10, 8, 0xB0, 0x28, 0x34, 0x12, 64, 100, 0, 0x18, 0xFF])
    records = (SHIPPED / "tim-stuck-guilty.pcap").read_bytes()
    out, at = [records[:24]], 24
    while at < len(records):
        seconds, micros, length, _ = struct.unpack_from("<4I", records, at)
        frame = records[at + 16 : at + 16 + length]
        if frame[int.from_bytes(frame[2:4], "little")] == 0x80:
            frame += element
        out.append(struct.pack("<4I", seconds, micros, len(frame), len(frame)) + frame)
        at += 16 + length
    capture = tmp_path / "broadcast.pcap"
    capture.write_bytes(b"".join(out))
    answer = airwatt("analyze", capture, "--policy", "psm")
    assert re.search(r"broadcast target wake times that access points announce:", answer.out), answer.err
    assert re.search(r" 3 +102\.4 ms +16\.38 ms +announced, trigger", answer.out)
    [network] = airwatt("analyze", capture, "--policy", "psm", "--json").json["air"]["networks"]
    [schedule] = network["wake_schedules"]
    assert (schedule["id"], schedule["persistence"], schedule["restricted"]) == (3, None, False)
    assert schedule["interval_s"] == pytest.approx(0.1024)
    assert "broadcast" not in airwatt("analyze", SHIPPED / "tim-stuck-guilty.pcap", "--policy", "psm").out


def test_what_delays_sleepers_costs_nobody_who_is_awake(airwatt):
    """The picture and the text say that a station pays if it sleeps, where its frames do not show whether it does."""
    text = " ".join(airwatt("analyze", SHIPPED / "beacon-late-guilty.pcap", "--policy", "psm").out.split())
    assert "the band is that of all radios that ship, if it sleeps:" in text


def test_beacons_alone_decide_rules_about_beacons(airwatt, tmp_path):
    """Of a capture without a station what beacons decide is decided, and what needs a station is refused."""
    records = (SHIPPED / "beacon-late-guilty.pcap").read_bytes()
    head, rest, kept = records[:24], records[24:], []
    order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    while rest:
        length = int.from_bytes(rest[8:12], "little" if order == "<" else "big")
        frame = rest[16 : 16 + length]
        header = int.from_bytes(frame[2:4], "little")
        if frame[header] == 0x80:
            kept.append(rest[: 16 + length])
        rest = rest[16 + length :]
    beacons = tmp_path / "beacons.pcap"
    beacons.write_bytes(head + b"".join(kept))
    for which in ((), ("--station", "all")):
        violated = airwatt("analyze", beacons, *which, "--fail-if", "findings.beacon-late.count > 0")
        assert violated.status == 3, violated.err
    assert "none is a data frame, a Null frame or a PS-Poll" in " ".join(violated.out.split())
    assert "choose one with --station" not in violated.out
    assert airwatt("analyze", beacons, "--fail-if", "findings.beacon-late.count > 100").status == 0
    # A severity has rules about stations as well, and there was no station to check.
    of_all = airwatt("analyze", beacons, "--fail-if", "findings.error.count > 100")
    assert (of_all.status, "no station was heard" in of_all.err) == (1, True)
    assert airwatt("analyze", beacons).status == 0
    asked = airwatt("analyze", beacons, "--policy", "psm")
    assert asked.status == 1
    assert asked.err.splitlines()[-1].endswith("expected a capture with a station, got none, for --policy")


def test_results_of_sarif_have_a_line(airwatt, tmp_path):
    sarif = tmp_path / "a.sarif"
    assert airwatt("analyze", SHIPPED / "tim-stuck-guilty.pcap", "--policy", "psm", "--sarif", sarif).status == 0
    for result in json.loads(sarif.read_text())["runs"][0]["results"]:
        [location] = result["locations"]
        assert location["physicalLocation"]["region"] == {"startLine": result["properties"]["packet"]}
