"""Figures of the same evidence at several places of documents cut into chunks: cells, settings with their index budgets, and effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from positionbias.results.length_grid import GridFigures

__all__ = ["CHUNKS", "ChunkCell", "ChunkEffect", "ChunkEffectOf", "ChunkFigures", "ChunkGrid", "ChunkSetting", "Within"]

CHUNKS = "chunks by place"


class Within(StrEnum):
    """A place of the evidence in a chunk.

    ``ANYWHERE``: wherever its place in the document falls, perhaps across a border. ``START``, ``MIDDLE``, ``END``: whole in one chunk, at this
    place. ``CUT``: across a border, whole in no chunk.
    """

    ANYWHERE = "anywhere"
    START = "start"
    MIDDLE = "middle"
    END = "end"
    CUT = "cut"


class ChunkEffectOf(StrEnum):
    """The cause of an effect, a difference of two leads.

    ``PLACE``: evidence at a place in the document, wherever it falls in a chunk, less place 0. ``IN_CHUNK``: at one place of its chunk less another,
    over the same chunks. ``OF_CHUNK``: in one chunk of the document less another, over the same places in the chunk. ``CUT``: across a border less
    whole in a chunk. ``BUDGET``: the mean lead over the places, less that of another setting with as many chunks.
    """

    PLACE = "place in the document"
    IN_CHUNK = "place in the chunk"
    OF_CHUNK = "place of the chunk"
    CUT = "cut"
    BUDGET = "equal budget"


class ChunkFigures(GridFigures, frozen=True, kw_only=True):
    """Figures behind a chunk grid: those of a grid of lengths, and ``document``, the length of a document."""

    document: int


@dataclass(frozen=True, slots=True)
class ChunkSetting:
    """Chunks of ``chunk`` words or tokens that share ``overlap`` with their neighbours; a chunk as long as the document is the whole document.

    A document's index budget is ``vectors`` chunks with ``stored`` words or tokens; ``budget`` numbers groups of settings with about as many
    vectors. ``lead`` is the mean over the places of the document, with its interval; ``rank`` is the mean rank among the competitors. Of
    ``documents``, ``evidence_cut`` and ``answers_cut`` count those whose evidence or answer is whole in no chunk (None: no answer is known).
    ``deviation`` is that of the competitors' scores, in the system's own unit.
    """

    chunk: int
    overlap: int
    vectors: float
    stored: float
    budget: int
    lead: float | None
    low: float | None
    high: float | None
    rank: float
    documents: int
    evidence_cut: int
    answers_cut: int | None
    deviation: float


@dataclass(frozen=True, slots=True)
class ChunkCell:
    """The evidence at one place of the documents of one setting.

    ``place`` is that of the evidence in the document for ``ANYWHERE``, else that of its chunk among the whole chunks; None: the mean over these.
    ``score`` is its lead over the competitors in their deviations, with a simultaneous 95 % interval if any; ``rank`` is its mean rank among
    them. ``start`` is the mean word or token at which it starts in the document, ``held`` the mean number of chunks that hold it whole, ``cut``
    the share of queries where none does, ``beyond`` the share where no chunk has its start within the model's limit. ``queries`` have this cell.
    """

    chunk: int
    overlap: int
    within: Within
    place: float | None
    queries: int
    score: float | None
    low: float | None
    high: float | None
    rank: float
    start: float
    held: float
    cut: float
    beyond: float


@dataclass(frozen=True, slots=True)
class ChunkEffect:
    """One effect in deviations, with its simultaneous 95 % interval over all effects.

    The effect is ``place`` or ``within`` less ``against``. ``more`` is the number of further chunks that hold the evidence whole on the first
    side; unless it is 0, the effect includes that of a maximum over more chunks.
    """

    of: ChunkEffectOf
    chunk: int
    overlap: int
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    detectable: float | None = None
    queries: int = 0
    more: float = 0.0
    place: float | None = None
    within: Within | None = None
    against: str = ""


@dataclass(frozen=True, slots=True)
class ChunkGrid:
    """A chunked system's response to the place of the same evidence in a document and in its chunk; a document scores as its best chunk."""

    settings: Sequence[ChunkSetting]
    cells: Sequence[ChunkCell]
    effects: Sequence[ChunkEffect]
    figures: ChunkFigures
