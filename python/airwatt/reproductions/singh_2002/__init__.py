"""Document 004: H. Singh, *Analysis of Energy Consumption of TCP Reno, Newreno, and SACK*, master's thesis, 2002.

`setup` has the one configuration, `loss` and `impaired` the figures over round-trip times, `traces` what single
transfers show, `whole` what holds for all runs together.
"""

from airwatt.reproductions.publication import Document
from airwatt.reproductions.singh_2002 import impaired, loss, setup, traces, whole

DOCUMENT = Document(
    name="singh-2002",
    number="s004",
    citation="H. Singh, Analysis of Energy Consumption of TCP Reno, Newreno, and SACK in multi-hop wireless network, "
    "master's thesis, Portland State University, 2002",
    configuration=setup.CONFIGURATION,
    reproductions=(
        whole.HEAD,
        whole.INVERSE,
        traces.FIG1,
        traces.FIG3,
        whole.BLOCKS,
        traces.FIG7,
        traces.FIG8,
        whole.EQUATION,
        whole.TABLE1,
        traces.FIG14,
        loss.TABLE3,
        impaired.TABLE4,
        impaired.TABLE5,
        traces.FIG15,
        traces.FIG16,
        loss.FIG17,
        loss.FIG18,
        loss.FIG19,
        loss.FIG20,
        loss.FIG21,
        loss.FIG22,
        traces.FIG23,
        traces.FIG24,
        traces.FIG25,
        traces.TABLE6,
        *loss.TABLE7,
        loss.SECTION62,
        impaired.FIG26,
        impaired.FIG27,
        impaired.FIG28,
        impaired.FIG29,
        traces.ROUTE,
    ),
)
