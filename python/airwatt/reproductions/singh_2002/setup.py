"""The one configuration of all figures and tables, the axes, and the points that they are made of."""

from collections.abc import Callable, Mapping
from typing import Any

from airwatt._core import Run
from airwatt.reproductions.publication import At, Numbers, Point, Results
from airwatt.reproductions.series import Series

SCENARIO = "singh-2002"

CONFIGURATION = """\
One configuration serves every figure and table; the thesis leaves these open.
* Cell: scenario singh-2002. 802.11b at 11 Mb/s with long preambles, ACK frames at 11 Mb/s
  too, no RTS, up to seven retries of a frame, no loss by the radio. All stations hear each
  other.
* TCP: profile freebsd-4.3 (initial window 1, initial ssthresh 65535 bytes, least timeout 1 s,
  delayed ACK of 100 ms, no Limited Transmit, no timestamps), but the windows are those of the
  thesis' chapter 2: a loss leaves half of min(cwnd, rwnd), in whole segments as BSD computes it,
  slow start ends at the threshold, and so does a recovery. SACK by the rule of the pipe of
  Fall and Floyd; after a timeout it sends everything again, as Reno and NewReno do.
* Window: 48 KiB, from the trace of section 5.7, whose last column extrapolates to it.
* Emulator at C: half of the added delay in each direction, in steps of 1 ms, so that 0, 25,
  55, 85 and 115 ms are added to a round trip. The axis is the nominal RTT (15 to 130 ms). 50
  packets are held at most. Loss and reordering concern the direction of the data: so it was
  in the validation run, and the thesis does not say otherwise for the main runs.
* Loss grows with length: 1, 5 and 10 % are lost of packets of 1500 bytes, and of shorter ones
  1 - (1 - p)^(length/1500). Section 5.3 drops packets "at random", which says nothing of their
  length; section 4.4.1 says of the link that "the packet loss rate of the large packets will
  dominate". The page has both readings, and says why it takes this one.
* Figures 27 and 28 have 1 % of loss beside the reordering: table 5, to which section 6.4 refers,
  has reordering with loss of 1, 5 and 10 % alone. The values of 5 and 10 % are in tab5.
* Bursts of loss begin 6 s after the transfer, then every 12 s.
* Reordering: a packet waits until three later ones have passed it, at most 100 ms.
* Energy: the whole laptop is the host laptop-2002 and the card lucent-wavelan, 18 W when idle;
  from the first packet to the last. Idealized: all power while the host works or the card
  transmits or receives (section 3.2). Marginal: what exceeds 18 W.
* Host: costs from the shares of Wang and Singh (2004) and the bus of the card. The cost of a
  SACK block is nowhere given and is left out. No number is chosen on a figure.
* Ten runs of 5 MB with seeds in common for all curves; mean and 95 % confidence interval.
  Figures with one trace have 5 % loss, 40 ms and 1500 bytes, as the thesis' trace probably has;
  their claims are scored by the share of our runs in which they hold.
"""

RTTS = (15, 40, 70, 100, 130)
"""Nominal round-trip times in ms."""
LOSSES = (1, 5, 10)
"""Loss in per cent."""
MTUS = (512, 1500)
REORDERINGS = (1, 5)
"""Reordered packets in per cent."""
REORDER_LOSSES = (0, *LOSSES)
TCPS = ("sack", "newreno", "reno")
NAMES = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK"}

LAPTOP_W = 18.0
"""Power of the whole laptop when idle (section 5.4)."""
RADIO_LISTEN_W = 0.73944
"""The card's share of it: 156 mA at 4.74 V (table 1)."""
_RECEIVE_W = 4.74 * 0.190
"""Power of the card while it receives (table 1)."""

Settings = tuple[tuple[str, str], ...]
"""Overrides of the scenario."""

