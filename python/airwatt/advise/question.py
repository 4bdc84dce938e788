"""What is asked: quantities, flows, and the scenario that they make."""

from __future__ import annotations

import contextlib
import math
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from airwatt import models
from airwatt._core import InputError, Scenario

CAPTURES = (".pcap", ".pcapng", ".cap")
APPLICATIONS = {
    "bulk": ("size", "size"),
    "cbr": ("rate", "rate"),
    "interactive": ("mean_gap", "time"),
    "streaming": ("rate", "rate"),
    "web": ("mean_gap", "time"),
    "request-response": ("mean_gap", "time"),
}
"""What a flow can be, with the key that its amount belongs to and the kind of quantity that this is."""
_PACKETS = ("cbr", "interactive")

_KINDS = {
    "time": (models.tcp_energy, "rtt_s", "20ms"),
    "rate": (models.psm_throughput, "down_bps", "64kbps"),
    "size": (models.psm_throughput, "mtu_bytes", "5MB"),
}


def quantity(option: str, text: str, kind: str) -> float:
    """Reads a time, rate or size with its unit. Raises `InputError`."""
    model, parameter, example = _KINDS[kind]
    message = f"{option} {text!r}: not a {kind}; allowed is a number with a unit, as in {example}"
    try:
        values = model.values(parameter, text)
    except InputError:
        raise InputError(message) from None
    if len(values) != 1 or not math.isfinite(values[0]) or values[0] < 0:
        raise InputError(message)
    return values[0]


_ENERGIES = {"J": 1.0, "kJ": 1e3, "mWh": 3.6, "Wh": 3600.0}


def energy(option: str, text: str) -> float:
    """Reads an energy, `11.4Wh` or `40kJ`, in joules. Raises `InputError`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)(J|kJ|mWh|Wh)", text.strip())
    if found is None or float(found[1]) == 0:
        units = ", ".join(_ENERGIES)
        raise InputError(f"{option} {text!r}: not an energy; allowed is a number above zero with {units}, as in 11.4Wh")
    return float(found[1]) * _ENERGIES[found[2]]


def flow(text: str) -> dict[str, str]:
    """Reads `DIRECTION:APPLICATION:AMOUNT[:PACKET]`, as in `up:cbr:64kbps:160B`. Raises `InputError`."""
    parts = text.split(":")
    if not 3 <= len(parts) <= 4 or parts[0] not in ("down", "up") or parts[1] not in APPLICATIONS:
        known = ", ".join(f"{name}:{key.upper()}" for name, (key, _) in APPLICATIONS.items())
        raise InputError(
            f"--flow {text!r}: not a flow; allowed are down: or up: and one of {known}, as in down:bulk:5MB"
        )
    direction, application, amount, *packet = parts
    key, kind = APPLICATIONS[application]
    if quantity(f"--flow {text!r}: ", amount, kind) <= 0:
        raise InputError(f"--flow {text!r}: {key} {amount}; allowed is more than nothing")
    read = {"direction": direction, "application": application, key: amount}
    if packet:
        if application not in _PACKETS:
            raise InputError(f"--flow {text!r}: no packet size goes with {application}; allowed is it without")
        quantity(f"--flow {text!r}: ", packet[0], "size")
        read["packet"] = packet[0]
    if application == "cbr":
        read["transport"] = "udp"
    return read


@contextlib.contextmanager
def scenario_of(flows: Sequence[str], settings: Mapping[str, str], duration: str) -> Iterator[Scenario]:
    """Makes a scenario of flows over a line and an access point, for as long as it is used. Raises `InputError`."""
    read = [flow(text) for text in flows]
    lines = ['base = "fast-dsl"', 'name = "advice"']
    if any(one["application"] != "bulk" for one in read):
        quantity("--duration", duration, "time")
        lines.append(f'duration = "{duration}"')
    for one in read:
        lines += ["[[flow]]", *(f'{key} = "{value}"' for key, value in one.items())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "advice.toml"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            loaded = Scenario.load(str(path), list(settings.items()))
        except InputError as error:
            raise InputError(str(error).replace(str(path), "--flow")) from None
        yield loaded
