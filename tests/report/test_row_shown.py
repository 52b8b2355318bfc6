"""Sentences, tables, figures and answers that are declared over rows, of a few invented rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pandas import DataFrame

from positionbias.core.errors import InputError
from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.report.figure import Forest, Histogram, Lines, Mark, Scatter
from positionbias.report.presentation import Presentation
from positionbias.report.record import Answer, Answered, Finding, Question, records_of, said
from positionbias.report.table import RowTable, Value


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.fixture
def rows() -> DataFrame:
    """Two systems by two measures; a paper's figure of one."""
    made = Collected({"study": "toy", "collection": "c"}, ["kind"])
    for measure, kind, mean, half, count in (
        ("RR", "old", 0.25, 0.125, 1_200),
        ("RR", "new", 0.5, None, 40),
        ("nDCG", "old", -0.125, 0.25, 1_200),
    ):
        bounds = half and Interval(mean - half, mean + half)
        cells = {"p_adjusted": 0.0123, "answer": "worse" if mean < 0 else "open"}
        made.add(measure, "mean", mean, bounds, kind=kind, **cells)
        made.add(measure, "number", count, kind=kind)
        made.add(measure, "gold", mean + 0.25, kind=kind)
        made.add(measure, "undefined", None, kind=kind)
    made.add("RR", "mean", 0.75, kind="old", whose="published", family="Table 1")
    return made.rows


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{kind}: {mean:.3f} {measure}", "old: 0.250 [0.125, 0.375] RR"),
        ("{mean:+.1%} of {number:,}", "+25.0 % [+12.5, +37.5] of 1,200"),
        ("p {mean.p_adjusted:p}, {mean.answer}", "p 0.012, open"),
        ("{undefined:.3f}", ""),
    ],
)
def test_a_sentence_is_said_or_empty(rows: DataFrame, template: str, sentence: str) -> None:
    record = records_of(rows, ["measure", "kind"], "whose == ''")[0]
    assert plain(said(template, record)) == sentence


TABLE = RowTable(
    name="t",
    title="T",
    stub={"kind": "Kind"},
    where="statistic != 'gold'",
    across=["measure"],
    cells=[Value("mean", "mean"), Value("number", "n", ","), Value("undefined", "none")],
    notes=["n is {number:,}.", "Never {gold:.1f}.", lambda rows: f"{len(rows)} rows"],
)


def shown(table: RowTable, rows: DataFrame) -> list[list[str]]:
    return [[plain(cell.text) for cell in line] for line in table.table(rows).rows]


def test_a_table_has_keys_across_and_a_papers_figures_below_ours(rows: DataFrame) -> None:
    table = TABLE.table(rows)
    heads = [(column.group, column.name) for column in table.columns]
    # without the columns that no row has a figure in
    assert heads == [("", "Kind"), ("", "Figures"), *(
        (measure, name) for measure in ("RR", "nDCG") for name in ("mean", "n")
    )]  # fmt: skip
    assert shown(TABLE, rows) == [
        ["old", "ours", "0.250 [0.125, 0.375]", "1,200", "−0.125 [−0.375, 0.125]", "1,200"],
        ["old", "published", "0.750", "–", "–", "–"],
        ["new", "ours", "0.500", "40", "–", "–"],
    ]
    assert (table.stub, [plain(note) for note in table.notes]) == (
        2, ["n is 1,200.", "10 rows"],  # none whose statistic is not there
    )  # fmt: skip


QUESTION = Question(
    by=["measure", "kind"],
    where="whose == ''",
    statistics=["mean"],
    question="Is {kind} worse by {measure}?",
    subject="{kind}",
    answers={
        "worse": Answer(answered=Answered.YES, words="Worse", advice=["{x:,}", "Add {number:,}."]),
        "open": Answer(answered=Answered.UNKNOWN, words="Cannot tell"),
    },
    effect=["{undefined:.1f}", "{mean:.3f}"],
    basis=["n {number:,}", "{undefined:.1f}"],
)


def test_a_question_gives_a_tile_for_each_answer(rows: DataFrame) -> None:
    *others, tile = QUESTION.tiles(rows)
    assert [(one.question, one.answer, one.advice) for one in others] == [
        (f"Is {kind} worse by RR?", Answered.UNKNOWN, "") for kind in ("old", "new")
    ]
    assert (tile.words, plain(tile.effect), tile.basis, tile.advice) == (
        "Worse", "−0.125 [−0.375, 0.125]", ["n 1,200"], "Add 1,200.",
    )  # fmt: skip


