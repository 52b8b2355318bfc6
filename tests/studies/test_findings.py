"""The sentences say what the numbers say: fall, rise, no change beyond ±3 %, undecided; baselines lost; MATS."""

from __future__ import annotations

import pytest

from positionbias.core.result import AtsCurve, Comparison, Finding, Interval, PositionHistogram, Result, TrainingCurve
from positionbias.studies.findings import findings

MEASURE = "nDCG@10"


def change(
    relative: float | None,
    low: float,
    high: float,
    *,
    axis: str = "test sets",
    systems: tuple[str, str] = ("tk-original", "tk-original"),
    tests: tuple[str, str] = ("original", "rotated"),
    subset: str = "all queries",
    measure: str = MEASURE,
    sure: bool = True,
) -> Result:
    """A comparison against a baseline mean of 0.5 whose relative interval is given; absolute figures are half of it."""
    difference = (relative or 0.0) / 2
    interval = Interval(low / 2, high / 2) if sure else None
    payload = Comparison(
        baseline=f"{systems[0]} on {tests[0]}",
        candidate=f"{systems[1]} on {tests[1]}",
        baseline_mean=0.5,
        candidate_mean=0.5 + difference,
        difference=difference,
        difference_interval=interval,
        relative=relative,
        relative_as_printed=None,
        relative_interval=Interval(low, high) if sure else None,
        effect_size=None,
        p_wilcoxon=None,
        p_t=None,
        subset=subset,
        notes={"axis": axis, "systems": list(systems), "test_sets": list(tests), "queries": 1234},
    )
    return Result(measure, "planted", "test", systems[1], 1, difference, interval, 1234, payload)


def told(*results: Result, whole: int = 0, cut: int = 0) -> list[Finding]:
    return findings(results, MEASURE, whole=whole, cut=cut)


@pytest.mark.parametrize(
    ("relative", "low", "high", "words", "holds"),
    [
        (-0.2, -0.25, -0.15, "falls: −20.0% (95 % interval −25.0% to −15.0%)", True),
        (-0.04, -0.07, -0.001, "falls: −4.0% (95 % interval −7.0% to −0.1%)", True),
        (0.08, 0.01, 0.15, "rises: +8.0% (95 % interval +1.0% to +15.0%)", True),
        (0.004, -0.02, 0.028, "does not change beyond ±3%: +0.4% (95 % interval −2.0% to +2.8%)", False),
        (-0.02, -0.03, -0.01, "does not change beyond ±3%: −2.0% (95 % interval −3.0% to −1.0%)", False),
        (-0.02, -0.05, 0.01, "changes by −2.0% (95 % interval −5.0% to +1.0%): these data do not decide", None),
        (0.0, -0.031, 0.031, "changes by +0.0% (95 % interval −3.1% to +3.1%): these data do not decide", None),
    ],
)
def test_a_change_between_test_sets(relative: float, low: float, high: float, words: str, holds: bool | None) -> None:
    assert told(change(relative, low, high)) == [
        Finding(f"tk-original: when the test passages are rotated, nDCG@10 {words}.", holds)
    ]


def test_a_change_that_cannot_be_said() -> None:
    text = "tk-original: when the test passages are rotated, nDCG@10 cannot be said."
    assert told(change(None, 0, 0)) == [Finding(text, None)]
    assert told(change(-0.2, 0, 0, sure=False)) == [Finding(text, None)]


def test_queries_left_whole_and_queries_cut() -> None:
    subset = "queries whose answer was left whole"
    found = told(change(0.01, -0.01, 0.02, subset=subset), whole=75, cut=15)
    assert [finding.text for finding in found] == [
        "tk-original: when the test passages are rotated, nDCG@10, over the 1,234 queries whose answer was left whole, "
        "does not change beyond ±3%: +1.0% (95 % interval −1.0% to +2.0%).",
        "The rotation cut through the answer of 15 of the 90 test queries whose answer's place is known (16.7%).",
    ]
    assert found[1].holds is None
    assert told(whole=90, cut=0) == []


def test_only_the_headline_measure_and_no_baseline_of_its_own() -> None:
    alone = ("position-only", "position-only")
    assert told(change(-0.2, -0.3, -0.1, measure="RR@10"), change(-0.5, -0.6, -0.4, systems=alone)) == []


