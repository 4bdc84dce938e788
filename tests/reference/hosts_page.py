# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt", "matplotlib"]
# ///
"""Writes the tables of docs/hosts.md and draws its picture: python tests/reference/hosts_page.py

The tables stand between marks in the page (`<!-- NAME -->`). It takes some four minutes of one core.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

from airwatt import Scenario, _core
from airwatt.laboratory import run
from airwatt.reproductions import engine
from airwatt.reproductions.singh_2002 import setup
from airwatt.statistics import mean_ci95

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "hosts.md"
PICTURE = ROOT / "docs" / "img" / "hosts-idle-power.png"
TCPS = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK", "cubic": "CUBIC", "e2tcp": "E2TCP"}
HOPS = (2, 3, 4, 6)
HOSTS = ("phone", "microcontroller")
POLICIES = {"active": "no", "psm": "yes"}
LOSSES = (0.5, 1, 2, 5, 10)
"""Loss in per cent."""
RTTS_MS = (20, 50, 100, 200)
RUNS = 10
RADIO = json.loads(_core.radio("nrf7002"))
IDLE_W = {"active": RADIO["listen_w"], "psm": RADIO["sleep_w"]}
"""What the radio of an idle node draws."""
BLOCK_S = {"phone": 1e-6, "microcontroller": 10e-6}
"""Processor time of a SACK block in the profiles."""
MEASURED_BLOCK = "18.2us"
"""What Linux of today works more for an acknowledgement with blocks, as a share of the laptop's work on a packet."""
Found = Sequence[Mapping[str, float]]
Turn = tuple[str, float, bool]
"""On which side of an idle power SACK spends less, that power in W, and whether times differ beyond chance."""


def scenario(hops: int, tcp: str, host: str, policy: str, loss_percent: float, rtt_ms: float) -> Scenario:
    """A battery-powered node that sends 2 MB over a cell and an ad-hoc network on another channel.

    The first hop is that of the cell; its access point delays both directions and loses data. The others share
    a channel.
    """
    mesh = ["ap", *(f"relay{index}" for index in range(hops - 2)), "server"]
    impairment = {"kind": "impairment", "delay": f"{round(500 * rtt_ms)}us", "queue": 1000, "towards": "server"}
    if loss_percent:
        impairment["loss"] = loss_percent / 100
    wifi = {"standard": "802.11n-2.4GHz", "data_rate": "65Mbps"}
    return Scenario.of(
        {
            "name": "battery-node",
            "description": "A battery-powered node behind several wireless hops",
            "time_limit": "1h",
            "tcp": {"profile": "linux-settings"},
            "node": [
                {"name": "node", "host_energy": {"profile": host}},
                {"name": "ap", "program": [impairment]},
                *({"name": name, "forward": True} for name in mesh[1:-1]),
                {"name": "server"},
            ],
            "cell": [
                {
                    "name": "last",
                    "wifi": wifi,
                    "access_point": {"node": "ap"},
                    "station": [{"node": "node", "radio": "nrf7002", "power_save": {"policy": policy}}],
                },
                {
                    "name": "mesh",
                    "mode": "ad-hoc",
                    "wifi": wifi,
                    "station": [{"node": mesh}],
                    "links": [[one, other] for one, other in pairwise(mesh)],
                },
            ],
            "flow": [
                {"from": "node", "to": "server", "transport": tcp, "application": {"kind": "bulk", "size": "2MB"}}
            ],
        }
    )


def measured(of: Scenario, seeds: range) -> list[dict[str, float]]:
    """Time, energy of the host and of its radio, and SACK blocks' time, run by run."""
    found = []
    for each in run(of, seed=seeds.start, runs=len(seeds)).runs:
        document: Any = each.to_dict()
        host, station = document["hosts"][0], document["stations"][0]
        busy_s = sum(value for key, value in host["time_s"].items() if key != "idle")
        found.append(
            {
                "time": document["simulated_s"],
                "total": host["energy_j"] + station["energy_j"],
                # What the node spends beyond an idle host and a radio that listens or, with power save, sleeps.
                "beyond": host["marginal_energy_j"]
                + station["energy_j"]
                - IDLE_W[station["policy"]] * document["simulated_s"],
                "busy": busy_s,
                "sack": host["time_s"]["sack"],
            }
        )
    return found


