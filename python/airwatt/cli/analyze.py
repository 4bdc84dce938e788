"""`airwatt analyze`: what a station's radio spent, or would have spent, from a real capture."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from airwatt import laboratory
from airwatt._core import InputError
from airwatt.cli import options
from airwatt.cli.output import check_picture, note_file, print_json, say, show, writing
from airwatt.cli.parameters import Argument, Option
from airwatt.cli.progress import bar
from airwatt.threshold import Threshold

if TYPE_CHECKING:
    from airwatt.battery import Battery
    from airwatt.cli.layout import Table

EPILOG = """\b
Examples:
  airwatt analyze captures/tcp-download.pcapng
  airwatt analyze captures/tcp-download.pcapng --policy active,psm --json
"""

_MOST_CANDIDATES = 10


def command(
    capture: Annotated[
        str,
        Argument(
            help="A capture file (pcap or pcapng, also .gz or .zst), or - for standard input.", show_default=False
        ),
    ],
    station: Annotated[
        str | None,
        Option("--station", metavar="ADDR", help="IP or MAC address; default: the one that leaves no doubt."),
    ] = None,
    radio: Annotated[
        str | None, Option("--radio", metavar="NAME", help="Radio profile: a name or a TOML file.")
    ] = None,
    policy: Annotated[
        str | None,
        Option("--policy", metavar="A,B,...", help="Power-save policies, as in psm,uapsd:interval=40ms; default: all."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a key of the cell or the station, as in wifi.beacon_rate=1Mbps; may be repeated.",
        ),
    ] = None,
    battery: options.Battery = None,
    seed: options.Seed = 1,
    limit: options.Limit = None,
    user: options.User = None,
    json: options.Json = False,
    plot: options.Plot = None,
    fail_if: options.FailIf = None,
) -> None:
    """Say what a station's radio spent or would have spent under each policy, and what is worth knowing.

    Reads Ethernet, raw IP, Linux cooked and 802.11 captures. Energy from Ethernet and IP captures is inferred from the
    packets' times and an assumed PHY, and comes with a low and a high band; energy from radiotap is measured air time.
    Of long idle times a part is simulated, so that a capture of days costs what its packets cost.
    """
    check_picture("--plot", plot)
    policies = options.names("--policy", policy)
    settings = options.overrides(set_)
    lasting = options.battery(battery)
    limits = [Threshold.parse(text) for text in fail_if or ()]
    reader = options.parser_of_captures(user)
    with bar(_printable(Path(capture).name)) as on_progress:
        analysis = laboratory.analyze(
            capture,
            station=station,
            radio=radio,
            policies=policies,
            settings=settings,
            seed=seed,
            limit=limit,
            user=reader,
            on_progress=on_progress,
        )
    document = analysis.to_dict()
    if plot is not None:
        _draw(document, plot)
    if lasting is not None:
        _add_lifetimes(document, lasting)
    if json:
        print_json(document)
    else:
        show(*_parts(document))
    options.hold(limits, {**document, "findings": _counts(document)})


def _counts(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Gives the number of occurrences by kind: 0 for every kind that was not found."""
    from airwatt._core import finding_kinds

    counts = {kind: {"count": 0.0, "possible": 0.0} for kind in finding_kinds()}
    for finding in document["findings"]:
        counts[finding["kind"]]["count" if finding["certainty"] == "found" else "possible"] += finding["count"]
    return counts


def _radio_voltage(document: dict[str, Any]) -> float | None:
    voltage: float | None = document["radio_voltage_v"]
    return voltage


def _add_lifetimes(document: dict[str, Any], battery: "Battery") -> None:
    volts = _radio_voltage(document)
    voltage = battery.voltage(volts)
    document["battery"] = {"text": battery.text, "capacity_j": battery.capacity_j(volts), "voltage_v": voltage}
    for policy in document["policies"]:
        policy["battery_lasts_s"] = battery.lasts_s(policy["average_power_w"], volts)


def _currents(document: dict[str, Any]) -> "Iterator[Table]":
    """Yields power, current and charge a day of each policy, and how long the battery lasts."""
    from airwatt.battery import lasting
    from airwatt.cli.tables import NOTHING, quantity, table

    volts, battery = _radio_voltage(document), document.get("battery")
    if volts is None and battery is None:
        return
    if battery is not None:
        volts = battery["voltage_v"]
    rows = []
    for policy in document["policies"]:
        current = policy["average_power_w"] / volts if volts else None
        rows.append(
            [
                policy["policy"],
                quantity(policy["average_power_w"], "W"),
                quantity(current, "A"),
                NOTHING if current is None else f"{current * 24e3:.4g} mAh",
                *([] if battery is None else [lasting(policy["battery_lasts_s"])]),
            ]
        )
    heads = ["policy", "power", "current", "charge a day"]
    yield table([*heads, *([] if battery is None else [f"{battery['text']} lasts"])], rows)


