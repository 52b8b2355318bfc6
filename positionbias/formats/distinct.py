"""Remove repeated passages from a stream without holding it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from positionbias.core.records import Passage
from positionbias.core.seeds import keys64

__all__ = ["ClashError", "distinct"]

_BATCH = 65_536


class ClashError(Exception):
    """An id with two texts; ``passage_id`` is the id."""

    def __init__(self, passage_id: str) -> None:
        super().__init__(passage_id)
        self.passage_id = passage_id


def distinct(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield each passage once, holding 16 bytes an id: hashes of the id and of the text.

    Passages are the same if both hashes agree, 128 bits in all; if only the ids' 64 bits agree, that is a clash.

    Raises:
        ClashError: an id comes with another text than before.
    """
    known, texts = np.empty(0, np.uint64), np.empty(0, np.uint64)
    stream = iter(passages)
    while batch := list(islice(stream, _BATCH)):
        keys = keys64(0, "distinct id", [passage.passage_id.encode() for passage in batch])
        values = keys64(0, "distinct text", [passage.text.encode() for passage in batch])
        # earlier ones, then these: a stable sort puts the first occurrence of each id first
        keys, values = np.concatenate([known, keys]), np.concatenate([texts, values])
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        first = np.concatenate([[True], keys[1:] != keys[:-1]])
        group = np.cumsum(first) - 1
        clash = np.flatnonzero(values != values[first][group])
        if len(clash):
            raise ClashError(batch[int(order[clash].min()) - len(known)].passage_id)
        places = order[first]
        new = np.sort(places[places >= len(known)]) - len(known)
        known, texts = keys[first], values[first]
        yield from (batch[place] for place in new.tolist())
