"""Import TREC documents, topics and qrels as a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import Struct, to_builtins

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.files import content_digest, file_state, unchanged
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.manifest import InputRef, Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.qrels import Qrels
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.shards import Shard, write_shard
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards
from positionbias.formats.imported import told
from positionbias.formats.trec_docs import KINDS, Reading, read_documents
from positionbias.formats.trec_files import Bundle, Places, bundles
from positionbias.formats.trec_topics import read_topic_files
from positionbias.text.formatting import plural

SplitFiles = Sequence[tuple[str, Path | str]]
_LICENCES = {
    "sgml": (
        "TREC documents, under the terms they were given (TREC Disks 4 and 5: the agreement with "
        "NIST)"
    ),
    "nyt": "The New York Times Annotated Corpus, under the LDC user agreement (LDC2008T19)",
    "wapo": "TREC Washington Post Collection, under the agreement with NIST",
}
_DOCUMENTS = {
    "sgml": "TREC SGML",
    "nyt": "New York Times XML",
    "wapo": "Washington Post JSON lines",
}
_NOTES = {
    "sgml": "Text is what the content tags hold, separated by a space; white space collapses.",
    "nyt": "Text is headline and full text; without a full text, headline and lead paragraph.",
    "wapo": (
        "Text is title and paragraphs; kicker, byline, date, images and other media are left out."
    ),
}


class TrecSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The manifest's facts about TREC documents: counts of all, by kind, without text and not in
    UTF-8, and bytes ``outside`` them.

    ``renumbered`` has the topics whose number is that of their judgements now, by their number in
    the file.
    """

    format: str
    documents: int
    sgml: int = 0
    nyt: int = 0
    wapo: int = 0
    empty: int = 0
    not_utf8: int = 0
    outside: int = 0
    renumbered: Mapping[str, str] = {}
    skipped_files: Mapping[str, int]


def split_and_name(given: str, *, default: str = "test") -> tuple[str, str]:
    """Split ``SPLIT=NAME``; use the default without a split, or if the "=" belongs to an existing
    file's name.

    >>> split_and_name("train=topics.txt"), split_and_name("topics.txt")
    (('train', 'topics.txt'), ('test', 'topics.txt'))
    """
    split, equals, name = given.partition("=")
    return (
        (split, name)
        if equals and "/" not in split and not Path(given).exists()
        else (default, given)
    )


