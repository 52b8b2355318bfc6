"""TripClick's layout: documents, topics, judgements, runs and triples as the release has them,
and files that are not right.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage, Qrel
from positionbias.core.run import Run
from positionbias.formats.tripclick import import_tripclick
from tests.cli.conftest import RunPosbias
from tests.cli.conftest import run_posbias as run_posbias
from tests.formats.msmarco_files import write_tar
from tests.formats.tripclick_files import document, files, topics


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


def test_judgements_of_unknown_documents_are_kept_and_counted(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    assert Qrel("20", "99", 1) in collection.qrels("train")
    assert collection.manifest.content["absent"] == {"train": {"judgements": 1, "passages": 1}}


def test_runs_and_both_forms_of_triples_stand_beside_it(tmp_path: Path) -> None:
    collection = import_tripclick([release(tmp_path / "tc")], tmp_path / "out")
    run = Run.from_file(collection.path / "runs" / "bm25_head_validation.run")
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


def test_archives_give_the_same_collection(tmp_path: Path) -> None:
    plain = import_tripclick([release(tmp_path / "tc")], tmp_path / "plain")
    for top in ("benchmark", "dlfiles"):
        of_top = {name: content for name, content in files().items() if name.startswith(top)}
        write_tar(tmp_path / "packed" / f"{top}.tar.gz", of_top)
    packed = import_tripclick([tmp_path / "packed"], tmp_path / "unpacked")
    assert packed.checksum == plain.checksum


def test_any_number_of_workers_writes_the_same(tmp_path: Path, run_posbias: RunPosbias) -> None:
    place = release(tmp_path / "tc")
    checksums = set()
    for workers in ("1", "2"):
        run_posbias(
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


def test_what_is_skipped_is_not_read(tmp_path: Path) -> None:
    run = "dlfiles/run.trip.BM25.head.val.txt"
    place = release(tmp_path / "tc", {run: "no run\n"})
    collection = import_tripclick([place], tmp_path / "out", skip=["runs", "triples"])
    assert not (collection.path / "runs").exists()
    not_read = collection.manifest.content["source"]["not_read"]
    assert not_read["run.trip.BM25.head.val.txt"] == "skipped, as asked"


HEAD = "benchmark/topics/topics.head.train.txt"
DOCS = "benchmark/documents/docs_grp_00.txt"
ONE = document("11", "t", "u", "x")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (HEAD, topics({"8": ""}), ":1: wanted a topic with text; found only '8'"),
        (
            HEAD,
            "<top>\n<title> oil lamp\n</top>\n",
            ":1: wanted a number in every topic; found none",
        ),
        (HEAD, topics({"8": "a"}) * 2, "wanted every topic once; found topic '8' again"),
        (HEAD, "<tops>\n", "wanted TREC topics"),
        (DOCS, ONE.replace("</DOC>", ""), ":12: wanted <DOC> with DOCNO, TITLE, URL and TEXT"),
        (DOCS, ONE + ONE.replace("<DOCNO> 11 </DOCNO>", ""), ":23: wanted <DOC> with DOCNO"),
        (DOCS, "</DOC>\n", ":1: wanted <DOC> with DOCNO"),
        (DOCS, "", "docs_grp_00.txt: wanted passages; found an empty file"),
        (DOCS, ONE + ONE, "wanted every id once"),
        ("benchmark/qrels/qrels.raw.head.train.txt", "8 0 11\n", ":1: wanted four columns"),
        (DOCS, ONE.replace(" </TITLE>", ""), ":11: wanted <DOC> with DOCNO"),
        (DOCS, ONE.replace("</TEXT>\n", ""), ":10: wanted <DOC> with DOCNO"),
        (DOCS, ONE.replace("<TEXT>", "before\n<TEXT>"), ":12: wanted <DOC> with DOCNO"),
        (DOCS, ONE + "prose\n" + ONE.replace("11", "12"), ":24: wanted <DOC> with DOCNO"),
        (DOCS, "<DOC> <DOCNO> a b </DOCNO>\n</DOC>\n", ":2: wanted <DOC> with DOCNO"),
    ],
    ids=[
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
        "outside",
        "between",
        "two-ids",
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
