"""Measures of many runs, by pytrec_eval, ir_measures and ours, given the same input in each library's own form; and reading the runs.

    python benchmarks/evaluation_speed.py     # writes benchmarks/results/evaluation_speed_HARDWARE_DATE.md

Invented runs: 50 of 50 queries, 2 of 2,000 queries, each of 1,000 passages. The three take turns, in one process; seconds are the processor's, and the least of
``--turns`` counts. Ids are drawn by a generator with a fixed seed, so any machine measures the same runs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import ir_measures
import numpy as np
import pytrec_eval
from measuring import hardware, result_place

from positionbias.core.manifest import package_versions
from positionbias.core.qrels import Qrels
from positionbias.core.run import Run, read_run, write_run
from positionbias.evaluation.measures import Evaluator

CASES = {"50 runs × 50 queries": (50, 50, 100, 1_000_000), "2 runs × 2,000 queries": (2, 2_000, 1, 8_800_000)}
MEASURES: Mapping[str, Sequence[str]] = {
    "to rank 10": ("nDCG@10", "R@10", "P@10"),
    "whole rankings": ("nDCG", "RR", "AP", "R@1000"),
}
TREC = {
    "nDCG@10": "ndcg_cut_10",
    "R@10": "recall_10",
    "P@10": "P_10",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "AP": "map",
    "R@1000": "recall_1000",
}


def invented(runs: int, queries: int, judged: int, corpus: int) -> tuple[Qrels, list[Run]]:
    """Return judgements and runs of 1,000 passages a query, of which some 6 in 10 judged ones are found."""
    rng = np.random.default_rng(1)
    relevant = [rng.choice(corpus, judged, replace=False) for _ in range(queries)]
    grades = {f"{q}": {f"{p:07d}": int(rng.integers(1, 4)) for p in relevant[q].tolist()} for q in range(queries)}

    def rankings() -> Iterator[tuple[str, list[str], np.ndarray]]:
        for query in range(queries):
            found = relevant[query][rng.random(judged) < 0.6]
            passages = np.unique(np.concatenate([found, rng.integers(0, corpus, 1_000)]))[:1_000]
            scores = np.round(rng.random(len(passages)) * 20, 4)
            yield f"{query}", [f"{passage:07d}" for passage in passages.tolist()], scores

    return Qrels(grades), [Run(f"run{number}", rankings()) for number in range(runs)]


def seconds(steps: Mapping[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """Return the least processor seconds of each step; they take turns."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(turns):
        for name, step in steps.items():
            began = time.process_time()
            step()
            taken[name].append(time.process_time() - began)
    return {name: min(found) for name, found in taken.items()}


def measuring_steps(qrels: Qrels, runs: Sequence[Run], names: Sequence[str]) -> dict[str, Callable[[], object]]:
    """Return the three ways to measure all runs."""
    grades, scores = qrels.to_dict(), [run.to_dict() for run in runs]

    def by_pytrec_eval() -> object:
        evaluator = pytrec_eval.RelevanceEvaluator(grades, {TREC[name] for name in names})
        return [evaluator.evaluate(one) for one in scores]

    def by_ir_measures() -> object:
        evaluator = ir_measures.evaluator([ir_measures.parse_measure(name) for name in names], grades)
        return [list(evaluator.iter_calc(one)) for one in scores]

    def by_ours() -> object:
        evaluator = Evaluator(qrels, names)
        return [evaluator.values(run) for run in runs]

    return {"pytrec_eval": by_pytrec_eval, "ir_measures": by_ir_measures, "ours": by_ours}


def reading_steps(runs: Sequence[Run], folder: Path) -> dict[str, Callable[[], object]]:
    paths = [folder / f"{run.name}.run" for run in runs]
    for path, run in zip(paths, runs, strict=True):
        write_run(path, run)

    def by_pytrec_eval() -> None:
        for path in paths:
            with open(path, encoding="utf-8") as lines:
                pytrec_eval.parse_run(lines)

    def by_ir_measures() -> None:
        for path in paths:
            list(ir_measures.read_trec_run(str(path)))

    def by_ours() -> None:
        for path in paths:
            read_run(path)

    return {"pytrec_eval": by_pytrec_eval, "ir_measures": by_ir_measures, "ours": by_ours}


def rows(turns: int) -> Iterator[tuple[str, str, dict[str, float]]]:
    for case, size in CASES.items():
        qrels, runs = invented(*size)
        for label, names in MEASURES.items():
            yield case, f"{label}: {', '.join(names)}", seconds(measuring_steps(qrels, runs, names), turns)
        with tempfile.TemporaryDirectory() as folder:
            yield case, "reading", seconds(reading_steps(runs[:10], Path(folder)), turns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    versions = package_versions("numpy", "pyarrow", "pytrec-eval-terrier", "ir_measures")
    lines = [
        "# Evaluation: processor seconds of three libraries on the same runs",
        "",
        f"{hardware()}; load {load:.1f}; {', '.join(f'{name} {version}' for name, version in versions.items())}; least of {given.turns} turns.",
        "",
        "| runs | work | pytrec_eval, s | ir_measures, s | ours, s | pytrec_eval / ours | ir_measures / ours |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for case, work, taken in rows(given.turns):
        peer, other, own = taken["pytrec_eval"], taken["ir_measures"], taken["ours"]
        lines.append(f"| {case} | {work} | {peer:.2f} | {other:.2f} | {own:.2f} | {peer / own:.1f} | {other / own:.1f} |")
        print(lines[-1], flush=True)
    result_place("evaluation_speed").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
