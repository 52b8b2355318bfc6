"""Position-blind scorers: their scores by hand and beside other implementations, that they see no
order, and the slopes that they show.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from positionbias.audit.audit import make_task
from positionbias.audit.blind import alike, blind_results, blind_runs
from positionbias.audit.by_position import position_results
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.evaluation.buckets import Buckets
from positionbias.evaluation.described import BLIND, STANDARDISED
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.checkpoint import load_checkpoint
from positionbias.planted.generator import PlantedSettings
from tests.oracles import word_overlap
from tests.tiny import collection_of, planted

TEXTS = [
    "oil of the whale",
    "whale whale lamp",
    "a lamp of glass and oil for the long night",
    "glass",
]
QUERIES = [Query("q1", "whale oil lamps"), Query("q2", "the glass lamp")]


class Texts:
    """A collection of texts alone, p0, p1 …"""

    def __init__(self, texts: Sequence[str]) -> None:
        self.by_id = {f"p{number}": text for number, text in enumerate(texts)}

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        return [self.by_id[passage_id] for passage_id in passage_ids]


def everything(
    queries: Sequence[Query] = QUERIES, count: int = len(TEXTS), name: str = "first"
) -> Run:
    ids = [f"p{number}" for number in range(count)]
    return Run(name, [(query.query_id, ids, np.arange(count, 0, -1.0)) for query in queries])


def scores_of(run: Run, query_id: str) -> dict[str, float]:
    ranking = run[query_id]
    return dict(zip(ranking.passage_ids, map(float, ranking.scores), strict=True))


def runs_of(
    texts: Sequence[str] = TEXTS, queries: Sequence[Query] = QUERIES, **options: Any
) -> dict[str, Run]:
    collection: Any = Texts(texts)
    runs = blind_runs(collection, queries, everything(queries, len(texts)), 1, **options)
    return {run.name: run for run in runs}


def test_bm25_of_all_passages_is_that_of_the_first_stage(tmp_path: Path) -> None:
    collection = collection_of(tmp_path / "c", TEXTS)
    by_index = retrieve(collection, QUERIES, 4, Bm25Settings())
    found = {run.name: run for run in blind_runs(collection, QUERIES, everything(), 1)}[
        "BM25 of the candidates"
    ]
    for query in QUERIES:
        own = {
            passage_id: score
            for passage_id, score in scores_of(found, query.query_id).items()
            if score > 0
        }
        assert own == pytest.approx(scores_of(by_index, query.query_id), rel=1e-5)


def test_scores_by_hand() -> None:
    runs = runs_of()
    assert list(runs) == [
        "BM25 of the candidates", "tf-idf cosine", "word overlap", "longest passage",
        "shortest passage", "random order",
    ]  # fmt: skip
    for query in QUERIES:
        expected = {
            f"p{number}": word_overlap(query.text, text) for number, text in enumerate(TEXTS)
        }
        assert scores_of(runs["word overlap"], query.query_id) == pytest.approx(expected)
        assert runs["longest passage"][query.query_id].passage_ids == ["p2", "p0", "p1", "p3"]
        assert runs["shortest passage"][query.query_id].passage_ids == ["p3", "p1", "p0", "p2"]
    # of the query's terms: oil in p0, p2; whale in p0, p1; lamp in p1, p2. All weigh the same, 1 +
    # ln(5/3); p0 has no other term, as "of" and "the" are stop words: 2 of 3 terms shared, cosine
    # 2/√(3·2). p1 has whale twice: 3/√(3·5)
    cosine = scores_of(runs["tf-idf cosine"], "q1")
    assert (cosine["p0"], cosine["p1"], cosine["p3"]) == pytest.approx(
        (2 / math.sqrt(6), 3 / math.sqrt(15), 0)
    )


def test_the_mean_of_word_vectors_by_hand() -> None:
    vectors = {"oil": np.array([1.0, 0]), "whale": np.array([0.0, 1]), "glass": np.array([1.0, 1])}
    scores = scores_of(runs_of(vectors=vectors)["mean of word vectors"], "q1")
    # the query is (1, 1) in direction; p0 too; p1 (0, 1); p2 (2, 1); "lamps" has no vector
    expected = {"p0": 1, "p1": 1 / math.sqrt(2), "p2": 3 / math.sqrt(10), "p3": 1}
    assert scores == pytest.approx(expected, abs=1e-6)
    nothing = runs_of(vectors={"unknown": np.ones(2)})["mean of word vectors"]
    assert set(scores_of(nothing, "q1").values()) == {0.0}


@examples(max_examples=5)
@given(st.randoms(use_true_random=False))
def test_no_scorer_sees_the_order_of_words(rng: random.Random) -> None:
    vectors = {
        word: np.array([len(word), index])
        for index, word in enumerate(sorted({w for t in TEXTS for w in t.split()}))
    }
    turned = [" ".join(rng.sample(text.split(), len(text.split()))) for text in TEXTS]
    before, after = runs_of(vectors=vectors), runs_of(turned, vectors=vectors)
    for name, run in before.items():
        for query in QUERIES:
            assert scores_of(after[name], query.query_id) == pytest.approx(
                scores_of(run, query.query_id), rel=1e-6
            )


def test_the_order_of_queries_and_candidates_changes_nothing() -> None:
    collection: Any = Texts(TEXTS)
    turned = Run(
        "first",
        [(query.query_id, ["p3", "p1", "p0", "p2"], [4.0, 3, 2, 1]) for query in QUERIES[::-1]],
    )
    other = blind_runs(collection, QUERIES[::-1], turned, 1)
    for one, two in zip(runs_of().values(), other, strict=True):
        assert {q.query_id: scores_of(one, q.query_id) for q in QUERIES} == {
            q.query_id: scores_of(two, q.query_id) for q in QUERIES
        }


def test_the_random_order_is_keyed() -> None:
    collection: Any = Texts(TEXTS)
    one, again, other = (
        scores_of(
            next(
                r
                for r in blind_runs(collection, QUERIES, everything(), seed)
                if r.name == "random order"
            ),
            "q1",
        )
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
    alone = runs_of(queries=QUERIES[:1])["random order"]
    assert scores_of(alone, "q1") == one


def test_a_first_stage_that_ranks_by_bm25_stands_for_it() -> None:
    collection: Any = Texts(TEXTS)
    by_bm25 = runs_of()["BM25 of the candidates"]
    candidates = Run(
        "lucene",
        (
            (query_id, ranking.passage_ids, ranking.scores + 2)
            for query_id, ranking in by_bm25.items()
        ),
    )
    found = blind_runs(collection, QUERIES, candidates, 1)
    assert [run.name for run in found][:2] == ["lucene", "tf-idf cosine"]
    assert scores_of(found[0], "q2") == scores_of(candidates, "q2")


def test_queries_without_candidates_are_left_out_and_unknown_passages_are_refused(
    tmp_path: Path,
) -> None:
    collection = collection_of(tmp_path / "c", TEXTS)
    candidates = Run("first", [("q1", ["p0"], [1.0]), ("q2", [], [])])
    assert all(list(run) == ["q1"] for run in blind_runs(collection, QUERIES, candidates, 1))
    assert all(not len(run) for run in blind_runs(collection, [], candidates, 1))
    with pytest.raises(InputError, match="p9"):
        blind_runs(collection, QUERIES, Run("first", [("q1", ["p9"], [1.0])]), 1)


def test_a_scorer_under_another_name_is_recognised() -> None:
    runs = list(runs_of().values())
    same = Run(
        "mine",
        (
            (query_id, ranking.passage_ids, ranking.scores / 7)
            for query_id, ranking in runs[2].items()
        ),
    )
    assert "word overlap" in alike(same, runs)
    assert "shortest passage" not in alike(same, runs)
    assert alike(Run("nobody's", [("q9", ["p1"], [1.0])]), runs) == []


def test_on_planted_queries_only_a_preference_is_outside_the_slopes_of_blind_scorers(
    tmp_path: Path,
) -> None:
    settings = AuditSettings(
        measures=("nDCG@10",), buckets=(Buckets.relative(4),), minimum=5, permutations=100, depth=8
    )
    collection = planted(
        tmp_path / "c",
        PlantedSettings(queries=120, passages=300, test_share=0.6, validation_share=0.1),
    )
    task = make_task(
        collection,
        "test",
        retrieve(collection, collection.queries("test"), 8, Bm25Settings()),
        settings,
    )
    runs = blind_runs(collection, task.queries, task.candidates, settings.seed)
    results = blind_results(task, runs, settings)
    assert {result.role for result in results} == {result.measure for result in results} == {BLIND}
    assert [result.figures.group for result in results if result.system == "bm25"] == [
        STANDARDISED,
        "",
    ]
    assert [result.system for result in results[::2]] == [run.name for run in runs]
    slopes = {
        result.system: result.figures.figures.slope
        for result in results
        if result.figures.group == STANDARDISED
    }
    low, high = (
        limit(getattr(slope, end) for slope in slopes.values())
        for limit, end in ((min, "low"), (max, "high"))
    )
    outside = {}
    for name in ("blind", "front_lover", "end_lover"):
        system = System.of(load_checkpoint(f"tests.audit.scorers:{name}"), name)
        values = task.values(system.ranked(task), settings.measures)
        measured = position_results(system, task, values, settings)[0].figures
        assert measured.group == STANDARDISED
        outside[name] = not low <= measured.figures.slope.value <= high
    assert outside == {"blind": False, "front_lover": True, "end_lover": True}
