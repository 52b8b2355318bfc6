"""Can TK beat BM25 on SQuAD? Trainings that differ in one thing each, validated on other articles,
alone and together with BM25.

    python benchmarks/tk_squad.py train-v1.1.json dev-v1.1.json STATE [--workers 2]
        # writes benchmarks/results/tk_squad_HARDWARE_DATE.md; a stopped call goes on

BM25's first ten passages of a question are re-ranked. Test questions are measured for all
trainings, and choose nothing: the training that is best on validation, alone or with BM25, is the
answer, and is trained with two more seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from pathlib import Path

from measuring import hardware, result_place

from positionbias.core.collection import Collection
from positionbias.core.files import read_json, sha256_file
from positionbias.core.run import Run
from positionbias.engine.choose import Engine
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.records import Comparison
from positionbias.evaluation.significance import clusters_by_passage, compare
from positionbias.evaluation.trainings import compare_trainings
from positionbias.experiments.measured import checkpoint_facts
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.settings import Bm25Settings
from positionbias.formats.squad import import_squad
from positionbias.models.checkpoint import LOG
from positionbias.models.distil import distil
from positionbias.models.encoder_source import MINILM
from positionbias.models.settings import DistilSettings
from positionbias.models.shapes import TKConfig
from positionbias.text.formatting import decimal
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

MEASURE, DEPTH, SEEDS, DIMENSION = "nDCG@10", 10, (1, 2, 3), 128
SPLITS = ("validation", "test")


@dataclass(frozen=True, slots=True)
class Tried:
    """A training: how many candidates negatives are drawn from, and whether the words' vectors are
    distilled.
    """

    steps: int = 1_000
    negatives: int = 10
    distilled: bool = True

    def model(self, vectors: Path) -> ModelSettings:
        training = TrainConfig(
            learning_rate=1e-3,
            kernel_learning_rate=1e-2,
            warmup_share=0.05,
            schedule="linear",
            max_steps=self.steps,
            validate_every=self.steps // 10,
            most_depth=DEPTH,
            probe_passages=0,
            threads=1,
        )
        shape = TKConfig(dimension=DIMENSION, layers=1, heads=8, head_size=16, feed_forward=64)
        return ModelSettings(
            "tk", shape, training, word_vectors=vectors if self.distilled else None
        )


TRIED = {
    "as a start": Tried(),
    "twice the steps": Tried(steps=2_000),
    "easier negatives: BM25's first 100": Tried(negatives=100),
    "harder negatives: its first 5": Tried(negatives=5),
    "words start at random": Tried(distilled=False),
}


class Setting:
    """The collection, its candidates and vectors, and what trainings come to on it."""

    def __init__(self, train: Path, test: Path, folder: Path, workers: int) -> None:
        self.workspace = Workspace(folder, print, engine=Engine(workers=workers))
        self.place = folder / "squad"
        make = partial(
            import_squad, [train], test, self.place, validation=1_000, seed=1, overwrite=True
        )
        files = {"train": sha256_file(train), "test": sha256_file(test)}
        self.workspace.steps.make("squad", self.place, {"validation": 1_000}, files, make)
        self.collection = Collection(self.place)
        self.qrels = {split: self.collection.qrels(split) for split in SPLITS}
        self.clusters = clusters_by_passage(self.qrels["test"])
        self.first = {
            split: self.workspace.candidates(self.place, split, DEPTH, Bm25Settings())
            for split in SPLITS
        }
        self.bm25 = {split: self.values(run, split) for split, run in self.first.items()}

    @cached_property
    def vectors(self) -> Path:
        """Distilled from MiniLM."""
        out = self.workspace.folder / "words.safetensors"
        settings = DistilSettings(DIMENSION, sif_coefficient=0.0)
        make = partial(
            distil,
            [self.collection],
            MINILM,
            out,
            settings,
            split="train",
            threads=2,
            overwrite=True,
        )
        return self.workspace.steps.make(
            "words", out, {"dimension": DIMENSION}, {"squad": self.collection.checksum}, make
        )

    def training(self, name: str, tried: Tried, seed: int) -> tuple[str, Path, TrainPlan]:
        train = self.workspace.within(f"negatives-{tried.negatives}").candidates(
            self.place, "train", tried.negatives, Bm25Settings()
        )
        plan = tried.model(self.vectors).plan(
            candidates=train, validation=(self.first["validation"], "validation"), seed=seed
        )
        return (
            f"{'-'.join(name.replace(':', '').replace(',', '').split())}-{seed}",
            self.place,
            plan,
        )

    def trained(self, trainings: Sequence[tuple[str, Path, TrainPlan]]) -> Iterator[Path]:
        """Their checkpoints, made side by side."""
        return self.workspace.side_by_side(
            partial(_trained, self.workspace), trainings, [Tried().model(self.vectors)]
        )

    def values(self, run: Path, split: str) -> dict[str, float]:
        return dict(per_query(Run.from_file(run), self.qrels[split], [MEASURE])[MEASURE])

    def alone(self, model: Path, split: str) -> dict[str, float]:
        """Down to the depth that validation chose."""
        return self.values(
            self.workspace.reranked(model, self.place, split, self.first[split]), split
        )

    def with_bm25(self, model: Path, split: str) -> dict[str, float]:
        """By the mean of both z-scores of all ten candidates."""
        whole = self.workspace.within("all-ten").reranked(
            model, self.place, split, self.first[split], depth=DEPTH
        )
        runs = {"bm25": self.first[split], "tk": whole}
        made = self.workspace.ensembled(
            f"{model.name}-with-bm25-{split}", runs, self.first[split], split=split, depth=DEPTH
        )
        return self.values(made, split)

    def beside(self, values: Mapping[str, float], name: str) -> Comparison:
        """Test values against BM25's."""
        return compare(
            self.bm25["test"], values, names=("bm25", name), clusters=self.clusters, seed=1
        )


