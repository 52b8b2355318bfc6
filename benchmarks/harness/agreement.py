"""Whether two sides did the same work: each function takes what was expected and what was found, and says how far ``apart`` they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["cosines", "equal", "numbers", "ordered_lists", "ordered_scores", "top_lists"]


def equal(expected: Any, found: Any) -> dict[str, float]:
    """0 where both are the same, else infinity."""
    return {"apart": 0.0 if expected == found else math.inf}


def numbers(expected: Sequence[float], found: Sequence[float]) -> dict[str, float]:
    """The largest difference of values that stand in the same order."""
    if len(expected) != len(found):
        return {"apart": math.inf}
    return {"apart": max((abs(a - b) for a, b in zip(expected, found, strict=True)), default=0.0)}


def ordered_scores(expected: Sequence[float], found: Sequence[float]) -> dict[str, float]:
    """The largest difference of scores, and Kendall's tau of their order (ties count as neither)."""
    said = numbers(expected, found)
    if math.isinf(said["apart"]):
        return said
    both = same = 0
    for first in range(len(expected)):
        for second in range(first):
            one, other = expected[first] - expected[second], found[first] - found[second]
            if one * other:
                both += 1
                same += one * other > 0
    return {**said, "tau": 2 * same / both - 1 if both else 1.0}


def ordered_lists(expected: Sequence[float], found: Sequence[float], *, size: int) -> dict[str, float]:
    """The largest difference of scores; means over lists of ``size``: Kendall's tau, and how many of the first 10 are the same."""
    said = numbers(expected, found)
    if math.isinf(said["apart"]):
        return said
    lists = [(expected[at : at + size], found[at : at + size]) for at in range(0, len(expected), size)]
    taus = [ordered_scores(*both)["tau"] for both in lists]
    tens = [len(_first(one) & _first(other)) for one, other in lists]
    return {**said, "tau": sum(taus) / len(taus), "first 10": sum(tens) / len(tens)}


def _first(scores: Sequence[float]) -> set[int]:
    return set(sorted(range(len(scores)), key=lambda place: -scores[place])[:10])


def cosines(expected: Sequence[Sequence[float]], found: Sequence[Sequence[float]]) -> dict[str, float]:
    """The mean and least cosine of vectors of length 1 in the same order, and the largest difference of their numbers."""
    if len(expected) != len(found):
        return {"apart": math.inf}
    pairs = list(zip(expected, found, strict=True))
    said = [sum(a * b for a, b in zip(one, other, strict=True)) for one, other in pairs]
    apart = max(numbers(one, other)["apart"] for one, other in pairs)
    return {"apart": apart, "cosine": sum(said) / len(said), "least cosine": min(said)}


def top_lists(expected: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]) -> dict[str, float]:
    """The share of the expected lists' members that the found ones lack, lists side by side."""
    if len(expected) != len(found):
        return {"apart": math.inf}
    missing = sum(len(set(a) - set(b)) for a, b in zip(expected, found, strict=True))
    return {"apart": missing / max(1, sum(map(len, expected)))}


def named_numbers(expected: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    """The largest difference of values of the same names."""
    if expected.keys() != found.keys():
        return {"apart": math.inf}
    return numbers(list(expected.values()), [found[name] for name in expected])
