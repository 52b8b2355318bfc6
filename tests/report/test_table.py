"""The three forms of a table: text, LaTeX, CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.csv_cells import read_cell
from positionbias.core.errors import OutputExistsError
from positionbias.report.table import (
    Cell,
    Column,
    Table,
    as_csv,
    as_latex,
    as_text,
    header_groups,
    latex_escape,
    row_spans,
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
            Cell("0.0\u00a0%", 0.0, -0.01, 0.01, strong=True),
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
        "                           Rotated",
        "Measure  System     Orig.                 Change",
        "───────  ─────────  ─────  ─────────────────────",
        "nDCG@10  tk_a & co  0.432  −8.6\u00a0% [−10.0, −7.2]",
        "         b            0.4                 0.0\u00a0%*",
        "RR@10    b              –                     –",
        "",
        "A note.",
    ]


def test_a_wide_group_heading_widens_its_columns() -> None:
    table = Table(
        "t",
        "T",
        (Column("a", numeric=False), Column("x", "a very long heading")),
        [[Cell("r"), Cell("1", 1)]],
    )
    lines = as_text(table).split("\n")
    assert lines[2] == "   a very long heading"
    assert lines[-1] == f"r  {'1':>19}"


def test_wide_letters_take_two_columns() -> None:
    table = Table(
        "t",
        "T",
        (Column("name", numeric=False), Column("n")),
        [[Cell("日本語"), Cell("1", 1)], [Cell("ab"), Cell("2", 2)]],
    )
    assert as_text(table).split("\n")[-2:] == ["日本語  1", "ab      2"]


def test_latex_sets_the_same_table() -> None:
    latex = as_latex(small())
    assert "\\caption{A 5 \\% title}" in latex
    assert "\\begin{tabular}{llrr}" in latex
    assert "\\multicolumn{3}{l}{} & \\multicolumn{1}{l}{Rotated} \\\\\n\\cmidrule(lr){4-4}" in latex
    assert "nDCG@10 & tk\\_a \\& co & 0.432 & $-$8.6~\\% [$-$10.0, $-$7.2] \\\\" in latex
    assert " & b & 0.4 & \\textbf{0.0~\\%} \\\\\n\\addlinespace\nRR@10 & b & -- & -- \\\\" in latex
    assert latex.count("{") == latex.count("}")


def test_latex_takes_no_cell_for_the_argument_of_a_line_break() -> None:
    table = Table("t", "T", (Column("a", numeric=False),), [[Cell("x")], [Cell("[0, 1]")]])
    assert "\\\\\n{}[0, 1] \\\\" in as_latex(table)


@given(st.text())
def test_latex_escape_leaves_no_active_character(text: str) -> None:
    escaped = latex_escape(text)
    bare = escaped
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


@given(
    st.lists(
        st.tuples(st.text(), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=5,
    )
)
def test_csv_round_trip(rows: list[tuple[str, float]]) -> None:
    table = Table(
        "t",
        "T",
        (Column("name", numeric=False), Column("value")),
        [[Cell(n), Cell("shown", v)] for n, v in rows],
    )
    read = list(csv.reader(io.StringIO(as_csv(table), newline="")))
    assert read[0] == ["name", "value"]
    assert [(read_cell(name), float(value)) for name, value in read[1:]] == rows


def test_a_name_that_is_a_formula_is_text_in_csv() -> None:
    columns = (Column("=name", numeric=False), Column("value"))
    table = Table(
        "t", "T", columns, [[Cell("=1+1"), Cell("shown", -0.5)], [Cell("-x"), Cell("shown", 1)]]
    )
    assert as_csv(table) == "'=name,value\n'=1+1,-0.5\n'-x,1\n"


def test_names_merge_only_within_the_same_block() -> None:
    rows = [
        [Cell(a), Cell(b), Cell(c)]
        for a, b, c in (("x", "s", "1"), ("x", "s", "2"), ("y", "s", "3"), ("y", "t", "3"))
    ]
    table = Table("t", "T", [Column(n, numeric=False) for n in "abc"], rows, stub=3)
    # "s" of block y is not merged into block x; the last stub column never is
    assert row_spans(table) == [[2, 2, 1], [0, 0, 1], [2, 1, 1], [0, 1, 1]]


def test_headings_without_groups_have_one_line() -> None:
    assert header_groups(Table("t", "T", NAMES, [])) == []
    assert header_groups(small()) == [("", 3), ("Rotated", 1)]


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1: 1 cells for 2 columns"):
        Table("t", "T", NAMES, [[Cell("x")]])


def test_saved_tables_are_read_back(tmp_path: Path) -> None:
    save_tables({"small": small()}, tmp_path / "tables")
    assert (tmp_path / "tables" / "small.csv").read_bytes().decode() == as_csv(small())
    assert (tmp_path / "tables" / "small.tex").read_bytes().decode() == as_latex(small())
    with pytest.raises(OutputExistsError):
        save_tables({"small": small()}, tmp_path / "tables")
