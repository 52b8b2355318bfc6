"""Memory of training BERT_CAT or BERT_DOT on a CPU over batches of many lengths, with oneDNN's caches of prepared products as they come and as ours bounds them.

    python benchmarks/training_memory.py --kind bert_cat     # writes benchmarks/results/training_memory_HARDWARE_DATE.md

Sides take turns, each in a process of its own, with the same batches of invented word pieces: MiniLM (extra ``minilm``), pairs of passages of 30 to 450 pieces, one
thread, float32, without dropout. "largest" repeats the largest batch: the memory that a training needs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measuring import hardware, result_place

CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
SIDES = {"as they come": "1024", "ours": None, "largest": None}
LONGEST = (60, 120, 200, 300, 450)  # word pieces of a batch's longest passages, drawn for each


def one_side(name: str, given: argparse.Namespace) -> dict[str, Any]:
    trainer = _trainer(given.kind)
    draws = random.Random(5)
    residents, seconds, faults = [], 0.0, 0
    for step in range(3 if name == "largest" else given.steps):
        batch = _batch(trainer.model, step, draws, given.pairs, LONGEST[-1:] if name == "largest" else LONGEST)
        before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        trainer.step([batch])
        seconds += time.process_time() - before[0]
        faults += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before[1]
        residents.append(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps = len(residents)
    return {
        "resident": residents,
        "peak": peak,
        "processor": seconds / steps,
        "faults": faults / steps,
        "load": os.getloadavg()[0],
    }


def _trainer(kind: str) -> Any:
    import torch
    from accelerate import Accelerator

    from positionbias.models.bert_cat import BertCat
    from positionbias.models.bert_dot import BertDot
    from positionbias.models.encoder import load_encoder
    from positionbias.models.shapes import BertCatConfig, BertDotConfig
    from positionbias.training.config import TrainConfig
    from positionbias.training.devices import Devices
    from positionbias.training.trainer import Trainer

    torch.set_num_threads(1)
    torch.manual_seed(1)
    encoder = load_encoder("minilm")
    model = BertCat(BertCatConfig(), encoder) if kind == "bert_cat" else BertDot(BertDotConfig(), encoder)
    config = TrainConfig(dropout=False, loss="hinge").of_kind(kind)
    return Trainer(model, config, Devices(Accelerator(cpu=True), "float32"), Path("unused"), steps=10**6)


def _batch(model: Any, number: int, draws: random.Random, pairs: int, longest: tuple[int, ...]) -> Any:
    from positionbias.training.batches import Batch

    most = draws.choice(longest)

    def rows(count: int, least: int, most: int) -> list[list[int]]:
        return [[draws.randrange(2000, 20000) for _ in range(draws.randint(least, most))] for _ in range(count)]

    queries, passages = rows(pairs, 5, 20), rows(2 * pairs, most // 2, most)
    groups: list[Any] = [None] * pairs
    return Batch(0, number, groups, queries, passages, model.inputs(queries, passages), 0)


def measure(given: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SIDES}
    for turn in range(given.turns):
        for name, capacity in SIDES.items():
            if turn and name == "largest":
                continue
            environment = {key: value for key, value in os.environ.items() if key not in CACHES}
            environment |= {} if capacity is None else dict.fromkeys(CACHES, capacity)
            options = ["--kind", given.kind, "--steps", str(given.steps), "--pairs", str(given.pairs)]
            done = subprocess.run(
                [sys.executable, __file__, "--side", name, *options],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            found[name].append(json.loads(done.stdout.splitlines()[-1]))
            told: dict[str, Any] = {
                field: round(found[name][-1][field], 3) for field in ("peak", "processor", "faults", "load")
            }
            told["resident"] = [round(after) for after in found[name][-1]["resident"][9::10]]
            print(name, told, file=sys.stderr, flush=True)
    return found


def report(found: dict[str, list[dict[str, Any]]], given: argparse.Namespace) -> str:
    marks = [mark for mark in (10, 25, 50, 100, 200, 300) if mark <= given.steps]
    lines = [
        f"# Memory of training {given.kind}", "",
        f"{hardware()}; torch {version('torch')}; {date.today()}",
        f"Command: `python benchmarks/training_memory.py --kind {given.kind} --steps {given.steps} --pairs {given.pairs} --turns {given.turns}`; "
        f"{given.pairs} pairs a step, float32, one thread; a machine shared with other work", "",
        f"| caches | turn | resident MiB after {', '.join(map(str, marks))} steps | peak MiB | peak, of the largest batch's | processor s a step "
        "| page faults a step | load |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    need = found["largest"][0]["peak"]
    for name, turns in found.items():
        for number, turn in enumerate(turns, 1):
            after = ", ".join(f"{turn['resident'][mark - 1]:,.0f}" for mark in marks if mark <= len(turn["resident"]))
            lines.append(
                f"| {name} | {number} | {after} | {turn['peak']:,.0f} | {turn['peak'] / need:.2f} | {turn['processor']:.3f} "
                f"| {turn['faults']:,.0f} | {turn['load']:.1f} |"
            )
    pairs = zip(found["ours"], found["as they come"], strict=True)
    ratios = [ours["processor"] / theirs["processor"] for ours, theirs in pairs]
    told = ", ".join(f"{ratio:.3f}" for ratio in ratios)
    lines += ["", f"Processor time of ours over theirs, by turn: {told}; median {statistics.median(ratios):.3f}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=["bert_cat", "bert_dot"], default="bert_cat")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(one_side(given.side, given)))
        return
    found = measure(given)
    place = result_place(f"training_memory_{given.kind}")
    place.write_text(report(found, given), encoding="utf-8")
    print(place)


if __name__ == "__main__":
    main()
