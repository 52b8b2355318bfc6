"""Import BEIR (Thakur et al. 2021) as a Collection: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

MTEB's repositories have the same as JSON lines or Parquet, some with ``id`` for ``_id``: ``corpus/*.parquet``, ``queries/*.parquet``, and
in ``qrels``, ``data`` or ``default`` one or more files per split: ``SPLIT-00000-of-00002.parquet``, ``SPLIT-0.parquet`` or ``SPLIT.jsonl``.

A passage is its title, if any, a space and its text; ``titles=False`` leaves titles out, as a title in front is a position
bias of its own [decision]. Split dev is called validation. A split has the queries that its qrels name, in the
order of the queries' file; queries in no qrels go to a split "unjudged" [decision]. A query's ``metadata``
become its fields, as JSON unless they are texts; a passage's ``metadata`` are not kept. PosIR's evidence spans
become answers (``formats.posir``).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.core.blocks import file_blocks
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import bad_input
from positionbias.core.input_state import content_digest, file_state, unchanged
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.qrels import BEIR_HEADER
from positionbias.core.records import HIGHEST_GRADE, Passage, Qrel, Query
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, write_shard
from positionbias.core.split_tables import KIND
from positionbias.formats.json_lines import FIX, Bad, named, text_of
from positionbias.formats.posir import SPAN_COLUMNS, EvidenceSpan, SpanCounts, answers_of_spans, span_of
from positionbias.formats.row_blocks import LineRows, RowBlock, parquet_blocks, parquet_columns

__all__ = ["UNJUDGED", "BeirSource", "file_of_split", "import_beir"]

LICENCE = (
    "each data set of BEIR has its own licence: see the table of data sets at https://github.com/beir-cellar/beir and the "
    "data set's own page"
)
UNJUDGED = "unjudged"
_SPLIT_OF_FILE = {"dev": "validation"}
_FILE_OF_SPLIT = {split: stem for stem, split in _SPLIT_OF_FILE.items()}
_FIRST = ("train", "validation", "test")
_COMMAND = "import beir"
_PACKED = ("", ".gz", ".zst")
_QRELS = ("qrels", "data", "default")
_NUMBERED = r"(?:(?<=train)|(?<=dev)|(?<=validation)|(?<=test))-\d+(?=\.parquet)"  # fold-1 and dl-2019 are splits
_QRELS_FILE = re.compile(rf"(?P<stem>[^.]+?)(?P<part>-\d+-of-\d+|{_NUMBERED})?\.(?P<form>tsv|jsonl|parquet)(\.gz|\.zst)?")
_ROWS_FILE = re.compile(r"[^.].*\.(jsonl(\.gz|\.zst)?|parquet)")
_NOTES = (
    "Split dev is called validation; queries that no file of qrels names are in split unjudged.",
    "A query's metadata are its fields, as JSON where they are no texts; a passage's metadata are not kept.",
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

    Without queries or qrels only the corpus is imported. Judgements of unknown passages are kept and counted; judgements of
    unknown queries are left out and counted.

    Raises:
        InputError: no corpus, a malformed line (numbered), a repeated id, a pair with two grades, or a split whose
            judgements are all of unknown queries.
    """
    release, out, settings = _Release.find(Path(folder)), Path(out), {"titles": titles}
    job: JsonObject = {
        "command": _COMMAND,
        "settings": settings,
        "inputs": [file_state(path) for path in release.inputs.values()],
    }
    with create_collection(out, overwrite=overwrite, job=job) as writer, unchanged(release.inputs.values()):
        corpus = _add_corpus(writer, release.corpus, titles, map_shards)
        repeated, without_query, spans = _add_splits(writer, release)
        note = "A passage is its title, a space and its text, where a title stands." if titles else "Titles are left out."
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=_COMMAND,
                settings=settings,
                inputs=tuple(
                    input_ref(role, path, content_digest(path), artefact=out) for role, path in release.inputs.items()
                ),
                licence=LICENCE,
                notes=(note, *_NOTES),
                content={
                    "source": asdict(BeirSource("beir", corpus, repeated, without_query)),
                    **({"spans": asdict(spans)} if spans else {}),
                },
                provenance=provenance or {},
            ),
            allow_absent=True,
        )
    return Collection(out)


