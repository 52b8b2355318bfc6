"""BERT_CAT: query and passage read together, the last layer's [CLS] through one linear layer (position-bias paper, Eq. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.json_text import JsonObject
from positionbias.models.encoder import Encoder, load_encoder, open_encoder
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.protocols import Role, Tokens
from positionbias.models.relevance import log_relevance
from positionbias.models.sentence_transformers import DENSE, write_cross_encoder
from positionbias.models.shapes import BertCatConfig, Head
from positionbias.models.tensors import load_weights, read_shape, save_tensors

__all__ = ["BertCat"]

WEIGHTS = "model.safetensors"
_OUTPUTS: dict[Head, int] = {"linear": 1, "relevance": 2}


class BertCat(nn.Module):
    """The model: s = W · BERT([CLS] q [SEP] p [SEP])_CLS + b. The encoder's dropout acts in training.

    With the head ``relevance`` W has two rows, and s = log softmax(W · BERT(…)_CLS + b) of the second.
    """

    kind: ClassVar[str] = "bert_cat"

    def __init__(self, config: BertCatConfig, encoder: Encoder) -> None:
        super().__init__()
        encoder.check_length(config.pair_length, "--pair-length", texts=2)
        self.config = config
        self.encoder = encoder
        self.head = nn.Linear(encoder.dimension, _OUTPUTS[config.head]) if config.head in _OUTPUTS else None

    @classmethod
    def over(cls, config: BertCatConfig, name: str) -> Self:
        """Make a new model over an encoder: a folder, a hub id, or ``minilm``."""
        return cls(config, load_encoder(name))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.encoder.device

    @property
    def room(self) -> int:
        """The maximum of word pieces read of query and passage together."""
        return self.config.pair_length - self.encoder.template.pair.added

    # -- reading ------------------------------------------------------------------------------------

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, as many as a pair has room for."""
        return self.encoder.read(texts, self.room)

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, as many as a pair has room for; pairs are cut when they are assembled.

        If each text alone is longer, they count as equal, so the odd piece goes to the passage [decision].
        """
        return self.encoder.read(texts, self.room)

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: ``input_ids``, and where needed ``token_type_ids`` and ``attention_mask``, each ``(n, length)``."""
        first = [queries[index % len(queries)] for index in range(len(passages))]
        return self.encoder.assemble(first, passages, limit=self.config.pair_length)

    # -- scoring ------------------------------------------------------------------------------------

    def forward(self, **inputs: Tensor) -> Tensor:
        """Return scores ``(n,)``, the head in full precision; a ``transformers`` head gives its raw logits."""
        if self.head is None:
            return self.encoder.logits(**inputs)[:, 0].float()
        states = self.encoder.cls(**inputs)  # (n, dim)
        with torch.autocast(states.device.type, enabled=False):
            outputs = F.linear(states.float(), self.head.weight.float(), self.head.bias.float())  # (n, 1) or (n, 2)
            return log_relevance(outputs) if self.config.log_probabilities else outputs[:, 0]

    # -- training and keeping -------------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Give all weights one role."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}

    def save(self, folder: Path) -> None:
        """Save encoder and tokenizer in transformers' format, and the head in that of sentence-transformers' ``CrossEncoder``.

        With the head ``relevance`` that library returns a pair's two logits. The score is the second of their log softmax; either logit
        alone would give another order.
        """
        self.encoder.save(folder, length=self.config.pair_length)
        write_cross_encoder(folder, dimension=self.encoder.dimension, outputs=_OUTPUTS.get(self.config.head))
        if self.head is not None:
            save_tensors(folder / DENSE / WEIGHTS, nn.ModuleDict({"linear": self.head}).state_dict())

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        config = read_shape(BertCatConfig, shape, folder)
        model = cls(config, open_encoder(check_encoder_folder(folder), classifier=config.head == "transformers"))
        if model.head is not None:
            load_weights(nn.ModuleDict({"linear": model.head}), folder / DENSE / WEIGHTS)
        return model
