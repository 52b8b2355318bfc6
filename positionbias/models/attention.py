"""Attention over a text's terms, plain or with relative positions (Shaw, Uszkoreit and Vaswani
2018).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RelativePositions(nn.Module):
    """Two learned vectors for each distance −k … k between terms; a distance beyond them counts as
    −k or k.

    e_ij = q_i · (k_j + a^K_{j−i}) / √size,   z_i = Σ_j softmax_j(e_ij) (v_j + a^V_{j−i})
    (Shaw et al. 2018, Eqs. 3 and 4)

    Each layer has its own, its heads share them, and they start by Glorot's rule [decision]. A
    model with them needs no other positions: attention depends on the distance of two terms, and
    not on their positions in the text.
    """

    def __init__(self, head_size: int, distance: int) -> None:
        super().__init__()
        self.distance = distance
        self.keys = nn.Parameter(nn.init.xavier_uniform_(torch.empty(2 * distance + 1, head_size)))
        self.values = nn.Parameter(
            nn.init.xavier_uniform_(torch.empty(2 * distance + 1, head_size))
        )

    def tables(self, length: int) -> tuple[Tensor, Tensor]:
        """Return the key and value vectors of distances −(length − 1) … length,
        ``(2·length, head_size)`` each.
        """
        distances = torch.arange(1 - length, length + 1, device=self.keys.device)
        rows = distances.clamp(-self.distance, self.distance) + self.distance
        return F.embedding(rows, self.keys), F.embedding(rows, self.values)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor,
    relative: RelativePositions | None = None,
) -> Tensor:
    """Compute softmax(q kᵀ / √size) v, for ``(batch, heads, length, size)`` each → the same shape.

    ``key_mask (batch, length)``: True where attention may look, at least one position a text.
    """
    if relative is not None:
        # (2·length, size) each
        keys, values = (table.to(query.dtype) for table in relative.tables(query.shape[2]))
        # on a CPU two texts at a time, so that their distance terms stay in the processor's cache:
        # twice as fast
        size = 2 if query.is_cpu else max(1, len(query))
        texts = zip(*(part.split(size) for part in (query, key, value, key_mask)), strict=True)
        return torch.cat([_step_by_step(q, k, v, mask, (keys, values)) for q, k, v, mask in texts])
    if query.is_cpu and query.dtype in (torch.bfloat16, torch.float16):
        # fused attention is slower there in half precision
        return _step_by_step(query, key, value, key_mask)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=key_mask[:, None, None, :])


def _step_by_step(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor,
    by_distance: tuple[Tensor, Tensor] | None = None,
) -> Tensor:
    batch, heads, length, size = query.shape
    query, key, value = (part.reshape(batch * heads, length, size) for part in (query, key, value))
    query = query * size**-0.5
    hidden = torch.zeros(batch, 1, 1, length, dtype=query.dtype, device=query.device)
    hidden = (
        hidden.masked_fill(~key_mask[:, None, None, :], float("-inf"))
        .expand(batch, heads, 1, length)
        .flatten(0, 1)
    )
    scores = torch.baddbmm(hidden, query, key.transpose(1, 2))  # (batch·heads, length, length)
    if by_distance is None:
        return (scores.softmax(dim=-1) @ value).view(batch, heads, length, size)
    keys, values = by_distance
    weights = (scores + _by_place(query @ keys.t())).softmax(dim=-1)
    mixed = torch.baddbmm(_by_distance(weights) @ values, weights, value)
    return mixed.view(batch, heads, length, size)


# A row by distance holds −(length − 1) … length, so the entry of (i, j) is in column length − 1 + j
# − i, one column further left in each row. Read as rows that are one shorter, the entries are in
# columns j, without a gather or a copy by index.


def _by_place(distances: Tensor) -> Tensor:
    """Turn ``(n, length, 2·length)`` by distance into ``(n, length, length)`` by place: [i, j] =
    distances[i, length − 1 + j − i].
    """
    n, length, width = distances.shape
    flat = distances.reshape(n, length * width)[:, length - 1 : length - 1 + length * (width - 1)]
    return flat.view(n, length, width - 1)[:, :, :length]


def _by_distance(places: Tensor) -> Tensor:
    """Turn ``(n, length, length)`` by place into ``(n, length, 2·length)`` by distance, zero
    outside the text.
    """
    n, length, _ = places.shape
    flat = F.pad(places, (0, length - 1)).reshape(n, length * (2 * length - 1))
    return F.pad(flat, (length - 1, 1)).view(n, length, 2 * length)
