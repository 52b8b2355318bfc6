"""Read the order of passages in a chat model's answer: the last list outside its reasoning."""

from __future__ import annotations

import html
import json
import re
from typing import Any

_NAMES = (
    r"(?:[\w-]+:)?(?:think|thinking|thought|thoughts|reason|reasoning|reflection|analysis|"
    r"scratchpad)"
)
_OPEN = rf"(?:<|\[|◁)\|?(?:start_|begin_)?{_NAMES}(?:\s[^<>\]▷]*)?\|?(?:>|\]|▷)"
_CLOSE = rf"(?:<|\[|◁)\|?(?:/|end_){_NAMES}\|?(?:>|\]|▷)"
_TAG = re.compile(rf"({_OPEN})|{_CLOSE}", re.I)
_FINAL = re.compile(r".*<\|channel\|>\s*final\s*<\|message\|>", re.I | re.S)  # gpt-oss
_CHANNEL = re.compile(r"<\|channel\|>.*", re.I | re.S)
_CONTROL = re.compile(r"<\|[^<>|]*\|>")
_READ = 100_000  # characters of an answer, from its end

_FENCE = re.compile(r"^\s*```\w*\s*\n(.*?)\n?\s*```\s*$", re.S)
_MARKUP = re.compile(r"</?[A-Za-z_]+>|\\boxed\{")
_ABOVE = re.compile(r"\s*(?:≻|→|⟩|›|=>|->|>>+)\s*")
_NAMED = re.compile(
    r"\b(?:passage|document|doc|text|item|id|no|number)s?\b\.?\s*[#:]?\s*(?:(?=\[\s*\d)|#?(\d{1,4})"
    r"\b)",
    re.I,
)
_BRACKETS, _NUMBER = r"\[\s*\d{1,4}\s*\]", r"\d{1,4}"
_ITEM = rf"(?:{_BRACKETS}|\(\s*{_NUMBER}\s*\)|{_NUMBER}\b)"
_END = r"[ \t]*[.;,]?[ \t]*[\])}]*[ \t]*(?=\n|$)"
_BEGIN = r"(?:^|\n)(?:[^\n]*?(?:[:=]|\b(?:is|are|follows)\b))?[ \t]*"
_CHAIN = re.compile(
    rf"(?<![\w.\]])(?:[^\W\d_]*{_ITEM}\s*[>=]\s*)+[^\W\d_]*{_ITEM}"
)  # anywhere: nobody writes [3] > [1] in passing
_ARRAY = re.compile(rf"\[\s*{_ITEM}(?:\s*,\s*{_ITEM})+\s*,?\s*\]{_END}")
_LINE = re.compile(
    rf"{_BEGIN}\(?({_BRACKETS}(?:\s*[,;]?\s*{_BRACKETS})+|{_NUMBER}(?:[ \t]*[,;]\s*{_NUMBER}|[ "
    rf"\t]+{_NUMBER})+)\)?{_END}"
)
_PLACE = (
    r"(?:[-•–][ \t]*)?(?:(?:rank|place|position)[ \t]*)?(?:#?[ \t]*(\d{1,4})(?:st|nd|rd|th)?[ "
    r"\t]*[.):][ \t]*)"
)
_ROW = re.compile(
    rf"(?:[-•–][ \t]*)?(?:{_BRACKETS}|{_NUMBER})[ "
    rf"\t]*[.,;>)]?|{_PLACE}({_BRACKETS}|(?<=\s){_NUMBER})[ \t]*[.,;>]?",
    re.I,
)
_RANKED = re.compile(rf"{_PLACE}({_BRACKETS}).*", re.I)
_MARKS = r"(?:scores?|confidences?|ratings?|grades?)"
_TALK = re.compile(
    rf"reason|think|thought|expla|analy|comment|rationale|note|{_MARKS}$", re.I
)  # fields of an object that hold no list
_MARKED = re.compile(
    rf"(?:^|\n)\W*(?:\w+ )?{_MARKS}\s*[:=][^\n]*|\b\w*{_MARKS}\s*[:=]\s*\[[^\]\n]*\]", re.I
)
_FIELDS = ("id", "passage", "passage_id", "document", "doc", "number", "identifier")


def without_reasoning(text: str) -> str:
    """Return what an answer says outside ``<think>`` and its kin; unfinished reasoning has no end,
    and nothing behind it is said.
    """
    if "<|channel|>" in text:
        text, final = _FINAL.subn("", text)
        text = text if final else _CHANNEL.sub("", text)
    said: list[str] = []
    at, inside = 0, False
    for tag in _TAG.finditer(text):
        if not inside:
            # an end without a beginning: the beginning stands in the prompt
            said = [*said, text[at : tag.start()]] if tag[1] else []
        inside, at = bool(tag[1]), tag.end()
    return _CONTROL.sub("", "".join(said if inside else [*said, text[at:]])).strip()


