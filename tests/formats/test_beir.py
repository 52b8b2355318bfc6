"""BEIR: what the published layout becomes, that an export gives it back, and one line for each
fault.
"""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.engine.local import map_shards
from positionbias.formats.beir import BeirSource, import_beir
from positionbias.formats.beir_export import write_beir

CORPUS = (
    {"_id": "d1", "title": "Orvell", "text": "The lamp burns green oil.", "metadata": {"url": "x"}},
    {"_id": "d2", "title": "", "text": " Travellers\tpass\u2028the gate.\r\n\x00"},
    {"_id": 3, "title": None, "text": "ランプは緑の油を燃やす。"},
    {"_id": "d4", "title": "Mirren", "text": ""},
    {"_id": "d5", "text": "A bridge. â\x80\x99"},
)
QUERIES = (
    {"_id": "q1", "text": "what burns", "metadata": {"query": "lamp", "number": 7, "many": ["ä"]}},
    {"_id": "q2", "text": "who passes", "metadata": {}},
    {"_id": "q3", "text": "unasked"},
    {"_id": 4, "text": "what joins"},
)
QRELS = {
    "train": [("q1", "d1", "2"), ("q1", "d2", "0"), ("q1", "d1", "2")],
    "dev": [("q2", "d2", "1"), ("q2", "gone", "1")],
    "test": [("4", "d5", "1.0"), ("q1", "3", "-1")],
}


def lines(records: Any) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def table(rows: Any) -> bytes:
    return "".join(
        "\t".join(row) + "\n" for row in (("query-id", "corpus-id", "score"), *rows)
    ).encode()


def beir_folder(folder: Path, **files: bytes | None) -> Path:
    """The data set above; ``files`` replaces one by its name without ending, or leaves it out."""
    content: dict[str, bytes | None] = {"corpus": lines(CORPUS), "queries": lines(QUERIES)}
    content |= {split: table(rows) for split, rows in QRELS.items()} | files
    (folder / "qrels").mkdir(parents=True)
    for name, data in content.items():
        if data is not None:
            place = f"{name}.jsonl" if name in ("corpus", "queries") else f"qrels/{name}.tsv"
            (folder / place).write_bytes(data)
    return folder


def test_the_published_layout_becomes_a_collection(tmp_path: Path) -> None:
    beir = import_beir(beir_folder(tmp_path / "in"), tmp_path / "out")
    assert list(beir.passages()) == [
        Passage("d1", "Orvell The lamp burns green oil."),
        Passage("d2", " Travellers\tpass\u2028the gate.\r\n\x00"),
        Passage("3", "ランプは緑の油を燃やす。"),
        Passage("d4", "Mirren"),
        Passage("d5", "A bridge. â\x80\x99"),
    ]
    assert beir.splits == ["train", "validation", "test", "unjudged"]
    first = Query("q1", "what burns", {"query": "lamp", "number": "7", "many": '["ä"]'})
    assert beir.queries("train") == [first]
    assert beir.queries("test") == [first, Query("4", "what joins")]
    assert beir.queries("unjudged") == [Query("q3", "unasked")]
    assert beir.qrels("train") == [Qrel("q1", "d1", 2), Qrel("q1", "d2", 0)]
    assert beir.qrels("validation") == [Qrel("q2", "d2", 1), Qrel("q2", "gone", 1)]
    assert beir.qrels("test") == [Qrel("4", "d5", 1), Qrel("q1", "3", -1)]
    content = beir.manifest.content
    # titled: d1, d4; d4 has no text; one line of train.tsv stands twice
    assert content["source"] == {
        "format": "beir",
        "corpus": {"titles": 2, "without_text": 1},
        "repeated_judgements": 1,
        "judgements_of_other_queries": 0,
    }
    assert content["absent"] == {"validation": {"judgements": 1, "passages": 1}}
    assert "licence" in beir.manifest.licence


def test_titles_can_be_left_out(tmp_path: Path) -> None:
    beir = import_beir(beir_folder(tmp_path / "in"), tmp_path / "out", titles=False)
    assert [passage.text for passage in beir.passages()][:4:3] == ["The lamp burns green oil.", ""]


