"""Compare changes of a model with rotated data: trainings of one model that differ in its shape and
in the text.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.evaluation.trainings import figures_over
from positionbias.papers.position_bias import NO_REMEDY
from positionbias.papers.position_bias.doses import doses_of, similarity_of
from positionbias.papers.position_bias.remedy_table import remedied
from positionbias.papers.position_bias.trainings import row_notes, training_rows
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.table import Column, Table
from positionbias.results.result import Result
from positionbias.results.select import comparisons, distinct, model_name

__all__ = ["architecture_table"]


def architecture_table(results: Sequence[Result]) -> Table:
    """Return a row per variant and training: effectiveness on both test sets by measure, the change
    in the first, MATS.

    It covers trainings with a ``facts.variant`` that is neither a level (``doses``) nor a remedy;
    there are no rows for fewer than two variants.
    """
    others = {dose.variant for dose in doses_of(results)} | {
        NO_REMEDY,
        *remedied(results),
    }
    rows = training_rows(
        results,
        lambda row: (
            bool(row.facts.variant) and row.facts.variant not in others and bool(row.changes)
        ),
    )
    variants = distinct(row.facts.variant for row in rows)
    found = [
        result
        for result, _ in comparisons(results, "test sets")
        if result.facts.variant in variants
    ]
    measures = distinct(result.measure for result in found)
    cells = []
    for row in (
        sorted(rows, key=lambda row: variants.index(row.facts.variant)) if len(variants) > 1 else ()
    ):
        similarity = similarity_of(results, row)
        mats = figures_over(similarity) if similarity else None
        cells.append(
            [
                text_cell(model_name(row.facts)),
                text_cell(row.facts.variant),
                text_cell(row.facts.training),
                *(
                    decimal_cell(*row.mean(measure, test))
                    for measure in measures
                    for test in ("original", "rotated")
                ),
                percent_cell(*row.change(measures[0], "relative")),
                decimal_cell(mats.value if mats else None, mats.interval if mats else None),
                count_cell(len(row.repeats)),
            ]
        )
    columns = [Column(name, numeric=False) for name in ("Model", "Shape", "Trained on")]
    columns += [
        Column(f"{test} test", measure) for measure in measures for test in ("original", "rotated")
    ]
    columns += [
        Column(f"Change in {measures[0]}" if measures else "Change"),
        Column("MATS"),
        Column("Repeats", wide=True),
    ]
    notes = (
        (
            "Change = (rotated − original) / original test. MATS on the original passages; its "
            "intervals are over trainings alone."
        ),
        *row_notes(rows, lettered=False),
    )
    return Table(
        "architecture", "Changing the model, or rotating the data", columns, cells, notes, stub=3
    )
