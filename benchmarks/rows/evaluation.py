"""Evaluation: measures of runs that are in memory, and reading runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness.agreement import named_numbers
from harness.records import Inputs, Peer, Row, Settings, Side

WHOLE = ("nDCG@10", "RR", "R@100", "AP", "P@10")
TOP = ("nDCG@10", "R@10", "P@10")
PEER = "peers.evaluation"


def inputs(folder: Path, quick: bool) -> Settings:
    """The runs, their judgements and measures of whole rankings."""
    return _inputs(folder, quick, WHOLE)


def top(folder: Path, quick: bool) -> Settings:
    """The same with measures of the first ten alone."""
    return _inputs(folder, quick, TOP)


def _inputs(folder: Path, quick: bool, measures: Sequence[str]) -> Settings:
    """50 runs of 50 queries to rank 1,000 and their judgements, invented; a quarter of the judged
    passages is in no run.
    """
    place, runs = folder / "runs", 5 if quick else 50
    if not (place / "qrels.txt").exists():
        _write_runs(place, runs, queries=50, depth=1000)
    return {"runs": str(place), "measures": list(measures)}


def _write_runs(place: Path, runs: int, queries: int, depth: int) -> None:
    place.mkdir(exist_ok=True)
    draw = np.random.default_rng(1)
    for run in range(runs):
        with open(place / f"{run:02}.run", "w", encoding="utf-8") as lines:
            for query in range(queries):
                scores = np.sort(draw.normal(10, 3, depth))[::-1]
                passages = draw.permutation(3 * depth)[:depth]
                for rank, (passage, score) in enumerate(zip(passages, scores, strict=True), 1):
                    lines.write(f"{query} Q0 d{query}-{passage} {rank} {score:.6f} run{run}\n")
    with open(place / ".qrels", "w", encoding="utf-8") as lines:
        for query in range(queries):
            for passage in draw.permutation(4 * depth)[:200]:
                lines.write(f"{query} 0 d{query}-{passage} {int(draw.integers(0, 4))}\n")
    (place / ".qrels").rename(place / "qrels.txt")


class Reading:
    """``Run.from_file`` on every file."""

    packages = ("positionbias", "numpy", "pyarrow")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.files = sorted(Path(settings["runs"]).glob("*.run"))
        self.runs: list[Any] = []

    def run(self) -> None:
        from positionbias.core.run import Run

        self.runs = [Run.from_file(path) for path in self.files]

    def proof(self) -> dict[str, float]:
        """The sum of each run's scores by query."""
        named = zip(self.files, self.runs, strict=True)
        return {
            f"{path.stem} {r.query_id}": float(sum(map(float, r.scores)))
            for path, run in named
            for r in run.rankings()
        }


class Measuring(Reading):
    """``evaluation.measures.per_query`` on runs that are in memory."""

    packages = (*Reading.packages, "ir_measures", "pytrec_eval-terrier")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        from positionbias.core.qrels import Qrels

        super().__init__(settings)
        super().run()
        self.measures = settings["measures"]
        self.qrels = Qrels.from_file(Path(settings["runs"]) / "qrels.txt")
        self.values: list[dict[str, dict[str, float]]] = []

    def run(self) -> None:
        from positionbias.evaluation.measures import per_query

        self.values = [per_query(run, self.qrels, self.measures) for run in self.runs]

    def proof(self) -> dict[str, float]:
        """Every value, by run, measure and query."""
        named = zip(self.files, self.values, strict=True)
        return {
            f"{path.stem} {m} {q}": v
            for path, of in named
            for m, found in of.items()
            for q, v in found.items()
        }


def measuring(name: str, measures: str, given: Inputs) -> Row:
    return Row(
        name=name,
        work=f"{measures} of 50 runs × 50 queries × 1,000, by query",
        ours=Side("rows.evaluation:Measuring"),
        peers=(
            Peer("ir_measures", "evaluation", Side(f"{PEER}:IrMeasures"), goal=1.0),
            Peer("pytrec_eval", "evaluation", Side(f"{PEER}:PytrecEval"), goal=1.0),
        ),
        inputs=given,
        compare=named_numbers,
        bound=1e-12,
    )


ROWS = (
    measuring("evaluate", "five measures", inputs),
    measuring("evaluate_top", "three measures of the first ten", top),
    Row(
        name="read_runs",
        work="reading 50 runs × 50 queries × 1,000",
        ours=Side("rows.evaluation:Reading"),
        peers=(
            Peer("ir_measures", "evaluation", Side(f"{PEER}:IrReading"), goal=1.0),
            Peer("a plain loop into dicts", "plain", Side(f"{PEER}:LoopReading"), goal=1.0),
        ),
        inputs=inputs,
        compare=named_numbers,
        bound=0.01,  # our scores are float32, and sums of 1,000
    ),
)
