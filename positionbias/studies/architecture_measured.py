"""What the architecture study measures beside what every study does, and what it finds, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from positionbias.core.collection import Collection
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.models.shapes import Positions
from positionbias.results.payloads import Comparison, Finding, PerQuery
from positionbias.results.result import Result
from positionbias.studies.findings import baselines, idle_trainings, trainings
from positionbias.studies.measured import measure_models
from positionbias.studies.over_trainings import BASELINE_FACTS, over_trainings
from positionbias.studies.position_bias import StudySettings
from positionbias.studies.systems import finding, system_name
from positionbias.studies.tested import Measured
from positionbias.studies.variants import change_by_variant, kinds, similarity_by_variant

__all__ = ["ARCHITECTURES", "VARIANTS", "architecture_findings", "measure_architectures", "rotated_against_changed"]

VARIANTS: dict[Positions, str] = {  # what results say of each
    "sinusoid": "sinusoid positions",
    "none": "no positions",
    "relative": "relative positions",
}
ARCHITECTURES = "data or model"  # the axis of comparisons of rotated data with a changed model


def measure_architectures(measured: Measured, settings: StudySettings, variants: Sequence[str]) -> list[Result]:
    """As of a position-bias study; and the usual model, trained on rotated passages, against each changed model.

    ``variants`` begin with the usual model.
    """
    results, _ = measure_models(measured, settings.measures, relevant_from=settings.relevant_from, seed=settings.seed)
    qrels = [qrel for split in measured.tests for qrel in Collection(measured.original).qrels(split)]
    clusters = clusters_by_passage(qrels, level=settings.relevant_from)
    changed = rotated_against_changed(results, variants, clusters, settings.seed)
    _, spoken = idle_trainings([*results, *changed])
    repeated = [r for r in spoken if isinstance(r.payload, PerQuery) or any(r is one for one in changed)]
    found = [*results, *changed, *over_trainings(repeated, clusters=clusters, seed=settings.seed)]
    headline = next(result for result in results if result.kind == "per_query")
    sentences = architecture_findings(found, headline.measure, variants)
    return [*(finding(headline.collection, headline.split, item, settings.seed) for item in sentences), *found]


def rotated_against_changed(
    results: Sequence[Result], variants: Sequence[str], clusters: Mapping[str, str], seed: int
) -> list[Result]:
    """The usual model trained on rotated passages (candidate) against each changed one trained on the original (baseline).

    On each set of test passages, for each measure, seed and draw; p-values corrected over the changed models and test sets of these.
    """
    usual, *changed = variants
    rows = {(r.measure, r.facts): r for r in results if isinstance(r.payload, PerQuery)}
    families: dict[tuple, list[tuple[Result, Comparison]]] = {}
    for (measure, facts), candidate in rows.items():
        if (facts.variant, facts.training) != (usual, "rotated"):
            continue
        draw = facts.rotation if facts.test == "rotated" else None
        for variant in changed:
            baseline = rows.get((measure, replace(facts, variant=variant, training="original", rotation=draw)))
            if baseline is not None:
                pair = (candidate, _compared(baseline, candidate, clusters, seed))
                families.setdefault((measure, facts.seed, facts.rotation), []).append(pair)
    found = []
    for family in families.values():
        for (candidate, _), comparison in zip(family, adjust([one for _, one in family]), strict=True):
            count, interval = comparison.noted.queries, comparison.difference_interval
            found.append(replace(candidate, value=comparison.difference, interval=interval, count=count, payload=comparison))
    return found


def _compared(baseline: Result, candidate: Result, clusters: Mapping[str, str], seed: int) -> Comparison:
    systems = [system_name(result.facts) for result in (baseline, candidate)]
    tests = [result.facts.test for result in (baseline, candidate)]
    return compare(
        _values(baseline),
        _values(candidate),
        baseline_name=f"{systems[0]} on {baseline.collection}",
        candidate_name=f"{systems[1]} on {candidate.collection}",
        clusters=clusters,
        seed=seed,
        notes={"axis": ARCHITECTURES, "systems": systems, "test_sets": tests, BASELINE_FACTS: asdict(baseline.facts)},
    )


def _values(result: Result) -> dict[str, float]:
    payload = result.payload
    assert isinstance(payload, PerQuery)
    return dict(zip(payload.query_ids, payload.values, strict=True))


# -- what is found --------------------------------------------------------------------------------------------


def architecture_findings(results: Sequence[Result], measure: str, variants: Sequence[str]) -> list[Finding]:
    """What rotation changes for each model; rotated data against each changed model; the trainings compared; MATS; baselines."""
    idle, spoken = idle_trainings(results)
    changes = [change_by_variant(spoken, measure, kind, variants) for kind in kinds(results)]
    return [
        *idle,
        *(sentence for sentence in changes if sentence is not None),
        *trainings(spoken, measure, _nothing, axis=ARCHITECTURES),
        *trainings(spoken, measure, _nothing),
        *similarity_by_variant(results, variants),
        *_invariant(results, variants),
        *baselines(results, measure),
    ]


def _nothing(result: Result, comparison: Comparison, test: str, better: bool | None) -> list[Finding]:
    """The paper prints no figures of these."""
    return []


def _invariant(results: Sequence[Result], variants: Sequence[str]) -> list[Finding]:
    """What a MATS above zero means where a model has no absolute positions."""
    probed = {result.facts.variant for result in results if result.kind == "ats"}
    named = " and ".join(name for name in variants if name in probed and name != VARIANTS["sinusoid"])
    if not named:
        return []
    text = (
        f"With {named} a term's vector cannot depend on its place in the passage as such: what MATS shows there comes from what else "
        "stands in passages at that place, and from a passage's ends."
    )
    return [Finding(text, None)]
