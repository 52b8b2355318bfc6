"""The fast linear layer is the plain one: values, gradients, and what is saved."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from positionbias.models.linear import FastLinear, linear, use_fast_linears


@given(
    shape=st.lists(st.integers(0, 4), min_size=0, max_size=2),
    width=st.integers(1, 40),
    out=st.integers(1, 40),
    biased=st.booleans(),
)
def test_values_and_gradients_are_those_of_torch(
    shape: list[int], width: int, out: int, biased: bool
) -> None:
    random = torch.Generator().manual_seed(width * 41 + out)
    rows, weight = (
        torch.randn(*shape, width, generator=random),
        torch.randn(out, width, generator=random),
    )
    bias, gradient = torch.randn(out, generator=random), torch.randn(*shape, out, generator=random)
    found = []
    for product in (linear, F.linear):
        parts = [
            part.clone().requires_grad_()
            for part in ((rows, weight, bias) if biased else (rows, weight))
        ]
        result = product(*parts)
        result.backward(gradient)
        with torch.no_grad():
            assert torch.allclose(product(*parts), result, atol=1e-5)
        found.append([result.detach(), *(part.grad for part in parts)])
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape
        assert torch.allclose(ours, theirs, atol=2e-5)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_other_precisions_are_left_to_torch(kind: torch.dtype) -> None:
    rows, weight = torch.randn(5, 8, dtype=kind), torch.randn(3, 8, dtype=kind)
    assert torch.equal(linear(rows, weight), F.linear(rows, weight))


def test_autocast_is_left_to_torch() -> None:
    rows, weight = torch.randn(5, 8), torch.randn(3, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(rows, weight).dtype == torch.bfloat16


def test_layers_keep_their_weights_and_names() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    rows = torch.randn(6, 4)
    before, names = model(rows), list(model.state_dict())
    use_fast_linears(model)
    assert [type(part) for part in model] == [FastLinear, nn.ReLU, FastLinear]
    assert list(model.state_dict()) == names
    assert torch.allclose(model(rows), before, atol=1e-6)
