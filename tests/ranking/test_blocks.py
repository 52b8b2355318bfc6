"""Blocks of queries: where they are cut and what they cost; a run re-ranked by them has the same
bytes however it came about.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import PositionBiasError
from positionbias.core.manifest import manifest_path, read_manifest
from positionbias.core.publish import work_folder
from positionbias.core.run import Run
from positionbias.engine.choose import open_engine
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.models.protocols import Ranker
from positionbias.ranking import blocks
from positionbias.ranking.blocks import (
    Part,
    cut_pairs,
    encoded_again,
    pairs_in,
    queries_again,
    whole_queries,
)
from positionbias.ranking.config import Computing, Spread
from positionbias.ranking.rerank import rerank_run, rescore
from tests.ranking.test_teach import ByLength
from tests.tiny import candidates, planted, saved_tk

# neighbours share a passage: a b | b c | c d | d e
CHAIN = Run(
    "bm25",
    [
        (f"q{place}", pair, [2, 1])
        for place, pair in enumerate((["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]))
    ],
)


def test_the_price_by_hand() -> None:
    # five passages; each query alone encodes eight, two blocks of two queries six (c twice), all
    # together five
    assert encoded_again(CHAIN, parts(["q0"], ["q1"], ["q2"], ["q3"])) == pytest.approx(8 / 5 - 1)
    assert encoded_again(CHAIN, parts(["q0", "q1"], ["q2", "q3"])) == pytest.approx(6 / 5 - 1)
    assert encoded_again(CHAIN, parts(["q0", "q1", "q2", "q3"])) == 0


def parts(*blocks: list[str]) -> list[Part]:
    return [Part(query_ids) for query_ids in blocks]


def shown(cut: list[Part]) -> list[list[tuple[str, list[str]]]]:
    """The passages of each query in each block."""
    return [
        [
            (query_id, [CHAIN.passage_ids[n] for n in own])
            for query_id, own in zip(part.query_ids, part.numbers(CHAIN), strict=True)
        ]
        for part in cut
    ]


def test_cuts_by_passages_by_hand(
    rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch
) -> None:
    # a has 1 pair, b, c and d 2, e 1: blocks of 4 pairs end after c and after e, as 1 + 2 + 2
    # exceed 4 and c's last pair is the fifth
    monkeypatch.setattr(blocks, "BLOCK_PAIRS", 4)
    monkeypatch.setattr(blocks, "QUERY_SHARE", 0.0)
    monkeypatch.setattr(blocks, "MOST_AGAIN", 0.1)
    cut = cut_pairs(CHAIN, rankers["bert_dot"])
    assert shown(cut) == [
        [("q0", ["a", "b"]), ("q1", ["b"])],
        [("q1", ["c"]), ("q2", ["c", "d"]), ("q3", ["d", "e"])],
    ]
    assert pairs_in(CHAIN, cut) == [3, 5]
    monkeypatch.setattr(blocks, "QUERY_SHARE", 0.5)  # q1 is encoded again: half a passage, of five
    assert queries_again(CHAIN, cut) == pytest.approx(0.1)
    assert len(cut_pairs(CHAIN, rankers["bert_dot"])) == 2
    monkeypatch.setattr(blocks, "QUERY_SHARE", 0.6)
    assert cut_pairs(CHAIN, rankers["bert_dot"]) == parts(["q0", "q1", "q2", "q3"])
    # encodes nothing alone
    assert cut_pairs(CHAIN, rankers["bert_cat"]) == parts(["q0", "q1"], ["q2", "q3"])


def test_cuts(rankers: dict[str, Ranker], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_PAIRS", 2)
    alone, halves = parts(["q0"], ["q1"], ["q2"], ["q3"]), parts(["q0", "q1"], ["q2", "q3"])
    whole = parts(["q0", "q1", "q2", "q3"])
    monkeypatch.setattr(blocks, "QUERY_SHARE", 9.0)  # nothing is cut by passages
    assert cut_pairs(CHAIN, rankers["bert_cat"]) == alone
    assert cut_pairs(CHAIN, rankers["bert_dot"]) == whole  # halves still encode 20 % again
    assert whole_queries(CHAIN, 4) == halves
    monkeypatch.setattr(blocks, "MOST_AGAIN", 0.2)
    assert cut_pairs(CHAIN, rankers["bert_dot"]) == halves
    monkeypatch.setattr(blocks, "MOST_PAIRS", 2)  # memory comes first
    assert cut_pairs(CHAIN, rankers["bert_dot"]) == alone
    monkeypatch.setattr(blocks, "GPU_BLOCK_PAIRS", 8)
    on_gpu: Any = SimpleNamespace(device=torch.device("cuda"))
    assert cut_pairs(CHAIN, on_gpu) == whole
    assert cut_pairs(Run("none", []), rankers["bert_dot"]) == []


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("blocks") / "planted")


@pytest.fixture(scope="module")
def run_path(collection: Collection) -> Path:
    return candidates(collection, collection.path.parent, depth=9)["test"]


@pytest.fixture(scope="module")
def tk(collection: Collection) -> Checkpoint:
    found = load_checkpoint(saved_tk(collection.path.parent / "tk.ckpt", collection))
    return replace(found, depth=None)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of five or so queries, whatever they share."""
    monkeypatch.setattr(blocks, "BLOCK_PAIRS", 40)
    monkeypatch.setattr(blocks, "MOST_AGAIN", 9.0)


