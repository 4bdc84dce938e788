"""Table 3.1 and figure 3.6: gaps between acknowledgements of an upload, by the model and in runs.

The thesis simulated one client, an access point, and a wire of 30 Mb/s and 50 ms each way, which constant-rate traffic
of others shares. So do these runs, with the frames of 802.11a as the standard times them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from airwatt import models
from airwatt._core import Run
from airwatt.reproductions import claims
from airwatt.reproductions.hashimoto_2013.solved import curve, solved, value
from airwatt.reproductions.publication import Claim, Lines, Numbers, Outcome, Point, Results, Table, Value
from airwatt.reproductions.series import mean_text
from airwatt.statistics import mean_ci95

CROSS_MBPS = (12, 20, 22, 25, 28, 29)
LINE_MBPS = 30
PRINTED_MS = {
    12: (0.898, 0.954),
    20: (1.57, 1.66),
    22: (2.03, 1.97),
    25: (3.5, 3.19),
    28: (11.35, 7.59),
    29: (54.7, 21.6),
}
"""By the cross traffic: simulation and analysis."""
PRINTED_ERROR = {12: 6.23, 20: 5.26, 22: 3.03, 25: 8.92, 28: 33.1, 29: 60.6}

CROSS_BYTES, CROSS_WIRE_BYTES = 1000, 1028
"""A packet of the cross traffic, whose rate counts its payload, without and with the headers of IP and UDP."""
QUEUE_PACKETS = 75
SECONDS = 100
WARM_UP_S = 10
GRID_MS = tuple(float(f"{gap:.4g}") for gap in np.geomspace(0.1, 100, 61))
"""Where the distributions of figure 3.6 are given."""
FIGURE_CROSS = 20
SIMULATED_M = (1, 2)
MODEL_M = (1, 2, 5, 10)


def _nothing(_document: Any) -> Numbers:
    return {}


def gaps_ms(run: Run) -> npt.NDArray[np.float64]:
    """Gaps between the acknowledgements that reach the client after the warm-up."""
    columns = next(columns for name, columns in run.traces() if name == "frames")
    by_name = {column.name: column for column in columns}
    kinds = {"i64": np.int64, "u32": np.uint32, "bool": np.uint8, "code": np.uint32}

    def column(name: str) -> npt.NDArray[Any]:
        return np.frombuffer(by_name[name].data, dtype=kinds[by_name[name].kind])

    def coded(name: str, label: str) -> npt.NDArray[Any]:
        labels = list(by_name[name].labels)
        is_it: npt.NDArray[np.bool_] = column(name) == (labels.index(label) if label in labels else len(labels))
        return is_it

    answers = coded("from", "access point") & coded("kind", "data") & (column("received") == 1)
    ends = (column("time_ns") + column("duration_ns"))[answers] / 1e6
    # A frame whose acknowledgement was lost comes again, with its sequence number.
    again = np.diff(column("sequence")[answers].astype(np.int64), prepend=-1) == 0
    ends = ends[~again]
    gaps: npt.NDArray[np.float64] = np.diff(ends[ends >= 1e3 * WARM_UP_S])
    return gaps


def _measured(run: Run) -> Numbers:
    gaps = gaps_ms(run)
    shares = np.searchsorted(np.sort(gaps), GRID_MS, side="right") / len(gaps)
    numbers = {f"below {grid:g} ms": float(share) for grid, share in zip(GRID_MS, shares, strict=True)}
    return {"gap_ms": float(np.mean(gaps)), **numbers}


def point(cross_mbps: int, m: int = 1) -> Point:
    """The set-up of the thesis with so much cross traffic, and an acknowledgement for m packets (1 or 2)."""
    overrides = {
        "duration": f"{SECONDS}s",
        "wired.rtt": "100ms",
        "wired.up.rate": f"{LINE_MBPS}Mbps",
        "wired.up.queue": f"{QUEUE_PACKETS}packets",
        "wired.up.cross.rate": f"{1000 * cross_mbps * CROSS_WIRE_BYTES // CROSS_BYTES}kbps",
        "wired.up.cross.packet": f"{CROSS_WIRE_BYTES}B",
        "wired.down.rate": f"{LINE_MBPS}Mbps",
        "wifi.frame_error_rate": "0.3",
        "wifi.station_rts_threshold": "0B",
        "wifi.control_rate": "54Mbps",
        "flow.direction": "up",
        "flow.application.size": "10GB",
        "flow.transport": "reno",
        "tcp.min_rto": "200ms",
        "tcp.initial_rto": "3s",
        "tcp.delayed_ack": "true" if m == 2 else "false",
        "station.radio": "ar5004",
    }
    return Point("reference-download", tuple(overrides.items()), _nothing, 2.0, _measured)


def _model_ms(cross_mbps: int, averaging: str) -> float:
    return 1e3 * float(models.ack_gap(throughput_bps=(LINE_MBPS - cross_mbps) * 1e6, averaging=averaging).gap_s)


def _analysis(home: str, _results: Results) -> Outcome:
    values, printed, judged, rows = [], [], [], []
    for cross, (_, paper) in PRINTED_MS.items():
        both = {name: _model_ms(cross, name) for name in ("distribution", "expectations")}
        values += [value("mean gap", gap, "ms", cross_mbps=cross, averaging=name) for name, gap in both.items()]
        printed.append(value("mean gap", paper, "ms", cross_mbps=cross, averaging="distribution"))
        text = f"mean gap at {cross} Mb/s of cross traffic"
        judged.append(claims.within(f"{home}.{cross}", text, paper, both["distribution"], 0.01, "ms"))
        rows.append([f"{cross}", f"{paper:g}", *(f"{gap:.4g}" for gap in both.values())])
    note = "The claims are about the mean of the distribution, the one method of section 3.4.2, in every row."
    heads = ["cross (Mb/s)", "paper (ms)", "distribution", "expectations"]
    return Outcome(values, judged, [Table(heads, rows)], printed, [note])


def _simulation(home: str, results: Results) -> Outcome:
    values, printed, judged, rows = [], [], [], []
    for cross, (paper, analysis) in PRINTED_MS.items():
        gaps = results.column(point(cross), "gap_ms")
        mean, ci95 = mean_ci95(gaps)
        values.append(Value("mean gap", {"cross_mbps": cross}, mean, ci95, "ms"))
        printed.append(value("mean gap", paper, "ms", cross_mbps=cross))
        if cross <= 25:
            text = f"mean gap at {cross} Mb/s of cross traffic"
            judged.append(claims.within(f"{home}.{cross}", text, paper, mean, 0.2, "ms"))
        else:
            text = f"longer than the analysis at {cross} Mb/s of cross traffic"
            pair = [([analysis] * len(gaps), gaps)]
            judged.append(claims.ordered(f"{home}.{cross}", text, f"{paper} > {analysis}", f"{mean:.3g}", pair))
        rows.append([f"{cross}", f"{paper:g}", mean_text(gaps), f"{analysis:g}"])
    heads = ["cross (Mb/s)", "paper (ms)", "here (ms)", "analysis (ms)"]
    return Outcome(values, judged, [Table(heads, rows)], printed)


def _error(home: str, results: Results) -> Outcome:
    values, judged, rows = [], [], []
    mine = {}
    for cross, (simulated, analysis) in PRINTED_MS.items():
        share = 100 * abs(simulated - analysis) / simulated
        gaps = results.column(point(cross), "gap_ms")
        signed = 100 * (analysis / mean_ci95(gaps)[0] - 1)
        mine[cross] = [100 * (1 - analysis / gap) for gap in gaps]
        values.append(value("error", share, "%", cross_mbps=cross, of="print"))
        values.append(value("error", abs(signed), "%", cross_mbps=cross, of="here"))
        text = f"relative error at {cross} Mb/s, from the printed entries"
        judged.append(claims.within(f"{home}.{cross}", text, PRINTED_ERROR[cross], share, 0.1, "%"))
        rows.append([f"{cross}", f"{PRINTED_ERROR[cross]:g}", f"{share:.2f}", f"{signed:+.1f}"])
    judged += _error_orders(home, mine)
    heads = ["cross (Mb/s)", "paper (%)", "from its entries", "analysis against here"]
    return Outcome(values, judged, [Table(heads, rows)])


def _error_orders(home: str, below: dict[int, list[float]]) -> list[Claim]:
    """`below`: by how much the analysis is below each run's mean, in per cent of that."""
    worst = max(abs(mean_ci95(below[cross])[0]) for cross in CROSS_MBPS if cross <= 25)
    under = [below[cross] for cross in CROSS_MBPS if cross >= 22]
    here = ", ".join(f"{mean_ci95(error)[0]:.1f}" for error in under)
    none = [0.0] * len(under[0])
    text = "the analysis underestimates from 22 Mb/s on, ever more (%)"
    return [
        claims.between(f"{home}.small", "largest error up to 25 Mb/s", "at most 10", worst, 0.0, 10.0, "%"),
        claims.ordered(f"{home}.under", text, "3.0, 8.9, 33, 61", here, pairwise([none, *under])),
    ]


