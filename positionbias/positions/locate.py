"""Locate answers in passages: by the source's character offsets if given, else by their words.

An answer's words are matched to the passage's words as a contiguous run (position-bias paper,
§4.1). Known offsets are used, and matching checks them [our decision]: every span that matching
misses, and every match beyond the spans, is counted by cause.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection as Group
from typing import NamedTuple

from positionbias.core.errors import InputError
from positionbias.core.records import Answer
from positionbias.positions.settings import Matching
from positionbias.text.words import split_words

NO_ANSWER = "No Answer Present."
"""The answer that the MS MARCO QA releases give for none."""

# outcomes of an answer
BY_OFFSETS, BY_MATCHING, UNMATCHED, EMPTY, NO_ANSWER_GIVEN = OUTCOMES = (
    "by_offsets",
    "by_matching",
    "unmatched",
    "empty",
    "no_answer_present",
)

# causes of unmatched answers, of spans not among the matches, and kinds of matches beyond the span
CASE = "found when case is ignored"
INSIDE_WORDS = "text found, but not at word boundaries"
OTHER_WORDS = "words not found in a row"
TEXT_DIFFERS = "the text at the offsets is not the answer's"
STARTS_INSIDE = "starts inside a word"
ENDS_INSIDE = "ends inside a word"
SPLIT_OTHERWISE = "split into different words alone and in the passage"
ANOTHER_SPAN = "another span of this query"
REPEATED = "the same words elsewhere in the passage"


class Span(NamedTuple):
    """The characters ``[start, end)`` of a text."""

    start: int
    end: int


class Words(NamedTuple):
    """A run of words: the index of the first, and their number."""

    first: int
    length: int


class Located(NamedTuple):
    """All spans of one answer in order, one of ``OUTCOMES``, and the cause if unmatched."""

    spans: list[Span]
    outcome: str
    cause: str | None = None


class TokenisedPassage:
    """A passage and its words, split once for all its answers."""

    def __init__(self, text: str, matching: Matching) -> None:
        self.text = text
        self.matching = matching
        words, self.starts, self.ends = split_words(text, matching.words)
        self.words = self._fold(words)

    def __len__(self) -> int:
        return len(self.words)

    def _fold(self, words: list[str]) -> list[str]:
        return [word.casefold() for word in words] if self.matching.fold_case else words

    def words_at(self, span: Span) -> Words:
        """Return the words that a span of characters touches; for a span within white space, the
        next word, or the last.

        Raises:
            ValueError: the passage has no words.
        """
        if not self.words:
            raise ValueError("a passage without words has no spans")
        first = min(bisect_right(self.ends, span.start), len(self.words) - 1)
        last = bisect_left(self.starts, span.end) - 1
        return Words(first, max(1, last - first + 1))

    def may_start_elsewhere(self, span: Span) -> bool:
        """Return False for a span with one possible start, as it fills the passage: its place says
        nothing.
        """
        return self.words_at(span).length < len(self)

    def find(self, answer: str) -> list[Span]:
        """Return every contiguous match of the answer's words, including overlapping ones."""
        return self._find_words(
            self.words, self._fold(split_words(answer, self.matching.words).words)
        )

    def _find_words(self, words: list[str], wanted: list[str]) -> list[Span]:
        if not wanted:
            return []
        length, last, found = len(wanted), len(words) - len(wanted), []
        at = -1
        try:
            while (at := words.index(wanted[0], at + 1)) <= last:
                if words[at : at + length] == wanted:
                    found.append(Span(self.starts[at], self.ends[at + length - 1]))
        except ValueError:  # the first word does not occur again
            pass
        return found

    def unmatched_cause(self, answer: str) -> str:
        """Return the reason why ``find`` found nothing."""
        wanted = [word.casefold() for word in split_words(answer, self.matching.words).words]
        if self._find_words([word.casefold() for word in self.words], wanted):
            return CASE
        return INSIDE_WORDS if answer.strip() in self.text else OTHER_WORDS


def known_span(answer: Answer, text: str) -> Span | None:
    """Return the span given by the source, if any.

    Raises:
        InputError: offsets outside the passage's ``text``.
    """
    if answer.start is None or answer.end is None:
        return None
    if not 0 <= answer.start <= answer.end <= len(text):
        raise InputError(
            f"passage {answer.passage_id!r}: wanted the answer of query {answer.query_id!r} within "
            f"its {len(text):,} characters; found offsets {answer.start} to {answer.end}; make the "
            "collection again"
        )
    return Span(answer.start, answer.end)


def locate(passage: TokenisedPassage, answer: Answer) -> Located:
    """Locate an answer in its passage, by the passage's settings.

    Blank answers, and the releases' "No Answer Present." without offsets, are not searched.

    Raises:
        InputError: as ``known_span``.
    """
    span = known_span(answer, passage.text) if passage.matching.offsets else None
    if span is not None:
        blank = not passage.words or not passage.text[span.start : span.end].strip()
        return Located([], EMPTY) if blank else Located([span], BY_OFFSETS)
    if not answer.text.strip():
        return Located([], EMPTY)
    if answer.text.strip() == NO_ANSWER:
        return Located([], NO_ANSWER_GIVEN)
    spans = passage.find(answer.text)
    return (
        Located(spans, BY_MATCHING)
        if spans
        else Located([], UNMATCHED, passage.unmatched_cause(answer.text))
    )


class Check(NamedTuple):
    """A comparison of a source's span with the matches: why it is not among them, and the kinds of
    the others.
    """

    missed: str | None
    extra: list[str]


def check_span(passage: TokenisedPassage, span: Span, answer: str, marked: Group[Span]) -> Check:
    """Compare one span with the matches of its answer; ``marked`` are all spans of its query in
    this passage.
    """
    matches = passage.find(answer)
    trimmed = _trim(passage.text, span)
    extra = [ANOTHER_SPAN if match in marked else REPEATED for match in matches if match != trimmed]
    if passage.text[span.start : span.end] != answer:
        return Check(TEXT_DIFFERS, extra)
    if trimmed in matches:
        return Check(None, extra)
    if not _holds(passage.starts, trimmed.start):
        return Check(STARTS_INSIDE, extra)
    if not _holds(passage.ends, trimmed.end):
        return Check(ENDS_INSIDE, extra)
    return Check(SPLIT_OTHERWISE, extra)


def _trim(text: str, span: Span) -> Span:
    """Trim white space from a span's edges, as words never hold any."""
    inside = text[span.start : span.end]
    return (
        Span(span.end - len(inside.lstrip()), span.start + len(inside.rstrip()))
        if inside.strip()
        else span
    )


def _holds(ordered: list[int], value: int) -> bool:
    at = bisect_left(ordered, value)
    return at < len(ordered) and ordered[at] == value
