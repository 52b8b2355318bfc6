"""Draw training groups: ordinary ones from candidates, as a training would draw them, and groups of
a test collection's judgements, by the rules of "Training on the Test Model" (§3).

A passage judged at least ``relevant_from`` is a positive, a passage judged lower a negative; each
positive makes one group. A negative is in one group of its query. When a query's negatives run out,
random passages of the corpus that are unjudged for it replace them (the paper: "in cases of
insufficient negative examples"). The published code draws the random ones from passages judged not
relevant for any query; ours are from the corpus, as the paper says [decision].

An ordinary group is a (query, relevant passage) pair with negatives drawn, keyed by the pair, from
the query's first candidates that are not judged relevant. Memory holds the ids of the split's
queries and relevant passages, and a block of candidates; the run is read one ranking at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core import collection as collections
from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import TrainingGroup
from positionbias.core.negatives import draw_negatives, no_candidates, without
from positionbias.core.records import Qrel
from positionbias.core.run import read_rankings
from positionbias.core.seeds import choose, keys64

__all__ = [
    "ABSENT", "Judged", "Ordinary", "in_drawn_order", "judged_groups", "ordinary_blocks",
    "ordinary_groups", "read_judged", "split_negatives",
]  # fmt: skip

ABSENT = "positives missing from the corpus"
BLOCK_CANDIDATES = 1 << 18  # about 20 MB of ids


class Ordinary(NamedTuple):
    """A training query: its relevant passages, and its other candidates, in order of rank."""

    query_id: str
    positives: tuple[str, ...]
    candidates: tuple[str, ...]


def ordinary_groups(query: Ordinary, *, size: int, seed: int) -> Iterator[TrainingGroup]:
    """Yield a group of ``size`` passages for each positive, smaller with fewer candidates."""
    for positive in query.positives:
        drawn = draw_negatives(query.candidates, size - 1, seed, query.query_id, positive)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * len(drawn)))


def ordinary_blocks(
    collection: collections.Collection,
    split: str,
    candidates: Path,
    relevant: Mapping[str, tuple[str, ...]],
    counts: Counter[str],
    depth: int,
) -> Iterator[tuple[Ordinary, ...]]:
    """Yield the queries with a relevant passage in the corpus and a candidate that is not relevant,
    in blocks, in the run's order.

    Negatives are from the first ``depth`` candidates. ``counts`` counts groups and what is left
    out.

    Raises:
        InputError: candidates with unknown queries or passages, or no group.
    """
    known = {query_id for query_id, _ in collection.query_texts(split)}
    waiting, held, held_candidates = dict(relevant), list[Ordinary](), 0
    for ranking in read_rankings(candidates):
        if ranking.query_id not in known:
            raise _unknown(candidates, f"queries of split {split!r}", f"query {ranking.query_id!r}")
        if positives := waiting.pop(ranking.query_id, ()):
            first = tuple(ranking.passage_ids[:depth])
            held.append(Ordinary(ranking.query_id, positives, first))
            held_candidates += len(first)
        if held_candidates >= BLOCK_CANDIDATES:
            yield _usable(collection, candidates, held, counts)
            held, held_candidates = [], 0
    counts["positives without candidates"] += sum(map(len, waiting.values()))
    if held:
        yield _usable(collection, candidates, held, counts)
    if not counts["groups"]:
        raise no_candidates(candidates, split)


def _usable(
    collection: collections.Collection,
    candidates: Path,
    queries: Sequence[Ordinary],
    counts: Counter[str],
) -> tuple[Ordinary, ...]:
    """Count and return the queries of a block that make groups, with their material."""
    named = dict.fromkeys(chain.from_iterable((*q.positives, *q.candidates) for q in queries))
    absent = set(collection.absent(list(named)))
    usable = []
    for query in queries:
        if unknown := absent.intersection(query.candidates):
            of = f"passages of {collection.name}"
            raise _unknown(candidates, of, f"passage {min(unknown)!r}")
        positives = tuple(item for item in query.positives if item not in absent)
        pool = tuple(without(query.candidates, query.positives))
        counts[ABSENT] += len(query.positives) - len(positives)
        if not pool:
            counts["positives without candidates"] += len(positives)
        elif positives:
            usable.append(Ordinary(query.query_id, positives, pool))
            counts["queries"] += 1
            counts["groups"] += len(positives)
    return tuple(usable)


def _unknown(candidates: Path, wanted: str, found: str) -> InputError:
    do = "check --split, and that --candidates were retrieved from this collection"
    return bad_input(candidates, wanted=wanted, found=found, do=do)


# --- from judgements ------------------------------------------------------------------------------


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
    """Return the queries with a positive in the corpus, in order of ids, and how many positives are
    missing. If a passage is judged twice, the higher grade counts [decision].

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
        counts[ABSENT] += len(positives) - len(here)
        if here:
            queries.append(Judged(query_id, here, others, judged))
    return queries, counts


def in_drawn_order(queries: Sequence[Judged], seed: int) -> list[Judged]:
    """Return the queries in their keyed order."""
    ids = [query.query_id.encode("utf-8", "replace") for query in queries]
    keys = keys64(seed, "contaminated query", ids)
    return [queries[place] for place in np.argsort(keys, kind="stable").tolist()]


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

    judged = set(query.judged)
    negatives = ordered(query.negatives, "judged negative")
    for turn, positive in enumerate(ordered(query.positives, "judged positive")):
        drawn = negatives[turn * (size - 1) : (turn + 1) * (size - 1)]
        drawn += unjudged(size - 1 - len(drawn), positive)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * (size - 1)))
