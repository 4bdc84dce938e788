"""Figures 14, 15 and 16, and uploads: many stations, streams and pages."""

from collections.abc import Sequence

from airwatt.reproductions import claims
from airwatt.reproductions.ba_ta.figures import ClaimsOf, Curves, figure
from airwatt.reproductions.ba_ta.setup import ACCESS, ACCESS_NAMES, NAMES, Axis, Curve, point
from airwatt.reproductions.publication import Claim, Outcome, Reproduction, Results, Value
from airwatt.reproductions.series import Series
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


def _at_each(
    id_: str, text: str, first: Series, second: Series, paper: str, low: float, high: float, of: str
) -> list[Claim]:
    """The ratio of two curves between two bounds, a claim for each place."""
    return [
        claims.between(f"{id_}.{x:g}", f"{text}, {x:g} {of}", paper, first.mean(x) / second.mean(x), low, high)
        for x in first.xs
    ]


def _both(
    numbers: tuple[str, str],
    shows: str,
    curves: Sequence[Curve],
    whats: tuple[str, str],
    claims_of: tuple[ClaimsOf, ClaimsOf],
) -> tuple[Reproduction, ...]:
    return tuple(
        figure(place, shown, curves, what, one, by=("policy",))
        for place, shown, what, one in zip(
            numbers, (f"{shows}: {whats[0]}", f"{shows}: {whats[1]}"), whats, claims_of, strict=True
        )
    )


# Congestion: each station loads 50 MB; means over stations.

_STATIONS = _Varied("stations", "stations", (1.0, 2.0, 5.0, 10.0))
_CROWD = (("wired.rtt", "50ms"), _FAST_WIFI, ("ap.buffer", "60packets"), ("wired.down.queue", "60packets"))


def _crowd_throughput(close: float) -> ClaimsOf:
    def claims_of(home: str, curves: Curves, _results: Results) -> list[Claim]:
        ba_ta, active, psm = (curves[NAMES[policy]] for policy in ("ba-ta", "active", "psm"))
        found = _at_each(f"{home}.close", "BA-TA over Active Mode", ba_ta, active, "close", 1 - close, 10.0, "stations")
        return [*found, claims.lower_everywhere(f"{home}.above", psm, [ba_ta])]

    return claims_of


def _fast_crowd(home: str, curves: Curves, results: Results) -> list[Claim]:
    psm, active = curves[NAMES["psm"]], curves[NAMES["active"]]
    one, ten = (claims.ratios(psm.samples[x], active.samples[x]) for x in (1.0, 10.0))
    here = f"{1 - mean_ci95(one)[0]:.2f} with one station, {1 - mean_ci95(ten)[0]:.2f} with ten"
    text = "what PSM lacks of Active Mode's throughput shrinks with the stations"
    shrinks = claims.ordered(f"{home}.gap", text, "shrinks", here, [(one, ten)])
    return [*_crowd_throughput(0.1)(home, curves, results), shrinks]


def _fast_crowd_energy(home: str, curves: Curves, _results: Results) -> list[Claim]:
    ba_ta, active, psm = (curves[NAMES[policy]] for policy in ("ba-ta", "active", "psm"))
    return [
        *_at_each(f"{home}.as-psm", "BA-TA over PSM", ba_ta, psm, "about 1", 0.75, 1.25, "stations"),
        claims.lower_everywhere(f"{home}.below", ba_ta, [active]),
    ]


def _wifi_crowd_energy(home: str, curves: Curves, _results: Results) -> list[Claim]:
    ba_ta, active, psm = (curves[NAMES[policy]] for policy in ("ba-ta", "active", "psm"))
    return [claims.lower_everywhere(f"{home}.lowest", ba_ta, [active, psm], slight=True)]


_CROWD_CLAIMS: dict[str, tuple[ClaimsOf, ClaimsOf]] = {
    "fast": (_fast_crowd, _fast_crowd_energy),
    "wifi": (_crowd_throughput(0.15), _wifi_crowd_energy),
}


def _crowd(access: str, number: str, shown: str) -> tuple[Reproduction, ...]:
    curves = [Curve(access, policy, _STATIONS, _CROWD) for policy in ("active", "psm", "ba-ta")]
    shows = f"1 to 10 stations that load 50 MB each, {shown}"
    numbers = (f"{number}.throughput", f"{number}.energy")
    return _both(numbers, shows, curves, ("throughput", "energy"), _CROWD_CLAIMS[access])


FIGURE_14 = (*_crowd("fast", "fig14a", "fast DSL"), *_crowd("wifi", "fig14b", "Wi-Fi bottleneck"))

# Streams. Their throughput is that from 20 s to 100 s, their energy that of 100 s.

_RATES = _Varied("encoding_mbps", "encoding rate (Mb/s)", (0.3, 1.0, 2.0, 3.0, 3.5))
_STREAM = (_FAST_WIFI, ("flow.application.kind", "streaming"), ("measure_from", "20s"), ("duration", "100s"))


