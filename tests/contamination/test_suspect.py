"""A suspicion by hand, paired and unpaired; how often it is one where there is nothing, and where there is something."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from positionbias.contamination.contrast import Contrast, Measured, against_fresh, against_paraphrases, by_near_duplicates
from positionbias.contamination.suspect import SuspectSettings, suspect
from positionbias.core.errors import InputError, SettingError
from positionbias.core.payloads import Finding, PerQuery, Statistics
from positionbias.core.result import Result

PUBLIC, FRESH = ["q1", "q2", "q3", "q4"], ["f1", "f2", "f3", "f4"]
NAMES = ("test", "other")
CUSTOMARY = SuspectSettings()
QUICK = SuspectSettings(permutations=199)


def measured(name: str, public: Sequence[float], fresh: Sequence[float]) -> Measured:
    return Measured(name, dict(zip(PUBLIC, public, strict=False)), dict(zip(FRESH, fresh, strict=False)))


MODEL = measured("m", [1.0, 0.8, 0.6, 0.4], [0.5, 0.4, 0.6, 0.4])
CONTROL = measured("c", [0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.6, 0.4])
ORDER = measured("bm25", [0.4, 0.4, 0.4, 0.4], [0.2, 0.2, 0.2, 0.2])
PAIRED = against_paraphrases(PUBLIC, FRESH, dict(zip(FRESH, PUBLIC, strict=True)), names=NAMES, clusters={})
UNPAIRED = against_fresh(PUBLIC, FRESH, names=NAMES, clusters={}, fresh_clusters={})


def judged(
    contrast: Contrast,
    controls: Sequence[Measured] = (),
    settings: SuspectSettings = CUSTOMARY,
    model: Measured = MODEL,
) -> list[Result]:
    return suspect(model, controls, ORDER, contrast, settings, collection="c", split="test")


def rows_of(results: Sequence[Result]) -> dict[str, object]:
    assert isinstance(results[0].payload, Statistics)
    return dict(results[0].payload.rows)


def test_paired_by_hand() -> None:
    """a on test 0.5, 0.3, 0.1, −0.1, on the paraphrases 0.1, −0.1, 0, 0: they differ by 0.4, 0.4, 0.1, −0.1."""
    results = judged(PAIRED, [CONTROL])
    rows = rows_of(results)
    assert results[0].value == pytest.approx(0.2)
    assert results[0].count == 4
    assert (rows["advantage_seen"], rows["advantage_other"]) == (pytest.approx(0.2), pytest.approx(0.0))
    # of 16 signs three reach the sum 0.8: as it is, with −0.1 turned, and with 0.1 and −0.1 turned
    assert rows["p"] == pytest.approx(3 / 16)
    # Σ (d − 0.2)² = 0.18, se = √(0.06 / 4), three degrees of freedom
    assert rows["detectable"] == pytest.approx((stats.t.ppf(0.95, 3) + stats.t.ppf(0.8, 3)) * np.sqrt(0.015))
    assert (rows["suspicious"], rows["p_among_controls"], rows["controls_that_gain_as_much"]) == (False, None, 0)
    assert rows["reference"] == "the control c"
    advantages = [result for result in results if isinstance(result.payload, PerQuery)]
    found = [result.payload.values for result in advantages if isinstance(result.payload, PerQuery)]
    assert found == [pytest.approx([0.5, 0.3, 0.1, -0.1]), pytest.approx([0.1, -0.1, 0, 0])]
    assert all(result.payload.query_ids == PUBLIC for result in advantages if isinstance(result.payload, PerQuery))


def test_the_order_of_candidates_is_the_reference_where_there_is_no_control() -> None:
    results = judged(PAIRED)
    rows = rows_of(results)
    # model 0.7 − 0.475, order 0.4 − 0.2
    assert results[0].value == pytest.approx(0.025)
    assert rows["reference"] == "the order of bm25"
    systems = [(r.system, r.payload.rows["role"], r.value) for r in results[1:] if isinstance(r.payload, Statistics)]
    assert systems == [("m", "model", pytest.approx(0.225)), ("bm25", "candidates", pytest.approx(0.2))]


def test_unpaired_by_hand() -> None:
    """Over the control: 0.5, 0.3, 0.1, −0.1 against 0.1, −0.1, 0, 0; a choice of four of the eight is as large where its sum is at least 0.8."""
    results = judged(UNPAIRED, [CONTROL])
    rows = rows_of(results)
    assert results[0].value == pytest.approx(0.2)
    assert results[0].count == 8
    # the sum 0.8 or more: 0.5 and 0.3 with {0.1 or the other 0.1} and {−0.1 × 2, 0 × 2}: 0.5 + 0.3 + 0.1 + 0.1 = 1.0 (1 way),
    # 0.5 + 0.3 + 0.1 + 0 = 0.9 (4 ways), 0.5 + 0.3 + 0.1 − 0.1 = 0.8 (4 ways), 0.5 + 0.3 + 0 + 0 = 0.8 (1 way); of C(8, 4) = 70
    assert rows["p"] == pytest.approx(10 / 70)


def test_among_controls_by_hand() -> None:
    """The model's own difference is 0.225; the controls' are 0.025 and −0.025: t = 0.225 / (0.025·√2 · √1.5) at one degree of freedom."""
    other = measured("d", [0.5, 0.5, 0.5, 0.5], [0.4, 0.5, 0.6, 0.6])
    rows = rows_of(judged(PAIRED, [CONTROL, other]))
    assert rows["p_among_controls"] == pytest.approx(stats.t.sf(0.225 / (0.025 * np.sqrt(3)), 1))
    assert rows["reference"] == "the mean of 2 controls (c, d)"


def test_several_paraphrases_count_by_their_mean_and_what_has_none_is_left_out() -> None:
    of = {"f1": "q1", "f2": "q1", "f3": "q2"}
    contrast = against_paraphrases(PUBLIC, FRESH, of, names=NAMES, clusters={})
    assert contrast.left_out == {"queries of test without a paraphrase": 2, "queries of other that paraphrase none": 1}
    values = contrast.values(MODEL)
    assert values.seen.tolist() == [1.0, 0.8]
    assert values.other.tolist() == pytest.approx([0.45, 0.6])
    assert rows_of(judged(contrast, [CONTROL]))["queries_other"] == 3


def test_near_duplicates_are_held_against_the_other_public_queries() -> None:
    contrast = by_near_duplicates(PUBLIC, {"q1", "q3", "elsewhere"}, name="test", clusters={})
    results = judged(contrast, [CONTROL])
    # a: 0.5 and 0.1 against 0.3 and −0.1
    assert results[0].value == pytest.approx(0.2)
    assert rows_of(results)["p"] == pytest.approx(2 / 6)  # {0.5, 0.3} too
    for leaked in (set[str](), set(PUBLIC)):
        with pytest.raises(InputError, match=r"^--pairs: wanted pairs that name some of 4 judged queries of 'test'; found"):
            by_near_duplicates(PUBLIC, leaked, name="test", clusters={})


def test_what_it_says() -> None:
    sure = SuspectSettings(alpha=0.2)
    found = judged(PAIRED, [CONTROL], sure)[-1].payload
    assert isinstance(found, Finding)
    assert found.holds is True
    assert found.text.startswith("m gains +0.200 [")
    assert "one-sided p over queries 0.1875; alpha 0.2" in found.text
    assert found.text.endswith("suspicious, which is no proof.")
    unsure = judged(PAIRED, [CONTROL])[-1].payload
    assert isinstance(unsure, Finding)
    assert unsure.holds is None
    assert unsure.text.endswith("not suspicious; an excess below 0.408 would often be missed.")


def test_results_survive_json() -> None:
    for result in judged(UNPAIRED, [CONTROL]):
        assert Result.from_json(result.to_json()).to_json() == result.to_json()


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
@given(shift=st.floats(-0.5, 0.5))
def test_what_falls_on_model_and_control_alike_is_taken_off(paired: bool, shift: float) -> None:
    """Fresh queries that are harder for all by any amount: value and p are those without."""
    contrast = PAIRED if paired else UNPAIRED
    harder = [Measured(of.name, of.public, {q: round(v + shift, 6) for q, v in of.fresh.items()}) for of in (MODEL, CONTROL)]
    plain, shifted = judged(contrast, [CONTROL]), judged(contrast, harder[1:], model=harder[0])
    assert shifted[0].value == pytest.approx(plain[0].value, abs=1e-5)
    assert rows_of(shifted)["p"] == rows_of(plain)["p"]


QUERIES = 40
IDS = [f"q{number:03}" for number in range(QUERIES)]
SAME_IDS = against_paraphrases(IDS, IDS, None, names=NAMES, clusters={})
OTHERS = against_fresh(IDS, IDS, names=NAMES, clusters={}, fresh_clusters={})


def _trial(rng: np.random.Generator, effect: float, between: float, controls: int, paired: bool) -> dict[str, object]:
    """One model and its controls: a query's difficulty is shared, the others are harder for all by 0.1 on average, and models differ by chance.

    ``effect`` is what the model gains on the public queries; ``between`` the deviation of what any model gains there by its seed.
    """
    difficulty = rng.normal(0.5, 0.2, QUERIES)
    elsewhere = (difficulty if paired else rng.normal(0.5, 0.2, QUERIES)) - rng.normal(0.1, 0.05, QUERIES)
    systems = []
    for number in range(1 + controls):
        gain = (effect if number == 0 else 0.0) + between * rng.normal()
        public, fresh = difficulty + gain + rng.normal(0, 0.1, QUERIES), elsewhere + rng.normal(0, 0.1, QUERIES)
        systems.append(Measured(f"s{number}", dict(zip(IDS, public, strict=True)), dict(zip(IDS, fresh, strict=True))))
    flat = Measured("bm25", dict.fromkeys(IDS, 0.4), dict.fromkeys(IDS, 0.4))
    contrast = SAME_IDS if paired else OTHERS
    return rows_of(suspect(systems[0], systems[1:], flat, contrast, QUICK, collection="c", split="test"))


def _rate(effect: float, *, between: float = 0.0, controls: int = 1, paired: bool, trials: int = 80) -> tuple[float, float]:
    """The share of trials with p over queries at most 0.05, and of those that are suspicious."""
    rng = np.random.default_rng(5)
    rows = [_trial(rng, effect, between, controls, paired) for _ in range(trials)]
    return float(np.mean([float(str(row["p"])) <= 0.05 for row in rows])), float(
        np.mean([bool(row["suspicious"]) for row in rows])
    )


SURE = 4 * np.sqrt(0.05 * 0.95 / 80)


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
def test_a_clean_model_is_suspected_five_times_in_a_hundred_beside_a_control_and_an_effect_is_found(paired: bool) -> None:
    assert _rate(0.0, paired=paired)[0] == pytest.approx(0.05, abs=SURE)
    assert _rate(0.2, paired=paired, trials=40)[1] > 0.9


@pytest.mark.parametrize("paired", [True, False], ids=["paired", "unpaired"])
def test_without_a_control_harder_queries_look_like_contamination(paired: bool) -> None:
    assert _rate(0.0, controls=0, paired=paired, trials=40)[1] > 0.5


def test_clean_models_that_differ_by_chance_are_suspected_too_often_by_queries_alone() -> None:
    """Each gains 0 ± 0.1 by its seed: beside three controls the test among them keeps what is called suspicious at its level."""
    by_queries, suspicious = _rate(0.0, between=0.1, controls=3, paired=True)
    assert by_queries > 0.2
    assert suspicious < 0.05 + SURE
    assert _rate(0.8, between=0.1, controls=3, paired=True, trials=40)[1] > 0.9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0.0}, "--alpha: wanted a number between 0 and 1; found 0.0"),
        ({"alpha": float("nan")}, "--alpha: wanted a number between 0 and 1; found nan"),
        ({"permutations": 0}, "--permutations: wanted at least 1; found 0"),
    ],
    ids=["alpha", "nan", "permutations"],
)
def test_settings_out_of_range_name_their_flag(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError) as error:
        SuspectSettings(**wrong)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)


def test_one_paraphrase_is_too_few() -> None:
    with pytest.raises(InputError, match=r"^--fresh: wanted paraphrases of judged queries of 'test'; found 1 among 4"):
        against_paraphrases(PUBLIC, FRESH, {"f1": "q1", "f2": "gone"}, names=NAMES, clusters={})
