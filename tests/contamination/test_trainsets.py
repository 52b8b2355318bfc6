"""Contaminated training sets on disk: what stands in them, the clean one that they begin with, and
what is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from positionbias.contamination import trainsets
from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import KEYS, add_origins, write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.corpora.merge import merge

TRAIN = [Query(f"a{number}", f"what is a{number}") for number in range(6)]
TEST = [Query(f"t{number}", f"where is t{number}") for number in range(4)]
TRAIN_QRELS = [Qrel(query.query_id, f"{query.query_id}+", 1) for query in TRAIN]
TRAIN_QRELS += [Qrel("a0", "a0*", 1), Qrel("a1", "gone", 1), Qrel("a1", "a1-", 0)]
# t0: two positives, a negative, one of each missing; t1: one and two; t2: none at grade 2; t3: one,
# missing
TEST_QRELS = [
    Qrel("t0", "t0+", 3), Qrel("t0", "t0*", 2), Qrel("t0", "t0-", 1), Qrel("t0", "gone", 2),
    Qrel("t0", "lost", 0),
    Qrel("t1", "t1+", 2), Qrel("t1", "t1*", 0), Qrel("t1", "t1-", 0),
    Qrel("t2", "t2+", 1), Qrel("t3", "gone", 2),
]  # fmt: skip
Splits = Mapping[str, tuple[list[Query], list[Qrel]]]
SPLITS: Splits = {"train": (TRAIN, TRAIN_QRELS), "test": (TEST, TEST_QRELS)}


def corpus(place: Path, splits: Splits = SPLITS) -> Collection:
    """Four passages for each query: ``a0+``, ``a0*``, ``a0-``, ``a0_``."""
    with create_collection(place) as writer:
        ids = dict.fromkeys(query.query_id for queries, _ in splits.values() for query in queries)
        writer.add_passages(
            Passage(f"{item}{kind}", f"text of {item}") for item in ids for kind in "+*-_"
        )
        for split, (queries, qrels) in splits.items():
            writer.add_split(split, queries, qrels)
        writer.finish(
            Manifest("collection", place.name, "a test", licence="invented"), allow_absent=True
        )
    return Collection(place)


def candidates(place: Path, kinds: str = "+*-_") -> Path:
    """All passages of each training query but the last one's, ``+`` first."""
    Run(
        "bm25",
        (
            (
                q.query_id,
                [f"{q.query_id}{kind}" for kind in kinds],
                list(range(9, 9 - len(kinds), -1)),
            )
            for q in TRAIN[:-1]
        ),
    ).save(place)
    return place


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    return corpus(tmp_path / "c")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return candidates(tmp_path / "train.run")


def shards(groups: Groups) -> list[bytes]:
    return [path.read_bytes() for path in sorted((groups.path / "groups").glob("*.arrow"))]


def test_a_set_by_hand(collection: Collection, run: Path, tmp_path: Path) -> None:
    stored = write_contaminated_set(
        tmp_path / "sets" / "one", collection, run, ContaminatedSettings(targets=("test",), seed=3)
    )
    groups = list(stored)
    # five of six training queries have candidates; a0 has two positives, one of a1's is missing
    assert [(group.query_id, group.passage_ids[0]) for group in groups[:6]] == [
        ("a0", "a0+"), ("a0", "a0*"), ("a1", "a1+"), ("a2", "a2+"), ("a3", "a3+"), ("a4", "a4+"),
    ]  # fmt: skip
    for group in groups[:6]:
        assert group.passage_ids[1] in {f"{group.query_id}{kind}" for kind in "*-_"} - {"a0*"}
    added = {(group.query_id, group.passage_ids[0]): group.passage_ids[1] for group in groups[6:]}
    assert set(added) == {("t0", "t0+"), ("t0", "t0*"), ("t1", "t1+")}
    assert added["t1", "t1+"] in {"t1*", "t1-"}
    first, second = [group.passage_ids[1] for group in groups[6:] if group.query_id == "t0"]
    assert first == "t0-"  # its only negative; a random one follows
    assert second not in {"t0+", "t0*", "t0-"}
    assert {group.labels for group in groups} == {(1, 0)}
    assert stored.splits == ("train", "test")


