"""What a collection holds, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import count, plural
from positionbias.results.collections import PassageFigures, QueryFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = [
    "collection_headlines",
]


def collection_headlines(results: Sequence[Result]) -> list[str]:
    """Return what a collection holds."""
    ((result, _),) = of_type(results, PassageFigures)
    splits = [(one.split, figures) for one, figures in of_type(results, QueryFigures)]
    asked = ", ".join(f"{split} {count(figures.queries)}" for split, figures in splits)
    answers = plural(sum(figures.answers for _, figures in splits), "answer")
    queries = plural(sum(figures.queries for _, figures in splits), "query")
    return [
        (
            f"{result.collection}: {plural(result.count, 'passage')}, {queries} "
            f"({asked or 'no split'}) and {answers}."
        )
    ]
