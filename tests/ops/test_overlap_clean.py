"""``clean_leakage`` with overlapping pairs: both sides, what the ledger says, and bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.records import Passage, Qrel, Query
from positionbias.engine.choose import Engine
from positionbias.overlap.clean import Cleaned
from positionbias.overlap.settings import CountedPairs, Removing
from positionbias.report.verification import verify

from ..overlap.small import (
    LETTERS,
    TEST,
    TEST_PASSAGES,
    TRAIN,
    TRAIN_PASSAGES,
    both,
    collection,
    searched,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both(tmp_path)
    searched(tmp_path)
    return tmp_path


def clean(
    folder: Path,
    name: str = "train",
    out: str = "clean",
    *,
    pairs: str = "overlap",
    source: str | None = None,
    split: str | None = None,
    workers: int = 1,
    **removing: Any,
) -> Cleaned:
    return positionbias.clean_leakage(
        folder / name,
        counted=CountedPairs(pairs=folder / pairs, source=source),
        removing=Removing(**removing),
        split=split,
        engine=Engine(workers=workers),
        out=folder / out,
    )


def cleaned(*given: Any, **more: Any) -> Collection:
    made = clean(*given, **more).collection
    assert isinstance(made, Collection)
    return made


def ledger(made: Cleaned, name: str) -> list[dict[str, Any]]:
    lines = (made.path / "left_out" / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def numbers(made: Cleaned) -> dict[str, float]:
    rows = made.rows.query("statistic == 'number' and value > 0")
    return dict(zip(rows["label"], rows["value"], strict=True))


def test_training_passages_go_and_another_search_finds_none(folder: Path) -> None:
    made = clean(folder, remove="passages")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["b", "d"]
    assert list(made.collection.qrels("train")) == [Qrel("q2", "b", 1), Qrel("q2", "d", 0)]
    exact = {"found_by": ["exact", "ngram"], "of_test": 1.0, "of_train": 1.0}
    near = {"found_by": ["ngram"], "of_test": 1.0, "of_train": 0.75}  # 6 runs in x, 8 in c
    assert ledger(made, "passages.jsonl") == [
        {"passage_id": "a", "reasons": [{"test_passage_id": "x", **exact}]},
        {"passage_id": "c", "reasons": [{"test_passage_id": "x", **near}]},
    ]
    assert str(made).startswith("clean: removed 2 of 4 passages (50.00%).")
    assert numbers(made) == {
        "passages kept": 2,
        "judgements removed": 3,
        "queries without a judgement now": 2,
        "pairs read": 2,
        "pairs that count": 2,
        "items of the other side": 1,
    }
    again = positionbias.overlap_leakage(
        [f"{made.path}:train"], tests=[f"{folder / 'bench'}:test"], out=folder / "again"
    )
    assert again.rows is not None
    assert not again.rows.query("subset == 'passages' and statistic == 'found'")["value"].any()
    assert verify(made.path / "manifest.json").fault == ""
    parallel = clean(folder, out="parallel", remove="passages", workers=2)
    for name in ("passages/00000.arrow", "left_out/passages.jsonl", "qrels/train.parquet"):
        assert (parallel.path / name).read_bytes() == (made.path / name).read_bytes()
    with pytest.raises(OutputExistsError):
        clean(folder, remove="passages")


def test_training_queries(folder: Path) -> None:
    made = cleaned(folder, out="by-text")
    assert [query.query_id for query in made.queries("train")] == ["q3"]


def test_the_test_side(folder: Path) -> None:
    made = clean(folder, "bench", "queries", side="test")
    assert isinstance(made.collection, Collection)
    assert [query.query_id for query in made.collection.queries("test")] == ["t2"]
    (first, _) = ledger(made, "test.jsonl")
    scores = {"found_by": ["exact"], "of_test": 1.0, "of_train": 1.0}
    assert first["reasons"] == [{"source": "train", "train_query_id": "q1", **scores}]


def test_training_groups(folder: Path) -> None:
    train, place = Collection(folder / "train"), folder / "set"
    place.mkdir()
    groups = [
        TrainingGroup("q1", ("a", "d"), (1, 0)),
        TrainingGroup("q3", ("a", "b"), (1, 0)),
        TrainingGroup("q2", ("b", "d"), (1, 0)),
    ]
    made_of = input_ref("collection", train.path, train.checksum, artefact=place)
    manifest = Manifest("trainset", "set", "a test", inputs=(made_of,))
    write_groups(place, list, [groups[:2], groups[2:]], manifest, splits=["train"])
    made = clean(folder, "set", "without", remove="passages")
    assert isinstance(made.collection, Groups)
    assert [group.query_id for group in made.collection] == ["q2"]
    assert str(made).startswith("without: removed 2 of 3 training groups (66.67%).")


def test_a_labelled_sheet_decides(folder: Path) -> None:
    (folder / "filled.tsv").write_text(
        "train_id\ttest_id\tfound_by\tlabel\na\tx\texact ngram\tidentical\nc\tx\tngram\tno\n"
    )
    made = clean(folder, pairs="filled.tsv", remove="passages")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["b", "c", "d"]
    assert numbers(made)["pairs of different topics"] == 1


def test_other_splits_lose_the_judgements_of_a_passage(tmp_path: Path) -> None:
    queries, qrels = TRAIN["train"]
    splits = {"train": (queries, qrels), "dev": (queries[:1], [Qrel("q1", "c", 1)])}
    collection(tmp_path / "train", TRAIN_PASSAGES, splits)
    collection(tmp_path / "bench", TEST_PASSAGES, TEST)
    searched(tmp_path)
    assert numbers(clean(tmp_path, remove="passages"))["judgements removed"] == 4


def test_a_passage_that_both_sides_share_stays(tmp_path: Path) -> None:
    # training and test are splits of one collection; both judge "same", and "copy" is a copy of it
    passages = [
        Passage("same", LETTERS),
        Passage("copy", LETTERS.upper()),
        Passage("other", "nothing of the kind"),
    ]
    splits = {
        "train": (
            [Query("q1", "first"), Query("q2", "second")],
            [Qrel("q1", "same", 1), Qrel("q2", "copy", 1)],
        ),
        "test": ([Query("t1", "third")], [Qrel("t1", "same", 1)]),
    }
    collection(tmp_path / "one", passages, splits)
    named = [f"train={tmp_path / 'one'}:train"], [f"test={tmp_path / 'one'}:test"]
    positionbias.overlap_leakage(named[0], tests=named[1], out=tmp_path / "overlap")
    assert cleaned(tmp_path, "one", remove="passages").passage_ids() == ["same", "other"]


def test_the_split_is_that_of_the_search(tmp_path: Path) -> None:
    splits = {
        "dl19": TRAIN["train"],
        "dl20": (TRAIN["train"][0][:2], [Qrel("q1", "c", 1), Qrel("q2", "b", 1)]),
    }
    collection(tmp_path / "train", TRAIN_PASSAGES, splits)
    collection(tmp_path / "bench", TEST_PASSAGES, TEST)
    named = [f"{split}={tmp_path / 'train'}:{split}" for split in splits]
    positionbias.overlap_leakage(
        named, tests=[f"bench={tmp_path / 'bench'}"], out=tmp_path / "overlap"
    )
    wanted = "wanted the collection, and one split of it, among its training sets; found dl19"
    for split in (None, "train"):
        with pytest.raises(InputError, match=wanted):
            clean(tmp_path, split=split)
    made = cleaned(tmp_path, out="one", split="dl19")
    assert [made.split_facts[split].queries for split in splits] == [1, 2]


def test_what_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="wanted the collection, and one split of it, among its"):
        clean(folder, side="test")
    with pytest.raises(InputError, match="name the one that has its ids with --source"):
        clean(folder, source="other")
    with pytest.raises(InputError, match="wanted a cosine or a label; found neither"):
        positionbias.clean_leakage(
            folder / "train",
            counted=CountedPairs(pairs=folder / "overlap", threshold=0.9),
            out=folder / "clean",
        )
    with pytest.raises(SettingError, match="--remove: wanted with --pairs; found --against"):
        positionbias.clean_leakage(
            folder / "train",
            against=folder / "bench",
            removing=Removing(remove="passages"),
            out=folder / "clean",
        )
    lines = [json.dumps({"train_id": query, "test_id": "t1"}) for query in ("q1", "q2", "q3")]
    (folder / "all.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match="found reasons to remove all 3"):
        clean(folder, pairs="all.jsonl")
    assert not (folder / "clean").exists()


def test_damaged_pairs_are_refused(folder: Path) -> None:
    pairs = folder / "overlap" / "pairs" / "bench.passages.jsonl"
    pairs.write_text(pairs.read_text("utf-8").replace('"c"', '"b"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"bench\.passages\.jsonl"):
        clean(folder, remove="passages")


def test_a_file_of_pairs_of_several_sources_is_refused(folder: Path) -> None:
    lines = [
        {"source": "train", "train_id": "a", "test_id": "x"},
        {"source": "other", "train_id": "b", "test_id": "x"},
    ]
    (folder / "given.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    wanted = r"given\.jsonl: wanted pairs of one source; found other, train; name it with"
    with pytest.raises(InputError, match=wanted):
        clean(folder, pairs="given.jsonl", remove="passages")
    made = cleaned(folder, pairs="given.jsonl", remove="passages", source="train")
    assert made.passage_ids() == ["b", "c", "d"]
