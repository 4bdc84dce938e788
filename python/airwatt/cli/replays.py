"""What policies would have spent in the time of a capture: the tables of its replays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airwatt import kits, radio_notes
from airwatt.aggregates import cause_name
from airwatt.cli import measured

if TYPE_CHECKING:
    from airwatt.battery import Battery
    from airwatt.layout import Table

_MOST_ENDS = 8
_MENTIONED = 0.01
"""Causes with a smaller share of the energy are put together."""
_USUAL_POLICY = "timeout"
"""Whose energy is divided by flow and by peer, if it is there: what chips run."""
_BOUND = "ideal"
"""The policy that is none of a device."""


def parts(document: dict[str, Any], battery: Battery | None) -> Iterator[str | Table]:
    """What each policy costs, what its energy was spent on, and where it goes; nothing without policies."""
    if not document["policies"]:
        return
    yield _basis(document)
    yield from radio_notes.of_analysis(document)
    yield _policies(document["policies"])
    yield from _settable(document)
    if any(policy["policy"].partition(":")[0] == _USUAL_POLICY for policy in document["policies"]):
        yield from radio_notes.off_as_it_comes(document["radio"])
    yield from _currents(document, battery)
    yield from _assumptions(document["policies"])
    yield from _flows(document)


def _settable(document: dict[str, Any]) -> Iterator[str]:
    """Says which of the policies the kit of the radio's chip has settings for, if it has a kit and lacks some."""
    kit = kits.of_chip(document["radio"])
    names = [policy["policy"] for policy in document["policies"] if policy["policy"] != _BOUND]
    if kit is None:
        return
    from airwatt.advice import platforms
    from airwatt.advice.candidate import Candidate

    settable = [name for name in names if platforms.can_set(kit, Candidate(name.partition(":")[0]))]
    if len(settable) < len(names):
        which = f"has settings for {', '.join(settable)}" if settable else "has a setting for none"
        yield f"of these {kit} {which}; airwatt advise says how"


def _currents(document: dict[str, Any], battery: Battery | None) -> Iterator[str | Table]:
    """Yields what each policy's energy was spent on, and its current, charge a day and lifetime on the battery."""
    from airwatt.aggregates import cause_shares
    from airwatt.battery import SECONDS_A_DAY
    from airwatt.cli import charge
    from airwatt.tables import quantity, table

    policies = document["policies"]
    volts = measured.radio_voltage(document)
    if charge.has_any([volts], battery):
        rows = []
        for policy in policies:
            power_w, profile = policy["average_power_w"], policy["profile"]
            cells = charge.cells(power_w, volts, battery, profile)
            rows.append([policy["policy"], quantity(power_w, "W"), *cells])
        yield table(["policy", "power", *charge.heads(battery, policies[0]["profile"])], rows)
        profiles = [(policy["policy"], policy["profile"]) for policy in policies]
        # Where a band of an energy is left out, that of the profile alone would claim too much.
        has_bands = any(policy["energy_low_j"] is not None or policy["left_out"] for policy in policies)
        yield from charge.host_modes("policy", profiles, volts, battery, energies_have_bands=has_bands)
    shares = [(policy["policy"], dict(cause_shares([policy["energy_by_cause_j"]]))) for policy in policies]
    days = None
    if battery is not None and volts:
        days = [charge.charge_mah(policy["average_power_w"] * SECONDS_A_DAY, volts) for policy in policies]
    yield charge.causes_table(shares, days)


def _basis(document: dict[str, Any]) -> str:
    basis = ", ".join(dict.fromkeys(policy["basis"] for policy in document["policies"]))
    return (
        f"what policies would have spent, {basis}; radio {document['radio']}; {document['phy']}; delay + is that of "
        "packets with data"
    )


def _policies(policies: list[dict[str, Any]]) -> Table:
    from airwatt.tables import count, percent, quantity, span, table

    has_band = any(policy["energy_low_j"] is not None for policy in policies)
    rows = []
    for policy in policies:
        delay = policy["added_delay_s"] or {}
        band = [span(policy["energy_low_j"], policy["energy_high_j"], "J")] if has_band else []
        rows.append(
            [
                policy["policy"],
                quantity(policy["energy_j"], "J"),
                *band,
                percent(policy["sleep_share"]),
                quantity(delay.get("mean"), "s"),
                quantity(delay.get("p95"), "s"),
                count(sum(policy["wakeups"].values())),
            ]
        )
    heads = ["policy", "energy", *(["band"] if has_band else []), "asleep", "delay +", "95 %", "wake-ups"]
    return table(heads, rows)


def _assumptions(policies: list[dict[str, Any]]) -> Iterator[str | Table]:
    """What the bands consist of, in the words of the policy that each assumption moves most."""
    from airwatt.tables import percent, table

    most: dict[str, tuple[float, dict[str, Any], str]] = {}
    for policy in policies:
        for assumption in policy["assumptions"]:
            if assumption["share"] > most.get(assumption["what"], (0.0,))[0]:
                most[assumption["what"]] = (assumption["share"], assumption, policy["policy"])
    yield from _left_out(policies)
    if not most:
        return
    yield "what the bands of the energies consist of (--set and --radio replace an assumption by what you know):"
    rows = [
        [what, assumption["assumed"], assumption["other"], f"{percent(share)} of {policy}"]
        for what, (share, assumption, policy) in most.items()
    ]
    yield table(["assumption", "assumed", "as likely", "moves at most"], rows, left=4)


