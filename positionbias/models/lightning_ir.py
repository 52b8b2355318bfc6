"""Read the settings of a model that lightning-ir saved: its ``config.json`` names the encoder's type beside lightning-ir's own.

mono, cross-encoder   a pair's pooled state through a linear layer
lir-dpr               one pooled vector a text
col                   a vector a token (ColBERT)

It reads the forms of releases 0.0.4 to 0.0.6 and of the code of March 2026; of older releases only the cross-encoder's, which is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import Json
from positionbias.core.schema import converted
from positionbias.models.layout import Family

__all__ = ["Aggregation", "LightningPooling", "LightningSettings", "Side", "Sparsification", "read_lightning_ir"]

LightningPooling = Literal["first", "mean", "max", "sum"]
Aggregation = Literal["sum", "mean", "max"]
Sparsification = Literal["relu", "relu_log", "relu_2xlog"]
_Length = Annotated[int, msgspec.Meta(ge=1)] | None
_Tokens = list[str] | Literal["punctuation"] | None

FAMILIES_BY_TYPE: Mapping[str, Family] = {
    "mono": "cross-encoder",
    "cross-encoder": "cross-encoder",
    "lir-dpr": "bi-encoder",
    "col": "multi-vector",
}
_REASONS = {
    "set-encoder": ", which reads a query's passages together",
    "encoder-decoder-cross-encoder": ", whose score comes from a decoder",
}
_DO = "give another model"


class Side(NamedTuple):
    """The reading of one side's texts. ``length`` None: as long as the encoder reads."""

    length: int | None
    expand: bool
    attend: bool
    unscored: list[str] | Literal["punctuation"] | None
    aggregation: Aggregation
    pooling: LightningPooling


@dataclass(frozen=True, slots=True)
class LightningSettings:
    """The fields that lightning-ir adds to an encoder's config, under its names."""

    model_type: str
    backbone_model_type: str
    query_length: _Length = None
    doc_length: _Length = None
    use_adapter: bool = False
    scoring_strategy: Literal["rank", "mono"] = "rank"
    pooling_strategy: LightningPooling | None = None
    query_pooling_strategy: LightningPooling | None = None
    doc_pooling_strategy: LightningPooling | None = None
    similarity_function: Literal["dot", "cosine"] = "dot"
    normalize: bool | None = None
    normalization_strategy: Literal["l2"] | None = None
    sparsification: Sparsification | None = None
    sparsification_strategy: Sparsification | None = None
    add_marker_tokens: bool = False
    projection: Literal["linear", "linear_no_bias"] | None = None
    query_expansion: bool = False
    doc_expansion: bool = False
    attend_to_query_expanded_tokens: bool = False
    attend_to_doc_expanded_tokens: bool = False
    query_mask_scoring_tokens: _Tokens = None
    doc_mask_scoring_tokens: _Tokens = None
    query_aggregation_function: Aggregation = "sum"
    doc_aggregation_function: Aggregation = "max"

    @property
    def family(self) -> Family:
        """The family of its type."""
        return FAMILIES_BY_TYPE[self.model_type]

    @property
    def unit_vectors(self) -> bool:
        """True if vectors are normalised; 0.0.6 and older follow ``normalize`` where they write it."""
        return self.normalization_strategy == "l2" if self.normalize is None else self.normalize

    @property
    def sparsify(self) -> Sparsification | None:
        """The function that makes vectors sparse, under its newer or older name."""
        return self.sparsification_strategy or self.sparsification

    @property
    def query(self) -> Side:
        """The reading of queries."""
        return Side(
            self.query_length,
            self.query_expansion,
            self.attend_to_query_expanded_tokens,
            self.query_mask_scoring_tokens,
            self.query_aggregation_function,
            self.pooling_strategy or self.query_pooling_strategy or "first",
        )

    @property
    def passage(self) -> Side:
        """The reading of passages."""
        return Side(
            self.doc_length,
            self.doc_expansion,
            self.attend_to_doc_expanded_tokens,
            self.doc_mask_scoring_tokens,
            self.doc_aggregation_function,
            self.pooling_strategy or self.doc_pooling_strategy or "first",
        )


def read_lightning_ir(folder: Path) -> LightningSettings | None:
    """Return the settings of a folder that lightning-ir saved; None for any other folder.

    Raises:
        InputError: a type of model or settings that are not supported; the message names them.
    """
    place = folder / "config.json"
    record = read_json(place, what="a model's settings") if place.is_file() else None
    if not isinstance(record, dict) or "backbone_model_type" not in record:
        return None
    kind = record.get("model_type")
    if kind not in FAMILIES_BY_TYPE:
        raise _refused(place, f"a model of type {kind}{_REASONS.get(str(kind), ', which is not read here')}")
    try:
        settings = converted(LightningSettings, record, more=True)
    except (msgspec.ValidationError, UnicodeError) as error:
        raise _refused(place, f"{error}".replace("$.", "")) from error
    if found := _fault(folder, settings, record):
        raise _refused(place, found)
    return settings


def _fault(folder: Path, settings: LightningSettings, record: Mapping[str, Json]) -> str:
    """Return the first setting that is not supported, or ""."""
    from transformers import CONFIG_MAPPING

    if settings.backbone_model_type not in CONFIG_MAPPING:
        return f"backbone_model_type {settings.backbone_model_type!r}, which transformers does not know"
    if CONFIG_MAPPING[settings.backbone_model_type]().is_encoder_decoder:
        return f"a {settings.backbone_model_type}, whose score comes from a decoder"
    if settings.use_adapter:
        return "an adapter beside the encoder (use_adapter)"
    if (folder / "mask_scoring_tokens.json").is_file() and settings.family != "cross-encoder":
        return "the form of a release before 0.0.4 (mask_scoring_tokens.json)"
    if settings.family != "cross-encoder" and "projection" not in record:
        return "no setting projection"
    if settings.family == "multi-vector" and (settings.projection is None or settings.sparsify):
        return "vectors of tokens without a projection, or made sparse"
    return ""


def _refused(place: Path, found: str) -> InputError:
    wanted = f"a model of lightning-ir of type {', '.join(FAMILIES_BY_TYPE)}, over an encoder"
    return bad_input(place, wanted=wanted, found=found, do=_DO)
