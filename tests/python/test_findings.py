"""Verdicts about the shipped captures whose truth is known."""

import struct
import subprocess
import sys

import pytest
from conftest import ROOT

from airwatt import laboratory

SHIPPED = ROOT / "captures" / "findings"
STATION = "02:00:00:00:00:02"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("findings")
    subprocess.run([sys.executable, "-B", ROOT / "captures" / "findings.py", folder], check=True)
    return folder


def test_the_captures_are_those_of_the_script(made):
    names = sorted(path.name for path in SHIPPED.glob("*.pcap"))
    assert names == sorted(path.name for path in made.glob("*.pcap"))
    for name in names:
        assert (SHIPPED / name).read_bytes() == (made / name).read_bytes(), name


def test_every_kind_has_a_guilty_and_an_innocent_capture():
    kinds = {path.stem.rpartition("-")[0] for path in SHIPPED.glob("*.pcap")}
    schema_kinds = {kind for kind in _kinds() if kind != "keep-alive"}
    assert kinds == schema_kinds
    for kind in kinds:
        assert (SHIPPED / f"{kind}-guilty.pcap").exists(), kind
        assert (SHIPPED / f"{kind}-innocent.pcap").exists(), kind


def _kinds():
    from airwatt._core import finding_kinds

    return finding_kinds()


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.pcap")), ids=lambda path: path.stem)
def test_verdicts_are_the_truth(path):
    kind, _, case = path.stem.rpartition("-")
    document = laboratory.analyze(path, station=STATION, policies=["psm"]).to_dict()
    checks = {check["kind"]: check for check in document["checks"]}
    accused = {name for name, check in checks.items() if check["violated"]}
    undecidable = checks.get(kind, {"undecidable": 0})["undecidable"]
    assert accused == ({kind} if case == "guilty" else set())
    if case in ("innocent", "undecidable"):
        assert bool(undecidable) == (case == "undecidable")


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
