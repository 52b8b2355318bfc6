"""The study of remedies at real size: TK on a planted collection, on SQuAD with its evidence placed as MS MARCO's, and on plain SQuAD.

python benchmarks/remedies.py FOLDER --data PACKED planted placed squad [--workers 1]    # PACKED is what gpu/pack.py made; a stopped call goes on
python benchmarks/remedies.py FOLDER --data PACKED encoders --workers 1                   # BERT_CAT and BERT_DOT on placed SQuAD, two seeds, four remedies
python figures/kept_numbers.py keep remedies-planted FOLDER/planted/study/results remedies
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpu.evidence_study import MODELS, SIZES, models, studies

from positionbias.core.collection import Collection
from positionbias.engine.choose import Engine
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias.remedies import run_remedies
from positionbias.papers.position_bias.settings import RemedySettings
from positionbias.papers.position_bias.study import DEMO_COLLECTION, DEMO_STUDY
from positionbias.planted.generator import write_planted

SIZE = replace(SIZES["cpu"], rounds=(("squad", 1, MODELS),))
SEEDS, ENCODER_SEEDS = (1, 2, 3), (1, 2)
OF_ENCODERS = ("rotated once", "rotated at reading", "weighed by place", "rotate:4", "segments-max:3")


def planted(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """The demo's collection and TK, all answers drawn from the front."""
    place = folder / "collection"
    if not place.exists():
        write_planted(place, DEMO_COLLECTION, name="planted")
    sizes = {"depth": DEMO_STUDY.depth, "train_depth": DEMO_STUDY.train_depth, "probe_passages": 500}
    return place, RemedySettings(models=DEMO_STUDY.models, seeds=SEEDS, **sizes)


def _squad(arm: str) -> Callable[[Path, argparse.Namespace], tuple[Path, RemedySettings]]:
    def made(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
        place, model = _of_squad(given, arm, "tk")
        return place, _settings((model,), SEEDS)

    return made


def encoders(folder: Path, given: argparse.Namespace) -> tuple[Path, RemedySettings]:
    """Both encoders on placed SQuAD, with the remedies that suit them."""
    found = [_of_squad(given, "front", kind) for kind in ("bert_cat", "bert_dot")]
    return found[0][0], replace(_settings(tuple(model for _, model in found), ENCODER_SEEDS), remedies=OF_ENCODERS)


def _of_squad(given: argparse.Namespace, arm: str, kind: str) -> tuple[Path, ModelSettings]:
    study = studies(given.data, given.folder / "evidence", SIZE)["squad"]
    place = study.workspace.folder / "source" if arm == "source" else study.arms[arm]
    return place, models(SIZE, study, given.encoder)[kind]


def _settings(of: tuple[ModelSettings, ...], seeds: tuple[int, ...]) -> RemedySettings:
    sizes = {"depth": SIZE.depths["squad"], "train_depth": SIZE.depths["squad"], "probe_passages": 500, "test_queries": 2_000}
    return RemedySettings(models=of, seeds=seeds, **sizes)


CAMPAIGNS = {"planted": planted, "placed": _squad("front"), "squad": _squad("source"), "encoders": encoders}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("campaigns", nargs="+", choices=CAMPAIGNS)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    for name in given.campaigns:
        folder = given.folder / name
        place, settings = CAMPAIGNS[name](folder, given)
        print(
            run_remedies(Collection(place), settings, Workspace(folder / "study", print, engine=Engine(workers=given.workers)))
        )


if __name__ == "__main__":
    main()