UNITS = {
    "total": "uJ/bit",
    "idealized": "uJ/bit",
    "marginal": "uJ/bit",
    "goodput": "kbps",
    "timeouts": "",
    "retransmitted": "packets",
}
LABELS = {
    "total": "total energy (uJ/bit)",
    "idealized": "idealized energy (uJ/bit)",
    "marginal": "marginal energy (uJ/bit)",
    "goodput": "goodput (kb/s)",
    "timeouts": "timeouts of a transfer",
    "retransmitted": "retransmitted packets of a transfer",
}


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: energies of the whole laptop in uJ per bit of payload, goodput in kb/s, counts."""
    flow, host, station = document["flows"][0], document["hosts"][0], document["stations"][0]
    bits = 8 * flow["bytes_delivered"]
    busy_s = sum(seconds for what, seconds in host["time_s"].items() if what != "idle")
    # While the host works the card listens, and while the card transmits the host is idle.
    transmit_j = float(_transmit_w()) * station["state_s"]["transmit"]
    of_host = host["idealized_energy_j"] + RADIO_LISTEN_W * busy_s
    receive_j = _RECEIVE_W * station["state_s"]["receive"]
    on_air_s = station["state_s"]["transmit"] + station["state_s"]["receive"]
    of_card = transmit_j + receive_j + (LAPTOP_W - RADIO_LISTEN_W) * on_air_s
    marginal = host["marginal_energy_j"] + station["energy_j"] - RADIO_LISTEN_W * document["simulated_s"]
    per_bit = 1e6 / bits
    return {
        "total": (host["energy_j"] + station["energy_j"]) * per_bit,
        "idealized": (of_host + of_card) * per_bit,
        "marginal": marginal * per_bit,
        "goodput": flow["goodput_bps"] / 1e3,
        "elapsed": document["simulated_s"],
        "timeouts": float(flow["timeouts"]),
        "retransmitted": float(flow["segments_retransmitted"]),
        "sent": float(flow["segments_sent"]),
        "transmitting": station["state_s"]["transmit"],
        "sack": host["time_s"]["sack"],
        "rtt": 1e3 * flow["rtt_s_mean"],
    }


def _transmit_w() -> float:
    """Power of the card while it transmits: 284 mA at 4.74 V (table 1)."""
    return 4.74 * 0.284


def point(
    transport: str,
    rtt: float,
    mtu: int,
    settings: Settings = (),
    traced: Callable[[Run], Numbers] | None = None,
    cost_s: float = 0.03,
) -> Point:
    """A point; settings in one order, so that equal points are one."""
    delay_us = round(1000 * (rtt - RTTS[0]) / 2)
    common = (
        ("flow.transport", transport),
        ("tcp.mtu", f"{mtu}B"),
        ("node.c.program.impairment.delay", f"{delay_us}us"),
    )
    return Point(SCENARIO, (*common, *sorted(settings)), measure, cost_s, traced)


LOSS_LENGTH = "node.c.program.impairment.loss_length"


def loss(per_cent: float) -> Settings:
    """Uniform loss of packets of 1500 bytes; shorter ones are lost less often."""
    return (("node.c.program.impairment.loss", f"{per_cent / 100:g}"), (LOSS_LENGTH, "1500B")) if per_cent else ()


def reordering(per_cent: float) -> Settings:
    """Reordering with the depth of the scenario."""
    return (("node.c.program.impairment.reorder", f"{per_cent / 100:g}"),)


BURSTS: Settings = (
    ("node.c.program.impairment.burst.every", "12s"),
    ("node.c.program.impairment.burst.length", "1s"),
    ("node.c.program.impairment.burst.loss", "0.85"),
    ("node.c.program.impairment.burst.first", "6s"),
)
"""85 % loss during one second of every twelve (table 4). The first burst comes in the middle of a period."""


class Curve:
    """A TCP under one impairment at one MTU, over round-trip times."""

    def __init__(self, transport: str, mtu: int, settings: Settings, **at: str | float) -> None:
        self.transport = transport
        self.mtu = mtu
        self.settings = settings
        self.name = f"{NAMES[transport]} {mtu}"
        self.at: At = {"transport": transport, "mtu": mtu, **at}

    def points(self) -> tuple[Point, ...]:
        """One for each round-trip time."""
        return tuple(point(self.transport, rtt, self.mtu, self.settings) for rtt in RTTS)

    def series(self, results: Results, what: str) -> Series:
        """One quantity over round-trip times."""
        samples = {float(rtt): results.column(point_, what) for rtt, point_ in zip(RTTS, self.points(), strict=True)}
        return Series(self.name, what, UNITS[what], self.at, "rtt_ms", samples)


def lossy(per_cent: float, mtu: int) -> dict[str, Curve]:
    """The three TCPs under uniform loss."""
    return {tcp: Curve(tcp, mtu, loss(per_cent), loss_percent=per_cent) for tcp in TCPS}


def bursty() -> dict[str, Curve]:
    """The three TCPs under bursts of loss."""
    return {tcp: Curve(tcp, 1500, BURSTS) for tcp in TCPS}


def reordered(reorder: float, per_cent: float, mtu: int) -> dict[str, Curve]:
    """The three TCPs under reordering and loss."""
    settings = (*reordering(reorder), *loss(per_cent))
    return {tcp: Curve(tcp, mtu, settings, reorder_percent=reorder, loss_percent=per_cent) for tcp in TCPS}
