"""ConvKNRM: a score worked by hand, KNRM's kernels, n-grams at the ends of texts, masks, gradients,
and what is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from positionbias.core.errors import InputError
from positionbias.models.conv_knrm import ConvKNRM
from positionbias.models.kernels import EXACT_SIGMAS, KernelPooling
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import ConvKNRMConfig
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

WORDS = Vocabulary("lamp gate bridge tower oil iron stone north".split())
SMALL = ConvKNRMConfig(dimension=6, filters=5)
QUERIES, PASSAGES = (
    [[2, 3], [4], []],
    [[5, 2, 6, 3], [3, 4, UNKNOWN], [2], [4, 4], [], [7, 8, 9, 2, 3]],
)


def model(
    config: ConvKNRMConfig = SMALL, vectors: Sequence[Sequence[float]] | None = None
) -> ConvKNRM:
    torch.manual_seed(1)
    return ConvKNRM(config, WORDS, None if vectors is None else np.array(vectors))


def test_a_score_worked_by_hand() -> None:
    # words of one number: 2 is 1, 3 is 2; two filters; the query is word 2, the passage words 3 2
    made = model(
        ConvKNRMConfig(dimension=1, longest_ngram=2, filters=2),
        [[0.0], [0.0], [1.0], [2.0], *[[0.0]] * 6],
    )
    one, two = made.convolutions
    # (t, 1)
    one.weight.data, one.bias.data = torch.tensor([[[1.0]], [[0.0]]]), torch.tensor([0.0, 1.0])
    # (t + t', 3 − t')
    two.weight.data, two.bias.data = (
        torch.tensor([[[1.0, 1.0]], [[0.0, -1.0]]]),
        torch.tensor([0.0, 3.0]),
    )
    # unigrams: query (1, 1); passage (2, 1), (1, 1). Bigrams: query, zero behind it (1, 3); passage
    # (2 + 1, 3 − 1) and (1, 3)
    query = {1: [(1, 1)], 2: [(1, 3)]}
    passage = {1: [(2, 1), (1, 1)], 2: [(3, 2), (1, 3)]}
    weights = iter([[10.0, 20.0, 1.0], [1.0, 2.0, 3.0], [-5.0, 1.0, 0.0], [2.0, 2.0, 2.0]])
    total = 0.0
    for h, k in ((1, 1), (1, 2), (2, 1), (2, 2)):
        weight = next(weights)
        pooling = KernelPooling((1, 0.9, -0.9), EXACT_SIGMAS[:3], scaled=False)
        pooling.weight.data = torch.tensor(weight)
        made.pooling[(h - 1) * 2 + k - 1] = pooling
        for mean, sigma, w in zip((1.0, 0.9, -0.9), (0.001, 0.1, 0.1), weight, strict=True):
            soft = 0.0
            for a, b in ((a, b) for a in query[h] for b in passage[k]):
                cosine = (a[0] * b[0] + a[1] * b[1]) / math.hypot(*a) / math.hypot(*b)
                soft += math.exp(-((cosine - mean) ** 2) / (2 * sigma**2))
            total += w * math.log(max(soft, 1e-10))
    made.bias.data.fill_(0.1)
    expected = math.tanh(0.01 * total + 0.1)
    assert made(pad_rows([[2]]), pad_rows([[3, 2]])).item() == pytest.approx(expected, abs=1e-5)
    assert abs(expected) < 0.99


def test_empty_texts() -> None:
    made = model()
    made.bias.data.fill_(0.2)
    # no query term, no sum
    assert made(pad_rows([[]]), pad_rows([[2, 3], []])).tolist() == pytest.approx(
        [math.tanh(0.2)] * 2
    )
    # every kernel of every pair clamped, for two query terms
    empty = made(pad_rows([[2, 3]]), pad_rows([[]])).item()
    weights = sum(pooling.weight.sum().item() for pooling in made.pooling)
    assert empty == pytest.approx(math.tanh(0.01 * 2 * math.log(1e-10) * weights + 0.2), abs=1e-5)


def test_saved_loaded_and_grown(tmp_path) -> None:
    made = model()
    made.save(tmp_path)
    shape = {name: getattr(SMALL, name) for name in SMALL.__dataclass_fields__}
    loaded = ConvKNRM.load(tmp_path, shape)
    assert (loaded.config, loaded.vocabulary.words) == (SMALL, WORDS.words)
    numbers = pad_rows(QUERIES), pad_rows(PASSAGES)
    assert torch.equal(loaded(*numbers), made(*numbers))
    grown = made.grown(["new"], np.ones((1, 6), np.float32))
    assert torch.equal(grown(*numbers), made(*numbers))
    with pytest.raises(InputError, match="convolutions.0.weight of shape"):
        ConvKNRM.load(tmp_path, {**shape, "filters": 4})
