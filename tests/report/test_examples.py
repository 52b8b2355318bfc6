"""Queries to look at: what is marked, and that the texts stay texts."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.report.examples import example_groups, marked
from positionbias.report.html import write_report
from positionbias.results.payloads import Examples
from positionbias.results.result import Result, load_results, save_results

from . import invented_audit
from .pages import Page
from .test_html import HOSTILE, check

spans_of = st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40)), max_size=6)


@pytest.mark.parametrize(
    ("spans", "wanted"),
    [
        ([(4, 7)], [("one ", False), ("two", True), (" three", False)]),
        ([], [("one two three", False)]),
        ([(0, 3), (8, 13)], [("one", True), (" two ", False), ("three", True)]),
        ([(4, 6), (5, 7)], [("one ", False), ("two", True), (" three", False)]),  # they overlap
        ([(6, 7), (4, 6)], [("one ", False), ("two", True), (" three", False)]),  # they touch, in the wrong order
        ([(5, 5), (9, 8)], [("one two three", False)]),  # nothing in them
        ([(8, 99)], [("one two ", False), ("three", True)]),  # beyond the end
        ([(-2, 3)], [("one", True), (" two three", False)]),
    ],
)
def test_what_spans_cover_is_marked(spans: list[tuple[int, int]], wanted: list[tuple[str, bool]]) -> None:
    assert marked("one two three", spans) == wanted


def test_an_empty_text_is_one_empty_piece() -> None:
    assert marked("", [(0, 4)]) == [("", False)]


@given(st.text(max_size=30), spans_of)
def test_the_pieces_are_the_text_and_a_letter_is_marked_where_a_span_covers_it(text: str, spans: list[tuple[int, int]]) -> None:
    pieces = marked(text, spans)
    assert "".join(piece for piece, _ in pieces) == text
    covered = [any(start <= index < end for start, end in spans) for index in range(len(text))]
    assert [is_marked for piece, is_marked in pieces for _ in piece] == covered
    assert all(one[1] != other[1] for one, other in itertools.pairwise(pieces))  # no piece is cut without need


def test_a_group_a_system_and_missing_ranks() -> None:
    groups = example_groups(invented_audit.audit(invented_audit.FOUR))
    assert [group.label for group in groups] == list(invented_audit.FOUR)
    first, _, last = groups[0].examples
    assert (first.change, first.ranks) == ("nDCG@10 1.000 → 0.431", "rank 1 → 4")
    assert last.ranks == "rank 1 → –"
    assert [piece for piece, is_marked in first.original if is_marked] == ["1784"]
    assert [piece for piece, is_marked in first.rotated if is_marked] == ["1784"]


def test_no_examples_are_no_group() -> None:
    empty = Result("examples", "squad", "test", "s", 1, None, None, 0, Examples([], "nDCG@10"))
    assert example_groups([empty]) == []


def section(page: Page) -> str:
    return next(e for e in page.root.every("section") if e.attributes["id"] == "examples").text


def test_hostile_passages_stay_text(tmp_path: Path) -> None:
    text = f"{HOSTILE} in 1784 until </p></details></section><mark>"
    payload = Examples([invented_audit.example(0, query=HOSTILE, text=text)], f"nDCG{HOSTILE}")
    results = [Result("examples", "squad", "test", HOSTILE, 1, None, None, 1, payload)]
    save_results(tmp_path / "audit", results, invented_audit.manifest())
    assert load_results(tmp_path / "audit") == results
    page = check(write_report([tmp_path / "audit"], tmp_path / "report.html").read_text("utf-8"))
    details = [e for e in page.root.every("details") if e.attributes.get("class") == "example"]
    assert len(details) == 1
    assert [e.text for e in details[0].every("mark")] == ["1784", "1784"]
    original, rotated = (e.text for e in details[0].every("p") if "dir" in e.attributes)
    assert original == text
    assert rotated == f"until </p></details></section><mark> {HOSTILE} in 1784"
    assert details[0].every("summary")[0].text.startswith(HOSTILE)
    assert "49" not in section(page)
