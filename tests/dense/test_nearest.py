"""Exact nearest neighbours: numbers by hand, against a search by sorting and against faiss, and
what must change nothing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.dense.nearest import Neighbours, Room, _scored, _Search
from positionbias.dense.nearest import nearest as search
from positionbias.dense.similarity import Similarity, pair_scores
from positionbias.dense.vector_blocks import stored_blocks

# two axes, 53° up, backwards, nowhere
COMPASS = np.array([[1, 0], [0, 1], [3, 4], [-2, 0], [0, 0]], np.float32)


def nearest(
    tests: np.ndarray,
    blocks: list[tuple[np.ndarray, np.ndarray]],
    k: int = 3,
    *,
    floor: float = -1.0,
    memory: float = 1.0,
) -> Neighbours:
    return search(tests, blocks, neighbours=k, floor=floor, memory=memory)


def numbered(vectors: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.arange(len(vectors)), vectors)]


def by_sorting(tests: np.ndarray, train: np.ndarray, k: int) -> Neighbours:
    """The same in float64, all pairs at once."""
    sides = [side.astype(np.float64) for side in (tests, train)]
    products = (sides[0][:, None, :] * sides[1][None, :, :]).sum(axis=2)
    squares = [(side * side).sum(axis=1) for side in sides]
    lengths = np.sqrt(squares[0][:, None] * squares[1][None, :])
    scores = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0).clip(
        -1, 1
    )
    numbers, found = np.full((len(tests), k), -1), np.full((len(tests), k), -np.inf)
    for row, score in enumerate(scores):
        order = sorted(range(len(train)), key=lambda place: (-score[place], place))[:k]
        numbers[row, : len(order)], found[row, : len(order)] = order, score[order]
    return Neighbours(numbers, found)


def same(first: Neighbours, second: Neighbours) -> None:
    np.testing.assert_array_equal(first.numbers, second.numbers)
    np.testing.assert_allclose(first.scores, second.scores, rtol=0, atol=4e-16)


def test_cosines_by_hand() -> None:
    found = nearest(np.array([[2, 0]], np.float32), numbered(COMPASS), 6)
    # (1, 0): 1; (3, 4): 3/5; (0, 1) and nothing: 0, the lower number first; (−2, 0): −1; there is
    # no sixth
    assert found.numbers.tolist() == [[0, 2, 1, 4, 3, -1]]
    assert found.scores.tolist() == [[1.0, 0.6, 0.0, 0.0, -1.0, -np.inf]]


def test_a_floor_leaves_out_what_is_below_it_and_keeps_what_is_at_it() -> None:
    found = nearest(np.array([[2, 0]], np.float32), numbered(COMPASS), 3, floor=0.6)
    assert found.numbers.tolist() == [[0, 2, -1]]


def test_of_equal_vectors_the_lowest_numbers_are_the_nearest() -> None:
    vectors = np.ones((500, 7), np.float32)
    backwards = [(np.array([number]), vectors[:1]) for number in reversed(range(500))]
    for blocks in (numbered(vectors), backwards):
        found = nearest(vectors[:2], blocks, 3)
        assert found.numbers.tolist() == [[0, 1, 2]] * 2
        assert found.scores.tolist() == [[1.0] * 3] * 2


def test_where_all_vectors_tie_few_tests_are_searched_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    candidates, highest = [], _Search._highest

    def seen(self: _Search, tests: torch.Tensor, factors: torch.Tensor, width: int):  # type: ignore[no-untyped-def]
        candidates.append(len(tests) * width)
        return highest(self, tests, factors, width)

    monkeypatch.setattr(_Search, "_highest", seen)
    vectors, memory = np.ones((3_000, 4), np.float32), 1e-3
    found = nearest(vectors[:50], numbered(vectors), 2, memory=memory)
    assert found.numbers.tolist() == [[0, 1]] * 50
    # a place in an order takes as much memory as eight products
    assert max(candidates) <= Room.of(memory, 2, 4).cells // 8
    assert candidates[-1] % 3_000 == 0  # in the end all of the tile


@given(st.data())
def test_what_is_found_is_what_sorting_finds_however_blocks_are_cut_and_ordered(
    data: st.DataObject,
) -> None:
    seed = data.draw(st.integers(0, 2**31))
    draw = np.random.default_rng(seed)
    count, dimension = data.draw(st.integers(0, 60)), data.draw(st.integers(1, 9))
    # few distinct numbers: many ties, many equal vectors, some of zeros
    train = draw.integers(-1, 2, (count, dimension)).astype(np.float32)
    tests = draw.integers(-1, 2, (data.draw(st.integers(1, 5)), dimension)).astype(np.float32)
    k = data.draw(st.integers(1, 12))
    cuts = sorted(data.draw(st.lists(st.integers(0, count), max_size=5)))
    blocks = list(zip(np.split(np.arange(count), cuts), np.split(train, cuts), strict=True))
    expected = by_sorting(tests, train, k)
    same(nearest(tests, numbered(train), k), expected)
    # tiles of few vectors, and products of few tests at once
    small = data.draw(st.sampled_from([1.0, 1e-6, 5e-7]))
    same(nearest(tests, data.draw(st.permutations(blocks)), k, memory=small), expected)
    with pytest.MonkeyPatch.context() as patch:  # by torch, as on a GPU
        patch.setattr("positionbias.dense.nearest.find_spec", lambda name: None)
        same(nearest(tests, numbered(train), k, memory=small), expected)


def test_the_nearest_are_those_of_faiss() -> None:
    faiss = pytest.importorskip("faiss")
    draw = np.random.default_rng(5)
    tests, train = (
        draw.standard_normal((20, 32), np.float32),
        draw.standard_normal((2_000, 32), np.float32),
    )
    found = nearest(tests, numbered(train), 10)
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (tests, train)]
    index = faiss.IndexFlatIP(32)
    index.add(units[1])
    scores, numbers = index.search(units[0], 10)
    np.testing.assert_allclose(found.scores, scores, atol=1e-6)
    exact = np.take_along_axis(units[0].astype(float) @ units[1].astype(float).T, numbers, axis=1)
    # where places differ, their scores are tied
    np.testing.assert_allclose(found.scores, exact, atol=1e-6)


def test_vectors_of_any_length_are_compared_by_direction() -> None:
    tests = np.array([[1e-30, 0], [1e12, 1e12]], np.float32)
    found = nearest(tests, numbered(COMPASS * np.float32(1e-25)), 1)
    assert found.numbers.tolist() == [[0], [2]]  # of (1, 1): (3, 4) at 7 / (5·√2)
    np.testing.assert_allclose(found.scores, [[1.0], [7 / 50**0.5]], rtol=1e-7)


def test_files_of_vectors_are_numbered_through(tmp_path: Path) -> None:
    train = np.random.default_rng(7).standard_normal((70, 4), np.float32)
    np.save(tmp_path / "a.npy", train[:30])
    np.save(tmp_path / "b.npy", train[30:].astype(np.float64))
    blocks = list(stored_blocks([tmp_path / "a.npy", tmp_path / "b.npy"], rows=16))
    assert [len(vectors) for _, vectors in blocks] == [16, 14, 16, 16, 8]
    assert np.concatenate([numbers for numbers, _ in blocks]).tolist() == list(range(70))
    same(nearest(train[:3], blocks, 5), by_sorting(train[:3], train, 5))


def test_files_that_are_no_vectors_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.ones(3, np.float32))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("1 2 3")
    np.save(tmp_path / "cut.npy", np.ones((9, 4), np.float32))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-8])
    for name in (
        "objects",
        "text",
        "cut",
    ):
        with pytest.raises(InputError, match=f"{name}.npy: wanted vectors as .npy"):
            list(stored_blocks([tmp_path / f"{name}.npy"]))


def test_what_cannot_be_compared_is_said() -> None:
    tests = np.ones((1, 2), np.float32)
    with pytest.raises(InputError, match="found NaN, infinity or beyond; check the encoder"):
        nearest(tests, numbered(np.array([[np.nan, 1]], np.float32)))
    with pytest.raises(
        InputError,
        match=r"wanted \(n, 2\) numbers; found \(5, 3\); encode both sides with one encoder",
    ):
        nearest(tests, numbered(np.ones((5, 3), np.float32)))


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_a_gpu_scores_pairs_as_a_processor_does(similarity: Similarity) -> None:
    draw = np.random.default_rng(4)
    tests, vectors = (
        draw.standard_normal((5, 33), np.float32),
        draw.standard_normal((5, 7, 33), np.float32),
    )
    vectors[2, 3], vectors[1, 1] = tests[2], 0
    made = _scored(torch.from_numpy(tests), torch.from_numpy(vectors), similarity).numpy()
    for test, others, scores in zip(tests, vectors, made, strict=True):
        kept = pair_scores(test[None], others, similarity)
        np.testing.assert_allclose(scores, kept, rtol=1e-7, atol=1e-15)
