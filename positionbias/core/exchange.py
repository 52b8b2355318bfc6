"""Read runs and judgements from the forms of other packages: column names, ids, and rows of frames
and dicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from positionbias.core.errors import InputError, SettingError, bad_input

if TYPE_CHECKING:
    import pandas

__all__ = [
    "GRADE",
    "PASSAGE",
    "QUERY",
    "SCORE",
    "Form",
    "frame_rows",
    "identifier",
    "in_form",
    "record_rows",
    "rows_by_query",
]

Form = Literal["ir_measures", "pyterrier"]

# the names of a column: ours, ir_measures', PyTerrier's
QUERY = ("query_id", "qid")
PASSAGE = ("passage_id", "doc_id", "docno")
SCORE = ("score",)
GRADE = ("grade", "relevance", "label")
_PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}


def identifier(value: object, source: str) -> str:
    """Return an id as text; whole numbers are written out.

    Raises:
        InputError: it is anything else, or empty.
    """
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(value)
    raise bad_input(
        source, wanted="ids as text or whole numbers", found=repr(value), do="convert them"
    )


def frame_rows(frame: Any, *columns: tuple[str, ...], source: str) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a data frame in these columns, each found by the first of its names in the
    frame.

    Raises:
        InputError: not a data frame, or a missing column.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
        raise bad_input(
            source, wanted="a pandas data frame", found=type(frame).__name__, do="convert it"
        )
    found = [next((name for name in names if name in frame.columns), None) for names in columns]
    if None in found:
        wanted = f"a column {' or '.join(columns[found.index(None)])}"
        raise bad_input(
            source,
            wanted=wanted,
            found=", ".join(map(str, frame.columns)),
            do="rename the frame's columns",
        )
    return zip(*(frame[name].tolist() for name in found), strict=True)


def record_rows(records: Any, *fields: str, source: str) -> Iterator[tuple[Any, ...]]:
    """Yield these fields of each record.

    Raises:
        InputError: an object without these fields.
    """
    wanted, do = f"records of {', '.join(fields)}", "give ir_measures' records"
    if not isinstance(records, Iterable):
        raise bad_input(source, wanted=wanted, found=type(records).__name__, do=do)
    for one in records:
        if not all(hasattr(one, name) for name in fields):
            raise bad_input(source, wanted=wanted, found=repr(one), do=do)
        yield tuple(getattr(one, name) for name in fields)


def rows_by_query(
    table: object, source: str, values: str
) -> Iterator[tuple[str, list[str], list[Any]]]:
    """Yield the query id, passage ids and values of each query of ``{query: {passage: value}}``.

    Raises:
        InputError: another structure, or an id that ``identifier`` refuses.
    """
    rows = table.values() if isinstance(table, Mapping) else [None]
    if not isinstance(table, Mapping) or not all(isinstance(row, Mapping) for row in rows):
        found = type(table).__name__ + (" of other values" if isinstance(table, Mapping) else "")
        wanted = f"{{query: {{passage: {values}}}}}"
        raise InputError(
            f"{source}: wanted {wanted}; found {found}; frames, files and records have "
            "constructors of their own"
        )
    for query_id, row in table.items():
        yield (
            identifier(query_id, source),
            [identifier(passage_id, source) for passage_id in row],
            list(row.values()),
        )


def in_form(frame: pandas.DataFrame, form: Form) -> pandas.DataFrame:
    """Return a data frame in ir_measures' columns with the names of ``form``.

    Raises:
        SettingError: another form.
    """
    if form not in get_args(Form):
        raise SettingError(
            f"form: wanted {' or '.join(get_args(Form))}; found {form!r}; give one of these"
        )
    return frame.rename(columns=_PYTERRIER) if form == "pyterrier" else frame