def _delivered(home: str, curves: Curves, _results: Results) -> list[Claim]:
    found = []
    for name, one in curves.items():
        rates = [x for x in one.xs if name != "Wi-Fi PSM" or x <= 2.0]
        worst = min(one.mean(x) / x for x in rates)
        text = f"{name}: least throughput over the encoding rate" + (", up to 2 Mb/s" if name == "Wi-Fi PSM" else "")
        found.append(claims.between(f"{home}.{name.lower().replace(' ', '-')}", text, "1", worst, 0.95, 1.05))
    psm = curves[NAMES["psm"]]
    largest = psm.xs[-1]
    text = f"Wi-Fi PSM: throughput over the encoding rate at {largest:g} Mb/s"
    too_little = claims.between(f"{home}.largest", text, "too little", psm.mean(largest) / largest, 0.0, 0.95)
    return [
        *found,
        claims.undecidable(too_little, "the round trip is not given: enough at 20 ms, too little at 210 ms"),
    ]


def _stream_energy(home: str, curves: Curves, _results: Results) -> list[Claim]:
    ba_ta = curves[NAMES["ba-ta"]]
    others = ("psm-throttling", "psm", "ba-ta+str")
    return [
        claims.lower_everywhere(f"{home}.active", ba_ta, [curves[NAMES["active"]]]),
        *(claims.lower_everywhere(f"{home}.{name}", curves[NAMES[name]], [ba_ta]) for name in others),
    ]


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
    (_delivered, _stream_energy),
)

_OTHER_RATES = {"slow": (0.3, 0.4), "wifi": _RATES.places}
"""A line of 1 Mb/s takes streams below half of its rate, as fast DSL does."""


def _other_streams() -> Reproduction:
    """Section 4.3: figure 15b's orders on the two other access lines, by averages over the rates."""
    curves = {
        access: [_Stream(access, policy, _Varied(_RATES.name, _RATES.label, rates), _STREAM) for policy in _ALL]
        for access, rates in _OTHER_RATES.items()
    }

    def compute(item: Reproduction, results: Results) -> Outcome:
        home, outcome = f"ba-ta/{item.place}", Outcome()
        for access, some in curves.items():
            shown = ACCESS_NAMES[access]
            averages = {curve.name: curve.series(results, "energy").average() for curve in some}
            for name, average in averages.items():
                at: dict[str, str | float] = {"access": shown, "policy": name}
                outcome.values.append(Value("energy", at, *mean_ci95(average), "J"))
            here = ", ".join(f"{name} {claims.number(mean_ci95(one)[0])}" for name, one in averages.items()) + " J"
            ba_ta, active = averages.pop(NAMES["ba-ta"]), averages.pop(NAMES["active"])
            pairs = [*((other, ba_ta) for other in averages.values()), (ba_ta, active)]
            text = f"{shown}: streams cost most with Active Mode, then with BA-TA, less with all others"
            outcome.claims.append(claims.ordered(f"{home}.{access}", text, "as on fast DSL", here, pairs))
        return outcome

    points = tuple(dict.fromkeys(point for some in curves.values() for curve in some for point in curve.points()))
    return Reproduction("sec4.3.str-others", "Streams on slow DSL and in the Wi-Fi bottleneck", compute, points)


OTHER_STREAMS = _other_streams()

# Pages.

_PAGE_RTTS = Axis("rtt_ms", "round-trip time without power save (ms)", (10.0, 50.0, 110.0, 150.0, 210.0, 310.0))
_PAGE = (
    _FAST_WIFI,
    ("flow.application.kind", "web"),
    ("flow.application.count", "1"),
    # The source of the pages gives averages only; see the configuration.
    ("flow.application.object_spread", "0.3"),
)
_PAGES = [Curve("fast", policy, _PAGE_RTTS, _PAGE) for policy in (*_ALL, "ideal")]


def _page_time(home: str, curves: Curves, _results: Results) -> list[Claim]:
    ba_ta, active, psm = (curves[NAMES[policy]] for policy in ("ba-ta", "active", "psm"))
    return [
        *_at_each(f"{home}.as-active", "BA-TA over Active Mode", ba_ta, active, "about 1", 0.75, 1.25, "ms"),
        claims.lower_everywhere(f"{home}.below.ba-ta", ba_ta, [psm]),
        claims.lower_everywhere(f"{home}.below.active", active, [psm]),
    ]


def _page_energy(home: str, curves: Curves, _results: Results) -> list[Claim]:
    ba_ta, active, psm = (curves[NAMES[policy]] for policy in ("ba-ta", "active", "psm"))
    most = max(ba_ta.mean(x) / active.mean(x) for x in ba_ta.xs)
    # The spread of the objects was chosen so that the energies are alike at 110 ms.
    as_psm = _at_each(f"{home}.as-psm", "BA-TA over PSM", ba_ta, psm, "about 1", 0.7, 1.3, "ms")
    return [
        *map(claims.calibrated, as_psm),
        claims.between(f"{home}.below", "BA-TA's largest share of Active Mode's energy", "far below 1", most, 0.0, 0.5),
    ]


FIGURE_16 = tuple(
    figure(place, shows, _PAGES, what, claims_of, by=("policy",))
    for place, shows, what, claims_of in (
        ("fig16a", "Time to load a page over the round-trip time, fast DSL", "page", _page_time),
        ("fig16b", "Energy of a page over the round-trip time, fast DSL", "energy", _page_energy),
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
