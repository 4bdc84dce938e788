"""What a station should do within a delay budget: the policy and parameters that spend least.

The models are asked first (`estimates`). They put the candidates in order; the best few, and those that no model
describes, are then simulated (`runs`), and the simulation decides. Both figures are kept, so that a disagreement is
seen. A *candidate* is a policy with its parameters; its *delay* is what it adds to the mean time from host to host of
the flow that suffers most, against a radio that never sleeps; where an application waits for answers, to the time
that a page or an answer takes.

From a capture (`captured`) the models know the packets' own pace, and the replay of `analyze` takes the place of
runs: packets are as they were, and only their waiting for the radio is added. Left out: policies of other stations,
changes of the transport, tunnels in runs.
"""

from airwatt.advise.answer import DISAGREE, Advice, Candidate, Figures, Row, candidates
from airwatt.advise.captured import advise_capture
from airwatt.advise.question import APPLICATIONS, CAPTURES, energy, flow, quantity, scenario_of
from airwatt.advise.runs import BEYOND, CONFIRM, advise

__all__ = [
    "APPLICATIONS",
    "BEYOND",
    "CAPTURES",
    "CONFIRM",
    "DISAGREE",
    "Advice",
    "Candidate",
    "Figures",
    "Row",
    "advise",
    "advise_capture",
    "candidates",
    "energy",
    "flow",
    "quantity",
    "scenario_of",
]
