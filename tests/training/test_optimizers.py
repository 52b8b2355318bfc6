"""Learning rates by role, warm-up, and clipping, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from positionbias.training.config import TrainConfig
from positionbias.training.optimizers import clip_gradients, make_optimizers, set_learning_rates
from positionbias.training.row_adam import RowAdam

from ..tiny import tiny_tk

RATES = TrainConfig(learning_rate=1e-4, kernel_learning_rate=1e-3)


def test_each_role_has_its_optimiser_and_its_rate() -> None:
    model = tiny_tk(["lamp gate"] * 2)
    sparse, dense = make_optimizers(model, RATES)
    assert isinstance(sparse, torch.optim.SparseAdam)
    assert isinstance(dense, torch.optim.Adam)
    assert [group["params"] for group in sparse.param_groups] == [[model.embedding.weight]]
    body, kernels = dense.param_groups
    assert {id(p) for p in kernels["params"]} == {id(p) for p in model.pooling.parameters()}
    assert len(body["params"]) + len(kernels["params"]) + 1 == len(list(model.parameters()))
    assert [group["lr"] for group in (*sparse.param_groups, body, kernels)] == [1e-4, 1e-4, 1e-3]


def test_a_warm_up_grows_linearly_and_then_stays() -> None:
    optimizers = make_optimizers(tiny_tk(["lamp gate"] * 2), RATES)
    warming = replace(RATES, warmup_steps=4)
    rates = [set_learning_rates(optimizers, step, 6, warming) for step in range(6)]
    assert rates == pytest.approx([0.25e-4, 0.5e-4, 0.75e-4, 1e-4, 1e-4, 1e-4])
    set_learning_rates(optimizers, 0, 6, warming)
    assert [
        group["lr"] for optimizer in optimizers for group in optimizer.param_groups
    ] == pytest.approx([0.25e-4, 0.25e-4, 0.25e-3])
    assert set_learning_rates(optimizers, 0, 6, RATES) == 1e-4


def test_a_linear_schedule_falls_to_nothing_after_its_last_step() -> None:
    optimizers = make_optimizers(tiny_tk(["lamp gate"] * 2), RATES)
    # 2 of 10 steps, then 8/8, 7/8 … 1/8, and 0 of an eleventh
    falling = replace(RATES, schedule="linear", warmup_share=0.2)
    rates = [set_learning_rates(optimizers, step, 10, falling) for step in range(11)]
    assert rates == pytest.approx([0.5e-4, 1e-4, *(n / 8 * 1e-4 for n in range(8, -1, -1))])
    # nothing but warm-up: the last step has the whole rate
    rates = [
        set_learning_rates(optimizers, step, 4, replace(falling, warmup_share=1.0))
        for step in range(4)
    ]
    assert rates == pytest.approx([0.25e-4, 0.5e-4, 0.75e-4, 1e-4])


def test_clipping_by_hand() -> None:
    # a dense gradient (3, 4) and a sparse one with the rows (0, 12) and (0, 0): norm 13
    dense, sparse = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(5, 2))
    none = nn.Parameter(torch.zeros(2))
    dense.grad = torch.tensor([3.0, 4.0])
    rows, values = torch.tensor([[1, 4]]), torch.tensor([[0.0, 12.0], [0.0, 0.0]])
    sparse.grad = torch.sparse_coo_tensor(rows, values, (5, 2), check_invariants=True).coalesce()
    assert clip_gradients([dense, sparse, none], 1.3).item() == pytest.approx(13)
    assert dense.grad.tolist() == pytest.approx([0.3, 0.4])
    assert sparse.grad.to_dense()[1].tolist() == pytest.approx([0, 1.2])
    # short enough: left alone
    assert clip_gradients([dense, sparse], 5.0).item() == pytest.approx(1.3)
    assert dense.grad.tolist() == pytest.approx([0.3, 0.4])
    dense.grad, sparse.grad = torch.zeros(2), None
    assert clip_gradients([dense, sparse], 1.0).item() == 0
    assert math.isfinite(dense.grad.sum().item())


def test_rows_are_updated_as_by_sparse_adam() -> None:
    torch.manual_seed(4)
    start = torch.randn(6, 3)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = (RowAdam([ours], lr=0.1), torch.optim.SparseAdam([theirs], lr=0.1))
    for rows in ([1, 4, 1], [4], [2, 2, 5, 1]):
        values = torch.randn(len(rows), 3)
        for parameter, optimizer in zip((ours, theirs), optimizers, strict=True):
            parameter.grad = torch.sparse_coo_tensor(
                torch.tensor([rows]), values, (6, 3), check_invariants=False
            )
            optimizer.step()
    assert torch.allclose(ours, theirs, atol=1e-6)
    assert torch.equal(ours[[0, 3]], start[[0, 3]])
    mine, other = (optimizer.state_dict()["state"][0] for optimizer in optimizers)
    assert mine.keys() == other.keys()  # either goes on from the other's state
    assert mine["step"] == other["step"] == 3
    assert torch.allclose(mine["exp_avg_sq"], other["exp_avg_sq"], atol=1e-7)
