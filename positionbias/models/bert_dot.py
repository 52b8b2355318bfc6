"""BERT_DOT: query and passage read apart by one encoder, scored by the dot product of their vectors (position-bias paper, Eq. 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import SettingError
from positionbias.models.encoder import Encoder, load_encoder, open_encoder
from positionbias.models.encoder_source import check_encoder_folder
from positionbias.models.protocols import Role, Tokens
from positionbias.models.sentence_transformers import write_bi_encoder

__all__ = ["BertDot", "BertDotConfig", "Pooling"]

Pooling = Literal["cls", "mean"]
_SIDES = ("query", "passage")


@dataclass(frozen=True, slots=True)
class BertDotConfig:
    """BERT_DOT's shape. Lengths count special tokens. The paper's vector is the raw [CLS], not normalised.

    Prompts stand before each text, as some published bi-encoders were trained to read it.
    """

    query_length: int = 30
    passage_length: int = 200
    pooling: Pooling = "cls"
    normalize: bool = False
    query_prompt: str = ""
    passage_prompt: str = ""

    def __post_init__(self) -> None:
        for name in ("query_length", "passage_length"):
            if getattr(self, name) < 1:
                raise SettingError(f"--{name.replace('_', '-')}: wanted at least 1; found {getattr(self, name)}; raise it")
        if self.pooling not in ("cls", "mean"):
            raise SettingError(f"pooling: wanted cls or mean; found {self.pooling!r}; give one of these")


def _prompted(texts: Sequence[str], prompt: str) -> Sequence[str]:
    return [prompt + text for text in texts] if prompt else texts


class BertDot(nn.Module):
    """The model: s = BERT([CLS] q [SEP])_CLS · BERT([CLS] p [SEP])_CLS, one encoder for both sides."""

    kind: ClassVar[str] = "bert_dot"
    vector_similarity: ClassVar[str] = "dot"  # of vectors of length 1 where they are normalised

    def __init__(self, config: BertDotConfig, encoder: Encoder) -> None:
        super().__init__()
        encoder.check_length(config.query_length, "--query-length", texts=1)
        encoder.check_length(config.passage_length, "--passage-length", texts=1)
        self.config = config
        self.encoder = encoder

    @classmethod
    def over(cls, config: BertDotConfig, name: str) -> Self:
        """A new model over an encoder: a folder, a hub id, or ``minilm``."""
        return cls(config, load_encoder(name))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.encoder.device

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return self.encoder.dimension

    # -- reading ------------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The most word pieces it reads of a passage."""
        return self.config.passage_length - self.encoder.template.single.added

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Word pieces of queries, cut at ``query_length``."""
        room = self.config.query_length - self.encoder.template.single.added
        return self.encoder.read(_prompted(texts, self.config.query_prompt), room)

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Word pieces of passages, cut at ``passage_length``."""
        return self.encoder.read(_prompted(texts, self.config.passage_prompt), self.room)

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """As ``Ranker.inputs``: the encoder's tensors of both sides, named ``query_…`` and ``passage_…``."""
        sides = (self._assemble(queries, self.config.query_length), self._assemble(passages, self.config.passage_length))
        return {f"{side}_{name}": tensor for side, inputs in zip(_SIDES, sides, strict=True) for name, tensor in inputs.items()}

    def _assemble(self, rows: Sequence[Tokens], limit: int) -> dict[str, Tensor]:
        return self.encoder.assemble(rows, limit=limit)

    # -- encoding and scoring -------------------------------------------------------------------------

    def vectors(self, **inputs: Tensor) -> Tensor:
        """Vectors ``(n, dim)`` in full precision of the encoder's inputs."""
        if self.config.pooling == "cls":
            pooled = self.encoder.cls(**inputs).float()
        else:
            states = self.encoder.last_hidden(**inputs).float()  # (n, length, dim)
            mask = inputs.get("attention_mask")
            weights = torch.ones_like(states[..., 0]) if mask is None else mask.to(states.dtype)
            pooled = (states * weights.unsqueeze(-1)).sum(dim=1) / weights.sum(dim=1, keepdim=True)
        return F.normalize(pooled, dim=-1) if self.config.normalize else pooled

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """As ``PassageEncoder.encode_queries``: vectors ``(n, 1, dim)``."""
        return self._encode(queries, self.config.query_length)

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """As ``PassageEncoder.encode_passages``: vectors ``(n, 1, dim)``."""
        return self._encode(passages, self.config.passage_length)

    def _encode(self, rows: Sequence[Tokens], limit: int) -> tuple[Tensor, Tensor]:
        inputs = {name: tensor.to(self.device) for name, tensor in self._assemble(rows, limit).items()}
        vectors = self.vectors(**inputs).unsqueeze(1)
        return vectors, torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Dot products ``(n,)`` of ``(n or 1, 1, dim)`` and ``(n, 1, dim)``, in full precision."""
        with torch.autocast(query.device.type, enabled=False):
            return (query.float() * passage.float()).sum(dim=(1, 2))

    def forward(self, **inputs: Tensor) -> Tensor:
        """Scores ``(k·n,)`` of ``query_…`` tensors ``(n, …)`` and ``passage_…`` tensors ``(k·n, …)``."""
        query, passage = (
            self.vectors(
                **{name.removeprefix(f"{side}_"): part for name, part in inputs.items() if name.startswith(f"{side}_")}
            )
            for side in _SIDES
        )
        with torch.autocast(query.device.type, enabled=False):
            return (query.repeat(len(passage) // max(1, len(query)), 1) * passage).sum(dim=1)

    # -- training and keeping -------------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """All weights learn alike."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}

    def save(self, folder: Path) -> None:
        """Encoder and tokenizer as transformers keeps them, and what sentence-transformers' ``SentenceTransformer`` reads."""
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
    def load(cls, folder: Path, shape: Mapping[str, Any]) -> Self:
        """As ``Ranker.load``."""
        return cls(BertDotConfig(**shape), open_encoder(check_encoder_folder(folder)))
