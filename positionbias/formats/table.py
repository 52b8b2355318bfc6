"""Import tables of passages, queries and answers as a collection.

Rows are read once, in one process. A row judges one passage for one query, or is just a passage.
Missing ids are hashes of the texts. Passages, queries, pairs and answers that occur in several rows
are kept once. Only hashes are held in memory, about 45 bytes a row; drawing validation queries also
holds the ids and judgements of the training queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, compress, islice
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import SplitWriter, Texts, create_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import content_digest, remove, unchanged
from positionbias.core.manifest import InputRef, Manifest, input_ref
from positionbias.core.progress import step
from positionbias.core.seeds import TEXT, keys64
from positionbias.core.split_tables import KIND
from positionbias.formats.columns import Columns
from positionbias.formats.imported import in_words, told
from positionbias.formats.key_map import KeyMap
from positionbias.formats.splits import divide_split
from positionbias.formats.table_files import BATCH_ROWS, Table, open_table, sources_of
from positionbias.formats.table_values import MisfitError, Row, RowCounts, read_row
from positionbias.formats.validation_draw import ValidationDraw

_DRAWING = "drawing"  # the folder of training records until validation queries are drawn
# odd factors that spread hashes over 64 bits before their sum becomes the hash of a pair or an
# answer
_PASSAGE, _TEXT, _START = (
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
)
_HALF = np.uint64(32)  # of the bits of a hash, the others are the row's number
_NOTES = (
    "Rows with the same passage, or the same query of a split, are one; without an id it is a "
    "hash of the text.",
    "A row without a label is of grade 1; a query with an empty list of answers is left out, "
    "and its passage kept.",
)


@dataclass(frozen=True, slots=True)
class TableSource:
    """The manifest's facts about tables: the columns read from each, and counts of rows."""

    format: str
    columns: Mapping[str, Mapping[str, str]]
    counts: RowCounts


def import_table(
    data: Iterable[Any],
    out: Path | str,
    *,
    columns: Columns,
    validation: ValidationDraw,
    overwrite: bool = False,
) -> Collection:
    """Make a collection from tables in any form that ``sources_of`` takes, each with the split of
    its rows; a row may name its own split.

    Raises:
        InputError: as ``sources_of``, ``open_table`` and ``Columns.completed``; an id with two
            texts, or no valid row.
        SettingError: ``validation`` leaves no training question.
    """
    out = Path(out)
    sources = [source for given in data for source in sources_of(given)]
    if not sources:
        raise SettingError("FILE: wanted one table at least; found none; give it")
    paths = [source for _, source in sources if isinstance(source, Path)]
    inputs = [
        input_ref(f"table {number}", path, content_digest(path), artefact=out)
        for number, path in enumerate(paths, 1)
    ]
    inputs += [
        InputRef(split, "data set", source._fingerprint)
        for split, source in sources
        if hasattr(source, "_fingerprint")
    ]
    with unchanged(paths), create_collection(out, overwrite=overwrite) as writer:
        held = SplitWriter(writer.folder / _DRAWING, "train", checked=True)
        drawing = validation.validation_queries > 0
        reader = _Reader(
            columns,
            lambda split: (
                held if drawing and split == "train" else writer.split(split, checked=True)
            ),
        )
        tables = ((split, open_table(source, split)) for split, source in sources)
        writer.add_texts(reader.passages(tables))
        names = ", ".join(reader.columns_read) or f"{out}"
        reader.check(names, writer.passages)
        drawn = divide_split(held, writer, validation, "table validation") if drawing else None
        remove(writer.folder / _DRAWING)
        source = TableSource("table", reader.columns_read, reader.counts)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="import table",
                settings={
                    "columns": columns.named(),
                    **({"grades": columns.grade} if columns.grade else {}),
                    **(asdict(validation) if drawn else {}),
                },
                seed=validation.seed if drawn else None,
                inputs=tuple(inputs),
                notes=_NOTES,
                content={
                    "source": asdict(source),
                    **({"validation": asdict(drawn)} if drawn else {}),
                },
            )
        )
    columns_read = (f"{name}: {in_words(known)}" for name, known in source.columns.items())
    return told(Collection(out), chain(columns_read, source.counts.remarks()))


