"""Figures 14, 15 and 16, and uploads: many stations, streams and pages."""

from collections.abc import Sequence

from airwatt.reproduce import claims
from airwatt.reproduce.ba_ta.figures import Held, figure
from airwatt.reproduce.ba_ta.setup import ACCESS, NAMES, Axis, Curve, point
from airwatt.reproduce.publication import Claim, Outcome, Reproduction, Results, Value
from airwatt.reproduce.series import Series
from airwatt.statistics import mean_ci95

_FAST_WIFI = ("wifi", "fast-wifi")
_ALL = ("active", "psm", "psm-throttling", "ba-ta", "ba-ta+str")


class _Varied(Axis):
    """An axis whose places are keys of the scenario of their own."""

    def setting(self, access: str, x: float) -> tuple[tuple[str, str], ...]:
        if self.name == "stations":
            return (("station.count", f"{x:g}"),)
        if self.name == "encoding_mbps":
            return (
                ("flow.application.rate", f"{round(1000 * x)}kbps"),
                ("flow.application.size", f"{round(x * 1e6 * 120 / 8)}B"),
            )
        return super().setting(access, x)


def _none(_home: str, _curves: object, _results: Results) -> list[Claim]:
    return []


def _both(
    numbers: tuple[str, str], shows: str, curves: Sequence[Curve], whats: tuple[str, str], held: tuple[Held, Held]
) -> tuple[Reproduction, ...]:
    return tuple(
        figure(place, shown, curves, what, one, by=("policy",))
        for place, shown, what, one in zip(
            numbers, (f"{shows}: {whats[0]}", f"{shows}: {whats[1]}"), whats, held, strict=True
        )
    )


# Congestion: each station loads 50 MB; means over stations.

_STATIONS = _Varied("stations", "stations", (1.0, 2.0, 5.0, 10.0))
_CROWD = (("wired.rtt", "50ms"), _FAST_WIFI, ("ap.buffer", "60packets"), ("wired.down.queue", "60packets"))


def _crowd(access: str, number: str, shown: str) -> tuple[Reproduction, ...]:
    curves = [Curve(access, policy, _STATIONS, _CROWD) for policy in ("active", "psm", "ba-ta")]
    shows = f"1 to 10 stations that load 50 MB each, {shown}"
    numbers = (f"{number}.throughput", f"{number}.energy")
    return _both(numbers, shows, curves, ("throughput", "energy"), (_none, _none))


FIGURE_14 = (*_crowd("fast", "fig14a", "fast DSL"), *_crowd("wifi", "fig14b", "Wi-Fi bottleneck"))

# Streams. Their throughput is that from 20 s to 100 s, their energy that of 100 s.

_RATES = _Varied("encoding_mbps", "encoding rate (Mb/s)", (0.3, 1.0, 2.0, 3.0, 3.5))
_STREAM = (_FAST_WIFI, ("flow.application.kind", "streaming"), ("measure_from", "20s"), ("duration", "100s"))


def _delivered(home: str, curves: object, _results: Results) -> list[Claim]:
    assert isinstance(curves, dict)
    found = []
    for name, one in curves.items():
        rates = [x for x in one.xs if name != "Wi-Fi PSM" or x <= 2.0]
        worst = min(one.mean(x) / x for x in rates)
        text = f"{name}: least throughput over the encoding rate" + (", up to 2 Mb/s" if name == "Wi-Fi PSM" else "")
        found.append(claims.between(f"{home}.{name.lower().replace(' ', '-')}", text, "1", worst, 0.95, 1.05))
    return found


class _Stream(Curve):
    def series(self, results: Results, what: str) -> Series:
        if what != "throughput":
            return super().series(results, what)
        pairs = zip(self.axis.places, self.points(), strict=True)
        samples = {x: results.column(point_, "measured 0") for x, point_ in pairs}
        return Series(self.name, what, "Mbps", self.at, self.axis.name, samples)


_STREAMS = [_Stream("fast", policy, _RATES, _STREAM) for policy in _ALL]
FIGURE_15 = _both(
    ("fig15a", "fig15b"),
    "Streams in blocks over their encoding rate, fast DSL",
    _STREAMS,
    ("throughput", "energy"),
    (_delivered, _none),
)

# Pages.

_PAGE_RTTS = Axis("rtt_ms", "round-trip time without power save (ms)", (10.0, 50.0, 110.0, 150.0, 210.0, 310.0))
_PAGE = (_FAST_WIFI, ("flow.application.kind", "web"), ("flow.application.count", "1"))
_PAGES = [Curve("fast", policy, _PAGE_RTTS, _PAGE) for policy in (*_ALL, "ideal")]
FIGURE_16 = tuple(
    figure(place, shows, _PAGES, what, _none, by=("policy",))
    for place, shows, what in (
        ("fig16a", "Time to load a page over the round-trip time, fast DSL", "page"),
        ("fig16b", "Energy of a page over the round-trip time, fast DSL", "energy"),
    )
)


# Uploads.


def _uploads() -> Reproduction:
    points = {
        (access, policy): point(
            access, policy, (_FAST_WIFI, ("flow.direction", "up"), ("flow.application.size", "10MB"))
        )
        for access in ("slow", "fast")
        for policy in ("active", "psm")
    }

    def compute(item: Reproduction, results: Results) -> Outcome:
        home, outcome = f"ba-ta/{item.place}", Outcome()
        for access in ("slow", "fast"):
            means = {}
            for policy in ("active", "psm"):
                for what, unit in (("throughput", "Mbps"), ("energy", "J")):
                    mean, ci95 = mean_ci95(results.column(points[access, policy], what))
                    means[policy, what] = mean
                    at: dict[str, str | float] = {"access": ACCESS[access], "policy": NAMES[policy]}
                    outcome.values.append(Value(what, at, mean, ci95, unit))
            thr = means["psm", "throughput"] / means["active", "throughput"]
            energy = means["psm", "energy"] / means["active", "energy"]
            text = f"{ACCESS[access]}, upload of 10 MB: PSM over Active Mode"
            outcome.claims += [
                claims.between(f"{home}.{access}.thr", f"{text}, throughput", "good", thr, 0.9, 1.1),
                claims.between(f"{home}.{access}.energy", f"{text}, energy", "good", energy, 0.0, 1.0),
            ]
        return outcome

    return Reproduction("sec2.uplink", "Uploads with PSM over xDSL", compute, tuple(points.values()))


UPLOADS = _uploads()
