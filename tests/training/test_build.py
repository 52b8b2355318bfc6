"""The model a training begins with: given vectors, an encoder, or a checkpoint whose words and
weights it keeps.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Query
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.tk import TK
from positionbias.training.build import build_model
from positionbias.training.plan import TrainPlan
from positionbias.training.planned import settings_of

from ..tiny import TINY
from .conftest import Task

# words that the planted collection does not have: zorb and zarb twice, once among the training
# queries; zirb once
TEXTS = ("zorb zorb zarb", "zirb")


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("build") / "target"
    with create_collection(place) as writer:
        writer.add_passages(Passage(f"p{number}", text) for number, text in enumerate(TEXTS))
        writer.add_split("train", [Query("q", "zarb")], [])
        writer.finish(Manifest("collection", "target", "a test"))
    return Collection(place)


def going_on(task: Task, start: Checkpoint, **changes: object) -> TrainPlan:
    return replace(task.plan(), model=None, start=start.path, **changes)  # type: ignore[arg-type]


def test_words_of_the_start_keep_their_rows_and_new_ones_follow(
    task: Task, uninterrupted: Checkpoint, target: Collection
) -> None:
    start = uninterrupted.model
    assert isinstance(start, TK)
    model, counted = build_model(target, going_on(task, uninterrupted))
    assert isinstance(model, TK)
    known = len(start.vocabulary.words)
    assert model.vocabulary.words[:known] == start.vocabulary.words
    assert model.vocabulary.words[known:] == ["zarb", "zorb"]
    assert counted == {
        "words": known + 2,
        "words_of_the_start": known,
        "words_with_a_given_vector": 0,
    }
    rows = model.embedding.weight
    assert torch.equal(rows[: known + 2], start.embedding.weight)
    assert torch.isfinite(rows[known + 2 :]).all()
    assert not torch.equal(rows[-1], rows[-2])
    for name, weight in start.state_dict().items():
        if name != "embedding.weight":
            assert torch.equal(model.state_dict()[name], weight), name
    # read with the start's words only, it scores as the start does
    one, two, three = start.vocabulary.words[:3]
    read = [
        m.inputs(m.read_queries([one]), m.read_passages([f"{one} {two}", three]))
        for m in (start, model)
    ]
    with torch.no_grad():
        assert torch.equal(start(**read[0]), model(**read[1]))
    again, _ = build_model(target, going_on(task, uninterrupted))
    assert torch.equal(again.embedding.weight, rows)  # type: ignore[attr-defined]


def test_new_words_take_their_given_vectors(
    task: Task, uninterrupted: Checkpoint, target: Collection, tmp_path: Path
) -> None:
    known = uninterrupted.model.vocabulary.words[0]  # type: ignore[attr-defined]
    values = " ".join(["0.25"] * TINY.dimension)
    (tmp_path / "v.txt").write_text(
        "".join(f"{word} {values}\n" for word in ("zorb", "zirb", known))
    )
    model, counted = build_model(
        target, going_on(task, uninterrupted, word_vectors=tmp_path / "v.txt")
    )
    assert isinstance(model, TK)
    number = model.vocabulary.number
    for word in ("zorb", "zirb"):  # one seen once, which has a vector
        assert model.embedding.weight[number(word)].tolist() == [0.25] * TINY.dimension
    assert model.embedding.weight[number("zarb")].tolist() != [0.25] * TINY.dimension
    # a word of the start keeps what it has learned, and its vector is not used
    assert torch.equal(model.embedding.weight[2], uninterrupted.model.embedding.weight[2])
    assert (number(known), counted["words_with_a_given_vector"]) == (2, 2)


def test_a_start_of_another_kind_or_shape(task: Task, uninterrupted: Checkpoint) -> None:
    plan = replace(task.plan("bert_cat"), encoder=None, start=uninterrupted.path)
    with pytest.raises(
        SettingError, match="--start: wanted a checkpoint of kind bert_cat; found tk; give another"
    ):
        build_model(task.collection, plan)
    with pytest.raises(
        SettingError,
        match="--start: wanted a checkpoint of the shape asked for; found TKConfig.dimension=8",
    ):
        build_model(
            task.collection,
            replace(task.plan(), start=uninterrupted.path, model=replace(TINY, heads=4)),
        )
    with pytest.raises(InputError, match="wanted the folder of a checkpoint; found no such folder"):
        settings_of(replace(task.plan(), model=None, start=Path("nowhere")), task.collection)


@pytest.mark.parametrize("kind", ["bert_cat", "colbert"])
def test_a_model_over_an_encoder_is_a_function_of_the_seed(task: Task, kind: str) -> None:
    state = torch.random.get_rng_state()
    one, other, third = (
        build_model(task.collection, task.plan(kind, seed=seed))[0] for seed in (1, 1, 2)
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name]), name
    differ = [
        name
        for name, weight in one.state_dict().items()
        if not torch.equal(weight, third.state_dict()[name])
    ]
    # the encoder's own weights are what they are
    assert all(name.startswith(("head", "projection")) for name in differ)
    assert bool(differ) == (kind != "bert_dot")


def test_a_transfer_trains_and_says_where_it_comes_from(
    task: Task, uninterrupted: Checkpoint, tmp_path: Path
) -> None:
    plan = replace(task.plan(max_steps=2), model=None, start=uninterrupted.path)
    checkpoint = task.train(tmp_path / "on.ckpt", plan)
    begun = checkpoint.manifest.input("start")
    assert begun is not None
    assert begun.checksum == uninterrupted.manifest.content["checksum"]
    best = next(
        r for r in uninterrupted.training.log if r["step"] == uninterrupted.training.best_step
    )
    assert checkpoint.training.log[0]["ndcg"] == best["ndcg"]
    assert checkpoint.training.log[0]["mats"] == best["mats"]
    assert checkpoint.manifest.licence == uninterrupted.manifest.licence
