"""Estimate the mean change of a set of test systems, with an interval over groups and topics.

    se² = r / (K − r) · Var_p(x_p)  +  (H − 1) / H · Σ_h (x₍₋h₎ − x̄₍₋₎)²  +  Var_q(x_q) / Q

x_p is the change under pool p, x_q the change of topic q, x₍₋h₎ the mean without group h. A pool is
fed by r of the K groups of its kind, so pools are samples of groups, and their spread estimates the
variance over groups of that kind, as feeders and, if not drawn, as test systems: the delete-d
jackknife (Shao and Wu 1989). It does not shrink as more pools are drawn. The second term is the
jackknife over the H test groups that never feed these pools; the third is over topics. Interactions
of groups and topics are in several terms, which is conservative [decision]. The interval is t, with
Satterthwaite's degrees of freedom from the terms' K − 1 (or pools − 1, if less), H − 1 and Q − 1.
"""

from __future__ import annotations

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import bounded, span_of, t_interval
from positionbias.pooling.reliability import TestSet

__all__ = ["change_of"]


def change_of(item: TestSet) -> tuple[float | None, Interval | None]:
    """Return the mean change over the pools with a test system, and its interval; None with only
    one pool or test group, or fewer than five topics.
    """
    there = item.systems > 0
    grid = item.change[there]
    if not len(grid):
        return None, None
    value, (pools, queries) = float(grid.mean()), grid.shape
    groups = item.group_systems.any(axis=0)
    others = int(groups.sum())
    if min(pools, queries, item.feeding) < 2 or others == 1:
        return value, None
    terms = [
        (
            item.fed / (item.feeding - item.fed) * grid.mean(axis=1).var(ddof=1),
            min(item.feeding, pools) - 1,
        ),
        (grid.mean(axis=0).var(ddof=1) / queries, queries - 1),
    ]
    if others:
        left = _without_each(
            item.group_change[there][:, groups], item.group_systems[there][:, groups], item, there
        )
        terms.append(((others - 1) / others * ((left - left.mean()) ** 2).sum(), others - 1))
    variance = float(sum(term for term, _ in terms))
    if variance <= 0:
        return value, None
    freedom = variance**2 / sum(term**2 / own for term, own in terms)
    drawn = item.feeding + others
    free = t_interval(value, variance**0.5, freedom, f"t over {drawn} groups and {queries} topics")
    return value, bounded(free, queries, span_of(grid, changes=True))


def _without_each(
    change: np.ndarray, counts: np.ndarray, item: TestSet, there: np.ndarray
) -> np.ndarray:
    """Return the mean change without each group of ``change (pools, groups)``, over the pools that
    still have a test system.
    """
    systems = item.systems[there][:, None] - counts
    sums = (item.change[there].mean(axis=1) * item.systems[there])[:, None] - change
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nanmean(np.where(systems > 0, sums / systems, np.nan), axis=0)
