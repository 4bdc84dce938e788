"""The one configuration of all runs of both of Hashimoto's documents on fairness, and what is kept of a run."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwatt._core import toml_value
from airwatt.reproductions.publication import Numbers, Point, Results

SCENARIO = "ten-up"
FLOWS = 10
CAPACITY_MBPS = 31.04
"""The theses' 29.60, which count 2^20 bit to the megabit."""
WINDOWS_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
TEST_BED_S = 180
STARVED = 0.1
"""A flow is starved below this share of its fair share."""

PLAIN, METHOD, ESTIMATED, PRIORITY = "reno", "ack-loss", "ack-loss, b estimated", "prioritised AP"
MIXES = tuple(range(FLOWS + 1))
"""How many of the ten flows go up."""

COST_S = 0.8

CONFIGURATION = """\
One configuration serves the simulations of 2013 and the test bed of both documents, which is
simulated too; the theses leave these open.
* The cell: 802.11a, 54 Mb/s, control frames at 24 Mb/s, DCF, seven retransmissions, no RTS,
  beacons each 102.4 ms. Stations at 4 m; in the test bed at 0.5 m.
* Queues: the access point's drops (100 packets; in the test bed 79, 52 and 250 for 2010, and
  77, 50 and 243 for 2013, as each estimates), all others hold 2000 packets.
* TCP: Reno as in Linux 2.6.28, which counts acknowledgements: initial window of three
  segments, timeout 3 s at first, at least 0.2 s beyond the round trip, at most 120 s; packets
  of 1500 bytes with 40 of headers, no delayed acknowledgements unless said (profile
  linux-2.6.28). In the simulations the downloading senders have plain Reno. In the test bed
  "TCP connections use either the proposed method or Reno": every sender has the method or
  none. With plain Reno at the downloading ones, figures 21(b), 22 and 23 of 2010 cannot come
  out. Its senders also have selective acknowledgements, the default of that Linux, of which the
  theses do not speak: without them, the method's gap between up and down behind the Buffalo
  access point is 0.56 of Reno's (fig7, fig8, fig2.9a).
* Windows: the simulations ask for one that is large enough (2000 packets); of the test bed
  nothing is said. 128 kB is about the largest buffer that net.core.rmem_max of that Linux lets
  an application ask for; that iperf did so is assumed. Without a bound the windows fill any
  buffer, and Reno is as unfair behind 250 packets as behind 52 (fig5, fig11, fig17).
* The method: threshold 1, b = 1; "b estimated" by an average of weight 1/32.
* Simulation: 100 Mb/s and 100 ms each way, 200 s, starts within 10 s, throughput over 50 to
  200 s. Test bed: 100 Mb/s and 0.2 ms each way, with the delay router 50 ms more in all; 180 s,
  starts within 0.1 s, throughput over 50 to 180 s.
* The prioritised access point sends after PIFS and without backoff.
* 1 m and 10 m: losses of ITU-R P.1238 (exponent 3.1) and capture at 10 dB. At these
  distances 54 Mb/s are free of errors, so that capture alone tells near from far.
* The two NICs: nothing is known that would tell them apart on the air. Their figures are
  the same runs, and claims about a difference between them are not made.
* Indices: C = 31.04e6 bit/s, which is what the theses call 29.60 Mb/s. Ten seeds, in common
  for all curves; mean and 95 % confidence interval.
"""

Settings = tuple[tuple[str, str], ...]


def measure(document: Mapping[str, Any]) -> Numbers:
    """What is kept of a run: Mb/s, ms, indices, counts."""
    flows = document["flows"]
    numbers: Numbers = {}
    sides: dict[str, list[float]] = {"up": [], "down": []}
    for flow in flows:
        mbps = 1e-6 * flow["measured_bps"]
        sides[flow["direction"]].append(mbps)
        numbers[f"flow {flow['id']}"] = mbps
        numbers[f"rtt {flow['id']}"] = 1e3 * (flow["rtt_s_mean"] or 0.0)
    everyone = sides["up"] + sides["down"]
    for side, mine in sides.items():
        numbers[f"mean {side}"] = math.fsum(mine) / len(mine) if mine else 0.0
        numbers[f"sum {side}"] = math.fsum(mine)
    numbers["total"] = math.fsum(everyone)
    numbers["least"] = min(everyone)
    numbers["starved"] = float(sum(mbps < STARVED * CAPACITY_MBPS / len(flows) for mbps in everyone))
    numbers["timeouts"] = float(sum(flow["timeouts"] for flow in flows))
    numbers["timeouts up"] = float(sum(flow["timeouts"] for flow in flows if flow["direction"] == "up"))
    known = [numbers[f"rtt {flow['id']}"] for flow in flows if flow["rtt_s_mean"] is not None]
    numbers["rtt"] = math.fsum(known) / len(known) if known else 0.0
    numbers["collisions"] = float(document["cell"]["collisions"])
    fairness = document["fairness"]
    numbers["jain"] = fairness["jain"]
    numbers["index 2013"] = fairness["fair_utilization"]
    numbers["index 2010"] = fairness["fair_utilization_alpha1"]
    for window in fairness["windows"]:
        at = f"{window['window_s']:g}"
        numbers[f"jain {at}"] = window["jain"]
        numbers[f"index 2013 {at}"] = window["fair_utilization"]
        numbers[f"index 2010 {at}"] = window["fair_utilization_alpha1"]
    return numbers


