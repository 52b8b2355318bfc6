"""The study of remedies at real size: TK on a planted collection, on SQuAD with its evidence placed
as MS MARCO's, on plain SQuAD, and on the MS MARCO sample.

The last two, and encoders, compare what did best on placed SQuAD.

python benchmarks/remedies.py FOLDER --data PACKED planted placed squad msmarco [--workers 1]
    # PACKED is what gpu/pack.py made; a stopped call goes on
python benchmarks/remedies.py FOLDER --data PACKED encoders --workers 1
    # BERT_CAT and BERT_DOT on placed SQuAD, two seeds, five remedies
python figures/keep.py rows NAME FOLDER/placed/study/results "against == 'variant=no remedy'"
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gpu.evidence_study import MODELS, SIZES, Study, models, studies, unpacked_encoder

from positionbias.core.collection import Collection
from positionbias.engine.choose import Engine
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias.settings import RemedySettings
from positionbias.papers.position_bias.study import DEMO_COLLECTION, DEMO_STUDY, run_remedies
from positionbias.planted.generator import write_planted

CPU = SIZES["cpu"]
# on SQuAD the quality on validation queries is at its best by step 400 of 1,000, with and without
# rotation
TK = replace(CPU.tk, max_steps=400, validate_every=50)
SIZE = replace(CPU, tk=TK, rounds=(("squad", 1, MODELS), ("msmarco", 1, MODELS)))
# five on placed SQuAD, as some trainings there are not finished, or do not beat BM25 on validation
SEEDS, PLACED_SEEDS, ENCODER_SEEDS = 3, 5, 2
# the four that placed SQuAD puts on the front: in data once and at every read, and at inference
BEST = ("rotated once", "rotated at reading", "rotate:4", "rotate-max:4")
OF_ENCODERS = (*BEST, "calibrate:0.5")


def planted(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """The demo's collection and TK, all answers drawn from the front."""
    place = folder / "collection"
    if not place.exists():
        write_planted(place, DEMO_COLLECTION, name="planted")
    sizes = {
        "depth": DEMO_STUDY.depth,
        "train_depth": DEMO_STUDY.train_depth,
        "probe_passages": 500,
    }
    return place, RemedySettings(models=DEMO_STUDY.models, seeds=SEEDS, **sizes)


def placed(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """Real text, positions set, and every remedy."""
    study = _study(given, "squad")
    return study.arms["front"], replace(
        _settings(given, study, ("tk",), PLACED_SEEDS), test_queries=2_000
    )


def squad(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """Natural places of answers."""
    study = _study(given, "squad")
    settings = _settings(given, study, ("tk",), SEEDS)
    return study.workspace.folder / "source", replace(settings, remedies=BEST, test_queries=2_000)


def msmarco(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """Natural places of answers that nobody marked in the test queries: bias is the change by
    rotation alone.
    """
    study = _study(given, "msmarco")
    settings = _settings(given, study, ("tk",), SEEDS)
    return study.arms["original"], replace(
        settings,
        remedies=BEST,
        tests=study.splits,
        candidates=study.given,
        test_relevant_from=study.relevant_from,
    )


def encoders(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """Both encoders on placed SQuAD, with the remedies that suit them."""
    study = _study(given, "squad")
    settings = _settings(given, study, ("bert_cat", "bert_dot"), ENCODER_SEEDS)
    return study.arms["front"], replace(settings, remedies=OF_ENCODERS, test_queries=2_000)


def _study(given: argparse.Namespace, name: str) -> Study:
    return studies(given.data, given.folder / "evidence", SIZE)[name]


def _settings(
    given: argparse.Namespace, study: Study, kinds: Sequence[str], seeds: int
) -> RemedySettings:
    known = models(SIZE, study, unpacked_encoder(given.data, given.folder / "evidence"))
    sizes = {"depth": study.depth, "train_depth": study.depth, "probe_passages": 500}
    return RemedySettings(models=tuple(known[kind] for kind in kinds), seeds=seeds, **sizes)


CAMPAIGNS = {
    "planted": planted,
    "placed": placed,
    "squad": squad,
    "msmarco": msmarco,
    "encoders": encoders,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("campaigns", nargs="+", choices=CAMPAIGNS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    for name in given.campaigns:
        folder = given.folder / name
        place, settings = CAMPAIGNS[name](folder, given)
        print(
            run_remedies(
                Collection(place),
                settings,
                Workspace(folder / "study", print, engine=Engine(workers=given.workers)),
            )
        )


if __name__ == "__main__":
    main()