def test_compressed_files_and_any_number_of_workers_give_the_same(tmp_path: Path) -> None:
    plain = import_beir(beir_folder(tmp_path / "in"), tmp_path / "out")
    packed = beir_folder(tmp_path / "packed")
    for path in [*packed.glob("*.jsonl"), packed / "qrels" / "dev.tsv"]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    test = packed / "qrels" / "test.tsv"
    test.with_name("test.tsv.zst").write_bytes(zstandard.compress(test.read_bytes()))
    test.unlink()
    again = import_beir(packed, tmp_path / "again", map_shards=partial(map_shards, workers=2))
    assert again.checksum == plain.checksum


@pytest.mark.parametrize("place", ["qrels", "data", "default"])
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_mteb_s_layout_gives_the_same(tmp_path: Path, form: str, place: str) -> None:
    def save(path: Path, rows: list[dict[str, Any]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        else:
            path.with_suffix(".jsonl").write_bytes(lines(rows))

    corpus = [
        {"_id": str(row["_id"]), "title": row.get("title"), "text": row["text"]} for row in CORPUS
    ]
    queries = [{"_id": str(row["_id"]), "text": row["text"]} for row in QUERIES]
    folder = tmp_path / "mteb"
    save(folder / "corpus" / "corpus-00000-of-00002", corpus[:2])
    save(folder / "corpus" / "corpus-00001-of-00002", corpus[2:])
    save(folder / "queries" / "queries-00000-of-00001", queries)
    for split, rows in QRELS.items():
        judged = [
            dict(zip(("query-id", "corpus-id", "score"), (*ids, float(score)), strict=True))
            for *ids, score in rows
        ]
        save(
            folder / place / (f"{split}-00000-of-00002" if form == "parquet" else split), judged[:1]
        )
        if form == "parquet":
            save(folder / place / f"{split}-00001-of-00002", judged[1:])
        else:
            save(folder / place / split, judged)
    bare = beir_folder(tmp_path / "in", queries=lines([{**row, "metadata": {}} for row in QUERIES]))
    beir = import_beir(bare, tmp_path / "out")
    assert import_beir(folder, tmp_path / "again").checksum == beir.checksum


def test_judgements_of_unknown_queries_are_left_out_and_counted(tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "in", test=table([("q9", "d1", "1"), ("4", "d5", "1")]))
    beir = import_beir(folder, tmp_path / "out")
    assert beir.qrels("test") == [Qrel("4", "d5", 1)]
    assert beir.manifest.content_as(BeirSource, "source").judgements_of_other_queries == 1


@pytest.mark.parametrize("ending", ["-0.parquet", "-00000-of-00001.parquet", ".parquet"])
def test_parquet_with_id_and_numbered_files(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "mteb"
    tables = {
        "corpus/corpus-0.parquet": [{"id": "d1", "title": "Orvell", "text": "The lamp."}],
        "queries/queries-0.parquet": [{"id": "q1", "text": "what burns"}],
        f"qrels/test{ending}": [{"query-id": "q1", "corpus-id": "d1", "score": 1}],
        "qrels/fold-1.parquet": [{"query-id": "q1", "corpus-id": "d1", "score": 2}],
    }
    for name, rows in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), folder / name)
    beir = import_beir(folder, tmp_path / "out")
    assert list(beir.passages()) == [Passage("d1", "Orvell The lamp.")]
    assert {split: beir.qrels(split) for split in beir.splits} == {
        "test": [Qrel("q1", "d1", 1)],
        "fold-1": [Qrel("q1", "d1", 2)],
    }


def test_the_corpus_alone_comes_in(tmp_path: Path) -> None:
    beir = import_beir(
        beir_folder(tmp_path / "in", queries=None, train=None, dev=None, test=None),
        tmp_path / "out",
    )
    assert (len(beir), beir.splits) == (5, [])


def test_an_export_comes_back_the_same(tmp_path: Path) -> None:
    beir = import_beir(beir_folder(tmp_path / "in"), tmp_path / "out")
    # test first: its order in queries.jsonl changes nothing; the query that is unjudged stays so
    written = write_beir(beir, tmp_path / "export", ["test", "train", "validation", "unjudged"])
    # 4 distinct queries; 2 + 2 + 2 judgements; q3 has none
    assert written == (5, 4, 6, 1, 0)
    back = import_beir(tmp_path / "export", tmp_path / "back")
    assert back.checksum == beir.checksum
    assert (
        tmp_path / "export" / "qrels" / "dev.tsv"
    ).read_text() == "query-id\tcorpus-id\tscore\nq2\td2\t1\nq2\tgone\t1\n"
    two = write_beir(beir, tmp_path / "two", ["train"], map_shards=partial(map_shards, workers=2))
    assert (tmp_path / "two" / "corpus.jsonl").read_bytes() == (
        tmp_path / "export" / "corpus.jsonl"
    ).read_bytes()
    assert two == (5, 1, 2, 0, 0)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=5
)


