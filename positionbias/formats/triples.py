"""Import training triples of MS MARCO and TripClick as training groups: ids (``qidpidtriples``), or
texts (``triples.train``), matched to ids.

A triple becomes a group of two, the positive first. Lines whose query is not a training query of
the collection (such as a validation query drawn from training), or whose passages or texts are not
in it, are left out; ``content["lines"]`` counts all lines.

Texts are matched by a 64-bit hash of the exact text, in a sorted table of 16 bytes per passage that
every worker maps; of passages with the same text the first is used [decision]. At MS MARCO's size,
a text outside the collection is matched by mistake with probability 1 in 2 × 10¹².
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from positionbias.core.blocks import Block, file_blocks
from positionbias.core.collection import Collection
from positionbias.core.files import remove
from positionbias.core.groups import KIND, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.progress import track
from positionbias.core.records import Query
from positionbias.core.seeds import keys64
from positionbias.core.shards import read_shard
from positionbias.core.steps import MapShards
from positionbias.formats.sources import plain_name

SPLIT = "train"
_BATCH = 4_096
_HASH = "text of a triple"
_TABLE = Path("cache") / "texts"


def split_triple(block: Block) -> Iterator[tuple[str, str, str]]:
    """Yield the three columns of each line.

    Raises:
        InputError: not UTF-8, or a line without exactly three columns (numbered).
    """
    for number, line in block.lines():
        columns = line.split("\t")
        if len(columns) != 3:
            raise block.bad_line(
                number,
                wanted="three columns separated by tabs: query, positive, negative",
                found=f"{len(columns)} columns",
                do="fix or drop the line",
            )
        yield columns[0], columns[1], columns[2]


def write_triples(
    collection: Collection,
    out: Path,
    name: str,
    source: Path,
    *,
    texts: bool,
    command: str,
    text_of: Callable[[str], str] = str,
    map_shards: MapShards = map,
) -> dict[str, int]:
    """Write training groups into ``trainsets/`` of an unfinished collection, whose final path is
    ``out``; return their counts.

    ``texts``: the columns are texts, not ids; ``text_of`` (a module-level function) converts one to
    the collection's text.

    Raises:
        InputError: as ``split_triple``.
    """
    folder = collection.path / "trainsets" / name
    table = collection.path / _TABLE
    # the checksum tells successive unfinished collections at the same path apart
    place = (str(collection.path), collection.checksum)
    if texts:
        _write_table(collection, table, map_shards)
    content = {"lines": 0}
    blocks = track(file_blocks(source), plain_name(source.name), unit="blocks")
    try:
        count = write_groups(
            folder,
            partial(_text_groups, place, text_of) if texts else partial(_id_groups, place),
            _counted(blocks, content),
            Manifest(
                kind=KIND,
                name=name,
                command=command,
                inputs=(
                    input_ref(
                        "collection", out, collection.checksum, artefact=out / "trainsets" / name
                    ),
                ),
                licence=collection.manifest.licence,
                notes=(
                    (
                        "lines whose query is no training query, or whose passages or texts are "
                        "not in the collection, are left out"
                    ),
                ),
            ),
            splits=(SPLIT,),
            map_shards=map_shards,
            content=lambda: content,
        )
    finally:
        remove(table)
    return {"lines": content["lines"], "groups": count}


def _counted(blocks: Iterable[Block], content: dict[str, int]) -> Iterator[Block]:
    """Yield the same blocks and count their lines."""
    for block in blocks:
        data = block.read()
        content["lines"] += data.count(b"\n") + (not data.endswith(b"\n"))
        yield block


def _id_groups(place: tuple[str, str], block: Block) -> Iterator[TrainingGroup]:
    collection, known = _opened(place)
    lines = (columns for columns in split_triple(block) if columns[0] in known)
    while batch := list(islice(lines, _BATCH)):
        _, positives, negatives = zip(*batch, strict=True)
        there = (collection.find(positives) >= 0) & (collection.find(negatives) >= 0)
        for (query_id, positive, negative), whole in zip(batch, there.tolist(), strict=True):
            if whole:
                yield TrainingGroup(query_id, (positive, negative), (1, 0))


@lru_cache(maxsize=1)
def _opened(place: tuple[str, str]) -> tuple[Collection, frozenset[str]]:
    """Return the collection and the ids of its training queries."""
    collection = Collection(place[0])
    return collection, frozenset(query.query_id for query in _training_queries(collection))


def _training_queries(collection: Collection) -> list[Query]:
    return collection.queries(SPLIT) if SPLIT in collection.splits else []


def _text_groups(
    place: tuple[str, str], text_of: Callable[[str], str], block: Block
) -> Iterator[TrainingGroup]:
    queries, passages = _text_tables(place)
    lines = split_triple(block)
    while batch := list(islice(lines, _BATCH)):
        texts = [[text_of(text) for text in column] for column in zip(*batch, strict=True)]
        for found in zip(
            queries.find(texts[0]), passages.find(texts[1]), passages.find(texts[2]), strict=True
        ):
            query_id, positive, negative = found
            if query_id is not None and positive is not None and negative is not None:
                yield TrainingGroup(query_id, (positive, negative), (1, 0))


class _TextTable:
    """Ids by text: sorted hashes ``(n,)`` uint64, their rows, and a look-up of a row's id."""

    def __init__(self, hashes: np.ndarray, rows: np.ndarray, ids: Any) -> None:
        self._hashes, self._rows, self._ids = hashes, rows, ids

    def find(self, texts: Sequence[str]) -> list[str | None]:
        """Return the id of each text, None if unknown."""
        wanted = keys64(0, _HASH, [text.encode() for text in texts])
        at = np.minimum(np.searchsorted(self._hashes, wanted), max(0, len(self._hashes) - 1))
        known = self._hashes[at] == wanted if len(self._hashes) else np.zeros(len(wanted), bool)
        found: list[str | None] = [None] * len(texts)
        places = np.flatnonzero(known)
        for place, item in zip(places.tolist(), self._ids(self._rows[at[places]]), strict=True):
            found[place] = item
        return found


def _sorted(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(hashes, kind="stable")  # of equal texts, the first row is found
    return hashes[order], order.astype(np.int64)


@lru_cache(maxsize=1)
def _text_tables(place: tuple[str, str]) -> tuple[_TextTable, _TextTable]:
    collection = Collection(place[0])
    queries = _training_queries(collection)
    ids = [query.query_id for query in queries]
    by_query = _sorted(keys64(0, _HASH, [query.text.encode() for query in queries]))
    hashes, rows = (
        np.load(collection.path / _TABLE / f"{part}.npy", mmap_mode="r")
        for part in ("hashes", "rows")
    )
    return (
        _TextTable(*by_query, lambda rows: [ids[row] for row in rows.tolist()]),
        _TextTable(hashes, rows, collection.passage_ids_at),
    )


def _write_table(collection: Collection, folder: Path, map_shards: MapShards) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hashes = list(map_shards(_hash_shard, collection.shard_paths))
    for part, values in zip(
        ("hashes", "rows"), _sorted(np.concatenate([*hashes, np.empty(0, np.uint64)])), strict=True
    ):
        np.save(folder / f"{part}.npy", values)


def _hash_shard(path: Path) -> np.ndarray:
    return keys64(0, _HASH, read_shard(path).column("text").cast(pa.binary()).to_pylist())
