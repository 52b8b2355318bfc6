"""Trained models and their outputs as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.collection_text import aligned
from positionbias.results.artefacts import RemedyFigures, TeachingFigures, WordVectorFigures
from positionbias.results.result import Result
from positionbias.results.runs import RerankingFigures
from positionbias.results.select import of_type

__all__ = ["remedy_text", "reranking_text", "teaching_text", "vectors_text"]


# shown also where they are 0
_ALWAYS = ("queries", "pairs", "mean score", "least score", "greatest score")


def reranking_text(results: Sequence[Result]) -> str:
    """Return a line per run: how many candidates were re-ranked."""
    return "\n".join(
        f"{result.system}: {figures.candidates:,} candidates re-ranked"
        if figures.passages
        else f"{result.system}: nothing to re-rank at depth 1, the candidates' own order"
        for result, figures in of_type(results, RerankingFigures)
    )


def teaching_text(results: Sequence[Result]) -> str:
    """Return a line per count, and what is known of a teacher's scores."""
    ((_, figures),) = of_type(results, TeachingFigures)
    told = [
        (label, f"{value:,}" if isinstance(value, int) else f"{value:.4f}")
        for label, value in figures.to_rows().items()
        if (value or label in _ALWAYS) and not isinstance(value, bool)
    ]
    return aligned(
        [*told, *([("scores", "their order only")] if figures.order_only else [])], left=1
    )


def vectors_text(results: Sequence[Result]) -> str:
    """Return a line per file of word vectors: its content, and the words it lacks."""
    return "\n".join(
        f"{figures.words:,} words, {figures.dimension} wide, {figures.variance_kept:.1%} of the "
        f"variance kept; left out: {figures.words_too_rare:,} too rare, "
        f"{figures.words_without_pieces:,} that the encoder cannot read"
        for _, figures in of_type(results, WordVectorFigures)
    )


def remedy_text(results: Sequence[Result]) -> str:
    """Name models with a remedy, and what it does."""
    return "\n".join(
        f"{result.system}: {_remedy(figures)}"
        for result, figures in of_type(results, RemedyFigures)
    )


def _remedy(figures: RemedyFigures) -> str:
    if figures.variants == 1:
        return "attention to the parts of a passage is evened out"
    return (
        f"each passage is read in {figures.variants} variants, and scored by their "
        f"{'maximum' if figures.maximum else 'mean'}"
    )