@given(
    passages=st.dictionaries(IDS, TEXTS, min_size=1, max_size=5),
    queries=st.dictionaries(
        IDS, st.tuples(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=2)), min_size=1, max_size=4
    ),
    grades=st.lists(st.integers(-5, 1_000_000), min_size=4, max_size=4),
)
def test_any_text_survives_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, passages: dict, queries: dict, grades: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("beir")
    place = min(passages)
    with create_collection(folder / "a") as writer:
        writer.add_passages(Passage(*item) for item in passages.items())
        records = [Query(query_id, text, fields) for query_id, (text, fields) in queries.items()]
        qrels = [
            Qrel(query_id, place, grade) for query_id, grade in zip(queries, grades, strict=False)
        ]
        writer.add_split("validation", records, qrels)
        writer.finish(Manifest("collection", "a", "a test"))
    made = Collection(folder / "a")
    write_beir(made, folder / "b", ["validation"])
    assert import_beir(folder / "b", folder / "c").checksum == made.checksum


def test_what_has_no_place_in_beir_is_counted(tmp_path: Path, small_collection: Collection) -> None:
    written = write_beir(small_collection, tmp_path / "beir", ["train", "test"])
    # 7 passages; 2 + 3 queries; 3 + 4 judgements; 2 + 4 answers
    assert written == (7, 5, 7, 0, 6)
    back = import_beir(tmp_path / "beir", tmp_path / "back")
    assert (
        back.manifest.content["passages_checksum"]
        == small_collection.manifest.content["passages_checksum"]
    )
    assert back.queries("test") == small_collection.queries("test")
    assert back.qrels("train") == small_collection.qrels("train")
    with pytest.raises(OutputExistsError):
        write_beir(small_collection, tmp_path / "beir", ["train"])
    assert write_beir(small_collection, tmp_path / "beir", ["train"], overwrite=True).queries == 2


def own_collection(
    place: Path, splits: dict[str, list[Query]], passage_id: str = "p"
) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages([Passage(passage_id, "one two")])
        for split, queries in splits.items():
            judged = [Qrel(query.query_id, passage_id, 1) for query in queries]
            writer.add_split(
                split,
                queries,
                judged,
                [Answer(query.query_id, passage_id, "two") for query in queries],
            )
        writer.finish(Manifest("collection", "own", "a test"))
    return Collection(place)


@pytest.mark.parametrize(
    ("splits", "passage_id", "found"),
    [
        ({"dev": [Query("q", "a")], "validation": [Query("r", "b")]}, "p", "found two for dev.tsv"),
        ({"train": [Query("q", "a")], "test": [Query("q", "b")]}, "p", "found two for 'q'"),
        (
            {"train": [Query("q", "a")], "test": [Query("q", "a", {"type": "x"})]},
            "p",
            "found two for 'q'",
        ),
        ({"train": [Query("q\t1", "a")]}, "p", r"found 'q\t1'"),
        ({"train": []}, "p\n", r"found 'p\n'"),
    ],
)
def test_what_beir_cannot_hold_is_one_line(
    tmp_path: Path, splits: dict[str, list[Query]], passage_id: str, found: str
) -> None:
    own = own_collection(tmp_path / "own", splits, passage_id)
    with pytest.raises(InputError) as raised:
        write_beir(own, tmp_path / "beir", list(splits))
    assert found in str(raised.value)
    assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]


