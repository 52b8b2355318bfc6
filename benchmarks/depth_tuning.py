"""Tuning the re-ranking depth at MS MARCO's size: 6,980 validation queries, 1,000 candidates each, every depth from 1 to 1,000.

    python benchmarks/depth_tuning.py            # writes benchmarks/results/depth_tuning_HARDWARE_DATE.md

Candidates, scores and judgements are invented: passages drawn from 8,841,823, one relevant a query, at a first-stage rank that falls off
as 1 / rank, and a model that scores it above the others more often than not. The peer is what one would do with ir_measures: write
the run of a depth and measure it. That takes too long for every depth, so it does a few, and there both must say the same.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Iterator
from datetime import date
from importlib.metadata import version

import numpy as np
from measuring import hardware, result_place

from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.depth import apply_depth, tune_depth
from positionbias.evaluation.measures import per_query

PASSAGES = 8_841_823
SAMPLE = (1, 10, 100, 1_000)
TOLERANCE = 1e-12


def invented(queries: int, depth: int) -> tuple[Run, Run, list[Qrel]]:
    """First-stage candidates, the model's scores of them, and one judgement a query."""
    found: list[tuple[list[str], int]] = []
    qrels = []
    for number in range(queries):
        random = generator(1, "benchmark depths", number)
        passage_ids = [str(passage) for passage in random.choice(PASSAGES, depth, replace=False)]
        place = int(depth ** random.random()) - 1
        qrels.append(Qrel(str(number), passage_ids[place], 1))
        found.append((passage_ids, place))

    def scored() -> Iterator[tuple[str, list[str], np.ndarray]]:
        for number, (passage_ids, place) in enumerate(found):
            scores = generator(2, "benchmark depths", number).normal(size=depth)
            scores[place] += 2.5
            yield str(number), passage_ids, scores

    first = Run("first stage", ((str(n), passage_ids, np.arange(depth, 0, -1)) for n, (passage_ids, _) in enumerate(found)))
    return first, Run("model", scored()), qrels


def allocated(first: Run, model: Run, qrels: list[Qrel], depth: int) -> int:
    """Bytes that tuning allocates at its peak, beyond what there was; in a pass of its own, as watching takes time."""
    tracemalloc.start()
    tune_depth(first, model, qrels, range(1, depth + 1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--depth", type=int, default=1_000, help="candidates a query")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    first, model, qrels = invented(given.queries, given.depth)
    clocks, processors = [], []
    for _ in range(given.repeats):
        began, used = time.perf_counter(), time.process_time()
        choice = tune_depth(first, model, qrels, range(1, given.depth + 1))
        clocks.append(time.perf_counter() - began)
        processors.append(time.process_time() - used)
    beyond = allocated(first, model, qrels, given.depth)
    lines = [
        "| depths | way | s | processor, s | s a depth |",
        "|---:|---|---:|---:|---:|",
        f"| {given.depth:,} | one pass over all | {np.median(clocks):.2f} | {np.median(processors):.2f} | {np.median(clocks) / given.depth:.4f} |",
    ]
    for depth in (depth for depth in SAMPLE if depth <= given.depth):
        began, used = time.perf_counter(), time.process_time()
        values = per_query(apply_depth(first, model, depth), qrels, ["nDCG@10"])["nDCG@10"]
        clock, processor = time.perf_counter() - began, time.process_time() - used
        theirs = sum(values.values()) / len(values)
        if abs(theirs - choice.curve[depth]) > TOLERANCE:
            raise SystemExit(f"depth {depth}: ours {choice.curve[depth]}, by ir_measures {theirs}")
        lines.append(f"| depth {depth:,} alone | its run by ir_measures | {clock:.2f} | {processor:.2f} | {clock:.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "ir_measures", "pytrec-eval-terrier", "positionbias"))
    text = [
        "# Tuning the re-ranking depth over every depth",
        "",
        f"{hardware()}; one thread; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/depth_tuning.py --queries {given.queries} --depth {given.depth} --repeats {given.repeats}",
        "",
        f"{given.queries:,} queries of {given.depth:,} candidates ({first.pairs:,} pairs, {len(first.passage_ids):,} distinct passages), all "
        f"invented; the two runs are in memory. Best depth {choice.depth}, nDCG@10 {choice.value:.4f}; {choice.curve[1]:.4f} at depth 1, "
        f"{choice.curve[given.depth]:.4f} at {given.depth:,}. Median of {given.repeats}; at its peak it holds {beyond / 1e6:,.0f} MB "
        "beyond the runs: a dictionary of the distinct passages while the two runs are matched, then one block of queries. "
        f"At the depths that ir_measures did too, both means agree to {TOLERANCE:.0e}. Load average {load:.1f} at the start.",
        "",
        *lines,
        "",
    ]
    place = result_place("depth_tuning")
    place.write_text("\n".join(text), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
