"""Dense retrieval in turns of queries: with other processes, and after a stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from positionbias.core.collection import Collection
from positionbias.core.steps import MapShards
from positionbias.dense.encode import encode_collection
from positionbias.dense.exact import exact_search
from positionbias.dense.retrieve import retrieve_dense
from positionbias.dense.settings import DenseSearch
from positionbias.dense.vectors import Vectors
from positionbias.engine.choose import open_engine
from positionbias.firststage.retrieval import Retrieval
from positionbias.models.checkpoint import Checkpoint


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
    """The bytes of a run of 9 passages a query, in turns of two queries."""
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
    """The number of queries of each search in this process."""
    turns: list[int] = []

    def counted(vectors: Vectors, queries: np.ndarray, *given: Any, **more: Any) -> Any:
        turns.append(len(queries))
        return exact_search(vectors, queries, *given, **more)

    monkeypatch.setattr("positionbias.dense.retrieve.exact_search", counted)
    return turns


def test_a_stopped_search_goes_on_from_its_turn(
    retrieve: Retrieve, tmp_path: Path, searched: list[int]
) -> None:
    wanted = retrieve("whole")
    # five queries, of which q2 has no text
    assert searched == [2, 1, 1]
    with pytest.raises(KeyboardInterrupt):
        retrieve("stopped", Stopped(2))
    assert [path.name for path in (tmp_path / "stopped").iterdir()] == [".d.run.work"]
    searched.clear()
    assert retrieve("stopped") == wanted
    assert searched == [1]
