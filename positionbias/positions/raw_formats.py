"""The raw formats that are rotated as they are: how a file's is known, by its name or else by its
beginning, and how a block of each is rotated.

TSV has one passage a line: id, tab, text (MS MARCO's collection.tsv). Later tabs are text. All
other bytes stay: ids, a CR before the newline, a last line without a newline. A byte-order mark at
the start is dropped, as in all readers.

JSON lines have one object a line, with the passage's id and text under known keys: those of BEIR
(_id, text), Pyserini (id, contents), MS MARCO v2 (pid, passage; docid, segment) and similar ones,
and the rows of MS MARCO QA, whose passages[].passage_text are all rotated, each keyed by (query_id,
index). All other content and the order of keys stay; spacing and escapes become those of Python's
json. Blank lines stay.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from positionbias.core.blocks import Block
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.core.json_text import parse_json
from positionbias.positions.cuts import byte_cuts, fates, laid_out
from positionbias.positions.rotate import Rotation, rotate_at
from positionbias.positions.settings import RAW_FORMATS, RawFormat

_ENDINGS: dict[str, RawFormat] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HEAD = 1 << 20
_TAB, _NEWLINE, _CR, _SPACE = 9, 10, 13, 32
_PORTION = 1_000  # lines at a time
# the first of these in a record
ID_FIELDS = ("_id", "id", "pid", "passage_id", "docid", "doc_id", "docno")
TEXT_FIELDS = ("text", "contents", "passage", "passage_text", "segment", "content", "body")
_FIX = "fix the file, or give its --format"
_NAME = "fix the file, or import it as a table, where keys are named"


def format_of(path: Path) -> RawFormat:
    """Return the format of a file, plain, ``.gz`` or ``.zst``.

    Raises:
        InputError: an unreadable or empty file, or one of another format.
    """
    name = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if known := _ENDINGS.get(name.suffix):
        return known
    with input_errors(path, wanted="a raw file"), open_bytes(path) as handle:
        head = handle.read(_HEAD)
    text = head.removeprefix(BOM_UTF8).lstrip()
    if name.suffix == ".parquet" or head.startswith(b"PAR1"):
        raise _other(path, "Parquet", "import it (posbias import table), and rotate the collection")
    if text.startswith(b"{") and _is_jsonl(text):
        return "jsonl"
    if text.startswith((b"{", b"[")):
        do = "import it (posbias import squad, msmarco-qa or table), and rotate the collection"
        raise _other(path, "other JSON, such as SQuAD's", do)
    if b"\t" in text.partition(b"\n")[0]:
        return "tsv"
    found = "an empty file" if not text else "a file that begins like neither"
    raise _other(path, found, "give its --format")


def _other(path: Path, found: str, do: str) -> InputError:
    return bad_input(
        path, wanted=f"one of the formats {', '.join(RAW_FORMATS)}", found=found, do=do
    )


def _is_jsonl(text: bytes) -> bool:
    """Return True if the first line is an object by itself, and no SQuAD."""
    first, newline, _ = text.partition(b"\n")
    if not newline and len(text) >= _HEAD // 2:  # the line is cut
        return b'"data"' not in text and b'"paragraphs"' not in text
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):  # the document has several lines
        return False
    return isinstance(record, dict) and not isinstance(record.get("data"), list)


# -- TSV -------------------------------------------------------------------------------------------


class Edits(NamedTuple):
    """Edits of a block, with 12 bytes a passage where its text has hundreds: drop the bytes before
    ``begin``, and cut each of n stretches ``[start, end)`` at its place; each (n,) int32.

    Stretches are in increasing order and do not overlap.
    """

    begin: int
    starts: np.ndarray
    places: np.ndarray
    ends: np.ndarray


def spliced(data: bytes, edits: Edits) -> bytes:
    """Apply edits to a block: each stretch becomes the part after its cut, a space, and the part
    before.
    """
    count = len(edits.starts)
    if not count:
        return data[edits.begin :]
    # the parts of the block, by their edges: what is before a stretch, and its two parts, for each;
    # the rest; and last a space
    edges = np.empty(3 * count + 3, np.int32)
    edges[1:-2] = np.stack(edits[1:], axis=1).ravel()
    edges[0], edges[-2], edges[-1] = edits.begin, len(data), len(data) + 1
    rest, space = 3 * count, 3 * count + 1
    first = np.arange(0, rest, 3, dtype=np.int32)
    spaces = np.full(count, space, np.int32)
    order = np.append(np.stack([first, first + 2, spaces, first + 1], axis=1), np.int32(rest))
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(data + b" ")]
    parts = pa.Array.from_buffers(pa.binary(), len(edges) - 1, buffers)
    # by its buffer, as pa.array would load pandas first
    numbers = pa.Array.from_buffers(pa.int32(), len(order), [None, pa.py_buffer(order)])
    taken = parts.take(numbers)
    size = len(data) - edits.begin + count
    return taken.buffers()[2].slice(0, size).to_pybytes()


class _Lines(NamedTuple):
    """Offsets of ids, texts and line ends in n lines, in bytes of the block; each (n,) int64."""

    starts: np.ndarray
    texts: np.ndarray
    ends: np.ndarray


def rotate_tsv(rotation: Rotation, block: Block) -> tuple[Edits, Counter[str]]:
    """Return the cuts of the block's passages, and the passages counted by fate.

    Raises:
        InputError: not UTF-8, or a line without a tab or an id (with its line in the source).
    """
    data = block.read()
    lines = _lines(block, data)
    _check_utf8(block, data, lines)
    ids = [
        data[start : text - 1]
        for start, text in zip(lines.starts.tolist(), lines.texts.tolist(), strict=True)
    ]
    cuts = byte_cuts(data, lines.texts, lines.ends, ids, rotation)
    counts = fates(cuts, rotation)
    begin = int(lines.starts[0]) if len(lines.starts) else len(data)
    cut = np.flatnonzero(cuts.offsets)
    starts = lines.texts[cut]
    columns = (
        column.astype(np.int32) for column in (starts, starts + cuts.offsets[cut], lines.ends[cut])
    )
    return Edits(begin, *columns), counts


def _check_utf8(block: Block, data: bytes, lines: _Lines) -> None:
    if data.isascii():
        return
    view, bounds = memoryview(data), [*lines.starts[::_PORTION].tolist(), len(data)]
    try:
        for start, end in pairwise(bounds):
            str(view[start:end], "utf-8")
    except UnicodeDecodeError:
        block.text()  # raises an error with the place
        raise


def _lines(block: Block, data: bytes) -> _Lines:
    array = np.frombuffer(data, np.uint8)
    controls = np.flatnonzero(array < _SPACE)  # hardly others than tabs and newlines
    newlines = controls[array[controls] == _NEWLINE]
    begin = len(BOM_UTF8) if block.start == 0 and data.startswith(BOM_UTF8) else 0
    starts = np.concatenate(([begin], newlines + 1))
    ends = np.concatenate((newlines, [len(data)]))
    if starts[-1] >= len(data):  # nothing after the last newline is a line
        starts, ends = starts[:-1], ends[:-1]
    tabs = np.append(controls[array[controls] == _TAB], len(data))
    first_tabs = tabs[np.searchsorted(tabs, starts)]
    bad = np.flatnonzero((first_tabs >= ends) | (first_tabs == starts))
    if bad.size:
        number = int(bad[0])
        found = "no tab" if first_tabs[number] >= ends[number] else "no id before the tab"
        raise block.bad_line(
            number,
            wanted="a passage id, a tab and a text",
            found=found,
            do="fix the file, or give its --format",
        )
    texts = first_tabs + 1
    before = np.maximum(ends - 1, 0)
    # a CR is part of the line's end
    ends = ends - ((array[before] == _CR) & (ends > texts) & (ends < len(data)))
    return _Lines(starts, texts, ends)


# -- JSON lines ------------------------------------------------------------------------------------


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
