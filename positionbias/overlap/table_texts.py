"""The texts of tables: JSON lines, Parquet, CSV and TSV files, and data sets of the Hub on disk,
among them training sets of sentence-transformers.

A row is a query with its passage, or a passage; columns are guessed by their usual names
(``core.columns``): ``query``, ``question`` or ``anchor``, ``passage``, ``positive`` or ``text`` …,
and further passages in ``negative`` or ``negative_1`` …, which belong to no query. A text without
an id gets a hash of the text as ``posbias import table`` makes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import compress, islice
from pathlib import Path
from typing import Any, Protocol

from positionbias.core.blocks import file_blocks
from positionbias.core.closest import or_closest
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.errors import bad_input
from positionbias.core.input_state import content_digest
from positionbias.core.row_values import (
    BATCH_ROWS,
    NO_PASSAGE,
    Objects,
    RowBatch,
    RowCounts,
    Statements,
    ValueReader,
)
from positionbias.core.seeds import text_id
from positionbias.core.tables import arrow_batches, dataset_tables
from positionbias.formats.hub import load_hub
from positionbias.formats.json_lines import FIX, named
from positionbias.formats.row_blocks import LineRows, ParquetRows, parquet_blocks
from positionbias.formats.table_files import open_table, table_form
from positionbias.overlap.detectors import Texts
from positionbias.overlap.settings import PASSAGES, QUERIES, OverlapSettings

__all__ = ["HubTexts", "TableTexts", "table_files"]

_COMMAND = "leakage overlap"
_TABLES = re.compile(r"[^.].*\.(jsonl?|csv|tsv|tab|parquet)(\.gz|\.zst)?")
_NEGATIVE = re.compile(r"(hard_)?negatives?(_\d+)?")
_ROWS = 1 << 16  # rows of a data set in a block


def table_files(folder: Path) -> list[Path]:
    """Return a folder's tables, in the order of their names."""
    return sorted(
        path for path in folder.iterdir() if path.is_file() and _TABLES.fullmatch(path.name)
    )


class Rows(Protocol):
    """Rows of a table, picklable."""

    def row_batches(self) -> Iterator[RowBatch]:
        """Yield the rows."""

    def fingerprint(self) -> str:
        """Return an identifier across runs."""


@dataclass(frozen=True, slots=True)
class _Lines:
    rows: LineRows

    def row_batches(self) -> Iterator[RowBatch]:
        stream = self.rows.rows()
        while batch := list(islice(stream, BATCH_ROWS)):
            for number, value in batch:
                if not isinstance(value, dict):
                    raise self.rows.bad_row(
                        number, wanted="one JSON object a line", found=named(value), do=FIX
                    )
            yield Objects(*zip(*batch, strict=True))

    def fingerprint(self) -> str:
        return self.rows.fingerprint()


@dataclass(frozen=True, slots=True)
class _Parquet:
    rows: ParquetRows

    def row_batches(self) -> Iterator[RowBatch]:
        return arrow_batches(self.rows.batches(BATCH_ROWS))

    def fingerprint(self) -> str:
        return self.rows.fingerprint()


@dataclass(frozen=True, slots=True)
class _Held:
    """Rows that were read already, of a form that is read from its start."""

    batch: RowBatch

    def row_batches(self) -> Iterator[RowBatch]:
        yield self.batch

    def fingerprint(self) -> str:
        return hashlib.blake2b(
            repr(self.batch).encode("utf-8", "replace"), digest_size=16
        ).hexdigest()


@dataclass(frozen=True, slots=True)
class _Saved:
    """Rows [first, last) of a split of a data set on disk."""

    path: str
    split: str
    checksum: str
    columns: Sequence[str]
    first: int
    last: int

    def row_batches(self) -> Iterator[RowBatch]:
        data = _saved_splits(self.path, self.checksum)[self.split].select(
            range(self.first, self.last)
        )
        ((_, table),) = dataset_tables(data, self.path)
        return iter(table.read(self.columns))

    def fingerprint(self) -> str:
        return f"{self.checksum} {self.split} {self.first}-{self.last}"


