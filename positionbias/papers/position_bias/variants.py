"""Run the study of position bias, also with arms whose trainings differ in more than the text
(``Facts.variant``).

    --answers-in  for each dose: keep the training queries whose answers start in one part of their
                  passages, as many for every dose → train on the original and on the rotated
                  passages → test on both, all doses on the same queries
    --positions   for each kind of positions: train on the original and on the rotated passages
                  → test on both

The doses differ only in their training queries: passages, candidates, validation and test queries
are always those of the collection [decision]. The usual TK trained on rotated passages is compared
with each changed TK trained on the original passages. The paper says only that relative positions
brought no improvement (end of §7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.convergence import ended_name
from positionbias.core.errors import SettingError
from positionbias.core.formatting import percent
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.evaluation.trainings import Values, figures_over
from positionbias.experiments.estimate import Work
from positionbias.experiments.over_trainings import (
    ALL,
    BASELINE_FACTS,
    over_trainings,
    query_values,
)
from positionbias.experiments.systems import system_name
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias import ARCHITECTURES, DOSES, VARIANTS
from positionbias.papers.position_bias.findings import (
    Change,
    baselines,
    difference_of,
    idle_trainings,
    relative_of,
    together,
    trainings,
)
from positionbias.papers.position_bias.measured import Measured, found_first, measure_models
from positionbias.papers.position_bias.settings import (
    TRAIN,
    GridSettings,
    Level,
    PositionBiasSettings,
)
from positionbias.papers.position_bias.study import (
    NOTES,
    Passages,
    Wanted,
    both_texts,
    candidate_runs,
    check_splits,
    run_study,
    tested,
    wanted_trainings,
)
from positionbias.positions.histogram import position_histogram
from positionbias.positions.select import count_fitting, select
from positionbias.positions.settings import AnswerRange, HistogramOptions, Selection
from positionbias.results.payloads import AtsCurve, Comparison, Finding, PerQuery, PositionHistogram
from positionbias.results.result import Facts, Result
from positionbias.results.select import of_type

__all__ = ["run_position_bias"]

OfSystem = Callable[[Facts], Values]  # results of one measure


def kinds(results: Sequence[Result]) -> list[Facts]:
    """Return each kind of training of a model, whatever its variant, seed and draw."""
    return list(
        dict.fromkeys(
            replace(_kind(r.facts), variant="")
            for r in results
            if r.facts.variant and r.facts.model
        )
    )


def _kind(facts: Facts) -> Facts:
    return Facts(
        model=facts.model,
        training=facts.training,
        variant=facts.variant,
        unfinished=facts.unfinished,
    )


def named(kind: Facts) -> str:
    """Name a kind of training."""
    return ended_name(f"{kind.model} trained on {kind.training} passages", kind.unfinished)


def of_variant(
    results: Sequence[Result], measure: str, axis: str, kind: Facts, variant: str
) -> Comparison | None:
    """Return an axis's comparison of a training of one variant, over all queries and trainings, or
    None.
    """
    found = together(results, measure, axis, lambda r, c: (_kind(r.facts), c.subset))
    return found[key][1] if (key := (replace(kind, variant=variant), ALL)) in found else None


def change_by_variant(
    results: Sequence[Result], measure: str, kind: Facts, variants: Sequence[str]
) -> Finding | None:
    """Report the effect of rotating the test passages for each variant of a training, or None if
    not measured.
    """
    made = {
        variant: of_variant(results, measure, "test sets", kind, variant) for variant in variants
    }
    changes = {
        variant: relative_of(comparison)
        for variant, comparison in made.items()
        if comparison is not None
    }
    if not changes:
        return None
    listed = "; ".join(
        f"{change.shown() if change else 'undefined'} with {v}" for v, change in changes.items()
    )
    return Finding(
        f"{named(kind)}: when the test passages are rotated, {measure} changes by {listed}.", None
    )


def similarity_by_variant(results: Sequence[Result], variants: Sequence[str]) -> list[Finding]:
    """Report MATS of each variant in a sentence per training, as a mean over seeds and draws."""
    found = []
    for kind in kinds(results):
        listed = []
        for variant in variants:
            values = {
                (r.facts.seed, r.facts.rotation): r.value
                for r in results
                if isinstance(r.payload, AtsCurve)
                and r.value is not None
                and r.facts.test == "original"
                and replace(kind, variant=variant) == _kind(r.facts)
            }
            listed += [f"{figures_over(values).value:.3f} with {variant}"] if values else []
        if listed:
            found.append(
                Finding(
                    f"{named(kind)}: MATS on the original passages is {'; '.join(listed)}.", None
                )
            )
    return found


def variant_of(dose: AnswerRange) -> str:
    """Return the variant of a level's trainings in results."""
    return f"answers in {dose}"


