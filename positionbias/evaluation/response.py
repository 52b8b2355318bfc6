"""Estimate the position response: a model's score of identical evidence by its place in the
passage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.evaluation.bootstrap import LEVEL, RESAMPLES, cluster_queries, resampled_sums
from positionbias.evaluation.clustered import clustered_slope
from positionbias.evaluation.described import ResponseCurve, ResponseFigures

__all__ = ["Moved", "response_curve"]

POINTS = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """One query's evidence at several places of its passage, one entry per place.

    ``places`` from 0 (first) to 1 (last), the model's ``scores``, the ``reciprocal_ranks`` of the
    passage among its query's candidates. ``cluster`` names the query's cluster, its passage.

    Raises:
        ValueError: different numbers of entries, entries that are not numbers, or places outside
            [0, 1].
    """

    query_id: str
    cluster: str
    places: np.ndarray
    scores: np.ndarray
    reciprocal_ranks: np.ndarray

    def __post_init__(self) -> None:
        columns = [
            np.asarray(c, np.float64) for c in (self.places, self.scores, self.reciprocal_ranks)
        ]
        if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
            raise ValueError(
                f"{self.query_id}: wanted a score and a reciprocal rank per place; found "
                f"{[c.shape for c in columns]}"
            )
        if not all(np.isfinite(column).all() for column in columns):
            raise ValueError(
                f"{self.query_id}: wanted finite places, scores and ranks; found NaN or infinity"
            )
        if ((columns[0] < 0) | (columns[0] > 1)).any():
            raise ValueError(
                f"{self.query_id}: wanted places from 0 to 1; found {columns[0].min():g} to "
                f"{columns[0].max():g}"
            )


def response_curve(
    moved: Sequence[Moved],
    *,
    unit: float = 1.0,
    points: int = POINTS,
    seed: int,
    resamples: int = RESAMPLES,
) -> ResponseCurve:
    """Estimate score and reciprocal rank by the place of the evidence, at ``points`` places from 0
    to 1; each place counts at the nearest point.

    Values are those of the least-squares fit  score = query + point  (passages differ in their
    number of places, so centring each query on its mean would bend the curve), in units of ``unit``
    and with a mean of 0 over the points. Ranks are fitted alike, with the mean over queries added
    back. A query counts once at a point, with the mean of its places there. A query with fewer than
    two places is left out.

    Intervals are clustered by ``Moved.cluster``.

    Raises:
        ValueError: a ``unit`` not above 0, or fewer than two points.
    """
    if not unit > 0 or points < 2:
        raise ValueError(f"wanted a unit above 0 and at least 2 points; found {unit} and {points}")
    # sorted, so that the given order does not matter
    used = sorted((one for one in moved if len(one.places) > 1), key=lambda one: one.query_id)
    figures = ResponseFigures(
        unit=unit, queries=len(used), left_out=len(moved) - len(used), level=LEVEL
    )
    places_shown = [point / (points - 1) for point in range(points)]
    if not used:
        none = [None] * points
        return ResponseCurve(places_shown, [0] * points, none, none, none, none, figures)
    query = np.repeat(np.arange(len(used)), [len(one.places) for one in used])
    places = np.concatenate([np.asarray(one.places, np.float64) for one in used])
    scores, _ = _centred(
        np.concatenate([np.asarray(one.scores, np.float64) for one in used]) / unit, query
    )
    ranks, level = _centred(
        np.concatenate([np.asarray(one.reciprocal_ranks, np.float64) for one in used]), query
    )
    labels = [one.cluster for one in used]
    by_score, by_rank = (
        clustered_slope(places, of, [labels[q] for q in query], query).as_slope
        for of in (scores, ranks)
    )
    figures = replace(figures, slope=by_score, rank_slope=by_rank)
    nearest = np.floor(places * (points - 1) + 0.5).astype(np.int64)
    pairs, cell = np.unique(query * points + nearest, return_inverse=True)
    size = np.bincount(cell)
    counts = np.bincount(pairs % points, minlength=points)
    codes = cluster_queries(labels, len(used)).codes
    by_column = [np.bincount(cell, weights=column) / size for column in (scores, ranks)]
    sums = [
        _normal_equations(pairs // points, pairs % points, values, codes, points)
        for values in by_column
    ]
    means, rank_means = (_fit(each.sum(axis=0)[None], points)[0] for each in sums)
    bounds = np.full((2, points), np.nan)
    if len(sums[0]) > 1:
        drawn = _fit(resampled_sums(sums[0], seed=seed, resamples=resamples), points)
        held = counts > 0
        bounds[:, held] = np.nanquantile(drawn[:, held], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    shown, lows, highs, ranked = (_listed(row) for row in (means, *bounds, rank_means + level))
    return ResponseCurve(places_shown, counts.tolist(), shown, lows, highs, ranked, figures)


def _normal_equations(
    query: np.ndarray, point: np.ndarray, values: np.ndarray, codes: np.ndarray, points: int
) -> np.ndarray:
    """Return each cluster's share of the normal equations of value = query + point with the queries
    eliminated, ``(clusters, points · (points + 1))``:

    A = Σ_q diag(c_q) − c_q c_qᵀ / n_q,   b = Σ_q y_q − c_q Σ y_q / n_q,
    c_q and y_q counts and sums of query q by point
    """
    queries = int(query.max()) + 1
    counts, sums = np.zeros((queries, points)), np.zeros((queries, points))
    counts[query, point], sums[query, point] = 1.0, values
    number = counts.sum(axis=1)[:, None]
    matrices = (
        counts[:, :, None] * np.eye(points)
        - counts[:, :, None] * counts[:, None, :] / number[:, :, None]
    )
    rights = sums - counts * sums.sum(axis=1)[:, None] / number
    rows = np.concatenate([matrices.reshape(queries, -1), rights], axis=1)
    out = np.zeros((int(codes.max()) + 1, rows.shape[1]))
    np.add.at(out, codes, rows)
    return out


def _fit(sums: np.ndarray, points: int) -> np.ndarray:
    """Return the points' effects, ``(n, points)``, from ``sums (n, points · (points + 1))``: mean 0
    over points with a query, NaN at the others.
    """
    matrices = sums[:, : points * points].reshape(-1, points, points)
    effects = np.einsum(
        "nij,nj->ni",
        np.linalg.pinv(matrices, rcond=1e-10, hermitian=True),
        sums[:, points * points :],
    )
    effects[np.einsum("nii->ni", matrices) <= 1e-12] = np.nan
    return effects - np.nanmean(effects, axis=1, keepdims=True)


def _centred(values: np.ndarray, query: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the values minus their query's mean, and the mean over queries of those means."""
    own = np.bincount(query, weights=values) / np.bincount(query)
    return values - own[query], float(own.mean())


def _listed(row: np.ndarray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in row]
