"""The common part of models that read query and passage separately with one encoder (BERT_DOT,
ColBERT).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from positionbias.models.encoder import Encoder, load_encoder
from positionbias.models.protocols import Role, Tokens

_SIDES = ("query", "passage")


class DualEncoder(nn.Module):
    """One encoder for both sides. ``vectors`` turns a text into rows of vectors, and ``interact``
    scores two texts.
    """

    kind: ClassVar[str]

    def __init__(self, config: Any, encoder: Encoder) -> None:
        super().__init__()
        encoder.check_length(config.query_length, "--query-length", texts=1)
        encoder.check_length(config.passage_length, "--passage-length", texts=1)
        self.config = config
        self.encoder = encoder

    @classmethod
    def over(cls, config: Any, name: str) -> Self:
        """Make a new model over an encoder: a folder, a hub id, or ``minilm``."""
        return cls(config, load_encoder(name))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.encoder.device

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return self.encoder.dimension

    # -- reading -----------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The maximum of word pieces read of a passage."""
        return int(self.config.passage_length) - self.encoder.template.single.added

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, cut at ``query_length``."""
        return self.encoder.read(
            texts, self.config.query_length - self.encoder.template.single.added
        )

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, cut at ``passage_length``."""
        return self.encoder.read(texts, self.room)

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: the encoder's tensors of both sides, named ``query_…`` and
        ``passage_…``.
        """
        sides = (
            self._assemble(queries, self.config.query_length),
            self._assemble(passages, self.config.passage_length),
        )
        return {
            f"{side}_{name}": tensor
            for side, inputs in zip(_SIDES, sides, strict=True)
            for name, tensor in inputs.items()
        }

    def _assemble(self, rows: Sequence[Tokens], limit: int) -> dict[str, Tensor]:
        return self.encoder.assemble(rows, limit=limit)

    # -- encoding and scoring ----------------------------------------------------------------------

    def vectors(self, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors ``(n, rows, dim)`` in full precision of the encoder's inputs, and their
        mask ``(n, rows)``.
        """
        raise NotImplementedError

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_queries``."""
        return self._encode(queries, self.config.query_length)

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_passages``."""
        return self._encode(passages, self.config.passage_length)

    def _encode(self, rows: Sequence[Tokens], limit: int) -> tuple[Tensor, Tensor]:
        return self.vectors(
            **{name: tensor.to(self.device) for name, tensor in self._assemble(rows, limit).items()}
        )

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Implement ``PassageEncoder.interact``."""
        raise NotImplementedError

    def forward(self, **inputs: Tensor) -> Tensor:
        """Return scores ``(k·n,)`` of ``query_…`` tensors ``(n, …)`` and ``passage_…`` tensors
        ``(k·n, …)``.
        """
        (query, query_mask), (passage, passage_mask) = (
            self.vectors(
                **{
                    name.removeprefix(f"{side}_"): part
                    for name, part in inputs.items()
                    if name.startswith(f"{side}_")
                }
            )
            for side in _SIDES
        )
        times = len(passage) // max(1, len(query))
        return self.interact(
            query.repeat(times, 1, 1), query_mask.repeat(times, 1), passage, passage_mask
        )

    # -- training ----------------------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Give all weights one role."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}
