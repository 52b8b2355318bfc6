"""What the units that are done show, as JSON: numbers, names and ids, no text of any data."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from itertools import product
from typing import Any

import torch
from evidence_study import MODELS, ROTATED, SEED, Size, Study, Unit

from positionbias.core.collection import Collection
from positionbias.core.manifest import package_versions
from positionbias.core.run import Run
from positionbias.evaluation.convergence import UNFINISHED
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    compare_trainings,
    mean_interval,
    paired,
    query_means,
)

__all__ = ["MEASURE", "results"]

MEASURE = "nDCG@10"
ORDER_KEPT = "in the first stage's order"
Line = Mapping[str, Any]


def results(
    size: Size, studies: Mapping[str, Study], units: Sequence[Unit], done: Mapping[Unit, Line]
) -> dict[str, Any]:
    """Everything that is committed of a run: what made it, what is missing, and of each study its
    table, contrasts, trainings and verdicts.
    """
    return {
        "command": "benchmarks/gpu/evidence.sh",
        "commits": sorted({str(line["commit"]) for line in done.values()}),
        "date": date.today().isoformat(),
        "machine": {
            "devices": sorted({str(line["device"]) for line in done.values()}),
            "python": platform.python_version(),
            "versions": dict(package_versions("torch", "transformers", "numpy", "positionbias")),
            "cuda": torch.version.cuda,
        },
        "measure": MEASURE,
        "settings": {
            "encoders": asdict(size.encoders),
            "tk": asdict(size.tk),
            "tk shape": asdict(size.shape),
            "validation queries": dict(size.validation),
            "candidates": dict(size.depths),
            "queries audited": size.audited,
        },
        "not done": [unit.name for unit in units if unit not in done],
        "studies": {
            name: _study(study, {u: line for u, line in done.items() if u.study == name})
            for name, study in studies.items()
        },
    }


def _study(study: Study, done: Mapping[Unit, Line]) -> dict[str, Any]:
    collection = Collection(next(iter(study.arms.values())))
    qrels = [qrel for split in study.splits for qrel in collection.qrels(split)]
    clusters = clusters_by_passage(qrels, level=study.relevant_from)
    first = _first_stage(study, collection, study.splits)
    validation = _first_stage(study, collection, ("validation",))
    cells = _cells(study, done, sorted(first))
    found = {
        "collections": {arm: Collection(path).checksum for arm, path in study.arms.items()},
        "queries": len(first),
        "first stage": {"test": _mean(first), "validation": _mean(validation)},
        "table": [_row(*key, repeats, first, clusters) for key, repeats in cells.items()],
        "contrasts": _contrasts(study, cells, clusters),
        "trainings": [_training(unit, line, _mean(validation)) for unit, line in done.items()],
        "verdicts": [
            {**asdict(unit), "verdict": found}
            for unit, line in done.items()
            for found in line["verdicts"]
        ],
    }
    _mark(found)
    return found


def _mark(study: dict[str, Any]) -> None:
    """Name, in each row and contrast, the trainings that are not finished, and those that
    validation kept at depth 1: they leave the first stage's order as it is, and show nothing of the
    model."""
    trainings = study["trainings"]
    for what, marked in (
        (UNFINISHED, [one for one in trainings if one["ending"]["finish"] == UNFINISHED]),
        (ORDER_KEPT, [one for one in trainings if one["depth"] == 1]),
    ):
        for row in study["table"]:
            row[what] = [
                one["seed"]
                for one in marked
                if (one["model"], one["arm"]) == (row["model"], row["training"])
            ]
        for contrast in study["contrasts"]:
            contrast[what] = {
                side: seeds
                for side in ("baseline", "candidate")
                if (
                    seeds := [
                        one["seed"]
                        for one in marked
                        if contrast[side].startswith(f"{one['model']} trained on {one['arm']},")
                    ]
                )
            }


def _first_stage(study: Study, collection: Collection, splits: Sequence[str]) -> dict[str, float]:
    """The candidates' own order, by query."""
    found: dict[str, float] = {}
    for split in splits:
        found |= per_query(
            Run.from_file(study.candidates(split)), collection.qrels(split), [MEASURE]
        )[MEASURE]
    return found


Key = tuple[str, str, str]  # model, training arm, test arm
Cells = Mapping[Key, Mapping[Repeat, Values]]


def _cells(study: Study, done: Mapping[Unit, Line], query_ids: Sequence[str]) -> Cells:
    """The values of all trainings by what was trained and tested on what; a repeat is a seed, with
    its rotation draw where one is in training or test.
    """
    cells: dict[Key, dict[Repeat, Values]] = {}
    for model, arm, test in product(MODELS, study.trainings, study.trainings):
        draws = ROTATED in (arm, test)
        repeats: dict[Repeat, Values] = {
            (unit.seed, unit.seed if draws else None): dict(
                zip(query_ids, line["tests"][test], strict=True)
            )
            for unit, line in done.items()
            if (unit.model, unit.arm) == (model, arm)
        }
        if repeats:
            cells[model, arm, test] = repeats
    return cells


def _row(
    model: str,
    arm: str,
    test: str,
    repeats: Mapping[Repeat, Values],
    first: Values,
    clusters: Mapping[str, str],
) -> dict[str, Any]:
    interval = mean_interval(repeats, clusters, seed=SEED)
    beside = {repeat: (first, values) for repeat, values in repeats.items()}
    above = compare_trainings(beside, names=("first stage", model), clusters=clusters, seed=SEED)
    return {
        "model": model,
        "training": arm,
        "test": test,
        "mean": _mean(query_means(repeats)),
        "interval": asdict(interval) if interval else None,
        "above first stage": {
            "difference": above.difference,
            "difference_interval": asdict(above.difference_interval)
            if above.difference_interval
            else None,
        },
        "by seed": {str(seed): _mean(values) for (seed, _), values in repeats.items()},
    }


def _contrasts(study: Study, cells: Cells, clusters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every other test against the first one, within a training; every other training against the
    first one, within a test. Paired by seed and query.
    """
    first, *others = study.trainings
    found = []
    for model, same, other in product(MODELS, study.trainings, others):
        for before, after in (
            ((model, same, first), (model, same, other)),
            ((model, first, same), (model, other, same)),
        ):
            both = paired(cells[before], cells[after]) if before in cells and after in cells else {}
            if both:
                found.append(_contrast(before, after, both, clusters))
    return found


def _contrast(
    before: Key,
    after: Key,
    both: Mapping[Repeat, tuple[Values, Values]],
    clusters: Mapping[str, str],
) -> dict[str, Any]:
    found = compare_trainings(
        both, names=(_named(before), _named(after)), clusters=clusters, seed=SEED
    )
    ratios = [_mean(changed) / _mean(base) - 1 for base, changed in both.values() if _mean(base)]
    by_seed = {"difference by seed": list(found.by_seed), "relative by seed": ratios}
    return {**asdict(found), "notes": {**found.notes, "trainings": len(both), **by_seed}}


def _named(key: Key) -> str:
    model, training, test = key
    return f"{model} trained on {training}, tested on {test}"


def _training(unit: Unit, line: Line, first_stage: float) -> dict[str, Any]:
    """How a training went; ``beats first stage`` is said of its validation queries."""
    training = dict(line["training"])
    kept = training.pop("kept")
    beats = kept["depth"] > 1 and kept["validation_ndcg@10"] > first_stage
    return {
        **asdict(unit),
        **kept,
        "beats first stage": beats,
        "seconds": line["seconds"],
        **training,
    }


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)
