"""What can be counted: equations 1 and 2, the model's times, the controller's stability. All from `airwatt.models`."""

from collections.abc import Callable

from airwatt import models
from airwatt._core import Quantity
from airwatt.reproductions import claims
from airwatt.reproductions.publication import Claim, Outcome, Reproduction, Results, Value


def _counted(place: str, shows: str, count: Callable[[str], tuple[list[Value], list[Claim]]]) -> Reproduction:
    def compute(item: Reproduction, _results: Results) -> Outcome:
        return Outcome(*count(f"ba-ta/{item.place}"))

    return Reproduction(place, shows, compute)


def _eq1(home: str) -> tuple[list[Value], list[Claim]]:
    values, judged = [], []
    cases = (
        ("slow DSL", 1.024e6, 20.0, 8.53, 0.005),
        ("fast DSL", 16e6, 20.0, 133.3, 0.05),
        ("slow DSL", 1.024e6, 310.0, 34.0, 0.2),
    )
    for access, rate, rtt, paper, half in cases:
        # The window does not depend on the uplink; it has to be faster than the model's data.
        needed = float(models.psm_throughput(rtt_s=rtt / 1000, down_bps=rate, up_bps=rate).needed_packets)
        values.append(Value("needed window", {"access": access, "rtt_ms": rtt}, needed, None, "packets"))
        name = f"{home}.{access.split()[0]}.{rtt:g}"
        judged.append(claims.rounded(name, f"window for {access} at {rtt:g} ms", paper, needed, half, "packets"))
    return values, judged


def _fn9(home: str) -> tuple[list[Value], list[Claim]]:
    took = 1000 * (Quantity("1500B") / Quantity("1Mbps")).value
    text = "1500 bytes at 1 Mb/s"
    return [Value("packet time", {}, took, None, "ms")], [claims.exactly(home, text, 12.0, took, "ms")]


def _eq2(home: str) -> tuple[list[Value], list[Claim]]:
    burst = float(models.psm_throughput(queue_packets=40).burst_packets)
    text = "largest burst without loss, fast DSL and 40 packets"
    judged = claims.exactly(home, text, 89.0, float(int(burst)), "packets")
    return [Value("largest burst", {"buffer_packets": 40.0}, burst, None, "packets")], [judged]


def _eq2_trend(home: str) -> tuple[list[Value], list[Claim]]:
    values, bursts = [], {}
    for uplink in (3, 2, 1):
        burst = float(models.psm_throughput(up_bps=uplink * 1e6).burst_packets)
        bursts[f"{uplink} Mb/s"] = [burst]
        values.append(Value("largest burst", {"uplink_mbps": float(uplink)}, burst, None, "packets"))
    return values, [claims.ascending(home, "a faster uplink means a smaller loss-free burst", bursts)]


def _buffering(home: str) -> tuple[list[Value], list[Claim]]:
    values, judged = [], []
    for rtt, paper in ((110.0, 90.0), (150.0, 50.0)):
        wait = 1000 * float(models.psm_throughput(rtt_s=rtt / 1000).to_beacon_s)
        values.append(Value("time to the beacon", {"rtt_ms": rtt}, wait, None, "ms"))
        judged.append(
            claims.rounded(f"{home}.{rtt:g}", f"time to the next beacon at {rtt:g} ms", paper, wait, 0.001, "ms")
        )
    return values, judged


def _recovery(home: str) -> tuple[list[Value], list[Claim]]:
    took = float(models.ba_ta_controller(attempts=5, count=10).recovery_s)
    text = "time to leave a wrong mode, N_max 5 and count_max 10"
    return [Value("recovery", {}, took, None, "s")], [claims.rounded(home, text, 5.0, took, 1e-6, "s")]


def _appendix(home: str) -> tuple[list[Value], list[Claim]]:
    values, judged = [], []
    regions = ((-0.5, "unstable"), (0.5, "monotone"), (1.5, "oscillating"), (2.3, "unstable"))
    for gain, paper in regions:
        solved = models.ba_ta_controller(gain=gain, steps=60, interval_s=0.1)
        fixed, after = float(solved.fixed_point_s), float(solved.after_s)
        values.append(Value("interval after 60 steps", {"gain": gain}, 1000 * after, None, "ms"))
        name = f"{home}.{gain:g}"
        judged.append(claims.exactly(f"{name}.kind", f"gain {gain:g} at ratio_min 0.9", paper, str(solved.stability)))
        if paper != "unstable":
            text = f"gain {gain:g}: distance from the fixed point after 60 steps"
            judged.append(claims.between(f"{name}.error", text, "0", abs(after - fixed) * 1000, 0.0, 0.001, "ms"))
    return values, judged


EQUATIONS = (
    _counted("eq1", "Window that PSM needs for full throughput", _eq1),
    _counted("fn9", "Time of a packet on the line", _fn9),
    _counted("eq2", "Largest burst without loss", _eq2),
    _counted("eq2.trend", "Largest burst over the uplink's rate", _eq2_trend),
)
BUFFERING = _counted("sec2.2.3.buffering", "Time to the next beacon", _buffering)
RECOVERY = _counted("sec4.2.recovery", "Time to leave a wrong mode", _recovery)
APPENDIX = _counted("appendix", "Stability of the controller", _appendix)
