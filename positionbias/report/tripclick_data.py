"""Tables of a TripClick study beside its effectiveness: training sets, what the trainings showed, the depth curves' points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from positionbias.core.formatting import percent
from positionbias.report.cells import OVER_NOTE, any_cell, as_interval, decimal_cell, drop_columns, percent_cell, text_cell
from positionbias.report.leakage_select import rows_of
from positionbias.report.table import Cell, Column, Table
from positionbias.report.tripclick_select import CURVES, SETS, TELEMETRY, set_name, short, system_label
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = ["depths_table", "sets_table", "telemetry_table"]

EMPTY = Cell("")
HELD = ("groups", "queries", "positives", "negatives", "false negatives", "distinct negatives", "distinct false negatives")


def sets_table(results: Sequence[Result]) -> Table:
    """What stands in each training set, how much of it is false, and what its maker could not use."""
    found = [result for result in results if result.measure == SETS]
    left_out = distinct(key for result in found for key in rows_of(result).get("left out", {}))
    rows = [
        [
            text_cell(set_name(result.facts)),
            *(_counted(rows_of(result).get(key)) for key in HELD),
            EMPTY if result.value is None else percent_cell(result.value, sign=False),
            *(_counted(rows_of(result).get("left out", {}).get(key)) for key in left_out),
        ]
        for result in found
    ]
    columns = [Column("Training set", numeric=False), *(Column(key.capitalize()) for key in HELD), Column("Share false")]
    columns += [Column(key.removeprefix("positives ").capitalize(), "Clicked passages of queries") for key in left_out]
    notes = ["Positives: clicked passages of a query, each once."]
    if any(result.value is not None for result in found):
        notes.append("A negative is false where it is relevant by the complete judgements, which no training saw.")
    if left_out:
        notes.append(
            "Clicked passages of queries: those that are judged relevant, and why triples of some were not made, or fewer."
        )
    drop_columns(columns, rows, [n for n in range(1, len(columns)) if not any(row[n].text for row in rows)])
    return Table("tripclick-sets", "The training sets", columns, rows, notes)


def _counted(number: int | None) -> Cell:
    return EMPTY if number is None else any_cell(number)


def telemetry_table(results: Sequence[Result]) -> Table:
    """What was seen in training: the paper's first evidence of bad negatives."""
    found = [result for result in results if result.measure == TELEMETRY]
    shares = {result.facts.variant: result.value for result in results if result.measure == SETS}
    rows = [
        [
            text_cell(short(result.facts)),
            text_cell(set_name(result.facts)),
            EMPTY if (share := shares.get(result.facts.variant)) is None else percent_cell(share, sign=False),
            *(_over_seeds(rows_of(result)[name]) for name in ("pair accuracy", "score margin", "loss")),
            *(any_cell(", ".join(map(str, steps))) for steps in (rows_of(result)["steps"], _kept(result))),
            any_cell(", ".join(map(str, rows_of(result)["seeds"]))),
        ]
        for result in found
    ]
    columns = [Column(text, numeric=False) for text in ("Model", "Training set")]
    columns += map(Column, ("False negatives", "Pairwise accuracy", "Score margin", "Loss", "Steps", "Step kept", "Seeds"))
    notes = [
        "Means over what was logged in the last half of the steps, on the triples trained on; seed by seed where there are several. The margin is the "
        "positive's score less the negative's, in the model's own scale.",
    ]
    gone = [2] if not any(row[2].text for row in rows) else []
    if all(rows_of(result)["steps"] == _kept(result) for result in found):
        gone.append(7)
    else:
        notes.append("What is measured of a model are the weights of the step kept, the best on validation.")
    drop_columns(columns, rows, gone)
    return Table("tripclick-telemetry", "What the trainings showed", columns, rows, notes, stub=2)


def _kept(result: Result) -> Sequence[int | None]:
    """The steps whose weights were kept; of results that do not say so the last."""
    rows = rows_of(result)
    return rows.get("kept", rows["steps"])


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
    found = [result for result in results if result.measure == CURVES]
    depths = sorted({point["depth"] for result in found for point in rows_of(result)["points"]})
    systems = distinct(result.facts for result in found)
    rows = []
    for result in found:
        points: Mapping[int, Any] = {point["depth"]: point for point in rows_of(result)["points"]}
        figures = [decimal_cell(p["mean"], as_interval(p["interval"])) if (p := points.get(d)) else EMPTY for d in depths]
        rows.append([text_cell(result.split), text_cell(system_label(result.facts, systems)), *figures])
    columns = [Column("Test", numeric=False), Column("System", numeric=False)]
    columns += [Column(str(depth), "nDCG@10 [95\u00a0%] at re-ranking depth") for depth in depths]
    return Table("tripclick-depths", "Effectiveness by re-ranking depth", columns, rows, _depth_notes(found), stub=2)


def _depth_notes(found: Sequence[Result]) -> list[str]:
    """Which depths not all queries have the candidates for, and which most have not."""
    notes = [OVER_NOTE]
    for test in distinct(result.split for result in found):
        rows = next(rows_of(result) for result in found if result.split == test)
        if some := [f"{p['depth']}: {percent(p['reached'], 0)}" for p in rows["points"] if p.get("reached", 1.0) < 1]:
            notes.append(
                f"{test}: queries with so many candidates, by depth: {'; '.join(some)}; of the others all that they have are re-ranked."
            )
        if beyond := rows.get("beyond the candidates"):
            notes.append(
                f"{test}: most queries have no {', '.join(map(str, beyond))} candidates; nothing is shown at such a depth."
            )
    return notes