@dataclass(frozen=True, slots=True)
class _Release:
    """The files of a BEIR folder; ``qrels`` by split."""

    corpus: Sequence[Path]
    queries: Sequence[Path]
    qrels: Mapping[str, Sequence[Path]]

    @property
    def inputs(self) -> dict[str, Path]:
        files = {"corpus": self.corpus, "queries": self.queries, **{f"qrels {split}": own for split, own in self.qrels.items()}}
        return {
            role if len(paths) == 1 else f"{role} {number}": path
            for role, paths in files.items()
            for number, path in enumerate(paths, 1)
        }

    @classmethod
    def find(cls, folder: Path) -> _Release:
        corpus, queries = _files(folder, "corpus"), _files(folder, "queries")
        if not corpus:
            found = "no such folder" if not folder.is_dir() else "neither"
            wanted = "a BEIR folder with corpus.jsonl, or MTEB's with corpus/*.parquet"
            raise bad_input(folder, wanted=wanted, found=found, do="check the path; unzip it first")
        qrels: dict[str, list[Path]] = {}
        forms: dict[str, tuple[Path, str]] = {}  # by split; all files of a split have one form
        for place in _QRELS:
            for path in sorted((folder / place).iterdir()) if (folder / place).is_dir() else ():
                if named_so := _QRELS_FILE.fullmatch(path.name):
                    split = _SPLIT_OF_FILE.get(named_so["stem"], named_so["stem"])
                    form = (path.parent, named_so["form"]) if named_so["part"] else (path, "")
                    if split == UNJUDGED or forms.setdefault(split, form) != form:
                        wanted = "another name" if split == UNJUDGED else f"one file of qrels for split {split}"
                        raise bad_input(
                            path, wanted=wanted, found=f"this beside {qrels.get(split, [None])[0]}", do="move one away"
                        )
                    qrels.setdefault(split, []).append(path)
        if qrels and not queries:
            raise bad_input(
                folder, wanted="queries.jsonl beside the qrels", found="none", do="fetch it, or move the qrels away"
            )
        order = sorted(qrels, key=lambda split: (_FIRST.index(split) if split in _FIRST else len(_FIRST), split))
        return cls(corpus, queries, {split: qrels[split] for split in order})


def _files(folder: Path, name: str) -> list[Path]:
    """Return the file of this name, plain or compressed, or the files in the folder of this name, or no files."""
    single = [folder / f"{name}.jsonl{ending}" for ending in _PACKED] + [folder / f"{name}.parquet"]
    if present := [path for path in single if path.is_file()]:
        return present[:1]
    return sorted(path for path in (folder / name).glob("*") if _ROWS_FILE.fullmatch(path.name))


def _blocks(path: Path, columns: Sequence[str], required: Sequence[str]) -> Iterator[RowBlock]:
    if path.suffix == ".parquet":
        if "_id" in required and "id" in (names := parquet_columns(path)) and "_id" not in names:
            columns, required = ([name.replace("_id", "id") for name in own] for own in (columns, required))
        yield from parquet_blocks(path, columns, required)
    else:
        yield from map(LineRows, file_blocks(path))


@dataclass(frozen=True, slots=True)
class _Shard(Shard):
    """A shard with its counts."""

    met: Mapping[str, int]


def _add_corpus(writer: CollectionWriter, paths: Sequence[Path], titles: bool, map_shards: MapShards) -> Corpus:
    counts = Counter({"titles": 0, "without_text": 0})
    blocks = (block for path in paths for block in _blocks(path, ("_id", "title", "text"), ("_id", "text")))
    done = writer.add_shards(_Shard, partial(_write_passages, titles), blocks, map_shards)
    passages = 0
    for facts in track(done, paths[0].name, unit="blocks"):
        counts.update(facts.met)
        passages += facts.count
    if not passages:
        raise bad_input(paths[0], wanted="a corpus: one JSON object a line", found="an empty file", do="fetch it again")
    return Corpus(**counts)


def _write_passages(titles: bool, block: RowBlock, target: Path) -> _Shard:
    counts: Counter[str] = Counter()
    shard = write_shard(target, _passages(block, titles, counts))
    return _Shard(shard.count, shard.checksum, counts)


def _passages(block: RowBlock, titles: bool, counts: Counter[str]) -> Iterator[Passage]:
    """Yield the passages of a block of the corpus; count those with a title and those without text."""
    for number, record in block.rows():
        bad = partial(block.bad_row, number)
        passage_id, text = _id_and_text(record, bad)
        title = "" if record.get("title") is None else text_of(record["title"], "title", bad)
        counts["titles"] += bool(title)
        counts["without_text"] += not text
        yield Passage(passage_id, f"{title} {text}" if titles and title and text else text or (title if titles else ""))


def _id_and_text(record: Any, bad: Bad) -> tuple[str, str]:
    if not isinstance(record, dict):
        raise bad(wanted="an object with _id and text", found=named(record), do=FIX)
    key = record.get("_id", record.get("id"))
    key = str(key) if type(key) is int else text_of(key, "_id", bad)
    if not key or any(character in key for character in "\t\n\r"):
        raise bad(wanted="'_id' without tabs and line breaks", found=repr(key), do=FIX)
    return key, text_of(record.get("text"), "text", bad)


