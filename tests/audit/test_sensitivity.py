"""Sensitivity to the order of a passage's text: numbers by hand, the verdict's rule, and scorers of
a known answer on a planted collection without answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.answers import SIZES, Contrast, Preference, Question, Verdict
from positionbias.audit.audit import MANIPULATIONS, audit, make_task
from positionbias.audit.limits import checks_of
from positionbias.audit.lists import nature_of
from positionbias.audit.manipulate import Asked, Manipulation, Measured, ask, measure
from positionbias.audit.perturb import exchanged_halves
from positionbias.audit.reads import Reads, everything
from positionbias.audit.rotated_run import RotatedRun
from positionbias.audit.rotations import Gap
from positionbias.audit.sensitivity import (
    NO_PLACEBO,
    _with_unseen,
    sensitivity_effects,
    sensitivity_verdict,
    text_trials,
)
from positionbias.audit.settings import AuditSettings, Limits
from positionbias.audit.systems import Measurement, System, Task
from positionbias.audit.two_runs import run_alone_verdict, two_run_verdict
from positionbias.audit.words import sentences_of
from positionbias.core.checks import Outcome
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.described import QueryBuckets, ResponseCurve
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.planted.generator import PlantedSettings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from tests.audit import tasks
from tests.audit.scorers import end_lover, first_placed, front_lover
from tests.audit.tasks import counts_of, figures_of, read_again, system
from tests.tiny import planted

SETTINGS = AuditSettings(measures=("nDCG@10",), depth=8, needles=60, segments=0, describe=True)
NO_LIMIT = Reads(everything, None, "a test")


def without_answers(
    place: Path, passages: Sequence[Passage], queries: Sequence[Query], qrels: Sequence[Qrel]
) -> Collection:
    with create_collection(place) as writer:
        writer.add_passages(passages)
        writer.add_split("test", queries, qrels)
        writer.finish(Manifest("collection", "judged", "a test", seed=1, licence="invented"))
    return Collection(place)


@pytest.mark.parametrize(
    ("text", "exchanged"),
    [
        (
            "One. Two three four. Five.",
            "Two three four. Five. One.",
        ),  # 8 words with stops; cuts at 2 and 6 are as near, the first counts
        # a piece without an end gets one where another follows
        ("One two three. Four", "Four. One two three."),
        # one sentence: the word boundary in the middle
        ("one two three four", "three four one two "),
        ("Word.", ". Word"),  # a stop is a word
        ("", ""),
    ],
)
def test_halves_are_exchanged_where_the_middle_is(text: str, exchanged: str) -> None:
    assert exchanged_halves(text) == exchanged


def place_of_word(query: str, passages: Sequence[str]) -> list[float]:
    """How many words stand before the query's word; 0 where it is not there."""
    split = [text.lower().replace(".", " ").split() for text in passages]
    return [float(words.index(query)) if query in words else 0.0 for words in split]


@pytest.fixture
def small(tmp_path: Path) -> Task:
    """Two queries; q1 has a candidate that was judged irrelevant, q2 has unjudged ones alone."""
    texts = {
        "p1": "Red one. Two three.",
        "p2": "Four five. One blue.",
        "p3": "Grey red.",
        "p4": "Grey blue.",
    }
    collection = without_answers(
        tmp_path / "small",
        [Passage(*item) for item in texts.items()],
        [Query("q1", "red"), Query("q2", "blue")],
        [Qrel("q1", "p1", 1), Qrel("q1", "p3", 0), Qrel("q2", "p2", 1)],
    )
    run = Run(
        "first",
        [("q1", ["p1", "p2", "p3"], -np.arange(3.0)), ("q2", ["p2", "p1", "p4"], -np.arange(3.0))],
    )
    return make_task(collection, "test", run, SETTINGS)


def measured_of(task: Task, one: System) -> tuple[Measured, Measured]:
    made = text_trials(task, task.query_ids, SETTINGS, most=9)
    how = Manipulation(one, task, "nDCG@10", 1, nature_of(one, task, 1).listwise, one.ranked(task))
    known = Asked()
    for part in (made.relevant, made.placebo):
        ask(how, part, known, "")
    relevant, placebo = (
        measure(how, part, known, everything, SIZES) for part in (made.relevant, made.placebo)
    )
    return relevant, placebo


