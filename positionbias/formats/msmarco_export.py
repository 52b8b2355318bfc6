"""Export a Collection as MS MARCO's files, which ``import_msmarco`` reads back as the same content.

Splits train, validation, test and eval get the published names (train, dev.small, dev, eval),
others ``queries.NAME.tsv`` and ``qrels.NAME.tsv``, which ``--attach NAME`` reads back;
``--attach NAME.SET`` reads further judgement sets, ``qrels.NAME.SET.tsv``. Unlike the published
queries.dev.tsv, ours does not repeat the queries of dev.small [decision].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.progress import track
from positionbias.core.publish import atomic_folder
from positionbias.core.qrels import Qrels
from positionbias.core.records import Passage, Query
from positionbias.core.steps import MapShards
from positionbias.formats.exported import write_export_manifest
from positionbias.formats.msmarco import FILE_OF_SPLIT


class Written(NamedTuple):
    """Counts of what was written, and of query fields and answers left out because the format does
    not store them.

    ``unjudged`` queries are in a split with judgements of others; only ``--keep-unjudged`` reads
    them back.
    """

    passages: int
    queries: int
    judgements: int
    unjudged: int
    fields_left_out: int
    answers_left_out: int


def write_msmarco(
    collection: Collection,
    folder: Path | str,
    splits: Sequence[str],
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
) -> Written:
    """Write collection.tsv, and queries and judgements of these splits, into a new folder.

    Raises:
        InputError: no such split; an id or text that a line cannot hold; a query in both validation
            and test.
    """
    folder = Path(folder)
    counts = {
        "queries": 0,
        "judgements": 0,
        "unjudged": 0,
        "fields_left_out": 0,
        "answers_left_out": 0,
    }
    with atomic_folder(folder, overwrite=overwrite) as partial_folder:
        seen: dict[str, set[str]] = {}
        for split in splits:
            queries = collection.queries(split)
            seen[split] = {query.query_id for query in queries}
            _refuse_shared(collection, seen)
            counts["queries"] += len(queries)
            judged = {qrel.query_id for qrel in collection.qrels(split)}
            counts["unjudged"] += len(seen[split] - judged) if judged else 0
            counts["judgements"] += _write_split(collection, split, queries, partial_folder)
            counts["fields_left_out"] += sum(bool(query.fields) for query in queries)
            counts["answers_left_out"] += len(collection.answers(split))
        if len(collection):  # an empty file would read as a broken release
            shards = track(range(len(collection.shard_paths)), "collection.tsv", unit="shards")
            with open(partial_folder / "collection.tsv", "wb") as handle:
                for data in map_shards(partial(_shard_lines, collection.path), shards):
                    handle.write(data)
        written = Written(len(collection), **counts)
        write_export_manifest(
            partial_folder, folder, "msmarco", collection, splits, written._asdict()
        )
    return written


def _refuse_shared(collection: Collection, seen: dict[str, set[str]]) -> None:
    """Refuse queries in both parts of dev, as the query alone identifies the part."""
    shared = seen.get("validation", set()) & seen.get("test", set())
    if shared:
        raise InputError(
            f"{collection.path}: wanted each query in either validation or test, as in MS MARCO's "
            f"dev files; found {min(shared)!r} in both; export one split at a time"
        )


def _write_split(collection: Collection, split: str, queries: Sequence[Query], folder: Path) -> int:
    """Write the files of one split and return its number of judgements; without judgements, as in
    eval, write no qrels file.
    """
    name = FILE_OF_SPLIT.get(split, split)
    if queries:
        lines = _lines(((query.query_id, query.text) for query in queries), "query")
        (folder / f"queries.{name}.tsv").write_bytes("".join(lines).encode())
    count = 0
    for further in (None, *collection.qrels_names(split)):
        qrels = collection.qrels(split, further)
        count += len(qrels)
        if qrels:
            Qrels(qrels).save(
                folder / (f"qrels.{name}.{further}.tsv" if further else f"qrels.{name}.tsv"),
                separator="\t",
            )
    return count


def _shard_lines(path: Path, index: int) -> bytes:
    return "".join(_lines(Collection(path).shard(index), "passage")).encode()


def _lines(records: Iterable[tuple[str, str] | Passage], what: str) -> list[str]:
    """Format ``id<TAB>text`` lines.

    Raises:
        InputError: an id or text that such a line cannot hold.
    """
    lines = []
    for item, text in records:
        if "\n" in text or text.endswith("\r"):
            raise InputError(
                f"{what} {item!r}: wanted text on one line; found a line break; replace it in the "
                "source"
            )
        if item.split() != [item] or item.startswith("\ufeff"):
            raise InputError(
                f"{what} {item!r}: wanted an id without white space or byte-order mark; found "
                f"{item!r}; rename it in the source"
            )
        lines.append(f"{item}\t{text}\n")
    return lines
