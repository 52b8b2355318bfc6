"""Training groups with a teacher's scores: added to those of another source, or sampled from the
teacher's ranking.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from itertools import islice

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.groups import TrainingGroup
from positionbias.core.records import Qrel, relevant_passages
from positionbias.ranking.teacher_scores import TeacherScores
from positionbias.training.negatives import without
from positionbias.training.trainsets.sample import (
    GroupSampler,
    GroupSource,
    StoredGroups,
    sampler_over,
)

_CHECKED = 100_000  # groups of a training set
_QUERIES = 1_024  # queries whose passages are looked up at once


class Taught:
    """The groups of another source, each with the teacher's scores of its passages.

    All pairs that can be drawn are looked up at once. In a training set this covers the first
    100,000 groups; others are looked up when read.

    Raises:
        InputError: a pair has no score; the message names it.
    """

    def __init__(self, source: GroupSource, teacher: TeacherScores) -> None:
        self.source, self.teacher = source, teacher
        for query_id, passage_ids in _drawn(source):
            teacher.scores(query_id, passage_ids)

    @property
    def left_out(self) -> int:
        return self.source.left_out

    @property
    def absent(self) -> int:
        return self.source.absent

    def __len__(self) -> int:
        return len(self.source)

    def epoch(self, epoch: int, start: int = 0) -> Iterator[tuple[int, TrainingGroup]]:
        """Yield groups as ``GroupSource.epoch``."""
        for index, group in self.source.epoch(epoch, start):
            yield (
                index,
                group._replace(
                    teacher_scores=self.teacher.scores(group.query_id, group.passage_ids)
                ),
            )

    def positives_among(self, passage_ids: Set[str]) -> Set[str]:
        """Return positives as ``GroupSource.positives_among``."""
        return self.source.positives_among(passage_ids)


def _drawn(source: GroupSource) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the pairs that a source may draw, by query."""
    if isinstance(source, StoredGroups):
        yield from (
            (group.query_id, group.passage_ids) for group in islice(source.groups, _CHECKED)
        )
    if isinstance(source, GroupSampler):
        positives: dict[str, list[str]] = {}
        for query_id, passage_id in source.positives:
            positives.setdefault(query_id, []).append(passage_id)
        for query_id, passage_ids in positives.items():
            # passages of the teacher's ranking have a score
            pool = () if isinstance(source.negatives, _Pools) else source.negatives[query_id]
            yield query_id, [*passage_ids, *pool]


class _Pools(Mapping[str, Sequence[str]]):
    """Negatives of each query: the teacher's first ``depth`` passages that are not judged relevant.

    They are read again each time, as the pools of millions of queries exceed memory.
    """

    def __init__(
        self, teacher: TeacherScores, relevant: Mapping[str, Sequence[str]], depth: int
    ) -> None:
        self._teacher, self._relevant, self._depth = teacher, relevant, depth

    def __getitem__(self, query_id: str) -> Sequence[str]:
        return without(self._teacher.ranked(query_id, self._depth), self._relevant[query_id])

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._relevant and query_id in self._teacher

    def __iter__(self) -> Iterator[str]:
        return (query_id for query_id in self._relevant if query_id in self._teacher)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def make_taught_sampler(
    qrels: Sequence[Qrel],
    teacher: TeacherScores,
    collection: Collection,
    *,
    depth: int,
    seed: int,
    relevant_from: int = 1,
    absent: Container[str] = (),
    group_size: int = 2,
) -> GroupSampler:
    """Return a sampler like ``make_sampler``, with negatives from the teacher's first ``depth``
    passages not judged relevant.

    Raises:
        InputError: nothing to train on, or the teacher ranks passages that are not in the
            collection.
    """
    relevant = relevant_passages(qrels, relevant_from)
    pools = _Pools(teacher, relevant, depth)
    sampler = sampler_over(relevant, pools, seed=seed, absent=absent, group_size=group_size)
    if not len(sampler):
        raise bad_input(
            teacher.path,
            wanted="a teacher's ranking of passages for the training queries",
            found="none that fit",
            do="check that the teacher has scored the split given to --split",
        )
    if not _scored_here(teacher, collection):
        queries = iter(pools)
        while some := list(islice(queries, _QUERIES)):
            collection.rows(sorted({item for query_id in some for item in pools[query_id]}))
    return sampler


def _scored_here(teacher: TeacherScores, collection: Collection) -> bool:
    """Return True if the scores were made from, or checked against, this collection."""
    scored = None if teacher.manifest is None else teacher.manifest.input("collection")
    return scored is not None and scored.checksum == collection.checksum
