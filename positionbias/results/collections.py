"""Figures of collections: their contents, and their making from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from msgspec import UNSET, Struct, UnsetType, field

from positionbias.core.json_text import Json, JsonObject
from positionbias.results.figures import Figures

__all__ = [
    "COLLECTION_MEASURES",
    "PASSAGES",
    "PLACEMENT",
    "QUERIES",
    "ROTATION",
    "SELECTION",
    "Absent",
    "AnswersMoved",
    "Lengths",
    "Origin",
    "PassageFigures",
    "PassageLengths",
    "PlacementFigures",
    "QueryFigures",
    "QueryLengths",
    "RotationFigures",
    "SelectionFigures",
    "SourceInput",
]

COLLECTION_MEASURES = PASSAGES, QUERIES = "passages", "queries"
ROTATION, SELECTION, PLACEMENT = "rotation", "selection", "placement"


class SourceInput(Struct, frozen=True):
    """An input of a collection, as in its manifest."""

    role: str
    path: str
    checksum: str


class Origin(Struct, frozen=True):
    """The origin of a collection, from its manifest. In ``content``, lists of a source are replaced
    by their lengths.
    """

    command: str
    settings: JsonObject = {}
    licence: str = ""
    inputs: Sequence[SourceInput] = ()
    notes: Sequence[str] = ()
    content: JsonObject = {}
    versions: Mapping[str, str] = {}
    created: str | None = None


class Lengths(Struct, frozen=True, kw_only=True):
    """The lengths of texts in words: sum, mean, quantiles, and texts without a word; None without
    texts.
    """

    words: int
    mean_words: float | None
    words_quantiles: Mapping[str, int | None]
    without_words: int


class PassageLengths(Lengths, frozen=True, kw_only=True):
    """The lengths of passages, and the share that a re-ranker cuts."""

    READ: ClassVar[int] = 200
    share_over: float | None = field(name="share_over_200_words")


class QueryLengths(Lengths, frozen=True, kw_only=True):
    """The lengths of queries, and the share that a re-ranker cuts."""

    READ: ClassVar[int] = 30
    share_over: float | None = field(name="share_over_30_words")


class PassageFigures(Figures, frozen=True, kw_only=True):
    """The passages of a collection, its origin, and the passages' lengths if read."""

    MEASURES = (PASSAGES,)
    FLAT = "lengths"

    passages: int
    manifest: Origin
    lengths: PassageLengths | None = None


class Absent(Struct, frozen=True):
    """Judgements of passages that are not in the collection."""

    judgements: int
    passages: int


class QueryFigures(Figures, frozen=True, kw_only=True):
    """A split's queries, and their lengths if read. ``further_judgements`` counts those of other
    judgement sets by name.
    """

    MEASURES = (QUERIES,)
    FLAT = "lengths"

    queries: int
    judgements: int
    answers: int
    further_judgements: Mapping[str, int] | UnsetType = UNSET
    absent: Absent | UnsetType = UNSET
    lengths: QueryLengths | None = None


class AnswersMoved(Struct, frozen=True):
    """The answers of a split: ``kept`` ones moved with their passage, ``cut`` ones were dropped."""

    answers: int
    kept: int
    cut: int


class RotationFigures(Figures, frozen=True, kw_only=True):
    """The counts of a rotation. ``passages`` are by outcome, ``answers`` by split.

    A collection has ``passages_checksum``, a file ``sha256``; both cover only the content.
    """

    MEASURES = (ROTATION,)

    passages: Mapping[str, int]
    share_without_inner_sentence_boundary: float | UnsetType = UNSET
    answers: Mapping[str, AnswersMoved] = {}
    passages_checksum: str | UnsetType = UNSET
    sha256: str | UnsetType = UNSET

    def to_rows(self) -> dict[str, Json]:
        """Return the figures as in JSON, with a split's answers as ``answers_SPLIT``."""
        rows: dict[str, Json] = {}
        for name, value in super().to_rows().items():
            if name == "answers" and isinstance(value, Mapping):
                rows |= {
                    f"answers_{split}" if split else name: counts for split, counts in value.items()
                }
            else:
                rows[name] = value
        return rows

    @classmethod
    def from_rows(cls, rows: JsonObject) -> Self:
        """Return the figures that ``to_rows`` wrote."""
        answers = {
            name.removeprefix("answers").removeprefix("_"): rows[name]
            for name in rows
            if name.startswith("answers")
        }
        return super().from_rows(
            {
                **{name: rows[name] for name in rows if not name.startswith("answers")},
                "answers": answers,
            }
        )


class SelectionFigures(Figures, frozen=True, kw_only=True):
    """The selection of a split's queries by the starts of their answers: ``kept`` of ``queries``,
    ``answers`` by outcome, ``unmatched`` by cause.

    ``without_known_position`` are those without a located answer that could start elsewhere in its
    passage.
    """

    MEASURES = (SELECTION,)

    kept: int
    queries: int
    without_known_position: int
    outside: int
    inside_in_part: int
    inside: int
    answers: Mapping[str, int]
    unmatched: Mapping[str, int] | UnsetType = UNSET


class PlacementFigures(Figures, frozen=True, kw_only=True):
    """The counts of a placing: ``passages`` by outcome, ``questions`` by split and outcome, answers
    by split.
    """

    MEASURES = (PLACEMENT,)

    passages: Mapping[str, int]
    questions: Mapping[str, Mapping[str, int]]
    splits: Mapping[str, AnswersMoved]
