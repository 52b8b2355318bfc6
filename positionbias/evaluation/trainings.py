"""Estimate means and differences of systems trained several times, over trainings and queries
(``crossed``).

A repeat is a training seed and a rotation draw, each None if it does not apply. Repeats of two
systems are paired by seed, and by draw if both have draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError
from positionbias.core.records import Interval
from positionbias.evaluation.bootstrap import (
    RESAMPLES,
    Span,
    bootstrap_mean,
    cluster_labels,
    span_of,
)
from positionbias.evaluation.crossed import (
    LEAST,
    Crossed,
    crossed,
    mean_by_query,
    over_trainings,
)
from positionbias.evaluation.records import Comparison
from positionbias.evaluation.significance import compare

Repeat = tuple[int | None, int | None]  # training seed, rotation draw
Values = Mapping[str, float]  # by query


def paired(
    one: Mapping[Repeat, Values], other: Mapping[Repeat, Values]
) -> dict[Repeat, tuple[Values, Values]]:
    """Pair the repeats of two systems by seed and draw; a system without seeds (BM25) or draws
    pairs with each of the other's.
    """
    return {
        (a if a is not None else b, c if c is not None else d): (before, after)
        for (a, c), before in one.items()
        for (b, d), after in other.items()
        if (a is None or b is None or a == b) and (c is None or d is None or c == d)
    }


def figures_over(values: Mapping[Repeat, float]) -> Crossed:
    """Estimate the mean of a figure of whole trainings, over trainings alone.

    Raises:
        ValueError: no value.
    """
    if not values:
        raise ValueError("values: wanted at least one training; found none")
    cube = _cube({key: {"": value} for key, value in values.items()})[0][:, :, 0]
    return over_trainings(cube, span=span_of(cube, changes=True))


def query_means(repeats: Mapping[Repeat, Values]) -> dict[str, float]:
    """Return each query's mean over trainings of its mean over rotations."""
    cube, query_ids = _cube(repeats)
    return dict(zip(query_ids, mean_by_query(cube).tolist(), strict=True))


def mean_interval(
    repeats: Mapping[Repeat, Values],
    clusters: Mapping[str, str] | None = None,
    *,
    seed: int,
    changes: bool = False,
) -> Interval | None:
    """Return the interval of a mean of a measure, or of ``changes`` of it, over trainings and
    queries; with one training, over queries.
    """
    cube, query_ids = _cube(repeats)
    labels, span = cluster_labels(clusters, query_ids), span_of(cube, changes=changes)
    return (
        crossed(cube, labels, span=span).interval
        if len(repeats) > 1
        else bootstrap_mean(cube[0, 0], labels, seed=seed, span=span)
    )


def changes(repeats: Mapping[Repeat, tuple[Values, Values]]) -> dict[Repeat, Values]:
    """Return the second of each pair minus the first, by common query."""
    return {
        key: {q: after[q] - before[q] for q in before.keys() & after.keys()}
        for key, (before, after) in repeats.items()
    }


class Change(NamedTuple):
    """Two systems over their common repeats and queries: means, difference, and relative change
    (None if the first mean is 0).
    """

    before: float
    after: float
    difference: Crossed
    relative: Crossed | None


def change_over(
    repeats: Mapping[Repeat, tuple[Values, Values]], clusters: Mapping[str, str] | None = None
) -> Change:
    """Compare the second of each pair with the first.

    With b and d the means of the first and of the difference, the relative change is d / b; its
    error is that of its linear form (d_i − (d/b) · b_i) / b.

    Raises:
        InputError: no common query.
    """
    before, after, query_ids = _cubes(repeats)
    labels, span = cluster_labels(clusters, query_ids), span_of([before, after])
    difference = crossed(after - before, labels, span=span and Span(-1.0, 1.0))
    means = [crossed(cube, labels).value for cube in (before, after)]
    assert means[0] is not None
    assert means[1] is not None
    assert difference.value is not None
    if not means[0]:
        return Change(means[0], means[1], difference, None)
    ratio = difference.value / means[0]
    share = span and Span(-1.0, math.inf, 1 / means[0])
    relative = crossed(ratio + (after - before - ratio * before) / means[0], labels, span=share)
    return Change(means[0], means[1], difference, relative)


def compare_trainings(
    repeats: Mapping[Repeat, tuple[Values, Values]],
    *,
    names: Sequence[str],
    clusters: Mapping[str, str] | None = None,
    seed: int,
    resamples: int = RESAMPLES,
) -> Comparison:
    """Compare systems trained several times, as ``compare`` does: intervals and p are over
    trainings and queries, and undefined for two trainings.

    For one training seed they are ``compare``'s. Effect size, Wilcoxon's and Student's p are over
    the queries' means.

    Raises:
        InputError: no common query.
    """
    change = change_over(repeats, clusters)
    of, relative = change.difference, change.relative
    assert of.value is not None
    sides: list[dict[str, float]] = [
        query_means({key: pair[side] for key, pair in _shared(repeats).items()}) for side in (0, 1)
    ]
    alone = compare(
        *sides,
        names=names,
        clusters=clusters,
        seed=seed,
        resamples=resamples,
    )
    if len(of.by_seed) == 1:
        return alone
    notes = alone.notes
    if len(of.by_seed) < LEAST:
        few = f"undefined: wanted {LEAST} trainings; found {len(of.by_seed)}"
        notes = {**notes, "intervals": few, "tests": few}
    return replace(
        alone,
        baseline_mean=change.before,
        candidate_mean=change.after,
        difference=of.value,
        difference_interval=of.interval,
        relative=relative.value if relative else None,
        relative_as_printed=of.value / change.after if change.after else None,
        relative_interval=relative.interval if relative else None,
        p=of.p,
        by_seed=list(of.by_seed),
        notes=notes,
    )


def _shared(repeats: Mapping[Repeat, tuple[Values, Values]]) -> dict[Repeat, tuple[Values, Values]]:
    """Restrict each pair to its common queries.

    Raises:
        InputError: a pair without a common query.
    """
    found: dict[Repeat, tuple[Values, Values]] = {}
    for key, (before, after) in repeats.items():
        queries = before.keys() & after.keys()
        found[key] = ({q: before[q] for q in queries}, {q: after[q] for q in queries})
    if not any(before for before, _ in found.values()):
        raise InputError(
            "trainings: wanted queries that both systems have; found none; compare runs of one "
            "split"
        )
    return found


def _cubes(
    repeats: Mapping[Repeat, tuple[Values, Values]],
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    shared = _shared(repeats)
    before, query_ids = _cube({key: pair[0] for key, pair in shared.items()})
    return before, _cube({key: pair[1] for key, pair in shared.items()})[0], query_ids


def _cube(repeats: Mapping[Repeat, Values]) -> tuple[np.ndarray, list[str]]:
    """Return the values as ``(seeds, rotations, queries)``, NaN if missing, and the queries."""
    seeds, draws = (list(dict.fromkeys(key[place] for key in repeats)) for place in (0, 1))
    query_ids = sorted({query_id for values in repeats.values() for query_id in values})
    cube = np.full((len(seeds), len(draws), len(query_ids)), np.nan)
    for (seed, draw), values in repeats.items():
        cube[seeds.index(seed), draws.index(draw)] = [
            values.get(query_id, np.nan) for query_id in query_ids
        ]
    return cube, query_ids
