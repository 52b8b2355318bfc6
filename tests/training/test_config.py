"""Training settings are checked when they are made; the message names the flag."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.core.settings import Given
from positionbias.models.kinds import begins_with
from positionbias.models.shapes import KINDS, BertCatConfig, TKConfig
from positionbias.training.config import TrainConfig, settle_steps
from positionbias.training.plan import TrainPlan


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"batch_size": 0}, "--batch-size: 0 is not in the range x>=1"),
        ({"patience": 0}, "--patience"),
        (
            {"least_depth": 9, "most_depth": 8},
            "least_depth: wanted from 1 to --most-depth (8); found 9",
        ),
        ({"learning_rate": math.inf}, "--learning-rate"),
        ({"save_minutes": math.inf}, "--save-minutes: inf is not a finite number"),
        (
            {"loss": "triplet"},
            "--loss: 'triplet' is not one of 'hinge', 'pointwise', 'lce', 'margin_mse', 'kl', ",
        ),
        ({"group_size": 1}, "--group-size: 1 is not in the range x>=2"),
        ({"schedule": "cosine"}, "--schedule: 'cosine' is not one of 'constant', 'linear'"),
        (
            {"warmup_share": 0.1, "warmup_steps": 5},
            "--warmup-share: wanted a share from 0 to 1, or --warmup-steps; found 0.1 beside",
        ),
    ],
)
def test_a_setting_out_of_range_names_its_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError) as stop:
        TrainConfig(**change)
    assert str(stop.value).startswith(named)


def plan(**changes: object) -> TrainPlan:
    return TrainPlan(**{"candidates": Path("a"), "validation_candidates": Path("b"), **changes})


def test_each_kind_has_its_learning_rate_unless_one_is_given() -> None:
    rates = {
        kind: plan(
            kind=kind, encoder="minilm" if begins_with(kind) == "encoder" else None
        ).training.learning_rate
        for kind in KINDS
    }
    paper = {"tk": 1e-4, "bert_cat": 7e-6, "bert_dot": 7e-6}  # position-bias paper, §3
    assert rates == paper | {"colbert": 7e-6, "mono_t5": 1e-4} | dict.fromkeys(
        ("knrm", "conv_knrm", "duet", "pacrr"), 1e-3
    )
    assert plan(training=TrainConfig(learning_rate=0.5)).training.learning_rate == 0.5


def test_each_model_has_its_loss_unless_one_is_given() -> None:
    assert plan().training.loss == "hinge"
    assert plan(kind="bert_cat", encoder="e").training.loss == "hinge"
    assert (
        plan(kind="bert_cat", encoder="e", model=BertCatConfig(head="relevance")).training.loss
        == "pointwise"
    )
    assert plan(kind="mono_t5", encoder="e").training.loss == "pointwise"
    assert plan(kind="mono_t5", start=Path("m")).training.loss == "pointwise"


def test_steps_of_so_many_epochs() -> None:
    # 30 groups in batches of 8: 4 batches a pass, 12 in three; 5 at a time: 3 steps, the last of 2
    # batches
    assert TrainConfig(batch_size=8, epochs=3).steps(30) == 12
    assert TrainConfig(batch_size=8, epochs=3, accumulate=5).steps(30) == 3
    assert TrainConfig(max_steps=7).steps(30) == 7


def test_what_decides_nothing_is_no_setting_of_a_training() -> None:
    slow, quick = TrainConfig(), TrainConfig(threads=3, save_every=7, save_minutes=1)
    assert slow.deciding() == quick.deciding()
    assert quick.means() == {"threads": 3, "save_every": 7, "save_minutes": 1}
    assert set(quick.deciding()) | set(quick.means()) == set(TrainConfig.__dataclass_fields__)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"kind": "splade"}, f"model: wanted one of {', '.join(KINDS)}; found 'splade'"),
        ({"relevant_from": 0}, "--relevant-from: 0 is not in the range x>=1"),
        ({"encoder": "minilm"}, "--encoder: wanted none for tk, which reads words; found minilm"),
        (
            {"kind": "duet", "word_vectors": Path("v")},
            "--word-vectors: wanted none for duet; found v; leave it out",
        ),
        ({"kind": "bert_cat"}, "--encoder, --start: wanted one of the two; found neither"),
        (
            {"kind": "bert_dot", "encoder": "minilm", "start": Path("m")},
            "--encoder, --start: wanted one of the two; found both",
        ),
        (
            {"kind": "bert_dot", "encoder": "minilm", "word_vectors": Path("v")},
            "--word-vectors: wanted none for bert_dot",
        ),
        (
            {"kind": "bert_cat", "encoder": "minilm", "training": TrainConfig(loss="pointwise")},
            "--loss: wanted hinge, lce, margin_mse, kl, ranknet: this bert_cat has no head",
        ),
        (
            {"kind": "bert_cat", "encoder": "minilm", "model": TKConfig()},
            "model: wanted the shape of a bert_cat; found TKConfig",
        ),
        (
            {"training": TrainConfig(loss="pointwise")},
            (
                "--loss: wanted hinge, lce, margin_mse, kl, ranknet: this tk has no head for "
                "relevant and not relevant; found pointwise; give one of these, or"
            ),
        ),
        (
            {"kind": "mono_t5", "encoder": "t5", "training": TrainConfig(loss="hinge")},
            (
                "--loss: wanted pointwise: this mono_t5 scores by log-probability; found hinge; "
                "give --loss pointwise"
            ),
        ),
    ],
)
def test_what_does_not_go_together(changes: dict, complaint: str) -> None:
    with pytest.raises(SettingError) as stop:
        plan(**changes)
    assert str(stop.value).startswith(complaint)


def test_epochs_and_steps_are_not_both_given() -> None:
    values = {"epochs": 1, "max_steps": 4, "warmup_steps": 0}
    settle_steps(Given(values, {"epochs"}))
    with pytest.raises(
        SettingError, match="--epochs, --max-steps: wanted one of the two; found 1 and 4; give one"
    ):
        settle_steps(Given(values, {"epochs", "max_steps"}))


def test_what_is_recorded_is_the_precision_that_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (TrainConfig().precision, TrainConfig().deciding()["precision"]) == ("auto", "float32")
    assert TrainConfig(precision="bfloat16").deciding()["precision"] == "bfloat16"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda emulated=True: True)
    assert TrainConfig().deciding()["precision"] == "bfloat16"
