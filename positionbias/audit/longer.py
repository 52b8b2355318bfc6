"""Measure a model's response to evidence in texts longer than its passage, by length; descriptive,
without a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.length_grid import (
    MOST,
    Sizes,
    length_grid,
    make_materials,
    sizes_of,
    texts_to_score,
)
from positionbias.audit.lengths import Lengths
from positionbias.audit.manipulate import Asked
from positionbias.audit.reads import Reads
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task
from positionbias.audit.trials import Trial
from positionbias.core.duration import duration_in_words
from positionbias.evaluation.length_grid import LENGTHS
from positionbias.models.protocols import token_reader

__all__ = ["LongerTexts"]


@dataclass(frozen=True)
class LongerTexts:
    """The grid of one system, from its queries in their drawn order and the times of the pilot's
    ``trials`` (``known``).
    """

    system: System
    task: Task
    settings: AuditSettings
    reads: Reads
    query_ids: Sequence[str]
    trials: Sequence[Trial]
    known: Asked
    tell: Callable[[str], None]

    def lengths(self, lengths: Lengths) -> list[Measurement]:
        """Measure the same evidence at several places of texts of these lengths."""
        sizes, unit = sizes_of(self.system)
        most, level, seed = (
            min(MOST, self.settings.needles),
            self.settings.relevant_from,
            self.settings.seed,
        )
        materials, unmoved, apart = make_materials(
            self.task, self.query_ids, lengths, sizes, most=most, seed=seed, level=level
        )
        reader = token_reader(self.system.model)
        texts, total = texts_to_score(materials, lengths, None if reader is None else reader.room)
        self._tell_time(
            f"{texts:,} texts of {lengths[0]:,} to {lengths[-1]:,} {unit}", total, sizes
        )
        grid = length_grid(
            self.system,
            self.task,
            materials,
            lengths,
            self.reads,
            unmoved=unmoved,
            unit=unit,
            apart=apart,
            seed=seed,
        )
        if grid is None:
            why = "; ".join(f"{number:,} queries: {reason}" for reason, number in unmoved.items())
            self.tell(
                f"{self.system.name}: no text of these lengths could be compared "
                f"({why or 'competitors that all score alike'})"
            )
            return []
        return [self.system.measured(LENGTHS, grid)]

    def _tell_time(self, what: str, total: float, sizes: Sizes) -> None:
        """Report the expected time of texts with ``total`` words or tokens together."""
        if self.known.texts and self.known.seconds:
            short = float(np.mean(sizes([text for one in self.trials for text in one.texts])))
            seconds = self.known.seconds / self.known.texts * total / max(1.0, short)
            self.tell(f"{self.system.name}: {what}: {duration_in_words(seconds)}")
