"""What stations did on the air, by their frames: their power save, their agreements, and their access points."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airwatt.layout import Table

_MOST_ROWS = 10
_LONGEST_SSID = 20
_ENOUGH_BEACONS = 0.5


def parts(air: dict[str, Any], covered_s: float) -> "Iterator[str | Table]":
    """Yields what the stations did and agreed on, and what was captured of their access points."""
    from airwatt.tables import NOTHING, count, percent, quantity, span, table

    rows = []
    for station in air["stations"]:
        spent = station["measured"]
        energy = NOTHING
        if spent is not None:
            energy = span(spent["energy_low_j"], spent["energy_high_j"], "J")
        known = station["mode_known_s"]
        rows.append(
            [
                station["mac"],
                percent(station["in_power_save_s"] / known) if known else NOTHING,
                quantity(known, "s") if known else NOTHING,
                count(station["pm_changes"]),
                count(station["ps_polls"] + station["triggers"]),
                count(station["data_down"]),
                count(station["data_up"]),
                energy,
            ]
        )
    is_measured = any(station["measured"] is not None for station in air["stations"])
    yield (
        f"what the stations did, of {quantity(covered_s, 's')}"
        + (", and spent as far as their frames show:" if is_measured else ":")
    )
    yield table(["station", "PM = 1", "of known", "changes", "asked", "down", "up", "energy"], rows[:_MOST_ROWS])
    yield from _agreements(air)
    yield from _schedules(air)
    yield from _cells(air)


_AGREEMENTS = {"target-wake-time": "TWT", "wnm-sleep": "WNM sleep"}


def _agreements(air: dict[str, Any]) -> "Iterator[str | Table]":
    """What stations agreed on with their access points about when they are awake."""
    from airwatt.tables import NOTHING, quantity, table

    held = [(station["mac"], one) for station in air["stations"] for one in station["agreements"]]
    if not held:
        return
    rows = []
    for mac, one in held[:_MOST_ROWS]:
        until = "end" if one["until_s"] is None else quantity(one["until_s"], "s")
        wake = one["wake_time"]
        terms = [NOTHING, NOTHING, ""]
        if wake is not None:
            how = "announced" if wake["announced"] else "unannounced"
            how += ", trigger" if wake["trigger"] else ""
            how += f", {one['suspensions']}x suspended" if one["suspensions"] else ""
            terms = [quantity(wake["interval_s"], "s"), quantity(wake["duration_s"], "s"), how]
        rows.append([mac, _AGREEMENTS[one["kind"]], str(one["packet"]), quantity(one["from_s"], "s"), until, *terms])
    of = list(dict.fromkeys(mac for mac, _ in held))
    count = sum(station["agreement_count"] for station in air["stations"])
    more = f"; the first {len(rows)} of {count}" if count > len(rows) else ""
    whose = f" of {of[0]}" if len(of) == 1 else ""
    yield f"agreements on sleep{whose}, under which rules that depend on it are undecidable{more}:"
    heads = ["station", "agreement", "packet", "from", "until", "each", "awake", ""]
    first = 1 if len(of) == 1 else 0
    yield table(heads[first:], [row[first:] for row in rows], left=2 - first)


def _schedules(air: dict[str, Any]) -> "Iterator[str | Table]":
    """The service periods that access points announce to all of their stations."""
    from airwatt.tables import count, quantity, table

    rows = []
    for network in air["networks"]:
        for one in network["wake_schedules"]:
            how = "announced" if one["announced"] else "unannounced"
            how += ", trigger" if one["trigger"] else ""
            how += ", restricted" if one["restricted"] else ""
            each, awake = quantity(one["interval_s"], "s"), quantity(one["duration_s"], "s")
            rows.append([network["bssid"], count(one["id"]), each, awake, how])
    if not rows:
        return
    more = f"; the first {_MOST_ROWS} of {len(rows)}" if len(rows) > _MOST_ROWS else ""
    yield f"broadcast target wake times that access points announce{more}:"
    yield table(["access point", "number", "each", "awake", ""], rows[:_MOST_ROWS], left=1)


def _cells(air: dict[str, Any]) -> "Iterator[str | Table]":
    """The access points of the stations: how many of their beacons there are, on which findings about the TIM rest."""
    from airwatt.tables import NOTHING, count, percent, table

    own = {one["bssid"] for station in air["stations"] for one in station["access_points"]}
    rows, sparse = [], []
    for network in air["networks"]:
        if network["bssid"] not in own or not network["beacon_interval_s"]:
            continue
        share = min(network["beacons"] / max(network["beacons_due"], 1), 1.0)
        name = "".join(letter if letter.isprintable() else "?" for letter in network["ssid"])
        period = count(network["dtim_period"]) if network["dtim_period"] else NOTHING
        uapsd = {True: "yes", False: "no", None: NOTHING}[network["uapsd"]]
        rows.append([network["bssid"], name[:_LONGEST_SSID], count(network["beacons"]), percent(share), period, uapsd])
        if share < _ENOUGH_BEACONS:
            sparse.append(network["bssid"])
    if rows:
        yield "and their access points:"
        heads = ["access point", "network", "beacons", "of those due", "DTIM period", "U-APSD"]
        yield table(heads, rows[:_MOST_ROWS], left=2)
    if sparse:
        yield (
            f"note: most beacons of {', '.join(sparse[:_MOST_ROWS])} were not captured; that there is no finding "
            "about TIM bits or DTIM says nothing there"
        )
