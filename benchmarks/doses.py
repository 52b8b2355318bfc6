"""The demo's study at several front-loadings, with three training seeds and two rotation draws
each.

python benchmarks/doses.py FOLDER [--dose 1 --dose 0] [--workers 2]
    # a stopped call goes on; a finished study is skipped
python figures/keep.py rows planted-1 FOLDER/1/results "measure in ['nDCG@10', 'answer positions']"
    # what README's table and figure are made of
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.engine.choose import Engine
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias.study import (
    DEMO_COLLECTION,
    DEMO_STUDY,
    run_position_bias,
)
from positionbias.planted.generator import write_planted

SEEDS, DRAWS = 3, 2


def run(folder: Path, dose: float, workers: int) -> Path:
    """One front-loading's study; its results."""
    place = folder / "collection"
    if not place.exists():
        write_planted(place, replace(DEMO_COLLECTION, front_loading=dose), name=f"planted-{dose:g}")
    return run_position_bias(
        Collection(place),
        replace(DEMO_STUDY, seeds=SEEDS, draws=DRAWS),
        Workspace(folder, print, engine=Engine(workers=workers)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dose", type=float, action="append")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    for dose in given.dose or (1.0, 0.0):
        print(run(given.folder / f"{dose:g}", dose, given.workers))


if __name__ == "__main__":
    main()
