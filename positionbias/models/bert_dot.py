"""BERT_DOT: query and passage read separately by one encoder, scored by the dot product of their
vectors (position-bias paper, Eq. 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.core.json_text import JsonObject
from positionbias.models.dual_encoder import DualEncoder
from positionbias.models.encoder import open_encoder
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.sentence_transformers import write_bi_encoder
from positionbias.models.shapes import BertDotConfig
from positionbias.models.tensors import read_shape


def _prompted(texts: Sequence[str], prompt: str) -> Sequence[str]:
    return [prompt + text for text in texts] if prompt else texts


class BertDot(DualEncoder):
    """The model: s = BERT([CLS] q [SEP])_CLS · BERT([CLS] p [SEP])_CLS, one encoder for both
    sides.
    """

    kind: ClassVar[str] = "bert_dot"
    vector_similarity: ClassVar[str] = "dot"  # of unit vectors if normalised
    config: BertDotConfig

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries with their prompt, cut at ``query_length``."""
        return super().read_queries(_prompted(texts, self.config.query_prompt))

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages with their prompt, cut at ``passage_length``."""
        return super().read_passages(_prompted(texts, self.config.passage_prompt))

    def vectors(self, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return one vector a text, ``(n, 1, dim)``, as ``DualEncoder.vectors``."""
        if self.config.pooling == "cls":
            pooled = self.encoder.cls(**inputs).float()
        else:
            states = self.encoder.last_hidden(**inputs).float()  # (n, length, dim)
            mask = inputs.get("attention_mask")
            weights = torch.ones_like(states[..., 0]) if mask is None else mask.to(states.dtype)
            pooled = (states * weights.unsqueeze(-1)).sum(dim=1) / weights.sum(dim=1, keepdim=True)
        if self.config.normalize:
            pooled = F.normalize(pooled, dim=-1)
        return pooled.unsqueeze(1), torch.ones(
            len(pooled), 1, dtype=torch.bool, device=pooled.device
        )

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return dot products ``(n,)`` of ``(n or 1, 1, dim)`` and ``(n, 1, dim)``, in full
        precision.
        """
        with torch.autocast(query.device.type, enabled=False):
            return (query.float() * passage.float()).sum(dim=(1, 2))

    def save(self, folder: Path) -> None:
        """Save encoder and tokenizer in transformers' format, and the files of
        sentence-transformers' ``SentenceTransformer``.
        """
        config = self.config
        self.encoder.save(folder, length=config.passage_length)
        write_bi_encoder(
            folder,
            dimension=self.dimension,
            pooling=config.pooling,
            normalize=config.normalize,
            query_length=config.query_length,
            passage_length=config.passage_length,
            prompts={"query": config.query_prompt, "document": config.passage_prompt},
        )

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        return cls(
            read_shape(BertDotConfig, shape, folder), open_encoder(check_encoder_folder(folder))
        )
