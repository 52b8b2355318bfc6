"""Rotate the paragraphs of raw SQuAD JSON, v1.1 or v2.0, and move the answers along; everything else stays.

A paragraph has no id: its draw is keyed by its article's number and its number in the article, both from 0 [decision]. Answers that
are cut are dropped and counted, and so is a question without any answer left, as SQuAD cannot express it. Unanswerable
questions stay, and so do their ``plausible_answers`` unless cut.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from positionbias.core.errors import InputError, bad_input
from positionbias.core.json_text import parse_json
from positionbias.positions.raw_texts import cuts_of
from positionbias.positions.rotate import Rotation, move_span, rotate_at

__all__ = ["rotate_squad"]

_FIX = "fix the file or fetch it again"


def rotate_squad(rotation: Rotation, data: bytes, source: str) -> tuple[bytes, Counter[str], Counter[str]]:
    """Return the rotated file, paragraphs by fate, and counts of answers and questions.

    The file is held in memory whole: the largest published one has 42 MB.

    Raises:
        InputError: not SQuAD JSON in UTF-8, or an answer that is not where its offset says.
    """
    document = _parse(data, source)
    paragraphs = list(_paragraphs(document, source))
    texts = [paragraph["context"] for _, _, paragraph in paragraphs]
    keys = [b"%d\x1f%d" % (article, number) for article, number, _ in paragraphs]
    try:
        cuts, fates = cuts_of(texts, keys, rotation)
    except UnicodeEncodeError:
        raise _bad(source, "contexts in valid Unicode", "half a surrogate pair") from None
    counts = Counter(dict.fromkeys(("answers", "kept", "cut", "questions", "questions_dropped"), 0))
    for (article, number, paragraph), cut in zip(paragraphs, cuts, strict=True):
        _rotate(paragraph, cut, counts, source, f"article {article + 1}, paragraph {number + 1}")
    return _written(document, ascii_only=data.isascii()) + (b"\n" if data.endswith(b"\n") else b""), fates, counts


def _written(document: Any, *, ascii_only: bool) -> bytes:
    try:
        return json.dumps(document, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:  # half a surrogate pair, in a title or question: only an escape can hold it
        return json.dumps(document).encode()


def _parse(data: bytes, source: str) -> Any:
    try:
        return parse_json(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line, byte = data.count(b"\n", 0, error.start) + 1, data[error.start]
        found = f"the byte 0x{byte:02x}"
        raise bad_input(source, line=line, wanted="SQuAD JSON in UTF-8", found=found, do="convert the file") from None
    except json.JSONDecodeError as error:
        found = f"{error.msg} at column {error.colno}"
        raise bad_input(source, line=error.lineno, wanted="SQuAD JSON", found=found, do=_FIX) from None
    except (RecursionError, ValueError) as error:
        raise _bad(source, "SQuAD JSON", str(error)) from None


def _paragraphs(document: Any, source: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    for article, record in enumerate(_take(document, "data", list, source, "the file")):
        place = f"article {article + 1}"
        for number, paragraph in enumerate(_take(record, "paragraphs", list, source, place)):
            _take(paragraph, "context", str, source, f"{place}, paragraph {number + 1}")
            yield article, number, paragraph


def _rotate(paragraph: dict[str, Any], cut: int, counts: Counter[str], source: str, place: str) -> None:
    """Rotate one paragraph in place."""
    text = paragraph["context"]
    kept = []
    for question in _take(paragraph, "qas", list, source, place):
        answers = _moved(question, "answers", text, cut, source, place)
        counts["questions"] += 1
        counts["answers"] += len(question["answers"])
        counts["kept"] += len(answers)
        counts["cut"] += len(question["answers"]) - len(answers)
        if question["answers"] and not answers:
            counts["questions_dropped"] += 1
            continue
        question["answers"] = answers
        if "plausible_answers" in question:
            question["plausible_answers"] = _moved(question, "plausible_answers", text, cut, source, place)
        kept.append(question)
    paragraph["qas"] = kept
    paragraph["context"] = rotate_at(text, cut)


def _moved(question: Any, key: str, text: str, cut: int, source: str, place: str) -> list[dict[str, Any]]:
    """Return the answers under one key at their new places, without those that are cut."""
    moved = []
    for answer in _take(question, key, list, source, place):
        start = _take(answer, "answer_start", int, source, place)
        answered = _take(answer, "text", str, source, place)
        if not answered or start < 0 or text[start : start + len(answered)] != answered:
            raise _bad(source, f"the answer {answered[:40]!r} at character {start:,}", f"something else there ({place})")
        span = move_span(start, start + len(answered), cut, len(text))
        if span is not None:
            moved.append({**answer, "answer_start": span[0]})
    return moved


def _take(record: Any, key: str, type_: type, source: str, place: str) -> Any:
    if not isinstance(record, dict) or type(record.get(key)) is not type_:
        names = {list: "a list", str: "text", int: "a whole number"}
        raise _bad(source, f"{key!r} as {names[type_]}", f"none ({place})")
    return record[key]


def _bad(source: str, wanted: str, found: str) -> InputError:
    return bad_input(source, wanted=wanted, found=found, do=_FIX)