def test_the_manifest_counts_by_origin(collection: Collection, run: Path, tmp_path: Path) -> None:
    stored = write_contaminated_set(
        tmp_path / "sets" / "one", collection, run, ContaminatedSettings(targets=("test",), seed=3)
    )
    manifest, content = stored.manifest, stored.manifest.content
    assert content["origins"] == {
        "train": {
            "queries": 5,
            "groups": 6,
            "positives without candidates": 1,  # a5's
            "positives missing from the corpus": 1,
        },
        "test": {
            "queries": 2,
            "groups": 3,
            "judged negatives": 2,
            "random negatives": 1,
            "positives missing from the corpus": 2,
        },
    }
    assert (manifest.command, manifest.seed, manifest.licence, manifest.name) == (
        "trainset contaminated",
        3,
        "invented",
        "one",
    )
    assert {item.role: item.checksum for item in manifest.inputs} == {
        "collection": collection.checksum,
        "candidates": sha256_file(run),
    }
    assert all((stored.path / item.path).exists() for item in manifest.inputs)
    made = Collected({"study": "trainset contaminated", "set": "one"}, KEYS)
    add_origins(made, stored)
    rows = made.rows.set_index(["split", "statistic"])["value"]
    assert rows["test", "share of groups"] == 3 / 9
    assert rows["train", "groups"] == 6


def test_without_contamination_the_set_is_the_clean_one(
    collection: Collection, run: Path, tmp_path: Path
) -> None:
    clean = write_contaminated_set(tmp_path / "clean", collection, run, ContaminatedSettings())
    assert clean.splits == ("train",)
    assert list(clean.manifest.content["origins"]) == ["train"]
    whole = write_contaminated_set(
        tmp_path / "whole", collection, run, ContaminatedSettings(targets=("test",))
    )
    assert shards(whole)[0] == shards(clean)[0]


