"""Read and write runs in TREC's six columns, ``query Q0 passage rank score tag``, as arrays.

Blocks of a file are read by ``pyarrow.csv``. A block that it refuses, or would read otherwise than
by white space, is read line by line: that accepts unusual lines and names a faulty one by its
number. Lines at the head that begin with "# ", as ir_metadata's, are skipped.
"""

from __future__ import annotations

import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from positionbias.core.blocks import Block, file_blocks
from positionbias.core.errors import InputError, bad_input
from positionbias.core.exchange import write_columns
from positionbias.core.publish import recover
from positionbias.core.rank_order import Ranking, ranked, run_stem, tag_of

_WANTED = "six columns: query Q0 passage rank score tag"
_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "query": _TEXT,
    "iteration": _TEXT,
    "passage": pa.string(),
    "rank": pa.int64(),
    "score": pa.float64(),
    "tag": _TEXT,
}
_FEW = ("query", "iteration", "tag")
_KEPT = ["query", "passage", "score", "tag"]
_LARGEST = float(np.finfo(np.float32).max)
# by query, its passages, best first, as int32 positions among all passages, and their scores
Index = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Some lines of a run, with all of each query's: the columns query, passage, score and tag.

    ``first`` counts the lines with content before them.
    """

    source: str
    first: int
    table: pa.Table

    def fingerprint(self) -> str:
        """Return which lines these are, for a job whose record has the state of the file."""
        return f"{self.first}-{self.first + len(self.table)}"

    @property
    def name(self) -> str:
        """The tag, or the file's name where tags differ."""
        tags = pc.unique(self.table["tag"]).to_pylist()
        return tags[0] if len(tags) == 1 else run_stem(Path(self.source))

    def ranked(self, *, together: bool = True) -> tuple[list[str], Index]:
        """Return the passages, and each query's positions in them with the scores, by score
        descending, then id descending. ``together``: each query's lines must be contiguous.

        Raises:
            InputError: a repeated passage of a query, or its lines apart.
        """
        queries = self.table["query"].unify_dictionaries().combine_chunks()
        passages = self.table["passage"].dictionary_encode().combine_chunks()
        codes, numbers = queries.indices.to_numpy(), passages.indices.to_numpy()
        scores = self.table["score"].to_numpy().astype(np.float32)
        falls = codes[1:] < codes[:-1]  # queries are numbered by their first lines
        if falls.any():
            if together:
                again = queries.dictionary[int(codes[1:][falls][0])].as_py()
                raise lines_apart(self.source, again)
            grouped = np.argsort(codes, kind="stable")
            codes, numbers, scores = codes[grouped], numbers[grouped], scores[grouped]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        query_ids = queries.dictionary.take(pa.array(codes[starts])).to_pylist()
        names, index = passages.dictionary.to_pylist(), {}
        parts = np.split(numbers, starts[1:]), np.split(scores, starts[1:])
        for query_id, placed, scored in zip(query_ids, *parts, strict=True):
            order, values = ranked(self.source, query_id, placed, scored, names=names)
            index[query_id] = (placed[order], values)
        return names, index

    def rankings(self) -> Iterator[Ranking]:
        """Yield the rankings one by one; each query's lines are together.

        Raises:
            InputError: as ``ranked``.
        """
        names, index = self.ranked()
        for query_id, (numbers, scores) in index.items():
            yield Ranking(query_id, [names[place] for place in numbers.tolist()], scores)


def lines_apart(source: Path | str, query_id: str) -> InputError:
    """Return an error about a query that comes back after others."""
    found = f"query {query_id!r} again, after others"
    return bad_input(
        source,
        wanted="a query's lines together",
        found=found,
        do="sort the file by its first column",
    )


# -- reading ---------------------------------------------------------------------------------------


def read_lines(path: Path | str) -> Lines:
    """Read all lines of a run, plain, ``.gz`` or ``.zst``.

    Raises:
        InputError: a malformed line (numbered), a damaged or an empty file.
    """
    recover(path)
    tables = [table for table in map(_table, file_blocks(path)) if len(table)]
    if not tables:
        raise _empty(path)
    return Lines(str(path), 0, pa.concat_tables(tables))


def query_lines(blocks: Iterable[Block], source: Path | str) -> Iterator[Lines]:
    """Yield the lines of a run block by block, for runs that do not fit in memory. A query's lines
    are carried to the next block until another query comes.

    Raises:
        InputError: as ``read_lines``.
    """
    kept: list[pa.Table] = []  # the last query's lines
    first = 0
    for block in blocks:
        table = _table(block)
        if not len(table):
            continue
        codes = table["query"].chunk(0).indices.to_numpy()
        cut = int(np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))[-1])
        if cut or (kept and kept[-1]["query"][0].as_py() != table["query"][0].as_py()):
            lines = Lines(str(source), first, pa.concat_tables([*kept, table[:cut]]))
            first, kept = first + len(lines.table), []
            yield lines
        kept.append(table[cut:])
    if not kept:
        raise _empty(source)
    yield Lines(str(source), first, pa.concat_tables(kept))


