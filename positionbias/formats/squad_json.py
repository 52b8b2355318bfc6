"""Read and write the JSON of SQuAD v1.1 and v2.0, checking every key, type, id and offset.

Tabs and line breaks become spaces, one for one, so that offsets stay valid.
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

__all__ = ["VERSIONS", "Article", "Paragraph", "Question", "Span", "SquadFile", "line_of", "read_squad", "write_articles"]

VERSIONS = {"1.1": "1.1", "v1.1": "1.1", "2.0": "2.0", "v2.0": "2.0"}
# All characters that some reader takes for the end of a line or column. One space each keeps offsets valid.
_SPACES = str.maketrans(dict.fromkeys("\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
_JSON_NAMES = {dict: "an object", list: "a list", str: "text", int: "a whole number", bool: "true or false", type(None): "null"}


class Span(NamedTuple):
    """An answer: its text, and its characters ``[start, start + len(text))`` in the paragraph."""

    text: str
    start: int


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
    """One file, read and checked. ``repeated_spans`` counts repeated annotators' spans."""

    version: str
    articles: tuple[Article, ...]
    repeated_spans: int


def read_squad(path: Path | str) -> SquadFile:
    """Read one file whole (the largest published one is 42 MB) and check every key, type, id and offset.

    Raises:
        InputError: not SQuAD v1.1 or v2.0, cut short, a repeated question id, an answer that is not at its offset.
    """
    return _Reader(Path(path)).read()


class _Reader:
    """A reader of one file; ``place`` describes the current position in errors."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.place = ""
        self.question_ids: set[str] = set()
        self.repeated_spans = 0

    def read(self) -> SquadFile:
        self.place = "the file"
        document = read_json(self.path, what="SQuAD JSON, v1.1 or v2.0")
        given = self.get(document, "version", str)
        if given not in VERSIONS:
            raise bad_input(
                self.path, wanted="SQuAD version 1.1 or v2.0", found=f"version {given!r}", do="fetch one of these releases"
            )
        version = VERSIONS[given]
        articles = tuple(self.article(item, number, version) for number, item in enumerate(self.get(document, "data", list)))
        if not any(article.paragraphs for article in articles):
            raise bad_input(self.path, wanted="articles with paragraphs", found="none", do="check that the file is complete")
        return SquadFile(version, articles, self.repeated_spans)

    def get(self, record: Any, key: str, type_: type) -> Any:
        """Return ``record[key]``, which must exist and be of this type; text must be valid Unicode."""
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

    def error(self, wanted: str, found: str, *, question_id: str | None = None, last: bool = False) -> InputError:
        line = None if question_id is None else line_of(self.path, question_id, last=last)
        where = "" if self.place == "the file" else f" ({self.place})"
        return bad_input(self.path, line=line, wanted=wanted, found=f"{found}{where}", do="fix the file or fetch it again")

    def article(self, record: Any, number: int, version: str) -> Article:
        self.place = f"article {number + 1}"
        title = self.get(record, "title", str)
        paragraphs = []
        for index, item in enumerate(self.get(record, "paragraphs", list)):
            self.place = f"article {number + 1} {title!r}, paragraph {index + 1}"
            paragraphs.append(self.paragraph(item, version))
        return Article(title, tuple(paragraphs))

    def paragraph(self, record: Any, version: str) -> Paragraph:
        context = self.get(record, "context", str)
        around = self.place
        questions = []
        for item in self.get(record, "qas", list):
            questions.append(self.question(item, context, version))
            self.place = around
        return Paragraph(context.translate(_SPACES), tuple(questions))

    def question(self, record: Any, context: str, version: str) -> Question:
        question_id = self.get(record, "id", str)
        self.place = f"question {question_id!r}"
        if not question_id or question_id.split() != [question_id]:
            raise self.error("a question id without spaces", repr(question_id))
        if question_id in self.question_ids:
            raise self.error("every question id once", f"{question_id!r} twice", question_id=question_id, last=True)
        self.question_ids.add(question_id)
        text = self.get(record, "question", str).translate(_SPACES)
        spans = [self.span(item, context, question_id) for item in self.get(record, "answers", list)]
        # v1.1 has no unanswerable questions; v2.0 must mark each question
        unanswerable = (version == "2.0" or "is_impossible" in record) and self.get(record, "is_impossible", bool)
        if unanswerable:
            return Question(question_id, text, ())
        if not spans:
            raise self.error("at least one answer to an answerable question", "none", question_id=question_id)
        distinct = tuple(dict.fromkeys(spans))
        self.repeated_spans += len(spans) - len(distinct)
        return Question(question_id, text, distinct)

    def span(self, record: Any, context: str, question_id: str) -> Span:
        text, start = self.get(record, "text", str), self.get(record, "answer_start", int)
        end = start + len(text)
        if not text:
            raise self.error("an answer of at least one character", "an empty one", question_id=question_id)
        if start < 0 or end > len(context):
            raise self.error(
                f"an answer within its paragraph of {len(context):,} characters",
                f"one at characters {start:,} to {end:,}",
                question_id=question_id,
            )
        if context[start:end] != text:
            wanted = f"the answer {_short(text)} at character {start:,}"
            raise self.error(wanted, _short(context[start:end]), question_id=question_id)
        return Span(text.translate(_SPACES), start)


def _named(type_: type) -> str:
    return _JSON_NAMES.get(type_, "a number")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def line_of(path: Path, question_id: str, *, last: bool) -> int | None:
    """Return the line of a question's id; None if it is not found (an id written with escapes)."""
    needle = json.dumps(question_id, ensure_ascii=False)
    data = read_document(path)
    place = (data.rfind if last else data.find)(needle.encode())
    return None if place < 0 else data.count(b"\n", 0, place) + 1


def write_articles(handle: IO[str], articles: Iterable[Article], version: str) -> None:
    """Write one whole file of version 1.1 or 2.0, streaming an article a line."""
    handle.write(f'{{"version": {json.dumps("v2.0" if version == "2.0" else version)}, "data": [')
    for number, article in enumerate(articles):
        handle.write(f"{',' if number else ''}\n{json.dumps(_to_json(article, version), ensure_ascii=False)}")
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
                        "answers": [{"text": span.text, "answer_start": span.start} for span in question.spans],
                        **impossible,
                    }
                    for question in paragraph.questions
                ],
            }
            for paragraph in article.paragraphs
        ],
    }
