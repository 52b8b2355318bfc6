"""Tables of a study, each a pure function: Results in, Table out. None drops a result of its
kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from positionbias.core.json_text import Json, JsonObject
from positionbias.report.cells import (
    any_cell,
    count_cell,
    decimal_cell,
    drop_columns,
    percent_cell,
    text_cell,
)
from positionbias.report.table import Cell, Column, Table
from positionbias.results.collections import PassageFigures, QueryFigures
from positionbias.results.figures import Figures
from positionbias.results.result import Result
from positionbias.results.select import distinct, labels, of_kind

__all__ = [
    "collection_table",
    "statistics_table",
]


def statistics_table(results: Sequence[Result], *, name: str, title: str) -> Table:
    """Return named figures, a column per result; nested figures are named ``NAME: PART``."""
    found = of_kind(results, "statistics")
    flat = [
        _flatten(result.payload.to_rows())
        for result in found
        if isinstance(result.payload, Figures)
    ]
    keys = distinct(key for record in flat for key in record)
    rows = [
        [text_cell(key), *(_figure_cell(key, record.get(key)) for record in flat)] for key in keys
    ]
    columns = [Column("", numeric=False), *(Column(label) for label in labels(found, first=1))]
    return Table(name, title, columns, rows)


def _flatten(rows: JsonObject) -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in rows.items():
        words = str(key).replace("_", " ")
        if isinstance(value, Mapping):
            flat |= {f"{words}: {part}": item for part, item in _flatten(value).items()}
        else:
            flat[words] = value
    return flat


def _figure_cell(name: str, value: Any) -> Cell:
    return (
        percent_cell(value, sign=False)
        if "share" in name and isinstance(value, float)
        else any_cell(value)
    )


def collection_table(results: Sequence[Result]) -> Table:
    """Return these collections' passages, and each split's queries, judgements, answers and
    lengths.
    """
    rows = []
    for result in results:
        if not isinstance(figures := result.payload, PassageFigures | QueryFigures):
            continue
        asked = figures if isinstance(figures, QueryFigures) else None
        words = figures.lengths
        rows.append(
            [
                text_cell(result.collection),
                text_cell(f"{result.measure}, {result.split}" if result.split else result.measure),
                count_cell(result.count),
                count_cell(asked.judgements if asked else None),
                count_cell(asked.answers if asked else None),
                any_cell(words.words_quantiles["median"] if words else None),
                decimal_cell(words.mean_words if words else None, places=1),
                percent_cell(words.share_over, sign=False, more=f" over {words.READ}")
                if words
                else percent_cell(None),
            ]
        )
    columns = [Column("Collection", numeric=False), Column("Part", numeric=False)]
    names = (
        "Count",
        "Judgements",
        "Answers",
        "Median words",
        "Mean words",
        "Truncated",
    )
    columns += [Column(name) for name in names]
    lengths = [
        index
        for index in range(5, len(columns))
        if any(row[index].value is not None for row in rows)
    ]
    drop_columns(
        columns,
        rows,
        [index for index in range(5, len(columns)) if index not in lengths],
    )
    notes = (
        [
            (
                "Words by BlingFire. Truncated: the share of texts that a re-ranker does not read "
                "to the end."
            )
        ]
        if lengths
        else []
    )
    return Table("collections", "The collections", columns, rows, notes, stub=2)