def _printable(name: str) -> str:
    """Gives the name as the document has it: bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode(errors="replace")


def _draw(document: dict[str, Any], plot: Path) -> None:
    if not document["policies"]:
        if document["station"] is not None:
            raise InputError(f"--plot {plot}: expected a station with packets that can be replayed, got one without")
        say("no picture: the capture leaves doubt which station is meant; --station ADDR names it")
        return
    from airwatt.plots import analyze as picture

    with writing("--plot", plot):
        picture.draw(document, plot)
    note_file(plot)


def _parts(document: dict[str, Any]) -> "Iterator[str | Table]":
    from airwatt.cli.tables import count, quantity

    capture = document["capture"]
    lines = [
        f"{capture['file']}: {capture['format']}, {', '.join(capture['link_types'])}, {count(capture['packets'])} "
        f"packets, {quantity(capture['covered_s'], 's')}"
    ]
    lines += [f"note: {note}" for note in capture["notes"]]
    sizes = {name: size for name, size in document["bytes"].items() if size}
    if document["station"] is not None:
        lines.append(
            f"station {document['station']}: " + ", ".join(f"{quantity(n, 'B')} {k}" for k, n in sizes.items())
        )
    yield "\n".join(lines)
    if document["station"] is None:
        yield "The capture leaves doubt which station is meant; choose one with --station:"
        yield _candidates(document["candidates"])
    if document["policies"]:
        yield _basis(document)
        yield _policies(document["policies"])
        yield from _currents(document)
    if document["air"] is not None:
        yield from _air(document["air"])
    if document["findings"]:
        yield "\n".join(_finding(finding) for finding in document["findings"])


def _candidates(candidates: list[dict[str, Any]]) -> "Table":
    from airwatt.cli.tables import count, quantity, table

    rows = [
        [
            item["address"],
            count(item["packets"]),
            quantity(item["bytes_sent"], "B"),
            quantity(item["bytes_received"], "B"),
        ]
        for item in candidates[:_MOST_CANDIDATES]
    ]
    if len(candidates) > _MOST_CANDIDATES:
        rows.append([f"and {len(candidates) - _MOST_CANDIDATES} more", "", "", ""])
    return table(["address", "packets", "sent", "received"], rows)


def _basis(document: dict[str, Any]) -> str:
    basis = ", ".join(dict.fromkeys(policy["basis"] for policy in document["policies"]))
    return f"energy {basis}; radio {document['radio']}; {document['phy']}"


def _policies(policies: list[dict[str, Any]]) -> "Table":
    from airwatt.cli.tables import count, percent, quantity, span, table

    rows = []
    for policy in policies:
        delay = policy["added_delay_s"] or {}
        rows.append(
            [
                policy["policy"],
                quantity(policy["energy_j"], "J"),
                span(policy["energy_low_j"], policy["energy_high_j"], "J"),
                percent(policy["sleep_share"]),
                quantity(delay.get("mean"), "s"),
                quantity(delay.get("p95"), "s"),
                count(sum(policy["wakeups"].values())),
            ]
        )
    return table(["policy", "energy", "band", "asleep", "delay +", "95 %", "wake-ups"], rows)


def _air(air: dict[str, Any]) -> "Iterator[str | Table]":
    from airwatt.cli.tables import NOTHING, count, percent, quantity, table

    rows = []
    for station in air["stations"]:
        measured = station["measured"]
        energy = NOTHING
        if measured is not None:
            energy = " to ".join(quantity(measured[f"energy_{bound}_j"], "J") for bound in ("low", "high"))
        known = station["mode_known_s"]
        rows.append(
            [
                station["mac"],
                percent(station["in_power_save_s"] / known) if known else NOTHING,
                count(station["pm_changes"]),
                count(station["ps_polls"] + station["triggers"]),
                count(station["data_down"]),
                count(station["data_up"]),
                energy,
            ]
        )
    measured = any(station["measured"] is not None for station in air["stations"])
    yield "what the stations did" + (", and spent by measured air time:" if measured else ":")
    yield table(["station", "PM = 1", "changes", "asked", "down", "up", "energy"], rows[:_MOST_CANDIDATES])


def _finding(finding: dict[str, Any]) -> str:
    where = finding["examples"][:1]
    place = f" (first: packet {where[0]['packet']}, {where[0]['time_s']:.3f} s)" if where else ""
    sure = "" if finding["certainty"] == "found" else " possible,"
    times = f" {finding['count']} times," if finding["count"] > 1 else ""
    clause = f" [{finding['clause']}]" if finding["clause"] else ""
    return f"{finding['kind']},{sure}{times} {finding['whose']}: {finding['text']}{place}{clause}"
