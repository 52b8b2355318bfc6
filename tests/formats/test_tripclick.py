"""TripClick's layout: documents, topics, judgements, runs, triples and log as the release has them,
and files that are not right.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage, Qrel
from positionbias.core.run import read_run
from positionbias.formats.trec_files import _document_ranges, _stream_documents
from positionbias.formats.tripclick import ABSENT, import_tripclick, kind_of, role_of
from positionbias.formats.tripclick_docs import DOCUMENT_START, tagged_documents
from positionbias.formats.tripclick_log import ClickedRanks, read_clicks
from tests.cli.conftest import RunPosbias
from tests.cli.conftest import run_posbias as run_posbias
from tests.formats.msmarco_files import write_tar
from tests.formats.tripclick_files import DOCUMENTS, document, files, record, topics


def release(folder: Path, change: dict[str, str | None] | None = None) -> Path:
    for name, content in {**files(), **(change or {})}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content.encode())
    return folder


def test_a_text_is_title_and_abstract_and_nothing_in_it_is_markup(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    assert list(collection.passages()) == [
        Passage("11", "Oil lamps and burns. BACKGROUND : p < 0.05 & r > 2. RESULTS : lamps burn."),
        Passage("12", "Iron gates. Gates rust."),
        Passage("13", "Stone bridges <in> rain Bridges hold."),
        Passage("14", ""),
    ]
    source = collection.manifest.content["source"]
    assert (source["documents"], source["empty"]) == (4, 1)


def test_training_queries_are_together_and_the_others_apart(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    assert collection.splits == [
        "train",
        *(f"{g}_{p}" for p in ("validation", "test") for g in ("head", "torso", "tail")),
    ]
    # 31 has no judgement; "Descrption:" of a topic is no field of it
    assert [(q.query_id, q.text, dict(q.fields)) for q in collection.queries("train")] == [
        ("8", "oil lamp", {}),
        ("9", "iron gate", {}),
        ("20", "stone bridge", {}),
        ("30", "rust of gates", {}),
    ]
    assert collection.manifest.content["source"]["left_out"] == {"train": {"unjudged_queries": 1}}
    assert [query.text for query in collection.queries("tail_test")] == ["query of tail test"]
    assert collection.qrels("tail_test") == []


def test_raw_and_dctr_are_two_judgement_sets(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    assert collection.qrels("head_validation") == [Qrel("38", "11", 1)]
    assert collection.qrels("head_validation", "dctr") == [Qrel("38", "11", 2), Qrel("38", "12", 1)]
    assert collection.qrels("train", "dctr")[:2] == [Qrel("8", "11", 3), Qrel("8", "13", 1)]
    assert collection.qrels_names("torso_validation") == []


def test_a_query_that_dctr_alone_judges_is_judged(tmp_path: Path) -> None:
    changed: dict[str, str | None] = {
        "benchmark/qrels/qrels.raw.head.train.txt": "8 0 11 1\n8 0 12 0\n",
        "benchmark/qrels/qrels.dctr.head.val.txt": "777 0 11 2\n",
    }
    collection = import_tripclick([release(tmp_path / "tc", changed)], tmp_path / "out")
    assert [query.query_id for query in collection.queries("train")] == ["8", "9", "20", "30"]
    assert Qrel("9", "12", 2) in collection.qrels("train", "dctr")
    assert "9" not in {qrel.query_id for qrel in collection.qrels("train")}
    left_out = {
        "train": {"unjudged_queries": 1},
        "head_validation": {"judgements_without_query": 1},
    }
    assert collection.manifest.content["source"]["left_out"] == left_out


def test_judgements_of_unknown_documents_are_kept_counted_and_listed(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    assert Qrel("20", "99", 1) in collection.qrels("train")
    assert collection.manifest.content["absent"] == {"train": {"judgements": 1, "passages": 1}}
    assert (collection.path / ABSENT).read_text() == "train\traw\t20\t99\t1\n"


def test_runs_and_both_forms_of_triples_stand_beside_it(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    run = read_run(collection.path / "runs" / "bm25_head_validation.run")
    assert run["38"].passage_ids == ["11", "12"]
    texts, ids = (
        Groups(collection.path / "trainsets" / n)
        for n in ("triples.train", "improved_tripclick_train_triple-ids")
    )
    # the second line's positive is no document
    assert list(texts) == [TrainingGroup("8", ("11", "12"), (1, 0))]
    assert list(ids) == [TrainingGroup("9", ("12", "11"), (1, 0))]  # 777 is no training query
    assert texts.manifest.content["lines"] == ids.manifest.content["lines"] == 2


def test_what_triples_and_runs_name_and_is_not_there_is_counted(
    tmp_path: Path, run_posbias: RunPosbias
) -> None:
    ids, run = (
        "dlfiles/improved_tripclick_train_triple-ids.tsv",
        "dlfiles/run.trip.BM25.head.val.txt",
    )
    lines = "9\t12\t11\n9\t99\t11\n9\t12\t98\n777\t12\t11\n8\t11\t12\n"
    ranked = "38 Q0 11 1 10.5 A\n38 Q0 99 2 9.25 A\n38 Q0 98 3 9 A\n777 Q0 11 1 1 A\n"
    place = release(tmp_path / "tc", {ids: lines, run: ranked})
    said = run_posbias("import", "tripclick", str(place), "--out", str(tmp_path / "out")).stderr
    groups = Groups(tmp_path / "out" / "trainsets" / "improved_tripclick_train_triple-ids")
    assert list(groups) == [
        TrainingGroup("9", ("12", "11"), (1, 0)),
        TrainingGroup("8", ("11", "12"), (1, 0)),
    ]
    assert groups.manifest.content["lines"] == 5
    assert "triple-ids, 2; 3 lines of other queries, passages or texts left out" in said
    content = read_manifest(tmp_path / "out" / "runs" / "bm25_head_validation.run").content
    assert {name: content[name] for name in ("queries", "pairs", "unknown_queries",
        "unknown_pairs")} == {
        "queries": 2, "pairs": 4, "unknown_queries": 1, "unknown_pairs": 2,
    }  # fmt: skip
    assert "4 of 2 queries; 1 queries and 2 pairs name what is not in the collection" in said


def test_windows_line_ends_are_not_text(tmp_path: Path) -> None:
    windows = {name: content.replace("\n", "\r\n") for name, content in files().items()}
    made = import_tripclick([release(tmp_path / "windows", windows)], tmp_path / "out")
    same = import_tripclick([release(tmp_path / "tc")], tmp_path / "same")
    assert made.checksum == same.checksum
    for name in ("triples.train", "improved_tripclick_train_triple-ids"):
        groups = [list(Groups(collection.path / "trainsets" / name)) for collection in (made, same)]
        assert groups[0] == groups[1] != []


def test_the_log_says_at_which_ranks_was_clicked(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    # 11 second of three, 12 first of one, nothing clicked; 13 without a list, 14 not in its list,
    # 13 second of two
    assert collection.manifest.content["source"]["log"] == {
        "records": 6,
        "clicks": 5,
        "clicks without a list": 1,
        "clicks outside of their list": 1,
        "clicked_ranks": {"1": 1, "2": 2},
    }


def test_archives_and_the_tsv_form_give_the_same_collection(tmp_path: Path) -> None:
    plain = import_tripclick([release(tmp_path / "tc")], tmp_path / "plain")
    for top in ("benchmark", "dlfiles", "logs"):
        of_top = {name: content for name, content in files().items() if name.startswith(top)}
        write_tar(tmp_path / "packed" / f"{top}.tar.gz", of_top)
    packed = import_tripclick([tmp_path / "packed"], tmp_path / "unpacked")
    assert packed.checksum == plain.checksum
    assert packed.manifest.content["source"]["log"] == plain.manifest.content["source"]["log"]

    tsv = {name: None for name in files() if "/docs_grp" in name or "/topics" in name}
    rows = "".join(
        f"{p.passage_id}\t{p.text.replace('.', '. <eot>', 1)}\n" for p in plain.passages()
    )
    in_lines = release(tmp_path / "tsv", {**tsv, "benchmark_tsv/docs.tsv": rows})
    for split, part in (("train", "train"), ("head_validation", "val")):
        lines = "".join(f"{q.query_id}\t{q.text}\n" for q in plain.queries(split))
        (in_lines / "benchmark_tsv" / f"topics.head.{part}.tsv").write_text(lines)
    other = import_tripclick([in_lines], tmp_path / "of-tsv")
    assert list(other.passages()) == list(plain.passages())
    assert other.queries("train") == plain.queries("train")


@pytest.mark.parametrize(
    ("clicked", "shown", "rank"),
    [
        (12, [None, 12], 2),  # places whose document is not named are places
        (12, ["", 0, "0:1.5", "12:1"], 4),
        (12, '["",12]', 2),
        (12, [12, None], 1),
        (12, [], "clicks without a list"),
        (12, "", "clicks without a list"),
        (12, "[]", "clicks without a list"),
        (12, [None, 0], "clicks without a list"),
        (12, [None, 11], "clicks outside of their list"),
        ("0", [0, 11], None),
        (0, [0, 11], None),
        ("", [None, 11], None),
    ],
)  # fmt: skip
def test_the_rank_of_a_click(clicked: int | str, shown: object, rank: int | str | None) -> None:
    line = json.dumps({"DocumentId": clicked, "Documents": shown}).encode() + b"\n"
    ranks = ClickedRanks()
    ranks.add(read_clicks(Block("log", 0, 0, len(line), data=line, lines_before=0)))
    assert ranks.clicks == (rank is not None)
    assert ranks.ranks == ({rank: 1} if isinstance(rank, int) else {})
    assert [
        name for name, count in msgspec.to_builtins(ranks.log()).items() if count and "list" in name
    ] == ([rank] if isinstance(rank, str) else [])


def packages(folder: Path) -> tuple[Path, Path]:
    """The benchmark in both forms, each with its topics, judgements and documents, as its own
    archive.
    """
    made = {name: content for name, content in files().items() if name.startswith("benchmark/")}
    docs = [
        f"{k}\t{title} <eot> {text}".replace("\n", " ") + "\n"
        for k, (title, _, text) in DOCUMENTS.items()
    ]
    others = {name: content for name, content in made.items() if "/docs_grp" not in name}
    folder.mkdir()
    write_tar(folder / "benchmark.tar.gz", made)
    lines = {
        name.replace("benchmark/", "benchmark_tsv/"): content for name, content in others.items()
    }
    write_tar(
        folder / "benchmark_tsv.tar.gz",
        {"benchmark_tsv/documents/docs.tsv": "".join(docs), **lines},
    )
    return folder / "benchmark.tar.gz", folder / "benchmark_tsv.tar.gz"


def test_of_two_packages_with_the_documents_one_is_read(tmp_path: Path) -> None:
    tagged, tsv = packages(tmp_path / "both")
    made = {}
    for name, places in {
        "folder": [tmp_path / "both"],
        "first": [tagged, tsv],
        "last": [tsv, tagged],
    }.items():
        made[name] = import_tripclick(places, tmp_path / name)
        source = made[name].manifest.content["source"]
        assert (
            source["not_read"]["benchmark_tsv.tar.gz:benchmark_tsv/documents/docs.tsv"]
            == "docs_grp_*.txt hold the same"
        )
        assert "docs" not in source["files"]
        assert source["documents"] == 4
    passages = [list(collection.passages()) for collection in made.values()]
    assert passages[0] == passages[1] == passages[2]
    assert [item.passage_id for item in passages[0]] == list(DOCUMENTS)
    assert len({collection.checksum for collection in made.values()}) == 1
    # with documents in lines alone there is one form again
    assert list(import_tripclick([tsv], tmp_path / "tsv").passages()) == passages[0]


def test_unpacked_documents_stand_before_packed_ones_of_the_other_form(tmp_path: Path) -> None:
    tagged, tsv = packages(tmp_path / "both")
    unpacked = release(tmp_path / "tc")
    shutil.copy(tsv, unpacked)
    collection = import_tripclick([unpacked], tmp_path / "out")
    assert len(collection) == 4
    not_read = collection.manifest.content["source"]["not_read"]
    assert (
        not_read["benchmark_tsv.tar.gz:benchmark_tsv/documents/docs.tsv"]
        == "docs_grp_*.txt hold the same"
    )
    in_lines = release(tmp_path / "lines", {name: None for name in files() if "/docs_grp" in name})
    (in_lines / "docs.tsv").write_text("11\tOil lamps\n12\tIron gates\n13\tStone bridges\n14\t\n")
    shutil.copy(tagged, in_lines)
    collection = import_tripclick([in_lines], tmp_path / "of-lines")
    assert [item.text for item in collection.passages()] == [
        "Oil lamps",
        "Iron gates",
        "Stone bridges",
        "",
    ]
    not_read = collection.manifest.content["source"]["not_read"]
    assert (
        not_read["benchmark.tar.gz:benchmark/documents/docs_grp_01.txt"]
        == "docs.tsv holds the same"
    )


def test_any_number_of_workers_writes_the_same(tmp_path: Path, run_posbias: RunPosbias) -> None:
    place = release(tmp_path / "tc")
    checksums = set()
    for workers in ("1", "2"):
        result = run_posbias(
            "import",
            "tripclick",
            str(place),
            "--workers",
            workers,
            "--out",
            str(tmp_path / f"out{workers}"),
        )
        checksums.add(Collection(tmp_path / f"out{workers}").checksum)
    assert len(checksums) == 1
    assert "4 documents, 1 without any text (kept)" in result.stderr
    assert "click log: 5 clicks of 6 records, 3 with a rank" in result.stderr
    assert f"judged, and not among the documents: 1 (99); all in out2/{ABSENT}" in result.stderr


def test_what_is_skipped_is_not_read(tmp_path: Path) -> None:
    place = release(tmp_path / "tc", {"logs/2013-01-01.json": "no JSON\n"})
    collection = import_tripclick([place], tmp_path / "out", skip=["logs", "runs", "triples"])
    assert "log" not in collection.manifest.content["source"]
    assert not (collection.path / "runs").exists()
    assert (
        collection.manifest.content["source"]["not_read"]["2013-01-01.json"] == "skipped, as asked"
    )


def test_roles_are_told_by_names() -> None:
    assert [kind_of(role_of(name) or "") for name in files_of_each_kind()] == [
        "collection", "collection", "queries", "qrels", "runs", "triples", "triples", "logs", None,
    ]  # fmt: skip


def files_of_each_kind() -> list[str]:
    names = [
        "docs_grp_15.txt",
        "docs.tsv",
        "topics.tail.test.tsv",
        "qrels.dctr.head.val.txt",
        "run.trip.BM25.torso.test.txt",
    ]
    return [
        *names,
        "triples.train.tsv",
        "improved_tripclick_train_triple-ids.tsv",
        "2020-10-28.json",
        "tuples.head.val.top200.tsv",
    ]


HEAD = "benchmark/topics/topics.head.train.txt"
DOCS = "benchmark/documents/docs_grp_00.txt"
LOG = "logs/2013-01-01.json"
ONE = document("11", "t", "u", "x")


def test_a_text_on_the_line_of_its_tags(tmp_path: Path) -> None:
    docs = (
        "<DOC>\r\n<DOCNO>1</DOCNO>\r\n<TITLE>two\r\nlines</TITLE>\r\n<TEXT> inline </TEXT>\r\n"
        "</DOC>\r\n"
        "<DOC>\n<DOCNO> 2 </DOCNO>\n<TEXT> begins here\nand </TEXT> ends\n<DOC> element "
        "here</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO> 3 </DOCNO>\n</DOC>"
    )
    collection = import_tripclick([release(tmp_path / "tc", {DOCS: docs})], tmp_path / "out")
    assert [(item.passage_id, item.text) for item in collection.passages()][:3] == [
        ("1", "two lines inline"),
        ("2", "begins here and </TEXT> ends <DOC> element here"),
        ("3", ""),
    ]


@pytest.mark.parametrize("size", [1, 7, 40, 41, 42, 43, 44, 100, 1000])
def test_a_file_is_cut_between_documents_alone(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never in a text that names the element, whatever the case and place; and cut alike as a file
    and as a stream.
    """
    texts = [
        "a <DOC> element",
        "of <doc>\n<doc>\n<DOC> in a line\n <DOC>\nit is",
        "short",
        "<DOCNO>\nend",
    ]
    whole = "".join(document(str(number), "t", "u", text) for number, text in enumerate(texts * 3))
    path = tmp_path / "docs_grp_00.txt"
    path.write_text(whole)
    monkeypatch.setattr("positionbias.formats.trec_files._SCAN", 20)
    with open(path, "rb") as handle:
        blocks = list(_document_ranges(handle, str(path), size, begins=DOCUMENT_START))
    with open(path, "rb") as handle:
        streamed = list(_stream_documents(handle, str(path), size, begins=DOCUMENT_START))
    assert [block.read() for block in blocks] == [block.read() for block in streamed]
    starts = [found.start() for found in re.finditer(r"(?m)^<DOC>$", whole)]
    cuts = [0]
    while after := [start for start in starts if start >= cuts[-1] + size]:
        cuts.append(after[0])
    assert [block.start for block in blocks] == cuts
    assert [passage for block in blocks for passage in tagged_documents(block)] == [
        Passage(str(number), f"t {' '.join(text.split())}") for number, text in enumerate(texts * 3)
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            LOG,
            record(11, [11]) + record(12, [11, 12])[:40],
            "2013-01-01.json:2: wanted one JSON object a line; found",
        ),
        (
            LOG,
            '{"DocumentId": 3}\n',
            ":1: wanted a click: an object with DocumentId and Documents; found one without",
        ),
        (
            LOG,
            '{"DocumentId": false, "Documents": []}\n',
            ":1: wanted ids of documents; found False",
        ),
        (LOG, "[]\n", ":1: wanted a click: an object with DocumentId and Documents; found a list"),
        (
            LOG,
            record(11, "x")[:-1].replace('"x"', "7") + "\n",
            ":1: wanted ids of documents; found 7",
        ),
        (HEAD, topics({"8": ""}), ":1: wanted a topic with text; found only '8'"),
        (
            HEAD,
            "<top>\n<title> oil lamp\n</top>\n",
            ":1: wanted a number in every topic; found none",
        ),
        (HEAD, topics({"8": "a"}) * 2, "wanted every topic once; found topic '8' again"),
        (HEAD, "<tops>\n", "wanted TREC topics"),
        (
            DOCS,
            ONE.replace("</DOC>", ""),
            ":1: wanted </DOC> after this <DOC>; found the end of the file",
        ),
        (
            DOCS,
            ONE + ONE.replace("<DOCNO> 11 </DOCNO>", ""),
            ":13: wanted <DOCNO> an id </DOCNO> in every document; found none",
        ),
        (
            DOCS,
            "</DOC>\n",
            ":1: wanted every document between <DOC> and </DOC>; found </DOC> without <DOC>",
        ),
        (DOCS, "\n", "docs_grp_00.txt: wanted documents; found none"),
        (DOCS, ONE + ONE, "wanted every id once"),
        ("benchmark/qrels/qrels.raw.head.train.txt", "8 0 11\n", ":1: wanted four columns"),
        (
            DOCS,
            ONE.replace(" </TITLE>", ""),
            (
                ":4: wanted </TITLE> after this <TITLE>, at the end of a line; found none before "
                "</DOC>"
            ),
        ),
        (
            DOCS,
            ONE.replace("</TEXT>\n", ""),
            ":7: wanted </TEXT> after this <TEXT>, at the end of a line; found none before </DOC>",
        ),
        (
            DOCS,
            ONE.replace("x\n", "x\n</TEXT>\nthe rest\n"),
            ":10: wanted all of a document in DOCNO, TITLE, URL or TEXT, each closed",
        ),
        (
            DOCS,
            ONE.replace("<TEXT>", "before\n<TEXT>"),
            (
                ":7: wanted all of a document in DOCNO, TITLE, URL or TEXT, each closed once; "
                "found 'before'"
            ),
        ),
        (
            DOCS,
            ONE + "prose\n" + ONE.replace("11", "12"),
            ":13: wanted every document between <DOC> and </DOC>; found 'prose'",
        ),
        (
            DOCS,
            "<DOC> <DOCNO> 11 </DOCNO>\n</DOC>\n",
            ":1: wanted every document between <DOC> and </DOC>; found '<DOC> <DOCNO> 11",
        ),
    ],
    ids=[
        "cut-log",
        "no-list",
        "false",
        "no-object",
        "no-ids",
        "no-text",
        "no-number",
        "twice",
        "no-topic",
        "open",
        "no-id",
        "closed",
        "no-documents",
        "id-twice",
        "qrels",
        "open-title",
        "open-text",
        "text-closed-twice",
        "outside",
        "between",
        "one-line",
    ],
)
def test_a_file_that_is_not_right_is_one_clear_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(InputError) as raised:
        import_tripclick([release(tmp_path / "tc", {name: content})], tmp_path / "out")
    assert message in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_said(tmp_path: Path) -> None:
    (tmp_path / "tc").mkdir()
    with pytest.raises(InputError, match=r"wanted files of TripClick: docs_grp_\*"):
        import_tripclick([tmp_path / "tc"], tmp_path / "out")
