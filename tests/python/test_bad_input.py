"""All kinds of wrong input: one line that names place, value and what is expected, and the exit status."""

import gzip
import json
import os
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest
from conftest import ROOT, SHORT
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CAPTURE = ROOT / "captures" / "tcp-download.pcapng"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], ["frobnicate"]),
        (["run"], ["scenario"]),
        (["run", "no-such"], ["no-such", "fast-dsl"]),
        (["run", "fast-dsl", "extra"], ["extra"]),
        (["run", "fast-dsl", "--frob"], ["--frob"]),
        (["run", "fast-dsl", "--seed", "x"], ["--seed"]),
        (["run", "fast-dsl", "--seed", "-1"], ["seed", "-1", "0 to"]),
        (["run", "fast-dsl", "--seed", str(2**64)], ["seed", "0 to"]),
        (["run", "fast-dsl", "--runs", "0"], ["runs", "0", "1 to"]),
        (["run", "fast-dsl", "--runs", "-3"], ["runs", "-3"]),
        (["run", "fast-dsl", "--runs", "1000000000"], ["runs", "1000000000"]),
        (["run", "fast-dsl", "--set", "x"], ["--set", "KEY=VALUE"]),
        (["run", "fast-dsl", "--set", "=3"], ["--set", "KEY=VALUE"]),
        (["run", "fast-dsl", "--set", "frob=3"], ["frob"]),
        (["run", "fast-dsl", "--set", "wired.frob=3"], ["frob"]),
        (["run", "fast-dsl", "--set", "wired.rtt=20"], ["wired.rtt", "20", "unit"]),
        (["run", "fast-dsl", "--set", "wired.rtt=20MB"], ["wired.rtt", "20MB", "ms"]),
        (["run", "fast-dsl", "--set", "wired.rtt=-20ms"], ["wired.rtt", "-20ms", "zero or more"]),
        (["run", "fast-dsl", "--set", "wired.rtt=9999999h"], ["wired.rtt"]),
        (["run", "fast-dsl", "--set", "wired.down.rate=0bps"], ["wired.down.rate"]),
        (["run", "fast-dsl", "--set", "wifi.frame_error_rate=1.5"], ["wifi.frame_error_rate", "1.5"]),
        (["run", "fast-dsl", "--set", "wifi.frame_error_rate=nan"], ["wifi.frame_error_rate"]),
        (["run", "fast-dsl", "--set", "station.count=0"], ["station"]),
        (["run", "fast-dsl", "--set", "station.count=100000000"], ["station"]),
        (["run", "fast-dsl", "--policy", "frob"], ["frob", "psm"]),
        (["run", "fast-dsl", "--policy", "bata"], ["bata", "ba-ta", "psm"]),
        (
            ["run", "fast-dsl", "--set", "station.power_save.ratio_min=1.7", "--policy", "ba-ta"],
            ["--set station.power_save.ratio_min=1.7", "0.01 to 1, got 1.7"],
        ),
        (
            ["run", "fast-dsl", "--set", "station.power_save.frob=1", "--policy", "ba-ta"],
            ["power_save.frob", "int_min"],
        ),
        (
            ["run", "fast-dsl", "--set", "station.power_save.quiet=5s", "--policy", "psm-throttling"],
            ["power_save.quiet", "5s", "1s"],
        ),
        (["run", "fast-dsl", "--policy", ""], ["policy"]),
        (["run", "fast-dsl", "--transport", "sctp-tunnel"], ["sctp-tunnel", "newreno"]),
        (["run", "fast-dsl", "--set", "station.radio=frob"], ["frob", "broadcom-4311"]),
        (["run", "fast-dsl", "--set", "ap.uapsd=false", "--policy", "psm"], ["psm", "uapsd"]),
        (["run", "fast-dsl", "--fail-if", "x"], ["--fail-if", "KEY OP NUMBER"]),
        (["run", "fast-dsl", "--plot", "x.gif"], ["--plot", ".png"]),
        (["run", "fast-dsl", "--plot", "/no/such/x.png"], ["--plot", "/no/such"]),
        (["run", "fast-dsl", "--plot", "."], ["--plot"]),
        (["run", "fast-dsl", "--pcap", "/no/such/x"], ["--pcap", "/no/such"]),
        (["run", "fast-dsl", "--pcap", "/"], ["--pcap", "folder"]),
        (["run", "fast-dsl", "--trace", "/dev/null/x"], ["--trace", "/dev/null/x"]),
        (["run", "fast-dsl", "--trace", "README.md"], ["--trace", "README.md"]),
        (["run", "/"], ["/"]),
        (["run", "/dev/null"], ["/dev/null"]),
        (["run", "captures/tcp-download.pcapng"], ["tcp-download"]),
        (["compare", "fast-dsl"], ["--policy", "--transport", "--vary"]),
        (["compare", "fast-dsl", "--policy", "active,"], ["--policy", "empty"]),
        (["compare", "fast-dsl", "--policy", "active,active"], ["--policy", "twice"]),
        (["compare", "fast-dsl", "--policy", "active,frob"], ["frob"]),
        (["compare", "fast-dsl", "--vary", "x"], ["--vary", "KEY=V1,V2"]),
        (["compare", "fast-dsl", "--vary", "frob=1,2"], ["frob"]),
        (["compare", "fast-dsl", "--vary", "a=1", "--vary", "a=2"], ["--vary", "twice"]),
        (["analyze"], ["capture"]),
        (["analyze", "/no/such.pcap"], ["/no/such.pcap"]),
        (["analyze", "/"], ["/"]),
        (["analyze", "/dev/null"], ["/dev/null"]),
        (["analyze", "README.md"], ["README.md"]),
        (["analyze", CAPTURE, "--station", "frob"], ["frob"]),
        (["analyze", CAPTURE, "--station", "203.0.113.9"], ["203.0.113.9"]),
        (["analyze", CAPTURE, "--radio", "frob"], ["frob", "ar5004"]),
        (["analyze", CAPTURE, "--policy", "frob"], ["frob", "psm"]),
        (["analyze", CAPTURE, "--plot", "x.bmp"], ["--plot", ".png"]),
        (["analyze", CAPTURE, "--limit", "time=5s"], ["--limit", "memory=SIZE", "time=5s"]),
        (["analyze", CAPTURE, "--limit", "memory=2"], ["--limit", "memory", "unit"]),
        (["run", "fast-dsl", "--limit", "events=x"], ["--limit", "events", "whole number"]),
        (["run", "fast-dsl", "--limit", "memory=x"], ["--limit", "memory", "1500B"]),
        (
            ["run", "streaming", "--set", "flow.application.block=1B"],
            ["flow.application.block=1B", "at least 1ms"],
        ),
        (["radios", "extra"], ["extra"]),
        (["scenarios", "--frob"], ["--frob"]),
    ],
    ids=lambda value: " ".join(map(str, value)).replace(str(ROOT), "")[:60] if value and len(value) > 0 else "",
)
def test_wrong_input_is_one_line_and_status_2(airwatt, arguments, words):
    answer = airwatt(*arguments)
    assert answer.status == 2, answer
    assert answer.is_one_line(*words), answer


