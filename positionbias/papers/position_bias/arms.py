"""The arms of the study of position bias, whose trainings differ in more than the text
(``Facts.variant``), and the study of remedies.

    --answers-in  for each dose: keep the training queries whose answers start in one part of their
                  passages, as many for every dose → train on the original and on the rotated
                  passages → test on both, all doses on the same queries
    --positions   for each kind of positions: train on the original and on the rotated passages
                  → test on both
    remedies      train without a remedy, and with each remedy in data, loss or model; give the
                  first each remedy at inference → test on both, and move the answering sentence
                  of test passages (``audit``)

The doses differ only in their training queries: passages, candidates, validation and test queries
are always those of the collection [decision]. The paper says of positions only that relative ones
brought no improvement (end of §7).

Bias is measured in two ways, as a remedy makes its own manipulation harmless by construction: the
change of quality when passages are rotated, and the effect of moving the answering sentence, the
end less the front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.evaluation.records import Facts
from positionbias.experiments.workspace import Workspace
from positionbias.models.remedies import AnyRemedy, Calibration, Remedy
from positionbias.models.shapes import Positions, TKConfig
from positionbias.papers.position_bias import (
    AT_INFERENCE,
    CALIBRATE,
    CONSISTENCY,
    CONSISTENT,
    IN_TRAINING,
    NO_REMEDY,
    TAUGHT,
    TEACHER,
    VARIANTS,
)
from positionbias.papers.position_bias.settings import (
    TRAIN,
    GridSettings,
    Level,
    PositionBiasSettings,
    RemedySettings,
)
from positionbias.papers.position_bias.study import (
    Arms,
    Grid,
    Passages,
    Wanted,
    check_splits,
    plain_arms,
    run_arms,
    wanted_trainings,
)
from positionbias.positions.rotate import Rotation
from positionbias.positions.select import count_fitting, select
from positionbias.positions.settings import AnswerRange, Selection
from positionbias.positions.shuffle import SentenceShuffle
from positionbias.training.plan import TrainPlan

__all__ = ["run_position_bias", "run_remedies"]


def run_position_bias(
    collection: Collection, settings: PositionBiasSettings, workspace: Workspace
) -> Path:
    """Run the study on ``collection`` in the workspace, with its arms; return the folder of its
    results.

    Raises:
        InputError: as ``check_splits``, or a range without a training query.
        SettingError: more training queries than a range has.
    """
    queries = 0
    if settings.doses:  # what does not fit is refused before anything is made
        check_splits(collection, settings)
        queries = _number_of_queries(collection, settings, workspace)

    def make(grid: Grid) -> Arms:
        if settings.doses:
            return _levels(grid, settings, queries)
        return _positions(grid, settings) if settings.positions else plain_arms(grid)

    return run_arms(collection, settings, workspace, make)


def run_remedies(collection: Collection, settings: RemedySettings, workspace: Workspace) -> Path:
    """Run the study of remedies in the workspace; return the folder of its results.

    Raises:
        InputError: as ``check_splits``.
    """
    return run_arms(collection, settings, workspace, lambda grid: _remedies(grid, settings))


# -- levels of front-loading -----------------------------------------------------------------------


def _levels(grid: Grid, settings: PositionBiasSettings, queries: int) -> Arms:
    selected = {
        dose: _selected(grid.workspace, grid.passages, settings.selection(dose, queries), settings)
        for dose in settings.doses
    }
    note = (
        f"Every level has {queries:,} training queries; validation and test queries are not "
        "selected, and are the same for all."
    )
    return Arms(
        "Dose",
        _dose_trainings(selected, grid.runs, settings),
        {variant_of(dose): texts.original for dose, texts in selected.items()},
        {"queries": queries},
        (note,),
    )


def variant_of(dose: AnswerRange) -> str:
    """Return the variant of a level's trainings in results."""
    return f"answers in {dose}"


def _label(dose: AnswerRange) -> str:
    """Return the label of a level's trainings in files."""
    return f"answers-{dose.low:g}-{dose.high:g}".replace(".", "_")


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
    return workspace.steps.make(
        f"select-{place.parent.name}-{place.name}",
        place,
        selection.record(),
        inputs,
        make,
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


# -- positions of a model --------------------------------------------------------------------------


def _positions(grid: Grid, settings: PositionBiasSettings) -> Arms:
    """Return every training, one seed after another, so that an interrupted study has whole
    comparisons.
    """
    wanted = (
        training
        for seed in settings.seeds
        for name in settings.positions
        for training in wanted_trainings(
            grid.passages,
            grid.runs,
            replace(settings, seeds=(seed,), models=(settings.with_positions(name),), positions=()),
            variant=VARIANTS[name],
            label=name,
        )
    )
    named = ", ".join(VARIANTS[name] for name in settings.positions)
    note = (
        "The trainings differ in the model's positions and in the text, and in nothing else: "
        f"{named}."
    )
    return Arms("Architecture", wanted, notes=(note,))


# -- remedies --------------------------------------------------------------------------------------

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


def _with_positions(name: Positions) -> _Change:
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
            _Trained(_one(_with_positions("none"))),
            _Trained(_one(_with_positions("relative"))),
        ),
        strict=True,
    )
)


def _remedies(grid: Grid, settings: RemedySettings) -> Arms:
    rotation = Rotation(words=settings.words, seed=max(settings.draws) + 1)
    once = grid.workspace.rotated(grid.collection.path, rotation)
    wanted = _wanted(grid.passages, once, grid.runs, settings)
    notes = ("The remedies share everything else.", *_notes(settings))
    return Arms("Remedies", wanted, notes=notes, command="study remedies")


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
            validation = runs[settings.validation], settings.validation
            plan = model.plan(candidates=runs[TRAIN], validation=validation, seed=seed)
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