def written(place: Path) -> tuple[bytes, Any]:
    return place.read_bytes(), read_manifest(place).comparable()


@pytest.mark.usefixtures("small_blocks")
def test_workers_change_no_byte(
    collection: Collection, run_path: Path, tk: Checkpoint, tmp_path: Path
) -> None:
    done = rerank_run(tk, collection, run_path, tmp_path / "1" / "out.run")
    # the scores, and the counts of distinct passages, are those of all pairs at once
    whole = rescore(
        tk.model, collection, collection.queries("test"), Run.from_file(run_path), name=tk.name
    )
    assert (done.counts.truncated, done.passages) == (whole.counts.truncated, whole.passages)
    assert done.counts.again > 0
    assert done.blocks > 3
    for ranking in whole.run.rankings():
        assert done.run[ranking.query_id].scores == pytest.approx(
            ranking.scores, abs=1e-4, rel=1e-5
        )
    with open_engine("local", 2) as map_shards:
        spread = Spread(Computing().loading(tk.path), map_shards)
        shared = rerank_run(tk, collection, run_path, tmp_path / "2" / "out.run", spread=spread)
    assert (shared.counts, shared.passages) == (done.counts, done.passages)
    assert written(tmp_path / "2" / "out.run") == written(tmp_path / "1" / "out.run")


@pytest.mark.usefixtures("small_blocks")
def test_stopped_half_way_it_goes_on_to_the_same_bytes(
    collection: Collection, run_path: Path, tk: Checkpoint, tmp_path: Path
) -> None:
    def by_length(stop: str = "") -> Checkpoint:
        return replace(tk, model=ByLength(stop))  # type: ignore[arg-type]

    texts = {query.query_id: query.text for query in collection.queries("test")}
    asked = [texts[query_id] for query_id in Run.from_file(run_path)]
    whole = rerank_run(by_length(), collection, run_path, tmp_path / "whole" / "out.run")
    out = tmp_path / "cut" / "out.run"
    with pytest.raises(KeyboardInterrupt) as stop:
        rerank_run(by_length(asked[12]), collection, run_path, out)
    assert stop.value.__notes__ == ["run the same command again to go on"]
    assert not out.exists()
    again = by_length()
    done = rerank_run(again, collection, run_path, out)
    # two blocks of five queries were kept
    assert again.model.asked == len(asked) - 10  # type: ignore[union-attr]
    assert (whole.seconds is None, done.seconds) == (False, None)
    assert written(out) == written(tmp_path / "whole" / "out.run")
    assert sorted(path.name for path in out.parent.iterdir()) == [
        "out.run",
        manifest_path(out).name,
    ]


OWN = """
import multiprocessing, os, pathlib
FATAL = pathlib.Path("fatal")
def score(query, passages):
    if FATAL.exists() and FATAL.read_text() == query and multiprocessing.parent_process():
        os.kill(os.getpid(), 9)
    return [len(passage) + len(query) / 100 for passage in passages]
"""


@pytest.mark.usefixtures("small_blocks")
def test_a_worker_that_is_killed_and_the_same_command_again(
    collection: Collection, run_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "owncode.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    loading = Computing().loading("owncode:score")
    wanted = rerank_run(loading(), collection, run_path, tmp_path / "alone" / "out.run")
    assert wanted.counts.truncated == 0
    last = collection.queries("test")[-1]
    assert list(Run.from_file(run_path))[-1] == last.query_id
    out = tmp_path / "killed" / "out.run"
    (tmp_path / "fatal").write_text(last.text)
    with (
        open_engine("local", 2) as map_shards,
        pytest.raises(PositionBiasError, match="one was ended from outside"),
    ):
        rerank_run(loading(), collection, run_path, out, spread=Spread(loading, map_shards))
    kept = list((work_folder(out) / "content" / "scores").glob("*.npy"))
    assert kept
    assert not out.exists()
    (tmp_path / "fatal").unlink()
    with open_engine("local", 2) as map_shards:
        assert (
            rerank_run(
                loading(), collection, run_path, out, spread=Spread(loading, map_shards)
            ).seconds
            is None
        )
    assert written(out) == written(tmp_path / "alone" / "out.run")