def test_the_size_of_a_change_by_hand(small: Task) -> None:
    made = text_trials(small, small.query_ids, SETTINGS, most=9)
    assert [(one.query_id, one.passage_id) for one in made.relevant] == [("q1", "p1"), ("q2", "p2")]
    # the judged one comes first, then the nearest in length: p2 would be nearer to p1
    assert [(one.query_id, one.passage_id) for one in made.placebo] == [("q1", "p3"), ("q2", "p1")]
    assert [list(one.texts[1:]) for one in made.relevant] == [
        [
            Rotation(seed=1, identity=False).apply("Red one. Two three.", "p1").strip(),
            "Two three. Red one.",
        ],
        [
            Rotation(seed=1, identity=False).apply("Four five. One blue.", "p2").strip(),
            "One blue. Four five.",
        ],
    ]
    assert made.relevant[0].texts[1] == ". Two three. Red one"  # red: 0 → 2
    assert made.relevant[1].texts[1] == "five. One blue. Four"  # blue: 3 → 2
    relevant, placebo = measured_of(small, system(place_of_word))
    assert relevant.by_unit["score"].tolist() == [[2, 2], [-1, -2]]  # the mean of the second is 0
    # "Grey red." to ". Grey red" and "red. Grey"
    assert placebo.by_unit["score"].tolist() == [[0, -1], [0, 0]]
    found = {
        (one.contrast, one.unit): one
        for one in sensitivity_effects(relevant, placebo, "nDCG@10", read=False)
    }
    # the two other candidates score 0 and 1: a deviation of 1/2
    assert [found[contrast, "deviations"].value for contrast in SIZES] == [3, 4]
    assert found[Contrast.TURNED_MORE, "deviations"].value == 3  # (2 + 1) / 2 over 1/2
    assert found[Contrast.HALVES_MORE, "deviations"].value == 3  # (2 − 1 + 2 − 0) / 2 over 1/2
    # q1's passage is behind p3 and comes before it; q2's stays first
    assert found[Contrast.HALVES, "ranks"].value == 0.5
    assert found[Contrast.HALVES, "nDCG@10"].value == pytest.approx((1 - 1 / log2(3)) / 2)
    # two queries have no interval, and no verdict rests on them
    halves = found[Contrast.HALVES, "deviations"]
    assert (halves.low, halves.high) == (None, None)
    verdict = sensitivity_verdict(relevant, placebo, "nDCG@10", 0.1, NO_LIMIT)
    assert verdict.preference == Preference.UNKNOWN
    # of five that say 4 and 4, three unseen ones may say one more
    assert _with_unseen(replace(halves, low=4.0, high=4.0), 5).high == 4 + 3 / 5


def test_a_query_without_an_irrelevant_candidate_has_no_placebo(small: Task) -> None:
    alone = replace(
        small,
        candidates=Run(
            "first", [("q1", ["p1"], np.zeros(1)), ("q2", ["p2", "p4"], -np.arange(2.0))]
        ),
    )
    made = text_trials(alone, alone.query_ids, SETTINGS, most=9)
    assert (len(made.relevant), [one.query_id for one in made.placebo], made.skipped) == (
        2,
        ["q2"],
        {NO_PLACEBO: 1},
    )
    assert len(text_trials(small, small.query_ids, SETTINGS, most=1).relevant) == 1


def changes(
    size: float, queries: int = 100, *, spread: float = 0.5, whole: float = 1.0
) -> Measured:
    """Changes of alternating sign whose mean size is ``size`` deviations."""
    sizes = size * (1 + spread * np.where(np.arange(queries) % 4 < 2, 1, -1))
    signed = sizes * np.where(np.arange(queries) % 2, 1, -1)
    columns = np.stack([signed, signed / 2], axis=1)
    read = np.repeat((np.arange(queries) < whole * queries)[:, None], 2, axis=1)
    ids = [f"q{number:03d}" for number in range(queries)]
    return Measured(
        ids,
        ids,
        {"score": columns, "ranks": columns * 0, "nDCG@10": columns * 0},
        np.ones(queries),
        read,
        0,
        0.0,
    )


