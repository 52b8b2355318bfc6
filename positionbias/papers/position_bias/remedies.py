"""Run the study of remedies: what each does to quality on original passages, and to bias.

    for each seed and model: train without a remedy, and with each remedy in data, loss or model
    → give the first each remedy at inference → re-rank original and rotated test passages
    → move the answering sentence of test passages (``audit``) → compare each with none

Bias is measured in two ways, as a remedy makes its own manipulation harmless by construction: the
change of quality when passages are rotated, and the effect of moving the answering sentence, the
end less the front. All remedies share candidates, validation and test queries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from positionbias.core.collection import Collection
from positionbias.core.formatting import percent
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.evaluation.trainings import Values
from positionbias.experiments.over_trainings import (
    BASELINE_FACTS,
    Find,
    over_trainings,
    query_values,
)
from positionbias.experiments.systems import Subject, system_name
from positionbias.experiments.workspace import Workspace
from positionbias.models.remedies import AnyRemedy, Calibration, Remedy
from positionbias.models.shapes import Positions, TKConfig
from positionbias.papers.position_bias import (
    AT_INFERENCE,
    CALIBRATE,
    CONSISTENCY,
    CONSISTENT,
    IN_TRAINING,
    MOVED,
    NO_REMEDY,
    REMEDIES,
    TAUGHT,
    TEACHER,
    place_of,
)
from positionbias.papers.position_bias.dominance import dominated
from positionbias.papers.position_bias.findings import (
    baselines,
    difference_of,
    idle_trainings,
    relative_of,
    that_re_rank,
    together,
)
from positionbias.papers.position_bias.measured import Measured, found_first, measure_models
from positionbias.papers.position_bias.settings import TRAIN, RemedySettings
from positionbias.papers.position_bias.study import (
    NOTES,
    Passages,
    Wanted,
    best_of,
    both_texts,
    candidate_runs,
    check_splits,
    tested,
)
from positionbias.positions.rotate import Rotation
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.results.payloads import Comparison, Contrast, Finding, PerQuery
from positionbias.results.query_effects import QueryEffects
from positionbias.results.result import Facts, Result, load_results
from positionbias.results.select import of_type
from positionbias.training.plan import TrainPlan

__all__ = ["run_remedies"]

OFFSET = 200  # of --offset-positions, about the longest passages that these models read [decision]
CALIBRATIONS = [  # of which validation chooses; the published one has 0.5, 128 and 0.5 [decision]
    Calibration(strength, basket, layers)
    for strength in (0.5, 1.0)
    for basket in (16, 128)
    for layers in (0.5, 1.0)
]
_Change = Callable[[TrainPlan], TrainPlan]


def _one(change: _Change) -> Mapping[str, _Change]:
    """Return the changes of a remedy with one setting."""
    return {"": change}


@dataclass(frozen=True, slots=True)
class _Trained:
    """A remedy in training: the change of the plan by setting, of which validation chooses if there
    are several; whether the passages are rotated once; with what the scores of the model without a
    remedy teach."""

    changes: Mapping[str, _Change] = field(default_factory=lambda: _one(lambda plan: plan))
    rotated: bool = False
    taught_with: Remedy | None = None


def _positions(name: Positions) -> _Change:
    def change(plan: TrainPlan) -> TrainPlan:
        assert isinstance(plan.model, TKConfig)
        return replace(plan, model=replace(plan.model, positions=name))

    return change


def _consistent(weight: float) -> _Change:
    return lambda plan: replace(plan, training=replace(plan.training, consistency=weight))


def _seed(plan: TrainPlan) -> int:
    return plan.training.seed


_TRAINED: Mapping[str, _Trained] = dict(
    zip(
        IN_TRAINING,
        (
            _Trained(rotated=True),
            _Trained(_one(lambda plan: replace(plan, rotate=Rotation(seed=_seed(plan))))),
            _Trained(_one(lambda plan: replace(plan, shuffle=SentenceShuffle(seed=_seed(plan))))),
            _Trained({f"{weight:g}": _consistent(weight) for weight in CONSISTENCY}),
            _Trained(taught_with=TEACHER),
            _Trained(
                _one(
                    lambda plan: replace(
                        plan, training=replace(plan.training, offset_positions=OFFSET)
                    )
                )
            ),
            _Trained(_one(_positions("none"))),
            _Trained(_one(_positions("relative"))),
        ),
        strict=True,
    )
)


def run_remedies(collection: Collection, settings: RemedySettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: as ``check_splits``.
    """
    check_splits(collection, settings)
    passages = both_texts(workspace, collection, settings)
    once = workspace.rotated(
        collection.path, Rotation(words=settings.words, seed=max(settings.draws) + 1)
    )
    runs = candidate_runs(workspace, collection.path, settings, settings.splits)
    measured = tested(workspace, passages, runs, settings, _wanted(passages, once, runs, settings))
    return workspace.results(
        f"Remedies: {collection.name}",
        "study remedies",
        {**settings.record(), "collection": dict(collection.manifest.settings)},
        {**measured.inputs(), "rotated once": once},
        lambda: measure_remedies(measured, settings),
        notes=(*NOTES, "The remedies share everything else.", *_notes(settings)),
        seed=settings.seed,
    )


