"""The pairwise hinge loss and its gradient, by hand."""

from __future__ import annotations

import pytest
import torch

from positionbias.training.losses import pairwise_hinge


def test_by_hand() -> None:
    # margin 1: 1 − 2 + 0.5 < 0 → 0;  1 − 0.5 + 0 = 0.5;  1 − 0 + 3 = 4;  exactly at the margin → 0
    positive, negative = torch.tensor([2.0, 0.5, 0.0, 1.0]), torch.tensor([0.5, 0.0, 3.0, 0.0])
    assert pairwise_hinge(positive, negative).item() == pytest.approx(4.5 / 4)
    # margin 2: 0.5, 1.5, 5, 1
    assert pairwise_hinge(positive, negative, 2.0).item() == pytest.approx(8 / 4)


def test_gradient_by_hand() -> None:
    positive, negative = torch.tensor([2.0, 0.5], requires_grad=True), torch.tensor([0.5, 0.0], requires_grad=True)
    pairwise_hinge(positive, negative).backward()
    assert positive.grad is not None
    assert negative.grad is not None
    assert positive.grad.tolist() == [0.0, -0.5]  # −1/batch where the pair is within the margin, else nothing
    assert negative.grad.tolist() == [0.0, 0.5]
