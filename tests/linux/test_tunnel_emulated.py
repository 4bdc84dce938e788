"""`airwattd tunnel` between real kernels over the simulated air: what its bursts save of a station's energy.

The station's policy sends no triggers: the tunnel's datagrams do.
"""

import os
import sys
from pathlib import Path

import pytest
from lab import DAEMON

import test_emulate
from ten_uploads import PACKET, PACKETS_PER_S, PHASES_S
from test_tunnel import KEYS

REASON = test_emulate.missing() or (None if DAEMON.exists() else f"{DAEMON} is not built: make build")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    pytest.mark.xdist_group("kernel"),
]
UPLOADS = Path(__file__).parent / "ten_uploads.py"
SECONDS = 10
MEGABYTES = SECONDS * PACKETS_PER_S * len(PHASES_S) * len(PACKET) / 1e6
SERVER, INNER = "10.0.0.1", {"client": "10.77.0.2", "ap": "10.77.0.1"}
WAYS = {
    "none": None,
    "m = 1": "burst = 1",
    "m = 2": "burst = 2",
    "m = 5": "burst = 5",
    "m = 10": "burst = 10",
    "3 ms": 'delay_budget = "3ms"',
    "10 ms": 'delay_budget = "10ms"',
    "30 ms": 'delay_budget = "30ms"',
}


def configuration(folder: Path, end: str, settings: str) -> Path:
    other = "ap" if end == "client" else "client"
    file = folder / f"{end}.toml"
    file.write_text(f"""
        interface = "em{end}{os.getpid() % 10_000}"
        addresses = ["{INNER[end]}/24"]
        end = "{"client" if end == "client" else "concentrator"}"
        private_key = "{KEYS[end][0]}"
        {f'listen = "{SERVER}:4646"' if end == "ap" else ""}
        tunnel = {{ {settings} }}
        [[peer]]
        name = "{other}"
        public_key = "{KEYS[other][1]}"
        {f'endpoint = "{SERVER}:4646"' if end == "client" else ""}
        allowed_ips = ["{INNER[other]}/32"]
    """)
    file.chmod(0o600)
    return file


AIR = """
    base = "reference-download"
    duration = "{seconds}s"
    wifi = {{ frame_error_rate = 0.1, station_rts_threshold = "0B" }}
    {tunnel}
    [[station]]
    power_save = {{ policy = "psm" }}
    radio = "ar5004"
    distance = "4m"
"""
FLOWS = """
    [tcp]
    timestamps = true
    header = "52B"
""" + "".join(
    f"""
    [[flow]]
    from = "station0"
    to = "server"
    start = "{phase_s * 1e6:.0f}us"
    application = {{ kind = "cbr", rate = "{PACKETS_PER_S * len(PACKET) * 8}bps", packet = "{len(PACKET)}B" }}
    """
    for phase_s in PHASES_S
)


def energy_per_mb(how: str, folder: Path, rest: str, tunnel: str = "") -> float:
    """Energy of the station's radio in mJ for each MB that is uploaded, simulated or emulated."""
    scenario = folder / f"{how}.toml"
    scenario.write_text(AIR.format(seconds=SECONDS, tunnel=tunnel) + rest)
    document = test_emulate.document(how, scenario)
    assert document.get("realtime", {"trusted": True})["trusted"]
    return document["stations"][0]["energy_j"] * 1e3 / MEGABYTES


def simulated(folder: Path, settings: str | None) -> float:
    return energy_per_mb("run", folder, FLOWS, f"tunnel = {{ {settings} }}" if settings else "")


def emulated(folder: Path, settings: str | None) -> float:
    uploads = f"{sys.executable} {UPLOADS}"
    serve, run = [f"{uploads} sink"], f"{uploads} send {SERVER} {SECONDS}"
    if settings is not None:
        serve.append(f"{DAEMON} tunnel up {configuration(folder, 'ap', settings)}")
        client = configuration(folder, "client", settings)
        sends = f"{uploads} send {INNER['ap']} {SECONDS}"
        run = f"{DAEMON} tunnel up {client} & {sends}; status=$?; {DAEMON} tunnel down {client}; exit $status"
    hosts = f"""
        [[host]]
        name = "server"
        serve = {serve!r}
        [[host]]
        name = "station0"
        run = [{run!r}]
    """
    return energy_per_mb("emulate", folder, hosts)


def test_bursts_save_energy_as_in_simulations(tmp_path):
    energy = {name: (simulated(tmp_path, settings), emulated(tmp_path, settings)) for name, settings in WAYS.items()}
    for name, (ours, kernels) in energy.items():
        print(f"{name:6} {ours:5.0f} mJ/MB simulated, {kernels:5.0f} mJ/MB emulated")
    for name, (ours, kernels) in energy.items():
        # Handshakes, and the time before and after the uploads, are in the emulations alone.
        assert kernels == pytest.approx(ours, rel=0.12), name
    assert energy["10 ms"][1] < 0.7 * energy["none"][1]
