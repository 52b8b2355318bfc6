"""Queries and judgements attached by name: both forms, what is left out, further judgement sets,
faults.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import zstandard

from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel, Query
from positionbias.formats.attach import Attachment, attach, read_judgements, read_queries
from positionbias.formats.splits import Split

from .msmarco_files import write_files

QUERIES = (
    "19335\tanthropological definition\n47923\taxon terminals\tand a tab\n9\tnobody judged this\n"
)
QRELS = "19335 Q0 1017759 0\n19335 Q0 1082489 2\n47923\t0\t99\t3\n5 0 99 1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path, {"q.tsv": QUERIES, "qrels.txt": QRELS})


def test_queries_in_tsv(folder: Path) -> None:
    assert read_queries(folder / "q.tsv") == [
        Query("19335", "anthropological definition"),
        Query("47923", "axon terminals\tand a tab"),  # only the first tab parts id from text
        Query("9", "nobody judged this"),
    ]


def test_judgements_separated_by_spaces_or_tabs(folder: Path) -> None:
    assert read_judgements(folder / "qrels.txt")[1:] == [
        Qrel("19335", "1082489", 2),
        Qrel("47923", "99", 3),
        Qrel("5", "99", 1),
    ]


def test_a_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    write_files(tmp_path, {"q.tsv": "\ufeff1\tone\r\n2\ttwo", "r.txt": "\ufeff1 0 p 1\r\n"})
    assert [query.query_id for query in read_queries(tmp_path / "q.tsv")] == ["1", "2"]
    assert read_judgements(tmp_path / "r.txt") == [Qrel("1", "p", 1)]


def test_an_attached_split_has_its_judged_queries_and_counts_the_rest(folder: Path) -> None:
    splits: list[Split] = []
    attach(splits, [Attachment("dl19", folder / "q.tsv", folder / "qrels.txt")])
    assert [query.query_id for query in splits[0].queries] == ["19335", "47923"]
    assert splits[0].qrels == [
        Qrel("19335", "1017759", 0),
        Qrel("19335", "1082489", 2),
        Qrel("47923", "99", 3),
    ]
    assert splits[0].left_out() == {"unjudged_queries": 1, "judgements_without_query": 1}
    attach(splits, [Attachment("all", folder / "q.tsv", folder / "qrels.txt")], keep_unjudged=True)
    assert [len(split.queries) for split in splits] == [2, 3]


def test_a_name_with_a_dot_is_a_further_judgement_set(folder: Path) -> None:
    write_files(folder, {"more.txt": "19335 0 7 1\n9 0 7 1\n"})
    splits: list[Split] = []
    attach(
        splits,
        [
            Attachment("dl19", folder / "q.tsv", folder / "qrels.txt"),
            Attachment("dl19.llm", folder / "q.tsv", folder / "more.txt"),
        ],
    )
    assert [split.name for split in splits] == ["dl19"]
    assert splits[0].further == {"llm": [Qrel("19335", "7", 1)]}
    assert splits[0].without_query == 2  # query 5, and query 9, which the split left out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dl19", "--attach: wanted a new name; found 'dl19', which is taken"),
        ("a/b", "--attach: wanted a name of letters, digits, - and _; found 'a/b'"),
        ("", "--attach: wanted a name of letters"),
        ("dl20.llm", "--attach: wanted split 'dl20' before 'dl20.llm'; found no such split"),
        ("dl19.", "--attach: wanted a name of letters"),
    ],
)
def test_names_that_cannot_be(folder: Path, name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        attach([Split("dl19")], [Attachment(name, folder / "q.tsv", folder / "qrels.txt")])


def test_files_that_do_not_belong_together(folder: Path) -> None:
    write_files(folder, {"other.txt": "77 0 p 1\n", "texts.tsv": "19335\tanother text\n"})
    with pytest.raises(
        InputError, match=r"other.txt: wanted judgements of the queries in .*; found none of them"
    ):
        attach([], [Attachment("x", folder / "q.tsv", folder / "other.txt")])
    splits: list[Split] = []
    attach(splits, [Attachment("x", folder / "q.tsv", folder / "qrels.txt")])
    with pytest.raises(
        InputError,
        match=r"texts.tsv: wanted the queries of split 'x'; found another text for query '19335'",
    ):
        attach(splits, [Attachment("x.set", folder / "texts.tsv", folder / "qrels.txt")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tone\n2 two\n", r":2: wanted a query: id \(without spaces\), tab, text; found no tab"),
        ("\tone\n", r":1: wanted a query: .*; found the id ''"),
        ("a b\tone\n", r":1: wanted a query: .*; found the id 'a b'"),
        ("1\tone\n1\tone\n", r":2: wanted every query id once; found '1' again"),
        ("1\tone\n\n", r":2: wanted a query"),
        ("", "found an empty file"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    write_files(tmp_path, {"q.tsv": text})
    with pytest.raises(InputError, match=message) as error:
        read_queries(tmp_path / "q.tsv")
    assert "\n" not in str(error.value)


def test_a_grade_that_no_measure_can_count(tmp_path: Path) -> None:
    write_files(tmp_path, {"r.txt": "1 0 p 1000000\n2 0 p 1000001\n"})
    with pytest.raises(
        InputError, match=":2: wanted a whole number up to 1,000,000 as grade; found '1000001'"
    ):
        read_judgements(tmp_path / "r.txt")


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-9], lambda data: data[:20] + b"!!" + data[22:]],
    ids=["cut", "changed"],
)
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_a_damaged_archive_is_one_line(tmp_path: Path, pack: Any, damage: Any) -> None:
    for read in (read_queries, read_judgements):
        path = tmp_path / "packed"
        path.write_bytes(damage(pack(QUERIES.encode() * 50)))
        with pytest.raises(InputError, match=r"packed.*: wanted .*; found .*; "):
            read(path)
