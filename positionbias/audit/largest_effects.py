"""The table of an audit's queries with the largest effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from positionbias.audit.select import series_of, system_of
from positionbias.report.blocks import Block
from positionbias.report.cells import (
    count_cell,
    decimal_cell,
    drop_constant,
    drop_empty,
    percent_cell,
    text_cell,
)
from positionbias.report.load import Study
from positionbias.report.table import Column, Table
from positionbias.results.audit import DEVIATIONS, WORTH
from positionbias.results.payloads import SIZES
from positionbias.results.query_effects import QueryEffects
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["largest_block", "largest_table"]

LARGEST = 20  # rows of the table


def largest_block(study: Study) -> Block:
    """Return the table of the largest effects; empty where no effect is known by query."""
    block = Block(study.title, study.number)
    block.add(largest_table(study.results), folded=True)
    return block


def _sizes(payload: QueryEffects) -> list[tuple[float, float]]:
    """Return the size of each query's change by rotation, then of its largest other effect; what is
    not known is 0.
    """
    moved = [0.0] * len(payload.query_ids)
    for column in payload.moved.values():
        moved = [max(size, abs(value or 0.0)) for size, value in zip(moved, column, strict=True)]
    return list(zip((abs(change or 0.0) for change in payload.changes), moved, strict=True))


def largest_table(results: Sequence[Result]) -> Table:
    """Return the queries with the largest effects, each beside its system; ties by id
    [decision].
    """
    found, series = of_type(results, QueryEffects), series_of(results)
    every = [
        (size, payload, index, result)
        for result, payload in found
        for index, size in enumerate(_sizes(payload))
    ]
    every.sort(key=lambda one: (-one[0][0], -one[0][1], one[1].query_ids[one[2]]))
    contrasts = list(dict.fromkeys(name for _, payload in found for name in payload.moved))
    rows = []
    for _, payload, index, result in every[:LARGEST]:
        named = series.get(system_of(result))
        rows.append(
            [
                text_cell(payload.query_ids[index]),
                text_cell(named.label if named is not None else result.system),
                text_cell(payload.passage_ids[index]),
                percent_cell(payload.places[index], sign=False),
                count_cell(payload.words[index]),
                decimal_cell(payload.before[index]),
                decimal_cell(payload.after[index]),
                decimal_cell(payload.changes[index], sign=True),
                count_cell(payload.ranks_before[index]),
                count_cell(payload.ranks_after[index]),
                *(decimal_cell(_at(payload.moved, name, index), sign=True) for name in contrasts),
            ]
        )
    quality = found[0][1].quality if found else ""
    columns = [
        Column("Query", numeric=False),
        Column("System", numeric=False),
        Column("Passage", numeric=False),
    ]
    columns += [
        Column("Place"),
        Column("Words"),
        *(Column(name, quality) for name in ("as it is", "rotated", "change")),
    ]
    columns += [
        Column("as it is", "Rank"),
        Column("rotated", "Rank"),
        *(
            Column(name, (DEVIATIONS if name in set(SIZES) else WORTH).capitalize())
            for name in contrasts
        ),
    ]
    drop_empty(columns, rows, first=3)
    drop_constant(columns, rows, [1])
    notes = [
        (
            "Place: where the answer starts, from the first word (0 %) to the last one at which it "
            "could start (100 %)."
        )
    ]
    return Table("largest-effects", "The largest effects by query", columns, rows, notes)


def _at(moved: Mapping[str, Sequence[float | None]], name: str, index: int) -> float | None:
    return moved[name][index] if name in moved else None
