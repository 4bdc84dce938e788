"""Manual pages, from what `--help`, `airwatt help` and `airwatt keys` show.

`python -m airwatt.cli.manual FOLDER DATE` writes airwatt(1), a page for each command in section 1, and in section 5
airwatt-scenario and airwatt-radio. `airwattd manual` writes those of the daemon.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from airwatt import _core, keys
from airwatt.cli import COMMANDS
from airwatt.cli.parameters import Argument, Option, Parameter, declared
from airwatt.cli.topics import TOPICS, about

_OTHER_PAGES = ("airwatt-scenario(5)", "airwatt-radio(5)", "airwattd(8)")
_ABOUT = "what a Wi-Fi radio spends on TCP, who gets the bandwidth, and what can be done about it"


def pages(date: str) -> dict[str, str]:
    """Gives the text of each page by its file name."""
    found = {"airwatt.1": _program(date)}
    for name in COMMANDS:
        found[f"airwatt-{name}.1"] = _command(name, date)
    found["airwatt-scenario.5"] = _scenario(date)
    found["airwatt-radio.5"] = _radio(date)
    return found


def _program(date: str) -> str:
    rows = [(f"{_bold(f'airwatt {name}')}", _text(_about(name))) for name in COMMANDS]
    shared = [_section(name.replace("-", " ").upper(), _paragraphs(topic.text)) for name, topic in TOPICS.items()]
    return "".join(
        [
            _head("airwatt", "1", date, _ABOUT),
            _section("SYNOPSIS", f".B airwatt\n{_text('[-v|-vv] COMMAND [OPTIONS]')}\n"),
            _section("COMMANDS", _tagged(rows)),
            *shared,
            _see([*(f"airwatt-{name}(1)" for name in COMMANDS), *_OTHER_PAGES]),
        ]
    )


def _command(name: str, date: str) -> str:
    module = import_module(f"airwatt.cli.{name}")
    parameters = declared(module.command)
    defaults = {key: item.default for key, item in inspect.signature(module.command).parameters.items()}
    arguments = [(key, item) for key, (_, item) in parameters.items() if isinstance(item, Argument)]
    synopsis = " ".join(["[OPTIONS]", *(_metavar(key, item, defaults[key]) for key, item in arguments)])
    rows = [(_tag(key, kind, item), _meaning(item, defaults[key])) for key, (kind, item) in parameters.items()]
    description = inspect.cleandoc(module.command.__doc__ or "")
    examples = inspect.cleandoc(module.EPILOG.removeprefix("\b\n")).removeprefix("Examples:\n")
    return "".join(
        [
            _head(f"airwatt-{name}", "1", date, _about(name)),
            _section("SYNOPSIS", f".B airwatt {name}\n{_text(synopsis)}\n"),
            _section("DESCRIPTION", _paragraphs(description)),
            _section("OPTIONS", _tagged(rows)) if rows else "",
            _section("EXAMPLES", _paragraphs(examples)),
            _section("EXIT STATUS", _paragraphs(TOPICS["exit-status"].text)),
            _see(["airwatt(1)", "airwatt-scenario(5)"]),
        ]
    )


def _scenario(date: str) -> str:
    rows = []
    for key in keys.all_keys():
        default = "" if key.default in ("", "required") else f"; default {key.default}"
        required = "; required" if key.default == "required" else ""
        with_ = f" With {key.belongs_to}." if key.belongs_to else ""
        rows.append((_bold(key.path), _text(f"{key.kind}{default}{required}.{with_} {key.meaning}".replace("`", ""))))
    return "".join(
        [
            _head("airwatt-scenario", "5", date, "scenario files of airwatt"),
            _section("DESCRIPTION", _paragraphs(TOPICS["scenario"].text)),
            _section("QUANTITIES", _paragraphs(TOPICS["quantities"].text)),
            _section("KEYS", _tagged(rows)),
            _see(["airwatt(1)", "airwatt-keys(1)", "airwatt-init(1)", "airwatt-radio(5)"]),
        ]
    )


def _radio(date: str) -> str:
    text = (
        "A radio profile says what a radio draws in each state and what its transitions take, each value with its"
        " source. `airwatt radios` lists those that ship, and `airwatt radios --new FILE` writes this one:\n\n"
    )
    return "".join(
        [
            _head("airwatt-radio", "5", date, "radio profiles of airwatt"),
            _section("DESCRIPTION", _paragraphs(text) + _verbatim(_core.radio_template().splitlines())),
            _see(["airwatt-radios(1)", "airwatt-scenario(5)"]),
        ]
    )


def _about(name: str) -> str:
    first = about(name)
    return first[:1].lower() + first[1:]


def _metavar(key: str, item: Parameter, default: Any) -> str:
    shown = str(item.attributes.get("metavar") or key.upper())
    return shown if default is inspect.Parameter.empty else f"[{shown.strip('[]')}]"


def _tag(key: str, kind: Any, item: Parameter) -> str:
    if isinstance(item, Argument):
        return _italic(str(item.attributes.get("metavar") or key.upper()))
    names = ", ".join(_bold(name) for name in item.names)
    kinds = [each for each in (get_args(kind) or (kind,)) if each is not NoneType]
    return names if bool in kinds else f"{names} {_italic(str(item.attributes.get('metavar') or key.upper()))}"


def _meaning(item: Parameter, default: Any) -> str:
    text = str(item.attributes.get("help", ""))
    told = isinstance(item, Option) and default not in (None, False, inspect.Parameter.empty) and "efault" not in text
    return _text(f"{text} Default: {default}." if told else text)


def _head(name: str, section: str, date: str, about: str) -> str:
    title = f'.TH {_escape(name.upper())} {section} {date} "airwatt {_core.__version__}" airwatt\n'
    name_line = rf"{_escape(name)} \- {_escape(about)}"
    return f"{title}.SH NAME\n{_filled(name_line)}\n"


def _section(title: str, body: str) -> str:
    return f".SH {title}\n{body}"


def _see(names: Iterable[str]) -> str:
    parts = [re.fullmatch(r"(.+)\((\d)\)", name) for name in names]
    lines = [f".BR {_escape(part[1])} ({part[2]})" for part in parts if part]
    return _section("SEE ALSO", " ,\n".join(lines) + "\n")


def _tagged(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f".TP\n{tag}\n{text}\n" for tag, text in rows)


def _paragraphs(text: str) -> str:
    """Paragraphs of text; those whose lines are indented, or are commands, stay as they are."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        # A line with a backspace alone tells --help to keep the lines of a paragraph.
        lines = [line for line in block.splitlines() if line != "\b"]
        if lines[0].startswith("  "):
            parts.append(_verbatim(lines))
        else:
            parts.append(_text(" ".join(lines)) + "\n")
    spaced = ["" if index == 0 or part.startswith(".RS") else ".PP\n" for index, part in enumerate(parts)]
    return "".join(space + part for space, part in zip(spaced, parts, strict=True))


