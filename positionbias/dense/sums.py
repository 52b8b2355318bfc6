"""Sums in float64 on any device with the bits of numpy's: ``numpy.sum`` over the last axis of
contiguous numbers, whose order is fixed.

Up to 128 numbers are added up in eight lanes, more by halves (a length divisible by 8 first):
numpy's pairwise summation.
"""

from __future__ import annotations

from torch import Tensor

_LEAF, _LANES = 128, 8


def paired_sums(numbers: Tensor) -> Tensor:
    """Return the sums over the last axis, which has at least one number."""
    count = numbers.shape[-1]
    if count <= _LEAF:
        return _leaf(numbers, count)
    half = count // 2 - count // 2 % _LANES
    if 2 * half == count:
        halves = paired_sums(numbers.unflatten(-1, (2, half)))
        return halves[..., 0] + halves[..., 1]
    return paired_sums(numbers[..., :half]) + paired_sums(numbers[..., half:])


def _leaf(numbers: Tensor, count: int) -> Tensor:
    first = count - count % _LANES
    if first:
        lanes = numbers[..., :_LANES].clone()
        for start in range(_LANES, first, _LANES):
            lanes += numbers[..., start : start + _LANES]
        pairs = lanes[..., 0::2] + lanes[..., 1::2]
        pairs = pairs[..., 0::2] + pairs[..., 1::2]
        total = pairs[..., 0] + pairs[..., 1]
    else:
        first, total = 1, numbers[..., 0].clone()
    for place in range(first, count):
        total += numbers[..., place]
    return total.add_(0.0)  # numpy begins with 0, so its sums are never minus zero
