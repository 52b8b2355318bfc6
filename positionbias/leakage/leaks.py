"""Find leaking queries from pairs: by a person's label, else by a score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.json_text import Json, JsonObject
from positionbias.leakage.pairs import Pair

__all__ = ["Cause", "Leaks", "check_threshold", "leaked_tests", "leaks", "set_aside"]


class Cause(StrEnum):
    """A cause for not counting a pair as a leak."""

    DIFFERENT_TOPIC = "pairs_of_different_topics"
    WORDS_ALONE = "pairs_found_by_words_alone"
    BELOW = "pairs_below_threshold"
    OTHER_SOURCE = "pairs_of_other_sources"


@dataclass(slots=True)
class Leaks:
    """Leaking training queries with their reasons, the test queries that they leak, and counts of
    other pairs by cause.
    """

    reasons: dict[str, list[JsonObject]] = field(default_factory=dict)
    test_ids: set[str] = field(default_factory=set)
    pairs: int = 0
    set_aside: Counter[Cause] = field(default_factory=Counter)


def check_threshold(threshold: float | None) -> None:
    """Check that a threshold is a number.

    Raises:
        SettingError: NaN, which no score would be below.
    """
    if threshold is not None and math.isnan(threshold):
        raise SettingError(
            f"--threshold: wanted a number; found {threshold}; give one, or leave it out"
        )


def leaks(
    pairs: Iterable[Pair],
    *,
    threshold: float | None = None,
    score: str = "cosine",
    source: str | None = None,
    lexical: bool = False,
) -> Leaks:
    """Return the leaking queries: from pairs labelled as leaks, or unlabelled pairs with a score of
    at least ``threshold``.

    Without a threshold every pair counts except those found by words alone, whose precision is
    unknown; ``lexical`` counts these too, with any score. ``source`` keeps the training queries of
    one source.

    Raises:
        InputError: no pair; a pair without label and score (with its line) if a threshold is given;
            pairs of several sources, or none of ``source``.
        SettingError: as ``check_threshold``.
    """
    check_threshold(threshold)
    found, sources = Leaks(), dict[str, int]()
    for pair in _of_source(pairs, source, sources):
        found.pairs += 1
        if cause := set_aside(pair, threshold, lexical=lexical, score=score):
            found.set_aside[cause] += 1
        else:
            found.reasons.setdefault(pair.train_id, []).append(_reason(pair))
            found.test_ids.add(pair.test_id)
    if source is not None:
        found.set_aside[Cause.OTHER_SOURCE] = sum(sources.values()) - found.pairs
    if not found.pairs:
        named = f" of source {source!r}" if source is not None else ""
        raise InputError(
            f"wanted pairs of queries{named}; found {_counted(sources)}; check the file and "
            "--source"
        )
    if source is None and len(sources) > 1:
        raise InputError(
            f"wanted pairs of one source of training queries; found {_counted(sources)}; name one "
            "with --source"
        )
    return found


def set_aside(
    pair: Pair, threshold: float | None, *, lexical: bool = False, score: str = "cosine"
) -> Cause | None:
    """Return why a pair does not count, or None if it does."""
    if pair.label is not None:
        return None if pair.label.leaks else Cause.DIFFERENT_TOPIC
    if pair.by_words_alone:
        reached = threshold is not None and pair.scores.get(score, -math.inf) >= threshold
        return None if lexical or reached else Cause.WORDS_ALONE
    if threshold is None:
        return None
    if score not in pair.scores:
        wanted, do = f"a {score} or a label", "leave the threshold out, or add one of them"
        raise bad_input(pair.place, line=pair.line, wanted=wanted, found="neither", do=do)
    return Cause.BELOW if pair.scores[score] < threshold else None


def _of_source(
    pairs: Iterable[Pair], source: str | None, sources: dict[str, int]
) -> Iterator[Pair]:
    """Yield the pairs of a source; ``sources`` counts all."""
    for pair in pairs:
        sources[pair.source] = sources.get(pair.source, 0) + 1
        if source is None or pair.source == source:
            yield pair


def _counted(sources: dict[str, int]) -> str:
    return (
        ", ".join(f"{count:,} of {name or 'no named source'}" for name, count in sources.items())
        or "none"
    )


def _reason(pair: Pair) -> JsonObject:
    """Return the record of a pair that is the reason for removing its training query."""
    record: dict[str, Json] = {
        "test_id": pair.test_id,
        "field": pair.field,
        "label": pair.label.name if pair.label else "",
        **pair.scores,
    }
    text = pair.test_texts.get(pair.field) or next(iter(pair.test_texts.values()), "")
    return {name: value for name, value in (record | {"test_text": text}).items() if value != ""}


def leaked_tests(pairs: Iterable[Pair]) -> set[str]:
    """Return the test queries of all pairs, except those labelled "different topic"; the training
    queries may be of any source.

    Raises:
        InputError: no such pair.
    """
    found = {pair.test_id for pair in pairs if pair.label is None or pair.label.leaks}
    if not found:
        raise InputError("wanted pairs with leaked test queries; found none; check the file")
    return found
