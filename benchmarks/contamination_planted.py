"""Contaminated distillation on a planted collection: a teacher that saw the test, and what of it
reaches students that saw training queries alone.

    OMP_NUM_THREADS=1 python benchmarks/contamination_planted.py FOLDER
        # writes benchmarks/results/contamination_planted_HARDWARE_DATE.md

The collection has a test split, which teachers are contaminated with, and as many fresh queries,
which no model is trained on: the control. What the test's judgements add is also more training data
of the same kind; that would lift both alike. One study has a BERT of two layers, 128 wide, from
random weights as its teacher, the other TK; both have both as students. Learning rates, epochs and
group sizes were chosen on the validation queries, of models that saw no test. Steps that are
finished are skipped, so a stopped call goes on.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

from measuring import hardware, result_place
from pandas import DataFrame

from positionbias.core import rows
from positionbias.core.collection import Collection
from positionbias.core.progress import set_quiet
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.models.new_encoder import make_encoder
from positionbias.models.settings import EncoderSettings
from positionbias.models.shapes import BertCatConfig, TKConfig
from positionbias.papers.contamination.settings import ContaminationSettings
from positionbias.papers.contamination.shown import INFLATED, SHOWN, SOURCES
from positionbias.papers.contamination.study import run_study
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings
from positionbias.training.config import TrainConfig

TRAINING, VALIDATION, TESTS, DEPTH = 800, 100, 200, 8
TARGET, CONTROL = "test", "fresh"
MEASURE = "nDCG@10"
KINDS = ("bert_cat", "tk")
SEEDS = 3
TEACHER_EPOCHS = {"bert_cat": 6, "tk": 7}
STUDENT_EPOCHS = {"bert_cat": 3, "tk": 7}
TK_SHAPE = TKConfig(dimension=24, layers=1, heads=2, head_size=12, feed_forward=24)
COMMON = TrainConfig(batch_size=16, probe_passages=0, threads=1)
BERT = replace(
    COMMON, group_size=4, learning_rate=1e-3, schedule="linear", warmup_share=0.1, dropout=False,
    bucket=8, precision="bfloat16"
)  # fmt: skip
TK = replace(COMMON, group_size=3, learning_rate=1e-2, kernel_learning_rate=1e-2)


def collection_in(folder: Path) -> Collection:
    """Passages of two whole sentences, eight a query, of which one answers."""
    place = folder / "planted"
    if place.exists():
        return Collection(place)
    queries = TRAINING + VALIDATION + TESTS
    settings = PlantedSettings(
        front_loading=0.0, queries=queries, passages=DEPTH * (queries + TESTS),
        validation_share=VALIDATION / queries, test_share=TESTS / queries,
        fresh_queries=TESTS, sentences=(2, 2),
    )  # fmt: skip
    return write_planted(place, settings)


def model(kind: str, encoder: Path, epochs: int) -> ModelSettings:
    """A model from random weights, and its training."""
    if kind == "bert_cat":
        return ModelSettings(
            kind, BertCatConfig(pair_length=64), replace(BERT, epochs=epochs), encoder=str(encoder)
        )
    return ModelSettings(kind, TK_SHAPE, replace(TK, epochs=epochs))


def study(folder: Path, collection: Collection, teacher: str, seeds: int) -> Path:
    """One study, with a kind of teacher; its folder. Processor time is added up in a file, step by
    step.
    """
    encoder, out = folder / "encoder", folder / f"study-{teacher}"
    if not encoder.exists():
        make_encoder([collection], encoder, EncoderSettings())
    settings = ContaminationSettings(
        targets=(TARGET, CONTROL),
        contaminating=(TARGET,),
        teacher=model(teacher, encoder, TEACHER_EPOCHS[teacher]),
        models=tuple(
            model(kind, encoder, STUDENT_EPOCHS[kind])
            for kind in (teacher, *(k for k in KINDS if k != teacher))
        ),
        seeds=seeds,
        target_relevant_from=1,
        train_depth=DEPTH,
        depth=DEPTH,
    )
    clock = Clock(folder / f"minutes-{teacher}")

    def say(text: str) -> None:
        print(f"{clock.add():5.1f} min  {text}", flush=True)

    run_study(collection, settings, Workspace(out, say))
    clock.add()
    return out


class Clock:
    """Processor minutes over all calls, kept in a file so that a stopped call's are counted too."""

    def __init__(self, place: Path) -> None:
        self.place, self.last = place, time.process_time()

    def add(self) -> float:
        """The minutes up to now."""
        now = time.process_time()
        total = self.minutes + (now - self.last) / 60
        self.place.write_text(str(total))
        self.last = now
        return total

    @property
    def minutes(self) -> float:
        return float(self.place.read_text()) if self.place.exists() else 0.0


