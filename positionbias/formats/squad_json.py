"""Read and write the JSON of SQuAD v1.1, v2.0 and similar data sets, checking every key, type, id
and offset.

Tabs and line breaks become spaces, one for one, so that offsets stay valid. Other data sets may
have other versions or none, lack titles and ``is_impossible``, number their questions, and have
answers without a start (none, null or −1) or not at their stated start: all this is read, and
differences are counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import read_document, read_json
from positionbias.core.json_text import JsonObject
from positionbias.formats.table_values import start_in

VERSIONS = {"1.1": "1.1", "v1.1": "1.1", "2.0": "2.0", "v2.0": "2.0"}
# Every character that some reader takes for the end of a line or column. One space each keeps
# offsets valid.
_SPACES = str.maketrans(dict.fromkeys("\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
_JSON_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    bool: "true or false",
    type(None): "null",
}


class Span(NamedTuple):
    """An answer: its text, and its characters ``[start, start + len(text))`` in the paragraph, if
    known.
    """

    text: str
    start: int | None


class Question(NamedTuple):
    """A question; ``spans`` is empty exactly when it is unanswerable."""

    question_id: str
    text: str
    spans: tuple[Span, ...]


class Paragraph(NamedTuple):
    """A paragraph and its questions."""

    text: str
    questions: tuple[Question, ...]


class Article(NamedTuple):
    """An article: its title and paragraphs."""

    title: str
    paragraphs: tuple[Paragraph, ...]


@dataclass(frozen=True, slots=True)
class SquadFile:
    """One checked file. ``version`` is as given. ``repeated_spans`` counts spans repeated by
    annotators, ``without_start`` answers whose start is unknown, ``moved`` answers not found at
    their start: these get the place of their text if it occurs once in the paragraph, else no
    start."""

    version: str
    articles: tuple[Article, ...]
    repeated_spans: int
    without_start: int
    moved: int


def read_squad(path: Path | str) -> SquadFile:
    """Read one file whole (the largest published one is 42 MB) and check every key, type, id and
    offset.

    Raises:
        InputError: not in SQuAD's form, a truncated file, a repeated question id, or most stated
            starts are wrong.
    """
    return _Reader(Path(path)).read()


class _Reader:
    """A reader of one file; ``place`` describes the current position in errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = ""
        self.question_ids: set[str] = set()
        self.starts = self.without_start = self.repeated_spans = self.moved = 0

    def read(self) -> SquadFile:
        self.place = "the file"
        document = read_json(self.path, what="JSON in SQuAD's form")
        articles = tuple(
            self.article(item, number)
            for number, item in enumerate(self.get(document, "data", list))
        )
        version = document.get("version")
        version = (
            version
            if isinstance(version, str) and _encodable(version)
            else ""
            if version is None
            else str(version)
        )
        if not any(article.paragraphs for article in articles):
            raise bad_input(
                self.path,
                wanted="articles with paragraphs",
                found="none",
                do="check that the file is complete",
            )
        if 2 * self.moved > self.starts:
            self.place = "the file"
            found = f"{self.moved:,} of {self.starts:,} elsewhere"
            raise self.error("answers at their stated start, in characters from 0", found)
        return SquadFile(
            VERSIONS.get(version, version),
            articles,
            self.repeated_spans,
            self.without_start,
            self.moved,
        )

    def get(self, record: Any, key: str, type_: type) -> Any:
        """Return ``record[key]``, checked to exist and be of this type; text must be valid
        Unicode.
        """
        if not isinstance(record, dict):
            raise self.error(f"an object with the key {key!r}", _named(type(record)))
        if key not in record:
            raise self.error(f"the key {key!r}", "no such key")
        value: Any = record[key]
        if type(value) is not type_:
            raise self.error(f"{key!r} as {_named(type_)}", _named(type(value)))
        if isinstance(value, str) and not _encodable(value):
            raise self.error(f"{key!r} in valid Unicode", "half a surrogate pair")
        return value

    def error(
        self, wanted: str, found: str, *, question_id: str | None = None, last: bool = False
    ) -> InputError:
        line = None if question_id is None else line_of(self.path, question_id, last=last)
        where = "" if self.place == "the file" else f" ({self.place})"
        return bad_input(
            self.path,
            line=line,
            wanted=wanted,
            found=f"{found}{where}",
            do="fix the file or fetch it again",
        )

    def article(self, record: Any, number: int) -> Article:
        self.place = f"article {number + 1}"
        title = (
            self.get(record, "title", str) if isinstance(record, dict) and "title" in record else ""
        )
        paragraphs = []
        for index, item in enumerate(self.get(record, "paragraphs", list)):
            self.place = f"article {number + 1} {title!r}, paragraph {index + 1}"
            paragraphs.append(self.paragraph(item))
        return Article(title, tuple(paragraphs))

    def paragraph(self, record: Any) -> Paragraph:
        context = self.get(record, "context", str)
        around = self.place
        questions = []
        for item in self.get(record, "qas", list):
            questions.append(self.question(item, context))
            self.place = around
        return Paragraph(context.translate(_SPACES), tuple(questions))

    def question(self, record: Any, context: str) -> Question:
        numbered = isinstance(record, dict) and type(record.get("id")) is int
        question_id = str(record["id"]) if numbered else self.get(record, "id", str)
        self.place = f"question {question_id!r}"
        if not question_id or question_id.split() != [question_id]:
            raise self.error("a question id without spaces", repr(question_id))
        if question_id in self.question_ids:
            raise self.error(
                "every question id once",
                f"{question_id!r} twice",
                question_id=question_id,
                last=True,
            )
        self.question_ids.add(question_id)
        text = self.get(record, "question", str).translate(_SPACES)
        if "is_impossible" in record and self.get(record, "is_impossible", bool):
            return Question(question_id, text, ())
        given = self.get(record, "answers", list) if "answers" in record else ()
        spans = [span for item in given if (span := self.span(item, context, question_id))]
        distinct = tuple(dict.fromkeys(spans))
        self.repeated_spans += len(spans) - len(distinct)
        return Question(question_id, text, distinct)

    def span(self, record: Any, context: str, question_id: str) -> Span | None:
        """Return an answer; None for an empty one, which some data sets use for no answer."""
        text = self.get(record, "text", str)
        start = -1 if record.get("answer_start") is None else self.get(record, "answer_start", int)
        if not text:
            return None
        if start < 0:
            self.without_start += 1
            return Span(text.translate(_SPACES), None)
        self.starts += 1
        stands = start_in(context, text, start)
        self.moved += stands != start
        return Span(text.translate(_SPACES), stands)