def test_blocks_change_no_group(
    collection: Collection, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_contaminated_set(
        tmp_path / "whole", collection, run, ContaminatedSettings(targets=("test",), group_size=3)
    )
    monkeypatch.setattr(trainsets, "BLOCK", 2)
    cut = write_contaminated_set(
        tmp_path / "cut", collection, run, ContaminatedSettings(targets=("test",), group_size=3)
    )
    assert list(cut) == list(whole)
    assert (whole.manifest.content["shards"], cut.manifest.content["shards"]) == (2, 4)
    assert cut.manifest.content["origins"] == whole.manifest.content["origins"]


def test_an_interrupted_set_goes_on_and_ends_the_same(
    collection: Collection, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ContaminatedSettings(targets=("test",))
    monkeypatch.setattr(trainsets, "BLOCK", 2)
    whole = write_contaminated_set(tmp_path / "whole", collection, run, given)

    def stop(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(trainsets, "judged_groups", stop)
        with pytest.raises(KeyboardInterrupt):
            write_contaminated_set(tmp_path / "cut", collection, run, given)
    assert not (tmp_path / "cut").exists()
    first = tmp_path / ".cut.work" / "content" / "groups" / "00000.arrow"
    made = first.stat().st_mtime_ns
    cut = write_contaminated_set(tmp_path / "cut", collection, run, given)
    assert (cut.path / "groups" / "00000.arrow").stat().st_mtime_ns == made
    assert shards(cut) == shards(whole)
    assert cut.manifest.content == whole.manifest.content


def test_a_group_is_smaller_where_candidates_are_few(
    collection: Collection, tmp_path: Path
) -> None:
    run = candidates(tmp_path / "few.run")
    stored = write_contaminated_set(
        tmp_path / "set", collection, run, ContaminatedSettings(group_size=4, train_depth=3)
    )
    sizes = {group.query_id: len(group.passage_ids) for group in stored}
    assert sizes == {"a0": 2, "a1": 3, "a2": 3, "a3": 3, "a4": 3}  # of + * - what is not relevant
    shallow = write_contaminated_set(
        tmp_path / "shallow", collection, run, ContaminatedSettings(train_depth=2)
    )
    # a0's two, a5's
    assert shallow.manifest.content["origins"]["train"]["positives without candidates"] == 3
    assert [group.query_id for group in shallow] == ["a1", "a2", "a3", "a4"]


def test_a_target_of_another_corpus_is_merged(tmp_path: Path) -> None:
    here = corpus(tmp_path / "here", {"train": (TRAIN, TRAIN_QRELS)})
    there = corpus(tmp_path / "there", {"test": (TEST, TEST_QRELS)})
    both = merge({"ms": here, "covid": there}, tmp_path / "both", apart=True)
    run = tmp_path / "ms.run"
    Run("bm25", ((f"ms:{q.query_id}", [f"ms:{q.query_id}-"], [1.0]) for q in TRAIN)).save(run)
    given = ContaminatedSettings(split="ms.train", targets=("covid.test",))
    stored = write_contaminated_set(tmp_path / "set", both, run, given)
    assert stored.splits == ("ms.train", "covid.test")
    assert {group.query_id for group in stored if group.query_id.startswith("covid:")} == {
        "covid:t0",
        "covid:t1",
    }


TWO_TEXTS: Splits = {
    "train": (TRAIN, TRAIN_QRELS),
    "test": ([Query("a0", "another question")], [Qrel("a0", "a1+", 2)]),
}
ALL_MISSING: Splits = {
    "train": (TRAIN, TRAIN_QRELS),
    "test": (TEST, [Qrel("t0", "gone", 2), Qrel("t1", "lost", 3)]),
}


@pytest.mark.parametrize(
    ("given", "splits", "message"),
    [
        (
            {"targets": ("robust",)},
            SPLITS,
            r"c: wanted split 'robust'; found train, test",
        ),
        (
            {"split": "trian"},
            SPLITS,
            r"c: wanted split 'trian'; found train, test; did you mean train\?",
        ),
        (
            {"targets": ("test",), "target_relevant_from": 4},
            SPLITS,
            (
                r"wanted a passage judged 4 or higher in target 'test'; found none "
                r"among 10 judgements; 0 positives missing from the corpus; give a lower"
            ),
        ),
        (
            {"targets": ("test",)},
            ALL_MISSING,
            r"found none among 2 judgements; 2 positives missing .*merge the target",
        ),
        (
            {"targets": ("test",)},
            TWO_TEXTS,
            (
                r"wanted one text a query id in splits train, test; found two of query 'a0': 'what "
                r"is a0', and in test"
            ),
        ),
        (
            {"targets": ("test",), "group_size": 99},
            SPLITS,
            r"wanted 97 random unjudged passages; found 37 in a corpus of 40",
        ),
        (
            {"relevant_from": 2},
            SPLITS,
            (
                r"train.run: wanted candidates for queries of split 'train' with relevant "
                r"passages; found none; check"
            ),
        ),
    ],
    ids=[
        "target",
        "near split",
        "grade",
        "missing",
        "two-texts",
        "corpus",
        "no-groups",
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, given: dict, splits: Splits, message: str
) -> None:
    collection, run = corpus(tmp_path / "c", splits), candidates(tmp_path / "train.run")
    before = sorted(tmp_path.iterdir())
    with pytest.raises((InputError, SettingError), match=message):
        write_contaminated_set(tmp_path / "set", collection, run, ContaminatedSettings(**given))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "b7 Q0 a0+ 1 1.0 x",
            (
                r"train.run: wanted queries of split 'train' and passages of c; found query 'b7'; "
                r"check --split, and that --candidates"
            ),
        ),
        (
            "a0 Q0 b7 1 1.0 x",
            (
                r"train.run: wanted queries of split 'train' and passages of c; found passage "
                r"'b7'; check --split, and that --candidates"
            ),
        ),
        ("a0 Q0 a0+ 1 1.0", r"train.run:1: wanted six columns"),
    ],
    ids=["query", "passage", "columns"],
)
def test_candidates_of_another_collection_are_one_line(
    collection: Collection, tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "train.run").write_text(f"{line}\n")
    with pytest.raises(InputError, match=message):
        write_contaminated_set(
            tmp_path / "set",
            collection,
            tmp_path / "train.run",
            ContaminatedSettings(targets=("test",)),
        )
    with pytest.raises(InputError, match=r"none.run: wanted a readable file"):
        write_contaminated_set(
            tmp_path / "set",
            collection,
            tmp_path / "none.run",
            ContaminatedSettings(targets=("test",)),
        )
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group_size": 1}, "--group-size: 1 is not in the range x>=2"),
        (
            {"targets": ("test", "test")},
            "--contaminate: wanted at least one, each once; found test, test",
        ),
        (
            {"targets": ("train",)},
            "--contaminate, --split: wanted different splits; found 'train' as both",
        ),
    ],
)
def test_settings_are_checked(given: dict, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ContaminatedSettings(**given)
