"""Frames on the air: `mac-frame`, `max-throughput` and `dcf-saturation` against stations that always have a frame."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airwatt import models
from airwatt.reproductions.publication import Numbers, Point
from airwatt.validate.cases import Case, Figure, Samples, Validation, figure

QS = (0.0, 0.1, 0.3, 0.5, 0.7)
SENDS = {"up, RTS": ("up", "rts-cts"), "up": ("up", "none"), "down": ("down", "none")}
RADIO = "ar5004"
PACKET_BYTES = 1500
# A result counts payload; a saturated station sends datagrams with 28 bytes of IP and UDP headers.
PAYLOAD_BYTES = PACKET_BYTES - 28


def _exchanges(document: Mapping[str, Any]) -> Numbers:
    """Of a saturated flow, for each packet that was delivered or given up."""
    cell, station = document["cell"], document["stations"][0]
    given_up = cell["retry_limit_drops"]
    packets = document["flows"][0]["bytes_delivered"] / PAYLOAD_BYTES + given_up
    return {
        "time": document["simulated_s"] / packets,
        "energy": station["energy_j"] / packets,
        "attempts": cell["frames"] / packets,
        "loss": given_up / packets,
    }


def _frames_point(q: float, direction: str, protection: str) -> Point:
    overrides = {
        "duration": "20s",
        "station.count": "1",
        "station.radio": RADIO,
        "wifi.access": "dcf",
        "wifi.retry_limit": "7",
        "wifi.mac_overhead": "36B",
        "wifi.frame_error_rate": f"{q:g}",
        "flow.direction": direction,
        # A beacon is a frame too, and none of the model's.
        "ap.beacon_interval": "1s",
        **({"wifi.station_rts_threshold": "0B"} if protection == "rts-cts" else {}),
    }
    return Point("saturation", tuple(overrides.items()), _exchanges, 0.05)


def _frames_case(q: float, sends: str) -> Case:
    direction, protection = SENDS[sends]

    def compare(samples: Samples) -> list[Figure]:
        powers = {key: value for key, value in models.radio(RADIO).items() if key in models.mac_frame.parameters}
        solved = models.mac_frame(
            q=q,
            data_bytes=PACKET_BYTES,
            ack_bytes=PACKET_BYTES,
            timing="ofdm",
            control_rate_bps=24e6,
            protection=protection,
            **powers,
        )
        link = "uplink" if direction == "up" else "downlink"
        expected = {"time": solved[f"{link}_s"], "energy": solved[f"{link}_j"], "attempts": solved.attempts}
        units = {"time": "s", "energy": "J", "attempts": ""}
        return [
            figure(what, unit, [one[what] for one in samples[0]], expected[what], (-0.025, 0.025))
            for what, unit in units.items()
        ]

    return Case({"sends": sends, "q": q}, (_frames_point(q, direction, protection),), compare)


def _frames(_folder: Path) -> list[Case]:
    return [_frames_case(q, sends) for sends in SENDS for q in QS]


_MAC_FRAME = Validation(
    "mac-frame",
    "One 802.11a station, or the access point, always has a packet of 1500 bytes to send; attempts fail with "
    f"probability q, seven retries, radio {RADIO}, always awake. Time and energy are those of the station for each "
    "packet delivered or given up. The model has OFDM timing.",
    _frames,
    "q",
    runs=4,
    note="The model charges a failed attempt with an acknowledgement; in runs the sender waits for it in vain, which "
    "takes 1 us longer and costs what listening does.",
)

RATES_MBPS = (6, 12, 24, 36, 54)


def _goodput(document: Mapping[str, Any]) -> Numbers:
    return {"throughput": document["flows"][0]["goodput_bps"] * PACKET_BYTES / PAYLOAD_BYTES}


def _alone_case(rate_mbps: int) -> Case:
    overrides = {
        "duration": "20s",
        "station.count": "1",
        "wifi.access": "dcf",
        "wifi.mac_overhead": "36B",
        "wifi.data_rate": f"{rate_mbps}Mbps",
        "wifi.control_rate": "6Mbps" if rate_mbps < 12 else "12Mbps" if rate_mbps < 24 else "24Mbps",
        "ap.beacon_interval": "1s",
    }
    point = Point("saturation", tuple(overrides.items()), _goodput, 0.05)

    def compare(samples: Samples) -> list[Figure]:
        control_bps = {6: 6e6, 12: 12e6}.get(rate_mbps, 24e6)
        model = models.max_throughput(data_rate_bps=1e6 * rate_mbps, control_rate_bps=control_bps).throughput_bps
        runs = [one["throughput"] for one in samples[0]]
        return [figure("throughput", "b/s", runs, float(model), (-0.005, 0.005))]

    return Case({"rate_mbps": float(rate_mbps)}, (point,), compare)


_MAX_THROUGHPUT = Validation(
    "max-throughput",
    "One 802.11a station alone always has a packet of 1500 bytes to send, without QoS: 36 bytes of MAC overhead "
    "instead of the 38 of the scenario `saturation`.",
    lambda _folder: [_alone_case(rate) for rate in RATES_MBPS],
    "rate_mbps",
    runs=2,
)

STATIONS = (1, 2, 5, 10, 20, 50)


def _saturated(document: Mapping[str, Any]) -> Numbers:
    throughput = sum(flow["goodput_bps"] for flow in document["flows"]) * PACKET_BYTES / PAYLOAD_BYTES
    cell = document["cell"]
    return {"throughput": throughput, "retries": cell["retries"] / cell["frames"]}


def _saturated_case(stations: int, retries: int) -> Case:
    overrides = {
        "duration": "10s",
        "station.count": str(stations),
        "wifi.retry_limit": str(retries),
        "wifi.mac_overhead": "36B",
        "ap.beacon_interval": "1s",
    }
    point = Point("saturation", tuple(overrides.items()), _saturated, 0.2)

    def compare(samples: Samples) -> list[Figure]:
        frames = models.mac_frame(
            q=0.0, timing="ofdm", control_rate_bps=24e6, protection="none", propagation_s=0.0, cw_min=0, cw_max=0
        )
        # After a collision bystanders wait for EIFS and the senders for their ACKTimeout, which is 1 us longer.
        solved = models.dcf_saturation(
            stations=stations, retries=retries, success_s=frames.uplink_s, collision_s=frames.uplink_s + 1e-6
        )
        throughputs = [one["throughput"] for one in samples[0]]
        return [figure("throughput", "b/s", throughputs, float(solved.throughput_bps), (-0.02, 0.02))]

    return Case({"retries": float(retries), "stations": float(stations)}, (point,), compare)


_DCF = Validation(
    "dcf-saturation",
    "Stations of one cell always have a packet of 1500 bytes to send (802.11a, 54 and 24 Mb/s), without QoS: 36 bytes "
    "of MAC overhead instead of the 38 of the scenario `saturation`; a slot in which another begins to send is "
    "counted, as the model has it.",
    lambda _folder: [_saturated_case(n, retries) for retries in (7, 255) for n in STATIONS],
    "stations",
    runs=2,
)

VALIDATIONS = (_MAC_FRAME, _DCF, _MAX_THROUGHPUT)