def _named(type_: type) -> str:
    return _JSON_NAMES.get(type_, "a number")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def line_of(path: Path, question_id: str, *, last: bool) -> int | None:
    """Return the line of a question's id; None if not found (as for an id written with escapes)."""
    needle = json.dumps(question_id, ensure_ascii=False)
    data = read_document(path)
    place = (data.rfind if last else data.find)(needle.encode())
    return None if place < 0 else data.count(b"\n", 0, place) + 1


def write_articles(handle: IO[str], articles: Iterable[Article], version: str) -> None:
    """Write a file of version 1.1 or 2.0, one article per line."""
    handle.write(f'{{"version": {json.dumps("v2.0" if version == "2.0" else version)}, "data": [')
    for number, article in enumerate(articles):
        handle.write(
            f"{',' if number else ''}\n{json.dumps(_to_json(article, version), ensure_ascii=False)}"
        )
    handle.write("\n]}\n")


def _to_json(article: Article, version: str) -> JsonObject:
    impossible = {"is_impossible": False} if version == "2.0" else {}
    return {
        "title": article.title,
        "paragraphs": [
            {
                "context": paragraph.text,
                "qas": [
                    {
                        "id": question.question_id,
                        "question": question.text,
                        "answers": [
                            {"text": span.text, "answer_start": span.start}
                            for span in question.spans
                        ],
                        **impossible,
                    }
                    for question in paragraph.questions
                ],
            }
            for paragraph in article.paragraphs
        ],
    }
