"""The one configuration of all simulated tables and figures, and the points that they are made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from airwatt import _core
from airwatt.reproduce.publication import Numbers, Point, Results
from airwatt.reproduce.series import Series

SCENARIO = "e2tcp"

COST_S = 0.01
"""About what 20 MB take to simulate."""

GRID = {"A": (300, 100, 50, 20, 10, 5, 4, 3, 2, 1), "B": (20, 15, 10, 5, 4, 3, 2, 1)}
"""Good-state lengths in seconds of the figures, from the best channel to the worst."""

AVERAGED = {"A": (300, 10, 5, 4, 3, 2, 1), "B": (20, 10, 5, 4, 3, 2, 1)}
"""Those that the tables average over."""

RADIOS = ("always-active", "intermediate", "ideal")
RADIO = "intermediate"
"""Unless another is named."""

TCPS = ("tahoe", "reno", "newreno")
NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "e2tcp": "E2TCP", "prtp": "PRTP"}

LINK_BPS = 1_000_000
"""Rate of the default link, which throughput is a share of."""

CONFIGURATION = """\
One configuration serves every simulated table and figure; the thesis leaves these open.
* Link: 1 Mb/s, 50 ms, full duplex, unlimited queue. The rate limits, but a packet arrives
  50 ms after its first bit: the published latency of E2TCP (55.9 ms) lies below 50 ms plus
  the 8.3 ms of its own bits. Latency is given with and without them.
* TCP as in the ns-2 of 2001 (profile ns2-2001): window of 20 packets, initial window 1, headers of 40 bytes
  counted, no delayed ACK, three duplicate ACKs, timer in ticks of 0.1 s without a least
  timeout, first timeout 6 s, largest 64 s. A loss halves the window in whole packets, as the
  integers of that ns-2 do, and each further timeout of a segment reduces the threshold to two
  packets. With ticks of 10 ms Tahoe's overhead in the worst
  channel would be about half of what is printed (211 %); delayed ACKs double it, a least
  timeout of 1 s quadruples it.
* Errors: both states have fixed lengths (scenario A: bad 0.1 s; B: a tenth of good), one
  state for both directions, and a random phase. 0.05 % of packets are lost in the good
  state, 80 % in the bad one; a lost packet has used the link.
* Good states of the figures: A 300 100 50 20 10 5 4 3 2 1 s, B 20 15 10 5 4 3 2 1 s. Tables
  average over A 300 10 5 4 3 2 1, B 20 10 5 4 3 2 1: with these, an independent simulator
  comes near the printed averages of three TCPs at once. The average over all good states
  of the figures is given beside it.
* E2TCP: windows 12 to 25, after a timeout 5, error limit 5. The window slides over sequence
  numbers, as the thesis draws it: a window of what travels would make the largest windows the
  best in scenario A. It grows by one packet with each fifth acknowledgement; the thesis only
  says that it grows. With each acknowledgement E2TCP's average in A is half of what is printed
  (tab5.3), with each third a quarter less, and with each window of them no overhead falls at
  the shortest states (fig4.12). Other readings are in docs/e2tcp.md.
* Without selective acknowledgements a duplicate acknowledgement means that one packet is lost.
  If the acknowledgement of its retransmission leaves others missing, there was a burst, and
  everything is sent again. After a timeout duplicates mean nothing for a window. By timers
  alone, window management costs 24 % in A, where the thesis prints 102.4 (tab5.2); going back
  at every duplicate costs 114 and 60 % instead of 102.4 and 39.6.
* Partial reliability of E2TCP counts the last 50 packets; the thesis gives no length. Over the
  last 100, 90 % lets go of nearly all that scenario A loses: 1.8 % of overhead instead of 4.9
  (tab5.4). PRTP is another protocol, whose estimate ages: it counts the last 200. Over its
  life, its average in A would be 6.6 instead of 9.7 % (tab5.4), and below that of E2TCP at a
  good state of 1 s (fig5.43, fig5.44); over 50 packets its average in B would be 33 instead of
  19.3 %, and its curve in A not flat (fig5.43).
* No back-off: with it E2TCP's latency is no longer the best in scenario B (head, fig5.48), and
  the average of its data overhead is no longer least with the smallest windows (fig5.6).
