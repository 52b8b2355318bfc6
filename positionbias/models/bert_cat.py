"""BERT_CAT: query and passage read together; one linear layer on the last layer's [CLS]
(position-bias paper, Eq. 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import bad_input
from positionbias.core.json_text import JsonObject
from positionbias.models.classifier_head import has_classifier, linear_of, with_classifier
from positionbias.models.encoder import Encoder, load_encoder, open_encoder, save_pretrained
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.protocols import Role, Tokens
from positionbias.models.relevance import log_relevance
from positionbias.models.sentence_transformers import DENSE, ENCODER, write_cross_encoder
from positionbias.models.shapes import BertCatConfig, Head
from positionbias.models.tensors import FACTS, FIX, load_weights, read_shape, save_tensors

WEIGHTS = "model.safetensors"
# times the room for a pair: which text of a pair is cut by one piece more depends on their whole
# lengths
_KEPT = 4
_OUTPUTS: dict[Head, int] = {"linear": 1, "relevance": 2}


class BertCat(nn.Module):
    """The model: s = W · BERT([CLS] q [SEP] p [SEP])_CLS + b. The encoder's dropout acts in
    training.

    With the head ``relevance`` W has two rows, and s = log softmax(W · BERT(…)_CLS + b) of the
    second.
    """

    kind: ClassVar[str] = "bert_cat"

    def __init__(self, config: BertCatConfig, encoder: Encoder) -> None:
        super().__init__()
        encoder.check_length(config.pair_length, "--pair-length", texts=2)
        self.config = config
        self.encoder = encoder
        self.head = (
            nn.Linear(encoder.dimension, _OUTPUTS[config.head]) if config.head in _OUTPUTS else None
        )

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

    # -- reading -----------------------------------------------------------------------------------

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, the first of very long ones; pairs are cut when they
        are assembled.
        """
        return self.encoder.read(texts, _KEPT * self.room)

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, as of queries."""
        return self.encoder.read(texts, _KEPT * self.room)

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: ``input_ids``, and where needed ``token_type_ids`` and
        ``attention_mask``, each ``(n, length)``.
        """
        first = [queries[index % len(queries)] for index in range(len(passages))]
        return self.encoder.assemble(first, passages, limit=self.config.pair_length)

    # -- scoring -----------------------------------------------------------------------------------

    def forward(self, **inputs: Tensor) -> Tensor:
        """Return scores ``(n,)``, the head in full precision; a ``transformers`` head gives its raw
        logits.
        """
        if self.head is None:
            return self.encoder.logits(**inputs)[:, 0].float()
        return self.scores_of(self.encoder.cls(**inputs))

    def scores_of(self, states: Tensor) -> Tensor:
        """Return the scores ``(n,)`` of the head's input ``(n, dim)``, in full precision; not for a
        ``transformers`` head.
        """
        assert self.head is not None
        with torch.autocast(states.device.type, enabled=False):
            # (n, 1) or (n, 2)
            outputs = F.linear(states.float(), self.head.weight.float(), self.head.bias.float())
            return log_relevance(outputs) if self.config.log_probabilities else outputs[:, 0]

    # -- training and keeping ----------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Give all weights one role."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}

    def save(self, folder: Path) -> None:
        """Save it as a sequence classifier of transformers with the same scores, which
        sentence-transformers also loads.

        Where the architecture's classifier cannot compute a linear layer (ModernBERT), the head is
        a module of sentence-transformers, and the encoder lies in a folder of its own: transformers
        then finds no model instead of a classifier with a random head.

        With the head ``relevance`` these libraries return a pair's two logits. The score is the
        second of their log softmax; either logit alone would give another order.
        """
        length, encoder = self.config.pair_length, self.encoder
        whole = encoder.model if self.head is None else None
        if self.head is not None and has_classifier(encoder.model):
            whole = with_classifier(encoder.model, self.head)
        if whole is not None:
            save_pretrained(folder, whole, encoder.tokenizer, length=length)
            write_cross_encoder(folder)
            return
        assert self.head is not None
        encoder.save(folder / ENCODER, length=length)
        write_cross_encoder(folder, dense=(encoder.dimension, self.head.out_features))
        save_tensors(folder / DENSE / WEIGHTS, nn.ModuleDict({"linear": self.head}).state_dict())

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights as ``Ranker.load``."""
        config = read_shape(BertCatConfig, shape, folder)
        # the head is a module of its own
        if config.head != "transformers" and (folder / ENCODER).is_dir():
            model = cls(config, open_encoder(check_encoder_folder(folder / ENCODER)))
            assert model.head is not None
            load_weights(nn.ModuleDict({"linear": model.head}), folder / DENSE / WEIGHTS)
            return model
        encoder = open_encoder(check_encoder_folder(folder), classifier=True)
        if config.head == "transformers":
            return cls(config, encoder)
        linear = linear_of(encoder.drop_head())
        model = cls(config, encoder)
        assert model.head is not None
        if len(linear["bias"]) != model.head.out_features:
            wanted, found = f"a head of {model.head.out_features} outputs", str(len(linear["bias"]))
            raise bad_input(folder / FACTS, wanted=wanted, found=found, do=FIX)
        model.head.load_state_dict(linear)
        return model
