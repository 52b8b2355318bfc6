"""Tables of a TripClick study beside its effectiveness: training sets, what the trainings showed, the depth curves' points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.formatting import percent
from positionbias.report.cells import OVER_NOTE, any_cell, decimal_cell, drop_columns, percent_cell, text_cell
from positionbias.report.table import Cell, Column, Table
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type
from positionbias.results.tripclick import DepthCurve, Telemetry, TrainingSet, set_name, short, system_label

__all__ = ["depths_table", "sets_table", "telemetry_table"]

EMPTY = Cell("")
HELD = ("Groups", "Queries", "Positives", "Negatives", "False negatives", "Distinct negatives", "Distinct false negatives")


def sets_table(results: Sequence[Result]) -> Table:
    """What stands in each training set, how much of it is false, and what its maker could not use."""
    found = of_type(results, TrainingSet)
    left_out = distinct(reason for _, held in found for reason in held.left_out)
    rows = [
        [
            text_cell(set_name(result.facts)),
            *map(_counted, _counts(held)),
            EMPTY if result.value is None else percent_cell(result.value, sign=False),
            *(_counted(held.left_out.get(reason)) for reason in left_out),
        ]
        for result, held in found
    ]
    columns = [Column("Training set", numeric=False), *map(Column, HELD), Column("Share false")]
    columns += [Column(reason.removeprefix("positives ").capitalize(), "Clicked passages of queries") for reason in left_out]
    notes = ["Positives: clicked passages of a query, each once."]
    if any(result.value is not None for result, _ in found):
        notes.append("A negative is false where it is relevant by the complete judgements, which no training saw.")
    if left_out:
        notes.append(
            "Clicked passages of queries: those that are judged relevant, and why triples of some were not made, or fewer."
        )
    drop_columns(columns, rows, [n for n in range(1, len(columns)) if not any(row[n].text for row in rows)])
    return Table("tripclick-sets", "The training sets", columns, rows, notes)


def _counts(held: TrainingSet) -> list[int | None]:
    """The figures under ``HELD``."""
    negatives = [held.negatives, held.false_negatives, held.distinct_negatives, held.distinct_false_negatives]
    return [held.groups, held.queries, held.positives, *negatives]


def _counted(number: int | None) -> Cell:
    return EMPTY if number is None else any_cell(number)


def telemetry_table(results: Sequence[Result]) -> Table:
    """What was seen in training: the paper's first evidence of bad negatives."""
    found = of_type(results, Telemetry)
    shares = {result.facts.variant: result.value for result, _ in of_type(results, TrainingSet)}
    rows = [
        [
            text_cell(short(result.facts)),
            text_cell(set_name(result.facts)),
            EMPTY if (share := shares.get(result.facts.variant)) is None else percent_cell(share, sign=False),
            *map(_over_seeds, (logged.pair_accuracy, logged.score_margin, logged.loss)),
            *(any_cell(", ".join(map(str, of))) for of in (logged.steps, logged.kept_steps, logged.seeds)),
        ]
        for result, logged in found
    ]
    columns = [Column(text, numeric=False) for text in ("Model", "Training set")]
    columns += map(Column, ("False negatives", "Pairwise accuracy", "Score margin", "Loss", "Steps", "Step kept", "Seeds"))
    notes = [
        "Means over what was logged in the last half of the steps, on the triples trained on; seed by seed where there are several. The margin is the "
        "positive's score less the negative's, in the model's own scale.",
    ]
    gone = [2] if not any(row[2].text for row in rows) else []
    if all(logged.steps == logged.kept_steps for _, logged in found):
        gone.append(7)
    else:
        notes.append("What is measured of a model are the weights of the step kept, the best on validation.")
    drop_columns(columns, rows, gone)
    return Table("tripclick-telemetry", "What the trainings showed", columns, rows, notes, stub=2)


def _over_seeds(values: Sequence[float | None]) -> Cell:
    known = [value for value in values if value is not None]
    if not known:
        return EMPTY
    mean = decimal_cell(sum(known) / len(known))
    if len(known) == 1:
        return mean
    return replace(mean, text=f"{mean.text} ({', '.join(decimal_cell(value).text for value in known)})")


def depths_table(results: Sequence[Result]) -> Table:
    """The depth curves' points."""
    found = of_type(results, DepthCurve)
    depths = sorted({point.depth for _, curve in found for point in curve.points})
    systems = distinct(result.facts for result, _ in found)
    rows = []
    for result, curve in found:
        points = {point.depth: point for point in curve.points}
        figures = [decimal_cell(p.mean, p.interval) if (p := points.get(depth)) else EMPTY for depth in depths]
        rows.append([text_cell(result.split), text_cell(system_label(result.facts, systems)), *figures])
    columns = [Column("Test", numeric=False), Column("System", numeric=False)]
    columns += [Column(str(depth), "nDCG@10 [95\u00a0%] at re-ranking depth") for depth in depths]
    return Table("tripclick-depths", "Effectiveness by re-ranking depth", columns, rows, _depth_notes(found), stub=2)


def _depth_notes(found: Sequence[tuple[Result, DepthCurve]]) -> list[str]:
    """Which depths not all queries have the candidates for, and which most have not."""
    notes = [OVER_NOTE]
    for test in distinct(result.split for result, _ in found):
        curve = next(curve for result, curve in found if result.split == test)
        if some := [f"{point.depth}: {percent(point.reached, 0)}" for point in curve.points if point.reached < 1]:
            notes.append(
                f"{test}: queries with so many candidates, by depth: {'; '.join(some)}; of the others all that they have are re-ranked."
            )
        if curve.beyond:
            deeper = ", ".join(map(str, curve.beyond))
            notes.append(f"{test}: most queries have no {deeper} candidates; nothing is shown at such a depth.")
    return notes
