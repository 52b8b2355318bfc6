"""Search by ranges: merged by hand, against one pass over all vectors, with other processes, and
after a stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.steps import MapShards
from positionbias.dense.by_range import ByRange, ExactRange
from positionbias.dense.encode import encode_collection
from positionbias.dense.exact import exact_search
from positionbias.dense.merged import Best
from positionbias.dense.passage_blocks import Rows
from positionbias.dense.retrieve import retrieve_dense
from positionbias.dense.settings import AnnSettings, DenseSearch, Index
from positionbias.dense.vector_range import VectorRange, cut_ranges
from positionbias.dense.vectors import Vectors
from positionbias.engine.choose import open_engine
from positionbias.firststage.retrieval import Retrieval
from positionbias.models.checkpoint import Checkpoint

from .made import write_vectors
from .test_search import listed


def test_ranges_are_merged_by_hand_with_ties_at_the_border() -> None:
    ids = ["v3", "v1", "v9", "v5", "v4", "v7"]
    best = Best(2, 3, lambda rows: [ids[row] for row in rows.tolist()])
    assert best.floor.tolist() == [-np.inf, -np.inf]
    # rows 0 to 2 for the first query, row 2 for the second
    best.add(0, np.array([3, 1]), np.array([2, 0, 1, 2]), np.array([4.0, 2, 2, 1], np.float32))
    assert [one[0].tolist() for one in best.found()] == [[2, 0, 1], [2]]
    assert best.floor.tolist() == [2, -np.inf]
    # rows 3 to 5: of the four with a score of 2, v5 and v4 are the higher ids, and only two have
    # room
    best.add(
        3, np.array([2, 3]), np.array([0, 1, 2, 0, 1]), np.array([2.0, 2, 3, 1, 1], np.float32)
    )
    assert listed(best.found()) == [([2, 3, 4], [4.0, 2.0, 2.0]), ([5, 2, 3], [3.0, 1.0, 1.0])]
    best.add(6, np.array([0, 0]), np.empty(0, np.int64), np.empty(0, np.float32))
    assert best.floor.tolist() == [2, 1]


def test_ranges_are_whole_shards(tmp_path: Path) -> None:
    vectors = write_vectors(tmp_path / "v", np.arange(46, dtype=np.float32).reshape(23, 2), 4)
    assert cut_ranges(vectors, 9) == [Rows(0, 8), Rows(8, 16), Rows(16, 23)]
    assert cut_ranges(vectors, 1)[-1] == Rows(20, 23)
    part = VectorRange(vectors, Rows(8, 16))
    assert [(rows.tolist(), block[0, 0]) for rows, block in part.blocks()] == [
        ([0, 1, 2, 3], 16),
        ([4, 5, 6, 7], 24),
    ]
    # v9 and v8 before v15 to v10
    assert part.by_descending_id().tolist() == [1, 0, 7, 6, 5, 4, 3, 2]
    assert part.ids_at(np.array([3])) == ["v11"]
    assert part.take(np.array([3])).tolist() == [[22, 23]]


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_any_cuts_find_what_one_pass_finds(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    draw = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    count, width = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 5))
    rows = draw.standard_normal((count, width))
    if data.draw(st.booleans()):  # few distinct vectors: ties at every border
        rows = rows[draw.integers(0, 1 + count // 8, count)]
    place = tmp_path_factory.mktemp("cuts")
    vectors = write_vectors(
        place / "v", rows.astype(data.draw(st.sampled_from([np.float16, np.float32]))), 4
    )
    queries = draw.standard_normal((data.draw(st.integers(1, 7)), width), np.float32)
    depth, size, at_once = (data.draw(st.integers(1, most)) for most in (12, 30, 4))
    wanted = listed(exact_search(vectors, queries, depth))
    find = ExactRange(depth, 1.0, "cpu")
    search = ByRange(place / "made", vectors, cut_ranges(vectors, size), find, at_once=at_once)
    assert listed(search.search(queries)) == wanted


@pytest.fixture(scope="module")
def vectors(
    checkpoint: Checkpoint, collection: Collection, tmp_path_factory: pytest.TempPathFactory
) -> Vectors:
    """60 vectors in eight shards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("positionbias.dense.encode.SHARD_PASSAGES", 8)
        return encode_collection(checkpoint, collection, tmp_path_factory.mktemp("ranges") / "v")


Retrieve = Callable[..., bytes]


@pytest.fixture
def retrieve(
    checkpoint: Checkpoint,
    collection: Collection,
    vectors: Vectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Retrieve:
    """The bytes of a run of 9 passages a query: ranges of two shards, turns of two queries."""
    monkeypatch.setattr("positionbias.dense.retrieve.RANGE", 16)
    monkeypatch.setattr("positionbias.dense.retrieve.queries_at_once", lambda *_: 2)

    def run(name: str, map_shards: MapShards = map, **how: Any) -> bytes:
        place = tmp_path / name
        place.mkdir(exist_ok=True)
        settings, out = DenseSearch(**how), place / "d.run"
        retrieve_dense(
            checkpoint,
            vectors,
            collection,
            Retrieval("test", 9),
            out,
            how=settings,
            map_shards=map_shards,
        )
        assert sorted(path.name for path in place.iterdir()) == ["d.run", "d.run.manifest.json"]
        return out.read_bytes()

    return run


def test_workers_change_no_byte(retrieve: Retrieve) -> None:
    wanted = retrieve("alone")
    assert wanted.count(b"\n") == 4 * 9
    with open_engine("local", 2) as map_shards:
        assert retrieve("shared", map_shards) == wanted


@pytest.mark.parametrize("index", ["hnsw", "ivf"])
def test_sharded_indexes_that_look_at_everything_find_what_exact_search_finds(
    retrieve: Retrieve, index: Index
) -> None:
    pytest.importorskip("faiss")
    ann = (
        AnnSettings(search_width=60, shards=3)
        if index == "hnsw"
        else AnnSettings(lists=2, probes=2, shards=3)
    )
    assert retrieve("sharded", index=index, ann=ann) == retrieve("exact")


class Stopped:
    """A map that is stopped before an item; ``done`` counts the items of all its calls."""

    def __init__(self, before: int) -> None:
        self.before, self.done = before, 0

    def __call__(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for item in items:
            if self.done == self.before:
                raise KeyboardInterrupt
            yield function(item)
            self.done += 1


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A 1 for each search of a range in this process."""
    found: list[int] = []
    find = ExactRange.__call__
    monkeypatch.setattr(ExactRange, "__call__", lambda *given: found.append(1) or find(*given))
    return found


@pytest.mark.parametrize("before", [4, 7])
def test_a_stopped_search_goes_on(
    retrieve: Retrieve, tmp_path: Path, searched: list[int], before: int
) -> None:
    """Two turns of four ranges; a turn that is done is not searched again, nor are ranges of the
    one that is not.
    """
    wanted = retrieve("whole")
    with pytest.raises(KeyboardInterrupt):
        retrieve("stopped", Stopped(before))
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == [".d.run.work"]
    searched.clear()
    assert retrieve("stopped") == wanted
    assert len(searched) == 8 - before
