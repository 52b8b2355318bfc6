"""Do the p-values and intervals of a comparison keep their levels where several questions are asked
of one passage, and in small sets?

    python benchmarks/clustered_tests.py
        # writes benchmarks/results/clustered_tests_HARDWARE_DATE.md

False alarms: two systems of equal quality, five queries a passage whose differences agree more or
less, so that the variance of their mean is 1, 1.3 or 1.7 times that of independent queries (the
design effect). Half of the differences are 0, few are near 1, as those of nDCG are. Coverage: 95 %
intervals of a mean, of a difference and of a relative change over few clusters, by percentiles of
resamples and by the jackknife. Bounded: the same intervals of measures that are mostly 0 or 1, as
they come and as they are shown (within the measure, with the rule of three).
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib.metadata import version
from itertools import product

import numpy as np
from measuring import hardware, result_place
from scipy import stats

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import (
    FEW,
    Replicates,
    Span,
    bounded,
    cluster_queries,
    means_without,
    replicated_means,
    resampled_means,
)
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.significance import clustered_p, corrected

LEVEL = 0.05
PER_CLUSTER = 5
QUERIES = (50, 200, 1_000)
EFFECTS = (1.0, 1.3, 1.7)
CLUSTERS = (5, 10, 20, 30, 40, 60)
SAME = 0.5  # share of queries that both systems answer alike
SIZES = (5, 10, 30, 100)
# share of queries with 1; half of the rest have 0, half something between
ALIKE = (0.5, 0.8, 0.95, 0.99)
TESTS = ("Wilcoxon", "t", "sign flips", "jackknife t")
STATISTICS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda means: means[..., 0],
    "difference": lambda means: means[..., 1] - means[..., 0],
    "relative change": lambda means: means[..., 1] / means[..., 0] - 1,
}


@dataclass(frozen=True, slots=True)
class Alarms:
    """How many of ``draws`` each test rejected, by its name."""

    queries: int
    effect: float
    draws: int
    rejected: dict[str, int]


@dataclass(frozen=True, slots=True)
class Covered:
    """How many of ``draws`` intervals are defined, how many of these held the truth, and their mean
    length, by (statistic, method).
    """

    clusters: int
    per_cluster: int
    draws: int
    defined: dict[tuple[str, str], int]
    held: dict[tuple[str, str], int]
    length: dict[tuple[str, str], float]


def differences(latent: np.ndarray) -> np.ndarray:
    """Differences of two systems from normal numbers: 0 for the middle half, beyond it the cube of
    the share that lies nearer, with its sign.
    """
    beyond = np.maximum(2 * stats.norm.cdf(np.abs(latent)) - 1 - SAME, 0) / (1 - SAME)
    return np.sign(latent) * beyond**3


@lru_cache
def latent_agreement(effect: float, *, pairs: int = 400_000) -> float:
    """The correlation of the normal numbers of one passage with which ``PER_CLUSTER`` differences
    have this design effect.
    """
    rng = generator(1, "agreement")
    one, other = rng.normal(size=(2, pairs))
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        both = differences(middle * one + math.sqrt(1 - middle**2) * other)
        agree = float((differences(one) * both).mean() / (differences(one) ** 2).mean())
        low, high = (middle, high) if 1 + (PER_CLUSTER - 1) * agree < effect else (low, middle)
    return 0.0 if effect == 1 else (low + high) / 2


def alarms(queries: int, effect: float, *, draws: int, seed: int = 1) -> Alarms:
    """Each test on ``draws`` new sets of queries on which two systems are equally good."""
    shared, count = latent_agreement(effect), queries // PER_CLUSTER
    labels = [f"passage {place:04d}" for place in range(count) for _ in range(PER_CLUSTER)]
    rejected = dict.fromkeys(TESTS, 0)
    for draw in range(draws):
        rng = generator(seed, "equal systems", queries, f"{effect:g}", draw)
        common = np.repeat(rng.normal(size=count), PER_CLUSTER)
        values = differences(
            math.sqrt(shared) * common + math.sqrt(1 - shared) * rng.normal(size=queries)
        )
        found = {
            "Wilcoxon": stats.wilcoxon(values, zero_method="wilcox").pvalue,
            "t": stats.ttest_1samp(values, 0).pvalue,
            "sign flips": clustered_p(values, labels, seed=draw),
            "jackknife t": clustered_mean(values, labels).p,
        }
        for name, p in found.items():
            rejected[name] += p is not None and p <= LEVEL
    return Alarms(queries, effect, draws, rejected)


def qualities(rng: np.random.Generator, clusters: int, per_cluster: int) -> np.ndarray:
    """nDCG@10 of two systems, ``(queries, 2)``, one relevant passage a query: the second system is
    a little better, and queries of a passage agree.
    """
    easy = np.repeat(rng.normal(size=clusters), per_cluster)
    own, *systems = rng.normal(size=(3, clusters * per_cluster))
    latent = math.sqrt(0.3) * easy + math.sqrt(0.4) * own
    columns = [
        latent + math.sqrt(0.3) * noise + 0.15 * place for place, noise in enumerate(systems)
    ]
    ranks = np.ceil(np.exp(1.2 - 1.3 * np.column_stack(columns)))
    return np.where(ranks <= 10, 1 / np.log2(ranks + 1), 0.0)


def coverage(
    clusters: int, per_cluster: int, *, draws: int, resamples: int = 2_000, seed: int = 1
) -> Covered:
    """Intervals by both methods on ``draws`` new sets, held against the means of two million
    queries.
    """
    means = qualities(generator(1, "truth"), 400_000, 5).mean(axis=0)
    labels = [f"passage {place:04d}" for place in range(clusters) for _ in range(per_cluster)]
    of = cluster_queries(labels, len(labels))
    found: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for draw in range(draws):
        values = qualities(
            generator(seed, "small set", clusters, per_cluster, draw), clusters, per_cluster
        )
        drawn = resampled_means(values, labels, seed=draw, resamples=resamples)
        assert drawn is not None
        whole = values.mean(axis=0)
        ways = {
            "percentiles": Replicates(whole, drawn.means, None, "", clusters),
            "jackknife t": Replicates(whole, means_without(values, of), clusters - 1, "", clusters),
        }
        for (name, statistic), (way, replicates) in product(STATISTICS.items(), ways.items()):
            if name != "relative change" or (replicates.means[:, 0] > 0).all():
                interval, truth = replicates.free_interval(statistic), float(statistic(means))
                found.setdefault((name, way), []).append(
                    (interval.low <= truth <= interval.high, interval.high - interval.low)
                )
    return Covered(
        clusters,
        per_cluster,
        draws,
        {key: len(of) for key, of in found.items()},
        {key: sum(held for held, _ in of) for key, of in found.items()},
        {key: sum(length for _, length in of) / len(of) for key, of in found.items()},
    )


def mostly_one(rng: np.random.Generator, share: float, queries: int) -> np.ndarray:
    """nDCG@10 of two systems, ``(queries, 2)``, independent queries: 1 for a share of them, 0 or
    something between for the others.
    """
    between = 1 / np.log2(rng.integers(3, 12, size=(queries, 2)))
    others = np.where(rng.random((queries, 2)) < 0.5, 0.0, between)
    return np.where(rng.random((queries, 2)) < share, 1.0, others)


def bounded_coverage(
    queries: int, share: float, *, draws: int, seed: int = 1
) -> dict[str, dict[str, float]]:
    """Of a mean and a difference: the share of intervals that hold the truth, their length and the
    share without width, before and after the bounds.
    """
    mean = share + (1 - share) / 2 * float(np.mean(1 / np.log2(np.arange(3, 12))))
    truths = {"mean": (mean, Span(0.0, 1.0)), "difference": (0.0, Span(-1.0, 1.0))}
    sums: dict[str, dict[str, float]] = {name: defaultdict(float) for name in truths}
    for draw in range(draws):
        values = mostly_one(
            generator(seed, "mostly one", queries, f"{share:g}", draw), share, queries
        )
        replicates = replicated_means(values, None, seed=draw, resamples=1_000)
        assert replicates is not None
        for name, (truth, span) in truths.items():
            free = replicates.free_interval(STATISTICS[name])
            for when, interval in (("before", free), ("after", bounded(free, queries, span))):
                assert interval is not None
                low, high = interval.low - 1e-9, interval.high + 1e-9
                sums[name][f"{when}, held"] += (low <= truth <= high) / draws
                sums[name][f"{when}, length"] += (interval.high - interval.low) / draws
                sums[name][f"{when}, no width"] += (interval.high - interval.low < 1e-9) / draws
    return sums


def bounded_table(draws: int) -> list[str]:
    """A row a number of queries and a share of 1."""
    lines = [
        "## Measures that are mostly 1",
        "",
        (
            "Share of 95 % intervals that hold the truth, their mean length, and how many have no "
            "width; before and after they are bounded. Two equal systems, independent queries."
        ),
        "",
        (
            "| queries | share with 1 | draws | mean, before | mean, after | difference, before | "
            "difference, after |"
        ),
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for queries, share in product(SIZES, ALIKE):
        found = bounded_coverage(queries, share, draws=draws)
        cells = [
            f"{_percent(of[f'{when}, held'])} ({of[f'{when}, length']:.3f}; "
            f"{_percent(of[f'{when}, no width'])})"
            for of in found.values()
            for when in ("before", "after")
        ]
        lines.append(f"| {queries} | {_percent(share)} | {draws:,} | {' | '.join(cells)} |")
    return [*lines, ""]


def exact(count: int, draws: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval."""
    found = stats.binomtest(count, draws).proportion_ci()
    return float(found.low), float(found.high)


