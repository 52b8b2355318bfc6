"""Models of a study: what they start from, in words, and settings given on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.errors import SettingError
from positionbias.core.manifest import Manifest, manifest_path, write_manifest
from positionbias.experiments.models import ModelSettings
from positionbias.models.shapes import TKConfig
from positionbias.ops.study_models import with_assignments
from positionbias.training.config import TrainConfig

MODELS = (ModelSettings("tk"), ModelSettings("bert_cat", encoder="minilm"))


def test_settings_of_one_model_and_of_all() -> None:
    assignments = (
        "batch_size=16",
        "bert_cat.learning-rate=2e-5",
        "bert_cat.batch_size=4",
        "tk.heads=8",
        "passage_length=180",
    )
    tk, cat = with_assignments(MODELS, assignments)
    assert (
        tk.training.batch_size,
        tk.training.learning_rate,
        tk.model.heads,
        tk.model.passage_length,
    ) == (16, None, 8, 180)
    assert (cat.training.batch_size, cat.training.learning_rate, cat.model) == (
        4,
        2e-5,
        MODELS[1].model,
    )
    assert (tk.model, tk.training) == (
        TKConfig(heads=8, passage_length=180),
        TrainConfig(batch_size=16),
    )


def test_values_by_their_kind() -> None:
    (tk,) = with_assignments(
        MODELS[:1],
        ("positions=none", "tk.learning_rate=1e-3", "learning_rate=none", "precision=bfloat16"),
    )
    assert (tk.model.positions, tk.training.learning_rate, tk.training.precision) == (
        "none",
        None,
        "bfloat16",
    )


@pytest.mark.parametrize(
    ("assignment", "complaint"),
    [
        (
            "batch_size",
            (
                r"--set: wanted SETTING=VALUE, or MODEL.SETTING=VALUE with a model of the study "
                r"\(tk, bert_cat\); found 'batch_size'"
            ),
        ),
        ("=3", "--set: wanted SETTING=VALUE"),
        ("bert_dot.batch_size=3", r"\(tk, bert_cat\); found 'bert_dot.batch_size=3'"),
        (
            "bert_cat.heads=3",
            "--set: wanted a setting of bert_cat: batch_size, .*pair_length.*; found 'heads'",
        ),
        ("depht=3", "--set: wanted a setting of one of the models: batch_size, .*; found 'depht'"),
        ("tk.seed=3", "found 'seed'"),
        ("batch_size=many", "--set tk.batch_size: 'many' is not a valid whole number"),
        (
            "tk.positions=odd",
            "--set tk.positions: 'odd' is not one of 'sinusoid', 'none', 'relative'",
        ),
        ("batch_size=0", "--set tk.batch_size: 0 is not in the range x>=1"),
    ],
)
def test_what_is_refused(assignment: str, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        with_assignments(MODELS, (assignment,))


def test_what_does_not_go_together() -> None:
    with pytest.raises(
        SettingError, match="--encoder, --start: wanted one of the two; found neither"
    ):
        ModelSettings("bert_dot")
    with pytest.raises(SettingError, match="--encoder: wanted none for tk"):
        ModelSettings("tk", encoder="minilm")
    with pytest.raises(SettingError, match="wanted one of tk, .*; found 'bert'"):
        ModelSettings("bert")


def test_what_training_begins_with(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.safetensors"
    vectors.touch()
    named = [
        ModelSettings("tk"),
        MODELS[1],
        ModelSettings("bert_dot", encoder="/somewhere/distilbert-base-uncased"),
        ModelSettings("tk", word_vectors=vectors),
    ]
    words = ["", "minilm", "distilbert-base-uncased", "vectors.safetensors"]
    assert [model.pretrained for model in named] == words
    manifest = Manifest(
        kind="vectors", name="vectors", command="vectors", settings={"encoder": "minilm"}
    )
    write_manifest(manifest_path(vectors), manifest)
    assert named[3].pretrained == "vectors.safetensors (minilm)"
    record = named[3].record()
    assert (record["begins with"], record["training"]["learning_rate"]) == (
        "vectors.safetensors (minilm)",
        1e-4,
    )
    assert not any("/" in str(value) for value in record.values())


def test_a_plan(tmp_path: Path) -> None:
    run = (tmp_path / "validation.run", "dev")
    plan = MODELS[1].plan(
        candidates=tmp_path / "train.run", validation=run, seed=7, words_of=("train",)
    )
    assert (plan.kind, plan.encoder, plan.start, plan.training.seed) == (
        "bert_cat",
        "minilm",
        None,
        7,
    )
    assert (plan.validation_candidates, plan.validation_split, plan.words_of) == (*run, None)
    later = replace(MODELS[1], training=TrainConfig(max_steps=5)).plan(
        candidates=tmp_path / "train.run", start=tmp_path / "first"
    )
    assert (later.encoder, later.start, later.training.max_steps) == (None, tmp_path / "first", 5)
