"""ColBERT: one vector a term, and the sum of each query term's best match in the passage (Khattab
and Zaharia 2020).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.json_text import JsonObject
from positionbias.models.dual_encoder import DualEncoder
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.linear import use_fast_linears
from positionbias.models.sentence_transformers import PROJECTION, write_multi_vector
from positionbias.models.shapes import ColBERTConfig
from positionbias.models.tensors import load_weights, read_shape, save_tensors

WEIGHTS = "model.safetensors"


class ColBERT(DualEncoder):
    """The model: s = Σ_i max_j E_q,i · E_p,j, E = W · BERT([CLS] text [SEP]) + b, one encoder for
    both sides.

    i runs over the query's terms and j over the passage's, including special tokens. Padding is not
    a term: the reference gives it −1000, but here the maximum excludes it, so that it cannot win
    where all terms score less [decision].
    """

    kind: ClassVar[str] = "colbert"
    config: ColBERTConfig

    def __init__(self, config: ColBERTConfig, encoder: Encoder) -> None:
        super().__init__(config, encoder)
        self.projection = nn.Linear(
            encoder.dimension, config.dimension, bias=config.similarity == "dot"
        )
        use_fast_linears(self.projection)

    @property
    def dimension(self) -> int:
        """The width of a term's vector."""
        return self.config.dimension

    def project(self, states: Tensor) -> Tensor:
        """Project the encoder's states ``(…, hidden)`` to the compared vectors ``(…, dim)``, in
        full precision.
        """
        vectors = self.projection(states).float()
        return F.normalize(vectors, dim=-1) if self.config.similarity == "cosine" else vectors

    def vectors(self, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return one vector a token, as ``DualEncoder.vectors``."""
        vectors = self.project(self.encoder.last_hidden(**inputs))
        mask = inputs.get("attention_mask")
        return vectors, torch.ones_like(
            vectors[..., 0], dtype=torch.bool
        ) if mask is None else mask.bool()

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(n,)`` of ``(n or 1, query_len, dim)`` and ``(n, passage_len, dim)``, in
        full precision.
        """
        with torch.autocast(query.device.type, enabled=False):
            matches = query.float() @ passage.float().transpose(1, 2)  # (n, query_len, passage_len)
            # (n, query_len)
            best = matches.masked_fill(~passage_mask.unsqueeze(1), -torch.inf).amax(dim=2)
            return best.masked_fill(~query_mask, 0.0).sum(dim=1)

    # -- keeping -----------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Save encoder and tokenizer in transformers' format, and the files of
        sentence-transformers' ``MultiVectorEncoder``.
        """
        config = self.config
        self.encoder.save(folder, length=config.passage_length)
        write_multi_vector(
            folder,
            states=self.encoder.dimension,
            dimension=config.dimension,
            bias=self.projection.bias is not None,
            normalize=config.similarity == "cosine",
            query_length=config.query_length,
            passage_length=config.passage_length,
        )
        save_tensors(
            folder / PROJECTION / WEIGHTS, nn.ModuleDict({"linear": self.projection}).state_dict()
        )

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        model = cls(
            read_shape(ColBERTConfig, shape, folder), open_encoder(check_encoder_folder(folder))
        )
        load_weights(nn.ModuleDict({"linear": model.projection}), folder / PROJECTION / WEIGHTS)
        return model
