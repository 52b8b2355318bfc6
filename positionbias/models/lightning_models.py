"""lightning-ir's cross-encoders, bi-encoders and ColBERTs, with its own scores. They cannot be trained further here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import punctuation
from typing import Any, ClassVar, NoReturn

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor, nn

from positionbias.core.errors import SettingError, bad_input
from positionbias.models.bert_cat import BertCat
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.encoder_template import check_sides
from positionbias.models.lightning_ir import Aggregation, LightningPooling, LightningSettings, Side, Sparsification
from positionbias.models.protocols import Tokens
from positionbias.models.shapes import BertCatConfig

__all__ = ["LightningCol", "LightningDpr", "LightningEncoder", "LightningMono", "load_lightning_ir"]

_WEIGHTS = "model.safetensors"
_DO = "fetch the model again, or give another"
_MARKERS = ("[QUE]", "[DOC]")


def load_lightning_ir(folder: Path, settings: LightningSettings) -> LightningMono | LightningEncoder:
    """Load a checked folder with its settings.

    Raises:
        InputError: damaged files, missing or extra tensors, or a token that the tokenizer lacks.
    """
    encoder = open_encoder(folder, backbone=settings.backbone_model_type, check=check_sides)
    head = _head(folder, encoder)
    if settings.family == "cross-encoder":
        config = BertCatConfig(encoder.most_tokens(None), head="relevance" if settings.scoring_strategy == "mono" else "linear")
        pool = "bert_pool.0.weight" in head
        model: LightningMono | LightningEncoder = LightningMono(config, encoder, settings, pool=pool)
    else:
        made = LightningDpr if settings.family == "bi-encoder" else LightningCol
        model = made(_config(folder, settings, encoder), encoder, _projection(folder, settings, head, encoder.dimension))
    _fill(folder, model, head)
    return model.eval()


def _head(folder: Path, encoder: Encoder) -> dict[str, Tensor]:
    """Return the tensors of a folder that are not the encoder's."""
    place = folder / _WEIGHTS
    if not place.is_file():
        raise bad_input(folder, wanted=f"all weights in {_WEIGHTS}", found="none of this name", do="save the model so")
    with safe_open(place, framework="pt") as file:
        names = set(file.keys()) - set(encoder.model.state_dict())
        return {name: file.get_tensor(name).float() for name in names if not name.startswith("pooler.")}


def _fill(folder: Path, model: LightningMono | LightningEncoder, head: dict[str, Tensor]) -> None:
    """Copy a head's tensors into a model that has exactly these."""
    own = {model.names.get(name, name): tensor for name, tensor in head.items()}
    wanted = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("encoder.")}
    if isinstance(model, LightningMono) and model.head is not None and "head.bias" not in own:
        own["head.bias"] = torch.zeros_like(model.head.bias)
    for name, tensor in wanted.items():
        if name not in own:
            raise bad_input(folder / _WEIGHTS, wanted=f"the tensor {name}", found="none of this name", do=_DO)
        if own[name].shape != tensor.shape:
            found = f"shape {tuple(own[name].shape)}"
            raise bad_input(folder / _WEIGHTS, wanted=f"{name} of shape {tuple(tensor.shape)}", found=found, do=_DO)
    if extra := sorted(own.keys() - wanted.keys()):
        raise bad_input(folder / _WEIGHTS, wanted="the tensors of such a model only", found=f"also {extra[0]}", do=_DO)
    model.load_state_dict(own, strict=False)


def pooled(states: Tensor, mask: Tensor | None, pooling: LightningPooling) -> Tensor:
    """Pool states ``(n, length, dim)`` where ``mask`` ``(n, length)`` is True: ``(n, dim)``."""
    if pooling == "first":
        return states[:, 0]
    kept = torch.ones_like(states[..., 0], dtype=torch.bool) if mask is None else mask.bool()
    return _aggregated(states, kept.unsqueeze(-1), pooling, dim=1)


def _aggregated(values: Tensor, mask: Tensor, how: Aggregation, *, dim: int) -> Tensor:
    """Return the sum, mean or maximum of the masked values along a dimension; the mean of none is 0."""
    if how == "max":
        return values.masked_fill(~mask, -torch.inf).amax(dim)
    total = values.masked_fill(~mask, 0.0).sum(dim)
    return total if how == "sum" else total / mask.expand_as(values).sum(dim).clamp(min=1)


