"""The systems of a TripClick study: models by training set and seed, the ensemble, and what each makes of every test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from positionbias.results.result import Facts
from positionbias.studies.tripclick_settings import TripClickSettings

__all__ = ["TripClickStudy", "Trial"]


class Trial(NamedTuple):
    """A system of one seed. ``facts`` are the same for all seeds; ``name`` is the model's in the study; ``runs`` by split; ``trained`` the
    checkpoint, None of an ensemble."""

    name: str
    facts: Facts
    seed: int
    runs: Mapping[str, Path]
    trained: Path | None


@dataclass(frozen=True)
class TripClickStudy:
    """What there is to measure. ``candidates`` by test split; ``trainsets`` by name."""

    collection: Path
    settings: TripClickSettings
    candidates: Mapping[str, Path]
    trainsets: Mapping[str, Path]
    trials: Sequence[Trial]

    def inputs(self) -> dict[str, Path]:
        """Every artefact that is read, by its part."""
        return {
            "collection": self.collection,
            **{f"candidates of {split}": path for split, path in self.candidates.items()},
            **{f"training set {name}": path for name, path in self.trainsets.items()},
            **{path.stem: path for trial in self.trials for path in trial.runs.values()},
            **{trial.trained.name: trial.trained for trial in self.trials if trial.trained is not None},
        }
