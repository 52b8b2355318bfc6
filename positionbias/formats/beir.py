"""Import BEIR (Thakur et al. 2021) as a Collection: ``corpus.jsonl``, ``queries.jsonl`` and
``qrels/SPLIT.tsv``.

MTEB's repositories have the same as JSON lines or Parquet, some with ``id`` for ``_id``:
``corpus/*.parquet``, ``queries/*.parquet``, and in ``qrels``, ``data`` or ``default`` one or more
files per split: ``SPLIT-00000-of-00002.parquet``, ``SPLIT-0.parquet`` or ``SPLIT.jsonl``.

A passage is its title, if any, a space and its text; ``titles=False`` leaves titles out, as a title
in front is a position bias of its own [decision]. Split dev is called validation. A split has the
queries that its qrels name, in the order of the queries' file; queries in no qrels go to a split
"unjudged" [decision]. A query's ``metadata`` become its fields, as JSON unless they are texts; a
passage's ``metadata`` are not kept. PosIR's evidence spans become answers (``formats.posir``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import bad_input
from positionbias.core.files import content_digest, file_state, unchanged
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.records import Qrel
from positionbias.core.shards import Shard, write_shard
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards
from positionbias.formats.beir_files import (
    SPLIT_OF_FILE,
    UNJUDGED,
    BeirFiles,
    Judgements,
    corpus_blocks,
    read_passages,
    read_queries,
)
from positionbias.formats.imported import LEFT_OUT, told
from positionbias.formats.posir import SpanCounts, answers_of_spans
from positionbias.formats.row_blocks import RowBlock
from positionbias.text.formatting import plural

LICENCE = (
    "each data set of BEIR has its own licence: see the table of data sets at "
    "https://github.com/beir-cellar/beir and the data set's own page"
)
_FILE_OF_SPLIT = {split: stem for stem, split in SPLIT_OF_FILE.items()}
_COMMAND = "import beir"
_NOTES = (
    "Split dev is called validation; queries that no file of qrels names are in split unjudged.",
    (
        "A query's metadata are its fields, as JSON where they are no texts; a passage's metadata "
        "are not kept."
    ),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages with a title, and those without a text."""

    titles: int
    without_text: int


@dataclass(frozen=True, slots=True)
class BeirSource:
    """The manifest's facts about a data set of BEIR."""

    format: str
    corpus: Corpus
    repeated_judgements: int
    judgements_of_other_queries: int = 0


def file_of_split(split: str) -> str:
    """Return the file name of a split's qrels: validation is dev.

    >>> file_of_split("validation"), file_of_split("test")
    ('dev.tsv', 'test.tsv')
    """
    return f"{_FILE_OF_SPLIT.get(split, split)}.tsv"


