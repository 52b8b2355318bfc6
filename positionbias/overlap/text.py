"""Overlap as text: a sentence for each test set and unit, then a table."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.cells import text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.overlap import ALL_SETS, ANY, OverlapFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["overlap_text", "overlap_verdict"]


def overlap_verdict(results: Sequence[Result]) -> list[str]:
    """Return a sentence for each test set and unit."""
    found = of_type(results, OverlapFigures)
    lines = []
    for result, of in found:
        if of.detector == ANY and (result.system == ALL_SETS or not _has_all(results)):
            lines.append(_sentence(result, of))
    return lines


def _has_all(results: Sequence[Result]) -> bool:
    return any(result.system == ALL_SETS for result in results)


def _sentence(result: Result, of: OverlapFigures) -> str:
    have = {
        "passages": "have a relevant passage in training",
        "queries": "are in training",
        "pairs": "are in training with a relevant passage",
    }
    share = f" ({result.value:.1%})" if result.value is not None else ""
    precision = "Precision unknown." if of.precision is None else f"Precision {of.precision:.2f}."
    if not of.queries:
        return f"{of.leaked:,} of {of.items:,} {of.unit} of {result.collection}{share} are in training. {precision}"
    return f"{of.leaked_queries:,} of {of.queries:,} queries of {result.collection}{share} {have[of.unit]}. {precision}"


def overlap_text(results: Sequence[Result], examples: Sequence[Sequence[str]] = ()) -> str:
    """Return the sentences and the table."""
    names = ("Test set", "Unit", "Detector", "Training set")
    numbers = ("Items", "Too short", "Leaked", "Queries", "Leaked queries", "Pairs", "Kept", "Shared")
    rows = [
        [
            *map(text_cell, (result.collection, of.unit, of.detector, result.system)),
            *(
                Cell(f"{count:,}")
                for count in (
                    of.items,
                    of.too_short,
                    of.leaked,
                    of.queries,
                    of.leaked_queries,
                    of.pairs,
                    of.kept,
                    of.shared_corpus,
                )
            ),
        ]
        for result, of in of_type(results, OverlapFigures)
    ]
    columns = [*(Column(name, numeric=False) for name in names), *map(Column, numbers)]
    return "\n".join([*overlap_verdict(results), "", as_text(Table("overlap", "Overlap", columns, rows))])
