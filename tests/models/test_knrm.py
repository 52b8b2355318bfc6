"""KNRM: a score worked by hand, TK's kernels, masks, gradients, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from positionbias.models.kernels import EXACT_SIGMAS, KernelPooling
from positionbias.models.knrm import KNRM
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import KNRMConfig
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

WORDS = Vocabulary("lamp gate bridge tower oil iron stone north".split())
SMALL = KNRMConfig(dimension=6)
QUERIES, PASSAGES = (
    [[2, 3], [4], []],
    [[5, 2, 6, 3], [3, 4, UNKNOWN], [2], [4, 4], [], [7, 8, 9, 2, 3]],
)


def model(config: KNRMConfig = SMALL, vectors: Sequence[Sequence[float]] | None = None) -> KNRM:
    torch.manual_seed(1)
    return KNRM(config, WORDS, None if vectors is None else np.array(vectors))


def test_a_score_worked_by_hand() -> None:
    # the query is word 2 at (1, 0); the passage is word 2 again and word 3 at (0.6, 0.8): cosines 1
    # and 0.6
    vectors = [[0.0, 0.0], [5.0, 5.0], [1.0, 0.0], [0.6, 0.8], *[[1.0, 1.0]] * 6]
    # at 1 (σ 0.001), 0.9 and −0.9 (σ 0.1)
    made = model(KNRMConfig(dimension=2), vectors)
    made.pooling = KernelPooling((1, 0.9, -0.9), EXACT_SIGMAS[:3], scaled=False)
    made.pooling.weight.data = torch.tensor([10.0, 20.0, 1.0])
    made.bias.data.fill_(0.3)
    exact = math.log(1)  # the cosine of 1; e^(−0.4²/2·10⁻⁶) is nothing
    soft = math.log(math.exp(-0.5) + math.exp(-4.5))  # 0.1 and 0.3 away: −0.1²/0.02, −0.3²/0.02
    far = math.log(1e-10)
    expected = math.tanh(0.01 * (10 * exact + 20 * soft + 1 * far) + 0.3)
    assert made(pad_rows([[2]]), pad_rows([[2, 3]])).item() == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(-0.026622, abs=1e-6)


def test_empty_texts() -> None:
    made = model()
    made.bias.data.fill_(0.2)
    nothing = made(pad_rows([[]]), pad_rows([[2, 3], []]))
    assert nothing.tolist() == pytest.approx([math.tanh(0.2)] * 2)  # no query term, no sum
    # every kernel clamped, for two query terms
    empty = made(pad_rows([[2, 3]]), pad_rows([[]])).item()
    expected = math.tanh(0.01 * 2 * math.log(1e-10) * made.pooling.weight.sum().item() + 0.2)
    assert empty == pytest.approx(expected, abs=1e-5)
    assert made.read_queries(["", "Lamp gate"]) == [[], [2, 3]]
