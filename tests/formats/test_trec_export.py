"""A collection out in TREC form and in again: the same content, whatever its text; and the two
commands.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.engine.local import map_shards
from positionbias.formats.trec_export import write_trec
from positionbias.formats.trec_import import import_trec, split_and_name
from tests.cli.conftest import run_posbias  # noqa: F401 (a fixture)
from tests.formats.trec_disc import FT, LATIMES

TEXT = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        "Topic: x",
        "Topic",
        "Description: y",
        " Number:",
        "Narrative\nz",
        "<DOC>",
        "</TEXT></DOC>",
        "&amp;",
        "&lt",
        "a\r\n\tb  c ",
    ]
)
ID = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)
FIELD = st.sampled_from(["description", "narrative", "type", "variant1", "question", "domain"])


def collected(place: Path, passages, queries, qrels, answers=()) -> Collection:
    with create_collection(place, overwrite=True) as writer:
        writer.add_passages(passages)
        writer.add_split("test", queries, qrels, answers)
        writer.finish(Manifest("collection", "x", "a test"))
    return Collection(place)


def again(collection: Collection, folder: Path) -> Collection:
    """Written and imported."""
    write_trec(collection, folder / "trec", collection.splits, overwrite=True)
    topics = [(split, folder / f"trec/topics.{split}.txt") for split in collection.splits]
    qrels = [(split, folder / f"trec/qrels.{split}.txt") for split in collection.splits]
    return import_trec([folder / "trec/docs"], topics, qrels, folder / "again", overwrite=True)


def test_the_files_that_are_written(tmp_path):
    queries = [
        Query(
            "q1",
            "R&D <costs>",
            {"narrative": "Names it.", "type": "entity", "description": "What & why?"},
        )
    ]
    collection = collected(
        tmp_path / "c",
        [Passage("p1", "5 < 6"), Passage("p2", " a\tb")],
        queries,
        [Qrel("q1", "p1", 2)],
        [Answer("q1", "p1", "5")],
    )
    written = write_trec(collection, tmp_path / "out", ["test"])
    assert written == (2, 1, 1, 1)
    assert {
        str(path.relative_to(tmp_path / "out")): path.read_text()
        for path in (tmp_path / "out").rglob("*.[st]*")
    } == {
        "docs/00000.sgml": "<DOC>\n<DOCNO>p1</DOCNO>\n<TEXT>\n5 &lt; 6\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>p2</DOCNO>\n<TEXT>\n&#32;a&#9;b\n</TEXT>\n</DOC>\n",
        "topics.test.txt": (
            "<top>\n<num> Number: q1\n<title> R&amp;D &lt;costs&gt;\n<desc> Description:\nWhat "
            "&amp; why?\n"
            "<narr> Narrative:\nNames it.\n<type> entity\n</top>\n\n"
        ),
        "qrels.test.txt": "q1 0 p1 2\n",
    }
    with pytest.raises(OutputExistsError):
        write_trec(collection, tmp_path / "out", ["test"])
    with pytest.raises(InputError, match="wanted split 'dev'"):
        write_trec(collection, tmp_path / "new", ["dev"])
    assert not (tmp_path / "new").exists()


def test_the_small_collection_comes_back(tmp_path, small_collection):
    back = again(small_collection, tmp_path)
    assert (
        back.manifest.content["passages_checksum"]
        == small_collection.manifest.content["passages_checksum"]
    )
    for split in small_collection.splits:
        assert back.queries(split) == small_collection.queries(split)
        assert back.qrels(split) == small_collection.qrels(split)
        assert back.answers(split) == []


@settings(max_examples=25)  # each writes and reads eight files
@given(
    passages=st.dictionaries(ID, TEXT, min_size=1, max_size=4),
    queries=st.dictionaries(
        ID, st.tuples(TEXT, st.dictionaries(FIELD, TEXT, max_size=3)), min_size=1, max_size=3
    ),
)
def test_any_text_comes_back(tmp_path_factory, passages, queries):
    folder = tmp_path_factory.mktemp("trec")
    collection = collected(
        folder / "c",
        [Passage(*item) for item in passages.items()],
        [Query(name, text, fields) for name, (text, fields) in queries.items()],
        [Qrel(next(iter(queries)), name, 1) for name in passages],
    )
    assert again(collection, folder).checksum == collection.checksum


def test_workers_write_the_same_bytes(tmp_path):
    with create_collection(tmp_path / "c") as writer:
        for shard in range(3):
            writer.add_passages(
                Passage(f"p{shard}-{number}", "lamp " * number) for number in range(20)
            )
        writer.finish(Manifest("collection", "x", "a test"))
    collection = Collection(tmp_path / "c")
    write_trec(collection, tmp_path / "one", [])
    write_trec(collection, tmp_path / "two", [], map_shards=partial(map_shards, workers=2))
    files = sorted(path.name for path in (tmp_path / "one/docs").iterdir())
    assert files == ["00000.sgml", "00001.sgml", "00002.sgml"]
    assert all(
        (tmp_path / "one/docs" / name).read_bytes() == (tmp_path / "two/docs" / name).read_bytes()
        for name in files
    )


@pytest.mark.parametrize(
    ("passage_id", "query_id", "fields", "message"),
    [
        ("p 1", "q1", {}, "wanted passage ids without white space; found 'p 1'"),
        ("p1", "q\n1", {}, r"wanted query ids without white space; found 'q\\n1'"),
        ("p1", "q1", {"title": "x"}, "found 'title' of query 'q1'"),
        ("p1", "q1", {"Full Text": "x"}, "found 'Full Text' of query 'q1'"),
        ("p1", "q1", {"desc": "x"}, "found 'desc' of query 'q1'"),
        ("p1", "q1", {"b": "x"}, "found 'b' of query 'q1'"),
    ],
)
def test_what_the_form_cannot_carry_is_said(tmp_path, passage_id, query_id, fields, message):
    collection = collected(
        tmp_path / "c", [Passage(passage_id, "x")], [Query(query_id, "y", fields)], []
    )
    with pytest.raises(InputError, match=message):
        write_trec(collection, tmp_path / "out", ["test"])
    assert not (tmp_path / "out").exists()


@pytest.fixture
def release(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/ft").write_bytes(FT)
    (tmp_path / "docs/la").write_bytes(LATIMES)
    (tmp_path / "a.txt").write_text("<top>\n<num> Number: 1\n<title> lamp\n</top>\n")
    (tmp_path / "b.txt").write_text("2\tgate\n")
    (tmp_path / "a.qrels").write_text("1 0 FT911-1 1\n1 0 gone-1 1\n1 0 gone-2 0\n")
    (tmp_path / "b.qrels").write_text("2 0 LA010189-0001 1\n")
    return tmp_path


def test_splits_and_judgements_of_absent_documents(release):
    both = import_trec(
        [release / "docs"],
        [("test", release / "a.txt"), ("test", release / "b.txt"), ("extra", release / "b.txt")],
        [("test", release / "a.qrels"), ("test", release / "b.qrels")],
        release / "c",
    )
    assert {split: (len(both.queries(split)), len(both.qrels(split))) for split in both.splits} == {
        "test": (2, 4),
        "extra": (1, 0),
    }
    assert both.manifest.content["absent"] == {"test": {"judgements": 2, "passages": 2}}
    assert [(item.role, item.path) for item in both.manifest.inputs] == [
        ("docs", "../docs"),
        ("topics test", "../a.txt"),
        ("topics test", "../b.txt"),
        ("topics extra", "../b.txt"),
        ("qrels test", "../a.qrels"),
        ("qrels test", "../b.qrels"),
    ]
    with pytest.raises(SettingError, match="wanted topics of split 'dev'; found none"):
        import_trec([release / "docs"], [], [("dev", release / "a.qrels")], release / "d")
    with pytest.raises(InputError, match="found one of query '2'"):
        import_trec(
            [release / "docs"],
            [("test", release / "a.txt")],
            [("test", release / "b.qrels")],
            release / "d",
        )
    with pytest.raises(InputError, match="passage 'FT911-1' of query '1' in two files"):
        import_trec(
            [release / "docs"],
            [("t", release / "a.txt")],
            [("t", release / "a.qrels")] * 2,
            release / "d",
        )


def test_topics_take_the_numbers_of_their_judgements(release):
    (release / "topics").write_text("051\tlamp\n052\tgate\n099\tnot judged\nMB01\tno number\n")
    (release / "qrels").write_text("51 0 FT911-1 1\n52 0 LA010189-0001 1\nMB01 0 FT911-1 1\n")
    made = import_trec(
        [release / "docs"],
        [("test", release / "topics")],
        [("test", release / "qrels")],
        release / "c",
    )
    assert [query.query_id for query in made.queries("test")] == ["51", "52", "099", "MB01"]
    assert made.manifest.content["source"]["renumbered"] == {"051": "51", "052": "52"}
    assert [qrel.query_id for qrel in made.qrels("test")] == ["51", "52", "MB01"]


def test_an_interrupted_import_goes_on(release, monkeypatch):
    from positionbias.formats import trec_import

    made: list[str] = []
    original = trec_import._make_shard

    def counted(reading, bundle, path):
        made.append(bundle.kind)
        if len(made) == 2:
            raise KeyboardInterrupt
        return original(reading, bundle, path)

    (release / "docs/wp").write_text('{"id": "w", "contents": []}\n')
    monkeypatch.setattr(trec_import, "_make_shard", counted)
    arguments = ([release / "docs"], [("test", release / "a.txt")], [], release / "c")
    with pytest.raises(KeyboardInterrupt):
        import_trec(*arguments)
    collection = import_trec(*arguments)
    assert made == ["sgml", "wapo", "wapo"]
    assert collection.manifest.content["source"]["documents"] == 3


def test_the_command(release, run_posbias):  # noqa: F811
    (release / "docs/readme").write_text("none")
    done = run_posbias(
        *(
            "import",
            "trec",
            "--docs",
            "docs",
            "--topics",
            "a.txt",
            "--topics",
            "dev=b.txt",
            "--qrels",
            "test=a.qrels",
        ),
        *("--qrels", "dev=b.qrels", "--out", "./c", "--workers", 2, "--json"),
    )
    assert (done.returncode, done.stderr.splitlines()[:2]) == (
        0,
        ["2 documents: 2 TREC SGML", "1 files of no known form left out (no ending 1)"],
    )
    assert json.loads(done.stdout)["rows"]
    assert Collection(release / "c").splits == ["test", "dev"]
    failed = run_posbias("import", "trec", "--docs", "nothing", "--out", "./d")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert (
        "nothing: wanted a file or folder of TREC documents; found nothing there" in failed.stderr
    )


def test_the_split_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b").write_text("")
    assert split_and_name("train=x.txt") == ("train", "x.txt")
    assert split_and_name("x.txt") == ("test", "x.txt")
    assert split_and_name("a=b") == ("test", "a=b")
    assert split_and_name("folder/k=v.txt") == ("test", "folder/k=v.txt")