class LightningMono(BertCat):
    """A cross-encoder: one linear layer on the pair's pooled state. Query and passage are also cut alone, before the pair."""

    kind: ClassVar[str] = "cross-encoder"
    names: ClassVar[dict[str, str]] = {"linear.weight": "head.weight", "linear.bias": "head.bias"} | {
        f"bert_pool.0.{part}": f"pool.{part}" for part in ("weight", "bias")
    }

    def __init__(self, config: BertCatConfig, encoder: Encoder, settings: LightningSettings, *, pool: bool = False) -> None:
        super().__init__(config, encoder)
        self._settings = settings
        self.pool = nn.Linear(encoder.dimension, encoder.dimension) if pool else None

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, cut at their own length and the pair's."""
        return self.encoder.read(texts, min(self.room, self._settings.query_length or self.room))

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, cut at their own length and the pair's."""
        return self.encoder.read(texts, min(self.room, self._settings.doc_length or self.room))

    def summary(self, **inputs: Tensor) -> Tensor:
        """Return the pair's pooled state ``(n, dim)``."""
        how = self._settings.query.pooling
        if how == "first":
            states = self.encoder.cls(**inputs)
        else:
            states = pooled(self.encoder.last_hidden(**inputs), inputs.get("attention_mask"), how)
        return states if self.pool is None else torch.tanh(self.pool(states))

    def save(self, folder: Path) -> NoReturn:
        """Refuse: the saved form could not tell other libraries the lengths."""
        raise SettingError(f"--start: wanted a model that can be saved; found one of lightning-ir, {folder}; give another")


@dataclass(frozen=True, slots=True)
class ReadSide:
    """The reading of one side's texts, in token numbers; ``marker``, if any, precedes each text."""

    length: int
    marker: tuple[int, ...]
    expand: bool
    attend: bool
    unscored: tuple[int, ...]
    aggregation: Aggregation
    pooling: LightningPooling


@dataclass(frozen=True, slots=True)
class LightningConfig:
    """A bi-encoder's or ColBERT's shape; ``normalize``: vectors have length 1, so that their dot product is the cosine."""

    query: ReadSide
    passage: ReadSide
    normalize: bool
    sparsify: Sparsification | None


class LightningEncoder(nn.Module):
    """A ``PassageEncoder``: one encoder for both sides and a linear layer."""

    kind: ClassVar[str]
    names: ClassVar[dict[str, str]] = {}

    def __init__(self, config: LightningConfig, encoder: Encoder, projection: nn.Linear | None) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.projection = projection

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.encoder.device

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        return self.encoder.dimension if self.projection is None else self.projection.out_features

    @property
    def room(self) -> int:
        """The maximum of word pieces read of a passage."""
        return self._room(self.config.passage)

    def _room(self, side: ReadSide) -> int:
        return side.length - self.encoder.template.single.added - len(side.marker)

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of queries, cut at their length."""
        return self.encoder.read(texts, self._room(self.config.query))

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of passages, cut at their length."""
        return self.encoder.read(texts, self.room)

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_queries``."""
        return self.vectors(self._inputs(queries, self.config.query), self.config.query)

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_passages``."""
        return self.vectors(self._inputs(passages, self.config.passage), self.config.passage)

    def _inputs(self, rows: Sequence[Tokens], side: ReadSide) -> dict[str, Tensor]:
        """Return the encoder's tensors; an expanded side has [MASK] up to its length, which other tokens may not attend to."""
        inputs = self.encoder.assemble([[*side.marker, *row] for row in rows], limit=side.length)
        if side.expand:
            numbers = inputs["input_ids"]
            own = inputs.get("attention_mask", torch.ones_like(numbers))
            added = (0, side.length - numbers.shape[1])
            own = F.pad(own, added)
            inputs = {name: F.pad(tensor, added) for name, tensor in inputs.items()}
            inputs["input_ids"] = inputs["input_ids"].masked_fill(own == 0, self.encoder.tokenizer.mask_token_id)
            inputs["attention_mask"] = torch.ones_like(own) if side.attend else own
        return {name: tensor.to(self.device) for name, tensor in inputs.items()}

    def project(self, states: Tensor) -> Tensor:
        """Project states ``(…, hidden)`` to the compared vectors ``(…, dim)``, in full precision."""
        vectors = (states if self.projection is None else self.projection(states)).float()
        if self.config.sparsify is not None:
            vectors = torch.relu(vectors)
            for _ in range({"relu": 0, "relu_log": 1, "relu_2xlog": 2}[self.config.sparsify]):
                vectors = torch.log1p(vectors)
        return F.normalize(vectors, dim=-1) if self.config.normalize else vectors

    def vectors(self, inputs: dict[str, Tensor], side: ReadSide) -> tuple[Tensor, Tensor]:
        """Return vectors ``(n, rows, dim)`` and their mask ``(n, rows)``."""
        raise NotImplementedError

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Implement ``PassageEncoder.interact``."""
        raise NotImplementedError


class LightningDpr(LightningEncoder):
    """A bi-encoder: a linear layer on the pooled state, compared by the dot product."""

    kind: ClassVar[str] = "bi-encoder"
    vector_similarity: ClassVar[str] = "dot"

    def vectors(self, inputs: dict[str, Tensor], side: ReadSide) -> tuple[Tensor, Tensor]:
        """Return one vector a text, ``(n, 1, dim)``."""
        states = pooled(self.encoder.last_hidden(**inputs), inputs.get("attention_mask"), side.pooling)
        return self.project(states).unsqueeze(1), torch.ones(len(states), 1, dtype=torch.bool, device=states.device)

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Return dot products ``(n,)`` of ``(n or 1, 1, dim)`` and ``(n, 1, dim)``, in full precision."""
        with torch.autocast(query.device.type, enabled=False):
            return (query.float() * passage.float()).sum(dim=(1, 2))