def mean(found: Found, key: str) -> float:
    """The mean of one number over the runs."""
    return mean_ci95([one[key] for one in found])[0]


def turn(newreno: Found, sack: Found) -> Turn:
    """The idle power of the whole node, in W, from which on SACK spends less than NewReno.

    With it SACK's shorter time pays for what SACK spends beyond.
    """
    # The seeds are the same for both.
    shorter, ci95 = mean_ci95([one["time"] - other["time"] for one, other in zip(newreno, sack, strict=True)])
    certain = abs(shorter) > (ci95 or 0.0)
    dearer = mean(sack, "beyond") - mean(newreno, "beyond")
    if shorter > 0:
        return ("above", dearer / shorter, certain) if dearer > 0 else ("always", 0.0, certain)
    return ("below", dearer / shorter, certain) if dearer < 0 else ("never", 0.0, certain)


def affordable_s(newreno: Found, sack: Found, idle_w: float, beyond_idle_w: float, block_s: float) -> float:
    """Processor time that a SACK block may cost before SACK spends as much as NewReno.

    The node draws `idle_w` when idle and `beyond_idle_w` more when its processor works.
    """
    blocks = mean(sack, "sack") / block_s
    saved = idle_w * (mean(newreno, "time") - mean(sack, "time")) + mean(newreno, "beyond") - mean(sack, "beyond")
    return block_s + saved / (blocks * beyond_idle_w)


def energies() -> str:
    """Table: energy of the node for 2 MB, by hops, host and power save."""
    rows = ["| host | hops | power save | " + " | ".join(TCPS.values()) + " |", "| --- " * (3 + len(TCPS)) + "|"]
    for host in HOSTS:
        for hops in HOPS:
            for policy, saves in POLICIES.items():
                cells = []
                for tcp in TCPS:
                    found = measured(scenario(hops, tcp, host, policy, 2, 50), range(1, RUNS + 1))
                    cells.append(f"{mean(found, 'total'):.2f}")
                rows.append(f"| {host} | {hops} | {saves} | {' | '.join(cells)} |")
    return "\n".join(rows)


def pairs_of_today(host: str, policy: str) -> dict[tuple[float, float], tuple[Found, Found]]:
    """Runs of NewReno and SACK over three hops, by loss and RTT."""
    seeds = range(1, 2 * RUNS + 1)
    return {
        (loss, rtt): (
            measured(scenario(3, "newreno", host, policy, loss, rtt), seeds),
            measured(scenario(3, "sack", host, policy, loss, rtt), seeds),
        )
        for loss in LOSSES
        for rtt in RTTS_MS
    }


def pairs_of_2002(block: str) -> dict[tuple[float, float], tuple[Found, Found]]:
    """The same of the reproduction of Singh (2002), at an MTU of 1500 bytes, where a SACK block costs so much."""
    host = (("node.a.host_energy.sack_block", block),)
    points = {
        (loss, rtt, tcp): setup.point(tcp, rtt, 1500, (*setup.loss(loss), *host))
        for loss in setup.LOSSES
        for rtt in setup.RTTS
        for tcp in ("newreno", "sack")
    }
    runs, _ = engine.run_points(list(points.values()), RUNS, 1)

    def read(loss: float, rtt: float, tcp: str) -> Found:
        # Energies are in uJ per bit of 5 MB.
        return [{"time": one["elapsed"], "beyond": 40 * one["marginal"]} for one in runs[points[loss, rtt, tcp]]]

    places = [(loss, rtt) for loss in setup.LOSSES for rtt in setup.RTTS]
    return {(loss, rtt): (read(loss, rtt, "newreno"), read(loss, rtt, "sack")) for loss, rtt in places}


