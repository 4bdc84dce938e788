"""A base station alone that is killed under connections of all kinds: each ends in time, and none as if complete."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest
from lab import await_true, missing

from gateway_lab import HERE, MOBILE, SERVER, Lab

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
# From the side of the mobile, and from the other one.
KINDS = (
    ["up", "down", "fetch", "stalled-up", "stalled-down", "idle", "half-up", "half-down", "trickle"] * 3,
    ["up", "down", "fetch", "stalled-up", "stalled-down", "idle", "half-up", "half-down"] + ["up", "down", "idle"] * 2,
)
BYTES = 30_000_000
# The 5 s of docs/gateway.md and one second more; and as much after the 1.8 s in which the guardian provokes the host of
# a tail that nobody reads.
PATIENCE_S = 5 + 1
TAIL_PATIENCE_S = PATIENCE_S + 1.8


@pytest.fixture
def lab(tmp_path):
    with Lab(tmp_path) as lab:
        lab.write_alone()
        yield lab


def kinds(lab: Lab, host: str, *words: object) -> subprocess.Popen:
    process = lab.start(host, sys.executable, HERE / "gateway_kinds.py", *words, **PIPES)
    assert process.stdout.readline() == "ready\n"
    return process


def kill_under_all_kinds(lab: Lab, seed: int, wait_s: float) -> dict[str, int]:
    """Kills the base station some time after the first connection. Returns how often each ending came."""
    lab.up("base")
    sides = (("mobile", MOBILE, "server", SERVER), ("server", SERVER, "mobile", MOBILE))
    acceptors = [kinds(lab, host, "serve", address, 5000) for _, _, host, address in sides]
    openers = [
        kinds(lab, host, "open", to, 5000, ",".join(words), 2 * seed + side, BYTES)
        for side, ((host, _, _, to), words) in enumerate(zip(sides, KINDS, strict=True))
    ]
    time.sleep(wait_s)
    killed = time.monotonic()
    lab.end("base", signal.SIGKILL)
    time.sleep(TAIL_PATIENCE_S + 0.5)
    rows = [json.loads(each.communicate("end\n", timeout=30)[0]) for each in (*acceptors, *openers)]
    found = {"complete": 0, "reset": 0, "plain": 0}
    received = {(row["name"], row["opens"]): row for side in rows for row in side if row["name"]}
    # A connection that was opened after the kill is plain TCP, and goes on.
    plain = {name for (name, opens), row in received.items() if opens and (row["since"] or killed + 1) > killed}
    for row in (row for side in rows for row in side):
        line = f"seed {seed}, killed after {wait_s:.3f} s: {row | {'at': row['at'] and row['at'] - killed}}"
        if row["name"] in plain or (not row["name"] and (row["since"] or 0) > killed):
            found["plain"] += 1
            continue
        patience = TAIL_PATIENCE_S if row["kind"].startswith("stalled") else PATIENCE_S
        assert row["at"] is not None, f"hangs: {line}"
        assert row["at"] < killed + patience, f"hangs: {line}"
        assert row["ending"] != "cut", line
        assert row["ending"] != "complete" or row["received"] == row["expected"], line
        if row["ending"] == "complete" and row["kind"] == "up" and row["opens"]:
            other = received[row["name"], False]
            assert other["received"] == other["expected"], f"{line}, and at the other end {other}"
        found[row["ending"]] += 1
    await_true(lambda: lab.left_over("base") == [], seconds=20)
    return found


@pytest.mark.parametrize("rule", ["", "oifname wired masquerade"], ids=["routed", "translated"])
@pytest.mark.parametrize("count", [1, pytest.param(30, marks=pytest.mark.long)])
def test_a_killed_base_station_alone_ends_connections_of_all_kinds(lab, rule, count):
    if rule:
        lab.translate(rule)
    draw = random.Random(count)
    found = [kill_under_all_kinds(lab, seed, draw.uniform(0, 1.5)) for seed in range(count)]
    print("endings:", found)
    assert sum(each["reset"] for each in found) > 20 * count, "the kills came in the middle"
