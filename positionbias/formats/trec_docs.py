"""Parse a block of TREC documents into passages.

``sgml``: ``<DOC><DOCNO>…</DOCNO> … </DOC>``, several in a file, as on TREC Disks 4 and 5 (FBIS,
FR94, FT, LATimes). The text is what stands in the content tags, in order, joined by spaces; other
elements (GRAPHIC, BYLINE, SUBJECT …) are left out. The default tags are those that Anserini's
TrecCollection indexes: TEXT HEADLINE TITLE HL HEAD TTL DD DATE LP LEADPARA. ``nyt``: the New York
Times Annotated Corpus, one NITF article a file: headline (hl1), then the full text. The lead
paragraph, which the full text repeats, is used only without a full text. ``wapo``: the TREC
Washington Post Collection, one JSON article a line: title, then the paragraphs (``sanitized_html``,
without its HTML); kicker, byline, date, images and other media are left out [decision].

[decision] SGML is read as UTF-8; a document that is not UTF-8 is read in ``encoding`` and counted.
The default is Windows-1252, which agrees with Latin-1 on printable characters; its 5 undefined
bytes become Latin-1's control characters.
"""

from __future__ import annotations

import codecs
import json
import re
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from positionbias.core.blocks import Block
from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.json_text import parse_json
from positionbias.core.records import Passage
from positionbias.core.settings import setting
from positionbias.formats.markup import collapse, plain_text
from positionbias.formats.safe_xml import parse_xml

KINDS = ("sgml", "nyt", "wapo")
CONTENT_TAGS = ("TEXT", "HEADLINE", "TITLE", "HL", "HEAD", "TTL", "DD", "DATE", "LP", "LEADPARA")
DOC_START = re.compile(rb"<DOC\s{0,8}>", re.IGNORECASE)
_DOC_TAG = re.compile(rb"<(/?)DOC\s{0,8}>", re.IGNORECASE)
_DOCNO, _DOCNO_END = (
    re.compile(r"<DOCNO\s*>", re.IGNORECASE),
    re.compile(r"</DOCNO\s*>", re.IGNORECASE),
)
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_CONTROLS = "posbias-latin-1-controls"


