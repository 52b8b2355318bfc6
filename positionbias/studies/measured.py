"""What the position-bias study measures, from finished runs and models: every table and figure, as Results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from positionbias.core.collection import Collection
from positionbias.core.progress import track
from positionbias.core.records import Qrel
from positionbias.core.result import Comparison, PerQuery, Result
from positionbias.core.run import Run
from positionbias.evaluation.measures import evaluate_run
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.models.checkpoint import Checkpoint
from positionbias.positions.debias import queries_by_cut, rotation_result
from positionbias.positions.histogram import position_histogram
from positionbias.probe.term_vectors import probe_model
from positionbias.studies.findings import findings
from positionbias.text.overlap import position_only
from positionbias.text.statistics import collection_counts
from positionbias.training.train import training_result

__all__ = ["ALL", "WHOLE", "Measured", "measure_study"]

ALL = "all queries"
WHOLE = "queries whose answer was left whole"
SPLIT = "test"


@dataclass(frozen=True)
class Measured:
    """What there is to measure: the two test collections, the candidates, and each model's runs on both."""

    original: Collection
    rotated: Collection
    candidates: Run
    reranked: Mapping[tuple[str, str], Run]
    models: Sequence[Checkpoint]

    @property
    def tests(self) -> dict[str, Collection]:
        return {"original": self.original, "rotated": self.rotated}


Values = dict[tuple[str, str, str], dict[str, float]]  # (system, test, measure) -> value a query


def position_only_run(collection: Collection, candidates: Run) -> Run:
    """The candidates ordered by how far in front the query is met, and by nothing else."""
    texts = {query.query_id: query.text for query in collection.queries(SPLIT)}
    rankings = (
        (r.query_id, r.passage_ids, [position_only(texts[r.query_id], text) for text in collection.texts(r.passage_ids)])
        for r in track(candidates.rankings(), "position only", len(candidates), unit="queries")
    )
    return Run("position-only", rankings)


def _evaluate(measured: Measured, qrels: list[Qrel], measures: Sequence[str], seed: int) -> tuple[list[Result], Values]:
    clusters = clusters_by_passage(qrels)
    results: list[Result] = []
    values: Values = {}
    for test, collection in measured.tests.items():
        runs = [replace_name(measured.candidates, "bm25"), position_only_run(collection, measured.candidates)]
        runs += [run for (_, on), run in measured.reranked.items() if on == test]
        for run in runs:
            found = evaluate_run(run, qrels, measures, collection=collection.name, split=SPLIT, seed=seed, clusters=clusters)
            results += found
            for result in found:
                assert isinstance(result.payload, PerQuery)
                values[run.name, test, result.measure] = dict(zip(result.payload.query_ids, result.payload.values, strict=True))
    return results, values


def replace_name(run: Run, name: str) -> Run:
    """The same run under another name."""
    return Run(name, ((r.query_id, r.passage_ids, r.scores) for r in run.rankings()))


class _Comparer:
    """Pairs of systems and test sets, compared on shared queries; p-values corrected within each axis and measure."""

    def __init__(self, measured: Measured, values: Values, clusters: Mapping[str, str], whole: set[str], seed: int) -> None:
        self.measured, self.values, self.clusters, self.whole, self.seed = measured, values, clusters, whole, seed

    def pair(self, axis: str, measure: str, one: tuple[str, str], other: tuple[str, str], subset: str = ALL) -> Comparison:
        """``one`` and ``other`` are (system, test): the baseline and the candidate."""
        values = [self.values[system, test, measure] for system, test in (one, other)]
        if subset == WHOLE:
            values = [{q: v for q, v in column.items() if q in self.whole} for column in values]
        names = [f"{system} on {self.measured.tests[test].name}" for system, test in (one, other)]
        notes = {"axis": axis, "systems": [one[0], other[0]], "test_sets": [one[1], other[1]]}
        return compare(
            *values,
            baseline_name=names[0],
            candidate_name=names[1],
            clusters=self.clusters,
            seed=self.seed,
            subset=subset,
            notes=notes,
        )

    def family(self, axis: str, measure: str) -> list[Comparison]:
        """All comparisons of one axis."""
        names = [model.name for model in self.measured.models]
        tests = list(self.measured.tests)
        if axis == "test sets":
            subsets = (ALL, WHOLE) if self.whole else (ALL,)
            systems = [*names, "position-only"]
            found = [
                self.pair(axis, measure, (name, "original"), (name, "rotated"), subset)
                for subset in subsets
                for name in systems
            ]
        elif axis == "trainings":
            found = [self.pair(axis, measure, (names[0], test), (name, test)) for name in names[1:] for test in tests]
        else:
            found = [
                self.pair(axis, measure, (base, test), (name, test))
                for name in names
                for test in tests
                for base in ("bm25", "position-only")
            ]
        return adjust(found) if found else []


def _as_result(measure: str, comparison: Comparison, measured: Measured, seed: int) -> Result:
    system, test = comparison.notes["systems"][1], comparison.notes["test_sets"][1]
    return Result(
        measure=measure,
        collection=measured.original.name if comparison.notes["axis"] == "test sets" else measured.tests[test].name,
        split=SPLIT,
        system=system,
        seed=seed,
        value=comparison.difference,
        interval=comparison.difference_interval,
        count=comparison.notes["queries"],
        payload=comparison,
    )


def _histograms(measured: Measured) -> list[Result]:
    splits = [s for s, facts in measured.original.manifest.content["splits"].items() if facts["answers"]]
    split = "train" if "train" in splits else splits[0] if splits else None
    return [position_histogram(collection, split) for collection in measured.tests.values()] if split else []


def measure_study(measured: Measured, measures: Sequence[str], *, probe_passages: int | None, seed: int) -> list[Result]:
    """Everything the study's report shows. MATS of every model on the same passages: the original ones, then the rotated."""
    qrels = measured.original.qrels(SPLIT)
    effectiveness, values = _evaluate(measured, qrels, measures, seed)
    has_answers = bool(measured.original.manifest.content["splits"][SPLIT]["answers"])
    whole, cut = queries_by_cut(measured.original, measured.rotated, SPLIT) if has_answers else (set(), set())
    comparer = _Comparer(measured, values, clusters_by_passage(qrels), whole, seed)
    names = list(dict.fromkeys(result.measure for result in effectiveness))
    compared = [
        _as_result(name, comparison, measured, seed)
        for axis in ("test sets", "trainings", "baseline")
        for name in names
        for comparison in comparer.family(axis, name)
    ]
    probed = [
        probe_model(model, collection, passages=probe_passages, seed=seed)
        for collection in measured.tests.values()
        for model in measured.models
    ]
    results = [
        *collection_counts(measured.original),
        rotation_result(measured.rotated),
        *_histograms(measured),
        *effectiveness,
        *compared,
        *probed,
        *(training_result(model, measured.original.name) for model in measured.models),
    ]
    headline = findings(results, names[0], whole=len(whole), cut=len(cut))
    found = [Result("finding", measured.original.name, SPLIT, "", seed, None, None, 0, finding) for finding in headline]
    return [*found, *(replace(result, seed=seed) for result in results)]
