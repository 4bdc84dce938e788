"""Document 002's future work: figure 5.1 again with a wired leg behind the base station.

L. Donckers, *Energy Efficient TCP*, master's thesis, University of Twente, 2001, lets E2TCP be introduced in three
stages and leaves the measurement of a whole path open. `publication.toml` has the paths, the transports and the
expectations that the thesis prints, `setup` makes points of them, `figures` is what is shown.
"""

from airwatt.reproductions import data
from airwatt.reproductions.e2tcp_gateway import figures

DOCUMENT = data.document(data.read(__package__), figures.REPRODUCTIONS)
"""What was not published, but was asked: the claims are the thesis' expectations of its three stages."""
