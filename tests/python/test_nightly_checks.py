"""What a check of captures each night says: of what was decided, what was not and why, in each of its formats."""

import gzip
import json
import struct
from xml.etree import ElementTree

import pytest
from conftest import ROOT, pcap_records, write_pcap

SHIPPED = ROOT / "captures" / "findings"
STATION = "02:00:00:00:00:02"


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
    head, records = pcap_records(SHIPPED / "tim-never-set-innocent.pcap")
    heard = [record for record in records if not _is_beacon(script, record[1])]
    return write_pcap(tmp_path / "without-beacons.pcap", head, heard)


def test_what_was_not_checked_is_no_success(airwatt, tmp_path):
    """A damaged file, of which the rest was not read, a cut packet, dropped packets, and another station."""
    whole = gzip.compress((SHIPPED / "tim-never-set-innocent.pcap").read_bytes())
    (tmp_path / "cut.pcap.gz").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "cut.pcap").write_bytes((SHIPPED / "tim-never-set-innocent.pcap").read_bytes()[:-5])
    (folder := tmp_path / "folder").mkdir()
    (folder / "1.pcap.gz").write_bytes(whole[: len(whole) * 2 // 3])
    others = ROOT / "captures/wpa2-ccmp.pcap"
    dropped = _lossy(tmp_path / "dropped.pcapng", *pcap_records(SHIPPED / "tim-never-set-innocent.pcap"))
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
    head, records = pcap_records(SHIPPED / "tim-never-set-guilty.pcap")
    path = write_pcap(tmp_path / "cut.pcap", head, records[:21])
    arguments = ["analyze", path, "--station", STATION, "--fail-if", "findings.tim-never-set.count > 0"]
    loose = airwatt(*arguments)
    assert (loose.status, "tim-never-set: 1 undecidable" in loose.err) == (0, True), loose.err
    assert airwatt(*arguments, "--strict").status == 1


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
    head, records = pcap_records(SHIPPED / "tim-never-set-innocent.pcap")
    path = write_pcap(tmp_path / "cut.pcap", head, [(time, frame[:60]) for time, frame in records])
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
    head, records = pcap_records(SHIPPED / "tim-never-set-innocent.pcap")
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
    path = write_pcap(tmp_path / "two.pcap", head, both)
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
    before = write_pcap(tmp_path / "before.pcap", head, sorted([*records, *polls], key=lambda record: record[0]))
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
    assert "decided by packets 14, 17, 19, 21, 24, 26, 31" in failures[0].find("failure").text
    # What the standard allows is no failure.
    airwatt("analyze", SHIPPED / "awake-in-power-save-guilty.pcap", "--junit", file)
    case = ElementTree.parse(file).getroot().find("testcase[@name='awake-in-power-save']")
    assert case.find("failure") is None
    assert "1 times violated" in case.find("system-out").text
    airwatt("analyze", without_beacons, "--junit", file)
    skipped = ElementTree.parse(file).getroot().find("testcase[@name='tim-never-set']/skipped")
    assert "no beacon of" in skipped.get("message")
    # The command fails with a rule that it was asked about and that is not decided, and so does its test case.
    asked = airwatt("analyze", without_beacons, "--junit", file, "--fail-if", "findings.tim-never-set.count > 0")
    error = ElementTree.parse(file).getroot().find("testcase[@name='tim-never-set']/error")
    assert (asked.status, "no beacon of" in error.get("message")) == (1, True)


def test_a_severity_with_strict_has_each_of_its_kinds_evaluated(airwatt, tmp_path):
    """It was green where the capture lacks what a kind takes that is named by its severity."""
    file = tmp_path / "rules.xml"
    # Seven beacons are too few to tell when the next one is due.
    seven = ROOT / "captures" / "tim-never-set.pcap"
    check = ["analyze", seven, "--junit", file, "--fail-if", "findings.warning.count > 0"]
    loose, strict = airwatt(*check), airwatt(*check, "--strict")
    assert (loose.status, strict.status) == (0, 1), (loose.err, strict.err)
    assert "beacon-late" in strict.err.splitlines()[-1]
    assert "not evaluated: --strict expects that" in strict.err
    suite = ElementTree.parse(file).getroot()
    assert suite.find("testcase[@name='beacon-late']/error") is not None
    # A kind without an occasion lacks nothing.
    assert suite.find("testcase[@name='pm-flapping']/error") is None


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


def test_packets_of_a_folder_have_the_numbers_of_their_files(airwatt, tmp_path):
    """Packet 14 of a folder is in none of its files."""
    head, packets = pcap_records(SHIPPED / "tim-never-set-guilty.pcap")
    folder = tmp_path / "pieces"
    folder.mkdir()
    for piece in range(0, len(packets), 10):
        write_pcap(folder / f"{piece:02}.pcap", head, packets[piece : piece + 10])
    junit, sarif = tmp_path / "rules.xml", tmp_path / "rules.sarif"
    arguments = ["analyze", folder, "--station", STATION, "--policy", "psm"]
    document = airwatt(*arguments, "--junit", junit, "--sarif", sarif, "--json").json
    (finding,) = (found for found in document["findings"] if found["kind"] == "tim-never-set")
    packet = finding["occurrences"][-1]["packet"]
    piece, number = divmod(packet - 1, 10)
    assert f"packet {packet} ({folder}/{piece}0.pcap: {number + 1}) at" in junit.read_text()
    places = [result["locations"][0] for result in json.loads(sarif.read_text())["runs"][0]["results"]]
    assert (f"{folder}/{piece}0.pcap", number + 1) in [
        (place["physicalLocation"]["artifactLocation"]["uri"], place["physicalLocation"]["region"]["startLine"])
        for place in places
    ]
