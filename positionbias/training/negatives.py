"""Negatives of a training query: filter candidates, draw some for a positive, and make groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import TrainingGroup
from positionbias.core.seeds import choose

_PURPOSE = "ordinary negative"


def without(passage_ids: Sequence[str], others: Collection[str]) -> list[str]:
    """Return the passages that are not among the others, in order."""
    left_out = set(others)
    return [item for item in passage_ids if item not in left_out]


def draw_negatives(
    pool: Sequence[str], count: int, seed: int, query_id: str, positive: str
) -> list[str]:
    """Draw ``count`` different passages of the pool, or all if there are fewer, keyed by the seed,
    the query and its positive alone.
    """
    return [pool[place] for place in choose(len(pool), count, seed, _PURPOSE, query_id, positive)]


def drawn_groups(
    pools: Iterable[tuple[str, Sequence[str]]],
    relevant: Mapping[str, Sequence[str]],
    absent: Collection[str],
    negatives: int,
    seed: int,
) -> Iterator[TrainingGroup]:
    """Yield a group for each relevant passage in the corpus of each query, with ``negatives`` drawn
    of its pool, or all if there are fewer; none of a query whose pool holds only relevant ones.
    """
    for query_id, passage_ids in pools:
        positives = relevant.get(query_id, ())
        pool = without(passage_ids, positives)
        for positive in without(positives, absent) if pool else ():
            drawn = draw_negatives(pool, negatives, seed, query_id, positive)
            yield TrainingGroup(query_id, (positive, *drawn), (1, *[0] * len(drawn)))


def no_candidates(candidates: Path, split: str) -> InputError:
    """Return the error of a run that makes no training group of a split."""
    return bad_input(
        candidates,
        wanted=f"candidates for queries of split {split!r} with relevant passages",
        found="none",
        do="check that --candidates was retrieved for --split, and --relevant-from",
    )
