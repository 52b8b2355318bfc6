"""What the training sets of a TripClick study hold, and what its trainings logged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import msgspec
import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.records import Qrel
from positionbias.evaluation.significance import corrected
from positionbias.results.payloads import TrainingCurve
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type
from positionbias.results.tripclick import REGENERATED, SETS, TELEMETRY, AgainstRegenerated, Telemetry, system_label
from positionbias.studies.systems import Subject, curve_of
from positionbias.studies.tripclick_counts import count_set
from positionbias.studies.tripclick_sets import LEFT_OUT
from positionbias.studies.tripclick_trials import Trial, TripClickStudy

__all__ = ["against_regenerated", "set_results", "telemetry"]


def set_results(study: TripClickStudy, collection: Collection) -> list[Result]:
    """What stands in each training set, and what its maker left out; the value is the share of its negatives that are false, where the truth is
    known."""
    found = []
    for name, path in study.trainsets.items():
        groups = Groups(path)
        held = count_set(groups, _truth(study, collection), groups.manifest.content.get(LEFT_OUT, {}))
        false, negatives = held.false_negatives, held.negatives
        share = None if false is None or not negatives else false / negatives
        made = collection.name, "", name, study.settings.seed, share, None, held.groups
        found.append(Result(SETS, *made, held, Facts(variant=name)))
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
    seen: dict[Facts, Telemetry] = {}
    for facts, own in trials.items():
        of = [
            curve_of(Subject(system_label(facts, every), replace(facts, seed=trial.seed), trial.trained), collection)
            for trial in own
            if trial.trained is not None
        ]
        if of:
            seen[facts] = _logged([trial.seed for trial in own], [curve for _, curve in of_type(of, TrainingCurve)])
        curves += of
    for facts, base in seen.items():
        rest = [of for of in seen if of != facts and replace(of, variant=REGENERATED) == facts]
        for system, tested in zip(rest, against_regenerated(base, [seen[of] for of in rest]), strict=True):
            seen[system] = msgspec.structs.replace(seen[system], against=tested)
    found = []
    for facts, logged in seen.items():
        known = [value for value in logged.pair_accuracy if value is not None]
        value = sum(known) / len(known) if known else None
        made = collection, "", system_label(facts, every), seed, value, None, len(logged.seeds)
        found.append(Result(TELEMETRY, *made, logged, facts))
    return [*found, *curves]


def _logged(seeds: Sequence[int], curves: Sequence[TrainingCurve]) -> Telemetry:
    return Telemetry(
        pair_accuracy=[_late(curve, "pair accuracy") for curve in curves],
        score_margin=[_late(curve, "score margin") for curve in curves],
        loss=[_late(curve, "loss") for curve in curves],
        seeds=seeds,
        steps=[_noted(curve, "steps") for curve in curves],
        kept=[_noted(curve, "best_step") for curve in curves],
    )


def against_regenerated(base: Telemetry, others: Sequence[Telemetry]) -> list[AgainstRegenerated]:
    """How much less pairwise accuracy a model's trainings on each of the other sets logged than those on BM25's negatives: the mean difference
    over the seeds that both have, and p by Student's paired t-test over them after Holm's correction over the sets; None of fewer than two seeds, or
    where all differ alike."""
    from scipy import stats

    found: list[AgainstRegenerated] = []
    for other in others:
        ours, theirs = (
            {seed: v for seed, v in zip(of.seeds, of.pair_accuracy, strict=True) if v is not None} for of in (base, other)
        )
        seeds = sorted(ours.keys() & theirs.keys())
        differences = np.round([theirs[seed] - ours[seed] for seed in seeds], 12)
        varied = len(seeds) > 1 and np.ptp(differences) > 0
        p = float(stats.ttest_1samp(differences, 0).pvalue) if varied else None
        difference = float(differences.mean()) if len(seeds) else None
        found.append(AgainstRegenerated(difference=difference, p_holm=p, seeds=len(seeds)))
    holm = iter(corrected([of.p_holm for of in found if of.p_holm is not None], "holm"))
    return [of if of.p_holm is None else msgspec.structs.replace(of, p_holm=next(holm)) for of in found]


def _late(curve: TrainingCurve, name: str) -> float | None:
    """The mean of what was logged over the last half of the steps."""
    logged = [(step, value) for step, value in zip(curve.steps, curve.series.get(name, ()), strict=False) if value is not None]
    late = [value for step, value in logged if 2 * step >= logged[-1][0]]
    return sum(late) / len(late) if late else None


def _noted(curve: TrainingCurve, name: str) -> int | None:
    value = curve.notes.get(name)
    return None if value is None else int(value)
