"""Document 002's future work: figure 5.1 again with a wired leg behind the base station.

L. Donckers, *Energy Efficient TCP*, master's thesis, University of Twente, 2001, lets E2TCP be introduced in three
stages and leaves the measurement of a whole path open. `setup` has the paths and the transports, `figures` what is
shown of them and the expectations that the thesis prints.
"""

from airwatt.reproduce.e2tcp_gateway import figures, setup
from airwatt.reproduce.publication import Document

DOCUMENT = Document(
    name="e2tcp-gateway",
    number="s002.gateway",
    citation="L. Donckers, Energy Efficient TCP, 2001: its stages of introduction, behind a wired leg",
    configuration=setup.CONFIGURATION,
    reproductions=figures.REPRODUCTIONS,
)
"""What was not published, but was asked: the claims are the thesis' expectations of its three stages."""
