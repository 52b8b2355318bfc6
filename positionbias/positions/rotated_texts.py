"""Change a collection's passages while reading: rotated as ``debias`` would store them, or their
sentences shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from positionbias.core.collection import Collection


class TextChange(Protocol):
    """A change of a text, drawn for a key: ``positions.rotate.Rotation``,
    ``positions.shuffle.SentenceShuffle``.
    """

    def apply(self, text: str, *key: str | int, purpose: str = ...) -> str: ...


@dataclass(frozen=True, slots=True)
class RotatedTexts:
    """The texts that ``debias`` would store for a collection under these settings; with another
    change than a rotation, those that it makes.
    """

    collection: Collection
    rotation: TextChange

    def texts(self, passage_ids: Sequence[str]) -> list[str]:
        """Return the changed texts of these passages."""
        return self._turned(passage_ids, self.collection.texts(passage_ids))

    def texts_at(self, rows: np.ndarray) -> list[str]:
        """Return the changed texts of the passages at these stored rows."""
        return self._turned(self.collection.passage_ids_at(rows), self.collection.texts_at(rows))

    def _turned(self, passage_ids: Sequence[str], stored: Sequence[str]) -> list[str]:
        return [
            self.rotation.apply(text, passage_id)
            for text, passage_id in zip(stored, passage_ids, strict=True)
        ]
