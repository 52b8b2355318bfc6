"""Rotate raw JSON lines, one object a line, with the passage's id and text under known keys.

Known are the keys of BEIR (_id, text), Pyserini (id, contents), MS MARCO v2 (pid, passage; docid,
segment) and similar ones, and the rows of MS MARCO QA, whose passages[].passage_text are all
rotated, each keyed by (query_id, index). Only the characters of the texts move: every other byte of
a line stays, including the order of keys and the escapes in texts. Blank lines stay.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.blocks import Block
from positionbias.core.json_text import DECODER
from positionbias.positions.cuts import byte_cuts, fates, laid_out
from positionbias.positions.raw_output import Edits
from positionbias.positions.rotate import Rotation

# the default is the first of these in a record
ID_FIELDS = ("_id", "id", "pid", "passage_id", "docid", "doc_id", "docno")
TEXT_FIELDS = ("text", "contents", "passage", "passage_text", "segment", "content", "body")
_BOM = b"\xef\xbb\xbf"
# one character of a JSON string, written as an escape
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)
_OPEN = re.compile(r"[ \t\r\n]*([{\[])[ \t\r\n]*([}\]]?)")
_MEMBER = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"[ \t\r\n]*:[ \t\r\n]*')
_NEXT = re.compile(r"[ \t\r\n]*([,}\]])[ \t\r\n]*")
_scan = DECODER.scan_once  # type: ignore[attr-defined]
_FIX = "fix the file, or give its --format"
_NAME = "fix the file, or import it as a table, where keys are named"


class _Value(NamedTuple):
    """A value within a line, written as ``line[start:end]``."""

    start: int
    end: int
    value: Any


class _Found(NamedTuple):
    """A text within the quotes ``[start, end)`` of its line, in characters, and the key of its
    draw.
    """

    start: int
    end: int
    text: str
    key: bytes


class _Unusable(ValueError):
    """A line without the wanted content: what was wanted and found; the caller knows the line."""


def rotate_jsonl(rotation: Rotation, block: Block) -> tuple[Edits, Counter[str]]:
    """Return the cuts of the block's passages, and the passages counted by fate.

    Raises:
        InputError: not UTF-8, a line that is not a JSON object, or one without id or text (with its
            line in the source).
    """
    data = block.read()
    begin = len(_BOM) if block.start == 0 and data.startswith(_BOM) else 0
    found: list[_Found] = []
    # for each text: the start of its line, and the line's byte offsets
    lines: list[tuple[int, _Places]] = []
    for number, (start, line) in enumerate(_lines(block, data, begin)):
        if line.strip(" \t\r"):
            try:
                found += _passages(line)
            except _Unusable as error:
                wanted, what = error.args
                raise block.bad_line(number, wanted=wanted, found=what, do=_NAME) from None
            except (RecursionError, ValueError) as error:
                raise block.bad_line(
                    number, wanted="one JSON object a line", found=str(error), do=_FIX
                ) from None
            lines += [(start, _Places(line))] * (len(found) - len(lines))
    cuts, counts = _cuts([item.text for item in found], [item.key for item in found], rotation)
    edits = [
        _edit(*line, item, cut) for line, item, cut in zip(lines, found, cuts, strict=True) if cut
    ]
    return Edits(begin, *np.array(edits, np.int32).reshape(-1, 3).T), counts


def _cuts(
    texts: Sequence[str], keys: Sequence[bytes], rotation: Rotation
) -> tuple[list[int], Counter[str]]:
    """Return the character at which each text is cut (0: no cut), and counts of texts by fate."""
    encoded = [text.encode() for text in texts]
    data, starts, ends = laid_out(encoded)
    cuts = byte_cuts(data, starts, ends, keys, rotation)
    places = [
        cut if len(item) == len(text) else len(item[:cut].decode())
        for text, item, cut in zip(texts, encoded, cuts.offsets.tolist(), strict=True)
    ]
    return places, fates(cuts, rotation)


def _lines(block: Block, data: bytes, begin: int) -> Iterator[tuple[int, str]]:
    """Yield each line with its first byte's offset."""
    view = memoryview(data)
    while begin <= len(data):
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        try:
            yield begin, str(view[begin:end], "utf-8")
        except UnicodeDecodeError:
            block.text()  # raises an error with the place
            raise
        begin = end + 1


class _Places:
    """The byte offsets of a line's characters, asked from left to right, so that a line is read
    once.
    """

    def __init__(self, line: str) -> None:
        self.line, self._at, self._bytes = line, 0, 0

    def byte(self, place: int) -> int:
        """Return the byte offset of the character."""
        if self.line.isascii():
            return place
        self._bytes += len(self.line[self._at : place].encode())
        self._at = place
        return self._bytes


