# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt", "matplotlib"]
# ///
"""Writes the tables of docs/question.md and draws its pictures: python tests/reference/question_page.py

The tables stand between marks in the page (`<!-- NAME -->`). Each cell is one run of a minute.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import airwatt

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "question.md"
PICTURES = ROOT / "docs" / "img"
DURATION_S = 60
POLICIES = ("active", "timeout", "psm-legacy", "uapsd", "twt", "ba-ta", "ba-ta-twt")
RADIOS = {"laptop": "halperin-2010", "phone": "nrf7002", "thing": "esp32-c5-5ghz"}
"""What stands for a device of each kind."""
AIRS = {"11n": "wifi4", "11ac": "wifi5", "11ax": "wifi6"}
NARROW = {"11n": "HT20 MCS 7", "11ac": "VHT20 MCS 8", "11ax": "HE20 MCS 7"}
"""The mode of a radio with one stream in 20 MHz, which the phone and the thing have."""


def _flow(kind: str, *, up: bool = False, transport: str = "cubic", **settings: Any) -> dict[str, Any]:
    application = {"kind": kind, **settings}
    return {"direction": "up" if up else "down", "transport": transport, "application": application}


class Traffic(NamedTuple):
    """What a station does, and what its user notices of a policy."""

    flows: list[dict[str, Any]]
    what: str
    """What the number is, for the heading."""
    column: str
    key: str
    per: float
    """The number of a document, and how many of it are one of the table."""
    ratio: float
    slack: float
    """A policy is good enough if the number is at most `ratio` times that of `active` and this more.

    Where `ratio` is below 1, it has to be at least that.
    """


TRAFFIC = {
    "download": Traffic(
        [_flow("bulk", size="20MB")], "the second in which 20 MB are there", "s", "completed_s", 1, 1.1, 0
    ),
    "video": Traffic([_flow("dash")], "the mean rate that the player chooses", "Mb/s", "video_bps_mean", 1e6, 0.95, 0),
    "pages": Traffic([_flow("page", mean_gap="10s")], "median time of a page", "s", "response_s_p50", 1, 1.1, 0.1),
    "call": Traffic(
        [_flow("call", transport="udp"), _flow("call", transport="udp", up=True)],
        "95th percentile of the delay of packets down",
        "ms",
        "latency_s_p95",
        1e-3,
        1,
        30,
    ),
    "messages": Traffic(
        [_flow("interactive", mean_gap="2s", packet="300B")],
        "mean delay of a message",
        "ms",
        "latency_s_mean",
        1e-3,
        1,
        150,
    ),
}
NEIGHBOURS = {"pages": 10, "messages": 6, "video": 2, "call": 2}
"""How many of the twenty neighbours do what."""


class Point(NamedTuple):
    """One run."""

    traffic: str
    policy: str
    radio: str
    air: str
    among: bool


class Found(NamedTuple):
    """What a run has found: power and its bound in mW, and the number that the user notices."""

    power: float
    bound: float
    number: float | None


def scenario(point: Point) -> airwatt.Scenario:
    """The cell. The station that is asked about is the first."""
    own = {} if point.radio == "laptop" else {"mode": NARROW[point.air]}
    station = {"power_save": {"policy": point.policy}, "radio": RADIOS[point.radio], "distance": "4m", **own}
    stations = [station]
    flows = [{**flow, "stations": [0]} for flow in TRAFFIC[point.traffic].flows]
    if point.among:
        stations.append({"count": 20, "power_save": {"policy": "timeout"}, "radio": RADIOS["laptop"], "distance": "8m"})
        first = 1
        for traffic, count in NEIGHBOURS.items():
            whose = {"stations": list(range(first, first + count)), "start_spread": "1s"}
            flows += [{**flow, **whose} for flow in TRAFFIC[traffic].flows]
            first += count
    return airwatt.Scenario.of(
        {
            "name": point.traffic,
            "description": "A station of today",
            "duration": f"{DURATION_S}s",
            "latency_percentiles": True,
            "wifi": AIRS[point.air],
            "wired": {
                "rtt": "20ms",
                "down": {"rate": "100Mbps", "queue": "1000packets"},
                "up": {"rate": "20Mbps", "queue": "1000packets"},
            },
            "ap": {"queue": "fq-codel", "buffer": "2000packets", "beacon_interval": "102.4ms"},
            "tcp": {"profile": "linux"},
            "station": stations,
            "flow": flows,
        }
    )


def measured(point: Point) -> Found:
    """One run."""
    document: Any = airwatt.run(scenario(point), seed=1).to_dict()
    station, flow = document["stations"][0], document["flows"][0]
    number = flow.get(TRAFFIC[point.traffic].key)
    per_mw = 1e3 / DURATION_S
    return Found(per_mw * station["energy_j"], per_mw * station["lower_bound_j"], number)


def points() -> list[Point]:
    """All runs: three radios on the air of 802.11ax, and the laptop on those of 802.11n and ac."""
    kinds = [(radio, "11ax") for radio in RADIOS] + [("laptop", air) for air in AIRS if air != "11ax"]
    places = product(TRAFFIC, POLICIES, kinds, (False, True))
    return [Point(traffic, policy, radio, air, among) for traffic, policy, (radio, air), among in places]


Runs = dict[Point, Found]


def all_runs() -> Runs:
    """Every run, on all processors."""
    asked = points()
    with ProcessPoolExecutor() as pool:
        return dict(zip(asked, pool.map(measured, asked, chunksize=2), strict=True))


def number(traffic: str, found: Found) -> str:
    """What the user notices, as a table has it."""
    if found.number is None:
        return "-"
    value = found.number / TRAFFIC[traffic].per
    return f"{value:.0f}" if TRAFFIC[traffic].column == "ms" else f"{value:.1f}"


def good_enough(traffic: str, found: Found, awake: Found) -> bool:
    """Whether a policy leaves the user what `active` gives, as far as `Traffic` asks for."""
    if found.number is None or awake.number is None:
        return False
    of = TRAFFIC[traffic]
    limit = of.ratio * awake.number + of.slack * of.per
    return found.number >= limit if of.ratio < 1 else found.number <= limit


def best(runs: Runs, point: Point) -> str:
    """Of the policies that are good enough and spend a tenth more than the least: the first of the table."""
    places = [point._replace(policy=policy) for policy in POLICIES]
    awake = runs[places[0]]
    enough = [place for place in places if good_enough(point.traffic, runs[place], awake)]
    least = min(runs[place].power for place in enough)
    return next(place.policy for place in enough if runs[place].power <= 1.1 * least)


def answers(runs: Runs) -> str:
    """Table: which policy for which traffic."""
    kinds = [(radio, "11ax") for radio in RADIOS] + [("laptop", air) for air in AIRS if air != "11ax"]
    names = ["laptop", "phone", "thing", "11n", "11ac"]
    lines = ["                 " + "".join(f"{name:<12}" for name in names).rstrip()]
    for traffic, among in product(TRAFFIC, (False, True)):
        cells = [best(runs, Point(traffic, "active", radio, air, among)) for radio, air in kinds]
        lines.append(
            f"{traffic:<9} {'among' if among else 'alone'}  " + "".join(f"{cell:<12}" for cell in cells).rstrip()
        )
    return "\n".join(lines)


def row(runs: Runs, traffic: str, policy: str, by: str) -> str:
    """A policy: power and bound of three radios or on three airs, alone and among neighbours."""
    cells = []
    for among in (False, True):
        kinds = [(radio, "11ax") for radio in RADIOS] if by == "radio" else [("laptop", air) for air in AIRS]
        here = [runs[Point(traffic, policy, radio, air, among)] for radio, air in kinds]
        cells += [f"{f'{found.power:.0f}/{found.bound:.0f}':>8}" for found in here]
        # That of the laptop on 802.11ax, in both tables.
        cells.append(f"{number(traffic, here[0 if by == 'radio' else -1]):>6}")
    return f"{policy:<10}" + "".join(cells)


def table(runs: Runs, traffic: str, by: str) -> str:
    """The table of a kind of traffic by radio or by air."""
    names = RADIOS if by == "radio" else AIRS
    heads = "".join(f"{name:>8}" for name in names) + f"{TRAFFIC[traffic].column:>6}"
    lines = [f"{'':10}{'alone':>12}{'':18}{'among twenty neighbours':>26}", f"{'policy':<10}{heads}{heads}"]
    return "\n".join(lines + [row(runs, traffic, policy, by) for policy in POLICIES])


def draw_energy(runs: Runs, path: Path) -> None:
    """Power as a multiple of the bound, by traffic, policy and radio; among neighbours hollow."""
    figure, panels = _panels("multiple of the bound of the same run, 802.11ax")
    for panel, traffic in zip(panels, TRAFFIC, strict=True):
        for (radio, colour), among in product(_COLOURS.items(), (False, True)):
            found = [runs[Point(traffic, policy, radio, "11ax", among)] for policy in POLICIES]
            ratios = [one.power / one.bound for one in found]
            face = "none" if among else colour
            label = f"{radio}, {'among twenty' if among else 'alone'}"
            panel.scatter(ratios, range(len(POLICIES)), s=28, facecolors=face, edgecolors=colour, label=label)
        most = panel.get_xlim()[1]
        panel.set_xscale("log")
        ticks = [tick for tick in ((1, 2, 5, 10, 20) if most < 50 else (1, 10, 100, 1000)) if tick < most]
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.set_xticks([], minor=True)
        panel.set_title(traffic, fontsize=9)
    _save(figure, panels, path)


def draw_answers(runs: Runs, path: Path) -> None:
    """Power of the laptop beside `active` on three airs; what is not good enough is pale."""
    figure, panels = _panels("power of the laptop as a share of that of active, among twenty neighbours")
    for panel, traffic in zip(panels, TRAFFIC, strict=True):
        for air, marker in zip(AIRS, ("^", "s", "o"), strict=True):
            here = [Point(traffic, policy, "laptop", air, True) for policy in POLICIES]
            awake = runs[here[0]]
            for place, point in enumerate(here):
                alpha = 1.0 if good_enough(traffic, runs[point], awake) else 0.25
                label = f"802.{air}" if place == 0 else None
                share = runs[point].power / awake.power
                panel.scatter(share, place, marker=marker, s=28, color=_AIRS[air], alpha=alpha, label=label)
        panel.set_xlim(0, 1.05)
        panel.set_title(traffic, fontsize=9)
    _save(figure, panels, path)


_COLOURS = {"laptop": "#0072B2", "phone": "#D55E00", "thing": "#009E73"}
_AIRS = {"11n": "#E69F00", "11ac": "#56B4E9", "11ax": "#0072B2"}


def _panels(what: str) -> tuple[Any, Any]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(TRAFFIC), figsize=(11, 3), sharey=True, layout="constrained")
    figure.supxlabel(what, fontsize=9)
    panels[0].set_yticks(range(len(POLICIES)), POLICIES)
    panels[0].invert_yaxis()
    return figure, panels


def _save(figure: Any, panels: Any, path: Path) -> None:
    for panel in panels:
        panel.grid(axis="y", linewidth=0.4)
        panel.tick_params(labelsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8, frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": ""})


def marked(text: str, name: str, rows: str) -> str:
    """The page with a table between its marks."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    indented = "\n".join(f"    {line}" for line in rows.splitlines())
    return f"{head}{begin}\n\n{indented}\n\n{end}{tail}"


def main() -> int:
    """Writes the page and the pictures."""
    runs = all_runs()
    text = marked(PAGE.read_text(), "answers", answers(runs))
    for traffic, by in product(TRAFFIC, ("radio", "air")):
        text = marked(text, f"{traffic} by {by}", table(runs, traffic, by))
    PAGE.write_text(text)
    draw_energy(runs, PICTURES / "question-energy.png")
    draw_answers(runs, PICTURES / "question-answers.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