def _left_out(policies: list[dict[str, Any]]) -> Iterator[str]:
    """The policies without a band, since its replays would exceed the limit of events."""
    without = [policy["policy"] for policy in policies if policy["left_out"]]
    if without:
        what = dict.fromkeys(name for policy in policies for name in policy["left_out"])
        yield (
            f"no band for {', '.join(without)}: replays with another {' and another '.join(what)} would exceed the "
            "limit of events; --limit events=COUNT raises it"
        )


def _flows(document: dict[str, Any]) -> Iterator[str | Table]:
    """What one policy spends by flow, and the same total by peer."""
    from airwatt.tables import NOTHING, quantity, table

    policies = document["policies"]
    policy = next((one for one in policies if one["policy"] == _USUAL_POLICY), policies[0])
    causes = policy["energy_by_cause_j"]
    frames = {int(place): energy_j for place, energy_j in causes["flow"].items()}
    tails = {int(place): energy_j for place, energy_j in policy["timeout_tail_by_flow_j"].items()}
    # Of a single flow the causes above say it all.
    if len(frames) < 2:
        return
    total = policy["energy_j"]
    none_j = policy["energy_by_peer_j"].get("none", 0.0)
    yield f"where the {quantity(total, 'J')} of {policy['policy']} go, by flow:"
    flows = {flow["id"]: flow for flow in document["flows"]}
    both = {place: energy_j + tails.get(place, 0.0) for place, energy_j in frames.items()}
    rows = []
    shown = [place for place, _ in _most(both) if place in flows]
    for place in shown:
        flow = flows[place]
        ends = [flow["second"], flow["first"]]
        # The peer first: the station is the same in all rows.
        peer, own = ends if ends[0].lstrip("[").startswith(flow["peer"]) else ends[::-1]
        size = quantity(flow["bytes_forward"] + flow["bytes_reverse"], "B")
        rows.append([flow["protocol"], peer, _port(own), size, frames[place], tails.get(place, 0.0)])
    rest = frames.keys() - set(shown)
    if rest:
        others = document["flow_count"] - len(rows)
        name = f"{others} others" if others else "without IP, or to groups"
        sums = [math.fsum(part.get(place, 0.0) for place in rest) for part in (frames, tails)]
        rows.append([NOTHING, name, NOTHING, NOTHING, *sums])
    rows += [[NOTHING, name, NOTHING, NOTHING, energy_j, 0.0] for name, energy_j in _beside_flows(policy)]
    header = ["flow", "peer or cause", "own port", "bytes", "energy", "tail", "share"]
    cells = [
        [*row[:4], quantity(row[4], "J"), quantity(row[5], "J") if row[5] else NOTHING, _share(row[4] + row[5], total)]
        for row in rows
    ]
    yield table(header, cells, left=2)
    # As in the table above, a peer costs its frames and the tails after them.
    by_peer, tails_of = policy["energy_by_peer_j"], policy["timeout_tail_by_peer_j"]
    peers = {
        peer: energy_j + tails_of.get(peer, 0.0) for peer, energy_j in by_peer.items() if peer not in ("none", "others")
    }
    if not 1 < len(peers) < document["flow_count"]:
        return
    yield "and by peer:"
    listed = [(peer, by_peer[peer], tails_of.get(peer, 0.0)) for peer, _ in _most(peers)]
    tails_j = math.fsum(tails_of.values())
    if len(peers) > len(listed) or "others" in by_peer:
        rest_j = total - none_j - math.fsum(energy_j for _, energy_j, _ in listed)
        listed.append(("others", rest_j, tails_j - math.fsum(tail_j for _, _, tail_j in listed)))
    listed.append(("none", max(0.0, none_j - tails_j), 0.0))
    cells = [
        [peer, quantity(energy_j, "J"), quantity(tail_j, "J") if tail_j else NOTHING, _share(energy_j + tail_j, total)]
        for peer, energy_j, tail_j in listed
    ]
    yield table(["peer", "energy", "tail", "share"], cells)


def _beside_flows(policy: dict[str, Any]) -> list[tuple[str, float]]:
    """The energy of a policy that is neither of packets of flows nor of the tails after them, by cause."""
    causes = dict(policy["energy_by_cause_j"])
    del causes["flow"]
    # Where all tails belong to flows, rounding can leave a negative remainder.
    causes["timeout_tail"] = max(0.0, causes["timeout_tail"] - math.fsum(policy["timeout_tail_by_flow_j"].values()))
    least_j = _MENTIONED * policy["energy_j"]
    large = [(cause_name(name), energy_j) for name, energy_j in causes.items() if energy_j >= least_j]
    large.sort(key=lambda entry: -entry[1])
    return [*large, ("other causes", math.fsum(energy_j for energy_j in causes.values() if energy_j < least_j))]


def _most(energies: Mapping[Any, float]) -> list[tuple[Any, float]]:
    return sorted(energies.items(), key=lambda entry: -entry[1])[:_MOST_ENDS]


def _port(end: str) -> str:
    """The port of an endpoint as the document writes it: `10.0.0.1:443`, `[::1]:443`, or an address alone."""
    from airwatt.tables import NOTHING

    address, _, port = end.rpartition(":")
    return port if address.endswith("]") or (address and ":" not in address) else NOTHING


def _share(energy_j: float, total_j: float) -> str:
    from airwatt.tables import percent

    return percent(energy_j / total_j if total_j else 0.0)