@pytest.mark.parametrize(
    ("size", "queries", "noise", "expected"),
    [
        (0.5, 100, 0.0, Preference.SENSITIVE),
        (0.05, 100, 0.0, Preference.INSENSITIVE),
        (0.0, 100, 0.0, Preference.INSENSITIVE),
        (0.0, 31, 0.0, Preference.INSENSITIVE),  # three of 31 may change by a deviation: 0.097
        (0.0, 29, 0.0, Preference.UNKNOWN),  # 0.103
        (0.1, 100, 0.0, Preference.UNKNOWN),
        (0.2, 4, 0.0, Preference.UNKNOWN),
        (0.5, 100, 0.5, Preference.UNKNOWN),  # a repeated call changes as much
        (0.5, 1, 0.0, Preference.UNKNOWN),  # no interval
    ],
)
def test_the_answer_by_margin_interval_and_noise(
    size: float, queries: int, noise: float, expected: Preference
) -> None:
    own = changes(size, queries)
    found = sensitivity_verdict(own, own, "nDCG@10", 0.1, NO_LIMIT, noise)
    assert (found.question, found.preference) == (Question.TEXT, expected)
    assert (found.exceeds is True) == (expected is Preference.SENSITIVE)
    assert (found.queries, found.drawn) == (queries, queries)
    said = sentences_of("mine", found)
    names_next = any("--evidence terms" in sentence for sentence in said)
    assert names_next == (expected is not Preference.INSENSITIVE)
    assert any("a repeated call" in sentence for sentence in said) == (noise > 0)
    # its own placebo changes as much
    assert next(one for one in found.effects if one.contrast == Contrast.TURNED_MORE).value == 0
    assert all(one.detectable is None for one in found.effects if one.contrast in SIZES)


def test_cannot_tell_names_the_queries_that_would_do() -> None:
    own = changes(0.13, 16)
    found = sensitivity_verdict(own, own, "nDCG@10", 0.1, NO_LIMIT)
    assert (found.preference, sentences_of("mine", found)[0][-25:]) == (
        Preference.UNKNOWN,
        f"about {found.wanted} queries would do."[-25:],
    )
    more = changes(0.13, found.wanted or 0)
    assert (
        sensitivity_verdict(more, more, "nDCG@10", 0.1, NO_LIMIT).preference is Preference.SENSITIVE
    )
    none = changes(0.0, 20)
    # 3 / 30 is the margin
    assert sensitivity_verdict(none, none, "nDCG@10", 0.1, NO_LIMIT).wanted == 30
    at_it = changes(0.1, 16)
    assert sensitivity_verdict(at_it, at_it, "nDCG@10", 0.1, NO_LIMIT).wanted is None
    # as large as its noise
    assert sensitivity_verdict(own, own, "nDCG@10", 0.1, NO_LIMIT, noise=0.2).wanted is None


def test_an_audit_that_asks_for_no_verdict_has_what_it_measured(task: Task) -> None:
    found = audit(
        task,
        [System("bm25", run=task.candidates, first_stage=True), system(bag, "bag")],
        replace(SETTINGS, needles=0),
    )
    assert not figures_of(found, Verdict)
    assert [gap.quality for gap in figures_of(found, Gap, "bag")] == ["nDCG@10"]


def test_a_passage_of_one_spoken_word_has_no_order(tmp_path: Path) -> None:
    texts = [Passage("p1", "Ba."), Passage("p2", "Red one. Two three.")]
    qrels = [Qrel("q1", "p1", 2), Qrel("q1", "p2", 1)]
    collection = without_answers(tmp_path / "c", texts, [Query("q1", "red")], qrels)
    run = Run("first", [("q1", ["p1", "p2"], -np.arange(2.0))])
    assert make_task(collection, "test", run, SETTINGS).evidence.by_query["q1"].passage_id == "p2"


