"""The three forms of a table: text, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.errors import OutputExistsError
from positionbias.core.records import Interval
from positionbias.core.terminal import lines_of, shown_width
from positionbias.report.table import (
    Cell,
    Column,
    Table,
    as_csv,
    as_latex,
    as_text,
    latex_escape,
    number_cell,
    save_tables,
)

NAMES = (Column("Measure", numeric=False), Column("System", numeric=False))


def small() -> Table:
    rows = [
        [
            Cell("nDCG@10"),
            Cell("tk_a & co"),
            Cell("0.432", 0.4321),
            Cell("−8.6\u00a0% [−10.0, −7.2]", -0.0856, -0.1, -0.072),
        ],
        [
            Cell("nDCG@10"),
            Cell("b"),
            Cell("0.4", 0.4),
            Cell("0.0\u00a0%", 0.0, -0.01, 0.01),
        ],
        [Cell("RR@10"), Cell("b"), Cell("–", None), Cell("–", None)],
    ]
    return Table(
        "small",
        "A 5 % title",
        (*NAMES, Column("Orig."), Column("Change", "Rotated")),
        rows,
        ("A note.",),
        stub=2,
    )


def test_text_is_aligned_and_names_a_block_once() -> None:
    assert as_text(small()).split("\n") == [
        "A 5 % title",
        "",
        "Measure  System     Orig.        Rotated Change",
        "───────  ─────────  ─────  ────────────────────",
        "nDCG@10  tk_a & co  0.432  −8.6\u00a0% [−10.0, −7.2]",
        "         b            0.4                 0.0\u00a0%",
        "RR@10    b              –                     –",
        "",
        "A note.",
    ]


def test_latex_sets_the_same_table() -> None:
    latex = as_latex(small())
    assert "\\caption{A 5 \\% title}" in latex
    assert "\\begin{tabular}{llrr}" in latex
    assert "\\multicolumn{3}{l}{} & Rotated \\\\\n" in latex
    assert "nDCG@10 & tk\\_a \\& co & 0.432 & $-$8.6~\\% {[}$-$10.0, $-$7.2] \\\\" in latex
    assert " & b & 0.4 & 0.0~\\% \\\\\nRR@10 & b & -- & -- \\\\" in latex
    assert latex.count("{") == latex.count("}")


@given(st.text())
def test_latex_escape_leaves_no_active_character(text: str) -> None:
    escaped = latex_escape(text)
    bare = escaped.replace("{[}", "").replace("{*}", "")
    for written in (
        "\\textbackslash{}",
        "\\textasciicircum{}",
        "\\textasciitilde{}",
        "\\textless{}",
        "\\textgreater{}",
    ):
        bare = bare.replace(written, "")
    for written in (
        "$-$",
        "$\\pm$",
        "$\\times$",
        "$\\rightarrow$",
        "$\\leq$",
        "$\\geq$",
        "$\\Delta$",
        "$\\Sigma$",
    ):
        bare = bare.replace(written, "")
    for written in ("\\{", "\\}", "\\$", "\\&", "\\#", "\\%", "\\_"):
        bare = bare.replace(written, "")
    assert not set(bare) & set("\\{}$&#%_^\n")


def test_csv_holds_unrounded_values_and_intervals_as_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(small()))))
    assert rows[0] == {
        "Measure": "nDCG@10",
        "System": "tk_a & co",
        "Orig.": "0.4321",
        "Rotated Change": "-0.0856",
        "Rotated Change low": "-0.1",
        "Rotated Change high": "-0.072",
    }
    assert rows[1]["Measure"] == "nDCG@10"  # a merged name stands in every row
    assert (rows[2]["Orig."], rows[2]["Rotated Change low"]) == ("", "")


def test_a_name_that_is_a_formula_is_text_in_csv() -> None:
    columns = (Column("=name", numeric=False), Column("value"))
    table = Table(
        "t", "T", columns, [[Cell("=1+1"), Cell("shown", -0.5)], [Cell("-x"), Cell("shown", 1)]]
    )
    assert as_csv(table) == "'=name,value\n'=1+1,-0.5\n'-x,1\n"


def test_saved_tables_are_read_back(tmp_path: Path) -> None:
    save_tables({"small": small()}, tmp_path / "tables")
    assert (tmp_path / "tables" / "small.csv").read_bytes().decode() == as_csv(small())
    assert (tmp_path / "tables" / "small.tex").read_bytes().decode() == as_latex(small())
    with pytest.raises(OutputExistsError):
        save_tables({"small": small()}, tmp_path / "tables")


# --- in a terminal --------------------------------------------------------------------------------

NAME = Column("System", numeric=False)


def at(width: int | None, table: Table) -> list[str]:
    with lines_of(width):
        return as_text(table).replace("\u00a0", " ").split("\n")


def measured(columns: int, *, wide: int = 0) -> Table:
    """A row of this many values 0.421 [0.400, 0.427]; the last ``wide`` columns are of lesser
    importance.
    """
    heads = [Column(f"m{n}", wide=n >= columns - wide) for n in range(columns)]
    row = [Cell("tk"), *(number_cell(0.421, ".3f", Interval(0.4, 0.427)) for _ in range(columns))]
    return Table("t", "T", [NAME, *heads], [row])


def test_intervals_become_plus_minus_where_they_do_not_fit() -> None:
    assert at(80, measured(3)) == at(None, measured(3))  # 6 + 3 × (2 + 20) = 72 columns
    lines = at(80, measured(4))  # 94 columns, or 66
    assert lines[4] == "tk      " + "  ".join(["0.421 ± 0.021"] * 4)
    assert lines[-1] == "± is the larger side of an interval; COLUMNS=300 shows both ends."


def test_lesser_columns_are_left_out_from_the_right_until_it_fits() -> None:
    # 6 + 6 × 15 = 96: two of the three lesser columns go at 80 (66), none at 100
    lines = at(80, measured(6, wide=3))
    assert lines[2].split() == ["System", "m0", "m1", "m2", "m3"]
    assert lines[-1] == "2 columns left out; COLUMNS=300 shows them."
    assert "left out" not in at(100, measured(6, wide=3))[-1]


@pytest.mark.parametrize(
    ("low", "high", "near"),
    [
        (0.415, 0.427, "0.421 ± 0.006"),
        (0.400, 0.427, "0.421 ± 0.021"),  # 0.421 − 0.400, not 0.427 − 0.421
        (0.430, 0.440, "0.421 ± 0.019"),  # outside its own interval
    ],
)
def test_plus_minus_is_the_larger_side(low: float, high: float, near: str) -> None:
    assert number_cell(0.421, ".3f", Interval(low, high)).near.replace("\u00a0", " ") == near


@given(
    st.lists(st.text("ab -日/", max_size=30), min_size=1, max_size=3),
    st.integers(0, 9),
    st.sampled_from([80, 100]),
)
def test_no_line_is_wider_whatever_the_table(names: list[str], numbers: int, width: int) -> None:
    rows = [[Cell(name), *[Cell("1,234,567", 1_234_567)] * numbers] for name in names]
    columns = [NAME, *(Column(f"the number {n} of passages") for n in range(numbers))]
    lines = at(width, Table("t", "Title", columns, rows))
    assert max(map(shown_width, lines)) <= width
    assert sum(line.count("1,234,567") for line in lines) == numbers * len(names)
