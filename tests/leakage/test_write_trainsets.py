"""Leaked training sets on disk: what the manifest says, and splits that are not there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.leakage.settings import LeakedSettings, LeakingPairs
from positionbias.leakage.trainsets import (
    LeakedInputs,
    leaked_groups,
    set_rows,
    write_leaked_set,
)


def corpus(place: Path, splits: dict[str, tuple[str, int]]) -> Collection:
    """Splits of N queries each, ids by their letter, with two passages judged relevant and two that
    are not.
    """
    with create_collection(place) as writer:
        ids = {
            split: [f"{letter}{number}" for number in range(count)]
            for split, (letter, count) in splits.items()
        }
        passages = (
            Passage(f"{item}{kind}", f"text of {item}")
            for items in ids.values()
            for item in items
            for kind in "+*-_"
        )
        writer.add_passages(passages)
        for split, items in ids.items():
            qrels = [
                Qrel(item, f"{item}{kind}", int(kind in "+*")) for item in items for kind in "+*-_"
            ]
            qrels.append(Qrel(items[0], "nowhere", 1))
            writer.add_split(split, [Query(item, f"what is {item}") for item in items], qrels)
        writer.finish(
            Manifest("collection", place.name, "a test", licence="invented"), allow_absent=True
        )
    return Collection(place)


def candidates(collection: Collection, split: str, place: Path) -> Path:
    rankings = (
        (q.query_id, [f"{q.query_id}{kind}" for kind in "+-_"], [3.0, 2.0, 1.0])
        for q in collection.queries(split)
    )
    Run("bm25", rankings).save(place)
    return place


@pytest.fixture
def inputs(tmp_path: Path) -> LeakedInputs:
    collection = corpus(tmp_path / "c", {"train": ("a", 20), "clicks": ("b", 20), "test": ("t", 3)})
    (tmp_path / "pairs.tsv").write_text(
        "train_id\ttest_id\tlabel\na0\tt0\tidentical\nb1\tt1\tyes\nb2\tt2\tno\nzz\tt2\tyes\n"
    )
    runs = {
        split: candidates(collection, split, tmp_path / f"{split}.run")
        for split in ("train", "clicks")
    }
    leaking = LeakingPairs(pairs=[tmp_path / "pairs.tsv"])
    return LeakedInputs(collection=collection, targets=("test",), candidates=runs, leaking=leaking)


def test_a_set_says_what_it_was_made_from(inputs: LeakedInputs, tmp_path: Path) -> None:
    settings = LeakedSettings("msm", 16, 7, leaked_queries=2)
    stored = write_leaked_set(tmp_path / "sets" / "one", inputs, settings)
    assert list(stored) == list(leaked_groups(inputs.material(), settings)[0])
    assert (stored.splits, stored.name) == (("train", "clicks", "test"), "one")
    manifest = stored.manifest
    assert (manifest.command, manifest.seed, manifest.licence) == ("trainset leaked", 7, "invented")
    assert {item.role: item.checksum for item in manifest.inputs} == {
        "collection": inputs.collection.checksum,
        "candidates of train": sha256_file(tmp_path / "train.run"),
        "candidates of clicks": sha256_file(tmp_path / "clicks.run"),
        "pairs": sha256_file(tmp_path / "pairs.tsv"),
    }
    assert all((stored.path / item.path).exists() for item in manifest.inputs)
    assert manifest.content["leaked"] == 2
    # b2 was labelled as of a different topic: no leak, and no filling
    assert manifest.content["leaks"] == {"a0": ["t0"], "b1": ["t1"]}
    filling = Counter(group.query_id[0] for group in list(stored)[2:])
    assert filling == {"a": 3, "b": 3}
    assert "b2" not in inputs.material().sources["clicks"].clean
    rows = set_rows(stored, settings, "c").set_index("statistic")["value"]
    counted = {"instances": 16, "leaked": 2, "leaked share": 0.25, "filling": 6}
    assert rows.to_dict() == counted
    with pytest.raises(OutputExistsError):
        write_leaked_set(tmp_path / "sets" / "one", inputs, settings)


def test_a_test_query_that_is_a_source_query_too_leaks(tmp_path: Path) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages(Passage(f"p{number}", "text") for number in range(4))
        same = [Query("q0", "iron gate")]
        qrels = [Qrel(f"q{number}", f"p{number}", 1) for number in range(3)]
        writer.add_split("train", [*same, Query("q1", "lamp"), Query("q2", "!?")], qrels)
        writer.add_split("test", same, qrels[:1])
        writer.finish(Manifest("collection", "c", "a test"))
    Run("bm25", ((f"q{number}", ["p3"], [1.0]) for number in range(3))).save(tmp_path / "train.run")
    (tmp_path / "none.jsonl").write_text("")
    inputs = LeakedInputs(
        collection=Collection(tmp_path / "c"),
        targets=["test"],
        candidates={"train": tmp_path / "train.run"},
        leaking=LeakingPairs(pairs=[tmp_path / "none.jsonl"]),
    )
    source = inputs.material().sources["train"]
    assert (source.leaking, source.clean) == (["q0"], ["q1"])  # q2 has no text


@pytest.mark.parametrize(
    ("targets", "sources", "message"),
    [
        (("robust",), ("train",), "'robust'"),
        (("test",), ("orcas",), "'orcas'"),
        (
            ("test", "train"),
            ("train",),
            "--target, --source: wanted different splits; found 'train' as both",
        ),
    ],
    ids=["target", "source", "both"],
)
def test_splits_that_are_not_there(
    inputs: LeakedInputs, targets: tuple[str, ...], sources: tuple[str, ...], message: str
) -> None:
    runs = {split: next(iter(inputs.candidates.values())) for split in sources}
    with pytest.raises((InputError, SettingError), match=message):
        replace(inputs, targets=targets, candidates=runs).material()
