"""Models with a remedy at inference built in, in Python and on disk.

remedy.json      the remedy: its name and number
manifest.json    what was given the remedy
model/           the model itself, as it was
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.models.bert_dot import BertDot
from positionbias.models.calibration import (
    Pooling,
    calibrating,
    exchangeable,
    pooling_of,
    use_calibration,
)
from positionbias.models.protocols import (
    UNKNOWN_ROOM,
    AnyRanker,
    SingleVector,
    TokenReader,
    token_reader,
)
from positionbias.models.remedies import AnyRemedy, Calibration, Remedy

REMEDY, MODEL = "remedy.json", "model"
_KIND = "remedied"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Influences on scores beside the model's files."""

    remedy: str
    model: JsonObject


class Remedied:
    """A model whose scores are those of ``base`` over a passage's variants, pooled;
    ``ranking.variants`` computes them.
    """

    kind: ClassVar[str] = _KIND

    def __init__(self, base: AnyRanker, remedy: Remedy, shape: JsonObject) -> None:
        self.base, self.remedy = base, remedy
        self.config = _Shape(str(remedy), shape)

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.base.device

    @property
    def times(self) -> int:
        """The variants of a passage."""
        return self.remedy.number

    @property
    def maximum(self) -> bool:
        """True if their scores are pooled by the maximum."""
        return self.remedy.maximum

    def variants(self, text: str) -> Sequence[str]:
        """Return the variants of a passage."""
        return self.remedy.variants(text)

    @property
    def reader(self) -> TokenReader | None:
        """Count the tokens of a passage that the model reads: each rotation is as long as the
        passage; of parts it is unknown.
        """
        return token_reader(self.base) if self.remedy.rotates else None

    def to(self, device: torch.device) -> Self:
        """Move the model."""
        self.base.to(device)
        return self


@dataclass(frozen=True, slots=True)
class _Variants:
    """A passage's variants as the model reads them; its length is the sum of theirs."""

    rows: Sequence[Any]

    def __len__(self) -> int:
        return sum(map(len, self.rows))


class _OverEncoder:
    """A ``SingleVector`` over another; queries are encoded as by that."""

    kind: ClassVar[str] = _KIND

    def __init__(self, base: SingleVector, remedy: AnyRemedy, shape: JsonObject) -> None:
        self.base, self.config = base, _Shape(str(remedy), shape)

    @property
    def device(self) -> torch.device:
        """The model's device."""
        return self.base.device

    def to(self, device: torch.device) -> Self:
        """Move the model."""
        self.base.to(device)
        return self

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return self.base.dimension

    def read_queries(self, texts: Sequence[str]) -> Sequence[Any]:
        """Read queries as the model does."""
        return self.base.read_queries(texts)


