"""Attention against loops over its formula: plain, in half precision, with relative positions (Shaw
et al. 2018).
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from positionbias.models.attention import RelativePositions, attend


@torch.no_grad()
def by_loops(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor,
    relative: RelativePositions | None = None,
) -> Tensor:
    """z_i = Σ_j softmax_j(q_i · (k_j + a^K) / √size) (v_j + a^V), one number after another."""
    batch, heads, length, size = query.shape
    out = torch.zeros_like(query)
    for b in range(batch):
        for h in range(heads):
            for i in range(length):
                terms = []
                for j in range(length):
                    if not key_mask[b, j]:
                        continue
                    keyed, valued = key[b, h, j], value[b, h, j]
                    if relative is not None:
                        row = (
                            max(-relative.distance, min(relative.distance, j - i))
                            + relative.distance
                        )
                        keyed, valued = keyed + relative.keys[row], valued + relative.values[row]
                    terms.append(
                        (math.exp(float(query[b, h, i] @ keyed) / math.sqrt(size)), valued)
                    )
                total = sum(weight for weight, _ in terms)
                out[b, h, i] = sum(
                    (valued * (weight / total) for weight, valued in terms), torch.zeros(size)
                )
    return out


def parts(batch: int, heads: int, length: int, size: int) -> list[Tensor]:
    torch.manual_seed(batch * 1000 + length)
    return [torch.randn(batch, heads, length, size) for _ in range(3)]


def test_three_words_by_hand() -> None:
    # One head of size 1, queries 1, keys and values 0: all that counts are the tables. Distances
    # beyond ±1 count as ±1.
    relative = RelativePositions(head_size=1, distance=1)
    relative.keys.data = torch.tensor([[math.log(2)], [0.0], [math.log(3)]])  # of −1, 0, 1
    relative.values.data = torch.tensor([[10.0], [20.0], [40.0]])
    one, nothing = torch.ones(1, 1, 3, 1), torch.zeros(1, 1, 3, 1)
    mixed = (
        attend(one, nothing, nothing, torch.ones(1, 3, dtype=torch.bool), relative)
        .flatten()
        .tolist()
    )
    # word 0 sees distances 0, 1, 2 → weights 1, 3, 3; word 1 sees −1, 0, 1 → 2, 1, 3; word 2 sees
    # −2, −1, 0 → 2, 2, 1
    assert mixed == pytest.approx(
        [(20 + 2 * 3 * 40) / 7, (2 * 10 + 20 + 3 * 40) / 6, (2 * 2 * 10 + 20) / 5], rel=1e-6
    )
    masked = (
        attend(one, nothing, nothing, torch.tensor([[True, False, True]]), relative)
        .flatten()
        .tolist()
    )
    assert masked == pytest.approx(
        [(20 + 3 * 40) / 4, (2 * 10 + 3 * 40) / 5, (2 * 10 + 20) / 3], rel=1e-6
    )


@given(st.integers(1, 7), st.integers(1, 9), st.integers(1, 2), st.data())
@settings(max_examples=25, deadline=None)
def test_relative_positions_against_loops(
    length: int, distance: int, batch: int, data: st.DataObject
) -> None:
    query, key, value = parts(batch, 2, length, 3)
    relative = RelativePositions(3, distance)
    lengths = torch.tensor([data.draw(st.integers(1, length)) for _ in range(batch)])
    key_mask = torch.arange(length) < lengths[:, None]
    found = attend(query, key, value, key_mask, relative)
    torch.testing.assert_close(
        found, by_loops(query, key, value, key_mask, relative), atol=1e-5, rtol=1e-5
    )
