"""Merging what blocks found: the best pairs of each test text, the same for any cuts."""

from __future__ import annotations

import os
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from hypothesis import given
from hypothesis import strategies as st

from positionbias.overlap.found import HITS, Found, best_rows, merged
from positionbias.overlap.joined import joined


class Hit(NamedTuple):
    detector: int
    test: int
    score: float
    train_id: str
    shared: bool = False


def table(hits: list[Hit]) -> pa.Table:
    columns = {
        "detector": [hit.detector for hit in hits],
        "test": [hit.test for hit in hits],
        "shared": [hit.shared for hit in hits],
        "of_test": [hit.score for hit in hits],
        "of_train": [0.1 for _ in hits],
        "train_id": [hit.train_id for hit in hits],
        "train_text": [f"text of {hit.train_id}" for hit in hits],
    }
    return pa.table(columns, schema=HITS)


def merge(blocks: list[list[Hit]], sources: list[int], folder: Path, kept: int) -> Found:
    paths = []
    for number, hits in enumerate(blocks):
        made = table(hits)
        paths.append(folder / f"{number}")
        with pa.OSFile(str(paths[-1]), "wb") as sink, ipc.new_file(sink, HITS) as file:
            file.write_table(made.take(pa.array(best_rows(made, kept))))
    return merged(paths, sources, 2, kept)


def rows(found: Found) -> list[tuple[int, int, str, float, list[bool]]]:
    """Test text, source, training id, score, detectors."""
    ids, texts = found.take(np.arange(len(found)))
    assert texts == [f"text of {train_id}" for train_id in ids]
    parts = (
        found.tests.tolist(),
        found.sources.tolist(),
        ids,
        found.scores[:, 0].tolist(),
        found.found_by.tolist(),
    )
    return list(zip(*parts, strict=True))


def test_pairs_come_by_test_text_score_source_and_id(tmp_path: Path) -> None:
    first = [Hit(0, 1, 0.6, "b"), Hit(0, 1, 0.6, "a"), Hit(1, 1, 0.9, "a"), Hit(0, 0, 0.5, "z")]
    second = [Hit(0, 1, 0.9, "c"), Hit(0, 1, 0.6, "a")]
    assert rows(merge([first, second], [1, 0], tmp_path, 10)) == [
        (0, 1, "z", 0.5, [True, False]),
        (1, 0, "c", 0.9, [True, False]),
        (1, 1, "a", 0.9, [True, True]),  # two detectors, one pair with the higher score
        (1, 0, "a", 0.6, [True, False]),  # the same id of another source
        (1, 1, "b", 0.6, [True, False]),
    ]


def test_the_best_are_kept_of_each_detector_and_all_of_a_shared_corpus(tmp_path: Path) -> None:
    hits = [Hit(0, 0, (50 + number) / 100, f"d{number}") for number in range(9)]
    hits += [Hit(1, 0, 0.7, "x"), Hit(0, 0, 0.5, "same", shared=True), Hit(0, 0, 0.58, "d8")]
    found = merge([hits], [0], tmp_path, 2)
    assert [row[2:] for row in rows(found)] == [
        ("x", 0.7, [False, True]),
        ("d8", 0.58, [True, False]),
        ("d7", 0.57, [True, False]),
        ("same", 0.5, [True, False]),
    ]
    assert found.shared.tolist() == [False, False, False, True]


HIT = st.builds(
    Hit,
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from([0.5, 0.6, 0.7]),
    st.sampled_from("abcdef"),
)


@given(st.lists(HIT, max_size=40), st.lists(st.integers(0, 40), max_size=4), st.integers(1, 5))
def test_cuts_change_nothing(hits: list[Hit], cuts: list[int], kept: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ends = [0, *sorted(min(cut, len(hits)) for cut in cuts), len(hits)]
        blocks = [hits[start:end] for start, end in pairwise(ends)]
        (place / "whole").mkdir()
        whole = rows(merge([hits], [0], place / "whole", kept))
        assert rows(merge(blocks, [0] * len(blocks), place, kept)) == whole
        for detector in (0, 1):
            of = {(row[0], row[2]) for row in whole if row[4][detector]}
            best = {(hit.test, hit.train_id) for hit in hits if hit.detector == detector}
            assert of <= best
            assert all(
                len([1 for test, _ in of if test == number])
                >= min(kept, len([1 for test, _ in best if test == number]))
                for number in range(4)
            )


def test_a_pair_leaks_where_its_query_and_its_passage_do(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "p").mkdir()
    # training queries q1, q2 near test query 0; training passages p1 near test passages 0 and 1, p2
    # near 1
    queries = merge([[Hit(0, 0, 1.0, "q1"), Hit(1, 0, 0.6, "q2")]], [0], tmp_path / "q", 9)
    passages = merge(
        [[Hit(0, 0, 1.0, "p1", shared=True), Hit(1, 1, 0.7, "p1"), Hit(1, 1, 0.8, "p2")]],
        [0],
        tmp_path / "p",
        9,
    )
    train = [("q1", "p1"), ("q2", "p2"), ("q2", "p9"), ("q9", "p1")]
    # the test pairs: query 0 with passage 0, query 0 with passage 1, query 5 with passage 1
    found = joined(queries, passages, [train], [(0, 0), (0, 1), (5, 1)])
    q, p = queries.ids(), passages.ids()
    pairs = [
        (link, q[a], p[b])
        for link, a, b in zip(found.links, found.queries, found.passages, strict=True)
    ]
    assert pairs == [(0, "q1", "p1"), (1, "q1", "p1"), (1, "q2", "p2")]
    # exact where both are; of q1 with p1 as test passage 1 only the passage is near
    assert found.found_by.tolist() == [[True, False], [False, True], [False, True]]
    assert found.scores[:, 0].tolist() == [1.0, 0.7, 0.6]  # the lower of both


def test_thousands_of_blocks_keep_no_file_open(tmp_path: Path) -> None:
    found = merge([[Hit(0, number, 0.5, "a")] for number in range(300)], [0] * 300, tmp_path, 1)
    mapped = [
        line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line
    ]
    held = [
        one for one in Path("/proc/self/fd").iterdir() if str(tmp_path) in os.path.realpath(one)
    ]
    assert (len(rows(found)), len(mapped), held) == (300, 300, [])
