"""Figures: their JSON is that of their fields, and a result's measure says which class reads it
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from positionbias.core.manifest import Manifest
from positionbias.results.figures import Figures, Rows, read_figures
from positionbias.results.result import Result, load_results, save_results
from positionbias.results.runs import BM25Figures, DenseFigures, RerankingFigures
from positionbias.results.select import of_type

BM25 = BM25Figures(queries=3, candidates=30, depth=10, without_known_term=0, index="built")
DENSE = DenseFigures(
    queries=3, candidates=30, empty_queries=1, short=0, index="exact", index_bytes=9
)


class Length(msgspec.Struct):
    words: float


class Lengths(Rows[Length], frozen=True):
    """Of no measure: read by name alone."""

    rows: Mapping[str, Length]


def found(measure: str, payload: Figures) -> Result:
    return Result(measure, "planted", "test", "bm25", None, 1.0, None, 3, payload)


def test_a_field_stands_under_its_name_in_json() -> None:
    assert BM25.to_rows() == {
        "queries": 3, "candidates": 30, "depth": 10, "queries without a known term": 0,
        "index": "built",
    }  # fmt: skip
    reranked = RerankingFigures(
        queries=3, candidates=30, passages=20, encoded_again=0, without_word=0, long_pairs=2
    )
    assert list(reranked.to_rows())[-1] == "pairs up to the length limit"
    assert "passages up to the length limit" not in reranked.to_rows()


def test_numpy_becomes_plain() -> None:
    numbers = BM25Figures(
        queries=np.int64(3), candidates=30, depth=10, without_known_term=0, index="x"
    )  # type: ignore[arg-type]
    assert type(numbers.to_rows()["queries"]) is int


def test_classes_of_one_measure_are_distinguished_by_their_fields(tmp_path: Path) -> None:
    given = [found("candidates", BM25), found("candidates", DENSE)]
    save_results(tmp_path / "r", given, Manifest(kind="results", name="r", command="a test"))
    again = load_results(tmp_path / "r")
    assert again == given
    assert of_type(again, DenseFigures) == [(given[1], DENSE)]


def test_rows_stand_by_themselves() -> None:
    lengths = Lengths(rows={"train": Length(3.5)})
    assert lengths.to_rows() == {"train": {"words": 3.5}}
    assert Lengths.from_rows(lengths.to_rows()) == lengths


@pytest.mark.parametrize(
    "rows", [{**BM25.to_rows(), "queries": "3"}, {**BM25.to_rows(), "more": 1}, {"queries": 3}]
)
def test_rows_of_another_form_are_refused(rows: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="Expected `int`|unknown field|missing required field"):
        read_figures("candidates", rows)


def test_a_measure_without_a_class_is_refused() -> None:
    with pytest.raises(ValueError, match="figures of the unknown measure 'no such measure'"):
        read_figures("no such measure", {})