@lru_cache(maxsize=2)
def _saved_splits(path: str, checksum: str) -> Mapping[str, Any]:
    """Return the splits of a data set on disk, opened once in each process."""
    found = load_hub(path, command=_COMMAND)
    return found if isinstance(found, Mapping) else {"": found}


@dataclass(frozen=True, slots=True)
class TableBlock:
    """The passages or queries in rows; of a table with splits those of one.

    Of a test set only relevant passages are wanted (``judged``), as of collections.
    """

    rows: Rows
    columns: Sequence[Columns]
    split: str
    unit: str
    source: str
    relevant_from: int = 1
    judged: bool = False

    def batches(self) -> Iterator[Texts]:
        """Yield the texts; rows that hold no usable text are counted."""
        for batch in self.rows.row_batches():
            # of a test set the relevant passages
            further = self.unit == PASSAGES and not self.judged
            for number, columns in enumerate(self.columns if further else self.columns[:1]):
                found, left_out = self._read(batch, columns, main=not number)
                if self.unit == PASSAGES:
                    found = found.only(self._relevant(found)) if self.judged else found
                    yield Texts(
                        _Ids(found.passage_ids, found.passages, "p"), found.passages, left_out
                    )
                else:
                    asked = list(map(bool, found.queries))
                    queries = list(compress(found.queries, asked))
                    yield Texts(
                        _Ids(list(compress(found.query_ids, asked)), queries, "q"),
                        queries,
                        left_out,
                    )

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield queries with their relevant passages."""
        for batch in self.rows.row_batches():
            found, _ = self._read(batch, self.columns[0], main=True)
            ids = zip(
                _Ids(found.query_ids, found.queries, "q"),
                _Ids(found.passage_ids, found.passages, "p"),
                strict=True,
            )
            linked = (
                bool(query) and own
                for query, own in zip(found.queries, self._relevant(found), strict=True)
            )
            yield from compress(ids, linked)

    def _relevant(self, found: Statements) -> list[bool]:
        """Return which passages are relevant: of a query with a grade from ``relevant_from`` on,
        all of a table without grades or queries.
        """
        lowest = self.relevant_from if self.columns[0].label else 1
        return [
            not query or grade >= lowest
            for query, grade in zip(found.queries, found.grades, strict=True)
        ]

    def _read(self, batch: RowBatch, columns: Columns, *, main: bool) -> tuple[Statements, int]:
        counts = RowCounts()
        found = ValueReader(columns, self.split, self.source, counts).read(batch)
        found = found.only([split == self.split for split in found.splits])
        return found, sum(
            count for cause, count in counts.left_out.items() if main or cause != NO_PASSAGE
        )

    def fingerprint(self) -> str:
        """Return that of the rows, and what is read of them."""
        return f"{self.rows.fingerprint()} {self.columns} {self.split} {self.unit}"


class _Ids(Sequence[str]):
    """The ids of texts, given or made of the text, when they are asked for."""

    def __init__(self, given: Sequence[str], texts: Sequence[str], letter: str) -> None:
        self.given, self.texts, self.letter = given, texts, letter

    def __len__(self) -> int:
        return len(self.given)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self.given[place] or text_id(self.letter, self.texts[place])


def _columns(names: Sequence[str], source: str) -> tuple[Columns, ...]:
    """Return the columns of queries and their passages, then those of further passages.

    Raises:
        InputError: no column of passages.
    """
    further = [name for name in names if _NEGATIVE.fullmatch(name)]
    main = replace(
        Columns().of(names, source, do="rename one to passage"), answer="", answer_start=""
    )
    return (main, *(Columns(passage=name, split=main.split) for name in further))


@dataclass(frozen=True)
class TableTexts:
    """The texts of tables; rows of other splits than ``split`` are left alone, and rows without a
    split are of it.
    """

    name: str
    place: Path
    files: Sequence[Path]
    split: str
    relevant_from: int
    judged: bool

    corpus = ""

    @staticmethod
    def of(
        name: str,
        place: Path,
        files: Sequence[Path],
        split: str,
        settings: OverlapSettings,
        *,
        test: bool,
    ) -> TableTexts:
        """Return the texts of files.

        Raises:
            InputError: an unreadable file, or one without a column of passages.
        """
        found = TableTexts(
            name,
            place,
            tuple(files),
            split,
            settings.relevant_from if test else 1,
            test and not settings.all_passages,
        )
        for path in files:
            found.columns(path)
        return found

    @cached_property
    def checksum(self) -> str:
        """The checksum of the files."""
        return hashlib.sha256("".join(map(content_digest, self.files)).encode()).hexdigest()

    def columns(self, path: Path) -> tuple[Columns, ...]:
        """Return the columns of a file."""
        table = open_table(path)
        return _columns(table.names, table.source)

    def blocks(self, unit: str) -> Iterator[TableBlock]:
        """Yield the rows of all files, as passages or queries."""
        for path in self.files:
            columns = self.columns(path)
            if unit == PASSAGES or columns[0].query:
                for rows in _rows(path, columns):
                    yield TableBlock(
                        rows, columns, self.split, unit, str(path), self.relevant_from, self.judged
                    )

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield queries with their relevant passages."""
        for block in self.blocks(QUERIES):
            yield from block.links()


