"""What ``histogram``, ``train``, ``ats`` and ``mats`` show of their rows."""

from __future__ import annotations

import pytest

from positionbias.core.interval import Interval
from positionbias.core.rows import Collected
from positionbias.positions.histogram import PositionFigure, PositionHistogram
from positionbias.positions.measured import histogram_rows
from positionbias.probe.ats import AtsCurve
from positionbias.probe.measured import similarity_rows
from positionbias.probe.term_vectors import Probed
from positionbias.report import answer_positions, similarity
from positionbias.report.presentation import Presentation
from positionbias.report.tiles import Answered, Tone

from . import invented

ROWS = invented.measured()


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
        (0.1, 0.05, "answers start nearer the end than unbiased ones", "no", Tone.BAD),
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


def test_positions_stand_beside_their_expectation_and_all_answers_are_counted() -> None:
    rows = answer_positions.SHOWN.own(ROWS)
    table = answer_positions.POSITIONS.table(rows)
    by_name = {column.full_name: place for place, column in enumerate(table.columns)}
    assert [line[0].text for line in table.rows] == ["planted, train", "planted, test"]
    chance = next(place for name, place in by_name.items() if "by chance" in name)
    assert plain(table.rows[1][chance].text).startswith("0.011")
    outcomes = {
        line[0].text: [cell.text for cell in line[1:]]
        for line in answer_positions.OUTCOMES.table(rows).rows
    }
    assert outcomes["Cut"] == ["0", "312"]


def test_what_mats_says_printed_and_plain() -> None:
    made = Collected({"collection": "squad"})
    similarity_rows(made, invented.probed("tk", 0.1), study="mats", model="tk")
    none = AtsCurve([1.0], [30], [30], [0.0], [None])
    similarity_rows(made, Probed("knrm", none, 5, 0, 60, 0), study="mats", model="knrm")
    shown = similarity.OF_MODELS
    rows = shown.own(made.rows)
    said, undefined = shown.headline(rows)
    assert said.startswith("tk on squad: where positions differ, a word's vectors are ")
    assert undefined.startswith(
        "knrm on squad: cannot tell how its term vectors depend on position: MATS is undefined. "
    )
    ats = invented.probed("tk", 0.1).curve.ats
    # printed = sum / (140 − 1), plain = sum / 140, for the 140 Δ above 0
    total = sum(ats[0] - value for value in ats[1:])
    table = similarity.TABLE.table(rows)
    texts = [cell.text for cell in table.rows[0]]
    assert texts[2:4] == [f"{total / 139:.3f}", f"{total / 140:.3f}"]
