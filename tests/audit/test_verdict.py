"""Answers of hand-made effects, verdicts of hand-made measurements, and the sentences that say
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from positionbias.audit.answers import Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.lists import Nature, OrderSlopes
from positionbias.audit.manipulate import Measured
from positionbias.audit.reads import Reads
from positionbias.audit.verdict import answer, list_verdict, passage_verdict, wanted_queries
from positionbias.audit.words import sentences_of, unread_part
from positionbias.core.seeds import generator

ENDS, MIDDLE, ROTATION = Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION
NDCG = "nDCG@10"
NOTHING = (0.0, -0.05, 0.05)
WIDE = (0.0, -0.3, 0.3)


def effect(
    contrast: Contrast,
    value: float | None,
    low: float | None,
    high: float | None,
    queries: int = 100,
) -> Effect:
    return Effect(contrast, "worth", value, low, high, None, queries)


def answered(
    ends: Sequence[Any],
    middle: Sequence[Any] = NOTHING,
    rotation: Sequence[Any] = NOTHING,
    margin: float = 0.1,
):
    return answer(
        [effect(ENDS, *ends), effect(MIDDLE, *middle), effect(ROTATION, *rotation)], margin
    )


@pytest.mark.parametrize(
    ("ends", "middle", "rotation", "preference", "deciding", "exceeds"),
    [
        ((-0.3, -0.4, -0.2), NOTHING, NOTHING, Preference.FRONT, ENDS, True),
        (NOTHING, (0.3, 0.2, 0.4), NOTHING, Preference.MIDDLE, MIDDLE, True),
        (NOTHING, (-0.3, -0.4, -0.2), NOTHING, Preference.ENDS, MIDDLE, True),
        # it reaches into the margin: perhaps small
        ((-0.15, -0.25, -0.05), NOTHING, NOTHING, Preference.FRONT, ENDS, False),
        # the larger of two decides
        ((-0.2, -0.3, -0.15), (-0.5, -0.6, -0.4), NOTHING, Preference.ENDS, MIDDLE, True),
        # one of the moved sentence before a larger one of rotation
        ((-0.2, -0.3, -0.15), NOTHING, (0.9, 0.8, 1.0), Preference.FRONT, ENDS, True),
        # rotation is a preference too where the ends point the same way and do not deny it
        ((-0.05, -0.15, 0.05), NOTHING, (-0.3, -0.4, -0.2), Preference.FRONT, ROTATION, True),
        # otherwise the moved sentence decides alone: it is open, or within the margin
        ((0.05, -0.05, 0.15), NOTHING, (-0.3, -0.4, -0.2), Preference.UNKNOWN, ENDS, None),
        ((-0.073, -0.096, -0.051), NOTHING, (-0.111, -0.126, -0.096), Preference.NONE, ENDS, None),
        (NOTHING, NOTHING, (-0.3, -0.4, -0.2), Preference.NONE, ENDS, None),
        # none: both of the moved sentence within the margin, the margin itself included; rotation
        # may be wide
        ((0.0, -0.1, 0.1), NOTHING, WIDE, Preference.NONE, ENDS, None),
        # an interval within the margin that leaves out 0 is none as well
        ((0.03, 0.01, 0.05), NOTHING, NOTHING, Preference.NONE, ENDS, None),
        # unknown: one of them is open
        (WIDE, NOTHING, NOTHING, Preference.UNKNOWN, ENDS, None),
        ((0.2, None, None), (0.2, None, None), (0.2, None, None), Preference.UNKNOWN, ENDS, None),
        # what leaves out 0 and reaches beyond the margin shows a preference, though the estimate
        # lies within the margin
        (NOTHING, (0.08, 0.02, 0.14), NOTHING, Preference.MIDDLE, MIDDLE, False),
        (NOTHING, (0.08, 0.06, 0.1), NOTHING, Preference.NONE, MIDDLE, None),
        # exact zeros
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), Preference.NONE, ENDS, None),
    ],
)
def test_answers(
    ends, middle, rotation, preference: Preference, deciding: Contrast, exceeds: bool | None
) -> None:
    found = answered(ends, middle, rotation)
    assert (found.preference, found.deciding.contrast) == (preference, deciding)
    if exceeds is not None:
        assert found.deciding.beyond(0.1) is exceeds


def test_rotation_alone_shows_a_preference_and_cannot_show_that_there_is_none() -> None:
    assert answer([effect(ROTATION, -0.3, -0.4, -0.2)], 0.1).preference == Preference.FRONT
    found = answer([effect(ROTATION, *NOTHING)], 0.1)
    assert found.preference == Preference.UNKNOWN
    assert answer([effect(ROTATION, *WIDE)], 0.1).preference == Preference.UNKNOWN
    # passages of three sentences have no middle: the ends are enough
    assert (
        answer([effect(ENDS, *NOTHING), effect(ROTATION, *WIDE)], 0.1).preference == Preference.NONE
    )


@pytest.mark.parametrize(
    ("value", "half", "queries", "wanted"),
    [
        # 0 with 0.2 to either side: to 0.1, half of it: 4 times as many
        (0.0, 0.2, 100, 400),
        # 0.08: to 0 is 0.08, to the margin 0.02; half of 0.16
        (0.08, 0.16, 100, 400),
        # 0.05 is as far from 0 as from the margin: 0.2 / 0.05 = 4, 16 times
        (0.05, 0.2, 100, 1_600),
        # beyond the margin only 0 can be left out: (0.3/0.2)² = 2.25
        (0.2, 0.3, 100, 230),
        # never fewer than one more
        (0.0, 0.1001, 1_000, 1_100),
    ],
)
def test_wanted_queries(value: float, half: float, queries: int, wanted: int) -> None:
    assert wanted_queries(effect(ENDS, value, value - half, value + half, queries), 0.1) == wanted


def test_wanted_queries_have_80_percent_power_where_that_is_known() -> None:
    # what is found with 80 % power must shrink from 0.3 to the margin, and not the half-width of
    # 0.2
    assert wanted_queries(Effect(ENDS, "worth", 0.0, -0.2, 0.2, 0.3, 100), 0.1) == 900


def test_wanted_queries_are_counted_as_they_are_drawn() -> None:
    # 100 of 250 drawn queries could be asked about, and four times as many are wanted
    assert wanted_queries(effect(ENDS, 0.0, -0.2, 0.2, 100), 0.1, 250) == 1_000
    assert answer([effect(ENDS, 0.0, -0.2, 0.2, 100)], 0.1, 250).wanted == 1_000


def test_wanted_queries_of_what_has_no_interval_and_the_most_of_several() -> None:
    assert wanted_queries(effect(ENDS, 0.3, None, None), 0.1) is None
    assert wanted_queries(effect(ENDS, None, None, None, 0), 0.1) is None
    assert answered((0.0, -0.2, 0.2), (0.0, -0.3, 0.3)).wanted == 900
    assert answered((0.0, -0.2, 0.2)).wanted == 400
    # a wide rotation alone asks for no more queries
    assert answered(NOTHING, NOTHING, WIDE).wanted is None
    assert answered((-0.3, -0.4, -0.2), WIDE).wanted is None


def measured(
    ends: float,
    middle: float = 0.0,
    rotation: float = 0.0,
    *,
    queries: int = 200,
    noise: float = 0.3,
    worth: float = 1.0,
    whole: np.ndarray | None = None,
) -> Measured:
    """Queries with contrasts about these means in shares of a worth of 1 (of scores: 2); ranks are
    ten, nDCG@10 a tenth of them.
    """
    rng = generator(1, "verdict")
    contrasts = np.array([ends, middle, rotation, worth]) + noise * np.array(
        [1, 1, 1, 0]
    ) * rng.normal(size=(queries, 4))
    return Measured(
        [f"q{i}" for i in range(queries)],
        [f"p{i}" for i in range(queries)],
        {"score": 2 * contrasts, "ranks": 10 * contrasts, NDCG: contrasts / 10},
        np.ones((queries, 4), bool) if whole is None else np.column_stack([whole, whole[:, 0]]),
        0.0,
    )


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    return [True] * len(texts)


READS_ALL = Reads(everything, None, "no limit found")


def verdict(
    found: Measured,
    *,
    margin: float = 0.1,
    reads: Reads = READS_ALL,
    skipped: Mapping[str, int] = MappingProxyType({}),
) -> Verdict:
    made = passage_verdict(found, NDCG, margin, reads, skipped)
    check_words(made)
    return made


def says(made: Verdict) -> list[str]:
    return sentences_of("minilm", made)


def check_words(made: Verdict) -> None:
    said = says(made)
    text = " ".join(said)
    assert 1 <= len(said) <= 3
    assert not any(word in text.lower() for word in ("nan", "none", "inf,", "−0.000 ["))
    assert all(sentence.endswith(".") for sentence in said)
    for one in made.effects:
        for value in (one.value, one.low, one.high, one.detectable):
            assert value is None or math.isfinite(value)


@pytest.mark.parametrize(
    ("means", "preference"),
    [
        ((-0.5, 0.0), Preference.FRONT),
        ((0.0, -0.5), Preference.ENDS),
    ],
)
def test_a_preference_and_its_consequence(
    means: tuple[float, float], preference: Preference
) -> None:
    made = verdict(measured(*means))
    assert (made.question, made.preference, made.exceeds, made.queries) == (
        Question.PASSAGE,
        preference,
        True,
        200,
    )
    first, second = says(made)[:2]
    assert first.startswith(f"minilm {preference}: ")
    assert made.effects[0].contrast == (ENDS if means[0] else MIDDLE)
    assert made.effects[0].unit == "worth"
    # a loss of places and of nDCG@10 away from what is preferred, whichever side that is; ranks are
    # ten times the worth, nDCG@10 a tenth
    found = re.search(rf"by (−\d\.\d+) \[.*\] places and {NDCG} by (−0\.0\d+) \[−0\.", second)
    assert found
    ranks, quality = (float(number.replace("−", "-")) for number in found.groups())
    size = abs(made.effects[0].value or 0)
    assert (ranks, quality) == (
        pytest.approx(-10 * size, abs=0.06),
        pytest.approx(-size / 10, abs=6e-4),
    )


def test_where_few_texts_are_read_whole_their_contrast_shows_a_preference_or_decides_nothing() -> (
    None
):
    whole = np.ones((400, 3), bool)
    whole[25:, 1] = False  # the middle of 25 queries
    whole[350:, 0] = False
    reads = Reads(everything, 60.0, "its scores")
    shown = verdict(measured(0.0, 0.8, queries=400, whole=whole), reads=reads)
    assert (shown.preference, shown.effects[0].queries) == (Preference.MIDDLE, 25)
    assert (
        verdict(measured(0.0, 0.05, queries=400, whole=whole), reads=reads).preference
        == Preference.NONE
    )
    whole[15:, 1] = False
    assert (
        verdict(measured(0.0, 0.8, queries=400, whole=whole), reads=reads).preference
        == Preference.NONE
    )


def test_no_preference_and_too_little_data() -> None:
    none = verdict(measured(0.0, noise=0.2, queries=400))
    assert (none.preference, none.exceeds, none.wanted) == (Preference.NONE, None, None)
    assert f"no preference larger than {100 * none.effects[0].largest:.1f}\xa0%" in says(none)[0]
    open_ = verdict(measured(0.05, noise=1.0))
    assert open_.preference == Preference.UNKNOWN
    assert f"about {open_.wanted:,} queries would do" in says(open_)[0]
    # a wider margin decides it
    assert verdict(measured(0.05, noise=1.0), margin=0.5).preference == Preference.NONE


def test_a_scorer_that_never_changes_is_said_to() -> None:
    made = verdict(measured(0, noise=0))
    assert made.preference == Preference.NONE
    assert says(made) == [
        "minilm: no preference: its scores do not change when the answer moves (200 queries)."
    ]
    # of 200 queries that agree, at most 3 / 200 of all differ in nDCG@10
    assert {(one.unit == "nDCG@10", one.low, one.high) for one in made.effects} == {
        (False, 0, 0),
        (True, -0.015, 0.015),
    }


def test_queries_of_one_passage_alone_and_none_at_all() -> None:
    found = measured(-0.5)
    alone = verdict(Measured(found.query_ids, ["p"] * 200, found.by_unit, found.whole, 0.0))
    assert alone.preference == Preference.UNKNOWN
    assert "no interval: queries of fewer than 5 passages" in says(alone)[0]
    nothing = verdict(measured(0, queries=0), skipped={"passage of fewer than three sentences": 5})
    assert nothing.preference == Preference.UNKNOWN
    assert says(nothing)[0].endswith(
        "prefers a place in the passage: 5 queries: passage of fewer than three sentences."
    )
    assert (nothing.effects, nothing.queries) == ((), 0)


def test_a_limit_is_its_own_finding_and_preference_is_of_what_is_read() -> None:
    # the ends of 120 of 200 texts are not read, which costs them a deviation; what is read whole
    # has no preference
    whole = np.ones((200, 3), bool)
    whole[:120] = False
    found = measured(0.0, noise=0.1, whole=whole)
    for unit, size in (("score", 2), ("ranks", 10), (NDCG, 0.1)):
        found.by_unit[unit][:120] -= size
    made = verdict(found, reads=Reads(everything, 100.0, "its scores"))
    assert (made.preference, made.within) == (Preference.UNREAD, Preference.NONE)
    assert (made.reads, made.unread, unread_part(made)) == (
        100,
        pytest.approx(0.6),
        "what stands behind word 100",
    )
    # 0.6 of 200 queries lose 0.1 nDCG@10
    assert says(made)[0].startswith("minilm loses what stands behind word 100: −0.06")
    read, over_all = (
        [one for one in made.effects if one.subset == subset] for subset in ("read whole", "")
    )
    assert [one.queries for one in read] == [80] * 9
    assert [one.queries for one in over_all] == [200] * 9
    assert over_all[0].value == pytest.approx(-0.6, abs=0.05)
    assert made.effects[0] == over_all[0]


def test_a_limit_at_the_front_is_a_loss_of_what_stands_before_it() -> None:
    # as above, but the fronts are not read: at the end the score is higher
    whole = np.ones((200, 3), bool)
    whole[:120] = False
    found = measured(0.0, noise=0.1, whole=whole)
    for unit, size in (("score", 2), ("ranks", 10), (NDCG, 0.1)):
        found.by_unit[unit][:120] += size
    made = verdict(found, reads=Reads(everything, 100.0, "its scores", from_end=True))
    assert (made.preference, unread_part(made)) == (
        Preference.UNREAD,
        "what stands before word 100 from the end",
    )
    # the same effects are no loss of a system that reads the front
    other = verdict(found, reads=Reads(everything, 100.0, "its scores"))
    assert (other.preference, other.within) == (Preference.UNKNOWN, Preference.NONE)


def test_a_limit_below_every_text_is_a_loss_in_the_measure() -> None:
    # no text is read whole, so no worth is known: 0.1 nDCG@10 is beyond 0.02
    found = measured(0.0, noise=0.1, whole=np.zeros((200, 3), bool))
    found.by_unit[NDCG][:] -= 0.1
    made = verdict(found, reads=Reads(everything, 20.0, "its scores"))
    assert (made.preference, made.within) == (Preference.UNREAD, Preference.UNKNOWN)
    assert says(made)[0].startswith("minilm loses what stands behind word 20: −0.1")


def test_a_preference_is_not_taken_for_a_loss_and_a_loss_within_the_margin_is_none() -> None:
    whole = np.ones((400, 3), bool)
    whole[:8] = False
    # 2 % of the queries have longer texts, and evidence in front is worth half a deviation
    # everywhere
    front = verdict(
        measured(-0.5, queries=400, whole=whole), reads=Reads(everything, 100.0, "its scores")
    )
    assert (front.preference, front.within) == (Preference.FRONT, None)
    assert says(front)[1].startswith(
        "It does not read what stands behind word 100: 2\u00a0% of the queries have longer texts"
    )
    found = measured(0.0, noise=0.1, queries=400, whole=whole)
    found.by_unit["score"][:8] -= 2  # 0.02 · 2 of the deviation 2: 0.02, within the margin of 0.1
    small = verdict(found, reads=Reads(everything, 100.0, "its scores"))
    assert (small.preference, small.within, small.reads) == (Preference.NONE, None, 100)
    # half of the queries have longer texts: a preference and a loss beside it
    whole[:200] = False
    both = measured(-0.5, queries=400, whole=whole)
    both.by_unit["score"][:200] -= 2
    shown = verdict(both, reads=Reads(everything, 100.0, "its scores"))
    assert (shown.preference, shown.within) == (Preference.UNREAD, Preference.FRONT)
    assert says(shown)[1].startswith("minilm prefers the front, within what it reads")


def test_texts_that_only_filler_makes_too_long_count_as_not_read() -> None:
    # the middle's filled texts are cut: their effect of a deviation is one of the limit
    whole = np.ones((200, 3), bool)
    whole[:120, 1] = False
    found = measured(0.0, noise=0.1, whole=whole)
    found.by_unit["score"][:120, 1] += 2
    made = verdict(found, reads=Reads(everything, 100.0, "its scores"))
    assert (made.preference, made.within, made.unread, made.reads) == (
        Preference.NONE,
        None,
        None,
        100,
    )
    assert "within what it reads" in says(made)[0]
    assert [
        one.queries for one in made.effects if one.subset and one.contrast == Contrast.MIDDLE
    ] == [80, 80, 80]


def test_where_almost_nothing_is_read_whole_it_cannot_tell_and_says_what_the_limit_costs() -> None:
    whole = np.zeros((200, 3), bool)
    whole[:10] = True
    made = verdict(measured(-0.5, whole=whole), reads=Reads(everything, 30.0, "its scores"))
    assert (made.preference, made.within) == (Preference.UNREAD, Preference.UNKNOWN)
    assert (made.exceeds, made.reads, made.unread) == (True, 30, pytest.approx(0.95))
    assert made.effects[0].value == pytest.approx(-0.5, abs=0.05)
    assert not any(effect.subset for effect in made.effects)
    assert "loses what stands behind word 30: −" in says(made)[0]
    assert "cannot tell" in says(made)[1]


LISTWISE = Nature(True)


def listed(
    slope: float, noise: float, middle: float = 0.0, queries: int = 100, nature: Nature = LISTWISE
) -> Verdict:
    slopes = np.array([slope, middle]) + np.array([noise, 0.1]) * generator(1, "list").normal(
        size=(queries, 2)
    )
    made = list_verdict(nature, OrderSlopes(slopes, [f"p{i}" for i in range(queries)]))
    check_words(made)
    return made


@pytest.mark.parametrize(
    ("slope", "noise", "preference", "exceeds"),
    [
        (3.0, 1.0, Preference.FIRST, True),
        (0.0, 1.0, Preference.NONE, None),
        (0.0, 9.0, Preference.UNKNOWN, None),
    ],
)
def test_order_in_the_list(
    slope: float, noise: float, preference: Preference, exceeds: bool | None
) -> None:
    made = listed(slope, noise)
    assert (made.question, made.preference, made.exceeds) == (Question.LIST, preference, exceeds)
    assert (made.wanted is not None) == (preference == Preference.UNKNOWN)
    assert "ranks lost (100 queries)" in says(made)[0]
    assert made.effects[0].unit == "ranks"


@pytest.mark.parametrize(
    ("slope", "middle", "preference", "places"),
    [
        (0.0, 3.0, Preference.ENDS, "ends to middle"),
        # the larger of two decides
        (4.0, 3.0, Preference.FIRST, "first to last place"),
        # within half a rank, though not 0
        (0.0, 0.3, Preference.NONE, "first to last place"),
    ],
)
def test_the_middle_of_the_list(
    slope: float, middle: float, preference: Preference, places: str
) -> None:
    made = listed(slope, 0.5, middle)
    assert (made.preference, made.exceeds) == (
        preference,
        None if preference == Preference.NONE else True,
    )
    about = ", order in the list:" if preference == Preference.NONE else ""
    assert says(made)[0].startswith(f"minilm{about} {preference}")
    assert preference == Preference.NONE or f" {places}" in says(made)[0]
    assert {one.contrast for one in made.effects} == {Contrast.ORDER, Contrast.ORDER_MIDDLE}
    assert made.effects[0].contrast == (
        Contrast.ORDER if "first" in places else Contrast.ORDER_MIDDLE
    )


def test_lists_without_a_middle_are_judged_by_their_ends_alone() -> None:
    slopes = np.column_stack([3 + generator(1, "list").normal(size=50), np.full(50, np.nan)])
    made = list_verdict(LISTWISE, OrderSlopes(slopes, [f"p{i}" for i in range(50)]))
    check_words(made)
    assert made.preference == Preference.FIRST
    assert [one.contrast for one in made.effects] == [Contrast.ORDER]


def test_pointwise_scorers_and_lists_that_were_not_measured() -> None:
    pointwise = list_verdict(Nature(False), None)
    check_words(pointwise)
    assert (pointwise.preference, pointwise.effects) == (Preference.NONE, ())
    assert says(pointwise) == [
        "minilm scores each passage by itself, so the order of the list does not matter."
    ]
    # neither one that was not tried nor one that does not repeat itself is said to
    for nature in (Nature(False, tried=False), Nature(False, repeatable=False, noise=0.07)):
        assert not nature.order_matters_not
        unknown = list_verdict(nature, None)
        check_words(unknown)
        assert unknown.preference == Preference.UNKNOWN
        assert "cannot tell: no query has a list of three passages or more" in says(unknown)[0]
    unsteady = listed(3.0, 1.0, nature=Nature(True, repeatable=False, noise=0.07))
    assert (
        "other scores when it is asked again (7\u00a0% of a list's deviation)" in says(unsteady)[0]
    )
    assert list_verdict(LISTWISE, None).preference == Preference.UNKNOWN
