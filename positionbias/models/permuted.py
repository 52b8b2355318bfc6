"""Permutation self-consistency of listwise re-rankers: the same passages in several orders, whose
rankings are averaged.

A re-ranker that reads all passages of a query at once may prefer those at the front or the end of
its list. Tang et al. (arXiv 2310.07712) show it the list in several random orders, and take the
ranking that is nearest to those returned. Theirs has the least sum of Kendall's distances, which
takes exponential time; ours has the mean rank (Borda's count), which is at most five times as far
[decision].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
from scipy.stats import rankdata

from positionbias.core.errors import InputError, SettingError
from positionbias.core.seeds import key64
from positionbias.models.protocols import as_array

Score = Callable[[str, list[str]], Any]


def permuted(
    score: Score, orders: int = 8, *, seed: int = 1
) -> Callable[[str, Sequence[str]], np.ndarray]:
    """Return a listwise scorer that shows ``score`` the passages of a query in several orders, and
    averages the ranks.

    An order is drawn by (seed, its number, query, passage), so that the result does not depend on
    the order in which passages are given, but where two have the same text. It takes ``orders``
    times as long. Give it to commands as ``module:name``, as any function of your own.

    Args:
        score: A function of a query and its passages, which returns a score for each, the higher
            the better; scores alone decide ranks.
        orders: How many.
        seed: Of the draws.

    Returns:
        A function of a query and its n passages, which returns ``(n,)`` numbers: n less the mean
        rank, ties at their mean. The best rank is 1.

    Raises:
        SettingError: fewer than two orders.
        InputError: later, where ``score`` does not return a finite number for each passage.

    Source: Tang et al. 2023, arXiv 2310.07712.

    Example:
        >>> import positionbias as pb
        >>> def front(query, passages):  # prefers what stands first, and a little what says lamp
        ...     return [("lamp" in text) * 1.5 - place for place, text in enumerate(passages)]
        >>> front("lamp", ["gate", "stone", "lamp"])
        [0.0, -1.0, -0.5]
        >>> pb.permuted(front, 20)("lamp", ["gate", "stone", "lamp"]).argmax().item()
        2
    """
    if orders < 2:
        raise SettingError(f"orders: wanted at least 2; found {orders}; raise it")

    @wraps(score)
    def averaged(query: str, passages: Sequence[str]) -> np.ndarray:
        texts = list(passages)
        total = np.zeros(len(texts))
        for number in range(orders):
            keys = [key64(seed, "permutation", number, query, text) for text in texts]
            order = np.argsort(np.array(keys, np.uint64), kind="stable")
            found = as_array(score(query, [texts[place] for place in order.tolist()]))
            numbers = found.dtype.kind in "biuf"
            if found.shape != (len(texts),) or not numbers or not np.isfinite(found).all():
                told = f"shape {found.shape}" if numbers else f"{found.dtype}"
                raise InputError(
                    f"score: wanted {len(texts)} finite numbers, one a passage; found {told}; fix "
                    "it"
                )
            total[order] += _ranks(found.astype(np.float64))  # small integers have no negatives
        return len(texts) - total / orders

    return averaged


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Return the ranks of scores ``(n,)``, the highest 1, ties at their mean."""
    ranks: np.ndarray = rankdata(-scores)
    return ranks
