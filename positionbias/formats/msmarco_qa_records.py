"""Store MS MARCO QA rows without passage texts in a work folder, and write a split of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from positionbias.core.collection_writer import SplitWriter
from positionbias.core.errors import bad_input
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import keys64
from positionbias.formats.msmarco_qa_rows import UNKNOWN, checked_rows
from positionbias.formats.row_blocks import RowBlock

PASSAGE_ID = "msmarco qa passage id"  # the purpose that keys the hash
_SECOND_HASH = "msmarco qa passage check"
NO_ANSWER = "No Answer Present."
_MARKS = {1: "selected", 0: "not_selected", UNKNOWN: "not_judged"}
_COUNTED = (  # named, so that zeros are shown too
    "rows",
    "merged_rows",
    *_MARKS.values(),
    "rows_without_answers",
    "no_answer_present",
    "empty_answers",
    "repeated_answers",
    "answers_without_selected_passage",
    "rows_without_type",
)
_TEXTS = pa.list_(pa.string())
_ROWS = pa.schema(
    [
        ("query_id", pa.string()),
        ("query", pa.string()),
        ("type", pa.string()),
        ("answers", _TEXTS),
        ("well_formed", _TEXTS),
        ("passages", pa.list_(pa.uint64())),
        ("checks", pa.list_(pa.uint64())),
        ("selected", pa.list_(pa.int8())),
    ]
)


class _Stored(NamedTuple):
    """One stored row; a passage's number is its id, written in hexadecimal elsewhere."""

    query_id: str
    query: str
    query_type: str | None
    answers: list[str] | None
    well_formed: list[str]
    passages: list[int]
    selected: list[int]


def write_rows(block: RowBlock, target: Path) -> dict[str, int]:
    """Write the rows of a block, with two 64-bit hashes in place of each passage's text."""
    rows = [row for _, row in checked_rows(block)]
    texts = [candidate.text.encode() for row in rows for candidate in row.passages]
    ends = np.cumsum([0, *(len(row.passages) for row in rows)], dtype=np.int32)
    columns = [
        pa.array([row.query_id for row in rows], pa.string()),
        pa.array([row.query for row in rows], pa.string()),
        pa.array([row.query_type for row in rows], pa.string()),
        pa.array([row.answers for row in rows], _TEXTS),
        pa.array([row.well_formed for row in rows], _TEXTS),
        *(
            pa.ListArray.from_arrays(ends, _hashes(purpose, texts))
            for purpose in (PASSAGE_ID, _SECOND_HASH)
        ),
        pa.array(
            [[candidate.selected for candidate in row.passages] for row in rows],
            pa.list_(pa.int8()),
        ),
    ]
    with pa.OSFile(str(target), "wb") as sink, ipc.new_file(sink, _ROWS) as writer:
        writer.write_table(pa.table(columns, schema=_ROWS))
    return {"rows": len(rows)}


def _hashes(purpose: str, texts: Sequence[bytes]) -> pa.Array:
    return pa.array(keys64(0, purpose, texts) if texts else [], pa.uint64())


def pair_hashes(path: Path) -> np.ndarray:
    """Read the two hashes of each row's passages, in order: ``(n, 2)`` uint64."""
    table = _read(path)
    both = (
        table.column(name).combine_chunks().flatten().to_numpy() for name in ("passages", "checks")
    )
    return np.stack(list(both), axis=1)


