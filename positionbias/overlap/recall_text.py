"""Recall as text: planted duplicates found, by kind and detector, and what candidates by meaning miss."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.interval import Interval
from positionbias.report.cells import count_cell, decimal_cell, text_cell
from positionbias.report.table import Cell, Column, Table
from positionbias.results.overlap import TRUE_RECALL, CandidateFigures, FoundOfPlanted, RecallFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["candidate_sentences", "recall_tables"]

_REPLACED = "Words replaced stands for paraphrases, which no rule can write."


def recall_tables(results: Sequence[Result]) -> list[Table]:
    """Return for each test set and unit the share of planted duplicates found, by kind and detector."""
    found: dict[tuple[str, str], list[tuple[Result, RecallFigures]]] = {}
    for result, of in of_type(results, RecallFigures):
        found.setdefault((result.collection, result.measure), []).append((result, of))
    return [_recall_table(by) for by in found.values()]


def _recall_table(by: Sequence[tuple[Result, RecallFigures]]) -> Table:
    columns = [Column("Kind", numeric=False), Column("Pairs"), *(Column(of.detector) for _, of in by)]
    whole, first = by[-1]  # of any detector, which has all texts
    rows = [
        [text_cell(kind), count_cell(planted.planted), *(_share(of.kinds.get(kind)) for _, of in by)]
        for kind, planted in first.kinds.items()
    ]
    every = [decimal_cell(one.value, one.interval, places=2) for one, _ in by]
    rows.append([text_cell("all"), count_cell(whole.count), *every])
    true = whole.measure.startswith(TRUE_RECALL)
    what, test_set = "true pairs" if true else "planted duplicates", whole.collection
    title = f"Share of {what} of {first.tests:,} {first.unit} of {test_set} that are found [95 %]"
    notes = [] if true else [_REPLACED]
    if any(of.tests < first.tests for _, of in by):
        notes.append(f"Of texts with words enough: {', '.join(f'{of.detector} {of.tests:,}' for _, of in by)}.")
    return Table(f"{'true' if true else 'planted'}_{test_set}_{first.unit}", title, columns, rows, notes)


def _share(of: FoundOfPlanted | None) -> Cell:
    return text_cell("–") if of is None else decimal_cell(of.found / of.planted, _interval(of), places=2)


def _interval(of: FoundOfPlanted) -> Interval | None:
    return None if of.low is None or of.high is None else Interval(of.low, of.high, 0.95, "Wilson")


def candidate_sentences(results: Sequence[Result]) -> list[str]:
    """Return for each unit what the detector of meaning misses by looking at candidates alone."""
    lines = []
    for result, of in of_type(results, CandidateFigures):
        looked = f"Meaning looked at candidates alone: of {of.drawn:,} drawn training {of.unit} {of.candidates:,} are"
        if result.value is None:
            lines.append(f"{looked}, and none has a pair, so nobody can tell what they miss.")
        else:
            low = f", at least {result.interval.low:.1%}" if result.interval else ""
            lines.append(f"{looked}; they have {of.found:,} of the {of.pairs:,} pairs of all ({result.value:.1%}{low}).")
    return lines
