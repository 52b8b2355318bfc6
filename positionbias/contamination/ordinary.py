"""Draw ordinary training groups from candidates, as a stream: the draw that a training would make,
stored.

A group is a (query, relevant passage) pair with negatives drawn, keyed by the pair, from the
query's first candidates that are not judged relevant. Memory holds the ids of the split's queries
and relevant passages, and a block of candidates; the run is read one ranking at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import TrainingGroup
from positionbias.core.negatives import draw_negatives, without
from positionbias.core.run import read_rankings
from positionbias.results.contamination import OrdinaryCounts

__all__ = ["Ordinary", "OrdinaryGroups", "ordinary_groups"]

_BLOCK_CANDIDATES = 1 << 18  # about 20 MB of ids


class Ordinary(NamedTuple):
    """A training query: its relevant passages, and its other candidates, in order of rank."""

    query_id: str
    positives: tuple[str, ...]
    candidates: tuple[str, ...]


def ordinary_groups(query: Ordinary, *, size: int, seed: int) -> Iterator[TrainingGroup]:
    """Yield a group of ``size`` passages for each positive, smaller with fewer candidates."""
    pool = query.candidates
    for positive in query.positives:
        drawn = draw_negatives(pool, size - 1, seed, query.query_id, positive)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * len(drawn)))


class OrdinaryGroups:
    """The material of a split's groups, by blocks of queries in the run's order; ``counts`` are
    complete after the last block.

    Negatives are from the first ``depth`` candidates; ``size`` is the size of a group, for the
    counts only.
    """

    def __init__(
        self,
        collection: Collection,
        split: str,
        candidates: Path,
        relevant: Mapping[str, tuple[str, ...]],
        *,
        depth: int,
        size: int,
    ) -> None:
        self._collection, self._split, self._candidates, self._relevant = (
            collection,
            split,
            candidates,
            relevant,
        )
        self._depth, self._size = depth, size
        self.counts = OrdinaryCounts(split=split)

    def blocks(self) -> Iterator[tuple[Ordinary, ...]]:
        """Yield blocks of queries with a relevant passage in the corpus and a candidate that is not
        relevant.

        Raises:
            InputError: candidates with unknown queries or passages, or no group.
        """
        known = {query_id for query_id, _ in self._collection.query_texts(self._split)}
        waiting = dict(self._relevant)
        held: list[Ordinary] = []
        size = 0
        for ranking in read_rankings(self._candidates):
            if ranking.query_id not in known:
                raise self._of_another(
                    f"queries of split {self._split!r}", f"query {ranking.query_id!r}"
                )
            if positives := waiting.pop(ranking.query_id, ()):
                held.append(
                    Ordinary(ranking.query_id, positives, tuple(ranking.passage_ids[: self._depth]))
                )
                size += len(held[-1].candidates)
            if size >= _BLOCK_CANDIDATES:
                yield self._block(held)
                held, size = [], 0
        self.counts.without_candidates += sum(map(len, waiting.values()))
        if held:
            yield self._block(held)
        if not self.counts.groups:
            raise bad_input(
                self._candidates,
                wanted=f"candidates for queries of split {self._split!r} with relevant passages",
                found="none",
                do="check that --candidates was retrieved for --split, and --relevant-from",
            )

    def _block(self, queries: Sequence[Ordinary]) -> tuple[Ordinary, ...]:
        """Count and return the queries of a block that make groups, with their material."""
        named = list(
            dict.fromkeys(
                chain.from_iterable((*query.positives, *query.candidates) for query in queries)
            )
        )
        absent = set(self._collection.absent(named))
        usable, counts = [], self.counts
        for query in queries:
            if unknown := absent.intersection(query.candidates):
                raise self._of_another(
                    f"passages of {self._collection.name}", f"passage {min(unknown)!r}"
                )
            positives = tuple(item for item in query.positives if item not in absent)
            pool = tuple(without(query.candidates, query.positives))
            counts.missing_positives += len(query.positives) - len(positives)
            if not pool:
                counts.without_candidates += len(positives)
            elif positives:
                usable.append(Ordinary(query.query_id, positives, pool))
                counts.queries += 1
                counts.groups += len(positives)
                counts.small_groups += len(positives) * (len(pool) < self._size - 1)
        return tuple(usable)

    def _of_another(self, wanted: str, found: str) -> InputError:
        do = "check --split, and that --candidates were retrieved from this collection"
        return bad_input(self._candidates, wanted=wanted, found=found, do=do)