def order_in(answer: str, count: int) -> list[int]:
    """Return the passages of the last list in an answer, best first, from 0; none if there is no
    list, or two that may be it.

    A list is JSON, ``[3] > [1]``, ``3 > 1``, numbers on a line of their own, or a passage a line;
    numbers in brackets win over those of lines. Objects with ranks or scores are sorted by them.
    Numbers beyond ``count`` are dropped, of a repeated one the first counts; a list with 0 numbers
    passages in another way. A passage that a sentence mentions is no rank.
    """
    text = without_reasoning(answer)
    fenced = _FENCE.match(text)
    try:
        numbers = _of_json(json.loads(fenced[1] if fenced else text), count)
    except (ValueError, RecursionError):
        numbers = _of_text(text)
    if 0 in numbers:
        return []
    return [number - 1 for number in dict.fromkeys(numbers) if 1 <= number <= count]


def _of_json(found: Any, count: int) -> list[int]:
    """Return the last list of passages in a decoded answer."""
    if isinstance(found, str):
        return [number + 1 for number in order_in(found, count)]
    if isinstance(found, dict):
        lists = [_of_json(value, count) for name, value in found.items() if not _TALK.search(name)]
        return next((numbers for numbers in reversed(lists) if len(numbers) > 1), [])
    if not isinstance(found, list):
        return []
    numbers = [_number(row) for row in found]
    if None not in numbers:
        return _sorted(found, [number for number in numbers if number is not None])
    if sum(isinstance(row, list) for row in found) > 1:
        return []  # pairs with scores, or groups of equal passages
    lists = [_of_json(row, count) for row in found if isinstance(row, list | dict)]
    return next((numbers for numbers in reversed(lists) if len(numbers) > 1), [])


def _sorted(rows: list[Any], numbers: list[int]) -> list[int]:
    """Return the numbers of objects by their ranks or falling scores, if all have them."""
    for name, sign in (("rank", 1), ("score", -1), ("relevance", -1), ("relevance_score", -1)):
        marks = [row.get(name) if isinstance(row, dict) else None for row in rows]
        known = [
            sign * mark
            for mark in marks
            if isinstance(mark, int | float) and not isinstance(mark, bool)
        ]
        if len(known) == len(rows):
            return [numbers[place] for place in sorted(range(len(rows)), key=known.__getitem__)]
    return numbers


def _number(row: Any) -> int | None:
    if isinstance(row, dict):
        row = next((row[name] for name in _FIELDS if name in row), None)
    if isinstance(row, list) and len(row) == 1:
        row = row[0]
    named = re.fullmatch(r"\D{0,12}?\[?\s*(\d{1,4})\s*\]?", row) if isinstance(row, str) else None
    return int(named[1]) if named else row if type(row) is int else None


def _of_text(text: str) -> list[int]:
    text = html.unescape(re.sub(r"[*_`\"'“”]", "", text[-_READ:]))
    text = _ABOVE.sub(" > ", _MARKUP.sub("\n", text))
    text = _NAMED.sub(lambda named: f"[{named[1]}]" if named[1] else "", _MARKED.sub("\n", text))
    chains = [(match.end(), _numbers(match[0])) for match in _CHAIN.finditer(text)]
    arrays = [(match.end(), _numbers(match[0])) for match in _ARRAY.finditer(text)]
    lines = [(match.end(), _numbers(match[1])) for match in _LINE.finditer(text)]
    ends, numbers = max(chains + arrays + lines + _rows(text, _ROW), default=(0, []))
    behind, order = max(chains, default=(ends, numbers))
    if (
        behind < ends
        and sorted(numbers) == sorted(order) != []
        and numbers != order
        and (ends, numbers) not in arrays
    ):
        return []  # another order of the same passages, or their scores
    ranked = [(end, row) for end, row in _rows(text, _RANKED) if end > ends]
    if not ranked:
        return numbers
    # numbered lines with remarks behind: a final order, or reasons in the order of the passages
    return ranked[-1][1] if not numbers or ranked[-1][1] == numbers else []


def _numbers(text: str) -> list[int]:
    """Return the numbers of a list; only those in brackets if there are any."""
    return [
        int(number)
        for number in re.findall(r"\[\s*(\d{1,4})\s*\]", text) or re.findall(r"\d{1,4}", text)
    ]


def _rows(text: str, pattern: re.Pattern[str]) -> list[tuple[int, list[int]]]:
    """Return the lists of one passage a line, each with the place where it ends. Numbers of lines,
    if any, go up from 1.
    """
    lists: list[tuple[int, list[int]]] = []
    rows: list[tuple[str | None, int]] = []
    at = 0

    def close(end: int) -> None:
        places = [place for place, _ in rows]
        in_order = not any(places) or places == [str(place) for place in range(1, len(rows) + 1)]
        if len(rows) > 1 and in_order:
            lists.append((end, [number for _, number in rows]))
        rows.clear()

    for line in [*text.split("\n"), "."]:
        row = pattern.fullmatch(line.strip())
        if row:
            item = row[2] or line
            rows.append((row[1], _numbers(item)[0]))
        elif line.strip():
            close(at)
        at += len(line) + 1
    return lists
