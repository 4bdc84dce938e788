"""Bursts over the air, asleep in between: `sctp-tunnel` and `wni-factors`.

What is simulated is what the model says of a tunnel: a source that lets m packets go at a time at a steady rate, a
receiver that answers a burst once, and a radio that sleeps in between (policy `ideal`) or not (`active`). The answer to
a burst comes a round trip later; with a round trip of whole periods it comes with the next burst and costs no wake-up
of its own, which is what the model assumes. The simulator's tunnel with flows of TCP in it stands beside the model in
the reproduction of figures 4.5 to 4.8.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airwatt import models
from airwatt._core import toml_value
from airwatt.reproductions.publication import Numbers, Point
from airwatt.sweeps.folder import Folder
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

PACKET_BYTES = 1500
ENCAPSULATION_BYTES = 32
RADIO = "ar5004"
SECONDS = 20
_ROUND_TRIP_S = 0.02


def _power(document: Mapping[str, Any]) -> Numbers:
    station = document["stations"][0]
    return {"power": station["average_power_w"], "sleeps": station["wakeups"] / document["simulated_s"]}


def _point(
    policy: str,
    rate: float,
    m: int,
    q: float,
    rtt_s: float,
    headers_bytes: int,
    radio: str,
    directions: tuple[str, ...] = ("up",),
) -> Point:
    """`rate` packets in a second each way, m at a time, with so many bytes of headers around 1500 of data."""
    flow = {
        "transport": "reno",
        "application": {
            "kind": "cbr",
            "rate": f"{round(8 * PACKET_BYTES * rate)}bps",
            "packet": f"{PACKET_BYTES * m}B",
            "size": "1GB",
        },
    }
    flows = [{"direction": direction, **flow} for direction in directions]
    overrides = {
        "duration": f"{SECONDS}s",
        "wired.rtt": f"{round(1e6 * rtt_s)}us",
        "wifi.station_rts_threshold": "0B",
        "wifi.frame_error_rate": f"{q:g}",
        "flow": toml_value(flows),
        "tcp.mtu": f"{PACKET_BYTES + headers_bytes}B",
        "tcp.header": f"{headers_bytes}B",
        "tcp.initial_window": "100",
        "tcp.receive_window": "1000packets",
        "tcp.delayed_ack": "true" if m > 1 else "false",
        "tcp.delayed_ack_segments": str(max(m, 2)),
        "tcp.delayed_ack_timeout": "200ms",
        "station.radio": radio,
        "policy": policy,
    }
    return Point("reference-download", tuple(overrides.items()), _power, 0.05)


KBYTES_PER_S = (150, 300, 450, 600)
MS = (1, 2, 5, 10)
Q = 0.1


WAYS = {"up": ("up",), "up, alone": ("up",), "down": ("down",), "both": ("up", "down")}
"""What carries data; answers come with the next burst but where they come alone."""
STATED = {"up": (-0.05, 0.05), "up, alone": (-0.25, 0.05), "down": (-0.2, 0.1), "both": (-0.05, 0.2)}
"""Power asleep."""


def _tunnel_case(kbytes_per_s: int, m: int, way: str) -> Case:
    directions = WAYS[way]
    # Packets a second each way.
    rate = 1e3 * kbytes_per_s / PACKET_BYTES / len(directions)
    period_s = m / rate
    # An answer takes a round trip and the time of its burst on the air; a tenth of a millisecond a packet brings it
    # back to the beginning of the burst that it meets. Bursts of both ways meet if half a round trip is whole, too.
    whole_s = math.ceil(_ROUND_TRIP_S / period_s / len(directions) - 1e-9) * period_s * len(directions)
    rtt_s = _ROUND_TRIP_S if way == "up, alone" else whole_s - 1e-4 * m
    # 40 bytes of an acknowledgement and the tunnel's 32.
    headers_bytes = 40 + ENCAPSULATION_BYTES
    points = tuple(_point(p, rate, m, Q, rtt_s, headers_bytes, RADIO, directions) for p in ("active", "ideal"))

    def compare(samples: Samples) -> list[Figure]:
        each_bps = 8e3 * kbytes_per_s / len(directions)
        solved = models.sctp_tunnel(
            up_bps=each_bps if "up" in directions else 0.0,
            down_bps=each_bps if "down" in directions else 0.0,
            m=m,
            q=Q,
            # The packets of the runs have 40 bytes of headers inside.
            data_bytes=PACKET_BYTES,
            encapsulation_bytes=ENCAPSULATION_BYTES,
            timing="ofdm",
            control_rate_bps=24e6,
            **models.radio(RADIO),
        )
        awake, ideal = ([one["power"] for one in runs] for runs in samples)
        least = min(float(solved.ideal_w), float(solved.cam_w))
        # Gaps below a millisecond do not always pay, and answers that come alone wake the radio again.
        even = way == "up" and solved.gap_sleep_s > 1e-3
        sleeps = [one["sleeps"] for one in samples[1]]
        return [
            figure("awake", "W", awake, float(solved.cam_w), (-0.025, 0.025)),
            figure("ideal", "W", ideal, least, STATED[way]),
            figure("sleeps", "/s", sleeps, float(solved.sleeps_per_second), (-0.05, 0.05) if even else (-0.6, 1.2)),
        ]

    return Case({"data": way, "m": float(m), "rate_kbytes": float(kbytes_per_s)}, points, compare)


def _tunnels(_folder: Path) -> list[Case]:
    up = [_tunnel_case(rate, m, "up") for m in MS for rate in KBYTES_PER_S]
    others = [way for way in WAYS if way != "up"]
    return up + [_tunnel_case(rate, m, way) for way in others for m in (5, 10) for rate in (150, 450)]


_TUNNEL = Validation(
    "sctp-tunnel",
    "A station sends m packets at a time at a steady rate, or is sent them, or half of them each way; one answer comes "
    f"back for each burst, with the next one or alone {1e3 * _ROUND_TRIP_S:g} ms later (802.11a, q = {Q}, RTS, radio "
    f"{RADIO}; policies active and ideal). The model has OFDM timing.",
    _tunnels,
    "rate_kbytes",
    runs=2,
    note="Not simulated: the tunnel itself, and the delay D in its buffer, which is arithmetic. An answer that comes "
    "alone costs a wake-up of its own, which the model has not. Of data down the model counts one packet for each "
    "burst; of data both ways it has the acknowledgements of each way as packets, where runs have one for a burst.",
)

ROUND_S = 0.1
WINDOWS = (5, 10, 20, 30)
CHANGES: dict[str, dict[str, float]] = {
    "as it is": {},
    "P^s / 10": {"sleep_w": 0.1},
    "P^sa / 20": {"wake_up_w": 0.05},
    "T^sa / 20": {"wake_up_s": 0.05},
    "P^as x 100": {"to_sleep_w": 100.0},
}
_STATES = ("transmit", "receive", "listen", "sleep")


def _profile(name: str, radio: Mapping[str, float]) -> str:
    lines = [f'name = "{name}"', 'description = "of a validation"', 'source = "ar5004, changed"']
    lines += [f'{state} = "{radio[f"{state}_w"]:.9g}W"' for state in _STATES]
    for transition in ("to_sleep", "wake_up"):
        lines.append(f"[{transition}]")
        lines.append(f'time = "{round(1e9 * radio[f"{transition}_s"])}ns"')
        lines.append(f'power = "{radio[f"{transition}_w"]:.9g}W"')
    return "\n".join(lines) + "\n"


def _factor_case(folder: Path, change: str, window: int) -> Case:
    radio = models.radio(RADIO)
    radio |= {name: factor * radio[name] for name, factor in CHANGES[change].items()}
    path = folder / f"radio-{list(CHANGES).index(change)}.toml"
    with Folder(folder).replacing(path.name) as out:
        out.write(_profile(path.stem, radio).encode())
    rate = window / ROUND_S
    points = tuple(_point(p, rate, 1, 0.0, ROUND_S - 1e-4, 40, str(path)) for p in ("active", "ideal"))

    def compare(samples: Samples) -> list[Figure]:
        solved = models.wni_factors(
            window_packets=window,
            rtt_s=ROUND_S,
            q=0.0,
            data_bytes=PACKET_BYTES + 40,
            timing="ofdm",
            control_rate_bps=24e6,
            **radio,
        )
        awake, ideal = ([ROUND_S * one["power"] for one in runs] for runs in samples)
        saved = [a - b for a, b in zip(awake, ideal, strict=True)]
        reduction_j = float(solved.round_cam_j) - float(solved.round_sleep_j)
        return [
            figure("awake", "J", awake, float(solved.round_cam_j), (-0.01, 0.01)),
            figure("ideal", "J", ideal, float(solved.round_sleep_j), (0.0, 0.15)),
            figure("saved", "J", saved, reduction_j, (-0.15, 0.0)),
        ]

    return Case({"radio": change, "window": float(window)}, points, compare)


def _factors(folder: Path) -> list[Case]:
    return [_factor_case(folder, change, window) for change in CHANGES for window in WINDOWS]


_FACTORS = Validation(
    "wni-factors",
    f"A station sends w packets in a round trip of 100 ms, evenly spaced, and an acknowledgement comes with each of "
    f"the next (802.11a, no losses, RTS; radio {RADIO} as it is and changed; policies active and ideal). The model's "
    "round trip is that of 3.44 and 3.45, with OFDM timing.",
    _factors,
    "window",
    note="A frame that finds the medium idle goes out at once, in runs; the model has the mean backoff before each. "
    "Equation 3.46 is the difference of the two with the sleep of a gap given instead of computed.",
)

VALIDATIONS = (_FACTORS, _TUNNEL)
