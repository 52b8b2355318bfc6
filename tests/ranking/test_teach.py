"""A model teaches: what it scores, the same from any batch and after any interruption; and what is
no teacher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.groups import TrainingGroup, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.publish import work_folder
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.engine.choose import open_engine
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.models.protocols import Ranker
from positionbias.ranking import blocks
from positionbias.ranking.blocks import BlockScorer
from positionbias.ranking.config import Computing, RankingConfig, Spread, TaughtPassages
from positionbias.ranking.rerank import rescore
from positionbias.ranking.teach import teach
from positionbias.ranking.teacher_scores import TeacherScores

from ..models.t5 import saved_t5
from ..tiny import candidates, planted, saved_tk

# q1 has candidates a … d and the relevant b, e, f (not there); q2 none of its relevant among them;
# q3 has no candidates
JUDGED = [
    *(Qrel("q1", "b", 1), Qrel("q1", "e", 2), Qrel("q1", "f", 1), Qrel("q1", "c", 0)),
    *(Qrel("q2", "a", 2), Qrel("q3", "a", 1)),
]
LENGTHS = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}
RUN = (
    "q1 Q0 d 1 4 bm25\nq1 Q0 c 2 3 bm25\nq1 Q0 b 3 2 bm25\nq1 Q0 a 4 1 bm25\nq2 Q0 b 1 2 bm25\nq2 "
    "Q0 c 2 1 bm25\n"
)


class ByLength:
    """A passage's words times the query's; Ctrl-C comes when a query is asked for that ``stop``
    names.
    """

    kind = "by-length"
    device = torch.device("cpu")

    def __init__(self, stop: str = "", given: float | None = None) -> None:
        self.stop, self.given, self.asked = stop, given, 0

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        if query == self.stop:
            raise KeyboardInterrupt
        self.asked += 1
        return [
            len(query.split()) * len(text.split()) if self.given is None else self.given
            for text in passages
        ]

    def to(self, device: Any) -> ByLength:
        return self


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    place = tmp_path_factory.mktemp("small") / "small"
    with create_collection(place) as writer:
        writer.add_passages(
            Passage(name, " ".join(["word"] * count)) for name, count in LENGTHS.items()
        )
        queries = [Query("q1", "one"), Query("q2", "two words"), Query("q3", "now three words")]
        writer.add_split("train", queries, JUDGED)
        writer.add_split("test", [Query("t1", "of the test")], [])
        writer.finish(Manifest("collection", "small", "a test"), allow_absent=True)
    return Collection(place)


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    path = tmp_path / "train.run"
    path.write_text(RUN)
    return path


@pytest.fixture(scope="module")
def tk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path, Checkpoint]:
    """A planted collection, candidates of its training queries, and a TK."""
    folder = tmp_path_factory.mktemp("teaching")
    collection = planted(folder / "planted")
    return (
        collection,
        candidates(collection, folder)["train"],
        load_checkpoint(saved_tk(folder / "tk.ckpt", collection)),
    )


def by_length(tk: Checkpoint, **options: object) -> Checkpoint:
    """A checkpoint that scores by length."""
    return replace(tk, model=ByLength(**options))  # type: ignore[arg-type]


def content(taught: TeacherScores) -> dict[str, Any]:
    assert taught.manifest is not None
    return dict(taught.manifest.content)


def all_bytes(folder: Path) -> dict[str, bytes]:
    """All but the manifest, whose provenance has the time."""
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*.arrow"))}


def teach_run(
    model: Checkpoint, collection: Collection, split: str, candidates: Path, out: Path, **given: Any
) -> TeacherScores:
    """The model's scores of a run's passages; what is not of the passages by keyword goes to
    ``teach``.
    """
    of = {
        name: given.pop(name) for name in list(given) if name in TaughtPassages.__dataclass_fields__
    }
    return teach(
        model, collection, TaughtPassages(split=split, candidates=candidates, **of), out, **given
    )


def test_candidates_and_relevant_passages_by_hand(
    small: Collection, run_path: Path, tk: Any, tmp_path: Path
) -> None:
    taught = teach_run(by_length(tk[2]), small, "train", run_path, tmp_path / "scores")
    assert (taught.name, taught.split, taught.query_ids) == ("tk", "train", ["q1", "q2"])
    assert taught.ranked("q1", 9) == ["e", "d", "c", "b", "a"]
    assert taught.scores("q1", ["a", "b", "e"]) == (1.0, 2.0, 5.0)
    assert taught.ranked("q2", 9) == ["c", "b", "a"]
    assert taught.scores("q2", ["a", "c"]) == (2.0, 6.0)
    told = content(taught)
    # e and a are added; f is not in the collection, q3 has no candidates; (1 + 2 + 3 + 4 + 5 + 2 +
    # 4 + 6) / 8
    assert (told["pairs"], told["added"], told["mean"]) == (8, 2, 27 / 8)
    assert (told["relevant_not_in_the_collection"], told["relevant_without_candidates"]) == (1, 1)
    with pytest.raises(InputError, match="passage 'a' for query 'q3'"):
        taught.scores("q3", ["a"])


@pytest.mark.parametrize("kind", ["tk", "bert_cat"])
def test_scores_are_the_re_rankers_in_any_batches_and_blocks(
    rankers: dict[str, Ranker], tk: Any, tmp_path: Path, kind: str
) -> None:
    collection, run_path, checkpoint = tk
    model = replace(checkpoint, model=checkpoint.model if kind == "tk" else rankers[kind])
    run = Run.from_file(run_path)
    wanted = rescore(
        model.model, collection, collection.queries("train"), run, name="by itself"
    ).run
    for tokens, block_pairs in ((0, None), (100, 20)):
        out = tmp_path / f"{tokens}-{block_pairs}"
        config = RankingConfig(batch_tokens=tokens)
        taught = teach_run(
            model, collection, "train", run_path, out, config=config, block_pairs=block_pairs
        )
        for ranking in wanted.rankings():
            assert taught.scores(ranking.query_id, ranking.passage_ids) == pytest.approx(
                ranking.scores, abs=1e-4, rel=1e-5
            )


def test_workers_change_no_byte(tk: Any, tmp_path: Path) -> None:
    """A model whose last bits follow the number of threads."""
    collection, run_path, _ = tk
    checkpoint = load_checkpoint(saved_t5(tmp_path / "t5"), "mono_t5")
    asked = TaughtPassages(candidates=run_path, split="train", block_pairs=30)
    alone = teach(checkpoint, collection, asked, tmp_path / "alone")
    with open_engine("local", 2) as map_shards:
        spread = Spread(Computing().loading(checkpoint.path, "mono_t5"), map_shards)
        shared = teach(checkpoint, collection, asked, tmp_path / "shared", spread=spread)
    assert len(all_bytes(alone.path)) > 2
    assert all_bytes(shared.path) == all_bytes(alone.path)
    assert content(shared) == content(alone)


def test_blocks_by_passages_write_the_same_shards_and_go_on(
    tk: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores are kept until all are there; then whole queries are written, by any number of
    workers.
    """
    collection, run_path, checkpoint = tk
    asked = TaughtPassages(candidates=run_path, split="train")
    wanted = teach(checkpoint, collection, asked, tmp_path / "queries")
    monkeypatch.setattr(blocks, "BLOCK_PAIRS", 30)
    monkeypatch.setattr(blocks, "QUERY_SHARE", 0.0)
    assert all(
        part.places is not None
        for part in blocks.cut_pairs(Run.from_file(run_path), checkpoint.model)
    )
    alone = teach(checkpoint, collection, asked, tmp_path / "alone")
    for ranking in Run.from_file(run_path).rankings():
        expected = wanted.scores(ranking.query_id, ranking.passage_ids)
        assert alone.scores(ranking.query_id, ranking.passage_ids) == pytest.approx(
            expected, abs=1e-4, rel=1e-5
        )
    counts = ("queries", "pairs", "truncated", "empty_queries", "added")
    assert [alone.manifest.content[name] for name in counts] == [
        wanted.manifest.content[name] for name in counts
    ]
    with open_engine("local", 2) as map_shards:
        shared = teach(
            checkpoint,
            collection,
            asked,
            tmp_path / "shared",
            spread=Spread(Computing().loading(checkpoint.path), map_shards),
        )
    score, scored = BlockScorer.__call__, list[int]()

    def stopped(self: BlockScorer, block: Any) -> Any:
        if len(scored) == 2:
            raise KeyboardInterrupt
        scored.append(len(block))
        return score(self, block)

    with monkeypatch.context() as patch:
        patch.setattr(BlockScorer, "__call__", stopped)
        with pytest.raises(KeyboardInterrupt):
            teach(checkpoint, collection, asked, tmp_path / "cut")
    cut = teach(checkpoint, collection, asked, tmp_path / "cut")
    for other in (shared, cut):
        assert all_bytes(other.path) == all_bytes(alone.path)
        assert content(other) == content(alone)
    assert sorted(path.name for path in alone.path.iterdir()) == ["manifest.json", "scores"]