def _latin1_control(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return chr(error.object[error.start]), error.start + 1


codecs.register_error(_CONTROLS, _latin1_control)


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings for reading documents: format, content tags of SGML, and encoding if not UTF-8."""

    docs_format: Literal["auto", "sgml", "nyt", "wapo"] = setting(
        "auto",
        "TREC SGML, New York Times XML, Washington Post JSON lines; auto tells each file by its "
        "content.",
    )
    tags: tuple[str, ...] = setting(
        CONTENT_TAGS,
        "Read text from this SGML element only; repeatable.",
        flags=("--tag",),
        metavar="NAME",
        shown=False,
    )
    encoding: str = setting(
        "windows-1252",
        "Encoding of SGML documents that are not UTF-8; they are counted.",
        shown=False,
    )

    def __post_init__(self) -> None:
        if self.docs_format not in ("auto", *KINDS):
            do = or_closest(self.docs_format, ("auto", *KINDS), "give one of these")
            raise SettingError(
                f"--docs-format: wanted auto, {', '.join(KINDS)}; found {self.docs_format!r}; {do}"
            )
        for tag in self.tags:
            if not _TAG_NAME.match(tag):
                raise SettingError(
                    f"--tag: wanted the name of an SGML element; found {tag!r}; give one such as "
                    "TEXT"
                )
        try:
            known = codecs.lookup(self.encoding)._is_text_encoding
        except (LookupError, ValueError):
            known = False
        if not known or self.encoding.lower().replace("_", "-").startswith(
            ("utf-16", "utf-32", "utf16", "utf32")
        ):
            raise SettingError(
                f"--encoding: wanted a text encoding that contains ASCII; found {self.encoding!r}; "
                "give one such as windows-1252, latin-1 or utf-8"
            )


def recognise(head: bytes) -> str | None:
    """Identify the kind of documents in a file by its first bytes; None if unknown."""
    head = head.removeprefix(BOM_UTF8).lstrip()
    if head[:1] == b"{" and b'"' in head:
        return "wapo"
    if head[:1] == b"<" and DOC_START.search(head):
        return "sgml"
    if head[:2] in (b"<?", b"<!", b"<n") and re.search(rb"<nitf\b|<!DOCTYPE\s+nitf\b", head):
        return "nyt"
    return None


def read_documents(
    kind: str, block: Block, reading: Reading, counts: Counter[str]
) -> Iterator[Passage]:
    """Yield the documents of a block; count documents, empty, not_utf8 and outside (bytes between
    SGML documents) in ``counts``.

    Raises:
        InputError: an unreadable document (with its line).
    """
    read = {"sgml": _sgml, "nyt": _nyt, "wapo": _wapo}[kind]
    for passage in read(block, reading, counts):
        counts["documents"] += 1
        counts["empty"] += not passage.text
        yield passage


def _sgml(block: Block, reading: Reading, counts: Counter[str]) -> Iterator[Passage]:
    data = block.read()
    at = len(BOM_UTF8) if block.start == 0 and data.startswith(BOM_UTF8) else 0
    opened: re.Match[bytes] | None = None
    for tag in _DOC_TAG.finditer(data):
        if not tag[1] and opened is None:
            counts["outside"] += len(data[at : tag.start()].strip())
            opened = tag
        elif tag[1] and opened is not None:
            yield _sgml_document(block, data, opened.end(), tag.start(), reading, counts)
            opened, at = None, tag.end()
        else:
            found, place = (
                ("</DOC> without <DOC>", tag) if opened is None else ("<DOC> inside a <DOC>", tag)
            )
            raise block.bad_line(
                data.count(b"\n", 0, place.start()),
                wanted="every document between <DOC> and </DOC>",
                found=found,
                do="fix the file, or fetch it again",
            )
    if opened is not None:
        raise block.bad_line(
            data.count(b"\n", 0, opened.start()),
            wanted="</DOC> after this <DOC>",
            found="the end of the file",
            do="fetch the file again",
        )
    counts["outside"] += len(data[at:].strip())


def _sgml_document(
    block: Block, data: bytes, start: int, end: int, reading: Reading, counts: Counter[str]
) -> Passage:
    text = _decoded(block, data, start, end, reading.encoding, counts)
    opened = _DOCNO.search(text)
    closed = _DOCNO_END.search(text, opened.end()) if opened else None
    name = plain_text(text[opened.end() : closed.start()]) if opened and closed else ""
    if not name:
        raise block.bad_line(
            data.count(b"\n", 0, start),
            wanted="<DOCNO>…</DOCNO> in every document",
            found="none",
            do="fix the file",
        )
    return Passage(name, " ".join(part for part in _content(text, reading.tags) if part))


def _decoded(
    block: Block, data: bytes, start: int, end: int, encoding: str, counts: Counter[str]
) -> str:
    piece = data[start:end]
    try:
        return piece.decode()
    except UnicodeDecodeError:
        counts["not_utf8"] += 1
    try:
        return piece.decode(
            encoding, _CONTROLS if codecs.lookup(encoding).name == "cp1252" else "strict"
        )
    except UnicodeDecodeError as error:
        raise block.bad_line(
            data.count(b"\n", 0, start + error.start),
            wanted=f"text in UTF-8 or {encoding}",
            found=f"the byte 0x{piece[error.start]:02x}, which is in neither",
            do="give another --encoding",
        ) from None


@lru_cache
def _patterns(tags: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, re.Pattern[str]]]:
    opening = re.compile(rf"<({'|'.join(map(re.escape, tags))})(?:\s[^<>]*)?>", re.IGNORECASE)
    return opening, {
        tag.upper(): re.compile(rf"</{re.escape(tag)}\s*>", re.IGNORECASE) for tag in tags
    }


def _content(text: str, tags: tuple[str, ...]) -> Iterator[str]:
    """Yield the plain text of each outermost content element; an unclosed one runs to the
    document's end.
    """
    opening, closing = _patterns(tags)
    at = 0
    while opened := opening.search(text, at):
        closed = closing[opened[1].upper()].search(text, opened.end())
        at = closed.end() if closed else len(text)
        yield plain_text(text[opened.end() : closed.start() if closed else at])


class _Article:
    """A parser's state: the id, headline and the two forms of the body of an NITF document."""

    def __init__(self) -> None:
        self.root = self.name = ""
        self.parts: dict[str, list[str]] = {"headline": [], "full_text": [], "lead_paragraph": []}
        self._into: list[str] | None = None
        self._depth = 0

    def start(self, name: str, attributes: Any, line: int) -> None:
        self.root = self.root or name
        if name == "doc-id" and not self.name:
            self.name = collapse(attributes.get("id-string", ""))
        if self._into is not None:
            self._depth += 1
            self._into.append(" ")
        elif name == "hl1":
            self._into = self.parts["headline"]
        elif name == "block":
            self._into = self.parts.get(attributes.get("class", ""))

    def end(self, name: str) -> None:
        if self._into is None:
            return
        self._into.append(" ")
        if self._depth:
            self._depth -= 1
        else:
            self._into = None

    def add(self, characters: str) -> None:
        if self._into is not None:
            self._into.append(characters)

    def text(self) -> str:
        headline, full, lead = (collapse("".join(part)) for part in self.parts.values())
        return collapse(f"{headline} {full or lead}")


def _nyt(block: Block, reading: Reading, counts: Counter[str]) -> Iterator[Passage]:
    article = _Article()
    parse_xml(block.read(), block.source, start=article.start, end=article.end, text=article.add)
    if article.root != "nitf" or not article.name:
        found = f"<{article.root}>" if article.root != "nitf" else "none"
        raise bad_input(
            block.source,
            wanted="an NITF article with <doc-id id-string=…>",
            found=found,
            do="give another --docs-format",
        )
    yield Passage(article.name, article.text())


def _wapo(block: Block, reading: Reading, counts: Counter[str]) -> Iterator[Passage]:
    for number, line in block.lines():
        if not line.strip():
            continue
        try:
            yield _wapo_article(line)
        except (ValueError, RecursionError) as error:
            found = (
                f"{error.msg} at column {error.colno}"
                if isinstance(error, json.JSONDecodeError)
                else str(error)
            )
            raise block.bad_line(
                number,
                wanted="a Washington Post article as JSON: an object with id and contents",
                found=found,
                do="fix or drop the line",
            ) from None


def _wapo_article(line: str) -> Passage:
    record = parse_json(line)
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}")
    name, contents = record.get("id"), record.get("contents")
    if not isinstance(name, str) or not name.strip():
        raise ValueError("no id")
    if not isinstance(contents, list):
        raise ValueError("no list of contents")
    items = [
        item for item in contents if isinstance(item, dict) and isinstance(item.get("content"), str)
    ]
    title = record.get("title") or next(
        (item["content"] for item in items if item.get("type") == "title"), ""
    )
    parts = [plain_text(title) if isinstance(title, str) else ""]
    for item in items:
        if item.get("type") == "sanitized_html":
            parts.append(
                (collapse if item.get("mime") == "text/plain" else plain_text)(item["content"])
            )
    text = " ".join(part for part in parts if part)
    try:
        (name + text).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"half a character (U+{ord(error.object[error.start]):04X})") from None
    return Passage(name.strip(), text)
