"""A user's encoder of a known position bias: a passage's vector counts its words, of all of it or
of its first words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self
from zlib import crc32

import torch
from torch import Tensor

from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import Checkpoint, TrainingLog

__all__ = ["Bags", "bag_checkpoint"]

DIMENSION = 512
COMMON = frozenset("what the of in is and a at to".split())


class Bags:
    """One vector a text; words are distinguished by a hash. ``read`` lists every passage that was
    read, in order.
    """

    kind: ClassVar[str] = "bag"
    dimension = DIMENSION

    def __init__(self, room: int) -> None:
        self.room, self.vector_similarity, self.read = room, "dot", list[str]()

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def to(self, device: torch.device) -> Self:
        return self

    def _words(self, text: str) -> list[str]:
        cleaned = text.lower().replace(".", " ").replace("?", " ").replace(",", " ").split()
        return [word for word in cleaned if word not in COMMON]

    def read_queries(self, texts: Sequence[str]) -> list[list[str]]:
        return [self._words(text) for text in texts]

    def read_passages(self, texts: Sequence[str]) -> list[list[str]]:
        self.read += texts
        return [self._words(text)[: self.room] for text in texts]

    def _encode(self, rows: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        out = torch.zeros(len(rows), 1, DIMENSION)
        for place, row in enumerate(rows):
            for word in set(row):
                out[place, 0, crc32(word.encode()) % DIMENSION] = 1.0
        return out, torch.ones(len(rows), 1, dtype=torch.bool)

    encode_queries = encode_passages = _encode

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        return (query[:, 0] * passage[:, 0]).sum(dim=-1)


def bag_checkpoint(name: str, room: int = 10_000, *, model: Any = None) -> Checkpoint:
    """Such an encoder under a name, as if it had been loaded."""
    manifest = Manifest(
        kind="checkpoint",
        name=name,
        command="a test",
        content={"checksum": f"{name}-{room}"},
    )
    return Checkpoint(Path(name), model or Bags(room), manifest, None, TrainingLog())
