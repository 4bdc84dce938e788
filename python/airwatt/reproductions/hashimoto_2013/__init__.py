"""Document 000: M. Hashimoto, PhD thesis, Osaka University, 2013.

`chapter2` has its simulations of fairness, `chapter2_test_bed` its measurements, simulated; `chapter3` and `chapter4`
have what its models compute, their `packets` the same in runs, `validation` what stands against the simulator.
"""

from airwatt.reproductions.hashimoto_2010 import setup
from airwatt.reproductions.hashimoto_2013 import (
    chapter2,
    chapter2_test_bed,
    chapter3,
    chapter3_packets,
    chapter4,
    validation,
)
from airwatt.reproductions.hashimoto_2013.readings import CONFIGURATION
from airwatt.reproductions.publication import Document

DOCUMENT = Document(
    name="hashimoto-2013",
    number="s000",
    citation=(
        "M. Hashimoto, Transport-Layer Solutions for Achieving Fairness and Energy Efficiency in Wireless LANs, "
        "PhD thesis, Osaka University, 2013"
    ),
    configuration=f"Chapter 2. {setup.CONFIGURATION}\n{CONFIGURATION}",
    reproductions=(
        *chapter4.HEADS,
        chapter2.HEAD,
        *chapter2.SIMULATED,
        *chapter2_test_bed.TEST_BED,
        chapter2.COEXISTENCE,
        *validation.FIGURES,
        *validation.TABLES,
        *chapter3.FIGURES,
        *chapter3_packets.FIGURES,
        *chapter4.FIGURES,
    ),
)
