"""Text that a spreadsheet would take for a formula is written as text, numbers as numbers, and
reads back equal.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import positionbias
from positionbias.core.csv_cells import read_cell, write_rows

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "'=1", "''-x")


def written(rows: list[list[object]], delimiter: str = ",") -> list[list[str]]:
    out = io.StringIO(newline="")
    write_rows(out, rows, delimiter=delimiter)
    return list(csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=delimiter))


def test_formulas_become_text_and_numbers_stay() -> None:
    [cells] = written([list(FORMULAS)])
    assert cells == [*(f"'{text}" for text in FORMULAS[:6]), "=", "''=1", "'''-x"]
    numbers = [-0.5, "-0.5", "+3", "-1e-07", "-inf", 7, None, "", "-", "a=b", "'tis"]
    assert written([numbers]) == [
        ["-0.5", "-0.5", "+3", "-1e-07", "-inf", "7", "", "", "-", "a=b", "'tis"]
    ]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_we_read_back_is_equal(text: str) -> None:
    for delimiter in ",\t":
        assert [read_cell(cell) for cell in written([[text]], delimiter)[0]] == [text]


@given(st.lists(st.text(alphabet="'=+-@\t\rab1.,\"\n", max_size=6), min_size=1, max_size=4))
def test_any_row_reads_back_equal(row: list[str]) -> None:
    assert [[read_cell(cell) for cell in cells] for cells in written([[*row, "end"]])] == [
        [*row, "end"]
    ]


def test_all_csv_is_written_here() -> None:
    package = Path(positionbias.__file__).parent
    assert [path.name for path in package.rglob("*.py") if "csv.writer(" in path.read_text()] == [
        "csv_cells.py"
    ]
