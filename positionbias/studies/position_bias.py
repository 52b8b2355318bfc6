"""The position-bias study: where answers sit, what a re-ranker makes of it, and what rotation changes.

    rotate → BM25 candidates (one run, made on the original text, for both test sets) → train on the original and on the rotated
    passages → re-rank original and rotated test passages with both → measures, tests, MATS → report

Every step is restartable (``studies.step``). The original and the rotated test share queries, judgements and candidates: what a
re-ranker reads is all that differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.result import save_results
from positionbias.core.run import Run, read_run
from positionbias.engine.local import map_shards
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.models.tk import TKConfig
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.ranking.rerank import rerank_run
from positionbias.studies.measured import Measured, measure_study
from positionbias.studies.step import Steps
from positionbias.training.config import TrainConfig
from positionbias.training.state import unfinished
from positionbias.training.train import TrainPlan, train_model

__all__ = ["MODELS", "StudySettings", "position_bias"]

MODELS = ("tk",)
TRAININGS = ("original", "rotated")
SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What the study is run with. ``depth`` is that of validation and test candidates, ``train_depth`` that from which
    negatives are drawn. ``probe_passages`` None probes MATS on all passages."""

    models: tuple[str, ...] = ("tk",)
    rotation: Rotation = field(default_factory=Rotation)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    depth: int = 100
    train_depth: int = 100
    model: TKConfig = field(default_factory=TKConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    rotate_at_reading: bool = False
    measures: tuple[str, ...] = ("nDCG@10", "RR@10", "R@10")
    probe_passages: int | None = None
    trainings: tuple[str, ...] = TRAININGS
    seed: int = 1

    def __post_init__(self) -> None:
        for flag, values, known in (("--models", self.models, MODELS), ("--only", self.trainings, TRAININGS)):
            unknown = [value for value in values if value not in known]
            if unknown or not values:
                raise SettingError(
                    f"{flag}: wanted some of {', '.join(known)}; found {', '.join(unknown) or 'none'}; give one of these"
                )
        for flag, depth in (("--depth", self.depth), ("--train-depth", self.train_depth)):
            if depth < 1:
                raise SettingError(f"{flag}: wanted at least 1; found {depth}; raise it")


class _Study:
    """The study's folder and what its steps share."""

    def __init__(self, collection: Collection, out: Path, settings: StudySettings, steps: Steps, workers: int) -> None:
        self.collection, self.out, self.settings, self.steps, self.workers = collection, out, settings, steps, workers

    def rotated(self) -> Collection:
        place, rotation = self.out / "rotated", self.settings.rotation

        def make() -> None:
            debias(
                self.collection,
                place,
                rotation,
                map_shards=lambda function, items: map_shards(function, items, self.workers),
                overwrite=True,
                name=f"{self.collection.name}-rotated",
                provenance={"workers": self.workers},
            )

        self.steps.make("rotate", place, asdict(rotation), {"collection": self.collection.checksum}, make)
        return Collection(place)

    def candidates(self, split: str) -> Path:
        place = self.out / "runs" / f"bm25-{split}.run"
        depth = self.settings.train_depth if split == "train" else self.settings.depth

        def make() -> None:
            retrieve_run(self.collection, split, depth, self.settings.bm25, place, overwrite=True)

        settings = {"split": split, "depth": depth, **asdict(self.settings.bm25)}
        return self.steps.make(f"bm25-{split}", place, settings, {"collection": self.collection.checksum}, make)

    def trained(self, variant: str, collection: Collection, runs: Mapping[str, Path]) -> Checkpoint:
        place = self.out / "models" / f"tk-{variant}"
        rotate = self.settings.rotation if variant == "rotated" and self.settings.rotate_at_reading else None
        plan = TrainPlan(
            candidates=runs["train"],
            validation_candidates=runs["validation"],
            model=self.settings.model,
            training=self.settings.training,
            rotate=rotate,
        )

        def make() -> None:
            run = read_run(runs["train"]), read_run(runs["validation"])
            train_model(collection, *run, plan, place, resume=unfinished(place) is not None, overwrite=True)

        self.steps.make(f"train-tk-{variant}", place, plan.settings(collection), {"collection": collection.checksum}, make)
        return load_checkpoint(place)

    def reranked(self, model: Checkpoint, collection: Collection, test: str, candidates: Path) -> Run:
        place = self.out / "runs" / f"{model.name}-on-{test}.run"

        def make() -> None:
            rerank_run(model, collection, "test", read_run(candidates), candidates, place, overwrite=True)

        inputs = {
            "model": model.manifest.content["checksum"],
            "collection": collection.checksum,
            "candidates": sha256_file(candidates),
        }
        self.steps.make(f"rerank-{model.name}-on-{test}", place, {"depth": model.depth}, inputs, make)
        return read_run(place)


def position_bias(
    collection: Collection,
    out: Path,
    settings: StudySettings,
    *,
    workers: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Path:
    """Run the study on ``collection`` in the folder ``out``; give back the folder of its results (``out/results``).

    Raises:
        InputError: the collection lacks one of the splits train, validation and test.
    """
    if missing := [split for split in SPLITS if split not in collection.splits]:
        raise InputError(
            f"{collection.path}: wanted the splits {', '.join(SPLITS)}; found no {', '.join(missing)}; "
            "import it with all three (for SQuAD: --validation N)"
        )
    study = _Study(collection, out, settings, Steps(out, tell), workers)
    rotated = study.rotated()
    runs = {split: study.candidates(split) for split in SPLITS}
    sources = {"original": collection, "rotated": rotated}
    training_source = {"original": collection, "rotated": collection if settings.rotate_at_reading else rotated}
    # original first, whatever the order asked for: the others stand against it
    variants = [variant for variant in TRAININGS if variant in settings.trainings]
    models = {variant: study.trained(variant, training_source[variant], runs) for variant in variants}
    reranked = {
        (model.name, test): study.reranked(model, source, test, runs["test"])
        for model in models.values()
        for test, source in sources.items()
    }
    place = out / "results"
    inputs = {f"{name} on {test}": _run_checksum(out, name, test) for name, test in reranked}
    inputs |= {"collection": collection.checksum, "rotated": rotated.checksum, "candidates": sha256_file(runs["test"])}
    for model in models.values():  # another training may end in the same weights by another way
        inputs |= {
            model.name: model.manifest.content["checksum"],
            f"{model.name} log": sha256_file(model.path / "training.json"),
        }

    def make() -> None:
        measured = Measured(collection, rotated, read_run(runs["test"]), reranked, list(models.values()))
        results = measure_study(measured, settings.measures, probe_passages=settings.probe_passages, seed=settings.seed)
        save_results(place, results, _manifest(collection, rotated, place, settings, models), overwrite=True)

    record = {"measures": settings.measures, "probe_passages": settings.probe_passages, "seed": settings.seed}
    study.steps.make("measure", place, record, inputs, make)
    return place


def _run_checksum(out: Path, name: str, test: str) -> str:
    return sha256_file(out / "runs" / f"{name}-on-{test}.run")


def _manifest(
    collection: Collection, rotated: Collection, place: Path, settings: StudySettings, models: Mapping[str, Checkpoint]
) -> Manifest:
    inputs = [
        input_ref("collection", collection.path, collection.checksum, artefact=place),
        input_ref("rotated", rotated.path, rotated.checksum, artefact=place),
        *(input_ref(m.name, m.path, m.manifest.content["checksum"], artefact=place) for m in models.values()),
    ]
    record: dict[str, Any] = {"study": asdict(settings), "collection": dict(collection.manifest.settings)}
    return Manifest(
        kind="results",
        name=f"Position bias: {collection.name}",
        command="study position-bias",
        settings=record,
        seed=settings.seed,
        inputs=tuple(inputs),
        content={"models": {m.name: dict(m.manifest.content) for m in models.values()}},
        licence=collection.manifest.licence,
        notes=(
            "Original and rotated test share queries, judgements and BM25 candidates made on the original text [decision].",
            "One re-ranking depth a model, tuned on its validation queries, used on both test sets [decision].",
        ),
        versions=package_versions("torch", "numpy", "bm25s", "ir_measures", "scipy"),
        provenance=provenance(),
    )
