"""Test the significance of differences: paired tests, effect size, clustered intervals, corrections
for many tests.

The p of a comparison is two-sided and flips the signs of whole clusters of queries, as its interval
is clustered. Wilcoxon's and Student's p ignore clusters; with 5 questions per passage they reject
too often (``benchmarks/clustered_tests.py``). They are reported under their names, as papers print
them, but no conclusion rests on them [decision].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import stats

from positionbias.core.errors import InputError, SettingError
from positionbias.core.json_text import Json
from positionbias.core.records import Interval, Qrel
from positionbias.evaluation.bootstrap import (
    FEWEST,
    RESAMPLES,
    TOO_FEW,
    Replicates,
    Span,
    cluster_labels,
    replicated_means,
    span_of,
)
from positionbias.evaluation.permutation import sign_flip_p
from positionbias.evaluation.records import Comparison

HOLM, BONFERRONI = CORRECTIONS = ("holm", "bonferroni")
# Values that differ only by rounding must tie in the Wilcoxon ranks, and a difference of 1e-17 must
# count as 0.
_DECIMALS = 12
_ALL_SIGNS = 13  # differences for which scipy's Wilcoxon test goes through all signs


def clusters_by_passage(qrels: Iterable[Qrel], *, level: int = 1) -> dict[str, str]:
    """Map each query id to its relevant passage if it has exactly one; other queries are their own
    clusters.

    Questions about one passage succeed or fail together, so resampling them one by one makes
    intervals too narrow. Queries with several relevant passages (TREC topics) remain the unit
    [decision].
    """
    relevant: dict[str, list[str]] = {}
    for qrel in qrels:
        if qrel.grade >= level:
            relevant.setdefault(qrel.query_id, []).append(qrel.passage_id)
    # the prefix distinguishes a passage's id from a query's
    return {
        query_id: f"passage {passages[0]}"
        for query_id, passages in relevant.items()
        if len(passages) == 1
    }


def compare(
    baseline: Mapping[str, float],
    candidate: Mapping[str, float],
    *,
    names: Sequence[str],
    clusters: Mapping[str, str] | None = None,
    seed: int,
    resamples: int = RESAMPLES,
    replicates: Replicates | None = None,
) -> Comparison:
    """Compare the candidate with the baseline on their common queries: difference, tests, effect
    size, intervals; ``names`` are in this order.

    Effect size is Cohen's d_z = mean(d) / sd(d), d = candidate − baseline per query, sd with n − 1.
    p and the intervals are over clusters of queries; the relative change's interval is that of the
    ratio, mean(d) / mean(baseline). Undefined figures are None, and the notes give the reason.
    ``replicates`` are the means of both over the same clusters, where they are there already.
    Wilcoxon drops zero differences (position-bias paper's test; scipy's ``wilcox``).

    Raises:
        InputError: no query in common.
    """
    baseline_name, candidate_name = names
    queries = sorted(baseline.keys() & candidate.keys())
    if not queries:
        raise InputError(
            f"{candidate_name!r} against {baseline_name!r}: wanted queries that both have; found "
            "none; compare runs of one split"
        )
    before = np.array([baseline[query_id] for query_id in queries], np.float64)
    after = np.array([candidate[query_id] for query_id in queries], np.float64)
    remarks: dict[str, Json] = {}
    if alone := len(baseline.keys() ^ candidate.keys()):
        remarks["queries that only one has"] = alone
    tests = _tests(before, after, remarks)
    base, other = float(before.mean()), float(after.mean())
    labels = cluster_labels(clusters, queries)
    if replicates is None:
        replicates = replicated_means(
            np.column_stack([before, after]), labels, seed=seed, resamples=resamples
        )
    difference_interval, relative_interval = _intervals(
        replicates, span_of([before, after]), remarks
    )
    return Comparison(
        baseline=baseline_name,
        candidate=candidate_name,
        baseline_mean=base,
        candidate_mean=other,
        difference=other - base,
        difference_interval=difference_interval,
        relative=(other - base) / base if base else None,
        relative_as_printed=(other - base) / other if other else None,
        relative_interval=relative_interval,
        effect_size=tests.effect_size,
        p_wilcoxon=tests.p_wilcoxon,
        p_t=tests.p_t,
        p=clustered_p(after - before, labels, seed=seed),
        queries=len(queries),
        notes=remarks,
    )


def clustered_p(
    differences: np.ndarray, clusters: Sequence[str] | None, *, seed: int
) -> float | None:
    """Return the two-sided p of "the mean of ``differences (queries,)`` is not 0" by sign flips of
    clusters; None if no query differs.
    """
    rounded = np.round(differences, _DECIMALS)
    return sign_flip_p(rounded, clusters, seed=seed, two_sided=True) if rounded.any() else None


class _Tests(NamedTuple):
    effect_size: float | None
    p_wilcoxon: float | None
    p_t: float | None


def _tests(before: np.ndarray, after: np.ndarray, remarks: dict[str, Json]) -> _Tests:
    """Return two-sided paired tests over single queries; an undefined test is None, with the reason
    in ``remarks``.
    """
    differences = np.round(after - before, _DECIMALS)
    remarks["queries that differ"] = int(np.count_nonzero(differences))
    if not differences.any():
        remarks["tests"] = "undefined: no query differs"
        return _Tests(None, None, None)
    ranks = _wilcoxon_p(differences)
    if np.ptp(differences) == 0:
        remarks["tests"] = "t and effect size undefined: every query differs by the same amount"
        return _Tests(None, ranks, None)
    t = float(stats.ttest_rel(after, before).pvalue)
    return _Tests(float(differences.mean() / differences.std(ddof=1)), ranks, t)


def _wilcoxon_p(differences: np.ndarray) -> float:
    """Return what ``scipy.stats.wilcoxon`` does; of up to 13 differences with ties or zeros it
    computes all signs' sums one by one, in a second and more.
    """
    if len(differences) > _ALL_SIGNS:
        return float(stats.wilcoxon(differences, zero_method="wilcox").pvalue)
    unequal = differences[differences != 0]
    signed = np.sign(unequal) * stats.rankdata(np.abs(unequal))
    if len(signed) == 1:
        return 1.0

    def positive(ranks: np.ndarray, axis: int) -> np.ndarray:
        return np.maximum(ranks, 0).sum(axis=axis)

    return float(
        stats.permutation_test(
            (signed,), positive, permutation_type="samples", vectorized=True
        ).pvalue
    )


def _intervals(
    found: Replicates | None, span: Span | None, remarks: dict[str, Json]
) -> tuple[Interval | None, Interval | None]:
    """Return the intervals of the difference and of the relative change, from the same resamples or
    the same jackknife.

    ``span`` is that of both means. A relative change is −1 or more.
    """
    if found is None or found.clusters < FEWEST:
        remarks["intervals"] = f"undefined: {TOO_FEW}"
        return None, None
    difference = found.interval(
        lambda means: means[..., 1] - means[..., 0], span and Span(-1.0, 1.0)
    )
    if not (found.means[:, 0] > 0).all():
        remarks["relative interval"] = "undefined: the baseline's mean is 0 in some resamples"
        return difference, None
    share = span and Span(-1.0, math.inf, 1 / float(found.whole[0]))
    return difference, found.interval(lambda means: means[..., 1] / means[..., 0] - 1, share)


def adjust(
    comparisons: Sequence[Comparison], methods: Sequence[str] = CORRECTIONS
) -> list[Comparison]:
    """Return the comparisons with p corrected for their number, as one family:
    ``p_adjusted["holm"]`` …

    Undefined p-values stay None and do not count.

    Raises:
        SettingError: a method other than holm and bonferroni.
    """
    for method in methods:
        if method not in CORRECTIONS:
            raise SettingError(
                f"correction: wanted one of {', '.join(CORRECTIONS)}; found {method!r}; give one "
                "of these"
            )
    defined = [
        (index, comparison.p)
        for index, comparison in enumerate(comparisons)
        if comparison.p is not None
    ]
    adjusted: list[dict[str, float | None]] = [dict.fromkeys(methods) for _ in comparisons]
    for method in methods:
        for (index, _), p in zip(defined, corrected([p for _, p in defined], method), strict=True):
            adjusted[index][method] = p
    return [replace(c, p_adjusted=record) for c, record in zip(comparisons, adjusted, strict=True)]


def corrected(p_values: list[float], method: str) -> list[float]:
    """Correct p-values for their number, as one family, by "holm" or "bonferroni".

    For the i-th smallest of n: Bonferroni n · p; Holm (n − i + 1) · p, at least that of smaller
    ones; none above 1.
    """
    order = np.argsort(p_values)
    ascending, ranks = (
        np.asarray(p_values, dtype=np.float64)[order],
        np.arange(1, len(p_values) + 1),
    )
    if method == BONFERRONI:
        corrected = ascending * len(ranks)
    elif method == HOLM:
        corrected = np.maximum.accumulate(ascending * ranks[::-1])
    else:
        raise ValueError(method)
    found = np.empty_like(ascending)
    found[order] = np.minimum(corrected, 1.0)
    return [float(p) for p in found]
