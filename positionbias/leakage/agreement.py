"""Measure the agreement of two people: Cohen's kappa.

    κ = (p_o − p_e) / (1 − p_e),   p_o = share of equal labels,
    p_e = Σ_l (share of l with the first)·(share of l with the second)

Cohen 1960. The interval is the percentile bootstrap over test queries, as a query's pairs are
labelled together [decision].
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import (
    RESAMPLES,
    cluster_queries,
    percentile_interval,
    resampled_sums,
)

__all__ = ["Agreement", "cohens_kappa"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """κ (None if both gave the same single label, p_e = 1), the share of equal labels, and the
    share expected by chance.
    """

    kappa: float | None
    interval: Interval | None
    observed: float
    expected: float
    pairs: int


def cohens_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    test_ids: Sequence[str] | None = None,
    *,
    seed: int = 1,
    resamples: int = RESAMPLES,
) -> Agreement:
    """Return Cohen's κ of two people's labels of the same pairs.

    Raises:
        ValueError: different numbers of labels, or none.
    """
    if not first or len(first) != len(second):
        raise ValueError(f"wanted equal numbers of labels; found {len(first)} and {len(second)}")
    labels = {label: code for code, label in enumerate(dict.fromkeys([*first, *second]))}
    k = len(labels)
    cells = np.array([labels[a] * k + labels[b] for a, b in zip(first, second, strict=True)])
    table = np.bincount(cells, minlength=k * k)[None]
    kappa, observed, expected = (float(values[0]) for values in _kappa(table, k))
    clusters = cluster_queries(test_ids, len(cells))
    interval = None
    if clusters.count >= 2 and np.isfinite(kappa):
        by_cluster = np.zeros((clusters.count, k * k))
        np.add.at(by_cluster, (clusters.codes, cells), 1)
        drawn = _kappa(resampled_sums(by_cluster, seed=seed, resamples=resamples), k)[0]
        if np.isfinite(drawn).all():
            interval = percentile_interval(
                drawn, f"percentile bootstrap, {resamples:,} resamples of {clusters.drawn}"
            )
    return Agreement(
        kappa if np.isfinite(kappa) else None, interval, observed, expected, len(cells)
    )


def _kappa(tables: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return κ, p_o and p_e of each row of ``tables (rows, k·k)``; κ is NaN if p_e is 1."""
    shares = (tables / tables.sum(axis=1, keepdims=True)).reshape(-1, k, k)
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = (shares.sum(axis=2) * shares.sum(axis=1)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)
    return kappa, observed, expected