# -- the table -------------------------------------------------------------------------------------


def lines_of(measured: DataFrame) -> list[str]:
    """What was found, the systems on both targets, the changes."""
    own = SHOWN.own(measured)
    lines = [f"- {finding.text}" for finding in SHOWN.findings(own)]
    for declared in (SOURCES, INFLATED):
        table = declared.table(own)
        heads = [column.full_name or "Figures" for column in table.columns]
        cells = [[cell.text for cell in row] for row in table.rows]
        lines += ["", f"### {table.title}", ""]
        lines += [f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *cells)]
    return lines


def report(folder: Path, teachers: Sequence[str], seeds: int, load: float) -> list[str]:
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "positionbias")
    )
    minutes = {teacher: Clock(folder / f"minutes-{teacher}").minutes for teacher in teachers}
    spent = " and ".join(f"{value:.1f} (teacher {teacher})" for teacher, value in minutes.items())
    given = "".join(f" --teachers {teacher}" for teacher in teachers if tuple(teachers) != KINDS)
    given += f" --seeds {seeds}" if seeds != SEEDS else ""
    lines = [
        "# Contaminated distillation, planted",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; "
        f"{date.today().isoformat()}; {spent} processor minutes, one thread, "
        f"{sum(minutes.values()):.1f} in all; other work went on beside it (load {load:.0f}).",
        "",
        f"    OMP_NUM_THREADS=1 python benchmarks/contamination_planted.py FOLDER{given}",
        "",
        f"One collection: {TRAINING} training queries, {TESTS} of the split {TARGET}, {TESTS} of "
        f"{CONTROL}, {DEPTH} candidates each; passages of two whole sentences. bert_cat is two "
        f"layers, 128 wide, from random weights, at {BERT.learning_rate:g} in {BERT.precision}, "
        f"groups of {BERT.group_size}; tk {TK_SHAPE.dimension} wide, one layer, at "
        f"{TK.learning_rate:g}, groups of {TK.group_size}. Epochs of teachers: "
        f"{_listed(TEACHER_EPOCHS)}; of students {_listed(STUDENT_EPOCHS)} (by RankNet in groups "
        f"of 8, half the steps). {seeds} trainings each. Intervals are over "
        "trainings and queries.",
        "",
        f"A contaminated teacher was trained on the judgements of {TARGET} beside the training "
        "queries. These are also training queries more, of the same kind; what they teach in "
        f"general shows on {CONTROL}, which nobody was trained on.",
    ]
    for teacher in teachers:
        lines += [
            "",
            f"## Teacher {teacher}",
            "",
            *lines_of(rows.load(folder / f"study-{teacher}" / "results")),
        ]
    return lines


def _listed(epochs: dict[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in epochs.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--teachers", action="append", choices=KINDS, help="may be given again; both if left out"
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many trainings")
    given = parser.parse_args()
    teachers, seeds = tuple(given.teachers or KINDS), given.seeds
    set_quiet(True)
    given.folder.mkdir(parents=True, exist_ok=True)
    collection = collection_in(given.folder)
    for teacher in teachers:
        study(given.folder, collection, teacher, seeds)
    text = "\n".join(report(given.folder, teachers, seeds, os.getloadavg()[2])) + "\n"
    result_place("contamination_planted").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
