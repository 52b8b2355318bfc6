"""Sums over postings: the same bytes as a plain sum and sort, whatever the scores, ties, repeats
and depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.firststage import best_postings, bm25s_build
from positionbias.firststage.best_postings import Postings, add_scores

RANKS = (1, 2, 5, 11)


def postings_of(
    folder: Path, terms: Sequence[dict[int, float]], places: Sequence[int], ranks: tuple[int, ...]
) -> Postings:
    """Postings of these terms, each a score by row, with bests at these ranks."""
    rows = [sorted(term) for term in terms]
    scores = np.array(
        [term[row] for term, held in zip(terms, rows, strict=True) for row in held], np.float32
    )
    holding = np.array([len(held) for held in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25s_build, "RANKS", ranks)
        bests = bm25s_build._bests(scores, np.cumsum([0, *holding]))
    arrays = {
        bm25s_build.DATA: scores,
        bm25s_build.INDICES: np.concatenate(rows).astype(np.int32),
        bm25s_build.INDPTR: np.concatenate([[0], np.cumsum(holding)]),
        bm25s_build.PLACES: np.array(places, np.int32),
        bm25s_build.BESTS: bests,
    }
    for name, array in arrays.items():
        np.save(folder / name, array)
    return Postings(folder)


def plain(
    terms: Sequence[dict[int, float]], places: Sequence[int], query: Sequence[int], depth: int
) -> tuple[list[int], bytes]:
    """The float32 sum of each row in the query's order, all rows sorted."""
    sums = [np.float32(0) for _ in places]
    for number in query:
        for row, score in terms[number].items():
            sums[row] += np.float32(score)
    best = sorted((-score, places[row], row) for row, score in enumerate(sums) if score > 0)[:depth]
    return [row for _, _, row in best], np.array(
        [-score for score, _, _ in best], np.float32
    ).tobytes()


# sums that round, tie, and tie only after rounding
SCORE = st.one_of(
    st.sampled_from(
        [1.0, 0.5, 0.1, 0.2, 0.3, 0.7, 1e-7, 2.0**-24, 3.0, 3.0000002, 16_777_216.0, 1e-38]
    ),
    st.floats(2.0**-20, 20, width=32),
)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_equals_a_plain_sum_and_sort(tmp_path_factory, data):
    size = data.draw(st.integers(1, 40))
    term = st.dictionaries(st.integers(0, size - 1), SCORE, min_size=1)
    terms = data.draw(st.lists(term, min_size=1, max_size=7))
    places = data.draw(st.permutations(range(size)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_postings, "RANKS", RANKS)
        patch.setattr(best_postings, "_RANGE", data.draw(st.sampled_from([1, 2, 3, 7, 100])))
        postings = postings_of(tmp_path_factory.mktemp("postings"), terms, places, RANKS)
        for _ in range(3):
            query = data.draw(st.lists(st.integers(0, len(terms) - 1), min_size=1, max_size=12))
            depth = data.draw(st.integers(1, size + 2))
            rows, scores = postings.best(query, depth)
            assert (rows.tolist(), scores.tobytes()) == plain(terms, places, query, depth)
            assert scores.dtype == np.float32


def test_scores_are_added_in_place_by_hand():
    sums = np.array([1, 2, 3, 4], np.float32)
    add_scores(sums, np.array([3, 1], np.int32), np.array([0.5, 0.25], np.float32))
    assert sums.tolist() == [1, 2.25, 3, 4.5]
