# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt"]
# ///
"""A power-save policy and a congestion control of one's own, in Python: `timeout` and Reno, written anew.

python examples/own_mechanisms.py runs each beside the one that ships and prints both. The trajectories are the same,
event by event, which the tests of this package check.
"""

import airwatt

MS = 1_000_000
"""Nanoseconds in a millisecond."""


class Timeout(airwatt.Policy):
    """Active during traffic, asleep between beacons after a time without: what phones and Linux do."""

    needs = ("switch", "tim")

    def __init__(self, timeout_ns: int = 100 * MS) -> None:
        self.timeout_ns = timeout_ns

    def _traffic(self, radio):
        radio.set_power_save(False)
        radio.set_timer("inactivity", radio.now_ns + self.timeout_ns)

    def on_start(self, radio):
        radio.set_timer("inactivity", radio.now_ns + self.timeout_ns)

    def on_beacon(self, radio, tim):
        if tim:
            self._traffic(radio)

    def on_received(self, radio, nbytes, null, more_data, end_of_service):
        if not null:
            self._traffic(radio)

    def on_sent(self, radio, frame, nbytes, delivered):
        if frame == "data":
            self._traffic(radio)

    def on_backlog(self, radio):
        if radio.backlog > 0:
            self._traffic(radio)

    def on_timer(self, radio, timer):
        if radio.backlog > 0:
            radio.set_timer("inactivity", radio.now_ns + self.timeout_ns)
        else:
            radio.set_power_save(True)


class Reno(airwatt.CongestionControl):
    """RFC 5681: slow start, congestion avoidance, fast recovery until the first new acknowledgement."""

    recovery = "first-ack"

    def __init__(self) -> None:
        self.counted = 0
        """Bytes acknowledged in congestion avoidance that have not yet increased the window."""

    def on_ack(self, window, ack):
        if not window.is_used_by(ack.flight):
            return
        if window.in_slow_start:
            window.cwnd += min(ack.nbytes, window.mss)
            return
        self.counted += ack.nbytes
        if self.counted >= window.cwnd:
            self.counted -= window.cwnd
            window.cwnd += window.mss

    def on_enter_recovery(self, window, flight, duplicates):
        window.ssthresh = window.half_of(flight)
        window.cwnd = window.ssthresh + duplicates * window.mss
        self.counted = 0

    def on_duplicate_ack(self, window):
        window.cwnd += window.mss

    def on_leave_recovery(self, window):
        window.cwnd = window.ssthresh
        self.counted = 0

    def on_timeout(self, window, flight, reduces, recovering):
        if reduces:
            half = window.half_of(flight)
            window.ssthresh = min(half, window.ssthresh) if recovering else half
        window.cwnd = window.mss
        self.counted = 0

    def on_idle(self, window, restart_window):
        window.cwnd = min(window.cwnd, restart_window)
        self.counted = 0


def main() -> None:
    """Compares each with the one that ships."""
    size = {"flow.application.size": "5MB"}
    pairs = (("policy", "timeout", Timeout), ("transport", "reno", Reno))
    for key, shipped, own in pairs:
        for choice in (shipped, own):
            result = airwatt.run("fast-dsl", set=size, **{key: choice})
            name = result.stations[0].policy if key == "policy" else result.flows[0].transport
            print(f"{name:8} {result.events} events, {result.stations[0].energy_j:.6f} J")


if __name__ == "__main__":
    main()