def _edit(line_start: int, places: _Places, item: _Found, cut: int) -> tuple[int, int, int]:
    """Return the start, cut and end of a text, in bytes of the block."""
    written = places.line[item.start : item.end]
    middle = item.start + (_place(written, cut) if "\\" in written else cut)
    first, second, last = (
        line_start + places.byte(place) for place in (item.start, middle, item.end)
    )
    return first, second, last


def _place(written: str, characters: int) -> int:
    """Return the offset in a JSON string, as written, after this many of its characters."""
    at = 0
    for escape in _ESCAPE.finditer(written):
        if characters <= escape.start() - at:
            break
        characters -= escape.start() - at + 1
        at = escape.end()
    return at + characters


def _passages(line: str) -> Iterator[_Found]:
    """Yield the passages of one line, from left to right."""
    members, end = _members(line, 0)
    if end != len(line):
        raise ValueError(f"more after the object, from character {end + 1:,}")
    nested = members.get("passages")
    if nested is not None and isinstance(nested.value, list | dict):
        query = members.get("query_id")
        key = _key("query_id", query.value if query else None)
        texts = sorted(_nested_texts(line, nested), key=lambda value: value.start)
        for index, text in enumerate(texts):
            yield _found("passage_text", text, key + b"\x1f%d" % index)
        return
    id_field = _field(members, ID_FIELDS, "id")
    text_field = _field(members, TEXT_FIELDS, "text")
    yield _found(text_field, members[text_field], _key(id_field, members[id_field].value))


def _nested_texts(line: str, nested: _Value) -> Iterator[_Value]:
    """Yield the texts of an MS MARCO QA row: a list of objects, or (as on the Hub) an object of
    lists.
    """
    if isinstance(nested.value, dict):
        texts = _members(line, nested.start)[0].get("passage_text")
        if texts is None or not isinstance(texts.value, list):
            raise _Unusable("'passages' with a list 'passage_text'", "none")
        yield from _items(line, texts.start)
        return
    for item in _items(line, nested.start):
        text = _members(line, item.start)[0].get("passage_text")
        if text is None:
            raise _Unusable("'passage_text' in each of 'passages'", "one without it")
        yield text


def _field(members: dict[str, _Value], known: tuple[str, ...], what: str) -> str:
    for name in known:
        if name in members:
            return name
    there = ", ".join(map(repr, members)) or "none"
    raise _Unusable(f"a key for the {what} ({', '.join(known)})", f"the keys {there[:200]}")


def _key(name: str, value: Any) -> bytes:
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise _Unusable(
            f"{name!r} as text or a whole number",
            "none" if value in (None, "") else f"{str(value)[:40]!r}",
        )
    return _utf8(name, str(value))


def _found(name: str, text: _Value, key: bytes) -> _Found:
    if not isinstance(text.value, str):
        raise _Unusable(f"{name!r} as text", "something else")
    _utf8(name, text.value)
    return _Found(text.start + 1, text.end - 1, text.value, key)


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _Unusable(f"{name!r} in valid Unicode", "half a surrogate pair") from None


def _members(line: str, at: int) -> tuple[dict[str, _Value], int]:
    """Read the members of the object at ``at``, and the offset after it."""
    members: dict[str, _Value] = {}
    at, closed = _open(line, at, "{")
    while not closed:
        named = _MEMBER.match(line, at)
        if named is None:
            raise ValueError(f"no key at character {at + 1:,}")
        key = named[1] if "\\" not in named[1] else json.loads(f'"{named[1]}"')
        if key in members:
            raise ValueError(f"the key {key[:80]!r} twice in an object")
        value = _value(line, named.end())
        members[key] = value
        at, closed = _next(line, value.end, "}")
    return members, at


def _items(line: str, at: int) -> list[_Value]:
    """Read the items of the list at ``at``."""
    items: list[_Value] = []
    at, closed = _open(line, at, "[")
    while not closed:
        items.append(_value(line, at))
        at, closed = _next(line, items[-1].end, "]")
    return items


def _value(line: str, at: int) -> _Value:
    try:
        value, end = _scan(line, at)
    except StopIteration:
        raise ValueError(f"no value at character {at + 1:,}") from None
    return _Value(at, end, value)


def _open(line: str, at: int, bracket: str) -> tuple[int, bool]:
    """Return the offset of the first member (or after an empty object or list), and True if
    empty.
    """
    found = _OPEN.match(line, at)
    if found is None or found[1] + found[2] not in (bracket, "{}" if bracket == "{" else "[]"):
        raise ValueError(f"no {bracket!r} at character {at + 1:,}")
    return found.end(), bool(found[2])


def _next(line: str, at: int, last: str) -> tuple[int, bool]:
    """Return the offset of the next member (or after the closing bracket), and True if there is
    none.
    """
    found = _NEXT.match(line, at)
    if found is None or found[1] not in (",", last):
        raise ValueError(f"no comma and no {last!r} at character {at + 1:,}")
    return found.end(), found[1] == last
