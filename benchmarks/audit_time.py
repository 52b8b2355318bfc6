"""What an audit of a bi-encoder takes: every distinct passage is encoded once as it is and once for each rotation.

    posbias import squad $POSBIAS_DATA/squad --out squad
    posbias retrieve squad --split test --depth 30 --out squad.run
    python benchmarks/audit_time.py squad --candidates squad.run      # writes benchmarks/results/audit_time_HARDWARE_DATE.md

The audit is the one of ``posbias audit``, without the moved sentence and the thirds, which have texts of their own. What is encoded is counted at the model.
The peer is the same model's scores of the same pairs without rotation, by the re-ranker alone (``posbias rerank``): five times that is the floor.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from measuring import hardware, result_place

from positionbias.audit.audit import audit, make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core.collection import find_collection
from positionbias.core.run import read_run
from positionbias.models.checkpoint import load_checkpoint


class Counted:
    """A bi-encoder that counts what it encodes."""

    def __init__(self, model: Any) -> None:
        self._model, self.encoded = model, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def encode_passages(self, passages: Sequence[Any]) -> Any:
        self.encoded += len(passages)
        return self._model.encode_passages(passages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("--candidates", required=True)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--split", default="test")
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    collection = find_collection(given.collection)
    settings = AuditSettings(depth=given.depth, draws=given.draws, needles=0, segments=0)
    checkpoint = load_checkpoint(given.model)
    model = Counted(checkpoint.model)
    task = make_task(collection, given.split, read_run(given.candidates), settings)
    system = System(checkpoint.name, model=model)  # type: ignore[arg-type]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    load = os.getloadavg()[0]
    began, worked = time.perf_counter(), time.process_time()
    system.ranked(task)
    once, once_worked = time.perf_counter() - began, time.process_time() - worked
    alone, model.encoded = model.encoded, 0
    began, worked = time.perf_counter(), time.process_time()
    results = audit(task, [system], settings)
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    distinct = len(task.candidates.passage_ids)
    gap = next(result for result in results if result.measure == "rotation gap")
    rows = [
        ("queries × candidates × versions", f"{len(task.query_ids):,} × {given.depth} × {1 + given.draws}"),
        ("distinct passages", f"{distinct:,}"),
        (
            "passages encoded",
            f"{model.encoded:,}, {model.encoded / distinct / (1 + given.draws):.3f} for each (passage, version)",
        ),
        ("audit, s on the clock, of the processors", f"{seconds:,.0f}, {worked:,.0f}"),
        (
            "re-ranking once, the same",
            f"{once:,.0f}, {once_worked:,.0f} ({alone:,} passages); × {1 + given.draws} = {once * (1 + given.draws):,.0f}, "
            f"{once_worked * (1 + given.draws):,.0f}",
        ),
        ("pairs scored a second", f"{task.candidates.pairs * (1 + given.draws) / seconds:,.0f}"),
        ("peak memory of the process, GB", f"{peak / 1e6:.2f}, of which {before / 1e6:.2f} before the first passage"),
        (
            "rotation gap, nDCG@10",
            f"{gap.value:+.4f} [{gap.interval.low:+.4f}, {gap.interval.high:+.4f}]" if gap.interval else "–",
        ),
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "numpy", "positionbias"))
    lines = [
        "# What an audit of a bi-encoder takes",
        "",
        f"{hardware()}; threads: {given.threads}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}. "
        f"Load average at the start: {load:.1f}.",
        "",
        f"    python benchmarks/audit_time.py {collection.name} --candidates {Path(given.candidates).name} --model {given.model} --depth {given.depth} "
        f"--draws {given.draws} --threads {given.threads}",
        "",
        f"{collection.name}: {len(collection):,} passages. Measures by position (permutations, intervals) are in the audit's time.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in rows),
    ]
    text = "\n".join(lines) + "\n"
    result_place("audit_time").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
