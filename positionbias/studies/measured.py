"""What the position-bias study measures, from finished runs and models: every table and figure, as Results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.positions.debias import rotation_result
from positionbias.positions.histogram import position_histogram
from positionbias.results.payloads import Finding
from positionbias.results.result import Result, load_results
from positionbias.studies.compared import comparisons
from positionbias.studies.findings import findings, idle_trainings
from positionbias.studies.over_trainings import over_trainings
from positionbias.studies.systems import curve_of, finding, system_name
from positionbias.studies.tested import Measured, Study, answered_splits
from positionbias.text.statistics import collection_counts

__all__ = ["measure_models", "measure_study"]


def _histograms(study: Study) -> list[Result]:
    """Figure 1: the training split's answers where it has some, else those of the first split that has."""
    splits = answered_splits(study.original)
    if not splits:
        why = f"Figure 1, where answers sit, is left out: {study.original.name} comes without answers."
        return [finding(study.original.name, "", Finding(why), study.seed)]
    split = "train" if "train" in splits else splits[0]
    return [position_histogram(collection, split) for collection in (study.original, *study.rotated.values())]


def measure_study(measured: Measured, measures: Sequence[str], *, relevant_from: int, seed: int) -> list[Result]:
    """Everything the study's report shows, what was found first."""
    results, cuts = measure_models(measured, measures, relevant_from=relevant_from, seed=seed)
    headline = next(result for result in results if result.kind == "per_query")
    sentences = findings(results, headline.measure, cuts=cuts)
    return [*(finding(headline.collection, headline.split, item, seed) for item in sentences), *results]


def measure_models(
    measured: Measured, measures: Sequence[str], *, relevant_from: int, seed: int
) -> tuple[list[Result], dict[int, tuple[int, int]]]:
    """All that is measured; by rotation draw, how many test queries' answers it left whole, and how many it cut.

    MATS of every model on the same passages: the original ones, then the rotated.
    """
    study = Study(measured, measures, relevant_from, seed)
    effectiveness = [result for _, found in study.systems for result in found]
    names = list(dict.fromkeys(result.measure for result in effectiveness))
    probed = [replace(result, system=system_name(result.facts)) for path in measured.probes for result in load_results(path)]
    results = [
        *collection_counts(study.original),
        *(rotation_result(collection) for collection in study.rotated.values()),
        *_histograms(study),
        *effectiveness,
        *comparisons(study, names),
        *sorted(probed, key=lambda result: result.facts.test),
        *(curve_of(subject, study.original.name) for subject in measured.subjects),
    ]
    whole = {draw: found for draw, (found, _) in study.by_cut.items()}
    results += over_trainings(idle_trainings(results)[1], clusters=study.clusters, seed=seed, whole=whole)
    cuts = {draw: (len(whole), len(cut)) for draw, (whole, cut) in study.by_cut.items()}
    return [replace(result, seed=seed) for result in results], cuts
