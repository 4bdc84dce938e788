"""Verdicts about the shipped captures whose truth is known."""

import random
import re
import struct
import subprocess
import sys

import pytest
from conftest import ROOT, pcap_records, violated, write_pcap

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
    head, records = pcap_records(path)
    records = [(1_000_000 * second + micros, frame) for (second, micros), frame in records]
    kind, case = _named(path)
    expected = {kind} if case == "guilty" else set()
    for seed in range(4):
        changed = mutate(records, random.Random(seed))
        mutant = [(divmod(at, 1_000_000), frame) for at, frame in changed]
        found = violated(write_pcap(tmp_path / "air.pcap", head, mutant))
        if mutate is _among_others and path.stem == HELD_BY_ITS_COPY:
            assert found <= expected, seed
        else:
            assert found == expected, seed


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_a_clock_that_is_set_adds_no_violation(path, tmp_path):
    """By 0.3 s back or ahead, or by 5 s back, at random frames."""
    head, records = pcap_records(path)
    allowed = _allowed(path)
    chance = random.Random(path.stem)
    for step_us in (-5_000_000, -300_000, 300_000) * 3:
        first = chance.randrange(1, len(records))
        times = (5_000_000 + 1_000_000 * second + micros for (second, micros), _ in records)
        shown = (at + step_us * (number >= first) for number, at in enumerate(times))
        mutant = [(divmod(at, 1_000_000), frame) for at, (_, frame) in zip(shown, records, strict=True)]
        assert violated(write_pcap(tmp_path / "air.pcap", head, mutant)) <= allowed, (step_us, first)


def test_what_a_snap_length_cuts_off_beacons_accuses_nobody(tmp_path):
    """Beacons without their last bytes, behind the TIM: an element about other links may have stood there."""
    head, records = pcap_records(SHIPPED / "tim-never-set-guilty.pcap")
    beacons = [len(frame) for _, frame in records if frame[frame[2]] == 0x80]
    cut = write_pcap(tmp_path / "cut.pcap", head, records, snap_length=max(beacons) - 1)
    whole = laboratory.analyze(SHIPPED / "tim-never-set-guilty.pcap", station=STATION, policies=["psm"]).to_dict()
    document = laboratory.analyze(cut, station=STATION, policies=["psm"]).to_dict()
    [(violated_whole, _), (violated_cut, undecidable)] = [
        next((check["violated"], check["undecidable"]) for check in one["checks"] if check["kind"] == "tim-never-set")
        for one in (whole, document)
    ]
    assert violated_whole > 0
    assert (violated_cut, undecidable > 0) == (0, True)
    [note] = [note for note in document["capture"]["notes"] if "snap length" in note]
    assert "other links, target wake time and several BSSIDs" in note
    assert not [note for note in whole["capture"]["notes"] if "snap length" in note]


def test_a_clock_that_jumps_over_a_wait_leaves_it_undecidable(airwatt, tmp_path):
    """The clock is set ahead by half a second between More Data and the frame that it announced."""
    head, records = pcap_records(SHIPPED / "tim-never-set-guilty.pcap")
    jumped = [
        (divmod(1_000_000 * second + micros + 500_000 * (number >= 20), 1_000_000), frame)
        for number, ((second, micros), frame) in enumerate(records)
    ]
    path = write_pcap(tmp_path / "jump.pcap", head, jumped)
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
    air.null(at_ms + 20, sleeps=False)
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
        assert violated(frames, null_ms) == 3
        assert violated(frames, null_ms + 1) == violated(frames, poll_ms) == 0
        # It has to end with such a frame, too.
        assert violated(frames[:-2], null_ms) == 0
    # One beacon is enough, and another one by which its target time is known.
    frames, null_ms, _ = _concealed(script, 10, 1)
    assert violated(frames, null_ms) == 1


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


def test_a_capture_in_pieces_is_the_same_capture(tmp_path):
    """Lengths and numbers of beacons are of all files of a folder, and so are joules."""
    path = SHIPPED / "tim-never-set-guilty.pcap"
    head, records = pcap_records(path)
    pieces = tmp_path / "pieces"
    pieces.mkdir()
    for piece in range(3):
        part = records[piece * len(records) // 3 : (piece + 1) * len(records) // 3]
        write_pcap(pieces / f"{piece}.pcap", head, part)
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
    (found,) = [one for one in airwatt(*asked, "--json").json["findings"] if one["kind"] == "keep-alive"]
    name = "small exchange" if is_report else "keep-alive"
    assert f"{name}, 6 times, note of the station, {found['station']}: " in shown
    assert ("exchanges as small as keep-alives" in shown) is not is_report
    assert ("more data than keep-alives have, up to 60 bytes in a packet" in shown) is is_report
    assert (found["whose"], found["peer"]) == ("station", "10.0.0.1:50000")
    assert found["exchanges"] == ("reports" if is_report else "keep-alives")


def test_an_undecidable_bit_names_the_number_that_is_missing(airwatt, tmp_path):
    """A monitor that missed one beacon of those without the bit left two reasons, and named no number."""
    whole = (SHIPPED / "tim-never-set-guilty.pcap").read_bytes()
    starts = [24]
    while starts[-1] < len(whole):
        starts.append(starts[-1] + 16 + int.from_bytes(whole[starts[-1] + 8 : starts[-1] + 12], "little"))
    # The first of its three beacons without the bit.
    capture = tmp_path / "missed.pcap"
    capture.write_bytes(whole[: starts[20]] + whole[starts[21] :])
    (found,) = [one for one in airwatt("analyze", capture, "--json").json["findings"] if one["kind"] == "tim-never-set"]
    assert (found["count"], found["undecidable"]) == (0, 1)
    (detail,) = [place["detail"] for place in found["occurrences"] if place["verdict"] == "undecidable"]
    assert detail.endswith(
        "it may be another frame: of the access point's numbers, 10 is missing between packets 19 and 21"
    )


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
