"""Losses over training groups, from a student's scores and, for distillation, its teacher's.

Scores are ``(groups, passages)``, the positive in column 0; losses ``(groups,)``, a step's loss
their mean. Groups of uneven size are padded: ``there`` ``(groups, passages)`` is false for padding,
which changes neither a loss nor a gradient. None means no padding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.training.config import TrainConfig


class Scored(NamedTuple):
    """The inputs of a loss for a batch, ``(groups, passages)`` each; ``teacher`` is None without a
    teacher's scores, ``turned``, the student's scores of rotated passages, without a term that
    compares them."""

    student: Tensor
    there: Tensor | None = None
    teacher: Tensor | None = None
    turned: Tensor | None = None


def mean_there(values: Tensor, there: Tensor | None) -> Tensor:
    """Return row means of ``values`` ``(groups, n)`` where ``there`` is true; 0 for a row where it
    is nowhere true.
    """
    if there is None:
        return values.mean(dim=1)
    return torch.where(there, values, 0.0).sum(dim=1) / there.sum(dim=1).clamp(min=1)


def pairwise_hinge(scores: Tensor, margin: float = 1.0, there: Tensor | None = None) -> Tensor:
    """Return the mean over negatives of max(0, margin − positive + negative) (position-bias paper,
    §3, where groups are pairs).

    >>> pairwise_hinge(torch.tensor([[2.0, 0.5], [0.5, 0.0]])).tolist()
    [0.0, 0.5]
    """
    return mean_there(torch.clamp(margin - scores[:, :1] + scores[:, 1:], min=0), _negatives(there))


def pointwise(scores: Tensor, there: Tensor | None = None) -> Tensor:
    """Return the cross-entropy of single passages: the mean of −log p of the positive and −log(1 −
    p) of negatives.

    Scores are log p, where p is the probability of "relevant" (monoBERT, Nogueira et al. 2019;
    monoT5, Nogueira et al. 2020).

    >>> pointwise(torch.tensor([[0.5, 0.25]]).log()).item()  # (log 2 + log 4/3) / 2
    0.4904...
    """
    return -mean_there(torch.cat([scores[:, :1], log_one_minus_exp(scores[:, 1:])], dim=1), there)


def lce(scores: Tensor, there: Tensor | None = None) -> Tensor:
    """Return the localized contrastive estimation, −log softmax(scores) of the positive in its
    group (Gao et al. 2021).

    >>> lce(torch.tensor([[0.0, 0.0, 0.0]])).item()  # log 3
    1.0986...
    """
    return -_log_softmax(scores, there)[:, 0]


def margin_mse(student: Tensor, teacher: Tensor, there: Tensor | None = None) -> Tensor:
    """Return the mean over negatives of ((s⁺ − s⁻) − (t⁺ − t⁻))² for student s and teacher t
    (Hofstätter et al. 2020).

    >>> margin_mse(
    ...     torch.tensor([[2.0, 1.0]]), torch.tensor([[5.0, 1.0]])
    ... ).item()  # (1 − 4)²
    9.0
    """
    difference = student - teacher
    return mean_there((difference[:, :1] - difference[:, 1:]) ** 2, _negatives(there))


def kl_divergence(student: Tensor, teacher: Tensor, there: Tensor | None = None) -> Tensor:
    """Return KL(softmax(t) ‖ softmax(s)) over a group (Lin et al. 2020).

    >>> kl_divergence(
    ...     torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 2.0]])
    ... ).item()  # a shift changes nothing
    0.0
    """
    target, predicted = _log_softmax(teacher, there), _log_softmax(student, there)
    terms = target.exp() * (target - predicted)
    return (terms if there is None else torch.where(there, terms, 0.0)).sum(dim=1)


def ranknet(student: Tensor, teacher: Tensor, there: Tensor | None = None) -> Tensor:
    """Return the mean of log(1 + exp(−(s_i − s_j))) over the pairs that the teacher orders, t_i >
    t_j (Burges 2010).

    Pairs that the teacher ties are skipped; a group with only ties has the loss 0 [decision].

    >>> ranknet(
    ...     torch.tensor([[0.0, 0.0, 0.0]]), torch.tensor([[2.0, 1.0, 0.0]])
    ... ).item()  # log 2 of each of three pairs
    0.6931...
    """
    ordered = teacher[:, :, None] > teacher[:, None, :]  # (groups, passages, passages)
    if there is not None:
        ordered = ordered & there[:, :, None] & there[:, None, :]
    wrong = F.softplus(student[:, None, :] - student[:, :, None])
    return mean_there(wrong.flatten(1), ordered.flatten(1))


def log_one_minus_exp(scores: Tensor) -> Tensor:
    """Return log(1 − exp(s)) for s ≤ 0, exact to rounding on both sides of −log 2; for s = 0 the
    least of the number type, −87.
    """
    # two forms, each exact where the other cancels, and each given only values it can take
    near = scores > -math.log(2)
    small = torch.where(near, scores, -1.0).clamp(max=-torch.finfo(scores.dtype).tiny)
    large = torch.where(near, -1.0, scores)
    return torch.where(near, torch.log(-torch.expm1(small)), torch.log1p(-torch.exp(large)))


def _negatives(there: Tensor | None) -> Tensor | None:
    return None if there is None else there[:, 1:]


def _log_softmax(scores: Tensor, there: Tensor | None) -> Tensor:
    """Return log softmax over the columns in ``there``, and an arbitrary finite number elsewhere,
    as −inf · 0 is NaN.
    """
    if there is not None:
        scores = scores.masked_fill(~there, torch.finfo(scores.dtype).min / 2)
    return torch.log_softmax(scores, dim=1)


def _taught(of: Scored) -> Tensor:
    assert of.teacher is not None, (
        "whoever computes a loss of distillation has looked for a teacher's scores"
    )
    return of.teacher


# named as in ``config.LOSSES``
FUNCTIONS: Mapping[str, Callable[[Scored, TrainConfig], Tensor]] = {
    "hinge": lambda of, config: pairwise_hinge(of.student, there=of.there),
    "pointwise": lambda of, config: pointwise(of.student, of.there),
    "lce": lambda of, config: lce(of.student, of.there),
    "margin_mse": lambda of, config: margin_mse(of.student, _taught(of), of.there),
    "kl": lambda of, config: kl_divergence(of.student, _taught(of), of.there),
    "ranknet": lambda of, config: ranknet(of.student, _taught(of), of.there),
}


def consistency(scores: Tensor, turned: Tensor, there: Tensor | None = None) -> Tensor:
    """Return the mean squared difference between the scores of passages and of their rotations
    [decision: both get its gradient].

    >>> consistency(
    ...     torch.tensor([[2.0, 1.0]]), torch.tensor([[1.0, 3.0]])
    ... ).item()  # (1 + 4) / 2
    2.5
    """
    return mean_there((scores - turned) ** 2, there)


def group_losses(scored: Scored, config: TrainConfig) -> Tensor:
    """Return the losses ``(groups,)`` of a batch's scores, by the loss in the settings, with its
    consistency term.
    """
    assert config.loss is not None
    losses = FUNCTIONS[config.loss](scored, config)
    if scored.turned is not None:
        losses = losses + config.consistency * consistency(
            scored.student, scored.turned, scored.there
        )
    return losses
