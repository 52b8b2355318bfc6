"""Trained pointwise: monoBERT and monoT5 from the first batch to the re-ranked run."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from positionbias.core.errors import SettingError
from positionbias.core.run import Run
from positionbias.models.bert_cat import BertCat
from positionbias.models.mono_t5 import MonoT5
from positionbias.models.shapes import BertCatConfig
from positionbias.training.batches import TrainingTexts, batches
from positionbias.training.build import build_model
from positionbias.training.devices import find_devices
from positionbias.training.plan import TrainPlan
from positionbias.training.trainer import Trainer
from positionbias.training.trainsets.sample import make_sampler

from .conftest import Task


def plan_of(task: Task, kind: str, **changes: object) -> TrainPlan:
    return task.plan(
        kind,
        **({"model": BertCatConfig(head="relevance")} if kind == "bert_cat" else {}),
        **changes,
    )


def logits(model: BertCat | MonoT5, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Of not relevant and relevant, ``(n, 2)``."""
    if isinstance(model, MonoT5):
        return model.t5.logits(**inputs)
    assert model.head is not None
    return model.head(model.encoder.cls(**inputs))


@pytest.mark.parametrize("kind", ["bert_cat", "mono_t5"])
def test_the_loss_of_a_step_is_the_cross_entropy_of_its_passages(
    task: Task, tmp_path: Path, kind: str
) -> None:
    plan = plan_of(task, kind, dropout=False)
    assert plan.training.loss == "pointwise"
    model, _ = build_model(task.collection, plan)
    assert isinstance(model, BertCat | MonoT5)
    source = make_sampler(task.collection.qrels("train"), Run.from_file(task.runs["train"]), seed=1)
    texts = TrainingTexts(
        task.collection, {q.query_id: q.text for q in task.collection.queries("train")}, source
    )
    trainer = Trainer(model, plan.training, find_devices(), tmp_path, steps=plan.training.max_steps)
    (batch,) = islice(batches(model, texts, size=4, epoch=0), 1)
    with torch.no_grad():
        found = logits(model.eval(), batch.inputs)
        labels = torch.tensor([1] * 4 + [0] * 4)
        wanted = F.cross_entropy(found, labels).item()
        scores = found.log_softmax(dim=1)[:, 1]
    trainer.step([batch])
    since = trainer.record.since
    assert since.means()["loss"] == pytest.approx(wanted, rel=1e-4)
    assert since.right == (scores[:4] > scores[4:]).sum().item()
    assert since.margin == pytest.approx((scores[:4] - scores[4:]).sum().item(), abs=1e-4)


def test_a_start_that_does_not_fit_the_loss(task: Task, tmp_path: Path) -> None:
    unlooked = {"validation_candidates": None, "max_steps": 1}
    linear = task.train(tmp_path / "linear.ckpt", task.plan("bert_cat", **unlooked)).path
    mono = task.train(tmp_path / "mono.ckpt", plan_of(task, "bert_cat", **unlooked)).path
    begun = {"encoder": None, **unlooked}
    with pytest.raises(
        SettingError,
        match=(
            "--loss: wanted hinge, lce, margin_mse, kl, ranknet: this bert_cat has no head for "
            "relevant .* or a bert_cat from"
        ),
    ):
        task.train(
            tmp_path / "a.ckpt", task.plan("bert_cat", start=linear, loss="pointwise", **begun)
        )
    with pytest.raises(
        SettingError,
        match=(
            "--loss: wanted pointwise: this bert_cat scores by log-probability; found hinge; give"
        ),
    ):
        task.train(tmp_path / "a.ckpt", task.plan("bert_cat", start=mono, **begun))
    gone_on = task.train(
        tmp_path / "a.ckpt", task.plan("bert_cat", start=mono, loss="pointwise", **begun)
    )
    assert gone_on.ranker.config == BertCatConfig(head="relevance")
