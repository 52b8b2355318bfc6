"""Front-loading as a dose: a real collection with a bias of known size, and its own language.

    for each dose: keep the training queries whose answers start in one part of their passages, as many for every dose
    → train on the original and on the rotated passages → test on both, all doses on the same queries → change and MATS by dose

The doses differ in their training queries alone: passages, candidates, validation and test queries are those of the collection, whatever
was selected [decision]. What rotation does to the training text is the same as in ``studies.position_bias``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.positions.select import count_fitting, select
from positionbias.positions.settings import AnswerRange, Matching, Selection, Several
from positionbias.studies.dose_measured import measure_doses
from positionbias.studies.estimate import Work
from positionbias.studies.position_bias import (
    NOTES,
    Passages,
    StudySettings,
    both_texts,
    candidate_runs,
    check_splits,
    tested,
    trained,
)
from positionbias.studies.systems import Subject
from positionbias.studies.workshop import Workshop

__all__ = ["DoseSettings", "dose"]

SPLIT = "train"


@dataclass(frozen=True, slots=True)
class DoseSettings:
    """What the study is run with: the doses, how training queries are selected for them, and the settings of the position-bias study.

    ``queries`` is their number for every dose; None takes all of the dose that has fewest. They are drawn by (seed of the study, id).
    """

    doses: tuple[AnswerRange, ...]
    study: StudySettings = field(default_factory=StudySettings)
    queries: int | None = None
    several: Several = "all"
    matching: Matching = field(default_factory=Matching)

    def __post_init__(self) -> None:
        if len(set(self.doses)) < max(2, len(self.doses)):
            found = ", ".join(map(str, self.doses)) or "none"
            raise SettingError(f"--dose: wanted two or more, each once; found {found}; give --dose LOW:HIGH again")
        self.selection(self.doses[0])  # what is out of range shows before the study begins

    def selection(self, dose: AnswerRange, queries: int | None = None) -> Selection:
        """The training queries of a dose."""
        number = self.queries if queries is None else queries
        return Selection(dose, SPLIT, self.several, number, self.matching, self.study.seed)

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready."""
        selection = {"several": self.several, "matching": asdict(self.matching)}
        return {**self.study.record(), "doses": [str(dose) for dose in self.doses], **selection}


def variant_of(dose: AnswerRange) -> str:
    """What results say of the trainings of a dose."""
    return f"answers in {dose}"


def _label(dose: AnswerRange) -> str:
    """What their files say of it."""
    return f"answers-{dose.low:g}-{dose.high:g}".replace(".", "_")


def dose(collection: Collection, settings: DoseSettings, shop: Workshop) -> Path:
    """Run the study on ``collection`` in the workshop's folder; give back the folder of its results.

    Raises:
        InputError: as ``check_splits``; a dose that no training query has.
        SettingError: more training queries are wanted than a dose has.
    """
    study = settings.study
    check_splits(collection, study)
    queries = _number_of_queries(collection, settings, shop)
    passages = both_texts(shop, collection, study)
    runs = candidate_runs(shop, collection.path, study, study.splits)
    selected = {dose: _selected(shop, passages, settings.selection(dose, queries), study) for dose in settings.doses}
    measured = tested(shop, passages, runs, study, _trained(shop, selected, runs, study))
    shown = {variant_of(dose): texts.original for dose, texts in selected.items()}
    return shop.results(
        f"Dose: {collection.name}",
        "study dose",
        {**settings.record(), "queries": queries, "collection": dict(collection.manifest.settings)},
        {**measured.inputs(), **{f"training queries, {variant}": path for variant, path in shown.items()}},
        lambda: measure_doses(measured, settings.study, shown, settings.matching, shop.map_shards),
        notes=(
            *NOTES,
            f"Every dose has {queries:,} training queries; validation and test queries are not selected, and are the same for all [decision].",
        ),
        seed=study.seed,
    )


def _number_of_queries(collection: Collection, settings: DoseSettings, shop: Workshop) -> int:
    """As many for every dose as all of them have."""
    fitting = {dose: count_fitting(collection, settings.selection(dose), map_shards=shop.map_shards) for dose in settings.doses}
    fewest = min(fitting, key=fitting.__getitem__)
    if settings.queries is not None and settings.queries > fitting[fewest]:
        raise SettingError(
            f"--queries: wanted {settings.queries:,} training queries a dose; found {fitting[fewest]:,} with answers in {fewest}; "
            "lower it, or widen the dose"
        )
    return settings.queries or fitting[fewest]


def _selected(shop: Workshop, passages: Passages, selection: Selection, study: StudySettings) -> Passages:
    """The collection and its rotations with the training queries of one dose, the same queries of all."""
    folder = shop.folder / "selected" / _label(selection.answers_in)
    original = _selection_step(shop, passages.original, folder / "original", selection, None)
    if study.rotate_at_reading or "rotated" not in study.trainings:
        return Passages(original, {})
    rotated = {
        draw: _selection_step(shop, path, folder / f"rotated-{draw}", selection, passages.original)
        for draw, path in passages.rotated.items()
    }
    return Passages(original, rotated)


def _selection_step(shop: Workshop, source: Path, place: Path, selection: Selection, by: Path | None) -> Path:
    shop.stands_for(place, source)

    def make() -> None:
        collection = Collection(source)
        select(
            collection,
            place,
            selection,
            by=None if by is None else Collection(by),
            map_shards=shop.map_shards,
            overwrite=True,
            name=f"{collection.name}, {variant_of(selection.answers_in)}",
            provenance={"workers": shop.workers},
        )

    inputs = {"collection": shop.checksum(source)} | ({} if by is None else {"chosen by": shop.checksum(by)})
    work = Work("queries selected from", shop.counted(source).count_queries(SPLIT), by=2e-4)
    return shop.steps.make(f"select-{place.parent.name}-{place.name}", place, selection.record(), inputs, make, work=work)


def _trained(
    shop: Workshop, selected: Mapping[AnswerRange, Passages], runs: Mapping[str, Path], study: StudySettings
) -> Iterator[Subject]:
    """Every training: one seed after another, so that a study cut short has whole comparisons."""
    for seed in study.seeds:
        for one, passages in selected.items():
            settings = replace(study, seeds=(seed,))
            yield from trained(shop, passages, runs, settings, variant=variant_of(one), label=_label(one))
