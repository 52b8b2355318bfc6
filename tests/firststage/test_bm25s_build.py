"""The index built from shards: bm25s's own arrays, the same bytes by any workers, shards and
blocks, also after a stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pyarrow.ipc as ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Query
from positionbias.core.shards import Shard, write_shard
from positionbias.engine.choose import open_engine
from positionbias.firststage import bm25s_build, bm25s_index
from positionbias.firststage.bm25 import open_index, search
from positionbias.firststage.bm25s_build import (
    DATA,
    INDICES,
    INDPTR,
    TERMS,
    build_bm25s,
)
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import Analyzer

TEXTS = (
    "Rome's foxes ran; the foxes run to Rome",
    "",
    "the of and",
    "人口 问题 and a red fox",
    "red red red hen",
    "a whale’s song\x00 is 😀 naïve",
    "fox",
    "Zebra zebra ZEBRA fox_2 4 4",
)


def write(shard: Sequence[str], path: Path) -> Shard:
    return write_shard(path, (Passage(*text.split("\t", 1)) for text in shard))


def collection_of(path: Path, shards: Sequence[Sequence[str]]) -> Collection:
    """Passages named in an order of their own, in these shards."""
    number = iter(range(10**6))
    numbered = [
        [f"{(7 * (n := next(number))) % 13:02d}-{n}\t{text}" for text in shard] for shard in shards
    ]
    with create_collection(path, overwrite=True) as writer:
        for _ in writer.add_shards(Shard, write, numbered):
            pass
        writer.finish(Manifest("collection", "shards", "a test"))
    return Collection(path)


def built(collection: Collection, folder: Path, *, map_shards: Any = map) -> dict[str, bytes]:
    folder.mkdir()
    build_bm25s(collection, Bm25Settings(), folder, map_shards)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def bm25s_own(texts: Sequence[str], terms: Sequence[str]) -> Any:
    """bm25s's index of the texts, by its own builder, its terms numbered as in ``terms``."""
    numbers = {term: number for number, term in enumerate(terms)}
    analyze = Analyzer()
    scorer = bm25s.BM25(k1=0.9, b=0.4, method="lucene", csc_backend="numpy")
    tokens = [[numbers[term] for term in analyze(text)] for text in texts]
    scorer.index((tokens, numbers), create_empty_token=False, show_progress=False)
    return scorer.scores


def equals_bm25s(collection: Collection, folder: Path) -> None:
    terms = ipc.open_file(folder / TERMS).read_all().column("term").to_pylist()
    own = bm25s_own([passage.text for passage in collection.passages()], terms)
    assert terms == sorted(terms)
    for name, key, dtype in (
        (DATA, "data", np.float32),
        (INDICES, "indices", np.int32),
        (INDPTR, "indptr", np.int64),
    ):
        ours = np.load(folder / name)
        assert ours.dtype == dtype
        assert ours.tolist() == own[key].tolist()


SHARDS = (TEXTS[:3], (), TEXTS[3:4], ("", "the"), TEXTS[4:])


def test_the_arrays_are_those_of_bm25s_own_index(tmp_path):
    collection = collection_of(tmp_path / "c", SHARDS)
    assert len(collection.shard_paths) == 5
    built(collection, tmp_path / "index")
    equals_bm25s(collection, tmp_path / "index")
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == [
        *("bests.npy", "data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"),
        *("params.index.json", "places.npy", "terms.arrow"),
    ]


WORDS = st.sampled_from(["red", "fox", "foxes", "hen", "song", "the", "Rome's", "人口", "a", "é"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(TEXT, max_size=6), min_size=1, max_size=5), st.integers(1, 12))
def test_equals_bm25s_however_it_is_cut(tmp_path_factory, shards, size):
    path = tmp_path_factory.mktemp("cut")
    analyze = Analyzer()
    if not any(analyze(text) for shard in shards for text in shard):
        shards = [*shards, ["fox"]]
    collection = collection_of(path / "c", shards)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25s_build, "_POSTINGS", size)
        built(collection, path / "index")
    equals_bm25s(collection, path / "index")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=6),
    st.integers(1, 5),
)
def test_rows_must_rise_within_each_term(terms, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25s_build, "_POSTINGS", size)
        found = bm25s_build._rise(
            np.concatenate(terms).astype(np.int32), np.cumsum([0, *map(len, terms)])
        )
    assert found == all(rows == sorted(set(rows)) for rows in terms)


def test_bm25s_loads_what_we_write(tmp_path):
    collection = collection_of(tmp_path / "c", SHARDS)
    built(collection, tmp_path / "index")
    loaded = bm25s.BM25.load(tmp_path / "index", mmap=True, load_vocab=False, show_progress=False)
    assert (loaded.k1, loaded.b, loaded.method, loaded.scores["num_docs"]) == (
        0.9,
        0.4,
        "lucene",
        len(collection),
    )
    terms = ipc.open_file(tmp_path / "index" / TERMS).read_all().column("term").to_pylist()
    scores = loaded.get_scores_from_ids([terms.index("zebra")])
    assert np.flatnonzero(scores).tolist() == [9]


class Stopped(Exception):
    pass


def test_an_interrupted_build_leaves_nothing_in_the_way(tmp_path):
    collection = collection_of(tmp_path / "c", SHARDS)

    def stop_after_three(function, items):
        for number, item in enumerate(items):
            if number == 3:
                raise Stopped
            yield function(item)

    with pytest.raises(Stopped):
        open_index(collection, Bm25Settings(), map_shards=stop_after_three)
    assert open_index(collection, Bm25Settings()).origin == "built"
    assert [path.name for path in (collection.cache / "bm25s").iterdir()] == ["k1-0.9-b-0.4"]
    equals_bm25s(collection, collection.cache / "bm25s" / "k1-0.9-b-0.4")


def test_the_same_rankings_from_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(bm25s_index, "_CHUNK", 2)
    collection = collection_of(tmp_path / "c", SHARDS)
    queries = [
        Query(str(number), text) for number, text in enumerate([*TEXTS, "whale hen", "none"])
    ]
    one = search(open_index(collection, Bm25Settings()), queries, 3)
    with open_engine("local", 2) as map_shards:
        two = search(open_index(collection, Bm25Settings(), map_shards=map_shards), queries, 3)
    assert list(one) == list(two) == [query.query_id for query in queries]
    for query_id in one:
        assert one[query_id].passage_ids == two[query_id].passage_ids
        assert one[query_id].scores.tobytes() == two[query_id].scores.tobytes()
