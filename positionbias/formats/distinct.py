"""Remove repeated passages from a stream without holding it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import compress, islice

from positionbias.core.records import Passage
from positionbias.core.seeds import keys64
from positionbias.formats.key_map import KeyMap

_BATCH = 65_536


class ClashError(Exception):
    """An id with two texts; ``passage_id`` is the id."""

    def __init__(self, passage_id: str) -> None:
        super().__init__(passage_id)
        self.passage_id = passage_id


def distinct(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Yield each passage once, holding 16 bytes per id: hashes of the id and of the text.

    Passages are the same if both 64-bit hashes agree. If only the ids' hashes agree, that is a
    clash.

    Raises:
        ClashError: an id with two texts.
    """
    seen, stream = KeyMap(), iter(passages)
    while batch := list(islice(stream, _BATCH)):
        keys = keys64(0, "distinct id", [passage.passage_id.encode() for passage in batch])
        new, clash = seen.add(
            keys, keys64(0, "distinct text", [passage.text.encode() for passage in batch])
        )
        if clash.any():
            raise ClashError(batch[int(clash.argmax())].passage_id)
        yield from compress(batch, new)
