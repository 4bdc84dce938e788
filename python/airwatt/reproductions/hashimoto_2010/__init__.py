"""Document 003: M. Hashimoto, master's thesis, Osaka University, 2010, on fairness between TCP flows in wireless LANs.

`setup` has the one configuration, which chapter 2 of document 000 shares; `indices` what is counted on paper,
`test_bed` the simulated counterpart of the measurements.
"""

from airwatt.reproductions.hashimoto_2010 import indices, test_bed
from airwatt.reproductions.hashimoto_2010.setup import CONFIGURATION
from airwatt.reproductions.publication import Document

DOCUMENT = Document(
    name="hashimoto-2010",
    number="s003",
    citation="M. Hashimoto, master's thesis on fairness between TCP flows in wireless LANs, Osaka University, 2010",
    configuration=CONFIGURATION,
    reproductions=(test_bed.HEAD, test_bed.DURATION, *indices.OF_2010, *test_bed.FIGURES),
)