def _label(dose: AnswerRange) -> str:
    """Return the label of a level's trainings in files."""
    return f"answers-{dose.low:g}-{dose.high:g}".replace(".", "_")


def run_position_bias(
    collection: Collection, settings: PositionBiasSettings, workspace: Workspace
) -> Path:
    """Run the study on ``collection`` in the workspace, with its arms; return the folder of its
    results.

    Raises:
        InputError: as ``check_splits``, or a range without a training query.
        SettingError: more training queries than a range has.
    """
    run = run_dose if settings.doses else run_architecture if settings.positions else run_study
    return run(collection, settings, workspace)


def run_dose(collection: Collection, settings: PositionBiasSettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: as ``check_splits``, or a level without a training query.
        SettingError: more training queries than a level has.
    """
    check_splits(collection, settings)
    queries = _number_of_queries(collection, settings, workspace)
    passages = both_texts(workspace, collection, settings)
    runs = candidate_runs(workspace, collection.path, settings, settings.splits)
    selected = {
        dose: _selected(workspace, passages, settings.selection(dose, queries), settings)
        for dose in settings.doses
    }
    measured = tested(
        workspace, passages, runs, settings, _dose_trainings(selected, runs, settings)
    )
    shown = {variant_of(dose): texts.original for dose, texts in selected.items()}
    return workspace.results(
        f"Dose: {collection.name}",
        "study position-bias",
        {**settings.record(), "queries": queries, "collection": dict(collection.manifest.settings)},
        {
            **measured.inputs(),
            **{f"training queries, {variant}": path for variant, path in shown.items()},
        },
        lambda: measure_doses(measured, settings, shown, workspace.map_shards),
        notes=(
            *NOTES,
            (
                f"Every level has {queries:,} training queries; validation and test queries are "
                "not selected, and are the same for all."
            ),
        ),
        seed=settings.seed,
    )


def _number_of_queries(
    collection: Collection, settings: PositionBiasSettings, workspace: Workspace
) -> int:
    """Return the number of queries per level, which all levels have."""
    fitting = {
        dose: count_fitting(collection, settings.selection(dose), map_shards=workspace.map_shards)
        for dose in settings.doses
    }
    fewest = min(fitting, key=fitting.__getitem__)
    if settings.queries is not None and settings.queries > fitting[fewest]:
        raise SettingError(
            f"--queries: wanted {settings.queries:,} training queries a level; found "
            f"{fitting[fewest]:,} with answers in {fewest}; lower it, or widen the level"
        )
    return settings.queries or fitting[fewest]


def _selected(
    workspace: Workspace, passages: Passages, selection: Selection, study: GridSettings
) -> Passages:
    """Return the collection and its rotations, all with the same training queries of one level."""
    folder = workspace.folder / "selected" / _label(selection.answers_in)
    original = _selection_step(workspace, passages.original, folder / "original", selection, None)
    if study.rotate_at_reading or "rotated" not in study.trainings:
        return Passages(original, {})
    rotated = {
        draw: _selection_step(
            workspace, path, folder / f"rotated-{draw}", selection, passages.original
        )
        for draw, path in passages.rotated.items()
    }
    return Passages(original, rotated)


def _selection_step(
    workspace: Workspace, source: Path, place: Path, selection: Selection, by: Path | None
) -> Path:
    workspace.stands_for(place, source)

    def make() -> None:
        collection = Collection(source)
        select(
            collection,
            place,
            selection,
            by=None if by is None else Collection(by),
            map_shards=workspace.map_shards,
            overwrite=True,
            name=f"{collection.name}, {variant_of(selection.answers_in)}",
            provenance=workspace.engine.host,
        )

    inputs = {"collection": workspace.checksum(source)} | (
        {} if by is None else {"chosen by": workspace.checksum(by)}
    )
    work = Work("queries selected from", workspace.counted(source).count_queries(TRAIN))
    return workspace.steps.make(
        f"select-{place.parent.name}-{place.name}",
        place,
        selection.record(),
        inputs,
        make,
        work=work,
    )


def _dose_trainings(
    selected: Mapping[Level, Passages], runs: Mapping[str, Path], study: GridSettings
) -> Iterator[Wanted]:
    """Yield every training, one seed after another, so that an interrupted study has whole
    comparisons.
    """
    for seed in study.seeds:
        for one, passages in selected.items():
            settings = replace(study, seeds=(seed,))
            yield from wanted_trainings(
                passages, runs, settings, variant=variant_of(one), label=_label(one)
            )


def measure_doses(
    measured: Measured,
    settings: PositionBiasSettings,
    shown: Mapping[str, Path],
    map_shards: MapShards,
) -> list[Result]:
    """Return a position-bias study's results, training answers by level, and comparisons of levels
    in the effect of rotation.

    ``shown`` has each level's collection by variant.
    """
    results, _ = measure_models(measured, settings)
    options = HistogramOptions(matching=settings.matching, seed=settings.seed)
    histograms = [
        replace(
            position_histogram(Collection(path), TRAIN, options, map_shards=map_shards),
            facts=Facts(variant=variant),
        )
        for variant, path in shown.items()
    ]
    qrels = [
        qrel for split in measured.tests for qrel in Collection(measured.original).qrels(split)
    ]
    clusters = clusters_by_passage(qrels, level=settings.test_relevant_from)
    headline = next(result for result in results if result.kind == "per_query")
    changes = changes_between_doses(
        results, headline.measure, _ordered(histograms), clusters, settings.seed
    )
    _, spoken = idle_trainings([*results, *changes])
    values = query_values(results)
    of_changes = [
        result
        for result in spoken
        if isinstance(result.payload, Comparison) and result.payload.noted.axis == DOSES
    ]
    changes += over_trainings(
        of_changes,
        clusters=clusters,
        seed=settings.seed,
        find=lambda name, facts: _change(lambda of: values(name, of), facts),
    )
    found = [*histograms, *results, *changes]
    return found_first(found, partial(dose_findings, found), settings.seed)


def _ordered(histograms: Sequence[Result]) -> list[str]:
    """Return the variants, the least front-loaded first."""
    return [
        result.facts.variant
        for result in sorted(histograms, key=lambda result: -(result.value or 0.0))
    ]


def changes_between_doses(
    results: Sequence[Result],
    measure: str,
    variants: Sequence[str],
    clusters: Mapping[str, str],
    seed: int,
) -> list[Result]:
    """Compare the change under rotation of the most front-loaded level with that of the least,
    query by query.

    There is one for each model, training, seed and draw. With v the value of a query, and d and d′
    the levels, it is (v_d′,rotated − v_d′,original) − (v_d,rotated − v_d,original), so that the
    effect of rotation on the text itself cancels out.
    """
    least, most = variants[0], variants[-1]
    rows = [r for r in results if r.measure == measure and isinstance(r.payload, PerQuery)]
    find = query_values(rows)
    found = []
    for result in rows:
        facts = result.facts
        pair = [
            _change(lambda of: find(measure, of), replace(facts, variant=variant))
            for variant in (least, most)
        ]
        if facts.variant != most or facts.test != "rotated" or not all(pair):
            continue
        names = [system_name(replace(facts, variant=variant)) for variant in (least, most)]
        comparison = compare(
            *pair,
            names=[f"change by rotation of {name}" for name in names],
            clusters=clusters,
            seed=seed,
            notes={
                "axis": DOSES,
                "systems": names,
                "test_sets": ["rotated", "rotated"],
                BASELINE_FACTS: asdict(replace(facts, variant=least)),
            },
        )
        # a share of a change has no meaning
        comparison = replace(
            comparison, relative=None, relative_as_printed=None, relative_interval=None
        )
        count, interval = comparison.noted.queries, comparison.difference_interval
        found.append(
            replace(
                result,
                value=comparison.difference,
                interval=interval,
                count=count,
                payload=comparison,
            )
        )
    return found


def _change(values: OfSystem, facts: Facts) -> dict[str, float]:
    """Return the effect of rotating the test passages by query; ``facts`` are those for rotated
    passages.
    """
    draw = facts.rotation if facts.training == "rotated" else None
    before, after = values(replace(facts, test="original", rotation=draw)), values(facts)
    return {
        query_id: after[query_id] - before[query_id] for query_id in before.keys() & after.keys()
    }


def dose_findings(results: Sequence[Result], measure: str) -> list[Finding]:
    """Return findings on training answers, changes by level and their differences, MATS, compared
    trainings, and baselines.
    """
    histograms = [
        (result, found)
        for result, found in of_type(results, PositionHistogram)
        if result.facts.variant
    ]
    variants = _ordered([result for result, _ in histograms])
    idle, spoken = idle_trainings(results)
    return [
        _positions(histograms, variants),
        *idle,
        *_test_sets(spoken, measure, variants),
        *similarity_by_variant(results, variants),
        *trainings(spoken, measure),
        *baselines(results, measure),
    ]


def _positions(
    histograms: Sequence[tuple[Result, PositionHistogram]], variants: Sequence[str]
) -> Finding:
    shares = {
        result.facts.variant: fifth.value
        for result, found in histograms
        if (fifth := found.figures.first_fifth)
    }
    coarse = {result.facts.variant: found.figures.coarse for result, found in histograms}
    means = {result.facts.variant: result.value or 0.0 for result, _ in histograms}
    listed = "; ".join(
        f"{v}, {percent(shares[v])} start in the first fifth (mean position {means[v]:.3f})"
        if v in shares
        else f"{v}, {coarse[v]}"
        for v in variants
    )
    number = " to ".join(f"{n:,}" for n in sorted({result.count for result, _ in histograms}))
    return Finding(f"Of the {number} training answers of each level: with {listed}.", None)


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
    """Report whether the most front-loaded level loses more by rotation than the least."""
    least, most = variants[0], variants[-1]
    start = f"{named(kind)}: the change with {most} less the change with {least}"
    if change is None or (change.interval is None and not change.by_seed):
        return Finding(f"{start} is undefined: it needs a model that re-ranks at both.", None)
    text = f"{start} is {change.shown('+.3f')} in {measure}"
    if change.interval is None:
        return Finding(f"{text}.", None)
    if change.interval.high < 0:
        return Finding(f"{text}: the more front-loaded training loses more.", True)
    if change.interval.low > 0:
        return Finding(
            f"{text}: the more front-loaded training loses less, which goes against the "
            "expectation.",
            False,
        )
    return Finding(f"{text}: these data do not distinguish the two levels.", None)


def run_architecture(
    collection: Collection, settings: PositionBiasSettings, workspace: Workspace
) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: as ``check_splits``.
    """
    check_splits(collection, settings)
    passages = both_texts(workspace, collection, settings)
    runs = candidate_runs(workspace, collection.path, settings, settings.splits)
    measured = tested(
        workspace, passages, runs, settings, _architecture_trainings(passages, runs, settings)
    )
    variants = [VARIANTS[name] for name in settings.positions]
    return workspace.results(
        f"Architecture: {collection.name}",
        "study position-bias",
        {**settings.record(), "collection": dict(collection.manifest.settings)},
        measured.inputs(),
        lambda: measure_architectures(measured, settings, variants),
        notes=(
            *NOTES,
            (
                "The trainings differ in the model's positions and in the text, and in nothing "
                f"else: {', '.join(variants)}."
            ),
        ),
        seed=settings.seed,
    )


def _architecture_trainings(
    passages: Passages, runs: Mapping[str, Path], settings: PositionBiasSettings
) -> Iterator[Wanted]:
    """Yield every training, one seed after another, so that an interrupted study has whole
    comparisons.
    """
    for seed in settings.seeds:
        for name in settings.positions:
            study = replace(
                settings, seeds=(seed,), models=(settings.with_positions(name),), positions=()
            )
            yield from wanted_trainings(passages, runs, study, variant=VARIANTS[name], label=name)


def measure_architectures(
    measured: Measured, settings: PositionBiasSettings, variants: Sequence[str]
) -> list[Result]:
    """Return a position-bias study's results, and comparisons of the usual model, trained on
    rotated passages, with changed ones.

    ``variants`` begin with the usual model.
    """
    results, _ = measure_models(measured, settings)
    qrels = [
        qrel for split in measured.tests for qrel in Collection(measured.original).qrels(split)
    ]
    clusters = clusters_by_passage(qrels, level=settings.test_relevant_from)
    changed = rotated_against_changed(results, variants, clusters, settings.seed)
    _, spoken = idle_trainings([*results, *changed])
    repeated = [
        r for r in spoken if isinstance(r.payload, PerQuery) or any(r is one for one in changed)
    ]
    found = [*results, *changed, *over_trainings(repeated, clusters=clusters, seed=settings.seed)]
    return found_first(
        found, lambda measure: architecture_findings(found, measure, variants), settings.seed
    )


def rotated_against_changed(
    results: Sequence[Result], variants: Sequence[str], clusters: Mapping[str, str], seed: int
) -> list[Result]:
    """Compare the usual model trained on rotated passages (candidate) with changed ones trained on
    original passages (baseline).

    There is one for each set of test passages, measure, seed and draw; p-values are corrected over
    the changed models and test sets.
    """
    usual, *changed = variants
    rows = {(r.measure, r.facts): r for r in results if isinstance(r.payload, PerQuery)}
    families: dict[tuple, list[tuple[Result, Comparison]]] = {}
    for (measure, facts), candidate in rows.items():
        if (facts.variant, facts.training) != (usual, "rotated"):
            continue
        draw = facts.rotation if facts.test == "rotated" else None
        for variant in changed:
            baseline = rows.get(
                (measure, replace(facts, variant=variant, training="original", rotation=draw))
            )
            if baseline is not None:
                pair = (candidate, _compared(baseline, candidate, clusters, seed))
                families.setdefault((measure, facts.seed, facts.rotation), []).append(pair)
    found = []
    for family in families.values():
        for (candidate, _), comparison in zip(
            family, adjust([one for _, one in family]), strict=True
        ):
            count, interval = comparison.noted.queries, comparison.difference_interval
            found.append(
                replace(
                    candidate,
                    value=comparison.difference,
                    interval=interval,
                    count=count,
                    payload=comparison,
                )
            )
    return found


def _compared(
    baseline: Result, candidate: Result, clusters: Mapping[str, str], seed: int
) -> Comparison:
    systems = [system_name(result.facts) for result in (baseline, candidate)]
    tests = [result.facts.test for result in (baseline, candidate)]
    return compare(
        _values(baseline),
        _values(candidate),
        names=(f"{systems[0]} on {baseline.collection}", f"{systems[1]} on {candidate.collection}"),
        clusters=clusters,
        seed=seed,
        notes={
            "axis": ARCHITECTURES,
            "systems": systems,
            "test_sets": tests,
            BASELINE_FACTS: asdict(baseline.facts),
        },
    )


def _values(result: Result) -> dict[str, float]:
    assert isinstance(result.payload, PerQuery)
    return result.payload.by_query


def architecture_findings(
    results: Sequence[Result], measure: str, variants: Sequence[str]
) -> list[Finding]:
    """Return findings on rotation by model, rotated data against changed models, compared
    trainings, MATS, and baselines.
    """
    idle, spoken = idle_trainings(results)
    changes = [change_by_variant(spoken, measure, kind, variants) for kind in kinds(results)]
    return [
        *idle,
        *(sentence for sentence in changes if sentence is not None),
        *trainings(spoken, measure, axis=ARCHITECTURES),
        *trainings(spoken, measure),
        *similarity_by_variant(results, variants),
        *_invariant(results, variants),
        *baselines(results, measure),
    ]


def _invariant(results: Sequence[Result], variants: Sequence[str]) -> list[Finding]:
    """Explain a MATS above 0 of a model without absolute positions."""
    probed = {result.facts.variant for result in results if result.kind == "ats"}
    named = " and ".join(
        name for name in variants if name in probed and name != VARIANTS["sinusoid"]
    )
    if not named:
        return []
    text = (
        f"With {named} a term's vector cannot depend on its place in the passage as such: MATS "
        "then reflects the words around that place, and a passage's ends."
    )
    return [Finding(text, None)]
