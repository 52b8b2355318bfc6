"""PACRR: a score worked by hand, its signals, masks, gradients, and the IDF that it keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from positionbias.models.pacrr import PACRR, inverse_frequency
from positionbias.models.protocols import pad_rows
from positionbias.models.shapes import PACRRConfig
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

WORDS = Vocabulary("lamp gate bridge tower oil iron stone north".split())
SMALL = PACRRConfig(dimension=6, filters=4)
QUERIES, PASSAGES = (
    [[2, 3], [4], []],
    [[5, 2, 6, 3], [3, 4, UNKNOWN], [2], [4, 4], [], [7, 8, 9, 2, 3]],
)


def model(config: PACRRConfig = SMALL, vectors: Sequence[Sequence[float]] | None = None) -> PACRR:
    torch.manual_seed(1)
    made = PACRR(config, WORDS, None if vectors is None else np.array(vectors))
    made.set_idf({word: number for number, word in enumerate(WORDS.words)}, 10)
    for layer in made.convolutions:
        layer.bias.data.uniform_(0.1, 0.5)  # so that a filter speaks beside the texts as well
    return made


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


# words 2 and 3 at right angles, 4 between them: cosines 1, 0, 0.6 with word 2; 0, 1, 0.8 with word
# 3
VECTORS = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [0.0, 3.0], [0.6, 0.8], *[[1.0, 1.0]] * 5]


def test_a_score_worked_by_hand() -> None:
    # no convolution: of each query term its largest cosine, and its share of IDF
    made = model(PACRRConfig(dimension=2, longest_window=1, strongest=1), VECTORS)
    made.idf[2], made.idf[3] = math.log(3), 0.0  # shares 3/4 and 1/4
    weights, recurrent = (
        [[1.0, 2.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        [[0.5], [0.0], [0.0], [0.0]],
    )
    made.lstm.weight_ih.data, made.lstm.weight_hh.data = (
        torch.tensor(weights),
        torch.tensor(recurrent),
    )
    made.lstm.bias_ih.data = torch.tensor([0.0, 1.0, 0.0, 0.0])
    # term 2: signal 1 (word 2), share 0.75; input gate σ(1 + 1.5), cell tanh(1), output gate
    # σ(0.75)
    cell = sigmoid(2.5) * math.tanh(1)
    output = sigmoid(0.75) * math.tanh(cell)
    # term 3: signal 0.8 (word 4), share 0.25; the input gate hears half the output, the forget gate
    # is σ(1)
    cell = sigmoid(1) * cell + sigmoid(0.8 + 0.5 + 0.5 * output) * math.tanh(0.8)
    output = sigmoid(0.25) * math.tanh(cell)
    assert made(pad_rows([[2, 3]]), pad_rows([[2, 4]])).item() == pytest.approx(output, abs=1e-6)
    assert output == pytest.approx(0.441258, abs=1e-6)


def test_signals_worked_by_hand() -> None:
    made = model(PACRRConfig(dimension=2, longest_window=2, filters=2, strongest=2), VECTORS)
    (layer,) = made.convolutions
    # along the diagonal; never
    layer.weight.data = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]], [[[0.0, 0.0], [0.0, -2.0]]]])
    layer.bias.data = torch.tensor([0.0, 0.25])
    cosines = torch.tensor([[[1.0, 0.0, 0.6], [0.0, 1.0, 0.8]]])
    mask = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 3, dtype=torch.bool)
    # unigrams: 1 and 0.6; 1 and 0.8. Of the first term the diagonals 1 + 1, 0 + 0.8, 0.6 + 0
    # (beside the matrix are zeros), of the second 0, 1, 0.8 + 0; the other filter is 0.25 where
    # nothing follows below, else nothing
    found = made._signals(cosines, *mask)
    assert found[0].tolist() == [pytest.approx([1, 0.6, 2, 0.8]), pytest.approx([1, 0.8, 1, 0.8])]


# -- masks -----------------------------------------------------------------------------------------


# -- gradients -------------------------------------------------------------------------------------


# -- IDF, and what is kept -------------------------------------------------------------------------


def test_idf_of_words() -> None:
    made = model()
    assert inverse_frequency(10, 10) == 0
    assert made.idf[0] == 0
    assert made.idf[UNKNOWN].item() == pytest.approx(math.log(11))  # in no passage
    assert made.idf[WORDS.number("bridge")].item() == pytest.approx(math.log(11 / 3))
    grown = made.grown(["coal", "rope"], np.ones((2, 6), np.float32))
    grown.set_idf({"coal": 1, "lamp": 3}, 3, first=len(WORDS))
    assert torch.equal(grown.idf[: len(WORDS)], made.idf)  # words of the start keep theirs
    assert grown.idf[len(WORDS) :].tolist() == pytest.approx([math.log(2), math.log(4)])
    numbers = pad_rows(QUERIES), pad_rows(PASSAGES)
    assert torch.equal(grown(*numbers), made(*numbers))
