"""What `bed.py` has measured beside the simulator's prediction: beside.py RESULTS.json prints a Markdown table.

The simulator runs `air.toml` with the workload as its flow and the policy that the setting is. Its random times are
others than those of `bed.py`, of the same distribution.
"""

import json
import sys
from pathlib import Path

import airwatt

SCENARIO = Path(__file__).with_name("air.toml")
POLICIES = {
    "off": ("active", {}),
    "on": ("timeout", {"timeout": "100ms"}),
    "airwatt": ("latency-guard", {}),
    # Frames of the user fetch what waits, and so do beacons.
    "u-apsd": ("psm", {}),
    # As the daemon sets it for these beacons.
    "ba-ta": ("ba-ta", {"int_max": "102.4ms"}),
    "ba-ta+str": ("ba-ta+str", {"int_max": "102.4ms"}),
}
EXCHANGES = "request-response"
FLOWS = {
    "keys": {"kind": EXCHANGES, "count": 300, "mean_gap": "500ms"},
    "asked": {"kind": EXCHANGES, "count": 300, "mean_gap": "1s"},
    "messages": {"kind": EXCHANGES, "count": 300, "mean_gap": "10s"},
    "downloads": {"kind": EXCHANGES, "count": 20, "mean_gap": "8s", "response": "2MB"},
    "pages": {"kind": EXCHANGES, "count": 10, "mean_gap": "5s", "request": "400B", "response": "400kB"},
    "stream": {"kind": "streaming", "rate": "1Mbps", "block": "64kB", "media": "40s"},
    "down": {"kind": "bulk", "size": "2MB"},
    "up": {"kind": "bulk", "size": "2MB"},
}


def predicted(workload: str, setting: str) -> dict:
    """Delays or rate, mean power, and share of the time awake, of the simulator."""
    policy, settings = POLICIES[setting]
    values = {
        "station.power_save": {"policy": policy, **settings},
        "flow.application": FLOWS[workload],
        "flow.direction": "up" if workload in ("asked", "messages", "up") else "down",
        "latency_percentiles": True,
    }
    if policy.startswith("ba-ta"):
        # What a managed interface does not show. What the TIM announces is fetched by the card instead.
        values["station.hide"] = ["service", "air-time"]
    result = airwatt.run(str(SCENARIO), set=values).to_dict()
    [flow], [station] = result["flows"], result["stations"]
    return {
        "p50_s": flow.get("response_s_p50"),
        "p95_s": flow.get("response_s_p95"),
        "goodput_bps": flow["goodput_bps"],
        "power_w": station["energy_j"] / result["simulated_s"],
        "awake": 1 - station["state_s"]["sleep"] / result["simulated_s"],
    }


def cell(measured: float | None, simulated: float | None, scale: float) -> str:
    if measured is None or simulated is None:
        return "-"
    return f"{measured * scale:.3g} / {simulated * scale:.3g}"


def table(results: dict) -> str:
    lines = [
        "| traffic | power save | p50 [ms] | p95 [ms] | rate [Mbit/s] | awake [%] | power [mW] |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for workload, settings in results.items():
        for setting, measured in settings.items():
            if workload == "idle":
                awake, power = (1 - measured["asleep"]) * 100, measured["power_w"] * 1e3
                lines.append(f"| idle | {setting} | - | - | - | {awake:.3g} | {power:.3g} |")
                continue
            simulated = predicted(workload, setting)
            bulk = "goodput_bps" in measured
            delay = [cell(measured.get(key), simulated[key], 1e3) if not bulk else "-" for key in ("p50_s", "p95_s")]
            rate = cell(measured["goodput_bps"], simulated["goodput_bps"], 1e-6) if bulk else "-"
            power = cell(measured["power_w"], simulated["power_w"], 1e3)
            awake = cell(1 - measured["asleep"], simulated["awake"], 100)
            lines.append(f"| {workload} | {setting} | {delay[0]} | {delay[1]} | {rate} | {awake} | {power} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())))
