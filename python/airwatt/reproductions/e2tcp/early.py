"""Two choices before the evaluation: no delayed acknowledgements, and no burst-error detector."""

from airwatt.reproductions import claims
from airwatt.reproductions.e2tcp.figures import ClaimsOf, Curves, figure
from airwatt.reproductions.e2tcp.setup import AVERAGED, Curve
from airwatt.reproductions.publication import Claim, Results

_AT_ONCE = Curve("at once", "tahoe", acknowledgements="at once")
_DELAYED = Curve("delayed", "tahoe", (("tcp.delayed_ack", "true"),), acknowledgements="delayed")

_CURRENT = Curve("current", "e2tcp", burst_reaction="windows")
_ABANDONED = Curve("abandoned", "e2tcp", (("e2tcp.burst_reaction", "detector"),), burst_reaction="detector")


def _delayed(error: str) -> ClaimsOf:
    def claims_of(home: str, curves: Curves, _results: Results) -> list[Claim]:
        over = [float(good) for good in AVERAGED[error]]
        averages = {name: series.average(over) for name, series in curves.items()}
        text = "average energy overhead, acknowledgements at once against delayed ones"
        return [
            claims.ascending(f"{home}.average", text, averages),
            claims.lower_everywhere(f"{home}.worse", curves["at once"], [curves["delayed"]]),
        ]

    return claims_of


def _detector_a(home: str, curves: Curves, _results: Results) -> list[Claim]:
    return [claims.lower_everywhere(f"{home}.lower", curves["current"], [curves["abandoned"]], slight=True)]


def _detector_b(home: str, curves: Curves, _results: Results) -> list[Claim]:
    current, abandoned = curves["current"], curves["abandoned"]
    over = [float(good) for good in AVERAGED["B"]]
    text = "average energy overhead, current against abandoned"
    averages = {"current": current.average(over), "abandoned": abandoned.average(over)}
    judged = [
        claims.lower_everywhere(f"{home}.lower", current, [abandoned]),
        claims.ascending(f"{home}.average", text, averages),
    ]
    for series in (current, abandoned):
        top = max(series.xs, key=series.mean)
        last = series.xs[-1]
        here = (
            f"{claims.number(series.mean(last))} at {last:g} s, highest {claims.number(series.mean(top))} at {top:g} s"
        )
        text = f"{series.name}: energy overhead falls again at the shortest bad states"
        pair = [(series.samples[last], series.samples[top])]
        judged.append(claims.ordered(f"{home}.falls.{series.name}", text, "falls", here, pair))
    return judged


DELAYED_ACK = (
    figure(
        "fig3.4",
        "Tahoe with delayed ACKs",
        "A",
        (_AT_ONCE, _DELAYED),
        claims_of=_delayed("A"),
        by=("acknowledgements",),
    ),
    figure(
        "fig3.5",
        "Tahoe with delayed ACKs",
        "B",
        (_AT_ONCE, _DELAYED),
        claims_of=_delayed("B"),
        by=("acknowledgements",),
    ),
)

DETECTOR = (
    figure("fig4.11", "Burst detection", "A", (_CURRENT, _ABANDONED), claims_of=_detector_a, by=("burst_reaction",)),
    figure("fig4.12", "Burst detection", "B", (_CURRENT, _ABANDONED), claims_of=_detector_b, by=("burst_reaction",)),
)
