"""Compute the position sensitivity index (PSI): the gap between the worst and the best bucket of
positions, and its noise.

    PSI = 1 − min_b m_b / max_b m_b,
    m_b the mean quality of the queries whose evidence lies in bucket b

It is never negative, and noise alone raises it, more so with more buckets and fewer queries. Three
figures come with it:

* the **null**: PSI after permuting the values over the positions (``dealt_means``). Its mean is the
  PSI of noise alone; the share of draws that reach the observed PSI is p = (1 + #{PSI* ≥ PSI}) / (1
  + draws);
* the **debiased PSI**: an estimate of the PSI that the means would have without noise;
* its **interval**, by inverting a test.

The last two assume one family of true means [decision]: μ_b(θ) = m̄ + θ·d_b, clipped at 0, with d_b
a shape. Their PSI grows with θ. For each θ the bootstrap's deviations are added to μ(θ), which
gives draws of the observable PSI. The estimate is the PSI of the θ at which half of the draws reach
the observed PSI; the bounds are those at which 1 % and 99 % do (not 2.5 % and 97.5 %, as the shape
is unknown: measured coverage is 94 to 100 %). If enough draws reach it even at θ = 0, the value
is 0. So the interval holds the estimate, and begins at 0 if noise explains the observed PSI. How
far noise raises PSI depends on how many buckets compete to be best and worst. Two shapes bracket
this: the deviations as observed (few compete), and two levels, above and below the mean (all
compete). The estimate is the mean of both; the interval spans both.

PSI minus the null's mean is not such an estimate: it is right without position bias, but too low by
up to the null's mean with strong bias. A percentile bootstrap is not either: a resample adds its
own noise to that of the means, so its whole interval may lie above the truth.

A bucket's variance is at least the variance pooled over buckets (normal noise fills the
difference), so that 20 queries that happen to agree do not look certain.

Within strata (groups of passage length) the means are those of an additive least-squares fit, value
= stratum + bucket, averaged over strata by their numbers of queries [decision]: direct
standardisation needs queries in every (stratum, bucket), but short passages have no late
characters. The null then permutes values within each stratum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import Clusters, resampled_sums

__all__ = [
    "Cells",
    "Psi",
    "adjusted_means",
    "dealt_means",
    "psi_of",
    "psi_with_null",
    "resampled_bucket_means",
]

_BLOCK = 4_000_000  # values permuted at a time
_NOTHING = 1e-12
_TAIL = 0.01  # of each bound; see above


@dataclass(frozen=True, slots=True, kw_only=True)
class Psi:
    """PSI with its null, and the debiased PSI with its interval; None if undefined, for the reason
    in ``undefined``.
    """

    value: float | None = None
    null_mean: float | None = None
    p: float | None = None
    debiased: float | None = None
    low: float | None = None
    high: float | None = None
    undefined: str = ""


_HALVINGS = 17  # of the range of θ: less than 10⁻⁵ of it is left


@dataclass(frozen=True, slots=True)
class Cells:
    """Queries by bucket and stratum: ``buckets (queries,)`` in 0 … count − 1, ``strata (queries,)``
    in 0 … strata_count − 1.
    """

    values: np.ndarray
    buckets: np.ndarray
    strata: np.ndarray
    count: int
    strata_count: int

    def sums(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the sums of weights over the queries of each cell, ``(strata, buckets)``; without
        weights, the numbers of queries.
        """
        size = self.strata_count * self.count
        cells = np.bincount(
            self.strata * self.count + self.buckets, weights=weights, minlength=size
        )
        return cells.reshape(self.strata_count, self.count)

    @property
    def connected(self) -> bool:
        """Return True if any two buckets can be compared, through common strata or a chain of
        them.
        """
        held = self.sums() > 0
        reached = held[:, :1].any(axis=1)
        for _ in range(self.strata_count):
            reached = reached | held[:, held[reached].any(axis=0)].any(axis=1)
        return bool(held[reached].any(axis=0).all())