def test_only_texts_that_are_read_whole_decide() -> None:
    limit = Reads(everything, 30.0, "declared")
    half = changes(0.03, whole=0.5)
    half.by_unit["score"][50:] = 3.0  # other parts come into view
    found = sensitivity_verdict(half, half, "nDCG@10", 0.1, limit)
    assert (found.preference, found.unread, found.reads, found.effects[0].queries) == (
        Preference.INSENSITIVE,
        0.5,
        30.0,
        50,
    )
    assert sentences_of("mine", found)[1].startswith(
        "mine reads no further than about 30 words; 50\xa0% of the queries have longer texts"
    )
    few = sensitivity_verdict(changes(0.05, whole=0.05), half, "nDCG@10", 0.1, limit)
    assert (few.preference, sentences_of("mine", few)[-1]) == (
        Preference.UNKNOWN,
        "Audit it on shorter passages, or let it read further.",
    )


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("sensitivity")
    settings = PlantedSettings(
        queries=240, passages=500, test_share=0.6, validation_share=0.1, front_loading=0.3
    )
    made = planted(folder / "planted", settings)
    return without_answers(
        folder / "judged", list(made.passages()), made.queries("test"), made.qrels("test")
    )


@pytest.fixture(scope="module")
def task(collection: Collection) -> Task:
    return make_task(
        collection,
        "test",
        retrieve(collection, collection.queries("test"), 8, Bm25Settings()),
        SETTINGS,
    )


@pytest.fixture(scope="module")
def results(task: Task) -> list[Measurement]:
    first = System("bm25", run=task.candidates, first_stage=True)
    scorers = [(front_lover, "front"), (end_lover, "end"), (first_placed, "listwise")]
    return audit(
        task,
        [first, system(bag, "bag"), *(system(scorer, name) for scorer, name in scorers)],
        SETTINGS,
    )


def bag(query: str, passages: Sequence[str]) -> list[float]:
    """Counts the query's words, each as often as it stands there, over the passage's length."""
    wanted = set(query.lower().replace("?", " ").split())
    split = [text.lower().replace(".", " ").split() for text in passages]
    return [sum(word in wanted for word in words) / (10 + len(words)) for words in split]


def verdict_of(
    results: Sequence[Measurement], name: str, question: Question = Question.TEXT
) -> Verdict:
    return tasks.verdict_of(results, name, question)


def test_a_bag_of_words_is_insensitive_and_a_preference_for_either_side_is_sensitive(
    results: list[Measurement],
) -> None:
    of_bag = verdict_of(results, "bag")
    assert (of_bag.preference, of_bag.effects[0].value, of_bag.queries) == (
        Preference.INSENSITIVE,
        0,
        60,
    )
    assert sentences_of("bag", of_bag)[0].endswith(
        "scores do not change when relevant passages are rotated or their halves exchanged (60 "
        "queries); at most 0.050 deviations on average may go unseen."
    )
    sizes = {}
    for name in ("front", "end"):
        found = verdict_of(results, name)
        assert (found.preference, found.exceeds) == (Preference.SENSITIVE, True)
        sizes[name] = found.effects[0].value
    # the words in common do not change, only the place: both scorers change by as much, to other
    # sides
    assert sizes["front"] == pytest.approx(sizes["end"], rel=0.2)
    counts = counts_of(results, MANIPULATIONS, "bag")
    assert (counts["queries"], counts["texts"], counts["length limit"]) == (
        60,
        360,
        "not tried: no answer is located",
    )


def test_order_effects_in_the_list_and_the_rotation_gap_are_measured_and_nothing_by_position_is(
    results: list[Measurement],
) -> None:
    assert verdict_of(results, "bag", Question.LIST).preference is Preference.NONE
    assert verdict_of(results, "listwise", Question.LIST).preference is Preference.FIRST
    assert (
        verdict_of(results, "listwise").preference is Preference.INSENSITIVE
    )  # its place in the list is the same for all texts
    ((of_bag,), (of_front,)) = (figures_of(results, Gap, name) for name in ("bag", "front"))
    assert of_bag.change is not None
    assert abs(of_bag.change) < 0.001
    assert (of_front.cut, of_front.truncated) == (None, None)
    assert not any(isinstance(one.figures, QueryBuckets | ResponseCurve) for one in results)
    questions = {verdict.question for verdict in figures_of(results, Verdict)}
    assert questions == {Question.TEXT, Question.LIST}


