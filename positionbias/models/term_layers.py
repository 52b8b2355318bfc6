"""Term vectors from an encoder's word-piece states after each layer, for ATS and MATS of any
encoder.
"""

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

AllLayers = Literal["all"]
_FIRST = UNKNOWN + 1  # 0 and 1 are padding and unknown


class WordPieces:
    """An encoder's states of a passage read alone, with special tokens; terms are word pieces
    without special ones.

    ``layers``: 0 for the embeddings that enter the first layer, ``k`` for the states after layer
    ``k``; None for the last. A term's number is its word piece's plus 2, as 0 and 1 are padding and
    unknown. Texts are read without a query, and without a bi-encoder's prompt [decision].

    Raises:
        SettingError: a layer that the encoder lacks, or a repeated one.
    """

    kind: ClassVar[str] = "encoder"

    def __init__(
        self, encoder: Encoder, length: int, layers: Sequence[int] | AllLayers | None = None
    ) -> None:
        last = int(encoder.backbone.config.num_hidden_layers)
        if layers is None:
            layers = (last,)
        elif layers == "all":
            layers = range(last + 1)
        wrong = [layer for layer in layers if not isinstance(layer, int) or not 0 <= layer <= last]
        if wrong or not layers or len(set(layers)) != len(layers):
            found = wrong[0] if wrong else "one given twice" if layers else "none"
            raise SettingError(
                f"--probe-layers: wanted numbers from 0 to {last}, or all; found {found}; give "
                "others"
            )
        self.term_layers = tuple(int(layer) for layer in layers)
        self._encoder, self._length = encoder, length
        self._unknown = encoder.tokenizer.unk_token_id

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._encoder.device

    @property
    def dimension(self) -> int:
        """The width of a state."""
        return self._encoder.dimension

    @property
    def room(self) -> int:
        """The maximum of word pieces read of a passage."""
        return self._length - self._encoder.template.single.added

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Implement ``TermEncoder.read_passages``."""
        return [
            [UNKNOWN if piece == self._unknown else piece + _FIRST for piece in row]
            for row in self._encoder.read(texts, self.room)
        ]

    @torch.inference_mode()
    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """Implement ``TermEncoder.term_vectors``: ``(layers, n, longest, dim)``."""
        pieces = [
            [self._unknown if term == UNKNOWN else term - _FIRST for term in row]
            for row in passages
        ]
        inputs = {
            name: part.to(self.device)
            for name, part in self._encoder.assemble(pieces, limit=self._length).items()
        }
        # layers + 1 of (n, length, dim)
        states = self._encoder.backbone(**inputs, output_hidden_states=True).hidden_states
        first = len(self._encoder.template.single.special[0])
        longest = max(map(len, pieces), default=0)
        return torch.stack(
            [states[layer][:, first : first + longest] for layer in self.term_layers]
        )


class ColBERTTerms(WordPieces):
    """A ColBERT's passage terms as it compares them with a query's: the projected states of the
    last layer.
    """

    def __init__(self, model: ColBERT) -> None:
        super().__init__(model.encoder, model.config.passage_length)
        self._model = model

    @property
    def dimension(self) -> int:
        """The width of a term's vector."""
        return self._model.dimension

    @torch.inference_mode()
    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """Implement ``TermEncoder.term_vectors``: ``(1, n, longest, dim)``."""
        return self._model.project(super().term_vectors(passages))


def term_encoder(model: AnyRanker, layers: Sequence[int] | AllLayers | None = None) -> TermEncoder:
    """Return the probe's view of a model: itself, if its passage vectors are those of words (TK),
    else its encoder's word pieces.

    A ColBERT without ``layers`` gives the vectors that it compares.

    Raises:
        SettingError: layers for a model with one set of term vectors, a layer that it lacks, or a
            model without term vectors.
    """
    if isinstance(model, TermEncoder):
        if layers is not None:
            raise SettingError(
                f"--probe-layers: wanted a model over an encoder; found one of kind {model.kind}; "
                "leave --probe-layers out"
            )
        return model
    if isinstance(model, BertCat):
        return WordPieces(model.encoder, model.config.pair_length, layers)
    if isinstance(model, ColBERT) and layers is None:
        return ColBERTTerms(model)
    if isinstance(model, BertDot | ColBERT):
        return WordPieces(model.encoder, model.config.passage_length, layers)
    raise SettingError(
        "--model: wanted a model with term vectors (tk, colbert, or an encoder as cross-encoder "
        f"or bi-encoder); found one of kind {model.kind}; give another"
    )
