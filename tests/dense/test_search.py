"""Exact search against a brute force, ties and rounding included; approximate search; a split's
run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import DependencyError, InputError, SettingError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.rank_order import order_by_score
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.dense.approximate import AnnIndex, open_ann
from positionbias.dense.encode import encode_collection
from positionbias.dense.exact import Found, exact_search, queries_at_once
from positionbias.dense.nearest import least_memory
from positionbias.dense.queries import query_blocks
from positionbias.dense.retrieve import retrieve_dense
from positionbias.dense.settings import AnnSettings, DenseSearch, Index
from positionbias.dense.similarity import inner_products
from positionbias.dense.single_vectors import SingleVectors
from positionbias.dense.vectors import Vectors
from positionbias.firststage.retrieval import Retrieval
from positionbias.models.checkpoint import Checkpoint
from tests.forked import forked

from .conftest import saved_dot
from .made import write_vectors


@dataclass
class Held:
    """Vectors in memory, as ``exact_search`` goes through them: in blocks of three, ids in the
    order that ``ids`` says.
    """

    vectors: np.ndarray
    ids: list[str]

    @property
    def dimension(self) -> int:
        return self.vectors.shape[1]

    def __len__(self) -> int:
        return len(self.vectors)

    def by_descending_id(self) -> np.ndarray:
        return np.array(sorted(range(len(self)), key=self.ids.__getitem__, reverse=True), np.int64)

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for first in range(0, len(self), 3):
            yield np.arange(first, min(first + 3, len(self))), self.vectors[first : first + 3]


def brute_force(held: Held, queries: np.ndarray, depth: int) -> list[tuple[list[int], list[float]]]:
    """All products in float64, rounded to float32; equal ones by descending id."""
    scores = (
        (queries.astype(np.float64)[:, None, :] * held.vectors.astype(np.float64)[None])
        .sum(axis=2)
        .astype(np.float32)
    )
    orders = [order_by_score(held.ids, row)[:depth] for row in scores]
    return [
        (order.tolist(), row[order].tolist()) for order, row in zip(orders, scores, strict=True)
    ]


def listed(found: Iterator[Found]) -> list[tuple[list[int], list[float]]]:
    return [(rows.tolist(), scores.tolist()) for rows, scores in found]


def test_products_and_ties_by_hand() -> None:
    held = Held(np.array([[1, 0], [0, 2], [1, 0], [3, 1]], np.float16), ["a", "b", "c", "d"])
    # (2, 1)·: 2, 2, 2 and 7; of the equal ones c before b before a
    assert listed(exact_search(held, np.array([[2, 1]], np.float32), 3)) == [
        ([3, 2, 1], [7.0, 2.0, 2.0])
    ]
    assert listed(exact_search(held, np.array([[2, 1]], np.float32), 9)) == [
        ([3, 2, 1, 0], [7.0, 2.0, 2.0, 2.0])
    ]


@given(st.data())
def test_exact_is_brute_force_with_ties_duplicates_and_halves(data: st.DataObject) -> None:
    draw = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    count, width = data.draw(st.integers(0, 40)), data.draw(st.integers(1, 7))
    vectors = draw.standard_normal((count, width)) * 10.0 ** draw.integers(-3, 3, (count, 1))
    if count and data.draw(st.booleans()):  # few distinct vectors
        vectors = vectors[draw.integers(0, 1 + count // 8, count)]
    vectors = vectors.astype(data.draw(st.sampled_from([np.float16, np.float32])))
    held = Held(vectors, [f"p{number}" for number in draw.permutation(count)])
    queries = draw.standard_normal((data.draw(st.integers(1, 4)), width), np.float32)
    depth = data.draw(st.integers(1, 12))
    expected = brute_force(held, queries, depth)
    assert listed(exact_search(held, queries, depth)) == expected


def test_memory_changes_no_result_and_too_little_is_said() -> None:
    draw = np.random.default_rng(2)
    held = Held(draw.standard_normal((300, 8), np.float32), [f"p{number}" for number in range(300)])
    queries = draw.standard_normal((9, 8), np.float32)
    small = least_memory(5, 8, tests=4)
    assert queries_at_once(small, 5, 8) == 4  # three passes
    assert queries_at_once(1.0, 5, 8) > 9
    assert listed(exact_search(held, queries, 5, memory=small)) == brute_force(held, queries, 5)
    with pytest.raises(
        SettingError,
        match=r"--memory: wanted at least 1.4e-05 GiB to keep 5 passages of a query; found 1e-05",
    ):
        list(exact_search(held, queries, 5, memory=1e-5))
    with pytest.raises(SettingError, match="--memory: wanted GiB above 0; found 0"):
        queries_at_once(0, 5, 8)


@pytest.mark.parametrize(
    "precision",
    [
        "float16",
    ],
)
def test_an_index_finds_nearly_all_of_clustered_vectors_and_scores_them_exactly(
    precision: str, tmp_path: Path
) -> None:
    pytest.importorskip("faiss")
    draw = np.random.default_rng(6)
    centres = draw.standard_normal((20, 16), np.float32)
    made = centres[draw.integers(0, 20, 1_500)] + 0.3 * draw.standard_normal(
        (1_500, 16), np.float32
    )
    vectors = write_vectors(
        tmp_path / "v", (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(precision)
    )
    queries = (centres[:12] + 0.1).astype(np.float32)
    exact = list(exact_search(vectors, queries, 10))
    for kind, settings in (
        ("hnsw", AnnSettings(search_width=100)),
        ("ivf", AnnSettings(lists=20, probes=6)),
    ):
        index = open_ann(vectors, kind, settings)  # type: ignore[arg-type]
        assert index.origin == "built"
        found = list(index.search(vectors, queries, 10, kind, settings))  # type: ignore[arg-type]
        shares = [
            len(np.intersect1d(rows, best)) / 10
            for (rows, _), (best, _) in zip(found, exact, strict=True)
        ]
        assert np.mean(shares) >= 0.95
        for (rows, scores), query in zip(found, queries, strict=True):
            np.testing.assert_array_equal(
                scores, inner_products(np.tile(query, (10, 1)), vectors.take(rows))
            )
            assert order_by_score(vectors.ids_at(rows), scores).tolist() == list(range(10))
        again = open_ann(vectors, kind, settings)  # type: ignore[arg-type]
        assert again.origin == "reused"
        assert listed(iter(found)) == listed(again.search(vectors, queries, 10, kind, settings))
        assert index.bytes == sum(
            path.stat().st_size for path in vectors.cache.rglob(f"{kind}*/index.faiss")
        )
    # all lists looked at: nothing is missed
    every = AnnSettings(lists=20, probes=20)
    assert listed(
        open_ann(vectors, "ivf", every).search(vectors, queries, 10, "ivf", every)
    ) == listed(iter(exact))


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
@pytest.mark.parametrize("place", [0, -16])
def test_a_damaged_index_is_built_anew(kind: str, place: int, tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    vectors = write_vectors(
        tmp_path / "v", np.random.default_rng(3).standard_normal((200, 8)).astype(np.float32)
    )
    settings = AnnSettings(lists=4, probes=4, search_width=200)
    queries = vectors.take(np.arange(5))
    first = open_ann(vectors, kind, settings)  # type: ignore[arg-type]
    expected = listed(first.search(vectors, queries, 9, kind, settings))  # type: ignore[arg-type]
    (file,) = vectors.cache.rglob("index.faiss")
    whole = file.read_bytes()
    damaged = bytearray(whole)
    damaged[place : place + 16 or None] = bytes(
        byte ^ 1 for byte in damaged[place : place + 16 or None]
    )
    file.write_bytes(damaged)  # of the same size
    index = open_ann(vectors, kind, settings)  # type: ignore[arg-type]
    assert (index.origin, file.read_bytes()) == ("built", whole)
    assert listed(index.search(vectors, queries, 9, kind, settings)) == expected  # type: ignore
    assert open_ann(vectors, kind, settings).origin == "reused"  # type: ignore[arg-type]
    file.write_bytes(b"no index")
    with pytest.raises(
        InputError, match=r"index.faiss: wanted an index of faiss; found .*; delete its folder"
    ):
        AnnIndex(file.parent)


FULL = """
import resource, signal, sys
from pathlib import Path
from typing import Any
from positionbias.core.errors import StorageError
from positionbias.dense.approximate import open_ann
from positionbias.dense.settings import AnnSettings
from positionbias.dense.vectors import Vectors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # refused as on a full disk, with \
EFBIG for ENOSPC
try:
    open_ann(Vectors(sys.argv[1]), "hnsw", AnnSettings())
