"""How a training went, as rows: its log, its end, and what it logged late."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.manifest import read_manifest
from positionbias.core.rows import Collected
from positionbias.evaluation.convergence import Finish
from positionbias.models.checkpoint import LOG, read_log
from positionbias.models.remedied import trained_folder

_SERIES = {  # of a log, by name
    "loss": "loss",
    "validation nDCG@10": "ndcg",
    "MATS": "mats",
    "pair accuracy": "pair_accuracy",
    "score margin": "score_margin",
    "gate": "gate",
}
_LATE = ("pair accuracy", "score margin", "loss")  # averaged over the last half of a log
_COUNTS = {  # of a checkpoint's manifest, by statistic
    "steps": "steps",
    "step kept": "best_step",
    "groups": "training_groups",
    "depth": "depth",
    "validation": "validation_ndcg@10",
    "validation of the first stage": "first_stage_ndcg@10",
}


def training_rows(made: Collected, checkpoint: Path, **cells: Any) -> dict[str, float]:
    """Add the log of a training, its end, and what it logged in the last half of its steps; return
    the latter.
    """
    own = trained_folder(checkpoint)
    content = read_manifest(own).content
    logged: Sequence[Mapping[str, float | None]] = ()
    finish = Finish.NOT_VALIDATED
    if (own / LOG).is_file():
        training = read_log(own)
        logged, finish = training.log, training.ending.finish
    curves: dict[str, list[tuple[int, float]]] = {}
    for name, key in _SERIES.items():
        for row in logged:
            if (value := row[key]) is not None:
                step = int(row["step"] or 0)
                place = {**cells, "axis": "step", "at": float(step), "label": str(step)}
                made.add(name, "log", value, **place)
                curves.setdefault(name, []).append((step, value))
    numbers = {statistic: content.get(name) for statistic, name in _COUNTS.items()}
    if numbers["step kept"] is None:
        numbers["step kept"] = numbers["steps"]
    late = {name: _late(curves[name]) for name in _LATE if name in curves}
    for statistic, number in {**numbers, **late}.items():
        if isinstance(number, int | float):
            made.add("training", statistic, number, **cells)
    cells |= {"answer": finish.value, "reason": str(content.get("stopped") or "")}
    made.add("training", "end", None, **cells)
    return late


def _late(curve: Sequence[tuple[int, float]]) -> float:
    """Return the mean of a log, values by step, over the last half of the steps."""
    values = [value for step, value in curve if 2 * step >= curve[-1][0]]
    return sum(values) / len(values)
