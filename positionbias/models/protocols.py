"""What training, the re-ranker and the probe ask of a model. A model implements what it can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor

__all__ = ["PassageEncoder", "Ranker", "Role", "TermEncoder", "Tokens", "pad_rows"]

Tokens = Sequence[int]
Role = Literal["embedding", "kernels", "body"]


@runtime_checkable
class Ranker(Protocol):
    """Any model: it reads texts into token numbers and scores (query, passage) pairs of them.

    Reading and scoring are apart so that texts are read once, ahead of the arithmetic, and batches can be made of alike length.
    """

    kind: ClassVar[str]
    config: Any

    @property
    def device(self) -> torch.device: ...

    @property
    def room(self) -> int:
        """The most tokens it reads of a passage, special ones aside; of query and passage together where it reads them so."""

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers of queries, cut at the model's limit, without special tokens; of an empty text none."""

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers of passages, cut at the model's limit, without special tokens; of an empty text none."""

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """What the model's call takes, padded, on the CPU. Passage ``i`` stands against query ``i % len(queries)``."""

    def __call__(self, **inputs: Tensor) -> Tensor:
        """Scores ``(len(passages),)``."""

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """All parameters by how they are trained: an embedding with sparse gradients, kernel weights, the rest."""

    def save(self, folder: Path) -> None:
        """Write weights and whatever else the model is loaded from, but for its shape."""

    @classmethod
    def load(cls, folder: Path, shape: Mapping[str, Any]) -> Self:
        """The model that ``save`` wrote.

        Raises:
            InputError: a missing or damaged file, or a tensor of another shape.
        """

    def to(self, device: torch.device) -> Any: ...

    def parameters(self) -> Any: ...

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any) -> Any: ...

    def train(self, mode: bool = True) -> Any: ...

    def eval(self) -> Any: ...


@runtime_checkable
class PassageEncoder(Ranker, Protocol):
    """A model that represents each side on its own and lets the two meet (TK, BERT_DOT, ColBERT).

    Each passage can therefore be encoded once and reused for every query.
    """

    @property
    def dimension(self) -> int:
        """The width of a vector."""

    def rows(self, tokens: int) -> int:
        """How many vectors represent a passage of so many tokens: one a term, or one in all."""

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Scores ``(n,)``; a query batch of 1 serves all passages."""


@runtime_checkable
class TermEncoder(PassageEncoder, Protocol):
    """A model whose passage vectors belong to the words of its vocabulary, one each: what the probe of position reads."""

    vocabulary: Any


def pad_rows(rows: Sequence[Tokens | np.ndarray], padding: int = 0) -> Tensor:
    """Token numbers of uneven length as one tensor ``(len(rows), longest)``, padded; at least one column."""
    width = max(1, max(map(len, rows), default=1))
    out = np.full((len(rows), width), padding, dtype=np.int64)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return torch.from_numpy(out)
