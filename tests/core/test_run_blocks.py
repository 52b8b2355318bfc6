"""A run by blocks: whole queries in each, the same rankings by columns as line by line, whatever
the size of a block.
"""

from __future__ import annotations

import gzip
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.ranked_blocks import rankings_of
from positionbias.core.run import read_rankings, read_run
from positionbias.core.run_blocks import _plain_columns, parse_lines, run_blocks

words = st.text("ab1é", min_size=1, max_size=3)
numbers = st.sampled_from(["2", "2.5", "-1e3", "1_0", "0.1", "2.50", "+3", "1e30"])


@st.composite
def runs(draw: st.DrawFn) -> str:
    """Lines of a run: plain ones, and such as only Python's ``split`` reads; a query's lines
    together.
    """
    queries = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    separator = draw(st.sampled_from([" ", "\t", "  ", " \t", "\x0b", "\u00a0"]))
    ending = draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
    lines = []
    for query in queries:
        for rank, passage in enumerate(
            draw(st.lists(words, min_size=1, max_size=5, unique=True)), 1
        ):
            lines.append(separator.join([query, "Q0", passage, str(rank), draw(numbers), "tag"]))
    return (
        draw(st.sampled_from(["", "\n"])) + ending.join(lines) + draw(st.sampled_from([ending, ""]))
    )


@given(runs(), st.integers(1, 60))
def test_blocks_hold_whole_queries_and_all_bytes(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    path = tmp_path_factory.mktemp("run") / "r"
    path.write_bytes(text.encode())
    blocks = list(run_blocks(path, size))
    assert b"".join(block.read() for block in blocks) == text.encode()
    lines = [[row[1] for row in parse_lines(path, block.lines())] for block in blocks]
    queries = [query for block in lines for query, _ in groupby(block)]
    assert len(queries) == len(set(queries))
    starts = [block.line_number(0) for block in blocks]
    assert starts == [1 + text.encode()[: block.start].count(b"\n") for block in blocks]


@given(runs(), st.integers(1, 60))
def test_the_rankings_are_those_of_the_whole_run(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    path = tmp_path_factory.mktemp("run") / "r"
    path.write_bytes(text.encode())
    whole = read_run(path)
    found = [ranking for block in run_blocks(path, size) for ranking in rankings_of(block)]
    assert [(r.query_id, r.passage_ids) for r in found] == [
        (r.query_id, r.passage_ids) for r in whole.rankings()
    ]
    for one, other in zip(found, whole.rankings(), strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        assert one.scores.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (b"q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n", True),
        (b"q\tQ0\ta\t1\t2.0\tt\r\n", True),
        (b"q  d a 1 2.0 t\n", False),  # five columns, of which a reader of commas sees six
        (b" Q0 a 1 2.0 t\n", False),
        (b"q Q0 a 1 2.0 \n", False),
        (b"q Q0 a 1 2.0 ", False),
        (b"q Q0 a 1 2.0 \r\n", False),
        (b"q Q0 a 1 2.0 t\n Q0 a 1 2.0 t\n", False),
        ("q Q0 a\u00a0b 1 2.0 t\n".encode(), False),
        (b"q Q0 a 1 2.0 t\rq Q0 b 2 1.0 t\n", False),
        (b"q Q0 a 1 2.0 t\r\nq Q0 b 2 1.0 t\r", False),
    ],
    ids=[
        "spaces",
        "tabs",
        "doubled",
        "leading",
        "trailing",
        "end",
        "carriage",
        "leading-later",
        "no-break",
        "carriage-within",
        "carriage-last",
    ],
)
def test_only_plain_lines_are_read_by_columns(text: bytes, plain: bool) -> None:
    assert (_plain_columns(text) is not None) == plain


@pytest.mark.parametrize("size", [1, 40, 1000])
def test_a_byte_order_mark_is_no_part_of_the_first_query(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.core.run.run_blocks", lambda path: run_blocks(path, size))
    (tmp_path / "r").write_bytes(b"\xef\xbb\xbfq Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\nq Q0 c 3 0.5 t\n")
    assert [(r.query_id, r.passage_ids) for r in read_rankings(tmp_path / "r")] == [
        ("q", ["a", "b", "c"])
    ]
    assert list(read_run(tmp_path / "r")) == ["q"]


def test_compressed_runs_have_the_same_blocks(tmp_path: Path) -> None:
    text = b"".join(b"q%d Q0 p%d %d %d t\n" % (n // 7, n, n % 7, 100 - n % 7) for n in range(200))
    (tmp_path / "plain").write_bytes(text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text))
    blocks = [
        [(b.start, b.end) for b in run_blocks(tmp_path / name, 64)]
        for name in ("plain", "packed.gz")
    ]
    assert blocks[0] == blocks[1]
    assert len(blocks[0]) > 10


def test_a_fault_in_a_later_block_has_the_line_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.core.run.run_blocks", lambda path: run_blocks(path, 16))
    (tmp_path / "bad.run").write_text("q Q0 a 1 2.0 x\nr Q0 a 1 2.0 x\ns Q0 a 1 nan x\n")
    with pytest.raises(InputError, match=r"bad.run:3: wanted a finite score; found 'nan'"):
        list(read_rankings(tmp_path / "bad.run"))


def test_long_ids_that_begin_alike_are_told_from_one_that_stands_twice(tmp_path: Path) -> None:
    ids = [f"{'clueweb-00-' * words}{n}" for words in (0, 1, 2) for n in range(50)]
    lines = [
        f"{query} Q0 {item} 1 {-place} t\n"
        for query in ("q", "r")
        for place, item in enumerate(ids)
    ]
    (tmp_path / "r").write_text("".join(lines))
    assert [r.passage_ids for r in read_rankings(tmp_path / "r")] == [ids, ids]
    (tmp_path / "twice").write_text("".join([*lines, f"r Q0 {ids[-1]} 1 -999 t\n"]))
    with pytest.raises(
        InputError, match=f"wanted each passage once a query; found '{ids[-1]}' twice for query 'r'"
    ):
        list(read_rankings(tmp_path / "twice"))