@dataclass(slots=True)
class _Split:
    """The writer of a split, and hashes of its content."""

    writer: SplitWriter
    queries: KeyMap = field(default_factory=KeyMap)
    pairs: KeyMap = field(default_factory=lambda: KeyMap(np.int32))
    answers: KeyMap = field(default_factory=lambda: KeyMap(np.bool_))


class _Reader:
    """A reader of tables that yields their passages, and writes their queries, judgements and
    answers by split; ``split_writer`` opens a split at its first row.
    """

    def __init__(self, columns: Columns, split_writer: Callable[[str], SplitWriter]) -> None:
        self.counts, self.columns_read = RowCounts(), dict[str, Mapping[str, str]]()
        self._columns, self._open = columns, split_writer
        self._grades = {name: int(grade) for name, grade in columns.grade.items()}
        self._passages, self._splits = KeyMap(), dict[str, _Split]()

    def passages(self, tables: Iterable[tuple[str, Table]]) -> Iterator[Texts]:
        """Yield the new passages of tables."""
        for split, table in tables:
            columns = self._columns.completed(table.names, table.source)
            name, named = Path(table.source).name, columns.named()
            self.columns_read[name] = named
            # without queries nothing is judged
            read = {w: c for w, c in named.items() if "query" in named or w != "label"}
            rows = table.read(read)
            with step(name, None, unit="rows") as progress:
                while batch := list(islice(rows, BATCH_ROWS)):
                    yield self._added(batch, split, table)
                    progress.advance(len(batch))
            if self._columns.guessed(table.names) != columns:
                raise bad_input(
                    table.source,
                    wanted="the columns of its first rows",
                    found=", ".join(table.names),
                    do="name all columns that are meant",
                )

    def check(self, names: str, passages: int) -> None:
        """Check that rows of the tables of these names were usable.

        Raises:
            InputError: none was, or no label is of a class that has a grade.
        """
        counts = self.counts
        if not passages:
            causes = "; ".join(f"{cause}: {count:,}" for cause, count in counts.left_out.items())
            classes = f"; the labels are {', '.join(counts.grades)}" if counts.grades else ""
            found = f"none of {counts.rows:,}" + (f" ({causes}{classes})" if causes else "")
            raise bad_input(
                names, wanted="rows with a passage", found=found, do="check the columns"
            )
        if unknown := [name for name in self._grades if name not in counts.grades]:
            raise bad_input(
                names,
                wanted=f"a class {unknown[0]!r} among the labels",
                found=", ".join(counts.grades) or "no classes",
                do="give one of these to --grade",
            )

    def _added(
        self, batch: Sequence[tuple[int, Mapping[str, Any]]], split: str, table: Table
    ) -> Texts:
        """Write the rows' queries, judgements and answers; return their new passages."""
        rows, numbers = list[Row](), list[int]()
        for number, values in batch:
            try:
                rows += read_row(values, self.counts, split, self._grades)
            except MisfitError as misfit:
                self.counts.leave_out(str(misfit), f"{table.source}, {table.unit} {number:,}")
            numbers += [number] * (len(rows) - len(numbers))
        self.counts.rows += len(batch)
        texts = [row.passage.encode() for row in rows]
        given = [row.passage_id for row in rows]
        ids, keys, new = self._named(self._passages, "passage", given, texts, numbers, table.source)
        places: dict[str, list[int]] = {}
        for place, row in enumerate(rows):
            if row.query:
                places.setdefault(row.split, []).append(place)
        for name, asked in places.items():
            judged = [(rows[place], ids[place], numbers[place]) for place in asked]
            self._judge(name, judged, keys[asked], table.source)
        new_ids, new_texts = _only(new, ids, texts)
        return new_ids, new_texts

    def _judge(
        self,
        name: str,
        judged: Sequence[tuple[Row, bytes, int]],
        passages: np.ndarray,
        source: str,
    ) -> None:
        """Write a split's queries, judgements and answers: rows with their passages' ids, the
        rows' numbers, and hashes of the ids.
        """
        if name not in self._splits:
            self._splits[name] = _Split(self._open(name))
        split, counts = self._splits[name], self.counts
        rows, passage_ids, numbers = zip(*judged, strict=True)
        texts, given = [row.query.encode() for row in rows], [row.query_id for row in rows]
        ids, keys, new = self._named(split.queries, "query", given, texts, numbers, source)
        pairs, grades = keys + passages * _PASSAGE, [row.grade for row in rows]
        fresh, clash = split.pairs.add(pairs, np.array(grades, np.int32))
        counts.met_again("pairs", int((~fresh).sum()))
        counts.met_again("pairs with another label; the first is used", int(clash.sum()))
        answers = [
            (place, text.encode(), start, None if start is None else start + len(text))
            for place, row in enumerate(rows)
            for text, start in row.answers
        ]
        places, spans, starts, ends = zip(*answers, strict=True) if answers else ((),) * 4
        after = np.array([0 if start is None else start + 1 for start in starts], np.uint64)
        answer_keys = pairs[list(places)] + _hashes(spans) * _TEXT + after * _START
        unseen = split.answers.add(answer_keys).new
        counts.met_again("answers", int((~unseen).sum()))
        answered = ([column[place] for place in places] for column in (ids, passage_ids))
        writer = split.writer
        writer.add_columns("queries", _only(new, ids, texts, [[]] * len(ids)))
        writer.add_columns("qrels", _only(fresh, ids, passage_ids, grades))
        writer.add_columns("answers", _only(unseen, *answered, spans, starts, ends))

    def _named(
        self,
        known: KeyMap,
        what: str,
        given: Sequence[str],
        texts: Sequence[bytes],
        numbers: Sequence[int],
        source: str,
    ) -> tuple[list[bytes], np.ndarray, np.ndarray]:
        """Return the ids of texts, given or hashed, the ids' hashes, and a mask of new ones.

        Raises:
            InputError: an id with two texts.
        """
        ids = [name.encode() for name in given]
        if not all(ids):  # as ``text_id`` makes them
            made, form = keys64(0, TEXT, texts).tolist(), f"{what[0]}%016x".encode()
            ids = [name or form % key for name, key in zip(ids, made, strict=True)]
        keys, rows = _hashes(ids), np.array(numbers, np.uint64)
        hashes = _hashes(texts) >> _HALF
        new = known.add(keys, (rows << _HALF) + hashes).new
        first = known.find(keys)[1]
        if (clash := first % (1 << 32) != hashes).any():
            row = int(clash.argmax())
            earlier = " of this or an earlier table" if len(self.columns_read) > 1 else ""
            found = (
                f"{what} {ids[row].decode()!r} with two texts, in rows {first[row] >> _HALF:,}"
                f"{earlier} and {rows[row]:,}"
            )
            do = (
                f"name another column with --{what}-id; for chunks, use the chunk's id, not the "
                "document's"
            )
            raise bad_input(source, wanted=f"one text a {what} id", found=found, do=do)
        self.counts.met_again("queries" if what == "query" else f"{what}s", int((~new).sum()))
        return ids, keys, new


def _only(mask: np.ndarray, *columns: Sequence[Any]) -> list[list[Any]]:
    return [list(column if mask.all() else compress(column, mask)) for column in columns]


def _hashes(texts: Sequence[bytes]) -> np.ndarray:
    """Return 64-bit hashes, used only within one import: ``(n,)`` uint64."""
    return np.fromiter(map(xxhash.xxh3_64_intdigest, texts), np.uint64, len(texts))