def flows(up: int, transports: Sequence[str], spread: str, down: str = "reno") -> str:
    """The flows of a mix: the first `up` stations send, by the transports; the others receive, by `down`."""
    groups = []
    for transport in dict.fromkeys(transports):
        mine = [station for station, name in enumerate(transports) if name == transport]
        groups.append(_group(mine, "up", transport, spread))
    if up < FLOWS:
        groups.append(_group(range(up, FLOWS), "down", down, spread))
    return toml_value(groups)


def _group(stations: Sequence[int], direction: str, transport: str, spread: str) -> dict[str, object]:
    return {
        "stations": list(stations),
        "direction": direction,
        "transport": transport,
        "start_spread": spread,
    }


_METHODS: Mapping[str, Settings] = {
    PLAIN: (),
    METHOD: (),
    # Without the fixed b of the scenario the senders estimate it.
    ESTIMATED: (("ackloss", toml_value({"threshold": 1, "rule": "published"})),),
    PRIORITY: (("ap.priority", "true"),),
}


def _transport(method: str, base: str = "reno") -> str:
    return f"{base}+ackloss" if method in (METHOD, ESTIMATED) else base


def point(up: int, method: str, settings: Settings = (), spread: str = "10s", base: str = "reno") -> Point:
    """Ten flows, `up` of them up, as the simulations of 2013 have them. Without a flow up no sender has the method."""
    chosen = PLAIN if up == 0 and method in (METHOD, ESTIMATED) else method
    overrides = (("flow", flows(up, [_transport(chosen, base)] * up, spread)), *_METHODS[chosen], *sorted(settings))
    return Point(SCENARIO, overrides, measure, COST_S)


def mixed(changed: int, threshold: int = 1) -> Point:
    """Ten flows up, of which the first `changed` have the method."""
    transports = ["reno+ackloss"] * changed + ["reno"] * (FLOWS - changed)
    overrides = (("flow", flows(FLOWS, transports, "10s")), ("ackloss.threshold", str(threshold)))
    return Point(SCENARIO, overrides, measure, COST_S)


def on_test_bed(up: int, method: str, settings: Settings) -> Point:
    """The test bed with the method, or without it, at every sender."""
    transport = _transport(method, "sack")
    overrides = (
        ("flow", flows(up, [transport] * up, "100ms", down=transport)),
        *_METHODS[method],
        *sorted((*_TEST_BED, *settings)),
    )
    return Point(SCENARIO, overrides, measure, COST_S)


def near_and_far(up: int, method: str) -> Point:
    """The same at two distances: of each direction's stations the even ones at 1 m, the odd ones at 10 m."""
    stations = [{"distance": "10m" if number % 2 else "1m", "buffer": "2000packets"} for number in range(FLOWS)]
    return point(up, method, (("station", toml_value(stations)), ("wifi.path_loss.capture_db", "10.0")))


_TEST_BED: Settings = (
    ("duration", f"{TEST_BED_S}s"),
    ("station.distance", "0.5m"),
    ("tcp.receive_window", "128kB"),
)


def behind(up: int, method: str, packets: int) -> Point:
    """The test bed without the delay router, behind an access point with this buffer."""
    return on_test_bed(up, method, (("wired.rtt", "0.4ms"), ("ap.buffer", f"{packets}packets")))


@dataclass(frozen=True)
class Bed:
    """The test bed of one of the documents."""

    buffers: Mapping[str, int]
    """The buffers of its access points in packets, as the document estimates them."""

    def at_access_point(self, up: int, method: str, access_point: str = "Buffalo") -> Point:
        """Without the delay router."""
        return behind(up, method, self.buffers[access_point])

    def delayed(self, up: int, method: str, delayed_ack: bool) -> Point:
        """With the delay router, behind the Buffalo access point."""
        settings = (
            ("wired.rtt", "50.4ms"),
            ("ap.buffer", f"{self.buffers['Buffalo']}packets"),
            ("tcp.delayed_ack", "true" if delayed_ack else "false"),
        )
        return on_test_bed(up, method, settings)


BED_2010 = Bed({"Buffalo": 79, "NEC": 52, "Corega": 250})
"""Table 3 of 2010 prints 78.9, 51.5 (of 51.56, truncated) and 250.0: it counts packets of 1460 bytes."""
BED_2013 = Bed({"Buffalo": 77, "NEC": 50, "Corega": 243})
"""Table 2.3 of 2013 prints 76.9, 50.2 and 243.4: it counts packets of 1500 bytes."""


def mean(results: Results, point_: Point, key: str) -> float:
    """The mean over the seeds."""
    column = results.column(point_, key)
    return math.fsum(column) / len(column)
