"""An encoder that reads meanings from a table, for tests: in this process, or opened in others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.overlap.normal import comparable_words

MEANINGS = {"car": 0, "automobile": 0, "insurance": 1, "cover": 1, "iron": 2, "gate": 3, "gates": 3, "lamp": 4}


def encode(texts: Sequence[str]) -> np.ndarray:
    """Count a text's words by meaning; all others are a sixth."""
    vectors = np.zeros((len(texts), 6), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in comparable_words(text):
            row[MEANINGS.get(word, 5)] += 1
    return vectors


@dataclass(frozen=True)
class Opened:
    """Opens ``encode`` in any process."""

    checksum: str = "table"

    def __call__(self):  # type: ignore[no-untyped-def]
        return encode