def import_trec(
    docs: Sequence[Path | str],
    topics: SplitFiles,
    qrels: SplitFiles,
    out: Path | str,
    *,
    reading: Reading | None = None,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from TREC documents; ``topics`` and ``qrels`` are (split, file) pairs, and
    files of one split are joined.

    Topics take the numbers of their judgements where these differ by leading zeros alone (051 and
    51, as in TREC-1's). Judgements of missing documents are kept and counted. ``content["source"]``
    counts documents by kind, empty documents, documents not in UTF-8, bytes between documents, and
    files of unknown kinds.

    Raises:
        InputError: as the readers; no documents; a judgement of a query that its split lacks, or of
            one of several topics.
        SettingError: judgements of a split without topics.
    """
    out, reading = Path(out), reading or Reading()
    places = Places(
        [Path(path) for path in docs],
        None if reading.docs_format == "auto" else reading.docs_format,
    )
    renumbered: dict[str, str] = {}
    splits = _splits(topics, qrels, renumbered)
    settings = {
        "docs_format": reading.docs_format,
        "tags": list(reading.tags),
        "encoding": reading.encoding,
    }
    named = [
        (role, split, Path(path))
        for role, given in (("topics", topics), ("qrels", qrels))
        for split, path in given
    ]
    state: list[Json] = [places.state()]
    state += [[role, split, file_state(path)] for role, split, path in named]
    job: JsonObject = {"command": "import trec", "settings": settings, "inputs": state}
    counts: Counter[str] = Counter()
    read = [*(file for _, file in places.files), *(path for _, _, path in named)]
    with create_collection(out, overwrite=overwrite, job=job) as writer, unchanged(read):
        shards = writer.add_shards(
            _Shard, partial(_make_shard, reading), bundles(places.parts()), map_shards
        )
        for facts in track(shards, "documents", unit="shards"):
            counts.update(facts.counts)
        if not counts["documents"]:
            raise bad_input(
                docs[0],
                wanted="TREC documents",
                found="none",
                do="check the path, or give --docs-format",
            )
        for split, (queries, judged) in splits.items():
            writer.add_split(split, queries, judged)
        kinds = [kind for kind in KINDS if counts[kind]]
        source = TrecSource(
            format="trec",
            **counts,
            renumbered=renumbered,
            skipped_files=dict(sorted(places.skipped.items())),
        )
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="import trec",
                settings=settings,
                inputs=tuple(_inputs(places, named, out)),
                licence="; ".join(_LICENCES[kind] for kind in kinds),
                notes=tuple(_NOTES[kind] for kind in kinds),
                content={"source": to_builtins(source)},
                provenance=provenance or {},
            ),
            allow_absent=True,
        )
    return told(Collection(out), _remarks(source, reading.encoding))


def _remarks(source: TrecSource, encoding: str) -> Iterator[str]:
    kinds = ", ".join(
        f"{count:,} {name}" for kind, name in _DOCUMENTS.items() if (count := getattr(source, kind))
    )
    yield f"{source.documents:,} documents: {kinds}"
    remarks = {
        "empty": "without text",
        "not_utf8": f"not UTF-8 and read as {encoding}",
        "outside": "bytes between documents left out",
    }
    for name, remark in remarks.items():
        if count := getattr(source, name):
            yield f"{count:,} {remark}"
    if numbers := source.renumbered:
        topic, number = next(iter(numbers.items()))
        yield (
            f"{plural(len(numbers), 'topic')} renumbered as in the judgements: {topic} is "
            f"{number}{' …' * (len(numbers) > 1)}"
        )
    if skipped := source.skipped_files:
        named = ", ".join(f"{ending} {count:,}" for ending, count in skipped.items())
        yield f"{sum(skipped.values()):,} files of no known form left out ({named})"


@dataclass(frozen=True, slots=True)
class _Shard(Shard):
    """A shard with counts of its documents."""

    counts: Mapping[str, int]


def _make_shard(reading: Reading, bundle: Bundle, path: Path) -> _Shard:
    counts: Counter[str] = Counter()

    def passages() -> Iterator[Passage]:
        return chain.from_iterable(
            read_documents(bundle.kind, block, reading, counts) for block in bundle.blocks
        )

    shard = write_shard(path, passages())
    counts[bundle.kind] = shard.count
    return _Shard(shard.count, shard.checksum, counts)


def _splits(
    topics: SplitFiles, qrels: SplitFiles, renumbered: dict[str, str]
) -> dict[str, tuple[list[Query], list[Qrel]]]:
    """Return queries and judgements by split, in the order in which the splits were given; add to
    ``renumbered``.
    """
    files: dict[str, tuple[list[Path | str], list[Path | str]]] = {}
    for position, given in enumerate((topics, qrels)):
        for split, path in given:
            files.setdefault(split, ([], []))[position].append(path)
    splits = {}
    for split, (topic_files, qrels_files) in files.items():
        if not topic_files:
            raise SettingError(
                f"--qrels: wanted topics of split {split!r}; found none; give --topics {split}=FILE"
            )
        queries, judged = read_topic_files(topic_files), _judgements(split, qrels_files)
        numbers = _numbers_of_judgements(split, queries, judged)
        renumbered |= numbers
        splits[split] = (
            [
                replace(query, query_id=numbers.get(query.query_id, query.query_id))
                for query in queries
            ],
            judged,
        )
    return splits


def _numbers_of_judgements(
    split: str, queries: Sequence[Query], judged: Sequence[Qrel]
) -> dict[str, str]:
    """Return the judgements' number of each topic whose own differs by leading zeros; none if all
    judgements name a topic as it is.

    Raises:
        InputError: two topics, or two judged ones, differ by leading zeros alone.
    """
    topics, judged_ids = ({item.query_id for item in items} for items in (queries, judged))
    if judged_ids <= topics:
        return {}
    by_number: dict[str, tuple[set[str], set[str]]] = {}
    for place, ids in enumerate((topics, judged_ids)):
        for query_id in ids:
            if query_id.isascii() and query_id.isdigit():
                by_number.setdefault(query_id.lstrip("0"), (set(), set()))[place].add(query_id)
    for names in by_number.values():
        if all(names) and len(names[0]) + len(names[1]) > 2:
            raise InputError(
                f"split {split!r}: topics {_listed(names[0])} and judgements of "
                f"{_listed(names[1])} differ by leading zeros alone; rename the topics as the "
                "judgements name them"
            )
    return {
        topic: number for (topic,), (number,) in filter(all, by_number.values()) if topic != number
    }


def _listed(ids: set[str]) -> str:
    return " and ".join(sorted(ids))


def _judgements(split: str, paths: Sequence[Path | str]) -> list[Qrel]:
    judged: dict[tuple[str, str], Qrel] = {}
    for path in paths:
        for qrel in Qrels.from_file(path):
            if judged.setdefault((qrel.query_id, qrel.passage_id), qrel) is not qrel:
                raise InputError(
                    f"{path}: wanted each pair of split {split!r} judged in one file; found "
                    f"passage {qrel.passage_id!r} of query {qrel.query_id!r} in two files; drop one"
                )
    return list(judged.values())


def _inputs(places: Places, named: Sequence[tuple[str, str, Path]], out: Path) -> list[InputRef]:
    docs = [
        input_ref("docs", path, checksum, artefact=out) for path, checksum in places.checksums()
    ]
    return docs + [
        input_ref(f"{role} {split}", path, content_digest(path), artefact=out)
        for role, split, path in named
    ]