def _notes(settings: RemedySettings) -> list[str]:
    """Say how the settings of the study's own remedies were found."""
    draw = "passages that are rotated by a draw of their own, which no test has"
    best = f"by {settings.measures[0]} on validation {draw}"
    weights = ", ".join(f"{weight:g}" for weight in CONSISTENCY)
    notes = {
        "rotated once": f"A model “rotated once” is trained on {draw}.",
        CONSISTENT: (
            f"For each training, the weight of consistency is the best of {weights} {best}."
        ),
        CALIBRATE: (
            f"For each training, the strength, basket and layers of {CALIBRATE} are the best of "
            f"{len(CALIBRATIONS)} settings {best}."
        ),
        "random offsets": f"Offsets are at most {OFFSET}, which was not tuned.",
        TAUGHT: (
            f"The teacher of a model “{TAUGHT}” is the one without a remedy, read by {TEACHER}, "
            "which was not tuned."
        ),
    }
    return [note for name, note in notes.items() if name in settings.remedies]


def _wanted(
    passages: Passages, once: Path, runs: Mapping[str, Path], settings: RemedySettings
) -> Iterator[Wanted]:
    """Yield every model, one seed after another, so that an interrupted study has whole
    comparisons; the one without a remedy has with it what is made of it.
    """
    for seed in settings.seeds:
        for model in settings.models:
            plan = model.plan(
                runs[TRAIN],
                runs[settings.validation],
                seed=seed,
                validation_split=settings.validation,
            )
            facts = Facts(
                model=model.kind,
                training="original",
                seed=seed,
                pretrained=model.pretrained,
                variant=NO_REMEDY,
            )
            none = Wanted(facts, _name(facts), passages.original, plan)
            trained = [_trained(none, name, once) for name in settings.in_training(model)]
            given = [_given(none, one, once) for one in settings.at_inference(model)]
            yield none._replace(then=(*given, *(one for one in trained if one.taught_with)))
            yield from (one for one in trained if not one.taught_with)


def _trained(none: Wanted, remedy: str, once: Path) -> Wanted:
    """Return the model without a remedy, trained with one instead."""
    of, facts = _TRAINED[remedy], replace(none.facts, variant=remedy)
    one = none._replace(facts=facts, name=_name(facts), taught_with=of.taught_with, choose_on=once)
    if of.rotated:
        one = one._replace(collection=once)
    settled = [
        (setting, one._replace(name=_name(facts, setting), plan=change(none.plan)))
        for setting, change in of.changes.items()
    ]
    return one._replace(choices=tuple(settled)) if len(settled) > 1 else settled[0][1]


def _given(none: Wanted, remedy: AnyRemedy | None, once: Path) -> Wanted:
    """Return the model without a remedy with one at inference; None: calibrated, by settings to
    choose.
    """
    facts = replace(none.facts, variant=f"{remedy or CALIBRATE}{AT_INFERENCE}")
    if remedy is not None:
        return none._replace(facts=facts, remedy=remedy)
    choices = tuple((str(one), none._replace(facts=facts, remedy=one)) for one in CALIBRATIONS)
    return none._replace(
        facts=facts, name=f"{none.name}-{CALIBRATE}", choices=choices, choose_on=once
    )


def _name(facts: Facts, setting: str = "") -> str:
    remedy = f"{facts.variant} {setting}".strip().replace(" ", "-")
    return f"{facts.model}-{remedy}-seed-{facts.seed}"