def test_a_terminal_has_the_answer_what_was_measured_and_short_tables(rows: DataFrame) -> None:
    presentation = Presentation(
        study="toy",
        headline=lambda rows: ["No."],
        run=lambda rows: [f"{len(rows)} rows of toys."],
        findings=lambda rows: [Finding("It falls.", True)],
        questions=[QUESTION.tiles],
        sections=[],
        text=[TABLE, replace(TABLE, where="kind == ''")],
    )
    parts = presentation.as_text(rows).split("\n\n")
    assert parts[:4] == ["No.", "13 rows of toys.", "It falls.", "T"]
    assert [part.split()[0] for part in parts[4:]] == ["Kind", "n"]  # nothing of an empty table
    assert presentation.own(rows.assign(study="other")).empty


def ends(line: object) -> list[list[float]]:
    return np.asarray(line.get_xydata()).tolist()  # type: ignore[attr-defined]


def test_lines_go_along_the_axis_with_a_band() -> None:
    made = Collected({}, ["kind"])
    for at, change, half in ((5.0, 0.5, None), (1.0, 0.25, 0.125)):
        bounds = half and Interval(change - half, change + half)
        made.add("RR", "change", change, bounds, kind="old", axis="depth", at=at)
    made.add("RR", "change", 0.75, kind="new", axis="depth", at=1.0)
    made.add("RR", "change", None, kind="new", axis="depth", at=5.0)
    figure = Lines(name="l", where="axis == 'depth'", caption=str)
    (axes,) = figure.draw(made.rows).axes
    new, old = axes.lines
    assert ends(old) == [[1.0, 0.25], [5.0, 0.5]]
    assert ends(new) == [[1.0, 0.75]]
    band = axes.collections[1].get_paths()[0].vertices
    assert (band.min(axis=0).tolist(), band.max(axis=0).tolist()) == ([1, 0.125], [1, 0.375])
    assert old.get_linestyle() != new.get_linestyle()  # colour alone tells no kind


def test_a_scatter_has_a_panel_a_measure_and_the_line_of_equal_values(rows: DataFrame) -> None:
    figure = Scatter(
        name="s", where="whose == ''", caption=str, across="gold", up="mean", point="kind"
    )
    first, second = figure.draw(rows).axes
    assert [axes.get_title(loc="left") for axes in (first, second)] == ["RR", "nDCG"]
    old, new, equal = first.lines
    assert (ends(old), ends(new)) == ([[0.5, 0.25]], [[0.75, 0.5]])
    assert all(x == y for x, y in ends(equal))
    assert ends(second.lines[0]) == [[0.125, -0.125]]
    assert old.get_marker() != new.get_marker()
    with pytest.raises(InputError, match="figure s: wanted rows with its values; found none"):
        figure.draw(rows.query("statistic == 'undefined'"))


def test_a_forest_has_a_line_a_name_with_its_marks_and_intervals(rows: DataFrame) -> None:
    figure = Forest(
        name="f",
        where="whose == '' and measure == 'RR' and statistic in ['mean', 'gold', 'number']",
        caption=str,
        line=["kind"],
        name_of="{kind} runs",
        marks=[
            Mark("statistic == 'mean'", "m"),
            Mark("statistic == 'gold'", "g", lower=0.5),
        ],
    )
    (axes,) = figure.draw(rows).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["old runs", "new runs"]
    zero, *marks = (ends(line) for line in axes.lines)
    assert [x for x, _ in zero] == [0, 0]
    assert marks == [
        [[0.125, 0], [0.375, 0]], [[0.25, 0]],  # the mean of old runs with its interval
        [[0.5, 0.5]], [[0.5, 1]], [[0.75, 1.5]],
    ]  # fmt: skip


def test_a_histogram_has_bins_with_intervals_and_what_is_expected() -> None:
    made = Collected({}, [])
    for at, share in ((0.25, 0.75), (0.75, 0.25)):
        bounds = Interval(share - 0.125, share + 0.125)
        cells = {"axis": "place", "at": at, "expected": 0.5}
        made.add("answers", "share", share, bounds, **cells)
    figure = Histogram(name="h", where="axis == 'place'", caption=str, expected="if unbiased")
    drawn = figure.draw(made.rows)
    (axes,) = drawn.axes
    filled, outline, expected = (patch.get_data() for patch in axes.patches)
    assert list(filled.values) == list(outline.values) == [0.75, 0.25]
    assert (list(filled.edges), list(expected.values)) == ([0, 0.5, 1], [0.5, 0.5])
    segments = np.asarray(axes.collections[0].get_segments())
    assert segments.tolist() == [[[0.25, 0.625], [0.25, 0.875]], [[0.75, 0.125], [0.75, 0.375]]]
    texts = [plain(text.get_text()) for text in drawn.legends[0].get_texts()]
    assert texts == ["if unbiased", "95 % interval"]
