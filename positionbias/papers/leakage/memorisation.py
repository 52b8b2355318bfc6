"""Where models rank and score leaked passages (leakage paper, Tables 6–8).

A leaked passage is ranked for the test query that it leaked for, among the candidates that the
model re-ranks. One that was not retrieved is inserted by its score, so its rank is at most the
number of candidates + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.groups import Groups
from positionbias.core.run import Ranking, Run

__all__ = ["LeakedPair", "leaked_pairs", "leaked_places", "retrieved_alone", "with_leaked"]


class LeakedPair(NamedTuple):
    """The two passages of a leaked training instance, and the test query for which it leaked."""

    query_id: str
    positive: str
    negative: str


def leaked_pairs(groups: Groups) -> list[LeakedPair]:
    """Return a training set's leaked instances, one per test query that the query leaks, sorted by
    test query and passages.
    """
    leaks = groups.manifest.content_as(dict[str, list[str]], "leaks")
    leaked = islice(groups, groups.manifest.content_as(int, "leaked"))
    found = {
        LeakedPair(test_id, *group.passage_ids)
        for group in leaked
        for test_id in leaks[group.query_id]
    }
    return sorted(found)


def with_leaked(candidates: Run, pairs: Iterable[LeakedPair], *, name: str) -> Run:
    """Append the passages of pairs that were not retrieved to the candidates, for a model to score;
    pairs of queries without candidates are left out.
    """
    more: dict[str, set[str]] = {}
    for pair in pairs:
        more.setdefault(pair.query_id, set()).update(pair[1:])

    def extended(ranking: Ranking) -> tuple[str, list[str], np.ndarray]:
        new = sorted(more.get(ranking.query_id, set()).difference(ranking.passage_ids))
        least = ranking.scores[-1] if len(ranking.scores) else np.float32(0)
        below = least - np.arange(1, len(new) + 1, dtype=np.float32)
        return ranking.query_id, [*ranking.passage_ids, *new], np.append(ranking.scores, below)

    return Run(name, map(extended, candidates.rankings()))


def leaked_places(
    scored: Run, candidates: Run, passages: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, float]]:
    """Yield the rank and score of each (query, passage) pair; ``scored`` has a model's scores of
    ``with_leaked``.

    The rank is 1 + the number of other candidates above the passage in ``scored``: by float32
    score, equal ones by id descending (``core.run``). Leaked passages that were not retrieved do
    not count in each other's ranks.

    Raises:
        InputError: a passage that was not scored.
    """
    for query_id, passage_id in passages:
        ranking = scored[query_id]
        if passage_id not in ranking.passage_ids:
            raise InputError(
                f"run {scored.name!r}: wanted a score of every leaked passage; found none of "
                f"{passage_id!r} for query {query_id!r}; score the candidates with the leaked "
                "passages"
            )
        place = ranking.passage_ids.index(passage_id)
        retrieved = set(candidates[query_id].passage_ids)
        rank = 1 + len(retrieved.intersection(ranking.passage_ids[:place]))
        yield rank, float(ranking.scores[place])


def retrieved_alone(scored: Run, candidates: Run) -> Run:
    """Return only the candidates, in the order of ``scored``."""

    def kept(ranking: Ranking) -> tuple[str, list[str], list[float]]:
        known = set(candidates[ranking.query_id].passage_ids)
        places = [n for n, passage_id in enumerate(ranking.passage_ids) if passage_id in known]
        ids = [ranking.passage_ids[n] for n in places]
        return ranking.query_id, ids, ranking.scores[places].tolist()

    return Run(scored.name, map(kept, scored.rankings()))
