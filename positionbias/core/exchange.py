"""Runs and judgements in the forms of others: rows of frames and dicts, and files of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.publish import atomic_file
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


Rows = Iterator[tuple[str, list[str], list[Any]]]


def frame_rows(frame: Any, value: str, source: str) -> Rows:
    """Yield the query id, passage ids and ``value`` ("score" or "grade") of each query of a data
    frame; its columns have our names, ir_measures' or PyTerrier's.

    Raises:
        InputError: not a data frame, a missing column, or an id that ``identifier`` refuses.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "itertuples"):
        found = type(frame).__name__
        raise bad_input(source, wanted="a pandas data frame", found=found, do="convert it")
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
    rows: dict[str, tuple[list[str], list[Any]]] = {}
    for query_id, passage_id, item in zip(*columns, strict=True):
        passage_ids, values = rows.setdefault(identifier(query_id, source), ([], []))
        passage_ids.append(identifier(passage_id, source))
        values.append(item)
    return ((query_id, *row) for query_id, row in rows.items())


def mapping_rows(table: object, value: str, source: str) -> Rows:
    """Yield what ``frame_rows`` does of ``{query: {passage: value}}``.

    Raises:
        InputError: another structure, or an id that ``identifier`` refuses.
    """
    known = isinstance(table, Mapping)
    if not isinstance(table, Mapping) or not all(isinstance(x, Mapping) for x in table.values()):
        found = type(table).__name__ + (" of other values" if known else "")
        raise InputError(
            f"{source}: wanted {{query: {{passage: {value}}}}}; found {found}; frames and files "
            "have constructors of their own"
        )
    for query_id, row in table.items():
        passage_ids = [identifier(passage_id, source) for passage_id in row]
        yield identifier(query_id, source), passage_ids, list(row.values())


def write_columns(
    path: Path | str,
    blocks: Iterable[tuple[Iterable[str], str]],
    source: object,
    *,
    overwrite: bool,
) -> None:
    """Write lines of columns, given by blocks with the ids in them, gzipped if the name ends in
    ``.gz``: without name and time, so that the bytes depend only on the content.

    Raises:
        InputError: an id that is empty or has a space, which columns cannot express.
        OutputExistsError: ``path`` exists and ``overwrite`` is false.
    """
    with ExitStack() as opened:
        partial = opened.enter_context(atomic_file(path, overwrite=overwrite))
        raw: Any = opened.enter_context(open(partial, "wb"))
        if partial.suffix == ".gz":
            raw = opened.enter_context(GzipFile("", "wb", fileobj=raw, mtime=0))
        for ids, text in blocks:
            for item in ids:
                if item.split() != [item]:
                    raise InputError(
                        f"{source}: wanted ids without spaces; found {item!r}; rename it in the "
                        "collection"
                    )
            raw.write(text.encode())


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
