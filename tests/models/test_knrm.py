"""KNRM: a score worked by hand, TK's kernels, masks, gradients, and what is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from positionbias.core.errors import InputError, SettingError
from positionbias.models.kernels import KernelPooling, cosine_matrix
from positionbias.models.knrm import KNRM
from positionbias.models.protocols import PassageEncoder, Ranker, TermEncoder, pad_rows
from positionbias.models.shapes import KNRMConfig
from positionbias.models.tk import TK
from positionbias.text.vocabulary import UNKNOWN, Vocabulary

from ..tiny import TINY

WORDS = Vocabulary("lamp gate bridge tower oil iron stone north".split())
SMALL = KNRMConfig(dimension=6)
QUERIES, PASSAGES = (
    [[2, 3], [4], []],
    [[5, 2, 6, 3], [3, 4, UNKNOWN], [2], [4, 4], [], [7, 8, 9, 2, 3]],
)


def model(config: KNRMConfig = SMALL, vectors: Sequence[Sequence[float]] | None = None) -> KNRM:
    torch.manual_seed(1)
    return KNRM(config, WORDS, None if vectors is None else np.array(vectors))


def test_it_is_what_it_says() -> None:
    made = model()
    assert isinstance(made, Ranker)
    assert isinstance(made, PassageEncoder)
    assert not isinstance(made, TermEncoder)  # a word's vector is the same wherever it stands
    assert (made.dimension, made.room) == (6, 200)
    roles = made.parameter_roles()
    assert {id(p) for role in roles.values() for p in role} == {id(p) for p in made.parameters()}
    assert (len(roles["embedding"]), len(roles["kernels"]), roles["body"]) == (1, 1, [made.bias])
    assert made.pooling.sigmas == (0.001, *[0.1] * 10)


def test_a_score_worked_by_hand() -> None:
    # the query is word 2 at (1, 0); the passage is word 2 again and word 3 at (0.6, 0.8): cosines 1
    # and 0.6
    vectors = [[0.0, 0.0], [5.0, 5.0], [1.0, 0.0], [0.6, 0.8], *[[1.0, 1.0]] * 6]
    # at 1 (σ 0.001), 0.9 and −0.9 (σ 0.1)
    made = model(KNRMConfig(dimension=2, kernels=3), vectors)
    made.pooling.weight.data = torch.tensor([10.0, 20.0, 1.0])
    made.bias.data.fill_(0.3)
    exact = math.log(1)  # the cosine of 1; e^(−0.4²/2·10⁻⁶) is nothing
    soft = math.log(math.exp(-0.5) + math.exp(-4.5))  # 0.1 and 0.3 away: −0.1²/0.02, −0.3²/0.02
    far = math.log(1e-10)
    expected = math.tanh(0.01 * (10 * exact + 20 * soft + 1 * far) + 0.3)
    assert made(pad_rows([[2]]), pad_rows([[2, 3]])).item() == pytest.approx(expected, abs=1e-6)
    assert expected == pytest.approx(-0.026622, abs=1e-6)


def test_only_the_same_word_meets_the_exact_kernel() -> None:
    # cosine of 2 and 3: 0.9998
    vectors = [[0.0, 0.0], [5.0, 5.0], [1.0, 0.0], [1.0, 0.02], *[[0.0, 1.0]] * 6]
    made = model(KNRMConfig(dimension=2, exact_sigma=1e-5), vectors)
    made.pooling.weight.data = torch.tensor([1.0, *[0.0] * 10])
    same, near = made(pad_rows([[2]]), pad_rows([[2], [3]])).tolist()
    assert same == pytest.approx(0, abs=1e-5)
    assert near == pytest.approx(math.tanh(0.01 * math.log(1e-10)), abs=1e-6)


def test_its_kernels_are_tks() -> None:
    # one width for all kernels, no scale, no tanh: what TK makes of the same cosines
    made = model(KNRMConfig(dimension=TINY.dimension, exact_sigma=0.1))
    tk = TK(TINY, WORDS)
    tk.pooling.weight.data = made.pooling.weight.data
    query, passage = (
        made.query_vectors(pad_rows([[2, 3]])),
        made.passage_vectors(pad_rows([[5, 2, 6, 3]])),
    )
    masks = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 4, dtype=torch.bool)
    found = made.interact(query, masks[0], passage, masks[1])
    torch.testing.assert_close(
        torch.atanh(found) / 0.01,
        tk.interact(query, masks[0], passage, masks[1]),
        rtol=1e-4,
        atol=1e-4,
    )
    widths = [
        KernelPooling(sigma=sigma, scaled=scaled)
        for sigma, scaled in ((0.1, True), ([0.1] * 11, False))
    ]
    widths[1].weight.data = widths[0].weight.data
    cosines = cosine_matrix(query, passage)
    assert torch.equal(*(pooling(cosines, *masks) for pooling in widths))


def test_neither_padding_nor_the_rest_of_a_batch_changes_a_score() -> None:
    made = model()
    scores = made(pad_rows(QUERIES), pad_rows(PASSAGES))
    assert scores.shape == (6,)
    padded = torch.nn.functional.pad(pad_rows(PASSAGES), (0, 5))
    torch.testing.assert_close(made(pad_rows(QUERIES), padded), scores)
    alone = [made(pad_rows([QUERIES[i % 3]]), pad_rows([PASSAGES[i]])) for i in range(6)]
    torch.testing.assert_close(torch.cat(alone), scores)
    turn = [4, 2, 0, 5, 1, 3]
    turned = made(pad_rows([QUERIES[i % 3] for i in turn]), pad_rows([PASSAGES[i] for i in turn]))
    torch.testing.assert_close(turned, scores[turn])


def test_encoded_apart_it_scores_the_same() -> None:
    made = model()
    query, passages = made.encode_queries([[2, 3]]), made.encode_passages(PASSAGES)
    torch.testing.assert_close(
        made.interact(*query, *passages), made(pad_rows([[2, 3]]), pad_rows(PASSAGES))
    )


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


def test_gradients_reach_every_parameter() -> None:
    made = model()
    made(pad_rows(QUERIES), pad_rows(PASSAGES)).sum().backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        gradient = parameter.grad.to_dense()
        assert torch.isfinite(gradient).all(), name
        assert gradient.abs().max() > 0, name
    assert made.embedding.weight.grad is not None
    assert made.embedding.weight.grad.is_sparse
    assert made.embedding.weight.grad.to_dense()[0].tolist() == [0.0] * 6  # padding


def test_saved_and_loaded(tmp_path) -> None:
    made = model()
    made.save(tmp_path)
    shape = {name: getattr(SMALL, name) for name in SMALL.__dataclass_fields__}
    loaded = KNRM.load(tmp_path, shape)
    assert (loaded.config, loaded.vocabulary.words) == (SMALL, WORDS.words)
    numbers = pad_rows(QUERIES), pad_rows(PASSAGES)
    assert torch.equal(loaded(*numbers), made(*numbers))
    with pytest.raises(InputError, match="embedding.weight of shape"):
        KNRM.load(tmp_path, {**shape, "dimension": 5})


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"dimension": 0}, "--dimension: wanted at least 1; found 0"),
        ({"passage_length": 0}, "--passage-length: wanted at least 1"),
        ({"kernels": 2}, "--kernels: wanted at least 3; found 2"),
        ({"exact_sigma": 0.0}, "--exact-sigma: wanted a number from 1e-6; found 0.0"),
        ({"kernel_sigma": math.nan}, "--kernel-sigma: wanted a number from 1e-6; found nan"),
        ({"embedding_deviation": -1.0}, "--embedding-deviation: wanted a number from 0"),
    ],
)
def test_a_setting_out_of_range_names_its_flag(change: dict, named: str) -> None:
    with pytest.raises(SettingError) as stop:
        KNRMConfig(**change)
    assert str(stop.value).startswith(named)


def test_a_width_for_each_kernel() -> None:
    with pytest.raises(ValueError, match="wanted a width for each of 11 kernels; found 2"):
        KernelPooling(sigma=[0.1, 0.2])
