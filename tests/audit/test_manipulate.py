"""Manipulations asked of scorers whose contrasts are known: worked by hand, exact zeros, and what
is asked how often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from positionbias.audit.manipulate import Asked, Manipulation, Measured, ask, measure
from positionbias.audit.systems import Task, made_id
from positionbias.audit.trials import make_trials
from positionbias.core.run import Run
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.text.sentences import sentences
from tests.audit import tasks
from tests.audit.tasks import (
    Scorer,
    blind,
    by_sentence,
    make_task_of,
    overlap,
    random_task,
    system,
    words_of,
)

NDCG = "nDCG@10"
OIL = ["Oil burns in lamps.", "Stone holds gates.", "Water fills halls."]
LONG = [
    "Green ships sail.",
    "Oil burns in lamps.",
    "Stone holds gates.",
    "Water fills halls.",
    "Black cats sleep.",
]


def everything(query: str, texts: Sequence[str]) -> list[bool]:
    return [True] * len(texts)


def manipulation(
    task: Task,
    scorer: Scorer,
    *,
    listwise: bool = False,
    ranked: Run | None = None,
    rotated: Run | None = None,
) -> Manipulation:
    texts = RotatedTexts(task.collection, Rotation(seed=1)) if listwise else None
    return Manipulation(
        system(scorer), task, NDCG, 1, listwise, ranked or task.candidates, rotated, texts
    )


def measured(
    task: Task, scorer: Scorer, *, orders: int = 2, fits: Any = everything, **how: Any
) -> Measured:
    trials, _ = make_trials(task, task.query_ids, most=1_000, orders=orders, seed=1)
    made, known = manipulation(task, scorer, **how), Asked()
    ask(made, trials, known, "a test")
    return measure(made, trials, known, fits)


@pytest.fixture
def two(tmp_path: Path) -> Task:
    """q1 asks for oil, first of three sentences; q2 for another passage's, and for the stone that
    stands second in the first.
    """
    passages = {
        "p1": OIL,
        "p2": ["Iron rusts.", "Gold shines.", "A stone lies there."],
        "p3": ["Nothing.", "Nobody.", "Never."],
    }
    asked = {"q1": tasks.Asked("what oil", "p1", 0), "q2": tasks.Asked("which stone lies", "p2", 2)}
    return make_task_of(tmp_path / "two", passages, asked)


def test_a_scorer_that_adds_up_sentences_by_hand(two: Task) -> None:
    """A sentence in common counts 0 in front, −½ in the middle, −1 at the end."""
    front = by_sentence(lambda place, count: -place / (count - 1))
    ranked = Run(
        "ranked",
        [
            ("q1", ["p1", "p2", "p3"], [0.0, 1.5, -0.5]),
            ("q2", ["p2", "p1", "p3"], [1.0, 0.0, -2.0]),
        ],
    )
    rotated = Run(
        "rotated",
        [
            ("q1", ["p1", "p2", "p3"], [0.0, -0.25, -0.75]),
            ("q2", ["p2", "p1", "p3"], [1.0, 5.0, -2.0]),
        ],
    )
    found = measured(two, front, ranked=ranked, rotated=rotated)
    assert list(found.query_ids) == ["q1", "q2"]
    assert len(set(found.clusters)) == 2
    # the others' scores 1.5 and −0.5; 0 and −2
    ends, middle, rotation, worth = range(4)
    # the passage itself less a stranger in its place, p3's or the other passage's, of as many
    # words: q1 loses "oil" at 0 of 0 … 2, which counts 0, q2 "stone" and "lies" at 1; "A stone lies
    # there." is no stranger of q1's and has nothing of "what oil"
    assert found.by_unit["score"][:, worth].tolist() == [0, 2 * -1]
    # q1's word moves from front to end; so do q2's two, "stone" and "lies"
    assert found.by_unit["score"][:, ends].tolist() == [-1, -2]
    # f e f f p f r: the evidence moves from 1 to 4 of 0 … 6, −½; in the reversal from 5 to 2, +½; a
    # straight line has no middle
    assert found.by_unit["score"][:, middle].tolist() == [0, 0]
    # by rotation q1's evidence falls by 1. Its placebo q2 has "stone" in it: oil, stone, water
    # against stone, water, oil, −½ → 0. Of q2's passage the placebo q1 has no word. The unit is 1,
    # and scores are rounded to 4 decimals of it
    assert found.by_unit["score"][:, rotation].tolist() == [-1.5, -2]
    # q1 scores 0 and −1 beside 1.5 and −0.5: from rank 2 to 3. q2 0 and −2 beside 0 and −2: equal
    # scores do not go before, ranks 1 and 2
    assert found.by_unit["ranks"][:, ends].tolist() == [-1, -1]
    assert found.by_unit[NDCG][:, ends] == pytest.approx(
        [1 / np.log2(4) - 1 / np.log2(3), 1 / np.log2(3) - 1]
    )
    # beside rotated passages −0.25 and −0.75 q1 falls from 1 to 3; beside 5 and −2 q2 stays second
    assert found.by_unit["ranks"][:, rotation].tolist() == [-2, 0]
    assert found.by_unit[NDCG][:, rotation] == pytest.approx([1 / np.log2(4) - 1, 0])
    assert found.within == 0


def test_the_middle_exchange_by_hand(tmp_path: Path) -> None:
    task = make_task_of(
        tmp_path / "five", {"p1": LONG, "p2": OIL}, {"q1": tasks.Asked("what oil", "p1", 1)}
    )
    # e a f p b c: the evidence moves from 0 to 3 of 0 … 5, in the mirror a p f b c e from 5 to 1;
    # where a is the larger half, e a b f p c, to 4 and to 2
    hump = by_sentence(lambda place, count: -4 * (place / (count - 1) - 0.5) ** 2)
    found = measured(task, hump, ranked=Run("ranked", [("q1", ["p1", "p2", "p3"], [0, 3, 1])]))
    at = {place: -4 * (place / 5 - 0.5) ** 2 for place in range(6)}
    by_hand = ((at[3] - at[0]) + (at[1] - at[5])) / 2
    assert by_hand == pytest.approx(0.8)
    assert by_hand == pytest.approx(((at[4] - at[0]) + (at[2] - at[5])) / 2)
    # oil stands second of five, −4 · (1/4 − 1/2)²
    worth = -0.25
    # both ends are alike for the hump; there is no query of another passage to be the placebo of
    # rotation
    assert found.by_unit["score"][0].tolist() == pytest.approx([0, by_hand, 0, worth])
    # a straight line has no middle: the orders of the two halves take each other away
    straight = measured(task, by_sentence(lambda place, count: place / (count - 1)), orders=4)
    assert straight.by_unit["score"][0].tolist()[:2] == pytest.approx([1, 0], abs=1e-6)


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return random_task(tmp_path_factory.mktemp("tasks") / "random", 24, sentences=(3, 6))


def cohesive(query: str, passages: Sequence[str]) -> list[float]:
    """Overlap, and how alike neighbouring sentences are, whichever stands first: changes with any
    reordering.
    """

    def own(text: str) -> float:
        bags = [set(words_of(one)) for one in sentences(text)]
        return overlap(query, text) + sum(len(one & other) / 7 for one, other in pairwise(bags))

    return [own(text) for text in passages]


def best_sentence(query: str, passages: Sequence[str]) -> list[float]:
    return [
        max(overlap(query, one) - 0.01 * len(one) for one in sentences(text)) for text in passages
    ]


@pytest.mark.parametrize("scorer", [blind, best_sentence, cohesive])
def test_scorers_that_read_a_text_alike_from_both_ends_have_contrasts_of_exactly_0(
    invented: Task, scorer: Scorer
) -> None:
    rotated = Run(
        "rotated",
        [
            (name, invented.candidates[name].passage_ids, invented.candidates[name].scores)
            for name in invented.candidates
        ],
    )
    found = measured(invented, scorer, orders=4, rotated=rotated)
    contrasts = found.by_unit["score"][:, :-1]
    assert (contrasts[~np.isnan(contrasts)] == 0).all()
    assert (found.by_unit["score"][:, -1] > 0).all()
    assert not np.isnan(contrasts[:, [0, 2]]).any()
    assert (~np.isnan(contrasts[:, 1])).sum() > 10
    if scorer is not cohesive:
        for unit in ("ranks", NDCG):
            moved = found.by_unit[unit][:, :-1]
            assert (moved[~np.isnan(moved)] == 0).all()


class Counting:
    """A scorer that keeps what it was asked."""

    def __init__(self, score: Scorer = blind) -> None:
        self.score, self.lists = score, list[tuple[str, list[str]]]()

    def __call__(self, query: str, passages: Sequence[str]) -> Any:
        self.lists.append((query, list(passages)))
        return self.score(query, passages)

    @property
    def pairs(self) -> Counter:
        return Counter((query, text) for query, texts in self.lists for text in texts)


def test_a_pointwise_scorer_gets_a_query_s_texts_in_a_drawn_order(invented: Task) -> None:
    counting = Counting()
    trials, _ = make_trials(invented, invented.query_ids, most=99, orders=4, seed=1)
    ask(manipulation(invented, counting), trials, Asked(), "a test")
    by_query = {text: query.query_id for query in invented.queries for text in [query.text]}
    own = {one.query_id: list(one.texts) for one in trials}
    whole = [(by_query[query], texts) for query, texts in counting.lists if len(texts) > 2]
    assert sorted(query for query, _ in whole) == sorted(own)
    assert all(Counter(texts) == Counter(own[query]) for query, texts in whole)
    # the order of places would be the order of the list, and so a scorer's bias by list looks like
    # one by place
    first_before = [
        texts.index(own[query][2]) < texts.index(own[query][3]) for query, texts in whole
    ]
    assert 0 < sum(first_before) < len(first_before)


def test_a_listwise_scorer_gets_each_text_at_the_place_of_its_passage_in_one_order_of_the_list(
    invented: Task,
) -> None:
    counting = Counting()
    trials, _ = make_trials(invented, invented.query_ids[:5], most=99, orders=2, seed=1)
    how, known = manipulation(invented, counting, listwise=True), Asked()
    ask(how, trials, known, "a test")
    queries = {query.query_id: query.text for query in invented.queries}
    for one in trials:
        ids = [
            name for name in invented.candidates[one.query_id].passage_ids if name != one.passage_id
        ]
        others = {
            True: sorted(RotatedTexts(invented.collection, Rotation(seed=1)).texts(ids)),
            False: sorted(invented.collection.texts(ids)),
        }
        own = [texts for text, texts in counting.lists if text == queries[one.query_id]]
        assert len(own) == len(one.texts)
        places, orders, rotated = set(), {True: set(), False: set()}, []
        for texts in own:
            (made,) = set(texts) & set(one.texts)
            rest = [text for text in texts if text != made]
            among_rotated = sorted(rest) == others[True]
            assert among_rotated or sorted(rest) == others[False]
            rotated += [made] if among_rotated else []
            places.add(texts.index(made))
            orders[among_rotated].add(tuple(rest))
        assert len(places) == len(orders[True]) == len(orders[False]) == 1
        assert sorted(rotated) == sorted(one.texts[place] for place in one.rotated)
    asked = len(counting.lists)
    ask(how, trials, known, "again")
    assert len(counting.lists) == asked


def test_what_is_not_read_whole_is_marked(two: Task) -> None:
    # limits: q1's texts with the evidence first are longer than the model reads
    def fits(query: str, texts: Sequence[str]) -> list[bool]:
        return [
            not (query == "what oil" and text.startswith("Oil burns in lamps.")) for text in texts
        ]

    found = measured(two, blind, orders=4, fits=fits)
    # all of q1's contrasts have a text that begins with oil
    assert found.whole.tolist() == [[False] * 4, [True] * 4]
    filled = measured(
        two, blind, orders=4, fits=lambda query, texts: [len(text.split()) < 25 for text in texts]
    )
    # only the middle has a filler of 20 words
    assert filled.whole.tolist() == [[True, False, True, True], [True, False, True, True]]


def test_queries_without_trial_say_why(tmp_path: Path) -> None:
    passages = {
        "p1": OIL, "p2": ["Short.", "Too short."],
        "p3": ["and water.", "Stone holds.", "Fire burns."],
        "p4": ["Gold shines.", "Iron rusts.", "Snow falls."],
    }  # fmt: skip
    asked = {
        "q1": tasks.Asked("oil", "p1", 0),
        "q2": tasks.Asked("short", "p2", 0),
        "q3": tasks.Asked("water", "p3", 0),
        "q4": tasks.Asked("gold", "p4", 0),
    }
    task = make_task_of(tmp_path / "some", passages, asked)
    trials, counts = make_trials(task, task.query_ids, most=9, orders=2, seed=1)
    assert [one.query_id for one in trials] == ["q1", "q4"]
    assert counts == {
        "passage of fewer than three sentences": 1,
        "no other sentence begins and ends like the evidence": 1,
    }
    assert [
        one.query_id for one in make_trials(task, ["q4", "q1"], most=1, orders=2, seed=1)[0]
    ] == ["q4"]
    assert trials[0].names == [made_id("q1", place) for place in range(12)]
