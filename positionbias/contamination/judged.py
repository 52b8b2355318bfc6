"""Make training groups from the judgements of a test collection, by the rules of "Training on the
Test Model" (§3).

A passage judged at least ``relevant_from`` is a positive, a passage judged lower a negative; each
positive makes one group. A negative is in one group of its query. When a query's negatives run out,
random passages of the corpus that are unjudged for it replace them (the paper: "in cases of
insufficient negative examples"). The published code draws the random ones from passages judged not
relevant for any query; ours are from the corpus, as the paper says [decision].

A share takes whole queries, so that the others remain as a control, and takes them in one keyed
order, so that a smaller share is the beginning of a larger one [decision]. The paper takes all.
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
    """A test query: its relevant, its non-relevant and all its judged passages in the corpus, by
    id.
    """

    query_id: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    judged: tuple[str, ...]


class Target(NamedTuple):
    """A test split: its queries with a positive in the corpus, in order of ids, and the passages
    left out.

    ``missing`` has, by query, the relevant passages that are not in the corpus;
    ``missing_negatives`` the non-relevant ones of queries with a positive.
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
    """Read a test split's judgements to make groups. If a passage is judged twice, the higher grade
    counts [decision].

    ``absent`` are judged passages that are not in the corpus; ``relevant_elsewhere`` has passages
    relevant to the same query in another training split, which are not negatives either [decision].
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
        negatives = [
            item
            for item in judged
            if grades[query_id][item] < relevant_from and item not in elsewhere
        ]
        without += not positives
        if gone := tuple(item for item in positives if item in absent):
            missing[query_id] = gone
        if here := tuple(item for item in positives if item not in absent):
            if gone := tuple(item for item in negatives if item in absent):
                missing_negatives[query_id] = gone
            known = sorted(item for item in elsewhere.union(judged) if item not in absent)
            queries.append(
                Judged(
                    query_id,
                    here,
                    tuple(item for item in negatives if item not in absent),
                    tuple(known),
                )
            )
    return Target(split, queries, missing, missing_negatives, without)


def taken(target: Target, share: float, seed: int) -> list[Judged]:
    """Take the queries of a share, round(share · queries), in their keyed order.

    Raises:
        SettingError: a share above 0 that takes no query.
    """
    number = round(share * len(target.queries))
    if share > 0 and not number:
        raise SettingError(
            f"--share: wanted a share of at least one query of {target.split!r}; found {share:g} "
            f"of {len(target.queries):,}; give {1 / len(target.queries):.3g} or more, or 0 for none"
        )
    keys = keys64(
        seed,
        "contaminated query",
        [query.query_id.encode("utf-8", "replace") for query in target.queries],
    )
    return [target.queries[place] for place in np.argsort(keys, kind="stable")[:number].tolist()]


def split_negatives(query: Judged, size: int) -> tuple[int, int]:
    """Return the numbers of judged and of random negatives in a query's groups."""
    wanted = len(query.positives) * (size - 1)
    judged = min(wanted, len(query.negatives))
    return judged, wanted - judged


def judged_groups(
    query: Judged,
    *,
    size: int,
    seed: int,
    passages: int,
    passage_ids_at: Callable[[np.ndarray], Sequence[str]],
) -> Iterator[TrainingGroup]:
    """Yield a query's groups of ``size`` passages, positives and negatives each in a keyed order.

    ``passage_ids_at`` returns the ids of drawn passages by their places in a corpus of
    ``passages``.

    Raises:
        InputError: fewer unjudged passages in the corpus than a group needs.
    """
    number = size - 1
    negatives = [
        query.negatives[i] for i in _order(query.negatives, seed, "judged negative", query.query_id)
    ]
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
    query: Judged,
    number: int,
    key: Any,
    passages: int,
    passage_ids_at: Callable[[np.ndarray], Sequence[str]],
) -> list[str]:
    """Draw ``number`` passages of the corpus unjudged for the query, without replacement."""
    judged = set(query.judged)
    if passages - len(judged) < number:
        raise InputError(
            f"query {query.query_id!r}: wanted {number:,} random unjudged passages; found "
            f"{passages - len(judged):,} in a corpus of {passages:,}; give a smaller --group-size"
        )
    looked_at = number + 8
    while True:  # a longer draw begins with a shorter one
        ids = passage_ids_at(np.array(choose(passages, looked_at, *key), np.int64))
        found = [item for item in ids if item not in judged][:number]
        if len(found) == number:
            return found
        looked_at *= 2