def test_an_error_in_a_file_names_file_and_line(airwatt, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "fast-dsl"\n\n[wired]\nrtt = "20"\n')
    answer = airwatt("run", path)
    assert answer.status == 2
    assert answer.is_one_line(f"{path}:4", "wired.rtt", "20", "unit"), answer


def test_a_run_that_cannot_end_fails_with_status_1(airwatt):
    answer = airwatt("run", "fast-dsl", "--set", "time_limit=1s")
    assert answer.status == 1
    assert answer.is_one_line("1s"), answer


def test_an_unreadable_file_is_refused(airwatt, tmp_path):
    # Root can read every file, so a broken link represents an unreadable file.
    (tmp_path / "link.pcap").symlink_to(tmp_path / "gone")
    for command in ("run", "analyze"):
        answer = airwatt(command, tmp_path / "link.pcap")
        assert answer.status == 2
        assert answer.is_one_line("link.pcap"), answer


def test_a_truncated_capture_is_read_as_far_as_it_goes(airwatt, tmp_path):
    path = tmp_path / "cut.pcapng"
    path.write_bytes(CAPTURE.read_bytes()[:-7])
    assert airwatt("analyze", path, "--json").status == 0


def _scenario_text() -> str:
    return (ROOT / "scenarios" / "fast-dsl.toml").read_text()


# Fragments that turn a valid scenario into a doubtful one.
_FRAGMENTS = st.sampled_from(
    [
        "",
        "0",
        "-1",
        "1e99",
        "nan",
        "true",
        '""',
        '"20"',
        '"20ms"',
        '"-5MB"',
        '"1Zbps"',
        "[]",
        "{}",
        "[[flow]]",
        "=",
        "\n",
        "[wired]",
        "\x00",
        "\u00fc",
        '"psm"',
        '"99999999999999999999s"',
        "'''",
        "#",
        ".",
        "base",
        '"0packets"',
        "9" * 40,
    ]
)


@settings(max_examples=150, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), _FRAGMENTS), min_size=1, max_size=4),
)
def test_mutated_scenarios_never_show_a_traceback(airwatt, tmp_path, edits):
    text = _scenario_text()
    for place, cut, fragment in edits:
        start = int(place * len(text))
        text = text[:start] + fragment + text[start + cut :]
    path = tmp_path / "mutated.toml"
    path.write_text(text)
    # The test is about reading: a valid scenario may take long to run.
    answer = airwatt("run", path, "--show-config")
    assert answer.status in (0, 2), answer
    assert answer.status == 0 or answer.is_lines(), answer