_COLUMNS = 66
"""Of lines that stay as they are and are indented: a terminal has 80, and man(1) indents text by 7."""


def _narrowed(line: str) -> list[str]:
    """A line whose comment, if both are too long, stands above it."""
    code, mark, comment = line.rpartition("  # ")
    if len(line) <= _COLUMNS or not (mark or line.startswith("# ")):
        return [line]
    above = textwrap.wrap(comment.removeprefix("# "), _COLUMNS, initial_indent="# ", subsequent_indent="# ")
    return [*above, *([code.rstrip()] if mark else [])]


def _verbatim(lines: Iterable[str]) -> str:
    narrow = [part for line in lines for part in _narrowed(line.removeprefix("  "))]
    body = "\n".join(_no_request(_escape(line)) for line in narrow)
    indent = 4 if all(len(line) <= _COLUMNS for line in narrow) else 0
    return f".RS {indent}\n.nf\n{body}\n.fi\n.RE\n"


def _bold(text: str) -> str:
    return rf"\fB{_escape(text)}\fR"


def _italic(text: str) -> str:
    return rf"\fI{_escape(text)}\fR"


def _text(text: str) -> str:
    """Escapes a text and fills it into lines."""
    return _filled(_escape(text))


def _filled(text: str) -> str:
    """Fills a text into lines of 80 bytes, none of which is a request."""
    lines = textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_no_request, lines))


def _no_request(line: str) -> str:
    return rf"\&{line}" if line.startswith((".", "'")) else line


def _escape(text: str) -> str:
    return (
        text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("^", r"\(ha").replace("~", r"\(ti")
    )


def main() -> int:
    """Writes the pages."""
    folder, date = Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(date).items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
