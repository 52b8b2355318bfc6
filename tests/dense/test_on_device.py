"""Exact search as a GPU runs it, on the processor: the bits of ``dense.nearest`` on hard input, and
nothing that a GPU would wait for.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.dense import on_device
from positionbias.dense.nearest import Block, nearest
from positionbias.dense.on_device import nearest_on_device
from positionbias.dense.sums import paired_sums

CPU, META = torch.device("cpu"), torch.device("meta")
KINDS = (
    "random",
    "equal",
    "zeros",
    "lengths",
    "denormal",
    "nearly equal",
    "halves",
    "signs",
    "rising",
)


def made(
    draw: np.random.Generator, kind: str, count: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors and three tests."""
    vectors, tests = (
        draw.standard_normal((count, width), np.float32),
        draw.standard_normal((3, width), np.float32),
    )
    if kind in ("equal", "nearly equal"):
        vectors = vectors[draw.integers(0, 1 + count // 30, count)]
    if kind == "nearly equal":  # by less than a product's rounding
        vectors *= np.float32(1 + 1.2e-7) ** draw.integers(0, 3, (count, 1)).astype(np.float32)
    if kind == "zeros":
        vectors[draw.integers(0, count, count // 2)], tests[0] = 0, 0
    if kind == "lengths":
        vectors *= 10.0 ** draw.integers(-15, 15, (count, 1)).astype(np.float32)
    if kind == "denormal":
        vectors *= np.float32(1e-42)
    if kind == "halves":
        vectors = vectors.astype(np.float16)
    if kind == "signs":  # many sums are equal
        vectors, tests = np.sign(vectors), np.sign(tests)
    if kind == "rising":  # the worst order: each vector is nearer than all before
        vectors = vectors[np.argsort(vectors @ tests[0])]
    return vectors, tests


def cut(numbers: np.ndarray, vectors: np.ndarray, size: int) -> list[Block]:
    return [
        (numbers[first : first + size], vectors[first : first + size])
        for first in range(0, len(vectors), size)
    ]


@given(
    st.integers(0, 2**31),
    st.sampled_from(KINDS),
    st.sampled_from([1, 4, 32]),
    st.sampled_from([50, 5_000, 1 << 28]),
)
def test_the_bits_are_those_of_the_processors_search(
    seed: int, kind: str, more: int, cells: int
) -> None:
    draw = np.random.default_rng(seed)
    count, width, k = (int(draw.integers(1, most)) for most in (500, 140, 30))
    vectors, tests = made(draw, kind, count, width)
    blocks = cut(draw.permutation(count), vectors, int(draw.integers(1, count + 1)))
    expected = nearest(tests, blocks, neighbours=k, rows=200, similarity="dot")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (
            ("_MORE", more),
            ("_CELLS", cells),
            ("_TESTS", 2),
            ("_PAIRED", 3_000),
            ("_GROUP", 4),
        ):
            patch.setattr(on_device, name, value)
        found = nearest_on_device(
            tests, blocks, neighbours=k, device=CPU, rows=int(draw.integers(1, count + 1))
        )
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    assert found.scores.tobytes() == expected.scores.tobytes()  # the sign of a zero included


# the square of the last is none in float32
@pytest.mark.parametrize("wrong", [np.nan, 1e20])
@pytest.mark.parametrize("place", [0, 99])
def test_a_vector_that_is_not_finite_is_refused(wrong: float, place: int) -> None:
    vectors = np.ones((100, 4), np.float32)
    vectors[place, 2] = wrong
    with pytest.raises(InputError, match="wanted finite numbers of ordinary size"):
        nearest_on_device(
            np.ones((2, 4), np.float32),
            cut(np.arange(100), vectors, 30),
            neighbours=3,
            device=CPU,
            rows=20,
        )
    with pytest.raises(InputError, match=r"wanted \(n, 4\) numbers; found \(100, 5\)"):
        nearest_on_device(
            np.ones((2, 4), np.float32),
            [(np.arange(100), np.ones((100, 5)))],
            neighbours=3,
            device=CPU,
        )


def test_fewer_vectors_than_neighbours_and_other_floats() -> None:
    vectors = np.array([[1, 0], [0, 2], [2, 0]], ">f8")
    found = nearest_on_device(
        np.array([[1, 0]], np.float32), [(np.array([7, 4, 9]), vectors)], neighbours=4, device=CPU
    )
    assert found.numbers.tolist() == [[9, 7, 4, -1]]
    assert found.scores.tolist() == [[2.0, 1.0, 0.0, -np.inf]]


@pytest.mark.parametrize(
    "count",
    [
        1,
        7,
        8,
        16,
        129,
        300,
        768,
    ],
)
def test_sums_have_numpys_bits(count: int) -> None:
    numbers = np.random.default_rng(count).standard_normal(
        (40, count)
    ) * 10.0 ** np.random.default_rng(1).integers(-9, 9, (40, count))
    assert paired_sums(torch.from_numpy(numbers)).numpy().tobytes() == numbers.sum(axis=1).tobytes()
    # nor numpy's
    assert not np.signbit(paired_sums(torch.full((1, count), -0.0, dtype=torch.float64)).numpy())
