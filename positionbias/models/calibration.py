"""Even out an encoder's attention to the parts of a passage, at inference and without training.

A row of attention a over the tokens of a text, without its first and last token, is cut into
baskets of B tokens. With m the attention to a basket, M that to all of them, and s the basket's
share of their tokens,

    a'_j = (1 − λ) a_j + λ a_j · s M / m        for each token j of the basket

so λ = 1 gives each basket the attention that its size would have, and keeps the order of tokens
within it; the row still sums to 1.

After Schuhmacher et al. (arXiv 2601.16934), who even out the attention of the token whose state
becomes the vector, and arXiv 2606.02737, which adds λ and uses λ = 0.5, B = 128 and the last half
of the layers. Our decisions: the first and the last token keep their attention, as models use them
as a rest; a shorter last basket counts by its size; only passages are read so, queries as before.
Where a vector is the mean of all states, all rows are evened out: neither paper has that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from positionbias.core.errors import SettingError
from positionbias.models.libraries import transformers_library
from positionbias.models.remedies import Calibration

Pooling = Literal["cls", "mean", "lasttoken"]  # as sentence-transformers names them
POOLINGS: tuple[Pooling, ...] = ("cls", "mean", "lasttoken")
_NAME = "positionbias_calibrated"  # of our attention among transformers'
_MARK = "_positionbias_calibration"  # on the parts of calibrated layers
_LEAST = 1e-30  # attention to a basket; less has no digits left, and its tokens share alike
_ACTIVE: ContextVar[bool] = ContextVar("calibrating", default=False)


def evened_out(weights: Tensor, allowed: Tensor, *, strength: float, basket: int) -> Tensor:
    """Return attention with baskets evened out; ``weights (n, heads, rows, keys)`` sum to 1,
    ``allowed (n, 1, rows, keys)`` is True where a row may look.
    """
    order = allowed.cumsum(-1) - 1
    inner = (allowed & (order > 0) & (order < order[..., -1:])).to(weights.dtype)
    place = ((order - 1).clamp(min=0) // basket).expand_as(weights)
    baskets = -(-weights.shape[-1] // basket)
    held = weights * inner
    mass = weights.new_zeros(*weights.shape[:-1], baskets).scatter_add(-1, place, held)
    size = weights.new_zeros(*weights.shape[:-1], baskets).scatter_add(
        -1, place, inner.expand_as(weights)
    )
    even = mass.sum(-1, keepdim=True) * size / size.sum(-1, keepdim=True).clamp(min=1)
    mass, size, even = (part.gather(-1, place) for part in (mass, size.clamp(min=1), even))
    # each token's share of its basket
    within = torch.where(mass > _LEAST, held / mass.clamp(min=_LEAST), inner / size)
    return weights + strength * (even * within - held)


@contextmanager
def calibrating() -> Iterator[None]:
    """Let models given to ``use_calibration`` even out their attention meanwhile, in this
    thread.
    """
    before = _ACTIVE.set(True)
    try:
        yield
    finally:
        _ACTIVE.reset(before)


@dataclass(frozen=True, slots=True)
class _Mark:
    calibration: Calibration
    pooling: Pooling


def use_calibration(model: nn.Module, calibration: Calibration, pooling: Pooling) -> None:
    """Prepare the encoder in ``model`` to be calibrated while ``calibrating``; otherwise it
    computes what it did.

    Raises:
        SettingError: as ``exchangeable``.
    """
    from transformers.masking_utils import eager_mask

    encoder, stack = exchangeable(model, calibration)
    transformers_library().AttentionInterface.register(_NAME, _attention)
    transformers_library().AttentionMaskInterface.register(_NAME, eager_mask)
    encoder.set_attn_implementation(_NAME)
    mark = _Mark(calibration, pooling)
    for layer in list(stack)[calibration.first_layer(len(stack)) :]:
        for part in layer.modules():
            setattr(part, _MARK, mark)
        # forms that compute layers otherwise leave hooked models alone
        layer.register_forward_pre_hook(_nothing)


def exchangeable(model: nn.Module, calibration: Calibration) -> tuple[Any, nn.ModuleList]:
    """Return the encoder in ``model`` whose attention can be exchanged, and its layers.

    Raises:
        SettingError: no encoder of transformers with exchangeable attention.
    """
    library = transformers_library()
    encoder: Any = next(
        (part for part in model.modules() if isinstance(part, library.PreTrainedModel)), None
    )
    stack = None if encoder is None else _stack(encoder)
    if encoder is None or stack is None or not encoder._can_set_attn_implementation():
        found = "none" if encoder is None else type(encoder).__name__
        raise SettingError(
            f"--remedy {calibration}: wanted an encoder of transformers whose attention can be "
            f"exchanged; found {found}; give rotate:4, or another model"
        )
    return encoder, stack


def _nothing(module: nn.Module, inputs: Any) -> None:
    """Do nothing."""


def _stack(encoder: Any) -> nn.ModuleList | None:
    """Return the encoder's layers."""
    number = getattr(encoder.config, "num_hidden_layers", None)
    return next(
        (
            part
            for part in encoder.modules()
            if isinstance(part, nn.ModuleList) and len(part) == number
        ),
        None,
    )


def pooling_of(model: Any) -> Pooling | None:
    """Return how a model of sentence-transformers pools states; None if otherwise than these, or it
    is none.
    """
    parts = model.modules() if isinstance(model, nn.Module) else ()
    found = [
        getattr(part, "pooling_mode", None) for part in parts if type(part).__name__ == "Pooling"
    ]
    return next((name for name in POOLINGS if found == [name]), None)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **given: Any,
) -> Any:
    """Compute attention as transformers asks for it, evened out in marked layers while
    ``calibrating``.
    """
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

    mark: _Mark | None = getattr(module, _MARK, None)
    if mark is None or not _ACTIVE.get():
        return sdpa_attention_forward(module, query, key, value, attention_mask, **given)
    if (groups := getattr(module, "num_key_value_groups", 1)) > 1:
        key, value = repeat_kv(key, groups), repeat_kv(value, groups)
    scale = given.get("scaling") or query.shape[-1] ** -0.5
    scores = (query @ key.transpose(2, 3)) * scale  # (n, heads, rows, keys)
    if attention_mask is None:
        attention_mask = scores.new_zeros(1, 1, *scores.shape[2:])
    weights = (scores + attention_mask).softmax(dim=-1, dtype=torch.float32)
    allowed = (attention_mask == 0).expand(len(query), -1, -1, -1)
    even = evened_out(
        weights, allowed, strength=mark.calibration.strength, basket=mark.calibration.basket
    )
    weights = torch.where(_rows(allowed, mark.pooling), even, weights).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), None


def _rows(allowed: Tensor, pooling: Pooling) -> Tensor:
    """Return the rows whose states become a text's vector, ``(n, 1, rows, 1)``, of where rows may
    look, ``(n, 1, rows, keys)``.
    """
    places = torch.arange(allowed.shape[2], device=allowed.device)[:, None]  # (rows, 1)
    if pooling == "mean":
        return torch.ones_like(places, dtype=torch.bool)
    read = allowed[:, :, -1:]  # the last row may look at every token of its text
    ends = (
        read.long().argmax(-1, keepdim=True)
        if pooling == "cls"
        else (read * places.T).amax(-1, keepdim=True)
    )
    return places == ends