class RemediedEncoder(_OverEncoder):
    """A ``SingleVector`` whose passage vector is the mean of those of the passage's variants.

    Its product with a query's vector is the mean of the products, so the remedy costs nothing at
    search. Where ``base`` compares by cosine, vectors are first scaled to length 1.
    """

    vector_similarity: ClassVar[str] = "dot"

    def __init__(self, base: SingleVector, remedy: Remedy, shape: JsonObject) -> None:
        super().__init__(base, remedy, shape)
        self.remedy = remedy

    @property
    def room(self) -> int:
        """The maximum of tokens read of all variants together."""
        return (
            UNKNOWN_ROOM if self.base.room == UNKNOWN_ROOM else self.base.room * self.remedy.number
        )

    def read_passages(self, texts: Sequence[str]) -> list[_Variants]:
        """Read each passage's variants."""
        rows = self.base.read_passages(
            [variant for text in texts for variant in self.remedy.variants(text)]
        )
        size = self.remedy.number
        return [_Variants(rows[first : first + size]) for first in range(0, len(rows), size)]

    def encode_queries(self, queries: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Encode queries as the model does: ``(n, 1, dim)`` and ``(n, 1)``."""
        vectors, mask = self.base.encode_queries(queries)
        return self._scaled(vectors), mask

    def encode_passages(self, passages: Sequence[_Variants]) -> tuple[Tensor, Tensor]:
        """Return the mean vector of each passage's variants, ``(n, 1, dim)``, and ``(n, 1)``."""
        vectors, mask = self.base.encode_passages(
            [row for passage in passages for row in passage.rows]
        )
        size = self.remedy.number
        return self._scaled(vectors).reshape(len(passages), size, -1).mean(
            dim=1, keepdim=True
        ), mask[::size]

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return dot products ``(n,)``."""
        return (query.float() * passage.float()).sum(dim=(1, 2))

    def _scaled(self, vectors: Tensor) -> Tensor:
        vectors = vectors.float()
        return F.normalize(vectors, dim=-1) if self.base.vector_similarity == "cosine" else vectors


class CalibratedEncoder(_OverEncoder):
    """A ``SingleVector`` that reads passages with evened-out attention (``models.calibration``).

    Raises:
        SettingError: as ``check_remedy``.
    """

    def __init__(self, base: SingleVector, remedy: Calibration, shape: JsonObject) -> None:
        super().__init__(base, remedy, shape)
        use_calibration(*_calibrated(base, remedy))

    @property
    def vector_similarity(self) -> str:
        """The model's similarity."""
        return self.base.vector_similarity

    @property
    def room(self) -> int:
        """The maximum of tokens read of a passage."""
        return self.base.room

    def read_passages(self, texts: Sequence[str]) -> Sequence[Any]:
        """Read passages as the model does."""
        return self.base.read_passages(texts)

    def encode_queries(self, queries: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Encode queries as the model does."""
        return self.base.encode_queries(queries)

    def encode_passages(self, passages: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Encode passages, with attention evened out."""
        with calibrating():
            return self.base.encode_passages(passages)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Compare as the model does."""
        return self.base.interact(query, query_mask, passage, passage_mask)


def remedied(
    base: AnyRanker, remedy: AnyRemedy, shape: JsonObject
) -> Remedied | RemediedEncoder | CalibratedEncoder:
    """Return a model with a remedy; ``shape`` is its ``models.checkpoint.shape_of``.

    A model with one vector a text keeps that form where scores are pooled by their mean, so that it
    can search a collection.

    Raises:
        SettingError: as ``check_remedy``.
    """
    if isinstance(remedy, Calibration):
        return CalibratedEncoder(_single(base, remedy), remedy, shape)
    if (
        isinstance(base, SingleVector)
        and base.vector_similarity in ("cosine", "dot")
        and not remedy.maximum
    ):
        return RemediedEncoder(base, remedy, shape)
    return Remedied(base, remedy, shape)


def check_remedy(base: AnyRanker, remedy: AnyRemedy) -> None:
    """Refuse a remedy that is not for this model, and leave the model as it is.

    Raises:
        SettingError: attention of a model that has not one vector a text, that pools states
            otherwise than by the first, the last or the mean, or whose attention cannot be
            exchanged.
    """
    if isinstance(remedy, Calibration):
        _calibrated(_single(base, remedy), remedy)


def _single(base: AnyRanker, remedy: Calibration) -> SingleVector:
    if not isinstance(base, SingleVector):
        wanted = "a model with one vector a text"
        raise SettingError(
            f"--remedy {remedy}: wanted {wanted}; found a {base.kind}; give rotate:4"
        )
    return base


def _calibrated(base: SingleVector, remedy: Calibration) -> tuple[nn.Module, Calibration, Pooling]:
    """Return what ``use_calibration`` takes, or raise as ``check_remedy``."""
    inner = getattr(base, "_model", base)  # a library's encoder holds its model
    pooling = base.config.pooling if isinstance(base, BertDot) else pooling_of(inner)
    if pooling is None or not isinstance(inner, nn.Module):
        wanted = "a model that pools by the first token, the last, or the mean"
        raise SettingError(f"--remedy {remedy}: wanted {wanted}; found another; give rotate:4")
    exchangeable(inner, remedy)
    return inner, remedy, pooling


def copy_model(source: Path, folder: Path) -> None:
    """Copy a model's folder to ``folder/model``; links become files, hidden files and caches stay
    behind.
    """
    shutil.copytree(source, folder / MODEL, ignore=shutil.ignore_patterns(".*", "__pycache__"))


def trained_folder(folder: Path) -> Path:
    """Return the folder of what was trained: a model with a remedy holds it."""
    return folder / MODEL if (folder / REMEDY).is_file() else folder


def remedied_checksum(model: str, remedy: AnyRemedy) -> str:
    """Return the checksum of a model of this checksum with a remedy."""
    return hashlib.sha256(f"{model} {remedy}".encode()).hexdigest()
