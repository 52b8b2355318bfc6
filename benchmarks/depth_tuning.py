"""Tuning the re-ranking depth at MS MARCO's size: 6,980 validation queries, 1,000 candidates each, every depth from 1 to 1,000.

    python benchmarks/depth_tuning.py            # writes benchmarks/results/depth_tuning_HARDWARE_DATE.md

Candidates, scores and judgements are invented: passages drawn from 8,841,823, one relevant a query, at a first-stage rank that falls off
as 1 / rank, and a model that scores it above the others more often than not. The peer is what one would do with ir_measures: write
the run of a depth and measure it. That takes too long for all, so it does a few queries at every depth, where both must say the same,
and all queries at one.
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
SAMPLE = 10  # queries that ir_measures does at every depth
TOLERANCE = 1e-12


def invented(queries: int, depth: int) -> tuple[Run, Run, list[Qrel]]:
    """First-stage candidates, the same by the model's scores, and one judgement a query."""
    places: list[int] = []
    qrels = []

    def candidates() -> Iterator[tuple[str, list[str], np.ndarray]]:
        for number in range(queries):
            random = generator(1, "benchmark depths", number)
            passage_ids = [str(passage) for passage in random.choice(PASSAGES, depth, replace=False)]
            places.append(int(depth ** random.random()) - 1)
            qrels.append(Qrel(str(number), passage_ids[places[-1]], 1))
            yield str(number), passage_ids, np.arange(depth, 0, -1)

    first = Run("first stage", candidates())
    scores = {str(n): generator(2, "benchmark depths", n).normal(size=depth) for n in range(queries)}
    for number, place in enumerate(places):
        scores[str(number)][place] += 2.5
    return first, first.rescored("model", scores), qrels


def allocated(first: Run, model: Run, qrels: list[Qrel], depth: int) -> int:
    """Bytes that tuning allocates at its peak, beyond what there was; in a pass of its own, as watching takes time."""
    tracemalloc.start()
    tune_depth(first, model, qrels, range(1, depth + 1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def sampled(first: Run, model: Run, qrels: list[Qrel]) -> tuple[Run, Run, list[Qrel]]:
    """The same for a few queries, spread over all."""
    query_ids = list(first)[:: max(1, len(first) // SAMPLE)][:SAMPLE]
    runs = (Run(run.name, (run[query_id] for query_id in query_ids)) for run in (first, model))
    return *runs, [qrel for qrel in qrels if qrel.query_id in set(query_ids)]  # type: ignore[return-value]


def compared(first: Run, model: Run, qrels: list[Qrel], depth: int) -> float:
    """The largest difference at any depth between ours and the mean that ir_measures gives of the depth's run."""
    curve = tune_depth(first, model, qrels, range(1, depth + 1)).curve
    largest = 0.0
    for n, ours in curve.items():
        values = per_query(apply_depth(first, model, n), qrels, ["nDCG@10"])["nDCG@10"].values()
        largest = max(largest, abs(sum(values) / len(values) - ours))
    if largest > TOLERANCE:
        raise SystemExit(f"ours and ir_measures' differ by {largest}")
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--depth", type=int, default=1_000, help="candidates a query")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    first, model, qrels = invented(given.queries, given.depth)
    rows = []
    for way, run in (("re-ranked in this process", model), ("read from files of their own", Run("model", model.rankings()))):
        clocks, processors = [], []
        for _ in range(given.repeats):
            began, used = time.perf_counter(), time.process_time()
            choice = tune_depth(first, run, qrels, range(1, given.depth + 1))
            clocks.append(time.perf_counter() - began)
            processors.append(time.process_time() - used)
        clock, processor = float(np.median(clocks)), float(np.median(processors))
        rows.append(f"| {given.depth:,} | one pass, {way} | {clock:.2f} | {processor:.2f} | {processor / given.depth:.4f} |")
        print(rows[-1], file=sys.stderr, flush=True)
    model = run  # the costlier of the two
    beyond = allocated(first, model, qrels, given.depth)
    lines = [
        "| depths | way | s | processor, s | processor, s a depth |",
        "|---:|---|---:|---:|---:|",
        *rows,
    ]
    sample = sampled(first, model, qrels)
    began, used = time.perf_counter(), time.process_time()
    differ = compared(*sample, given.depth)
    clock, processor = time.perf_counter() - began, time.process_time() - used
    lines.append(
        f"| {given.depth:,}, of {SAMPLE} queries | a run a depth, by ir_measures | {clock:.2f} | {processor:.2f} | {processor / given.depth:.4f} |"
    )
    print(lines[-1], file=sys.stderr, flush=True)
    began, used = time.perf_counter(), time.process_time()
    per_query(apply_depth(first, model, given.depth), qrels, ["nDCG@10"])
    clock, processor = time.perf_counter() - began, time.process_time() - used
    lines.append(f"| one of the {given.depth:,} | its run by ir_measures | {clock:.2f} | {processor:.2f} | {processor:.1f} |")
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
        "beyond the runs: a dictionary of the distinct passages while runs with passages of their own are matched, then one block of "
        "queries. "
        f"At every depth of {SAMPLE} queries ours and ir_measures' means differ by at most {differ:.0e}. Others shared the machine "
        f"(load average {load:.1f} at the start): the processor's seconds are what it takes.",
        "",
        *lines,
        "",
    ]
    place = result_place("depth_tuning")
    place.write_text("\n".join(text), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
