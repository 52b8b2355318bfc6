"""Cached re-ranking equals scoring pair by pair; each distinct passage is encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.tk import TK
from positionbias.ranking.rerank import rescore, score_pairs

from ..tiny import tiny_tk

RANDOM = np.random.default_rng(7)
WORDS = [f"word{i}" for i in range(20)]
TEXTS = {f"p{i}": " ".join(RANDOM.choice([*WORDS, "unheard"], RANDOM.integers(1, 60))) for i in range(40)} | {
    "empty": "",
    "blank": " \n",
    "long": " ".join(WORDS * 30),  # 600 words, of which 200 are read
}
QUERIES = [
    Query("q-one", "word3"),
    Query("q-long", " ".join(WORDS * 3)),  # 60 words, of which 30 are read
    Query("q-unknown", "nobody knows these"),
    Query("q-empty", "  "),
    Query("q-many", "word1 word2 word3 word4"),
]
RUN = Run(
    "bm25",
    [
        ("q-one", ["p1", "p2", "empty"], [3, 2, 1]),
        ("q-long", ["p2", "long", "p3"], [3, 2, 1]),
        ("q-unknown", ["p1", "blank"], [2, 1]),
        ("q-empty", ["p4", "p5", "p6"], [3, 2, 1]),
        ("q-many", list(TEXTS), range(len(TEXTS), 0, -1)),
    ],
)


class Texts:
    """Passages by id."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [TEXTS[passage_id] for passage_id in passage_ids]


@pytest.fixture(scope="module")
def model() -> TK:
    return tiny_tk([" ".join(WORDS)] * 2)


def scores(run: Run) -> dict[tuple[str, str], float]:
    return {
        (r.query_id, passage_id): float(score)
        for r in run.rankings()
        for passage_id, score in zip(r.passage_ids, r.scores, strict=True)
    }


@pytest.mark.parametrize("pair_words", [1, 450, 65_536])
def test_equals_scoring_pair_by_pair(model: TK, pair_words: int) -> None:
    done = rescore(model, Texts(), QUERIES, RUN, name="tk", pair_words=pair_words)
    found = scores(done.run)
    texts = {query.query_id: query.text for query in QUERIES}
    assert found.keys() == scores(RUN).keys()
    for (query_id, passage_id), score in found.items():
        (alone,) = score_pairs(model, [(texts[query_id], TEXTS[passage_id])])
        assert score == pytest.approx(float(alone), abs=1e-5, rel=1e-5), (query_id, passage_id)
    assert (done.run.name, done.passages, done.empty_queries) == ("tk", len(TEXTS), 1)
    assert done.truncated == 1


def test_pairs_scored_together_are_those_scored_alone(model: TK) -> None:
    pairs = [("word1", "word2 word3"), ("", "word1"), ("word1 word2 word3", ""), ("unheard", TEXTS["long"])]
    together = score_pairs(model, pairs)
    assert together.tolist() == pytest.approx([float(score_pairs(model, [pair])[0]) for pair in pairs], abs=1e-5, rel=1e-5)


def test_each_distinct_passage_is_encoded_once(model: TK, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[tuple[int, ...]] = []
    queries: list[int] = []

    def passages(numbers: Tensor) -> Tensor:
        encoded.extend(tuple(n for n in row if n) for row in numbers.tolist())
        return TK.passage_vectors(model, numbers)

    def query(numbers: Tensor) -> Tensor:
        queries.append(len(numbers))
        return TK.query_vectors(model, numbers)

    monkeypatch.setattr(model, "passage_vectors", passages)
    monkeypatch.setattr(model, "query_vectors", query)
    rescore(model, Texts(), QUERIES, RUN, name="tk")
    assert sorted(encoded) == sorted(tuple(model.read_passages([text])[0]) for text in TEXTS.values())
    assert RUN.pairs > len(TEXTS)
    assert queries == [1] * len(QUERIES)


def test_the_same_again(model: TK) -> None:
    one, other = (rescore(model, Texts(), QUERIES, RUN, name="tk").run for _ in range(2))
    assert scores(one) == scores(other)
    # and whatever order the queries stand in
    turned = Run("bm25", [(r.query_id, r.passage_ids, r.scores) for r in reversed(list(RUN.rankings()))])
    assert scores(rescore(model, Texts(), QUERIES[::-1], turned, name="tk").run) == pytest.approx(scores(one), abs=1e-5)


def test_no_gradients_are_kept(model: TK) -> None:
    rescore(model, Texts(), QUERIES, RUN, name="tk")
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_an_empty_query_ties_all_its_passages(model: TK) -> None:
    ranking = rescore(model, Texts(), QUERIES, RUN, name="tk").run["q-empty"]
    assert ranking.scores.tolist() == [0, 0, 0]
    assert ranking.passage_ids == ["p6", "p5", "p4"]  # the tie rule: id descending


def test_a_query_unknown_to_the_split(model: TK) -> None:
    with pytest.raises(InputError) as stop:
        rescore(model, Texts(), QUERIES[:2], RUN, name="tk")
    assert str(stop.value) == (
        "run 'bm25': wanted queries of the split; found 3 unknown, the first 'q-unknown'; "
        "check --split and that the run belongs to this collection"
    )


def test_a_passage_unknown_to_the_collection(model: TK, small_collection: Collection) -> None:
    run = Run("bm25", [("q-one", ["p-lamp", "p1"], [2, 1])])
    with pytest.raises(InputError, match=r"wanted passage 'p1' in the collection; found none with this id \(1 of 2 ids"):
        rescore(model, small_collection, QUERIES, run, name="tk")


def test_a_vectors_folder_is_left_as_it_was(model: TK, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    rescore(model, Texts(), QUERIES, RUN, name="tk")

    def fail(*arguments: object) -> Tensor:
        raise RuntimeError("no more memory")

    monkeypatch.setattr(model, "interact", fail)
    with pytest.raises(RuntimeError, match="no more memory"):
        rescore(model, Texts(), QUERIES, RUN, name="tk")
    assert list(tmp_path.iterdir()) == []
