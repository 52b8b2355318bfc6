"""Write the split of ORCAS from orcas.tsv, read as a stream: numbers and hashes are held, and each
id once.

Memory of the import with all of orcas.tsv (10.4 million queries, 18.8 million clicks on 1.4 million
documents): 1.5 GB.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from positionbias.core.blocks import file_lines
from positionbias.core.collection_writer import SplitWriter
from positionbias.core.errors import InputError, bad_input
from positionbias.core.records import Query
from positionbias.core.seeds import keys64
from positionbias.formats.key_map import KeyNumbers

Item = TypeVar("Item")
BATCH = 65_536
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class _Click(NamedTuple):
    """A line of orcas.tsv with its number."""

    line: int
    query_id: str
    text: str
    document: str


def write_clicks(source: Path, split: SplitWriter) -> None:
    """Write the queries and judgements of orcas.tsv; each line adds a document to its query,
    repeated ones once.

    Queries stand in the order of their first lines, and so do the documents of each.

    Raises:
        InputError: a line with too few columns or without an id, a query with two texts (numbered),
            or no lines.
    """
    ids: list[pa.Array] = []
    pairs: list[np.ndarray] = []
    documents: dict[str, int] = {}
    queries = _Queries()
    for clicks in _batches(_clicks(source)):
        numbers, new = queries.add(clicks, source)
        fresh = list(compress(clicks, new))
        split.add([Query(click.query_id, click.text) for click in fresh])
        ids.append(pa.array([click.query_id for click in fresh], pa.large_string()))
        places = (documents.setdefault(click.document, len(documents)) for click in clicks)
        pairs.append(
            numbers.astype(np.uint64) << _HALF | np.fromiter(places, np.uint64, len(clicks))
        )
    if not pairs:
        raise bad_input(
            source, wanted="clicks", found="an empty file", do="fetch it again, or remove it"
        )
    del queries
    query_ids, document_ids = pa.concat_arrays(ids), pa.array(documents, pa.large_string())
    del ids, documents
    for found in _by_query(pairs):
        judged = query_ids.take(pa.array(found >> _HALF)), document_ids.take(pa.array(found & _LOW))
        split.add_columns("qrels", [*(column.to_pylist() for column in judged), [1] * len(found)])


def _clicks(source: Path) -> Iterator[_Click]:
    for number, line in file_lines(source):
        columns = line.split("\t")
        if len(columns) != 4 or not columns[0] or not columns[2]:
            raise bad_input(
                source,
                line=number,
                wanted="a click: query id, query, document id, URL, separated by tabs",
                found="an empty id" if len(columns) == 4 else f"{len(columns)} columns",
                do="fix or drop the line",
            )
        yield _Click(number, *columns[:3])


class _Queries:
    """The queries of clicks, numbered by first appearance, with a hash of each one's text: 20 bytes
    a query.
    """

    def __init__(self) -> None:
        self._numbers = KeyNumbers()
        self._texts = array("Q")

    def add(self, clicks: Sequence[_Click], source: Path) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each click's query, and a mask of the first clicks.

        Raises:
            InputError: a query with two texts.
        """
        numbers, new = self._numbers.add(_keys(click.query_id for click in clicks))
        hashes = np.fromiter(
            (xxh3_64_intdigest(click.text.encode()) for click in clicks), np.uint64, len(clicks)
        )
        self._texts.frombytes(hashes[new].tobytes())
        clash = np.frombuffer(self._texts, np.uint64)[numbers] != hashes
        if clash.any():
            click = clicks[int(clash.argmax())]
            raise bad_input(
                source,
                line=click.line,
                wanted="one text per query",
                found=f"a second text for {click.query_id!r}",
                do="fix or drop the line",
            )
        return numbers, new


def _by_query(chunks: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield distinct pairs of numbers (query in the upper 32 bits), query by query and in order of
    appearance; empties ``chunks``.
    """
    pairs = np.concatenate(chunks)
    chunks.clear()
    # query and place, each pair's own
    order = pairs >> _HALF << _HALF | np.arange(len(pairs), dtype=np.uint64)
    order.sort()
    start = 0
    while start < len(order):
        last = order[min(start + BATCH, len(order)) - 1]
        end = int(np.searchsorted(order, last | _LOW, side="right"))  # with all of the last query
        found = pairs[order[start:end] & _LOW]
        first = np.sort(np.unique(found, return_index=True)[1])
        yield found[first]
        start = end


def _keys(query_ids: Iterable[str]) -> np.ndarray:
    return keys64(0, "query id", [query_id.encode() for query_id in query_ids])


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield batches; where a line is refused, those before it come first, as one of them may be
    refused too.
    """
    held: list[Item] = []
    try:
        for item in items:
            held.append(item)
            if len(held) == BATCH:
                yield held
                held = []
    except InputError:
        if held:
            yield held
        raise
    if held:
        yield held
