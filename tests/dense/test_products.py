"""Products of all kinds: what they must find, that all lead to one result, and what a user's
settings may not change.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.dense import onednn_products as onednn
from positionbias.dense import products
from positionbias.dense.nearest import _kth_highest, nearest, products_here
from positionbias.dense.onednn_products import OneDnnProducts, SievedProducts
from positionbias.dense.products import NumpyProducts, Products, lengths64
from positionbias.models.onednn import multiplies_bfloat16

SIEVED = pytest.param(
    SievedProducts,
    marks=pytest.mark.skipif(
        not multiplies_bfloat16(), reason="this processor multiplies no bfloat16"
    ),
)
KINDS = [NumpyProducts, OneDnnProducts, SIEVED]
Kind = Callable[[np.ndarray], Products]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut into several parts and blocks."""
    monkeypatch.setattr(products, "PART", 3)
    monkeypatch.setattr(products, "BLOCK", 32)
    monkeypatch.setattr(onednn, "BLOCK", 32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_each_pair_that_reaches_its_bound_is_found_once(kind: Kind, scale: float) -> None:
    draw = np.random.default_rng(8)
    tests = draw.standard_normal((7, 24), np.float32) * np.float32(scale)
    tile = draw.standard_normal((150, 24), np.float32) * 10 ** draw.integers(
        -2, 2, (150, 1)
    ).astype(np.float32)
    exact = tests.astype(np.float64) @ tile.astype(np.float64).T
    bounds = np.sort(exact, axis=1)[:, -20]  # twenty reach it, one of them just so
    device = kind(tests)
    made = device.prepare(tile, float(lengths64(tile).max()))
    for part, cut in enumerate(device.parts):
        lowest = np.nextafter(bounds[cut].astype(np.float32), np.float32(-np.inf))
        found: dict[tuple[int, int], float] = {}
        for hits in device.scan(part, made, lowest):
            for test, row, value in zip(*(column.tolist() for column in hits), strict=True):
                assert (test, row) not in found
                found[test, row] = value
        wanted = {(test, row) for test, row in np.argwhere(exact[cut] >= lowest[:, None]).tolist()}
        assert wanted <= set(found)
        error = device.error(part, made)
        assert all(abs(value - exact[cut][pair]) <= error[pair[0]] for pair, value in found.items())
        # few beside them: those within rounding of the bound
        assert len(found) <= len(wanted) + 2
        known = device.sampled(part, made, 5) - error
        assert (np.sort(exact[cut], axis=1)[:, -5] >= known).all()


@given(st.integers(0, 2**31), st.sampled_from(["cosine", "dot"]), st.integers(1, 40), st.booleans())
def test_all_kinds_lead_to_the_same_bits(seed: int, similarity: str, k: int, rising: bool) -> None:
    draw = np.random.default_rng(seed)
    tests = draw.standard_normal((8, 16), np.float32)
    train = draw.standard_normal((300, 16), np.float32)
    # near and true ties
    train[draw.integers(0, 300, 60)] = train[draw.integers(0, 300, 60)] * np.float32(1 + 1e-6)
    if rising:  # the worst order: every vector reaches the bound
        train = train[np.argsort(train @ tests[0])]
    kinds = [
        NumpyProducts,
        OneDnnProducts,
        *([SievedProducts] if multiplies_bfloat16() else []),
    ]
    results = [
        nearest(
            tests,
            [(np.arange(300), train)],
            neighbours=k,
            rows=rows,
            similarity=similarity,  # type: ignore[arg-type]
            products=lambda compared, _, kind=kind: kind(compared),
        )
        for kind in kinds
        for rows in (70, 300)
    ]
    exact = tests.astype(np.float64) @ train.astype(np.float64).T
    if similarity == "cosine":
        exact /= np.linalg.norm(tests.astype(np.float64), axis=1)[:, None] * np.linalg.norm(
            train.astype(np.float64), axis=1
        )
    np.testing.assert_allclose(
        results[0].scores, -np.sort(-exact, axis=1)[:, :k], rtol=1e-6, atol=1e-6
    )
    for other in results[1:]:
        np.testing.assert_array_equal(other.numbers, results[0].numbers)
        np.testing.assert_array_equal(other.scores, results[0].scores)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
def test_products_at_the_end_of_float32_are_found_without_a_warning(kind: Kind) -> None:
    # 1.8e19² = 3.24e38
    tests = np.float32(1.8e19) * np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    found = nearest(
        tests,
        [(np.arange(3), tests)],
        neighbours=3,
        rows=2,
        similarity="dot",
        products=lambda made, _: kind(made),
    )
    assert found.numbers.tolist() == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    assert found.scores[:, 0] == pytest.approx(3.24e38, rel=1e-6)


def test_the_kth_highest_by_hand() -> None:
    tests = np.array([0, 2, 0, 0, 2, 1])
    values = np.array([-1.5, 3.0, 2.0, -0.0, -np.inf, 7.0], np.float32)
    # test 0 has 2, −0 and −1.5; test 1 only 7; test 2 has 3 and −inf
    assert _kth_highest(tests, values, 3, 2).tolist() == [0.0, -np.inf, -np.inf]
    assert _kth_highest(tests, values, 3, 3).tolist() == [-1.5, -np.inf, -np.inf]
    assert _kth_highest(tests, values, 3, 1).tolist() == [2.0, 7.0, 3.0]


def test_products_of_a_smaller_range_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_DEFAULT_FPMATH_MODE", "any")
    assert type(products_here(np.ones((2, 3), np.float32))) is NumpyProducts


def test_without_torch_numpy_multiplies() -> None:
    code = """
import sys
sys.modules["torch"] = None
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
import numpy as np
from positionbias.dense.nearest import nearest
found = nearest(np.eye(2, dtype=np.float32), [(np.arange(2), np.eye(2, dtype=np.float32))], \
neighbours=1, rows=2)
print(found.numbers.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[[0], [1]]"