def measure_remedies(measured: Measured, settings: RemedySettings) -> list[Result]:
    """Return the results of each model, the effects of moved sentences, and comparisons of each
    remedy with none.
    """
    results, _ = measure_models(measured, settings)
    collection = Collection(measured.original)
    qrels = [qrel for split in measured.tests for qrel in collection.qrels(split)]
    clusters = clusters_by_passage(qrels, level=settings.test_relevant_from)
    results += [
        one
        for subject, path in zip(measured.subjects, measured.moved, strict=True)
        for result, effects in of_type(load_results(path), QueryEffects)
        if (one := _of_moved(result, effects, subject, clusters)) is not None
    ]
    headline = next(result for result in results if result.kind == "per_query").measure
    compared = [
        one
        for measure in (headline, MOVED)
        for one in compared_with_none(results, measure, clusters, settings.seed)
    ]
    _, spoken = idle_trainings([*results, *compared])
    repeated = [
        r for r in spoken if isinstance(r.payload, PerQuery) or any(r is one for one in compared)
    ]
    found = [*results, *compared, *over_seeds(repeated, clusters, settings.seed)]
    chosen = [chosen_finding(load_results(path)) for path in measured.choices]
    return found_first(
        found, lambda measure: [*remedy_findings(found, measure, clusters), *chosen], settings.seed
    )


def chosen_finding(results: Sequence[Result]) -> Finding:
    """Say which settings of a remedy validation chose, and what it measured of each."""
    best, facts = best_of(results), results[0].facts
    values = ", ".join(f"{one.value:.3f} with {one.system}" for one in results)
    equal = sum(one.value == best.value for one in results)
    how = f"is the first of {equal} settings that share the best" if equal > 1 else "has the best"
    where = f"{best.measure} on rotated passages of {best.split}"
    return Finding(
        f"{facts.model}, {facts.variant}, seed {facts.seed}: {best.system} was chosen, as it {how} "
        f"{where} ({values}).",
        None,
    )


def _of_moved(
    result: Result, effects: QueryEffects, subject: Subject, clusters: Mapping[str, str]
) -> Result | None:
    """Return each query's effect of moving its sentence to the end less to the front; None where
    none was moved.
    """
    column = effects.moved.get(Contrast.ENDS.value, ())
    known = {
        query_id: value
        for query_id, value in zip(effects.query_ids, column, strict=False)
        if value is not None
    }
    if not known:
        return None
    labels = [clusters.get(query_id, query_id) for query_id in known]
    payload = PerQuery(list(known), list(known.values()), clusters=labels)
    facts = replace(subject.facts, test="original")
    mean = sum(known.values()) / len(known)
    return replace(
        result,
        measure=MOVED,
        system=subject.system,
        value=mean,
        count=len(known),
        payload=payload,
        facts=facts,
        interval=None,
    )


def compared_with_none(
    results: Sequence[Result], measure: str, clusters: Mapping[str, str], seed: int
) -> list[Result]:
    """Compare each remedy with the same model and seed without one, on original passages; p-values
    corrected over the remedies.

    Of moved sentences the sizes are compared: |mean with the remedy| − |mean without| has no value
    by query, so each query's effect counts with the sign of its remedy's mean over all trainings.
    """
    rows = {
        r.facts: r
        for r in results
        if isinstance(r.payload, PerQuery) and r.measure == measure and r.facts.test == "original"
    }
    values = compared_values(results)
    families: dict[int | None, list[tuple[Result, Comparison]]] = {}
    for facts, candidate in rows.items():
        baseline = rows.get(replace(facts, variant=NO_REMEDY))
        if facts.variant in ("", NO_REMEDY) or baseline is None:
            continue
        comparison = compare(
            values(measure, baseline.facts),
            values(measure, facts),
            names=[system_name(one.facts) for one in (baseline, candidate)],
            clusters=clusters,
            seed=seed,
            notes={
                "axis": REMEDIES,
                "systems": [baseline.system, candidate.system],
                "test_sets": ["original", "original"],
                BASELINE_FACTS: asdict(baseline.facts),
            },
        )
        families.setdefault(facts.seed, []).append((candidate, comparison))
    return [
        replace(
            candidate,
            value=one.difference,
            interval=one.difference_interval,
            count=one.noted.queries,
            payload=one,
        )
        for family in families.values()
        for (candidate, _), one in zip(family, adjust([one for _, one in family]), strict=True)
    ]


