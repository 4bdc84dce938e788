# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""The same jobs in ns-3.37 and in airwatt: python tests/reference/ns3/compare.py [JOB...]

Builds tcp_over_wifi.cc with Debian's libns3-dev, runs the jobs (all of them: six minutes of one core), writes their
rows of results.csv, and writes the tables of docs/validation.md from that file. With `--tables` it only writes tables.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airwatt.laboratory import run
from airwatt.statistics import mean_ci95

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PAGE = ROOT / "docs" / "validation.md"
RESULTS = HERE / "results.csv"
PROGRAM = HERE / "tcp_over_wifi.cc"
MODULES = (
    "core",
    "network",
    "internet",
    "applications",
    "wifi",
    "energy",
    "point-to-point",
    "traffic-control",
    "mobility",
)
TRANSMIT_W, RECEIVE_W, LISTEN_W = 2.0, 1.5, 0.39
"""The radio of both: Broadcom 4311, from table 3 of the BA-TA paper."""
VARIANTS: dict[str, dict[str, object]] = {
    "ns-3": {},
    # Longer than SIFS (16 us): the station has begun to send its 802.11 ACK when its TCP acknowledgement is queued.
    "ns-3, host delay": {"hostDelay": "20us"},
    # CCA-busy time at the power of receiving.
    "ns-3, host delay, CCA": {"hostDelay": "20us", "ccaBusyW": RECEIVE_W},
    "airwatt": {},
}
SEEDS = 10
TWICE = ("ns-3", "ns-3, host delay", "airwatt")
ENERGY = ("download-b2", "n130", "fast-dsl")
"""The jobs whose energy is compared."""
COLUMNS = (
    "goodput_mbps",
    "retransmitted",
    "timeouts",
    "frames",
    "retries",
    "cf_ends",
    "transmit_s",
    "receive_s",
    "header_s",
    "detection_s",
    "busy_s",
    "listen_s",
    "energy_j",
)
Row = dict[str, str]


@dataclass(frozen=True)
class Job:
    """A job as options of the ns-3 program and as settings of an airwatt scenario."""

    title: str
    ns3: Mapping[str, object]
    scenario: str
    settings: Mapping[str, object]


SIZE = {"flow.application.size": "5MB"}
"""What the ns-3 program does unless it is told otherwise."""
RECOVERY = {"delay": "40ms", "buffer": 200, "receiveWindow": 1500000, "bytes": 20000000}
RECOVERY_HERE = {"wired.rtt": "80ms", "ap.buffer": "200packets", "flow.application.size": "20MB"}
N_130 = {"standard": "802.11n", "qos": True, "dataMode": "HtMcs15"}
JOBS = {
    "download-b1": Job(
        "5 MB down, an ACK for each segment",
        {"delayedAcks": 1},
        "reference-download",
        SIZE | {"tcp.receive_window": "128KiB", "tcp.delayed_ack": False},
    ),
    "download-b2": Job("the same, delayed ACKs", {}, "reference-download", SIZE | {"tcp.receive_window": "128KiB"}),
    "n130": Job(
        "802.11n at 130 Mbit/s, best effort, 50/10 Mbit/s, 15 ms each way",
        N_130
        | {"aifsn": 3, "down": "50Mbps", "up": "10Mbps", "delay": "15ms", "buffer": 1000, "receiveWindow": 1500000},
        "reference-download",
        SIZE
        | {
            "wifi.standard": "802.11n",
            "wifi.data_rate": "130Mbps",
            "wifi.access": "edca",
            "wifi.aifsn": 3,
            "wifi.mac_overhead": "38B",
            "wired.down.rate": "50Mbps",
            "wired.up.rate": "10Mbps",
            "wired.rtt": "30ms",
            "ap.buffer": "1000packets",
        },
    ),
    "fast-dsl": Job(
        "Fast Wi-Fi (bursts of 3 ms) behind 16/1 Mbit/s",
        N_130
        | {"cwMin": 7, "cwMax": 15, "aifsn": 2, "txop": "2976us", "down": "16.384Mbps", "up": "1Mbps", "buffer": 1000}
        | {"delayedAcks": 1, "receiveWindow": 65536},
        "fast-dsl",
        SIZE
        | {
            "wired.down.rate": "16.384Mbps",
            "wired.down.queue": "1000packets",
            "tcp.header": "40B",
            "tcp.receive_window": "65536B",
            "wifi.txop": "2976us",
            "wifi.mac_overhead": "38B",
        },
    ),
    "recovery": Job(
        "20 MB down, RTT 80 ms, 200 packets at the access point, NewReno",
        RECOVERY,
        "reference-download",
        RECOVERY_HERE,
    ),
    "recovery-sack": Job(
        "the same, SACK",
        RECOVERY | {"sack": True, "prr": True},
        "reference-download",
        RECOVERY_HERE | {"flow.transport": "sack"},
    ),
}


