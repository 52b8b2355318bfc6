"""Training groups from the judgements of a test collection, by the rules of "Training on the Test Model" (§3).

A passage judged at least ``relevant_from`` is a positive, what is judged below it a negative; each positive makes one group. A negative
stands in one group of its query; when a query's negatives run out, random passages of the corpus that nobody judged for it take their
place (the paper: "in cases of insufficient negative examples"). The published code reads this in the same way, but for the random ones,
which it takes from what was judged not relevant for any query; ours are from the corpus, as the text says [decision].

A share takes whole queries, so that the others, which nobody trained on, remain as a control; and it takes them in one keyed order, so that
a smaller share is the beginning of a larger one [decision]. The paper takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel
from positionbias.core.seeds import choose, keys64

__all__ = ["Judged", "Target", "judged_groups", "read_target", "split_negatives", "taken"]


class Judged(NamedTuple):
    """A test query: its passages judged relevant, those judged not relevant, and all that are judged, of those in the corpus, by id."""

    query_id: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    judged: tuple[str, ...]


class Target(NamedTuple):
    """A test split: its queries with a positive in the corpus, in the order of ids, and what had to be left out.

    ``missing`` has, by query, the passages judged relevant that the corpus lacks; ``missing_negatives`` those judged not relevant of the
    queries with a positive.
    """

    split: str
    queries: Sequence[Judged]
    missing: Mapping[str, tuple[str, ...]]
    missing_negatives: Mapping[str, tuple[str, ...]]
    without_positive: int


def read_target(
    split: str,
    qrels: Iterable[Qrel],
    absent: Collection[str] = (),
    *,
    relevant_from: int = 2,
    relevant_elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> Target:
    """A test split's judgements as groups are made of them. Of a passage judged twice the higher grade counts [decision].

    ``absent`` are judged passages that are not in the corpus; ``relevant_elsewhere`` has what another split, trained on too, judges relevant
    for the same query: no negative either [decision].
    """
    grades: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        of_query = grades.setdefault(qrel.query_id, {})
        of_query[qrel.passage_id] = max(qrel.grade, of_query.get(qrel.passage_id, qrel.grade))
    queries: list[Judged] = []
    missing: dict[str, tuple[str, ...]] = {}
    missing_negatives: dict[str, tuple[str, ...]] = {}
    without = 0
    for query_id in sorted(grades):
        elsewhere = set((relevant_elsewhere or {}).get(query_id, ()))
        judged = sorted(grades[query_id])
        positives = [item for item in judged if grades[query_id][item] >= relevant_from]
        negatives = [item for item in judged if grades[query_id][item] < relevant_from and item not in elsewhere]
        without += not positives
        if gone := tuple(item for item in positives if item in absent):
            missing[query_id] = gone
        if here := tuple(item for item in positives if item not in absent):
            if gone := tuple(item for item in negatives if item in absent):
                missing_negatives[query_id] = gone
            known = sorted(item for item in elsewhere.union(judged) if item not in absent)
            queries.append(Judged(query_id, here, tuple(item for item in negatives if item not in absent), tuple(known)))
    return Target(split, queries, missing, missing_negatives, without)


def taken(target: Target, share: float, seed: int) -> list[Judged]:
    """The queries of a share, round(share · queries), in their keyed order.

    Raises:
        SettingError: a share above 0 that takes none.
    """
    number = round(share * len(target.queries))
    if share > 0 and not number:
        raise SettingError(
            f"--share: wanted a share that takes a query of {target.split!r}; found {share:g} of {len(target.queries):,}; "
            f"give {1 / len(target.queries):.3g} or more, or 0 for none"
        )
    keys = keys64(seed, "contaminated query", [query.query_id.encode("utf-8", "replace") for query in target.queries])
    return [target.queries[place] for place in np.argsort(keys, kind="stable")[:number].tolist()]


def split_negatives(query: Judged, size: int) -> tuple[int, int]:
    """How many negatives of a query's groups are judged ones, and how many are random."""
    wanted = len(query.positives) * (size - 1)
    judged = min(wanted, len(query.negatives))
    return judged, wanted - judged


def judged_groups(
    query: Judged, *, size: int, seed: int, passages: int, passage_ids_at: Callable[[np.ndarray], Sequence[str]]
) -> Iterator[TrainingGroup]:
    """The groups of ``size`` passages of a query, its positives and its negatives each in an order of their own.

    ``passage_ids_at`` gives the ids of passages by their places in a corpus of ``passages``: only those that are drawn.

    Raises:
        InputError: fewer passages in the corpus than a group needs that nobody judged for this query.
    """
    number = size - 1
    negatives = [query.negatives[i] for i in _order(query.negatives, seed, "judged negative", query.query_id)]
    for turn, place in enumerate(_order(query.positives, seed, "judged positive", query.query_id)):
        positive = query.positives[place]
        drawn = negatives[turn * number : (turn + 1) * number]
        if len(drawn) < number:
            key = (seed, "random negative", query.query_id, positive)
            drawn += _random(query, number - len(drawn), key, passages, passage_ids_at)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * number))


def _order(items: Sequence[str], seed: int, purpose: str, query_id: str) -> list[int]:
    return choose(len(items), len(items), seed, purpose, query_id)


def _random(
    query: Judged, number: int, key: Any, passages: int, passage_ids_at: Callable[[np.ndarray], Sequence[str]]
) -> list[str]:
    """``number`` passages of the corpus that are not judged for the query, drawn by place without replacement."""
    judged = set(query.judged)
    if passages - len(judged) < number:
        raise InputError(
            f"query {query.query_id!r}: wanted {number:,} random passages that nobody judged for it; found {passages - len(judged):,} in a "
            f"corpus of {passages:,}; give a smaller --group-size"
        )
    looked_at = number + 8
    while True:  # a longer draw begins as a shorter one
        ids = passage_ids_at(np.array(choose(passages, looked_at, *key), np.int64))
        found = [item for item in ids if item not in judged][:number]
        if len(found) == number:
            return found
        looked_at *= 2