def said(found: Turn) -> str:
    """How a table has it."""
    kind, watts, certain = found
    limit = "" if kind in ("always", "never") else f" {watts:.2g} W" if watts >= 1 else f" {1e3 * watts:.0f} mW"
    return f"{kind}{limit}{'' if certain else ' *'}"


def grid(found: Mapping[tuple[float, float], str]) -> str:
    """Table of texts by loss and RTT."""
    losses, rtts = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
    rows = ["| loss | " + " | ".join(f"{rtt:g} ms" for rtt in rtts) + " |", "| --- " * (1 + len(rtts)) + "|"]
    rows += [f"| {loss:g} % | " + " | ".join(found[loss, rtt] for rtt in rtts) + " |" for loss in losses]
    return "\n".join(rows)


def draw(panels_of: Mapping[str, Mapping[tuple[float, float], Turn]], path: Path) -> None:
    """A map for each set-up: loss upwards, RTT to the right, in each place the idle power at which the ranking turns.

    Where the difference in time is within chance the colour is pale.
    """
    figure, panels = pyplot.subplots(1, len(panels_of), figsize=(10.5, 3.4), layout="constrained")
    colours = {"always": "#009E73", "above": "#A6D8C8", "below": "#F0C3A0", "never": "#D55E00"}
    for panel, (title, found) in zip(panels, panels_of.items(), strict=True):
        losses, rtts = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
        for (loss, rtt), turned in found.items():
            column, row = rtts.index(rtt), losses.index(loss)
            alpha = 1.0 if turned[2] else 0.35
            place = (column - 0.5, row - 0.5)
            panel.add_patch(pyplot.Rectangle(place, 1, 1, fc=colours[turned[0]], ec="white", alpha=alpha))
            panel.text(column, row, said(turned).replace(" ", "\n", 1), ha="center", va="center", fontsize=7)
        panel.set_xticks(range(len(rtts)), [f"{rtt:g}" for rtt in rtts])
        panel.set_yticks(range(len(losses)), [f"{loss:g} %" for loss in losses])
        panel.set_xlim(-0.5, len(rtts) - 0.5)
        panel.set_ylim(-0.5, len(losses) - 0.5)
        panel.set_xlabel("round-trip time (ms)")
        panel.set_title(title, fontsize=9)
    panels[0].set_ylabel("loss")
    figure.suptitle("SACK spends less than NewReno if the idle power of the whole node lies ...", fontsize=10)
    figure.savefig(path, dpi=110, metadata={"Software": ""})


def affordable(pairs: Mapping[tuple[float, float], tuple[Found, Found]], host: str, idle_w: float) -> str:
    """Table: the processor time that a SACK block may cost."""
    beyond_w = {"phone": 0.6 - 0.2688, "microcontroller": 0.018}[host]
    times = {key: affordable_s(*pair, idle_w, beyond_w, BLOCK_S[host]) for key, pair in pairs.items()}
    return grid({key: f"{1e3 * time:.2g} ms" if time > 0 else "none" for key, time in times.items()})


def marked(text: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{table}\n{end}{tail}"


def main() -> int:
    """Writes the page and the picture."""
    text = marked(PAGE.read_text(), "energies", energies())
    old = {key: turn(*pair) for key, pair in pairs_of_2002("0us").items()}
    text = marked(text, "turns 2002", grid({key: said(one) for key, one in old.items()}))
    measured_block = {key: turn(*pair) for key, pair in pairs_of_2002(MEASURED_BLOCK).items()}
    text = marked(text, "turns 2002, blocks", grid({key: said(one) for key, one in measured_block.items()}))
    maps = {"laptop of 2002, SACK by the pipe": old}
    for policy, title in (("active", "phone, always active"), ("psm", "phone, with power save")):
        pairs = pairs_of_today("phone", policy)
        maps[title] = {key: turn(*pair) for key, pair in pairs.items()}
        text = marked(text, f"turns {policy}", grid({key: said(one) for key, one in maps[title].items()}))
        text = marked(text, f"affordable {policy}", affordable(pairs, "phone", 0.2688 + IDLE_W[policy]))
    PAGE.write_text(text)
    draw(maps, PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
