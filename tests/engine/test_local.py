"""Mapping over shards: the same results, in order, in one process or several; failures are one error."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import pytest

from positionbias.core.errors import PositionBiasError, SettingError
from positionbias.engine.local import map_shards


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(workers: int) -> None:
    # large factorials take longer than small ones: the first item is not the first to be done
    items = [3_000, 1, 2_000, 2, 3]
    assert list(map_shards(math.factorial, items, workers)) == [math.factorial(item) for item in items]


def test_no_items_no_results() -> None:
    assert list(map_shards(math.sqrt, [], 2)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_what_the_function_raises_is_raised_here_after_the_results_before_it(workers: int) -> None:
    results = map_shards(math.sqrt, [4.0, 9.0, -1.0, 16.0], workers)
    assert [next(results), next(results)] == [2.0, 3.0]
    with pytest.raises(ValueError, match="math domain error|nonnegative"):
        next(results)


@pytest.mark.parametrize("workers", [1, 2])
def test_items_are_taken_only_as_results_are_used(workers: int) -> None:
    taken = []

    def items() -> Iterator[float]:
        for item in range(100):
            taken.append(item)
            yield float(item)

    results = map_shards(math.sqrt, items(), workers)
    assert next(results) == 0.0
    assert len(taken) <= 2 * workers


def test_a_worker_that_is_ended_is_one_clear_line() -> None:
    with pytest.raises(PositionBiasError, match="fewer --workers"):
        list(map_shards(os._exit, [1, 1], 2))


def test_workers_below_one_name_the_flag() -> None:
    with pytest.raises(SettingError, match="--workers"):
        map_shards(math.sqrt, [1.0], 0)
