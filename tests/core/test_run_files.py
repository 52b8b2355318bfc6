"""Runs are read as arrays as they are line by line, by blocks of any size."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.blocks import Block, file_blocks
from positionbias.core.errors import InputError
from positionbias.core.run import Run
from positionbias.core.run_files import _parsed, _plain, query_lines, rankings_of

words = st.text("ab1é", min_size=1, max_size=3)
numbers = st.sampled_from(["2", "2.5", "-1e3", "1_0", "0.1", "2.50", "+3", "1e30"])
HEADER = "# ir_metadata.start\n# tag: t\n#   deeper: ö\n# ir_metadata.end\n"


@st.composite
def runs(draw: st.DrawFn) -> str:
    """Lines of a run, plain or not, a query's lines together."""
    queries = draw(st.lists(words, min_size=1, max_size=4, unique=True))
    separator = draw(st.sampled_from([" ", "\t", "  ", " \t", "\x0b"]))
    ending = draw(st.sampled_from(["\n", "\r\n", " \n", "\n\n"]))
    lines = []
    for query in queries:
        for rank, passage in enumerate(
            draw(st.lists(words, min_size=1, max_size=5, unique=True)), 1
        ):
            lines.append(separator.join([query, "Q0", passage, str(rank), draw(numbers), "tag"]))
    start = draw(st.sampled_from(["", "\n", "\ufeff", HEADER, "\ufeff" + HEADER]))
    return start + ending.join(lines) + draw(st.sampled_from([ending, ""]))


@given(runs(), st.integers(1, 60))
def test_rankings_are_those_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int
) -> None:
    path = tmp_path_factory.mktemp("run") / "r"
    path.write_bytes(text.encode())
    lines = [line.split() for line in text.removeprefix("\ufeff").removeprefix(HEADER).split("\n")]
    scores: dict[str, dict[str, float]] = {}
    for query_id, _, passage_id, _, score, _ in filter(None, lines):
        scores.setdefault(query_id, {})[passage_id] = float(score)
    expected = Run(scores)
    size = 1000 if HEADER in text else size  # a header is within the first block
    streamed = list(rankings_of(file_blocks(path, size), path))
    for read in (streamed, list(Run.from_file(path).rankings())):
        assert [(r.query_id, r.passage_ids) for r in read] == [
            (r.query_id, r.passage_ids) for r in expected.rankings()
        ]
        for ranking in read:
            assert ranking.scores.tolist() == expected[ranking.query_id].scores.tolist()
    pieces = list(query_lines(file_blocks(path, size), path))
    assert sum(len(piece.table) for piece in pieces) == sum(map(len, scores.values()))
    assert len({piece.fingerprint() for piece in pieces}) == len(pieces)


@pytest.mark.parametrize(
    "text",
    [
        b"q  a 1 2.0 t\n",  # five columns, of which a reader of single spaces sees six
        b" Q0 a 1 2.0 t\n",
        b"q Q0 a 1 2.0 \n",
        b"q Q0 a 1 2.0 t\n Q0 a 1 2.0 t\n",
        b"q Q0 a 1 2.0 t\rq Q0 b 2 1.0\n",
        b"q Q0 a 1 2.0 t\nq Q0 \xff 1 2.0 t\n",
    ],
)
def test_lines_that_are_no_columns_are_refused_by_number(text: bytes) -> None:
    assert _plain(text) is None
    block = Block("r", 0, 0, len(text), data=text, lines_before=0)
    with pytest.raises(InputError, match=r"r:[12]: wanted"):
        _parsed(block)


@pytest.mark.parametrize("text", [b"q Q0 a 1 2.0 t\nq Q0 b 2 1.0 t\n", b"q\tQ0\ta\t1\t2.0\tt\r\n"])
def test_plain_lines_are_read_by_columns(text: bytes) -> None:
    assert _plain(text) is not None


def test_a_fault_in_a_later_block_has_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.run.gz"
    path.write_bytes(gzip.compress(b"q Q0 a 1 2.0 x\nr Q0 a 1 2.0 x\ns Q0 a 1 nan x\n"))
    with pytest.raises(InputError, match=r"bad.run.gz:3: wanted a finite score; found 'nan'"):
        list(query_lines(file_blocks(path, 16), path))
