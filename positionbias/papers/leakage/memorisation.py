"""Measure the memorisation of leaked passages: their ranks and scores by models trained with and
without them (leakage paper, Tables 6–8).

A leaked passage is ranked for the test query that it leaked for, among the candidates that the
model re-ranks. One that was not retrieved is inserted by its score, so its rank is at most the
number of candidates + 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.groups import Groups
from positionbias.core.interval import Interval
from positionbias.core.run import Ranking, Run
from positionbias.evaluation.bootstrap import bootstrap_mean, cluster_labels

__all__ = [
    "LeakedPair",
    "Memory",
    "Places",
    "leaked_pairs",
    "leaked_places",
    "memorised",
    "rank_offset",
    "retrieved_alone",
    "with_leaked",
]


class LeakedPair(NamedTuple):
    """The two passages of a leaked training instance, and the test query for which it leaked."""

    query_id: str
    positive: str
    negative: str


@dataclass(frozen=True, slots=True)
class Memory:
    """Means and standard deviations with and without leakage, and of the differences (with −
    without).

    ``count`` is the number of passages (of queries for an offset), ``repeats`` of models.
    """

    with_mean: float
    with_deviation: float
    without_mean: float
    without_deviation: float
    difference: float
    difference_deviation: float
    count: int
    repeats: int


class Places(NamedTuple):
    """The ranks and scores of leaked passages, ``(passages,)`` each."""

    ranks: np.ndarray
    scores: np.ndarray


def leaked_pairs(groups: Groups) -> list[LeakedPair]:
    """Return a training set's leaked instances, one per test query that the query leaks, sorted by
    test query and passages.
    """
    leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
    found = {
        LeakedPair(test_id, group.passage_ids[0], negative)
        for group in islice(groups, groups.manifest.content_as(int, "leaked"))
        for test_id in leaks[group.query_id]
        for negative in group.passage_ids[1:]
    }
    return sorted(found)


def with_leaked(candidates: Run, passages: Sequence[tuple[str, str]], *, name: str) -> Run:
    """Append (query, passage) pairs that were not retrieved to the candidates, for a model to
    score.

    Raises:
        InputError: a query without candidates.
    """
    more: dict[str, dict[str, None]] = {}
    for query_id, passage_id in passages:
        if query_id not in candidates:
            raise InputError(
                f"run {candidates.name!r}: wanted candidates of each query with leaked passages; "
                f"found none for {query_id!r}; retrieve them for the whole split"
            )
        more.setdefault(query_id, {})[passage_id] = None
    return Run(
        name,
        (_extended(ranking, more.get(ranking.query_id, {})) for ranking in candidates.rankings()),
    )


def _extended(ranking: Ranking, more: dict[str, None]) -> tuple[str, list[str], np.ndarray]:
    known = set(ranking.passage_ids)
    new = sorted(passage_id for passage_id in more if passage_id not in known)
    least = float(ranking.scores[-1]) if len(ranking.scores) else 0.0
    below = least - np.arange(1, len(new) + 1, dtype=np.float32)
    return ranking.query_id, [*ranking.passage_ids, *new], np.concatenate([ranking.scores, below])


def leaked_places(scored: Run, candidates: Run, passages: Sequence[tuple[str, str]]) -> Places:
    """Return the rank and score of each (query, passage) pair; ``scored`` has a model's scores of
    ``with_leaked``.

    The rank is 1 + the number of other candidates above the passage in ``scored``: by float32
    score, equal ones by id descending (``core.run``). Leaked passages that were not retrieved do
    not count in each other's ranks.

    Raises:
        InputError: a passage that was not scored.
    """
    ranks, scores = np.empty(len(passages)), np.empty(len(passages))
    held: dict[str, dict[str, tuple[int, float]]] = {}
    for number, (query_id, passage_id) in enumerate(passages):
        if query_id not in held:
            held[query_id] = _ranked(scored, candidates, query_id)
        if passage_id not in held[query_id]:
            raise InputError(
                f"run {scored.name!r}: wanted a score of every leaked passage; found none of "
                f"{passage_id!r} for query {query_id!r}; score the candidates with the leaked "
                "passages"
            )
        ranks[number], scores[number] = held[query_id][passage_id]
    return Places(ranks, scores)


def _ranked(scored: Run, candidates: Run, query_id: str) -> dict[str, tuple[int, float]]:
    """Return rank among the candidates, and score, by passage."""
    if query_id not in scored or query_id not in candidates:
        return {}
    retrieved = set(candidates[query_id].passage_ids)
    ranking = scored[query_id]
    found, above = {}, 0
    for passage_id, score in zip(ranking.passage_ids, ranking.scores.tolist(), strict=True):
        found[passage_id] = (above + 1, score)
        above += passage_id in retrieved
    return found


def memorised(
    with_leakage: np.ndarray,
    without: np.ndarray,
    query_ids: Sequence[str],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
) -> tuple[Memory, Interval | None]:
    """Compare ranks, or scores, of leaked passages ``(repeats, passages)``: their means, and the
    difference with its interval (Tables 6 and 7).

    Each repeat is a pair of models that differ only in the leakage.

    Deviations (n − 1) are over all values, as the size of the printed ones suggests [decision]. The
    interval is over ``clusters`` of queries, each with all its passages, for differences averaged
    over repeats.

    Raises:
        ValueError: no value, or arrays of different shapes.
    """
    differences = _differences(with_leakage, without)
    interval = bootstrap_mean(
        differences.mean(axis=0), cluster_labels(clusters or {}, query_ids), seed=seed
    )
    return _memory(with_leakage, without, differences), interval


def rank_offset(
    with_leakage: tuple[np.ndarray, np.ndarray],
    without: tuple[np.ndarray, np.ndarray],
    query_ids: Sequence[str],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
) -> tuple[Memory, Interval | None]:
    """Compare rank offsets with and without leakage (Table 8): a query's mean of (negative rank −
    positive rank) over its leaked pairs.

    Each side is (ranks of the positives, ranks of the negatives), ``(repeats, pairs)``. Means are
    over queries ("macro-averaged"), deviations over queries and repeats [decision], the interval
    over clusters of queries.

    Raises:
        ValueError: no value, or arrays of different shapes.
    """
    order = sorted(set(query_ids))
    member = np.array(
        [[query_id == wanted for query_id in query_ids] for wanted in order], np.float64
    )
    member /= member.sum(axis=1, keepdims=True)
    offset, other = (
        (negative - positive) @ member.T for positive, negative in (with_leakage, without)
    )
    differences = _differences(offset, other)
    interval = bootstrap_mean(
        differences.mean(axis=0), cluster_labels(clusters or {}, order), seed=seed
    )
    return _memory(offset, other, differences), interval


def _differences(with_leakage: np.ndarray, without: np.ndarray) -> np.ndarray:
    if with_leakage.shape != without.shape or not with_leakage.size:
        raise ValueError(
            f"values: wanted as many with as without; found {with_leakage.shape} and "
            f"{without.shape}"
        )
    return with_leakage - without


def _memory(with_leakage: np.ndarray, without: np.ndarray, differences: np.ndarray) -> Memory:
    return Memory(
        with_mean=float(with_leakage.mean()),
        with_deviation=_deviation(with_leakage),
        without_mean=float(without.mean()),
        without_deviation=_deviation(without),
        difference=float(differences.mean()),
        difference_deviation=_deviation(differences),
        count=differences.shape[1],
        repeats=differences.shape[0],
    )


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else 0.0


def retrieved_alone(scored: Run, candidates: Run) -> Run:
    """Return only the candidates, in the order of ``scored``."""

    def kept(ranking: Ranking) -> tuple[str, list[str], list[float]]:
        known = set(candidates[ranking.query_id].passage_ids)
        pairs = [
            (i, s)
            for i, s in zip(ranking.passage_ids, ranking.scores.tolist(), strict=True)
            if i in known
        ]
        return ranking.query_id, [i for i, _ in pairs], [s for _, s in pairs]

    return Run(scored.name, map(kept, scored.rankings()))