@settings(max_examples=40, deadline=10_000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mutated_captures_never_show_a_traceback(airwatt, tmp_path, data):
    content = bytearray(CAPTURE.read_bytes()[:40_000])
    for _ in range(data.draw(st.integers(1, 8))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "mutated.pcapng"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    answer = airwatt("analyze", path, "--json")
    # 1: the header is sound, and no packet is left.
    assert answer.status in (0, 1, 2), answer
    assert answer.status == 0 or answer.is_one_line(), answer


def _pcap(packets: Iterable[tuple[int, int, bytes]]) -> bytes:
    """A capture of raw IP packets, each with its second, the length that it states and its bytes."""
    records = (struct.pack("<IIII", at, 0, len(data), stated) + data for at, stated, data in packets)
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101) + b"".join(records)


def test_ten_packets_that_state_gigabytes_are_refused(airwatt, tmp_path):
    header = bytes.fromhex("45000000000000004011000001020304c0a80102 0035100000080000")
    path = tmp_path / "large.pcap"
    path.write_bytes(_pcap((at, 2**32 - 1, header) for at in range(10)))
    answer = airwatt("analyze", path)
    assert answer.status == 1
    assert answer.is_one_line("large.pcap", "10 packets", "4294967295"), answer


@pytest.mark.parametrize("words", [["run", "fast-dsl"], ["compare", "fast-dsl", "--policy", "active,psm"]])
def test_a_run_beyond_its_limit_is_one_line_and_status_1(airwatt, words):
    answer = airwatt(*words, "--limit", "events=1e5", "--set", "flow.application.size=500MB")
    assert answer.status == 1, answer
    assert answer.is_one_line("100000 events", "simulated time", "hint:", "--limit"), answer


@pytest.mark.parametrize("option", ["--trace", "--plot", "--perfetto"])
def test_traces_beyond_their_limit_are_one_line_and_status_1(airwatt, tmp_path, option):
    out = tmp_path / "out.png"
    answer = airwatt("run", "fast-dsl", option, out, "--limit", "memory=150MB")
    assert answer.status == 1, answer
    assert answer.is_one_line("150MB for its traces", "simulated time", "hint:", "--limit memory=SIZE"), answer
    assert list(tmp_path.iterdir()) == []
    # Frames alone are written while the run goes on.
    assert airwatt("run", "fast-dsl", "--pcap", out, "--limit", "memory=150MB").status == 0


def test_an_exceeded_limit_is_one_line_and_status_1(airwatt):
    answer = airwatt("analyze", CAPTURE, "--limit", "events=1e4")
    assert answer.status == 1
    assert answer.is_one_line("tcp-download.pcapng", "10000 events", "hint:", "--limit"), answer


@pytest.mark.parametrize("source", [["--flow", "down:bulk:500MB"], [CAPTURE]])
def test_advice_beyond_its_limit_is_one_line_and_status_1(airwatt, source):
    limit = "1e4" if source == [CAPTURE] else "1e5"
    answer = airwatt("advise", *source, "--limit", f"events={limit}")
    assert answer.status == 1, answer
    assert answer.is_one_line(f"{float(limit):.0f} events", "hint:", "--limit"), answer


def test_a_compressed_capture_gives_the_same_document(airwatt, tmp_path):
    path = tmp_path / "download.pcapng.gz"
    path.write_bytes(gzip.compress(CAPTURE.read_bytes()))
    options = ["--policy", "psm", "--json"]
    plain, compressed = (json.loads(airwatt("analyze", file, *options).out) for file in (CAPTURE, path))
    assert compressed["capture"].pop("file") == str(path)
    assert plain["capture"].pop("file") == str(CAPTURE)
    assert compressed == plain


def test_a_compressed_file_that_expands_beyond_measure_is_refused(airwatt, tmp_path):
    path = tmp_path / "bomb.pcap.gz"
    path.write_bytes(gzip.compress(_pcap((0, 0, bytes(60_000)) for _ in range(300))))
    answer = airwatt("analyze", path)
    assert answer.status == 2
    assert answer.is_one_line("bomb.pcap.gz", "200 times"), answer


def test_a_file_name_that_is_not_utf_8_is_a_file_name(airwatt, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pcapng"))
    path.write_bytes(CAPTURE.read_bytes())
    answer = airwatt("analyze", path, "--policy", "psm", "--json")
    assert answer.status == 0, answer
    assert json.loads(answer.out)["capture"]["file"].endswith("caf\ufffd.pcapng")
    path.unlink()
    answer = airwatt("analyze", path)
    assert answer.status == 2
    assert answer.is_one_line("No such file"), answer


@pytest.mark.parametrize(
    "words",
    [
        ["run", "fast-dsl", "--set", "name=\udcff\udcfe"],
        ["run", "fast-dsl", "--set", "\udcff=1"],
        ["compare", "fast-dsl", "--vary", "wired.rtt=\udcff"],
        ["sweep", "fast-dsl", "--over", "wired.rtt=\udcff"],
        ["sweep", "fast-dsl", "--set", "name=\udcff"],
        ["sweep", "\udcff"],
        ["sweep", "status", "\udcff"],
    ],
)
def test_bytes_that_are_no_utf8_are_one_line(airwatt, words):
    answer = airwatt(*words)
    assert answer.status == 2
    assert answer.is_one_line(), answer.err


@pytest.mark.parametrize("option", ["--pcap", "--plot", "--perfetto"])
def test_a_full_disk_is_one_line(airwatt, tmp_path, option):
    name = tmp_path / {"--pcap": "full.pcapng", "--plot": "full.png", "--perfetto": "full.json"}[option]
    name.symlink_to("/dev/full")
    answer = airwatt("analyze", "captures/tcp-download.pcapng", "--policy", "psm", option, name)
    assert answer.status == 1
    (line,) = answer.err.splitlines()
    assert line.startswith(f"airwatt: {option} ")
    assert line.endswith("No space left on device")


def test_a_store_may_have_a_name_of_any_bytes(airwatt, tmp_path):
    store = f"{tmp_path}/st\udcffore"
    assert airwatt("run", "fast-dsl", *SHORT, "--store", store).status == 0
    assert airwatt("sweep", "status", store).status == 0
    assert len(airwatt("sweep", "export", store).out.splitlines()) == 2


@pytest.mark.parametrize("letters", ["\033[31mred", "\x9b31mred", "\u202egnp", "two\nlines", "a\rb"])
def test_names_from_strangers_steer_no_terminal_and_break_no_document(airwatt, tmp_path, letters):
    from xml.etree import ElementTree

    capture = tmp_path / f"{letters}.pcap"
    capture.write_bytes((ROOT / "captures" / "tim-never-set.pcap").read_bytes())
    junit, picture = tmp_path / "out.xml", tmp_path / "out.svg"
    answer = airwatt("analyze", capture, "--junit", junit, "--plot", picture)
    assert answer.status == 0, answer.err
    for shown in (answer.out, answer.err):
        assert not any(letter in shown for letter in "\033\x9b\u202e\r")
    assert answer.out.splitlines()[0].startswith(str(tmp_path)[:40])
    assert ".pcap: pcap" in answer.out.replace("\n", " ")
    ElementTree.parse(junit)
    ElementTree.parse(picture)
    missing = airwatt("analyze", tmp_path / f"no {letters}.pcap")
    assert missing.is_lines()
    assert not any(letter in missing.err for letter in "\033\x9b\u202e\r")
