"""Whether a pair of queries counts as a leak: by a person's label, else by the cosine."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.leakage.pairs import Pair

__all__ = ["Cause", "check_threshold", "leaked_tests", "set_aside"]


class Cause(StrEnum):
    """A cause for not counting a pair as a leak."""

    DIFFERENT_TOPIC = "pairs_of_different_topics"
    WORDS_ALONE = "pairs_found_by_words_alone"
    BELOW = "pairs_below_threshold"


def check_threshold(threshold: float | None) -> None:
    """Check that a threshold is a number.

    Raises:
        SettingError: NaN, which no score would be below.
    """
    if threshold is not None and math.isnan(threshold):
        raise SettingError("--threshold: wanted a number; found nan; give one, or leave it out")


def set_aside(pair: Pair, threshold: float | None = None, *, lexical: bool = False) -> Cause | None:
    """Return why a pair does not count, or None if it does: where it is labelled as a leak, or has
    no label and a cosine of at least ``threshold``.

    Without a threshold every pair counts except those found by words alone, whose precision is
    unknown; ``lexical`` counts these too, with any score.

    Raises:
        InputError: a pair without label and cosine (with its line) if a threshold is given.
    """
    if pair.label is not None:
        return None if pair.label.leaks else Cause.DIFFERENT_TOPIC
    if pair.by_words_alone:
        reached = threshold is not None and pair.scores.get("cosine", -math.inf) >= threshold
        return None if lexical or reached else Cause.WORDS_ALONE
    if threshold is None:
        return None
    if "cosine" not in pair.scores:
        wanted, do = "a cosine or a label", "leave the threshold out, or add one of them"
        raise bad_input(pair.place, line=pair.line, wanted=wanted, found="neither", do=do)
    return Cause.BELOW if pair.scores["cosine"] < threshold else None


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