def adjusted_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean of each bucket, ``(…, buckets)``, from sums and counts
    ``(…, strata, buckets)``; NaN if empty.

    With one stratum it is the plain mean; with several it is β_b + Σ_s w_s·α_s of the least-squares
    fit value = α_s + β_b, w_s the share of stratum s.
    """
    of_bucket, counted = sums.sum(axis=-2), counts.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = of_bucket / counted
    if sums.shape[-2] == 1:
        return plain
    # eliminate the buckets' effects: (diag(n_s) − Σ_b n_sb·n_tb / n_b) α = Y_s − Σ_b n_sb·m_b
    share = counts / np.maximum(counted, 1)[..., None, :]
    of_stratum = counts.sum(axis=-1)
    system = of_stratum[..., :, None] * np.eye(sums.shape[-2]) - np.einsum(
        "...sb,...tb->...st", share, counts
    )
    right = sums.sum(axis=-1) - (counts * np.nan_to_num(plain)[..., None, :]).sum(axis=-1)
    effects = np.einsum(
        "...st,...t->...s", np.linalg.pinv(system, rcond=1e-10, hermitian=True), right
    )
    weights = of_stratum / of_stratum.sum(axis=-1, keepdims=True)
    return (
        plain
        - np.einsum("...sb,...s->...b", share, effects)
        + (weights * effects).sum(axis=-1)[..., None]
    )


def psi_of(means: np.ndarray) -> np.ndarray:
    """Return the PSI of ``means (…, buckets)``, ignoring NaN; NaN without a mean above 0."""
    best = np.nan_to_num(means, nan=-np.inf).max(axis=-1)
    worst = np.nan_to_num(means, nan=np.inf).min(axis=-1)
    return 1 - worst / np.where(best > _NOTHING, best, np.nan)


def dealt_means(cells: Cells, clusters: Clusters, *, seed: int, permutations: int) -> np.ndarray:
    """Return bucket means of permuted values, ``(permutations, buckets)``.

    The values of a cluster move together to the places of another cluster with as many queries in
    the same stratum, in any order. So values and positions that are similar within a cluster stay
    similar, and only their relation is broken [decision]. If every query is its own cluster, this
    is a plain shuffle. The draws do not depend on the order of queries.
    """
    sums = np.zeros((permutations, cells.strata_count, cells.count))
    unit = np.unique(cells.strata * clusters.count + clusters.codes, return_inverse=True)[1]
    sizes = np.bincount(unit)
    order = (
        np.lexsort((cells.values, unit))
        if len(sizes) < len(unit)
        else np.argsort(cells.values, kind="stable")
    )
    alike = cells.strata * (len(unit) + 1) + sizes[unit]
    for kind in np.unique(alike):
        stratum, size = divmod(int(kind), len(unit) + 1)
        own = order[alike[order] == kind]
        rng = generator(seed, "position permutations", stratum, size)
        _deal(sums[:, stratum], cells.values[own].reshape(-1, size), cells.buckets[own], rng)
    counts = cells.sums()
    return adjusted_means(sums, np.broadcast_to(counts, sums.shape))


def _deal(
    sums: np.ndarray, values: np.ndarray, buckets: np.ndarray, rng: np.random.Generator
) -> None:
    """Add to ``sums (permutations, buckets)`` the sums of ``values (units, size)`` permuted over
    ``buckets (units · size,)``, unit by unit.
    """
    units, size = values.shape
    slots = np.argsort(buckets, kind="stable")
    held, starts = np.unique(buckets[slots], return_index=True)
    block = max(1, _BLOCK // values.size)
    for start in range(0, len(sums), block):
        rows = min(block, len(sums) - start)
        if size == 1:
            dealt = np.tile(values[:, 0], (rows, 1))
            rng.permuted(dealt, axis=1, out=dealt)
        else:
            turns = np.tile(np.arange(units), (rows, 1))
            rng.permuted(turns, axis=1, out=turns)
            dealt = rng.permuted(values[turns], axis=2).reshape(rows, -1)[:, slots]
        sums[start : start + rows, held] += np.add.reduceat(dealt, starts, axis=1)


def resampled_bucket_means(
    cells: Cells, clusters: Clusters, *, seed: int, resamples: int
) -> np.ndarray | None:
    """Return bucket means over resampled clusters of queries, ``(resamples, buckets)``; None with
    fewer than two clusters.
    """
    from scipy import sparse

    if clusters.count < 2:
        return None
    size = cells.strata_count * cells.count
    columns = cells.strata * cells.count + cells.buckets
    entries = np.concatenate([cells.values, np.ones(len(cells.values))])
    places = np.tile(clusters.codes, 2), np.concatenate([columns, columns + size])
    by_cluster = sparse.coo_array((entries, places), shape=(clusters.count, 2 * size)).tocsr()
    totals = resampled_sums(by_cluster, seed=seed, resamples=resamples).reshape(
        resamples, 2, cells.strata_count, cells.count
    )
    return adjusted_means(totals[:, 0], totals[:, 1])


def psi_with_null(
    cells: Cells,
    clusters: Clusters,
    means: np.ndarray,
    dealt: np.ndarray,
    resampled: np.ndarray | None,
    *,
    seed: int,
) -> Psi:
    """Return the PSI of ``means (buckets,)``, with its null from ``dealt`` and its interval from
    ``resampled`` means, each ``(draws, buckets)``.
    """
    if len(means) < 2:
        return Psi(undefined="fewer than two buckets with enough queries")
    if means.min() < -_NOTHING:
        return Psi(undefined="a bucket's mean is below 0")
    value = float(psi_of(means))
    if np.isnan(value):
        return Psi(undefined="every bucket's mean is 0")
    null = psi_of(dealt)
    p = float((1 + (null >= value - _NOTHING).sum()) / (1 + len(null)))
    null_mean = float(null.mean())
    if resampled is None:
        why = "the debiased PSI: fewer than two clusters of queries"
        return Psi(value=value, null_mean=null_mean, p=p, undefined=why)
    debiased, low, high = _without_noise(cells, clusters, means, resampled, seed)
    return Psi(value=value, null_mean=null_mean, p=p, debiased=debiased, low=low, high=high)


def _without_noise(
    cells: Cells, clusters: Clusters, means: np.ndarray, resampled: np.ndarray, seed: int
) -> tuple[float, float, float]:
    """Return the debiased PSI and its bounds."""
    noise = _noise(cells, clusters, means, resampled, seed)
    counts = cells.sums().sum(axis=0)
    centre = float((counts * means).sum() / counts.sum())
    found = [_inverted(means, centre, shape, noise) for shape in _shapes(means, centre)]
    estimates, lows, highs = zip(*found, strict=True)
    return float(np.mean(estimates)), min(lows), max(highs)


def _noise(
    cells: Cells, clusters: Clusters, means: np.ndarray, resampled: np.ndarray, seed: int
) -> np.ndarray:
    """Draw each mean's noise, ``(resamples, buckets)``."""
    # an empty bucket has no variance
    deviations = np.where(np.isnan(resampled), 0.0, resampled - means)
    # the bootstrap of the mean of g clusters has (g − 1) / g of its variance
    pairs = np.unique(cells.buckets * clusters.count + clusters.codes) // clusters.count
    held = np.bincount(pairs, minlength=len(means))
    deviations *= np.sqrt(held / np.maximum(held - 1, 1))
    counts = cells.sums().sum(axis=0)
    residuals = cells.values - (cells.sums(cells.values).sum(axis=0) / counts)[cells.buckets]
    pooled = float((residuals**2).sum()) / max(1, len(residuals) - len(means))
    lifted = np.maximum(pooled / counts - (deviations**2).mean(axis=0), 0)
    return deviations + np.sqrt(lifted) * generator(seed, "pooled variance").normal(
        size=deviations.shape
    )


