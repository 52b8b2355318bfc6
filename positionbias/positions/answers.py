"""All answers of a split, located passage by passage, and counts of what happened to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.records import Answer, Passage
from positionbias.positions.locate import BY_OFFSETS, OUTCOMES, Matching, Span, TokenisedPassage, check_span, locate

__all__ = ["LocatedSplit", "locate_split", "answered_passages"]

PASSAGES_AT_ONCE = 4_096


def answered_passages(collection: Collection, answers: Sequence[Answer]) -> Iterator[tuple[Passage, list[int]]]:
    """Each answered passage once, with the indices of its answers, by query; texts are fetched a block at a time."""
    ordered = sorted(range(len(answers)), key=lambda index: (answers[index].passage_id, answers[index].query_id))
    grouped = ((passage_id, list(group)) for passage_id, group in groupby(ordered, key=lambda i: answers[i].passage_id))
    while block := list(islice(grouped, PASSAGES_AT_ONCE)):
        texts = collection.texts([passage_id for passage_id, _ in block])
        for text, (passage_id, indices) in zip(texts, block, strict=True):
            yield Passage(passage_id, text), indices


class LocatedSplit:
    """Rows of ``Spans`` as they are found, and counts of what happened to every answer."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []
        # named first, so that they are printed even where they are 0
        self.outcomes: Counter[str] = Counter(dict.fromkeys(("answers", *OUTCOMES, "repeated"), 0))
        self.unmatched: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.extra: Counter[str] = Counter()
        self.checked = 0
        self.groups = 0
        self.passages = 0

    def add(self, passage: TokenisedPassage, spans: Sequence[Span]) -> None:
        """Count one answer: its spans become one group."""
        for span in spans:
            first, length = passage.words_at(span)
            self.rows.append((first, length, len(passage), self.groups, self.passages))
        self.groups += 1

    def check(self, passage: TokenisedPassage, span: Span, answer: str, marked: set[Span]) -> None:
        """Hold one span of the source against the matches."""
        missed, extra = check_span(passage, span, answer, marked)
        self.checked += 1
        self.missed.update([missed] if missed else ())
        self.extra.update(extra)

    def figures(self) -> dict[str, Any]:
        """What was unmatched by cause; how matching did on the spans that the source gave."""
        found: dict[str, Any] = {"unmatched": dict(self.unmatched)} if self.unmatched else {}
        if self.checked:
            found["offset_check"] = {
                "spans": self.checked,
                "among_matches": self.checked - self.missed.total(),
                "missed": dict(self.missed.most_common()),
                "extra": dict(self.extra.most_common()),
            }
        return found


def locate_split(collection: Collection, split: str, matching: Matching) -> LocatedSplit:
    """Find and count every answer of a split."""
    found = LocatedSplit()
    answers = collection.answers(split)
    for stored, indices in answered_passages(collection, answers):
        passage, before = TokenisedPassage(stored.text, matching), found.groups
        for _, group in groupby((answers[index] for index in indices), key=lambda answer: answer.query_id):
            _add_query(found, passage, list(group))
        found.passages += found.groups > before
    return found


def _add_query(found: LocatedSplit, passage: TokenisedPassage, answers: list[Answer]) -> None:
    """Count the answers of one query in one passage; a span that several annotators gave counts once."""
    located = [locate(passage, answer) for answer in answers]
    marked = {span for place in located if place.outcome == BY_OFFSETS for span in place.spans}
    matches = passage.matching.matches
    seen: set[Span] = set()
    for answer, place in zip(answers, located, strict=True):
        found.outcomes["answers"] += 1
        found.outcomes[place.outcome] += 1
        if place.cause is not None:
            found.unmatched[place.cause] += 1
        counted = place.spans if matches == "all" else place.spans[:1] if matches == "first" else place.spans[-1:]
        new = [span for span in counted if span not in seen]
        found.outcomes["repeated"] += len(counted) - len(new)
        seen.update(new)
        for span in new:
            if place.outcome == BY_OFFSETS:
                found.check(passage, span, answer.text, marked)
            # of all matches each counts alone; of a first or last one, the others shape what is expected
            found.add(passage, [span] if matches == "all" else place.spans)
