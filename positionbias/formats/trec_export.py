"""Export a collection as TREC files: documents in SGML, topics in the title / desc / narr form,
qrels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.process import flush
from positionbias.core.publish import atomic_folder
from positionbias.core.qrels import Qrels
from positionbias.core.records import Query
from positionbias.core.steps import MapShards, make_shards
from positionbias.formats.exported import write_export_manifest
from positionbias.formats.markup import escape
from positionbias.formats.trec_topics import FIELD_TAGS, LABEL, is_field_name

_TAGS = {name: tag for tag, name in FIELD_TAGS.items()}
_PRINTED = {"description": "Description:", "narrative": "Narrative:"}


class Written(NamedTuple):
    """Counts of what ``write_trec`` wrote; ``answers_left_out`` counts answers, which the format
    does not store.
    """

    documents: int
    queries: int
    qrels: int
    answers_left_out: int


def write_trec(
    collection: Collection,
    folder: Path | str,
    splits: Sequence[str],
    *,
    overwrite: bool = False,
    map_shards: MapShards = map,
) -> Written:
    """Write ``docs/NNNNN.sgml`` (one file per shard), ``topics.SPLIT.txt`` and ``qrels.SPLIT.txt``;
    ``import trec`` reads them back.

    Fields other than description and narrative become elements of the same name, each on one line,
    which other readers skip.

    Raises:
        InputError: no such split, an id with white space (with the passage or query), or a field
            name that cannot be an element.
    """
    counts = {"documents": 0, "queries": 0, "qrels": 0, "answers_left_out": 0}
    with atomic_folder(folder, overwrite=overwrite) as partial_folder:
        docs = partial_folder / "docs"
        docs.mkdir()
        shards = range(len(collection.shard_paths))
        make = partial(_write_documents, _Shards(str(collection.path)))
        for facts in make_shards(
            dict[str, int], make, shards, lambda index: docs / f"{index:05d}.sgml", map_shards
        ):
            counts["documents"] += facts["documents"]
        for split in splits:
            queries, qrels = collection.queries(split), collection.qrels(split)
            _write_topics(partial_folder / f"topics.{split}.txt", queries, collection.path)
            Qrels(qrels).save(partial_folder / f"qrels.{split}.txt")
            counts["queries"] += len(queries)
            counts["qrels"] += len(qrels)
            counts["answers_left_out"] += len(collection.answers(split))
        write_export_manifest(partial_folder, folder, "trec", collection, splits, counts)
    return Written(**counts)


@dataclass(frozen=True, slots=True)
class _Shards:
    """A collection that each worker opens for itself."""

    path: str

    def documents(self, index: int) -> Iterator[str]:
        for passage in Collection(self.path).shard(index):
            name = _checked_id(Path(self.path), "passage", passage.passage_id)
            yield f"<DOC>\n<DOCNO>{name}</DOCNO>\n<TEXT>\n{escape(passage.text)}\n</TEXT>\n</DOC>\n"


def _write_documents(shards: _Shards, index: int, path: Path) -> dict[str, int]:
    count = 0
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        for document in shards.documents(index):
            handle.write(document)
            count += 1
        handle.flush()
        flush(handle.fileno())
    return {"documents": count}


def _checked_id(place: Path, what: str, name: str) -> str:
    if name.split() != [name]:
        raise bad_input(
            place,
            wanted=f"{what} ids without white space",
            found=repr(name),
            do="rename it, as qrels cannot hold it",
        )
    return escape(name)


def _write_topics(path: Path, queries: Sequence[Query], place: Path) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as handle:
        for query in queries:
            handle.write(_topic(query, place))


def _topic(query: Query, place: Path) -> str:
    lines = [
        f"<num> Number: {_checked_id(place, 'query', query.query_id)}",
        *_element("title", query.text),
    ]
    for name, value in sorted(
        query.fields.items(), key=lambda item: (item[0] not in _PRINTED, item[0])
    ):
        if name not in _PRINTED and not is_field_name(name) and name not in _TAGS:
            raise InputError(
                f"{place}: wanted query field names that can be elements of a TREC topic; found "
                f"{name!r} of query {query.query_id!r}; rename it, or export to another form"
            )
        lines += _element(name, value)
    return "\n".join(("<top>", *lines, "</top>", "", ""))


def _element(name: str, value: str) -> list[str]:
    """Return the lines of one element; if a value starts like a label, its first character is
    written as a reference.
    """
    text = escape(value)
    tag, label = _TAGS.get(name, name), _PRINTED.get(name)
    if label is None and name in LABEL and LABEL[name].match(value):
        text = f"&#{ord(value[0])};{escape(value[1:])}"
    closing = [] if value else [f"</{tag}>"]
    return [f"<{tag}> {label}", text, *closing] if label else [f"<{tag}> {text}", *closing]
