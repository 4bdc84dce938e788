"""Document 002: L. Donckers, *Energy Efficient TCP*, master's thesis, University of Twente, 2001.

`publication.toml` has the one configuration, the grid and the printed numbers, `worked_examples` the examples and the
header, the other modules the simulated tables and figures.
"""

from airwatt.reproductions import data
from airwatt.reproductions.e2tcp import comparison, conditions, early, mechanisms, parameters, setup, worked_examples
from airwatt.reproductions.publication import Reproduction

_PAPER = {item.place: item for item in worked_examples.REPRODUCTIONS}


def _between(first: str, last: str) -> tuple[Reproduction, ...]:
    places = list(_PAPER)
    return tuple(_PAPER[place] for place in places[places.index(first) : places.index(last) + 1])


DOCUMENT = data.document(
    setup.DATA,
    (
        comparison.HEAD,
        *_between("ex2.1", "ex3.2"),
        *early.DELAYED_ACK,
        *_between("sec4.1.1", "ex4.4"),
        *early.DETECTOR,
        *_between("fig5.2", "tab5.1"),
        *parameters.REPRODUCTIONS,
        *mechanisms.REPRODUCTIONS,
        *comparison.REPRODUCTIONS,
        *conditions.REPRODUCTIONS,
        *comparison.LATER,
        mechanisms.SHARE,
    ),
)
