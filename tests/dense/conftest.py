"""A collection with empty and repeated passages, and a BERT_DOT of random weights that reads it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from positionbias.models.shapes import BertDotConfig

from ..tiny import tiny_encoder

WORDS = "lamp gate bridge tower oil dusk stone north hall river bank green iron day".split()


def passages(count: int) -> list[Passage]:
    """Texts of one to six words; every seventh is the same, every eleventh is empty; ids are not in
    their order.
    """
    draw = np.random.default_rng(4)
    texts = [" ".join(draw.choice(WORDS, draw.integers(1, 7))) for _ in range(count)]
    texts = [
        "" if place % 11 == 5 else "lamp gate" if place % 7 == 3 else text
        for place, text in enumerate(texts)
    ]
    ids = draw.permutation(count)
    return [Passage(f"p{number}", text) for number, text in zip(ids.tolist(), texts, strict=True)]


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """60 passages, five queries of which one is empty."""
    place = tmp_path_factory.mktemp("dense") / "collection"
    queries = ["lamp gate", "stone bridge", "", "green oil lamp", "river"]
    with create_collection(place) as writer:
        writer.add_passages(passages(60))
        writer.add_split(
            "test",
            [Query(f"q{n}", text) for n, text in enumerate(queries)],
            [Qrel("q0", "p3", 1)],
            [],
        )
        writer.finish(Manifest("collection", "dense", "a test"))
    return Collection(place)


def saved_dot(place: Path, seed: int = 1) -> Checkpoint:
    """A BERT_DOT with random weights."""
    torch.manual_seed(seed)
    model = BertDot.over(
        BertDotConfig(query_length=8, passage_length=10),
        str(tiny_encoder(place.with_name(f"{place.name}-encoder"), seed=seed)),
    )
    manifest = Manifest(kind="checkpoint", name=place.name, command="a test")
    save_checkpoint(place, model.eval(), depth=None, training={}, manifest=manifest)
    return load_checkpoint(place)


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return saved_dot(tmp_path_factory.mktemp("models") / "dot")
