"""What the re-ranker and the probe ask of a model. A model implements what it can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

__all__ = ["TermInteractionModel", "pad_rows"]


@runtime_checkable
class TermInteractionModel(Protocol):
    """A model that turns each side into term vectors on its own, and scores by letting them meet (TK and its kind).

    Each passage can therefore be encoded once and reused for every query; its term vectors can be probed.
    """

    kind: str
    config: Any
    vocabulary: Any

    def read_query(self, text: str) -> list[int]: ...

    def read_passage(self, text: str) -> list[int]: ...

    def query_vectors(self, numbers: Tensor) -> Tensor: ...

    def passage_vectors(self, numbers: Tensor) -> Tensor: ...

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor: ...

    def parameters(self) -> Any: ...

    def eval(self) -> Any: ...


def pad_rows(rows: Sequence[Sequence[int] | np.ndarray]) -> Tensor:
    """Word numbers of uneven length as one tensor ``(len(rows), longest)``, padded with 0; at least one column."""
    width = max(1, max(map(len, rows), default=1))
    out = np.zeros((len(rows), width), dtype=np.int64)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return torch.from_numpy(out)