def build(folder: Path) -> Path:
    """Compiles the program into a folder."""
    program = folder / PROGRAM.stem
    libraries = [f"-lns3-{module}" for module in MODULES]
    subprocess.run(["g++", "-O1", "-std=c++17", "-o", program, PROGRAM, *libraries], check=True)
    return program


def of_ns3(program: Path, job: Job, variant: str, seed: int) -> Row:
    """One run of ns-3."""
    options = {**job.ns3, **VARIANTS[variant], "seed": seed}
    arguments = [f"--{name}={int(value) if isinstance(value, bool) else value}" for name, value in options.items()]
    found = json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout)
    frames, state = found["frames"], found["state_s"]
    return row(
        goodput_mbps=found["goodput_bps"] / 1e6,
        retransmitted=found["segments_retransmitted"],
        timeouts=found["timeouts"],
        frames=sum(count for kind, count in frames.items() if kind.endswith(("_data", "_retry"))),
        retries=sum(count for kind, count in frames.items() if kind.endswith("_retry")),
        cf_ends=sum(count for kind, count in frames.items() if kind.endswith("_cf_end")),
        transmit_s=state["TX"],
        receive_s=state["RX"],
        header_s=found["header_s"],
        detection_s=found["detection_s"],
        busy_s=state["CCA_BUSY"],
        listen_s=state["IDLE"],
        energy_j=found["energy_j"],
    )


def of_airwatt(job: Job, seed: int) -> Row:
    """One run of airwatt."""
    found = run(job.scenario, set=job.settings, seed=seed).to_dict()
    flow, station, cell = found["flows"][0], found["stations"][0], found["cell"]
    # A run goes on until the sender knows that all has arrived; the comparison ends with the last byte.
    after_s = found["simulated_s"] - flow["completed_s"]
    return row(
        goodput_mbps=flow["goodput_bps"] / 1e6,
        retransmitted=flow["segments_retransmitted"],
        timeouts=flow["timeouts"],
        frames=cell["frames"],
        retries=cell["retries"],
        cf_ends=0,
        transmit_s=station["state_s"]["transmit"],
        receive_s=station["state_s"]["receive"],
        listen_s=station["state_s"]["listen"] - after_s,
        energy_j=station["energy_j"] - LISTEN_W * after_s,
    )


def row(**values: float) -> Row:
    """Numbers as the file has them."""
    return {name: f"{values[name]:.6g}" if name in values else "" for name in COLUMNS}


def measured(program: Path | None, name: str, variant: str, seed: int) -> Row:
    """One row of the file."""
    job = JOBS[name]
    found = of_airwatt(job, seed) if variant == "airwatt" or program is None else of_ns3(program, job, variant, seed)
    return {"job": name, "simulator": variant, "seed": str(seed)} | found


def kept() -> list[Row]:
    """The rows of the file."""
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def write(rows: Sequence[Row]) -> None:
    """Writes the file, job by job."""
    order = {name: index for index, name in enumerate(JOBS)}
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["job", "simulator", "seed", *COLUMNS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda one: order[one["job"]]))


