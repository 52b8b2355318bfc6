"""Remedies at inference: variants by hand, pooled scores against the model's own, and models on
disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest, write_manifest
from positionbias.core.run import Run
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.protocols import SingleVector, VariantScorer
from positionbias.models.remedied import remedied
from positionbias.models.remedies import Remedy, read_remedy, rotations, segments
from positionbias.ranking.pairs import score_pairs
from positionbias.ranking.rerank import rescore

from ..tiny import candidates, planted, saved_tk, tiny_encoder


def test_rotations_are_spread_evenly() -> None:
    assert rotations("a b c d e f", 3) == ["a b c d e f", "c d e f a b ", "e f a b c d "]
    assert rotations("a b c d e", 2) == ["a b c d e", "c d e a b "]  # word 2 of 5
    assert rotations("a b", 4) == ["a b", "a b", "b a ", "b a "]
    assert rotations("", 2) == ["", ""]
    assert rotations("  ", 2) == ["  ", "  "]


def test_segments_hold_every_character_once() -> None:
    assert segments("a b c d e", 2) == ["a b ", "c d e"]
    assert segments(" a b c", 3) == [" a ", "b ", "c"]
    assert "".join(segments("one  two, three. four", 3)) == "one  two, three. four"
    assert segments("a b", 3) == ["a b", "a ", "b"]  # no word for the first: the whole
    assert segments("", 2) == ["", ""]


@pytest.mark.parametrize(
    "told",
    [
        "rotate",
        "rotate:",
        "rotate:1",
        "rotate:65",
        "turn:4",
        "rotate:4:4",
        "rotate:-4",
        "rotate:٤",
        "",
    ],
)
def test_no_remedy(told: str) -> None:
    with pytest.raises(SettingError, match="--remedy: wanted NAME:K"):
        read_remedy(told)


def test_a_remedy_as_text() -> None:
    assert str(read_remedy("segments-max:3")) == "segments-max:3"
    assert read_remedy("rotate:4") == Remedy("rotate", 4)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("remedies") / "planted")


@pytest.fixture(scope="module")
def run(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return candidates(collection, tmp_path_factory.mktemp("runs"))["test"]


@pytest.fixture(scope="module")
def tk(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_tk(tmp_path_factory.mktemp("models") / "tk.ckpt", collection)


POOLS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rotate:3": lambda scores: scores.mean(axis=1),
    "rotate-max:3": lambda scores: scores.max(axis=1),
    "segments-max:2": lambda scores: scores.max(axis=1),
}


@pytest.mark.parametrize("told", POOLS)
def test_scores_are_those_of_the_variants_pooled(
    collection: Collection, run: Path, tk: Path, told: str, tmp_path: Path
) -> None:
    positionbias.debias_model(tk, remedy=told, out=tmp_path / "new")
    model = load_checkpoint(tmp_path / "new").model
    assert isinstance(model, VariantScorer)
    given = Run.from_file(run)
    queries = {query.query_id: query.text for query in collection.queries("test")}
    found = rescore(model, collection, collection.queries("test"), given, name="new").run
    base = load_checkpoint(tk).model
    for query_id in given:
        ids = given[query_id].passage_ids
        texts = [read_remedy(told).variants(text) for text in collection.texts(ids)]
        scores = score_pairs(
            base, [(queries[query_id], variant) for own in texts for variant in own]
        )  # type: ignore[arg-type]
        wanted = dict(
            zip(
                ids,
                POOLS[told](scores.reshape(len(ids), -1).astype(np.float64)).tolist(),
                strict=True,
            )
        )
        assert dict(
            zip(found[query_id].passage_ids, found[query_id].scores, strict=True)
        ) == pytest.approx(wanted, abs=2e-5)


def dot(folder: Path, similarity: bool) -> BertDot:
    from positionbias.models.shapes import BertDotConfig

    shape = BertDotConfig(pooling="mean", normalize=similarity)
    return BertDot.load(
        tiny_encoder(folder),
        json.loads(json.dumps({name: getattr(shape, name) for name in shape.__slots__})),
    )


@pytest.mark.parametrize("normalize", [False, True])
def test_an_encoder_s_mean_vector_scores_as_the_mean_of_scores(
    tmp_path: Path, normalize: bool
) -> None:
    base = dot(tmp_path / "bert", normalize).eval()
    model = remedied(base, Remedy("rotate", 3), {})
    assert isinstance(model, SingleVector)
    texts, query = (
        ["the lamp burns oil in the hall", "iron gate", "stone water green hall what is"],
        "what is the lamp",
    )
    with torch.inference_mode():
        asked, own = model.encode_queries(model.read_queries([query]))
        vectors, mask = model.encode_passages(model.read_passages(texts))
        found = model.interact(asked, own, vectors, mask)
        expected = []
        for text in texts:
            variants = rotations(text, 3)
            sides = base.encode_passages(base.read_passages(variants))
            expected.append(
                base.interact(*base.encode_queries(base.read_queries([query])), *sides)
                .mean()
                .item()
            )
    assert vectors.shape == (3, 1, 16)
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


def test_a_maximum_over_vectors_is_no_single_vector(tmp_path: Path) -> None:
    assert not isinstance(
        remedied(dot(tmp_path / "bert", False), Remedy("rotate-max", 2), {}), SingleVector
    )


class Counting:
    """A listwise scorer: the share of a query's list that a passage is in front of."""

    kind = "listwise"

    def __init__(self) -> None:
        self.lists: list[list[str]] = []

    device = torch.device("cpu")

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        self.lists.append(list(passages))
        return [float(-place) for place in range(len(passages))]

    def to(self, device: torch.device) -> Counting:
        return self


def test_a_listwise_scorer_sees_whole_lists_of_one_variant_each(
    collection: Collection, run: Path
) -> None:
    base = Counting()
    given = Run(
        "two",
        [
            (query_id, Run.from_file(run)[query_id].passage_ids[:3], [3, 2, 1])
            for query_id in list(Run.from_file(run))[:1]
        ],
    )
    rescore(
        remedied(base, Remedy("rotate", 2), {}),
        collection,
        collection.queries("test"),
        given,
        name="x",
    )
    (query_id,) = given
    texts = collection.texts(given[query_id].passage_ids)
    assert base.lists == [texts, [rotations(text, 2)[1] for text in texts]]


@pytest.fixture
def made(tk: Path, tmp_path: Path) -> Path:
    positionbias.debias_model(tk, remedy="rotate:2", out=tmp_path / "new")
    return tmp_path / "new"


def test_changed_files_are_refused(made: Path) -> None:
    (made / "remedy.json").write_text('{"remedy": "rotate:33"}')
    with pytest.raises(InputError, match="remedy.json: wanted .* bytes, as its manifest says"):
        load_checkpoint(made)


def test_a_remedy_that_this_version_does_not_know(made: Path) -> None:
    manifest = read_manifest(made)
    (made / "remedy.json").write_text('{"remedy": "turn:3"}')
    write_manifest(made / "manifest.json", manifest)  # sealed anew
    with pytest.raises(InputError, match="wanted a remedy as rotate:4; found 'turn:3'"):
        load_checkpoint(made)


def test_what_is_not_in_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_to_remedy.py").write_text(
        "def score(query, passages):\n    return [float(len(p)) for p in passages]\n"
    )
    with pytest.raises(InputError, match="wanted a model in files"):
        positionbias.debias_model("mine_to_remedy:score", remedy="rotate:2", out=tmp_path / "new")
    assert not (tmp_path / "new").exists()
