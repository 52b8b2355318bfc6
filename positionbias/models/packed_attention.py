"""Attention over packed texts: a text's tokens look at each other, and at no other text's; no
padding is stored or computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import groupby
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

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
    """Return True if this is a GPU with fused attention for packed texts in this precision."""
    if device.type != "cuda" or dtype not in HALVES or torch.version.hip is not None:
        return False
    return _flash() is not None and torch.cuda.get_device_capability(device) >= _FLASH


def attend_packed(
    query: Tensor, key: Tensor, value: Tensor, offsets: Tensor, longest: int
) -> Tensor:
    """Compute softmax(q kᵀ / √size) v within each text, ``(queries, heads, size)`` and
    ``(tokens, heads, size)`` → ``(queries, heads, size)``.

    Text ``i`` has the tokens ``offsets[i] … offsets[i + 1]``, int32, of which the longest text has
    ``longest``. Queries are either all tokens, or one a text.
    """
    alone = len(query) == len(offsets) - 1
    if not packs_on(query.device, query.dtype):
        return _by_length(query, key, value, offsets, alone=alone)
    flash = _flash()
    assert flash is not None
    asked = (
        torch.arange(len(offsets), dtype=torch.int32, device=offsets.device) if alone else offsets
    )
    most = 1 if alone else longest
    return flash(query, key, value, asked, offsets, most, longest)  # type: ignore[no-any-return]


def _by_length(
    query: Tensor, key: Tensor, value: Tensor, offsets: Tensor, *, alone: bool
) -> Tensor:
    """Compute neighbours of equal length together, without a copy."""
    lengths = offsets.diff().tolist()
    if not lengths:
        return torch.empty_like(query)
    mixed, first, row = [], 0, 0
    for length, found in groupby(lengths):
        n = len(list(found))
        asked = n if alone else n * length
        parts = (
            query[row : row + asked],
            key[first : first + n * length],
            value[first : first + n * length],
        )
        # (n, heads, length, size)
        q, k, v = (part.unflatten(0, (n, -1)).transpose(1, 2) for part in parts)
        mixed.append(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(0, 1))
        row, first = row + asked, first + n * length
    return torch.cat(mixed)
