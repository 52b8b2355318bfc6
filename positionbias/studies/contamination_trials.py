"""The trainings of a contamination study: teachers, clean and contaminated, their students, and what each makes of every target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from positionbias.core.convergence import ended_name
from positionbias.results.result import Facts

__all__ = ["ContaminationStudy", "Trial", "system_name"]


class Trial(NamedTuple):
    """One training.

    ``role`` is "teacher" or "student", ``source`` the target split whose judgements the teacher was trained on ("": none), ``share`` how
    much of that split's queries (0.0 where there is no source). ``runs`` by target split: the re-ranked candidates; ``trained`` the
    checkpoint.
    """

    role: str
    model: str
    loss: str
    source: str
    share: float
    seed: int
    runs: Mapping[str, Path]
    trained: Path


@dataclass(frozen=True)
class ContaminationStudy:
    """What there is to measure.

    ``candidates`` by target: the runs that are re-ranked. ``trainsets`` by source and share: the teachers' training sets, ("", 0.0) the
    clean one. Passages are relevant from grade ``relevant_from`` on where a measure is binary.
    """

    collection: Path
    targets: tuple[str, ...]
    candidates: Mapping[str, Path]
    trainsets: Mapping[tuple[str, float], Path]
    trials: Sequence[Trial]
    relevant_from: int = 2
    seed: int = 1

    def inputs(self) -> dict[str, Path]:
        """Every artefact that is read, by its part."""
        return {
            "collection": self.collection,
            **{f"candidates of {target}": path for target, path in self.candidates.items()},
            **{f"training set {source or 'clean'} {share:g}": path for (source, share), path in self.trainsets.items()},
            **{path.stem: path for trial in self.trials for path in trial.runs.values()},
            **{trial.trained.name: trial.trained for trial in self.trials},
        }


def system_name(facts: Facts) -> str:
    """What results call a system, the same for all seeds."""
    return ended_name(_named(facts), facts.unfinished)


def _named(facts: Facts) -> str:
    if not facts.role:
        return facts.model or (f"{facts.source}, share {facts.share:g}" if facts.share is not None else "clean")
    clean = f"{facts.role} {facts.model} ({facts.loss})"
    if not facts.source:
        return clean
    return f"{clean}, contaminated with {facts.source}" + (f", share {facts.share:g}" if facts.share not in (None, 1.0) else "")
