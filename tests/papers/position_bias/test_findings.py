"""The sentences say what the numbers say: fall, rise, no change beyond ±3 %, undecided; baselines
lost; MATS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest

from positionbias.core.convergence import Ending, Finish
from positionbias.core.interval import Interval
from positionbias.experiments.over_trainings import BASELINE_FACTS, WHOLE, over_trainings
from positionbias.papers.position_bias.findings import findings
from positionbias.results.collections import Origin, PassageFigures
from positionbias.results.curves import AtsFigures, HistogramFigures
from positionbias.results.payloads import (
    AtsCurve,
    Comparison,
    Finding,
    PerQuery,
    PositionHistogram,
    TrainingCurve,
)
from positionbias.results.result import Facts, Result

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
    seed: int = 1,
    draw: int = 1,
    collection: str = "planted",
) -> Result:
    """A comparison against a baseline mean of 0.5 whose relative interval is given; absolute
    figures are half of it.
    """
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
    model, _, training = systems[1].partition("-")
    facts = Facts(
        model=model,
        training=training if training in ("original", "rotated") else "",
        test=tests[1],
        rotation=draw,
        seed=seed,
    )
    return Result(
        measure, collection, "test", systems[1], 1, difference, interval, 1234, payload, facts
    )


def told(*results: Result, cuts: dict[int, tuple[int, int]] | None = None) -> list[Finding]:
    return findings(results, MEASURE, cuts={1: (0, 0)} if cuts is None else cuts)


@pytest.mark.parametrize(
    ("relative", "low", "high", "words", "holds"),
    [
        (
            -0.2,
            -0.25,
            -0.15,
            (
                "falls: −20.0\u00a0% (95 % interval −25.0\u00a0% to −15.0\u00a0%, over queries of "
                "one training: speaks of this checkpoint)"
            ),
            True,
        ),
        (
            -0.04,
            -0.07,
            -0.001,
            (
                "falls: −4.0\u00a0% (95 % interval −7.0\u00a0% to −0.1\u00a0%, over queries of one "
                "training: speaks of this checkpoint)"
            ),
            True,
        ),
        (
            0.08,
            0.01,
            0.15,
            (
                "rises: +8.0\u00a0% (95 % interval +1.0\u00a0% to +15.0\u00a0%, over queries of "
                "one training: speaks of this checkpoint)"
            ),
            True,
        ),
        (
            0.004,
            -0.02,
            0.028,
            (
                "does not change beyond ±3\u00a0%: +0.4\u00a0% (95 % interval −2.0\u00a0% to "
                "+2.8\u00a0%, over queries of one training: speaks of this checkpoint)"
            ),
            False,
        ),
        (
            -0.02,
            -0.03,
            -0.01,
            (
                "does not change beyond ±3\u00a0%: −2.0\u00a0% (95 % interval −3.0\u00a0% to "
                "−1.0\u00a0%, over queries of one training: speaks of this checkpoint)"
            ),
            False,
        ),
        (
            -0.02,
            -0.05,
            0.01,
            (
                "changes by −2.0\u00a0% (95 % interval −5.0\u00a0% to +1.0\u00a0%, over queries of "
                "one training: speaks of this checkpoint): cannot tell"
            ),
            None,
        ),
        (
            0.0,
            -0.031,
            0.031,
            (
                "changes by 0.0\u00a0% (95 % interval −3.1\u00a0% to +3.1\u00a0%, over queries of "
                "one training: speaks of this checkpoint): cannot tell"
            ),
            None,
        ),
    ],
)
def test_a_change_between_test_sets(
    relative: float, low: float, high: float, words: str, holds: bool | None
) -> None:
    assert told(change(relative, low, high)) == [
        Finding(f"tk-original: when the test passages are rotated, nDCG@10 {words}.", holds)
    ]


def test_a_change_that_cannot_be_said() -> None:
    text = "tk-original: when the test passages are rotated, nDCG@10 cannot be said."
    assert told(change(None, 0, 0)) == [Finding(text, None)]
    assert told(change(-0.2, 0, 0, sure=False)) == [Finding(text, None)]


def test_queries_left_whole_and_queries_cut() -> None:
    subset = "queries whose answer was left whole"
    found = told(change(0.01, -0.01, 0.02, subset=subset), cuts={1: (75, 15)})
    assert [finding.text for finding in found] == [
        "tk-original: when the test passages are rotated, nDCG@10, over the 1,234 queries whose "
        "answer was left whole, does not change beyond ±3\u00a0%: +1.0\u00a0% (95 % interval "
        "−1.0\u00a0% to +2.0\u00a0%, over queries of one training: speaks of this checkpoint).",
        (
            "The rotation cut through the answer of 15 of the 90 test queries whose answer's place "
            "is known (16.7\u00a0%)."
        ),
    ]
    assert found[1].holds is None
    assert told(cuts={1: (90, 0)}) == []
    assert [finding.text[:29] for finding in told(cuts={3: (8, 2), 4: (9, 1)})] == [
        "The rotation of draw 3 cut th",
        "The rotation of draw 4 cut th",
    ]


def test_only_the_headline_measure_and_no_baseline_of_its_own() -> None:
    alone = ("position-only", "position-only")
    assert (
        told(change(-0.2, -0.3, -0.1, measure="RR@10"), change(-0.5, -0.6, -0.4, systems=alone))
        == []
    )


@pytest.mark.parametrize(
    ("relative", "low", "high", "words", "holds"),
    [
        (
            0.2,
            0.1,
            0.3,
            (
                "tk-rotated is better than tk-original: nDCG@10 0.600 against 0.500, difference "
                "+0.100 (95 % interval +0.050 to +0.150, over queries of one training: speaks of "
                "this checkpoint)"
            ),
            True,
        ),
        (
            -0.2,
            -0.3,
            -0.1,
            "tk-rotated is worse than tk-original: nDCG@10 0.400 against 0.500, "
            "difference −0.100 (95 % interval −0.150 to −0.050, over queries of one training: "
            "speaks of this checkpoint)",
            False,
        ),
        (
            0.02,
            -0.1,
            0.1,
            "tk-rotated is not distinguishable from tk-original: nDCG@10 0.510 against 0.500, "
            "difference +0.010 (95 % interval −0.050 to +0.050, over queries of one training: "
            "speaks of this checkpoint)",
            None,
        ),
    ],
)
def test_two_trainings(
    relative: float, low: float, high: float, words: str, holds: bool | None
) -> None:
    systems = ("tk-original", "tk-rotated")
    found = told(
        change(relative, low, high, axis="trainings", systems=systems, tests=("rotated", "rotated"))
    )
    assert found == [Finding(f"On the rotated test passages {words}.", holds)]


def against(
    base: str, low: float, *, system: str = "tk-original", test: str = "original"
) -> Result:
    return change(0.1, low, 0.3, axis="baseline", systems=(base, system), tests=(test, test))


def test_all_baselines_beaten() -> None:
    (finding,) = told(
        against("bm25", 0.01), against("position-only", 0.02), against("bm25", 0.05, test="rotated")
    )
    assert finding == Finding(
        "Every model beats BM25 and a position-only scorer, on both test sets, with intervals "
        "above 0 (over queries of one training: speaks of this checkpoint).",
        True,
    )


def test_baselines_not_beaten_are_named() -> None:
    (finding,) = told(
        against("bm25", 0.01),
        against("position-only", 0.0),
        against("bm25", -0.2, system="tk-rotated", test="rotated"),
        change(
            0.1,
            0,
            0,
            axis="baseline",
            systems=("bm25", "tk-rotated"),
            tests=("original", "original"),
            sure=False,
        ),
    )
    assert finding == Finding(
        "Not shown to beat a baseline, so its use of position matters little: tk-original against "
        "position-only on original; tk-rotated against bm25 on rotated and original.",
        False,
    )


def histogram(low: float, high: float, share: float = 0.5) -> Result:
    bounds = {
        "interval": {"low": low, "high": high},
        "difference_interval": {"low": low - 0.24, "high": high - 0.24},
    }
    first = {"value": share, "expected": 0.24, **bounds}
    payload = PositionHistogram(
        [0, 0.5, 1], [1, 1], [0.5, 0.5], {}, HistogramFigures.from_rows({"first_fifth": first})
    )
    return Result("answer positions", "planted", "train", "", 1, None, None, 1800, payload)


def test_where_answers_sit() -> None:
    before, after = told(histogram(0.45, 0.55), histogram(0.22, 0.265, 0.25))
    assert before == Finding(
        "In the original passages, 50.0\u00a0% of 1,800 answers start in the first fifth (95 % "
        "interval 45.0\u00a0% to 55.0\u00a0%): more than in an unbiased collection (24.0\u00a0%).",
        True,
    )
    assert after == Finding(
        "After rotation, 25.0\u00a0% of 1,800 answers start in the first fifth (95 % interval "
        "22.0\u00a0% to 26.5\u00a0%): as in an unbiased collection, to within 3\u00a0% "
        "(24.0\u00a0%).",
        False,
    )
    (fewer,) = told(histogram(0.1, 0.2, 0.15))
    assert "less than in an unbiased collection (24.0\u00a0%)" in fewer.text
    (wide,) = told(histogram(0.2, 0.28, 0.25))
    assert "cannot tell whether more than in an unbiased collection (24.0\u00a0%)" in wide.text
    assert wide.holds is None


def mats(
    training: str,
    value: float | None,
    *,
    test: str = "original",
    seed: int = 1,
    collection: str = "planted",
) -> Result:
    curve = AtsCurve(
        [0, 1], [1.0, 0.9], [20, 20], [50, 50], [None, None], [None, None], AtsFigures(mats=value)
    )
    facts = Facts(
        model="tk",
        training=training,
        test=test,
        seed=seed,
        rotation=1 if training == "rotated" else None,
    )
    return Result("MATS", collection, "", f"tk-{training}", 1, value, None, 500, curve, facts)


def test_mats_of_both_on_the_original_passages() -> None:
    pair = [mats("original", 0.21), mats("rotated", 0.05)]
    (finding,) = told(
        *pair, mats("original", 0.5, test="rotated"), mats("rotated", 0.6, test="rotated")
    )
    assert finding.text.startswith(
        "MATS on the original passages: tk-original 0.210, tk-rotated 0.050 (lower after training "
        "on rotated passages)."
    )
    assert finding.holds is None
    (higher,) = told(mats("original", 0.23), mats("rotated", 0.26))
    assert (
        "tk-original 0.230, tk-rotated 0.260 (higher after training on rotated passages)"
        in higher.text
    )
    (both,) = told(
        mats("original", 0.2),
        mats("original", 0.4, seed=2),
        mats("rotated", 0.1),
        mats("rotated", 0.12, seed=2),
    )
    assert "tk-original 0.300, tk-rotated 0.110" in both.text
    assert told(mats("original", 0.2)) == []
    assert told(mats("original", 0.2), mats("original", 0.2, test="rotated")) == []
    assert told(mats("original", None), mats("rotated", 0.1)) == []


def test_nothing_measured_nothing_said() -> None:
    assert told() == []


def ended(system: str, depth: int, *, seed: int = 1, draw: int | None = None) -> Result:
    facts = Facts(model="tk", training=system.partition("-")[2], seed=seed, rotation=draw)
    curve = TrainingCurve(
        [0], {}, ending=Ending(Finish.FINISHED, 0.8, depth, 0.8 if depth == 1 else 0.7)
    )
    return Result("training", "planted", "validation", system, 1, 0.8, None, 1, curve, facts)


def test_a_model_that_re_ranks_nothing_is_told_and_its_figures_are_not_called_its_own() -> None:
    (finding,) = told(change(0.0, 0.0, 0.0), ended("tk-original", 1))
    assert finding.text.startswith(
        "Does not beat its first stage on validation: tk-original. No re-ranking depth did better "
        "there than BM25's own order, so these scores change nothing: depth 1."
    )
    assert finding.holds is None
    assert "does not change beyond" in told(change(0.0, 0.0, 0.0), ended("tk-original", 2))[0].text


def test_one_of_several_trainings_that_re_ranks_nothing() -> None:
    trained = [ended("tk-original", 1), ended("tk-original", 5, seed=2)]
    share, idle, rest = told(change(0.0, 0.0, 0.0), change(-0.2, -0.3, -0.1, seed=2), *trained)
    assert "did not finish: tk-original 0 of 2" in share.text
    assert "validation: tk-original (1 of 2 trainings)." in idle.text
    assert (
        "falls: −20.0\u00a0% (95 % interval −30.0\u00a0% to −10.0\u00a0%, over queries of one "
        "training: speaks of this checkpoint)"
    ) in rest.text
    # two trainings are not compared where one of them is the first stage under another name
    pair = ("tk-original", "tk-rotated")
    against_it = change(0.2, 0.1, 0.3, axis="trainings", systems=pair, tests=("rotated", "rotated"))
    assert len(told(against_it, *trained)) == 2
    assert "tk-rotated is better than tk-original" in told(against_it, *trained[1:])[0].text
    # beside a baseline it is named
    beside = change(
        0.0,
        0.0,
        0.0,
        axis="baseline",
        systems=("bm25", "tk-original"),
        tests=("original", "original"),
    )
    assert "tk-original against bm25" in told(beside, *trained)[2].text


# -- several seeds and draws -----------------------------------------------------------------------


CLUSTERS = {f"q{number}": f"passage {number // 2}" for number in range(40)}


def trained(
    seed: int, *, gap: float, draw: int = 1, test: str = "rotated", spread: float = 0.02
) -> list[Result]:
    """A training on both test sets, 0.5 on the original one and ``gap`` more on the rotated one, by
    query a little more or less; and its comparison.
    """
    random = np.random.default_rng(seed)
    found = []
    for of, mean in (("original", 0.5), (test, 0.5 + gap)):
        values = mean + random.normal(0, spread, 40)
        values += mean - values.mean()  # so that means are round
        facts = Facts(
            model="tk",
            training="original",
            test=of,
            seed=seed,
            rotation=None if of == "original" else draw,
        )
        payload = PerQuery(list(CLUSTERS), values.tolist())
        found.append(
            Result(MEASURE, "planted", "test", "tk-original", 1, mean, None, 40, payload, facts)
        )
    compared = change(2 * gap, -1, 1, seed=seed, draw=draw)
    assert isinstance(compared.payload, Comparison)
    notes = {**compared.payload.notes, BASELINE_FACTS: asdict(found[0].facts)}
    return [
        *found,
        replace(compared, payload=replace(compared.payload, notes=notes), facts=found[1].facts),
    ]


def told_together(gaps: Sequence[float], *, spread: float = 0.02) -> Finding:
    results = [
        result
        for place, gap in enumerate(gaps)
        for result in trained(place + 1, gap=gap, spread=spread)
    ]
    results += over_trainings(results, clusters=CLUSTERS, seed=1)
    (found,) = told(*results)
    return found


def test_two_trainings_have_both_values_and_no_interval() -> None:
    """Differences −0.05 and −0.07 of 0.5: −10 % and −14 %."""
    text = (
        "tk-original: when the test passages are rotated, nDCG@10 changes by −12.0\u00a0% "
        "(−10.0\u00a0% and −14.0\u00a0% by training seed: 2 trainings have no interval)."
    )
    assert told_together([-0.05, -0.07]) == Finding(text, None)


def test_three_trainings_off_zero_speak_of_the_method() -> None:
    """Relative changes −10, −12 and −14 %: between trainings alone the standard error is 2 % / √3
    = 1.15 %, and half a width 4.303 · 1.15 % = 4.97 %.
    """
    found = told_together([-0.05, -0.06, -0.07], spread=1e-6)
    assert found.holds
    assert found.text == (
        "tk-original: when the test passages are rotated, nDCG@10 falls: −12.0\u00a0% (95 % "
        "interval −17.0\u00a0% to −7.0\u00a0%, over 3 trainings and queries: speaks of the method)."
    )


def test_three_trainings_about_zero_do_not_yet() -> None:
    """A change within ± 3 %, of three and of five trainings, and an undecided one."""
    three = told_together([0.001, -0.001, 0.0], spread=0.001)
    assert "does not change beyond ±3\u00a0%: 0.0\u00a0%" in three.text
    assert three.text.endswith(
        "over 3 trainings and queries: speaks of these trainings, not yet of the method)."
    )
    five = told_together([0.001, -0.001, 0.0, 0.0, 0.0], spread=0.001)
    assert five.text.endswith("over 5 trainings and queries: speaks of the method).")
    undecided = told_together([-0.1, 0.1, 0.02])
    assert undecided.holds is None
    assert undecided.text.endswith("not yet of the method): cannot tell.")


def test_without_the_values_of_queries_nothing_is_said_of_several_trainings() -> None:
    assert told(change(-0.10, -0.2, -0.01), change(-0.14, -0.2, -0.05, seed=2)) == []


def test_queries_that_a_draw_cut_are_left_out_of_it() -> None:
    """Draw 1 leaves all but the first query whole, draw 2 all but the last: what these two lose is
    in neither.
    """
    results = []
    for seed, draw in product((1, 2, 3), (1, 2)):
        original, rotated, compared = trained(seed, gap=0.0, draw=draw, spread=0.0)
        assert isinstance(rotated.payload, PerQuery)
        assert isinstance(compared.payload, Comparison)
        values = [*rotated.payload.values]
        values[0 if draw == 1 else -1] = -9.0
        rotated = replace(rotated, payload=replace(rotated.payload, values=values))
        results += [
            original,
            rotated,
            replace(compared, payload=replace(compared.payload, subset=WHOLE)),
        ]
    whole = {1: set(list(CLUSTERS)[1:]), 2: set(list(CLUSTERS)[:-1])}
    (found,) = over_trainings(results, clusters=CLUSTERS, seed=1, whole=whole)
    assert isinstance(found.payload, Comparison)
    assert found.value == pytest.approx(0.0)
    assert (found.payload.notes["trainings"], found.payload.notes["rotations"], found.count) == (
        3,
        2,
        40,
    )


def test_models_and_trainings_each_have_their_sentence() -> None:
    systems = ("tk-original", "bert_cat-original", "bert_cat-rotated")
    found = told(*(change(-0.2, -0.25, -0.15, systems=(name, name)) for name in systems))
    assert [finding.text.partition(":")[0] for finding in found] == list(systems)


# -- against the paper -----------------------------------------------------------------------------


def of_squad() -> Result:
    """What tells that a collection is the paper's."""
    figures = PassageFigures(passages=1, manifest=Origin(command="import squad"))
    return Result("passages", "mine", "", "", 1, 1.0, None, 1, figures)


