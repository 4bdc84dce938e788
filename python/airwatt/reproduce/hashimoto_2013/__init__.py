"""Document 000: M. Hashimoto, PhD thesis, Osaka University, 2013.

`chapter3` and `chapter4` have what its models compute, `validation` what stands against the simulator.
"""

from airwatt.reproduce.hashimoto_2013 import chapter3, chapter4, validation
from airwatt.reproduce.hashimoto_2013.readings import CONFIGURATION
from airwatt.reproduce.model import Document

DOCUMENT = Document(
    name="hashimoto-2013",
    number="s000",
    citation=(
        "M. Hashimoto, Transport-Layer Solutions for Achieving Fairness and Energy Efficiency in Wireless LANs, "
        "PhD thesis, Osaka University, 2013"
    ),
    configuration=CONFIGURATION,
    reproductions=(
        *chapter4.HEADS,
        *validation.FIGURES,
        *validation.TABLES,
        *chapter3.FIGURES,
        *chapter4.FIGURES,
    ),
)