def _add_splits(writer: CollectionWriter, release: _Release) -> tuple[int, int, SpanCounts | None]:
    """Write each split with the queries in its qrels, then the unjudged ones.

    Returns:
        The numbers of repeated judgements and of judgements of unknown queries (left out), and the counts of evidence spans, if any.
    """
    queries, spans = _queries(release.queries) if release.queries else ({}, {})
    unjudged, repeated, without_query = dict.fromkeys(queries), 0, 0
    placed, left_out = 0, Counter[str]()
    for split, paths in release.qrels.items():
        found = _Judgements(paths, queries).read()
        if found.without_query and not found.grades:
            wanted, told = "judgements of queries in queries.jsonl", f"{found.without_query:,}, all of other queries"
            raise bad_input(paths[0], wanted=wanted, found=told, do="check that the files belong together")
        repeated += found.repeated
        without_query += found.without_query
        judged = {query_id for query_id, _ in found.grades}
        for query_id in judged:
            unjudged.pop(query_id, None)
        qrels = [Qrel(*pair, grade) for pair, grade in found.grades.items()]
        answers, causes = answers_of_spans(spans, qrels, writer.read_passages()) if spans else ([], Counter())
        writer.add_split(split, [query for query in queries.values() if query.query_id in judged], qrels, answers)
        placed += len(answers)
        left_out += causes
    if unjudged:
        writer.add_split(UNJUDGED, [queries[query_id] for query_id in unjudged], [])
        left_out += Counter({"query without judgements": len(spans.keys() & unjudged.keys())})
    return repeated, without_query, SpanCounts(placed, dict(left_out)) if spans else None


def _queries(paths: Sequence[Path]) -> tuple[dict[str, Query], dict[str, EvidenceSpan]]:
    """Return the queries and their evidence spans, by id."""
    queries: dict[str, Query] = {}
    spans: dict[str, EvidenceSpan] = {}
    for block in (
        block for path in paths for block in _blocks(path, ("_id", "text", "metadata", *SPAN_COLUMNS), ("_id", "text"))
    ):
        for number, record in block.rows():
            bad = partial(block.bad_row, number)
            query_id, text = _id_and_text(record, bad)
            if query_id in queries:
                raise bad(wanted="every query id once", found=f"{query_id!r} again", do="rename or drop one")
            queries[query_id] = Query(query_id, text, _fields(record.get("metadata"), bad))
            if (span := span_of(record, bad)) is not None:
                spans[query_id] = span
    return queries, spans


def _fields(metadata: Any, bad: Bad) -> dict[str, str]:
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise bad(wanted="'metadata' as an object", found=named(metadata), do=FIX)
    texts = {key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in metadata.items()}
    return {text_of(key, "metadata", bad): text_of(text, "metadata", bad) for key, text in texts.items()}


class _Judgements:
    """A reader of one split's qrels files; ``grades`` by (query id, passage id)."""

    def __init__(self, paths: Sequence[Path], queries: Mapping[str, Query]) -> None:
        self.paths, self.queries = paths, queries
        self.grades: dict[tuple[str, str], int] = {}
        self.lines = 0
        self.without_query = 0

    def read(self) -> _Judgements:
        for path in self.paths:
            if ".tsv" in path.suffixes:
                self._lines(path)
            else:
                self._rows(path)
        return self

    def _lines(self, path: Path) -> None:
        for block in file_blocks(path):
            for number, line in block.lines():
                columns = line.removesuffix("\r").split("\t")
                header = block.start == 0 and number == 0 and tuple(columns) == BEIR_HEADER
                if line.strip() and not header:
                    self.add(columns, partial(block.bad_line, number))

    def _rows(self, path: Path) -> None:
        for block in _blocks(path, BEIR_HEADER, BEIR_HEADER):
            for number, row in block.rows():
                bad = partial(block.bad_row, number)
                if not isinstance(row, dict):
                    raise bad(wanted=f"an object with {', '.join(BEIR_HEADER)}", found=named(row), do=FIX)
                ids = [
                    str(row.get(name)) if type(row.get(name)) is int else text_of(row.get(name), name, bad)
                    for name in BEIR_HEADER[:2]
                ]
                self.add([*ids, str(row.get("score"))], bad)

    def add(self, columns: Sequence[str], bad: Bad) -> None:
        if len(columns) != 3:
            raise bad(wanted="three columns: query-id, corpus-id, score", found=f"{len(columns)}", do="fix or drop the line")
        query_id, passage_id, score = columns
        grade = _grade(score)
        if grade is None or abs(grade) > HIGHEST_GRADE:
            raise bad(wanted=f"a whole number up to {HIGHEST_GRADE:,} as score", found=repr(score), do="fix or drop the line")
        if query_id not in self.queries:
            self.without_query += 1
            return
        earlier = self.grades.setdefault((query_id, passage_id), grade)
        if earlier != grade:
            found = f"passage {passage_id!r} of query {query_id!r} with {grade}, and earlier with {earlier}"
            raise bad(wanted="one score per pair", found=found, do="drop one of the lines")
        self.lines += 1

    @property
    def repeated(self) -> int:
        """Return the number of lines that repeat an earlier one."""
        return self.lines - len(self.grades)


def _grade(score: str) -> int | None:
    """Parse a whole number of at most 9 digits; accepts "1.0", which some tables write."""
    found = re.fullmatch(r"(-?[0-9]{1,9})(?:\.0*)?", score)
    return int(found[1]) if found else None
