"""Whether a training is finished, worked by hand, and what is said of how it ended."""

from __future__ import annotations

from itertools import permutations

import pytest

from positionbias.evaluation.convergence import Finish, finish_of


@pytest.mark.parametrize(
    ("values", "finish"),
    [
        ([], Finish.NOT_VALIDATED),
        ([0.7, 0.8, 0.9], Finish.TOO_FEW),
        ([0.70, 0.72, 0.74, 0.80], Finish.NOT_FINISHED),  # four: each above the one before
        ([0.70, 0.74, 0.72, 0.80], Finish.FINISHED),
        ([0.5, 0.80, 0.801, 0.802, 0.803], Finish.NOT_FINISHED),  # 0.5 is in the window of five
        (
            [0.3, 0.5, 0.80, 0.801, 0.802, 0.803, 0.804],
            Finish.FINISHED,
        ),  # the last five rise by 0.004, which changes no conclusion
        ([0.8, 0.801, 0.802, 0.803, 0.8049], Finish.FINISHED),  # 0.0049
        ([0.8, 0.81, 0.82, 0.83, 0.84], Finish.NOT_FINISHED),
        # one pair of ten falls, and the last is the best
        ([0.8, 0.82, 0.81, 0.83, 0.84], Finish.NOT_FINISHED),
        # one pair falls, and the first was the best
        ([0.9, 0.8, 0.82, 0.81, 0.83, 0.84], Finish.FINISHED),
        ([0.9, 0.8, 0.81, 0.82, 0.83, 0.84], Finish.NOT_FINISHED),  # all rise again, from a fall
        # the best is the last, which one flat curve of five shows
        ([0.8, 0.82, 0.81, 0.80, 0.84], Finish.FINISHED),
        ([0.8] * 12, Finish.FINISHED),
    ],
)
def test_the_rule_by_hand(values: list[float], finish: Finish) -> None:
    assert finish_of(values) is finish


def test_of_many_validations_blocks_of_the_last_half_are_compared() -> None:
    # 20: the last ten in five blocks of two, whose means rise although validations jump up and down
    first, last = [0.5] * 10, [0.70, 0.68, 0.72, 0.70, 0.74, 0.72, 0.76, 0.74, 0.78, 0.76]
    assert finish_of([*first, *last]) is Finish.NOT_FINISHED
    assert finish_of([*last, *first]) is Finish.FINISHED
    assert finish_of([*first, 0.6, *[0.7] * 9]) is Finish.FINISHED  # a jump long before the end


@pytest.mark.parametrize(("count", "alarms"), [(4, 1), (5, 4)])
def test_the_chance_of_a_false_alarm_is_that_of_the_orders(count: int, alarms: int) -> None:
    """Of a flat curve's 24 orders of four one rises; of 120 of five that one, and three in which
    one neighbouring pair before the last is exchanged.
    """
    found = [finish_of([0.1 * value for value in order]) for order in permutations(range(count))]
    assert found.count(Finish.NOT_FINISHED) == alarms
    assert alarms / len(found) < 0.05
