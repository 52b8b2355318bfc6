"""1,000 drawn pools over the 126 runs of TREC-COVID's fifth round, RR and nDCG@10, against one pytrec_eval evaluator a pool.

    python benchmarks/pool_speed.py --data FOLDER        # writes benchmarks/results/pool_speed_HARDWARE_DATE.md

FOLDER holds runs/, systems.tsv and qrels.round5.txt. Half of the pools are drawn from each kind. Ours is ``posbias pool reliability`` as a
command, with reading, both orders, changes, intervals and what is distinguished; and, inside one process, the scores alone. The peer reads the
runs once, keeps them parsed, and for every pool builds one evaluator and scores its test runs with it; it does a sample of the pools, and its
time is scaled to all. On these pools both must say the same of every test run and query.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from measuring import hardware, measured, result_place

from positionbias.core.qrels import read_qrels
from positionbias.core.run import read_run
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.pools import draw_pools, pool_kinds
from positionbias.pooling.reliability import reliability
from positionbias.pooling.reliability_results import reliability_results
from positionbias.pooling.scores import pool_measures, score_pools
from positionbias.pooling.settings import PoolSettings
from positionbias.pooling.systems import find_runs, read_runs, read_systems

MEASURES = {"RR": "recip_rank", "nDCG@10": "ndcg_cut_10"}
TOLERANCE = 1e-6
BLOCK = 20  # pools that are scored together


def read(data: Path) -> JudgedRuns:
    found = find_runs(data / "runs", read_systems(data / "systems.tsv"), table=data / "systems.tsv")
    return judge_runs(read_runs(found.files), read_qrels(data / "qrels.round5.txt"))


def ours(data: Path, pools: int) -> dict[str, Any]:
    """The scores of every run under every pool, and nothing else; and with all that is made of them, beside reading."""
    runs = read(data)
    measures = pool_measures(list(MEASURES))
    clock, processor = time.perf_counter(), time.process_time()
    for kind in pool_kinds(runs.systems):
        for start in range(0, pools // 2, BLOCK):
            drawn = draw_pools(runs, kind, range(start, min(start + BLOCK, pools // 2)), PoolSettings())
            for measure in measures:
                score_pools(runs, drawn.judged, measure)
    found = {"seconds": time.perf_counter() - clock, "processor": time.process_time() - processor}
    reliability_results(reliability(runs, measures, PoolSettings(pools=2)), runs, collection="")  # scipy is imported
    clock, processor = time.perf_counter(), time.process_time()
    reliability_results(reliability(runs, measures, PoolSettings(pools=pools // 2)), runs, collection="")
    whole = {"whole_seconds": time.perf_counter() - clock, "whole_processor": time.process_time() - processor}
    return found | whole


def peer(data: Path, sample: int) -> dict[str, Any]:
    """One evaluator a pool, over runs that stay parsed; and the largest difference from ours, outside the time."""
    import pytrec_eval

    runs = read(data)
    files = find_runs(data / "runs", runs.systems, table=data / "systems.tsv").files
    parsed = [
        {r.query_id: {p: -float(rank) for rank, p in enumerate(r.passage_ids)} for r in read_run(path).rankings()}
        for path in files.values()
    ]
    qrels = sorted(read_qrels(data / "qrels.round5.txt"), key=lambda q: (q.query_id, -q.grade, q.passage_id))
    measures = pool_measures(list(MEASURES))
    seconds = processor = differ = 0.0
    tested = 0
    for kind in pool_kinds(runs.systems):
        drawn = draw_pools(runs, kind, range(sample // 2), PoolSettings())
        for pool, test in zip(drawn.judged, drawn.test, strict=True):
            began, used = time.perf_counter(), time.process_time()
            judged: dict[str, dict[str, int]] = {}
            for place in np.flatnonzero(pool).tolist():
                judged.setdefault(qrels[place].query_id, {})[qrels[place].passage_id] = qrels[place].grade
            evaluator = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank", "ndcg_cut.10"})
            values = {run: evaluator.evaluate(parsed[run]) for run in np.flatnonzero(test).tolist()}
            seconds, processor = seconds + time.perf_counter() - began, processor + time.process_time() - used
            tested += len(values)
            for measure in measures:
                found = score_pools(runs, pool[None], measure)[0]
                for run, by_query in values.items():
                    theirs = [by_query.get(q, {}).get(MEASURES[measure.name], 0.0) for q in runs.query_ids]
                    differ = max(differ, float(np.abs(found[:, run] - theirs).max()))
    if differ > TOLERANCE:
        raise SystemExit(f"ours and pytrec_eval's differ by {differ}")
    pools = sample // 2 * 2
    return {"seconds": seconds, "processor": processor, "pools": pools, "differ": differ, "tested": tested / pools}


def report(given: argparse.Namespace, found: dict[str, Any], load: float) -> str:
    scale = given.pools / found["peer"]["pools"]
    rows: list[tuple[str, float, float]] = [
        ("pytrec_eval, one evaluator a pool, test runs only (scaled)", found["peer"]["seconds"] * scale, found["peer"]["processor"] * scale),
        ("ours, scores of all runs", found["ours"]["seconds"], found["ours"]["processor"]),
        ("ours, and orders, changes, judged shares, pairs distinguished", found["ours"]["whole_seconds"], found["ours"]["whole_processor"]),
        ("`posbias pool reliability`, start and reading too", found["command"].seconds, found["command"].processor),
    ]  # fmt: skip
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pytrec-eval-terrier", "positionbias"))
    text = [
        f"# {given.pools:,} pools over 126 runs",
        "",
        f"{hardware()}; one thread; Python {platform.python_version()}, {versions}; {date.today().isoformat()}.",
        "",
        f"    python benchmarks/pool_speed.py --pools {given.pools} --sample {given.sample}",
        "",
        "TREC-COVID round 5: 126 runs of 50 queries to rank 100, 23,151 judgements; depth-10 pools, half of them from neural runs; RR and "
        f"nDCG@10. The peer did {found['peer']['pools']} of the pools ({found['peer']['tested']:.0f} test runs each in the mean; "
        f"{found['peer']['seconds']:.1f} s), and its time is scaled; neither reading nor anything but scores is in it. On these pools the "
        f"largest difference of a run's value on a query is {found['peer']['differ']:.0e}. The command at its peak holds "
        f"{found['command'].peak / 2**20:,.0f} MiB. Others shared the machine (load average {load:.1f} at the start): the processor's seconds "
        "are what it takes.",
        "",
        "| way | s | processor, s | processor, ms a pool | times the peer's speed |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, clock, processor in rows:
        text.append(
            f"| {name} | {clock:,.1f} | {processor:,.1f} | {1000 * processor / given.pools:,.2f} | {rows[0][2] / processor:,.0f} × |"
        )
    return "\n".join(text) + "\n"


def run_step(given: argparse.Namespace, step: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--data", str(given.data), "--step", step]
    return json.loads(measured([*command, "--pools", str(given.pools), "--sample", str(given.sample)]).output)


def main(arguments: Sequence[str] | None = None) -> None:
    import os

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of TREC-COVID's fifth round")
    parser.add_argument("--pools", type=int, default=1_000, help="in all, half of them of each of the two kinds")
    parser.add_argument("--sample", type=int, default=20, help="pools that the peer does")
    parser.add_argument("--out", type=Path, help="a table here, and not in benchmarks/results")
    parser.add_argument("--step", choices=["ours", "peer"], help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.step:
        print(json.dumps(ours(given.data, given.pools) if given.step == "ours" else peer(given.data, given.sample)))
        return
    load = os.getloadavg()[0]
    data = given.data
    command = [sys.executable, "-m", "positionbias", "pool", "reliability", str(data / "runs"), str(data / "qrels.round5.txt")]
    found: dict[str, Any] = {
        "command": measured([*command, "--systems", str(data / "systems.tsv"), "--pools", str(given.pools // 2), "--json"]),
        "ours": run_step(given, "ours"),
        "peer": run_step(given, "peer"),
    }
    table = report(given, found, load)
    (given.out or result_place("pool_speed")).write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
