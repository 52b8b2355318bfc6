"""Training groups sampled from candidates: a judged positive, and a candidate that is not judged relevant."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import below, generator

__all__ = ["GroupSampler", "TrainingGroup", "make_sampler"]


class TrainingGroup(NamedTuple):
    """A query and its passages, the positive first, with their labels. A triple is a group of two."""

    query_id: str
    passage_ids: tuple[str, ...]
    labels: tuple[int, ...]


@dataclass(frozen=True)
class GroupSampler:
    """Draws groups; the group at (epoch, index) is a function of the seed alone, so a resumed training sees the same."""

    positives: Sequence[tuple[str, str]]
    negatives: dict[str, list[str]]
    seed: int
    left_out: int
    absent: int = 0

    def __len__(self) -> int:
        return len(self.positives)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        """(index, group) of one epoch from ``start`` on, in that epoch's own order: each positive once, a fresh negative."""
        order: np.ndarray = generator(self.seed, "epoch order", epoch).permutation(len(self.positives))
        for index in range(start, len(order)):
            query_id, positive = self.positives[int(order[index])]
            pool = self.negatives[query_id]
            negative = pool[below(len(pool), self.seed, "negative", epoch, query_id, positive)]
            yield index, TrainingGroup(query_id, (positive, negative), (1, 0))


def make_sampler(
    qrels: Sequence[Qrel], candidates: Run, *, seed: int, relevant_from: int = 1, absent: Container[str] = ()
) -> GroupSampler:
    """A sampler over all (query, relevant passage) pairs whose query has at least one candidate to set against it.

    Negatives are candidates not judged relevant; pairs without any are left out and counted, and so are, apart, pairs whose relevant
    passage is ``absent``: judged, but not in the collection.

    Raises:
        InputError: nothing to train on.
    """
    relevant: dict[str, list[str]] = {}
    for qrel in qrels:
        if qrel.grade >= relevant_from:
            relevant.setdefault(qrel.query_id, []).append(qrel.passage_id)
    positives: list[tuple[str, str]] = []
    negatives: dict[str, list[str]] = {}
    left_out = not_there = 0
    for query_id, passages in relevant.items():
        known = set(passages)
        passages = [item for item in passages if item not in absent]
        not_there += len(known) - len(passages)
        pool = [item for item in candidates[query_id].passage_ids if item not in known] if query_id in candidates else []
        if not pool:
            left_out += len(passages)
            continue
        negatives[query_id] = pool
        positives.extend((query_id, passage_id) for passage_id in passages)
    if not positives:
        raise InputError(
            f"run {candidates.name!r}: wanted candidates for the training queries; found none that fit; "
            "check that --candidates was retrieved for the split given to --split"
        )
    return GroupSampler(positives, negatives, seed, left_out, not_there)
