"""Draw ordinary training groups from candidates, as a stream: the draw that a training would make,
stored.

A group is a (query, relevant passage) pair with negatives drawn, keyed by the pair, from the
query's first candidates that are not judged relevant. Memory holds the ids of the split's queries
and relevant passages, and a block of candidates; the run is read one ranking at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import TrainingGroup
from positionbias.core.negatives import draw_negatives, without
from positionbias.core.run import read_rankings

__all__ = ["ABSENT", "Ordinary", "ordinary_blocks", "ordinary_groups"]

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
    collection: Collection,
    split: str,
    candidates: Path,
    relevant: Mapping[str, tuple[str, ...]],
    counts: Counter[str],
    *,
    depth: int,
    size: int,
) -> Iterator[tuple[Ordinary, ...]]:
    """Yield the queries with a relevant passage in the corpus and a candidate that is not relevant,
    in blocks, in the run's order.

    Negatives are from the first ``depth`` candidates. ``counts`` counts groups of ``size`` and what
    is left out.

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
            yield _usable(collection, candidates, held, counts, size)
            held, held_candidates = [], 0
    counts["positives without candidates"] += sum(map(len, waiting.values()))
    if held:
        yield _usable(collection, candidates, held, counts, size)
    if not counts["groups"]:
        raise bad_input(
            candidates,
            wanted=f"candidates for queries of split {split!r} with relevant passages",
            found="none",
            do="check that --candidates was retrieved for --split, and --relevant-from",
        )


def _usable(
    collection: Collection,
    candidates: Path,
    queries: Sequence[Ordinary],
    counts: Counter[str],
    size: int,
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
            counts["groups smaller than asked for"] += len(positives) * (len(pool) < size - 1)
    return tuple(usable)


def _unknown(candidates: Path, wanted: str, found: str) -> InputError:
    do = "check --split, and that --candidates were retrieved from this collection"
    return bad_input(candidates, wanted=wanted, found=found, do=do)