def alarm_table(found: list[Alarms]) -> list[str]:
    """A row a cell, and what all cells together say of the sign flips."""
    lines = [
        "## False alarms",
        "",
        f"Share of p ≤ {LEVEL:g} where two systems are equally good, with Clopper and Pearson's 95 "
        f"% interval. {PER_CLUSTER} queries a passage; half of the differences are 0. Wilcoxon and "
        "t take queries one by one; sign flips of passages are the p of a comparison; jackknife t "
        "is that of `clustered_mean`.",
        "",
        f"| queries | passages | design effect | draws | {' | '.join(TESTS)} |",
        "|---:|---:|---:|---:|" + "---:|" * len(TESTS),
    ]
    for of in found:
        shares = [
            f"{_percent(of.rejected[name] / of.draws)} "
            f"[{_bounds(*exact(of.rejected[name], of.draws))}]"
            for name in TESTS
        ]
        lines.append(
            f"| {of.queries:,} | {of.queries // PER_CLUSTER} | {of.effect:g} | {of.draws:,} | "
            f"{' | '.join(shares)} |"
        )
    lines += [
        "",
        "All cells together:",
        "",
        "| test | rejected | interval | smallest p of a cell against 5 %, Holm over cells |",
        "|---|---:|---:|---:|",
    ]
    for name in TESTS:
        rejected, draws = sum(of.rejected[name] for of in found), sum(of.draws for of in found)
        p = min(
            corrected(
                [float(stats.binomtest(of.rejected[name], of.draws, LEVEL).pvalue) for of in found],
                "holm",
            )
        )
        shown = "<0.001" if p < 0.0005 else f"{p:.3f}"
        lines.append(
            f"| {name} | {_percent(rejected / draws)} | {_bounds(*exact(rejected, draws))} | "
            f"{shown} |"
        )
    return [*lines, ""]


