"""What stands in a training set of clicks, counted in little memory: triples, what of it is distinct, and what is false where the truth is known."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice

import numpy as np

from positionbias.core.groups import Groups
from positionbias.core.records import Qrel
from positionbias.core.seeds import keys64
from positionbias.results.tripclick import TrainingSet

__all__ = ["Distinct", "count_set"]

_BLOCK = 1 << 14  # groups
_PARTS = 32  # files; of what is counted a part is held at once


def count_set(groups: Groups, truth: Iterable[Qrel] | None, left_out: Mapping[str, int]) -> TrainingSet:
    """Groups, queries, positives (of a query), negatives, and those of them that are relevant in truth (None: nobody knows), each time they are
    drawn and each once; and what was ``left_out``.

    What is distinct is told by 64 bits of a hash, which of 26 million pairs takes two for one in one count of 50,000; the keys lie on disk, 8 bytes
    a pair, and 1/32 of them is held, beside the keys of the truth.
    """
    relevant = None if truth is None else np.unique(_keys((q.query_id, q.passage_id) for q in truth if q.grade > 0))
    count = negatives = false = 0
    with ExitStack() as files:
        queries, positives, drawn = (Distinct(files) for _ in range(3))
        stream = iter(groups)
        while block := list(islice(stream, _BLOCK)):
            pairs = [[(g.query_id, p, label) for p, label in zip(g.passage_ids, g.labels, strict=True)] for g in block]
            keys = _keys((query_id, passage_id) for group in pairs for query_id, passage_id, label in group if label < 1)
            count, negatives = count + len(block), negatives + len(keys)
            false += 0 if relevant is None else int(_among(keys, relevant).sum())
            drawn.add(keys)
            queries.add(_keys((group.query_id,) for group in block))
            positives.add(
                _keys((query_id, passage_id) for group in pairs for query_id, passage_id, label in group if label > 0)
            )
        distinct = distinct_false = 0
        for part in drawn.parts():
            distinct += len(part)
            distinct_false += 0 if relevant is None else int(_among(part, relevant).sum())
        return TrainingSet(
            groups=count,
            queries=sum(map(len, queries.parts())),
            positives=sum(map(len, positives.parts())),
            negatives=negatives,
            false_negatives=None if relevant is None else false,
            distinct_negatives=distinct,
            distinct_false_negatives=None if relevant is None else distinct_false,
            left_out=left_out,
        )


def _keys(ids: Iterable[tuple[str, ...]]) -> np.ndarray:
    """A key of each, ``(n,)`` uint64."""
    return keys64(0, "distinct", ["\x1f".join(item).encode() for item in ids])


def _among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of the keys stand among ``known``, which are sorted."""
    if not len(known):
        return np.zeros(len(keys), bool)
    return known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys


class Distinct:
    """Keys on disk, parted by their first bits, to be looked at each once."""

    def __init__(self, files: ExitStack) -> None:
        self._files = [files.enter_context(tempfile.TemporaryFile()) for _ in range(_PARTS)]  # noqa: SIM115 (the caller closes them)

    def add(self, keys: np.ndarray) -> None:
        """Keep these, any number of times each."""
        found = np.unique(keys)
        edges = np.searchsorted(found, np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(64 - _PARTS.bit_length() + 1))
        for file, part in zip(self._files, np.split(found, edges), strict=True):
            file.write(part.tobytes())

    def parts(self) -> Iterator[np.ndarray]:
        """The keys, each once, part by part."""
        for file in self._files:
            file.seek(0)
            yield np.unique(np.frombuffer(file.read(), np.uint64))
