"""A collection out as MS MARCO's files and in again: the same content, whatever the texts hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.formats.attach import Attachment
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.msmarco_export import write_msmarco
from positionbias.formats.release_settings import MsmarcoSettings

from .msmarco_files import write_files
from .test_msmarco import COLLECTION, RELEASE


def test_import_then_export_gives_the_lines_of_what_is_kept(tmp_path: Path) -> None:
    made = import_msmarco([write_files(tmp_path / "in", RELEASE)], tmp_path / "made")
    written = write_msmarco(made, tmp_path / "out", made.splits)
    assert written == (7, 8, 7, 0, 0, 0)
    files = {path.name: path.read_bytes().decode() for path in (tmp_path / "out").glob("*.tsv")}
    assert files == {
        "collection.tsv": COLLECTION + "\n",
        "queries.train.tsv": "11\twhat does the lamp burn\n12\thow much\n14\thow high\n",
        "qrels.train.tsv": RELEASE["qrels.train.tsv"],
        "queries.dev.small.tsv": "22\twhat stands there\n",
        "qrels.dev.small.tsv": "22\t0\t2\t1\n",
        "queries.dev.tsv": "21\twhich gate\n24\tlast one\n",
        "qrels.dev.tsv": "21\t0\t6\t1\n24\t0\t3\t1\n",
        "queries.eval.tsv": "31\twithheld\n32\talso withheld\n",
    }
    again = import_msmarco([tmp_path / "out"], tmp_path / "again")
    assert again.checksum == made.checksum
    assert again.manifest.content["source"]["not_read"] == {}
    manifest = read_manifest(tmp_path / "out")
    assert manifest.licence == made.manifest.licence
    assert manifest.input("collection").checksum == made.checksum  # type: ignore[union-attr]


def test_any_collection_goes_round_with_its_names(
    tmp_path: Path, small_collection: Collection
) -> None:
    """Splits of other names, further judgement sets, queries without judgement; fields and answers
    have no place.
    """
    with create_collection(tmp_path / "made") as writer:
        writer.add_passages(small_collection.passages())
        writer.add_split(
            "train", [Query("1", "one"), Query("2", "unjudged")], [Qrel("1", "p-lamp", 1)]
        )
        writer.add_split("validation", [Query("5", "five")], [Qrel("5", "p-gate", 2)])
        writer.add_split(
            "dl19", [Query("3", "three")], [Qrel("3", "p-lamp", 3), Qrel("3", "p-gate", 0)]
        )
        writer.add_qrels("dl19", "llm", [Qrel("3", "p-word", -1)])
        writer.add_split("eval", [Query("4", "four")], [])
        writer.finish(Manifest("collection", "made", "a test"))
    made, out = Collection(tmp_path / "made"), tmp_path / "out"
    assert write_msmarco(made, out, made.splits) == (7, 5, 5, 1, 0, 0)
    attachments = [
        Attachment("dl19", out / "queries.dl19.tsv", out / "qrels.dl19.tsv"),
        Attachment("dl19.llm", out / "queries.dl19.tsv", out / "qrels.dl19.llm.tsv"),
    ]
    again = import_msmarco(
        [out], tmp_path / "again", release=MsmarcoSettings(attach=attachments, keep_unjudged=True)
    )
    assert again.checksum == made.checksum
    written = write_msmarco(small_collection, tmp_path / "exported", ["test"])
    assert (written.fields_left_out, written.answers_left_out) == (1, 4)


ID = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=6)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30).filter(
    lambda text: not text.endswith("\r")
)


@settings(max_examples=25)
@given(
    passages=st.dictionaries(ID, TEXT, max_size=6),
    queries=st.dictionaries(ID, TEXT, max_size=4),
    data=st.data(),
)
def test_any_text_goes_round(
    tmp_path_factory: pytest.TempPathFactory,
    passages: dict[str, str],
    queries: dict[str, str],
    data: st.DataObject,
) -> None:
    assume(passages or queries)
    folder = tmp_path_factory.mktemp("round")
    with create_collection(folder / "made") as writer:
        writer.add_passages(Passage(*item) for item in passages.items())
        split = data.draw(st.sampled_from(["train", "validation", "test", "eval"]))
        judged = [
            Qrel(query, passage, data.draw(st.integers(-1, 3)))
            for query in queries
            for passage in passages
        ]
        if queries:
            writer.add_split(split, [Query(*item) for item in queries.items()], judged)
        writer.finish(Manifest("collection", "made", "a test"))
    made = Collection(folder / "made")
    write_msmarco(made, folder / "out", made.splits)
    again = import_msmarco([folder / "out"], folder / "again")
    assert again.checksum == made.checksum
    assert list(again.passages()) == list(made.passages())


@pytest.mark.parametrize(
    ("passage", "query", "message"),
    [
        (
            Passage("p", "two\nlines"),
            Query("1", "x"),
            "passage 'p': wanted text on one line; found a line break",
        ),
        (
            Passage("a\tb", "x"),
            Query("1", "x"),
            r"passage 'a\\tb': wanted an id without white space",
        ),
        (Passage("", "x"), Query("1", "x"), "passage '': wanted an id without white space"),
        (
            Passage("\ufeffp", "x"),
            Query("1", "x"),
            "wanted an id without white space or byte-order mark",
        ),
        (Passage("p", "x"), Query("1", "two\nlines"), "query '1': wanted text on one line"),
        (Passage("p", "x"), Query("a b", "x"), "query 'a b': wanted an id without white space"),
    ],
)
def test_what_a_line_cannot_hold_is_named(
    tmp_path: Path, passage: Passage, query: Query, message: str
) -> None:
    with create_collection(tmp_path / "made") as writer:
        writer.add_passages([passage])
        writer.add_split("train", [query], [])
        writer.finish(Manifest("collection", "made", "a test"))
    with pytest.raises(InputError, match=message) as error:
        write_msmarco(Collection(tmp_path / "made"), tmp_path / "out", ["train"])
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_query_in_validation_and_test_and_a_taken_place(
    tmp_path: Path, small_collection: Collection
) -> None:
    with create_collection(tmp_path / "made") as writer:
        writer.add_passages([Passage("p", "x")])
        for split in ("validation", "test"):
            writer.add_split(split, [Query("1", "x")], [Qrel("1", "p", 1)])
        writer.finish(Manifest("collection", "made", "a test"))
    with pytest.raises(
        InputError, match="wanted each query in either validation or test, .*; found '1' in both"
    ):
        write_msmarco(Collection(tmp_path / "made"), tmp_path / "out", ["validation", "test"])
    with pytest.raises(OutputExistsError):
        write_msmarco(small_collection, tmp_path / "made", ["train"])
    with pytest.raises(InputError, match="wanted split 'dl19'"):
        write_msmarco(small_collection, tmp_path / "out", ["dl19"])
