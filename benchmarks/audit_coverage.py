"""Do the audit's intervals hold the truth, and does it find nothing where there is nothing? On planted queries and a scorer of set preference.

    python benchmarks/audit_coverage.py            # writes benchmarks/results/audit_coverage_HARDWARE_DATE.md

The scorer and the queries are ``planted_scorer``'s. For each size of its preference: the truth from many queries, then repeats of a small audit
each, whose intervals are held against that truth. Once with a query a passage, once with several that share their passage's fate,
where the intervals must take passages together. Then the debiased PSI alone, on buckets whose true means are set.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, result_place
from planted_scorer import Planted, collected, draw

from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import cluster_queries
from positionbias.evaluation.buckets import PERCENT_BUCKETS
from positionbias.evaluation.clustered import Estimate, clustered_slope
from positionbias.evaluation.psi import Cells, adjusted_means, dealt_means, psi_of, psi_with_null, resampled_bucket_means
from positionbias.evaluation.rank_correlation import kendall, spearman
from positionbias.evaluation.rotation_gap import RotationGap, rotation_gap
from positionbias.evaluation.sensitivity import MINIMUM, BucketSettings, bucket_means
from positionbias.planted.generator import PlantedSettings, write_planted
from positionbias.results.buckets import QueryBuckets

SIZES = (0.0, 0.25, 0.5, 1.0, 2.0)
WAYS = ((1, True), (5, True), (5, False))  # queries a passage, and whether the audit knows
DRAWS = 4
MAX_GAP = 0.02
CHUNK = 50_000
TRUE_PSI = (0.0, 0.05, 0.1, 0.3)
SHAPES = ("falling", "two levels", "one bucket")
SET_SIZES = ((300, 5), (300, 10), (1_000, 5), (1_000, 20), (5_000, 20))  # queries, buckets
BEST = 0.75
SEEN = 1 / np.log2([2, 3, 4, 6])  # of nDCG@10, with one relevant passage; beside 0


@dataclass(frozen=True)
class Truth:
    """What the scorer shows on many queries: its slope, gap and mean, and the mean of every bucket."""

    slope: float
    gap: float
    mean: float
    means: np.ndarray


DEBIASED = ("psi_debiased", "psi_debiased_low", "psi_debiased_high")
Found = tuple[int, bool, float, "Truth", dict[str, float]]


@dataclass(frozen=True)
class Audit:
    """One small audit."""

    buckets: QueryBuckets
    gap: RotationGap


def truth(size: float, queries: int, per_passage: int, *, seed: int = 0) -> Truth:
    """The scorer's figures on ``queries`` queries, drawn a chunk at a time. Without a preference every bucket has the same mean."""
    qualities, positions = [], []
    for chunk in range(-(-queries // CHUNK)):
        planted = draw(min(CHUNK, queries - chunk * CHUNK), per_passage=per_passage, seed=1_000_000 * (seed + 1) + chunk)
        places = planted.positions[:, :, 0]
        qualities.append(planted.quality(size))
        positions.append(places[0])
    quality, position = np.concatenate(qualities, axis=1), np.concatenate(positions)
    changes = quality[1:] - quality[0]
    numbers = PERCENT_BUCKETS.assign(position)
    # no answering sentence starts in a passage's last words: the last buckets are empty here as in the audits
    means = np.bincount(numbers, weights=quality[0], minlength=20) / np.maximum(np.bincount(numbers, minlength=20), 1)
    slope = clustered_slope(position, quality[0], None).value
    assert slope is not None
    mean = float(quality[0].mean())
    return Truth(slope, float(changes.mean()), mean, means if size else np.full(20, mean))


def audit(planted: Planted, size: float, *, clustered: bool = True) -> Audit:
    """The audit of one set of queries; ``clustered`` False takes them as drawn one by one."""
    quality, places = planted.quality(size), planted.positions[:, :, 0]
    clusters = planted.clusters if clustered else None
    gap = rotation_gap(quality[0], quality[1:], clusters)
    return Audit(
        bucket_means(quality[0], places[0], PERCENT_BUCKETS, clusters, settings=BucketSettings(seed=1, resamples=1_000)), gap
    )


def repeated(
    size: float, known: Truth, *, repeats: int, queries: int, per_passage: int = 1, clustered: bool = True, seed: int = 1
) -> dict[str, float]:
    """Means over ``repeats`` audits of ``queries`` queries each: of what was found, and of whether it held the truth."""
    rows = [
        held(audit(draw(queries, per_passage=per_passage, seed=1_000 * seed + repeat), size, clustered=clustered), known)
        for repeat in range(repeats)
    ]
    return {name: float(np.mean([row[name] for row in rows if not np.isnan(row[name])] or [np.nan])) for name in rows[0]}


def held(found: Audit, known: Truth) -> dict[str, float]:
    """One audit against the truth: whether intervals cover it (NaN where there is none), what was found at 5 %, what would fail a check."""
    figures, change = found.buckets.figures.to_rows(), found.gap.change
    used = np.array([mean is not None for mean in found.buckets.means])
    level = known.means[used]
    middles = PERCENT_BUCKETS.middles[used]
    psi = float(psi_of(level))
    figures |= _bounds("gap", change)
    true = {"slope": known.slope, "gap": known.gap, "psi_debiased": psi}
    true |= {name: float(of(middles, level[None])[0]) for name, of in (("spearman", spearman), ("kendall", kendall))}
    row: dict[str, float] = {"buckets": int(used.sum()), "true psi": psi}
    shown = ("slope", "gap", "psi", "null_mean", *DEBIASED, "spearman", "kendall")
    row |= {name: figures[name] for name in shown}
    for name, value in true.items():
        covers = figures[f"{name}_low"] <= value <= figures[f"{name}_high"]
        row[f"{name} covered"] = float("nan") if np.isnan(value) else covers
    row["psi_debiased_low above"] = figures["psi_debiased_low"] > psi
    row["slope found"], row["gap found"], row["psi found"] = figures["slope_p"] < 0.05, change.p < 0.05, figures["p"] < 0.05
    row["spearman found"], row["kendall found"] = figures["spearman_p"] < 0.05, figures["kendall_p"] < 0.05
    row["psi none"], row["gap fails"] = figures["psi_debiased"] == 0, change.least > MAX_GAP
    row["slope detectable"], row["gap detectable"] = figures["slope_detectable"], change.detectable
    return row


def true_means(psi: float, buckets: int, shape: str) -> np.ndarray:
    """Means of this PSI whose best is 0.75: falling evenly, half of the buckets at either level, or one bucket in the middle below the others."""
    places = np.linspace(0, 1, buckets)
    falls = {
        "falling": places,
        "two levels": np.where(places < 0.5, 0.0, 1.0),
        "one bucket": np.where(np.arange(buckets) == buckets // 2, 1.0, 0.0),
    }
    return BEST * (1 - psi * falls[shape])


def with_means(means: np.ndarray, queries: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of nDCG@10 and buckets of queries: the later the bucket, the fewer, as in real collections; 1 or one of the lower values, by its mean."""
    rng = generator(seed, "known means", queries, len(means))
    shares = np.exp(-1.6 * np.linspace(0, 1, len(means)))
    buckets = rng.choice(len(means), size=queries, p=shares / shares.sum())
    lower = np.array([0.0, *SEEN[1:]])
    first = rng.random(queries) < (means[buckets] - lower.mean()) / (1 - lower.mean())
    return np.where(first, 1.0, lower[rng.integers(len(lower), size=queries)]), buckets


def known_psi(psi: float, queries: int, buckets: int, shape: str, *, repeats: int, seed: int = 1) -> dict[str, float]:
    """Means over ``repeats`` sets of queries: the true PSI of the buckets that count, what is seen and estimated, and whether the interval holds it."""
    means, rows = true_means(psi, buckets, shape), []
    for repeat in range(repeats):
        values, numbers = with_means(means, queries, seed=1_000 * seed + repeat)
        large = np.bincount(numbers, minlength=buckets) >= MINIMUM
        used = large[numbers]
        cells = Cells(
            values[used], (np.cumsum(large) - 1)[numbers[used]], np.zeros(int(used.sum()), np.int64), int(large.sum()), 1
        )
        drawn = cluster_queries(None, len(cells.values))
        seen = adjusted_means(cells.sums(cells.values), cells.sums())
        dealt = dealt_means(cells, drawn, seed=1, permutations=50)
        found = psi_with_null(cells, drawn, seen, dealt, resampled_bucket_means(cells, drawn, seed=1, resamples=500), seed=1)
        assert found.value is not None
        assert found.null_mean is not None
        assert found.debiased is not None
        assert found.low is not None
        assert found.high is not None
        low, high, true = found.low, found.high, float(psi_of(means[large]))
        rows.append(
            {
                "buckets": cells.count, "true": true, "seen": found.value, "seen less null": found.value - found.null_mean, "debiased": found.debiased,
                "low": low, "high": high, "covered": low <= true <= high, "below": high < true, "above": low > true,
            }
        )  # fmt: skip
    found_means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {**found_means, "median": float(np.median([row["debiased"] for row in rows]))}


def known_table(repeats: int) -> list[str]:
    """The debiased PSI where the true one is set, a row a PSI, shape, number of queries and of buckets."""
    lines = [
        "## Debiased PSI of known means",
        "",
        f"{repeats} sets of queries a row, drawn into buckets whose true means are set: the best is {BEST}, values are those of nDCG@10 with one relevant passage, later buckets hold fewer queries. Falling: evenly from the "
        "first bucket to the last. Two levels: half of the buckets at each. One bucket: the middle one alone is lower. Counted: buckets of 20 queries or more. True: PSI of their true means. Seen: PSI. Seen − "
        "null: PSI less its mean under shuffled positions. Too high, too low: share of intervals that lie above or below the true PSI.",
        "",
        "| shape | queries | buckets | counted | true | seen | seen − null | debiased | its median | low | high | covered | too high | too low |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for psi in TRUE_PSI:
        for shape in SHAPES if psi else SHAPES[:1]:
            for queries, buckets in SET_SIZES:
                row = known_psi(psi, queries, buckets, shape, repeats=repeats)
                numbers = " | ".join(
                    f"{row[name]:.3f}" for name in ("true", "seen", "seen less null", "debiased", "median", "low", "high")
                )
                shares = " | ".join(_share(row[name]) for name in ("covered", "above", "below"))
                lines.append(
                    f"| {shape if psi else 'level'} | {queries:,} | {buckets} | {row['buckets']:.0f} | {numbers} | {shares} |"
                )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1_000, help="of an audit")
    parser.add_argument("--repeats", type=int, default=200, help="audits of each size")
    parser.add_argument("--truth", type=int, default=200_000, help="queries that the truth is taken from")
    parser.add_argument("--collection", type=int, default=4_000, help="queries of the real planted collection; 0 leaves it out")
    parser.add_argument("--sets", type=int, default=200, help="sets of queries for each row of the debiased PSI")
    given = parser.parse_args()
    began, load = time.process_time(), os.getloadavg()[0]
    found = []
    for per_passage, clustered in WAYS:
        for size in SIZES:
            known = truth(size, given.truth, per_passage)
            options = {"repeats": given.repeats, "queries": given.queries, "per_passage": per_passage, "clustered": clustered}
            found.append((per_passage, clustered, size, known, repeated(size, known, **options)))
            print(f"{per_passage} a passage, clustered {clustered}, size {size:g}", file=sys.stderr, flush=True)
    real = planted_collection(given.collection) if given.collection else []
    known_means = known_table(given.sets)
    used = time.process_time() - began
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    command = f"python benchmarks/audit_coverage.py --queries {given.queries} --repeats {given.repeats} --truth {given.truth} --sets {given.sets}"
    text = [
        "# What the audit's intervals hold, where the truth is known",
        "",
        f"{hardware()}; one thread; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    {command} --collection {given.collection}",
        "",
        f"{given.repeats} audits of {given.queries:,} planted queries at each size of a scorer's preference for the front (`planted_scorer`), {DRAWS} rotations; "
        f"the truth is what the scorer shows on {given.truth:,}. Position bins: 20, of which those with 20 queries count ({found[0][4]['buckets']:.0f}). "
        f"{used:,.0f} s of the processor (load average {load:.1f} at the start). With {given.repeats} repeats a share of 95 % has a standard error "
        f"of {100 * np.sqrt(0.05 * 0.95 / given.repeats):.1f} points.",
        "",
        *tables(found),
        *known_means,
        *(collection_table(real, given.collection) if real else []),
    ]
    place = result_place("audit_coverage")
    place.write_text("\n".join(text), encoding="utf-8")
    print(place)


def tables(found: Sequence[Found]) -> list[str]:
    """Coverage, power and PSI, a row a size."""
    lines = [
        "## Slope and gap",
        "",
        "Covered: share of 95 % intervals that hold the truth. Found: share with p < 0.05. Detectable: the smallest effect found with 80 % power, as the audit itself "
        f"states it. Fails: share in which the interval's lower bound passes {MAX_GAP} in size. Five a passage: half of a passage's queries ask of the same sentence, and "
        "they share its score; *as if alone* takes them as drawn one by one, which is wrong.",
        "",
        "| queries | size | nDCG@10 | slope | covered | found | detectable | gap | covered | found | detectable | fails |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for per_passage, clustered, size, known, row in found:
        slope = f"{known.slope:+.4f} | {_share(row['slope covered'])} | {_share(row['slope found'])} | {row['slope detectable']:.3f}"
        gap = f"{known.gap:+.4f} | {_share(row['gap covered'])} | {_share(row['gap found'])} | {row['gap detectable']:.3f} | {_share(row['gap fails'])}"
        lines.append(f"| {_way(per_passage, clustered)} | {size:g} | {known.mean:.3f} | {slope} | {gap} |")
    lines += [
        "",
        "## PSI",
        "",
        "True: PSI of the means without noise, of the buckets that counted. Seen, by chance, debiased: means over the audits. Low and high: the mean bounds of the debiased PSI's "
        "interval. Too high: share of lower bounds above the true PSI. None: share of debiased PSIs that are 0. Found: share with p < 0.05, by PSI and by the rank correlations. "
        "The true rank correlations are −1 wherever there is a preference.",
        "",
        "| queries | size | true | seen | by chance | debiased | low | high | covered | too high | none | found | Spearman | found | Kendall | found |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for per_passage, clustered, size, _, row in found:
        psi = " | ".join(f"{row[name]:.3f}" for name in ("true psi", "psi", "null_mean", *DEBIASED))
        shares = " | ".join(
            _share(row[name]) for name in ("psi_debiased covered", "psi_debiased_low above", "psi none", "psi found")
        )
        ranks = " | ".join(f"{row[name]:+.2f} | {_share(row[f'{name} found'])}" for name in ("spearman", "kendall"))
        lines.append(f"| {_way(per_passage, clustered)} | {size:g} | {psi} | {shares} | {ranks} |")
    return [*lines, ""]


def planted_collection(queries: int) -> list[tuple[float, Truth, dict[str, float]]]:
    """One audit of a real planted collection at each size, its texts rotated, against the truth by arrays."""
    with tempfile.TemporaryDirectory() as folder:
        settings = PlantedSettings(queries=queries, passages=8 * queries, validation_share=0, test_share=1)
        planted = collected(write_planted(Path(folder) / "planted", settings), "test", draws=DRAWS)
    found = []
    for size in SIZES:
        known = truth(size, CHUNK, 1)
        one = audit(planted, size)
        found.append((size, known, {**one.buckets.figures.to_rows(), **_bounds("gap", one.gap.change)}))
    return found


def collection_table(found: Sequence[tuple[float, Truth, dict[str, float]]], queries: int) -> list[str]:
    """The real collection beside the arrays."""
    lines = [
        "## A real planted collection",
        "",
        f"`import planted` with {queries:,} queries, {8 * queries:,} passages; the places of the words are read from its texts and from `positions.rotate`, and the scorer's noise is keyed by id. "
        "Its one audit a size, beside the truth by arrays; the sizes share their noise, so they stray from it together.",
        "",
        "| size | slope | interval | by arrays | gap | interval | by arrays | PSI | by chance | p |",
        "|---:|---:|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for size, known, row in found:
        bounds = {name: f"{row[f'{name}_low']:+.3f} to {row[f'{name}_high']:+.3f}" for name in ("slope", "gap")}
        slope = f"{row['slope']:+.4f} | {bounds['slope']} | {known.slope:+.4f}"
        gap = f"{row['gap']:+.4f} | {bounds['gap']} | {known.gap:+.4f}"
        lines.append(f"| {size:g} | {slope} | {gap} | {row['psi']:.3f} | {row['null_mean']:.3f} | {row['p']:.3f} |")
    return [*lines, ""]


def _bounds(name: str, found: Estimate) -> dict[str, Any]:
    assert found.interval is not None
    return {name: found.value, f"{name}_low": found.interval.low, f"{name}_high": found.interval.high}


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _way(per_passage: int, clustered: bool) -> str:
    return "one a passage" if per_passage == 1 else f"{per_passage} a passage{'' if clustered else ', as if alone'}"


if __name__ == "__main__":
    main()
