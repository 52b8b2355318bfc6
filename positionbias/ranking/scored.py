"""Input and output types of both ways of scoring candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

__all__ = ["PassageTexts", "Scored"]


class PassageTexts(Protocol):
    """A source of texts: a Collection, or a view of one."""

    def texts(self, passage_ids: Sequence[str]) -> list[str]: ...


@dataclass
class Scored:
    """Scores by query id, each ``(candidates,)`` float32 in the candidates' order, and counts.

    ``truncated``: passages (with each query alone: pairs) as long as the model reads, so that more may have been cut off;
    ``again``: how often a passage was encoded that had been before; ``batch_tokens``: to what the device's memory cut the batches.
    """

    scores: dict[str, np.ndarray] = field(default_factory=dict)
    truncated: int = 0
    again: int = 0
    empty_queries: int = 0
    batch_tokens: int | None = None
