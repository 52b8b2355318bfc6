"""TK's training step beside that of another commit: processor seconds, share of the machine's best product, and memory.

    posbias import squad --train train-v1.1.json --test dev-v1.1.json --validation-queries 3000 --out squad
    posbias retrieve squad --split validation --depth 30 --out validation.run
    git archive COMMIT | tar -x -C BEFORE
    python benchmarks/tk_before.py squad --candidates validation.run --before BEFORE    # writes benchmarks/results/tk_before_….md

Two processes, one for each source tree, take turns on the same batches from the same weights (A B A B …): forward, backward and update of 32
questions, each with its passage and a candidate. Between two steps a third one times oneDNN's product of (8192 × 1024) by (1024 × 1024), the
limit. Only one of them works at a time. Operations are those of the layers over the words there are, padding left out: each
product once forward and twice backward. Peaks of memory are whole processes', over all steps.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

PAIRS = 32
WARM = 2  # steps that are not counted: first allocations, products that oneDNN prepares


def serve(kind: str, folder: Path, threads: int, half: bool) -> None:
    """Answer each line, a batch's number, by what its step took."""
    import torch

    torch.set_num_threads(threads)
    work = _limit(half) if kind == "limit" else _steps(folder, half)
    print("ready", flush=True)
    for line in sys.stdin:
        used, clock = time.process_time(), time.perf_counter()
        loss = work(int(line))
        taken = {"processor": time.process_time() - used, "clock": time.perf_counter() - clock, "loss": loss}
        print(json.dumps(taken | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


def _limit(half: bool) -> Any:
    import torch

    dtype = torch.bfloat16 if half else torch.float32
    rows, weight = torch.randn(8192, 1024).to(dtype), torch.randn(1024, 1024).to(dtype)

    def work(number: int) -> float:
        torch.ops.mkldnn._linear_pointwise(rows, weight, None, "none", [], "")
        return 0.0

    return work


def _steps(folder: Path, half: bool) -> Any:
    import torch

    from positionbias.models.shapes import TKConfig
    from positionbias.models.tk import TK
    from positionbias.text.vocabulary import Vocabulary
    from positionbias.training.config import TrainConfig
    from positionbias.training.losses import pairwise_hinge
    from positionbias.training.optimizers import make_optimizers

    made = torch.load(folder / "batches.pt", weights_only=True)
    torch.manual_seed(1)
    model = TK(TKConfig(), Vocabulary([f"word{number}" for number in range(made["words"])]))
    optimizers = make_optimizers(model, TrainConfig(learning_rate=1e-4))

    def work(number: int) -> float:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            scores = model(**made["batches"][number]).float().view(2, -1).t()
        loss = pairwise_hinge(scores).mean()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return float(loss.detach())

    return work


def write_batches(given: argparse.Namespace, folder: Path) -> list[float]:
    """Write the batches' word numbers; return the operations of each, in 10⁹."""
    import numpy as np
    import torch

    from positionbias.core.collection import find_collection
    from positionbias.core.run import read_run
    from positionbias.models.shapes import TKConfig
    from positionbias.models.tk import TK
    from positionbias.text.vocabulary import Vocabulary, count_words

    collection, run, rng = find_collection(str(given.collection)), read_run(given.candidates), np.random.default_rng(1)
    vocabulary = Vocabulary.build(count_words(passage.text for passage in collection.passages()))
    reader, config = TK(TKConfig(), vocabulary), TKConfig()
    relevant = {qrel.query_id: qrel.passage_id for qrel in collection.qrels(given.split)}
    queries = [query for query in collection.queries(given.split) if query.query_id in run and query.query_id in relevant]
    made, operations = [], []
    for _ in range(WARM + given.steps):
        part = [queries[number] for number in rng.choice(len(queries), PAIRS, replace=False)]
        others = [[p for p in run[query.query_id].passage_ids if p != relevant[query.query_id]] for query in part]
        ids = [relevant[query.query_id] for query in part] + [rest[rng.integers(len(rest))] for rest in others]
        inputs = reader.inputs(reader.read_queries([q.text for q in part]), reader.read_passages(collection.texts(ids)))
        made.append(inputs)
        lengths = torch.cat([(rows != 0).sum(dim=1) for rows in inputs.values()]).double()
        width, dimension = config.heads * config.head_size, config.dimension
        rows, pairs = float(lengths.sum()), float(lengths.square().sum())
        one = 2 * (rows * dimension * (4 * width + 2 * config.feed_forward) + 2 * pairs * width)
        operations.append(3 * config.layers * one / 1e9)
    torch.save({"batches": made, "words": len(vocabulary)}, folder / "batches.pt")
    return operations


class Side:
    """A process that works when it is asked."""

    def __init__(self, kind: str, tree: Path, folder: Path, given: argparse.Namespace, half: bool) -> None:
        command = [sys.executable, __file__, "--serve", kind, str(folder), "--threads", str(given.threads)]
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        self.process = subprocess.Popen(
            [*command, *["--half"] * half], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.taken: list[dict[str, float]] = []
        assert self.process.stdout is not None
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{kind}: ended before its first step")

    def turn(self, number: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(number, file=self.process.stdin, flush=True)
        self.taken.append(json.loads(self.process.stdout.readline()))

    def medians(self, name: str) -> float:
        return statistics.median(one[name] for one in self.taken[WARM:])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def rows_of(given: argparse.Namespace, folder: Path, operations: list[float], half: bool) -> list[str]:
    trees = {"before": given.before, "now": Path(__file__).parent.parent, "limit": Path(__file__).parent.parent}
    sides = {kind: Side(kind, tree, folder, given, half) for kind, tree in trees.items()}
    for number in range(WARM + given.steps):
        for kind in ("before", "limit", "now", "limit"):
            sides[kind].turn(number)
    for side in sides.values():
        side.close()
    rate = 2 * 8192 * 1024 * 1024 / 1e9 / min(one["processor"] for one in sides["limit"].taken)
    lines = []
    for kind in ("before", "now"):
        side = sides[kind]
        ratios = [a["processor"] / b["processor"] for a, b in zip(sides["before"].taken, side.taken, strict=True)][WARM:]
        reached = statistics.median(
            flops / one["processor"] for flops, one in zip(operations[WARM:], side.taken[WARM:], strict=True)
        )
        loss = max(abs(a["loss"] - b["loss"]) for a, b in zip(sides["before"].taken, side.taken, strict=True))
        cells = ["bfloat16" if half else "float32", kind, f"{side.medians('processor'):.2f}", f"{side.medians('clock'):.2f}"]
        cells += [f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", f"{reached:.0f}"]
        cells += [f"{reached / rate:.0%} of {rate:.0f}", f"{max(one['peak'] for one in side.taken):,.0f}", f"{loss:.0e}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path, nargs="?")
    parser.add_argument("--candidates", type=Path, help="a run of the split's queries")
    parser.add_argument("--before", type=Path, help="a source tree of the other commit")
    parser.add_argument("--split", default="validation")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "FOLDER"), help="how it calls itself")
    parser.add_argument("--half", action="store_true", help="how it calls itself")
    given = parser.parse_args()
    if given.serve:
        serve(given.serve[0], Path(given.serve[1]), given.threads, given.half)
        return
    from measuring import hardware, result_place

    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operations = write_batches(given, folder)
        lines = [line for half in (False, True) for line in rows_of(given, folder, operations, half)]
    headings = "| precision | commit | processor s/step | s/step | before ÷ this | GFLOP/s | share of the limit | peak MiB | loss apart |"
    head = [
        "# TK's training step before and now",
        "",
        f"{hardware()}; threads: {given.threads}; torch {version('torch')}; {date.today().isoformat()}; load {load:.1f} at the start, "
        f"{os.getloadavg()[0]:.1f} at the end. Medians of {given.steps} steps of {PAIRS} pairs.",
        "",
        headings,
        "|---|---|" + "---:|" * 7,
        *lines,
        "",
    ]
    place = result_place("tk_before")
    place.write_text("\n".join(head), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