* Traffic: 20 MB in packets of 1000 bytes; interactive 1000 packets with exponential gaps;
  constant rate for 160 s. A run ends when the sender knows that all has arrived.
* Radios weigh data and time overhead 0.1/0.9 (always active), 0.5/0.5 (intermediate, the
  default), 0.9/0.1 (ideal). Ten runs with seeds in common for all curves; mean and 95 %
  confidence interval.
"""

RELIABILITY_WINDOW = ("flow.reliability_window", "50")
"""E2TCP's reliability is a share of the last packets."""

PRTP_WINDOW = ("flow.reliability_window", "200")
"""PRTP's is a share of more of them."""

Settings = tuple[tuple[str, str], ...]
"""Overrides of the scenario."""


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: overheads and efficiencies in per cent, delays in milliseconds."""
    flow = document["flows"][0]
    data, time = float(flow["data_overhead"]), float(flow["time_overhead"])
    numbers = overheads(flow) | {
        "latency with own bits": 1000 * float(flow["delivery_full_s_mean"]),
        "resent": float(flow["segments_retransmitted"]),
        "timeouts": float(flow["timeouts"]),
    }
    for radio in RADIOS:
        numbers[f"EE {radio}"] = 100 * _core.energy_efficiency(data, time, radio)
    return numbers


def overheads(flow: Mapping[str, Any]) -> Numbers:
    """Overheads of a flow in per cent, its throughput in Mb/s, its latency in ms, and the bytes that it skipped."""
    data, time = float(flow["data_overhead"]), float(flow["time_overhead"])
    return {
        "DO": 100 * data,
        "TO": 100 * time,
        "throughput": 1e-6 * LINK_BPS / (1 + time),
        "latency": 1000 * float(flow["delivery_s_mean"]),
        "skipped": float(flow["bytes_skipped"]),
        **{f"EO {radio}": 100 * float(flow["energy_overhead"][radio]) for radio in RADIOS},
    }


UNITS = {"throughput": "Mbps", "latency": "ms", "latency with own bits": "ms"}
"""Per cent for the others."""


def seconds(value: float) -> str:
    """A time as a scenario has it: in milliseconds, so that 0.1 s of 3 s is no fraction of binary digits."""
    return f"{round(1000 * value)}ms"


def errors(error: str, good_s: float, link: str = "link") -> Settings:
    """The error model of scenario A or B at a good-state length; `link` is the table of the link."""
    bad_s = 0.1 if error == "A" else good_s / 10
    return ((f"{link}.errors.good", seconds(good_s)), (f"{link}.errors.bad", seconds(bad_s)))


def point(transport: str, error: str, good_s: float, settings: Settings = (), cost_s: float = COST_S) -> Point:
    """A point of the evaluation; settings in one order, so that equal points are one."""
    overrides = (*errors(error, good_s), ("flow.transport", transport), *sorted(settings))
    return Point(SCENARIO, overrides, measure, cost_s)


class Curve:
    """A transport with settings, over the good states of a scenario."""

    def __init__(
        self,
        name: str,
        transport: str,
        settings: Sequence[tuple[str, str]] = (),
        cost_s: float = COST_S,
        **at: str | float,
    ) -> None:
        self.name = name
        self.transport = transport
        self.settings = tuple(settings)
        self.cost_s = cost_s
        self.at = {"transport": transport, **at}

    def points(self, error: str) -> tuple[Point, ...]:
        """One for each good state."""
        return tuple(point(self.transport, error, good, self.settings, self.cost_s) for good in GRID[error])

    def series(self, results: Results, error: str, what: str, radio: str = RADIO) -> Series:
        """One quantity over the good states, in the unit of the thesis."""
        weighed = what in ("EO", "EE")
        key = f"{what} {radio}" if weighed else what
        samples = {
            float(good): results.column(point_, key)
            for good, point_ in zip(GRID[error], self.points(error), strict=True)
        }
        at = {"error": error, **self.at, **({"radio": radio} if weighed else {})}
        return Series(self.name, what, UNITS.get(what, "%"), at, "good_s", samples)


def plain(transport: str) -> Curve:
    """A transport as it is."""
    return Curve(NAMES[transport], transport)


FOUR = tuple(plain(transport) for transport in (*TCPS, "e2tcp"))
"""The four transports that are compared with each other."""
TAHOE, RENO, NEWRENO, E2TCP = FOUR