def test_a_change_that_the_paper_does_not_have() -> None:
    """Table 4: TK trained on original SQuAD, nDCG Δ −0.7 %: no change; Table 3 (MS MARCO) is about
    another collection.
    """
    fall = change(-0.2, -0.25, -0.15, collection="mine")
    assert [f.text for f in told(fall, of_squad())[1:]] == [
        "Against the paper: for tk-original it prints Δ −0.7\u00a0% (Table 4, TK, Original row, "
        "nDCG, Δ), no change beyond ±3\u00a0%; here it is a fall; look for the reason before "
        "calling it a finding."
    ]
    assert len(told(fall)) == 1  # a collection that the paper has not
    # as in the paper
    assert len(told(change(0.0, -0.01, 0.01, collection="mine"), of_squad())) == 1
    assert len(told(change(-0.02, -0.1, 0.1, collection="mine"), of_squad())) == 1  # undecided


def test_mats_that_does_not_fall() -> None:
    """Table 2: SQuAD 0.056 to 0.007."""
    rising = [mats("original", 0.05, collection="mine"), mats("rotated", 0.06, collection="mine")]
    assert (
        "Against the paper: it prints MATS 0.056 and 0.007 (Table 2"
        in told(*rising, of_squad())[1].text
    )
    falling = [mats("original", 0.05, collection="mine"), mats("rotated", 0.01, collection="mine")]
    assert len(told(*falling, of_squad())) == 1


def test_trainings_in_the_other_order() -> None:
    """Table 3, rotated test: BERT_CAT 0.395 original, 0.415 rotated."""
    figures = PassageFigures(passages=1, manifest=Origin(command="import msmarco"))
    source = Result("passages", "mine", "", "", 1, 1.0, None, 1, figures)
    pair = {
        "systems": ("bert_cat-original", "bert_cat-rotated"),
        "tests": ("rotated", "rotated"),
        "collection": "mine",
    }
    worse = told(change(-0.2, -0.3, -0.1, axis="trainings", **pair), source)  # type: ignore
    assert (
        "it prints nDCG@10 0.395 for bert_cat trained on original and 0.415 on rotated passages"
        in worse[1].text
    )
    assert len(told(change(0.2, 0.1, 0.3, axis="trainings", **pair), source)) == 1  # type: ignore