def test_faults(small: Collection, run_path: Path, tk: Any, tmp_path: Path) -> None:
    teacher, out = by_length(tk[2]), tmp_path / "scores"
    with pytest.raises(
        InputError, match="wanted queries of the split; found 2 unknown, the first 'q1'"
    ):
        teach_run(teacher, small, "test", run_path, out)
    run_path.write_text(f"{RUN}q1 Q0 nowhere 9 0 bm25\n")
    with pytest.raises(InputError, match="wanted passage 'nowhere' in the collection"):
        teach_run(teacher, small, "train", run_path, out)
    run_path.write_text(RUN)
    with pytest.raises(InputError, match="wanted finite scores for query 'q1'; found nan"):
        teach_run(by_length(tk[2], given=float("nan")), small, "train", run_path, out)
    assert not out.exists()
    assert not work_folder(out).exists()
    (tmp_path / "set").mkdir()
    write_groups(
        tmp_path / "set", list, [[]], Manifest("trainset", "set", "a test"), splits=("train",)
    )
    with pytest.raises(
        InputError, match="wanted training groups; found none; give another --trainset"
    ):
        teach(teacher, small, TaughtPassages(trainset=tmp_path / "set"), tmp_path / "none")


def test_a_training_set_alone(small: Collection, tk: Any, tmp_path: Path) -> None:
    groups = [
        TrainingGroup("q2", ("a", "c", "d"), (1, 0, 0)),
        TrainingGroup("t1", ("b", "a"), (1, 0)),
        TrainingGroup("q2", ("a", "b"), (1, 0)),
    ]
    (tmp_path / "set").mkdir()
    write_groups(
        tmp_path / "set",
        list,
        [groups],
        Manifest("trainset", "set", "a test"),
        splits=("train", "test"),
    )
    taught = teach(
        by_length(tk[2]), small, TaughtPassages(trainset=tmp_path / "set"), tmp_path / "scores"
    )
    assert (taught.splits, taught.split, taught.query_ids) == (
        ("train", "test"),
        None,
        ["q2", "t1"],
    )
    assert taught.ranked("q2", 9) == ["d", "c", "b", "a"]
    assert taught.scores("t1", ["a", "b"]) == (3.0, 6.0)
    assert (content(taught)["pairs"], content(taught)["groups"]) == (6, 3)
