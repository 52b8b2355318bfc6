"""What the dose study measures beside what every study does, and what it finds, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.formatting import percent
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.significance import clusters_by_passage, compare
from positionbias.evaluation.trainings import Values
from positionbias.positions.histogram import position_histogram
from positionbias.positions.settings import HistogramOptions, Matching
from positionbias.results.payloads import Comparison, Finding, PerQuery, PositionHistogram
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type
from positionbias.studies.findings import DOSES, Change, baselines, difference_of, idle_trainings, trainings
from positionbias.studies.measured import measure_models
from positionbias.studies.over_trainings import BASELINE_FACTS, over_trainings, query_values
from positionbias.studies.position_bias import StudySettings
from positionbias.studies.systems import finding, system_name
from positionbias.studies.tested import Measured
from positionbias.studies.variants import change_by_variant, kinds, named, of_variant, similarity_by_variant

__all__ = ["dose_findings", "measure_doses"]

SPLIT = "train"
OfSystem = Callable[[Facts], Values]  # of one measure


def measure_doses(
    measured: Measured, settings: StudySettings, shown: Mapping[str, Path], matching: Matching, map_shards: MapShards
) -> list[Result]:
    """As of a position-bias study; where the training answers of each dose are; whether doses differ in what rotation changes.

    ``shown`` has the collection of each dose by its variant.
    """
    results, _ = measure_models(measured, settings.measures, relevant_from=settings.relevant_from, seed=settings.seed)
    options = HistogramOptions(matching=matching, seed=settings.seed)
    histograms = [
        replace(position_histogram(Collection(path), SPLIT, options, map_shards=map_shards), facts=Facts(variant=variant))
        for variant, path in shown.items()
    ]
    qrels = [qrel for split in measured.tests for qrel in Collection(measured.original).qrels(split)]
    clusters = clusters_by_passage(qrels, level=settings.relevant_from)
    headline = next(result for result in results if result.kind == "per_query")
    changes = changes_between_doses(results, headline.measure, _ordered(histograms), clusters, settings.seed)
    _, spoken = idle_trainings([*results, *changes])
    values = query_values(results)
    of_changes = [result for result in spoken if isinstance(result.payload, Comparison) and result.payload.noted.axis == DOSES]
    changes += over_trainings(
        of_changes, clusters=clusters, seed=settings.seed, find=lambda name, facts: _change(lambda of: values(name, of), facts)
    )
    found = [*histograms, *results, *changes]
    sentences = dose_findings(found, headline.measure)
    return [*(finding(headline.collection, headline.split, item, settings.seed) for item in sentences), *found]


def _ordered(histograms: Sequence[Result]) -> list[str]:
    """The variants, the least front-loaded first."""
    return [result.facts.variant for result in sorted(histograms, key=lambda result: -(result.value or 0.0))]


def changes_between_doses(
    results: Sequence[Result], measure: str, variants: Sequence[str], clusters: Mapping[str, str], seed: int
) -> list[Result]:
    """The change from original to rotated test passages of the most front-loaded dose against that of the least, query by query.

    One for each model, training, seed and draw. With v the value of a query, d and d′ the doses:
    (v_d′,rotated − v_d′,original) − (v_d,rotated − v_d,original), so that what rotation does to the text itself cancels out.
    """
    least, most = variants[0], variants[-1]
    rows = [r for r in results if r.measure == measure and isinstance(r.payload, PerQuery)]
    find = query_values(rows)
    found = []
    for result in rows:
        facts = result.facts
        pair = [_change(lambda of: find(measure, of), replace(facts, variant=variant)) for variant in (least, most)]
        if facts.variant != most or facts.test != "rotated" or not all(pair):
            continue
        names = [system_name(replace(facts, variant=variant)) for variant in (least, most)]
        comparison = compare(
            *pair,
            baseline_name=f"change by rotation of {names[0]}",
            candidate_name=f"change by rotation of {names[1]}",
            clusters=clusters,
            seed=seed,
            notes={
                "axis": DOSES,
                "systems": names,
                "test_sets": ["rotated", "rotated"],
                BASELINE_FACTS: asdict(replace(facts, variant=least)),
            },
        )
        # a share of a change says nothing
        comparison = replace(comparison, relative=None, relative_as_printed=None, relative_interval=None)
        count, interval = comparison.noted.queries, comparison.difference_interval
        found.append(replace(result, value=comparison.difference, interval=interval, count=count, payload=comparison))
    return found


def _change(values: OfSystem, facts: Facts) -> dict[str, float]:
    """By query, what the rotation of the test passages changes; ``facts`` are those on the rotated ones."""
    draw = facts.rotation if facts.training == "rotated" else None
    before, after = values(replace(facts, test="original", rotation=draw)), values(facts)
    return {query_id: after[query_id] - before[query_id] for query_id in before.keys() & after.keys()}


# -- what is found --------------------------------------------------------------------------------------------


def dose_findings(results: Sequence[Result], measure: str) -> list[Finding]:
    """Where the training answers were; the change by dose, and whether it differs; MATS by dose; the trainings compared; baselines."""
    histograms = [(result, found) for result, found in of_type(results, PositionHistogram) if result.facts.variant]
    variants = _ordered([result for result, _ in histograms])
    idle, spoken = idle_trainings(results)
    return [
        _positions(histograms, variants),
        *idle,
        *_test_sets(spoken, measure, variants),
        *similarity_by_variant(results, variants),
        *trainings(spoken, measure, lambda *_: []),
        *baselines(results, measure),
    ]


def _positions(histograms: Sequence[tuple[Result, PositionHistogram]], variants: Sequence[str]) -> Finding:
    shares = {result.facts.variant: fifth.value for result, found in histograms if (fifth := found.figures.first_fifth)}
    means = {result.facts.variant: result.value or 0.0 for result, _ in histograms}
    listed = "; ".join(f"{v}, {percent(shares[v])} start in the first fifth (mean position {means[v]:.3f})" for v in variants)
    number = " to ".join(f"{n:,}" for n in sorted({result.count for result, _ in histograms}))
    return Finding(f"Of the {number} training answers of each dose: with {listed}.", None)


def _test_sets(results: Sequence[Result], measure: str, variants: Sequence[str]) -> list[Finding]:
    found = []
    for kind in kinds(results):
        if (sentence := change_by_variant(results, measure, kind, variants)) is None:
            continue
        found.append(sentence)
        change = difference_of(of_variant(results, measure, DOSES, kind, variants[-1]))
        found.append(_response(kind, measure, variants, change))
    return found


def _response(kind: Facts, measure: str, variants: Sequence[str], change: Change | None) -> Finding:
    """Whether the most front-loaded dose loses more by the rotation than the least."""
    least, most = variants[0], variants[-1]
    start = f"{named(kind)}: the change with {most} less the change with {least}"
    if change is None or (change.interval is None and not change.by_seed):
        return Finding(f"{start} cannot be said: it takes a model that re-ranks at both.", None)
    text = f"{start} is {change.shown('+.3f')} in {measure}"
    if change.interval is None:
        return Finding(f"{text}.", None)
    if change.interval.high < 0:
        return Finding(f"{text}: the more front-loaded training loses more.", True)
    if change.interval.low > 0:
        return Finding(f"{text}: the more front-loaded training loses less, which goes against the expectation.", False)
    return Finding(f"{text}: these data do not tell the two doses apart.", None)
