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

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from positionbias.contamination.ordinary import ABSENT
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel
from positionbias.core.seeds import choose, keys64

__all__ = ["Judged", "judged_groups", "read_judged", "split_negatives", "taken"]


class Judged(NamedTuple):
    """A test query: its relevant, its non-relevant and all its judged passages in the corpus, by
    id.
    """

    query_id: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]
    judged: tuple[str, ...]


def read_judged(
    qrels: Iterable[Qrel],
    absent: Collection[str] = (),
    *,
    relevant_from: int = 2,
    relevant_elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[Judged], Counter[str]]:
    """Return the queries with a positive in the corpus, in order of ids, and counts of what is left
    out. If a passage is judged twice, the higher grade counts [decision].

    ``absent`` are judged passages that are not in the corpus; ``relevant_elsewhere`` has passages
    relevant to the same query in another training split, which are not negatives either [decision].
    """
    grades: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        of_query = grades.setdefault(qrel.query_id, {})
        of_query[qrel.passage_id] = max(qrel.grade, of_query.get(qrel.passage_id, qrel.grade))
    queries: list[Judged] = []
    counts: Counter[str] = Counter()
    for query_id, of_query in sorted(grades.items()):
        elsewhere = set((relevant_elsewhere or {}).get(query_id, ()))
        positives = sorted(item for item, grade in of_query.items() if grade >= relevant_from)
        negatives = sorted(of_query.keys() - set(positives) - elsewhere)
        known = sorted(elsewhere.union(of_query))
        here, others, judged = (
            tuple(item for item in items if item not in absent)
            for items in (positives, negatives, known)
        )
        counts["queries without a positive"] += not positives
        counts[ABSENT] += len(positives) - len(here)
        if here:
            counts["queries with a positive"] += 1
            counts["negatives missing from the corpus"] += len(negatives) - len(others)
            queries.append(Judged(query_id, here, others, judged))
    return queries, counts


def taken(queries: Sequence[Judged], split: str, share: float, seed: int) -> list[Judged]:
    """Take a share of a split's queries, round(share · queries), in their keyed order.

    Raises:
        SettingError: a share above 0 that takes no query.
    """
    number = round(share * len(queries))
    if share > 0 and not number:
        raise SettingError(
            f"--share: wanted a share of at least one query of {split!r}; found {share:g} of "
            f"{len(queries):,}; give {1 / len(queries):.3g} or more, or 0 for none"
        )
    ids = [query.query_id.encode("utf-8", "replace") for query in queries]
    keys = keys64(seed, "contaminated query", ids)
    return [queries[place] for place in np.argsort(keys, kind="stable")[:number].tolist()]


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

    def ordered(items: Sequence[str], purpose: str) -> list[str]:
        places = choose(len(items), len(items), seed, purpose, query.query_id)
        return [items[place] for place in places]

    def unjudged(number: int, positive: str) -> list[str]:
        judged = set(query.judged)
        if passages - len(judged) < number:
            raise InputError(
                f"query {query.query_id!r}: wanted {number:,} random unjudged passages; found "
                f"{passages - len(judged):,} in a corpus of {passages:,}; give a smaller "
                "--group-size"
            )
        looked_at, kept = number + 8, list[str]()
        while len(kept) < number:  # a longer draw begins with a shorter one
            key = (seed, "random negative", query.query_id, positive)
            ids = passage_ids_at(np.array(choose(passages, looked_at, *key), np.int64))
            kept = [item for item in ids if item not in judged][:number]
            looked_at *= 2
        return kept

    negatives = ordered(query.negatives, "judged negative")
    for turn, positive in enumerate(ordered(query.positives, "judged positive")):
        drawn = negatives[turn * (size - 1) : (turn + 1) * (size - 1)]
        drawn += unjudged(size - 1 - len(drawn), positive)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * (size - 1)))
