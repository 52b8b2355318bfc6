"""A collection: what goes in comes out; faults are named; nothing half-written stays."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError, StorageError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from tests.sealing import reseal

from .making import make_collection


def test_everything_that_goes_in_comes_out(small_collection: Collection) -> None:
    passages = list(small_collection.passages())
    assert len(small_collection) == len(passages) == 7
    assert small_collection.passage_ids()[:2] == ["p-lamp", "p-gate"]
    assert small_collection.splits == ["train", "test"]
    assert [facts.queries for facts in small_collection.split_facts.values()] == [2, 3]
    assert [query.query_id for query in small_collection.queries("test")] == ["q3", "q4", "q5"]
    assert small_collection.queries("test")[0] == Query(
        "q3", "what joins the banks of the Mirren", {"type": "entity"}
    )
    assert small_collection.qrels("train") == [
        Qrel("q1", "p-lamp", 1),
        Qrel("q1", "p-gate", 0),
        Qrel("q2", "p-gate", 1),
    ]
    answers = small_collection.answers("test")
    assert answers[-1] == Answer("q5", "p-cafe", "three crowns", None, None)
    texts = dict(passages)
    for answer in answers[:-1]:
        assert texts[answer.passage_id][answer.start : answer.end] == answer.text
    assert small_collection.manifest.content["splits"]["test"]["answers"] == 4


def test_splits_are_checked(tmp_path: Path) -> None:
    passages = [Passage("p", "text")]
    twice = {"test": ([Query("q", "a"), Query("q", "b")], [])}
    with pytest.raises(
        InputError, match="split 'test': wanted every query id once; found 'q' twice"
    ):
        make_collection(tmp_path / "a", passages, twice)
    with pytest.raises(
        InputError, match="wanted qrels of its own queries; found one of query 'other'"
    ):
        make_collection(
            tmp_path / "b", passages, {"test": ([Query("q", "a")], [Qrel("other", "p", 1)])}
        )
    with pytest.raises(InputError, match="found 1 that are not, the first 'absent'"):
        make_collection(
            tmp_path / "c", passages, {"test": ([Query("q", "a")], [Qrel("q", "absent", 1)])}
        )
    assert list(tmp_path.iterdir()) == []


def test_further_judgement_sets_are_kept_apart_and_counted(tmp_path: Path) -> None:
    def made(name: str, further: dict[str, list[Qrel]]) -> Collection:
        with create_collection(tmp_path / name) as writer:
            writer.add_passages([Passage("p", "text")])
            writer.add_split("test", [Query("q", "a")], [Qrel("q", "p", 1)])
            for set_name, qrels in further.items():
                writer.add_qrels("test", set_name, qrels)
            writer.finish(Manifest("collection", "c", "a test"))
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
    names = (
        {},
        {"raw": [Qrel("q", "p", 3)]},
        {"raw": [Qrel("q", "p", 2)]},
        {"other": [Qrel("q", "p", 3)]},
    )
    assert len({made(f"c{number}", further).checksum for number, further in enumerate(names)}) == 4
    with pytest.raises(
        InputError,
        match=r"wanted judgements 'votes' of split 'test'; found raw, clicks; give one of these to",
    ):
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
        with pytest.raises(
            InputError, match="split 'test': wanted each split, .* once; found 'test' twice"
        ):
            writer.add_split("test", [], [])
        with pytest.raises(InputError, match=r"split 'test.raw': wanted each split, .* once"):
            writer.add_split("test.raw", [], [])
        writer.finish(Manifest("collection", "c", "a test"))


def test_judgements_of_a_further_set_are_of_the_splits_queries(tmp_path: Path) -> None:
    def made() -> None:
        with create_collection(tmp_path / "c") as writer:
            writer.add_passages([Passage("p", "text")])
            writer.add_split("test", [Query("q", "a")], [])
            writer.add_qrels("test", "more", [Qrel("z", "p", 1)])
            writer.finish(Manifest("collection", "c", "a test"))

    with pytest.raises(InputError, match="wanted qrels of its own queries; found one of query 'z'"):
        made()


def test_judgements_of_absent_passages_are_kept_where_that_is_allowed(tmp_path: Path) -> None:
    qrels = [Qrel("q", "p", 1), Qrel("q", "gone", 1), Qrel("r", "gone", 0), Qrel("r", "lost", 2)]
    with create_collection(tmp_path / "c") as writer:
        writer.add_passages([Passage("p", "text")])
        writer.add_split("train", [Query("t", "a")], [Qrel("t", "p", 1)])
        writer.add_split("test", [Query("q", "a"), Query("r", "b")], qrels)
        writer.add_qrels("test", "raw", [Qrel("q", "never", 1)])
        writer.finish(Manifest("collection", "c", "a test"), allow_absent=True)
    made = Collection(tmp_path / "c")
    assert made.qrels("test") == qrels
    # gone twice, lost once, never once: four judgements of three passages
    assert made.manifest.content["absent"] == {"test": {"judgements": 4, "passages": 3}}
    assert made.absent(["lost", "p", "gone"]) == ["lost", "gone"]

    def answered_in_a_lost_passage() -> None:
        with create_collection(tmp_path / "d") as writer:
            writer.add_passages([Passage("p", "text")])
            writer.add_split("test", [Query("q", "a")], [], [Answer("q", "gone", "x")])
            writer.finish(Manifest("collection", "d", "a test"), allow_absent=True)

    with pytest.raises(
        InputError,
        match=(
            "wanted every answering passage in the collection; found 1 that are not, the first "
            "'gone'"
        ),
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
def test_an_interrupted_writing_leaves_nothing(
    tmp_path: Path, error: BaseException, seen: type[BaseException]
) -> None:
    def passages() -> Iterator[Passage]:
        yield Passage("p", "text")
        raise error

    with pytest.raises(seen), create_collection(tmp_path / "half") as writer:
        writer.add_passages(passages())
    assert list(tmp_path.iterdir()) == []


def test_overwriting_replaces_whole_and_is_asked_for(tmp_path: Path) -> None:
    make_collection(tmp_path / "c", [Passage("old", "text")], {"test": ([Query("q", "a")], [])})
    with pytest.raises(OutputExistsError, match="give another --out, or --overwrite"):
        make_collection(tmp_path / "c", [Passage("new", "text")])
    assert Collection(tmp_path / "c").passage_ids() == ["old"]
    assert make_collection(
        tmp_path / "c", [Passage("new", "text")], overwrite=True
    ).passage_ids() == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
    assert not (tmp_path / "c" / "queries").exists()


def test_an_empty_collection_and_an_empty_split_are_whole(tmp_path: Path) -> None:
    made = make_collection(tmp_path / "empty", [], {"test": ([], [])})
    assert (
        len(made),
        list(made.passages()),
        made.queries("test"),
        made.qrels("test"),
        made.answers("test"),
    ) == (
        0,
        [],
        [],
        [],
        [],
    )
    assert made.find(["x"]).tolist() == [-1]


def test_a_broken_table_is_one_line(small_collection: Collection) -> None:
    (small_collection.path / "queries" / "test.parquet").write_bytes(b"PAR1 not really")
    reseal(small_collection.path)
    with pytest.raises(
        InputError, match=r"test.parquet: wanted a table of query_id, text, fields; found"
    ):
        small_collection.queries("test")


@pytest.mark.parametrize("opened", [Collection, find_collection])
def test_a_collection_opens_by_path_then_by_name(
    opened: Callable[[str | Path], Collection],
    small_collection: Collection,
    posbias_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert opened(small_collection.path).name == "small"
    make_collection(posbias_home / "mine", [Passage("home", "text")])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()  # a folder that is no collection does not hide the one at home
    at_home = opened("mine")
    assert (at_home.path, at_home.passage_ids()) == (posbias_home / "mine", ["home"])
    make_collection(tmp_path / "mine", [Passage("here", "text")], overwrite=True)
    assert opened("mine").passage_ids() == ["here"]
    assert pickle.loads(pickle.dumps(at_home)).passage_ids() == ["home"]  # noqa: S301
    wanted = (
        rf"nowhere: wanted a collection \(a folder, or a name under {posbias_home}\); found none; "
        r"make one with: .* --out nowhere"
    )
    with pytest.raises(InputError, match=wanted):
        opened("nowhere")
    (tmp_path / "folder").mkdir()
    with pytest.raises(
        InputError, match="wanted a collection; found a folder without manifest.json"
    ):
        opened("folder")


def test_the_manifest_of_another_kind_is_refused(small_collection: Collection) -> None:
    reseal(small_collection.path, lambda record: record.update(kind="checkpoint"))
    with pytest.raises(InputError, match="wanted a posbias collection; found a checkpoint"):
        Collection(small_collection.path)


@pytest.mark.parametrize("name", ["../test", "a/b", ".hidden", "test\n"])
def test_a_split_whose_name_leads_elsewhere_is_refused(
    small_collection: Collection, name: str
) -> None:
    def rename(record: dict[str, Any]) -> None:
        splits = record["content"]["splits"]
        splits[name] = splits.pop("test")

    reseal(small_collection.path, rename)
    with pytest.raises(InputError, match="manifest.json: wanted fields as posbias writes them"):
        Collection(small_collection.path)


def test_a_manifest_that_hides_the_answers_is_refused(small_collection: Collection) -> None:
    def hide(record: dict[str, Any]) -> None:
        record["content"]["splits"]["test"]["answers"] = 0

    reseal(small_collection.path, hide)
    with pytest.raises(InputError, match="wanted 0 rows"):
        Collection(small_collection.path).answers("test")


@pytest.mark.parametrize(
    "inside",
    [
        "cache",
        "cache/bm25s",
        "cache/bm25s/k1-0.9-b-0.4/manifest.json",
    ],
)
def test_a_cache_that_leads_elsewhere_is_refused(
    small_collection: Collection, tmp_path: Path, inside: str
) -> None:
    place, elsewhere = small_collection.path / inside, tmp_path / "elsewhere"
    if place.exists():
        place.rename(elsewhere)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere)
    with pytest.raises(
        InputError, match=f"{inside}: wanted a (folder|file); found a link; remove it"
    ):
        _ = Collection(small_collection.path).cache
