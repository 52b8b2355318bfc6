"""Losses over groups of three: values and gradients by hand, padding, and against another
library's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from positionbias.training.losses import (
    kl_divergence,
    lce,
    margin_mse,
    pairwise_hinge,
    pointwise,
    ranknet,
)

LOG = math.log
STUDENT = [LOG(2), 0.0, LOG(5)]  # softmax 1/4, 1/8, 5/8
TEACHER = [LOG(4), LOG(3), 0.0]  # softmax 1/2, 3/8, 1/8; the teacher's order is the columns'

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]
LOSSES: dict[str, Loss] = {
    "hinge": lambda s, t, there: pairwise_hinge(s, 1.0, there),
    "pointwise": lambda s, t, there: pointwise(torch.nn.functional.logsigmoid(s), there),
    "lce": lambda s, t, there: lce(s, there),
    "margin_mse": margin_mse,
    "kl": lambda s, t, there: kl_divergence(s, t, there),
    "ranknet": ranknet,
}


def with_gradient(loss: Callable[[Tensor], Tensor]) -> tuple[float, list[float]]:
    """A loss of the one group, and its gradient."""
    scores = torch.tensor([STUDENT], dtype=torch.float64, requires_grad=True)
    value = loss(scores)
    assert value.shape == (1,)
    value.sum().backward()
    assert scores.grad is not None
    return value.item(), scores.grad[0].tolist()


TAUGHT = torch.tensor([TEACHER], dtype=torch.float64)


def test_lce_by_hand() -> None:
    # −log 1/4; softmax − (1, 0, 0)
    value, gradient = with_gradient(lambda s: lce(s))
    assert value == pytest.approx(LOG(4))
    assert gradient == pytest.approx([-3 / 4, 1 / 8, 5 / 8])


def test_margin_mse_by_hand() -> None:
    # margins of the student log 2, log 2/5; of the teacher log 4/3, log 4: differences log 3/2 and
    # log 1/10
    one, other = LOG(3 / 2), LOG(1 / 10)
    value, gradient = with_gradient(lambda s: margin_mse(s, TAUGHT))
    assert value == pytest.approx((one**2 + other**2) / 2)
    # 2/2 · difference, of each negative with the other sign
    assert gradient == pytest.approx([one + other, -one, -other])


def test_kl_by_hand() -> None:
    # 1/2 log (1/2 : 1/4) + 3/8 log (3/8 : 1/8) + 1/8 log (1/8 : 5/8); the gradient is student −
    # teacher
    value, gradient = with_gradient(lambda s: kl_divergence(s, TAUGHT))
    assert value == pytest.approx(LOG(2) / 2 + 3 / 8 * LOG(3) - LOG(5) / 8)
    assert gradient == pytest.approx([1 / 4 - 1 / 2, 1 / 8 - 3 / 8, 5 / 8 - 1 / 8])


def test_ranknet_by_hand() -> None:
    # pairs 0 > 1, 0 > 2, 1 > 2: log(1 + 1/2), log(1 + 5/2), log(1 + 5); each wrong side's sigmoid
    # 1/3, 5/7, 5/6, a third of them
    value, gradient = with_gradient(lambda s: ranknet(s, TAUGHT))
    assert value == pytest.approx((LOG(3 / 2) + LOG(7 / 2) + LOG(6)) / 3)
    assert gradient == pytest.approx(
        [-(1 / 3 + 5 / 7) / 3, (1 / 3 - 5 / 6) / 3, (5 / 7 + 5 / 6) / 3]
    )


def test_ranknet_leaves_ties_out() -> None:
    student = torch.tensor([STUDENT], dtype=torch.float64)
    # the teacher ties the first two: pairs 0 > 2 and 1 > 2 are left
    assert ranknet(student, torch.tensor([[7.0, 7.0, 1.0]])).item() == pytest.approx(
        (LOG(7 / 2) + LOG(6)) / 2
    )
    assert ranknet(student, torch.ones(1, 3)).item() == 0.0


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=25)
@given(
    groups=st.lists(
        st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=2, max_size=5),
        min_size=1,
        max_size=5,
    ),
    fill=st.floats(-100, 100),
)
def test_padding_changes_neither_loss_nor_gradient(
    name: str, groups: list[list[tuple[float, float]]], fill: float
) -> None:
    width = max(map(len, groups))
    student = torch.tensor(
        [[s for s, _ in g] + [fill] * (width - len(g)) for g in groups], dtype=torch.float64
    )
    teacher = torch.tensor(
        [[t for _, t in g] + [-fill] * (width - len(g)) for g in groups], dtype=torch.float64
    )
    there = torch.arange(width) < torch.tensor([len(g) for g in groups])[:, None]
    student.requires_grad_()
    padded = LOSSES[name](student, teacher, there)
    padded.sum().backward()
    assert student.grad is not None
    for row, group in enumerate(groups):
        alone = torch.tensor([[s for s, _ in group]], dtype=torch.float64, requires_grad=True)
        value = LOSSES[name](
            alone, torch.tensor([[t for _, t in group]], dtype=torch.float64), None
        )
        value.sum().backward()
        assert alone.grad is not None
        torch.testing.assert_close(padded[row], value[0])
        torch.testing.assert_close(student.grad[row, : len(group)], alone.grad[0])
        assert not student.grad[row, len(group) :].any()


@pytest.mark.parametrize("name", LOSSES)
def test_losses_stay_finite_where_scores_are_far_apart(name: str) -> None:
    student = torch.tensor([[-1e4, 1e4, 0.0], [1e4, -1e4, 0.0]], requires_grad=True)
    there = torch.tensor([[True, True, False], [True, True, True]])
    loss = LOSSES[name](student, torch.tensor([[1e4, -1e4, 0.0], [0.0, 1.0, 2.0]]), there)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert student.grad is not None
    assert student.grad.isfinite().all()


class Texts(nn.Module):
    """What sentence-transformers' losses ask of a bi-encoder: vectors of texts; here the texts are
    rows of one matrix.
    """

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": features["vectors"]}


def rows(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def library_columns(query: Tensor, passages: Tensor) -> list[dict[str, Tensor]]:
    """A query column and a column for each place in the groups, as the library's losses take
    them.
    """
    return [
        {"vectors": query},
        *({"vectors": passages[:, place]} for place in range(passages.shape[1])),
    ]


def test_margin_mse_is_sentence_transformers() -> None:
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    query, passages = rows(4, 6, seed=1), rows(4, 3, 6, seed=2)
    teacher = rows(4, 3, seed=3)
    student = torch.einsum("gd,gpd->gp", query, passages)
    theirs = losses.MarginMSELoss(Texts())
    margins = teacher[:, :1] - teacher[:, 1:]
    assert theirs(library_columns(query, passages), margins).item() == pytest.approx(
        margin_mse(student, teacher).mean().item()
    )


def test_kl_is_sentence_transformers() -> None:
    losses = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    query, passages = rows(4, 6, seed=1), rows(4, 3, 6, seed=2)
    teacher = rows(4, 3, seed=3)
    student = torch.einsum("gd,gpd->gp", query, passages)
    theirs = losses.DistillKLDivLoss(Texts(), temperature=1.0)
    ours = kl_divergence(student, teacher).mean().item()
    assert theirs(library_columns(query, passages), teacher).item() == pytest.approx(ours)


class Pairs(nn.Module):
    """What sentence-transformers' losses ask of a cross-encoder: scores of pairs; here a passage's
    text is its score.
    """

    num_labels = 1
    device = torch.device("cpu")

    def preprocess(self, pairs: list[tuple[str, str]], **given: object) -> dict[str, Tensor]:
        return {
            "scores": torch.tensor([float(passage) for _, passage in pairs], dtype=torch.float64)
        }

    def forward(self, tokens: dict[str, Tensor]) -> dict[str, Tensor]:
        return tokens


def library_loss(
    name: str, student: list[list[float]], labels: list[list[float]], **given: object
) -> float:
    losses = pytest.importorskip("sentence_transformers.cross_encoder.losses")
    theirs = getattr(losses, name)(Pairs(), **given)
    inputs = [
        [f"q{row}" for row in range(len(student))],
        [[str(score) for score in row] for row in student],
    ]
    return float(theirs(inputs, [torch.tensor(row) for row in labels]))


@pytest.mark.parametrize("log", ["natural", "binary"])
def test_ranknet_is_sentence_transformers_of_each_group(log: str) -> None:
    """Theirs is in bits where not asked otherwise, and a mean over all pairs of a batch: the mean
    over groups where these have as many.
    """
    student, teacher = rows(5, 4, seed=1), rows(5, 4, seed=3)
    ours = ranknet(student, teacher).mean().item() / (1.0 if log == "natural" else LOG(2))
    theirs = library_loss("RankNetLoss", student.tolist(), teacher.tolist(), reduction_log=log)
    assert theirs == pytest.approx(ours, rel=1e-5)  # theirs computes in single precision
