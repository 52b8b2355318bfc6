"""Tables of placed collections: places of evidence sentences and answers beside those intended, and
distances moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from positionbias.core.formatting import percent
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_empty,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import PlaceHistogram, SentenceMoves
from positionbias.results.result import Result
from positionbias.results.select import labels, of_kind

__all__ = ["moves_table", "places_table"]

FIGURES = {
    "mean_distance": "Sentences moved, mean",
    "mean_distance_of_uniform": "by uniform placing",
    "share_unmoved": "Unmoved",
    "share_moved_forward": "To the front",
    "share_moved_backward": "To the end",
    "mean_distance_weighted": "Weighted mean",
    "effective_questions": "Effective questions",
    "share_unmatched": "Unmatched",
    "largest_weight": "Largest weight",
}


def places_table(results: Sequence[Result]) -> Table:
    """Return the histograms of sentence places and answer starts: wanted, reached and, of
    sentences, before.
    """
    found = of_kind(results, "places")
    rows: list[list[Cell]] = []
    edges: Sequence[float] = ()
    for result, name in zip(found, labels(found, first=1), strict=True):
        payload = result.payload
        assert isinstance(payload, PlaceHistogram)
        edges = payload.edges
        parts = {
            "before": _shares(payload.before),
            "wanted": payload.wanted,
            "reached": _shares(payload.reached),
        }
        for part, shares in parts.items():
            if not shares:
                continue
            row = [text_cell(name), text_cell(result.measure), text_cell(part)]
            row += [percent_cell(share, sign=False) for share in shares]
            row.append(count_cell(None if part == "wanted" else result.count))
            row.append(p_cell(payload.p if part == "reached" else None))
            rows.append(row)
    columns = [Column(name, numeric=False) for name in ("Placed", "What", "Share")]
    columns += [Column(f"{percent(low, 0)} to {percent(high, 0)}") for low, high in pairwise(edges)]
    columns += [Column("Count"), Column("p of the fit")]
    notes = (
        (
            "A sentence stands in the fifth of its passage that holds its middle, were all "
            "sentences alike long; an answer in that of its first word."
        ),
        "Before: the same sentences in the original. p: chi-square over passages, within each "
        "number of sentences; none where the density leaves nothing to chance. Answer starts are "
        "reported beside the density, and not tested: sentences differ in length.",
    )
    return Table("places", "Where evidence was put", columns, rows, notes, stub=3)


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts)
    return [number / total for number in counts] if total else []


def moves_table(results: Sequence[Result]) -> Table:
    """Return how far evidence sentences were moved, and the cost of matching the distances of
    several arms.
    """
    found = of_kind(results, "moves")
    rows: list[list[Cell]] = []
    for result, name in zip(found, labels(found, first=1), strict=True):
        payload = result.payload
        assert isinstance(payload, SentenceMoves)
        rows.append(
            [
                text_cell(name),
                count_cell(result.count),
                *(_cell(key, getattr(payload.figures, key)) for key in FIGURES),
            ]
        )
    columns = [Column("Placed", numeric=False), Column("Questions"), *map(Column, FIGURES.values())]
    drop_empty(columns, rows, 2)
    return Table("moves", "How far evidence sentences were moved", columns, rows)


def _cell(figure: str, value: float | None) -> Cell:
    if value is not None and figure == "effective_questions":
        return count_cell(round(value))
    return (
        percent_cell(value, sign=False)
        if figure.startswith("share")
        else decimal_cell(value, places=2)
    )
