"""Rotate a collection's passages while reading, as ``debias`` would store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.collection import Collection
from positionbias.positions.rotate import Rotation

__all__ = ["RotatedTexts"]


@dataclass(frozen=True, slots=True)
class RotatedTexts:
    """The texts that ``debias`` would store for a collection under these settings."""

    collection: Collection
    rotation: Rotation

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the rotated texts of these passages."""
        return self._turned(passage_ids, self.collection.texts(passage_ids))

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """Return the rotated texts of the passages at these stored rows."""
        return self._turned(self.collection.passage_ids_at(rows), self.collection.texts_at(rows))

    def _turned(self, passage_ids: Sequence[str], stored: Sequence[str]) -> list[str]:
        return [self.rotation.apply(text, passage_id) for text, passage_id in zip(stored, passage_ids, strict=True)]
