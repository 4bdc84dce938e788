"""What a small capture may cost, whatever is asked for: less than 200 MB, and no more than the limit of a user."""

import contextlib
import io
import random
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import PROGRAM, ROOT

from airwatt.cli import status_of

_STATION, _SERVER = (192, 168, 1, 2), (198, 51, 100, 1)


def _pcap(link: int, packets) -> bytes:
    """A capture of packets, each with its time in microseconds."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, link)
    records = (struct.pack("<IIII", *divmod(at, 10**6), len(data), len(data)) + data for at, data in packets)
    return head + b"".join(records)


def _udp(source, destination) -> bytes:
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 38, 1, 0, 64, 17, 0, bytes(source), bytes(destination))
    return header + struct.pack(">HHHH", 4_000, 5_000, 18, 0) + bytes(10)


def _hour_of(stations: int) -> bytes:
    """Two packets of each station, an hour apart: every beacon in between changes the state of a radio."""
    hosts = [(192, 168, 1, 2 + index) for index in range(stations)]
    packets = [(at + i, _udp(host, _SERVER)) for at in (0, 3_500 * 10**6) for i, host in enumerate(hosts)]
    return _pcap(101, packets)


_AP, _CLIENT = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 1, 1])


def _beacons_that_name_all(count: int) -> bytes:
    """Beacons whose TIM names two thousand stations each."""
    null = (100, b"\x48\x11\0\0" + _AP + _CLIENT + _AP + b"\0\0")

    def beacon(number: int) -> tuple[int, bytes]:
        head = b"\x80\0\0\0" + b"\xff" * 6 + _AP + _AP + struct.pack("<H", number % 4_096 << 4)
        tim = bytes([5, 254, 0, 1, 0]) + b"\xff" * 251
        return number * 102_400, head + struct.pack("<QHH", number * 102_400, 100, 1) + b"\0\1x" + tim

    return _pcap(105, [null, *map(beacon, range(1, count))])


def _frames_of(stations: int, count: int) -> bytes:
    """QoS Null frames in turn, from and to each station."""

    def frame(number: int) -> tuple[int, bytes]:
        station = bytes([2, 0, 0, 0, 1, number % stations])
        is_up = number // stations % 2
        ends = _AP + station + _AP if is_up else station + _AP + _AP
        return number * 1_000, bytes([0x48, 1 if is_up else 2, 0, 0]) + ends + struct.pack("<H", number % 4_096 << 4)

    return _pcap(105, map(frame, range(count)))


_HOSTILE = {
    "an hour": (_hour_of(1), "192.168.1.2"),
    "an hour of 20": (_hour_of(20), "all"),
    "beacons": (_beacons_that_name_all(3_000), "all"),
    "frames": (_frames_of(20, 23_000), "all"),
}


# The program as the child of a small process: a child begins with the peak of who forks it.
_MEASURED = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def _peak_megabytes(*arguments: object) -> float:
    """The memory that the program takes, in which it may refuse what is asked for, but neither fail nor be killed."""
    words = [sys.executable, "-c", _MEASURED, PROGRAM, *arguments]
    answer = subprocess.run(list(map(str, words)), cwd=ROOT, capture_output=True, text=True, check=True)
    status, kilobytes = map(int, answer.stdout.split())
    assert status in (0, 1, 2), answer.stderr
    assert "internal error" not in answer.stderr, answer.stderr
    return kilobytes / 1e3


def _outputs(folder: Path) -> dict[str, list[object]]:
    return {
        "nothing": [],
        "trace": ["--trace", folder / "traces"],
        "plot": ["--plot", folder / "x.png"],
        "perfetto": ["--perfetto", folder / "x.json"],
    }


@pytest.mark.long
@pytest.mark.parametrize("output", ["nothing", "trace", "plot", "perfetto"])
@pytest.mark.parametrize("name", _HOSTILE)
def test_a_small_capture_takes_less_than_200_megabytes(tmp_path, name, output):
    content, station = _HOSTILE[name]
    path = tmp_path / "x.pcap"
    path.write_bytes(content)
    assert len(content) < 1_000_000
    options = ["--policy", "psm,timeout", *_outputs(tmp_path)[output]]
    assert _peak_megabytes("analyze", path, "--station", station, *options) < 200


@pytest.mark.long
@pytest.mark.parametrize("name", ["an hour", "beacons", "frames"])
def test_a_report_of_a_small_capture_takes_less_than_200_megabytes(tmp_path, name):
    path = tmp_path / "x.pcap"
    path.write_bytes(_HOSTILE[name][0])
    assert _peak_megabytes("report", path, "--out", tmp_path / "x.html") < 200


@pytest.mark.parametrize("output", ["nothing", "trace"])
def test_a_limit_of_memory_is_what_a_capture_adds(tmp_path, output):
    tiny, hour = tmp_path / "tiny.pcap", tmp_path / "hour.pcap"
    tiny.write_bytes(_pcap(101, [(0, _udp(_STATION, _SERVER)), (1, _udp(_SERVER, _STATION))]))
    hour.write_bytes(_hour_of(1))
    options = ["--limit", "memory=100MB", *_outputs(tmp_path)[output]]
    own, taken = (_peak_megabytes("analyze", path, "--station", "192.168.1.2", *options) for path in (tiny, hour))
    assert taken - own < 100


def test_a_limit_of_events_is_that_of_all_stations(airwatt, tmp_path):
    """Events for one station and a half: the first has its policies, the others a note, and nothing fails."""
    path = tmp_path / "three.pcap"
    hosts = [(192, 168, 1, 2 + index) for index in range(3)]
    times = [(10**6 * second, host) for second in range(20) for host in hosts]
    path.write_bytes(_pcap(101, [(at + host[3], _udp(host, _SERVER)) for at, host in times]))
    asked = ["analyze", path, "--policy", "psm", "--json"]

    def with_limit(station: str, events: int):
        return airwatt(*asked, "--station", station, "--limit", f"events={events}")

    limits = [round(1_000 * 1.3**step) for step in range(30)]
    enough = next(events for events in limits if with_limit("192.168.1.2", events).status == 0)
    documents = with_limit("all", enough).json["analyses"]
    assert [len(one["policies"]) for one in documents] == [1, 0, 0]
    for one in documents[1:]:
        assert any("would exceed the limit of events" in note for note in one["capture"]["notes"])
    whole = with_limit("all", 100 * enough).json["analyses"]
    assert [len(one["policies"]) for one in whole] == [1, 1, 1]
    assert whole[0]["policies"][0]["energy_j"] == documents[0]["policies"][0]["energy_j"]


def _mutants(seed: int, count: int):
    """Small captures, changed here and there: bytes at random, numbers at their bounds, pieces repeated and cut."""
    draw = random.Random(seed)
    seeds = [
        path.read_bytes() for kind in ("pcap", "pcapng") for path in sorted((ROOT / "fuzz/corpus" / kind).iterdir())
    ]
    seeds += [(ROOT / "captures/tim-never-set.pcap").read_bytes(), _hour_of(1), _hour_of(3), _frames_of(3, 30)]
    for _ in range(count):
        content = bytearray(draw.choice(seeds))
        for _ in range(draw.randint(0, 8)):
            at = draw.randrange(24, max(25, len(content)))
            match draw.randrange(4):
                case 0:
                    content[at : at + 1] = bytes([draw.randrange(256)])
                case 1:
                    content[at : at + 4] = draw.choice([0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 3_600, 86_400]).to_bytes(
                        4, "little"
                    )
                case 2:
                    content[at:at] = content[at : at + draw.randint(1, 200)]
                case 3:
                    del content[at : at + draw.randint(1, 20)]
        yield bytes(content)


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _kilobytes(field: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_no_mutant_costs_more_in_any_output(tmp_path, monkeypatch, seed):
    """Every mutant in one of the outputs: a status of ours, 10 s of processor time, 120 MB beyond what was there."""
    monkeypatch.chdir(ROOT)
    path = tmp_path / "x.pcap"
    commands = [["analyze", path, "--station", "all", *options] for options in _outputs(tmp_path).values()]
    commands.append(["report", path, "--out", tmp_path / "x.html"])
    for number, content in enumerate(_mutants(seed, 200)):
        path.write_bytes(content)
        # A picture takes two seconds, so that each mutant has one of the outputs, in turn.
        command = list(map(str, commands[number % len(commands)]))
        _reset_peak()
        before, begin = _kilobytes("VmRSS"), time.process_time()
        with contextlib.redirect_stderr(io.StringIO()) as err, contextlib.redirect_stdout(io.StringIO()):
            status = status_of(command)
        took, added = time.process_time() - begin, (_kilobytes("VmHWM") - before) / 1e3
        keep = tmp_path / f"mutant-{number}.pcap"
        if status not in (0, 1, 2) or "internal error" in err.getvalue() or took > 10 or added > 120:
            keep.write_bytes(content)
            pytest.fail(
                f"{command}: status {status}, {took:.1f} s, {added:.0f} MB; {err.getvalue()}; the input is {keep}"
            )


def test_stations_cost_in_proportion(tmp_path):
    """Four times the stations of a capture of equal length take no more than some five times the processor."""
    import airwatt as laboratory

    def null(number: int, stations: int) -> tuple[int, bytes]:
        client = b"\2\0\1" + (number % stations).to_bytes(3, "big")
        control = b"\x48\x11" if number % 2 else b"\x48\x01"
        return number * 1_000, control + b"\0\0" + _AP + client + _AP + struct.pack("<H", number % 4_096 << 4)

    def seconds(stations: int) -> float:
        path = tmp_path / f"{stations}.pcap"
        path.write_bytes(_pcap(105, [null(number, stations) for number in range(8_000)]))
        begin = time.process_time()
        laboratory.analyze(path, station="all")
        return time.process_time() - begin

    few, many = seconds(1_000), seconds(4_000)
    assert many < 5 * few + 0.5, (few, many)
