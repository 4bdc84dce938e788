"""`airwatt cite`: BibTeX entries of what a result rests on."""

from typing import Annotated

from airwatt.cli.output import print_text
from airwatt.cli.parameters import Argument

EPILOG = """\b
Examples:
  airwatt cite
  airwatt cite fast-dsl
  airwatt cite ba-ta newreno+ackloss esp32-c3
"""


def command(
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="[SCENARIO | STORE | NAME]...",
            help="Scenarios, stores of sweeps, or names of policies, transports and radio profiles.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print BibTeX: of airwatt itself, of the publication of each mechanism, of the source of each radio profile."""
    from airwatt import citation

    entries = [citation.of_airwatt()]
    for name in names or ():
        entries += citation.of(name)
    print_text(citation.bibtex(citation.each_once(entries)))
