"""The paper's 2 × 2: effectiveness on original and on rotated test passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from positionbias.core.formatting import slug
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_constant,
    level_heading,
    percent_cell,
    text_cell,
)
from positionbias.report.effectiveness import over_what
from positionbias.report.table import Column, Table
from positionbias.results.payloads import Comparison
from positionbias.results.result import Result
from positionbias.results.select import ALL_QUERIES, BASELINES, comparisons, distinct, labels

__all__ = ["BOLD_NOTE", "PRINTED_NOTE", "effectiveness_table"]

PRINTED_NOTE = (
    "Δ as printed = (rotated − original) / rotated, the form of the paper's Tables 3–4. Change = "
    "(rotated − original) / original."
)
BOLD_NOTE = "Bold (or *): the smallest absolute Δ of its block."


def effectiveness_table(results: Sequence[Result], *, subset: str | None = None) -> Table:
    """Return comparisons of the two test sets: a row per measure and training, with original and
    rotated passages side by side.

    Δ as printed is (rotated − original) / rotated; the plain relative change appears beside it with
    its interval. ``subset`` selects one set of queries; by default every subset has a block.
    """
    found = comparisons(results, "test sets", subset=subset)
    names = labels([result for result, _ in found])
    order = _block_order((payload.subset, result.measure) for result, payload in found)
    ranked = sorted(range(len(found)), key=lambda i: order[found[i][1].subset, found[i][0].measure])
    smallest = _smallest_margins([found[i] for i in ranked])
    rows = []
    for i in ranked:
        result, payload = found[i]
        margin = payload.relative_as_printed
        strong = (
            result.system not in BASELINES
            and margin is not None
            and abs(margin) == smallest.get((payload.subset, result.measure))
        )
        rows.append(
            [
                text_cell(payload.subset),
                text_cell(result.measure),
                text_cell(names[i]),
                decimal_cell(payload.baseline_mean),
                decimal_cell(payload.candidate_mean),
                percent_cell(margin, strong=strong),
                percent_cell(payload.relative, payload.relative_interval),
                count_cell(result.count),
            ]
        )
    columns = [
        Column("Subset", numeric=False),
        Column("Measure", numeric=False),
        Column("System", numeric=False),
        Column("Original test"),
        Column("Rotated test"),
        Column("Δ as printed", wide=True),
        Column(level_heading("Change", (payload.relative_interval for _, payload in found))),
        Column("Queries", wide=True),
    ]
    gone, _ = drop_constant(columns, rows, [0])
    alone = subset or next(
        (payload.subset for _, payload in found if gone and payload.subset != ALL_QUERIES), None
    )
    title = "Effectiveness on original and on rotated test passages" + (
        f": {alone}" if alone else ""
    )
    name = "effectiveness" + (f"-{slug(subset)}" if subset else "")
    return Table(
        name, title, columns, rows, (PRINTED_NOTE, BOLD_NOTE, *over_what(found)), stub=3 - gone
    )


def _block_order(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return blocks in order of first appearance: by subset, then by measure."""
    pairs = list(keys)
    subsets, measures = distinct(s for s, _ in pairs), distinct(m for _, m in pairs)
    return {(s, m): (subsets.index(s), measures.index(m)) for s, m in pairs}


def _smallest_margins(found: Sequence[tuple[Result, Comparison]]) -> dict[tuple[str, str], float]:
    margins: dict[tuple[str, str], list[float]] = {}
    for result, payload in found:
        if payload.relative_as_printed is not None and result.system not in BASELINES:
            margins.setdefault((payload.subset, result.measure), []).append(
                abs(payload.relative_as_printed)
            )
    return {block: min(values) for block, values in margins.items() if len(values) > 1}