def _rows(path: Path, columns: Sequence[Columns]) -> Iterator[Rows]:
    """Yield the rows of a file; processes read JSON lines and Parquet by themselves, other forms
    are read here.
    """
    form = table_form(path)
    if form == "lines":
        yield from (_Lines(LineRows(block)) for block in file_blocks(path))
        return
    table = open_table(path)
    names = _read_from(table.names, columns)
    if form == "parquet":
        yield from map(_Parquet, parquet_blocks(path, names))
    else:
        yield from map(_Held, table.read(names))


def _read_from(names: Sequence[str], columns: Sequence[Columns]) -> list[str]:
    return list(dict.fromkeys(name for own in columns for name in own.read_from(names)))


@dataclass(frozen=True)
class HubTexts:
    """The texts of one split of a data set that the package datasets saved."""

    name: str
    place: Path
    split: str
    key: str
    checksum: str
    relevant_from: int
    judged: bool

    corpus = ""

    @staticmethod
    def of(
        name: str, place: Path, split: str, settings: OverlapSettings, *, test: bool
    ) -> HubTexts:
        """Return a data set's texts.

        Raises:
            InputError: an unreadable data set, no such split, or no column of passages.
            DependencyError: datasets is not installed.
        """
        found = load_hub(str(place), command=_COMMAND)
        wanted = split or ("test" if test else "train")
        lowest, judged = settings.relevant_from if test else 1, test and not settings.all_passages
        if not isinstance(found, Mapping):
            _columns(found.column_names, str(place))
            return HubTexts(name, place, wanted, "", str(found._fingerprint), lowest, judged)
        splits = {SPLIT_WORDS.get(str(key).lower(), str(key)): str(key) for key in found}
        if wanted not in splits:
            do = or_closest(wanted, splits, f"name one: {place.name}:SPLIT")
            raise bad_input(place, wanted=f"a split {wanted!r}", found=", ".join(splits), do=do)
        data = found[splits[wanted]]
        _columns(data.column_names, str(place))
        return HubTexts(name, place, wanted, splits[wanted], str(data._fingerprint), lowest, judged)

    def blocks(self, unit: str) -> Iterator[TableBlock]:
        """Yield the rows, as passages or queries."""
        data = _saved_splits(str(self.place), self.checksum)[self.key]
        columns = _columns(data.column_names, str(self.place))
        names = tuple(_read_from(data.column_names, columns))
        if unit == PASSAGES or columns[0].query:
            for first in range(0, len(data), _ROWS):
                rows = _Saved(
                    str(self.place),
                    self.key,
                    self.checksum,
                    names,
                    first,
                    min(first + _ROWS, len(data)),
                )
                yield TableBlock(
                    rows,
                    columns,
                    self.split,
                    unit,
                    str(self.place),
                    self.relevant_from,
                    self.judged,
                )

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield queries with their relevant passages."""
        for block in self.blocks(QUERIES):
            yield from block.links()
