"""A tunnel for a long time: losses, reordering, restarts of either end, changes of address.

AIRWATT_SOAK_S sets the seconds; two minutes show whether it works, half an hour what grows slowly.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import await_true, call, missing

import test_tunnel
from test_tunnel import INNER, OUTER, PORT

REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
pair = test_tunnel.pair
SOAK = (sys.executable, Path(__file__).parent / "soak.py")
SOAK_S = float(os.environ.get("AIRWATT_SOAK_S", "120"))
RELAY_PORT = PORT + 1
RELAY_SOURCES = ("10.98.0.11", "10.98.0.12")
# Either end is restarted in turn this often.
RESTART_S = 15.0
# An outage ends when TCP's retransmission timer, which doubles, finds it over.
LONGEST_S = 20.0
CONNECTIONS = 5
# What the memory of an end may grow by in the last part, in which nothing is restarted.
GROWTH_KB = 1_024


def resident_kb(process: subprocess.Popen[str]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


def open_files(process: subprocess.Popen[str]) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


def restart(pair, end: str, process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    process.terminate()
    assert process.wait(10) == 0
    await_true(lambda: not pair.has_device(end))
    return pair.up(end)


@pytest.mark.long
@pytest.mark.parametrize("association", ["datagrams", "sctp"])
def test_connections_survive_what_happens_to_the_tunnel(pair, association):
    for end in OUTER:
        pair.write(end, f'burst = 5, delay_budget = "5ms", association = "{association}"')
    text = pair.file("client").read_text()
    pair.file("client").write_text(text.replace(f"{OUTER['ap']}:{PORT}", f"{OUTER['ap']}:{RELAY_PORT}"))
    for source in RELAY_SOURCES:
        call("ip", "-n", pair.names["ap"], "address", "add", f"{source}/24", "dev", "cable")
    running = {end: pair.up(end) for end in OUTER}
    with (
        pair.program("ap", *SOAK, "relay", OUTER["ap"], RELAY_PORT, PORT, *RELAY_SOURCES) as relay,
        pair.program("ap", *SOAK, "serve", INNER["ap"]) as server,
    ):
        for program in (relay, server):
            assert program.stdout.readline() == "ready\n"
        with pair.program("client", *SOAK, "exchange", INNER["ap"], CONNECTIONS, SOAK_S) as exchange:
            begun, turn = time.monotonic(), 0
            # Two thirds of the time with restarts, then a third in which nothing may grow.
            while time.monotonic() < begun + SOAK_S * 2 / 3 - RESTART_S:
                time.sleep(RESTART_S)
                end = tuple(OUTER)[turn % 2]
                running[end], turn = restart(pair, end, running[end]), turn + 1
            time.sleep(SOAK_S / 10)
            before = {end: (resident_kb(process), open_files(process)) for end, process in running.items()}
            answer, _ = exchange.communicate(timeout=SOAK_S + 120)
        after = {end: (resident_kb(process), open_files(process)) for end, process in running.items()}
        shown = {end: pair.show(end)["peers"][0] for end in OUTER}
    result = json.loads(answer)
    print(
        f"{association}: {turn} restarts, {shown['ap']['moves']} moves since the last one: {result}, {before} {after}"
    )
    assert result["lost"] == 0
    assert result["longest_s"] < LONGEST_S
    assert result["exchanges"] > SOAK_S / 2
    for end in OUTER:
        assert after[end][0] <= before[end][0] + GROWTH_KB, f"memory of {end}"
        assert after[end][1] == before[end][1], f"files of {end}"
    assert shown["ap"]["moves"] > 0, "the relay sends from several addresses"
