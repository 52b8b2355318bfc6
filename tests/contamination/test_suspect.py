"""A suspicion by hand, paired and unpaired; when it cannot tell; how often it is wrong and what it
finds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from positionbias.contamination.configuration import Configuration
from positionbias.contamination.contrast import (
    Contrast,
    Measured,
    Sides,
    against_fresh,
    against_paraphrases,
    by_near_duplicates,
)
from positionbias.contamination.measured import KEYS, suspicion_rows, suspicions_in
from positionbias.contamination.settings import SuspectSettings
from positionbias.contamination.suspect import Known, suspect
from positionbias.contamination.suspicion import Compared, Obstacle, Suspected, Suspicion
from positionbias.contamination.words import sentences
from positionbias.core.errors import InputError, SettingError
from positionbias.core.rows import Collected

PUBLIC, FRESH = ["q1", "q2", "q3", "q4"], ["f1", "f2", "f3", "f4"]
NAMES = ("test", "other")
DECLARED = SuspectSettings(configuration="one kind")
MADE = Configuration({"kind": "tk", "layers": 1}, {"epochs": 7})
FLAT = Sides(dict.fromkeys(PUBLIC, 0.0), dict.fromkeys(FRESH, 0.0))


def measured(
    name: str, public: Sequence[float], fresh: Sequence[float], made: Configuration = MADE
) -> Measured:
    quality = Sides(dict(zip(PUBLIC, public, strict=True)), dict(zip(FRESH, fresh, strict=True)))
    return Measured(name, quality, FLAT, made)


MODEL = measured("m", [1.0, 0.8, 0.6, 0.4], [0.5, 0.4, 0.6, 0.4])
CONTROL = measured("c", [0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.6, 0.4])
OTHER = measured("d", [0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.6, 0.6])
ORDER = measured("bm25", [0.4, 0.4, 0.4, 0.4], [0.2, 0.2, 0.2, 0.2])
PAIRED = against_paraphrases(
    PUBLIC, FRESH, dict(zip(FRESH, PUBLIC, strict=True)), names=NAMES, clusters={}
)
UNPAIRED = against_fresh(PUBLIC, FRESH, names=NAMES, clusters={}, fresh_clusters={})


def judged(
    contrast: Contrast,
    controls: Sequence[Measured] = (CONTROL, OTHER),
    how: SuspectSettings = DECLARED,
    models: Sequence[Measured] = (MODEL,),
    bank: Sequence[Sequence[Measured]] = (),
) -> Compared:
    (compared,) = suspect(models, Known(controls, bank), ORDER, [contrast], how)
    return compared


def suspicion(compared: Compared) -> Suspicion:
    return compared.answers[0].suspicion


@pytest.mark.parametrize("contrast", [PAIRED, UNPAIRED], ids=["paired", "unpaired"])
def test_among_controls_by_hand(contrast: Contrast) -> None:
    """The model's own difference is 0.6 − 0.475 = 0.225, the controls' are 0.025 and −0.025: t
    = 0.225 / (s · √1.5), s = 0.05 / √2, one degree of freedom.
    """
    results = judged(contrast)
    found = suspicion(results).excesses[0]
    assert results.answers[0].difference == found.value == pytest.approx(0.225)
    assert found.spread == pytest.approx(0.05 / 2**0.5)
    error = 0.05 / 2**0.5 * 1.5**0.5
    assert found.p_trainings == pytest.approx(stats.t.sf(0.225 / error, 1))
    # the wider of both
    half = max(
        stats.t.ppf(0.95, 1) * error, found.high - found.value if contrast is UNPAIRED else 0.0
    )
    assert (found.low, found.high) == (pytest.approx(0.225 - half), pytest.approx(0.225 + half))
    assert found.p == found.p_holm == max(found.p_trainings, found.p_queries)
    assert suspicion(results).tests == 1


def test_over_queries_by_hand() -> None:
    """Over the controls' mean: 0.5, 0.3, 0.1, −0.1 on test; 0.1, −0.1, 0, −0.1 on the paraphrases;
    they differ by 0.4, 0.4, 0.1, 0: mean 0.225.
    """
    found = suspicion(judged(PAIRED)).excesses[0]
    error = np.std([0.4, 0.4, 0.1, 0.0], ddof=1) / 2
    assert found.p_queries == pytest.approx(stats.t.sf(0.225 / error, 3))
    welch = stats.ttest_ind(
        [0.5, 0.3, 0.1, -0.1], [0.1, -0.1, 0, -0.1], equal_var=False, alternative="greater"
    ).pvalue
    assert suspicion(judged(UNPAIRED)).excesses[0].p_queries == pytest.approx(welch)


def test_systems_and_advantages_stand_beside_it() -> None:
    results = judged(PAIRED)
    systems = [(means.system, means.role, means.difference) for means in results.systems]
    assert systems == [
        ("m", "model", pytest.approx(0.225)), ("c", "control", pytest.approx(0.025)),
        ("d", "control", pytest.approx(-0.025)),
        ("bm25", "candidates", pytest.approx(0.2)),
    ]  # fmt: skip
    (answered,) = results.answers
    assert answered.seen == pytest.approx(dict(zip(PUBLIC, [0.5, 0.3, 0.1, -0.1], strict=True)))
    assert answered.other == pytest.approx(dict(zip(PUBLIC, [0.1, -0.1, 0, -0.1], strict=True)))


SILENT = Configuration({"kind": "tk", "layers": 1})
LARGER = Configuration({"kind": "tk", "layers": 2})


@pytest.mark.parametrize(
    ("controls", "words", "obstacle"),
    [
        ([], "one kind", Obstacle.FEW),
        ([CONTROL], "one kind", Obstacle.FEW),
        ([CONTROL, OTHER._replace(configuration=LARGER)], "one kind", Obstacle.UNLIKE),
        (
            [CONTROL._replace(configuration=LARGER), OTHER._replace(configuration=LARGER)],
            "one kind",
            Obstacle.UNLIKE,
        ),
        (
            [CONTROL._replace(configuration=SILENT), OTHER._replace(configuration=SILENT)],
            "",
            Obstacle.UNDECLARED,
        ),
        ([CONTROL, OTHER._replace(configuration=Configuration())], "", Obstacle.UNDECLARED),
        ([CONTROL, CONTROL._replace(name="again")], "one kind", Obstacle.FLAT),
        ([CONTROL, MODEL._replace(name="itself")], "one kind", Obstacle.FLAT),
    ],
    ids=[
        "none",
        "one",
        "one of two unlike",
        "unlike",
        "silent",
        "a run",
        "one twice",
        "the model itself",
    ],
)
def test_it_cannot_tell(controls: list[Measured], words: str, obstacle: Obstacle) -> None:
    found = suspicion(judged(UNPAIRED, controls, SuspectSettings(configuration=words)))
    assert (found.answer, found.obstacle, found.excesses, found.rates) == (
        Suspected.UNKNOWN,
        obstacle,
        [],
        None,
    )
    said = sentences("m", found)
    assert said[0].startswith("Cannot tell whether m saw test: ")
    assert said[-1].startswith("Next: ")


def test_controls_that_say_they_are_alike_need_no_words() -> None:
    assert suspicion(judged(UNPAIRED, how=SuspectSettings())).excesses
    alike = [of._replace(configuration=SILENT) for of in (CONTROL, OTHER)]
    assert suspicion(judged(UNPAIRED, alike, DECLARED)).excesses


def test_nothing_has_a_spread() -> None:
    same = [
        Measured(
            f"s{n}", Sides(dict.fromkeys(PUBLIC, n / 10), dict.fromkeys(FRESH, n / 10)), FLAT, MADE
        )
        for n in range(4)
    ]
    found = suspicion(judged(UNPAIRED, same[1:], models=same[:1]))
    assert (found.answer, found.obstacle) == (Suspected.UNKNOWN, Obstacle.FLAT)


def test_several_paraphrases_count_by_their_mean_and_what_has_none_is_left_out() -> None:
    of = {"f1": "q1", "f2": "q1", "f3": "q2"}
    contrast = against_paraphrases(PUBLIC, FRESH, of, names=NAMES, clusters={})
    assert contrast.left_out == {
        "queries of test without a paraphrase": 2,
        "queries of other that paraphrase none": 1,
    }
    values = contrast.values(MODEL.quality)
    assert values.seen.tolist() == [1.0, 0.8]
    assert values.other.tolist() == pytest.approx([0.45, 0.6])
    assert suspicion(judged(contrast)).queries_other == 3


def test_near_duplicates_are_held_against_the_other_public_queries() -> None:
    contrast = by_near_duplicates(PUBLIC, {"q1", "q3", "elsewhere"}, name="test", clusters={})
    # the model's own difference: (1 + 0.6) / 2 − (0.8 + 0.4) / 2; the controls have none
    assert judged(contrast, [CONTROL]).answers[0].difference == pytest.approx(0.2)
    for leaked in (set[str](), set(PUBLIC)):
        with pytest.raises(
            InputError,
            match=r"^--pairs: wanted pairs with some of the 4 judged queries of 'test'; found",
        ):
            by_near_duplicates(PUBLIC, leaked, name="test", clusters={})


def test_holm_is_over_all_models() -> None:
    models = [MODEL, measured("n", [0.6, 0.5, 0.5, 0.6], [0.5, 0.4, 0.6, 0.4])]
    results = judged(UNPAIRED, models=models)
    first, second = (answered.suspicion.excesses[0] for answered in results.answers)
    assert first.p < second.p
    assert (first.p_holm, second.p_holm) == (
        pytest.approx(2 * first.p),
        pytest.approx(max(second.p, 2 * first.p)),
    )
    assert suspicion(results).tests == 2


def test_answers_are_read_back_from_their_rows() -> None:
    banks = [[OTHER, CONTROL], [CONTROL, OTHER]]
    left_out = against_paraphrases(
        PUBLIC, FRESH, {"f1": "q1", "f2": "q2"}, names=NAMES, clusters={}
    )
    for compared in (judged(UNPAIRED, bank=banks), judged(left_out), judged(UNPAIRED, [])):
        made = Collected({"study": "s", "collection": "c"}, KEYS)
        suspicion_rows(made, [compared], "nDCG@10")
        (given_back,) = suspicions_in(made.rows)
        assert given_back.model == "m"
        assert given_back.suspicion == suspicion(compared)


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shift=st.floats(-0.5, 0.5))
def test_what_falls_on_model_and_control_alike_is_taken_off(paired: bool, shift: float) -> None:
    """Fresh queries that are harder for all by any amount: value and p are those without."""
    contrast = PAIRED if paired else UNPAIRED
    harder = [
        of._replace(
            quality=Sides(of.quality.public, {q: v + shift for q, v in of.quality.fresh.items()})
        )
        for of in (MODEL, CONTROL, OTHER)
    ]
    plain, shifted = judged(contrast), judged(contrast, harder[1:], models=harder[:1])
    assert shifted.answers[0].difference == pytest.approx(plain.answers[0].difference)
    assert suspicion(shifted).excesses[0].p == pytest.approx(suspicion(plain).excesses[0].p)


QUERIES = 60
IDS = [f"q{number:03}" for number in range(QUERIES)]
SAME_IDS = against_paraphrases(IDS, IDS, None, names=NAMES, clusters={})
OTHERS = against_fresh(IDS, IDS, names=NAMES, clusters={}, fresh_clusters={})


def _systems(
    rng: np.random.Generator, number: int, effect: float, *, paired: bool
) -> list[Measured]:
    """Models whose values differ by query and by chance; the others are harder for all, and the
    first gains ``effect`` on the public queries.
    """
    difficulty = rng.normal(0.5, 0.2, QUERIES)
    elsewhere = (difficulty if paired else rng.normal(0.5, 0.2, QUERIES)) - 0.1
    made = []
    for place in range(number):
        gain = effect if not place else 0.0
        sides = [
            base + rng.normal(0, 0.05) + rng.normal(0, 0.1, QUERIES)
            for base in (difficulty + gain, elsewhere)
        ]
        noise = [rng.normal(0, 1, QUERIES) for _ in range(2)]
        quality, margins = (
            Sides(*(dict(zip(IDS, of, strict=True)) for of in pair)) for pair in (sides, noise)
        )
        made.append(Measured(f"s{place}", quality, margins, MADE))
    return made


def _answers(effect: float, controls: int, *, paired: bool, trials: int) -> list[Suspicion]:
    rng, found = np.random.default_rng(5), []
    contrast = SAME_IDS if paired else OTHERS
    for _ in range(trials):
        model, *others = _systems(rng, 1 + controls, effect, paired=paired)
        known = Known(others)
        found.append(suspicion(*suspect([model], known, model, [contrast], SuspectSettings())))
    return found


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
def test_false_alarms_and_power_are_what_it_says(paired: bool) -> None:
    clean = _answers(0.0, 3, paired=paired, trials=30)
    alarms = sum(of.answer == Suspected.YES for of in clean)
    assert alarms <= 5  # of 30 at 5 %: one in 300 series has more
    assert all(of.rates is not None and of.rates.false_alarms <= 0.06 for of in clean)
    found = _answers(0.5, 6, paired=paired, trials=10)
    assert all(of.answer == Suspected.YES for of in found)


def test_a_bank_helps_few_controls() -> None:
    rng = np.random.default_rng(2)
    model, *others = _systems(rng, 24, 0.0, paired=False)
    controls, bank = others[:2], [others[2:9], others[9:16], others[16:]]
    without, helped = (
        suspicion(*suspect([model], Known(controls, groups), model, [OTHERS], SuspectSettings()))
        for groups in ((), bank)
    )
    assert (without.excesses[0].freedom, helped.bank_groups, helped.bank_models) == (1.0, 3, 21)
    assert helped.excesses[0].freedom > 5
    assert without.rates is not None
    assert helped.rates is not None
    assert helped.rates.power[-1] > without.rates.power[-1]
    assert helped.rates.in_turn is not None
    assert helped.rates.in_turn.models == 21
    assert without.rates.in_turn is None


def test_paraphrases_never_clear_a_model() -> None:
    """Values that hardly differ: against fresh queries that clears the model, against paraphrases
    it does not.
    """
    rng = np.random.default_rng(4)
    fine = [replace_quality(of, 0.01) for of in _systems(rng, 9, 0.0, paired=True)]
    for contrast, answer, obstacle in (
        (SAME_IDS, Suspected.UNKNOWN, Obstacle.WORDING),
        (OTHERS, Suspected.NO, None),
    ):
        known = Known(fine[1:])
        found = suspicion(*suspect(fine[:1], known, fine[0], [contrast], SuspectSettings()))
        assert (found.answer, found.obstacle) == (answer, obstacle)


def replace_quality(of: Measured, scale: float) -> Measured:
    return of._replace(
        quality=Sides(*({q: scale * v for q, v in side.items()} for side in of.quality))
    )


@pytest.mark.parametrize("wrong", [0.0, 0.5, float("nan")])
def test_settings_out_of_range_name_their_flag(wrong: float) -> None:
    with pytest.raises(
        SettingError, match=r"^--alpha: wanted a number above 0 and below 0\.5; found"
    ):
        SuspectSettings(alpha=wrong)


def test_one_paraphrase_is_too_few() -> None:
    with pytest.raises(
        InputError,
        match=r"^--fresh: wanted paraphrases of judged queries of 'test'; found 1 among 4",
    ):
        against_paraphrases(PUBLIC, FRESH, {"f1": "q1", "f2": "gone"}, names=NAMES, clusters={})
