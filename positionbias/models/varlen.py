"""Attention over packed texts of different lengths: no padding is stored or computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["HALVES", "packs_on", "varlen_attention"]

HALVES = (torch.bfloat16, torch.float16)  # the types of flash attention
_FLASH = (8, 0)  # the least compute capability of flash attention


@cache
def _flash() -> Callable[..., Any] | None:
    """Return torch's flash attention for packed texts; None before torch 2.10."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return varlen_attn


def packs_on(device: torch.device, dtype: torch.dtype) -> bool:
    """Return True if this device has fused attention for packed texts in this precision."""
    if device.type != "cuda" or dtype not in HALVES or torch.version.hip is not None:
        return False
    return _flash() is not None and torch.cuda.get_device_capability(device) >= _FLASH


def varlen_attention(
    query: Tensor, key: Tensor, value: Tensor, query_offsets: Tensor, offsets: Tensor, most_queries: int, longest: int
) -> Tensor:
    """Compute softmax(q kᵀ / √size) v within each text, ``(queries, heads, size)`` and ``(tokens, heads, size)`` → ``(queries, heads, size)``.

    Text ``i`` has the queries ``query_offsets[i] … query_offsets[i + 1]`` and the tokens ``offsets[i] … offsets[i + 1]``, both int32.
    ``most_queries`` and ``longest`` are the largest of these counts. Where ``packs_on`` is false texts are computed one by one.
    """
    if packs_on(query.device, query.dtype):
        flash = _flash()
        assert flash is not None
        return flash(query, key, value, query_offsets, offsets, most_queries, longest)  # type: ignore[no-any-return]
    rows, places = query_offsets.tolist(), offsets.tolist()
    parts = []
    for at in range(len(places) - 1):
        asked, text = slice(rows[at], rows[at + 1]), slice(places[at], places[at + 1])
        q, k, v = (part.transpose(0, 1).unsqueeze(0) for part in (query[asked], key[text], value[text]))
        parts.append(F.scaled_dot_product_attention(q, k, v).squeeze(0).transpose(0, 1))
    return torch.cat(parts) if parts else torch.empty_like(query)
