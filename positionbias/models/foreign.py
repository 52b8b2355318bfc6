"""Models that transformers or sentence-transformers saved, loaded as ours: cross-encoders as BERT_CAT, bi-encoders as BERT_DOT."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from positionbias.models.bert_cat import BertCat, BertCatConfig
from positionbias.models.bert_dot import BertDot, BertDotConfig
from positionbias.models.encoder import Encoder, open_encoder
from positionbias.models.sentence_transformers import Layout, read_layout
from positionbias.models.tensors import load_weights

__all__ = ["load_foreign"]

_UNBOUNDED = 512  # tokens, where neither model nor tokenizer names a limit [decision]


def load_foreign(folder: Path) -> BertCat | BertDot:
    """The model in a checked encoder folder. Scores are raw: logits before any activation, dot products of the vectors.

    Raises:
        InputError: not a ranker, or with parts that are not supported.
    """
    layout = read_layout(folder)
    encoder = open_encoder(folder, classifier=layout.classifier)
    return _cat(layout, encoder) if layout.kind == "bert_cat" else _dot(layout, encoder)


def _cat(layout: Layout, encoder: Encoder) -> BertCat:
    config = BertCatConfig(_length(layout.passage_length, encoder), head="transformers" if layout.classifier else "linear")
    model = BertCat(config, encoder)
    if layout.dense is not None and model.head is not None:
        load_weights(nn.ModuleDict({"linear": model.head}), layout.dense)
    return model


def _dot(layout: Layout, encoder: Encoder) -> BertDot:
    config = BertDotConfig(
        query_length=_length(layout.query_length, encoder),
        passage_length=_length(layout.passage_length, encoder),
        pooling=layout.pooling,
        normalize=layout.normalize,
        query_prompt=layout.query_prompt,
        passage_prompt=layout.passage_prompt,
    )
    return BertDot(config, encoder)


def _length(named: int | None, encoder: Encoder) -> int:
    """The smallest of what the folder names, what the tokenizer allows, and the encoder's positions."""
    limits = [limit for limit in (named or encoder.tokenizer.model_max_length, encoder.positions) if limit is not None]
    smallest = min(limits)
    return int(smallest) if smallest < 1_000_000 else _UNBOUNDED  # a tokenizer without a limit names an astronomical one
