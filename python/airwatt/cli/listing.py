"""Plain lists: a table of texts, or one JSON document."""

from collections.abc import Sequence

from airwatt._core import SCHEMA, __version__
from airwatt.cli.output import print_json, show
from airwatt.record import Record


def present(what: str, items: Sequence[Record], columns: Sequence[str], json: bool) -> None:
    """Prints items under the name that the document has for them."""
    if json:
        print_json({"schema": SCHEMA, "version": __version__, what: [item.to_dict() for item in items]})
        return
    from airwatt.tables import table

    rows = [[str(item.get(column) or "") for column in columns] for item in items]
    shown = [index for index, _ in enumerate(columns) if any(row[index] for row in rows)]
    heads = [what.removesuffix("s") if what != "policies" else "policy", *columns[1:]]
    rows = [[row[index] for index in shown] for row in rows]
    show(table([heads[index] for index in shown], rows, left=len(shown)))