def coverage_table(found: list[Covered]) -> list[str]:
    """A row a number of clusters, a column a statistic and method."""
    ways = [(name, way) for name in STATISTICS for way in ("percentiles", "jackknife t")]
    lines = [
        "## Coverage of small sets",
        "",
        "Share of 95 % intervals that hold the truth, and their mean length. nDCG@10 of one "
        f"relevant passage a query, two systems, the second a little better. Up to {FEW} clusters "
        "intervals are the jackknife's, with more percentiles of 2,000 resamples. A relative "
        "change has no interval where the first system's mean can be 0; where some sets have "
        "none, it is said how many have one.",
        "",
        (
            "| clusters | queries each | draws | "
            f"{' | '.join(f'{name}, {way}' for name, way in ways)} |"
        ),
        "|---:|---:|---:|" + "---:|" * len(ways),
    ]
    for of in found:
        cells = [_covered(of, key) for key in ways]
        lines.append(f"| {of.clusters} | {of.per_cluster} | {of.draws:,} | {' | '.join(cells)} |")
    worst = max(math.sqrt(0.05 * 0.95 / of.draws) for of in found)
    return [*lines, "", f"A share of 95 % has a standard error of {100 * worst:.1f} points.", ""]


def _covered(of: Covered, key: tuple[str, str]) -> str:
    some = "" if of.defined[key] == of.draws else f"; of {of.defined[key]:,}"
    return f"{_percent(of.held[key] / of.defined[key])} ({of.length[key]:.3f}{some})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _bounds(low: float, high: float) -> str:
    return f"{100 * low:.1f}, {100 * high:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--draws", type=int, default=2_500, help="sets of queries a cell of false alarms"
    )
    parser.add_argument("--small", type=int, default=2_000, help="sets a cell of coverage")
    given = parser.parse_args()
    started, load = time.process_time(), os.getloadavg()[0]
    of_alarms = [
        alarms(queries, effect, draws=given.draws) for queries in QUERIES for effect in EFFECTS
    ]
    of_coverage = [
        coverage(clusters, each, draws=given.small)
        for each in (1, PER_CLUSTER)
        for clusters in CLUSTERS
    ]
    of_bounds = bounded_table(given.small)
    seconds = time.process_time() - started
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    lines = [
        "# p-values and intervals that know their clusters",
        "",
        (
            f"{hardware()}; Python {platform.python_version()}, {versions}; "
            f"{date.today().isoformat()}; {seconds / 60:.1f} processor minutes (load average "
            f"{load:.1f} at the start)."
        ),
        "",
        f"    {' '.join(['python', 'benchmarks/clustered_tests.py', *sys.argv[1:]])}",
        "",
        *alarm_table(of_alarms),
        *coverage_table(of_coverage),
        *of_bounds,
    ]
    place = result_place("clustered_tests")
    place.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
