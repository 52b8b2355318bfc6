"""Scorers of lists: which are listwise, which are not repeatable, and the slope of output rank on
input place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from positionbias.audit.answers import Preference
from positionbias.audit.lists import Nature, nature_of, order_slopes
from positionbias.audit.systems import Task
from positionbias.audit.verdict import list_verdict
from positionbias.audit.words import sentences_of
from tests.audit.bags import Bags
from tests.audit.tasks import Scorer, blind, random_task, system

LENGTH = 12


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """36 queries, each with the same twelve passages for candidates."""
    return random_task(
        tmp_path_factory.mktemp("lists") / "random", 36, per_passage=3, sentences=(3, 4)
    )


def relevance(query: str, passages: Sequence[str]) -> np.ndarray:
    """A score of a passage's own: overlap, and its length so that few are alike."""
    return np.array(
        [
            overlap + len(text) / 100
            for overlap, text in zip(blind(query, passages), passages, strict=True)
        ]
    )


def as_they_come(query: str, passages: Sequence[str]) -> np.ndarray:
    return -np.arange(len(passages), dtype=float)


def slightly_first(query: str, passages: Sequence[str]) -> np.ndarray:
    return relevance(query, passages) - 0.3 * np.arange(len(passages)) / len(passages)


def normalised(query: str, passages: Sequence[str]) -> np.ndarray:
    scores = relevance(query, passages)
    return (scores - scores.min()) / max(float(np.ptp(scores)), 1e-9)


def constant(query: str, passages: Sequence[str]) -> np.ndarray:
    return np.zeros(len(passages))


class Noisy:
    """Relevance with noise of its own at each call."""

    def __init__(self, size: float) -> None:
        self.size, self.calls = size, count()

    def __call__(self, query: str, passages: Sequence[str]) -> np.ndarray:
        rng = np.random.default_rng(next(self.calls))
        return relevance(query, passages) + self.size * rng.normal(size=len(passages))


@pytest.mark.parametrize(
    ("scorer", "listwise"),
    [
        (relevance, False),
        (constant, False),
        (as_they_come, True),
        (slightly_first, True),
        (normalised, True),
    ],
)
def test_a_scorer_is_listwise_where_the_rest_of_its_list_changes_scores(
    task: Task, scorer: Scorer, listwise: bool
) -> None:
    found = nature_of(system(scorer), task, 1)
    assert (found.listwise, found.repeatable, found.noise) == (listwise, True, 0)
    if not listwise:
        assert (found.permuted, found.alone) == (0, 0)


def test_changes_by_hand(task: Task) -> None:
    # −i and its reversal i − 11 differ by 11 − 2i; the root mean square of that over the deviation
    # of −i is 2
    found = nature_of(system(as_they_come), task, 1)
    assert found.permuted == pytest.approx(2)
    # alone all are first: the first three gain 0, 1, 2; the deviation of 0 … 11 is √(143/12)
    assert found.alone == pytest.approx((5 / 3) ** 0.5 / (143 / 12) ** 0.5)
    # what is scaled to its list is the same in another order, and 0 alone
    scaled = nature_of(system(normalised), task, 1)
    assert (scaled.permuted, scaled.alone > 0.5) == (0, True)


def test_a_scorer_that_differs_from_itself_is_not_repeatable_and_its_noise_is_no_sign_of_a_list(
    task: Task,
) -> None:
    found = nature_of(system(Noisy(0.3)), task, 1)
    assert (found.repeatable, found.listwise) == (False, False)
    assert found.noise > 0.01
    assert found.permuted == pytest.approx(found.noise, rel=0.3)
    assert nature_of(system(Noisy(1e-6)), task, 1).repeatable
    # its noise may hide that it looks at the list: it is not said to score passages by themselves,
    # but measured
    assert not found.order_matters_not
    verdict = list_verdict(found, None)
    assert verdict.preference == Preference.UNKNOWN
    assert "gives other scores when it is asked again" in sentences_of("x", verdict)[0]


def test_the_middle_slope_by_hand(task: Task) -> None:
    def nearness(query: str, passages: Sequence[str]) -> np.ndarray:
        return 1 - np.abs(2 * np.arange(len(passages)) / max(len(passages) - 1, 1) - 1)

    found = order_slopes(system(nearness), task, task.query_ids, 1)
    # nearness 1/11 · 2 · (0 … 5), each twice; the ranks of such a pair are 1½ in the middle and 11½
    # at the ends: 10 ranks lost over 10/11, to the ends
    assert found.slopes == pytest.approx(np.tile([0, -11], (36, 1)), abs=1e-9)


def test_models_of_vectors_are_pointwise_without_being_asked(task: Task) -> None:
    from positionbias.audit.systems import System

    model = Bags(100)
    assert nature_of(System("bags", model=model), task, 1) == Nature(False)
    assert model.read == []


@pytest.mark.parametrize(
    ("scorer", "slope"),
    [
        (as_they_come, LENGTH - 1),
        (relevance, 0),
    ],
)
def test_the_slope_is_exact(task: Task, scorer: Scorer, slope: float) -> None:
    found = order_slopes(system(scorer), task, task.query_ids, 1)
    assert found.slopes == pytest.approx(np.tile([slope, 0], (36, 1)), abs=1e-9)
    assert len(found.clusters) == 36
    assert len(set(found.clusters)) == 12


def test_every_order_is_one_of_four_balanced_ones(task: Task) -> None:
    lists: dict[str, list[list[str]]] = {}

    def keeping(query: str, passages: Sequence[str]) -> list[float]:
        lists.setdefault(query, []).append(list(passages))
        return blind(query, passages)

    order_slopes(system(keeping), task, task.query_ids[:6], 1)
    assert len(lists) == 6
    for orders in lists.values():
        assert len(orders) == 4
        for text in orders[0]:
            places = [order.index(text) for order in orders]
            assert sum(places) == 2 * (LENGTH - 1)  # the mean place is the middle
    # drawn for each query, not one order for all
    assert len({tuple(orders[0]) for orders in lists.values()}) == 6


def test_lists_of_two_have_no_slope_and_no_nature(tmp_path: Path) -> None:
    short = random_task(tmp_path / "two", 2)
    nature = nature_of(system(as_they_come), short, 1)
    assert nature == Nature(False, tried=False)
    assert not nature.order_matters_not
    found = order_slopes(system(as_they_come), short, short.query_ids, 1)
    assert (found.slopes.shape, found.clusters) == ((0, 2), [])
    assert list_verdict(Nature(True), found).preference == Preference.UNKNOWN
