"""Batches of alike length under a budget; a device that is too small for them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import SettingError
from positionbias.ranking.batches import TokenBudget, length_batches


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 60))
def test_batches_hold_every_row_once_and_keep_to_the_budget(
    lengths: list[int], budget: int
) -> None:
    found = list(length_batches(lengths, TokenBudget(budget)))
    assert sorted(int(index) for batch in found for index in batch) == list(range(len(lengths)))
    for batch in found:
        widest = max(1, *(lengths[index] for index in batch))
        assert len(batch) == 1 or len(batch) * widest <= budget
    order = [lengths[index] for batch in found for index in batch]
    assert order == sorted(lengths, reverse=True)


class Device:
    """Holds so many padded tokens and no more; remembers what it did."""

    def __init__(self, room: int, lengths: list[int]) -> None:
        self.room, self.lengths = room, lengths
        self.done: list[list[int]] = []
        self.refused: list[list[int]] = []

    def work(self, batch: np.ndarray) -> None:
        indices = batch.tolist()
        if len(indices) * self.lengths[indices[0]] > self.room:
            self.refused.append(indices)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        self.done.append(indices)


def test_a_batch_that_does_not_fit_is_halved_and_so_are_those_after_it() -> None:
    # eight texts of 10 tokens under a budget of 80; the device holds 25: 8 → 4 → 2
    device, budget = Device(25, [10] * 8 + [5] * 4), TokenBudget(80)
    budget.work(device.lengths, device.work)
    assert device.refused == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]
    assert device.done == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9, 10, 11]]
    assert (budget.tokens, budget.shrunk) == (20, True)
    # the budget stays: nothing is refused again
    device.refused.clear()
    budget.work(device.lengths, device.work)
    assert device.refused == []


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.integers(40, 100),
    st.integers(1, 2000),
)
def test_whatever_the_device_holds_all_is_done_once(
    lengths: list[int], room: int, budget: int
) -> None:
    device = Device(room, lengths)
    TokenBudget(budget).work(lengths, device.work)
    assert sorted(index for batch in device.done for index in batch) == list(range(len(lengths)))


def test_one_text_that_does_not_fit_is_one_line() -> None:
    device = Device(25, [10, 30, 10])
    with pytest.raises(
        SettingError,
        match="--device: wanted memory for one text of 30 tokens; found the device's too small",
    ):
        TokenBudget(100).work(device.lengths, device.work)
    assert device.done == []
