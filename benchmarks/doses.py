"""The dose curve: the planted study at several front-loadings and seeds, each run resumable and capped in time.

    python benchmarks/doses.py FOLDER --dose 0 --dose 0.25 --dose 0.5 --dose 0.75 --dose 1 --seed 1 --seed 2 --seed 3

Each (dose, seed) is one ``posbias import planted`` and one ``posbias study position-bias`` in FOLDER. A run that meets its cap is stopped and
goes on at the next call; a finished one is skipped. At the end ``figures/doses.svg`` is drawn from all that are finished.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from positionbias.core.result import Result, load_results
from positionbias.report.figure import save_figure
from positionbias.report.plots import dose_response

POSBIAS = [str(Path(sys.executable).with_name("posbias")), "--quiet"]
# the learning rates were chosen on the validation queries of front-loading 0, seed 1
STUDY = (
    "--depth 10 --train-depth 20 --learning-rate 3e-4 --kernel-learning-rate 1e-2 --max-steps 1800 --validate-every 150 --patience 4 "
    "--precision bfloat16 --threads 1 --probe-passages 5000"
).split()


def run(folder: Path, dose: float, seed: int, minutes: float) -> list[Result] | None:
    """One study, or its results where it is finished; None where the cap was met."""
    collection, study = folder / f"planted-{dose:g}-seed-{seed}", folder / f"study-{dose:g}-seed-{seed}"
    common = ["--seed", str(seed)]
    if not collection.exists():
        plant = ["import", "planted", "--front-loading", str(dose), *common, "--out", str(collection)]
        subprocess.run([*POSBIAS, *plant], check=True, stdout=subprocess.DEVNULL)
    command = ["study", "position-bias", str(collection), *STUDY, *common, "--out", str(study)]
    try:
        subprocess.run([*POSBIAS, *command], check=True, timeout=60 * minutes, stdout=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"dose {dose:g}, seed {seed}: stopped at {minutes:g} minutes; call again to go on")
        return None
    print(f"dose {dose:g}, seed {seed}: {study / 'report.html'}")
    return load_results(study / "results")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dose", type=float, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--minutes", type=float, default=60, help="cap of each run")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "figures" / "doses.svg")
    given = parser.parse_args()
    found: dict[float, list[Result]] = {}
    for seed in given.seed or [1]:
        for dose in given.dose or [0, 0.25, 0.5, 0.75, 1]:
            results = run(given.folder, dose, seed, given.minutes)
            if results:
                found.setdefault(dose, []).extend(results)
    if found:
        save_figure(dose_response(found), given.out, overwrite=True)
        print(given.out)


if __name__ == "__main__":
    main()
