"""The page: one file with its data, its style and its script, which asks no network for anything.

The content security policy forbids every request, so that a browser would stop what slipped in.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

from airwatt._core import SCHEMA, __version__
from airwatt.layout import printable
from airwatt.reports.pack import Pack
from airwatt.reports.study import Study

SCRIPTS = ("format.js", "pack.js", "table.js", "bars.js", "lines.js", "lanes.js", "timeline.js", "page.js")
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src {}; "
    "base-uri 'none'; form-action 'none'"
)


def asset(name: str) -> str:
    """The text of a file of the page."""
    return files("airwatt.reports").joinpath("assets", *name.split("/")).read_text(encoding="utf-8")


def view_of(studies: Sequence[Study], pack: Pack, made: str) -> dict[str, Any]:
    """What the script shows."""
    title = ", ".join(study.title for study in studies[:3]) + (", ..." if len(studies) > 3 else "")
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": title,
        "made": f"airwatt {__version__}: {made}",
        "studies": [study.to_dict() for study in studies],
        "arrays": pack.places,
    }


def report(studies: Sequence[Study], pack: Pack, made: str) -> str:
    """The page of a report."""
    view = view_of(studies, pack, made)
    # "<" cannot end the element that holds the text.
    document = json.dumps(view, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    data = (
        f'<script type="application/json" id="view">{document}</script>\n'
        f'<script type="application/octet-stream;base64" id="arrays">{pack.text()}</script>'
    )
    return page(view["title"], data, "beginReport().catch(failed);")


def page(
    title: str, data: str, begin: str, *, scripts: Sequence[str] = SCRIPTS, controls: str = "", connects: str = "'none'"
) -> str:
    """The page with its style and scripts; `begin` is the statement that starts it."""
    licence = "/*\n" + asset("uplot/LICENSE").strip() + "\n*/"
    own = "\n".join(asset(name) for name in scripts)
    parts = {
        "policy": _POLICY.format(connects),
        "version": __version__,
        "title": html.escape(printable(title)),
        "style": f"{asset('uplot/uPlot.min.css')}\n{asset('style.css')}",
        "controls": controls,
        "data": data,
        "script": f"{licence}\n{asset('uplot/uPlot.iife.min.js')}\n(() => {{\n'use strict';\n{own}\n{begin}\n}})();",
    }
    return Template(asset("page.html")).substitute(parts)
