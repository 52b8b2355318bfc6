"""The states of an encoder's word pieces after each layer, as term vectors: ATS and MATS of any encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor

from positionbias.core.errors import SettingError
from positionbias.models.bert_cat import BertCat
from positionbias.models.bert_dot import BertDot
from positionbias.models.colbert import ColBERT
from positionbias.models.encoder import Encoder
from positionbias.models.protocols import AnyRanker, TermEncoder, Tokens
from positionbias.text.vocabulary import UNKNOWN

__all__ = ["AllLayers", "ColBERTTerms", "WordPieces", "term_encoder"]

AllLayers = Literal["all"]
_FIRST = UNKNOWN + 1  # 0 and 1 mean padding and unknown to whoever reads terms


class WordPieces:
    """An encoder that reads passages alone, special tokens around them; its terms are their word pieces, without the special ones.

    ``layers``: 0 for the embeddings that enter the first layer, ``k`` for the states after layer ``k``; None for the last. A
    term's number is its word piece's and 2, for 0 and 1 are padding and unknown. Text stands alone: without a query, and without
    the prompt that a bi-encoder may put before it [decision].

    Raises:
        SettingError: a layer that the encoder has not, or one given twice.
    """

    kind: ClassVar[str] = "encoder"

    def __init__(self, encoder: Encoder, length: int, layers: Sequence[int] | AllLayers | None = None) -> None:
        last = int(encoder.backbone.config.num_hidden_layers)
        if layers is None:
            layers = (last,)
        elif layers == "all":
            layers = range(last + 1)
        wrong = [layer for layer in layers if not isinstance(layer, int) or not 0 <= layer <= last]
        if wrong or not layers or len(set(layers)) != len(layers):
            found = wrong[0] if wrong else "one given twice" if layers else "none"
            raise SettingError(f"--layers: wanted numbers from 0 to {last}, or all; found {found}; give others")
        self.term_layers = tuple(int(layer) for layer in layers)
        self._encoder, self._length = encoder, length
        self._unknown = encoder.tokenizer.unk_token_id

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self._encoder.device

    @property
    def dimension(self) -> int:
        """The width of a state."""
        return self._encoder.dimension

    @property
    def room(self) -> int:
        """The most word pieces read of a passage."""
        return self._length - self._encoder.template.single.added

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """As ``TermEncoder.read_passages``."""
        return [
            [UNKNOWN if piece == self._unknown else piece + _FIRST for piece in row]
            for row in self._encoder.read(texts, self.room)
        ]

    @torch.inference_mode()
    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """As ``TermEncoder.term_vectors``: ``(layers, n, longest, dim)``."""
        pieces = [[self._unknown if term == UNKNOWN else term - _FIRST for term in row] for row in passages]
        inputs = {name: part.to(self.device) for name, part in self._encoder.assemble(pieces, limit=self._length).items()}
        states = self._encoder.backbone(**inputs, output_hidden_states=True).hidden_states  # layers + 1 of (n, length, dim)
        first = len(self._encoder.template.single.special[0])
        longest = max(map(len, pieces), default=0)
        return torch.stack([states[layer][:, first : first + longest] for layer in self.term_layers])


class ColBERTTerms(WordPieces):
    """The word pieces of a ColBERT's passages as the vectors that it compares with a query's: the last layer's states, projected."""

    def __init__(self, model: ColBERT) -> None:
        super().__init__(model.encoder, model.config.passage_length)
        self._model = model

    @property
    def dimension(self) -> int:
        """The width of a term's vector."""
        return self._model.dimension

    @torch.inference_mode()
    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """As ``TermEncoder.term_vectors``: ``(1, n, longest, dim)``."""
        return self._model.project(super().term_vectors(passages))


def term_encoder(model: AnyRanker, layers: Sequence[int] | AllLayers | None = None) -> TermEncoder:
    """What the probe reads of a model: itself, if its passage vectors are its words' (TK); else its encoder's word pieces, of a ColBERT
    as it compares them where no ``layers`` are asked for.

    Raises:
        SettingError: layers of a model that has one set of term vectors, a layer that is not there, or a model without either.
    """
    if isinstance(model, TermEncoder):
        if layers is not None:
            raise SettingError(f"--layers: wanted a model over an encoder; found one of kind {model.kind}; leave --layers out")
        return model
    if isinstance(model, BertCat):
        return WordPieces(model.encoder, model.config.pair_length, layers)
    if isinstance(model, ColBERT) and layers is None:
        return ColBERTTerms(model)
    if isinstance(model, BertDot | ColBERT):
        return WordPieces(model.encoder, model.config.passage_length, layers)
    raise SettingError(
        f"--model: wanted a model with term vectors (tk, colbert, or an encoder as cross-encoder or bi-encoder); found one of kind "
        f"{model.kind}; give another"
    )
