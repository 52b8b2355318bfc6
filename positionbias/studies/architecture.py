"""Is rotating the data better than changing the model? TK with sinusoid, no, and relative positions.

    for each kind of positions: train on the original and on the rotated passages → test on both → effectiveness, change, MATS

The usual model trained on rotated passages stands against each changed model trained on the passages as they are. The paper
says of relative positions only that they brought no improvement (end of §7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.models.shapes import POSITIONS, Positions
from positionbias.studies.architecture_measured import VARIANTS, measure_architectures
from positionbias.studies.model_settings import ModelSettings
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

__all__ = ["ArchitectureSettings", "architecture"]


@dataclass(frozen=True, slots=True)
class ArchitectureSettings:
    """What the study is run with: the positions, the usual ones first, and the settings of the position-bias study of one TK."""

    positions: tuple[Positions, ...] = POSITIONS
    study: StudySettings = field(default_factory=StudySettings)

    def __post_init__(self) -> None:
        known = [name for name in self.positions if name in POSITIONS]
        if len(set(known)) < max(2, len(self.positions)):
            found = ", ".join(map(str, self.positions)) or "none"
            raise SettingError(f"--positions: wanted two or more of {', '.join(POSITIONS)}, each once; found {found}")
        kinds = [model.kind for model in self.study.models]
        if kinds != ["tk"]:
            raise SettingError(f"--models: wanted tk, whose positions can be changed; found {', '.join(kinds)}; leave it out")
        if self.study.models[0].start is not None:
            start = self.study.models[0].start
            raise SettingError(f"--start: wanted none, as a checkpoint has its positions; found {start.name}; leave it out")

    def model(self, positions: Positions) -> ModelSettings:
        """The model with these positions."""
        model = self.study.models[0]
        return replace(model, model=replace(model.model, positions=positions))

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready."""
        return {**self.study.record(), "models": [self.model(name).record() for name in self.positions]}


def architecture(collection: Collection, settings: ArchitectureSettings, shop: Workshop) -> Path:
    """Run the study on ``collection`` in the workshop's folder; give back the folder of its results.

    Raises:
        InputError: as ``check_splits``.
    """
    study = settings.study
    check_splits(collection, study)
    passages = both_texts(shop, collection, study)
    runs = candidate_runs(shop, collection.path, study, study.splits)
    measured = tested(shop, passages, runs, study, _trained(shop, passages, runs, settings))
    variants = [VARIANTS[name] for name in settings.positions]
    return shop.results(
        f"Architecture: {collection.name}",
        "study architecture",
        {**settings.record(), "collection": dict(collection.manifest.settings)},
        measured.inputs(),
        lambda: measure_architectures(measured, study, variants),
        notes=(
            *NOTES,
            f"The trainings differ in the model's positions and in the text, and in nothing else: {', '.join(variants)}.",
        ),
        seed=study.seed,
    )


def _trained(shop: Workshop, passages: Passages, runs: Mapping[str, Path], settings: ArchitectureSettings) -> Iterator[Subject]:
    """Every training: one seed after another, so that a study cut short has whole comparisons."""
    for seed in settings.study.seeds:
        for name in settings.positions:
            study = replace(settings.study, seeds=(seed,), models=(settings.model(name),))
            yield from trained(shop, passages, runs, study, variant=VARIANTS[name], label=name)
