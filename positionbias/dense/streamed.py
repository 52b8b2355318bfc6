"""Encode a whole collection with other texts during a search, without storing vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from positionbias.core.collection import Collection
from positionbias.core.steps import MapShards
from positionbias.dense.nearest import Block
from positionbias.dense.passage_blocks import (
    READ_PASSAGES,
    EncodedBlock,
    Rows,
    RowTexts,
    encoded_blocks,
)
from positionbias.dense.single_vectors import EncoderElsewhere, SingleVectors
from positionbias.dense.vectors import SHARD_PASSAGES, descending_rows
from positionbias.engine.per_process import PerProcess
from positionbias.models.protocols import Served
from positionbias.ranking.loading import Elsewhere

FLOAT32 = np.dtype("float32")


class StreamedVectors:
    """Vectors for a search, without a file; each iteration of ``blocks`` encodes all passages.

    ``texts`` are the texts of the rows of ``collection``. Several processes encode where
    ``map_shards`` has them, with the model that each loads as ``elsewhere`` says: the bits are the
    same.
    """

    def __init__(
        self,
        encoder: SingleVectors,
        collection: Collection,
        texts: RowTexts,
        *,
        elsewhere: Elsewhere | None = None,
        map_shards: MapShards = map,
    ) -> None:
        self.encoder, self.collection, self.texts = encoder, collection, texts
        self._elsewhere, self._map_shards = elsewhere, map_shards
        self.dimension = encoder.model.dimension

    def __len__(self) -> int:
        return len(self.collection)

    def ids_at(self, rows: np.ndarray) -> list[str]:
        """Return the ids of the passages at these rows."""
        return self.collection.passage_ids_at(rows)

    def by_descending_id(self) -> np.ndarray:
        """Return the rows in descending order of their ids ``(n,)`` int64: the tie rule."""
        parts = [
            pa.array(
                self.ids_at(np.arange(first, min(first + READ_PASSAGES, len(self)))), pa.string()
            )
            for first in range(0, len(self), READ_PASSAGES)
        ]
        return descending_rows(pa.chunked_array(parts, pa.string()))

    def blocks(self) -> Iterator[Block]:
        """Encode all passages by blocks; yield their rows ``(n,)`` int64 and vectors ``(n, dim)``.

        Raises:
            InputError: a vector that is not finite, or not within the range of its type.
        """
        whole = Rows(0, len(self))
        if isinstance(self.encoder.model, Served):
            self.encoder.model.begin([len(self)])
        for block in self._encoded(whole):
            yield np.arange(block.first, block.first + len(block.vectors)), block.vectors

    def _encoded(self, whole: Rows) -> Iterator[EncodedBlock]:
        if self._map_shards is map:  # one process: texts are read ahead all the way
            yield from encoded_blocks(self.encoder, self.collection, self.texts, whole, FLOAT32)
            return
        load = (
            None
            if self._elsewhere is None
            else EncoderElsewhere(self._elsewhere, self.encoder.config)
        )
        encode = _Encode(PerProcess(load, self.encoder), self.collection, self.texts)
        # shards of whole blocks change no batch
        shards = (
            Rows(first, min(first + SHARD_PASSAGES, whole.last))
            for first in range(0, whole.last, SHARD_PASSAGES)
        )
        for part in self._map_shards(encode, shards):
            yield from part


@dataclass(frozen=True, slots=True)
class _Encode:
    """An encoder of one shard, in any process."""

    encoder: PerProcess[SingleVectors]
    collection: Collection
    texts: RowTexts

    def __call__(self, rows: Rows) -> list[EncodedBlock]:
        return list(encoded_blocks(self.encoder(), self.collection, self.texts, rows, FLOAT32))
