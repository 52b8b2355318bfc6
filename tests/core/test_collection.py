"""A collection: what goes in comes out; faults are named; nothing half-written stays."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core import collection_index
from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_index import id_hashes
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError, StorageError
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import read_shard, rows_checksum, write_shard
from positionbias.engine.local import map_shards


def make(
    place: Path,
    passages: Sequence[Passage],
    splits: dict[str, tuple[list[Query], list[Qrel]]] | None = None,
    *,
    overwrite: bool = False,
) -> Collection:
    with create_collection(place, overwrite=overwrite) as writer:
        writer.add_passages(passages)
        for split, (queries, qrels) in (splits or {}).items():
            writer.add_split(split, queries, qrels)
        writer.finish(name=place.name, command="a test", settings={})
    return Collection(place)


def test_everything_that_goes_in_comes_out(small_collection: Collection) -> None:
    passages = list(small_collection.passages())
    assert len(small_collection) == len(passages) == 7
    assert small_collection.passage_ids()[:2] == ["p-lamp", "p-gate"]
    assert small_collection.splits == ["train", "test"]
    assert [query.query_id for query in small_collection.queries("test")] == ["q3", "q4", "q5"]
    assert small_collection.queries("test")[0] == Query("q3", "what joins the banks of the Mirren", {"type": "entity"})
    assert small_collection.qrels("train") == [Qrel("q1", "p-lamp", 1), Qrel("q1", "p-gate", 0), Qrel("q2", "p-gate", 1)]
    answers = small_collection.answers("test")
    assert answers[-1] == Answer("q5", "p-cafe", "three crowns", None, None)
    texts = dict(passages)
    for answer in answers[:-1]:
        assert texts[answer.passage_id][answer.start : answer.end] == answer.text
    assert small_collection.manifest.content["splits"]["test"]["answers"] == 4


def test_texts_come_in_the_order_asked_for_and_may_repeat(small_collection: Collection) -> None:
    assert small_collection.texts(["p-word", "p-empty", "p-word"]) == ["Mirren", "", "Mirren"]
    assert small_collection.texts([]) == []


def test_texts_are_found_across_batches_and_in_long_ones(tmp_path: Path) -> None:
    # 4,096 passages end a batch, and so do 4 MiB of text: here after passage 10
    texts = [f"é{number}" for number in range(9_000)]
    texts[10] = "long " * (1 << 20)
    made = make(tmp_path / "c", [Passage(f"p{number}", text) for number, text in enumerate(texts)])
    assert [len(batch) for batch in read_shard(made.shard_paths[0]).to_batches()] == [11, 4_096, 4_096, 797]
    numbers = [0, 10, 11, 4_106, 4_107, 8_202, 8_203, 8_999, 10]
    assert made.texts([f"p{number}" for number in numbers]) == [texts[number] for number in numbers]
    assert [passage.text for passage in made.passages()] == texts


def test_a_shard_of_long_passages_ends_early(tmp_path: Path) -> None:
    long = "x" * (6 << 20)  # three of them exceed 16 Mi characters
    made = make(tmp_path / "c", [Passage(f"p{number}", long) for number in range(4)])
    assert [sum(1 for _ in made.shard(index)) for index in range(2)] == [3, 1]


def test_half_a_surrogate_pair_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"passage 'p': wanted text in Unicode; found '\\ud800', half of a surrogate pair"):
        make(tmp_path / "c", [Passage("p", "a\ud800b")])
    with pytest.raises(InputError, match="split 'test': wanted text in Unicode"):
        make(tmp_path / "c", [], {"test": ([Query("q", "a\ud800b")], [])})


def test_an_id_that_is_not_unicode_is_unknown(small_collection: Collection) -> None:
    assert small_collection.find(["\ud800", "p-word"]).tolist() == [-1, 6]


@given(st.sets(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=40), st.sets(st.text(), max_size=10))
def test_any_ids_are_found_and_others_are_not(
    tmp_path_factory: pytest.TempPathFactory, ids: set[str], others: set[str]
) -> None:
    ordered = sorted(ids)
    made = make(tmp_path_factory.mktemp("ids") / "c", [Passage(item, f"of {item}") for item in ordered])
    assert made.find(ordered).tolist() == list(range(len(ordered)))
    assert made.texts(ordered[::-1]) == [f"of {item}" for item in ordered[::-1]]
    assert made.absent(sorted(others)) == sorted(others - ids)


def test_the_index_is_the_same_however_it_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages = [Passage(f"id{number}", "") for number in range(5_000)]

    def index(name: str, merged: int, map_shards: MapShards) -> list[bytes]:
        monkeypatch.setattr(collection_index, "MERGED_RECORDS", merged)
        with create_collection(tmp_path / name) as writer:
            writer.add_blocks(list, [passages[at : at + 700] for at in range(0, 5_000, 700)])
            writer.finish(name=name, command="a test", settings={}, map_shards=map_shards)
        folder = tmp_path / name / "cache" / "passages"
        assert sorted(path.name for path in folder.iterdir()) == ["buckets.npy", "records.npy"]
        return [(folder / name).read_bytes() for name in ("buckets.npy", "records.npy")]

    at_once = index("a", 1 << 20, map)
    assert index("b", 100, map) == at_once
    assert index("c", 1, partial(map_shards, workers=2)) == at_once
    monkeypatch.setattr(collection_index, "MERGED_RECORDS", 100)
    with pytest.raises(InputError, match="passage 3 and passage 4,002 share the id 'id2'"):
        make(tmp_path / "d", [*passages[:4_001], passages[2]])


def test_a_collection_that_was_read_can_go_to_another_process(small_collection: Collection) -> None:
    small_collection.texts(["p-word"])
    assert list(map_shards(partial(Collection.texts, small_collection), [["p-word"]], workers=2)) == [["Mirren"]]


def test_an_unknown_id_is_named_and_counted(small_collection: Collection) -> None:
    assert small_collection.find(["p-word", "nobody", ""]).tolist() == [6, -1, -1]
    with pytest.raises(InputError, match=r"wanted passage 'nobody'.*2 of 3 ids are unknown"):
        small_collection.rows(["p-word", "nobody", "nothing"])


def test_an_unknown_split_names_those_there_are(small_collection: Collection) -> None:
    with pytest.raises(InputError, match="wanted split 'dev'; found train, test; give one of these to --split"):
        small_collection.queries("dev")


def test_70_000_passages_stand_in_two_shards_and_are_found_by_id(tmp_path: Path) -> None:
    count = 70_000
    made = make(tmp_path / "big", [Passage(f"id{number}", f"text {number}") for number in range(count)])
    assert [path.name for path in made.shard_paths] == ["00000.arrow", "00001.arrow"]
    assert sum(1 for _ in made.shard(0)) == 65_536
    assert sum(1 for _ in made.shard(1)) == 4_464  # 70,000 − 65,536
    assert len(made) == count
    numbers = [*random.Random(1).sample(range(count), 500), 0, 65_535, 65_536, count - 1]
    assert made.rows([f"id{number}" for number in numbers]).tolist() == numbers
    assert made.texts([f"id{number}" for number in numbers]) == [f"text {number}" for number in numbers]
    assert made.find([f"id{count}", "id-1"]).tolist() == [-1, -1]


def test_ids_with_one_first_half_of_their_hash_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Real 64-bit collisions cannot be had, so every id starting with "c" is given the same first half: the highest there is,
    # so that the look at the next neighbour also meets the end of the index.
    def colliding(ids: Sequence[bytes]) -> np.ndarray:
        hashes = id_hashes(ids).copy()
        hashes[[item.startswith(b"c") for item in ids], 0] = np.iinfo(np.uint64).max
        return hashes

    monkeypatch.setattr(collection_index, "id_hashes", colliding)
    ids = ["a", "c1", "b", "c2", "c3", "d"]
    made = make(tmp_path / "c", [Passage(item, f"text of {item}") for item in ids])
    assert made.texts(["c3", "a", "c1", "c2", "d"]) == [f"text of {item}" for item in ("c3", "a", "c1", "c2", "d")]
    assert made.find(["c4", "c2", "e"]).tolist() == [-1, 3, -1]


@pytest.mark.parametrize("between", [0, 3, 70_000])
def test_an_id_twice_is_refused_within_and_across_shards(tmp_path: Path, between: int) -> None:
    passages = [Passage("twin", "a"), *(Passage(f"p{n}", "x") for n in range(between)), Passage("twin", "b")]
    with pytest.raises(InputError, match=rf"passage 1 and passage {between + 2:,} share the id 'twin'"):
        make(tmp_path / "twice", passages)
    assert list(tmp_path.iterdir()) == []


def test_an_id_twice_is_seen_behind_a_colliding_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def colliding(ids: Sequence[bytes]) -> np.ndarray:
        return id_hashes(ids) * np.array([0, 1], np.uint64)

    monkeypatch.setattr(collection_index, "id_hashes", colliding)
    with pytest.raises(InputError, match="passage 1 and passage 3 share the id 'x'"):
        make(tmp_path / "twice", [Passage("x", "a"), Passage("y", "b"), Passage("x", "c")])


def test_splits_are_checked(tmp_path: Path) -> None:
    passages = [Passage("p", "text")]
    twice = {"test": ([Query("q", "a"), Query("q", "b")], [])}
    with pytest.raises(InputError, match="split 'test': wanted every query id once; found 'q' twice"):
        make(tmp_path / "a", passages, twice)
    with pytest.raises(InputError, match="wanted qrels of its own queries; found one of query 'other'"):
        make(tmp_path / "b", passages, {"test": ([Query("q", "a")], [Qrel("other", "p", 1)])})
    with pytest.raises(InputError, match="found 1 that are not, the first 'absent'"):
        make(tmp_path / "c", passages, {"test": ([Query("q", "a")], [Qrel("q", "absent", 1)])})
    assert list(tmp_path.iterdir()) == []


def test_further_judgement_sets_are_kept_apart_and_counted(tmp_path: Path) -> None:
    def made(name: str, further: dict[str, list[Qrel]]) -> Collection:
        with create_collection(tmp_path / name) as writer:
            writer.add_passages([Passage("p", "text")])
            writer.add_split("test", [Query("q", "a")], [Qrel("q", "p", 1)])
            for set_name, qrels in further.items():
                writer.add_qrels("test", set_name, qrels)
            writer.finish(name="c", command="a test", settings={})
        return Collection(tmp_path / name)

    one = made("one", {"raw": [Qrel("q", "p", 3)], "clicks": []})
    assert one.qrels_names("test") == ["raw", "clicks"]
    assert (one.qrels("test"), one.qrels("test", "raw"), one.qrels("test", "clicks")) == (
        [Qrel("q", "p", 1)],
        [Qrel("q", "p", 3)],
        [],
    )
    assert one.manifest.content["splits"]["test"]["qrels_sets"] == {"raw": 1, "clicks": 0}
    assert (made("none", {}).qrels_names("test"), "absent" in one.manifest.content) == ([], False)
    names = ({}, {"raw": [Qrel("q", "p", 3)]}, {"raw": [Qrel("q", "p", 2)]}, {"other": [Qrel("q", "p", 3)]})
    assert len({made(f"c{number}", further).checksum for number, further in enumerate(names)}) == 4
    with pytest.raises(InputError, match=r"wanted judgements 'votes' of split 'test'; found raw, clicks; give one of these to"):
        one.qrels("test", "votes")


def test_names_of_splits_and_judgement_sets_are_checked(tmp_path: Path) -> None:
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p", "text")])
        writer.add_split("test", [Query("q", "a")], [])
        writer.add_qrels("test", "raw", [])
        for name in ("", "../x", ".x", "a b", "-x", "x\n"):
            with pytest.raises(InputError, match="wanted a name of letters, digits"):
                writer.add_split(name, [], [])
            with pytest.raises(InputError, match="wanted a name of letters, digits"):
                writer.add_qrels("test", name, [])
        with pytest.raises(InputError, match="split 'test': wanted the queries of a split once; found them twice"):
            writer.add_split("test", [], [])
        with pytest.raises(InputError, match=r"split 'test.raw': wanted the qrels of a split once"):
            writer.add_split("test.raw", [], [])
        with pytest.raises(InputError, match="wanted qrels of its own queries; found one of query 'z'"):
            writer.add_qrels("test", "more", [Qrel("z", "p", 1)])
        writer.finish(name="c", command="a test", settings={})


def test_judgements_of_absent_passages_are_kept_where_that_is_allowed(tmp_path: Path) -> None:
    qrels = [Qrel("q", "p", 1), Qrel("q", "gone", 1), Qrel("r", "gone", 0), Qrel("r", "lost", 2)]
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p", "text")])
        writer.add_split("train", [Query("t", "a")], [Qrel("t", "p", 1)])
        writer.add_split("test", [Query("q", "a"), Query("r", "b")], qrels)
        writer.add_qrels("test", "raw", [Qrel("q", "never", 1)])
        writer.finish(name="c", command="a test", settings={}, allow_absent=True)
    made = Collection(tmp_path / "c")
    assert made.qrels("test") == qrels
    # gone twice, lost once, never once: four judgements of three passages
    assert made.manifest.content["absent"] == {"test": {"judgements": 4, "passages": 3}}
    assert made.absent(["lost", "p", "gone"]) == ["lost", "gone"]

    def answered_in_a_lost_passage() -> None:
        with create_collection(tmp_path / "d") as writer:
            writer.add_passages([Passage("p", "text")])
            writer.add_split("test", [Query("q", "a")], [], [Answer("q", "gone", "x")])
            writer.finish(name="d", command="a test", settings={}, allow_absent=True)

    with pytest.raises(
        InputError, match="wanted every answering passage in the collection; found 1 that are not, the first 'gone'"
    ):
        answered_in_a_lost_passage()


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ValueError("no"), ValueError),
        (OSError(28, "No space left on device"), StorageError),
    ],
)
def test_an_interrupted_writing_leaves_nothing(tmp_path: Path, error: BaseException, seen: type[BaseException]) -> None:
    def passages() -> Iterator[Passage]:
        yield Passage("p", "text")
        raise error

    with pytest.raises(seen), create_collection(tmp_path / "half") as writer:
        writer.add_passages(passages())
    assert list(tmp_path.iterdir()) == []


def test_a_block_without_finish_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="without finish"), create_collection(tmp_path / "half") as writer:
        writer.add_passages([Passage("p", "text")])
    assert list(tmp_path.iterdir()) == []


def test_overwriting_replaces_whole_and_is_asked_for(tmp_path: Path) -> None:
    make(tmp_path / "c", [Passage("old", "text")], {"test": ([Query("q", "a")], [])})
    with pytest.raises(OutputExistsError, match="give another --out, or --overwrite"):
        make(tmp_path / "c", [Passage("new", "text")])
    assert Collection(tmp_path / "c").passage_ids() == ["old"]
    assert make(tmp_path / "c", [Passage("new", "text")], overwrite=True).passage_ids() == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert not (tmp_path / "c" / "queries").exists()


def test_a_failed_overwriting_leaves_the_old_one(tmp_path: Path) -> None:
    make(tmp_path / "c", [Passage("old", "text")])
    with pytest.raises(InputError, match="share the id"):
        make(tmp_path / "c", [Passage("x", "a"), Passage("x", "b")], overwrite=True)
    assert Collection(tmp_path / "c").passage_ids() == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_the_checksum_is_of_the_content_alone(tmp_path: Path) -> None:
    passages = [Passage(f"p{n}", f"text {n}") for n in range(10)]
    queries, qrels = [Query("q1", "a"), Query("q2", "b")], [Qrel("q1", "p1", 1), Qrel("q2", "p2", 1)]
    first = make(tmp_path / "a", passages, {"train": (queries, qrels)})
    shuffled = make(tmp_path / "b", passages[::-1], {"train": (queries[::-1], qrels[::-1])})
    assert first.checksum == shuffled.checksum
    resharded = tmp_path / "s"
    with create_collection(resharded) as writer:
        writer.add_blocks(list, [passages[:5], passages[5:]])
        writer.add_split("train", queries, qrels)
        writer.finish(name="other name", command="other command", settings={"other": 1}, seed=7, workers=4)
    assert Collection(resharded).checksum == first.checksum
    moved = make(tmp_path / "c", passages, {"train": (queries[:1], qrels[:1]), "test": (queries[1:], qrels[1:])})
    assert moved.checksum != first.checksum
    assert moved.manifest.content["passages_checksum"] == first.manifest.content["passages_checksum"]
    edited = make(tmp_path / "d", [*passages[:-1], Passage("p9", "text 9.")], {"train": (queries, qrels)})
    assert edited.checksum != first.checksum


def test_rows_checksum_keeps_the_borders_of_fields() -> None:
    assert rows_checksum([("ab", "c")]) != rows_checksum([("a", "bc")])
    assert rows_checksum([("a", "b"), ("c", "d")]) == rows_checksum([("c", "d"), ("a", "b")])
    assert rows_checksum([("a", "b"), ("a", "b")]) != rows_checksum([("a", "b")])
    assert rows_checksum([]) == 0


def test_the_checksum_is_the_published_sum_of_hashes(tmp_path: Path) -> None:
    def record(*items: bytes) -> int:
        framed = b"".join(len(item).to_bytes(8, "little") + item for item in items)
        return int.from_bytes(blake2b(framed, digest_size=16).digest(), "little")

    passages = [Passage("a", "é"), Passage("b", ""), Passage("c", "x\x00y")]
    wanted = (record(b"a", "é".encode()) + record(b"b", b"") + record(b"c", b"x\x00y")) % (1 << 128)
    assert rows_checksum(passages) == wanted
    assert write_shard(tmp_path / "shard", passages).checksum == wanted
    assert rows_checksum([("q", 3, None)]) == record(b"q", b"3", b"None")


def test_the_index_is_rebuilt_when_it_is_gone(small_collection: Collection) -> None:
    import shutil

    shutil.rmtree(small_collection.cache)
    assert Collection(small_collection.path).texts(["p-word"]) == ["Mirren"]
    records = small_collection.cache / "passages" / "records.npy"
    records.write_bytes(records.read_bytes()[:-8])
    assert Collection(small_collection.path).texts(["p-word"]) == ["Mirren"]


def test_an_empty_collection_and_an_empty_split_are_whole(tmp_path: Path) -> None:
    made = make(tmp_path / "empty", [], {"test": ([], [])})
    assert (len(made), list(made.passages()), made.queries("test"), made.qrels("test"), made.answers("test")) == (
        0,
        [],
        [],
        [],
        [],
    )
    assert made.find(["x"]).tolist() == [-1]


def test_a_missing_or_cut_shard_is_one_line(small_collection: Collection) -> None:
    shard = small_collection.shard_paths[0]
    shard.write_bytes(shard.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"00000.arrow: wanted a whole passage shard; found .*; make the collection again"):
        list(Collection(small_collection.path).passages())
    shard.unlink()
    with pytest.raises(InputError, match="wanted 1 passage shards; found 0"):
        list(Collection(small_collection.path).passages())


def test_a_broken_table_is_one_line(small_collection: Collection) -> None:
    (small_collection.path / "queries" / "test.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match=r"test.parquet: wanted a table of query_id, text, fields; found"):
        small_collection.queries("test")


def test_find_collection_by_path_then_by_name(
    small_collection: Collection, posbias_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_collection(small_collection.path).name == "small"
    make(posbias_home / "mine", [Passage("home", "text")])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()  # a folder that is no collection does not hide the one at home
    assert find_collection("mine").passage_ids() == ["home"]
    make(tmp_path / "mine", [Passage("here", "text")], overwrite=True)
    assert find_collection("mine").passage_ids() == ["here"]
    with pytest.raises(
        InputError, match=r"nowhere: wanted a collection .* make one with: posbias import planted --out nowhere"
    ):
        find_collection("nowhere")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="wanted a collection; found a folder without manifest.json"):
        find_collection("folder")


def test_the_manifest_of_another_kind_is_refused(small_collection: Collection) -> None:
    path = small_collection.path / "manifest.json"
    path.write_text(path.read_text().replace('"kind": "collection"', '"kind": "checkpoint"'))
    with pytest.raises(InputError, match="wanted a posbias collection; found a checkpoint"):
        Collection(small_collection.path)


def test_a_manifest_without_its_content_is_refused(small_collection: Collection) -> None:
    path = small_collection.path / "manifest.json"
    path.write_text(path.read_text().replace('"passages": 7', '"pages": 7'))
    with pytest.raises(InputError, match="wanted a whole manifest; found one without 'passages'"):
        Collection(small_collection.path)


def test_workers_and_time_stand_under_provenance_only(tmp_path: Path) -> None:
    for number, workers in enumerate((1, 8)):
        with create_collection(tmp_path / f"c{number}") as writer:
            writer.add_passages([Passage("p", "text")])
            writer.finish(name="c", command="a test", settings={"k": 1}, seed=3, workers=workers)
    one, two = (read_manifest(tmp_path / f"c{number}") for number in (0, 1))
    assert one.comparable() == two.comparable()
    assert (one.provenance["workers"], two.provenance["workers"]) == (1, 8)