def read_rankings(path: Path | str) -> Iterator[Ranking]:
    """Stream the rankings of a TREC run, for runs that do not fit in memory.

    Raises:
        InputError: as ``rankings_of``.
    """
    recover(path)
    return rankings_of(file_blocks(path), path)


def rankings_of(blocks: Iterable[Block], source: Path | str) -> Iterator[Ranking]:
    """Stream the rankings of a run's blocks; each query's lines are together.

    Raises:
        InputError: as ``query_lines`` and ``Lines.ranked``.
    """
    seen: set[str] = set()
    for lines in query_lines(blocks, source):
        for ranking in lines.rankings():
            if ranking.query_id in seen:
                raise lines_apart(source, ranking.query_id)
            seen.add(ranking.query_id)
            yield ranking


def _empty(source: Path | str) -> InputError:
    return bad_input(source, wanted=_WANTED, found="an empty file", do="check the path")


def _table(block: Block) -> pa.Table:
    """Return a block's lines as columns, each of one chunk."""
    data = block.read()
    if block.start == 0:
        data = data.removeprefix(BOM_UTF8)
        while data.startswith(b"# "):
            data = data.partition(b"\n")[2]
    table = None if b"\t" in data and b" " in data else _plain(data)
    return _parsed(block) if table is None else table


def _plain(data: bytes) -> pa.Table | None:
    """Return the columns of lines with one space or tab between them; None for any others."""
    delimiter = "\t" if b"\t" in data else " "
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            # in this thread alone: Arrow waits for threads forever where the system gives it none
            csv.ReadOptions(column_names=list(_TYPES), use_threads=False, block_size=len(data) + 1),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types=_TYPES, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    # two spaces make an empty column
    texts = [table["passage"], *(table[name].chunk(0).dictionary for name in _FEW)]
    empty = any(pc.index(values, "").as_py() >= 0 for values in texts)
    finite = (np.abs(table["score"].to_numpy()) <= _LARGEST).all()
    return table.select(_KEPT) if finite and not empty else None


def _parsed(block: Block) -> pa.Table:
    """Return the columns of any lines, cut at ASCII white space as by trec_eval."""
    head, rows = block.start == 0, []
    for number, line in block.lines():
        head = head and line.startswith("# ")
        columns = [] if head else [column.decode() for column in line.encode().split()]
        if not columns:
            continue
        do = "fix or drop the line"
        if len(columns) != len(_TYPES):
            found = f"{len(columns)} columns"
            raise block.bad_line(number, wanted=_WANTED, found=found, do=do)
        try:
            score = float(columns[4])
        except ValueError:
            score = math.nan
        if not abs(score) <= _LARGEST:
            found = repr(columns[4])
            raise block.bad_line(number, wanted="a finite score", found=found, do=do)
        rows.append((columns[0], columns[2], score, columns[5]))
    lines = zip(*rows, strict=True) if rows else ((),) * len(_KEPT)
    table = pa.table([pa.array(column) for column in lines], _KEPT)
    return table.cast(pa.schema([(name, _TYPES[name]) for name in _KEPT])).combine_chunks()


# -- writing ---------------------------------------------------------------------------------------


def strictly_decreasing(scores: np.ndarray) -> np.ndarray:
    """Lower equal scores by the smallest float32 step, so that ranks survive any evaluator's tie
    rule.

    At float32's minimum, where no step down is left, the scores before it are raised.
    """
    out = np.array(scores, dtype=np.float32)
    if np.isnan(out).any():
        raise InputError(
            "run: missing scores cannot be written; rerank --allow-missing puts these passages "
            "behind the others"
        )
    if bool((out[1:] < out[:-1]).all()):
        return out
    with np.errstate(over="ignore"):  # below the minimum is infinity
        for index in range(1, len(out)):
            if not out[index] < out[index - 1]:
                out[index] = np.nextafter(out[index - 1], np.float32(-np.inf))
    if len(out) and np.isneginf(out[-1]):
        out[-1] = np.finfo(np.float32).min
        for index in range(len(out) - 1, 0, -1):
            if not out[index] < out[index - 1]:
                out[index - 1] = np.nextafter(out[index], np.float32(np.inf))
    return out


def write_rankings(
    path: Path | str, name: str, rankings: Iterable[Ranking], *, overwrite: bool = False
) -> tuple[int, int]:
    """Write streamed rankings, each best first, strictly decreasing within each query, gzipped if
    the name ends in ``.gz``; return the numbers of queries and pairs. The caller must give each
    query once.

    Raises:
        InputError: an id that is empty or has a space, which this form cannot express.
    """
    tag, counts = tag_of(name), [0, 0]

    def blocks() -> Iterator[tuple[Iterable[str], str]]:
        for query_id, passage_ids, scores in rankings:
            counts[0], counts[1] = counts[0] + 1, counts[1] + len(passage_ids)
            scored = zip(passage_ids, strictly_decreasing(scores), strict=True)
            yield (
                (query_id, *passage_ids),
                "".join(
                    f"{query_id} Q0 {passage_id} {rank} {score!s} {tag}\n"
                    for rank, (passage_id, score) in enumerate(scored, 1)
                ),
            )

    write_columns(path, blocks(), f"run {name!r}", overwrite=overwrite)
    return counts[0], counts[1]
