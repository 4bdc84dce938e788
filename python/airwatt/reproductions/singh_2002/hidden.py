"""Which claims of document 004 depend on what it does not say: its claims under other values of the hidden parameters.

    python -m airwatt.reproductions.singh_2002.hidden [--runs 10] [--store DIR] [NAME ...]

prints for each variant how many claims hold and which ones change against the configuration, and at the end for each
claim that changes under which variants it does. It takes about half an hour on two cores; with a store the same command
goes on after an interrupt. Left out are the claims over all cases of tables 3 to 5 (abstract, chapter 7, equation),
which need three times as many runs. The preamble cannot be varied: the simulator's 802.11b has the long one.
"""

import argparse
from collections.abc import Mapping, Sequence

from airwatt._core import InputError, Scenario
from airwatt.reproductions import catalogue, engine
from airwatt.reproductions.publication import Point
from airwatt.reproductions.singh_2002.setup import LOSS_LENGTH, Settings
from airwatt.tasks import StorePath

VARIANTS: Mapping[str, Settings] = {
    "loss of any length alike": ((LOSS_LENGTH, ""),),
    "window 16 KiB": (("tcp.receive_window", "16384B"),),
    "window 32 KiB": (("tcp.receive_window", "32768B"),),
    "window 64 KiB": (("tcp.receive_window", "65535B"),),
    "least timeout 0.2 s": (("tcp.min_rto", "200ms"),),
    "least timeout 0.5 s": (("tcp.min_rto", "500ms"),),
    "ticks of 500 ms": (("tcp.rto_tick", "500ms"),),
    "delayed ACK 200 ms": (("tcp.delayed_ack_timeout", "200ms"),),
    "no delayed ACK": (("tcp.delayed_ack", "false"),),
    "threshold kept at repeated timeouts": (("tcp.repeated_timeout", "keep"),),
    "half of the data in flight": (("tcp.window_rules", "rfc5681"),),
    "windows of 4.4BSD": (("tcp.window_rules", "bsd"),),
    "timer of the first partial ACK": (("tcp.partial_ack_timer", "impatient"),),
    "loss in both directions": (("node.c.program.impairment.towards", '["a", "d"]'),),
    "queue of 20 packets": (("node.c.program.impairment.queue", "20"),),
    "two retries of a frame": (("cell.air.wifi.retry_limit", "2"),),
    "control frames at 2 Mb/s": (("cell.air.wifi.control_rate", "2Mbps"),),
    "reordering by 1 packet": (("node.c.program.impairment.reorder_depth", "1"),),
    "reordering by 2 packets": (("node.c.program.impairment.reorder_depth", "2"),),
    "reordering by 5 packets": (("node.c.program.impairment.reorder_depth", "5"),),
    "SACK of RFC 6675": (("tcp.sack_recovery", "rfc6675"),),
    "SACK of OpenBSD 2.9": (("tcp.sack_recovery", "openbsd"),),
    # As Linux of today was measured, in cycles and as a share of a packet's: tests/reference/sack_page.py.
    "10.9 us for a SACK block": (("node.a.host_energy.sack_block", "10.9us"),),
    "18.2 us for a SACK block": (("node.a.host_energy.sack_block", "18.2us"),),
}


_EVERY_CASE = ("head", "ch7.inverse", "eq.E", "tab3", "tab5")
"""Places that need all points of tables 3 to 5."""


class Varied(engine.World):
    """The simulator with settings on top of every point. An empty one takes the point's own away."""

    def __init__(self, settings: Settings) -> None:
        self._settings = list(settings)

    def load(self, point: Point) -> Scenario:
        """The scenario of a point with these settings. Raises `InputError`."""
        absent = {key for key, value in self._settings if not value}
        # At once: a setting of SACK alone has no effect on its own with the other transports.
        overrides = [one for one in (*point.overrides, *self._settings) if one[0] not in absent]
        if isinstance(point.scenario, Scenario):
            return point.scenario.replace(overrides)
        return Scenario.load(point.scenario, overrides)


def outcomes(settings: Settings, runs: int, store: StorePath = None) -> dict[str, bool]:
    """Whether each claim holds under these settings. What `store` has is not run again."""
    chosen = [pair for pair in catalogue.choose(["singh-2002"]) if pair[1].place not in _EVERY_CASE]
    batch = engine.reproduce(chosen, runs, 1, over=Varied(settings), store=store)
    if batch.interrupted:
        raise KeyboardInterrupt
    return {claim.id: claim.holds for item in batch.finished for claim in item.outcome.claims}


def changes(base: Mapping[str, bool], other: Mapping[str, bool]) -> tuple[list[str], list[str]]:
    """The claims that hold in `other` alone, and those that hold in `base` alone."""
    gained = [id_ for id_, holds in other.items() if holds and not base.get(id_, False)]
    lost = [id_ for id_, holds in base.items() if holds and not other.get(id_, False)]
    return gained, lost


def sensitivity(base: Mapping[str, bool], others: Mapping[str, Mapping[str, bool]]) -> dict[str, list[str]]:
    """For each claim that comes out otherwise under a variant, the names of these variants, those with most first."""
    found = {
        id_: [name for name, other in others.items() if other.get(id_, holds) != holds] for id_, holds in base.items()
    }
    return dict(sorted(((id_, names) for id_, names in found.items() if names), key=lambda one: -len(one[1])))


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"variants (all): {', '.join(VARIANTS)}")
    parser.add_argument("--runs", type=int, default=10, help="runs a point (10)")
    parser.add_argument("--store", metavar="DIR", help="keep the runs in a store, new or old")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in VARIANTS]
    if unknown:
        parser.error(f"NAME: expected one of {', '.join(VARIANTS)}, got {unknown[0]!r}")
    base = outcomes((), options.runs, options.store)
    others: dict[str, dict[str, bool]] = {}
    print(f"configuration: {sum(base.values())} of {len(base)} claims hold", flush=True)
    for name in options.names or VARIANTS:
        try:
            other = outcomes(VARIANTS[name], options.runs, options.store)
        except InputError as error:
            print(f"{name}: {error}", flush=True)
            continue
        others[name] = other
        gained, lost = changes(base, other)
        print(f"{name}: {sum(other.values())} of {len(other)}", flush=True)
        for title, ids in (("gains", gained), ("loses", lost)):
            if ids:
                print(f"  {title}: {', '.join(map(_short, ids))}", flush=True)
    decided = sensitivity(base, others)
    firm = [holds for id_, holds in base.items() if id_ not in decided]
    print(f"under every variant {sum(firm)} claims hold and {len(firm) - sum(firm)} do not; {len(decided)} change:")
    for id_, names in decided.items():
        print(f"  {_short(id_)} {'holds, but not' if base[id_] else 'does not hold, but does'} with {', '.join(names)}")


def _short(id_: str) -> str:
    return id_.removeprefix("singh-2002/")


if __name__ == "__main__":
    main()
