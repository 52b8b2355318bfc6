"""Losses over groups and their gradients, by hand, and against cross-entropy of two logits in
double precision.
"""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from positionbias.models.relevance import log_relevance
from positionbias.training.config import TrainConfig
from positionbias.training.losses import (
    Scored,
    group_losses,
    log_one_minus_exp,
    pairwise_hinge,
    pointwise,
)


def test_hinge_by_hand() -> None:
    # margin 1: 1 − 2 + 0.5 < 0 → 0;  1 − 0.5 + 0 = 0.5;  1 − 0 + 3 = 4;  exactly at the margin → 0
    pairs = torch.tensor([[2.0, 0.5], [0.5, 0.0], [0.0, 3.0], [1.0, 0.0]])
    assert pairwise_hinge(pairs).tolist() == [0.0, 0.5, 4.0, 0.0]
    assert pairwise_hinge(pairs, 2.0).tolist() == [0.5, 1.5, 5.0, 1.0]


def test_hinge_of_a_larger_group_is_the_mean_over_its_negatives() -> None:
    # 1 − 1 + 0.5 = 0.5, 1 − 1 − 1 < 0 → 0, 1 − 1 + 4 = 4: a third of 4.5
    assert pairwise_hinge(torch.tensor([[1.0, 0.5, -1.0, 4.0]])).tolist() == [1.5]


def test_hinge_gradient_by_hand() -> None:
    scores = torch.tensor([[2.0, 0.5], [0.5, 0.0]], requires_grad=True)
    pairwise_hinge(scores).mean().backward()
    assert scores.grad is not None
    # ∓1/groups where the pair is within the margin, else nothing
    assert scores.grad.tolist() == [[0.0, 0.0], [-0.5, 0.5]]


def test_pointwise_by_hand() -> None:
    # positive p = 1/2, negative p = 1/4: (log 2 + log 4/3) / 2; then one positive and two negatives
    # of p = 1/2: log 2
    assert pointwise(torch.tensor([[0.5, 0.25]]).log()).item() == pytest.approx(
        (math.log(2) + math.log(4 / 3)) / 2
    )
    assert pointwise(torch.tensor([[0.5, 0.5, 0.5]]).log()).item() == pytest.approx(math.log(2))


def cross_entropy(logits: torch.Tensor) -> torch.Tensor:
    """Of pairs ``(n, 2 passages, 2 logits)``, the second logit relevant: the first passage is, the
    second is not.
    """
    labels = torch.tensor([1, 0]).repeat(len(logits))
    return F.cross_entropy(logits.flatten(0, 1), labels, reduction="none").view(-1, 2).mean(dim=1)


@given(st.lists(st.tuples(*[st.floats(-40, 40)] * 4), min_size=1, max_size=8))
def test_pointwise_is_the_cross_entropy_of_two_logits(rows: list[tuple[float, ...]]) -> None:
    logits = torch.tensor(rows).view(-1, 2, 2).requires_grad_()
    exact = logits.detach().double().requires_grad_()
    found, wanted = pointwise(log_relevance(logits.flatten(0, 1)).view(-1, 2)), cross_entropy(exact)
    torch.testing.assert_close(found, wanted.float(), rtol=1e-5, atol=1e-6)
    found.sum().backward()
    wanted.sum().backward()
    assert logits.grad is not None
    assert exact.grad is not None
    torch.testing.assert_close(logits.grad, exact.grad.float(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("difference", [-200.0, -1.0, 0.0, 20.0, 80.0])
def test_the_score_keeps_its_digits(difference: float) -> None:
    (score,) = log_relevance(torch.tensor([[0.0, difference]])).tolist()
    exact = F.logsigmoid(torch.tensor(difference, dtype=torch.float64)).item()
    # also where p differs from 1 by less than float32 can say
    assert score == pytest.approx(exact, rel=1e-5)
    (other,) = log_one_minus_exp(torch.tensor([score])).tolist()
    assert other == pytest.approx(
        F.logsigmoid(torch.tensor(-difference, dtype=torch.float64)).item(), rel=1e-5, abs=1e-30
    )


def test_nothing_is_infinite_where_float32_ends() -> None:
    logits = torch.tensor([[0.0, 1e4], [1e4, 0.0]], requires_grad=True)
    loss = pointwise(log_relevance(logits).view(1, 2).flip(1))  # both as wrong as can be
    loss.backward()
    assert loss.item() == pytest.approx((1e4 + 87.3) / 2, rel=1e-3)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_consistency_by_hand() -> None:
    scores, turned = torch.tensor([[2.0, 0.5], [0.5, 0.0]]), torch.tensor([[1.0, 0.5], [0.5, 2.0]])
    # hinge 0 and 0.5; mean squared differences (1 + 0) / 2 and (0 + 4) / 2
    of = Scored(scores, turned=turned)
    assert group_losses(of, TrainConfig(loss="hinge", consistency=0.1)).tolist() == pytest.approx(
        [0.05, 0.7]
    )
    assert group_losses(Scored(scores), TrainConfig(loss="hinge")).tolist() == [0.0, 0.5]
    padded = Scored(scores, there=torch.tensor([[True, True], [True, False]]), turned=turned)
    # padding is not compared
    assert group_losses(padded, TrainConfig(loss="hinge", consistency=1.0)).tolist() == [0.5, 0.0]
