"""Score margins by hand."""

from __future__ import annotations

import pytest

from positionbias.contamination.margins import score_margins
from positionbias.core.records import Qrel
from positionbias.core.run import Run

QRELS = [
    Qrel("q", "a", 2),
    Qrel("q", "b", 0),
    Qrel("none", "a", 1),
    Qrel("all", "a", 1),
    Qrel("low", "a", 0),
]
RUN = Run(
    "r",
    [
        ("q", ["a", "b", "c"], [4.0, 1.0, 1.0]),
        ("all", ["a"], [1.0]),
        ("low", ["a", "b"], [1.0, 0.5]),
    ],
)


def test_by_hand() -> None:
    # the relevant one 4, the others 1 each; the deviation of 4, 1, 1 is √2
    assert score_margins(RUN, QRELS) == {
        "q": pytest.approx(3 / 2**0.5),
        "none": 0.0,
        "all": 0.0,
        "low": 0.0,
    }


def test_scale_and_shift_of_scores_change_nothing() -> None:
    other = Run("r", [("q", ["a", "b", "c"], [408.0, 402.0, 402.0])])
    assert score_margins(other, QRELS)["q"] == pytest.approx(score_margins(RUN, QRELS)["q"])
