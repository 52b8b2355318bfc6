"""The sentences, answers, tables and figures of a study of position over made-up rows: they say
what the numbers say, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pandas import DataFrame

from positionbias.core.rows import frame
from positionbias.evaluation.answers import Compared
from positionbias.papers.position_bias import (
    BASELINES,
    MOVED,
    NO_REMEDY,
    REMEDIES,
    TEST_SETS,
    TRAININGS,
    Shift,
)
from positionbias.papers.position_bias.shown import (
    EFFECTIVENESS,
    REMEDY_TABLE,
    SHOWN,
)
from positionbias.report.record import Answered, Finding
from positionbias.report.table import RowTable

NDCG = "nDCG@10"
Row = dict[str, Any]
CHECKPOINT = "over queries of one training: speaks of this checkpoint"


def shown_rows(*rows: Row | Iterable[Row]) -> DataFrame:
    """Return the rows as tables and sentences take them."""
    every = [row for one in rows for row in ([one] if isinstance(one, dict) else one)]
    return SHOWN.own(frame([{"study": "position-bias", "collection": "c", **row} for row in every]))


def findings(*rows: Row | Iterable[Row]) -> list[Finding]:
    return list(SHOWN.findings(shown_rows(*rows)))


def texts(*rows: Row | Iterable[Row]) -> list[str]:
    """Return the sentences, with plain spaces."""
    return [finding.text.replace("\u00a0", " ") for finding in findings(*rows)]


def system(training: str = "original", **cells: Any) -> Row:
    return {"model": "tk", "role": "re-ranker", "training": training, "split": "test", **cells}


def mean(value: float, test: str = "original", measure: str = NDCG, **cells: Any) -> Row:
    given: Row = {"statistic": "mean", "value": value, "measure": measure, "test": test}
    return system(**{**given, **cells})


def change(
    value: float | None, low: float | None, high: float | None, answer: Shift, **cells: Any
) -> Row:
    """The relative change of a system by rotation."""
    measure = cells.get("measure", NDCG)
    given: Row = {"measure": measure, "statistic": "relative", "test": "rotated", "unit": "share"}
    given |= {"family": f"{TEST_SETS}: {measure}", "against": "test=original", "margin": 0.03}
    given |= {"value": value, "low": low, "high": high, "level": 0.95, "answer": answer}
    return system(**{**given, "trainings": 1, "count": 1234, **cells})


def compared(family: str, means: tuple[float, float], half: float, **cells: Any) -> list[Row]:
    """The rows of a comparison with the baseline's and the candidate's mean."""
    measure = cells.pop("measure", NDCG)
    difference = means[1] - means[0]
    sure = abs(difference) > half
    answer = Compared.NONE if not sure else Compared.HIGHER if difference > 0 else Compared.LOWER
    named = system(measure=measure, family=f"{family}: {measure}", test="original")
    named |= {name: cells.pop(name) for name in list(cells) if name not in ("answer", "trainings")}
    bounds = {"low": difference - half, "high": difference + half, "level": 0.95}
    tested = {"answer": answer, "trainings": 1, "p": 0.01 if sure else 0.5, **bounds, **cells}
    tested["p_adjusted"] = 2 * tested["p"]
    return [
        {**named, "statistic": "difference", "value": difference, **tested},
        {**named, "statistic": "baseline mean", "value": means[0]},
        {**named, "statistic": "candidate mean", "value": means[1]},
    ]


def lines(table: RowTable, *rows: Row | Iterable[Row]) -> list[dict[str, str]]:
    """Return the lines of a table, cells by heading, with plain spaces."""
    made = table.table(shown_rows(*rows))
    names = [column.full_name for column in made.columns]
    cells = [[cell.text.replace("\u00a0", " ") for cell in row] for row in made.rows]
    return [dict(zip(names, line, strict=True)) for line in cells]


# -- changes by rotation ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "words", "holds"),
    [
        (
            change(-0.2, -0.25, -0.15, Shift.FALLS),
            f"falls: −20.0 % (95 % interval −25.0 % to −15.0 %, {CHECKPOINT})",
            True,
        ),
        (
            change(-0.12, None, None, Shift.UNKNOWN, trainings=2),
            "may change, cannot tell: −12.0 % (two trainings have no interval)",
            None,
        ),
        (
            change(0.0, -0.01, 0.01, Shift.NONE, trainings=5),
            "does not change beyond ±3 %: 0.0 % (95 % interval −1.0 % to +1.0 %, over 5 trainings "
            "and queries: speaks of the method)",
            False,
        ),
    ],
    ids=["falls", "two", "five"],
)
def test_a_change_by_rotation_is_said_with_what_its_interval_is_over(
    row: Row, words: str, holds: bool | None
) -> None:
    start = "TK trained on original passages: when the test passages are rotated, nDCG@10 "
    assert texts(row) == [f"{start}{words}."]
    assert findings(row)[0].holds is holds


FALLS = change(-0.2, -0.25, -0.15, Shift.FALLS)
STEADY = change(0.0, -0.01, 0.01, Shift.NONE, training="rotated")


def test_the_headline_and_the_answers() -> None:
    rows = shown_rows(FALLS, STEADY)
    first, last = (text.replace("\u00a0", " ") for text in SHOWN.headline(rows))
    assert first.startswith("TK trained on original passages: when the test passages are rotated")
    assert "nDCG@10 does not change beyond ±3 %: 0.0 % (95 % interval −1.0 % to +1.0 %" in last
    falls, steady = SHOWN.tiles(rows)
    assert (falls.answer, falls.words, falls.welcome) == (Answered.YES, "Falls", False)
    assert falls.advice.startswith("Train on rotated passages")
    assert (steady.answer, steady.welcome) == (Answered.NO, True)
    (_, rotated) = SHOWN.tiles(shown_rows(FALLS, {**FALLS, "training": "rotated"}))
    assert "posbias study remedies" in rotated.advice


def test_what_rotation_does_recommends_no_remedy() -> None:
    """Rotating changes nothing for a mean over rotations by construction, so its answer must not
    say: use it.
    """
    without, turned = {"variant": NO_REMEDY}, {"variant": "rotate:4 at inference"}
    steady = {**STEADY, **turned, "training": "original"}
    (falls, _) = SHOWN.tiles(shown_rows({**FALLS, **without}, steady))
    assert falls.subject == "TK, no remedy"
    assert falls.advice.startswith("Look at “Remedies: quality and bias”")


# -- trainings and baselines -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("means", "words", "holds"),
    [
        (
            (0.5, 0.6),
            "is better than one trained on original passages: nDCG@10 0.600 against 0.500, "
            "difference +0.100 (95 % interval +0.050 to +0.150, ",
            True,
        ),
        ((0.5, 0.4), "is worse than one trained on original passages: nDCG@10 0.400", False),
        ((0.5, 0.51), "is not distinguishable from one trained on original passages: ", None),
    ],
)
def test_two_trainings(means: tuple[float, float], words: str, holds: bool | None) -> None:
    cells = {"training": "rotated", "test": "rotated", "against": "training=original"}
    tested = compared(TRAININGS, means, 0.05, **cells)
    (finding,) = findings(FALLS, tested)[1:]
    assert finding.text.replace("\u00a0", " ").startswith(
        f"On the rotated test passages TK trained on rotated passages {words}"
    )
    assert finding.holds is holds
    (tile,) = [
        tile for tile in SHOWN.tiles(shown_rows(FALLS, tested)) if "better than" in tile.question
    ]
    assert tile.welcome is holds or holds is None


def test_a_model_that_re_ranks_nothing_is_named_and_its_figures_are_not_called_its_own() -> None:
    depth = system(measure="training", statistic="depth", value=1.0, seed=2, split="")
    idle = change(0.0, 0.0, 0.0, Shift.IDLE)
    (text,) = texts(idle, depth)
    assert text.startswith(
        "TK trained on original passages, seed 2, does not beat its first stage on validation: no "
        "re-ranking depth did better there than BM25's own order"
    )
    (tile,) = SHOWN.tiles(shown_rows(idle))
    assert tile.words == "Leaves BM25's order"
    # two trainings are not compared where one of them is the first stage under another name
    tested = compared(
        TRAININGS, (0.5, 0.6), 0.05, training="rotated", against="training=original",
        answer=Compared.IDLE,
    )  # fmt: skip
    assert texts(idle, tested) == []


def against(base: str, low: float, **cells: Any) -> list[Row]:
    role = "first stage" if base == "bm25" else "position"
    cells = {"against": f"model={base}, role={role}", **cells}
    return compared(BASELINES, (0.5, 0.6), 0.1 - low, **cells)


def test_whether_baselines_are_beaten() -> None:
    lost = against("position-only", 0.0, answer=Compared.NONE, training="rotated")
    (finding,) = findings(against("bm25", 0.01), lost)
    assert finding.text.startswith(
        "TK trained on rotated passages is not shown to beat position-only on the original test, "
        "so its use of position matters little: difference +0.100"
    )
    assert finding.holds is False


def test_effectiveness_marks_what_differs_and_shows_the_change_twice() -> None:
    turned = {"training": "rotated"}
    rows = [
        mean(0.5),
        mean(0.4, "rotated"),
        FALLS,
        {**FALLS, "statistic": "Δ as printed", "value": -0.25, "low": None, "high": None},
        mean(0.6, **turned),
        *compared(TRAININGS, (0.5, 0.6), 0.05, **turned, against="training=original"),
    ]
    original, rotated = lines(EFFECTIVENESS, rows)
    assert original["Trained on"] == "original passages"
    assert original["nDCG@10 original test"] == "0.500"
    assert original["nDCG@10 rotated test Δ as printed"] == "−25.0 %"
    assert original["nDCG@10 rotated test Change"].startswith("−20.0 %")
    assert rotated["nDCG@10 original test"] == "0.600‡"
    printed = mean(0.432, whose="published", start="6-layer DistilBERT", answer="a")
    table = EFFECTIVENESS.table(shown_rows(rows, printed))
    assert any(note.startswith("Published: Mitigating the Position Bias") for note in table.notes)
    shown = [cell.text for row in table.rows for cell in row if cell.text in ("ours", "published")]
    assert sorted(shown) == ["ours", "ours", "published"]


# -- places of answers, levels, models -------------------------------------------------------------


def places(value: float, statistic: str = "first fifth", **cells: Any) -> Row:
    given: Row = {"measure": "answer positions", "split": "train", "count": 1800}
    return {**given, "statistic": statistic, "value": value, **cells}


# -- remedies --------------------------------------------------------------------------------------


def remedy(variant: str, quality: float, bias: float) -> list[Row]:
    """A remedy beside none, which has 0.8 and −2."""
    named = {"variant": variant, "against": f"variant={NO_REMEDY}", "trainings": 3}
    tested = compared(REMEDIES, (0.8, 0.8 + quality), 0.05, **named)
    tested += compared(REMEDIES, (2.0, 2.0 + bias), 0.05, measure=MOVED, **named)
    return [
        *tested,
        mean(0.8 + quality, variant=variant),
        mean(-2.0 - bias, measure=MOVED, variant=variant),
        change(-0.2, -0.3, -0.1, Shift.FALLS, variant=variant),
    ]


WITHOUT = [mean(0.8, variant=NO_REMEDY), mean(-2.0, measure=MOVED, variant=NO_REMEDY)]


@pytest.mark.parametrize(
    ("quality", "bias", "words", "holds"),
    [
        (-0.1, -1.0, ("less quality", "less bias"), (False, True)),
        (0.0, -1.0, ("no difference in quality is shown", "less bias"), (None, True)),
    ],
)  # fmt: skip
def test_what_a_remedy_does(
    quality: float, bias: float, words: tuple[str, str], holds: tuple[bool | None, bool | None]
) -> None:
    rows = [*WITHOUT, *remedy("rotate:4 at inference", quality, bias)]
    start = "TK, rotate:4 at inference, against no remedy: "
    told = [finding for finding in findings(rows) if finding.text.startswith(start)]
    verdicts = tuple(one.text.removeprefix(start).partition(",")[0] for one in told)
    assert (verdicts, tuple(one.holds for one in told)) == (words, holds)
    # the headline is the advice: three trainings with less bias, and no loss of quality shown
    helps = bias < 0 and quality >= 0
    assert SHOWN.headline(shown_rows(rows))[0].startswith(
        "Remedies that lower the bias" if helps else "No remedy is shown to lower the bias"
    )


def test_an_unfinished_training_has_no_difference_of_finished_ones() -> None:
    apart = mean(0.9, variant="rotated once", finished=False)
    table = lines(REMEDY_TABLE, WITHOUT, remedy("rotated once", 0.1, -1.0), apart)
    against_none = "nDCG@10 original test against no remedy"
    shown = [(line["Model"], line[against_none] == "–") for line in table]
    assert shown == [("TK", True), ("TK", False), ("TK, not finished", True)]
