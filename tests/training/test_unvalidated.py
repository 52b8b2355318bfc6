"""Trained without validation: all steps are made, and the last weights are kept."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.core.run import Run
from positionbias.training.batches import TrainingTexts, batches
from positionbias.training.build import build_model
from positionbias.training.devices import find_devices
from positionbias.training.trainer import Trainer
from positionbias.training.trainsets.sample import make_sampler

from .conftest import Task


def test_the_last_weights_are_kept(task: Task, tmp_path: Path) -> None:
    plan = task.plan(validation_candidates=None, max_steps=5, patience=1, save_every=1)
    checkpoint = task.train(tmp_path / "tk.ckpt", plan)
    model, _ = build_model(task.collection, plan)
    trainer = Trainer(model, plan.training, find_devices(), tmp_path, steps=plan.training.max_steps)
    source = make_sampler(task.collection.qrels("train"), Run.from_file(task.runs["train"]), seed=1)
    texts = TrainingTexts(
        task.collection, {q.query_id: q.text for q in task.collection.queries("train")}, source
    )
    for epoch, number in ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0)):
        trainer.step(list(islice(batches(model, texts, size=8, epoch=epoch, start=number), 1)))
    for name, weight in checkpoint.ranker.state_dict().items():
        assert torch.equal(weight, model.state_dict()[name]), name


def test_with_validation_the_manifest_says_that(uninterrupted) -> None:
    assert uninterrupted.manifest.content["weights"] == "the best on validation"


@pytest.mark.parametrize(("accumulate", "steps", "pairs"), [(1, 8, 60), (3, 3, 60)])
def test_epochs_are_whole_passes(
    task: Task, tmp_path: Path, accumulate: int, steps: int, pairs: int
) -> None:
    # 30 pairs in batches of 8: four a pass; by threes 3 + 3 + 2 of the eight
    plan = task.plan(
        validation_candidates=None, epochs=2, accumulate=accumulate, validate_every=100
    )
    checkpoint = task.train(tmp_path / "tk.ckpt", plan)
    (row,) = checkpoint.training.log
    assert (row["step"], row["pairs"]) == (steps, pairs)


def test_a_training_that_diverges_says_so(task: Task, tmp_path: Path) -> None:
    plan = task.plan(validation_candidates=None, learning_rate=1e30, max_steps=50)
    with pytest.raises(
        SettingError,
        match="--learning-rate: wanted a finite loss; found .*; what was saved before is in",
    ):
        task.train(tmp_path / "tk.ckpt", plan)
