"""Figures of artefacts (exported files, vectors, encoders, a teacher's scores) and of a study's
plan.
"""

from __future__ import annotations

from msgspec import Struct, field

from positionbias.results.figures import Figures, Rows

__all__ = [
    "EXPORT",
    "REMEDIED",
    "PLAN",
    "TEACHING",
    "VECTORS",
    "WORD_VECTORS",
    "ExportCounts",
    "Plan",
    "PlannedStep",
    "RemedyFigures",
    "TeachingFigures",
    "VectorFigures",
    "WordVectorFigures",
]

EXPORT, VECTORS, WORD_VECTORS, TEACHING, PLAN = (
    "export ",
    "vectors",
    "word vectors",
    "teaching",
    "plan",
)
REMEDIED = "remedy"


class ExportCounts(Rows[int], frozen=True):
    """The records that an export wrote, and those that its form cannot hold. The measure is
    ``export FORM``.
    """

    MEASURES = (EXPORT,)


class VectorFigures(Figures, frozen=True, kw_only=True):
    """The vectors of a collection's passages. ``truncated`` passages reach the model's limit;
    ``zero_vectors``: of passages with text.
    """

    MEASURES = (VECTORS,)

    passages: int
    dimension: int
    similarity: str
    precision: str
    truncated: int
    empty_passages: int
    zero_vectors: int = 0


class WordVectorFigures(Figures, frozen=True, kw_only=True):
    """Vectors of words distilled from an encoder. ``variance_kept`` is the share kept by the
    principal components.
    """

    MEASURES = (WORD_VECTORS,)

    checksum: str
    words: int
    dimension: int
    variance_kept: float
    words_without_pieces: int
    words_too_rare: int


class RemedyFigures(Figures, frozen=True, kw_only=True):
    """A model with a remedy at inference: the variants of a passage that it reads, and how their
    scores are pooled; one variant: other attention.
    """

    MEASURES = (REMEDIED,)

    variants: int
    maximum: bool


class TeachingFigures(Figures, frozen=True, kw_only=True, omit_defaults=True):
    """A teacher's scores; None where a figure does not apply to the teacher or the form of
    scores.
    """

    MEASURES = (TEACHING,)

    queries: int
    pairs: int
    groups: int | None = field(name="training groups", default=None)
    added: int | None = field(name="relevant passages added to the candidates", default=None)
    relevant_without_candidates: int | None = field(
        name="relevant passages of queries without candidates, left out", default=None
    )
    relevant_not_in_the_collection: int | None = field(
        name="relevant passages that are not in the collection", default=None
    )
    pairs_of_unknown_queries: int | None = field(
        name="pairs of unknown queries, left out", default=None
    )
    pairs_of_unknown_passages: int | None = field(
        name="pairs of unknown passages, left out", default=None
    )
    repeats_that_differ: int | None = field(
        name="pairs given again with another score", default=None
    )
    furthest_repeat: float | None = field(name="the largest difference of these", default=None)
    truncated: int | None = field(name="texts as long as the model reads", default=None)
    empty_queries: int | None = field(name="queries without a word", default=None)
    mean: float | None = field(name="mean score", default=None)
    least: float | None = field(name="least score", default=None)
    most: float | None = field(name="greatest score", default=None)
    order_only: bool = field(name="order only")


class PlannedStep(Struct, frozen=True):
    """A step of a study: whether it is done, and its expected seconds if known."""

    done: bool
    seconds: float | None


class Plan(Rows[PlannedStep], frozen=True):
    """The steps of a study by name, in order."""

    MEASURES = (PLAN,)
