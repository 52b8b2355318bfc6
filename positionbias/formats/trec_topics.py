"""Read TREC topics as queries: the title / desc / narr form (which ``trec_export`` writes), XML, or
lines of id and text.

``<top> <num> Number: 301 <title> … <desc> Description: … <narr> Narrative: … </top>``, with closing
tags or without, values on one line or several. XML: each ``<topic>`` (or ``<top>``, ``<query>``)
has its id as attribute (number, id, num, qid) or element, as in TREC-COVID, Clinical Trials, Web.
Lines: ``id TAB text``; further lines of an id are its variants.

[decision] A query's text is the first present of title, query, the topic's own text, question,
description and narrative, else its first element. The others become fields with full names:
description, narrative, question, summary, concepts …. A repeated element is numbered (subtopic,
subtopic2); further lines of an id are variant1, variant2 …; an XML topic's attributes are fields
too (type). White space collapses, and references are resolved as in ``formats.markup``.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from positionbias.core.errors import bad_input
from positionbias.core.files import input_errors, read_document
from positionbias.core.records import Query
from positionbias.formats.markup import INLINE, collapse, plain_text
from positionbias.formats.safe_xml import parse_xml

_WANTED = "TREC topics: <top> … </top>, XML, or lines of id, tab, text"
FIELD_TAGS = {
    "num": "number",
    "desc": "description",
    "narr": "narrative",
    "dom": "domain",
    "con": "concepts",
    "smry": "summary",
    "fac": "factors",
    "def": "definitions",
    "nat": "nationality",
}
_LABELS = {
    "number": r"Number",
    "title": r"Topic",
    "description": r"Descri?ption",  # TripClick omits the i
    "narrative": r"Narrative",
    "domain": r"Domain",
    "concepts": r"Concept(?:s|\(s\))?",
    "summary": r"Summary",
    "factors": r"Factor(?:s|\(s\))?",
    "definitions": r"Definition(?:s|\(s\))?",
    "nationality": r"Nationality",
}
LABEL = {
    name: re.compile(rf"[ \t\r\n]*{label}[ \t]*(?::|\r?\n|\Z)") for name, label in _LABELS.items()
}
_TEXT_FROM = ("title", "query", "", "question", "description", "narrative")
_ID_NAMES = ("number", "id", "num", "qid")
_TOP = re.compile(r"<(/?)top(?:\s[^<>]*)?>", re.IGNORECASE)
_NUMBER = re.compile(r"<num(?:\s[^<>]*)?>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*+)[^<>]*+>")
_FIELD_NAME = re.compile(r"[a-z][a-z0-9_.-]*\Z")
_RESERVED = {"title", "number", "top", "text"}
_MARKUP = INLINE | {"p", "br"}  # tags inside a value


@dataclass(slots=True)
class _Topic:
    """A topic during parsing: its elements by name, "" for its own text; ``line`` from 1."""

    line: int
    values: dict[str, str] = field(default_factory=dict)
    # the last number given to a repeated element
    taken: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, value: str) -> None:
        number = self.taken.get(name, 0) + 1
        while (free := f"{name}{number}" if number > 1 else name) in self.values:
            number += 1
        self.values[free], self.taken[name] = value, number

    def query(self, path: Path, query_id: str | None) -> Query:
        values = self.values
        if not query_id:
            raise bad_input(
                path,
                line=self.line,
                wanted="a number in every topic",
                found="none",
                do="fix the file",
            )
        name = next((name for name in (*_TEXT_FROM, *values) if name in values), None)
        if name is None:
            raise bad_input(
                path,
                line=self.line,
                wanted="a topic with text",
                found=f"only {query_id!r}",
                do="fix the file",
            )
        text = values[name]
        return Query(
            query_id, text, {key or "text": value for key, value in values.items() if key != name}
        )


def read_topics(path: Path | str) -> list[Query]:
    """Read the topics of a file, plain or compressed, in order; the content identifies the form.

    Raises:
        InputError: none of the forms (with the line), a repeated id, or no topics.
    """
    return _read(Path(path))[1]


def parse_tagged(text: str, source: Path | str) -> list[Query]:
    """Parse text in the ``<top>`` form; errors name ``source``."""
    found = list(_read_tagged(Path(source), text)) if _TOP.search(text) else []
    if not found:
        raise bad_input(
            source, wanted="TREC topics: <top> … </top>", found="none", do="check the file"
        )
    return found


def _read(path: Path) -> tuple[str, list[Query]]:
    with input_errors(path, wanted="TREC topics"):
        data = read_document(path)
        form = _form(data)
        if form == "xml":
            found = list(_read_xml(path, data))
        else:
            text = data.decode().removeprefix("\ufeff")
            found = list((_read_tagged if form == "tagged" else _read_lines)(path, text))
    if not found:
        raise bad_input(path, wanted=_WANTED, found="none", do="check the path")
    return form, found


def _form(data: bytes) -> str:
    """Return the form: tagged, xml or lines. Text that starts with a tag, without a tab in its
    first line, is marked up.
    """
    start = data.removeprefix(BOM_UTF8).lstrip()
    if start[:1] != b"<" or b"\t" in start.partition(b"\n")[0].rstrip():
        return "lines"
    return "tagged" if _TOP.search(data.decode("latin-1")) else "xml"


def _unique(path: Path, topics: Iterable[tuple[int, Query]]) -> Iterator[Query]:
    first: dict[str, int] = {}
    for line, query in topics:
        if query.query_id in first:
            raise bad_input(
                path,
                line=line,
                wanted="every topic once",
                found=f"topic {query.query_id!r} again, first at line {first[query.query_id]}",
                do="rename or drop one",
            )
        first[query.query_id] = line
        yield query


def is_field_name(name: str) -> bool:
    """Return True if ``<top>`` can hold a field that is read back under this name."""
    return (
        bool(_FIELD_NAME.match(name))
        and name not in _MARKUP
        and name not in FIELD_TAGS
        and name not in _RESERVED
    )


# -- <top> -----------------------------------------------------------------------------------------


def _read_tagged(path: Path, text: str) -> Iterator[Query]:
    starts = list(_TOP.finditer(text))

    def topics() -> Iterator[tuple[int, Query]]:
        line, counted = 1, 0
        _check_outside(path, text[: starts[0].start()], line)
        for tag, following in zip(starts, [*starts[1:], None], strict=True):
            line, counted = line + text.count("\n", counted, tag.start()), tag.start()
            body = text[tag.end() : following.start() if following else len(text)]
            if tag[1]:
                _check_outside(path, body, line)
            else:
                topic = _tagged_topic(body, line)
                yield line, topic.query(path, topic.values.pop("number", None))

    return _unique(path, topics())


def _check_outside(path: Path, text: str, line: int) -> None:
    """Refuse a topic outside <top>, which would be lost; other text between topics is ignored."""
    if lost := _NUMBER.search(text):
        raise bad_input(
            path,
            line=line + text.count("\n", 0, lost.start()),
            wanted="every topic between <top> and </top>",
            found="<num> outside these",
            do="fix the file",
        )


def _tagged_topic(body: str, line: int) -> _Topic:
    """Parse the elements of one topic. Each extends to the next tag that is not inner markup, or to
    its closing tag.
    """
    topic = _Topic(line)
    name, start = "", 0

    def close(end: int, closed: bool) -> None:
        raw = body[start:end]
        if name in LABEL and (label := LABEL[name].match(raw)):
            raw = raw[label.end() :]
        value = plain_text(raw)
        if value or (name and closed):
            topic.add(name, value)

    for tag in _TAG.finditer(body):
        tag_name = tag[2].lower()
        if tag_name in _MARKUP:
            continue
        tag_name = FIELD_TAGS.get(tag_name, tag_name)
        close(tag.start(), bool(tag[1]) and tag_name == name)
        name, start = "" if tag[1] else tag_name, tag.end()
    close(len(body), False)
    return topic


# -- XML -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    name: str
    attributes: Mapping[str, str]
    line: int
    children: list[_Node | str] = field(default_factory=list)

    def text(self) -> str:
        """Return all text in the node, with elements joined by spaces."""
        parts, todo = [], [iter(self.children)]
        while todo:
            child = next(todo[-1], None)
            if child is None:
                todo.pop()
            elif isinstance(child, str):
                parts.append(child)
            elif child.name in INLINE:
                todo.append(iter(child.children))
            else:
                todo.append(iter([" ", *child.children, " "]))
        return collapse("".join(parts))

    def elements(self) -> list[_Node]:
        """Return the child elements, without markup inside text."""
        return [
            child
            for child in self.children
            if isinstance(child, _Node) and child.name not in INLINE
        ]


def _read_xml(path: Path, data: bytes) -> Iterator[Query]:
    root = _Node("", {}, 1)
    stack = [root]

    def start(name: str, attributes: Mapping[str, str], line: int) -> None:
        node = _Node(name.lower(), attributes, line)
        stack[-1].children.append(node)
        stack.append(node)

    def end(_: str) -> None:
        stack.pop()

    parse_xml(
        data,
        str(path),
        start=start,
        end=end,
        text=lambda characters: stack[-1].children.append(characters),
    )
    nodes = _topic_nodes(root)
    if not nodes:
        raise bad_input(
            path,
            wanted="<topic> or <query> elements with a number",
            found="none",
            do="check the path",
        )
    return _unique(path, ((node.line, _xml_topic(path, node)) for node in nodes))


def _topic_nodes(root: _Node) -> list[_Node]:
    """Return the outermost elements that are topics."""
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        inner = {child.name for child in node.elements()}
        numbered = any(name in node.attributes or name in inner for name in _ID_NAMES)
        if node.name == "topic" or (node.name in ("query", "top") and numbered):
            found.append(node)
        else:
            todo += reversed(node.elements())
    return found


def _xml_topic(path: Path, node: _Node) -> Query:
    topic = _Topic(node.line)
    query_id = next(
        (collapse(node.attributes[name]) for name in _ID_NAMES if name in node.attributes), None
    )
    elements = node.elements()
    own = _Node(
        "",
        {},
        node.line,
        [
            child if isinstance(child, str) or child.name in INLINE else " "
            for child in node.children
        ],
    ).text()
    if own:
        topic.add("", own)
    for child in elements:
        if query_id is None and child.name in _ID_NAMES:
            query_id = child.text()
            continue
        name = re.sub(r"[^a-z0-9_.-]+", "_", child.attributes.get("name", child.name).lower())
        if value := child.text():
            topic.add(FIELD_TAGS.get(name, name), value)
    query = topic.query(path, query_id)
    attributes = {
        name: collapse(value) for name, value in node.attributes.items() if name not in _ID_NAMES
    }
    return Query(query.query_id, query.text, {**attributes, **query.fields})


# -- lines -----------------------------------------------------------------------------------------


def _read_lines(path: Path, text: str) -> list[Query]:
    texts: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        query_id, tab, value = line.partition("\t")
        query_id, value = query_id.strip(), collapse(value)
        if not tab or not query_id or not value:
            found = "no tab" if not tab else "no id" if not query_id else "no text"
            raise bad_input(
                path,
                line=number,
                wanted="an id, a tab and a text",
                found=found,
                do="fix or drop the line",
            )
        texts.setdefault(query_id, []).append(value)
    return [
        Query(query_id, first, {f"variant{number}": value for number, value in enumerate(more, 1)})
        for query_id, (first, *more) in texts.items()
    ]


def read_topic_files(paths: Sequence[Path | str]) -> list[Query]:
    """Read the topics of several files as one list; in a file of lines, further texts of a known id
    become its variants.

    Raises:
        InputError: as ``read_topics``; or a topic in two files that is not a variant.
    """
    merged: dict[str, Query] = {}
    place: dict[str, Path] = {}
    for path in map(Path, paths):
        form, queries = _read(path)
        for query in queries:
            known = merged.get(query.query_id)
            if known is None:
                merged[query.query_id], place[query.query_id] = query, path
            elif form == "lines":
                count = sum(name.startswith("variant") for name in known.fields)
                texts = [query.text, *query.fields.values()]
                variants = {
                    f"variant{number}": text for number, text in enumerate(texts, count + 1)
                }
                merged[query.query_id] = replace(known, fields={**known.fields, **variants})
            else:
                raise bad_input(
                    path,
                    wanted="every topic in one file",
                    found=f"topic {query.query_id!r}, also in {place[query.query_id]}",
                    do="drop one; only a file of lines (id, tab, text) adds variants to a topic",
                )
    return list(merged.values())