@pytest.mark.parametrize(
    ("relative", "low", "high", "words", "holds"),
    [
        (
            0.2, 0.1, 0.3,
            "tk-rotated is better than tk-original: nDCG@10 0.600 against 0.500, difference +0.100 (95 % interval +0.050 to +0.150)",
            True,
        ),
        (
            -0.2, -0.3, -0.1,
            "tk-rotated is worse than tk-original: nDCG@10 0.400 against 0.500, "
            "difference −0.100 (95 % interval −0.150 to −0.050)",
            False,
        ),
        (
            0.02, -0.1, 0.1,
            "tk-rotated cannot be told from tk-original: nDCG@10 0.510 against 0.500, "
            "difference +0.010 (95 % interval −0.050 to +0.050)",
            None,
        ),
    ],
)  # fmt: skip
def test_two_trainings(relative: float, low: float, high: float, words: str, holds: bool | None) -> None:
    systems = ("tk-original", "tk-rotated")
    found = told(change(relative, low, high, axis="trainings", systems=systems, tests=("rotated", "rotated")))
    assert found == [Finding(f"On the rotated test passages {words}.", holds)]


def against(base: str, low: float, *, system: str = "tk-original", test: str = "original") -> Result:
    return change(0.1, low, 0.3, axis="baseline", systems=(base, system), tests=(test, test))


def test_all_baselines_beaten() -> None:
    (finding,) = told(against("bm25", 0.01), against("position-only", 0.02), against("bm25", 0.05, test="rotated"))
    assert finding == Finding(
        "Every model beats BM25 and a scorer that knows position only, on both test sets, with intervals off zero.", True
    )


def test_baselines_not_beaten_are_named() -> None:
    (finding,) = told(
        against("bm25", 0.01),
        against("position-only", 0.0),
        against("bm25", -0.2, system="tk-rotated", test="rotated"),
        change(0.1, 0, 0, axis="baseline", systems=("bm25", "tk-rotated"), tests=("original", "original"), sure=False),
    )
    assert finding == Finding(
        "Not shown to beat a baseline, so what it does with position counts for little: tk-original on original against "
        "position-only; tk-rotated on rotated against bm25; tk-rotated on original against bm25.",
        False,
    )


def histogram(low: float, high: float, share: float = 0.5) -> Result:
    first = {"value": share, "expected": 0.24, "interval": {"low": low, "high": high}}
    payload = PositionHistogram([0, 0.5, 1], [1, 1], [0.5, 0.5], {}, {"first_fifth": first})
    return Result("answer positions", "planted", "train", "", 1, None, None, 1800, payload)


def test_where_answers_sit() -> None:
    before, after = told(histogram(0.45, 0.55), histogram(0.2, 0.28, 0.25))
    assert before == Finding(
        "In the passages as they are, 50.0% of 1,800 answers start in the first fifth (95 % interval 45.0% to 55.0%): "
        "more than an unbiased collection would have (24.0%).",
        True,
    )
    assert after == Finding(
        "After rotation, 25.0% of 1,800 answers start in the first fifth (95 % interval 20.0% to 28.0%): "
        "what an unbiased collection would have (24.0%).",
        False,
    )
    (fewer,) = told(histogram(0.1, 0.2, 0.15))
    assert "less than an unbiased collection would have (24.0%)" in fewer.text


def mats(system: str, value: float | None, collection: str = "planted") -> Result:
    curve = AtsCurve([0, 1], [1.0, 0.9], [20, 20], [50, 50], [None, None], [None, None], {"mats": value})
    return Result("MATS", collection, "", system, 1, value, None, 500, curve)


def test_mats_of_both_on_the_original_passages() -> None:
    pair = [mats("tk-original", 0.21), mats("tk-rotated", 0.05)]
    (finding,) = told(*pair, mats("tk-original", 0.5, "planted-rotated"), mats("tk-rotated", 0.6, "planted-rotated"))
    assert finding.text.startswith(
        "MATS on the original passages: tk-original 0.210, tk-rotated 0.050 (lower after training on rotated passages)."
    )
    assert finding.holds is None
    (higher,) = told(mats("tk-original", 0.23), mats("tk-rotated", 0.26))
    assert "tk-original 0.230, tk-rotated 0.260 (higher after training on rotated passages)" in higher.text
    assert told(mats("tk-original", 0.2)) == []
    assert told(mats("tk-original", 0.2), mats("tk-original", 0.2, "planted-rotated")) == []
    assert told(mats("tk-original", None), mats("tk-rotated", 0.1)) == []


def test_nothing_measured_nothing_said() -> None:
    assert told() == []


def test_a_model_that_re_ranks_nothing_is_told_and_its_figures_are_not_called_its_own() -> None:
    curve = Result("training", "planted", "validation", "tk-original", 1, 0.8, None, 1, TrainingCurve([0], {}, {"depth": 1}))
    (finding,) = told(change(0.0, 0.0, 0.0), curve)
    assert finding.text.startswith(
        "tk-original: no re-ranking depth did better on the validation queries than BM25's own order"
    )
    assert finding.holds is None
    deeper = Result("training", "planted", "validation", "tk-original", 1, 0.8, None, 1, TrainingCurve([0], {}, {"depth": 2}))
    assert "does not change beyond" in told(change(0.0, 0.0, 0.0), deeper)[0].text