def compared_values(results: Sequence[Result]) -> Find:
    """Return a look-up of the values by query that are compared: of moved sentences with the sign
    of their remedy's mean over all trainings.

    With a sign for each training, a remedy whose effects only vary more than another's had more
    bias, for each training's noise counted as bias.
    """
    values = query_values(results)
    sums: defaultdict[Facts, float] = defaultdict(float)
    for result in results:
        if result.measure == MOVED and isinstance(result.payload, PerQuery):
            by_query = values(MOVED, result.facts)
            sums[replace(result.facts, seed=None)] += sum(by_query.values()) / max(len(by_query), 1)

    def find(measure: str, facts: Facts) -> Values:
        found = values(measure, facts)
        if measure != MOVED or sums[replace(facts, seed=None)] >= 0:
            return found
        return {query_id: -value for query_id, value in found.items()}

    return find


def over_seeds(results: Sequence[Result], clusters: Mapping[str, str], seed: int) -> list[Result]:
    """Return each repeated comparison over trainings and queries, of the same values as by
    itself.
    """
    return over_trainings(results, clusters=clusters, seed=seed, find=compared_values(results))


def remedy_findings(
    results: Sequence[Result], measure: str, clusters: Mapping[str, str] = MappingProxyType({})
) -> list[Finding]:
    """Say of each remedy what it does to bias and to quality, or that the data do not decide, and
    which are dominated.
    """
    idle, spoken = idle_trainings(results)
    found = {
        of: together(
            spoken,
            of,
            REMEDIES,
            lambda result, comparison: (result.facts.model, result.facts.variant),
        )
        for of in (measure, MOVED)
    }
    sentences = []
    for key in sorted(found[measure], key=lambda key: place_of(key[1])):
        quality, bias = (
            difference_of(found[of][key][1]) if key in found[of] else None
            for of in (measure, MOVED)
        )
        model, variant = key
        if quality is None:
            continue
        start = (
            f"{model}, {variant}, against {NO_REMEDY}: {measure} on original passages "
            f"{quality.shown('+.3f')}"
        )
        if bias is None:
            sentences.append(Finding(f"{start}.", None))
            continue
        text = f"{start}; size of the effect of a moved sentence {bias.shown('+.3f')}"
        sides = [
            None
            if one.interval is None or one.interval.low <= 0 <= one.interval.high
            else one.value > 0
            for one in (quality, bias)
        ]
        meaning = {
            (None, None): "these data decide neither",
            (False, None): "less quality, and these data do not decide whether the bias falls",
            (True, None): "more quality, and these data do not decide whether the bias falls",
            (None, False): "less bias, and no difference in quality that these data show",
            (False, False): "less bias, at a price in quality",
            (True, False): "less bias and more quality",
        }.get((sides[0], sides[1]), "no remedy here: the bias does not fall")
        sentences.append(Finding(f"{text}: {meaning}.", None if sides[1] is None else not sides[1]))
    of_methods = that_re_rank(spoken)
    worse = dominated(of_methods, measure, compared_values(of_methods), clusters)
    return [
        *idle,
        *sentences,
        *worse,
        _advice(found[measure], found[MOVED], measure),
        *baselines(results, measure),
    ]


def _advice(quality: Mapping, bias: Mapping, measure: str) -> Finding:
    """Name the remedies that lower the bias without a loss of quality that the data show; intervals
    must leave out 0 and speak of more than one checkpoint.
    """
    good = []
    for key in bias:
        lower, kept = (
            difference_of(bias[key][1]),
            difference_of(quality[key][1]) if key in quality else None,
        )
        if lower is None or kept is None or lower.interval is None or kept.interval is None:
            continue
        if lower.interval.high >= 0 or not lower.of_method:
            continue
        if kept.interval.high >= 0:
            relative = relative_of(quality[key][1])
            most = (
                ""
                if relative is None or relative.interval is None
                else f" (at worst {percent(relative.interval.low, sign=True)} {measure})"
            )
            good.append(f"{key[0]} with {key[1]}{most}")
    if good:
        return Finding(
            f"Remedies that lower the bias, with no loss of quality shown: {'; '.join(good)}.", True
        )
    return Finding(
        "No remedy is shown to lower the bias without a loss of quality: these data decide "
        "nothing, or each has its price.",
        None,
    )