def test_rows_hold_the_sizes(task: Task, results: list[Measurement], tmp_path: Path) -> None:
    rows = read_again(task, results, tmp_path / "saved")
    answers = rows[(rows.measure == Question.TEXT) & (rows.statistic == "answer")]
    assert dict(zip(answers.model, answers.answer, strict=True)) == {
        "bag": Preference.INSENSITIVE,
        "front": Preference.SENSITIVE,
        "end": Preference.SENSITIVE,
        "listwise": Preference.INSENSITIVE,
    }
    sizes = rows[rows.measure.isin(SIZES) & (rows.statistic == "deviations")]
    assert len(sizes) == 2 * 4
    assert (sizes.low >= 0).all()  # a size has no sign
    of_lists = rows[rows.measure.isin([Contrast.ORDER, Contrast.ORDER_MIDDLE])]
    assert set(of_lists.model) == {"listwise"}


def test_limits_that_need_answers_cannot_tell(results: list[Measurement]) -> None:
    limits = Limits(max_response=1, max_movement=1, max_order=0.5, max_rotation_gap=0.5, max_psi=1)
    found = {check.limit: check for check in checks_of(results, limits) if check.system == "bag"}
    outcomes = [
        found[name].outcome
        for name in ("max-response", "max-movement", "max-order", "max-rotation-gap", "max-psi")
    ]
    assert outcomes == [
        Outcome.CANNOT_TELL,
        Outcome.CANNOT_TELL,
        Outcome.PASS,
        Outcome.PASS,
        Outcome.CANNOT_TELL,
    ]
    for name in ("max-response", "max-movement", "max-psi"):
        assert "it needs answers" in found[name].reason
    ((failed),) = [
        check for check in checks_of(results, Limits(max_order=1)) if check.outcome is Outcome.FAIL
    ]
    assert (failed.system, failed.limit) == ("listwise", "max-order")


def test_runs_without_answers_have_a_rotation_gap_and_no_side(task: Task, tmp_path: Path) -> None:
    rotated = debias(task.collection, tmp_path / "rotated", Rotation(seed=1))
    queries = {query.query_id: query.text for query in task.queries}

    def run_of(texts: Collection) -> Run:
        lists = [task.candidates[query_id] for query_id in task.query_ids]
        scored = (
            (
                c.query_id,
                c.passage_ids,
                front_lover(queries[c.query_id], texts.texts(c.passage_ids)),
            )
            for c in lists
        )
        return Run("user", scored)

    original = run_of(task.collection)
    found = two_run_verdict(
        "mine", task, original, [RotatedRun(rotated, run_of(rotated))], SETTINGS
    )
    verdict = tasks.verdict_of(found)
    assert (verdict.preference, verdict.effects) == (Preference.UNKNOWN, ())
    (gap,) = figures_of(found, Gap)
    assert None not in (gap.change, gap.original, gap.rotated)
    assert (gap.change, gap.draws, gap.quality) == (
        pytest.approx(gap.rotated - gap.original),  # type: ignore[operator]
        1,
        "nDCG@10",
    )
    assert gap.change < 0  # type: ignore[operator]
    ((check),) = checks_of(found, Limits(max_movement=1))
    assert (check.outcome, "no located answer" in check.reason) == (Outcome.CANNOT_TELL, True)
    ((check),) = checks_of(found, Limits(max_rotation_gap=1))
    assert check.outcome is Outcome.PASS
    alone = run_alone_verdict("mine", task, original).figures
    assert isinstance(alone, Verdict)
    assert (
        sentences_of("mine", alone)[0]
        == "mine: cannot tell from one run, and this split has no located answer."
    )
