"""Levels of front-loading: what is read off the results, the table, and the figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.convergence import Ending, Finish
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.papers.position_bias import doses
from positionbias.report.figure import NARROW, WIDE, svg_text
from positionbias.report.html import report_tables, write_report
from positionbias.report.load import load_studies
from positionbias.results.curves import AtsFigures, HistogramFigures
from positionbias.results.payloads import AtsCurve, Comparison, PositionHistogram, TrainingCurve
from positionbias.results.result import Facts, Result, save_results

from . import invented

# variant → share of its training answers in the first fifth, their mean position
DOSES = {
    "answers in 0:1": (0.3, 0.4),
    "answers in 0:0.5": (0.5, 0.2),
    "answers in 0:0.2": (1.0, 0.08),
}


def histogram(variant: str, first_fifth: float, mean: float) -> Result:
    figures = {
        name: {"value": value, "expected": 0.2}
        for name, value in (("first_fifth", first_fifth), ("mean", mean))
    }
    payload = PositionHistogram(
        [0, 0.5, 1],
        [3_000, 335],
        [0.5, 0.5],
        {"answers": 3_335},
        HistogramFigures.from_rows(figures),
    )
    return Result(
        "answer positions",
        "squad",
        "train",
        "answers",
        1,
        mean,
        None,
        3_335,
        payload,
        Facts(variant=variant),
    )


def change(variant: str, training: str, before: float, after: float, *, seed: int = 1) -> Result:
    system = f"tk-{training}"
    made = invented.comparison("test sets", "nDCG@10", "squad", (system, before), (system, after))
    return replace(
        made, facts=Facts("tk", training, "rotated", seed=seed, rotation=1, variant=variant)
    )


def mats(
    variant: str, training: str, value: float, *, test: str = "original", seed: int = 1
) -> Result:
    payload = AtsCurve(
        [0, 1], [0.9, 0.8], [30, 30], [90, 90], [None, None], [None, None], AtsFigures()
    )
    facts = Facts("tk", training, test, seed=seed, rotation=1, variant=variant)
    return Result("MATS", "squad", "", f"tk-{training}", 1, value, None, 9, payload, facts)


# in the wrong order, as results may come; at share s the original training loses s / 10 of 0.8
RESULTS = [
    *(histogram(variant, *where) for variant, where in reversed(DOSES.items())),
    *(
        change(variant, "original", 0.8, 0.8 * (1 - share / 10))
        for variant, (share, _) in DOSES.items()
    ),
    *(change(variant, "rotated", 0.8, 0.8) for variant in DOSES),
    *(mats(variant, "original", share / 5) for variant, (share, _) in DOSES.items()),
    *(mats(variant, "rotated", 0.01) for variant in DOSES),
    *(mats(variant, "original", 9.0, test="rotated") for variant in DOSES),
]


def test_doses_are_ordered_by_what_was_measured() -> None:
    found = doses.doses_of(RESULTS)
    assert [(dose.variant, dose.answers, dose.first_fifth, dose.mean) for dose in found] == [
        (variant, 3_335, *where) for variant, where in DOSES.items()
    ]
    assert doses.doses_of([histogram("answers in 0:1", 0.3, 0.4)]) == []
    # no variants: an ordinary study
    assert doses.doses_of([histogram("", 0.3, 0.4), histogram("", 0.4, 0.4)]) == []


def test_a_training_that_re_ranks_nothing_has_no_change_to_show() -> None:
    variant = "answers in 0:0.2"
    curve = TrainingCurve([200], {"ndcg": [0.8]}, ending=Ending(Finish.FINISHED, 0.8, 1, 0.8))
    facts = Facts("tk", "original", "original", seed=1, variant=variant)
    found = [
        *RESULTS,
        Result("training", "squad", "", f"tk-original, {variant}", 1, None, None, 9, curve, facts),
    ]
    row = next(
        r for r in doses.dose_table(found).rows if (r[0].text, r[5].text) == (variant, "original")
    )
    assert row[8].text == "–"
    assert any("the tuned depth is 1" in note for note in doses.dose_table(found).notes)
    original = doses.dose_figure(found).axes[0].lines
    # the rotated training's; the other has two points left
    assert max(len(list(line.get_xdata())) for line in original) == 3
    assert f"{variant}: no point, as nothing is re-ranked" in doses.dose_caption(found)
    assert not any("the tuned depth is 1" in note for note in doses.dose_table(RESULTS).notes)


def test_doses_without_a_change_to_show_have_a_table_and_no_figure(tmp_path: Path) -> None:
    """As where every model leaves the first stage's order, and none has term vectors."""
    found = [
        result
        if not isinstance(result.payload, Comparison)
        else replace(result, payload=replace(result.payload, relative=None))
        for result in RESULTS
        if not isinstance(result.payload, AtsCurve)
    ]
    assert doses.shows_doses(RESULTS)
    assert not doses.shows_doses(found)
    save_results(
        tmp_path / "study",
        found,
        Manifest(kind="results", name="doses", command="study position-bias"),
    )
    page = write_report([tmp_path / "study"], tmp_path / "page.html").read_text("utf-8")
    assert "answers in 0:0.2" in page
    assert "figure-doses" not in page


