"""docs/tunnel.md: the table of what the tunnel saves is what the commands above it give."""

import json
import re
import shlex
from statistics import mean

from conftest import ROOT

PAGE = ROOT / "docs" / "tunnel.md"


def test_what_it_saves_is_by_the_commands_of_the_page(airwatt, tmp_path):
    section = PAGE.read_text().split("\n## What it saves\n")[1].split("\n**Real kernels**")[0]
    config = airwatt.output(["run", "tunnel", "--show-config"])
    assert "    airwatt run tunnel --show-config | sed '/^\\[tunnel\\]/,/^$/d' >no-tunnel.toml\n" in section
    without = tmp_path / "no-tunnel.toml"
    without.write_text(re.sub(r"^\[tunnel\]\n.*?\n\n", "", config, flags=re.MULTILINE | re.DOTALL))
    assert "[tunnel]" not in without.read_text()

    measured = []
    for command in re.findall(r"^    airwatt (compare .*)$", section, re.MULTILINE):
        words = [str(without) if word == without.name else word for word in shlex.split(command)]
        for row in json.loads(airwatt.output([*words, "--json"]))["rows"]:
            runs = row["runs"]
            power_mw = mean(run["stations"][0]["average_power_w"] for run in runs) * 1e3
            wakeups = mean(run["stations"][0]["wakeups"] / run["simulated_s"] for run in runs)
            delay_ms = mean(flow["latency_s_mean"] for run in runs for flow in run["flows"]) * 1e3
            measured.append((power_mw, wakeups, delay_ms))

    table = re.findall(r"^\| .* \| (\S+) mW \| (\S+) /s \| (\S+) ms \|$", section, re.MULTILINE)
    assert len(table) == len(measured) == 9
    for written, found in zip(table, measured, strict=True):
        for text, value in zip(written, found, strict=True):
            step = 10 ** -len(text.partition(".")[2])
            assert abs(float(text) - value) <= max(0.01 * value, step), (written, found)
