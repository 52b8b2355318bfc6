"""Export a collection as a BEIR folder: ``corpus.jsonl``, ``queries.jsonl``,
``qrels/SPLIT.tsv``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.progress import track
from positionbias.core.publish import atomic_folder
from positionbias.core.qrels import BEIR_HEADER
from positionbias.core.records import Query
from positionbias.core.shards import read_shard
from positionbias.core.steps import MapShards
from positionbias.formats.beir import file_of_split
from positionbias.formats.beir_files import UNJUDGED
from positionbias.formats.exported import write_export_manifest

_PASSAGES_AT_ONCE = 4_096


class Written(NamedTuple):
    """Counts of what ``write_beir`` wrote and left out.

    ``queries`` counts each once; ``without_judgement`` those in no qrels; ``answers_left_out`` the
    answers, which BEIR does not store.
    """

    passages: int
    queries: int
    judgements: int
    without_judgement: int
    answers_left_out: int


def write_beir(
    collection: Collection,
    folder: Path | str,
    splits: Sequence[str],
    *,
    overwrite: bool = False,
    map_shards: MapShards = map,
) -> Written:
    """Write every passage, and the queries and judgements of these splits; ``import beir`` reads
    the same content back.

    The title is empty and the text is the whole passage; a query's fields are its ``metadata``;
    validation is ``dev.tsv``. Two things are lost: answers, which are counted, and the split of a
    query without a judgement, which becomes "unjudged".

    Raises:
        InputError: no such split, two splits with one file name, an id with a tab or line break, or
            one query id with two contents.
    """
    files = {split: file_of_split(split) for split in dict.fromkeys(splits)}
    if len(set(files.values())) < len(files):
        raise bad_input(
            collection.path,
            wanted="one split per file",
            found=f"two for {file_of_split('validation')}",
            do="leave one out",
        )
    queries: dict[str, Query] = {}
    judged: set[str] = set()
    judgements = answers = passages = 0
    with atomic_folder(folder, overwrite=overwrite) as partial_folder:
        (partial_folder / "qrels").mkdir()
        for split, name in files.items():
            for query in collection.queries(split):
                _take(collection, queries, query)
            qrels = collection.qrels(split)
            # as the import calls the split of queries that no file of qrels names
            if len(qrels) or split != UNJUDGED:
                with open(
                    partial_folder / "qrels" / name, "w", encoding="utf-8", newline="\n"
                ) as handle:
                    handle.write("\t".join(BEIR_HEADER) + "\n")
                    for qrel in qrels:
                        handle.write(
                            f"{qrel.query_id}\t{_plain(collection.path, qrel.passage_id)}\t"
                            f"{qrel.grade}\n"
                        )
            judgements += len(qrels)
            judged.update(qrel.query_id for qrel in qrels)
            answers += collection.split_facts[split].answers
        with open(partial_folder / "queries.jsonl", "w", encoding="utf-8", newline="\n") as handle:
            handle.writelines(map(_query_line, queries.values()))
        with open(partial_folder / "corpus.jsonl", "wb") as sink:
            lines = map_shards(_corpus_lines, _slices(collection))
            for count, data in track(lines, "passages", unit="slices"):
                sink.write(data)
                passages += count
        written = Written(passages, len(queries), judgements, len(queries.keys() - judged), answers)
        write_export_manifest(partial_folder, folder, "beir", collection, splits, written._asdict())
    return written


def _take(collection: Collection, queries: dict[str, Query], query: Query) -> None:
    first = queries.setdefault(_plain(collection.path, query.query_id), query)
    if first != query:
        raise bad_input(
            collection.path,
            wanted="one content per query id, as queries.jsonl serves all splits",
            found=f"two for {query.query_id!r}",
            do="export the splits one by one",
        )


def _plain(place: Path | str, item: str) -> str:
    """Return an id, checked to fit a tab-separated file."""
    if any(character in item for character in "\t\n\r"):
        raise bad_input(
            place, wanted="ids without tabs and line breaks", found=repr(item), do="rename it"
        )
    return item


def _query_line(query: Query) -> str:
    record = {"_id": query.query_id, "text": query.text, "metadata": dict(query.fields)}
    return json.dumps(record, ensure_ascii=False) + "\n"


class _Slice(NamedTuple):
    """A range of a shard's passages, small enough to return as text."""

    shard: str
    first: int


def _slices(collection: Collection) -> Iterator[_Slice]:
    for path in collection.shard_paths:
        for first in range(0, read_shard(path).num_rows, _PASSAGES_AT_ONCE):
            yield _Slice(str(path), first)


def _corpus_lines(item: _Slice) -> tuple[int, bytes]:
    """Return the number of passages and their lines of the corpus."""
    rows = read_shard(Path(item.shard)).slice(item.first, _PASSAGES_AT_ONCE)
    lines = []
    for passage_id, text in zip(
        rows.column("passage_id").to_pylist(), rows.column("text").to_pylist(), strict=True
    ):
        lines.append(
            json.dumps(
                {"_id": _plain(item.shard, passage_id), "title": "", "text": text},
                ensure_ascii=False,
            )
            + "\n"
        )
    return len(lines), "".join(lines).encode()
