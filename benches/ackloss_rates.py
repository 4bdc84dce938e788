"""The rates at which `ackloss` considers acknowledgements lost, with and without real losses, between two real kernels.

Each rule sends over a slow link whose acknowledgements are lost at random on the return path, from none to three in
ten. The program prints as Markdown, stores as CSV and draws:

- false positives: acknowledgements considered lost, and windows halved, without a loss;
- detection: acknowledgements considered lost, of those dropped. The published rule includes stretched ones.

The program needs root. `--seconds` and `--runs` set the duration and the number of transfers.

.venv/bin/python benches/ackloss_rates.py --plot docs/img/ackloss-rates.png --csv docs/img/ackloss-rates.csv
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/linux"))

from lab import DAEMON, Lab, call, exclusive, missing  # noqa: E402

LOSSES = (0, 10, 20, 50, 100, 200, 300)
RULES = {
    "published": ("published", True),
    "extension": ("stretch", True),
    "extension, no timestamps": ("stretch", False),
}
# The receivers: the link's rate, and whether segments are merged before TCP sees them.
RECEIVERS = {
    "50 Mb/s": ("50mbit", False),
    "10 Mb/s": ("10mbit", False),
    "200 Mb/s": ("200mbit", False),
    "offloads": ("50mbit", True),
}


@dataclass
class Row:
    """One transfer."""

    receiver: str
    rule: str
    loss: float
    run: int
    seconds: float
    goodput_bps: float
    round_trips: float
    acks_dropped: int
    gaps: int
    losses: int
    halvings: int
    cwnd_mean: float
    segments: int


def one(lab: Lab, receiver: str, rule: str, loss: int, run: int, seconds: float) -> Row:
    """Runs one transfer with the loaded programs and the current loss rate."""
    seen = lab.transfer("ackloss", seconds=seconds)
    counters = seen.counters
    return Row(
        receiver=receiver,
        rule=rule,
        loss=loss / 1000,
        run=run,
        seconds=round(seen.seconds, 3),
        goodput_bps=round(seen.goodput_bps),
        round_trips=round(seen.round_trips, 1),
        acks_dropped=seen.acks_dropped,
        gaps=counters["ack_gaps"],
        losses=counters["ack_losses"],
        halvings=counters["ack_loss_halvings"],
        cwnd_mean=round(seen.cwnd_mean, 1),
        segments=seen.bytes_acked // counters["mss_bytes"],
    )


def measure(seconds: float, runs: int) -> Iterator[Row]:
    """Runs all transfers: all loss rates with one receiver, a few with the others."""
    for receiver, (rate, offloads) in RECEIVERS.items():
        losses = LOSSES if receiver == "50 Mb/s" else (0, 50)
        with Lab(rate=rate, offloads=offloads) as lab:
            for run in range(1, runs + 1):
                for rule, (flag, timestamps) in RULES.items():
                    call(DAEMON, "cc", "load", "--rule", flag)
                    lab.run("sender", "sysctl", "-qw", f"net.ipv4.tcp_timestamps={int(timestamps)}")
                    for loss in losses:
                        lab.lose_acks(loss)
                        yield one(lab, receiver, rule, loss, run, seconds)


HEAD = """\
| receiver | rule | ACKs lost | runs | taken for lost per 1000 segments | of dropped | halvings per 100 RTT | goodput |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def table(rows: list[Row]) -> str:
    """Returns both rates as Markdown."""
    lines = [HEAD]
    for receiver, rule, loss in dict.fromkeys((row.receiver, row.rule, row.loss) for row in rows):
        group = [row for row in rows if (row.receiver, row.rule, row.loss) == (receiver, rule, loss)]

        def total(name: str, group: list[Row] = group) -> float:
            return sum(getattr(row, name) for row in group)

        share = f"{total('losses') / total('acks_dropped'):.0%}" if loss else "-"
        per_segment, halvings = total("losses") / total("segments"), total("halvings") / total("round_trips")
        goodput = total("goodput_bps") / len(group)
        cells = [receiver, rule, f"{loss:.0%}", len(group), f"{per_segment * 1000:.2f}", share]
        lines.append("| " + " | ".join(map(str, [*cells, f"{halvings * 100:.2f}", f"{goodput / 1e6:.1f} Mb/s"])) + " |")
    return "\n".join(lines)


def draw(rows: list[Row], file: Path) -> None:
    """Draws false positives and detection."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    width = 0.8 / len(RULES)
    for index, rule in enumerate(RULES):
        bars = []
        for receiver in RECEIVERS:
            group = [row for row in rows if row.receiver == receiver and row.rule == rule and row.loss == 0]
            bars.append(sum(row.halvings for row in group) / sum(row.round_trips for row in group) * 100)
        places = [place + (index - 1) * width for place in range(len(RECEIVERS))]
        drawn = left.bar(places, bars, width, label=rule)
        left.bar_label(drawn, fmt="%.2f", fontsize=7)
        shares = []
        for loss in LOSSES[1:]:
            group = [row for row in rows if row.receiver == "50 Mb/s" and row.rule == rule and row.loss == loss / 1000]
            shares.append(sum(row.losses for row in group) / sum(row.acks_dropped for row in group) * 100)
        right.plot([loss / 10 for loss in LOSSES[1:]], shares, marker="o", label=rule)
    left.set(title="No acknowledgement is lost", ylabel="windows halved, per 100 round trips")
    left.set_xticks(range(len(RECEIVERS)), RECEIVERS)
    left.legend()
    right.set(
        title="Acknowledgements are lost (50 Mb/s)",
        xlabel="lost, %",
        ylabel="taken for lost, % of those dropped",
        ylim=(0, None),
    )
    right.axhline(100, color="0.8", zorder=0)
    right.legend()
    figure.savefig(file, dpi=130)


def main() -> None:
    """Measures, or reads earlier measurements, and prints and draws them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--csv", type=Path, help="where each transfer is kept")
    parser.add_argument("--plot", type=Path, help="where the figure goes")
    parser.add_argument("--from-csv", type=Path, help="draw what was measured before")
    options = parser.parse_args()
    if options.from_csv:
        with options.from_csv.open() as file:
            types = {name: field.type for name, field in Row.__dataclass_fields__.items()}
            rows = [Row(**{name: types[name](value) for name, value in row.items()}) for row in csv.DictReader(file)]
    else:
        if reason := missing():
            sys.exit(f"skipped: {reason}")
        rows = []
        with exclusive():
            for row in measure(options.seconds, options.runs):
                rows.append(row)
                print(row, file=sys.stderr)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(Row.__dataclass_fields__), lineterminator="\n")
            writer.writeheader()
            writer.writerows(vars(row) for row in rows)
    if options.plot:
        draw(rows, options.plot)
    print(table(rows))


if __name__ == "__main__":
    main()
