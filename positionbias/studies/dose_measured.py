"""What the dose study measures beside what every study does, and what it finds, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.result import AtsCurve, Comparison, Facts, Finding, PerQuery, PositionHistogram, Result
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.repeats import over_repeats
from positionbias.evaluation.significance import clusters_by_passage, compare
from positionbias.positions.histogram import HistogramOptions, position_histogram
from positionbias.positions.locate import Matching
from positionbias.studies.compared import ALL
from positionbias.studies.findings import Change, baselines, idle_trainings, over, trainings
from positionbias.studies.measured import measure_models
from positionbias.studies.position_bias import StudySettings
from positionbias.studies.systems import finding
from positionbias.studies.tested import Measured

__all__ = ["DOSES", "dose_findings", "measure_doses"]

DOSES = "doses"  # the axis of comparisons of one dose's change with another's
SPLIT = "train"
Values = Mapping[Facts, Mapping[str, float]]  # of one measure, by query


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
    values = {r.facts: dict(zip(r.payload.query_ids, r.payload.values, strict=True)) for r in rows}  # type: ignore[union-attr]
    found = []
    for result in rows:
        facts = result.facts
        pair = [_change(values, replace(facts, variant=variant)) for variant in (least, most)]
        if facts.variant != most or facts.test != "rotated" or not all(pair):
            continue
        names = [f"{facts.model}-{facts.training}, {variant}" for variant in (least, most)]
        comparison = compare(
            *pair,
            baseline_name=f"change by rotation of {names[0]}",
            candidate_name=f"change by rotation of {names[1]}",
            clusters=clusters,
            seed=seed,
            notes={"axis": DOSES, "systems": names, "test_sets": ["rotated", "rotated"]},
        )
        # a share of a change says nothing
        comparison = replace(comparison, relative=None, relative_as_printed=None, relative_interval=None)
        count, interval = comparison.notes["queries"], comparison.difference_interval
        found.append(replace(result, value=comparison.difference, interval=interval, count=count, payload=comparison))
    return found


def _change(values: Values, facts: Facts) -> dict[str, float]:
    """By query, what the rotation of the test passages changes; ``facts`` are those on the rotated ones."""
    draw = facts.rotation if facts.training == "rotated" else None
    before, after = values.get(replace(facts, test="original", rotation=draw), {}), values.get(facts, {})
    return {query_id: after[query_id] - before[query_id] for query_id in before.keys() & after.keys()}


# -- what is found --------------------------------------------------------------------------------------------


def dose_findings(results: Sequence[Result], measure: str) -> list[Finding]:
    """Where the training answers were; the change by dose, and whether it differs; MATS by dose; the trainings compared; baselines."""
    histograms = [r for r in results if isinstance(r.payload, PositionHistogram) and r.facts.variant]
    variants = _ordered(histograms)
    idle, spoken = idle_trainings(results)
    return [
        _positions(histograms, variants),
        *idle,
        *_test_sets(spoken, measure, variants),
        *_term_similarity(results, variants),
        *trainings(spoken, measure, lambda *_: []),
        *baselines(results, measure),
    ]


def _positions(histograms: Sequence[Result], variants: Sequence[str]) -> Finding:
    shares = {r.facts.variant: r.payload.figures["first_fifth"]["value"] for r in histograms}  # type: ignore[union-attr]
    means = {r.facts.variant: r.value or 0.0 for r in histograms}
    listed = "; ".join(f"{v}: {shares[v]:.1%} start in the first fifth, mean position {means[v]:.3f}" for v in variants)
    number = " to ".join(f"{n:,}" for n in sorted({result.count for result in histograms}))
    return Finding(f"Of the {number} training answers of each dose, {listed}.", None)


def _kinds(results: Sequence[Result]) -> list[Facts]:
    """Each training of a model, whatever its dose, seed and draw."""
    return list(
        dict.fromkeys(
            Facts(model=r.facts.model, training=r.facts.training) for r in results if r.facts.variant and r.facts.model
        )
    )


def _group(results: Sequence[Result], measure: str, axis: str, kind: Facts, variant: str) -> list[tuple[Result, Comparison]]:
    return [
        (r, r.payload)
        for r in results
        if isinstance(r.payload, Comparison)
        and (r.measure, r.payload.notes["axis"], r.payload.subset) == (measure, axis, ALL)
        and (r.facts.model, r.facts.training, r.facts.variant) == (kind.model, kind.training, variant)
    ]


def _test_sets(results: Sequence[Result], measure: str, variants: Sequence[str]) -> list[Finding]:
    found = []
    for kind in _kinds(results):
        groups = {variant: _group(results, measure, "test sets", kind, variant) for variant in variants}
        changes = {v: over(group, lambda c: c.relative, lambda c: c.relative_interval) for v, group in groups.items() if group}
        if not changes:
            continue
        listed = "; ".join(f"{v}: {change.shown() if change else 'cannot be said'}" for v, change in changes.items())
        found.append(Finding(f"{_name(kind)}: when the test passages are rotated, {measure} changes by, {listed}.", None))
        group = _group(results, measure, DOSES, kind, variants[-1])
        if group:
            found.append(
                _response(kind, measure, variants, over(group, lambda c: c.difference, lambda c: c.difference_interval))
            )
    return found


def _name(kind: Facts) -> str:
    return f"{kind.model} trained on {kind.training} passages"


def _response(kind: Facts, measure: str, variants: Sequence[str], change: Change | None) -> Finding:
    """Whether the most front-loaded dose loses more by the rotation than the least."""
    least, most = variants[0], variants[-1]
    start = f"{_name(kind)}: the change with {most} less the change with {least}"
    if change is None or change.interval is None:
        return Finding(f"{start} cannot be said.", None)
    text = f"{start} is {change.shown('+.3f')} in {measure}"
    if change.interval.high < 0:
        return Finding(f"{text}: the more front-loaded the training answers, the more the model owes to position.", True)
    if change.interval.low > 0:
        return Finding(f"{text}: the more front-loaded training loses less, which goes against the expectation.", False)
    return Finding(f"{text}: these data do not tell the two doses apart.", None)


def _term_similarity(results: Sequence[Result], variants: Sequence[str]) -> list[Finding]:
    found = []
    for kind in _kinds(results):
        listed = []
        for variant in variants:
            values = {
                (r.facts.seed, r.facts.rotation): r.value
                for r in results
                if isinstance(r.payload, AtsCurve)
                and r.value is not None
                and (r.facts.model, r.facts.training, r.facts.test, r.facts.variant)
                == (kind.model, kind.training, "original", variant)
            }
            listed += [f"{variant}: {over_repeats(values).mean:.3f}"] if values else []
        if listed:
            found.append(Finding(f"{_name(kind)}: MATS on the original passages with {'; '.join(listed)}.", None))
    return found
