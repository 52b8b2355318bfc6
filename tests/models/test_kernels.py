"""Kernel pooling against numbers worked by hand (position-bias paper, Eqs. 5–6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from positionbias.models.kernels import KernelPooling, cosine_matrix

NOTHING = math.log(1e-10)  # −23.0259: what a kernel gives that meets no cosine


def pooling(
    weights: list[float], scale: list[float] | None = None, means: Sequence[float] = (1, 0.9, -0.9)
) -> KernelPooling:
    made = KernelPooling(means, [0.1] * len(means))
    made.weight.data = torch.tensor(weights, dtype=torch.float32)
    made.scale.data = torch.tensor(scale or [1.0] * len(means))
    return made


def mask(*rows: list[int]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


def test_cosines_by_hand() -> None:
    query = torch.tensor([[[3.0, 4.0], [0.0, 2.0]]])  # one query of two terms
    passage = torch.tensor([[[1.0, 0.0], [0.0, -5.0], [0.0, 0.0]]])
    # (3, 4)/5 against (1, 0) is 0.6, against (0, −1) is −0.8; a vector of zeros has cosine 0 with
    # anything
    torch.testing.assert_close(
        cosine_matrix(query, passage), torch.tensor([[[0.6, -0.8, 0.0], [0.0, -1.0, 0.0]]])
    )


def test_the_learned_scale_stands_inside_the_logarithm() -> None:
    # log(e · e^−12.5) = −11.5; nothing, a hundredfold, is still below the clamp
    scaled = pooling([1, 2, 4], [math.e, 1.0, 100.0], means=(1, 0, -1))
    score = scaled(torch.tensor([[[0.5]]]), mask([1]), mask([1])).item()
    assert score == pytest.approx(-11.5 * 1 + -12.5 * 2 + NOTHING * 4, abs=1e-4)


COSINES = torch.tensor([[[1.0, 0.0], [0.9, 1.0]]])


def test_two_by_two_scored_by_hand() -> None:
    # kernels at 1, 0.9, −0.9
    # query term 1, cosines 1 and 0:   log(1 + e^−50) = 0;  log(e^−0.5 + e^−40.5) = −0.5;  clamped
    # query term 2, cosines 0.9 and 1: log(e^−0.5 + 1) = 0.474077;  log(1 + e^−0.5), the same;
    # clamped
    bump = math.log(1 + math.exp(-0.5))
    expected = (0 + bump) * 1 + (-0.5 + bump) * 10 + 2 * NOTHING * 0.1
    score = pooling([1, 10, 0.1])(COSINES, mask([1, 1]), mask([1, 1])).item()
    assert score == pytest.approx(expected, abs=1e-4)
    assert expected == pytest.approx(-4.390321, abs=1e-5)


def test_masked_terms_count_for_nothing() -> None:
    made = pooling([1, 10, 0.1])
    # query term 2 masked: only term 1's logs
    assert made(COSINES, mask([1, 0]), mask([1, 1])).item() == pytest.approx(
        0 - 5 + NOTHING * 0.1, abs=1e-4
    )
    # passage term 1 masked: cosines 0 and 1 are left: e^−50 and e^−40.5 are clamped; term 2 meets
    # 1: 0 and −0.5
    assert made(COSINES, mask([1, 1]), mask([0, 1])).item() == pytest.approx(
        (NOTHING + 0) * 1 + (NOTHING - 0.5) * 10 + 2 * NOTHING * 0.1, abs=1e-3
    )
    # nothing in the passage: every kernel of every term is clamped; nothing in the query: no score
    # at all
    assert made(COSINES, mask([1, 1]), mask([0, 0])).item() == pytest.approx(
        2 * NOTHING * 11.1, abs=1e-3
    )
    assert made(COSINES, mask([0, 0]), mask([1, 1])).item() == 0