def _trained(workspace: Workspace, training: tuple[str, Path, TrainPlan]) -> Path:
    return workspace.trained(*training)


def _difference(found: Comparison) -> str:
    low, high = (
        (found.difference_interval.low, found.difference_interval.high)
        if found.difference_interval
        else (None, None)
    )
    return (
        f"{decimal(found.difference, 3, sign=True)} [{decimal(low, 3, sign=True)}, "
        f"{decimal(high, 3, sign=True)}]"
    )


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("state", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    at = Setting(given.train, given.test, given.state, given.workers)
    rows, best = [], (0.0, "", "")
    trainings = [at.training(name, tried, SEEDS[0]) for name, tried in TRIED.items()]
    for name, model in zip(TRIED, at.trained(trainings), strict=True):
        facts, log = checkpoint_facts(model), read_json(model / LOG)
        cells = [f"step {log['best_step']:,}, depth {facts['depth']}"]
        for way, values in (("alone", at.alone), ("with BM25", at.with_bm25)):
            validation = _mean(values(model, "validation"))
            best = max(best, (validation, name, way))
            cells += [decimal(validation, 3), _difference(at.beside(values(model, "test"), name))]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    _, name, way = best
    values = at.alone if way == "alone" else at.with_bm25
    models = list(at.trained([at.training(name, TRIED[name], seed) for seed in SEEDS]))
    repeats = {
        (seed, None): (at.bm25["test"], values(model, "test"))
        for seed, model in zip(SEEDS, models, strict=True)
    }
    found = compare_trainings(repeats, names=("bm25", name), clusters=at.clusters, seed=1)
    lines = [
        "# TK against BM25 on SQuAD",
        "",
        f"{hardware()}; {date.today().isoformat()}. {len(at.qrels['validation']):,} validation "
        f"judgements of articles that no training question is of, {len(at.bm25['test']):,} test "
        f"questions; BM25's first {DEPTH} re-ranked. BM25: nDCG@10 "
        f"{decimal(_mean(at.bm25['validation']), 3)} on validation, "
        f"{decimal(_mean(at.bm25['test']), 3)} on test. Vectors of words distilled from MiniLM, "
        "1,000 steps of 32 pairs, one seed; intervals of 95 % over passages.",
        "",
        "    python benchmarks/tk_squad.py train-v1.1.json dev-v1.1.json STATE",
        "",
        f"As a start: {Tried()}; each row changes what it names.",
        "",
        (
            "| training | kept | validation, alone | test − BM25, alone | validation, with BM25 | "
            "test − BM25, with BM25 |"
        ),
        "|---|---|---:|---:|---:|---:|",
        *rows,
        "",
        (
            f"Best on validation: {name}, {way}. With {len(SEEDS)} seeds, over trainings and "
            f"passages: {decimal(found.candidate_mean, 3)} on test, {_difference(found)} against "
            "BM25."
        ),
    ]
    result_place("tk_squad").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
