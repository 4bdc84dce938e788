"""Pages that show what commands print: found, run again, and compared within their own confidence intervals.

A page agrees with a new run if its words are the same and each of its numbers lies within the interval that either of
them prints for it (`± x` below a mean), or else within one per cent, or one step of the last digit. A change of
trajectories in the third digit therefore needs no new pages; fingerprints are there to notice it. `make docs` writes
all pages anew.
"""

import re
import shlex
from collections.abc import Callable
from itertools import pairwise, zip_longest
from pathlib import Path

SHARE = 0.01
"""Numbers without an interval may differ by this share of themselves."""
PER_CENT_POINTS = 1.0
"""Numbers in per cent may differ by this."""
_SHOWN = re.compile(
    r"^    \$ airwatt (?P<command>.*)\n(?P<output>(?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE
)
_NUMBER = re.compile(r"[-+]?\d+(?:\N{NARROW NO-BREAK SPACE}\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?")
_RULER = re.compile(r"[─━═-]{3,}")


def shown(text: str) -> list[tuple[str, str]]:
    """The commands of a page with what they print, as text without indentation."""
    return [(found["command"], _unindented(found["output"])) for found in _SHOWN.finditer(text)]


def renewed(text: str, run: Callable[[list[str]], str]) -> str:
    """The page with the output of each command as `run` gives it for the command's arguments."""

    def printed(found: re.Match[str]) -> str:
        output = run(shlex.split(found["command"]))
        indented = "".join(f"    {line}".rstrip() + "\n" for line in output.splitlines())
        return f"    $ airwatt {found['command']}\n{indented}"

    return _SHOWN.sub(printed, text)


def check(path: Path, run: Callable[[list[str]], str], bless: bool) -> None:
    """Compares a page with what its commands print, or writes it anew."""
    text = path.read_text()
    new = renewed(text, run)
    assert shown(text), f"{path.name} shows no command"
    if bless:
        path.write_text(new)
        return
    for (command, old), (_, now) in zip(shown(text), shown(new), strict=True):
        difference = differs(old, now)
        assert difference is None, f"{path.name}: airwatt {command}: {difference}; make docs writes it anew"


def differs(old: str, new: str) -> str | None:
    """The first difference that is more than chance, or None."""
    for one, other in zip_longest(_tokens(old), _tokens(new)):
        if one is None or other is None or one.word != other.word:
            return f"{one and one.text!r} has become {other and other.text!r}"
        if one.number is not None and other.number is not None:
            allowed = max(one.allowed, other.allowed)
            if abs(one.number - other.number) > allowed * (1 + 1e-9):
                return f"{one.text} has become {other.text}, allowed is a difference of {allowed:.3g}"
    return None


class Token:
    """A word, or a number with how far another run's may be from it."""

    def __init__(self, text: str, number: float | None = None, allowed: float = 0.0) -> None:
        self.text = text
        self.word = "#" if number is not None else _RULER.sub("---", text)
        self.number = number
        self.allowed = allowed


def _unindented(output: str) -> str:
    return "".join(line.removeprefix("    ") for line in output.splitlines(keepends=True))


def _tokens(text: str) -> list[Token]:
    tokens = []
    for line, below in pairwise([*text.splitlines(), ""]):
        end = 0
        for found in _NUMBER.finditer(line):
            # A number inside a name belongs to it, as in 802.11a or fast-dsl2.
            if line[: found.start()][-1:].isalpha() or line[found.end() :][:1].isalpha():
                continue
            tokens += [Token(word) for word in line[end : found.start()].split()]
            tokens.append(_number(line, below, found))
            end = found.end()
        tokens += [Token(word) for word in line[end:].split()]
    return tokens


def _number(line: str, below: str, found: re.Match[str]) -> Token:
    digits = found[0].replace("\N{NARROW NO-BREAK SPACE}", "")
    decimals = len(digits.partition(".")[2].partition("e")[0])
    allowed = max(SHARE * abs(float(digits)), 10.0**-decimals)
    if line[found.end() :].lstrip().startswith("%"):
        allowed = max(allowed, PER_CENT_POINTS)
    if line[: found.start()].rstrip().endswith("±"):
        # An interval of a few runs is itself known to a factor only.
        allowed = max(allowed, float(digits))
    for interval in re.finditer(r"± *([\d.]+)", below):
        if interval.start() < found.end() + 8 and found.start() < interval.end():
            allowed = max(allowed, float(interval[1]))
    return Token(found[0], float(digits), allowed)
