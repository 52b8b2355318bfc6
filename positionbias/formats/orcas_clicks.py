"""Write the split of ORCAS from its files, read as streams: what is held is numbers and hashes, and
each id once.

Memory of the import with all of orcas.tsv (10.4 million queries, 18.8 million clicks on 1.4 million
documents): 1.5 GB.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from positionbias.core.collection_writer import SplitWriter
from positionbias.core.errors import InputError, bad_input
from positionbias.core.qrels import judged_twice, numbered_qrels
from positionbias.core.records import Qrel, Query
from positionbias.core.seeds import keys64
from positionbias.formats.attach import numbered_queries, repeated_query
from positionbias.formats.key_map import KeyMap, KeyNumbers
from positionbias.formats.sources import Source

Item = TypeVar("Item")
BATCH = 65_536
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class _Click(NamedTuple):
    """A line of orcas.tsv with its number."""

    line: int
    query_id: str
    text: str
    document: str


def write_clicks(source: Source, split: SplitWriter) -> None:
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
            source.place, wanted="clicks", found="an empty file", do="fetch it again, or remove it"
        )
    del queries
    query_ids, document_ids = pa.concat_arrays(ids), pa.array(documents, pa.large_string())
    del ids, documents
    for found in _by_query(pairs):
        judged = query_ids.take(pa.array(found >> _HALF)), document_ids.take(pa.array(found & _LOW))
        split.add_columns("qrels", [*(column.to_pylist() for column in judged), [1] * len(found)])


def _clicks(source: Source) -> Iterator[_Click]:
    for number, line in source.lines():
        columns = line.split("\t")
        if len(columns) != 4 or not columns[0] or not columns[2]:
            raise bad_input(
                source.place,
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

    def add(self, clicks: Sequence[_Click], source: Source) -> tuple[np.ndarray, np.ndarray]:
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
                source.place,
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


class Lines(NamedTuple):
    """A file's numbered lines, to be read several times, and its name in messages."""

    read: Callable[[], Iterable[tuple[int, str]]]
    place: str


class TrecForm:
    """ORCAS in TREC's form: queries and judgements, either of which may be absent; each file is
    read two or three times.

    Raises:
        InputError: a malformed line (numbered), a repeated query or pair, or an empty file.
    """

    def __init__(self, queries: Lines | None, qrels: Lines | None) -> None:
        self._queries, self._qrels = queries, qrels
        self._seed = 0
        known = self._query_keys()
        while known is None:  # two ids had one hash, about once in 340,000 imports
            self._seed += 1
            known = self._query_keys()
        self._known = known
        self._judged = self._judged_keys()
        self.unjudged = 0
        self.without_query = 0

    def write(self, open_split: Callable[[], SplitWriter], *, keep_unjudged: bool) -> None:
        """Write a split as ``judged_split`` makes it, and count what it leaves out; without a query
        none is opened.
        """
        judged = None if keep_unjudged else self._judged
        split: SplitWriter | None = None
        for numbered in self._query_batches():
            queries = [query for _, query in numbered]
            if judged is not None:
                queries = list(
                    compress(
                        queries, judged.contains(self._keys(query.query_id for query in queries))
                    )
                )
            self.unjudged += len(numbered) - len(queries)
            if queries:
                split = split or open_split()
                split.add(queries)
        for qrels in self._qrel_batches():
            kept = list(
                compress(qrels, self._known.contains(self._keys(qrel.query_id for qrel in qrels)))
            )
            self.without_query += len(qrels) - len(kept)
            if kept:
                assert split is not None  # a judged query of the file was written
                split.add((), kept)

    def _query_keys(self) -> KeyMap | None:
        """Return the hashes of all query ids; None if two ids have the same."""
        known = KeyMap(np.bool_)
        for numbered in self._query_batches():
            new = known.add(self._keys(query.query_id for _, query in numbered)).new
            if not new.all():
                line, query = numbered[int(new.argmin())]
                self._refuse_repeated(line, query)
                return None
        return known

    def _refuse_repeated(self, line: int, query: Query) -> None:
        """Refuse a query whose id an earlier line has, read again: an equal hash alone does not say
        so.
        """
        assert self._queries is not None
        for earlier, other in numbered_queries(self._queries.read(), self._queries.place):
            if earlier == line:
                return
            if other.query_id == query.query_id:
                raise repeated_query(self._queries.place, line, query)

    def _judged_keys(self) -> KeyMap | None:
        if self._qrels is None:
            return None
        judged, pairs = KeyMap(np.bool_), _PairHashes()
        for qrels in self._qrel_batches():
            pairs.add(qrels)
            judged.add(self._keys(qrel.query_id for qrel in qrels))
        pairs.refuse(numbered_qrels(self._qrels.read(), self._qrels.place), self._qrels.place)
        return judged

    def _keys(self, query_ids: Iterable[str]) -> np.ndarray:
        return _keys(query_ids, self._seed)

    def _query_batches(self) -> Iterator[list[tuple[int, Query]]]:
        if self._queries is not None:
            yield from _batches(numbered_queries(self._queries.read(), self._queries.place))

    def _qrel_batches(self) -> Iterator[list[Qrel]]:
        if self._qrels is not None:
            yield from _batches(
                qrel for _, qrel in numbered_qrels(self._qrels.read(), self._qrels.place)
            )


class _PairHashes:
    """The (query, passage) pairs of judgements as hashes: 8 bytes each, where a table of 19 million
    pairs takes gigabytes.
    """

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, qrels: Iterable[Qrel]) -> None:
        """Take judgements."""
        self._hashes.extend(hash(qrel[:2]) for qrel in qrels)

    def refuse(self, numbered: Iterable[tuple[int, Qrel]], source: str) -> None:
        """Refuse a repeated pair; ``numbered`` has the same judgements with their lines, and is
        read only if two hashes are equal.

        Raises:
            InputError: a repeated pair, with both lines.
        """
        hashes = np.sort(np.frombuffer(self._hashes, np.int64))
        repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        first_line: dict[tuple[str, str], int] = {}
        for number, qrel in numbered if repeated else ():
            if hash(qrel[:2]) not in repeated:
                continue
            earlier = first_line.setdefault(qrel[:2], number)
            if earlier != number:
                raise judged_twice(source, number, qrel, earlier)


def _keys(query_ids: Iterable[str], seed: int = 0) -> np.ndarray:
    return keys64(seed, "query id", [query_id.encode() for query_id in query_ids])


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
