"""What training, the re-ranker and the probe ask of a model. A model implements what it can.

Ranker          ours: trained, saved, and scores pairs of token numbers
PassageEncoder  represents each side on its own, so that a passage is encoded once for all queries
SingleVector    a PassageEncoder with one vector a text, which can search a whole collection
TextScorer      texts in, scores out, and nothing else is known of it
TermEncoder     gives vectors of a passage's terms
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from positionbias.core.json_text import JsonObject

__all__ = ["PassageEncoder", "Ranker", "Role", "AnyRanker", "SingleVector", "TermEncoder", "TextScorer", "Tokens", "pad_rows"]

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
    def load(cls, folder: Path, shape: JsonObject) -> Self:
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
class PassageEncoder(Protocol):
    """A model that represents each side on its own and lets the two meet (TK, BERT_DOT, ColBERT, SPLADE).

    What ``read_…`` makes of a text only the model itself looks into; its length is the text's in tokens. Batches are made of alike
    length by it.
    """

    kind: ClassVar[str]

    @property
    def device(self) -> torch.device: ...

    @property
    def dimension(self) -> int:
        """The width of a vector."""

    @property
    def room(self) -> int:
        """The most tokens it reads of a passage."""

    def read_queries(self, texts: Sequence[str]) -> Sequence[Any]:
        """What is encoded of queries, cut at the model's limit; of an empty text something of length 0."""

    def read_passages(self, texts: Sequence[str]) -> Sequence[Any]:
        """What is encoded of passages, cut at the model's limit; of an empty text something of length 0."""

    def encode_queries(self, queries: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def encode_passages(self, passages: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Scores ``(n,)``; a query batch of 1 serves all passages."""

    def to(self, device: torch.device) -> Any: ...


@runtime_checkable
class SingleVector(PassageEncoder, Protocol):
    """A ``PassageEncoder`` with one vector a text, and two of them compared by a product (BERT_DOT, sentence-transformers' bi-encoders)."""

    @property
    def vector_similarity(self) -> str:
        """How ``interact`` compares two vectors: "dot", "cosine", or another name that sentence-transformers has."""


@runtime_checkable
class TextScorer(Protocol):
    """Anything that scores texts: a library's cross-encoder, a user's function."""

    kind: ClassVar[str]

    @property
    def device(self) -> torch.device: ...

    def score(self, query: str, passages: Sequence[str]) -> Any:
        """Scores of one query's passages, in their order: ``(len(passages),)`` numbers of any array's or list's form.

        Whoever asks checks their number and that they are finite (``ranking.texts``).
        """

    def to(self, device: torch.device) -> Any: ...


AnyRanker = Ranker | PassageEncoder | TextScorer


@runtime_checkable
class TermEncoder(Protocol):
    """A model with vectors for the terms of a passage: what the probe of position reads.

    A passage's terms are numbers; 0 is padding and 1 unknown. ``term_layers`` says after which layers it gives their vectors.
    """

    kind: ClassVar[str]

    @property
    def term_layers(self) -> Sequence[int]: ...

    @property
    def dimension(self) -> int:
        """The width of a vector."""

    @property
    def room(self) -> int:
        """The most terms it reads of a passage."""

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Terms of passages, cut at the model's limit."""

    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """Vectors ``(layers, n, longest, dim)`` of the terms of each passage, on the model's device; what stands behind a passage's
        own terms is of no meaning."""


def pad_rows(rows: Sequence[Tokens | np.ndarray], padding: int = 0) -> Tensor:
    """Token numbers of uneven length as one tensor ``(len(rows), longest)``, padded; at least one column."""
    width = max(1, max(map(len, rows), default=1))
    out = np.full((len(rows), width), padding, dtype=np.int64)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return torch.from_numpy(out)