class Found:
    """Means of the file's rows."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def values(self, job: str, simulator: str, column: str) -> list[float]:
        """One number of each run."""
        return [float(one[column]) for one in self._rows if (one["job"], one["simulator"]) == (job, simulator)]

    def mean(self, job: str, simulator: str, column: str) -> float:
        """Its mean."""
        return mean_ci95(self.values(job, simulator, column))[0]

    def said(self, job: str, simulator: str, column: str, decimals: int) -> str:
        """Its mean and 95 % interval as a table has them."""
        mean, ci95 = mean_ci95(self.values(job, simulator, column))
        return f"{mean:.{decimals}f} ± {ci95 or 0:.{decimals}f}"


def goodputs(found: Found) -> Iterator[str]:
    """Table: goodput in Mbit/s, and attempts after collisions."""
    yield "| job | ns-3 | with a host delay | here | difference | retries in ns-3 | with a host delay | here |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, job in JOBS.items():
        difference = (
            found.mean(name, "airwatt", "goodput_mbps") / found.mean(name, "ns-3, host delay", "goodput_mbps") - 1
        )
        cells = [job.title]
        for column, decimals in (("goodput_mbps", 2), ("retries", 0)):
            cells += [found.said(name, variant, column, decimals) for variant in TWICE]
        cells.insert(4, f"{100 * difference:+.1f} %")
        yield "| " + " | ".join(cells) + " |"


def as_here(found: Found, name: str) -> tuple[float, float, float, float]:
    """ns-3's seconds of transmitting, receiving and listening and its joules, with its PHY's states named as here."""
    there = {column: found.mean(name, "ns-3, host delay", column) for column in COLUMNS}
    receive_s = there["receive_s"] + there["busy_s"] + there["detection_s"]
    listen_s = there["listen_s"] - there["detection_s"]
    energy_j = TRANSMIT_W * there["transmit_s"] + RECEIVE_W * receive_s + LISTEN_W * listen_s
    return there["transmit_s"], receive_s, listen_s, energy_j


def energies(found: Found) -> Iterator[str]:
    """Table: the station's energy and its radio's time, ns-3's with a host delay beside ours."""
    yield "| job | | transmit (s) | receive (s) | CCA-busy (s) | idle or listen (s) | CF-Ends | energy (J) |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for name in ENERGY:
        there = {column: found.mean(name, "ns-3, host delay", column) for column in COLUMNS}
        states = " | ".join(f"{there[state]:.2f}" for state in ("transmit_s", "receive_s", "busy_s", "listen_s"))
        yield f"| {name} | ns-3 | {states} | {there['cf_ends']:.0f} | {there['energy_j']:.2f} |"
        charged = found.mean(name, "ns-3, host delay, CCA", "energy_j")
        yield f"| | CCA-busy charged as receiving | | | | | | {charged:.2f} |"
        transmit_s, receive_s, listen_s, energy_j = as_here(found, name)
        states = f"{transmit_s:.2f} | {receive_s:.2f} | | {listen_s:.2f}"
        yield f"| | its states named as here | {states} | | {energy_j:.2f} |"
        here = {
            state: found.mean(name, "airwatt", state) for state in ("transmit_s", "receive_s", "listen_s", "energy_j")
        }
        states = f"{here['transmit_s']:.2f} | {here['receive_s']:.2f} | | {here['listen_s']:.2f}"
        difference = 100 * (here["energy_j"] / energy_j - 1)
        yield f"| | airwatt | {states} | 0 | {here['energy_j']:.2f} ({difference:+.1f} %) |"


def marked(text: str, name: str, lines: Iterator[str]) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return head + begin + "\n".join(lines) + end + tail


def page(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables."""
    found = Found(rows)
    return marked(marked(text, "ns-3 goodput", goodputs(found)), "ns-3 energy", energies(found))


def main() -> int:
    """Runs the jobs and writes the file and the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", choices=[*JOBS, []], metavar="JOB", help=", ".join(JOBS))
    parser.add_argument("--tables", action="store_true", help="only write the tables of the page")
    given = parser.parse_args()
    if not given.tables:
        with tempfile.TemporaryDirectory() as folder:
            program = build(Path(folder))
            for name in given.jobs or JOBS:
                rows = [one for one in kept() if one["job"] != name] if RESULTS.exists() else []
                variants = [*TWICE, *(["ns-3, host delay, CCA"] if name in ENERGY else [])]
                for variant in variants:
                    rows += [measured(program, name, variant, seed) for seed in range(1, SEEDS + 1)]
                write(rows)
    PAGE.write_text(page(PAGE.read_text(), kept()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
