"""Candidates, vectors, exports and verifications as text."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.screen import line_width, shown_width, whole
from positionbias.core.verify import Verified
from positionbias.results.artefacts import ExportCounts, VectorFigures
from positionbias.results.result import Result
from positionbias.results.runs import BM25Figures, DenseFigures
from positionbias.results.select import of_type

__all__ = ["candidates_text", "export_text", "vectors_text", "verification_text"]

# what an export format cannot hold; shown where there was any
_LEFT_OUT = {
    "left_out": "questions left out: no answer of theirs has a place in its passage",
    "answers_left_out": "answers left out: the form has no place for them",
    "fields_left_out": "fields of queries left out: the form has no place for them",
    "unjudged": "queries without a judgement in a split that has some",
    "without_judgement": "queries without a judgement",
}


def candidates_text(results: Sequence[Result]) -> str:
    """Return how many candidates a retrieval found."""
    found = [
        result.payload
        for result in results
        if isinstance(result.payload, BM25Figures | DenseFigures)
    ]
    return "\n".join(
        f"{figures.candidates:,} candidates of {figures.queries:,} queries" for figures in found
    )


def vectors_text(results: Sequence[Result]) -> str:
    """Return how many vectors there are, and their size."""
    ((result, found),) = of_type(results, VectorFigures)
    size = found.passages * found.dimension * (2 if found.precision == "float16" else 4) / 1e6
    kept = f"{found.passages:,} vectors of {found.dimension} numbers, {found.precision}"
    return f"{result.collection}: {kept}, compared by {found.similarity}; {size:,.1f} MB"


def export_text(results: Sequence[Result]) -> str:
    """Return what an export wrote, and what its format cannot hold."""
    ((_, found),) = of_type(results, ExportCounts)
    lines = [
        ", ".join(
            f"{count:,} {name}" for name, count in found.rows.items() if name not in _LEFT_OUT
        )
    ]
    return "\n".join(
        [
            *lines,
            *(
                f"{n:,} {_LEFT_OUT[name]}"
                for name, n in found.rows.items()
                if n and name in _LEFT_OUT
            ),
        ]
    )


def verification_text(artefacts: Sequence[Verified]) -> str:
    """Return a line for each artefact: its state, kind and size, and its path, below where it does
    not fit; then what is damaged.
    """
    lines, width = [], line_width()
    for found in artefacts:
        state = "damaged" if found.fault else "whole"
        more = f" ({found.strange:,} files more than its manifest names)" if found.strange else ""
        own = f"{state:<11} {found.kind:<14} {found.files:>5,} files {found.bytes / 1e6:>10,.1f} MB"
        place = found.path
        line = f"{own}  {place}{more}"
        fits = width is None or shown_width(line) <= width
        lines += [line] if fits else [own, whole(f"    {place}{more}", width)]
        lines += [whole(f"    {found.fault}", width)] if found.fault else []
    return "\n".join(lines)