except StorageError as error:
    print(error)
"""


def test_a_full_disk_does_not_stop_a_search_and_two_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    vectors = write_vectors(
        tmp_path / "v", np.random.default_rng(3).standard_normal((900, 8)).astype(np.float32)
    )
    full = forked([vectors.path], tmp_path, os.environ, FULL)
    assert full.returncode == 0, full.stderr
    assert full.stdout.count("\n") == 1
    assert "hnsw-links-16-build_width-100: wanted to keep an index here, or in " in full.stdout
    assert "; found: File too large, in both; free some space, or set TMPDIR" in full.stdout
    assert not [*tmp_path.rglob("index.faiss")]
    opened, files = open, []

    def refused(path: Path, *given: Any) -> object:
        files.append(path)
        if len(files) == 1:
            raise OSError(28, "No space left on device")
        return opened(path, *given)

    monkeypatch.setattr("positionbias.dense.approximate.open", refused, raising=False)
    index = open_ann(vectors, "hnsw", AnnSettings())
    assert index.origin.startswith("built, not kept: ")
    rows, _ = next(index.search(vectors, vectors.take(np.array([7])), 3, "hnsw", AnnSettings()))
    assert len(rows) == 3


@pytest.mark.parametrize(
    "index",
    [
        "exact",
        "hnsw",
    ],
)
def test_nothing_is_found_among_no_passages(
    checkpoint: Checkpoint, tmp_path: Path, index: Index
) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_split("test", [Query("q1", "lamp")], [], [])
        writer.finish(Manifest("collection", "none", "a test"))
    none = Collection(tmp_path / "c")
    vectors = encode_collection(checkpoint, none, tmp_path / "v")
    done = retrieve_dense(
        checkpoint, vectors, none, Retrieval("test", 5), tmp_path / "d.run", how=DenseSearch(index)
    )
    assert (done.counts.queries, done.counts.candidates) == (1, 0)


def test_without_faiss_an_index_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = write_vectors(tmp_path / "v", np.ones((3, 4), np.float16))
    monkeypatch.setattr("positionbias.dense.approximate.find_spec", lambda name: None)
    with pytest.raises(
        DependencyError,
        match=r"--index hnsw: wanted faiss; found none; run: pip install 'positionbias\[dense\]'",
    ):
        open_ann(vectors, "hnsw", AnnSettings())


@pytest.fixture(scope="module")
def vectors(
    checkpoint: Checkpoint, collection: Collection, tmp_path_factory: pytest.TempPathFactory
) -> Vectors:
    return encode_collection(
        checkpoint, collection, tmp_path_factory.mktemp("vectors") / "v", on_disk="float32"
    )


def test_a_run_is_the_models_own_order_of_all_passages(
    checkpoint: Checkpoint, collection: Collection, vectors: Vectors, tmp_path: Path
) -> None:
    done = retrieve_dense(
        checkpoint, vectors, collection, Retrieval("test", 60), tmp_path / "d.run"
    )
    # q2 has no text; the empty passages are ranked like the others
    assert (done.counts.queries, done.counts.candidates, done.counts.empty) == (
        5,
        240,
        1,
    )
    run = Run.from_file(tmp_path / "d.run")
    assert list(run) == ["q0", "q1", "q3", "q4"]
    model = checkpoint.model
    texts = [passage.text for passage in collection.passages()]
    with torch.inference_mode():
        query = model.encode_queries(model.read_queries(["stone bridge"]))  # type: ignore
        scores = torch.cat(
            [
                model.interact(*query, *model.encode_passages(model.read_passages([text])))
                for text in texts
            ]
        )  # type: ignore[union-attr]
    ranking = run["q1"]
    by_id = dict(zip(collection.passage_ids(), scores.tolist(), strict=True))
    assert sorted(ranking.passage_ids) == sorted(by_id)
    np.testing.assert_allclose(
        ranking.scores,
        [by_id[passage_id] for passage_id in ranking.passage_ids],
        rtol=1e-4,
        atol=1e-4,
    )
    manifest = read_manifest(tmp_path / "d.run", kind="run")
    assert [(item.role, item.checksum) for item in manifest.inputs] == [
        ("collection", collection.checksum),
        ("model", checkpoint.manifest.content["checksum"]),
        ("vectors", vectors.checksum),
    ]
    assert (manifest.content["empty_queries"], manifest.settings["index"]) == (1, "exact")
    assert manifest.content["ending"]["finish"] == "not validated"


def test_queries_are_encoded_in_blocks_as_memory_allows(
    checkpoint: Checkpoint, collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder, texts = SingleVectors(checkpoint), list(collection.query_texts("test"))
    (whole,) = query_blocks(encoder, texts)
    monkeypatch.setattr("positionbias.dense.queries.QUERY_BLOCK", 2)
    read, seen = encoder.model.read_queries, []
    monkeypatch.setattr(
        encoder.model, "read_queries", lambda given: [seen.append(len(given)), read(given)][1]
    )  # type: ignore[func-returns-value]
    blocks = list(query_blocks(encoder, texts))
    assert ([block.ids for block in blocks], seen) == (
        [["q0", "q1"], ["q2", "q3"], ["q4"]],
        [2, 1, 1],
    )
    # two blocks of two are as many as fit into five
    together = list(query_blocks(encoder, texts, 5))
    assert [(block.ids, block.empty) for block in together] == [
        (["q0", "q1", "q2", "q3"], {"q2"}),
        (["q4"], frozenset()),
    ]
    in_order = np.concatenate([block.vectors for block in blocks])
    np.testing.assert_array_equal(np.concatenate([block.vectors for block in together]), in_order)
    np.testing.assert_allclose(in_order, whole.vectors, rtol=1e-5, atol=1e-6)


def test_wrong_askings_are_one_line(
    checkpoint: Checkpoint, collection: Collection, vectors: Vectors, tmp_path: Path
) -> None:
    out = tmp_path / "d.run"
    with pytest.raises(SettingError, match="--depth: 0 is not in the range x>=1"):
        retrieve_dense(checkpoint, vectors, collection, Retrieval("test", 0), out)
    with pytest.raises(SettingError, match="--index: 'flat' is not one of 'exact', 'hnsw', 'ivf'"):
        retrieve_dense(
            checkpoint, vectors, collection, Retrieval("test", 5), out, how=DenseSearch("flat")
        )
    with pytest.raises(InputError, match="wanted split 'dev'"):
        retrieve_dense(checkpoint, vectors, collection, Retrieval("dev", 5), out)
    with pytest.raises(
        InputError, match=r"v: wanted vectors by the model other .*; found vectors by dot"
    ):
        retrieve_dense(
            saved_dot(tmp_path / "other", seed=2), vectors, collection, Retrieval("test", 5), out
        )
    assert not out.exists()
