"""Read the files of a BEIR or MTEB folder: corpus, queries and judgements, in blocks;
``formats.beir`` says what they look like.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.core.blocks import file_blocks
from positionbias.core.errors import bad_input
from positionbias.core.qrels import BEIR_HEADER
from positionbias.core.records import HIGHEST_GRADE, Passage, Query
from positionbias.formats.json_lines import FIX, Bad, named, text_of
from positionbias.formats.posir import SPAN_COLUMNS, EvidenceSpan, span_of
from positionbias.formats.row_blocks import LineRows, RowBlock, parquet_blocks, parquet_columns

_FIRST = ("train", "validation", "test")
_PACKED = ("", ".gz", ".zst")
_QRELS = ("qrels", "data", "default")
# fold-1 and dl-2019 are splits
_NUMBERED = r"(?:(?<=train)|(?<=dev)|(?<=validation)|(?<=test))-\d+(?=\.parquet)"
_QRELS_FILE = re.compile(
    rf"(?P<stem>[^.]+?)(?P<part>-\d+-of-\d+|{_NUMBERED})?\.(?P<form>tsv|jsonl|parquet)(\.gz|\.zst)?"
)
_ROWS_FILE = re.compile(r"[^.].*\.(jsonl(\.gz|\.zst)?|parquet)")
UNJUDGED = "unjudged"
SPLIT_OF_FILE = {"dev": "validation"}


@dataclass(frozen=True, slots=True)
class BeirFiles:
    """The files of a BEIR folder; ``qrels`` by split."""

    corpus: Sequence[Path]
    queries: Sequence[Path]
    qrels: Mapping[str, Sequence[Path]]

    @property
    def inputs(self) -> dict[str, Path]:
        files = {
            "corpus": self.corpus,
            "queries": self.queries,
            **{f"qrels {split}": own for split, own in self.qrels.items()},
        }
        return {
            role if len(paths) == 1 else f"{role} {number}": path
            for role, paths in files.items()
            for number, path in enumerate(paths, 1)
        }

    @classmethod
    def find(cls, folder: Path) -> BeirFiles:
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
                    split = SPLIT_OF_FILE.get(named_so["stem"], named_so["stem"])
                    form = (path.parent, named_so["form"]) if named_so["part"] else (path, "")
                    if split == UNJUDGED:
                        found = "that of the queries without judgements"
                        raise bad_input(
                            path,
                            wanted="another name",
                            found=found,
                            do="rename it, or move it away",
                        )
                    if forms.setdefault(split, form) != form:
                        wanted = f"one file of qrels for split {split}"
                        raise bad_input(
                            path,
                            wanted=wanted,
                            found=f"this beside {qrels[split][0]}",
                            do="move one away",
                        )
                    qrels.setdefault(split, []).append(path)
        if qrels and not queries:
            raise bad_input(
                folder,
                wanted="queries.jsonl beside the qrels",
                found="none",
                do="fetch it, or move the qrels away",
            )
        order = sorted(
            qrels,
            key=lambda split: (_FIRST.index(split) if split in _FIRST else len(_FIRST), split),
        )
        return cls(corpus, queries, {split: qrels[split] for split in order})


def _files(folder: Path, name: str) -> list[Path]:
    """Return the file of this name, plain or compressed, or the files in the folder of this name,
    or no files.
    """
    single = [folder / f"{name}.jsonl{ending}" for ending in _PACKED] + [folder / f"{name}.parquet"]
    if present := [path for path in single if path.is_file()]:
        return present[:1]
    return sorted(path for path in (folder / name).glob("*") if _ROWS_FILE.fullmatch(path.name))


def _blocks(path: Path, columns: Sequence[str], required: Sequence[str]) -> Iterator[RowBlock]:
    if path.suffix == ".parquet":
        if "_id" in required and "id" in (names := parquet_columns(path)) and "_id" not in names:
            columns, required = (
                [name.replace("_id", "id") for name in own] for own in (columns, required)
            )
        yield from parquet_blocks(path, columns, required)
    else:
        yield from map(LineRows, file_blocks(path))


def corpus_blocks(paths: Sequence[Path]) -> Iterator[RowBlock]:
    """Yield the blocks of a corpus."""
    return (
        block
        for path in paths
        for block in _blocks(path, ("_id", "title", "text"), ("_id", "text"))
    )


def read_passages(block: RowBlock, titles: bool, counts: Counter[str]) -> Iterator[Passage]:
    """Yield the passages of a block of the corpus; count those with a title and those without
    text.
    """
    for number, record in block.rows():
        bad = partial(block.bad_row, number)
        passage_id, text = _id_and_text(record, bad)
        title = "" if record.get("title") is None else text_of(record["title"], "title", bad)
        counts["titles"] += bool(title)
        counts["without_text"] += not text
        yield Passage(
            passage_id,
            f"{title} {text}" if titles and title and text else text or (title if titles else ""),
        )


def _id_and_text(record: Any, bad: Bad) -> tuple[str, str]:
    if not isinstance(record, dict):
        raise bad(wanted="an object with _id and text", found=named(record), do=FIX)
    key = record.get("_id", record.get("id"))
    key = str(key) if type(key) is int else text_of(key, "_id", bad)
    if not key or any(character in key for character in "\t\n\r"):
        raise bad(wanted="'_id' without tabs and line breaks", found=repr(key), do=FIX)
    return key, text_of(record.get("text"), "text", bad)


def read_queries(paths: Sequence[Path]) -> tuple[dict[str, Query], dict[str, EvidenceSpan]]:
    """Return the queries and their evidence spans, by id."""
    queries: dict[str, Query] = {}
    spans: dict[str, EvidenceSpan] = {}
    for block in (
        block
        for path in paths
        for block in _blocks(path, ("_id", "text", "metadata", *SPAN_COLUMNS), ("_id", "text"))
    ):
        for number, record in block.rows():
            bad = partial(block.bad_row, number)
            query_id, text = _id_and_text(record, bad)
            if query_id in queries:
                raise bad(
                    wanted="every query id once",
                    found=f"{query_id!r} again",
                    do="rename or drop one",
                )
            queries[query_id] = Query(query_id, text, _fields(record.get("metadata"), bad))
            if (span := span_of(record, bad)) is not None:
                spans[query_id] = span
    return queries, spans


def _fields(metadata: Any, bad: Bad) -> dict[str, str]:
    if metadata is None:
        return {}
    if not isinstance(metadata, dict):
        raise bad(wanted="'metadata' as an object", found=named(metadata), do=FIX)
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in metadata.items()
    }
    return {
        text_of(key, "metadata", bad): text_of(text, "metadata", bad) for key, text in texts.items()
    }


class Judgements:
    """A reader of one split's qrels files; ``grades`` by (query id, passage id)."""

    def __init__(self, paths: Sequence[Path], queries: Mapping[str, Query]) -> None:
        self.paths, self.queries = paths, queries
        self.grades: dict[tuple[str, str], int] = {}
        self.lines = 0
        self.without_query = 0

    def read(self) -> Judgements:
        for path in self.paths:
            if ".tsv" in path.suffixes:
                self._lines(path)
            else:
                self._rows(path)
        return self

    def _lines(self, path: Path) -> None:
        for block in file_blocks(path):
            for number, line in block.lines():
                columns = line.split("\t")
                header = block.start == 0 and number == 0 and tuple(columns) == BEIR_HEADER
                if line.strip() and not header:
                    self.add(columns, partial(block.bad_line, number))

    def _rows(self, path: Path) -> None:
        for block in _blocks(path, BEIR_HEADER, BEIR_HEADER):
            for number, row in block.rows():
                bad = partial(block.bad_row, number)
                if not isinstance(row, dict):
                    raise bad(
                        wanted=f"an object with {', '.join(BEIR_HEADER)}", found=named(row), do=FIX
                    )
                ids = [
                    str(row.get(name))
                    if type(row.get(name)) is int
                    else text_of(row.get(name), name, bad)
                    for name in BEIR_HEADER[:2]
                ]
                self.add([*ids, str(row.get("score"))], bad)

    def add(self, columns: Sequence[str], bad: Bad) -> None:
        if len(columns) != 3:
            raise bad(
                wanted="three columns: query-id, corpus-id, score",
                found=f"{len(columns)}",
                do="fix or drop the line",
            )
        query_id, passage_id, score = columns
        grade = _grade(score)
        if grade is None or abs(grade) > HIGHEST_GRADE:
            raise bad(
                wanted=f"a whole number up to {HIGHEST_GRADE:,} as score",
                found=repr(score),
                do="fix or drop the line",
            )
        if query_id not in self.queries:
            self.without_query += 1
            return
        earlier = self.grades.setdefault((query_id, passage_id), grade)
        if earlier != grade:
            found = (
                f"passage {passage_id!r} of query {query_id!r} with {grade}, and earlier with "
                f"{earlier}"
            )
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
