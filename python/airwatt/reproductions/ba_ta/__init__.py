"""Document 001: Camps-Mur and Sallent-Ribes, *Enhancing the performance of TCP over Wi-Fi Power Saving Mechanisms*.

`publication.toml` has the one configuration and the grid, `equations` what its models give, `figures` the sweeps,
`dynamics` how a run goes over time, `traffic` streams, pages, uploads and many stations, `sharing` two stations on one
line and on two.
"""

from airwatt.reproductions import data
from airwatt.reproductions.ba_ta import dynamics, equations, figures, setup, sharing, traffic

DOCUMENT = data.document(
    setup.DATA,
    (
        figures.HEAD,
        *figures.FIGURE_2,
        dynamics.FAST_RECOVERY,
        *dynamics.FIGURE_3,
        *equations.EQUATIONS,
        *figures.FIGURE_6,
        equations.BUFFERING,
        figures.FIGURE_8A,
        dynamics.FIGURE_8B,
        traffic.UPLOADS,
        dynamics.ESTIMATOR,
        *dynamics.FIGURE_10,
        *figures.FIGURE_11,
        equations.RECOVERY,
        *sharing.FIGURE_12,
        *figures.FIGURE_13,
        *traffic.FIGURE_14,
        *traffic.FIGURE_15,
        traffic.OTHER_STREAMS,
        *traffic.FIGURE_16,
        equations.APPENDIX,
    ),
)
