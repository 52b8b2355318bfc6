"""Results and tables as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from positionbias.core.json_text import JsonObject
from positionbias.report.html import report_tables
from positionbias.report.load import Study
from positionbias.report.table import records
from positionbias.results.result import Result

if TYPE_CHECKING:
    import pandas

__all__ = ["COLUMNS", "frame_of", "frames_of"]

COLUMNS = (
    *(
        "collection",
        "split",
        "system",
        "seed",
        "measure",
    ),
    *("value", "low", "high", "count"),
)


def frame_of(study: Study) -> pandas.DataFrame:
    """Return the rows of a study; or a row for each result, whose columns are ``COLUMNS``. ``seed``
    is that of a training.
    """
    import pandas

    if not study.rows.empty:
        return study.rows
    rows = [_row(result) for result in study.results]
    return pandas.DataFrame(rows, columns=list(COLUMNS))


def frames_of(study: Study) -> dict[str, pandas.DataFrame]:
    """Return every table of the page about a study, by name, with unrounded values."""
    import pandas

    tables = {name: records(table) for name, table in report_tables([study]).items()}
    return {
        name: pandas.DataFrame(rows, columns=headings) for name, (headings, *rows) in tables.items()
    }


def _row(result: Result) -> JsonObject:
    bounds = result.interval
    return {
        "collection": result.collection,
        "split": result.split,
        "system": result.system,
        "seed": result.facts.seed,
        "measure": result.measure,
        "value": result.value,
        "low": bounds.low if bounds else None,
        "high": bounds.high if bounds else None,
        "count": result.count,
    }
