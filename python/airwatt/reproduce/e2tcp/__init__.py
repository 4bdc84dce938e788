"""Document 002: L. Donckers, *Energy Efficient TCP*, master's thesis, University of Twente, 2001.

`setup` has the one configuration, `exact` what is counted on paper, the other modules the simulated tables and figures.
"""

from airwatt.reproduce.e2tcp import exact, setup
from airwatt.reproduce.model import Document

DOCUMENT = Document(
    name="e2tcp",
    number="s002",
    citation="L. Donckers, Energy Efficient TCP, master's thesis, University of Twente, 2001",
    configuration=setup.CONFIGURATION,
    reproductions=exact.REPRODUCTIONS,
)
