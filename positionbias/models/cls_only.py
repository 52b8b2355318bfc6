"""Compute the last layer for [CLS] alone, as its other rows are never read.

Keys and values still come from all tokens; queries, the output projection and the feed-forward are
computed for one row instead of all. It is exact, in training too, for post-norm encoders (BERT's
family). Others run as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The location of an architecture's layers, and the function of its last layer for [CLS]."""

    stack: str
    cls_layer: Callable[[Any, Tensor, Tensor | None], Tensor]


def _attend(
    cls: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, heads: int, dropout: float
) -> Tensor:
    """Attend with one query a text: ``cls (n, 1, dim)``, ``key`` and ``value (n, length, dim)`` →
    ``(n, 1, dim)``.
    """
    query, key, value = (
        part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in (cls, key, value)
    )
    mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return mixed.transpose(1, 2).flatten(2)


def _bert_layer(layer: Any, states: Tensor, mask: Tensor | None) -> Tensor:
    own, cls = layer.attention.self, states[:, :1]
    dropout = own.dropout.p if own.training else 0.0
    mixed = _attend(
        own.query(cls), own.key(states), own.value(states), mask, own.num_attention_heads, dropout
    )
    return layer.feed_forward_chunk(layer.attention.output(mixed, cls))


def _distilbert_layer(layer: Any, states: Tensor, mask: Tensor | None) -> Tensor:
    own, cls = layer.attention, states[:, :1]
    dropout = own.dropout.p if own.training else 0.0
    mixed = _attend(
        own.q_lin(cls), own.k_lin(states), own.v_lin(states), mask, own.n_heads, dropout
    )
    attended = layer.sa_layer_norm(own.out_lin(mixed) + cls)
    return layer.output_layer_norm(layer.ffn(attended) + attended)


def _distilbert_head(model: Any, states: Tensor) -> Tensor:
    return model.classifier(model.dropout(F.relu(model.pre_classifier(states[:, 0]))))


def _pooled_head(model: Any, states: Tensor) -> Tensor:
    return model.classifier(model.dropout(model.base_model.pooler(states)))


def _own_head(model: Any, states: Tensor) -> Tensor:
    return model.classifier(states)


_BERT = Arrangement("encoder", _bert_layer)
# by the model's class, as different classes may share a configuration
ARRANGEMENTS: dict[str, Arrangement] = {
    "BertModel": _BERT,
    "RobertaModel": _BERT,
    "XLMRobertaModel": _BERT,
    "CamembertModel": _BERT,
    "ElectraModel": _BERT,
    "DistilBertModel": Arrangement("transformer", _distilbert_layer),
}

# a sequence classifier's function of the states (n, 1, dim) of [CLS]
HEADS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "BertForSequenceClassification": _pooled_head,
    "RobertaForSequenceClassification": _own_head,
    "XLMRobertaForSequenceClassification": _own_head,
    "CamembertForSequenceClassification": _own_head,
    "ElectraForSequenceClassification": _own_head,
    "DistilBertForSequenceClassification": _distilbert_head,
}


def hooked(model: nn.Module) -> bool:
    """Return True if a part of a model has a forward hook, which only the model's own forward pass
    calls.
    """
    return any(part._forward_hooks or part._forward_pre_hooks for part in model.modules())


def _applies(model: Any) -> bool:
    if hooked(model):
        return False
    # the mask is made here in the form of PyTorch's own attention
    own_attention = getattr(model.config, "_attn_implementation", None) == "sdpa"
    return (
        type(model).__name__ in ARRANGEMENTS
        and own_attention
        and not getattr(model.config, "is_decoder", False)
    )


def cls_states(model: Any, inputs: dict[str, Tensor]) -> Tensor:
    """Return the last layer's [CLS] ``(n, dim)``, equal to
    ``model(**inputs).last_hidden_state[:, 0]``.
    """
    if not _applies(model):
        return model(**inputs).last_hidden_state[:, 0]
    numbers = {name: tensor for name, tensor in inputs.items() if name != "attention_mask"}
    states = model.embeddings(**numbers)
    if hasattr(model, "embeddings_project"):  # ELECTRA's embeddings are narrower than its layers
        states = model.embeddings_project(states)
    mask = inputs.get("attention_mask")
    # (n, 1, 1, length): True where attention may look
    mask = None if mask is None else mask[:, None, None, :].bool()
    arrangement = ARRANGEMENTS[type(model).__name__]
    *layers, last = getattr(model, arrangement.stack).layer
    for layer in layers:
        states = layer(states, mask)
    return arrangement.cls_layer(last, states, mask)[:, 0]


def cls_logits(model: Any, inputs: dict[str, Tensor], cls: Callable[..., Tensor]) -> Tensor:
    """Return a sequence classifier's logits ``(n, labels)``, equal to ``model(**inputs).logits``;
    ``cls`` gives its [CLS] ``(n, dim)``.
    """
    head = HEADS.get(type(model).__name__)
    if head is None:
        return model(**inputs).logits
    return head(model, cls(**inputs).unsqueeze(1))