def import_beir(
    folder: Path | str,
    out: Path | str,
    *,
    titles: bool = True,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from a BEIR folder, whose files may be compressed (.gz, .zst).

    Without queries or qrels only the corpus is imported. Judgements of unknown passages are kept
    and counted; judgements of unknown queries are left out and counted.

    Raises:
        InputError: no corpus, a malformed line (numbered), a repeated id, a pair with two grades,
            or a split whose judgements are all of unknown queries.
    """
    release, out, settings = BeirFiles.find(Path(folder)), Path(out), {"titles": titles}
    job: JsonObject = {
        "command": _COMMAND,
        "settings": settings,
        "inputs": [file_state(path) for path in release.inputs.values()],
    }
    with (
        create_collection(out, overwrite=overwrite, job=job) as writer,
        unchanged(release.inputs.values()),
    ):
        corpus = _add_corpus(writer, release.corpus, titles, map_shards)
        repeated, without_query, spans = _add_splits(writer, release)
        source = BeirSource("beir", corpus, repeated, without_query)
        note = (
            "A passage is its title, a space and its text, where a title stands."
            if titles
            else "Titles are left out."
        )
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=_COMMAND,
                settings=settings,
                inputs=tuple(
                    input_ref(role, path, content_digest(path), artefact=out)
                    for role, path in release.inputs.items()
                ),
                licence=LICENCE,
                notes=(note, *_NOTES),
                content={
                    "source": asdict(source),
                    **({"spans": asdict(spans)} if spans else {}),
                },
                provenance=provenance or {},
            ),
            allow_absent=True,
        )
    collection = Collection(out)
    return told(collection, _remarks(source, spans, titles, bool(collection.splits)))


def _remarks(
    source: BeirSource, spans: SpanCounts | None, titles: bool, has_splits: bool
) -> Iterator[str]:
    placed = "put in front" if titles else "which is left out"
    yield (
        f"{source.corpus.titles:,} passages with a title, {placed}; "
        f"{source.corpus.without_text:,} without a text"
    )
    if count := source.judgements_of_other_queries:
        yield f"{count:,} {LEFT_OUT['judgements_of_other_queries']}"
    if spans:
        yield f"{plural(spans.answers, 'answer')} where pos_char_span says"
        for cause, number in spans.left_out.items():
            yield f"{plural(number, 'span')} left out, {cause}"
    if source.repeated_judgements:
        yield (
            f"{source.repeated_judgements:,} lines of qrels said again what an earlier one had said"
        )
    if not has_splits:
        yield "no queries.jsonl and no qrels: the corpus alone came in"


@dataclass(frozen=True, slots=True)
class _Shard(Shard):
    """A shard with its counts."""

    met: Mapping[str, int]


def _add_corpus(
    writer: CollectionWriter, paths: Sequence[Path], titles: bool, map_shards: MapShards
) -> Corpus:
    counts = Counter({"titles": 0, "without_text": 0})
    done = writer.add_shards(
        _Shard, partial(_write_passages, titles), corpus_blocks(paths), map_shards
    )
    passages = 0
    for facts in track(done, paths[0].name, unit="blocks"):
        counts.update(facts.met)
        passages += facts.count
    if not passages:
        raise bad_input(
            paths[0],
            wanted="a corpus: one JSON object a line",
            found="an empty file",
            do="fetch it again",
        )
    return Corpus(**counts)


def _write_passages(titles: bool, block: RowBlock, target: Path) -> _Shard:
    counts: Counter[str] = Counter()
    shard = write_shard(target, read_passages(block, titles, counts))
    return _Shard(shard.count, shard.checksum, counts)


def _add_splits(writer: CollectionWriter, release: BeirFiles) -> tuple[int, int, SpanCounts | None]:
    """Write each split with the queries in its qrels, then the unjudged ones.

    Returns:
        The numbers of repeated judgements and of judgements of unknown queries (left out), and the
        counts of evidence spans, if any.
    """
    queries, spans = read_queries(release.queries) if release.queries else ({}, {})
    unjudged, repeated, without_query = dict.fromkeys(queries), 0, 0
    placed, left_out = 0, Counter[str]()
    for split, paths in release.qrels.items():
        found = Judgements(paths, queries).read()
        if found.without_query and not found.grades:
            wanted, told = (
                "judgements of queries in queries.jsonl",
                f"{found.without_query:,}, all of other queries",
            )
            raise bad_input(
                paths[0], wanted=wanted, found=told, do="check that the files belong together"
            )
        repeated += found.repeated
        without_query += found.without_query
        judged = {query_id for query_id, _ in found.grades}
        for query_id in judged:
            unjudged.pop(query_id, None)
        qrels = [Qrel(*pair, grade) for pair, grade in found.grades.items()]
        answers, causes = (
            answers_of_spans(spans, qrels, writer.read_passages()) if spans else ([], Counter())
        )
        writer.add_split(
            split, [query for query in queries.values() if query.query_id in judged], qrels, answers
        )
        placed += len(answers)
        left_out += causes
    if unjudged:
        writer.add_split(UNJUDGED, [queries[query_id] for query_id in unjudged], [])
        left_out += Counter({"query without judgements": len(spans.keys() & unjudged.keys())})
    return repeated, without_query, SpanCounts(placed, dict(left_out)) if spans else None
