"""Every kind of model: re-ranking equals scoring each pair alone, whatever stands beside it; a
passage is encoded once.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.models.protocols import Ranker
from positionbias.models.tk import TK
from positionbias.ranking import cached, query_blocks
from positionbias.ranking.config import Precision, RankingConfig
from positionbias.ranking.pairs import score_pairs
from positionbias.ranking.rerank import rescore

from .conftest import RANKING_WORDS as WORDS

RANDOM = np.random.default_rng(7)
TEXTS = {
    f"p{i}": " ".join(RANDOM.choice([*WORDS, "unheard"], RANDOM.integers(1, 60))) for i in range(40)
} | {
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


def scores(run: Run) -> dict[tuple[str, str], float]:
    return {
        (r.query_id, passage_id): float(score)
        for r in run.rankings()
        for passage_id, score in zip(r.passage_ids, r.scores, strict=True)
    }


@pytest.fixture(scope="session")
def alone(ranker: Ranker) -> dict[tuple[str, str], float]:
    """The score of each pair computed for itself, in a batch of one, without ``rescore``."""
    found = {}
    texts = {query.query_id: query.text for query in QUERIES}
    for query_id, passage_id in scores(RUN):
        inputs = ranker.inputs(
            ranker.read_queries([texts[query_id]]), ranker.read_passages([TEXTS[passage_id]])
        )
        with torch.no_grad():
            found[query_id, passage_id] = float(ranker(**inputs)[0])
    return found


def close(expected: object) -> object:
    return pytest.approx(expected, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize(
    "tokens",
    [
        1,
        450,
    ],
)
def test_equals_scoring_each_pair_alone(
    ranker: Ranker, alone: dict[tuple[str, str], float], tokens: int
) -> None:
    done = rescore(
        ranker, Texts(), QUERIES, RUN, name="ours", config=RankingConfig(batch_tokens=tokens)
    )
    assert scores(done.run) == close(alone)
    # the model does tell pairs apart
    assert len({round(score, 3) for score in alone.values()}) > len(alone) / 2
    assert (done.run.name, done.passages, done.cached) == (
        "ours",
        len(TEXTS),
        ranker.kind != "bert_cat",
    )
    assert (done.counts.again, len(done.counts.empty), done.counts.batch_tokens) == (0, 1, None)


def test_blocks_change_nothing(
    ranker: Ranker, alone: dict[tuple[str, str], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached, "READ_PASSAGES", 7)
    monkeypatch.setattr(cached, "READ_QUERIES", 2)
    monkeypatch.setattr(query_blocks, "BLOCK_PAIRS", 4)
    done = rescore(ranker, Texts(), QUERIES, RUN, name="ours")
    assert scores(done.run) == close(alone)
    assert (done.counts.again, len(done.counts.empty)) == (0, 1)


def test_queries_beyond_memory_come_in_blocks_and_what_is_encoded_again_is_counted(
    rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rescore(rankers["bert_dot"], Texts(), QUERIES, RUN, name="ours")
    monkeypatch.setattr(cached, "READ_QUERIES", 2)
    monkeypatch.setattr(cached, "QUERY_BYTES", 1)
    done = rescore(rankers["bert_dot"], Texts(), QUERIES, RUN, name="ours")
    assert scores(done.run) == close(scores(whole.run))
    # blocks of 2, 2 and 1 queries: p1 p2 empty long p3, then p1 blank p4 p5 p6 (p1 again), then all
    # (those nine again)
    assert (done.counts.again, done.passages) == (10, len(TEXTS))
    assert done.counts.truncated == whole.counts.truncated


def test_what_fills_the_limit_is_counted(ranker: Ranker) -> None:
    done = rescore(ranker, Texts(), QUERIES, RUN, name="ours")
    if ranker.kind == "tk":
        expected = 1  # "long"
    else:
        passages = dict(
            zip(TEXTS, map(len, ranker.encoder.read(list(TEXTS.values()), 10**6)), strict=True)
        )
        queries = {
            query.query_id: len(ranker.encoder.read([query.text], 10**6)[0]) for query in QUERIES
        }
        if ranker.kind in ("bert_dot", "colbert"):
            # 200 with [CLS] and [SEP]
            expected = sum(length >= 198 for length in passages.values())
        else:
            # 230 with [CLS] and two [SEP]
            expected = sum(queries[q] + passages[p] >= 227 for q, p in scores(RUN))
    assert 0 < done.counts.truncated == expected < RUN.pairs


def test_pairs_given_as_texts(ranker: Ranker, alone: dict[tuple[str, str], float]) -> None:
    texts = {query.query_id: query.text for query in QUERIES}
    found = score_pairs(ranker, [(texts[q], TEXTS[p]) for q, p in alone])
    assert found.tolist() == close(list(alone.values()))
    assert score_pairs(ranker, []).tolist() == []


def test_each_distinct_passage_is_encoded_once(
    rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = rankers["tk"]
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
    assert sorted(encoded) == sorted(
        tuple(model.read_passages([text])[0]) for text in TEXTS.values()
    )
    assert RUN.pairs > len(TEXTS)
    assert sum(queries) == len(QUERIES)


def test_a_query_unknown_to_the_split(ranker: Ranker) -> None:
    with pytest.raises(InputError) as stop:
        rescore(ranker, Texts(), QUERIES[:2], RUN, name="tk")
    assert str(stop.value) == (
        "run 'bm25': wanted queries of the split; found 3 unknown, the first 'q-unknown'; "
        "check --split and that the run belongs to this collection"
    )


def test_a_passage_unknown_to_the_collection(ranker: Ranker, small_collection: Collection) -> None:
    run = Run("bm25", [("q-one", ["p-lamp", "p1"], [2, 1])])
    with pytest.raises(
        InputError,
        match=r"wanted passage 'p1' in the collection; found none with this id \(1 of 2 ids",
    ):
        rescore(ranker, small_collection, QUERIES, run, name="tk")


def test_a_run_without_queries_or_candidates(ranker: Ranker) -> None:
    assert len(rescore(ranker, Texts(), QUERIES, Run("none", []), name="ours").run) == 0
    some = Run("some", [("q-one", [], []), ("q-long", ["p1"], [1])])
    done = rescore(ranker, Texts(), QUERIES, some, name="ours").run
    assert {query_id: ranking.passage_ids for query_id, ranking in done.items()} == {
        "q-one": [],
        "q-long": ["p1"],
    }


def test_scores_that_are_no_numbers_are_refused(rankers: dict[str, Ranker]) -> None:
    broken = copy.deepcopy(rankers["bert_cat"])
    with torch.no_grad():
        broken.head.bias.fill_(float("nan"))
    with pytest.raises(
        InputError,
        match="run 'ours': wanted finite scores; found nan for passage '.+' of query 'q-one'",
    ):
        rescore(broken, Texts(), QUERIES, RUN, name="ours")


# -- half precision, and a device that is too small ------------------------------------------------


@pytest.mark.parametrize("precision", ["bfloat16"])
def test_half_precision_is_near(
    ranker: Ranker, alone: dict[tuple[str, str], float], precision: Precision
) -> None:
    done = rescore(
        ranker, Texts(), QUERIES, RUN, name="ours", config=RankingConfig(precision=precision)
    )
    found = scores(done.run)
    values = np.array([[found[pair], alone[pair]] for pair in alone])
    assert np.corrcoef(values.T)[0, 1] > 0.99
    assert np.abs(values[:, 0] - values[:, 1]).max() > 0  # it was computed otherwise
    assert done.run["q-one"].scores.dtype == np.float32


SMALL = {
    "tk": ("interact", 300),
    "bert_dot": ("encode_passages", 1_000),
    "bert_cat": ("forward", 1_000),
    "colbert": ("interact", 1_000),
}


def test_out_of_memory_makes_batches_smaller_and_changes_no_score(
    ranker: Ranker, alone: dict[tuple[str, str], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, room = SMALL[ranker.kind]
    whole = getattr(ranker, name)
    refused = []

    def limited(*arguments: Any, **named: Any) -> Any:
        if name == "interact":
            tokens = arguments[3].numel()
        elif name == "forward":
            tokens = named["input_ids"].numel()
        else:
            tokens = len(arguments[0]) * max(map(len, arguments[0]))
        if tokens > room:
            refused.append(tokens)
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(*arguments, **named)

    monkeypatch.setattr(ranker, name, limited)
    done = rescore(ranker, Texts(), QUERIES, RUN, name="ours")
    assert refused
    assert scores(done.run) == close(alone)
    assert done.counts.batch_tokens is not None
    assert done.counts.batch_tokens < 4_096
    assert done.counts.again == 0
