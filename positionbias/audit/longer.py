"""Measure a model's response to evidence in texts longer than its passage, by length and cut into chunks; descriptive, without a verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.audit.chunk_grid import chunk_grid, chunks_to_score, make_documents
from positionbias.audit.length_grid import MOST, Material, length_grid, make_materials, sizes_of, texts_to_score
from positionbias.audit.lengths import ChunkSettings, Lengths
from positionbias.audit.manipulate import Asked
from positionbias.audit.reads import Reads
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System, Task
from positionbias.audit.trials import Trial
from positionbias.core.duration import duration_in_words
from positionbias.models.protocols import token_reader
from positionbias.results.chunk_grid import CHUNKS
from positionbias.results.length_grid import LENGTHS
from positionbias.results.result import Result

__all__ = ["LongerTexts"]


@dataclass(frozen=True)
class LongerTexts:
    """The grids of one system, from its queries in their drawn order and the times of the pilot's ``trials`` (``known``)."""

    system: System
    task: Task
    settings: AuditSettings
    reads: Reads
    query_ids: Sequence[str]
    trials: Sequence[Trial]
    known: Asked
    tell: Callable[[str], None]

    def lengths(self, lengths: Lengths) -> list[Result]:
        """Measure the same evidence at several places of texts of these lengths."""
        _, unit = sizes_of(self.system)
        materials, unmoved, apart = self._materials(lengths)
        reader = token_reader(self.system.model)
        texts, total = texts_to_score(materials, lengths, None if reader is None else reader.room)
        self._tell_time(f"{texts:,} texts of {lengths[0]:,} to {lengths[-1]:,} {unit}", total)
        seed = self.settings.seed
        grid = length_grid(
            self.system, self.task, materials, lengths, self.reads, unmoved=unmoved, unit=unit, apart=apart, seed=seed
        )
        if grid is None:
            return self._nothing("no text of these lengths", unmoved)
        count = grid.figures.queries
        return [self.system.result(self.task, LENGTHS, grid, value=None, count=count, seed=seed)]

    def chunks(self, chunks: ChunkSettings) -> list[Result]:
        """Measure the same evidence at several places of documents and of their chunks."""
        assert chunks.chunk is not None
        sizes, unit = sizes_of(self.system)
        materials, unmoved, apart = self._materials((chunks.chunk[0], chunks.document))
        seed = self.settings.seed
        documents = make_documents(materials, chunks.document, sizes, answers=not self.task.evidence.whole, seed=seed)
        texts, total = chunks_to_score(documents, chunks.pairs)
        self._tell_time(f"at most {texts:,} chunks of documents of {chunks.document:,} {unit}", float(total))
        grid = chunk_grid(
            self.system, self.task, documents, chunks.pairs, self.reads, unmoved=unmoved, unit=unit, apart=apart, seed=seed
        )
        if grid is None:
            return self._nothing("no document in chunks", unmoved)
        count = grid.figures.queries
        return [self.system.result(self.task, CHUNKS, grid, value=None, count=count, seed=seed)]

    def _materials(self, lengths: Sequence[int]) -> tuple[list[Material], dict[str, int], str]:
        settings = self.settings
        sizes, _ = sizes_of(self.system)
        most = min(MOST, settings.needles)
        level = settings.relevant_from
        return make_materials(self.task, self.query_ids, lengths, sizes, most=most, seed=settings.seed, level=level)

    def _tell_time(self, what: str, total: float) -> None:
        """Report the expected time of texts with ``total`` words or tokens together."""
        if self.known.texts and self.known.seconds:
            sizes, _ = sizes_of(self.system)
            short = float(np.mean(sizes([text for one in self.trials for text in one.texts])))
            seconds = self.known.seconds / self.known.texts * total / max(1.0, short)
            self.tell(f"{self.system.name}: {what}: {duration_in_words(seconds)}")

    def _nothing(self, what: str, unmoved: dict[str, int]) -> list[Result]:
        """Report why nothing was measured."""
        why = "; ".join(f"{count:,} queries: {reason}" for reason, count in unmoved.items())
        self.tell(f"{self.system.name}: {what} could be compared ({why or 'competitors that all score alike'})")
        return []
