"""Training queries streamed, test queries with their fields; what is no
query refused.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.leakage.queries import (
    FieldText,
    add_variants,
    collection_source,
    field_texts,
    tsv_queries,
    tsv_source,
)


def test_a_source_numbers_all_its_lines(tmp_path: Path) -> None:
    text = "7\tiron gate\n\n8\t\n9\t ?! \r\n10\tgreen lamp\r\n"
    (tmp_path / "q.tsv").write_bytes(text.encode())
    (tmp_path / "q.tsv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("q.tsv", "q.tsv.gz"):
        source = tsv_source("a", tmp_path / name)
        assert source.take([3, 1]) == {1: ("8", ""), 3: ("10", "green lamp")}


def test_a_split_is_a_source(small_collection: Collection) -> None:
    source = collection_source("small", small_collection, "train")
    expected = [(query.query_id, query.text) for query in small_collection.queries("train")]
    assert list(source.read()) == expected == list(source.read())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1\ta\nno tab\n", "q.tsv:2: wanted a query: id, tab, text; found 1 columns"),
        ("\ttext\n", "q.tsv:1: wanted a query: id, tab, text; found 2 columns"),
        ("1\ta\td\turl\n", "q.tsv:1: wanted a query: id, tab, text; found 4 columns"),
        ("\n", "q.tsv: wanted queries: id, tab, text; found none"),
        ("<top>\n<num> Number: 1\n", "q.tsv:1: wanted a query: id, tab, text; found 1 columns"),
    ],
)
def test_what_is_no_query_is_refused(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "q.tsv").write_text(text)
    with pytest.raises(InputError) as error:
        tsv_queries(tmp_path / "q.tsv")
    assert found in str(error.value)


def test_further_lines_of_an_id_are_variants(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("1\ta b\n2\tc\n1\tb\n1\td\n")
    assert tsv_queries(tmp_path / "q.tsv") == [
        Query("1", "a b", {"variant1": "b", "variant2": "d"}),
        Query("2", "c"),
    ]


def test_variants_join_their_queries(tmp_path: Path) -> None:
    (tmp_path / "v.tsv").write_text("1\tb\n9\tx\n1\tc\n")
    queries = [Query("1", "a", {"variant1": "own"}), Query("2", "d")]
    joined = add_variants(queries, tmp_path / "v.tsv")
    assert [dict(query.fields) for query in joined] == [
        {"variant1": "own", "variant2": "b", "variant3": "c"},
        {},
    ]
    with pytest.raises(InputError, match=r"v.tsv: wanted variants of the test queries; found none"):
        add_variants(queries[1:], tmp_path / "v.tsv")


TOPIC = Query(
    "1",
    "iron gate",
    {"description": "Where is the gate?", "narrative": " ", "variant2": "gates", "type": "entity"},
)


def test_the_texts_of_topics_by_field() -> None:
    # a topic of a title alone has a title too
    assert field_texts([TOPIC, Query("2", "??"), Query("3", "lamp")]) == [
        FieldText("1", "title", "iron gate"),
        FieldText("1", "description", "Where is the gate?"),
        FieldText("1", "variant", "gates"),
        FieldText("3", "title", "lamp"),
    ]
    with pytest.raises(InputError, match="wanted test queries with text; found none"):
        field_texts([Query("2", "")])
