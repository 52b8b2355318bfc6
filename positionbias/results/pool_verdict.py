"""Figures of one new run on one existing collection: its unjudged documents, its score, and its
comparison with each pooled run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from positionbias.results.pools import UNJUDGED, PoolFigures

__all__ = [
    "ORDERS",
    "SCORE",
    "ComparedRun",
    "ComparisonsFigures",
    "PooledScore",
    "RunAnswer",
    "ScoreFigures",
    "UnjudgedFigures",
]

SCORE, ORDERS = "score by ", "orders by "


class RunAnswer(StrEnum):
    """The answer to whether a collection can judge a run by a measure; ``UNKNOWN`` if no prediction
    could be calibrated.
    """

    YES = "can be judged"
    MORE = "cannot be judged yet"
    UNKNOWN = "cannot tell"


class UnjudgedFigures(PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="unjudged"):
    """The unjudged ``share`` of a run's first ``depth``, a mean over queries with candidates, and
    its unjudged ``documents``.

    Down to ``judged_depth``, 95 % are judged at every rank. ``most_open`` is the largest share of a
    run left out with its group, None without a fit; ``pooled_mean`` and ``pooled_most`` are the
    pooled runs' shares, None without pooled runs.
    """

    MEASURES = (UNJUDGED,)

    depth: int
    run: str
    share: float
    queries: int
    without_candidates: int = field(name="queries without candidates")
    documents: int
    judged_depth: int = field(name="judged depth")
    most_open: float | None = field(name="most unjudged, left out")
    pooled: int = field(name="pooled runs")
    groups: int
    pooled_mean: float | None = field(name="pooled mean")
    pooled_most: float | None = field(name="pooled most")
    rbp: float = field(name="RBP")
    residual: float = field(name="RBP residual")
    skipped: Mapping[str, int]
    by_run: Mapping[str, float] = field(name="by pooled run")


class PooledScore(Struct, frozen=True):
    """A pooled run's score with its bounds, RBP with its residual, and its unjudged share."""

    run: str
    score: float
    low: float
    high: float
    rbp: float = field(name="RBP")
    residual: float = field(name="RBP residual")
    unjudged: float


class ScoreFigures(PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="score"):
    """The new run's score as judged and its bounds, ``low`` to ``high``; ``expected`` is the score
    with a guess of unjudged documents.

    None without a calibrated prediction: ``predicted`` with the ends of its 95 % interval, the
    judgements ``needed``, and the share of pooled runs that such intervals ``covered``.
    ``query_half`` is half the width of the interval over queries, None with one query. ``grouped``:
    pooled runs share groups.
    """

    MEASURES = (SCORE,)

    measure: str
    answer: RunAnswer
    score: float
    low: float
    high: float
    expected: float
    predicted: float | None
    predicted_low: float | None = field(name="predicted low")
    predicted_high: float | None = field(name="predicted high")
    query_half: float | None = field(name="half over queries")
    needed: int | None
    covered: float | None
    grouped: bool
    pooled: Sequence[PooledScore]


class ComparedRun(Struct, frozen=True):
    """The new run against a pooled one: the difference of scores (new less pooled) with its bounds.

    ``predicted`` and the ``probability`` that the new run is better are None without a prediction.
    ``says`` is "better" or "worse" if the probability is at least 0.95. ``certain``: no choice of
    relevant documents changes it; ``new_queries``: it holds over queries like these; ``now``: the
    answer by the present judgements.
    """

    run: str
    group: str
    kind: str
    difference: float
    least: float
    most: float
    predicted: float | None
    probability: float | None
    now: Literal["better", "worse", "equal"]
    says: Literal["better", "worse", "equal", "open"]
    certain: bool
    new_queries: bool = field(name="new queries")


class ComparisonsFigures(
    PoolFigures, frozen=True, kw_only=True, tag_field="what", tag="comparisons"
):
    """The new ``run`` against each pooled run, by one measure."""

    MEASURES = (ORDERS,)

    measure: str
    run: str
    comparisons: Sequence[ComparedRun]
