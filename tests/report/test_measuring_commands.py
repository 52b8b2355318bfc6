"""What ``histogram``, ``train``, ``ats`` and ``mats`` show of their rows."""

from __future__ import annotations

import pytest

from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.positions.histogram import PositionFigure, PositionHistogram
from positionbias.positions.measured import histogram_rows
from positionbias.report import answer_positions
from positionbias.report.presentation import Presentation
from positionbias.report.record import Answered, Tone


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def text_of(shown: Presentation, made: Collected) -> str:
    return plain(shown.as_text(shown.own(made.rows)))


def histogram(difference: float, half: float, one_start: int = 0) -> Collected:
    """Ten answers whose mean position is 0.4 and this much, and whose first fifth holds 20 % and so
    much less; and those that fill their passage.
    """

    def figure(expected: float, less: float) -> PositionFigure:
        bounds = Interval(less - half, less + half)
        return PositionFigure(expected + less, expected, less, bounds, bounds)

    figures = {"mean": figure(0.4, difference), "first_fifth": figure(0.2, -difference)}
    made = Collected({"study": "histogram", "collection": "squad"})
    histogram_rows(
        made,
        PositionHistogram(
            collection="squad",
            split="train",
            edges=[0, 0.5, 1],
            counts=[6, 4],
            expected=[0.5, 0.5],
            outcomes={"answers": 10 + one_start, "cut": 0},
            spans=10,
            one_start=one_start,
            **({} if one_start else {**figures, "low": [0.5, 0.3], "high": [0.7, 0.5]}),
        ),
    )
    return made


@pytest.mark.parametrize(
    ("difference", "half", "said", "answer", "tone"),
    [
        (-0.1, 0.05, "answers start nearer the front than unbiased ones", "yes", Tone.BAD),
        # its interval ends at 0
        (-0.1, 0.1, "cannot tell whether answers start nearer the front", "", Tone.UNKNOWN),
        (
            -0.01,
            0.02,
            "answers start where unbiased ones do, to within 0.03 of the passage",
            "no",
            Tone.GOOD,
        ),
    ],
)
def test_a_side_is_named_where_the_interval_leaves_out_no_difference(
    difference: float, half: float, said: str, answer: str, tone: Tone
) -> None:
    shown = answer_positions.SHOWN
    rows = shown.own(histogram(difference, half).rows)
    (line,) = shown.headline(rows)
    assert line.startswith(f"squad, train: {said}: mean position {0.4 + difference:.3f}")
    assert "unbiased 0.400" in line
    (tile,) = shown.tiles(rows)
    assert (tile.answer, tile.tone) == (Answered(answer) if answer else Answered.UNKNOWN, tone)
    assert bool(tile.advice) == (answer == "yes")


def test_places_that_are_too_coarse_have_no_figure_and_say_why() -> None:
    shown = answer_positions.SHOWN
    rows = shown.own(histogram(0, 0, one_start=90).rows)
    why = "too coarse to tell: 90 of 100 answers fill their passage, and so have one possible start"
    assert shown.headline(rows) == [f"squad, train: {why}."]
    (tile,) = shown.tiles(rows)
    assert (tile.tone, tile.effect) == (Tone.UNKNOWN, why)
    assert not answer_positions.FIGURE.there(rows)
    assert shown.chart(rows) == ""


def test_a_histogram_is_drawn_with_its_expectation() -> None:
    lines = text_of(answer_positions.SHOWN, histogram(-0.1, 0.05)).split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("  0–50"))
    # 60 % and 40 % of answers: 60 and 40 columns, the mark of 50 % at the 50th
    assert (lines[first].count("█"), lines[first + 1].count("█")) == (59, 40)
    assert lines[first].index("┃") == lines[first + 1].index("┃")
