"""Overlap as text: a sentence for each test set and unit, then a table."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.interval import Interval
from positionbias.evaluation.bootstrap import LEVEL
from positionbias.report.cells import count_cell, decimal_cell, text_cell
from positionbias.report.table import Cell, Column, Table, as_text
from positionbias.results.overlap import ALL_SETS, ANY, CandidateFigures, OverlapFigures, RecallFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["overlap_text", "overlap_verdict", "recall_tables"]

_WIDE = ("Kept", "Shared")
_REPLACED = "Words replaced stands for paraphrases, which no rule can write."


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
    low = 0.0 if of.precision_low is None else of.precision_low
    precision = "Precision unknown." if of.precision is None else f"Precision {of.precision:.2f}, at least {low:.2f} (95 %)."
    if not of.queries:
        return f"{of.leaked:,} of {of.items:,} {of.unit} of {result.collection}{share} are in training. {precision}"
    return f"{of.leaked_queries:,} of {of.queries:,} queries of {result.collection}{share} {have[of.unit]}. {precision}"


def overlap_text(results: Sequence[Result], examples: Sequence[Sequence[str]] = ()) -> str:
    """Return the sentences and the table."""
    names = ("Test set", "Unit", "Detector", "Training set")
    numbers = ("Items", "Too short", "Leaked", "Queries", "Leaked queries", "Pairs", "Kept", "Shared", "Precision")
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
            _precision_cell(of),
        ]
        for result, of in of_type(results, OverlapFigures)
    ]
    columns = [*(Column(name, numeric=False) for name in names), *(Column(name, wide=name in _WIDE) for name in numbers)]
    parts = [*overlap_verdict(results), "", as_text(Table("overlap", "Overlap", columns, rows))]
    parts += candidate_sentences(results)
    return "\n".join([*parts, *(line for table in recall_tables(results) for line in ("", as_text(table)))])


def candidate_sentences(results: Sequence[Result]) -> list[str]:
    """Return for each unit what the detector of meaning misses by looking at candidates alone."""
    lines = []
    for result, of in of_type(results, CandidateFigures):
        looked = f"meaning looked at candidates alone: of {of.drawn:,} drawn training {of.unit} {of.candidates:,} are"
        if result.value is None:
            lines.append(f"\n{looked}, and none has a pair, so nobody can tell what they miss.")
        else:
            low = f", at least {result.interval.low:.1%}" if result.interval else ""
            lines.append(f"\n{looked}; they have {of.found:,} of the {of.pairs:,} pairs ({result.value:.1%}{low}).")
    return lines


def _precision_cell(of: OverlapFigures) -> Cell:
    """Return the estimate with its lower bound."""
    if of.precision is None or of.precision_low is None:
        return Cell("unknown" if of.kept else "")
    return Cell(f"{of.precision:.2f} (≥ {of.precision_low:.2f})", of.precision, low=of.precision_low)


def recall_tables(results: Sequence[Result]) -> list[Table]:
    """Return for each test set and unit the share of planted duplicates found, by kind and detector."""
    found: dict[tuple[str, str], list[tuple[Result, RecallFigures]]] = {}
    for result, of in of_type(results, RecallFigures):
        found.setdefault((result.collection, of.unit), []).append((result, of))
    return [_recall_table(test_set, unit, by) for (test_set, unit), by in found.items()]


def _recall_table(test_set: str, unit: str, by: Sequence[tuple[Result, RecallFigures]]) -> Table:
    columns = [Column("Kind", numeric=False), Column("Planted"), *(Column(of.detector) for _, of in by)]
    rows = []
    for kind, first in by[0][1].kinds.items():
        of_kind = [of.kinds[kind] for _, of in by]
        bounds = [
            Interval(one.low, one.high, LEVEL, "Wilson") if one.low is not None and one.high is not None else None
            for one in of_kind
        ]
        shares = [decimal_cell(one.found / one.planted, bound, places=2) for one, bound in zip(of_kind, bounds, strict=True)]
        rows.append([text_cell(kind), count_cell(first.planted), *shares])
    rows.append(
        [text_cell("all"), count_cell(by[0][0].count), *(decimal_cell(one.value, one.interval, places=2) for one, _ in by)]
    )
    title = f"Share of planted duplicates of {by[0][1].tests:,} {unit} of {test_set} that are found [95 %]"
    return Table(f"recall {test_set} {unit}", title, columns, rows, notes=[_REPLACED])
