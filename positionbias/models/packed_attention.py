"""Attention over packed texts: a text's tokens look at each other, and at no other text's."""

from __future__ import annotations

from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["attend_packed"]


def attend_packed(query: Tensor, key: Tensor, value: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """Compute softmax(q kᵀ / √size) v within each text, ``(queries, heads, size)`` and ``(tokens, heads, size)`` → ``(queries, heads, size)``.

    Text ``i`` has the tokens ``offsets[i] … offsets[i + 1]``, of which the longest text has ``longest``. Queries are either all tokens,
    or one a text. Neighbours of equal length are computed together, without a copy.
    """
    lengths = offsets.diff().tolist()
    if not lengths:
        return torch.empty_like(query)
    alone = len(query) == len(lengths)
    mixed, first, row = [], 0, 0
    for length, found in groupby(lengths):
        n = len(list(found))
        asked = n if alone else n * length
        parts = query[row : row + asked], key[first : first + n * length], value[first : first + n * length]
        q, k, v = (part.unflatten(0, (n, -1)).transpose(1, 2) for part in parts)  # (n, heads, length, size)
        mixed.append(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(0, 1))
        row, first = row + asked, first + n * length
    return torch.cat(mixed)
