# /// script
# requires-python = ">=3.11"
# dependencies = ["airwatt[pandas]"]
# ///
"""Energy of a download over the round-trip time, by power-save policy: a sweep, a data frame, a picture.

python examples/sweep.py [FOLDER] writes FOLDER/energy.png; the runs are kept in FOLDER/store.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import airwatt


def main(folder: Path) -> None:
    """Sweeps, or reads what an earlier sweep has left, and draws."""
    store = airwatt.sweep(
        "fast-dsl",
        over={"wired.rtt": "20ms:100ms:20ms"},
        policy=["active", "timeout", "psm", "ideal"],
        set={"flow.application.size": "2MB"},
        runs=3,
        store=folder / "store",
    )
    frame = store.to_pandas()
    print(frame.pivot_table("energy_j", "wired.rtt_s", "policy").round(2))

    figure, axes = plt.subplots(figsize=(6, 4))
    for policy, mine in frame.groupby("policy", sort=False):
        energy = mine.groupby("wired.rtt_s").energy_j.agg(["mean", "std"])
        axes.errorbar(1e3 * energy.index, energy["mean"], yerr=energy["std"], label=policy, capsize=2)
    axes.set(xlabel="round-trip time (ms)", ylabel="energy (J)", ylim=(0, None))
    axes.legend()
    figure.savefig(folder / "energy.png", dpi=150)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    place.mkdir(exist_ok=True)
    main(place)
