"""Rotate raw JSON lines, one object a line, with the passage's id and text under known keys.

Known are the keys of BEIR (_id, text), Pyserini (id, contents), MS MARCO v2 (pid, passage; docid,
segment) and similar ones, and the rows of MS MARCO QA, whose passages[].passage_text are all
rotated, each keyed by (query_id, index). All other content and the order of keys stay; spacing and
escapes become those of Python's json. Blank lines stay.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from positionbias.core.blocks import Block
from positionbias.core.json_text import parse_json
from positionbias.positions.cuts import byte_cuts, fates, laid_out
from positionbias.positions.rotate import Rotation, rotate_at

# the first of these in a record
ID_FIELDS = ("_id", "id", "pid", "passage_id", "docid", "doc_id", "docno")
TEXT_FIELDS = ("text", "contents", "passage", "passage_text", "segment", "content", "body")
_FIX = "fix the file, or give its --format"
_NAME = "fix the file, or import it as a table, where keys are named"


class _Passage(NamedTuple):
    """A text, at ``place`` of an object or list of a line, and the key of its draw."""

    holder: Any
    place: Any
    key: bytes


class _Unusable(ValueError):
    """A line without the wanted content: what was wanted and found; the caller knows the line."""


def rotate_jsonl(rotation: Rotation, block: Block) -> tuple[bytes, Counter[str]]:
    """Return the block with its passages rotated, and the passages counted by fate.

    Raises:
        InputError: not UTF-8, a line that is not a JSON object, or one without id or text (with its
            line in the source).
    """
    lines: list[tuple[str, Any]] = []
    passages: list[_Passage] = []
    for number, line in block.lines():
        record = None
        if line.strip():
            try:
                record = parse_json(line)
                passages += _passages(record)
            except _Unusable as error:
                wanted, found = error.args
                raise block.bad_line(number, wanted=wanted, found=found, do=_NAME) from None
            except (RecursionError, ValueError) as error:
                raise block.bad_line(
                    number, wanted="one JSON object a line", found=str(error), do=_FIX
                ) from None
        lines.append((line, record))
    texts = [passage.holder[passage.place] for passage in passages]
    cuts, counts = _cuts(texts, [passage.key for passage in passages], rotation)
    for passage, text, cut in zip(passages, texts, cuts, strict=True):
        passage.holder[passage.place] = rotate_at(text, cut)
    written = "\n".join(
        line if record is None else json.dumps(record, ensure_ascii=line.isascii())
        for line, record in lines
    ).encode()
    return written + b"\n" * block.read().endswith(b"\n"), counts


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


def _passages(record: Any) -> Iterator[_Passage]:
    """Yield the passages of a line, in order."""
    if not isinstance(record, dict):
        raise ValueError(f"a JSON {type(record).__name__}")
    nested = record.get("passages")
    if isinstance(nested, list | dict):
        key = _key("query_id", record.get("query_id"))
        for index, (holder, place) in enumerate(_nested(nested)):
            yield _passage("passage_text", holder, place, key + b"\x1f%d" % index)
        return
    id_field, text_field = _field(record, ID_FIELDS, "id"), _field(record, TEXT_FIELDS, "text")
    yield _passage(text_field, record, text_field, _key(id_field, record[id_field]))


def _nested(passages: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the holders and places of the texts of an MS MARCO QA row: a list of objects, or (as on
    the Hub) an object of lists.
    """
    if isinstance(passages, dict):
        texts = passages.get("passage_text")
        if not isinstance(texts, list):
            raise _Unusable("'passages' with a list 'passage_text'", "none")
        yield from ((texts, index) for index in range(len(texts)))
        return
    for item in passages:
        if not isinstance(item, dict) or "passage_text" not in item:
            raise _Unusable("'passage_text' in each of 'passages'", "one without it")
        yield item, "passage_text"


def _field(record: dict[str, Any], known: tuple[str, ...], what: str) -> str:
    for name in known:
        if name in record:
            return name
    there = ", ".join(map(repr, record)) or "none"
    raise _Unusable(f"a key for the {what} ({', '.join(known)})", f"the keys {there[:200]}")


def _key(name: str, value: Any) -> bytes:
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise _Unusable(
            f"{name!r} as text or a whole number",
            "none" if value in (None, "") else f"{str(value)[:40]!r}",
        )
    return _utf8(name, str(value))


def _passage(name: str, holder: Any, place: Any, key: bytes) -> _Passage:
    if not isinstance(holder[place], str):
        raise _Unusable(f"{name!r} as text", "something else")
    _utf8(name, holder[place])
    return _Passage(holder, place, key)


def _utf8(name: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _Unusable(f"{name!r} in valid Unicode", "half a surrogate pair") from None
