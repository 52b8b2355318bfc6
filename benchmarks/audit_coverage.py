"""Do the audit's intervals hold the truth, and does it find nothing where there is nothing? On planted queries and a scorer of set preference.

    python benchmarks/audit_coverage.py            # writes benchmarks/results/audit_coverage_HARDWARE_DATE.md

The scorer and the queries are ``planted_scorer``'s. For each size of its preference: the truth from many queries, then repeats of a small audit
each, whose intervals are held against that truth. Once with a query a passage, once with several that share their passage's fate,
where the intervals must take passages together.
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

from positionbias.core.payloads import PositionBuckets
from positionbias.evaluation.buckets import PERCENT_BUCKETS
from positionbias.evaluation.clustered import Estimate, clustered_slope
from positionbias.evaluation.psi import psi_of
from positionbias.evaluation.rank_correlation import kendall, spearman
from positionbias.evaluation.rotation_gap import RotationGap, rotation_gap, stayed
from positionbias.evaluation.sensitivity import bucket_means
from positionbias.planted.generator import PlantedSettings, write_planted

SIZES = (0.0, 0.25, 0.5, 1.0, 2.0)
WAYS = ((1, True), (5, True), (5, False))  # queries a passage, and whether the audit knows
DRAWS = 4
MAX_PSI, MAX_GAP = 0.05, 0.02
CHUNK = 50_000


@dataclass(frozen=True)
class Truth:
    """What the scorer shows on many queries: its slope, gap, control and mean, and the mean of every bucket."""

    slope: float
    gap: float
    control: float
    mean: float
    means: np.ndarray


Found = tuple[int, bool, float, "Truth", dict[str, float]]


@dataclass(frozen=True)
class Audit:
    """One small audit."""

    buckets: PositionBuckets
    gap: RotationGap


def truth(size: float, queries: int, per_passage: int, *, seed: int = 0) -> Truth:
    """The scorer's figures on ``queries`` queries, drawn a chunk at a time. Without a preference every bucket has the same mean."""
    qualities, positions, kept = [], [], []
    for chunk in range(-(-queries // CHUNK)):
        planted = draw(min(CHUNK, queries - chunk * CHUNK), per_passage=per_passage, seed=1_000_000 * (seed + 1) + chunk)
        places = planted.positions[:, :, 0]
        qualities.append(planted.quality(size))
        positions.append(places[0])
        kept.append(stayed(PERCENT_BUCKETS, places[0], places[1:]))
    quality, position, in_place = np.concatenate(qualities, axis=1), np.concatenate(positions), np.concatenate(kept, axis=1)
    changes = quality[1:] - quality[0]
    numbers = PERCENT_BUCKETS.assign(position)
    # no answering sentence starts in a passage's last words: the last buckets are empty here as in the audits
    means = np.bincount(numbers, weights=quality[0], minlength=20) / np.maximum(np.bincount(numbers, minlength=20), 1)
    slope = clustered_slope(position, quality[0], None).value
    assert slope is not None
    mean = float(quality[0].mean())
    return Truth(slope, float(changes.mean()), float(changes[in_place].mean()), mean, means if size else np.full(20, mean))


def audit(planted: Planted, size: float, *, clustered: bool = True) -> Audit:
    """The audit of one set of queries; ``clustered`` False takes them as drawn one by one."""
    quality, places = planted.quality(size), planted.positions[:, :, 0]
    clusters = planted.clusters if clustered else None
    gap = rotation_gap(quality[0], quality[1:], clusters, in_place=stayed(PERCENT_BUCKETS, places[0], places[1:]))
    return Audit(bucket_means(quality[0], places[0], PERCENT_BUCKETS, clusters, seed=1), gap)


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
    figures, change, control = dict(found.buckets.figures), found.gap.change, found.gap.control
    used = np.array([mean is not None for mean in found.buckets.means])
    level = known.means[used]
    middles = PERCENT_BUCKETS.middles[used]
    psi = float(psi_of(level))
    figures |= _bounds("gap", change) | _bounds("control", control)
    true = {"slope": known.slope, "gap": known.gap, "control": known.control, "excess": psi}
    true |= {name: float(of(middles, level[None])[0]) for name, of in (("spearman", spearman), ("kendall", kendall))}
    row: dict[str, float] = {"buckets": int(used.sum()), "true psi": psi}
    row |= {
        name: figures[name]
        for name in ("slope", "gap", "psi", "null_mean", "excess", "excess_low", "excess_high", "spearman", "kendall")
    }
    for name, value in true.items():
        covers = figures[f"{name}_low"] <= value <= figures[f"{name}_high"]
        row[f"{name} covered"] = float("nan") if np.isnan(value) else covers
    row["excess_low above"] = figures["excess_low"] > psi
    row["slope found"], row["gap found"], row["psi found"] = figures["slope_p"] < 0.05, change.p < 0.05, figures["p"] < 0.05
    row["spearman found"], row["kendall found"] = figures["spearman_p"] < 0.05, figures["kendall_p"] < 0.05
    row["psi fails"], row["gap fails"] = figures["excess_low"] > MAX_PSI, change.least > MAX_GAP
    row["slope detectable"], row["gap detectable"] = figures["slope_detectable"], change.detectable
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=1_000, help="of an audit")
    parser.add_argument("--repeats", type=int, default=200, help="audits of each size")
    parser.add_argument("--truth", type=int, default=200_000, help="queries that the truth is taken from")
    parser.add_argument("--collection", type=int, default=4_000, help="queries of the real planted collection; 0 leaves it out")
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
    used = time.process_time() - began
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "positionbias"))
    command = f"python benchmarks/audit_coverage.py --queries {given.queries} --repeats {given.repeats} --truth {given.truth}"
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
        "| queries | size | nDCG@10 | slope | covered | found | detectable | gap | covered | found | detectable | fails | control | covered |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for per_passage, clustered, size, known, row in found:
        slope = f"{known.slope:+.4f} | {_share(row['slope covered'])} | {_share(row['slope found'])} | {row['slope detectable']:.3f}"
        gap = f"{known.gap:+.4f} | {_share(row['gap covered'])} | {_share(row['gap found'])} | {row['gap detectable']:.3f} | {_share(row['gap fails'])}"
        control = f"{known.control:+.4f} | {_share(row['control covered'])}"
        lines.append(f"| {_way(per_passage, clustered)} | {size:g} | {known.mean:.3f} | {slope} | {gap} | {control} |")
    lines += [
        "",
        "## PSI",
        "",
        "True: PSI of the means without noise, of the buckets that counted. Seen, by chance, excess: means over the audits. Low and high: the mean bounds of the interval, which is of the "
        f"true PSI. Too high: share of lower bounds above it. Fails: share of lower bounds above {MAX_PSI}. Found: share with p < 0.05, by PSI and by the rank correlations. "
        "The true rank correlations are −1 wherever there is a preference.",
        "",
        "| queries | size | true | seen | by chance | excess | low | high | covered | too high | fails | found | Spearman | found | Kendall | found |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for per_passage, clustered, size, _, row in found:
        psi = " | ".join(f"{row[name]:.3f}" for name in ("true psi", "psi", "null_mean", "excess", "excess_low", "excess_high"))
        shares = " | ".join(_share(row[name]) for name in ("excess covered", "excess_low above", "psi fails", "psi found"))
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
        found.append((size, known, {**one.buckets.figures, **_bounds("gap", one.gap.change)}))
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
