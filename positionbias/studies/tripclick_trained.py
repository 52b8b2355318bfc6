"""What the training sets of a TripClick study hold, and what its trainings logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.records import Qrel
from positionbias.evaluation.significance import corrected
from positionbias.report.tripclick_select import REGENERATED, SETS, TELEMETRY, system_label
from positionbias.results.payloads import Statistics
from positionbias.results.result import Facts, Result
from positionbias.studies.systems import Subject, curve_of
from positionbias.studies.tripclick_counts import count_set
from positionbias.studies.tripclick_sets import LEFT_OUT
from positionbias.studies.tripclick_trials import Trial, TripClickStudy

__all__ = ["against_regenerated", "set_results", "telemetry"]

LOGGED = ("pair accuracy", "score margin", "loss")


def set_results(study: TripClickStudy, collection: Collection) -> list[Result]:
    """What stands in each training set, and what its maker left out; the value is the share of its negatives that are false, where the truth is
    known."""
    found = []
    for name, path in study.trainsets.items():
        groups = Groups(path)
        rows: dict[str, Any] = count_set(groups, _truth(study, collection))
        false, negatives = rows["false negatives"], rows["negatives"]
        share = None if false is None or not negatives else false / negatives
        rows["left out"] = dict(groups.manifest.content.get(LEFT_OUT, {}))
        made = collection.name, "", name, study.settings.seed, share, None, rows["groups"]
        found.append(Result(SETS, *made, Statistics(rows), Facts(variant=name)))
    return found


def _truth(study: TripClickStudy, collection: Collection) -> Iterable[Qrel] | None:
    truth = study.settings.truth
    if truth is None:
        return None
    return chain.from_iterable(collection.qrels(split, truth) for split in study.settings.train)


def telemetry(trials: Mapping[Facts, Sequence[Trial]], collection: str, seed: int) -> list[Result]:
    """What was logged in the trainings: a system's pairwise accuracy and margin over the last half of its steps, which weights were kept, and a curve
    each."""
    every, curves = list(trials), []
    rows_of: dict[Facts, dict[str, Any]] = {}
    for facts, own in trials.items():
        of = [
            curve_of(Subject(system_label(facts, every), replace(facts, seed=trial.seed), trial.trained), collection)
            for trial in own
            if trial.trained is not None
        ]
        if of:
            rows: dict[str, Any] = {name: [_late(result, name) for result in of] for name in LOGGED}
            rows |= {"seeds": [trial.seed for trial in own]}
            rows |= {
                name: [_noted(result, note) for result in of] for name, note in (("steps", "steps"), ("kept", "best_step"))
            }
            rows_of[facts] = rows
        curves += of
    for facts, rows in rows_of.items():
        rest = [of for of in rows_of if of != facts and replace(of, variant=REGENERATED) == facts]
        for system, tested in zip(rest, against_regenerated(rows, [rows_of[of] for of in rest]), strict=True):
            rows_of[system][f"against {REGENERATED}"] = tested
    found = []
    for facts, rows in rows_of.items():
        known = [value for value in rows["pair accuracy"] if value is not None]
        value = sum(known) / len(known) if known else None
        made = collection, "", system_label(facts, every), seed, value, None, len(rows["seeds"])
        found.append(Result(TELEMETRY, *made, Statistics(rows), facts))
    return [*found, *curves]


def against_regenerated(base: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How much less pairwise accuracy a model's trainings on each of the other sets logged than those on BM25's negatives: the mean difference
    over the seeds that both have, and p by Student's paired t-test over them after Holm's correction over the sets; None of fewer than two seeds, or
    where all differ alike."""
    from scipy import stats

    found: list[dict[str, Any]] = []
    for other in others:
        ours, theirs = (
            {seed: v for seed, v in zip(of["seeds"], of["pair accuracy"], strict=True) if v is not None} for of in (base, other)
        )
        seeds = sorted(ours.keys() & theirs.keys())
        differences = np.round([theirs[seed] - ours[seed] for seed in seeds], 12)
        varied = len(seeds) > 1 and np.ptp(differences) > 0
        p = float(stats.ttest_1samp(differences, 0).pvalue) if varied else None
        found.append({"difference": float(differences.mean()) if len(seeds) else None, "p holm": p, "seeds": len(seeds)})
    tested = [of for of in found if of["p holm"] is not None]
    for of, p in zip(tested, corrected([of["p holm"] for of in tested], "holm"), strict=True):
        of["p holm"] = p
    return found


def _late(result: Result, name: str) -> float | None:
    """The mean of what was logged over the last half of the steps."""
    payload: Any = result.payload
    logged = [
        (step, value) for step, value in zip(payload.steps, payload.series.get(name, ()), strict=False) if value is not None
    ]
    late = [value for step, value in logged if 2 * step >= logged[-1][0]]
    return sum(late) / len(late) if late else None


def _noted(result: Result, name: str) -> int | None:
    payload: Any = result.payload
    value = payload.notes.get(name)
    return None if value is None else int(value)