def _read(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return ipc.open_file(source).read_all()


def _stored_rows(path: Path) -> Iterator[_Stored]:
    table = _read(path).drop_columns(["checks"])
    for batch in table.to_batches(max_chunksize=1024):
        yield from map(_Stored, *(column.to_pylist() for column in batch.columns))


def write_split(
    writer: SplitWriter, files: Sequence[tuple[Path, Path]], *, selected_only: bool
) -> dict[str, int]:
    """Write and count the records of a split from its stored rows (each file with its source), a
    query at a time.

    Raises:
        InputError: a query id with two texts.
    """
    counts = Counter(dict.fromkeys(_COUNTED, 0))
    grades = (1,) if selected_only else (0, 1)
    queries = 0
    for rows in _by_query(files):
        query_id, marks = rows[0].query_id, _marks(rows, counts)
        names = {passage: f"p{passage:016x}" for passage, mark in marks.items() if mark in grades}
        writer.add(
            [_query(rows, counts)],
            [Qrel(query_id, name, marks[passage]) for passage, name in names.items()],
            [Answer(query_id, names[passage], text) for passage, text in _answers(rows, counts)],
        )
        queries += 1
    return {"queries": queries, **counts}


def _by_query(files: Sequence[tuple[Path, Path]]) -> Iterator[list[_Stored]]:
    """Yield the rows of each query together, holding only those of queries with several rows."""
    several: dict[str, list[_Stored]] = {
        query_id: [] for query_id in _repeated_ids([path for _, path in files])
    }
    for source, path in files:
        for row in _stored_rows(path):
            if row.query_id not in several:
                yield [row]
                continue
            same = several[row.query_id]
            if same and same[0].query != row.query:
                raise bad_input(
                    source,
                    wanted="one text per query id",
                    found=(
                        f"two for {row.query_id!r}: {_short(same[0].query)} and {_short(row.query)}"
                    ),
                    do="give files that belong together",
                )
            same.append(row)
    yield from several.values()


def _repeated_ids(paths: Sequence[Path]) -> list[str]:
    """Return the query ids of several rows, in order of their first row."""
    keys = np.concatenate([np.empty(0, np.uint64), *map(_query_keys, paths)])
    order = np.sort(keys)
    repeated = np.unique(order[1:][order[1:] == order[:-1]])
    times: Counter[str] = Counter()  # of few ids
    for path, own in zip(
        paths, np.split(keys, np.cumsum([_read(path).num_rows for path in paths])[:-1]), strict=True
    ):
        rows = np.flatnonzero(np.isin(own, repeated))
        times.update(_read(path).column("query_id").take(pa.array(rows)).to_pylist())
    return [query_id for query_id, number in times.items() if number > 1]


def _query_keys(path: Path) -> np.ndarray:
    ids = _read(path).column("query_id").cast(pa.binary()).to_pylist()
    return keys64(0, "query id", ids) if ids else np.empty(0, np.uint64)


def _query(rows: Sequence[_Stored], counts: Counter[str]) -> Query:
    first = rows[0]
    counts["rows"] += len(rows)
    counts["merged_rows"] += len(rows) - 1
    counts["rows_without_type"] += sum(row.query_type is None for row in rows)
    query_type = next((row.query_type for row in rows if row.query_type), None)
    fields = {"type": query_type} if query_type else {}
    well_formed = list(dict.fromkeys(text for row in rows for text in row.well_formed))
    if well_formed:
        fields["well_formed"] = json.dumps(well_formed, ensure_ascii=False)
    return Query(first.query_id, first.query, fields)


def _marks(rows: Sequence[_Stored], counts: Counter[str]) -> dict[int, int]:
    """Return ``is_selected`` of each passage of a query; for a repeated text, the highest."""
    marks: dict[int, int] = {}
    for row in rows:
        for passage, mark in zip(row.passages, row.selected, strict=True):
            marks[passage] = max(mark, marks.get(passage, UNKNOWN))
    counts.update(_MARKS[mark] for mark in marks.values())
    return marks


def _answers(rows: Sequence[_Stored], counts: Counter[str]) -> Iterable[tuple[int, str]]:
    """Return (passage, answer) for each distinct answer and selected passage of a row."""
    found: dict[tuple[int, str], None] = {}
    for row in rows:
        counts["rows_without_answers"] += row.answers is None
        given = row.answers or []
        texts = [text for text in given if text and text != NO_ANSWER]
        counts["no_answer_present"] += given.count(NO_ANSWER)
        counts["empty_answers"] += given.count("")
        distinct = dict.fromkeys(texts)
        counts["repeated_answers"] += len(texts) - len(distinct)
        selected = [
            passage for passage, mark in zip(row.passages, row.selected, strict=True) if mark == 1
        ]
        if not selected:
            counts["answers_without_selected_passage"] += len(distinct)
        found.update(dict.fromkeys((passage, text) for passage in selected for text in distinct))
    return found


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
