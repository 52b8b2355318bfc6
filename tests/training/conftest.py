"""One planted collection with its candidates for all training tests; nothing writes to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from positionbias.core.collection import Collection
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.kinds import begins_with
from positionbias.models.shapes import ColBERTConfig, ConvKNRMConfig
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan
from positionbias.training.train import train_model

from ..models.t5 import saved_t5
from ..tiny import TINY, candidates, planted, tiny_encoder

QUICK = TrainConfig(
    batch_size=8,
    max_steps=6,
    validate_every=2,
    probe_passages=30,
    learning_rate=0.1,
    kernel_learning_rate=0.1,
    threads=1,
)

SHAPES = {
    "tk": TINY,
    "conv_knrm": ConvKNRMConfig(dimension=8, filters=6),
    "colbert": ColBERTConfig(dimension=12),
}  # of others their own
SLOWLY = {"learning_rate": 1e-3}  # over an encoder


class Task(NamedTuple):
    """A collection, its runs, and a plan to train on it for a few steps; ``encoder`` is the folder
    of a tiny one, ``t5`` of a tiny T5.
    """

    collection: Collection
    runs: dict[str, Path]
    encoder: Path = Path()
    t5: Path = Path()

    def plan(self, kind: str = "tk", **changes: object) -> TrainPlan:
        """``training`` changes by keyword where the name is one of its settings, else the plan's
        own.
        """
        own = {
            name: changes.pop(name)
            for name in list(changes)
            if name in TrainPlan.__dataclass_fields__
        }
        settings: dict[str, object] = {
            "candidates": self.runs["train"],
            "validation_candidates": self.runs["validation"],
            "model": SHAPES.get(kind),
            "encoder": None
            if begins_with(kind) == "words"
            else str(self.t5 if kind == "mono_t5" else self.encoder),
            "training": replace(QUICK, **{**({} if kind == "tk" else SLOWLY), **changes}),
        }
        return TrainPlan(kind=kind, **{**settings, **own})  # type: ignore[arg-type]

    def train(self, out: Path, plan: TrainPlan | None = None, **options: object) -> Checkpoint:
        collection = options.pop("collection", self.collection)
        return train_model(collection, plan or self.plan(), out, **options)  # type: ignore


@pytest.fixture(scope="package")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("training")
    collection = planted(folder / "planted")
    return Task(
        collection,
        candidates(collection, folder),
        tiny_encoder(folder / "encoder"),
        saved_t5(folder / "t5"),
    )


@pytest.fixture(scope="package")
def uninterrupted(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """The quick plan's checkpoint, trained in one go."""
    return task.train(tmp_path_factory.mktemp("uninterrupted") / "tk.ckpt")


Stop = Callable[[dict], None]


def stop_at(step: int) -> Stop:
    """Ctrl-C while the validation at ``step`` is reported."""

    def on_validation(row: dict) -> None:
        if row["step"] == step:
            raise KeyboardInterrupt

    return on_validation