def _shapes(means: np.ndarray, centre: float) -> list[np.ndarray]:
    """Return the possible shapes of the true means: as observed, and two levels. Equal means have
    neither, so any two levels will do.
    """
    if np.ptp(means) <= _NOTHING:
        return [np.where(np.arange(len(means)) % 2, -1.0, 1.0)]
    return [means - centre, np.where(means >= centre, 1.0, -1.0)]


def _inverted(
    means: np.ndarray, centre: float, shape: np.ndarray, noise: np.ndarray
) -> tuple[float, float, float]:
    """Return the estimate and the bounds of one shape: PSI at the least θ where that share of draws
    reaches the PSI of ``means``.
    """
    # a draw reaches it if its worst mean is at most this share of its best
    ratio = 1 - (float(psi_of(means)) - _NOTHING)
    # most: the lowest mean is 0, and PSI 1
    by_bucket, most = np.ascontiguousarray(noise.T), centre / -float(shape.min())

    def reached(theta: float) -> float:
        drawn = by_bucket + (centre + theta * shape)[:, None]
        best, worst = np.maximum(drawn.max(axis=0), 0), np.maximum(drawn.min(axis=0), 0)
        return float((worst <= ratio * best).mean())

    def true_psi(share: float) -> float:
        if reached(0.0) >= share:
            return 0.0
        below, above = 0.0, most
        for _ in range(_HALVINGS):
            middle = (below + above) / 2
            below, above = (below, middle) if reached(middle) >= share else (middle, above)
        return float(psi_of(np.maximum(centre + above * shape, 0.0)))

    return true_psi(0.5), true_psi(_TAIL), true_psi(1 - _TAIL)