def _model_cdf(m: int) -> tuple[npt.NDArray[np.float64], float]:
    gaps, weights = models.ack_gaps(throughput_bps=(LINE_MBPS - FIGURE_CROSS) * 1e6, m=m)
    order = np.argsort(gaps)
    shares = np.cumsum(weights[order]) / np.sum(weights)
    below = np.searchsorted(1e3 * gaps[order], GRID_MS, side="right")
    cdf = np.concatenate(([0.0], shares))[below]
    return cdf, float(1e3 * np.sum(gaps * weights) / np.sum(weights))


def _cdf(home: str, results: Results) -> Outcome:
    values, judged, rows = [], [], []
    for m in MODEL_M:
        cdf, mean = _model_cdf(m)
        values += curve("CDF", "", "gap_ms", GRID_MS, cdf, m=float(m), source="model")
        values.append(value("mean gap", mean, "ms", m=float(m), source="model"))
        if m not in SIMULATED_M:
            continue
        runs = point(FIGURE_CROSS, m)
        simulated = _simulated_cdf(results, runs)
        values += [Value("CDF", {"m": float(m), "source": "run", "gap_ms": x}, *y, "") for x, y in simulated.items()]
        gaps = results.column(runs, "gap_ms")
        here, ci95 = mean_ci95(gaps)
        values.append(Value("mean gap", {"m": float(m), "source": "run"}, here, ci95, "ms"))
        distance = max(abs(simulated[x][0] - y) for x, y in zip(GRID_MS, cdf, strict=True))
        values.append(value("Kolmogorov distance", float(distance), "", m=float(m)))
        text = f"the model's mean slightly above that of runs, m = {m} (ms)"
        above = f"{mean:.3g} > {here:.3g}"
        judged.append(claims.ordered(f"{home}.mean.m{m}", text, "above", above, [(gaps, [mean] * len(gaps))]))
        text = f"the model's mean over that of runs, m = {m}"
        judged.append(claims.between(f"{home}.close.m{m}", text, "slightly above 1", mean / here, 0.9, 1.1))
        rows.append([f"{m}", f"{mean:.4g}", f"{here:.4g}", f"{distance:.2f}"])
    notes = [
        "A receiver that acknowledges every second packet is the largest m of TCP here; beyond it the model alone.",
        "The model spaces the acknowledgements of a window evenly over a round trip. In runs they keep the spacing "
        "that the wire gave their packets, 0.4 ms and what came between, and each waits for the air.",
    ]
    return Outcome(values, judged, [Table(["m", "model (ms)", "runs (ms)", "distance"], rows)], notes=notes)


def _simulated_cdf(results: Results, runs: Point) -> dict[float, tuple[float, float | None]]:
    return {x: mean_ci95(results.column(runs, f"below {x:g} ms")) for x in GRID_MS}


def _points(crosses: Sequence[int]) -> tuple[Point, ...]:
    return tuple(point(cross) for cross in crosses)


TABLES = (
    solved("tab3.1.analysis", "Mean gap between acknowledgements by the model", _analysis),
    solved("tab3.1.simulation", "Mean gap between acknowledgements in runs", _simulation, points=_points(CROSS_MBPS)),
    solved("tab3.1.error", "The model's error", _error, points=_points(CROSS_MBPS)),
)

FIGURES = (
    solved(
        "fig3.6",
        "Distribution of the gaps between acknowledgements, 20 Mb/s of cross traffic",
        _cdf,
        Lines("CDF", "gap_ms", ("m", "source"), "gap (ms)", "share of gaps at most as long", scale="log"),
        tuple(point(FIGURE_CROSS, m) for m in SIMULATED_M),
    ),
)
