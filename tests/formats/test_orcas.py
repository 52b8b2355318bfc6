"""ORCAS: clicks as judgements, alone and beside the documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.formats import orcas_clicks
from positionbias.formats.msmarco_docs import import_msmarco_docs
from positionbias.formats.orcas import import_orcas

from . import test_msmarco_docs as docs
from .msmarco_files import write_files, write_tar

CLICKS = (
    "10\tgithub com\tD1\thttps://a/\n"
    "11\tlamp oil\tD2\thttps://b/\n"
    "10\tgithub com\tD7\thttps://g/\n"
    "10\tgithub com\tD1\thttps://a/\n"
)
QRELS = [Qrel("10", "D1", 1), Qrel("10", "D7", 1), Qrel("11", "D2", 1)]


def test_clicks_alone_make_queries_and_judgements(tmp_path: Path) -> None:
    made = import_orcas([write_files(tmp_path / "in", {"orcas.tsv.gz": CLICKS})], tmp_path / "out")
    assert (len(made), made.splits) == (0, ["orcas"])
    assert made.queries("orcas") == [Query("10", "github com"), Query("11", "lamp oil")]
    assert made.qrels("orcas") == QRELS  # the pair that stands twice counts once
    assert made.manifest.content["absent"] == {"orcas": {"judgements": 3, "passages": 3}}
    assert "non-commercial" in made.manifest.licence


def test_an_archive_is_read_with_its_candidates(tmp_path: Path) -> None:
    top = "10 Q0 D2 1 -1.5 Indri\n10 Q0 D1 2 -2 Indri\n"
    files = {"orcas.tsv": CLICKS, "orcas-doctrain-top100": top}
    made = import_orcas([write_tar(tmp_path / "orcas.tar.gz", files)], tmp_path / "out")
    assert made.qrels("orcas") == QRELS
    run = Run.from_file(tmp_path / "out" / "runs" / "orcas-doctrain-top100.run")
    assert run["10"].passage_ids == ["D2", "D1"]
    alone = write_files(tmp_path / "in", {"orcas-doctrain-top100": top})
    with pytest.raises(InputError, match="wanted orcas.tsv; found orcas-doctrain-top100"):
        import_orcas([alone], tmp_path / "again")


def test_beside_the_documents_it_is_one_more_split(
    tmp_path: Path, small_collection: Collection
) -> None:
    documents = import_msmarco_docs(
        [write_files(tmp_path / "docs", docs.RELEASE)], tmp_path / "documents"
    )
    clicks = write_files(tmp_path / "in", {"orcas.tsv": CLICKS})
    made = import_orcas([clicks], tmp_path / "out", documents=documents)
    assert list(made.passages()) == list(documents.passages())
    assert (
        made.manifest.content["passages_checksum"]
        == documents.manifest.content["passages_checksum"]
    )
    assert made.splits == ["train", "test", "eval", "orcas"]
    for split in documents.splits:
        assert (made.queries(split), made.qrels(split)) == (
            documents.queries(split),
            documents.qrels(split),
        )
    assert made.qrels("orcas") == QRELS
    assert made.manifest.content["absent"] == {"orcas": {"judgements": 1, "passages": 1}}  # D7
    assert "MS MARCO" in made.manifest.licence
    assert "ORCAS" in made.manifest.licence
    assert made.manifest.input("documents").checksum == documents.checksum  # type: ignore
    answered = import_orcas([clicks], tmp_path / "answered", documents=small_collection)
    assert answered.answers("test") == small_collection.answers("test")
    with pytest.raises(
        SettingError, match="--documents: wanted a collection without a split 'orcas'; found one"
    ):
        import_orcas([clicks], tmp_path / "again", documents=made)


LINES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=30)


@settings(max_examples=25, deadline=None)
@given(LINES, st.integers(1, 7))
def test_a_split_is_what_dictionaries_make_of_it(
    tmp_path_factory: pytest.TempPathFactory, clicks: list[tuple[int, int]], batch: int
) -> None:
    folder, documents = tmp_path_factory.mktemp("orcas"), dict[int, dict[str, None]]()
    for query, document in clicks:
        documents.setdefault(query, {})[f"D{document}"] = None
    queries = [Query(f"{query}", f"text {query}") for query in documents]
    qrels = [
        Qrel(f"{query}", document, 1) for query, found in documents.items() for document in found
    ]
    lines = "".join(f"{query}\ttext {query}\tD{document}\tu\n" for query, document in clicks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(orcas_clicks, "BATCH", batch)
        made = import_orcas([write_files(folder / "in", {"orcas.tsv": lines})], folder / "out")
    assert (made.queries("orcas"), made.qrels("orcas")) == (queries, qrels)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("10\tgithub\tD1\n", r"orcas.tsv:1: wanted a click: .*; found 3 columns"),
        ("10\tgithub\t\thttps://a/\n", r"orcas.tsv:1: wanted a click: .*; found an empty id"),
        (
            "10\ta\tD1\tu\n10\tb\tD2\tu\n11\tc\n",
            r"orcas.tsv:2: wanted one text per query; found a second text for '10'",
        ),
        ("", r"orcas.tsv: wanted clicks; found an empty file"),
        (
            "10\ta\tD1\tu\n10\tb\tD2\tu\n",
            r"orcas.tsv:2: wanted one text per query; found a second text for '10'",
        ),
    ],
)
def test_faults_are_one_line_and_leave_nothing(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_orcas([write_files(tmp_path / "in", {"orcas.tsv": content})], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
