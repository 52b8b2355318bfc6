"""Tables that fit the terminal: ± for intervals, fewer columns, wrapped headings and names, columns
below one another.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.interval import Interval
from positionbias.core.screen import lines_of, shown_width
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.collection_text import aligned
from positionbias.report.table import Cell, Column, Table, as_csv, as_latex, as_text

NAME = Column("System", numeric=False)


def at(width: int | None, table: Table) -> list[str]:
    with lines_of(width):
        return as_text(table).split("\n")


@pytest.mark.parametrize(
    ("value", "low", "high", "near", "lopsided"),
    [
        (0.421, 0.415, 0.427, "0.421 ± 0.006", False),
        (0.421, 0.400, 0.427, "0.421 ± 0.021", True),  # 0.421 − 0.400, not 0.427 − 0.421
        (0.421, 0.415, 0.450, "0.421 ± 0.029", True),
        (0.4214, 0.4150, 0.4274, "0.421 ± 0.007", False),  # 0.4274 − 0.421 = 0.0064, rounded up
        (0.421, 0.430, 0.440, "0.421 ± 0.019", True),  # outside its own interval
        (0.421, 0.421, 0.421, "0.421 ± 0.000", False),
        (0.421, float("-inf"), 0.43, "", False),
        (None, 0.1, 0.2, "", False),
    ],
)
def test_plus_minus_is_the_larger_side(
    value: float | None, low: float, high: float, near: str, lopsided: bool
) -> None:
    cell = decimal_cell(value, Interval(low, high))
    assert (cell.near.replace("\u00a0", " "), cell.lopsided) == (near, lopsided)


def test_plus_minus_of_a_share_is_per_cent() -> None:
    cell = percent_cell(-0.0856, Interval(-0.12, -0.051))  # −8.6 − −12.0 = 3.4, −5.1 − −8.6 = 3.5
    assert (cell.near, cell.lopsided) == ("−8.6\u00a0±\u00a03.5\u00a0%", False)


@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 4))
def test_no_interval_looks_tighter_than_it_is(
    value: float, one: float, other: float, places: int
) -> None:
    low, high = sorted((one, other))
    shown, _, half = (
        decimal_cell(value, Interval(low, high), places=places)
        .near.replace("−", "-")
        .split("\u00a0")
    )
    unit = 10**-places
    assert float(shown) - float(half) <= low + 2e-6 * unit + 1e-12
    assert float(shown) + float(half) >= high - 2e-6 * unit - 1e-12


def measured(columns: int, *, wide: int = 0) -> Table:
    """A row of this many values 0.421 [0.400, 0.427]; the last ``wide`` columns are of lesser
    importance.
    """
    heads = [Column(f"m{n} [95\u00a0%]", wide=n >= columns - wide) for n in range(columns)]
    row = [text_cell("tk"), *(decimal_cell(0.421, Interval(0.4, 0.427)) for _ in range(columns))]
    return Table("t", "T", [NAME, *heads], [row])


def test_what_fits_is_printed_whole() -> None:
    # 6 + 3 × (2 + 20) = 72 columns
    assert at(80, measured(3)) == at(None, measured(3))
    assert at(80, measured(3))[-1] == "tk      " + "  ".join(["0.421\u00a0[0.400,\u00a00.427]"] * 3)


def test_intervals_become_plus_minus_and_a_note_says_which_side() -> None:
    # 6 + 4 × (2 + 20) = 94 columns do not fit into 80; 6 + 4 × (2 + 13) = 66 do
    lines = at(80, measured(4))
    assert [line.replace("\u00a0", " ") for line in lines[:6]] == [
        "T",
        "",
        "System    m0 ± (95 %)    m1 ± (95 %)    m2 ± (95 %)    m3 ± (95 %)",
        "──────  ─────────────  ─────────────  ─────────────  ─────────────",
        "tk      0.421 ± 0.021  0.421 ± 0.021  0.421 ± 0.021  0.421 ± 0.021",
        "",
    ]
    assert (
        " ".join(lines[6:])
        == "± is the larger side of an interval that is not symmetric; --wide shows both ends."
    )


def test_lesser_columns_are_left_out_from_the_right_until_it_fits_and_counted() -> None:
    # 6 + 6 × 15 = 96: two of the three lesser columns go at 80 (66), none at 100
    lines = at(80, measured(6, wide=3))
    assert lines[2].count("±") == 4
    assert lines[-1] == "2 columns left out; --wide shows them."
    assert at(100, measured(6, wide=3))[2].count("±") == 6
    assert at(82, measured(6, wide=1))[-1] == "1 column left out; --wide shows it."
    assert at(None, measured(6, wide=3))[2].count("[95") == 6


def test_headings_wrap_before_columns_go_below() -> None:
    heads = [Column("the share of answers in the first fifth") for _ in range(6)]
    lines = at(80, Table("t", "", [NAME, *heads], [[text_cell("a"), *[count_cell(12)] * 6]]))
    assert max(map(shown_width, lines)) <= 80
    assert lines[-1].split() == ["a", *["12"] * 6]  # one row: nothing went below
    assert sum(line.startswith("System") for line in lines) == 1


def sixty() -> Table:
    rows = [
        [text_cell(name), *(decimal_cell(n / 7 + at) for n in range(60))]
        for at, name in enumerate(("tk", "bert_cat"))
    ]
    return Table("t", "Sixty", [NAME, *(Column(f"depth {n}") for n in range(60))], rows)


@pytest.mark.parametrize("width", [80, 100])
def test_sixty_columns_go_below_one_another_each_with_the_row_names(width: int) -> None:
    lines = at(width, sixty())
    assert max(map(shown_width, lines)) <= width
    parts = "\n".join(lines[2:]).split("\n\n")
    assert len(parts) > 1
    # every value once, in its order, whole
    for name, row in (("tk", 0), ("bert_cat", 1)):
        found = [
            value for line in lines if line.startswith(f"{name} ") for value in line.split()[1:]
        ]
        assert found == [f"{n / 7 + row:.3f}" for n in range(60)]
    assert all(
        sum(line.startswith(("tk ", "bert_cat ")) for line in part.split("\n")) == 2
        for part in parts
    )
    assert len(at(None, sixty())) == 2 + 2 + 2  # title, empty, headings, rule, rows


def test_groups_stay_whole_where_they_fit() -> None:
    columns = [
        NAME,
        *(
            Column(part, f"measure {n}")
            for n in range(4)
            for part in ("original", "rotated", "change")
        ),
    ]
    lines = at(80, Table("t", "", columns, [[text_cell("tk"), *[decimal_cell(1234.5)] * 12]]))
    heads = [line for line in lines if "measure" in line]
    assert [line.split() for line in heads] == [
        ["measure", "0", "measure", "1"],
        ["measure", "2", "measure", "3"],
    ]


def test_a_long_name_is_wrapped_and_numbers_stay_whole() -> None:
    name = (
        "bert_cat trained on rotated passages of squad, then of msmarco, with the same seed as the "
        "other one"
    )
    table = Table(
        "t",
        "",
        [NAME, Column("n"), Column("nDCG@10")],
        [[text_cell(name), count_cell(1_234_567), decimal_cell(0.4)]],
    )
    lines = at(80, table)
    assert max(map(shown_width, lines)) <= 80
    assert lines[2].split()[-2:] == ["1,234,567", "0.400"]
    assert " ".join(line.split("  ")[0].strip() for line in lines[2:]) == name


@pytest.mark.parametrize("name", ["日本語の検索モデル" * 12, "x" * 300, "/home/" + "folder/" * 30])
@pytest.mark.parametrize("width", [80, 100])
def test_wide_letters_and_names_without_spaces_fit(name: str, width: int) -> None:
    table = Table(
        "t", name, [NAME, Column("n")], [[text_cell(name), count_cell(1_234_567)]], [name]
    )
    lines = at(width, table)
    assert max(map(shown_width, lines)) <= width
    assert sum("1,234,567" in line for line in lines) == 1
    assert "".join(line[: width - 11].strip() for line in lines if line).count(name[-3:])


def test_empty_tables() -> None:
    assert at(80, Table("t", "T", [NAME, Column("n")], [])) == ["T", "", "System  n", "──────  ─"]
    assert at(80, Table("t", "T", [], [])) == ["T", ""]
    many = at(80, Table("t", "", [NAME, *(Column(f"number {n}") for n in range(40))], []))
    assert max(map(shown_width, many)) <= 80


def test_csv_and_latex_know_nothing_of_the_terminal() -> None:
    table = measured(9, wide=4)
    with lines_of(80):
        narrow = as_csv(table), as_latex(table)
    with lines_of(None):
        assert (as_csv(table), as_latex(table)) == narrow
    assert narrow[0].splitlines()[1].count("0.4,0.427") == 9


def test_aligned_lines_fit_too() -> None:
    rows = [
        ("set", *(f"column {n}" for n in range(20))),
        ("a", *(f"{n:,}" for n in range(1000, 1020))),
    ]
    with lines_of(80):
        lines = aligned(rows).split("\n")
    assert max(map(shown_width, lines)) <= 80
    assert [value for line in lines if line.startswith("a ") for value in line.split()[1:]] == list(
        rows[1][1:]
    )
    with lines_of(None):
        assert aligned([("a", "1"), ("bb", "22")]) == "a    1\nbb  22"


cells = st.one_of(
    st.text(max_size=60).map(Cell),
    st.floats(-1e9, 1e9).map(decimal_cell),
    st.floats(-1, 1).map(lambda v: percent_cell(v, Interval(v - 1, v + 2))),
)


@given(st.data(), st.sampled_from([80, 100]))
def test_no_line_is_wider_whatever_the_table(data: st.DataObject, width: int) -> None:
    columns = data.draw(
        st.lists(
            st.builds(
                Column,
                st.text(max_size=40),
                st.sampled_from(["", "A", "a long group"]),
                st.booleans(),
                st.booleans(),
            ),
            min_size=1,
            max_size=14,
        )
    )
    columns[0] = NAME
    rows = data.draw(
        st.lists(st.lists(cells, min_size=len(columns), max_size=len(columns)), max_size=4)
    )
    assert max(map(shown_width, at(width, Table("t", "title", columns, rows)))) <= width