FAULTS: dict[str, tuple[dict[str, bytes | None], str]] = {
    "no corpus": ({"corpus": None},
    "in: wanted a BEIR folder with corpus.jsonl, or MTEB's with corpus/*.parquet; found neither"),
    "no queries": ({"queries": None}, "in: wanted queries.jsonl beside the qrels; found none"),
    "an empty corpus": ({"corpus": b""},
    "corpus.jsonl: wanted a corpus: one JSON object a line; found an empty file"),
    "corpus cut short": ({"corpus": lines(CORPUS)[:-5]},
    "corpus.jsonl:5: wanted one JSON object a line; found Unterminated"),
    "no object": ({"corpus": b'{"_id": "1", "text": "a"}\n[]\n'},
    "corpus.jsonl:2: wanted an object with _id and text; found a list"),
    "no id": ({"corpus": b'{"text": "a"}\n'},
    "corpus.jsonl:1: wanted '_id' as text; found no such key, or null"),
    "no text": ({"corpus": b'{"_id": "1"}\n'},
    "corpus.jsonl:1: wanted 'text' as text; found no such key, or null"),
    "an id with a tab": ({"corpus": b'{"_id": "1\\t", "text": ""}\n'},
    "corpus.jsonl:1: wanted '_id' without tabs"),
    "a title that is a number": ({"corpus": b'{"_id": "1", "title": 1, "text": ""}\n'},
    "wanted 'title' as text; found 1;"),
    "half a surrogate pair": ({"corpus": b'{"_id": "1", "text": "\\ud800"}\n'},
    "corpus.jsonl:1: wanted 'text' in valid Unicode"),
    "no UTF-8": ({"corpus": b'{"_id": "1", "text": ""}\n{"_id": "\xff"}\n'},
    "corpus.jsonl:2: wanted text in UTF-8; found the byte 0xff"),
    "a passage twice": ({"corpus": lines(CORPUS + CORPUS[:1])}, "share the id 'd1'"),
    "a query twice": ({"queries": lines(QUERIES + QUERIES[:1])},
    "queries.jsonl:5: wanted every query id once; found 'q1' again"),
    "metadata in a list": ({"queries": b'{"_id": "q1", "text": "", "metadata": []}\n'},
    "queries.jsonl:1: wanted 'metadata' as an object"),
    "two columns": ({"test": table([("q1", "d1")])},
    "test.tsv:2: wanted three columns: query-id, corpus-id, score; found 2"),
    "no number": ({"test": table([("q1", "d1", "1"), ("q1", "d2", "high")])},
    "test.tsv:3: wanted a whole number up to 1,000,000 as score; found 'high'"),
    "half a grade": ({"test": table([("q1", "d1", "0.5")])},
    "test.tsv:2: wanted a whole number up to 1,000,000 as score; found '0.5'"),
    "a grade too large": ({"test": table([("q1", "d1", "1000001")])},
    "test.tsv:2: wanted a whole number up to 1,000,000 as score"),
    "another header": ({"test": b"topic\tdoc\trel\n"},
    "test.tsv:1: wanted a whole number up to 1,000,000 as score; found 'rel'"),
    "a header again": ({"test": table([]) * 2},
    "test.tsv:2: wanted a whole number up to 1,000,000 as score; found 'score'"),
    "unknown queries alone": ({"test": table([("q9", "d1", "1")])},
    "test.tsv: wanted judgements of queries in queries.jsonl; found 1, all of other queries"),
    "two grades": ({"test": table([("q1", "d1", "1"), ("q1", "d1", "2")])},
    "test.tsv:3: wanted one score per pair; found passage 'd1'"),
    "dev and validation": ({"validation": table([])},
    "wanted one file of qrels for split validation; found this beside"),
    "a split that is called unjudged": ({"unjudged": table([])},
    "unjudged.tsv: wanted another name"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line(tmp_path: Path, fault: str) -> None:
    files, message = FAULTS[fault]
    beir_folder(tmp_path / "in", **files)
    with pytest.raises(InputError) as raised:
        import_beir(tmp_path / "in", tmp_path / "out")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
