"""Tables of groups that are left out of the pool one by one. Each is of one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from positionbias.report.cells import count_cell, decimal_cell, text_cell
from positionbias.report.pool_select import of_what
from positionbias.report.table import Column, Table
from positionbias.results.result import Result
from positionbias.results.select import distinct

__all__ = ["left_out_by_kind_table", "left_out_runs_table", "left_out_table"]

WORDS = ("run", "kind")  # what a run's record holds beside its measures


def left_out_by_kind_table(results: Sequence[Result]) -> Table:
    """By measure and kind, what runs lose when their own group is out of the pool."""
    body = [
        [
            text_cell(rows["measure"]),
            text_cell(rows["kind"]),
            count_cell(rows["systems"]),
            decimal_cell(result.value, sign=True),
            decimal_cell(rows["largest fall"], sign=True),
            decimal_cell(rows["ranks lost"], places=1),
            count_cell(rows["most ranks lost"]),
        ]
        for result, rows in of_what(results, "left out by kind")
    ]
    columns = [Column("Measure", numeric=False), Column("Kind", numeric=False), Column("Runs")]
    columns += [Column("mean", "Change of score"), Column("largest fall", "Change of score")]
    columns += [Column("mean", "Ranks lost"), Column("most", "Ranks lost")]
    notes = ("Every run by the gold judgements without those that only its own group brought in, against all of them.",)
    return Table("pool-left-out-kinds", "Without a run's own group: by kind", columns, body, notes, stub=2)


def left_out_table(results: Sequence[Result]) -> Table:
    """Every group by what it alone found, with its runs' mean change of score."""
    found = sorted(
        (rows for _, rows in of_what(results, "left out")), key=lambda rows: (-rows["unique relevant"], rows["group"])
    )
    measures = distinct(name for rows in found for run in rows["runs"] for name in run if name not in WORDS)
    body = [
        [
            text_cell(rows["group"]),
            text_cell(", ".join(distinct(run["kind"] for run in rows["runs"]))),
            count_cell(len(rows["runs"])),
            count_cell(rows["unique judgements"]),
            count_cell(rows["unique relevant"]),
            *(
                decimal_cell(_mean([run[name]["after"] - run[name]["before"] for run in rows["runs"]]), sign=True)
                for name in measures
            ),
        ]
        for rows in found
    ]
    columns = [Column("Group", numeric=False), Column("Kinds", numeric=False), Column("Runs")]
    columns += [Column("judgements", "Of this group alone"), Column("relevant", "Of this group alone")]
    columns += [Column(name, "Mean change of its runs") for name in measures]
    return Table("pool-left-out", "Each group left out", columns, body)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def left_out_runs_table(results: Sequence[Result]) -> Table:
    """Every run's score and rank with its group in the pool and without."""
    records: list[tuple[str, Mapping[str, Any]]] = [
        (rows["group"], run) for _, rows in of_what(results, "left out") for run in rows["runs"]
    ]
    measures = distinct(name for _, run in records for name in run if name not in WORDS)
    body = [
        [
            text_cell(run["run"]),
            text_cell(group),
            text_cell(run["kind"]),
            *(
                cell
                for name in measures
                for cell in (
                    decimal_cell(run[name]["before"]),
                    decimal_cell(run[name]["after"]),
                    count_cell(run[name]["rank before"]),
                    count_cell(run[name]["rank after"]),
                )
            ),
        ]
        for group, run in records
    ]
    columns = [Column(name, numeric=False) for name in ("Run", "Group", "Kind")]
    columns += [Column(part, name) for name in measures for part in ("with", "without", "rank with", "rank without")]
    return Table("pool-left-out-runs", "Each run with and without its own group", columns, body)
