"""`airwatt help`: the help of a command, or of what several commands have in common."""

import difflib
import textwrap
from typing import Annotated

from airwatt._core import InputError
from airwatt.cli.output import print_text
from airwatt.cli.parameters import Argument
from airwatt.cli.topics import TOPICS, about

EPILOG = """\b
Examples:
  airwatt help
  airwatt help compare
  airwatt help scenario
"""


def command(
    topic: Annotated[str | None, Argument(help="A command, or a topic.", show_default=False)] = None,
) -> None:
    """Show the help of a command or a topic; without one, the list of both."""
    from airwatt.cli import COMMANDS

    if topic is None:
        lines = [(name, about(name)) for name in COMMANDS]
        shared = [(name, item.title) for name, item in TOPICS.items()]
        print_text(f"Commands:\n{_list(lines)}\nTopics:\n{_list(shared)}")
    elif topic in COMMANDS:
        from airwatt.cli import application

        application.run([topic, "--help"])
    elif topic in TOPICS:
        print_text(f"{_filled(TOPICS[topic].text)}\n")
    else:
        known = [*COMMANDS, *TOPICS]
        close = difflib.get_close_matches(topic, known, n=1)
        hint = f"hint: did you mean {close[0]}?" if close else "hint: airwatt help lists both"
        raise InputError(f"help {topic!r}: expected a command or a topic, got neither; {hint}")


def _filled(text: str) -> str:
    """Fills paragraphs into lines of 80 characters; indented ones stay as they are."""
    blocks = text.split("\n\n")
    return "\n\n".join(block if block.startswith("  ") else textwrap.fill(block, 80) for block in blocks)


def _list(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows) + 4
    indent = " " * width
    return "".join(
        "\n".join(textwrap.wrap(text, 80, initial_indent=f"  {name}".ljust(width), subsequent_indent=indent)) + "\n"
        for name, text in rows
    )