class LightningCol(LightningEncoder):
    """A ColBERT: a vector a token; its matches are aggregated over the passage's tokens, then over the query's."""

    kind: ClassVar[str] = "multi-vector"

    def vectors(self, inputs: dict[str, Tensor], side: ReadSide) -> tuple[Tensor, Tensor]:
        """Return one vector a token; the mask excludes unscored tokens and padding, except [MASK] of an expanded text."""
        numbers = inputs["input_ids"]
        mask = torch.ones_like(numbers, dtype=torch.bool)
        if not side.expand and "attention_mask" in inputs:
            mask = inputs["attention_mask"].bool()
        if side.unscored:
            mask = mask & ~torch.isin(numbers, torch.tensor(side.unscored, device=numbers.device))
        states = (
            self.encoder.padded_hidden if side.expand else self.encoder.last_hidden
        )  # [MASK] is scored, and not attended to
        return self.project(states(**inputs)), mask

    def interact(self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor) -> Tensor:
        """Return scores ``(n,)`` of ``(n or 1, query_len, dim)`` and ``(n, passage_len, dim)``, in full precision."""
        with torch.autocast(query.device.type, enabled=False):
            matches = query.float() @ passage.float().transpose(1, 2)  # (n, query_len, passage_len)
            best = _aggregated(matches, passage_mask.unsqueeze(1), self.config.passage.aggregation, dim=2)  # (n, query_len)
            return _aggregated(best, query_mask.expand(len(best), -1), self.config.query.aggregation, dim=1)


def _projection(folder: Path, settings: LightningSettings, head: dict[str, Tensor], dimension: int) -> nn.Linear | None:
    """Return the stored linear layer, from ``dimension`` inputs to its number of outputs."""
    if settings.projection is None:
        return None
    stored = tuple(head["projection.weight"].shape) if "projection.weight" in head else (1, dimension)
    if len(stored) != 2 or not stored[0] or stored[1] != dimension:
        wanted = f"projection.weight of shape (vector, {dimension:,})"
        raise bad_input(folder / _WEIGHTS, wanted=wanted, found=f"shape {stored}", do=_DO)
    return nn.Linear(dimension, stored[0], bias="no_bias" not in settings.projection)


def _config(folder: Path, settings: LightningSettings, encoder: Encoder) -> LightningConfig:
    normalize = settings.unit_vectors or settings.similarity_function == "cosine"
    query, passage = (
        _read_side(folder, side, encoder, marker if settings.add_marker_tokens else None)
        for side, marker in zip((settings.query, settings.passage), _MARKERS, strict=True)
    )
    return LightningConfig(query, passage, normalize, settings.sparsify)


def _read_side(folder: Path, side: Side, encoder: Encoder, marker: str | None) -> ReadSide:
    vocabulary: dict[str, Any] = encoder.tokenizer.get_vocab()

    def number(token: str) -> int:
        if token not in vocabulary:
            raise bad_input(folder, wanted=f"a tokenizer with the token {token}", found="none of this name", do=_DO)
        return int(vocabulary[token])

    if side.expand:
        number(encoder.tokenizer.mask_token or "[MASK]")
    unscored = punctuation if side.unscored == "punctuation" else side.unscored or ()
    return ReadSide(
        encoder.most_tokens(side.length),
        () if marker is None else (number(marker),),
        side.expand,
        side.attend,
        tuple(number(token) for token in unscored),
        side.aggregation,
        side.pooling,
    )
