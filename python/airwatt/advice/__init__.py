"""What a station should do within a delay budget: the policy and parameters that spend least.

The core has the candidates and evaluates the models first, which put the candidates in order. The best few, and those
that no model describes, are then simulated (`runs`), and the core decides by the simulation. Both figures are kept, so
that a disagreement is seen. A *candidate* is a policy with its parameters; its *delay* is what it adds to the 95th
percentile of the time from host to host of the flow that is delayed most, compared with a radio that never sleeps; if
an application waits for answers, to that of the time of a page or an answer. Models have means alone.

From a capture (`captured`) the models know the packets' own pace, and the replay of `analyze` takes the place of
runs: packets are as they were, and only their waiting for the radio is added. What can be set beside the power save
(`combined_settings`: delayed acknowledgements, bursts) is run with the best candidate. Left out: policies of other
stations, changes of the transport, tunnels in runs.
"""

from airwatt._core import CONFIRM
from airwatt.advice.answer import Advice, Row, candidates
from airwatt.advice.candidate import Candidate, Figures
from airwatt.advice.captured import advise_capture
from airwatt.advice.combined_settings import SETTINGS, CombinedSetting
from airwatt.advice.keep_alives import KeepAlives, interval_of
from airwatt.advice.question import APPLICATIONS, CAPTURES, assumed, flow, is_capture, quantity, scenario_of
from airwatt.advice.runs import advise

__all__ = [
    "APPLICATIONS",
    "CAPTURES",
    "CONFIRM",
    "SETTINGS",
    "Advice",
    "Candidate",
    "CombinedSetting",
    "Figures",
    "KeepAlives",
    "Row",
    "advise",
    "advise_capture",
    "assumed",
    "candidates",
    "flow",
    "interval_of",
    "is_capture",
    "quantity",
    "scenario_of",
]
