"""The processing cost of SACK in docs/reproductions/singh-2002.md: its tables, and what its measurement sends."""

import importlib.util
import struct
import tomllib

import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "reproductions" / "singh-2002.md"


def load(folder, name):
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def program():
    return load("tests/reference", "sack_page")


def test_the_table_of_the_kernel_is_what_was_measured(program):
    text = PAGE.read_text()
    assert program.marked(text, "kernel", program.of_kernel(program.measured())) == text


def test_a_cost_by_hand(program):
    """2 us at 2.445 GHz are 8.15 us at 600 MHz; beside 4 us they are half, and half of 33 us are 16.5 us."""
    rows = [
        {"host": "sender", "difference_ns": "2000", "without_ns": "4000"},
        {"host": "receiver", "difference_ns": "9", "without_ns": "9"},
    ]
    assert list(program.costs_us(rows).values()) == [pytest.approx(8.15), pytest.approx(16.5)]


def test_the_host_of_2002_says_what_was_measured(program):
    text = tomllib.loads((ROOT / "hosts" / "laptop-2002.toml").read_text())["assumed"]["sack_block"]
    rows = program.measured()
    more = [float(row["difference_ns"]) / 1e3 for row in rows if row["host"] == "sender"]
    cycles, share = program.costs_us(rows).values()
    assert f"{sorted(more)[len(more) // 2]:.1f} us more" in text
    assert f"as many cycles at 600 MHz are {cycles:.1f} us" in text
    assert f"the same share of 33 us is {share:.1f} us" in text


def test_where_blocks_cost_what_sack_saves(program):
    """1 uJ for each of 40 Mbit are 40 J. 100 blocks of 10 us are 10 mJ of 10 W, so that 40 ms a block are the turn."""
    sack, other = {"total": 9.0, "sack": 1e-3}, {"total": 10.0, "sack": 0.0}
    found = {
        (loss, tcp): [sack if tcp == "sack" else other] * 2 for loss in program.LOSSES for tcp in program.setup.TCPS
    }
    row = program.of_turn(found, 10.0, {"measured": 20.0}).splitlines()[2]
    assert row == "| 0.1 % | NewReno | 100 | 40.01 ± 0.00 | 39.99 ± 0.00 | 40 ms |"


def test_what_the_measurement_sends(tmp_path):
    """Blocks newest first and four at most (RFC 2018), and checksums that add up to nothing (RFC 1071)."""
    bench = load("benches", "sack_blocks")
    option = bench.blocks_of(1_000, 5)
    assert option[:4] == bytes((1, 1, 5, 34))
    edges = struct.unpack("!8I", option[4:])
    # Segments 9, 7, 5 and 3 behind a first one that is missing.
    assert edges == tuple(1_000 + each * bench.SEGMENT for each in (9, 10, 7, 8, 5, 6, 3, 4))
    file = tmp_path / "tun"
    with file.open("wb") as tun:
        bench.Connection(tun.fileno()).write(0x10, option, b"data")
    packet = file.read_bytes()
    assert bench.checksum(packet[:20]) == 0
    pseudo = packet[12:20] + struct.pack("!HH", 6, len(packet) - 20)
    assert bench.checksum(pseudo + packet[20:]) == 0
    assert packet[-4:] == b"data"
