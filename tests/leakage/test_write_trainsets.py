"""Leaked training sets on disk: what the manifest says, a folder of sets, an interruption, and
collections that are merged first.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.rows import load
from positionbias.core.run import Run, write_run
from positionbias.corpora.merge import merge
from positionbias.leakage import write_trainsets
from positionbias.leakage.settings import LeakedSettings
from positionbias.leakage.trainsets import leaked_groups
from positionbias.leakage.write_trainsets import LeakedInputs, write_leaked_set, write_leaked_sets


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
    write_run(place, Run("bm25", rankings))
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
    return LeakedInputs(
        collection=collection, targets=("test",), candidates=runs, pairs=[tmp_path / "pairs.tsv"]
    )


def test_a_set_says_what_it_was_made_from(inputs: LeakedInputs, tmp_path: Path) -> None:
    settings = LeakedSettings("msm", 16, 7, leaked_queries=2)
    stored = write_leaked_set(tmp_path / "sets" / "one", inputs, settings)
    assert list(stored) == list(leaked_groups(inputs.material(), settings).groups)
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


def test_a_folder_of_sets(inputs: LeakedInputs, tmp_path: Path) -> None:
    wanted = [
        LeakedSettings(kind, size, leaked_queries=2)
        for kind in ("no", "msm", "test")
        for size in (16, 24)
    ]
    rows = write_leaked_sets(tmp_path / "sets", inputs, wanted)
    assert load(tmp_path / "sets").equals(rows)
    shares = rows[rows["statistic"] == "leaked share"].set_index("variant")["value"]
    assert shares.to_dict() == {
        "no-16-1": 0.0,
        "no-24-1": 0.0,
        "msm-16-1": 0.25,
        "msm-24-1": 2 / 12,
        "test-16-1": 0.25,
        "test-24-1": 2 / 12,
    }
    for settings in wanted:
        stored = Groups(tmp_path / "sets" / settings.name)
        alone = write_leaked_set(tmp_path / f"alone-{settings.name}", inputs, settings)
        assert stored.checksum == alone.checksum
        assert all((stored.path / item.path).exists() for item in stored.manifest.inputs)
    manifest = read_manifest(tmp_path / "sets", kind="results")
    assert all((tmp_path / "sets" / item.path).exists() for item in manifest.inputs)
    with pytest.raises(OutputExistsError):
        write_leaked_sets(tmp_path / "sets", inputs, wanted)


def test_an_interrupted_folder_goes_on_and_ends_the_same(
    inputs: LeakedInputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [LeakedSettings("no", size) for size in (8, 16, 24)]
    write_leaked_sets(tmp_path / "whole", inputs, wanted)
    written = []

    def stop_at_the_third(folder: Path, *given: object, **named: object) -> int:
        written.append(folder.name)
        if len(written) == 3:
            raise KeyboardInterrupt
        return real(folder, *given, **named)  # type: ignore[arg-type]

    real = write_trainsets.write_groups
    monkeypatch.setattr(write_trainsets, "write_groups", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        write_leaked_sets(tmp_path / "cut", inputs, wanted)
    assert not (tmp_path / "cut").exists()
    first = tmp_path / ".cut.work" / "content" / "no-8-1" / "groups" / "00000.arrow"
    made = first.stat().st_mtime_ns
    monkeypatch.setattr(write_trainsets, "write_groups", real)
    write_leaked_sets(tmp_path / "cut", inputs, wanted)
    for name in ("no-8-1", "no-16-1", "no-24-1"):
        assert (
            Groups(tmp_path / "cut" / name).checksum == Groups(tmp_path / "whole" / name).checksum
        )
    assert (tmp_path / "cut" / "no-8-1" / "groups" / "00000.arrow").stat().st_mtime_ns == made
    assert not (tmp_path / ".cut.work").exists()


def test_nothing_is_written_where_one_of_the_sets_cannot_be(
    inputs: LeakedInputs, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(
        InputError, match="wanted 50 queries that do not leak to fill a set of 100 instances"
    ):
        write_leaked_sets(
            tmp_path / "sets", inputs, [LeakedSettings("no", 8), LeakedSettings("no", 100)]
        )
    with pytest.raises(SettingError, match="wanted each once; found one twice"):
        write_leaked_sets(
            tmp_path / "sets", inputs, [LeakedSettings("no", 8), LeakedSettings("no", 8)]
        )
    assert sorted(tmp_path.iterdir()) == before


def test_two_corpora_are_merged_with_their_splits_apart(tmp_path: Path) -> None:
    there = corpus(tmp_path / "there", {"train": ("a", 20), "test": ("x", 4)})
    here = corpus(tmp_path / "here", {"train": ("b", 20), "test": ("t", 3)})
    both = merge({"msm": there, "rob": here}, tmp_path / "both", apart=True)
    assert both.splits == ["msm.train", "msm.test", "rob.train", "rob.test"]
    assert [query.query_id for query in both.queries("rob.test")] == ["rob:t0", "rob:t1", "rob:t2"]
    assert [len(both.qrels(split)) for split in both.splits] == [81, 17, 81, 13]
    (tmp_path / "pairs.tsv").write_text("train_id\ttest_id\na0\tt0\na1\tt1\n")
    run = candidates(both, "msm.train", tmp_path / "msm.run")
    inputs = LeakedInputs(
        collection=both,
        targets=("rob.test",),
        candidates={"msm.train": run},
        pairs=[tmp_path / "pairs.tsv"],
        prefixes=("msm:", "rob:"),
    )
    groups = list(
        write_leaked_set(tmp_path / "set", inputs, LeakedSettings("msm", 8, leaked_queries=2))
    )
    assert {group.query_id for group in groups[:2]} == {"msm:a0", "msm:a1"}
    assert not {"msm:a0", "msm:a1"} & {group.query_id for group in groups[2:]}
    tests = list(write_leaked_set(tmp_path / "tests", inputs, LeakedSettings("test", 12)))
    assert [group.query_id.partition(":")[0] for group in tests] == ["rob"] * 6
    with pytest.raises(
        InputError,
        match=(
            "found 2 pairs with others, such as 't0'; check --target; in a merged collection ids "
            "have a prefix"
        ),
    ):
        write_leaked_set(
            tmp_path / "not", replace(inputs, prefixes=("", "")), LeakedSettings("no", 8)
        )


def test_a_test_query_that_is_a_source_query_too_leaks(tmp_path: Path) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages(Passage(f"p{number}", "text") for number in range(4))
        same = [Query("q0", "iron gate")]
        qrels = [Qrel(f"q{number}", f"p{number}", 1) for number in range(3)]
        writer.add_split("train", [*same, Query("q1", "lamp"), Query("q2", "!?")], qrels)
        writer.add_split("test", same, qrels[:1])
        writer.finish(Manifest("collection", "c", "a test"))
    write_run(
        tmp_path / "train.run", Run("bm25", ((f"q{number}", ["p3"], [1.0]) for number in range(3)))
    )
    (tmp_path / "none.jsonl").write_text("")
    inputs = LeakedInputs(
        collection=Collection(tmp_path / "c"),
        targets=["test"],
        candidates={"train": tmp_path / "train.run"},
        pairs=[tmp_path / "none.jsonl"],
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
