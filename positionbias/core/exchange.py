"""Runs and judgements from the forms of other packages: ids, and rows of frames and dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.records import identifier

if TYPE_CHECKING:
    import pandas

Form = Literal["ir_measures", "pyterrier"]
_PYTERRIER = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
# the names of a column: ours, ir_measures', PyTerrier's
_NAMES = {
    "query_id": ("query_id", "qid"),
    "passage_id": ("passage_id", "doc_id", "docno"),
    "score": ("score",),
    "grade": ("grade", "relevance", "label"),
}


def ir_measures_library() -> Any:
    """Return ir_measures, which takes a while to load."""
    import ir_measures

    return ir_measures


def _check_frame(frame: Any, source: str) -> None:
    """Check that an object is a data frame.

    Raises:
        InputError: it is not.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
        raise bad_input(
            source, wanted="a pandas data frame", found=type(frame).__name__, do="convert it"
        )


def frame_rows(frame: Any, value: str, source: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the query id, passage id and ``value`` ("score" or "grade") of a data frame's rows; its
    columns have our names, ir_measures' or PyTerrier's.

    Raises:
        InputError: not a data frame, a missing column, or an id that ``identifier`` refuses.
    """
    _check_frame(frame, source)
    columns = []
    for names in (_NAMES["query_id"], _NAMES["passage_id"], _NAMES[value]):
        known = [name for name in names if name in frame.columns]
        if not known:
            raise bad_input(
                source,
                wanted=f"a column {' or '.join(names)}",
                found=", ".join(map(str, frame.columns)),
                do="rename the frame's columns",
            )
        columns.append(frame[known[0]].tolist())
    for query_id, passage_id, item in zip(*columns, strict=True):
        yield identifier(query_id, source), identifier(passage_id, source), item


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
        raise InputError(
            f"{source}: wanted {{query: {{passage: {values}}}}}; found {found}; frames and files "
            "have constructors of their own"
        )
    for query_id, row in table.items():
        passage_ids = [identifier(passage_id, source) for passage_id in row]
        yield identifier(query_id, source), passage_ids, list(row.values())


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
