"""Tables of groups that are left out of the pool one by one. Each is of one task."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.cells import count_cell, decimal_cell, text_cell
from positionbias.report.table import Cell, Column, Table
from positionbias.results.pools import LeftOutByKind, LeftOutFigures, Moved
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = ["left_out_by_kind_table", "left_out_runs_table", "left_out_table"]


def left_out_by_kind_table(results: Sequence[Result]) -> Table:
    """By measure and kind, what runs lose when their own group is out of the pool."""
    body = [
        [
            text_cell(own.measure),
            text_cell(own.kind),
            count_cell(own.systems),
            decimal_cell(result.value, sign=True),
            decimal_cell(own.largest_fall, sign=True),
            decimal_cell(own.ranks_lost, places=1),
            count_cell(own.most_ranks_lost),
        ]
        for result, own in of_type(results, LeftOutByKind)
    ]
    columns = [Column("Measure", numeric=False), Column("Kind", numeric=False), Column("Runs")]
    columns += [Column("mean", "Change of score"), Column("largest fall", "Change of score")]
    columns += [Column("mean", "Ranks lost"), Column("most", "Ranks lost")]
    notes = ("Every run by the gold judgements without those that only its own group brought in, against all of them.",)
    return Table("pool-left-out-kinds", "Without a run's own group: by kind", columns, body, notes, stub=2)


def left_out_table(results: Sequence[Result]) -> Table:
    """Every group by what it alone found, with its runs' mean change of score."""
    found = sorted((own for _, own in of_type(results, LeftOutFigures)), key=lambda own: (-own.relevant, own.group))
    measures = distinct(name for own in found for run in own.runs for name in run.measures)
    body = [
        [
            text_cell(own.group),
            text_cell(", ".join(distinct(run.kind for run in own.runs))),
            count_cell(len(own.runs)),
            count_cell(own.unique),
            count_cell(own.relevant),
            *(decimal_cell(_mean([run.measures[name].change for run in own.runs]), sign=True) for name in measures),
        ]
        for own in found
    ]
    columns = [Column("Group", numeric=False), Column("Kinds", numeric=False), Column("Runs")]
    columns += [Column("judgements", "Of this group alone"), Column("relevant", "Of this group alone")]
    columns += [Column(name, "Mean change of its runs") for name in measures]
    return Table("pool-left-out", "Each group left out", columns, body)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def left_out_runs_table(results: Sequence[Result]) -> Table:
    """Every run's score and rank with its group in the pool and without."""
    records = [(own.group, run) for _, own in of_type(results, LeftOutFigures) for run in own.runs]
    measures = distinct(name for _, run in records for name in run.measures)
    body = [
        [
            text_cell(run.run),
            text_cell(group),
            text_cell(run.kind),
            *(cell for name in measures for cell in _moved(run.measures[name])),
        ]
        for group, run in records
    ]
    columns = [Column(name, numeric=False) for name in ("Run", "Group", "Kind")]
    columns += [Column(part, name) for name in measures for part in ("with", "without", "rank with", "rank without")]
    return Table("pool-left-out-runs", "Each run with and without its own group", columns, body)


def _moved(run: Moved) -> list[Cell]:
    return [
        decimal_cell(run.before),
        decimal_cell(run.after),
        count_cell(run.rank_before),
        count_cell(run.rank_after),
    ]