def test_the_table_has_a_row_a_dose_and_training() -> None:
    table = doses.dose_table(RESULTS)
    rows = [
        [cell.value if cell.value is not None else cell.text for cell in row] for row in table.rows
    ]
    assert [row[:6] for row in rows] == [
        [variant, 3_335, *where, "TK", training]
        for variant, where in DOSES.items()
        for training in ("original", "rotated")
    ]
    assert [row[6:] for row in rows] == [
        [
            pytest.approx(0.8),
            pytest.approx(0.8 * (1 - share / 10 * biased)),
            pytest.approx(-share / 10 * biased),
            mats,
            1,
        ]
        for share, _ in DOSES.values()
        for biased, mats in ((1, pytest.approx(share / 5)), (0, 0.01))
    ]


def test_repeats_are_one_row() -> None:
    twice = [
        *RESULTS,
        change("answers in 0:1", "original", 0.8, 0.9, seed=2),
        mats("answers in 0:1", "original", 0.1, seed=2),
    ]
    row = doses.dose_table(twice).rows[0]
    # seed 1 falls by 3 %, seed 2 rises by 12.5 %; MATS 0.06 and 0.1
    assert (row[8].value, row[9].value, row[10].value) == (
        pytest.approx(0.0475),
        pytest.approx(0.08),
        2,
    )


def test_the_figure_has_a_line_a_training_in_each_panel() -> None:
    figure = doses.dose_figure(RESULTS)
    change_panel, mats_panel = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Change in nDCG@10",
        "MATS, original passages",
    ]
    lines = [line for line in change_panel.lines if len(line.get_xdata()) == 3]
    assert [list(line.get_ydata()) for line in lines] == [
        pytest.approx([-0.03, -0.05, -0.1]),
        pytest.approx([0, 0, 0]),
    ]
    # beside each other, not upon each other
    assert list(lines[0].get_xdata()) == pytest.approx([0.3, 0.5, 1.0], abs=0.02)
    assert [list(line.get_ydata()) for line in mats_panel.lines if len(line.get_xdata()) == 3] == [
        pytest.approx([0.06, 0.1, 0.2]),
        pytest.approx([0.01] * 3),
    ]
    assert [text.get_text() for text in change_panel.get_xticklabels()] == [
        "30\u00a0%",
        "50\u00a0%",
        "100\u00a0%",
    ]
    assert figure.get_supxlabel() == "Training answers in the first fifth"
    shown = svg_text(figure)
    for text in ("TK trained on original passages", "TK trained on rotated passages"):
        assert text in shown


def test_a_narrow_figure_has_its_panels_below_each_other() -> None:
    for width, columns in ((WIDE, 2), (NARROW, 1)):
        places = [axes.get_subplotspec() for axes in doses.dose_figure(RESULTS, width=width).axes]
        assert len({place.colspan.start for place in places if place is not None}) == columns


def test_without_mats_there_is_one_panel() -> None:
    assert len(doses.dose_figure([r for r in RESULTS if r.kind != "ats"]).axes) == 1


def test_doses_that_the_first_fifth_does_not_tell_apart_stand_by_their_mean() -> None:
    late = [histogram("answers in 0.2:0.6", 0.0, 0.4), histogram("answers in 0.6:1", 0.0, 0.8)]
    found = [*late, *(change(result.facts.variant, "original", 0.8, 0.7) for result in late)]
    figure = doses.dose_figure(found)
    assert figure.get_supxlabel() == "Mean position of the training answers"
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["0.40", "0.80"]
    assert [dose.variant for dose in doses.doses_of(found)] == [
        "answers in 0.6:1",
        "answers in 0.2:0.6",
    ]


def test_the_caption_has_the_numbers() -> None:
    caption = doses.dose_caption(RESULTS).replace("\u00a0", " ")
    assert "answers in 0:0.2 (100 % in the first fifth)" in caption
    assert "TK trained on original passages, answers in 0:0.2: −10.0 %" in caption


def test_the_page_has_a_section_for_doses(tmp_path: Path) -> None:
    manifest = Manifest(kind="results", name="Dose: squad", command="study position-bias")
    save_results(tmp_path / "results", RESULTS, manifest)
    page = write_report([tmp_path], tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("Levels of front-loading", 'id="figure-doses-1"', 'id="table-doses-1"'):
        assert part in page
    assert "doses" in report_tables(load_studies([tmp_path]))


def test_no_doses_are_one_clear_line() -> None:
    with pytest.raises(
        InputError, match="wanted histograms of two levels among the results; found none"
    ):
        doses.dose_figure(RESULTS[:1])
    with pytest.raises(InputError, match="wanted a comparison of test sets among"):
        doses.dose_figure([result for result in RESULTS if result.kind != "comparison"])
